//! Reads of a user's files that fail on demand, for tests.

use std::collections::VecDeque;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use rustix::io::Errno;

use crate::{DiskSystem, FileMetadata, Files, Input, InputFile, NewFile};

/// A fault of a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadFault {
    /// It fails as on a broken disk.
    Broken,
    /// The file ends in the middle of the read.
    Short,
    /// All bytes are wrong.
    Garbage,
}

/// Real files, some reads of which fail as planned. Reads are counted; clones share the plan and the count.
#[derive(Debug, Clone, Default)]
pub struct ReadFaults(Arc<Mutex<Planned>>);

#[derive(Debug, Default)]
struct Planned {
    reads: u64,
    faults: VecDeque<(u64, ReadFault)>,
}

impl ReadFaults {
    /// Plans a fault at the `call`-th read from now, counted from 1.
    pub fn fail(&self, call: u64, fault: ReadFault) {
        let mut planned = self.planned();
        let at = planned.reads + call;
        planned.faults.push_back((at, fault));
    }

    /// Cancels all planned faults.
    pub fn forget(&self) {
        self.planned().faults.clear();
    }

    /// Number of reads so far.
    pub fn reads(&self) -> u64 {
        self.planned().reads
    }

    /// Runs a read, with the fault that is planned for it.
    fn read(&self, buffer: &mut [u8], read: impl FnOnce(&mut [u8]) -> io::Result<usize>) -> io::Result<usize> {
        match self.next_fault() {
            Some(ReadFault::Broken) => Err(Errno::IO.into()),
            Some(ReadFault::Short) => Ok(0),
            Some(ReadFault::Garbage) => {
                let bytes = read(buffer)?;
                buffer.iter_mut().for_each(|byte| *byte ^= 0xA5);
                Ok(bytes)
            }
            None => read(buffer),
        }
    }

    fn next_fault(&self) -> Option<ReadFault> {
        let mut planned = self.planned();
        planned.reads += 1;
        let reads = planned.reads;
        let found = planned.faults.iter().position(|&(at, _)| at == reads)?;
        planned.faults.remove(found).map(|(_, fault)| fault)
    }

    fn planned(&self) -> MutexGuard<'_, Planned> {
        self.0.lock().expect("a test panicked with the faults locked")
    }
}

impl Files for ReadFaults {
    fn metadata(&self, path: &Path) -> io::Result<FileMetadata> {
        DiskSystem.metadata(path)
    }

    fn entries(&self, folder: &Path) -> io::Result<Vec<PathBuf>> {
        DiskSystem.entries(folder)
    }

    fn open(&self, path: &Path) -> io::Result<Input> {
        let faults = self.clone();
        Ok(match DiskSystem.open(path)? {
            Input::File(file) => Input::File(Arc::new(FaultyFile { file, faults })),
            Input::Stream(stream) => Input::Stream(Box::new(FaultyStream { stream, faults })),
        })
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn NewFile>> {
        DiskSystem.create(path)
    }

    fn create_folder(&self, path: &Path) -> io::Result<()> {
        DiskSystem.create_folder(path)
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        DiskSystem.remove_file(path)
    }

    fn is_link(&self, path: &Path) -> bool {
        DiskSystem.is_link(path)
    }
}

#[derive(Debug)]
struct FaultyFile {
    file: Arc<dyn InputFile>,
    faults: ReadFaults,
}

impl InputFile for FaultyFile {
    fn bytes(&self) -> u64 {
        self.file.bytes()
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.faults.read(buffer, |buffer| self.file.read_at(buffer, offset))
    }
}

struct FaultyStream {
    stream: Box<dyn Read + Send>,
    faults: ReadFaults,
}

impl Read for FaultyStream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Self { stream, faults } = self;
        faults.read(buffer, |buffer| stream.read(buffer))
    }
}
