//! The shell on a terminal: line editing, history, multi-line statements.

use std::ops::ControlFlow;

use godwit::{Error, Result};
use rustyline::error::ReadlineError;
use rustyline::history::FileHistory;
use rustyline::{ColorMode, CompletionType, Config, Editor};

use super::editor::history::{ENTRIES_MAX, HistoryFile, user_folder};
use super::editor::keys::{PROMPT, TAB_COLUMNS, bind};
use super::editor::{BareCommand, ShellHelper, with_marks, without_marks};
use super::settings::colours;
use super::splitter::{Item, Splitter};
use super::{Shell, Stop, complain, dot, script};
use crate::version;

type LineEditor = Editor<ShellHelper, FileHistory>;

/// Reads and runs statements until `.quit` or the end of the input.
pub(super) fn run(shell: &mut Shell, with_init: bool) -> Result<ControlFlow<Stop>> {
    let (limit, reason) = version::setting(&shell.connection, "memory_limit")?;
    println!("Godwit {}, memory limit {limit} ({reason})\nType .help for help.", env!("CARGO_PKG_VERSION"));
    if with_init && let ControlFlow::Break(stop @ (Stop::Quit | Stop::OutputClosed)) = run_init(shell) {
        return Ok(ControlFlow::Break(stop));
    }
    let mut editor = line_editor().map_err(terminal_error)?;
    let mut history = HistoryFile::of_user();
    history.load(&mut editor);
    loop {
        refresh_names(shell, &mut editor);
        let line = match shell.draft.take() {
            Some(draft) => editor.readline_with_initial(PROMPT, (&with_marks(&draft), "")),
            None => editor.readline(PROMPT),
        };
        match line {
            Ok(text) => {
                history.add(&mut editor, &text);
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

fn line_editor() -> rustyline::Result<LineEditor> {
    // The editor must draw prompts of further lines even without colours.
    let config = Config::builder()
        .max_history_size(ENTRIES_MAX)?
        .history_ignore_dups(true)?
        .history_ignore_space(true)
        .tab_stop(TAB_COLUMNS)
        .color_mode(ColorMode::Enabled)
        .completion_type(CompletionType::List)
        .build();
    let mut editor = Editor::with_config(config)?;
    editor.set_helper(Some(ShellHelper::new(colours())));
    bind(&mut editor);
    Ok(editor)
}

/// Refreshes the editor's names. Skipped in an open transaction, which a failed query would abort.
fn refresh_names(shell: &mut Shell, editor: &mut LineEditor) {
    let Some(helper) = editor.helper_mut() else { return };
    if shell.names_are_stale && !shell.connection.is_in_transaction() {
        shell.names_are_stale = false;
        // Outdated names are better than none.
        let mut names = helper.names.clone();
        if names.refresh(shell).is_ok() {
            helper.names = names;
        }
    }
}

/// Runs `godwit/init.sql` in the user's configuration folder, if it exists. Its errors don't end the shell.
fn run_init(shell: &mut Shell) -> ControlFlow<Stop> {
    let path = user_folder("XDG_CONFIG_HOME", ".config").map(|folder| folder.join("godwit/init.sql"));
    let Some(path) = path.filter(|path| path.exists()) else { return ControlFlow::Continue(()) };
    script::run_file(shell, &path).unwrap_or_else(|error| {
        complain(format_args!("{error}\n"));
        ControlFlow::Continue(())
    })
}

/// Runs typed or pasted text, up to the first error unless `.bail off`.
fn run_text(shell: &mut Shell, text: &str) -> ControlFlow<Stop> {
    match BareCommand::of(text) {
        Some(BareCommand::Quit) => return ControlFlow::Break(Stop::Quit),
        Some(BareCommand::Help) => {
            let help = Item { kind: super::ItemKind::DotCommand, line: 1, column: 0, text: dot::HELP.into() };
            return shell.run_item(&help, None);
        }
        None => {}
    }
    let text = without_marks(text);
    let mut splitter = Splitter::default();
    let mut items: Vec<Item> = text.split_inclusive('\n').flat_map(|line| splitter.push_line(line)).collect();
    items.extend(splitter.finish());
    let (count, mut run) = (items.len(), 0);
    let counted = items.into_iter().inspect(|_| run += 1);
    let flow = script::run_items(shell, counted, None);
    if let (ControlFlow::Break(Stop::Failed | Stop::Cancelled), left @ 1..) = (flow, count - run) {
        let statements = if left == 1 { "statement was" } else { "statements were" };
        complain(format_args!("{left} more {statements} not run\n"));
    }
    flow
}

fn terminal_error(error: ReadlineError) -> Error {
    match error {
        ReadlineError::Io(error) => Error::io("reading from the terminal", &error),
        other => Error::internal(format!("reading from the terminal: {other}")),
    }
}
