//! Converts the kernel's event clock to the monotonic clock.
//!
//! An event can be told to use the monotonic clock (`use_clockid`), but then Linux makes PEBS interrupt the program for
//! every single sample instead of once per buffer. So samples have the kernel's own time, and this thread measures the
//! difference: it touches a page that isn't present, and the sample of that page fault has the kernel's time of an
//! instant between two readings of the monotonic clock.

use super::event::Event;
use super::mapping::Mapping;
use super::processor::SampledEvent;
use super::records::{Layout, RawSample, Tallies, parse};
use super::unavailable::{Facts, Unavailable};
use crate::clock::monotonic_nanos;
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};
use std::ffi::c_void;
use std::ptr::NonNull;

/// Number of page faults in the first measurement.
const FIRST_TRIES: usize = 5;

/// Page faults of one thread, whose times are known by both clocks. Must be used by the thread that created it.
#[derive(Debug)]
pub(super) struct Anchor {
    event: Event,
    mapping: Mapping,
    page: NonNull<c_void>,
    page_bytes: usize,
    /// The offset to add to the kernel's time.
    difference: i64,
}

impl Anchor {
    /// Opens the event for the calling thread and measures the first difference.
    ///
    /// # Errors
    ///
    /// Whatever keeps a thread from sampling its own page faults keeps it from any sampling.
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
        let bounds = (0..FIRST_TRIES).filter_map(|_| anchor.bounds());
        let (low, high) =
            bounds.reduce(|one, other| (one.0.max(other.0), one.1.min(other.1))).ok_or(Unavailable::NoTimes)?;
        anchor.difference = low.midpoint(high);
        Ok(anchor)
    }

    /// Measures the difference again, because clocks drift: it changes only as far as it must.
    pub(super) fn measure(&mut self) {
        if let Some((low, high)) = self.bounds() {
            self.difference = self.difference.max(low).min(high);
        }
    }

    /// Triggers one page fault: the difference lies between those to the readings before and after it.
    fn bounds(&mut self) -> Option<(i64, i64)> {
        // SAFETY: the page is ours, nobody has a reference into it, and its content is meaningless.
        unsafe { madvise(self.page.as_ptr(), self.page_bytes, Advice::LinuxDontNeed) }.ok()?;
        let before = monotonic_nanos();
        // SAFETY: as above; a mapped page that can be written.
        unsafe { self.page.cast::<u8>().write_volatile(1) };
        let after = monotonic_nanos();
        let address = self.page.as_ptr().addr() as u64;
        let mut time = None;
        self.mapping.consume(|bytes| {
            let mut note = |sample: RawSample| {
                if sample.address == address {
                    time = Some(sample.time);
                }
            };
            if let Some(bytes) = bytes {
                parse(bytes, Layout::Address, &mut Tallies::default(), &mut note);
            }
        });
        let difference = |reading: u64, time: u64| reading.wrapping_sub(time).cast_signed();
        time.map(|time| (difference(before, time), difference(after, time)))
    }

    /// The monotonic time of a sample.
    pub(super) fn monotonic(&self, time: u64) -> u64 {
        time.wrapping_add_signed(self.difference)
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
