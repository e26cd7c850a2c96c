//! The write-ahead log: the commits since the newest checkpoint.
//!
//! ```text
//!   header   magic, format, number of the checkpoint that the log continues, checksum
//!   note     acknowledged u64, checksum u64                                up to where commits were acknowledged
//!   record   marker u64, length u32, synced u64, checksum u64, payload     one per commit: all of it or nothing
//!   record   …
//!   room     zeros, into which the next records are written
//!
//!   writer:  append ──▶ position ──▶ sync_to(position)      group commit: one sync for all who wait
//!   opening: replay: records up to the first that isn't sound, which a crash has torn; the rest is cut off
//! ```
//!
//! A crash may leave any part of the unsynced bytes, so records after a torn one may be whole. A record that was synced
//! but isn't valid is not torn but damaged, which is an error, because it was acknowledged. Two things tell how far the
//! log was synced:
//!
//! - The note, which is written after each sync and reaches the disk with the next one, or when the system writes it
//!   back. So it never promises too much, and it is up to date if only the process died, not the system.
//! - Each record says how far the log was synced when it was appended. After a power failure, only the records of the
//!   last sync may be unattested: damage to them can't then be told from a tear.
//!
//! A record that overwrites preallocated room changes neither the length nor the extents of the file, so that its sync
//! is a single write to the disk, with none to the file system's journal. There is room only while the log is in use: a
//! checkpoint truncates the file.
//!
//! A failed sync poisons the log: it is unknown what is on disk, so nothing more is acknowledged until the database is
//! reopened and the log is read from disk.

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use godwit_common::{Error, ErrorKind, Result};
use godwit_io::{DurableFile, FileSystem, OpenMode};
use parking_lot::{Condvar, Mutex};

use crate::file::io_error;
use crate::{CheckpointNumber, checksum};

const MAGIC: [u8; 8] = *b"GODWITLG";

/// 1: the first. 2: changes 7 (rules) and 8 (delete). 3: changes 9 to 16 (schemas, sequences, generated columns,
/// encodings, moved row groups). 4: columns of nested types. 5: SQL types of columns that Arrow's types can't express.
/// 6: the note. 7: whether parts have codes; encodings 8 to 13. 8: encoding 14.
const FORMAT_VERSION: u32 = 8;

/// The first format whose logs have a note.
const NOTE_SINCE: u32 = 6;

/// Magic, format, checkpoint, checksum.
const HEADER_BYTES: u64 = 8 + 4 + 8 + 8;

/// Acknowledged bytes, checksum.
const NOTE_BYTES: u64 = 8 + 8;

/// Where records begin.
const RECORDS_AT: u64 = HEADER_BYTES + NOTE_BYTES;

/// Bytes that precede a payload.
const FRAME_BYTES: usize = 8 + 4 + 8 + 8;

/// Maximum length of a payload. Bulk loads don't go through the log.
pub const RECORD_BYTES_MAX: usize = 1 << 30;

/// When there is no room left, room is added in proportion to the records, within these bounds: little for databases
/// with few commits, and rarely for databases with many.
const ROOM_BYTES_MIN: u64 = 64 << 10;
const ROOM_BYTES_MAX: u64 = 1 << 20;

/// Bytes read at once when searching for the end of a log.
const SCAN_BYTES: u64 = 1 << 20;

/// A position in the log; stands for all records before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct LogPosition(u64);

/// An open log. Shared by the threads that commit.
pub struct Log {
    file: Box<dyn DurableFile>,
    path: PathBuf,
    state: Mutex<State>,
    synced: Condvar,
}

struct State {
    checkpoint: CheckpointNumber,
    /// Where records begin; directly after the header in a log of an old format, which has no note.
    begin: u64,
    end: u64,
    /// Where the room, and with it the file, ends.
    room_end: u64,
    synced_end: u64,
    is_syncing: bool,
    /// Why nothing can be committed any more.
    failure: Option<Error>,
}

/// How a log ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogEnd {
    /// With a whole record, or without any.
    Clean,
    /// This many bytes after the last whole record aren't a record: a commit that a crash interrupted.
    Torn(u64),
}

impl Log {
    /// Creates the log that continues a checkpoint.
    pub fn create(files: &dyn FileSystem, path: &Path, checkpoint: CheckpointNumber) -> Result<Self> {
        let file = files.open(path, OpenMode::Create).map_err(|error| io_error("create", path, &error))?;
        let log = Self::assemble(file, path, checkpoint);
        log.write_header(checkpoint).map_err(|error| io_error("create", path, &error))?;
        Ok(log)
    }

