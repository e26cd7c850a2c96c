//! Pipes, terminals and devices.

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::{Mutex, MutexGuard};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;
use rustix::io::Errno;

use crate::check_interrupt;

/// Time after which a wait asks whether the statement should stop.
const CHECK_PAUSE: Timespec = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };

/// A stream being read, by only one reader in this process. Waiting for its writer ends when the statement has to stop.
pub(super) struct Stream {
    file: File,
    _claim: Claim,
}

impl Stream {
    pub(super) fn open(path: &Path, identity: (u64, u64)) -> io::Result<Self> {
        let claim = Claim::of(identity)?;
        // A pipe with a name is opened before it has a writer.
        let flags = OFlags::NONBLOCK.bits() as i32;
        let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
        Ok(Self { file, _claim: claim })
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            // Without the wait, a pipe that has no writer yet would be at its end.
            match poll(&mut [PollFd::new(&self.file, PollFlags::IN)], Some(&CHECK_PAUSE)) {
                Ok(0) | Err(Errno::INTR) => {}
                Ok(_) => match self.file.read(buffer) {
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                    read => return read,
                },
                Err(error) => return Err(error.into()),
            }
            check_interrupt()?;
        }
    }
}

/// The right to read a stream.
struct Claim((u64, u64));

impl Claim {
    fn of(identity: (u64, u64)) -> io::Result<Self> {
        if Self::all().insert(identity) { Ok(Self(identity)) } else { Err(io::ErrorKind::ResourceBusy.into()) }
    }

    fn all() -> MutexGuard<'static, BTreeSet<(u64, u64)>> {
        static CLAIMED: Mutex<BTreeSet<(u64, u64)>> = Mutex::new(BTreeSet::new());
        CLAIMED.lock().expect("no thread panics while it holds the lock")
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        Self::all().remove(&self.0);
    }
}
