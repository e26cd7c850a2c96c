//! Compares ways to read a file that the page cache doesn't have.
//!
//! ```sh
//! reads FILE 1024 1      all of it, in requests of 1,024 KiB
//! reads FILE 128 4       every fourth piece of 128 KiB, as a scan of a few columns does
//! ```
//!
//! Two workers read half of the pieces each, five times in each way, in turns. Writes one line per way: MB/s and seconds
//! of processor time per GB, medians. *advice* is what scans of users' files do.

use std::fs::File as StdFile;
use std::io;
use std::num::NonZeroU64;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use godwit_io::{ALIGNMENT_BYTES, File, IoMethod, Request, open_queue};
use rustix::fs::{Advice, fadvise};

const WORKERS: usize = 2;
const RUNS: usize = 5;
/// Requests of a worker in flight, or announced.
const DEPTH: usize = 16;

/// How pieces are read.
#[derive(Clone, Copy)]
enum Way {
    /// One after the other; with advice about the next ones, or without.
    InTurn { advice: bool },
    /// By this many threads for each worker.
    Threads(usize),
    /// By io_uring, through the page cache or around it.
    Uring { direct: bool },
}

const WAYS: [(&str, Way); 6] = [
    ("in turn", Way::InTurn { advice: false }),
    ("advice", Way::InTurn { advice: true }),
    ("4 threads each", Way::Threads(4)),
    ("16 threads each", Way::Threads(16)),
    ("io_uring", Way::Uring { direct: false }),
    ("io_uring, direct", Way::Uring { direct: true }),
];

/// A file that io_uring can read.
struct Plain(StdFile);

impl File for Plain {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.0.read_exact_at(buffer, offset)
    }

    fn write_at(&self, _buffer: &[u8], _offset: u64) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn truncate(&self, _bytes: u64) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        Some(self.0.as_fd())
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [path, kib, every] = &arguments[..] else {
        eprintln!("usage: reads FILE KIB EVERY");
        return ExitCode::FAILURE;
    };
    match (kib.parse(), every.parse()) {
        (Ok(kib @ 4..), Ok(every @ 1..)) => match compare(Path::new(path), kib, every) {
            Ok(()) => return ExitCode::SUCCESS,
            Err(error) => eprintln!("{path}: {error}"),
        },
        _ => eprintln!("KIB and EVERY are numbers, at least 4 and 1"),
    }
    ExitCode::FAILURE
}

fn compare(path: &Path, kib: usize, every: usize) -> io::Result<()> {
    let bytes = (kib << 10).next_multiple_of(ALIGNMENT_BYTES);
    let pieces = StdFile::open(path)?.metadata()?.len() / bytes as u64;
    let starts: Vec<u64> = (0..pieces).step_by(every).map(|piece| piece * bytes as u64).collect();
    let mut times = vec![Vec::new(); WAYS.len()];
    for _ in 0..RUNS {
        for ((_, way), times) in WAYS.iter().zip(&mut times) {
            times.push(measure(path, &starts, bytes, *way)?);
        }
    }
    let total = (starts.len() * bytes) as f64;
    for ((name, _), times) in WAYS.iter().zip(&times) {
        let elapsed = median(times.iter().map(|(elapsed, _)| *elapsed));
        let processor = median(times.iter().map(|(_, processor)| *processor));
        println!(
            "{name}: {:.0} MB/s, {:.2} s of processor time per GB",
            total / elapsed / 1e6,
            processor / total * 1e9
        );
    }
    Ok(())
}

fn median(times: impl Iterator<Item = Duration>) -> f64 {
    let mut times: Vec<Duration> = times.collect();
    times.sort_unstable();
    times[times.len() / 2].as_secs_f64()
}

/// Reads all pieces; returns the time that passed, and that of the processor.
fn measure(path: &Path, starts: &[u64], bytes: usize, way: Way) -> io::Result<(Duration, Duration)> {
    let mut file = StdFile::open(path)?;
    fadvise(&file, 0, None, Advice::DontNeed)?;
    if let Way::Uring { direct: true } = way {
        let flags = rustix::fs::OFlags::DIRECT.bits() as i32;
        file = StdFile::options().read(true).custom_flags(flags).open(path)?;
    }
    let file = Plain(file);
    let (begin, before) = (Instant::now(), processor_time());
    thread::scope(|scope| {
        let halves = starts.chunks(starts.len().div_ceil(WORKERS).max(1));
        let workers: Vec<_> = halves.map(|half| scope.spawn(|| read_all(&file, half, bytes, way))).collect();
        workers.into_iter().try_for_each(|worker| worker.join().expect("workers don't panic"))
    })?;
    Ok((begin.elapsed(), processor_time() - before))
}

/// Reads a worker's pieces.
fn read_all(file: &Plain, starts: &[u64], bytes: usize, way: Way) -> io::Result<()> {
    match way {
        Way::InTurn { advice } => in_turn(file, starts, bytes, if advice { DEPTH } else { 0 }),
        Way::Threads(count) => {
            let next = AtomicUsize::new(0);
            let read = || {
                let mut buffer = vec![0; bytes];
                while let Some(&start) = starts.get(next.fetch_add(1, Ordering::Relaxed)) {
                    file.read_at(&mut buffer, start)?;
                }
                Ok(())
            };
            thread::scope(|scope| {
                let threads: Vec<_> = (0..count).map(|_| scope.spawn(read)).collect();
                threads.into_iter().try_for_each(|thread| thread.join().expect("threads don't panic"))
            })
        }
        Way::Uring { .. } => by_uring(file, starts, bytes),
    }
}

/// Reads the pieces in turn; advises the system about the next `ahead` ones.
fn in_turn(file: &Plain, starts: &[u64], bytes: usize, ahead: usize) -> io::Result<()> {
    let announce = |start: &u64| fadvise(&file.0, *start, NonZeroU64::new(bytes as u64), Advice::WillNeed);
    starts.iter().take(ahead).try_for_each(announce)?;
    let mut buffer = vec![0; bytes];
    for (at, &start) in starts.iter().enumerate() {
        if ahead > 0 {
            starts.get(at + ahead).map_or(Ok(()), announce)?;
        }
        file.read_at(&mut buffer, start)?;
    }
    Ok(())
}

fn by_uring(file: &Plain, starts: &[u64], bytes: usize) -> io::Result<()> {
    let (mut queue, _) = open_queue(IoMethod::Uring, DEPTH as u32)?;
    let mut memory = vec![0; DEPTH * bytes + ALIGNMENT_BYTES];
    let first = memory.as_ptr().align_offset(ALIGNMENT_BYTES);
    for batch in starts.chunks(DEPTH) {
        let buffers = memory[first..].chunks_exact_mut(bytes);
        let mut requests: Vec<Request<'_>> =
            batch.iter().zip(buffers).map(|(&start, buffer)| Request::read(file, start, buffer)).collect();
        queue.run(&mut requests);
        requests.into_iter().try_for_each(|request| request.result)?;
    }
    Ok(())
}

/// Time that this process has spent on processors, in the kernel, too; not that of the kernel's own threads.
fn processor_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}
