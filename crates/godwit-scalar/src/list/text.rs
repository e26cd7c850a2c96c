//! Lists as text.

use std::fmt::Write;

use godwit_common::Result;
use godwit_plan::ArgumentType;
use godwit_types::{SqlType, Value, format_value};
use godwit_vector::sql::Reader;
use godwit_vector::{Flat, Vector, match_integer_type};

use super::call::{Call, lenient, strict};
use super::list_function;
use super::lists::Lists;
use super::types::{Chosen, element_of, is_text, list_as};
use crate::function::Function;
use crate::rows::{Argument, Text, Writer};

pub(super) fn functions() -> Vec<Function> {
    vec![
        list_function(
            &["array_to_string", "list_to_string", "array_join", "list_join"],
            "The texts of the elements, with a separator between them; NULLs are left out, or are a text of their own",
        )
        .example("array_to_string([1, NULL, 3], '-')", "1-3")
        .example("array_to_string([1, NULL, 3], '-', '?')", "1-?-3")
        .chosen("array_to_string(list, separator)", to_string)
        .chosen("array_to_string(list, separator, null_text)", to_string),
        list_function(
            &["list_string_agg"],
            "The texts of the elements that aren't NULL, with a separator between them, or commas; NULL if there are none",
        )
        .example("list_string_agg(['a', NULL, 'b'])", "a,b")
        .chosen("list_string_agg(list)", string_agg)
        .chosen("list_string_agg(list, separator)", string_agg),
    ]
}

/// Writes elements as text.
struct Texts<'t> {
    vector: Vector,
    flat: Flat,
    ty: &'t SqlType,
    /// For types that aren't written from the flat values.
    reader: Option<Reader<'t>>,
}

impl<'t> Texts<'t> {
    fn of(lists: &Lists, ty: &'t SqlType) -> Result<Self> {
        let vector = lists.vector()?;
        let is_plain = matches!(ty, SqlType::Varchar | SqlType::Json | SqlType::Bit) || ty.integer_range().is_some();
        let reader = (!is_plain).then(|| Reader::new(&vector, ty)).transpose()?;
        Ok(Self { flat: vector.to_flat(), vector, ty, reader })
    }

    #[allow(clippy::unnecessary_cast, reason = "one of the types is i128 already")]
    fn write(&self, at: usize, out: &mut Writer<'_>) -> Result<()> {
        match (&self.reader, &self.flat) {
            (Some(reader), _) => out.push_str(&format_value(&reader.value(at)?, self.ty)),
            (None, Flat::Str(strings)) => out.push_bytes(strings.get(at)),
            (None, flat) => {
                match_integer_type!(flat.physical(), T => push_integer(flat.values::<T>()[at] as i128, out))
            }
        }
        Ok(())
    }
}

