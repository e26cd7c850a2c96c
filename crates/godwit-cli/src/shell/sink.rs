//! Destinations of results: standard output, perhaps through a pager, or a file.

use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, StdoutLock, Write, stdout};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use godwit::{Error, Result};

use super::pager::{PagedWriter, Pager};
use super::settings::Settings;
use super::{Failure, Outcome};

/// The target of `.output` and `.once`.
#[derive(Default)]
pub(super) struct Sink {
    target: Option<Target>,
    /// Whether it is for one result only.
    is_once: bool,
    is_used: bool,
}

pub(super) enum Target {
    File {
        file: BufWriter<File>,
        name: String,
    },
    /// A program that reads the results.
    Program {
        child: Child,
        command: String,
    },
}

/// Writes one result.
pub(super) enum Writer<'a> {
    Screen(StdoutLock<'static>),
    Paged(PagedWriter),
    Target(&'a mut Target),
}

impl Sink {
    /// Redirects results, from now on or for one result, to a file or to `|command`; `None`: to standard output.
    pub(super) fn redirect(&mut self, target: Option<&str>, is_once: bool) -> Outcome {
        self.close()?;
        self.target = target.map(Target::open).transpose()?;
        self.is_once = is_once;
        Ok(())
    }

    /// Describes the destination for `.show`.
    pub(super) fn describe(&self) -> String {
        match &self.target {
            None => "stdout".into(),
            Some(Target::File { name, .. }) => name.clone(),
            Some(Target::Program { command, .. }) => format!("|{command}"),
        }
    }

    pub(super) fn is_screen(&self) -> bool {
        self.target.is_none() && stdout().is_terminal()
    }

    /// Returns true if long results go through a pager.
    pub(super) fn is_paged(&self, settings: &Settings) -> bool {
        settings.interactive && self.is_screen() && settings.pager != Pager::Off
    }

    pub(super) fn writer(&mut self, settings: &Settings) -> Writer<'_> {
        self.is_used = true;
        let pages = self.is_paged(settings);
        match (&mut self.target, &settings.pager) {
            (Some(target), _) => Writer::Target(target),
            (None, Pager::Command(command)) if pages => Writer::Paged(PagedWriter::new(command.clone())),
            _ => Writer::Screen(stdout().lock()),
        }
    }

    /// Prints text and a line break.
    pub(super) fn print(&mut self, settings: &Settings, text: &str) -> Outcome {
        let mut writer = self.writer(settings);
        writer.write(format!("{text}\n").as_bytes())?;
        writer.finish()
    }

    /// Ends a statement or command.
    pub(super) fn end_item(&mut self) -> Outcome {
        let is_used = std::mem::take(&mut self.is_used);
        if self.is_once && is_used { self.close() } else { Ok(()) }
    }

    fn close(&mut self) -> Outcome {
        (self.is_once, self.is_used) = (false, false);
        self.target.take().map_or(Ok(()), Target::close)
    }
}

impl Drop for Sink {
    fn drop(&mut self) {
        if let Err(Failure::Statement(error)) = self.close() {
            super::complain(format_args!("{error}\n"));
        }
    }
}

impl Target {
    fn open(name: &str) -> Result<Self> {
        match name.strip_prefix('|') {
            Some(command) => {
                let child = Command::new("sh").arg("-c").arg(command).stdin(Stdio::piped()).spawn();
                let child = child.map_err(|error| Error::io(format!("starting {command}"), &error))?;
                Ok(Target::Program { child, command: command.trim().into() })
            }
            None => {
                let file =
                    File::create(Path::new(name)).map_err(|error| Error::io(format!("making {name}"), &error))?;
                Ok(Target::File { file: BufWriter::new(file), name: name.into() })
            }
        }
    }

    fn name(&self) -> &str {
        match self {
            Target::File { name, .. } => name,
            Target::Program { command, .. } => command,
        }
    }

    fn write(&mut self, text: &[u8]) -> io::Result<()> {
        match self {
            Target::File { file, .. } => file.write_all(text),
            Target::Program { child, .. } => match &mut child.stdin {
                Some(input) => input.write_all(text),
                None => Err(io::ErrorKind::BrokenPipe.into()),
            },
        }
    }

    /// Makes everything written so far visible to others.
    fn flush(&mut self) -> io::Result<()> {
        match self {
            Target::File { file, .. } => file.flush(),
            Target::Program { .. } => Ok(()),
        }
    }

    fn failure(&self, error: &io::Error) -> Failure {
        Error::io(format!("writing to {}", self.name()), error).into()
    }

    fn close(mut self) -> Outcome {
        let flushed = self.flush();
        flushed.map_err(|error| self.failure(&error))?;
        if let Target::Program { child, .. } = &mut self {
            drop(child.stdin.take());
            let ended = child.wait();
            ended.map_err(|error| self.failure(&error))?;
        }
        Ok(())
    }
}

impl Writer<'_> {
    pub(super) fn write(&mut self, text: &[u8]) -> Outcome {
        match self {
            Writer::Screen(output) => output.write_all(text).map_err(output_failure),
            Writer::Paged(pager) => pager.write(text),
            Writer::Target(target) => {
                let written = target.write(text);
                written.map_err(|error| target.failure(&error))
            }
        }
    }

    /// Ends a result that was written completely.
    pub(super) fn finish(self) -> Outcome {
        match self {
            Writer::Screen(mut output) => output.flush().map_err(output_failure),
            Writer::Paged(pager) => pager.finish(),
            Writer::Target(target) => {
                let flushed = target.flush();
                flushed.map_err(|error| target.failure(&error))
            }
        }
    }
}

pub(super) fn output_failure(error: io::Error) -> Failure {
    match error.kind() {
        io::ErrorKind::BrokenPipe => Failure::OutputClosed,
        _ => Failure::Statement(Error::io("writing to standard output", &error)),
    }
}
