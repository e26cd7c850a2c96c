//! A sampling event of one thread: opening, switching, reading its counts.

use super::attributes::{self, Attributes};
use super::processor::SampledEvent;
use super::records::Layout;
use rustix::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use rustix::io::Errno;
use rustix::ioctl::{self, NoArg, Opcode};
use rustix::thread::Pid;
use std::mem::size_of;

const ENABLE: Opcode = ioctl::opcode::none(b'$', 0);
const DISABLE: Opcode = ioctl::opcode::none(b'$', 1);

/// An event of a thread, closed when it is dropped.
#[derive(Debug)]
pub(super) struct Event {
    descriptor: OwnedFd,
    thread: Pid,
    pub(super) counts_lost: bool,
}

/// The kernel's counts for an event.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct EventCounts {
    /// How often the event happened, sampled or not.
    pub(super) happened: u64,
    pub(super) enabled_nanos: u64,
    /// Less than `enabled_nanos` if events take turns at the counters.
    pub(super) running_nanos: u64,
    /// Samples that found the ring full; 0 before Linux 6.0.
    pub(super) lost: u64,
}

impl Event {
    /// Opens a disabled event that writes a sample every `period` times and wakes pollers after `wake_bytes` bytes of
    /// samples.
    ///
    /// # Errors
    /// The kernel's error; `SRCH` if the thread has ended.
    pub(super) fn open(event: &SampledEvent, period: u64, wake_bytes: u32, thread: Pid) -> Result<Event, Errno> {
        let mut attributes = attributes_of(event, period, wake_bytes);
        attributes.read_format |= attributes::FORMAT_LOST;
        match open(&attributes, thread) {
            // A kernel before 6.0 doesn't know this format.
            Err(Errno::INVAL) => {
                attributes.read_format &= !attributes::FORMAT_LOST;
                open(&attributes, thread).map(|descriptor| Event { descriptor, thread, counts_lost: false })
            }
            opened => opened.map(|descriptor| Event { descriptor, thread, counts_lost: true }),
        }
    }

    pub(super) fn thread(&self) -> Pid {
        self.thread
    }

    pub(super) fn enable(&self) -> Result<(), Errno> {
        // SAFETY: the request takes no pointer, and the descriptor is that of an event.
        unsafe { ioctl::ioctl(&self.descriptor, NoArg::<ENABLE>::new()) }
    }

    /// After this returns, the event writes no more samples.
    pub(super) fn disable(&self) -> Result<(), Errno> {
        // SAFETY: as in `enable`.
        unsafe { ioctl::ioctl(&self.descriptor, NoArg::<DISABLE>::new()) }
    }

    pub(super) fn counts(&self) -> Result<EventCounts, Errno> {
        let mut bytes = [0; 32];
        let length = rustix::io::read(&self.descriptor, &mut bytes)?;
        let (words, _) = bytes.as_chunks::<8>();
        let [happened, enabled_nanos, running_nanos, lost] = [0, 1, 2, 3].map(|at| u64::from_ne_bytes(words[at]));
        // A shorter result means that the event is in an error state.
        let expected = if self.counts_lost { 32 } else { 24 };
        if length != expected {
            return Ok(EventCounts::default());
        }
        Ok(EventCounts { happened, enabled_nanos, running_nanos, lost })
    }
}

impl AsFd for Event {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

fn attributes_of(event: &SampledEvent, period: u64, wake_bytes: u32) -> Attributes {
    let mut flags = attributes::FLAG_DISABLED | attributes::FLAG_WATERMARK;
    flags |= u64::from(event.precise) << attributes::FLAG_PRECISE_SHIFT;
    if event.exclude_kernel {
        flags |= attributes::FLAG_EXCLUDE_KERNEL;
    }
    let mut sample_type = attributes::SAMPLE_THREAD | attributes::SAMPLE_TIME | attributes::SAMPLE_ADDRESS;
    if event.layout == Layout::AddressAndSource {
        sample_type |= attributes::SAMPLE_DATA_SOURCE;
    }
    let [config, config1, config2] = event.config;
    Attributes {
        kind: event.kind,
        size: size_of::<Attributes>() as u32,
        config,
        config1,
        config2,
        sample_period: event.possible_period(period),
        sample_type,
        read_format: attributes::FORMAT_TIME_ENABLED | attributes::FORMAT_TIME_RUNNING,
        flags,
        wakeup_watermark: wake_bytes,
        ..Attributes::default()
    }
}

fn open(attributes: &Attributes, thread: Pid) -> Result<OwnedFd, Errno> {
    const ANY_CPU: libc::c_int = -1;
    const NO_GROUP: libc::c_int = -1;
    const CLOSE_ON_EXEC: libc::c_ulong = 1 << 3;
    // SAFETY: the structure is as long as its `size` says and outlives the call, which only reads it.
    let descriptor = unsafe {
        libc::syscall(
            libc::SYS_perf_event_open,
            std::ptr::from_ref(attributes),
            thread.as_raw_nonzero().get(),
            ANY_CPU,
            NO_GROUP,
            CLOSE_ON_EXEC,
        )
    };
    match RawFd::try_from(descriptor) {
        // SAFETY: the kernel has just made this descriptor for us.
        Ok(descriptor) if descriptor >= 0 => Ok(unsafe { OwnedFd::from_raw_fd(descriptor) }),
        _ => Err(Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::INVAL)),
    }
}