    /// Opens the log of a database whose newest checkpoint is `checkpoint`, and hands each record to `replay`. A log of
    /// an older checkpoint is emptied: the newest checkpoint contains everything in it. With `is_read_only`, the file
    /// isn't changed.
    ///
    /// Fails if the log is damaged, or continues a checkpoint that the file doesn't have because the file was replaced.
    pub fn open(
        files: &dyn FileSystem,
        path: &Path,
        checkpoint: CheckpointNumber,
        is_read_only: bool,
        mut replay: impl FnMut(&[u8]) -> Result<()>,
    ) -> Result<(Self, LogEnd)> {
        let mode = if is_read_only { OpenMode::Read } else { OpenMode::Write };
        let file = files.open(path, mode).map_err(|error| io_error("open", path, &error))?;
        let io = |error| io_error("read", path, &error);
        let bytes = file.bytes().map_err(io)?;
        let mut start = vec![0; RECORDS_AT.min(bytes) as usize];
        file.read_at(&mut start, 0).map_err(io)?;
        let log = Self::assemble(file, path, checkpoint);
        // It existed, complete, before the database file did.
        let header = Header::read(&start, path)?.ok_or_else(|| damaged_header(path))?;
        if header.checkpoint > checkpoint {
            let message = format!(
                "{} continues checkpoint {}, but the newest one in the database file is {}",
                path.display(),
                header.checkpoint.0,
                checkpoint.0
            );
            return Err(Error::corrupt(message).with_hint("put the database file back that belongs to this log"));
        }
        // The checkpoint contains everything in an older log.
        if header.checkpoint < checkpoint {
            if !is_read_only {
                log.write_header(checkpoint).map_err(|error| io_error("write", path, &error))?;
            }
            return Ok((log, LogEnd::Clean));
        }
        let mut at = header.records_at;
        while let Some(record) = log.read_record(at, bytes)? {
            replay(&record.payload)?;
            at += (FRAME_BYTES + record.payload.len()) as u64;
        }
        let content_end = log.content_end(at, bytes)?;
        let end = if content_end == at { LogEnd::Clean } else { LogEnd::Torn(content_end - at) };
        // A note and a record can't be torn by the same crash: both were damaged.
        if header.acknowledged.map_or(end != LogEnd::Clean, |acknowledged| at < acknowledged) {
            return Err(log.damaged(at));
        }
        let mut room_end = bytes;
        if end != LogEnd::Clean {
            log.check_tear(at, content_end, bytes)?;
            room_end = at;
        }
        if !is_read_only {
            // The next record will claim that all of this is on disk; after a kill, some of it may only have been in
            // memory.
            let cut = if room_end < bytes { log.file.truncate(at) } else { Ok(()) };
            cut.and_then(|()| log.file.sync()).map_err(|error| io_error("write", path, &error))?;
        }
        *log.state.lock() = State { begin: header.records_at, room_end, ..State::new(checkpoint, at) };
        Ok((log, end))
    }

    /// Removes the log of a database whose creation was interrupted, if the log is empty; returns whether it did.
    pub fn remove_unfinished(files: &dyn FileSystem, path: &Path) -> Result<bool> {
        let file = files.open(path, OpenMode::Write).map_err(|error| io_error("open", path, &error))?;
        let io = |error| io_error("read", path, &error);
        let mut start = vec![0; RECORDS_AT.min(file.bytes().map_err(io)?) as usize];
        file.read_at(&mut start, 0).map_err(io)?;
        if file.bytes().map_err(io)? > RECORDS_AT || Header::read(&start, path)?.is_some() {
            return Ok(false);
        }
        files.remove(path).map_err(|error| io_error("remove", path, &error))?;
        Ok(true)
    }

    /// The position after the last nonzero byte at or after `at`.
    fn content_end(&self, mut at: u64, bytes: u64) -> Result<u64> {
        let mut end = at;
        let mut buffer = vec![0; SCAN_BYTES.min(bytes - at) as usize];
        while at < bytes {
            let piece = &mut buffer[..SCAN_BYTES.min(bytes - at) as usize];
            self.file.read_at(piece, at).map_err(|error| io_error("read", &self.path, &error))?;
            if let Some(last) = piece.iter().rposition(|&byte| byte != 0) {
                end = at + last as u64 + 1;
            }
            at += piece.len() as u64;
        }
        Ok(end)
    }

    /// Fails if the bytes at `at` were synced before: then they are damaged, not torn. A record that says so begins
    /// before `content_end`; it may end after it, because a payload may end with zeros.
    fn check_tear(&self, at: u64, content_end: u64, bytes: u64) -> Result<()> {
        let marker = marker(self.checkpoint()).to_le_bytes();
        let mut rest = vec![0; (content_end - at) as usize];
        self.file.read_at(&mut rest, at).map_err(|error| io_error("read", &self.path, &error))?;
        let places = rest.windows(marker.len()).enumerate().filter(|(_, window)| **window == marker);
        for (offset, _) in places {
            let later = self.read_record(at + offset as u64, bytes)?;
            if later.is_some_and(|later| later.synced > at) {
                return Err(self.damaged(at));
            }
        }
        Ok(())
    }

