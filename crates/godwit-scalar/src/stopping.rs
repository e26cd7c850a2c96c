//! Functions of one long value ask often whether to go on.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use arrow_array::{ArrayRef, Float64Array, Int64Array, ListArray};
use arrow_buffer::OffsetBuffer;
use arrow_schema::DataType;
use godwit_common::Result;
use godwit_plan::ArgumentType;
use godwit_types::SqlType;
use godwit_vector::sql::{arrow_type, vector_of_values};
use godwit_vector::{StrColumn, Vector, from_arrow};

use crate::kernel::{Lease, Work};
use crate::testing::literal;

/// Size of a long text, in bytes.
const TEXT_BYTES: usize = 4 << 20;

/// Elements of a long list.
const ELEMENTS: usize = 1 << 20;

/// How often a function has to ask about such a value.
const CHECKS: usize = 8;

/// Counts the questions, and has all the memory.
#[derive(Default)]
struct Asked(AtomicUsize);

impl Work for Asked {
    fn reserve(&self, _: usize) -> Result<Lease> {
        Ok(Box::new(()))
    }

    fn rows_bytes_max(&self) -> usize {
        usize::MAX
    }

    fn check(&self) -> Result<()> {
        self.0.fetch_add(1, Relaxed);
        Ok(())
    }
}

fn long_text(piece: &str) -> (Vector, SqlType) {
    let text = piece.repeat(TEXT_BYTES / piece.len());
    (Vector::flat(godwit_vector::Flat::Str(StrColumn::from_strings([text])), None), SqlType::Varchar)
}

/// Numbers without order.
fn long_list(element: &SqlType) -> (Vector, SqlType) {
    let numbers = (0..ELEMENTS as i64).map(|at| at * 7_919 % 1_000_003);
    let elements: ArrayRef = match element {
        SqlType::Double => Arc::new(Float64Array::from_iter_values(numbers.map(|number| number as f64))),
        _ => Arc::new(Int64Array::from_iter_values(numbers)),
    };
    let ty = SqlType::list_of(element.clone());
    let DataType::List(field) = arrow_type(&ty).unwrap() else { panic!("lists are lists") };
    let lists: ArrayRef = Arc::new(ListArray::new(field, OffsetBuffer::from_lengths([ELEMENTS]), elements, None));
    (from_arrow(&lists).unwrap(), ty)
}

/// Returns how often a function asks; arguments are literals, or long values: `t` and `u` texts, `f` a format, `j` JSON, `l` a list of
/// integers, `d` of floats.
fn questions(name: &str, arguments: &[&str]) -> usize {
    let argument = |text: &&str| match *text {
        "t" => (long_text("Godwit and plover, "), None),
        "u" => (long_text("Größe ÄNDERT Σ sich "), None),
        "f" => (long_text("'%1$d' and \"%1$d\", "), None),
        "j" => {
            let (vector, ty) = long_text("[1, {\"a\": \"b\"}], ");
            let text = String::from_utf8(vector.to_flat().strings().get(0).to_vec()).unwrap();
            let strings = StrColumn::from_strings([format!("[{text}0]")]);
            ((Vector::flat(godwit_vector::Flat::Str(strings), None), ty), None)
        }
        "l" => (long_list(&SqlType::BigInt), None),
        "d" => (long_list(&SqlType::Double), None),
        text => {
            let (value, ty) = literal(text);
            ((vector_of_values(std::slice::from_ref(&value), &ty).unwrap(), ty), Some(value))
        }
    };
    let given: Vec<_> = arguments.iter().map(argument).collect();
    let types: Vec<ArgumentType<'_>> = given
        .iter()
        .map(|((_, ty), value)| ArgumentType { ty, value: value.as_ref(), nullable: false, lambda_parameters: None })
        .collect();
    let (_, form) = crate::choose(name, &types).unwrap_or_else(|error| panic!("{name}{arguments:?}: {error:?}"));
    let vectors = given.iter().zip(&form.arguments).map(|(((vector, from), value), to)| match value {
        Some(value) => {
            let cast = godwit_types::cast_value(value, from, to).unwrap();
            vector_of_values(&[cast], to).unwrap()
        }
        None => {
            assert!(from == to || matches!(to, SqlType::Blob | SqlType::Json), "{name}{arguments:?} takes {to}");
            vector.clone()
        }
    });
    let work = Asked::default();
    form.kernel.evaluate(&vectors.collect::<Vec<_>>(), 1, &work).unwrap();
    work.0.into_inner()
}

