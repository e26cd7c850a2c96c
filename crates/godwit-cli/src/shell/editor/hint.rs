//! Hints for the text that the user may be about to type, shown after the cursor: the last history entry with this
//! prefix, or else the rest of a word if only one is known.

use rustyline::Context;
use rustyline::hint::Hint;
use rustyline::history::SearchDirection;

use super::complete::complete;
use super::names::Names;

/// Minimum length of a word: shorter ones have too many completions.
const WORD_BYTES_MIN: usize = 3;
const LINE_BYTES_MIN: usize = 2;

pub(in crate::shell) struct LineHint {
    /// The hint, on one line.
    shown: String,
    text: String,
}

impl Hint for LineHint {
    fn display(&self) -> &str {
        &self.shown
    }

    fn completion(&self) -> Option<&str> {
        Some(&self.text)
    }
}

/// Returns a hint for a text with the cursor at its end.
pub(super) fn hint(names: &Names, line: &str, context: &Context<'_>) -> Option<LineHint> {
    let text = of_history(line, context).or_else(|| of_word(names, line))?;
    let shown = match text.split_once('\n') {
        Some((first, _)) => format!("{first} …"),
        None => text.clone(),
    };
    Some(LineHint { shown, text })
}

fn of_history(line: &str, context: &Context<'_>) -> Option<String> {
    if line.trim().len() < LINE_BYTES_MIN {
        return None;
    }
    let last = context.history_index().min(context.history().len().checked_sub(1)?);
    let found = context.history().starts_with(line, last, SearchDirection::Reverse).ok()??;
    Some(found.entry[line.len()..].to_owned()).filter(|rest| !rest.is_empty())
}

fn of_word(names: &Names, line: &str) -> Option<String> {
    // Folders aren't read while the user types.
    if line.ends_with(['/', '\'', '.']) {
        return None;
    }
    let word_bytes = line.len() - line.rfind(|c: char| !(c.is_alphanumeric() || c == '_')).map_or(0, |at| at + 1);
    if word_bytes < WORD_BYTES_MIN || super::complete::is_in_file_name(line) {
        return None;
    }
    let (start, candidates) = complete(names, line, line.len());
    match &candidates[..] {
        [only] => only.text.strip_prefix(&line[start..]).filter(|rest| !rest.is_empty()).map(str::to_owned),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use rustyline::history::{FileHistory, History};

    use super::*;

    #[test]
    fn the_history_comes_before_single_words() {
        let mut history = FileHistory::new();
        history.add("SELECT * FROM orders\n\tWHERE x;").unwrap();
        let names = Names::for_tests();
        let of = |line: &str| {
            let hint = hint(&names, line, &Context::new(&history))?;
            Some((hint.shown, hint.text))
        };
        assert_eq!(of("SELECT * F"), Some(("ROM orders …".into(), "ROM orders\n\tWHERE x;".into())));
        assert_eq!(of("FROM lineit"), Some(("em".into(), "em".into())));
        assert_eq!(of("FROM li"), None);
        assert_eq!(of("S"), None);
        assert_eq!(of("SELECT 'lineit"), None);
    }
}