/// Writes an integer; faster than formatting if it has 64 bits, as most do.
fn push_integer(number: i128, out: &mut Writer<'_>) {
    let Ok(mut rest) = u64::try_from(number.unsigned_abs()) else {
        return write!(out, "{number}").expect("texts take all");
    };
    let mut digits = [0_u8; 20];
    let mut start = digits.len();
    loop {
        start -= 1;
        digits[start] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if number < 0 {
        out.push_bytes(b"-");
    }
    out.push_bytes(&digits[start..]);
}

/// Writes the values of a list, and of the lists in it, which PostgreSQL treats as its dimensions.
fn write_nested(
    value: &Value,
    ty: &SqlType,
    out: &mut Writer<'_>,
    separate: &mut impl FnMut(&mut Writer<'_>),
    null: Option<&str>,
) {
    match (value, ty.element(), null) {
        (Value::List(elements), Some(element), _) => {
            elements.iter().for_each(|value| write_nested(value, element, out, separate, null));
        }
        (Value::Null, _, None) => {}
        (Value::Null, _, Some(null)) => {
            separate(out);
            out.push_str(null);
        }
        _ => {
            separate(out);
            out.push_str(&format_value(value, ty));
        }
    }
}

fn to_string(arguments: &[ArgumentType<'_>]) -> Chosen {
    let (list, texts) = arguments.split_first()?;
    if !matches!(texts.len(), 1 | 2) || !texts.iter().all(is_text) {
        return None;
    }
    let element = element_of(list)?;
    let mut types = vec![Text::TYPE; arguments.len()];
    types[0] = list_as(list, &element);
    let compute = move |call: &Call<'_>| {
        let lists = call.lists(0)?;
        let texts = Texts::of(&lists, &element)?;
        let (separators, nulls) = (call.strings(1), (call.arguments.len() == 3).then(|| call.strings(2)));
        call.texts(|row, out| {
            if !lists.is_valid(row) || call.is_null(1, row) {
                return Ok(None);
            }
            let null = nulls.as_ref().filter(|_| !call.is_null(2, row)).map(|nulls| nulls.text(row));
            let (mut is_first, separator) = (true, separators.text(row));
            let mut separate = |out: &mut Writer<'_>| {
                if !std::mem::take(&mut is_first) {
                    out.push_str(separator);
                }
            };
            for at in lists.range(row) {
                match (&texts.reader, null) {
                    (Some(reader), _) if element.element().is_some() => {
                        write_nested(&reader.value(at)?, &element, out, &mut separate, null);
                    }
                    _ if texts.vector.is_valid(at) => {
                        separate(out);
                        texts.write(at, out)?;
                    }
                    (_, Some(null)) => {
                        separate(out);
                        out.push_str(null);
                    }
                    (_, None) => {}
                }
            }
            Ok(Some(()))
        })
    };
    Some(Ok(lenient(types, Text::TYPE, compute).total()))
}

/// The default separator.
const COMMA: &str = ",";

pub(super) fn string_agg(arguments: &[ArgumentType<'_>]) -> Chosen {
    let ([list] | [list, _]) = arguments else { return None };
    let element = element_of(list).filter(|_| arguments[1..].iter().all(is_text))?;
    let mut types = vec![Text::TYPE; arguments.len()];
    types[0] = list_as(list, &element);
    let compute = move |call: &Call<'_>| {
        let lists = call.lists(0)?;
        let texts = Texts::of(&lists, &element)?;
        let separators = (call.arguments.len() == 2).then(|| call.strings(1));
        call.texts(|row, out| {
            let separator = separators.as_ref().map_or(COMMA, |separators| separators.text(row));
            let mut valid = lists.range(row).filter(|&at| texts.vector.is_valid(at));
            let Some(first) = valid.next() else { return Ok(None) };
            texts.write(first, out)?;
            for at in valid {
                out.push_str(separator);
                texts.write(at, out)?;
            }
            Ok(Some(()))
        })
    };
    Some(Ok(strict(types, Text::TYPE, compute).total()))
}

#[cfg(test)]
mod tests {
    use crate::testing::shown;

    #[test]
    fn elements_are_joined() {
        assert_eq!(shown("array_to_string", &["INTEGER[] '[1, NULL, -3]'", "'-'"]), "1--3");
        assert_eq!(shown("array_to_string", &["VARCHAR[] '[a, NULL, ä]'", "', '", "'?'"]), "a, ?, ä");
        assert_eq!(shown("array_to_string", &["VARCHAR[] '[a, NULL]'", "','", "NULL"]), "a");
        assert_eq!(shown("array_to_string", &["VARCHAR[] '[a]'", "NULL"]), "NULL");
        assert_eq!(shown("array_to_string", &["NULL", "','"]), "NULL");
        assert_eq!(shown("list_to_string", &["DATE[] '[2024-02-29]'", "','"]), "2024-02-29");
        assert_eq!(shown("array_join", &["DECIMAL(4,2)[] '[1.5, 2]'", "' '"]), "1.50 2.00");
        assert_eq!(shown("list_join", &["INTEGER[] '[]'", "','"]), "");
        assert_eq!(shown("array_to_string", &["INTEGER[][] '[[1, 2], NULL, [3, NULL]]'", "','", "'x'"]), "1,2,x,3,x");
        let numbers = "0,-9223372036854775808,18446744073709551615,-99999999999999999999";
        assert_eq!(shown("array_to_string", &[&format!("HUGEINT[] '[{numbers}]'"), "','"]), numbers);
        assert_eq!(shown("array_to_string", &["BOOLEAN[] '[true, false]'", "','"]), "true,false");
    }

    #[test]
    fn string_agg_is_null_without_texts() {
        assert_eq!(shown("list_string_agg", &["VARCHAR[] '[a, NULL, b]'"]), "a,b");
        assert_eq!(shown("list_string_agg", &["VARCHAR[] '[a, b]'", "'-'"]), "a-b");
        assert_eq!(shown("list_string_agg", &["VARCHAR[] '[NULL]'"]), "NULL");
    }
}
