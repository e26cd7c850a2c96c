//! Formatting of errors: the message, the position in the statement with a caret under it, the hint.
//!
//! ```text
//! queries.sql: error: there is no table named 'lineitm' (line 2, column 6)
//!   FROM lineitm
//!        ^
//! hint: did you mean 'lineitem'?
//! ```

use godwit::{Error, Position, without_secrets};
use unicode_width::UnicodeWidthStr;

use super::splitter::Item;

/// Characters shown of a long line, about half of them before the position.
const EXCERPT_CHARACTERS: usize = 100;

/// Renders the error of an item; its position counts within the item and is shown as a line of the whole script.
pub(super) fn render(error: &Error, item: &Item, script: Option<&str>) -> String {
    let mut text = script.map(|name| format!("{name}: ")).unwrap_or_default();
    let located = match error.position() {
        Some(Position { line, column }) => {
            let column = if line == 1 { column + item.column } else { column };
            error.clone().at(Position { line: line + item.line - 1, column })
        }
        None => error.clone(),
    };
    let hint = error.hint().map(|hint| format!("\nhint: {hint}")).unwrap_or_default();
    let message = located.to_string();
    text += &without_secrets(message.strip_suffix(&hint).unwrap_or(&message));
    text += "\n";
    if let Some(excerpt) = error.position().and_then(|position| excerpt(&item.text, position)) {
        text += &excerpt;
    }
    text += &without_secrets(hint.trim_start_matches('\n'));
    if !hint.is_empty() {
        text += "\n";
    }
    text
}

/// Returns the line of a position, and a caret under its column.
fn excerpt(text: &str, position: Position) -> Option<String> {
    let line = without_secrets(text.lines().nth(position.line.checked_sub(1)? as usize)?);
    let place = position.column.checked_sub(1)? as usize;
    let indent = line.chars().take_while(|c| c.is_whitespace()).count();
    let start = indent.max(place.saturating_sub(EXCERPT_CHARACTERS / 2)).min(place);
    let clean = |c: char| if c.is_control() { ' ' } else { c };
    let before: String = line.chars().skip(start).take(place - start).map(clean).collect();
    let after: String = line.trim_end().chars().skip(place).take(EXCERPT_CHARACTERS / 2).map(clean).collect();
    Some(format!("  {before}{after}\n  {}^\n", " ".repeat(before.width())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shell::splitter::ItemKind;

    fn item(text: &str) -> Item {
        Item { kind: ItemKind::Statement, line: 3, column: 0, text: text.into() }
    }

    #[test]
    fn the_caret_stands_under_the_place() {
        let error = Error::user("there is no table named 'x'").with_hint("did you mean 'y'?");
        let error = error.at(Position { line: 2, column: 6 });
        assert_eq!(
            render(&error, &item("SELECT 1\nFROM x;"), Some("a.sql")),
            "a.sql: error: there is no table named 'x' (line 4, column 6)\n  FROM x;\n       ^\nhint: did you mean 'y'?\n"
        );
        let second = Item { column: 10, ..item("SELECT x;") };
        assert_eq!(
            render(&Error::user("no").at(Position { line: 1, column: 8 }), &second, None),
            "error: no (line 3, column 18)\n  SELECT x;\n         ^\n"
        );
        let wide = Error::user("no").at(Position { line: 1, column: 13 });
        assert_eq!(
            render(&wide, &item("SELECT '東京' x"), None),
            "error: no (line 3, column 13)\n  SELECT '東京' x\n                ^\n"
        );
    }

    #[test]
    fn places_at_the_end_long_lines_and_no_place_are_fine() {
        assert_eq!(render(&Error::user("no"), &item("x"), None), "error: no\n");
        let end = Error::user("no").at(Position { line: 1, column: 9 });
        assert_eq!(render(&end, &item("SELECT 1"), None), "error: no (line 3, column 9)\n  SELECT 1\n          ^\n");
        let beyond = Error::user("no").at(Position { line: 7, column: 1 });
        assert_eq!(render(&beyond, &item("x"), None), "error: no (line 9, column 1)\n");
        let long = format!("{}x{}", " a".repeat(5000), "b".repeat(5000));
        let text = render(&Error::user("no").at(Position { line: 1, column: 10_001 }), &item(&long), None);
        assert!(text.lines().all(|line| line.len() < 120), "{text}");
        assert_eq!(text.lines().nth(2).unwrap().find('^'), text.lines().nth(1).unwrap().find('x'));
    }
}
