//! The corpus in its worlds. Each world proves that the behavior it tests occurred.

mod support;

use godwit::{Config, DebugOptions, minimum_memory_limit};
use support::run_corpus;
use support::stored::run_stored;

/// Enough that workers get in each other's way, on any machine.
const THREADS: usize = 4;

fn config() -> Config {
    Config { threads: Some(THREADS), ..Config::default() }
}

fn chunks_of(rows: usize) -> Config {
    Config { debug: DebugOptions { chunk_rows: Some(rows), ..DebugOptions::default() }, ..config() }
}

#[test]
fn default() {
    let evidence = run_corpus("default", &config());
    assert_eq!(evidence.other_threads, 0);
    assert_eq!(evidence.batch_rows_max, 2048);
}

/// Every page is written to disk as soon as it is no longer in use.
#[test]
fn forced_spill() {
    let debug = DebugOptions { force_spill: true, ..DebugOptions::default() };
    let evidence = run_corpus("forced_spill", &Config { debug, ..config() });
    assert!(evidence.evictions > 0);
    assert!(evidence.spilled_bytes > 0);
    assert!(evidence.reread_bytes > 0);
}

/// The smallest allowed limit.
#[test]
fn memory_floor() {
    let limit = minimum_memory_limit(THREADS);
    let evidence = run_corpus("memory_floor", &Config { memory_limit_bytes: Some(limit), ..config() });
    assert!(evidence.peak_bytes <= limit, "{} bytes in use, {limit} allowed", evidence.peak_bytes);
    assert!(evidence.spilled_bytes > 0, "the corpus has to need more than {limit} bytes");
    assert!(evidence.reread_bytes > 0);
}

#[test]
fn tiny_chunks() {
    assert_eq!(run_corpus("tiny_chunks", &chunks_of(2)).batch_rows_max, 2);
}

/// Not a power of two, so that anything counted in words of a bit mask has a remainder.
#[test]
fn odd_chunks() {
    assert_eq!(run_corpus("odd_chunks", &chunks_of(2047)).batch_rows_max, 2047);
}

#[test]
fn one_worker() {
    let evidence = run_corpus("one_worker", &Config { threads: Some(1), ..Config::default() });
    assert_eq!(evidence.other_threads, 0);
}

/// Tables are in a database file, each column stored as Godwit chooses; none of it is only in memory.
#[test]
fn stored() {
    run_stored(&config(), None);
}

/// All rows are stored in one way, where types allow it: closing the file turns them into row groups.
#[test]
fn forced_encodings() {
    for encoding in ["plain", "packed", "run_length", "symbols", "dictionary"] {
        run_stored(&config(), Some(encoding));
    }
}
