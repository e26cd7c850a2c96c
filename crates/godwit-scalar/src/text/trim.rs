//! Texts with characters stripped from their ends.

use crate::function::{Category, Function, function};
use crate::rows::{Text, part};

pub(super) fn functions() -> Vec<Function> {
    let text_function = |names, description| function(Category::Text, names, description);
    vec![
        text_function(&["trim", "btrim"], "The text without spaces, or the given characters, at both ends")
            .example("trim('  a ')", "a")
            .example("trim('xyaxx', 'xy')", "a")
            .form(part::<()>(|text, ()| text.trim_matches(' ')))
            .form(part::<(Text,)>(|text, (members,)| rtrim(ltrim(text, members), members))),
        text_function(&["ltrim"], "The text without spaces, or the given characters, at its start")
            .example("ltrim('xxa', 'x')", "a")
            .form(part::<()>(|text, ()| text.trim_start_matches(' ')))
            .form(part::<(Text,)>(|text, (members,)| ltrim(text, members))),
        text_function(&["rtrim"], "The text without spaces, or the given characters, at its end")
            .example("rtrim('axx', 'x')", "a")
            .form(part::<()>(|text, ()| text.trim_end_matches(' ')))
            .form(part::<(Text,)>(|text, (members,)| rtrim(text, members))),
    ]
}

fn ltrim<'a>(text: &'a str, members: &str) -> &'a str {
    match members.as_bytes() {
        [member] => text.trim_start_matches(char::from(*member)),
        _ => text.trim_start_matches(|character| members.contains(character)),
    }
}

fn rtrim<'a>(text: &'a str, members: &str) -> &'a str {
    match members.as_bytes() {
        [member] => text.trim_end_matches(char::from(*member)),
        _ => text.trim_end_matches(|character| members.contains(character)),
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::shown;

    #[test]
    fn spaces() {
        assert_eq!(shown("trim", &["'  a b '"]), "a b");
        assert_eq!(shown("btrim", &["'\ta '"]), "\ta");
        assert_eq!(shown("ltrim", &["'  a '"]), "a ");
        assert_eq!(shown("rtrim", &["' a  '"]), " a");
        assert_eq!(shown("trim", &["'   '"]), "");
        assert_eq!(shown("trim", &["NULL"]), "NULL");
    }

    #[test]
    fn sets_of_characters() {
        assert_eq!(shown("trim", &["'xxaxx'", "'x'"]), "a");
        assert_eq!(shown("rtrim", &["'testxxzx'", "'xyz'"]), "test");
        assert_eq!(shown("ltrim", &["'éaé'", "'é'"]), "aé");
        assert_eq!(shown("btrim", &["'aba'", "'ab'"]), "");
        assert_eq!(shown("btrim", &["' a '", "''"]), " a ");
        assert_eq!(shown("btrim", &["'a'", "NULL"]), "NULL");
        let long = format!("'{}a{}'", "-".repeat(100), "-".repeat(100));
        assert_eq!(shown("trim", &[&long, "'-'"]), "a");
    }
}
