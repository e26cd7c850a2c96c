//! The shell: runs statements and dot commands from any source, and writes results and errors.
//!
//! ```text
//! script.rs       -c, -f, pipes, .read ──┐                             ┌─▶ dot/         what begins with a dot
//! interactive.rs  a terminal ────────────┴─▶ splitter.rs ─▶ run_item ──┴─▶ statement.rs SQL ─▶ sink.rs: screen, pager, file
//!   editor/       colours, completion, hints, keys                          report.rs: errors
//! ```

mod dot;
mod editor;
mod interactive;
mod pager;
mod report;
mod script;
mod settings;
mod sink;
mod splitter;
mod statement;

use std::fmt::Display;
use std::io::{IsTerminal, Write, stderr, stdin, stdout};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use godwit::{Connection, Database, Error, ErrorKind, Result};

use crate::arguments::{Arguments, Limits};
use crate::interrupt::Interrupt;
use crate::timer::Stopwatch;
use settings::Settings;
use sink::Sink;
use splitter::{Item, ItemKind};

/// Runs the shell as the command line requests.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let interactive = arguments.scripts.is_empty() && stdin().is_terminal();
    let interrupt = Interrupt::install()?;
    let database = Database::open_with(&arguments.database, arguments.limits.config())?;
    let mut shell = Shell {
        connection: Arc::new(database.connect()),
        path: arguments.database.clone(),
        limits: arguments.limits.clone(),
        interrupt,
        settings: Settings::new(arguments.format, interactive),
        sink: Sink::default(),
        read_depth: 0,
        has_failed: false,
        draft: None,
        last_statement: String::new(),
        names_are_stale: true,
    };
    let end = if interactive {
        shell.interrupt.set_interactive();
        interactive::run(&mut shell, !arguments.no_init)?
    } else if arguments.scripts.is_empty() {
        script::run_reader(&mut shell, stdin().lock(), None)
    } else {
        arguments.scripts.iter().try_for_each(|script| script::run_argument(&mut shell, script))
    };
    Ok(match end {
        ControlFlow::Continue(()) | ControlFlow::Break(Stop::Quit) if shell.has_failed && !interactive => {
            ExitCode::FAILURE
        }
        ControlFlow::Continue(()) | ControlFlow::Break(Stop::Quit | Stop::OutputClosed) => ExitCode::SUCCESS,
        ControlFlow::Break(Stop::Failed) => ExitCode::FAILURE,
        ControlFlow::Break(Stop::Cancelled) => shell.interrupt.exit_status().into(),
    })
}

/// Reason for a script to end early. The user has already been told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stop {
    /// `.quit`.
    Quit,
    /// A statement failed. The interactive shell goes on.
    Failed,
    /// Ctrl-C. The interactive shell goes on.
    Cancelled,
    /// Standard output is no longer read (`| head`).
    OutputClosed,
}

/// Reason for a statement or command to end early.
#[derive(Debug)]
enum Failure {
    Statement(Error),
    /// Standard output is no longer read.
    OutputClosed,
    /// The user left the pager before the end.
    PagerClosed,
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure::Statement(error)
    }
}

type Outcome<T = ()> = std::result::Result<T, Failure>;

struct Shell {
    connection: Arc<Connection>,
    /// The open database.
    path: PathBuf,
    limits: Limits,
    interrupt: Interrupt,
    settings: Settings,
    /// Destination of results.
    sink: Sink,
    /// Nesting depth of running `.read` commands.
    read_depth: usize,
    /// Whether a statement of a script failed and the script went on.
    has_failed: bool,
    /// Initial text for the line editor, from `.edit`.
    draft: Option<String>,
    /// The last statement, for `.edit`.
    last_statement: String,
    /// Whether tables, columns or functions may have changed since the line editor's names were refreshed.
    names_are_stale: bool,
}

impl Shell {
    /// Runs an item of the script called `script`, and reports errors.
    fn run_item(&mut self, item: &Item, script: Option<&str>) -> ControlFlow<Stop> {
        if self.settings.echo {
            let printed = self.sink.print(&self.settings, item.text.trim());
            self.report(printed, item, script)?;
        }
        let flow = match item.kind {
            ItemKind::DotCommand => match dot::run(self, &item.text) {
                Ok(flow) => flow,
                Err(failure) => self.report(Err(failure), item, script),
            },
            ItemKind::Statement => {
                let stopwatch = Stopwatch::start();
                let outcome = self.run_statements(&item.text);
                self.last_statement.clone_from(&item.text);
                let flow = self.report(outcome, item, script);
                if self.settings.timer {
                    // The last output for a statement: a program that reads it knows that no error message follows.
                    complain(format_args!("{stopwatch}\n"));
                }
                flow
            }
        };
        let closed = self.sink.end_item();
        flow?;
        self.report(closed, item, script)
    }

    /// Reports an error to the user, if there was one; returns whether to go on.
    fn report(&self, outcome: Outcome, item: &Item, script: Option<&str>) -> ControlFlow<Stop> {
        match outcome {
            Ok(()) | Err(Failure::PagerClosed) => ControlFlow::Continue(()),
            Err(Failure::OutputClosed) => ControlFlow::Break(Stop::OutputClosed),
            Err(Failure::Statement(error)) if error.kind() == ErrorKind::Cancelled => {
                complain("cancelled\n");
                ControlFlow::Break(Stop::Cancelled)
            }
            Err(Failure::Statement(error)) => {
                complain(report::render(&error, item, script));
                ControlFlow::Break(Stop::Failed)
            }
        }
    }
}

/// Reports an error to the user. If that fails, only the exit status can still tell.
pub(crate) fn complain(text: impl Display) {
    let _ = write!(stderr(), "{text}");
}

/// Prints a line to standard output, for subcommands.
pub(crate) fn print_line(line: &str) -> Result<()> {
    writeln!(stdout(), "{line}").map_err(|error| Error::io("writing to standard output", &error))
}
