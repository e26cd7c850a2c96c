//! A folder that behaves as resctrl and proc do, with faults on demand: for tests, and for measurements where there is no
//! resctrl. What would be an error of the folder itself is a panic.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use super::files::{OsFiles, Paths, SystemFiles};
use super::masks::parse_schemata;
use crate::WayMask;

pub(super) const ENOENT: i32 = 2;
pub(super) const EINVAL: i32 = 22;
pub(super) const ENOSPC: i32 = 28;

/// This process as the imitated proc describes it.
pub(super) const NAMESPACE: u64 = 4_026_531_836;
pub(super) const START: u64 = 4_242;

/// What a call did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// Read a file or a link.
    Read,
    /// Wrote to a file.
    Write,
    /// Made a folder.
    Create,
    /// Removed one.
    Remove,
    /// Listed one.
    List,
}

/// A machine whose caches can be partitioned. Shared, so that a test can look at it while partitioning uses it.
#[derive(Clone, Debug)]
pub struct Imitation(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    folder: PathBuf,
    state: Mutex<State>,
    /// Held while a thread moves: it is in one group at any time.
    moving: Mutex<()>,
}

#[derive(Debug, Default)]
struct State {
    /// Calls that fail: what, with which end of the path, with which error, how often.
    faults: Vec<(Call, &'static str, i32, u32)>,
    /// Writes to files called `tasks`: the group, and the thread.
    moves: Vec<(String, String)>,
    resource: &'static str,
    ways: u32,
}

impl Imitation {
    /// A machine with two caches of `ways` ways and `classes` classes, mounted in a folder of this imitation's own.
    pub fn new(folder: &Path, ways: u32, classes: u32) -> Self {
        Self::with_resource(folder, "L3", ways, classes)
    }

