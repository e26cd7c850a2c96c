//! Files in memory that fail on demand: the disk's twin for tests.

use std::collections::VecDeque;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard};

use rustix::io::Errno;

use crate::{File, TemporaryFiles, assert_aligned};

/// A fault of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The write fails as on a full disk.
    DiskFull,
    /// The read or write fails as on a broken disk.
    Broken,
    /// Half of the bytes are written, then the disk is full.
    ShortWrite,
    /// The read succeeds, but one bit is wrong.
    BitFlip,
}

/// Creates files in memory. Clones share planned faults and counted calls.
#[derive(Debug, Clone, Default)]
pub struct SimulatedFiles(Arc<Mutex<World>>);

#[derive(Debug, Default)]
struct World {
    reads: u64,
    writes: u64,
    open_files: usize,
    stored_bytes: u64,
    /// Size of the disk; `None`: unlimited.
    disk_bytes: Option<u64>,
    read_faults: VecDeque<(u64, Fault)>,
    write_faults: VecDeque<(u64, Fault)>,
}

impl SimulatedFiles {
    /// Creates a disk without faults.
    pub fn new() -> Self {
        Self::default()
    }

    /// Plans a fault at the `call`-th read from now, counted from 1.
    pub fn fail_read(&self, call: u64, fault: Fault) {
        let mut world = self.world();
        let at = world.reads + call;
        world.read_faults.push_back((at, fault));
    }

    /// Plans a fault at the `call`-th write from now, counted from 1.
    pub fn fail_write(&self, call: u64, fault: Fault) {
        let mut world = self.world();
        let at = world.writes + call;
        world.write_faults.push_back((at, fault));
    }

    /// Sets the size of the disk. Only `available_bytes` reflects it; writes don't fail because of it.
    pub fn set_disk_bytes(&self, bytes: u64) {
        self.world().disk_bytes = Some(bytes);
    }

    /// Cancels all planned faults.
    pub fn forget_faults(&self) {
        let mut world = self.world();
        world.read_faults.clear();
        world.write_faults.clear();
    }

    /// Number of reads requested so far.
    pub fn reads(&self) -> u64 {
        self.world().reads
    }

    /// Number of writes requested so far.
    pub fn writes(&self) -> u64 {
        self.world().writes
    }

    /// Number of files that haven't been dropped.
    pub fn open_files(&self) -> usize {
        self.world().open_files
    }

    /// Total length of the open files.
    pub fn stored_bytes(&self) -> u64 {
        self.world().stored_bytes
    }

    fn world(&self) -> MutexGuard<'_, World> {
        self.0.lock().expect("a test panicked with the world locked")
    }
}

impl TemporaryFiles for SimulatedFiles {
    fn create(&self, _directory: &Path) -> io::Result<Box<dyn File>> {
        self.world().open_files += 1;
        Ok(Box::new(SimulatedFile { files: self.clone(), content: Mutex::default() }))
    }

    fn available_bytes(&self, _directory: &Path) -> io::Result<u64> {
        let world = self.world();
        Ok(world.disk_bytes.map_or(u64::MAX, |bytes| bytes.saturating_sub(world.stored_bytes)))
    }
}

struct SimulatedFile {
    files: SimulatedFiles,
    content: Mutex<Vec<u8>>,
}

impl SimulatedFile {
    fn content(&self) -> MutexGuard<'_, Vec<u8>> {
        self.content.lock().expect("a test panicked with a file locked")
    }

    fn resize(&self, content: &mut Vec<u8>, bytes: usize) {
        let mut world = self.files.world();
        world.stored_bytes = world.stored_bytes - content.len() as u64 + bytes as u64;
        content.resize(bytes, 0);
    }

    fn store(&self, buffer: &[u8], offset: usize) {
        let mut content = self.content();
        let end = offset + buffer.len();
        if content.len() < end {
            self.resize(&mut content, end);
        }
        content[offset..end].copy_from_slice(buffer);
    }
}

/// Takes the fault planned for this call, if there is one.
fn take(faults: &mut VecDeque<(u64, Fault)>, call: u64) -> Option<Fault> {
    let found = faults.iter().position(|&(at, _)| at == call)?;
    faults.remove(found).map(|(_, fault)| fault)
}

impl File for SimulatedFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        assert_aligned(buffer.as_ptr(), buffer.len(), offset);
        let fault = {
            let mut world = self.files.world();
            world.reads += 1;
            let call = world.reads;
            take(&mut world.read_faults, call)
        };
        if fault == Some(Fault::Broken) {
            return Err(Errno::IO.into());
        }
        let content = self.content();
        let offset = offset as usize;
        let stored = content.get(offset..offset + buffer.len()).ok_or(io::ErrorKind::UnexpectedEof)?;
        buffer.copy_from_slice(stored);
        if fault == Some(Fault::BitFlip) {
            buffer[buffer.len() / 2] ^= 1;
        }
        Ok(())
    }

    fn write_at(&self, buffer: &[u8], offset: u64) -> io::Result<()> {
        assert_aligned(buffer.as_ptr(), buffer.len(), offset);
        let fault = {
            let mut world = self.files.world();
            world.writes += 1;
            let call = world.writes;
            take(&mut world.write_faults, call)
        };
        match fault {
            Some(Fault::Broken) => return Err(Errno::IO.into()),
            Some(Fault::DiskFull) => return Err(Errno::NOSPC.into()),
            Some(Fault::ShortWrite) => {
                self.store(&buffer[..buffer.len() / 2], offset as usize);
                return Err(Errno::NOSPC.into());
            }
            Some(Fault::BitFlip) | None => self.store(buffer, offset as usize),
        }
        Ok(())
    }

    fn truncate(&self, bytes: u64) -> io::Result<()> {
        self.resize(&mut self.content(), bytes as usize);
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for SimulatedFile {
    fn drop(&mut self) {
        let bytes = self.content().len() as u64;
        let mut world = self.files.world();
        world.open_files -= 1;
        world.stored_bytes -= bytes;
    }
}