    fn damaged(&self, at: u64) -> Error {
        Error::corrupt(format!("{} is damaged at byte {at}: commits are lost", self.path.display()))
            .with_hint("restore the database and its log from a backup")
    }

    fn assemble(file: Box<dyn DurableFile>, path: &Path, checkpoint: CheckpointNumber) -> Self {
        let state = State::new(checkpoint, RECORDS_AT);
        Self { file, path: path.to_owned(), state: Mutex::new(state), synced: Condvar::new() }
    }

    /// The checkpoint that the log continues.
    pub fn checkpoint(&self) -> CheckpointNumber {
        self.state.lock().checkpoint
    }

    /// Bytes of records since the checkpoint.
    pub fn bytes(&self) -> u64 {
        let state = self.state.lock();
        state.end - state.begin
    }

    /// Appends a commit. It counts only when [`sync_to`](Self::sync_to) has returned.
    pub fn append(&self, payload: &[u8]) -> Result<LogPosition> {
        if payload.len() > RECORD_BYTES_MAX {
            return Err(Error::resource(format!("a commit of {} bytes is too large for the log", payload.len()))
                .with_hint("load large amounts with COPY or CREATE TABLE AS"));
        }
        let mut state = self.state.lock();
        if let Some(failure) = &state.failure {
            return Err(failure.clone());
        }
        let at = state.end;
        let mut record = Vec::with_capacity(FRAME_BYTES + payload.len());
        record.extend(marker(state.checkpoint).to_le_bytes());
        record.extend((payload.len() as u32).to_le_bytes());
        record.extend(state.synced_end.to_le_bytes());
        record.extend(checksum(payload, place(state.checkpoint, at, state.synced_end)).to_le_bytes());
        record.extend_from_slice(payload);
        let end = at + record.len() as u64;
        if end > state.room_end {
            let room = (end - state.begin).clamp(ROOM_BYTES_MIN, ROOM_BYTES_MAX);
            record.resize(record.len() + room as usize, 0);
        }
        // Whatever a failed write leaves behind is overwritten by the next one, or counts as torn.
        self.file.write_at(&record, at).map_err(|error| io_error("write", &self.path, &error))?;
        state.room_end = state.room_end.max(at + record.len() as u64);
        state.end = end;
        Ok(LogPosition(state.end))
    }

    /// Returns when all records before `position` survive whatever happens. One of the waiting threads syncs for all.
    pub fn sync_to(&self, position: LogPosition) -> Result<()> {
        let mut state = self.state.lock();
        loop {
            if state.synced_end >= position.0 {
                return Ok(());
            }
            if let Some(failure) = &state.failure {
                return Err(failure.clone());
            }
            if state.is_syncing {
                self.synced.wait(&mut state);
                continue;
            }
            state.is_syncing = true;
            let (begin, end) = (state.begin, state.end);
            drop(state);
            let outcome = self.file.sync();
            if outcome.is_ok() && begin == RECORDS_AT {
                // Without it the commit is just as safe, but damage to it may be taken for a tear.
                let _ = self.file.write_at(&note(self.checkpoint(), end), HEADER_BYTES);
            }
            state = self.state.lock();
            state.is_syncing = false;
            match outcome {
                Ok(()) => state.synced_end = state.synced_end.max(end),
                Err(error) => {
                    let message = format!("can't sync {}: {error}; nothing more can be committed", self.path.display());
                    let failure = Error::new(ErrorKind::Io, message).with_hint("open the database again");
                    state.failure = Some(failure);
                }
            }
            self.synced.notify_all();
        }
    }

    /// Empties the log after a checkpoint has taken over its content. No commit may be in progress.
    pub fn restart(&self, checkpoint: CheckpointNumber) -> Result<()> {
        let mut state = self.state.lock();
        assert!(!state.is_syncing && checkpoint > state.checkpoint, "a checkpoint excludes commits");
        if let Err(error) = self.write_header(checkpoint) {
            let failure = io_error("write", &self.path, &error);
            state.failure = Some(failure.clone());
            return Err(failure);
        }
        *state = State::new(checkpoint, RECORDS_AT);
        Ok(())
    }

    /// Makes the log an empty one that continues a checkpoint.
    fn write_header(&self, checkpoint: CheckpointNumber) -> std::io::Result<()> {
        let mut header = Vec::with_capacity(HEADER_BYTES as usize);
        header.extend(MAGIC);
        header.extend(FORMAT_VERSION.to_le_bytes());
        header.extend(checkpoint.0.to_le_bytes());
        header.extend(checksum(&header, 0).to_le_bytes());
        header.extend(note(checkpoint, RECORDS_AT));
        self.file.write_at(&header, 0)?;
        self.file.truncate(RECORDS_AT)?;
        self.file.sync()
    }

