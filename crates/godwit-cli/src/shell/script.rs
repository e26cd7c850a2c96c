//! Scripts: `-c`, `-f`, standard input and `.read`. A script stops at its first error, unless `.bail off`.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::ops::ControlFlow;
use std::path::Path;

use godwit::{Error, Result};

use super::splitter::{Item, Splitter};
use super::{Shell, Stop, complain};
use crate::arguments::Script;

/// Runs a script from the command line.
pub(super) fn run_argument(shell: &mut Shell, script: &Script) -> ControlFlow<Stop> {
    match script {
        Script::Command(text) => run_reader(shell, text.as_bytes(), None),
        Script::File(path) => run_file(shell, path).unwrap_or_else(|error| {
            complain(format_args!("{error}\n"));
            ControlFlow::Break(Stop::Failed)
        }),
    }
}

/// Runs the statements in a file; fails if it can't be opened.
pub(super) fn run_file(shell: &mut Shell, path: &Path) -> Result<ControlFlow<Stop>> {
    let name = path.display().to_string();
    let file = File::open(path).map_err(|error| Error::io(format!("opening {name}"), &error))?;
    Ok(run_reader(shell, BufReader::new(file), Some(&name)))
}

/// Runs statements as they arrive: each before the next line is read, so that another program can converse with the
/// shell through pipes.
pub(super) fn run_reader(shell: &mut Shell, mut reader: impl BufRead, name: Option<&str>) -> ControlFlow<Stop> {
    let mut splitter = Splitter::default();
    let mut line = String::new();
    loop {
        line.clear();
        match reader.read_line(&mut line) {
            Ok(0) => break,
            Ok(_) => run_items(shell, splitter.push_line(&line), name)?,
            Err(error) => {
                let error = Error::io(format!("reading {}", name.unwrap_or("standard input")), &error);
                complain(format_args!("{error}\n"));
                return ControlFlow::Break(Stop::Failed);
            }
        }
    }
    run_items(shell, splitter.finish(), name)
}

/// Runs items, up to the first that fails unless `.bail off`.
pub(super) fn run_items(
    shell: &mut Shell,
    items: impl IntoIterator<Item = Item>,
    name: Option<&str>,
) -> ControlFlow<Stop> {
    items.into_iter().try_for_each(|item| match shell.run_item(&item, name) {
        ControlFlow::Break(Stop::Failed) if !shell.settings.bail => {
            shell.has_failed = true;
            ControlFlow::Continue(())
        }
        flow => flow,
    })
}
