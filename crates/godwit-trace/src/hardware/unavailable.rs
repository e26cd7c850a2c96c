//! Reasons why the processor's samples are unavailable: which file, which setting, and what to do about it.

use std::fmt;
use std::io;
use std::path::PathBuf;

/// The reason why the processor's samples are unavailable. Its text names the file or setting, and says what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unavailable {
    /// `perf_event_open` only exists on Linux.
    NotLinux,
    /// The kernel was built without performance events.
    NoPerfEvents {
        /// The file that every other kernel has.
        missing: PathBuf,
    },
    /// No way to sample the addresses of loads is known for this processor.
    Processor {
        /// The vendor, or the architecture if the vendor is unknown.
        vendor: String,
    },
    /// The kernel doesn't offer the event, usually because the hypervisor doesn't.
    NoEventSource {
        /// The file or folder that describes it elsewhere.
        missing: PathBuf,
        /// Whether this is a virtual machine.
        is_virtual: bool,
    },
    /// Counters exist, but the processor or hypervisor can't sample precisely, hence without addresses.
    NoPreciseEvents {
        /// The file that says 0.
        setting: PathBuf,
        /// Whether this is a virtual machine.
        is_virtual: bool,
    },
    /// The kernel doesn't know a setting of the event: it is too old.
    NoTerm {
        /// The file that describes the setting elsewhere.
        missing: PathBuf,
    },
    /// One of the kernel's descriptions has an unknown form.
    NotUnderstood {
        /// The file.
        file: PathBuf,
        /// Its content.
        text: String,
    },
    /// The system's setting forbids it to users without the capability.
    Paranoid {
        /// The setting.
        value: i32,
        /// The maximum that it may be.
        most: i32,
    },
    /// A filter of system calls, usually that of a container, forbids it.
    SystemCallFilter,
    /// Neither the setting nor a filter explains why the kernel forbids it: likely a security module.
    Forbidden {
        /// The event.
        event: String,
        /// The system's error.
        error: i32,
    },
    /// The kernel doesn't support the event for a single thread with addresses.
    Refused {
        /// The event.
        event: String,
        /// The system's error.
        error: i32,
    },
    /// A ring buffer would be more locked memory than the user may have.
    LockedMemory {
        /// The ring's bytes.
        bytes: usize,
    },
    /// The kernel samples page faults without their time, so that the times of samples are meaningless.
    NoTimes,
    /// A system resource is exhausted.
    System {
        /// The action that failed.
        action: &'static str,
        /// The system's error.
        error: i32,
    },
}

const VIRTUAL: &str = "the hypervisor doesn't pass the processor's counters on; \
                       use a bare-metal machine or a type of virtual machine that has them";
const REAL: &str = "the kernel has no driver for this processor's counters, or firmware turned them off; \
                    look at the kernel's log for \"Performance Events\" and \"IBS\"";

impl fmt::Display for Unavailable {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = |is_virtual: &bool| if *is_virtual { VIRTUAL } else { REAL };
        match self {
            Unavailable::NotLinux => write!(formatter, "sampling loads takes Linux's perf_event_open"),
            Unavailable::NoPerfEvents { missing } => write!(
                formatter,
                "{} doesn't exist: the kernel was built without performance events (CONFIG_PERF_EVENTS)",
                missing.display()
            ),
            Unavailable::Processor { vendor } => write!(
                formatter,
                "addresses of loads are sampled by processors of Intel (PEBS) and AMD (IBS), and this one is {vendor}"
            ),
            Unavailable::NoEventSource { missing, is_virtual } => {
                write!(formatter, "{} doesn't exist: {}", missing.display(), place(is_virtual))
            }
            Unavailable::NoPreciseEvents { setting, is_virtual } => {
                write!(formatter, "{} is 0, so samples have no addresses: {}", setting.display(), place(is_virtual))
            }
            Unavailable::NoTerm { missing } => {
                write!(formatter, "{} doesn't exist: use a newer kernel (Linux 6.2 for AMD)", missing.display())
            }
            Unavailable::NotUnderstood { file, text } => {
                write!(formatter, "{} holds \"{text}\", which isn't understood", file.display())
            }
            Unavailable::Paranoid { value, most } => write!(
                formatter,
                "/proc/sys/kernel/perf_event_paranoid is {value} and must be at most {most}: \
                 run \"sysctl kernel.perf_event_paranoid={most}\" as root, or give the program CAP_PERFMON"
            ),
            Unavailable::SystemCallFilter => write!(
                formatter,
                "a seccomp filter (Seccomp in /proc/self/status) denies perf_event_open: give the container CAP_PERFMON \
                 (--cap-add PERFMON) or a profile that allows the call (--security-opt seccomp=…)"
            ),
            Unavailable::Forbidden { event, error } => write!(
                formatter,
                "the kernel denies the event {event} ({}), though perf_event_paranoid allows it: a security module \
                 (/sys/kernel/security/lsm), or lockdown (/sys/kernel/security/lockdown), may be why",
                io::Error::from_raw_os_error(*error)
            ),
            Unavailable::Refused { event, error } => write!(
                formatter,
                "the kernel can't sample addresses with the event {event} for a thread ({}): the processor or hypervisor \
                 lacks it, or the kernel is too old (AMD needs Linux 6.2)",
                io::Error::from_raw_os_error(*error)
            ),
            Unavailable::LockedMemory { bytes } => write!(
                formatter,
                "a ring buffer of {bytes} bytes for another thread is more than /proc/sys/kernel/perf_event_mlock_kb and \
                 the limit of locked memory (ulimit -l) allow: raise one of them, or give the program CAP_IPC_LOCK"
            ),
            Unavailable::NoTimes => {
                write!(formatter, "the kernel writes no sample for a page fault, so it tells no times")
            }
            Unavailable::System { action, error } => {
                write!(formatter, "couldn't {action}: {}", io::Error::from_raw_os_error(*error))
            }
        }
    }
}

