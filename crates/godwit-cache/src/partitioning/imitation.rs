//! A folder that imitates resctrl and proc, with faults on demand: for tests, and for measurements on machines without
//! resctrl. Errors of the folder itself cause panics.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use super::files::{CommandFile, OsFiles, Paths, SystemFiles};
use super::masks::parse_schemata;
use crate::WayMask;

pub(super) const ENODEV: i32 = 19;
pub(super) const EINVAL: i32 = 22;
pub(super) const ENOSPC: i32 = 28;

/// This process as the imitated proc describes it.
pub(super) const NAMESPACE: u64 = 4_026_531_836;
pub(super) const START: u64 = 4_242;

/// The kind of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// Read a file or a link.
    Read,
    /// Wrote to a file.
    Write,
    /// Created a folder.
    Create,
    /// Removed one.
    Remove,
    /// Listed one.
    List,
}

/// A machine whose caches can be partitioned. Shared, so that a test can inspect it while partitioning uses it.
#[derive(Clone, Debug)]
pub struct Imitation(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    folder: PathBuf,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Calls that fail: their kind, the end of their path, the error, and how often.
    faults: Vec<(Call, &'static str, i32, u32)>,
    /// Writes to files called `tasks`: the group, and the thread.
    moves: Vec<(String, String)>,
    /// The folder of the group that each thread was moved to. As in the kernel, a write to `tasks` is a command; the
    /// file's text isn't a list of the members.
    members: HashMap<String, PathBuf>,
    resource: &'static str,
    ways: u32,
    paces_moves: bool,
}

impl State {
    fn fault(&mut self, call: Call, path: &Path) -> io::Result<()> {
        let hit = |fault: &&mut (Call, &'static str, i32, u32)| {
            fault.0 == call && path.to_str().unwrap().ends_with(fault.1) && fault.3 > 0
        };
        match self.faults.iter_mut().find(hit) {
            Some(fault) => {
                fault.3 -= 1;
                Err(io::Error::from_raw_os_error(fault.2))
            }
            None => Ok(()),
        }
    }
}

impl Imitation {
    /// A machine with two caches of `ways` ways and `classes` classes, mounted in a folder of its own.
    pub fn new(folder: &Path, ways: u32, classes: u32) -> Self {
        Self::with_resource(folder, "L3", ways, classes)
    }

    pub(super) fn with_resource(folder: &Path, resource: &'static str, ways: u32, classes: u32) -> Self {
        let state = Mutex::new(State { resource, ways, ..State::default() });
        let this = Self(Arc::new(Inner { folder: folder.to_owned(), state }));
        let info = this.root().join("info").join(resource);
        fs::create_dir_all(&info).unwrap();
        fs::create_dir_all(this.root().join("info/MB")).unwrap();
        fs::create_dir_all(this.root().join("mon_groups")).unwrap();
        fs::write(info.join("cbm_mask"), format!("{:x}\n", WayMask::all(ways))).unwrap();
        fs::write(info.join("min_cbm_bits"), "1\n").unwrap();
        fs::write(info.join("shareable_bits"), "0\n").unwrap();
        fs::write(info.join("num_closids"), format!("{classes}\n")).unwrap();
        fs::write(this.root().join("info/last_cmd_status"), "ok\n").unwrap();
        this.populate(&this.root(), &format!("{:x}", WayMask::all(ways)));
        let pid = std::process::id();
        this.process(pid, START);
        fs::create_dir_all(this.proc().join("self/ns")).unwrap();
        symlink(format!("pid:[{NAMESPACE}]"), this.proc().join("self/ns/pid")).unwrap();
        this
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap()
    }

    /// Where resctrl is mounted.
    pub fn root(&self) -> PathBuf {
        self.0.folder.join("resctrl")
    }

    pub(super) fn proc(&self) -> PathBuf {
        self.0.folder.join("proc")
    }

    /// The paths for partitioning.
    pub fn paths(&self) -> Paths {
        Paths { resctrl: self.root(), proc: self.proc() }
    }

    /// Adds a live process.
    pub(super) fn process(&self, pid: u32, start: u64) {
        let folder = self.proc().join(pid.to_string());
        fs::create_dir_all(&folder).unwrap();
        let fields: Vec<String> = (3..=52).map(|field| if field == 22 { start } else { field }.to_string()).collect();
        fs::write(folder.join("stat"), format!("{pid} (a) b (c) {}\n", fields.join(" "))).unwrap();
    }

    /// Creates a group, as if by somebody else.
    pub fn group(&self, name: &str, mask: &str) {
        let folder = self.root().join(name);
        fs::create_dir_all(&folder).unwrap();
        self.populate(&folder, mask);
    }

    fn populate(&self, group: &Path, mask: &str) {
        let resource = self.state().resource;
        fs::write(group.join("schemata"), format!("    MB:0=100;1=100\n    {resource}:0={mask};1={mask}\n")).unwrap();
        fs::write(group.join("tasks"), "").unwrap();
    }

    /// Makes the next `times` calls of this kind on paths with this end fail.
    pub fn fail(&self, call: Call, path_end: &'static str, errno: i32, times: u32) {
        self.state().faults.push((call, path_end, errno, times));
    }

    /// Makes threads stay for a while after a move, as on a real machine. Tests usually want to see each move.
    pub fn pace_moves(&self) {
        self.state().paces_moves = true;
    }

    /// Makes nothing fail from now on.
    pub fn heal(&self) {
        self.state().faults.clear();
    }

    /// Number of attempts to move a thread, successful or not.
    pub fn moves(&self) -> usize {
        self.state().moves.len()
    }

    /// The attempts to move threads since the last call, in order: group and thread; the default group is "".
    pub fn take_moves(&self) -> Vec<(String, String)> {
        std::mem::take(&mut self.state().moves)
    }

    /// Groups other than the default one.
    pub fn groups(&self) -> Vec<String> {
        let mut names = OsFiles.folders(&self.root()).unwrap();
        names.retain(|name| !["info", "mon_groups"].contains(&name.as_str()));
        names.sort();
        names
    }

    /// The folder of the group that `thread` is in, once it has been moved; the default group is "".
    pub fn group_of(&self, thread: u32) -> Option<String> {
        let state = self.state();
        let folder = state.members.get(&thread.to_string())?;
        Some(folder.strip_prefix(self.root()).unwrap().to_string_lossy().into_owned())
    }

    fn fault(&self, call: Call, path: &Path) -> io::Result<()> {
        self.state().fault(call, path)
    }

    fn check_schemata(&self, text: &str) -> io::Result<()> {
        let (resource, ways) = {
            let state = self.state();
            (state.resource, state.ways)
        };
        let legal = |mask: &WayMask| mask.longest_run() == (mask.bits().trailing_zeros(), mask.count());
        let inside = |mask: &WayMask| *mask & WayMask::all(ways) == *mask && !mask.is_empty();
        match parse_schemata(text, resource) {
            Some(masks) if masks.len() == 2 && masks.values().all(|mask| legal(mask) && inside(mask)) => Ok(()),
            _ => Err(io::Error::from_raw_os_error(EINVAL)),
        }
    }
}

/// An open file called `schemata` or `tasks`.
struct ImitatedFile {
    machine: Imitation,
    path: PathBuf,
    file: Box<dyn CommandFile>,
}

impl CommandFile for ImitatedFile {
    fn give(&self, command: &str) -> io::Result<()> {
        let folder = self.path.parent().unwrap();
        if self.path.ends_with("schemata") {
            self.machine.fault(Call::Write, &self.path)?;
            self.machine.check_schemata(command)?;
        } else {
            let group = folder.strip_prefix(self.machine.root()).unwrap().to_string_lossy().into_owned();
            let thread = command.trim().to_owned();
            // The kernel, too, has a single lock for all groups.
            let mut state = self.machine.state();
            state.moves.push((group, thread.clone()));
            state.fault(Call::Write, &self.path)?;
            // The file stays open when its group is removed.
            if !self.path.exists() {
                return Err(io::Error::from_raw_os_error(ENODEV));
            }
            state.members.insert(thread, folder.to_owned());
        }
        self.file.give(command)
    }
}

impl SystemFiles for Imitation {
    fn read(&self, path: &Path) -> io::Result<String> {
        self.fault(Call::Read, path)?;
        OsFiles.read(path)
    }

    fn commands(&self, path: &Path) -> io::Result<Box<dyn CommandFile>> {
        // A group that is gone accepts no commands; a file that doesn't exist can't be opened.
        let file = OsFiles.commands(path)?;
        Ok(Box::new(ImitatedFile { machine: self.clone(), path: path.to_owned(), file }))
    }

    fn create_folder(&self, path: &Path) -> io::Result<()> {
        self.fault(Call::Create, path)?;
        let resource = self.state().resource;
        let classes = OsFiles.read(&self.root().join("info").join(resource).join("num_closids"))?;
        if self.groups().len() as u32 + 1 >= classes.trim().parse().unwrap() {
            return Err(io::Error::from_raw_os_error(ENOSPC));
        }
        OsFiles.create_folder(path)?;
        let ways = self.state().ways;
        self.populate(path, &format!("{:x}", WayMask::all(ways)));
        Ok(())
    }

    fn remove_folder(&self, path: &Path) -> io::Result<()> {
        self.fault(Call::Remove, path)?;
        for group in self.state().members.values_mut() {
            if group == path {
                *group = self.root();
            }
        }
        for file in ["tasks", "schemata"] {
            _ = fs::remove_file(path.join(file));
        }
        OsFiles.remove_folder(path)
    }

    fn folders(&self, path: &Path) -> io::Result<Vec<String>> {
        self.fault(Call::List, path)?;
        OsFiles.folders(path)
    }

    fn link(&self, path: &Path) -> io::Result<PathBuf> {
        self.fault(Call::Read, path)?;
        OsFiles.link(path)
    }

    fn thread_id(&self) -> u32 {
        OsFiles.thread_id()
    }

    fn paces_moves(&self) -> bool {
        self.state().paces_moves
    }
}
