//! A program that shows long results page by page.

use std::io::{self, Write, stdout};
use std::process::{Child, Command, Stdio};

use godwit::Error;

use super::settings::terminal_rows;
use super::{Failure, Outcome};

/// What long results go through.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Pager {
    Off,
    Command(String),
}

/// The pager where the environment names none, for those who ask for one.
const DEFAULT_COMMAND: &str = "less";

impl Pager {
    /// The program that PAGER names; none if it doesn't.
    pub(super) fn from_environment() -> Self {
        match std::env::var("PAGER") {
            Ok(command) if !command.trim().is_empty() => Pager::Command(command),
            _ => Pager::Off,
        }
    }

    /// The program that PAGER names, or `less`.
    pub(super) fn on() -> Self {
        match Self::from_environment() {
            Pager::Off => Pager::Command(DEFAULT_COMMAND.into()),
            pager => pager,
        }
    }
}

/// Text for the terminal: what fits on the screen goes there at the end, more goes through the pager.
pub(super) struct PagedWriter {
    command: String,
    /// Text until there is more than a screen of it.
    held: Vec<u8>,
    lines: usize,
    child: Option<Child>,
}

/// Lines that the prompt and its surroundings need of a screen.
const SPARE_LINES: usize = 2;

/// More text than a screen can show, in whatever lines.
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

    /// Writes what is held, or waits until the user leaves the pager.
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
            // How it ends is nobody's business: the user has seen what there was to see.
            let _ = child.wait();
        }
    }
}

fn start(command: &str) -> Outcome<Child> {
    let mut pager = Command::new("sh");
    pager.arg("-c").arg(command).stdin(Stdio::piped());
    if std::env::var_os("LESS").is_none() {
        // Leave at once if there is but one screen, understand colours, cut long lines.
        pager.env("LESS", "FRSX");
    }
    pager.spawn().map_err(|error| Error::io(format!("starting the pager {command}"), &error).into())
}
