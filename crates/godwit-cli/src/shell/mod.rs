//! The shell: runs statements and dot commands, from whichever source they come, and writes results and errors.

mod dot;
mod interactive;
mod report;
mod script;
mod splitter;

use std::fmt::Display;
use std::io::{self, IsTerminal, Write, stderr, stdin, stdout};
use std::ops::ControlFlow;
use std::process::ExitCode;
use std::sync::Arc;

use godwit::{Connection, Database, Error, ErrorKind, QueryResult, Result};

use crate::arguments::Arguments;
use crate::interrupt::Interrupt;
use crate::output::Format;
use crate::progress::ProgressWatch;
use crate::timer::Stopwatch;
use splitter::{Item, ItemKind};

/// Runs the shell that the command line asks for.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let interactive = arguments.scripts.is_empty() && stdin().is_terminal();
    let interrupt = Interrupt::install()?;
    let database = Database::open_with(&arguments.database, arguments.limits.config())?;
    let mut shell = Shell {
        connection: Arc::new(database.connect()),
        interrupt,
        format: arguments.format,
        timer: false,
        progress: true,
        read_depth: 0,
    };
    let end = if interactive {
        shell.interrupt.set_interactive();
        interactive::run(&mut shell)?
    } else if arguments.scripts.is_empty() {
        script::run_reader(&mut shell, stdin().lock(), None)
    } else {
        arguments.scripts.iter().try_for_each(|script| script::run_argument(&mut shell, script))
    };
    Ok(match end {
        ControlFlow::Continue(()) | ControlFlow::Break(Stop::Quit | Stop::OutputClosed) => ExitCode::SUCCESS,
        ControlFlow::Break(Stop::Failed) => ExitCode::FAILURE,
        ControlFlow::Break(Stop::Cancelled) => shell.interrupt.exit_status().into(),
    })
}

/// Why a script ends before its text does. The user has already been told.
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

/// Why a statement didn't write its whole result.
enum Failure {
    Statement(Error),
    OutputClosed,
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure::Statement(error)
    }
}

struct Shell {
    connection: Arc<Connection>,
    interrupt: Interrupt,
    format: Format,
    /// Print the times after each statement.
    timer: bool,
    /// Show a bar for long queries.
    progress: bool,
    /// `.read` commands that are being carried out.
    read_depth: usize,
}

impl Shell {
    /// Runs an item of the script called `script`, and reports what goes wrong.
    fn run_item(&mut self, item: &Item, script: Option<&str>) -> ControlFlow<Stop> {
        match item.kind {
            ItemKind::DotCommand => match dot::run(self, &item.text) {
                Ok(flow) => flow,
                Err(error) => report_outcome(Err(error.into()), item, script),
            },
            ItemKind::Statement => {
                let stopwatch = Stopwatch::start();
                let flow = report_outcome(self.run_statements(&item.text), item, script);
                if self.timer {
                    // The last output for a statement: a program that reads it knows that no error message will follow.
                    complain(format_args!("{stopwatch}\n"));
                }
                flow
            }
        }
    }

    /// Runs the statements in a text and writes their results. Ctrl-C cancels meanwhile.
    fn run_statements(&self, sql: &str) -> std::result::Result<(), Failure> {
        let running = self.interrupt.running(&self.connection);
        for statement in self.connection.parse(sql)? {
            if running.is_pressed() {
                return Err(Error::cancelled().into());
            }
            let result = self.connection.run(&statement)?;
            self.write_result(result, || running.is_pressed())?;
        }
        Ok(())
    }

    fn write_result(&self, mut result: QueryResult, cancelled: impl Fn() -> bool) -> std::result::Result<(), Failure> {
        let schema = result.schema().clone();
        let mut progress = if self.progress { ProgressWatch::start(result.progress()) } else { None };
        let mut renderer = self.format.renderer(&schema, terminal_width());
        let mut text = Vec::new();
        let mut output = stdout().lock();
        for batch in &mut result {
            if cancelled() {
                return Err(Error::cancelled().into());
            }
            renderer.batch(&batch?, &mut text)?;
            if !text.is_empty() {
                progress = None;
                write_out(&mut output, &text)?;
                text.clear();
            }
        }
        drop(progress);
        if schema.fields().is_empty() {
            return Ok(());
        }
        renderer.finish(&mut text)?;
        write_out(&mut output, &text)?;
        output.flush().map_err(output_failure)
    }
}

fn write_out(output: &mut impl Write, text: &[u8]) -> std::result::Result<(), Failure> {
    output.write_all(text).map_err(output_failure)
}

fn output_failure(error: io::Error) -> Failure {
    match error.kind() {
        io::ErrorKind::BrokenPipe => Failure::OutputClosed,
        _ => Failure::Statement(Error::io("writing to standard output", &error)),
    }
}

/// Reports an error to the user, if there was one; returns whether to go on.
fn report_outcome(outcome: std::result::Result<(), Failure>, item: &Item, script: Option<&str>) -> ControlFlow<Stop> {
    match outcome {
        Ok(()) => ControlFlow::Continue(()),
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

/// Columns of the terminal that standard output goes to, if it does.
fn terminal_width() -> Option<usize> {
    let (_, columns) = console::Term::stdout().size_checked()?;
    stdout().is_terminal().then_some(columns.into())
}

/// Reports an error to the user. If that fails, only the exit status can still tell.
pub(crate) fn complain(text: impl Display) {
    let _ = write!(stderr(), "{text}");
}

/// Prints what isn't a result, where results go.
fn say(text: &str) -> ControlFlow<Stop> {
    match writeln!(stdout(), "{text}") {
        Ok(()) => ControlFlow::Continue(()),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ControlFlow::Break(Stop::OutputClosed),
        Err(error) => {
            complain(format_args!("error: writing to standard output: {error}\n"));
            ControlFlow::Break(Stop::Failed)
        }
    }
}
