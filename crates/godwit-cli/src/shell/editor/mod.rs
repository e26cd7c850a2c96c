//! The line editor's knowledge of SQL: ends of statements, colours, completion, hints.
//!
//! ```text
//! tokens.rs ──► highlight.rs   colours
//!          └──► complete.rs    what may stand at the cursor, from names.rs and keywords.rs; hint.rs shows it if it is one
//! keys.rs       lines after the first, which begin with the continuation prompt
//! history.rs    what was typed before, in a file
//! ```

mod complete;
mod files;
mod highlight;
mod hint;
pub(super) mod history;
pub(super) mod keys;
mod keywords;
pub(super) mod names;
mod tokens;

use std::borrow::Cow;

use rustyline::completion::{Completer, Pair};
use rustyline::highlight::{CmdKind, Highlighter};
use rustyline::hint::Hinter;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{Context, Helper};

use super::splitter::Splitter;
use hint::LineHint;
use names::Names;
use tokens::{Kind, tokens};

/// Longer text gets neither colours nor hints, since each key press would take time proportional to its length.
const HELPED_BYTES_MAX: usize = 4 << 10;

/// Helps the line editor.
pub(super) struct ShellHelper {
    pub names: Names,
    colours: bool,
}

impl ShellHelper {
    pub(super) fn new(colours: bool) -> Self {
        Self { names: Names::default(), colours }
    }
}

/// Returns true if Enter ends the input, as after the semicolon of the last statement and after the line of a command.
pub(super) fn is_complete(text: &str) -> bool {
    if BareCommand::of(text).is_some() {
        return true;
    }
    let mut splitter = Splitter::default();
    text.split_inclusive('\n').for_each(|line| drop(splitter.push_line(line)));
    splitter.is_blank()
}

/// A word that isn't SQL, by which people try to leave a shell or to get help.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BareCommand {
    Quit,
    Help,
}

impl BareCommand {
    pub(super) fn of(text: &str) -> Option<Self> {
        match text.trim().trim_end_matches(';').trim_end().to_lowercase().as_str() {
            "exit" | "quit" | "\\q" | "exit()" | "quit()" => Some(BareCommand::Quit),
            "help" | "\\?" | "\\h" | "?" => Some(BareCommand::Help),
            _ => None,
        }
    }
}

/// Returns the text as meant: without the marks of lines after the first.
pub(super) fn without_marks(text: &str) -> String {
    with_spaces(text, |space| space.replace(keys::LINE, "\n"))
}

/// Returns the text with these marks, as if it had been typed.
pub(super) fn with_marks(text: &str) -> String {
    with_spaces(&without_marks(text), |space| space.replace('\n', keys::LINE))
}

/// Returns the text with its white space between tokens changed.
fn with_spaces(text: &str, change: impl Fn(&str) -> String) -> String {
    let piece = |token: tokens::Token| match token.kind {
        Kind::Space => Cow::Owned(change(&text[token.range])),
        _ => Cow::Borrowed(&text[token.range]),
    };
    tokens(text).into_iter().map(piece).collect()
}

impl Helper for ShellHelper {}

impl Highlighter for ShellHelper {
    fn highlight<'l>(&self, line: &'l str, _: usize) -> Cow<'l, str> {
        highlight::highlight(line, self.colours && line.len() <= HELPED_BYTES_MAX)
    }

    fn highlight_prompt<'b, 's: 'b, 'p: 'b>(&'s self, prompt: &'p str, default: bool) -> Cow<'b, str> {
        match self.colours && default {
            true => Cow::Owned(highlight::prompt(prompt)),
            false => Cow::Borrowed(prompt),
        }
    }

    fn highlight_hint<'h>(&self, hint: &'h str) -> Cow<'h, str> {
        if self.colours { Cow::Owned(highlight::hint(hint)) } else { Cow::Borrowed(hint) }
    }

    fn highlight_char(&self, line: &str, _: usize, kind: CmdKind) -> bool {
        kind == CmdKind::Other && self.colours && line.len() <= HELPED_BYTES_MAX
    }
}

impl Hinter for ShellHelper {
    type Hint = LineHint;

    fn hint(&self, line: &str, position: usize, context: &Context<'_>) -> Option<LineHint> {
        // Without colours, a hint looks like typed text.
        if !self.colours || position < line.len() || line.len() > HELPED_BYTES_MAX {
            return None;
        }
        hint::hint(&self.names, line, context)
    }
}

impl Completer for ShellHelper {
    type Candidate = Pair;

    fn complete(&self, line: &str, position: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<Pair>)> {
        let (start, candidates) = complete::complete(&self.names, line, position);
        let pair = |candidate: complete::Candidate| Pair { display: candidate.shown, replacement: candidate.text };
        Ok((start, candidates.into_iter().map(pair).collect()))
    }
}

impl Validator for ShellHelper {
    fn validate(&self, context: &mut ValidationContext) -> rustyline::Result<ValidationResult> {
        let complete = is_complete(context.input());
        Ok(if complete { ValidationResult::Valid(None) } else { ValidationResult::Incomplete })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn enter_goes_on_within_a_statement() {
        for text in ["", ".help", "SELECT 1;", "SELECT 1; -- done", "SELECT\n1;\n", "exit", "quit;", "help", "\\q"] {
            assert!(is_complete(text), "{text}");
        }
        for text in ["SELECT 1", "SELECT ';", "SELECT 1; SELECT 2", "SELECT 1; /* open", "exit now", "SELECT\nquit"] {
            assert!(!is_complete(text), "{text}");
        }
        assert_eq!(BareCommand::of(" Exit ; "), Some(BareCommand::Quit));
        assert_eq!(BareCommand::of("HELP;"), Some(BareCommand::Help));
        assert_eq!(BareCommand::of("SELECT help;"), None);
    }

    #[test]
    fn marks_of_lines_are_taken_off_but_not_in_quotes() {
        assert_eq!(without_marks("SELECT 1\n\t, 2;"), "SELECT 1\n, 2;");
        assert_eq!(without_marks("SELECT 'a\n\tb'\n\t;"), "SELECT 'a\n\tb'\n;");
        assert_eq!(without_marks("SELECT -- x\n\t\t1;"), "SELECT -- x\n\t1;");
        assert_eq!(without_marks("SELECT 1;"), "SELECT 1;");
        assert_eq!(with_marks("SELECT 'a\nb'\n, 2\n\t;"), "SELECT 'a\nb'\n\t, 2\n\t;");
    }
}
