//! `godwit bench`: measures this machine.

use std::fmt::Write;
use std::process::ExitCode;
use std::time::Duration;

use godwit::{Error, Result, format_bytes};
use godwit_cache::latency::{Plan, Point, Report, measure};
use godwit_cache::{CachePartitioning, CacheSizes, Origin};

use crate::arguments::{Bench, BenchCache};
use crate::shell::print_line;

pub fn run(bench: &Bench) -> Result<ExitCode> {
    match bench {
        Bench::Cache(cache) => bench_cache(cache),
    }
}

/// Measures pointer chasing, alone and beside threads that pollute the last-level cache.
fn bench_cache(arguments: &BenchCache) -> Result<ExitCode> {
    let caches = CacheSizes::of_this_machine();
    let plan = Plan::for_caches(&caches, arguments.memory, Duration::from_secs_f64(arguments.seconds));
    let partitioning = CachePartitioning::of_process();
    print_line(&describe(&caches))?;
    print_line(&format!("Cache partitioning is {}", partitioning.status()))?;
    let (seconds, bytes) = (plan.budget.as_secs_f64(), format_bytes(plan.memory_bytes()));
    print_line(&format!("Takes {seconds:.0} s and {bytes} of memory\n"))?;
    let report = measure(&plan, &partitioning).map_err(|error| Error::io("measuring the cache", &error))?;
    print_line(render(&report, &caches).trim_end())?;
    Ok(ExitCode::SUCCESS)
}

fn describe(caches: &CacheSizes) -> String {
    let CacheSizes { last_level_bytes, ways, core_bytes, origin, .. } = caches;
    let assumed = match origin {
        Origin::System => "",
        Origin::Assumed => " (assumed: the system doesn't tell)",
    };
    let (last_level, core) = (format_bytes(*last_level_bytes), format_bytes(*core_bytes));
    format!("Last-level cache of {last_level} in {ways} ways, {core} below it{assumed}")
}

/// Renders the measurements as a table, with conclusions.
fn render(report: &Report, caches: &CacheSizes) -> String {
    let columns = ["working set", "in order", "at random", "polluted", "confined"];
    let mut text = "Time to follow a link to another line of a working set, in ns\n".to_owned();
    _ = writeln!(text, "{:>12}{:>12}{:>12}{:>12}{:>12}", columns[0], columns[1], columns[2], columns[3], columns[4]);
    for point in &report.points {
        let time = |time: Option<f64>| time.map_or("-".to_owned(), |time| format!("{time:.2}"));
        let times = [Some(point.sequential_ns), Some(point.random_ns), point.polluted_ns, point.confined_ns].map(time);
        let [sequential, random, polluted, confined] = times;
        let size = format_bytes(point.bytes);
        _ = writeln!(text, "{size:>12}{sequential:>12}{random:>12}{polluted:>12}{confined:>12}");
    }
    text += "\nPolluted: at random, beside ";
    text += &match report.polluters {
        0 => "nobody: there is no core for threads that read memory in order\n".to_owned(),
        1 => "a thread that reads memory in order\n".to_owned(),
        threads => format!("{threads} threads that read memory in order\n"),
    };
    text += "Confined: the same, with them in the part of the cache that scans get\n";
    let held = report.points.iter().filter(|point| point.bytes <= caches.last_level_bytes);
    let slowdown = |point: &Point| Some((point.polluted_ns? / point.random_ns, point.bytes));
    if let Some((times, bytes)) = held.filter_map(slowdown).max_by(|a, b| a.0.total_cmp(&b.0)) {
        let size = format_bytes(bytes);
        _ = writeln!(
            text,
            "Of sets that the cache could hold, pollution costs most at {size}: {times:.1} times as long"
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_reads_well() {
        let point = |kib: u64, random_ns, polluted_ns, confined_ns| Point {
            bytes: kib << 10,
            sequential_ns: 1.0,
            random_ns,
            polluted_ns,
            confined_ns,
        };
        let caches = CacheSizes { last_level_bytes: 32 << 20, ..CacheSizes::ASSUMED };
        let points = vec![
            point(16, 1.5, Some(1.5), None),
            point(16 << 10, 20.0, Some(80.0), Some(25.0)),
            // Larger than the cache, so other threads aren't to blame.
            point(64 << 10, 10.0, Some(90.0), None),
        ];
        let text = render(&Report { points, polluters: 3, took: Duration::ZERO }, &caches);
        assert!(text.contains("    16.0 KiB        1.00        1.50        1.50           -\n"), "{text}");
        assert!(text.contains("    16.0 MiB        1.00       20.00       80.00       25.00\n"), "{text}");
        assert!(text.contains("beside 3 threads") && text.ends_with("at 16.0 MiB: 4.0 times as long\n"), "{text}");
        let alone = Report { points: vec![point(16, 1.5, None, None)], polluters: 0, took: Duration::ZERO };
        assert!(!render(&alone, &caches).contains("costs most"));
        assert!(describe(&CacheSizes::ASSUMED).ends_with("(assumed: the system doesn't tell)"));
    }
}
