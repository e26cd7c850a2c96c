//! One error type for the whole engine.
//!
//! An error says what happened, where, and what the user can do about it: `message`, `position`, `hint`. The kind says
//! who has to act; it never changes how an error is propagated.

use std::fmt;

/// The result of everything that a user or a disk can make fail.
pub type Result<T> = std::result::Result<T, Error>;

/// Who has to act on an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// The statement, a setting or a value in the data is wrong: syntax, unknown name, overflow, division by zero.
    User,
    /// Memory, temporary space or another limited resource ran out.
    Resource,
    /// The operating system refused a read, a write or an open.
    Io,
    /// Stored data contradicts its format or its checksum.
    Corrupt,
    /// The user or a timeout cancelled the query.
    Cancelled,
    /// The statement is valid, but Godwit can't run it yet.
    Unsupported,
    /// A bug in Godwit that was caught before it did harm.
    Internal,
}

/// A place in the SQL text, both counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Position {
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
}

/// What went wrong, where, and what to do. Cheap to move: one pointer.
#[derive(Clone)]
pub struct Error(Box<Inner>);

#[derive(Clone)]
struct Inner {
    kind: ErrorKind,
    message: String,
    hint: Option<String>,
    position: Option<Position>,
}

impl Error {
    /// An error of the given kind; `message` says what happened, in a sentence without a final stop.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self(Box::new(Inner { kind, message: message.into(), hint: None, position: None }))
    }

    /// A mistake in the statement, a setting or the data.
    pub fn user(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::User, message)
    }

    /// A resource ran out.
    pub fn resource(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Resource, message)
    }

    /// Stored data is broken.
    pub fn corrupt(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Corrupt, message)
    }

    /// Valid SQL that can't be run yet.
    pub fn unsupported(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Unsupported, message)
    }

    /// A caught bug.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Internal, message)
    }

    /// The query was cancelled.
    pub fn cancelled() -> Self {
        Self::new(ErrorKind::Cancelled, "the query was cancelled")
    }

    /// An operating-system error while doing `action` ("reading /data/x.parquet").
    pub fn io(action: impl fmt::Display, error: &std::io::Error) -> Self {
        Self::new(ErrorKind::Io, format!("{action}: {error}"))
    }

    /// Adds what the user can do about it.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.0.hint = Some(hint.into());
        self
    }

    /// Adds the place in the SQL text.
    #[must_use]
    pub fn at(mut self, position: Position) -> Self {
        self.0.position = Some(position);
        self
    }

    /// Prefixes the message with what was being done ("reading orders.parquet: ...").
    #[must_use]
    pub fn context(mut self, doing: impl fmt::Display) -> Self {
        self.0.message = format!("{doing}: {}", self.0.message);
        self
    }

    /// Who has to act.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// What happened.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// What to do about it.
    pub fn hint(&self) -> Option<&str> {
        self.0.hint.as_deref()
    }

    /// Where in the SQL text.
    pub fn position(&self) -> Option<Position> {
        self.0.position
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let label = match self.0.kind {
            ErrorKind::User => "error",
            ErrorKind::Resource => "resource error",
            ErrorKind::Io => "I/O error",
            ErrorKind::Corrupt => "corrupt data",
            ErrorKind::Cancelled => "cancelled",
            ErrorKind::Unsupported => "not supported",
            ErrorKind::Internal => "internal error (please report it)",
        };
        write!(f, "{label}: {}", self.0.message)?;
        if let Some(Position { line, column }) = self.0.position {
            write!(f, " (line {line}, column {column})")?;
        }
        if let Some(hint) = &self.0.hint {
            write!(f, "\nhint: {hint}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_tells_what_where_and_what_to_do() {
        let error = Error::user("no table named lineitm")
            .at(Position { line: 2, column: 15 })
            .with_hint("did you mean lineitem?");
        assert_eq!(
            error.to_string(),
            "error: no table named lineitm (line 2, column 15)\nhint: did you mean lineitem?"
        );
    }
}
