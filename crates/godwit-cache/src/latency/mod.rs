//! Pointer chasing: measures the cost of following a link to another cache line, by the size of the working set, alone
//! and alongside threads that fill the shared cache. Shows the effect of pollution on the machine at hand, and what
//! partitioning saves.
//!
//! ```text
//!  links, a line each:  ┌─┐ ┌─┐ ┌─┐ ┌─┐ ┌─┐      one cycle through all of them, in order or at random: each address
//!                       │4│ │3│ │0│ │1│ │2│      depends on the line before, so nothing overlaps
//!                       └─┘ └─┘ └─┘ └─┘ └─┘
//! ```
//!
//! After the thesis's section 2.1.3. Unlike there, pages have the system's ordinary size unless it chooses huge ones
//! itself, so large sizes include TLB misses.

mod chain;

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::{CacheClass, CachePartitioning, CacheSizes, Status};
use chain::{Chain, Order};

/// The smallest working set; fits the first level of any processor.
const SMALLEST_BYTES: u64 = 16 << 10;
/// Working sets, and the memory that polluters read, go up to this many times the last-level cache, if memory allows.
const CACHES_MAX: u64 = 4;
/// Maximum number of polluters; the thesis has four.
const POLLUTERS_MAX: usize = 4;
/// Number of samples, of which the median counts.
const SAMPLES: u32 = 5;
/// Minimum duration of a sample. If the budget is too small for that, the measurement takes longer than the budget.
const SAMPLE_MIN: Duration = Duration::from_millis(1);
/// Links between two checks of the clock or the flag: about 10 µs.
const LINKS_PER_LOOK: u32 = 4096;

/// What to measure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Sizes of the working set, in bytes.
    pub sizes: Vec<u64>,
    /// Size of the memory that the polluters read; all of them read the same.
    pub polluter_bytes: u64,
    /// Number of polluting threads; with none, the working set is only measured alone.
    pub polluters: usize,
    /// How long everything takes, plus a little more to build the last chain.
    pub budget: Duration,
}

impl Plan {
    /// Enough memory for good measurements on a machine with 32 MiB of cache.
    pub const MEMORY_DEFAULT: u64 = 512 << 20;
    /// Enough time for stable medians.
    pub const BUDGET_DEFAULT: Duration = Duration::from_secs(20);

    /// Sizes from 16 KiB to four times the last-level cache in powers of two, alongside up to four threads, in at most
    /// `memory_max` bytes. Below eight times the cache, polluters don't fill it, and sizes end early.
    pub fn for_caches(caches: &CacheSizes, memory_max: u64, budget: Duration) -> Self {
        let most = (CACHES_MAX * caches.last_level_bytes).min(memory_max / 2).max(SMALLEST_BYTES);
        let sizes = std::iter::successors(Some(SMALLEST_BYTES), |size| size.checked_mul(2));
        let others = thread::available_parallelism().map_or(1, usize::from) - 1;
        Self {
            sizes: sizes.take_while(|&size| size <= most).collect(),
            polluter_bytes: most,
            polluters: others.min(POLLUTERS_MAX),
            budget,
        }
    }

    /// The most that [`measure`] allocates: the largest working set, and the polluters' memory.
    pub fn memory_bytes(&self) -> u64 {
        self.sizes.iter().copied().max().unwrap_or(0) + if self.polluters > 0 { self.polluter_bytes } else { 0 }
    }
}

/// The measurements, by size.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// In the order of the plan.
    pub points: Vec<Point>,
    /// Number of polluting threads.
    pub polluters: usize,
    /// How long it took.
    pub took: Duration,
}

/// Median times to follow a link, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Point {
    /// Size of the working set.
    pub bytes: u64,
    /// In order: prefetched.
    pub sequential_ns: f64,
    /// At random.
    pub random_ns: f64,
    /// At random, alongside polluters; `None` if there was no core for them.
    pub polluted_ns: Option<f64>,
    /// At random, alongside polluters confined to the ways of [`CacheClass::Polluting`]; `None` if the cache can't be
    /// partitioned.
    pub confined_ns: Option<f64>,
}