    /// The record at `at`; `None` if there is no valid one.
    fn read_record(&self, at: u64, bytes: u64) -> Result<Option<Record>> {
        let io = |error| io_error("read", &self.path, &error);
        if bytes - at < FRAME_BYTES as u64 {
            return Ok(None);
        }
        let mut frame = [0; FRAME_BYTES];
        self.file.read_at(&mut frame, at).map_err(io)?;
        let number = |from: usize| u64::from_le_bytes(frame[from..from + 8].try_into().expect("eight bytes"));
        let length = u32::from_le_bytes(frame[8..12].try_into().expect("four bytes")) as u64;
        let (found, synced, expected) = (number(0), number(12), number(20));
        let checkpoint = self.checkpoint();
        let fits = length <= RECORD_BYTES_MAX as u64 && length <= bytes - at - FRAME_BYTES as u64;
        if found != marker(checkpoint) || !fits {
            return Ok(None);
        }
        let mut payload = vec![0; length as usize];
        self.file.read_at(&mut payload, at + FRAME_BYTES as u64).map_err(io)?;
        let is_sound = checksum(&payload, place(checkpoint, at, synced)) == expected;
        Ok(is_sound.then_some(Record { payload, synced }))
    }
}

impl State {
    /// The header and note of a log whose records end at `end`, without room.
    fn new(checkpoint: CheckpointNumber, end: u64) -> Self {
        Self { checkpoint, begin: RECORDS_AT, end, room_end: end, synced_end: end, is_syncing: false, failure: None }
    }
}

/// A valid record.
struct Record {
    payload: Vec<u8>,
    /// How far the log was synced when the record was appended.
    synced: u64,
}

/// The marker at the start of every record of a log.
fn marker(checkpoint: CheckpointNumber) -> u64 {
    checksum(&checkpoint.0.to_le_bytes(), u64::from_le_bytes(MAGIC))
}

/// The place that is mixed into a record's checksum: remains of an earlier log at the same place must not pass for a
/// record.
fn place(checkpoint: CheckpointNumber, at: u64, synced: u64) -> u64 {
    marker(checkpoint) ^ at.rotate_left(32) ^ synced
}

/// The header of a log, with its note.
struct Header {
    /// The checkpoint that it continues.
    checkpoint: CheckpointNumber,
    records_at: u64,
    /// Commits were acknowledged at least up to here; `None` if the note isn't valid.
    acknowledged: Option<u64>,
}

impl Header {
    /// Reads everything before the records; `None` if there is no header yet. Disks write a header atomically.
    fn read(start: &[u8], path: &Path) -> Result<Option<Self>> {
        let Some((header, after)) = start.split_first_chunk::<{ HEADER_BYTES as usize }>() else { return Ok(None) };
        if header.iter().all(|&byte| byte == 0) {
            return Ok(None);
        }
        let (fields, sum) = header.split_last_chunk::<8>().expect("a header is longer than a checksum");
        if u64::from_le_bytes(*sum) != checksum(fields, 0) {
            return Err(damaged_header(path));
        }
        let format = u32::from_le_bytes(fields[8..12].try_into().expect("four bytes"));
        if fields[..8] != MAGIC || format > FORMAT_VERSION {
            return Err(Error::user(format!("{} is not a log that this version of Godwit reads", path.display())));
        }
        let checkpoint = CheckpointNumber(u64::from_le_bytes(fields[12..20].try_into().expect("eight bytes")));
        if format < NOTE_SINCE {
            return Ok(Some(Self { checkpoint, records_at: HEADER_BYTES, acknowledged: Some(HEADER_BYTES) }));
        }
        let Some((noted, _)) = after.split_first_chunk::<8>().filter(|_| after.len() as u64 == NOTE_BYTES) else {
            return Err(damaged_header(path));
        };
        let acknowledged = u64::from_le_bytes(*noted);
        let acknowledged = (note(checkpoint, acknowledged) == after).then_some(acknowledged);
        Ok(Some(Self { checkpoint, records_at: RECORDS_AT, acknowledged }))
    }
}

/// A note that everything before `acknowledged` is on disk; it isn't valid in the log of another checkpoint.
fn note(checkpoint: CheckpointNumber, acknowledged: u64) -> [u8; NOTE_BYTES as usize] {
    let mut bytes = [0; NOTE_BYTES as usize];
    bytes[..8].copy_from_slice(&acknowledged.to_le_bytes());
    let sum = checksum(&acknowledged.to_le_bytes(), marker(checkpoint));
    bytes[8..].copy_from_slice(&sum.to_le_bytes());
    bytes
}

fn damaged_header(path: &Path) -> Error {
    Error::corrupt(format!("the header of {} is damaged", path.display()))
        .with_hint("restore the database and its log from a backup")
}