    pub(super) fn with_resource(folder: &Path, resource: &'static str, ways: u32, classes: u32) -> Self {
        let state = Mutex::new(State { resource, ways, ..State::default() });
        let this = Self(Arc::new(Inner { folder: folder.to_owned(), state, moving: Mutex::default() }));
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

    /// Where resctrl is mounted.
    pub fn root(&self) -> PathBuf {
        self.0.folder.join("resctrl")
    }

    pub(super) fn proc(&self) -> PathBuf {
        self.0.folder.join("proc")
    }

    /// Where partitioning finds it.
    pub fn paths(&self) -> Paths {
        Paths { resctrl: self.root(), proc: self.proc() }
    }

    /// Lets a process live.
    pub(super) fn process(&self, pid: u32, start: u64) {
        let folder = self.proc().join(pid.to_string());
        fs::create_dir_all(&folder).unwrap();
        let fields: Vec<String> = (3..=52).map(|field| if field == 22 { start } else { field }.to_string()).collect();
        fs::write(folder.join("stat"), format!("{pid} (a) b (c) {}\n", fields.join(" "))).unwrap();
    }

    /// Makes a group, as somebody else does.
    pub fn group(&self, name: &str, mask: &str) {
        let folder = self.root().join(name);
        fs::create_dir_all(&folder).unwrap();
        self.populate(&folder, mask);
    }

    fn populate(&self, group: &Path, mask: &str) {
        let resource = self.0.state.lock().unwrap().resource;
        fs::write(group.join("schemata"), format!("    MB:0=100;1=100\n    {resource}:0={mask};1={mask}\n")).unwrap();
        fs::write(group.join("tasks"), "").unwrap();
    }

    /// The next `times` calls of this kind on paths with this end fail.
    pub fn fail(&self, call: Call, path_end: &'static str, errno: i32, times: u32) {
        self.0.state.lock().unwrap().faults.push((call, path_end, errno, times));
    }

    /// Nothing fails from now on.
    pub fn heal(&self) {
        self.0.state.lock().unwrap().faults.clear();
    }

    /// How often a thread was told to move, successfully or not.
    pub fn moves(&self) -> usize {
        self.0.state.lock().unwrap().moves.len()
    }

    /// Which threads were told to move to which groups, in order; the default group is "". Later calls begin there.
    pub fn take_moves(&self) -> Vec<(String, String)> {
        std::mem::take(&mut self.0.state.lock().unwrap().moves)
    }

    /// Groups other than the default one.
    pub fn groups(&self) -> Vec<String> {
        let mut names = OsFiles.folders(&self.root()).unwrap();
        names.retain(|name| !["info", "mon_groups"].contains(&name.as_str()));
        names.sort();
        names
    }

    /// The folders of groups in which `thread` is, once it was moved; the default group is "".
    pub fn groups_of(&self, thread: u32) -> Vec<String> {
        let mut groups = self.groups();
        groups.push(String::new());
        groups.retain(|group| tasks(&self.root().join(group)).contains(&thread.to_string()));
        groups
    }

    fn fault(&self, call: Call, path: &Path) -> io::Result<()> {
        let mut state = self.0.state.lock().unwrap();
        let hit = |fault: &&mut (Call, &'static str, i32, u32)| {
            fault.0 == call && path.to_str().unwrap().ends_with(fault.1) && fault.3 > 0
        };
        match state.faults.iter_mut().find(hit) {
            Some(fault) => {
                fault.3 -= 1;
                Err(io::Error::from_raw_os_error(fault.2))
            }
            None => Ok(()),
        }
    }

    fn write_schemata(&self, path: &Path, text: &str) -> io::Result<()> {
        let (resource, ways) = {
            let state = self.0.state.lock().unwrap();
            (state.resource, state.ways)
        };
        let legal = |mask: &WayMask| mask.longest_run() == (mask.bits().trailing_zeros(), mask.count());
        let inside = |mask: &WayMask| *mask & WayMask::all(ways) == *mask && !mask.is_empty();
        match parse_schemata(text, resource) {
            Some(masks) if masks.len() == 2 && masks.values().all(|mask| legal(mask) && inside(mask)) => {
                OsFiles.write(path, text)
            }
            _ => Err(io::Error::from_raw_os_error(EINVAL)),
        }
    }

    fn write_task(&self, path: &Path, thread: &str) -> io::Result<()> {
        let _moving = self.0.moving.lock().unwrap();
        for group in self.groups().into_iter().chain([String::new()]) {
            let folder = self.root().join(group);
            let mut left = tasks(&folder);
            left.retain(|task| task != thread);
            fs::write(folder.join("tasks"), left.join("\n"))?;
        }
        let mut here = tasks(path.parent().unwrap());
        here.push(thread.to_owned());
        OsFiles.write(path, &here.join("\n"))
    }
}

fn tasks(group: &Path) -> Vec<String> {
    fs::read_to_string(group.join("tasks")).unwrap_or_default().lines().map(str::to_owned).collect()
}

impl SystemFiles for Imitation {
    fn read(&self, path: &Path) -> io::Result<String> {
        self.fault(Call::Read, path)?;
        OsFiles.read(path)
    }

    fn write(&self, path: &Path, text: &str) -> io::Result<()> {
        if path.ends_with("tasks") {
            let group = path.parent().unwrap().strip_prefix(self.root()).unwrap();
            let entry = (group.to_string_lossy().into_owned(), text.trim().to_owned());
            self.0.state.lock().unwrap().moves.push(entry);
        }
        self.fault(Call::Write, path)?;
        match path.file_name().unwrap().to_str().unwrap() {
            "schemata" => self.write_schemata(path, text),
            "tasks" if path.exists() => self.write_task(path, text.trim()),
            _ => Err(io::Error::from_raw_os_error(ENOENT)),
        }
    }

    fn create_folder(&self, path: &Path) -> io::Result<()> {
        self.fault(Call::Create, path)?;
        let resource = self.0.state.lock().unwrap().resource;
        let classes = OsFiles.read(&self.root().join("info").join(resource).join("num_closids"))?;
        if self.groups().len() as u32 + 1 >= classes.trim().parse().unwrap() {
            return Err(io::Error::from_raw_os_error(ENOSPC));
        }
        OsFiles.create_folder(path)?;
        let ways = self.0.state.lock().unwrap().ways;
        self.populate(path, &format!("{:x}", WayMask::all(ways)));
        Ok(())
    }

    fn remove_folder(&self, path: &Path) -> io::Result<()> {
        self.fault(Call::Remove, path)?;
        for task in tasks(path) {
            self.write_task(&self.root().join("tasks"), &task)?;
        }
        // A thread that moves rewrites the tasks of all groups.
        let _moving = self.0.moving.lock().unwrap();
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
}
