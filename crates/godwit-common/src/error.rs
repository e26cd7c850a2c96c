//! One error type for the whole engine.
//!
//! An error says what happened, where, and what the user can do about it: `message`, `position`, `hint`. The kind says
//! who has to act; it never changes how an error is propagated.

use std::fmt;

use crate::{SqlState, without_secrets};

/// Result of anything that can fail because of a user or a disk.
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

/// A range of the SQL text, in bytes. Trees and plans carry spans; [`Error::locate`] makes a [`Position`] of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Span {
    /// First byte.
    pub start: u32,
    /// The byte after the last.
    pub end: u32,
}

impl Span {
    /// The span of nodes without a text, such as the columns of `*`.
    pub const NONE: Span = Span { start: u32::MAX, end: u32::MAX };

    /// Creates the span from byte `start` to byte `end`, exclusive.
    pub fn new(start: usize, end: usize) -> Self {
        let narrow = |at: usize| u32::try_from(at).expect("scripts are shorter than 4 GiB");
        Self { start: narrow(start), end: narrow(end) }
    }

    /// Returns true if the span stands for no text.
    pub fn is_none(self) -> bool {
        self == Self::NONE
    }

    /// Returns the span from the start of this one to the end of `last`.
    #[must_use]
    pub fn to(self, last: Span) -> Span {
        match (self.is_none(), last.is_none()) {
            (true, _) => last,
            (_, true) => self,
            _ => Span { start: self.start, end: last.end },
        }
    }
}

impl Position {
    /// Returns the position of byte `at` in `text`.
    pub fn of_byte(text: &str, at: usize) -> Self {
        let mut at = at.min(text.len());
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        let before = &text[..at];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let count = |bytes: usize| u32::try_from(bytes).unwrap_or(u32::MAX);
        Self {
            line: count(before.bytes().filter(|&byte| byte == b'\n').count()).saturating_add(1),
            column: count(before[line_start..].chars().count()).saturating_add(1),
        }
    }
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
    span: Option<Span>,
    code: Option<SqlState>,
}

/// Hides the secrets in a text. Few texts have any.
fn shown(text: String) -> String {
    if text.contains("://") { without_secrets(&text) } else { text }
}

impl Error {
    /// Creates an error of the given kind. `message` says what happened, in a sentence without a full stop. Secrets in
    /// URLs are hidden, both in it and in whatever is added later.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        let message = shown(message.into());
        Self(Box::new(Inner { kind, message, hint: None, position: None, span: None, code: None }))
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

    /// Adds a hint about what the user can do.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.0.hint = Some(shown(hint.into()));
        self
    }

    /// Adds the position in the SQL text.
    #[must_use]
    pub fn at(mut self, position: Position) -> Self {
        self.0.position = Some(position);
        self
    }

    /// Adds the span in the SQL text unless there already is one, which is closer to the mistake and so more precise.
    #[must_use]
    pub fn at_span(mut self, span: Span) -> Self {
        if self.0.position.is_none() && self.0.span.is_none() && !span.is_none() {
            self.0.span = Some(span);
        }
        self
    }

    /// Turns the span into a line and column of `script`, the text that spans refer to.
    #[must_use]
    pub fn locate(mut self, script: &str) -> Self {
        if let Some(span) = self.0.span.take() {
            self.0.position = Some(Position::of_byte(script, span.start as usize));
        }
        self
    }

    /// Replaces the position, which is one in a text that the user hasn't written.
    #[must_use]
    pub fn only_at_span(mut self, span: Span) -> Self {
        (self.0.position, self.0.span) = (None, None);
        self.at_span(span)
    }

    /// Sets the SQLSTATE code.
    #[must_use]
    pub fn with_code(mut self, code: SqlState) -> Self {
        self.0.code = Some(code);
        self
    }

    /// Prefixes the message with what was being done ("reading orders.parquet: ...").
    #[must_use]
    pub fn context(mut self, doing: impl fmt::Display) -> Self {
        self.0.message = shown(format!("{doing}: {}", self.0.message));
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

    /// What the user can do about it.
    pub fn hint(&self) -> Option<&str> {
        self.0.hint.as_deref()
    }

    /// The span in the SQL text, until it has become a [`position`](Self::position).
    pub fn span(&self) -> Option<Span> {
        self.0.span
    }

    /// The SQLSTATE code; that of the kind if nothing more precise is known.
    pub fn code(&self) -> SqlState {
        self.0.code.unwrap_or_else(|| SqlState::of_kind(self.0.kind))
    }

    /// The position in the SQL text.
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

    #[test]
    fn a_span_becomes_line_and_column_and_the_first_place_stays() {
        let script = "SELECT a,\n  'ä' || b";
        let at = script.find("b").unwrap();
        let error = Error::user("no column named b").at_span(Span::new(at, at + 1)).at_span(Span::new(0, 6));
        let located = error.locate(script);
        assert_eq!(located.position(), Some(Position { line: 2, column: 10 }));
        assert_eq!(located.code(), SqlState::SYNTAX_ERROR_OR_ACCESS_RULE_VIOLATION);
    }
}
