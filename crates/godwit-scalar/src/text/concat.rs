//! Concatenation of texts.

use godwit_plan::{ArgumentType, NoFunction};
use godwit_types::{SqlType, cast_kind};

use crate::function::{Category, Form, Function, function};
use crate::rows::{Blob, Text, TextBytes, any_texts, text};

pub(super) fn functions() -> Vec<Function> {
    let text_function = |names, description| function(Category::Text, names, description);
    vec![
        text_function(&["concat"], "The texts of all values that aren't NULL, one after the other")
            .example("concat('a', NULL, 1)", "a1")
            .chosen("concat(value, …)", |arguments| {
                (!are_lists(arguments) && takes_texts(arguments, 1)).then(|| Ok(concatenation(arguments.len())))
            }),
        text_function(&["||"], "Both texts or BLOBs, one after the other; NULL if one is NULL")
            .example("'a' || 1", "a1")
            .example("'\\x00'::BLOB || '\\xff'::BLOB", "\\x00ff")
            .chosen("VARCHAR || VARCHAR", joined)
            .chosen("BLOB || BLOB", joined_bytes),
        text_function(
            &["concat_ws"],
            "The texts of all values that aren't NULL, with the first text between them; NULL if that is NULL",
        )
        .example("concat_ws('-', 'a', NULL, 1)", "a-1")
        .chosen("concat_ws(VARCHAR, value, …)", |arguments| {
            takes_texts(arguments, 2).then(|| Ok(separated(arguments.len())))
        }),
    ]
}

/// True if an argument is of such a type, and all others are, too, or quoted texts or NULL.
fn are_all(arguments: &[ArgumentType<'_>], is_it: impl Fn(&SqlType) -> bool) -> bool {
    let are_or_unknown = arguments.iter().all(|argument| *argument.ty == SqlType::Unknown || is_it(argument.ty));
    are_or_unknown && arguments.iter().any(|argument| is_it(argument.ty))
}

/// True if an argument is a list, and all others are lists or NULL.
pub(crate) fn are_lists(arguments: &[ArgumentType<'_>]) -> bool {
    let has_text = arguments
        .iter()
        .any(|argument| *argument.ty == SqlType::Unknown && argument.value.is_some_and(|value| !value.is_null()));
    !has_text && are_all(arguments, |ty| ty.element().is_some())
}

/// `left || right`, unless one of them is a list.
fn joined(arguments: &[ArgumentType<'_>]) -> Option<Result<Form, NoFunction>> {
    let is_taken = arguments.len() == 2 && arguments.iter().all(|argument| argument.ty.element().is_none());
    let form = text::<(TextBytes, TextBytes), Text, _>(|(left, right), out| {
        out.push_bytes(left);
        out.push_bytes(right);
    });
    (is_taken && !are_blobs(arguments) && takes_texts(arguments, 2)).then_some(Ok(form))
}

fn joined_bytes(arguments: &[ArgumentType<'_>]) -> Option<Result<Form, NoFunction>> {
    let form = text::<(Blob, Blob), Blob, _>(|(left, right), out| {
        out.push_bytes(left);
        out.push_bytes(right);
    });
    (arguments.len() == 2 && are_blobs(arguments)).then_some(Ok(form))
}

fn are_blobs(arguments: &[ArgumentType<'_>]) -> bool {
    are_all(arguments, |ty| *ty == SqlType::Blob)
}

/// True if there are enough arguments and all can be cast to text.
fn takes_texts(arguments: &[ArgumentType<'_>], least: usize) -> bool {
    arguments.len() >= least && arguments.iter().all(is_textual)
}

/// True if the argument can be cast to text.
pub(super) fn is_textual(argument: &ArgumentType<'_>) -> bool {
    argument.lambda_parameters.is_none() && cast_kind(argument.ty, &SqlType::Varchar).is_some()
}

fn concatenation(arguments: usize) -> Form {
    any_texts(vec![SqlType::Varchar; arguments], false, |texts, out| {
        texts.iter().flatten().for_each(|text| out.push_bytes(text));
    })
}

fn separated(arguments: usize) -> Form {
    any_texts(vec![SqlType::Varchar; arguments], false, |texts, out| {
        let separator = texts[0]?;
        let mut separated = false;
        for text in texts[1..].iter().flatten() {
            if separated {
                out.push_bytes(separator);
            }
            out.push_bytes(text);
            separated = true;
        }
        Some(())
    })
}

#[cfg(test)]
mod tests {
    use godwit_types::SqlType;

    use crate::testing::{call, shown};

    #[test]
    fn values_of_all_types_are_joined() {
        assert_eq!(shown("concat", &["'a'", "1", "2.50", "TRUE", "DATE '2020-01-01'"]), "a12.50true2020-01-01");
        assert_eq!(shown("concat", &["'x'", "INTEGER[] '[1, 2]'"]), "x[1, 2]");
        assert_eq!(shown("concat", &["INTEGER[] '[1, 2]'", "NULL", "BIGINT[] '[3]'"]), "[1, 2, 3]");
        assert_eq!(shown("||", &["BLOB '\\x00'", "BLOB 'a'"]), "\\x0061");
        assert_eq!(shown("repeat", &["BLOB '\\x00ff'", "2"]), "\\x00ff00ff");
        assert_eq!(shown("concat_ws", &["', '", "1", "'b'", "''"]), "1, b, ");
        assert_eq!(call("concat", &["1"]).unwrap().1, SqlType::Varchar);
    }

    #[test]
    fn nulls_are_left_out() {
        assert_eq!(shown("concat", &["NULL"]), "");
        assert_eq!(shown("concat", &["'a'", "NULL", "'é'"]), "aé");
        assert_eq!(shown("concat_ws", &["'-'", "NULL", "'a'", "NULL"]), "a");
        assert_eq!(shown("concat_ws", &["'-'", "NULL"]), "");
        assert_eq!(shown("concat_ws", &["NULL", "'a'"]), "NULL");
    }
}
