//! Properties of terminals.

use std::os::fd::AsFd;

use rustix::termios::tcgetwinsize;

/// The size of a window in characters; zero if the terminal doesn't know.
pub struct Size {
    pub rows: usize,
    pub columns: usize,
}

/// Returns the size of the window that a stream goes to, if it goes to a terminal.
pub fn size(stream: impl AsFd) -> Option<Size> {
    let size = tcgetwinsize(stream).ok()?;
    Some(Size { rows: size.ws_row.into(), columns: size.ws_col.into() })
}
