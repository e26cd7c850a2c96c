//! Key bindings for input of several lines.
//!
//! The line editor has no prompt for lines after the first. So Enter inserts a tab after the line break, which is as
//! wide as the prompt and is drawn as it; typed text begins after the tab. The other keys treat line break and tab as
//! one.

use rustyline::history::FileHistory;
use rustyline::{
    At, CharSearch, Cmd, ConditionalEventHandler, Editor, Event, EventContext, EventHandler, KeyCode, KeyEvent,
    Modifiers, Movement, RepeatCount, Word,
};

use super::{ShellHelper, is_complete};
use crate::shell::splitter::Splitter;

/// Prompt of the first line, and of further lines.
pub(in crate::shell) const PROMPT: &str = "godwit> ";
pub(super) const CONTINUATION_PROMPT: &str = "   ...> ";

/// Width of a tab at the start of a line.
pub(in crate::shell) const TAB_COLUMNS: u8 = CONTINUATION_PROMPT.len() as u8;

/// Separator between two typed lines.
pub(super) const LINE: &str = "\n\t";

/// Action of a key where it differs from the usual one, given the text and the cursor position.
type Action = fn(&str, usize) -> Option<Cmd>;

struct Key(Action);

impl ConditionalEventHandler for Key {
    fn handle(&self, _: &Event, _: RepeatCount, _: bool, context: &EventContext) -> Option<Cmd> {
        (self.0)(context.line(), context.pos())
    }
}

/// Binds the keys in an editor.
pub(in crate::shell) fn bind(editor: &mut Editor<ShellHelper, FileHistory>) {
    let plain = |code| KeyEvent(code, Modifiers::NONE);
    let keys: [(KeyEvent, Action); 12] = [
        (plain(KeyCode::Enter), enter),
        (KeyEvent::ctrl('M'), enter),
        (KeyEvent::ctrl('J'), enter),
        (plain(KeyCode::Backspace), backspace),
        (KeyEvent::ctrl('H'), backspace),
        (plain(KeyCode::Delete), delete),
        (plain(KeyCode::Left), left),
        (KeyEvent::ctrl('B'), left),
        (plain(KeyCode::Right), right),
        (KeyEvent::ctrl('F'), right),
        (plain(KeyCode::Home), home),
        (KeyEvent::ctrl('A'), home),
    ];
    for (key, action) in keys {
        editor.bind_sequence(key, EventHandler::Conditional(Box::new(Key(action))));
    }
}

fn enter(text: &str, position: usize) -> Option<Cmd> {
    if is_complete(text) {
        return Some(Cmd::AcceptLine);
    }
    let mut splitter = Splitter::default();
    text[..position].split_inclusive('\n').for_each(|line| drop(splitter.push_line(line)));
    // Inside quotes, a tab would be part of the value.
    Some(Cmd::Insert(1, if splitter.is_in_quotes() { "\n" } else { LINE }.to_owned()))
}

/// The line editor itself counts repetitions of movements, so these have destinations instead of counts.
fn backspace(text: &str, position: usize) -> Option<Cmd> {
    text[..position].ends_with(LINE).then_some(Cmd::Kill(LINE_ABOVE))
}

fn left(text: &str, position: usize) -> Option<Cmd> {
    text[..position].ends_with(LINE).then_some(Cmd::Move(LINE_ABOVE))
}

/// Movement to the line break before the cursor.
const LINE_ABOVE: Movement = Movement::ViCharSearch(1, CharSearch::Backward('\n'));

fn delete(text: &str, position: usize) -> Option<Cmd> {
    is_before_line(text, position).then_some(Cmd::Kill(NEXT_WORD))
}

fn right(text: &str, position: usize) -> Option<Cmd> {
    is_before_line(text, position).then_some(Cmd::Move(NEXT_WORD))
}

const NEXT_WORD: Movement = Movement::ForwardWord(1, At::Start, Word::Big);

/// Returns true if the text continues with a line that begins with a word.
fn is_before_line(text: &str, position: usize) -> bool {
    text[position..].strip_prefix(LINE).is_some_and(|line| line.starts_with(|first: char| !first.is_whitespace()))
}

fn home(text: &str, position: usize) -> Option<Cmd> {
    let start = text[..position].rfind('\n')? + 1;
    match text[start..position].strip_prefix('\t')? {
        "" => Some(Cmd::Noop),
        _ => Some(Cmd::Move(Movement::ViCharSearch(1, CharSearch::BackwardAfter('\t')))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn enter_runs_what_is_complete_and_begins_a_line_otherwise() {
        assert_eq!(enter("SELECT 1;", 3), Some(Cmd::AcceptLine));
        assert_eq!(enter("SELECT 1", 8), Some(Cmd::Insert(1, LINE.into())));
        assert_eq!(enter("SELECT 'a", 9), Some(Cmd::Insert(1, "\n".into())));
        assert_eq!(enter("quit", 4), Some(Cmd::AcceptLine));
    }

    #[test]
    fn a_line_break_and_its_prompt_are_one() {
        let text = "SELECT\n\t1";
        assert_eq!(backspace(text, 8), Some(Cmd::Kill(LINE_ABOVE)));
        assert_eq!(backspace(text, 9), None);
        assert_eq!(delete(text, 6), Some(Cmd::Kill(NEXT_WORD)));
        assert_eq!(delete("SELECT\n\t  1", 6), None);
        assert_eq!(left(text, 8), Some(Cmd::Move(LINE_ABOVE)));
        assert_eq!(right(text, 6), Some(Cmd::Move(NEXT_WORD)));
        assert!(matches!(home(text, 9), Some(Cmd::Move(_))));
        assert_eq!((home(text, 8), home(text, 3)), (Some(Cmd::Noop), None));
    }
}
