//! Ctrl-C: what it stops depends on what runs.
//!
//! | | interactive | script |
//! |---|---|---|
//! | a statement runs | cancels it | cancels it, and the script ends; once more: exits at once |
//! | nothing runs | the line editor clears the line | exits |

use std::process;
use std::sync::{Arc, Mutex, MutexGuard};

use godwit::{Connection, Error, Result};

/// Exit status of a process ended by SIGINT, as shells report it.
pub const EXIT_STATUS: u8 = 130;

/// The process's handler of SIGINT.
#[derive(Clone)]
pub struct Interrupt(Arc<Mutex<State>>);

struct State {
    interactive: bool,
    /// Set while a statement runs.
    running: Option<Arc<Connection>>,
    /// Ctrl-C came since the statement was started.
    pressed: bool,
}

/// While it lives, Ctrl-C cancels the connection's statement.
pub struct Running<'a>(&'a Interrupt);

impl Interrupt {
    /// Installs the handler; at most once per process.
    pub fn install(interactive: bool) -> Result<Self> {
        let interrupt = Self(Arc::new(Mutex::new(State { interactive, running: None, pressed: false })));
        let handler = interrupt.clone();
        ctrlc::set_handler(move || handler.press())
            .map_err(|error| Error::internal(format!("Ctrl-C can't be handled: {error}")))?;
        Ok(interrupt)
    }

    /// Tells that a statement of `connection` runs from now on.
    pub fn running(&self, connection: &Arc<Connection>) -> Running<'_> {
        let mut state = self.state();
        state.running = Some(connection.clone());
        state.pressed = false;
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
            _ => process::exit(EXIT_STATUS.into()),
        }
        state.pressed = true;
    }
}

impl Running<'_> {
    /// Whether Ctrl-C came. Asked between batches, for a press that came before the query had started.
    pub fn is_pressed(&self) -> bool {
        self.0.state().pressed
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.state().running = None;
    }
}
