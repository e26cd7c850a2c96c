//! Ctrl-C: its effect depends on what is running.
//!
//! | | interactive | script |
//! |---|---|---|
//! | a statement runs | cancels it | cancels it, and the script ends; once more: exits at once |
//! | nothing runs | the line editor clears the line | exits |
//!
//! SIGTERM, and SIGHUP when the terminal is closed, cancel the running statement and then end the program.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;
use std::{fs, io, process, thread};

use godwit::{Connection, Error, Result};
use nix::sys::signal::Signal;
use signal_hook::iterator::Signals;

/// Time for a cancelled statement to end when the program is to end.
const GRACE: Duration = Duration::from_secs(5);

/// Returns the exit status of a process that a signal ended, as shells report it.
fn exit_status(signal: Signal) -> u8 {
    128 + signal as u8
}

/// Handler of SIGINT, SIGTERM and SIGHUP for the process.
#[derive(Clone)]
pub struct Interrupt(Arc<Mutex<State>>);

struct State {
    interactive: bool,
    /// Set while a statement runs.
    running: Option<Arc<Connection>>,
    /// Whether Ctrl-C was pressed since the statement was started.
    pressed: bool,
    /// The signal that told the program to end.
    ending: Option<Signal>,
}

/// Guard during whose lifetime Ctrl-C cancels the connection's statement.
pub struct Running<'a>(&'a Interrupt);

impl Interrupt {
    /// Installs the handlers, for a program that isn't interactive yet; once per process.
    pub fn install() -> Result<Self> {
        let state = State { interactive: false, running: None, pressed: false, ending: None };
        let interrupt = Self(Arc::new(Mutex::new(state)));
        let failed = |error: io::Error| Error::internal(format!("signals can't be handled: {error}"));
        let ending = [Signal::SIGTERM, Signal::SIGHUP].into_iter().filter(|&signal| !is_ignored(signal));
        let numbers = ending.chain([Signal::SIGINT]).map(|signal| signal as i32);
        let mut signals = Signals::new(numbers).map_err(failed)?;
        let handler = interrupt.clone();
        let wait = move || {
            for signal in signals.forever().filter_map(|number| Signal::try_from(number).ok()) {
                match signal {
                    Signal::SIGINT => handler.press(),
                    _ => handler.end(signal),
                }
            }
        };
        thread::Builder::new().name("signals".into()).spawn(wait).map_err(failed)?;
        Ok(interrupt)
    }

    /// Switches to interactive mode: a line editor waits for statements.
    pub fn set_interactive(&self) {
        self.state().interactive = true;
    }

    /// Returns true if the program was told to end.
    pub fn is_ending(&self) -> bool {
        self.state().ending.is_some()
    }

    /// Returns the exit status of an interrupted program.
    pub fn exit_status(&self) -> u8 {
        exit_status(self.state().ending.unwrap_or(Signal::SIGINT))
    }

    /// Records that a statement of `connection` runs from now on.
    pub fn running(&self, connection: &Arc<Connection>) -> Running<'_> {
        let mut state = self.state();
        state.running = Some(connection.clone());
        state.pressed = state.ending.is_some();
        Running(self)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().expect("nobody panics with this lock held")
    }

    fn press(&self) {
        let mut state = self.state();
        match &state.running {
            Some(connection) if state.interactive || !state.pressed => connection.cancel(),
            _ if state.interactive => {}
            _ => process::exit(exit_status(Signal::SIGINT).into()),
        }
        state.pressed = true;
    }

    /// Cancels the running statement; the program ends after that, or after the grace period. Ends at once if nothing
    /// runs, or on the second signal.
    fn end(&self, signal: Signal) {
        let status = exit_status(signal).into();
        let mut state = self.state();
        match &state.running {
            Some(connection) if state.ending.is_none() => connection.cancel(),
            _ => process::exit(status),
        }
        state.pressed = true;
        state.ending = Some(signal);
        thread::spawn(move || {
            thread::sleep(GRACE);
            process::exit(status);
        });
    }
}

/// Returns true if the parent process made this one ignore a signal, as `nohup` does.
fn is_ignored(signal: Signal) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    (mask >> (signal as u32 - 1)) & 1 == 1
}

impl Running<'_> {
    /// Returns true if Ctrl-C was pressed. Checked between batches, in case it was pressed before the query had
    /// started.
    pub fn is_pressed(&self) -> bool {
        self.0.state().pressed
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.state().running = None;
    }
}
