//! What the system has of a file in memory.

use std::fs::File;
use std::num::NonZeroU64;

use rustix::fs::{Advice, fadvise};

/// What the system usually reads at once on its own, in bytes.
const SYSTEM_READ_BYTES: u64 = 128 << 10;

/// Asks the system to read a range that will be needed soon.
///
/// If it has the range already, it would still look up each page, which takes a tenth as long as reading them. What it
/// has of both ends, and of the middle of a long range, stands for the rest.
pub(crate) fn read_ahead(file: &File, offset: u64, bytes: u64) {
    let Some(last) = bytes.checked_sub(1) else { return };
    let middle = (bytes > SYSTEM_READ_BYTES).then_some(last / 2);
    if [0, last].into_iter().chain(middle).all(|at| has_byte(file, offset.saturating_add(at))) {
        return;
    }
    let _ = fadvise(file, offset, NonZeroU64::new(bytes), Advice::WillNeed);
}

/// Returns true if the system has the byte in memory.
#[cfg(target_os = "linux")]
fn has_byte(file: &File, offset: u64) -> bool {
    let mut byte = [0];
    let buffers = &mut [std::io::IoSliceMut::new(&mut byte)];
    rustix::io::preadv2(file, buffers, offset, rustix::io::ReadWriteFlags::NOWAIT) == Ok(1)
}

#[cfg(not(target_os = "linux"))]
fn has_byte(_file: &File, _offset: u64) -> bool {
    false
}
