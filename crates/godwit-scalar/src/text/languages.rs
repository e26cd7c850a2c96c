//! The order of texts in languages, after the Unicode collation algorithm with the rules of CLDR.

use std::str::FromStr;

use godwit_common::{Error, Result, SqlState};
use godwit_plan::ArgumentType;
use godwit_types::{SqlType, Value};
use icu_collator::options::CollatorOptions;
use icu_collator::{Collator, CollatorBorrowed};
use icu_locale_core::Locale;

use crate::function::{Category, Function, function};
use crate::list::types::{Chosen, bad_argument};
use crate::rows::{Blob, Text, text};

/// Bytes of a key for each byte of a usual text. Some characters have more, as they stand for several.
const KEY_BYTES_PER_BYTE: usize = 4;

pub(super) fn functions() -> Vec<Function> {
    vec![
        function(
            Category::Text,
            &["icu_sort_key"],
            "Bytes by which texts are in the order of a language, as COLLATE compares them",
        )
        .example("icu_sort_key('ä', 'de') < icu_sort_key('z', 'de')", "true")
        .example("icu_sort_key('ä', 'sv') < icu_sort_key('z', 'sv')", "false")
        .chosen("icu_sort_key(VARCHAR, language)", sort_key),
    ]
}

fn sort_key(arguments: &[ArgumentType<'_>]) -> Chosen {
    let [value, language] = arguments else { return None };
    if ![value, language].iter().all(|argument| matches!(argument.ty, SqlType::Varchar | SqlType::Unknown)) {
        return None;
    }
    let Some(Value::Text(name)) = language.value else {
        return Some(Err(bad_argument(1, "the language has to be a constant")));
    };
    let collator = match collator(name) {
        Ok(collator) => collator,
        Err(error) => return Some(Err(bad_argument(1, error.message()))),
    };
    Some(Ok(text::<(Text, Text), Blob, _>(move |(text, _), out| {
        out.reserve(text.len().saturating_mul(KEY_BYTES_PER_BYTE))?;
        let mut key = Vec::with_capacity(text.len());
        let Ok(()) = collator.write_sort_key_to(text, &mut key);
        out.reserve(key.len())?;
        out.push_bytes(&key);
        Ok(())
    })))
}

/// Returns the order of a language: `de`, `sv_SE`, `de-u-co-phonebk`; the root order for those without rules of their own.
fn collator(name: &str) -> Result<CollatorBorrowed<'static>> {
    let unknown = || {
        Error::user(format!("'{name}' is not a language"))
            .with_code(SqlState::INVALID_PARAMETER_VALUE)
            .with_hint("languages are written as 'de', 'en_US' or 'de-u-co-phonebk'")
    };
    let locale = Locale::from_str(&name.replace('_', "-")).map_err(|_| unknown())?;
    // ISO's codes; the grammar of locales takes up to eight letters.
    if !(2..=3).contains(&locale.id.language.as_str().len()) {
        return Err(unknown());
    }
    Collator::try_new((&locale).into(), CollatorOptions::default()).map_err(|_| unknown())
}

#[cfg(test)]
mod tests {
    use godwit_types::Value;

    use super::collator;
    use crate::testing::call;

    fn sorted(language: &str, words: &[&str]) -> Vec<String> {
        let key = |word: &str| match call("icu_sort_key", &[&format!("'{word}'"), &format!("'{language}'")]) {
            Ok((Value::Blob(key), _)) => key.to_vec(),
            other => panic!("{word}: {other:?}"),
        };
        let mut words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
        words.sort_by_key(|word| key(word));
        words
    }

    #[test]
    fn texts_are_in_the_order_of_a_language() {
        assert_eq!(
            sorted("de", &["Zebra", "ärger", "Affe", "zebra", "äquator"]),
            ["Affe", "äquator", "ärger", "zebra", "Zebra"]
        );
        assert_eq!(sorted("sv", &["ö", "z", "å", "ä", "a"]), ["a", "z", "å", "ä", "ö"]);
        assert_eq!(
            sorted("de-u-co-phonebk", &["Mulch", "Müller", "Mueller", "Mufti"]),
            ["Mueller", "Müller", "Mufti", "Mulch"]
        );
        assert_eq!(sorted("en-u-kn-true", &["file10", "file9"]), ["file9", "file10"]);
        assert_eq!(sorted("es_ES", &["o", "ñ", "n", "nz"]), ["n", "nz", "ñ", "o"]);
    }

    #[test]
    fn languages_are_checked() {
        for name in ["", "d", "german", "de--", "de AT", "123"] {
            assert!(collator(name).is_err(), "{name}");
        }
        for name in ["de", "de_AT", "de-AT-x-icu", "en-US", "zh-u-co-pinyin", "und"] {
            assert!(collator(name).is_ok(), "{name}");
        }
    }
}
