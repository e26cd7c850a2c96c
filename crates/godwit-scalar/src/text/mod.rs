//! Texts. Lengths and positions count characters (Unicode scalar values), from 1.

mod case;
mod characters;
mod concat;
mod digits;
mod distance;
mod format;
mod graphemes;
mod joined_path;
mod languages;
mod length;
mod nested;
mod pad;
mod parts;
mod path;
mod quote;
mod replace;
mod search;
mod similarity;
mod split;
mod trim;
mod unicode;

pub(crate) use self::concat::are_lists;
pub use self::nested::long_as_text;
use crate::function::Function;

pub(crate) fn functions() -> Vec<Function> {
    let subjects = [
        length::functions(),
        case::functions(),
        trim::functions(),
        pad::functions(),
        parts::functions(),
        search::functions(),
        replace::functions(),
        concat::functions(),
        split::functions(),
        quote::functions(),
        distance::functions(),
        similarity::functions(),
        unicode::functions(),
        graphemes::functions(),
        languages::functions(),
        digits::functions(),
        format::functions(),
        joined_path::functions(),
        path::functions(),
    ];
    subjects.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use godwit_common::ErrorKind;
    use godwit_types::SqlType;
    use proptest::prelude::*;

    use super::*;
    use crate::function::Forms;
    use crate::testing::call;

    fn extremes(ty: &SqlType) -> Vec<&'static str> {
        match ty {
            SqlType::Varchar => vec!["''", "'a'", "'é😀\\'", "'%{'", "'a,bé,,c/d'", "NULL"],
            SqlType::Blob => vec!["BLOB ''", "BLOB '\\xFF'"],
            SqlType::Integer => vec!["INTEGER '-2147483648'", "0", "2147483647"],
            SqlType::BigInt => vec!["BIGINT '-9223372036854775808'", "-1", "0", "3", "BIGINT '9223372036854775807'"],
            SqlType::HugeInt => vec!["HUGEINT '-170141183460469231731687303715884105728'", "HUGEINT '1'"],
            SqlType::Double => vec!["DOUBLE 'nan'", "DOUBLE '-inf'", "DOUBLE '0'", "DOUBLE '1e308'", "DOUBLE 'inf'"],
            SqlType::Boolean => vec!["TRUE", "FALSE"],
            other => panic!("there are no extremes of {other}"),
        }
    }

    /// Returns all combinations of one choice each.
    fn combinations(choices: &[Vec<&'static str>]) -> Vec<Vec<&'static str>> {
        choices.iter().fold(vec![Vec::new()], |all, choices| {
            let with = |start: &Vec<&'static str>| {
                let start = start.clone();
                choices.iter().map(move |choice| start.iter().copied().chain([*choice]).collect())
            };
            all.iter().flat_map(with).collect()
        })
    }

    #[test]
    fn extremes_have_values_or_clear_errors() {
        for function in functions() {
            let typed = function.forms.iter().filter_map(|forms| match forms {
                Forms::Typed(form) => Some(form),
                Forms::Chosen { .. } => None,
            });
            for form in typed {
                let choices: Vec<_> = form.arguments.iter().map(extremes).collect();
                for arguments in combinations(&choices) {
                    if let Err(error) = call(function.name(), &arguments) {
                        let is_clear = matches!(error.kind(), ErrorKind::User | ErrorKind::Resource);
                        assert!(is_clear, "{}{arguments:?}: {error}", function.name());
                    }
                }
            }
        }
    }

    proptest! {
        #[test]
        fn formats_have_values_or_clear_errors(format in "[{}{}:%%t0-9.,*$<^+# dxfgsILé-]{0,12}", name in "format|printf") {
            for value in ["'é'", "-7", "DOUBLE '-1e100'", "TRUE", "NULL"] {
                if let Err(error) = call(&name, &[&format!("'{format}'"), value, "3"]) {
                    let is_clear = matches!(error.kind(), ErrorKind::User | ErrorKind::Resource);
                    prop_assert!(is_clear, "{}: {}", format, error);
                }
            }
        }
    }
}
