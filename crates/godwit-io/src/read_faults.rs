//! Reads of a user's files that fail on demand, for tests.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard};

use rustix::io::Errno;

/// What goes wrong at a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadFault {
    /// It fails as on a broken disk.
    Broken,
    /// The file ends before the read does.
    Short,
    /// All bytes are other ones.
    Garbage,
}

/// Plans faults and counts reads. Clones share both.
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

    /// Forgets the faults that are planned.
    pub fn forget(&self) {
        self.planned().faults.clear();
    }

    /// Reads so far.
    pub fn reads(&self) -> u64 {
        self.planned().reads
    }

    /// A read by `read`, with the fault that is planned for it.
    pub fn read(&self, buffer: &mut [u8], read: impl FnOnce(&mut [u8]) -> io::Result<()>) -> io::Result<()> {
        match self.next_fault() {
            Some(ReadFault::Broken) => Err(Errno::IO.into()),
            Some(ReadFault::Short) => Err(io::ErrorKind::UnexpectedEof.into()),
            Some(ReadFault::Garbage) => {
                read(buffer)?;
                buffer.iter_mut().for_each(|byte| *byte ^= 0xA5);
                Ok(())
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
