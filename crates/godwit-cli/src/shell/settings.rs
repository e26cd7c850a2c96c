//! Settings changed by dot commands.

use std::io::stdout;

use super::pager::Pager;
use crate::output::{Format, Options};
use crate::terminal;

pub(super) struct Settings {
    pub format: Format,
    pub options: Options,
    /// Maximum columns of a box; `None`: those of the window.
    pub width_max: Option<usize>,
    /// Whether to print the times after each statement.
    pub timer: bool,
    /// Whether to show a bar for long queries.
    pub progress: bool,
    /// Whether to print statements before they run.
    pub echo: bool,
    /// Whether a script ends at its first error.
    pub bail: bool,
    /// Whether to report how many rows a statement changed.
    pub changes: bool,
    pub pager: Pager,
    /// Whether a line editor waits for statements.
    pub interactive: bool,
}

impl Settings {
    pub(super) fn new(format: Format, interactive: bool) -> Self {
        Self {
            format,
            options: Options::default(),
            width_max: None,
            timer: false,
            progress: true,
            echo: false,
            bail: true,
            changes: true,
            pager: Pager::from_environment(),
            interactive,
        }
    }

    /// Returns the options for renderers. `on_screen`: the result goes to the terminal; `paged`: perhaps through a
    /// pager.
    pub(super) fn options(&self, on_screen: bool, paged: bool) -> Options {
        let window = on_screen.then(terminal_width).flatten();
        Options {
            width_max: self.width_max.or(window),
            colours: on_screen && !paged && colours(),
            ..self.options.clone()
        }
    }
}

/// Returns the columns of the terminal that standard output goes to, if any.
fn terminal_width() -> Option<usize> {
    terminal::size(stdout()).map(|size| size.columns).filter(|&columns| columns > 0)
}

/// Returns the rows of the terminal.
pub(super) fn terminal_rows() -> usize {
    const ROWS_UNLESS_KNOWN: usize = 24;
    terminal::size(stdout()).map(|size| size.rows).filter(|&rows| rows > 0).unwrap_or(ROWS_UNLESS_KNOWN)
}

/// Returns true if the terminal is to show colours: not if NO_COLOR is set (no-color.org) or it can't.
pub(super) fn colours() -> bool {
    let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let can = std::env::var_os("TERM").is_some_and(|terminal| !terminal.is_empty() && terminal != "dumb");
    can && !is_set("NO_COLOR")
}
