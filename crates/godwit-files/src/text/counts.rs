//! What a scan of text files has read, for `EXPLAIN ANALYZE`.

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use godwit_common::format_bytes;
use godwit_pipeline::OperatorMetrics;

/// Counts of all workers, which add to them once per piece or chunk.
#[derive(Default)]
pub(super) struct TextCounts {
    /// Bytes of the files, as stored.
    pub stored: Arc<AtomicU64>,
    /// Bytes of the pieces: decompressed, in UTF-8, without skipped lines.
    pub text: AtomicU64,
    /// Records whose ends were found, with or without errors.
    pub records: AtomicU64,
    /// Records that were left out because of errors.
    pub rejected: AtomicU64,
}

impl TextCounts {
    /// Notes the counts, for files of `all` stored bytes, if that is known.
    pub(super) fn note(&self, all: u64, metrics: &OperatorMetrics) {
        let count = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let stored = format_bytes(count(&self.stored));
        metrics.note("read", if all > 0 { format!("{stored} of {}", format_bytes(all)) } else { stored });
        metrics.note("text", format_bytes(count(&self.text)));
        metrics.note("records", count(&self.records).to_string());
        if count(&self.rejected) > 0 {
            metrics.note("rows rejected", count(&self.rejected).to_string());
        }
    }
}

/// A reader that counts the bytes it has read.
pub(super) struct Counted<R> {
    pub bytes: R,
    pub count: Arc<AtomicU64>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.bytes.read(buffer)?;
        self.count.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}
