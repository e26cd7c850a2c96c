//! Groups in Linux's resctrl file system ("User Interface for Resource Control feature" in the kernel's documents).

use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use super::files::{CommandFile, Paths, SystemFiles};
use super::masks::{ClassMasks, MaskRules, parse_mask, parse_schemata, schemata_line};
use super::process::ProcessIdentity;
use super::{OffReason, Status};
use crate::{CacheClass, WayMask};

/// Names of the last-level cache in resctrl. The second one replaces it if code and data are partitioned separately;
/// code stays as it is.
const RESOURCES: [&str; 2] = ["L3", "L3DATA"];
/// Maximum number of attempts to create or remove a busy folder, and the pause between them.
const ATTEMPTS_MAX: u32 = 3;
const PAUSE: Duration = Duration::from_millis(2);
/// Number of consecutive moves that may fail for a transient reason before partitioning turns itself off.
const FAILURES_MAX: u32 = 16;

// Linux error numbers that have no stable `ErrorKind` in all versions.
const ENOENT: i32 = 2;
const ESRCH: i32 = 3;
const ENODEV: i32 = 19;
const ENOSPC: i32 = 28;

/// The groups of one process. Dropping them removes them.
pub(super) struct Groups {
    files: Box<dyn SystemFiles>,
    paths: Paths,
    home: Group,
    polluting: Group,
    comparable: Group,
    /// Masks of the first cache, for the status.
    masks: ClassMasks,
    home_mask: WayMask,
    moves: AtomicU64,
    /// Number of failed moves since the last successful one.
    failures: AtomicU32,
    /// Set once, when partitioning turns itself off.
    failed: OnceLock<OffReason>,
}

/// A group's folder, and the file through which threads are moved.
struct Group {
    folder: PathBuf,
    /// Opened at the first move.
    tasks: OnceLock<Box<dyn CommandFile>>,
}

impl Group {
    fn new(folder: PathBuf) -> Self {
        Self { folder, tasks: OnceLock::new() }
    }

    fn tasks(&self) -> PathBuf {
        self.folder.join("tasks")
    }

    fn take_in(&self, thread: u32, files: &dyn SystemFiles) -> io::Result<()> {
        let command = format!("{thread}\n");
        match self.tasks.get() {
            Some(tasks) => tasks.give(&command),
            None => {
                let tasks = files.commands(&self.tasks())?;
                tasks.give(&command)?;
                // Another thread may have opened it meanwhile.
                _ = self.tasks.set(tasks);
                Ok(())
            }
        }
    }
}

impl Groups {
    pub(super) fn create(paths: Paths, files: Box<dyn SystemFiles>) -> Result<Self, OffReason> {
        let machine = Machine::read(&paths, files.as_ref())?;
        let own = ProcessIdentity::own(files.as_ref(), &paths.proc).ok_or_else(|| OffReason::Unreadable {
            path: paths.proc.join("self"),
            found: "neither the process's start nor its name space".into(),
        })?;
        remove_stale(&own, &paths, files.as_ref());
        let name = own.group_names();
        let group = |class| Group::new(paths.resctrl.join(name(class)));
        let (polluting, comparable) = (group(CacheClass::Polluting), group(CacheClass::Comparable));
        let (home_mask, masks) = *machine.caches.values().next().expect("a machine has a cache");
        // From here on, dropping it removes what has been created.
        let groups = Self {
            home: Group::new(machine.home.clone()),
            polluting,
            comparable,
            masks,
            home_mask,
            moves: AtomicU64::new(0),
            failures: AtomicU32::new(0),
            failed: OnceLock::new(),
            files,
            paths,
        };
        groups.make(&machine, &groups.polluting.folder, |masks| masks.polluting)?;
        groups.make(&machine, &groups.comparable.folder, |masks| masks.comparable)?;
        Ok(groups)
    }

    fn make(&self, machine: &Machine, group: &Path, mask: fn(&ClassMasks) -> WayMask) -> Result<(), OffReason> {
        retry_busy(|| self.files.create_folder(group))
            .map_err(|error| self.reason(&error, group, Some(machine.classes)))?;
        let line = schemata_line(machine.resource, machine.caches.iter().map(|(&id, (_, masks))| (id, mask(masks))));
        let schemata = group.join("schemata");
        retry_busy(|| self.files.commands(&schemata)?.give(&line)).map_err(|error| self.reason(&error, &schemata, None))
    }

    /// The reason, for users, why `path` couldn't be changed. `classes` is given if a class was requested.
    fn reason(&self, error: &io::Error, path: &Path, classes: Option<u32>) -> OffReason {
        match (error.raw_os_error(), classes) {
            (Some(ENOSPC), Some(classes)) => OffReason::NoFreeClass { classes },
            _ if is_forbidden(error) => OffReason::NotPermitted { path: path.to_owned() },
            _ => {
                // The kernel explains its last refusal here.
                let status = self.files.read(&self.paths.resctrl.join("info/last_cmd_status")).unwrap_or_default();
                let why = match status.trim() {
                    "" | "ok" => error.to_string(),
                    status => format!("{error} ({status})"),
                };
                OffReason::Refused { path: path.to_owned(), why }
            }
        }
    }

    pub(super) fn thread_id(&self) -> u32 {
        self.files.thread_id()
    }

    pub(super) fn paces_moves(&self) -> bool {
        self.files.paces_moves()
    }

    pub(super) fn has_failed(&self) -> bool {
        self.failed.get().is_some()
    }

    pub(super) fn status(&self) -> Status {
        match self.failed.get() {
            Some(reason) => Status::Off(reason.clone()),
            None => Status::On {
                polluting_ways: self.masks.polluting.count(),
                comparable_ways: self.masks.comparable.count(),
                sensitive_ways: self.home_mask.count(),
                moves: self.moves.load(Ordering::Relaxed),
            },
        }
    }

