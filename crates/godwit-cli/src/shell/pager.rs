//! Pagers for long results.

use std::io::{self, Write, stdout};
use std::process::{Child, Command, Stdio};

use godwit::Error;

use super::settings::terminal_rows;
use super::{Failure, Outcome};

/// Pager for long results.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Pager {
    Off,
    Command(String),
}

/// Default pager if the environment names none.
const DEFAULT_COMMAND: &str = "less";

impl Pager {
    /// Returns the program named by PAGER; none if it isn't set.
    pub(super) fn from_environment() -> Self {
        match std::env::var("PAGER") {
            Ok(command) if !command.trim().is_empty() => Pager::Command(command),
            _ => Pager::Off,
        }
    }

    /// Returns the program named by PAGER, or `less`.
    pub(super) fn on() -> Self {
        match Self::from_environment() {
            Pager::Off => Pager::Command(DEFAULT_COMMAND.into()),
            pager => pager,
        }
    }
}

/// Writes text for the terminal: directly at the end if it fits on the screen, otherwise through the pager.
pub(super) struct PagedWriter {
    command: String,
    /// Text held back until it exceeds the screen.
    held: Vec<u8>,
    lines: usize,
    child: Option<Child>,
}

/// Lines of the screen that the prompt and its surroundings need.
const SPARE_LINES: usize = 2;

/// More text than fits on a screen, however long its lines.
const HELD_BYTES_MAX: usize = 64 << 10;

impl PagedWriter {
    pub(super) fn new(command: String) -> Self {
        Self { command, held: Vec::new(), lines: 0, child: None }
    }

    pub(super) fn write(&mut self, text: &[u8]) -> Outcome {
        if self.child.is_none() {
            self.lines += text.iter().filter(|&&byte| byte == b'\n').count();
            self.held.extend_from_slice(text);
            if self.lines + SPARE_LINES <= terminal_rows() && self.held.len() <= HELD_BYTES_MAX {
                return Ok(());
            }
            self.child = Some(start(&self.command)?);
            let held = std::mem::take(&mut self.held);
            return self.write_to_child(&held);
        }
        self.write_to_child(text)
    }

    fn write_to_child(&mut self, text: &[u8]) -> Outcome {
        let input = self.child.as_mut().and_then(|child| child.stdin.as_mut());
        let Some(input) = input else { return Err(Failure::PagerClosed) };
        input.write_all(text).map_err(|error| match error.kind() {
            io::ErrorKind::BrokenPipe => Failure::PagerClosed,
            _ => Error::io(format!("writing to the pager {}", self.command), &error).into(),
        })
    }

    /// Writes held text, or waits until the user leaves the pager.
    pub(super) fn finish(self) -> Outcome {
        if self.child.is_none() {
            let mut output = stdout().lock();
            return output.write_all(&self.held).and_then(|()| output.flush()).map_err(super::sink::output_failure);
        }
        Ok(())
    }
}

impl Drop for PagedWriter {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            drop(child.stdin.take());
            // The exit status doesn't matter: the user has seen the result.
            let _ = child.wait();
        }
    }
}

fn start(command: &str) -> Outcome<Child> {
    let mut pager = Command::new("sh");
    pager.arg("-c").arg(command).stdin(Stdio::piped());
    if std::env::var_os("LESS").is_none() {
        // Exit at once if there is just one screen, pass colours through, cut long lines.
        pager.env("LESS", "FRSX");
    }
    pager.spawn().map_err(|error| Error::io(format!("starting the pager {command}"), &error).into())
}
