//! Parses records of a `perf_event_open` ring buffer: turns bytes into samples and counts.
//!
//! Pure functions over bytes, separate from the mapping. The kernel is trusted to write whole records, but they are
//! checked nonetheless: an impossible record makes the rest of the readable bytes *damage*, since nothing tells where
//! the next one begins, and reading resumes at the kernel's head next time.

use std::ops::Range;

const HEADER_BYTES: usize = 8;
/// The part of a record that is read: as much as the largest sample takes.
const READ_BYTES_MAX: usize = HEADER_BYTES + 32;
/// A record's size is a `u16` of whole words.
const ALIGNMENT: usize = 8;

const RECORD_LOST: u32 = 2;
const RECORD_THROTTLE: u32 = 5;
const RECORD_SAMPLE: u32 = 9;
const RECORD_LOST_SAMPLES: u32 = 13;

const MISC_MODE: u16 = 7;
const MODE_UNKNOWN: u16 = 0;
const MODE_USER: u16 = 2;

const OPERATION_LOAD: u64 = 2;

/// The fields of a sample's body, as requested by `sample_type`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Layout {
    /// Thread, time, address.
    Address,
    /// The same plus the data source, which tells loads from stores: IBS tags any operation.
    AddressAndSource,
}

impl Layout {
    fn body_bytes(self) -> usize {
        match self {
            Layout::Address => 24,
            Layout::AddressAndSource => 32,
        }
    }
}

/// A sample as the kernel writes it: its time is by the kernel's own clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RawSample {
    pub(super) thread: u32,
    pub(super) time: u64,
    pub(super) address: u64,
}

/// Counts of what was read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Tallies {
    /// Samples of loads by the program.
    pub(super) samples: u64,
    /// Samples of something else: stores, the kernel, operations without an address.
    pub(super) others: u64,
    /// Samples that found the ring full.
    pub(super) lost: u64,
    /// Samples that the processor dropped.
    pub(super) lost_by_processor: u64,
    /// How often the kernel silenced the event for the rest of a tick.
    pub(super) throttled: u64,
    /// Number of places with bytes that aren't a record.
    pub(super) damaged: u64,
}

/// The readable bytes of a ring: one piece, or two if they wrap around its end.
#[derive(Debug, Clone, Copy)]
pub(super) struct Readable<'a> {
    pub(super) first: &'a [u8],
    pub(super) second: &'a [u8],
}

impl Readable<'_> {
    /// Where the bytes between two positions lie in a ring; `None` if the positions contradict each other.
    ///
    /// Positions count all bytes ever written: `head` by the kernel, `tail` by us.
    pub(super) fn ranges(ring_bytes: usize, tail: u64, head: u64) -> Option<(Range<usize>, Range<usize>)> {
        let ring = ring_bytes as u64;
        let length = head.wrapping_sub(tail);
        if length > ring || ring == 0 {
            return None;
        }
        let (start, end) = ((tail % ring) as usize, tail % ring + length);
        Some(match end.checked_sub(ring) {
            Some(wrapped) => (start..ring_bytes, 0..wrapped as usize),
            None => (start..end as usize, 0..0),
        })
    }

    fn len(&self) -> usize {
        self.first.len() + self.second.len()
    }

    /// Some bytes starting at a position: in place or, if they wrap around, copied to `spare`. The caller knows that
    /// they exist.
    fn piece<'a>(&'a self, from: usize, length: usize, spare: &'a mut [u8; READ_BYTES_MAX]) -> &'a [u8] {
        if let Some(piece) = self.first.get(from..from + length) {
            return piece;
        }
        match from.checked_sub(self.first.len()) {
            Some(from) => &self.second[from..from + length],
            None => {
                let start = &self.first[from..];
                let (to_start, to_rest) = spare[..length].split_at_mut(start.len());
                to_start.copy_from_slice(start);
                to_rest.copy_from_slice(&self.second[..to_rest.len()]);
                &spare[..length]
            }
        }
    }
}

/// Reads all records, passes on the samples, counts the rest. Terminates for any bytes, since each record takes at
/// least its header.
pub(super) fn parse(bytes: Readable<'_>, layout: Layout, tallies: &mut Tallies, sink: &mut impl FnMut(RawSample)) {
    let mut spare = [0; READ_BYTES_MAX];
    let mut at = 0;
    while at < bytes.len() {
        let Some(header) = Header::read(bytes, at, &mut spare) else {
            tallies.damaged += 1;
            return;
        };
        let record = bytes.piece(at, header.size.min(READ_BYTES_MAX), &mut spare);
        let (words, _) = record[HEADER_BYTES..].as_chunks();
        let well_formed = match (header.kind, words) {
            (RECORD_SAMPLE, _) if header.size - HEADER_BYTES == layout.body_bytes() => {
                match sample(words, header.misc, layout) {
                    Some(sample) => {
                        tallies.samples += 1;
                        sink(sample);
                    }
                    None => tallies.others += 1,
                }
                true
            }
            // The event's id, the number.
            (RECORD_LOST, [_, lost, ..]) => add(&mut tallies.lost, u64::from_ne_bytes(*lost)),
            (RECORD_LOST_SAMPLES, [lost, ..]) => add(&mut tallies.lost_by_processor, u64::from_ne_bytes(*lost)),
            (RECORD_THROTTLE, _) => add(&mut tallies.throttled, 1),
            (RECORD_SAMPLE | RECORD_LOST | RECORD_LOST_SAMPLES, _) => false,
            _ => true,
        };
        tallies.damaged += u64::from(!well_formed);
        at += header.size;
    }
}

fn add(total: &mut u64, more: u64) -> bool {
    *total = total.saturating_add(more);
    true
}

struct Header {
    kind: u32,
    misc: u16,
    size: usize,
}

impl Header {
    /// The header at a position, if there can be a record.
    fn read(bytes: Readable<'_>, at: usize, spare: &mut [u8; READ_BYTES_MAX]) -> Option<Header> {
        let left = bytes.len() - at;
        if left < HEADER_BYTES {
            return None;
        }
        let header = bytes.piece(at, HEADER_BYTES, spare).first_chunk()?;
        let &[kind_0, kind_1, kind_2, kind_3, misc_0, misc_1, size_0, size_1] = header;
        let size = usize::from(u16::from_ne_bytes([size_0, size_1]));
        let is_possible = size >= HEADER_BYTES && size.is_multiple_of(ALIGNMENT) && size <= left;
        let kind = u32::from_ne_bytes([kind_0, kind_1, kind_2, kind_3]);
        is_possible.then(|| Header { kind, misc: u16::from_ne_bytes([misc_0, misc_1]), size })
    }
}

/// The sample in a body, if it is of a load by the program.
fn sample(body: &[[u8; 8]], misc: u16, layout: Layout) -> Option<RawSample> {
    let &[[.., thread_0, thread_1, thread_2, thread_3], time, address, ref source @ ..] = body else { return None };
    let thread = u32::from_ne_bytes([thread_0, thread_1, thread_2, thread_3]);
    let (time, address) = (u64::from_ne_bytes(time), u64::from_ne_bytes(address));
    let by_program = matches!(misc & MISC_MODE, MODE_USER | MODE_UNKNOWN);
    let is_load = match (layout, source) {
        (Layout::Address, _) => true,
        (Layout::AddressAndSource, [source]) => u64::from_ne_bytes(*source) & OPERATION_LOAD != 0,
        (Layout::AddressAndSource, _) => false,
    };
    (by_program && is_load && address != 0).then_some(RawSample { thread, time, address })
}