/// Functions of texts, JSON and lists, with one long argument at least.
#[rustfmt::skip]
const CALLS: &[(&str, &[&str])] = &[
    ("upper", &["t"]), ("upper", &["u"]), ("lower", &["t"]), ("lower", &["u"]), ("initcap", &["t"]), ("initcap", &["u"]),
    ("casefold", &["t"]), ("casefold", &["u"]), ("reverse", &["u"]), ("replace", &["t", "'plover'", "'snipe'"]),
    ("replace", &["t", "'x'", "'snipe'"]), ("translate", &["t", "'abc'", "'cab'"]), ("contains", &["t", "'x'"]),
    ("strpos", &["t", "'x'"]), ("find_in_set", &["'x'", "t"]), ("split_part", &["t", "','", "1000000"]),
    ("substring_index", &["t", "'d'", "1000000"]), ("substring_index", &["t", "'d'", "-1000000"]),
    ("string_split", &["t", "' '"]), ("normalize", &["u", "'NFD'"]),
    ("nfc_normalize", &["u"]), ("strip_accents", &["u"]), ("lpad", &["'x'", "4000000", "'é'"]), ("repeat", &["'x'", "4000000"]),
    ("quote_literal", &["f"]), ("quote_ident", &["f"]), ("hamming", &["t", "t"]), ("hamming", &["u", "u"]),
    ("jaccard", &["t", "t"]), ("jaccard", &["u", "u"]), ("printf", &["f", "1"]), ("strftime", &["DATE '2024-02-29'", "t"]),
    ("to_char", &["DATE '2024-02-29'", "t"]), ("md5", &["t"]), ("crc32", &["t"]), ("hex", &["t"]), ("to_base64", &["t"]),
    ("url_encode", &["t"]), ("encode", &["t", "'escape'"]), ("regexp_replace", &["t", "'[aeiou]'", "'x'", "'g'"]),
    ("regexp_count", &["t", "'[aeiou]'"]), ("regexp_extract_all", &["t", "'[aeiou]'"]),
    ("json_valid", &["j"]), ("json", &["j"]), ("json_pretty", &["j"]), ("json_structure", &["j"]),
    ("json_strip_nulls", &["j"]), ("json_array_length", &["j"]), ("json_extract", &["j", "'$[100000]'"]),
    ("json_contains", &["j", "'[7]'"]), ("json_entries", &["j"]), ("jsonb_contains", &["j", "'[7]'"]),
    ("jsonb_exists", &["j", "'x'"]), ("jsonb_set", &["j", "VARCHAR[] '[0]'", "'1'"]), ("jsonb_delete", &["j", "'x'"]),
    ("jsonb_concat", &["j", "j"]), ("jsonb_path_query_array", &["j", "'$[*]'"]),
    ("list_sort", &["l"]), ("list_reverse_sort", &["l"]), ("list_grade_up", &["l"]), ("list_distinct", &["l"]),
    ("list_unique", &["l"]), ("list_union", &["l", "l"]), ("list_intersect", &["l", "l"]), ("list_except", &["l", "l"]),
    ("list_has_all", &["l", "l"]), ("list_mode", &["l"]), ("list_histogram", &["l"]), ("list_entropy", &["l"]),
    ("list_contains", &["l", "BIGINT '-1'"]), ("list_position", &["l", "BIGINT '-1'"]),
    ("list_positions", &["l", "BIGINT '-1'"]), ("list_remove", &["l", "BIGINT '-1'"]), ("list_sum", &["l"]), ("list_sum", &["d"]),
    ("list_median", &["d"]), ("list_mad", &["d"]), ("list_stddev_samp", &["d"]), ("list_kurtosis", &["d"]),
    ("list_product", &["d"]), ("list_aggregate", &["d", "'quantile_cont'", "0.5"]),
    ("list_aggregate", &["l", "'quantile_disc'", "0.5"]),
];

#[test]
fn functions_of_long_values_ask_often() {
    for (name, arguments) in CALLS {
        let asked = questions(name, arguments);
        assert!(asked >= CHECKS, "{name}{arguments:?} asks {asked} times");
    }
}
