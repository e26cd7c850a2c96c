//! Streams: pipes, terminals and other devices, which can't be read twice.
//!
//! Planning examines the beginning of a stream, before a scan reads it. Everything read ahead stays here until a scan
//! takes the stream: the statement may be planned again before it runs, or may only ask for the columns.

use std::collections::BTreeMap;
use std::io::{self, Cursor, Read};
use std::path::Path;
use std::sync::Arc;

use godwit_common::{Error, Result};
use godwit_io::Files;
use parking_lot::Mutex;

use super::cutter::{open_error, read_up_to};
use super::sample::SAMPLE_BYTES;

/// A stream from its beginning.
pub(super) struct Stream {
    /// The part that was read for examination.
    pub beginning: Vec<u8>,
    /// True if nothing follows the beginning.
    pub is_all: bool,
    rest: Box<dyn Read + Send>,
}

impl Stream {
    pub(super) fn reader(self) -> Box<dyn Read + Send> {
        Box::new(Cursor::new(self.beginning).chain(self.rest))
    }
}

/// A stream that only one scan can take; tables of different plans share it.
#[derive(Clone)]
pub(super) struct SharedStream(Arc<Mutex<Option<Stream>>>);

impl SharedStream {
    /// Examines the stream; `None` if a scan has taken it.
    pub(super) fn look<T>(&self, at: impl FnOnce(&Stream) -> T) -> Option<T> {
        self.0.lock().as_ref().map(at)
    }

    /// Takes the stream, for one scan.
    pub(super) fn take(&self, path: &Path) -> Result<Stream> {
        self.0.lock().take().ok_or_else(|| is_read(path))
    }
}

/// The streams of all connections, by identity.
#[derive(Default)]
pub(crate) struct Streams(Mutex<BTreeMap<(u64, u64), SharedStream>>);

impl Streams {
    /// Returns the stream of a path: one that was opened and hasn't been taken yet, or a new one.
    pub(super) fn open(&self, files: &dyn Files, path: &Path, identity: (u64, u64)) -> Result<SharedStream> {
        if let Some(known) = self.known(path, identity)? {
            return Ok(known);
        }
        // Opening the same stream meanwhile is an error; opening others doesn't wait for its beginning.
        let rest = files.open(path).map_err(|error| match error.kind() {
            io::ErrorKind::ResourceBusy => is_read(path),
            _ => open_error(path, &error),
        })?;
        let mut rest = rest.reader();
        let mut beginning = Vec::new();
        let is_all = read_up_to(&mut rest, SAMPLE_BYTES, &mut beginning, path)?;
        let stream = SharedStream(Arc::new(Mutex::new(Some(Stream { beginning, is_all, rest }))));
        self.0.lock().insert(identity, stream.clone());
        Ok(stream)
    }

    /// Returns a stream that was opened and hasn't been taken yet. Fails if another plan may read it.
    fn known(&self, path: &Path, identity: (u64, u64)) -> Result<Option<SharedStream>> {
        let mut all = self.0.lock();
        // A stream is over when a scan has taken it and its plan is gone.
        all.retain(|_, stream| Arc::strong_count(&stream.0) > 1 || stream.0.lock().is_some());
        match all.get(&identity) {
            Some(known) if Arc::strong_count(&known.0) > 1 => Err(is_read(path)),
            known => Ok(known.cloned()),
        }
    }
}

fn is_read(path: &Path) -> Error {
    Error::user(format!("{} is a pipe or a device, and is read already", path.display()))
        .with_hint("what was read is gone; load it into a table first: CREATE TABLE t AS SELECT * FROM ...")
}
