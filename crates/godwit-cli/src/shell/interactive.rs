//! The shell on a terminal: line editing, history, statements over several lines.

use std::fs;
use std::ops::ControlFlow;
use std::path::PathBuf;

use godwit::{Error, Result};
use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::FileHistory;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{Config, Editor, Helper};

use super::splitter::Splitter;
use super::{Shell, Stop, complain};
use crate::version;

/// Reads and runs statements until `.quit` or the end of the input.
pub(super) fn run(shell: &mut Shell) -> Result<ControlFlow<Stop>> {
    let (limit, reason) = version::setting(&shell.connection, "memory_limit")?;
    println!("Godwit {}, memory limit {limit} ({reason}). Type .help for help.", env!("CARGO_PKG_VERSION"));
    let config = Config::builder().auto_add_history(true).build();
    let mut editor: Editor<Statements, FileHistory> = Editor::with_config(config).map_err(terminal_error)?;
    editor.set_helper(Some(Statements));
    let history = history_file();
    if let Some(path) = &history {
        // There is none the first time.
        let _ = editor.load_history(path);
    }
    let flow = read_and_run(shell, &mut editor);
    if let Some(path) = &history {
        let saved = path.parent().map_or(Ok(()), fs::create_dir_all).map_err(|error| error.to_string());
        let saved = saved.and_then(|()| editor.save_history(path).map_err(|error| error.to_string()));
        if let Err(error) = saved {
            complain(format_args!("the history was not saved to {}: {error}\n", path.display()));
        }
    }
    flow
}

fn read_and_run(shell: &mut Shell, editor: &mut Editor<Statements, FileHistory>) -> Result<ControlFlow<Stop>> {
    loop {
        match editor.readline("godwit> ") {
            Ok(text) => {
                if let ControlFlow::Break(stop @ (Stop::Quit | Stop::OutputClosed)) = run_text(shell, &text) {
                    return Ok(ControlFlow::Break(stop));
                }
                if shell.interrupt.is_ending() {
                    return Ok(ControlFlow::Break(Stop::Cancelled));
                }
            }
            Err(ReadlineError::Interrupted) => {}
            Err(ReadlineError::Eof) => return Ok(ControlFlow::Continue(())),
            Err(error) => return Err(terminal_error(error)),
        }
    }
}

/// Runs what was typed, up to the first error.
fn run_text(shell: &mut Shell, text: &str) -> ControlFlow<Stop> {
    let mut splitter = Splitter::default();
    for line in text.split_inclusive('\n') {
        splitter.push_line(line).iter().try_for_each(|item| shell.run_item(item, None))?;
    }
    splitter.finish().iter().try_for_each(|item| shell.run_item(item, None))
}

/// Enter ends the input when its last statement has its semicolon.
fn is_complete(text: &str) -> bool {
    let mut splitter = Splitter::default();
    text.split_inclusive('\n').for_each(|line| drop(splitter.push_line(line)));
    splitter.is_blank()
}

fn terminal_error(error: ReadlineError) -> Error {
    match error {
        ReadlineError::Io(error) => Error::io("reading from the terminal", &error),
        other => Error::internal(format!("reading from the terminal: {other}")),
    }
}

/// `godwit/history` in the user's folder for state.
fn history_file() -> Option<PathBuf> {
    let folder = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let state = folder("XDG_STATE_HOME").or_else(|| folder("HOME").map(|home| home.join(".local/state")))?;
    Some(state.join("godwit/history"))
}

/// Tells the line editor where statements end.
struct Statements;

impl Helper for Statements {}
impl Highlighter for Statements {}
impl Hinter for Statements {
    type Hint = String;
}
impl Completer for Statements {
    type Candidate = String;
}
impl Validator for Statements {
    fn validate(&self, context: &mut ValidationContext) -> rustyline::Result<ValidationResult> {
        let complete = is_complete(context.input());
        Ok(if complete { ValidationResult::Valid(None) } else { ValidationResult::Incomplete })
    }
}

#[cfg(test)]
mod tests {
    use super::is_complete;

    #[test]
    fn enter_goes_on_within_a_statement() {
        for text in ["", ".help", "SELECT 1;", "SELECT 1; -- done", "SELECT\n1;\n"] {
            assert!(is_complete(text), "{text}");
        }
        for text in ["SELECT 1", "SELECT ';", "SELECT 1; SELECT 2", "SELECT 1; /* open"] {
            assert!(!is_complete(text), "{text}");
        }
    }
}