/// Measures according to a plan. Takes the plan's time and memory; nothing accounts for the memory, so reserve it
/// first.
///
/// Errors: if memory or threads aren't available.
pub fn measure(plan: &Plan, partitioning: &Arc<CachePartitioning>) -> io::Result<Report> {
    let started = Instant::now();
    let mut companies = vec![(Order::Sequential, Company::None), (Order::Random, Company::None)];
    if plan.polluters > 0 {
        companies.push((Order::Random, Company::Free));
        if matches!(partitioning.status(), Status::On { .. }) {
            companies.push((Order::Random, Company::Confined));
        }
    }
    let mut points: Vec<Point> = plan.sizes.iter().map(|&bytes| Point { bytes, ..Point::default() }).collect();
    let share = plan.budget / companies.len() as u32;
    for (index, (order, company)) in companies.into_iter().enumerate() {
        let deadline = started + share * (index as u32 + 1);
        let times = with_polluters(plan, company, partitioning, || series(&plan.sizes, order, deadline))??;
        for (point, time) in points.iter_mut().zip(times) {
            match (order, company) {
                (Order::Sequential, _) => point.sequential_ns = time,
                (Order::Random, Company::None) => point.random_ns = time,
                (Order::Random, Company::Free) => point.polluted_ns = Some(time),
                (Order::Random, Company::Confined) => point.confined_ns = Some(time),
            }
        }
    }
    Ok(Report { points, polluters: plan.polluters, took: started.elapsed() })
}

/// What runs alongside a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Company {
    None,
    Free,
    Confined,
}

/// Runs `work` alongside the polluters of a company.
fn with_polluters<T>(
    plan: &Plan,
    company: Company,
    partitioning: &Arc<CachePartitioning>,
    work: impl FnOnce() -> T,
) -> io::Result<T> {
    if company == Company::None {
        return Ok(work());
    }
    let chain = Chain::new(plan.polluter_bytes, Order::Sequential)?;
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        // Also needed if a thread can't be started, or the work panics: the scope waits for the others.
        let _stopper = Stopper(&stop);
        for index in 0..plan.polluters {
            let (chain, stop) = (&chain, &stop);
            // Each begins somewhere else, so that none hits lines that another has just loaded.
            let start = chain.len() / plan.polluters as u32 * index as u32;
            let pollute = move || {
                let mut place = partitioning.thread();
                if company == Company::Confined {
                    place.enter(CacheClass::Polluting);
                }
                let mut at = start;
                while !stop.load(Ordering::Relaxed) {
                    at = chain.follow(at, LINKS_PER_LOOK);
                }
            };
            thread::Builder::new().name("godwit-polluter".into()).spawn_scoped(scope, pollute)?;
        }
        Ok(work())
    })
}

/// Sets a flag when dropped.
struct Stopper<'a>(&'a AtomicBool);

impl Drop for Stopper<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Median times per link by size. Each size gets an equal part of the remaining time.
fn series(sizes: &[u64], order: Order, deadline: Instant) -> io::Result<Vec<f64>> {
    let mut times = Vec::with_capacity(sizes.len());
    for (index, &bytes) in sizes.iter().enumerate() {
        let now = Instant::now();
        let left = deadline.saturating_duration_since(now) / (sizes.len() - index) as u32;
        let chain = Chain::new(bytes, order)?;
        // One extra sample, to warm up.
        let sample = (now + left).saturating_duration_since(Instant::now()) / (SAMPLES + 1);
        times.push(median_ns_per_link(&chain, sample.max(SAMPLE_MIN)));
    }
    Ok(times)
}

fn median_ns_per_link(chain: &Chain, sample: Duration) -> f64 {
    let mut at = 0;
    let mut times: Vec<f64> = (0..=SAMPLES)
        .map(|_| {
            let (started, mut links) = (Instant::now(), 0u64);
            loop {
                at = chain.follow(at, LINKS_PER_LOOK);
                links += u64::from(LINKS_PER_LOOK);
                let took = started.elapsed();
                if took >= sample {
                    return took.as_nanos() as f64 / links as f64;
                }
            }
        })
        .skip(1)
        .collect();
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

#[cfg(test)]
mod tests;
