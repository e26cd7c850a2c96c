//! From the kernel's clock of events to the monotonic clock.
//!
//! An event can be told to use the monotonic clock (`use_clockid`), but then Linux has PEBS interrupt the program for
//! each single sample instead of once for a buffer of them. So samples have the kernel's own time, and this thread
//! finds out the difference: it touches a page that isn't there, and the sample of that page fault has the kernel's
//! time of an instant between two readings of the monotonic clock.

use super::event::Event;
use super::mapping::Mapping;
use super::processor::SampledEvent;
use super::records::{Layout, Tallies, parse};
use super::unavailable::{Facts, Unavailable};
use crate::clock::monotonic_nanos;
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};
use std::ffi::c_void;
use std::ptr::NonNull;

/// Two readings further apart than this had an interruption between them: measure again.
const GOOD_NANOS: u64 = 20_000;
const TRIES: usize = 5;

/// Page faults of one thread, whose times are known by both clocks. Must be used by the thread that made it.
#[derive(Debug)]
pub(super) struct Anchor {
    event: Event,
    mapping: Mapping,
    page: NonNull<c_void>,
    page_bytes: usize,
    /// What to add to the kernel's time.
    difference: u64,
}

impl Anchor {
    /// Opens the event for the calling thread and measures the first difference.
    ///
    /// # Errors
    ///
    /// What keeps a thread from sampling its own page faults keeps it from any sampling.
    pub(super) fn new(facts: &Facts) -> Result<Anchor, Unavailable> {
        let kind = SampledEvent::page_faults();
        let page_bytes = rustix::param::page_size();
        let event =
            Event::open(&kind, 1, 1, rustix::thread::gettid()).map_err(|error| facts.why_not_opened(&kind, error))?;
        let mapping = Mapping::new(&event, page_bytes).map_err(|error| facts.why_not_mapped(page_bytes, error))?;
        event.enable().map_err(|error| facts.why_not_opened(&kind, error))?;
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: the kernel chooses a free range of addresses.
        let page = unsafe { mmap_anonymous(std::ptr::null_mut(), page_bytes, protection, MapFlags::PRIVATE) };
        let page = page.map_err(|error| facts.why_not_mapped(page_bytes, error))?;
        let page = NonNull::new(page).expect("a mapping isn't at address 0");
        let mut anchor = Anchor { event, mapping, page, page_bytes, difference: 0 };
        if anchor.measure() { Ok(anchor) } else { Err(Unavailable::NoTimes) }
    }

    /// Measures the difference anew, as clocks drift; whether that worked. If not, the old one stays.
    pub(super) fn measure(&mut self) -> bool {
        let mut best = None;
        for _ in 0..TRIES {
            let Some((width, difference)) = self.try_once() else { continue };
            if best.is_none_or(|(least, _)| width < least) {
                best = Some((width, difference));
            }
            if width <= GOOD_NANOS {
                break;
            }
        }
        if let Some((_, difference)) = best {
            self.difference = difference;
        }
        best.is_some()
    }

    /// One page fault: how far the readings around it are apart, and the difference.
    fn try_once(&mut self) -> Option<(u64, u64)> {
        // SAFETY: the page is ours, nobody has a reference into it, and what it holds means nothing.
        unsafe { madvise(self.page.as_ptr(), self.page_bytes, Advice::LinuxDontNeed) }.ok()?;
        let before = monotonic_nanos();
        // SAFETY: as above; a mapped page that can be written.
        unsafe { self.page.cast::<u8>().write_volatile(1) };
        let after = monotonic_nanos();
        let address = self.page.as_ptr().addr() as u64;
        let mut time = None;
        self.mapping.consume(|bytes| {
            let mut note = |sample: super::records::RawSample| {
                if sample.address == address {
                    time = Some(sample.time);
                }
            };
            if let Some(bytes) = bytes {
                parse(bytes, Layout::Address, &mut Tallies::default(), &mut note);
            }
        });
        let middle = before + (after - before) / 2;
        Some((after - before, middle.wrapping_sub(time?)))
    }

    /// The monotonic time of a sample.
    pub(super) fn monotonic(&self, time: u64) -> u64 {
        time.wrapping_add(self.difference)
    }
}

impl Drop for Anchor {
    fn drop(&mut self) {
        debug_assert_eq!(self.event.thread(), rustix::thread::gettid());
        // SAFETY: mapped by `new` with this length, and no reference into it exists.
        let unmapped = unsafe { munmap(self.page.as_ptr(), self.page_bytes) };
        debug_assert_eq!(unmapped, Ok(()));
    }
}