impl std::error::Error for Unavailable {}

#[cfg(target_os = "linux")]
pub(super) use facts::Facts;

#[cfg(target_os = "linux")]
mod facts {
    use super::Unavailable;
    use crate::hardware::processor::{Places, SampledEvent};
    use rustix::io::Errno;
    use std::fs;

    const CAP_SYS_ADMIN: u32 = 21;
    const CAP_PERFMON: u32 = 38;
    const SECCOMP_FILTER: &str = "2";

    /// The facts that decide about permission, read when the tracer starts.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub(in crate::hardware) struct Facts {
        pub(super) paranoid: Option<i32>,
        pub(super) is_capable: bool,
        pub(super) is_filtered: bool,
    }

    impl Facts {
        pub(in crate::hardware) fn read(places: &Places) -> Facts {
            let setting = fs::read_to_string(places.processes.join("sys/kernel/perf_event_paranoid"));
            let status = fs::read_to_string(places.processes.join("self/status")).unwrap_or_default();
            let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
            let capabilities = field("CapEff:").and_then(|set| u64::from_str_radix(set, 16).ok()).unwrap_or_default();
            Facts {
                paranoid: setting.ok().and_then(|text| text.trim().parse().ok()),
                is_capable: capabilities & (1 << CAP_PERFMON | 1 << CAP_SYS_ADMIN) != 0,
                is_filtered: field("Seccomp:") == Some(SECCOMP_FILTER),
            }
        }

        /// The meaning of an error of `perf_event_open`. The kernel itself forbids with `ACCESS`, filters mostly with
        /// `PERM`.
        pub(in crate::hardware) fn why_not_opened(&self, event: &SampledEvent, error: Errno) -> Unavailable {
            let most = if event.exclude_kernel { 2 } else { 1 };
            let paranoid = self.paranoid.filter(|&value| value > most && !self.is_capable);
            match (error, paranoid) {
                (Errno::PERM | Errno::NOSYS, _) if self.is_filtered => Unavailable::SystemCallFilter,
                (Errno::PERM | Errno::ACCESS, Some(value)) => Unavailable::Paranoid { value, most },
                (Errno::ACCESS, None) if self.is_filtered => Unavailable::SystemCallFilter,
                (Errno::PERM | Errno::ACCESS, None) => {
                    Unavailable::Forbidden { event: event.name.clone(), error: error.raw_os_error() }
                }
                (Errno::MFILE | Errno::NFILE | Errno::NOMEM, _) => {
                    Unavailable::System { action: "open an event for another thread", error: error.raw_os_error() }
                }
                _ => Unavailable::Refused { event: event.name.clone(), error: error.raw_os_error() },
            }
        }

        /// The meaning of an error from mapping a ring.
        pub(in crate::hardware) fn why_not_mapped(&self, bytes: usize, error: Errno) -> Unavailable {
            match error {
                Errno::PERM | Errno::AGAIN => Unavailable::LockedMemory { bytes },
                _ => Unavailable::System { action: "map a ring buffer", error: error.raw_os_error() },
            }
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
#[path = "unavailable_tests.rs"]
mod tests;
