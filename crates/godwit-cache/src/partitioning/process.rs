//! Names of groups, from which anyone can tell whether the process that created them is alive.

use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

use super::files::SystemFiles;
use crate::CacheClass;

const PREFIX: &str = "godwit";

/// A process, distinct from a later one with the same number, and from those of other containers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ProcessIdentity {
    /// The namespace in which `pid` is valid, by its inode number.
    namespace: u64,
    pid: u32,
    /// When it started, in the kernel's clock ticks.
    start: u64,
}

impl ProcessIdentity {
    /// This process. `None` if proc isn't readable.
    pub(super) fn own(files: &dyn SystemFiles, proc: &Path) -> Option<Self> {
        let pid = std::process::id();
        let namespace = files.link(&proc.join("self/ns/pid")).ok()?;
        let namespace = namespace.to_str()?.strip_prefix("pid:[")?.strip_suffix(']')?.parse().ok()?;
        Some(Self { namespace, pid, start: start_time(files, proc, pid)? })
    }

    /// Parses a group's name.
    fn of_group(name: &str) -> Option<Self> {
        let mut parts = name.split('-');
        if parts.next()? != PREFIX {
            return None;
        }
        let namespace = parts.next()?.parse().ok()?;
        let pid = parts.next()?.parse().ok()?;
        let start = parts.next()?.parse().ok()?;
        // The instance, the class, and nothing else.
        let (_instance, _class) = (parts.next()?.parse::<u32>().ok()?, parts.next()?);
        parts.next().is_none().then_some(Self { namespace, pid, start })
    }

    /// Names for the groups of another instance in this process.
    pub(super) fn group_names(&self) -> impl Fn(CacheClass) -> String {
        static INSTANCES: AtomicU32 = AtomicU32::new(0);
        let instance = INSTANCES.fetch_add(1, Ordering::Relaxed);
        let Self { namespace, pid, start } = *self;
        move |class| {
            let class = match class {
                CacheClass::Polluting => "polluting",
                CacheClass::Comparable => "comparable",
                CacheClass::Sensitive => unreachable!("home is a group already"),
            };
            format!("{PREFIX}-{namespace}-{pid}-{start}-{instance}-{class}")
        }
    }

    /// True if `name` is a group left behind by a dead process. False if in doubt: processes of other namespaces can't
    /// be seen from here.
    pub(super) fn is_stale_group(&self, name: &str, files: &dyn SystemFiles, proc: &Path) -> bool {
        let Some(owner) = Self::of_group(name) else { return false };
        owner.namespace == self.namespace && start_time(files, proc, owner.pid) != Some(owner.start)
    }
}

/// When a process started: the 22nd field of its `stat`. The second, its name, may have blanks and parentheses.
fn start_time(files: &dyn SystemFiles, proc: &Path, pid: u32) -> Option<u64> {
    let stat = files.read(&proc.join(format!("{pid}/stat"))).ok()?;
    let (_, after_name) = stat.rsplit_once(')')?;
    after_name.split_ascii_whitespace().nth(19)?.parse().ok()
}
