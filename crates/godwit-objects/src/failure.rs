//! Failures to access an object, in words without secrets.

use std::error::Error;
use std::io;
use std::sync::atomic::{AtomicU16, AtomicU32, Ordering};

use godwit_common::without_secrets;
use object_store::client::{HttpError, HttpErrorKind};

/// Why a request failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Failure {
    /// There is no such object.
    NotFound,
    /// The object is still the version that the caller knows.
    NotModified,
    /// The object has changed since it was opened.
    Changed,
    /// The object has no bytes in the requested range.
    NoSuchRange,
    /// The server only sends whole files.
    NoRanges,
    /// There is no room for the bytes.
    Memory(String),
    /// Anything else: what happened, without a final full stop.
    Other(io::ErrorKind, String),
}

impl Failure {
    /// Returns the failure for an error of the crate that sent a request, given what was observed of the request.
    pub(crate) fn of(error: &object_store::Error, seen: &Seen) -> Self {
        use object_store::Error as E;
        let (status, tries) = (seen.status(), seen.tries());
        let after = if tries > 1 { format!(", after {tries} tries") } else { String::new() };
        match (error, status) {
            (E::NotFound { .. }, _) | (_, Some(404)) => Failure::NotFound,
            (E::NotModified { .. }, _) | (_, Some(304)) => Failure::NotModified,
            (E::Precondition { .. }, _) | (_, Some(412)) => Failure::Changed,
            (_, Some(416)) => Failure::NoSuchRange,
            (_, Some(200)) if matches!(error, E::NotSupported { .. }) => Failure::NoRanges,
            (_, Some(status @ (401 | 403))) => {
                let what = format!("the server denies access ({status}): credentials are missing, wrong, or too weak");
                Failure::Other(io::ErrorKind::PermissionDenied, what)
            }
            (_, Some(status @ (301 | 302 | 307 | 308))) => {
                let what = format!("the server sends elsewhere ({status}): is it another region?");
                Failure::Other(io::ErrorKind::Other, what)
            }
            (_, Some(status @ 400..)) => {
                Failure::Other(io::ErrorKind::Other, format!("the server answered with error {status}{after}"))
            }
            (_, Some(_)) => Failure::Other(
                io::ErrorKind::Other,
                format!("the answer of the server broke off{after}: {}", cause(error)),
            ),
            (_, None) => Failure::Other(io::ErrorKind::Other, format!("{}{after}", Self::of_connection(error))),
        }
    }

    /// Describes the failure of a request that no server answered.
    fn of_connection(error: &object_store::Error) -> String {
        let mut source: Option<&(dyn Error + 'static)> = Some(error);
        while let Some(error) = source {
            if let Some(http) = error.downcast_ref::<HttpError>() {
                return match http.kind() {
                    HttpErrorKind::Connect => format!("there is no connection to the server: {}", cause(error)),
                    HttpErrorKind::Timeout => "the server doesn't answer in time".to_owned(),
                    _ => format!("the connection to the server broke off: {}", cause(error)),
                };
            }
            source = error.source();
        }
        without_secrets(&error.to_string())
    }

    /// Converts to an error of [`godwit_io::Files`].
    pub(crate) fn into_io(self) -> io::Error {
        match self {
            Failure::NotFound => io::Error::new(io::ErrorKind::NotFound, "there is no such object"),
            Failure::NotModified => io::Error::other("the server says that nothing changed, though nothing was known"),
            Failure::Changed => io::Error::other("the object was changed since it was opened; run the statement again"),
            Failure::NoSuchRange => io::Error::from(io::ErrorKind::UnexpectedEof),
            Failure::NoRanges => io::Error::new(
                io::ErrorKind::Unsupported,
                "the server sends this file as a whole only; copy it to this machine first",
            ),
            Failure::Memory(what) => io::Error::new(io::ErrorKind::OutOfMemory, what),
            Failure::Other(kind, what) => io::Error::new(kind, what),
        }
    }
}

/// Returns the root cause of an error.
fn cause(error: &(dyn Error + 'static)) -> String {
    let mut error = error;
    while let Some(source) = error.source() {
        error = source;
    }
    without_secrets(&error.to_string())
}

/// Observations of a request while it was sent, possibly several times.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    tries: AtomicU32,
    status: AtomicU16,
}

impl Seen {
    /// Called when it is sent, possibly again.
    pub(crate) fn sent(&self) {
        self.tries.fetch_add(1, Ordering::Relaxed);
        self.status.store(0, Ordering::Relaxed);
    }

    /// Called when the server has answered.
    pub(crate) fn answered(&self, status: u16) {
        self.status.store(status, Ordering::Relaxed);
    }

    fn tries(&self) -> u32 {
        self.tries.load(Ordering::Relaxed)
    }

    /// The status of the last answer, if the last attempt had one.
    fn status(&self) -> Option<u16> {
        Some(self.status.load(Ordering::Relaxed)).filter(|&status| status > 0)
    }
}