    /// Moves a thread. Returns whether it counts as moved; that includes cases where there is no point in retrying.
    pub(super) fn move_thread(&self, thread: u32, class: CacheClass) -> bool {
        let group = match class {
            CacheClass::Polluting => &self.polluting,
            CacheClass::Comparable => &self.comparable,
            CacheClass::Sensitive => &self.home,
        };
        match group.take_in(thread, self.files.as_ref()) {
            Ok(()) => {
                self.moves.fetch_add(1, Ordering::Relaxed);
                self.failures.store(0, Ordering::Relaxed);
                true
            }
            // A thread that has ended, or a second failure: there is nothing left to move or to turn off.
            Err(error) if error.raw_os_error() == Some(ESRCH) || self.has_failed() => true,
            Err(error) => {
                let failures = self.failures.fetch_add(1, Ordering::Relaxed) + 1;
                if is_lasting(&error) || failures >= FAILURES_MAX {
                    // The groups stay until the end, so that threads can still go home from them.
                    _ = self.failed.set(self.reason(&error, &group.tasks(), None));
                }
                false
            }
        }
    }
}

impl Drop for Groups {
    fn drop(&mut self) {
        for group in [&self.polluting, &self.comparable] {
            // Groups that can't be removed now are removed at the next start.
            _ = retry_busy(|| self.files.remove_folder(&group.folder));
        }
    }
}

/// What the kernel reports about the machine and our place in it.
struct Machine {
    resource: &'static str,
    home: PathBuf,
    /// Number of the processor's classes.
    classes: u32,
    /// By cache: the mask of home, and those of the classes.
    caches: BTreeMap<u32, (WayMask, ClassMasks)>,
}

impl Machine {
    fn read(paths: &Paths, files: &dyn SystemFiles) -> Result<Self, OffReason> {
        let root = &paths.resctrl;
        // The kernel creates the mount point if the processor supports it.
        if let Err(error) = files.folders(root) {
            return Err(match is_forbidden(&error) {
                true => OffReason::NotPermitted { path: root.clone() },
                false => OffReason::NoCacheAllocation { root: root.clone() },
            });
        }
        let resources = files.folders(&root.join("info")).map_err(|_| OffReason::NotMounted { root: root.clone() })?;
        let resource = RESOURCES.into_iter().find(|name| resources.iter().any(|found| found == name));
        let resource = resource.ok_or_else(|| OffReason::NoCacheAllocation { root: root.clone() })?;
        let info = root.join("info").join(resource);
        let rules = MaskRules {
            all: parsed(files, &info.join("cbm_mask"), parse_mask)?,
            bits_min: parsed(files, &info.join("min_cbm_bits"), |text| text.trim().parse().ok())?,
            shareable: parsed(files, &info.join("shareable_bits"), parse_mask).unwrap_or_default(),
        };
        let classes = parsed(files, &info.join("num_closids"), |text| text.trim().parse().ok())?;
        let home = home(paths, files)?;
        let masks = parsed(files, &home.join("schemata"), |text| parse_schemata(text, resource))?;
        let caches = masks.into_iter().map(|(id, mask)| Ok((id, (mask, rules.class_masks(mask)?))));
        Ok(Self { resource, home, classes, caches: caches.collect::<Result<_, _>>()? })
    }
}

/// The group that the process is in. Older kernels don't report it; then the default one is assumed.
fn home(paths: &Paths, files: &dyn SystemFiles) -> Result<PathBuf, OffReason> {
    let membership = paths.proc.join("self/cpu_resctrl_groups");
    let Ok(text) = files.read(&membership) else { return Ok(paths.resctrl.clone()) };
    let group = text.lines().find_map(|line| line.strip_prefix("res:/"));
    let group = group.ok_or_else(|| OffReason::Unreadable { path: membership, found: text.trim().to_owned() })?;
    Ok(if group.is_empty() { paths.resctrl.clone() } else { paths.resctrl.join(group) })
}

fn parsed<T>(files: &dyn SystemFiles, path: &Path, parse: impl FnOnce(&str) -> Option<T>) -> Result<T, OffReason> {
    let unreadable = |found: String| OffReason::Unreadable { path: path.to_owned(), found };
    let text = files.read(path).map_err(|error| match is_forbidden(&error) {
        true => OffReason::NotPermitted { path: path.to_owned() },
        false => unreadable(error.to_string()),
    })?;
    parse(&text).ok_or_else(|| unreadable(text.trim().to_owned()))
}

/// Removes groups left behind by dead processes. Groups that can't be removed are left for the next start: they cost
/// classes, not correctness.
fn remove_stale(own: &ProcessIdentity, paths: &Paths, files: &dyn SystemFiles) {
    for name in files.folders(&paths.resctrl).unwrap_or_default() {
        if own.is_stale_group(&name, files, &paths.proc) {
            _ = retry_busy(|| files.remove_folder(&paths.resctrl.join(name.as_str())));
        }
    }
}

fn retry_busy(mut attempt: impl FnMut() -> io::Result<()>) -> io::Result<()> {
    for _ in 1..ATTEMPTS_MAX {
        match attempt() {
            Err(error) if error.kind() == ErrorKind::ResourceBusy => std::thread::sleep(PAUSE),
            result => return result,
        }
    }
    attempt()
}

fn is_forbidden(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem)
}

/// True if a move that failed with this error will fail again: the group is gone, or we may not use it.
fn is_lasting(error: &io::Error) -> bool {
    is_forbidden(error)
        || error.kind() == ErrorKind::InvalidInput
        || matches!(error.raw_os_error(), Some(ENOENT | ENODEV))
}
