//! Why the cache isn't partitioned.

use std::fmt;
use std::path::PathBuf;

/// Why partitioning is off. Shown to users after "off: ".
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OffReason {
    /// The setting says so.
    Setting,
    /// The build left it out.
    NotBuilt,
    /// The operating system isn't Linux.
    NotLinux,
    /// Kernel and processor support it, but the file system isn't mounted.
    NotMounted {
        /// Where it belongs.
        root: PathBuf,
    },
    /// The processor can't partition its last-level cache, or the kernel doesn't support it.
    NoCacheAllocation {
        /// Where it would show up.
        root: PathBuf,
    },
    /// This user isn't permitted to do it.
    NotPermitted {
        /// What isn't permitted.
        path: PathBuf,
    },
    /// Classes of two ways or more don't leave enough for others.
    TooFewWays {
        /// Neighbouring ways that the process may fill.
        ways: u32,
        /// Number of ways needed.
        needed: u32,
    },
    /// All classes of the processor are in use.
    NoFreeClass {
        /// Number of classes that it has.
        classes: u32,
    },
    /// Something that the kernel reports isn't understood.
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What it says, or why it can't be read.
        found: String,
    },
    /// The kernel refused, at the start or later; in the latter case threads have gone back to the whole cache.
    Refused {
        /// The file or folder to be changed.
        path: PathBuf,
        /// Why not, in the kernel's words.
        why: String,
    },
}

impl fmt::Display for OffReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Setting => write!(f, "cache_partitioning is set to off"),
            Self::NotBuilt => write!(f, "this build leaves cache partitioning out"),
            Self::NotLinux => write!(f, "caches are partitioned on Linux only"),
            Self::NotMounted { root } => write!(
                f,
                "{} isn't mounted; an administrator can mount it: mount -t resctrl resctrl {0}",
                root.display()
            ),
            Self::NoCacheAllocation { root } => write!(
                f,
                "the processor can't partition its last-level cache, or the kernel doesn't offer it ({} doesn't)",
                root.display()
            ),
            Self::NotPermitted { path } => {
                write!(f, "this user may not change {}; an administrator can allow it", path.display())
            }
            Self::TooFewWays { ways, needed } => {
                write!(f, "the process may fill {ways} neighbouring ways of the cache; partitions need {needed}")
            }
            Self::NoFreeClass { classes } => write!(
                f,
                "all {classes} classes of the processor are in use; remove unused groups from the resctrl \
                 file system"
            ),
            Self::Unreadable { path, found } => write!(f, "can't make sense of {}: {found}", path.display()),
            Self::Refused { path, why } => write!(f, "the kernel refused a change of {}: {why}", path.display()),
        }
    }
}

impl std::error::Error for OffReason {}
