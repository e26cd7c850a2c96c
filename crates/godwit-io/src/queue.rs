//! Batches of requests, and the ways to run them.

use std::io;

use godwit_common::Named;

use crate::{File, assert_aligned};

/// The direction of a request, and its buffer.
pub enum Transfer<'a> {
    /// Fill the buffer from the file.
    Read(&'a mut [u8]),
    /// Write all of the buffer to the file.
    Write(&'a [u8]),
}

/// A read or write of a batch.
pub struct Request<'a> {
    /// The file.
    pub file: &'a dyn File,
    /// Offset in the file.
    pub offset: u64,
    /// The buffer and the direction.
    pub transfer: Transfer<'a>,
    /// Set when the batch has run.
    pub result: io::Result<()>,
}

impl<'a> Request<'a> {
    /// Creates a request that fills `buffer` from `offset`.
    pub fn read(file: &'a dyn File, offset: u64, buffer: &'a mut [u8]) -> Self {
        assert_aligned(buffer.as_ptr(), buffer.len(), offset);
        Self { file, offset, transfer: Transfer::Read(buffer), result: Ok(()) }
    }

    /// Creates a request that writes `buffer` at `offset`.
    pub fn write(file: &'a dyn File, offset: u64, buffer: &'a [u8]) -> Self {
        assert_aligned(buffer.as_ptr(), buffer.len(), offset);
        Self { file, offset, transfer: Transfer::Write(buffer), result: Ok(()) }
    }

    /// Transfers what is left after the first `done` bytes, using the file's own calls.
    pub(crate) fn finish_from(&mut self, done: usize) {
        let offset = self.offset + done as u64;
        self.result = match &mut self.transfer {
            Transfer::Read(buffer) => self.file.read_at(&mut buffer[done..], offset),
            Transfer::Write(buffer) => self.file.write_at(&buffer[done..], offset),
        };
    }
}

/// Runs batches for one thread. A batch may be of any size; the number of its requests in flight is bounded.
pub trait RequestQueue {
    /// Runs all requests and sets their results. A failed request doesn't prevent the others from running.
    fn run(&mut self, requests: &mut [Request<'_>]);
}

/// The way to run batches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum IoMethod {
    /// io_uring if the system permits it, else threads.
    #[default]
    Auto,
    /// io_uring, or an error.
    Uring,
    /// One request at a time for each I/O thread.
    Threads,
}

impl Named for IoMethod {
    const NAMES: &'static [(&'static str, Self)] =
        &[("auto", Self::Auto), ("io_uring", Self::Uring), ("threads", Self::Threads)];
}

/// Opens a queue with at most `depth` requests in flight; also returns which kind it is and why.
pub fn open_queue(method: IoMethod, depth: u32) -> io::Result<(Box<dyn RequestQueue>, String)> {
    if method == IoMethod::Threads {
        return Ok((Box::new(SequentialQueue), "threads".into()));
    }
    match open_uring(depth) {
        Ok(queue) => Ok((queue, "io_uring".into())),
        Err(error) if method == IoMethod::Auto => {
            Ok((Box::new(SequentialQueue), format!("threads (io_uring is refused: {error})")))
        }
        Err(error) => Err(error),
    }
}

#[cfg(target_os = "linux")]
fn open_uring(depth: u32) -> io::Result<Box<dyn RequestQueue>> {
    Ok(Box::new(crate::uring::UringQueue::new(depth)?))
}

#[cfg(not(target_os = "linux"))]
fn open_uring(_depth: u32) -> io::Result<Box<dyn RequestQueue>> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Runs requests one after the other, on any files.
pub struct SequentialQueue;

impl RequestQueue for SequentialQueue {
    fn run(&mut self, requests: &mut [Request<'_>]) {
        for request in requests {
            request.finish_from(0);
        }
    }
}
