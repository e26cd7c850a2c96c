//! Requests by io_uring: one system call submits as many as may be in flight and waits for the first to complete.

use std::io;
use std::os::fd::AsRawFd;
use std::thread;
use std::time::Duration;

use io_uring::{IoUring, opcode, squeue, types};
use rustix::io::Errno;

use crate::{ALIGNMENT_BYTES, Request, RequestQueue, Transfer};

/// Pause when the kernel couldn't accept a request just now.
const RETRY_PAUSE: Duration = Duration::from_millis(1);

/// One thread's ring.
pub(crate) struct UringQueue {
    ring: IoUring,
    depth: usize,
}

impl UringQueue {
    pub(crate) fn new(depth: u32) -> io::Result<Self> {
        let ring = IoUring::new(depth)?;
        Ok(Self { depth: ring.params().sq_entries() as usize, ring })
    }

    /// Puts a request into the ring, if its file has a descriptor and the ring has room.
    fn push(&mut self, place: usize, request: &mut Request<'_>) -> bool {
        let Some(entry) = entry_of(request) else { return false };
        // SAFETY: the buffer is borrowed by the request, and `run` doesn't return before the kernel is done with it.
        unsafe { self.ring.submission().push(&entry.user_data(place as u64)).is_ok() }
    }

    /// Waits for a completion. Returning from `run` with requests in flight would leave the kernel with buffers that
    /// are no longer ours, so errors, all of which are temporary (no memory, a signal, a full ring), only cost time.
    fn submit_and_wait(&mut self) {
        if self.ring.submit_and_wait(1).is_err() {
            thread::sleep(RETRY_PAUSE);
        }
    }
}

fn entry_of(request: &mut Request<'_>) -> Option<squeue::Entry> {
    let descriptor = types::Fd(request.file.descriptor()?.as_raw_fd());
    Some(match &mut request.transfer {
        Transfer::Read(buffer) => opcode::Read::new(descriptor, buffer.as_mut_ptr(), u32::try_from(buffer.len()).ok()?)
            .offset(request.offset)
            .build(),
        Transfer::Write(buffer) => opcode::Write::new(descriptor, buffer.as_ptr(), u32::try_from(buffer.len()).ok()?)
            .offset(request.offset)
            .build(),
    })
}

/// Applies a completion to its request: an error, or the number of bytes transferred. The rest is requested by ordinary
/// calls, which also tell a full disk and the end of the file from a short transfer.
fn settle(request: &mut Request<'_>, result: i32) {
    let bytes = match &request.transfer {
        Transfer::Read(buffer) => buffer.len(),
        Transfer::Write(buffer) => buffer.len(),
    };
    match usize::try_from(result) {
        Ok(done) if done == bytes => request.result = Ok(()),
        Ok(done) => request.finish_from(done / ALIGNMENT_BYTES * ALIGNMENT_BYTES),
        Err(_) if [Errno::INTR, Errno::AGAIN].contains(&Errno::from_raw_os_error(-result)) => request.finish_from(0),
        Err(_) => request.result = Err(io::Error::from_raw_os_error(-result)),
    }
}

impl RequestQueue for UringQueue {
    fn run(&mut self, requests: &mut [Request<'_>]) {
        let (mut next, mut in_flight) = (0, 0);
        while next < requests.len() || in_flight > 0 {
            while next < requests.len() && in_flight < self.depth {
                if self.push(next, &mut requests[next]) {
                    in_flight += 1;
                } else {
                    requests[next].finish_from(0);
                }
                next += 1;
            }
            if in_flight == 0 {
                continue;
            }
            self.submit_and_wait();
            for completion in self.ring.completion() {
                settle(&mut requests[completion.user_data() as usize], completion.result());
                in_flight -= 1;
            }
        }
    }
}
