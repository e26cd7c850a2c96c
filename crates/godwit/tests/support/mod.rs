//! Runs the corpus: the SQL tests as text in `tests/sql`, see [`script`].
//!
//! A *world* is a configuration in which the whole corpus runs; results must not depend on it. Each file gets its own
//! database. `$data` in a file stands for the folder that [`data`] fills. Expected results come from DuckDB, see
//! `tests/duckdb/verify_corpus.py`; records for which DuckDB's answer differs are marked `skipif duckdb`.

mod data;
mod script;
mod session;
#[allow(dead_code, reason = "not every test program has these worlds")]
pub mod stored;

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use godwit::{Config, Database, MemoryStatistics};

use script::run_script;
use session::Connected;

/// Effects that the files of a world's run had on their databases.
#[derive(Default)]
pub struct Evidence {
    pub files: usize,
    /// Number of pages moved from memory to disk.
    pub evictions: u64,
    pub spilled_bytes: u64,
    pub reread_bytes: u64,
    /// Maximum over all files.
    pub peak_bytes: u64,
    /// Length of the longest batch of a result with many rows.
    pub batch_rows_max: usize,
    /// Number of files whose database has another number of workers than the world requested.
    pub other_threads: usize,
}

/// Runs all files in a world called `label`; skips records marked `skipif <label>`. Fails with all differences.
pub fn run_corpus(label: &str, config: &Config) -> Evidence {
    let data = data::Folder::new();
    let mut evidence = Evidence { batch_rows_max: batch_rows_max(config, data.path()), ..Evidence::default() };
    let mut failures = Vec::new();
    for (name, text) in corpus_files() {
        let script = text.replace("$data", &data.path().display().to_string());
        if let Err(failure) = run_file(label, config, &name, &script, &mut evidence) {
            failures.push(failure);
        }
    }
    assert!(failures.is_empty(), "{} files failed in the world '{label}':\n{}", failures.len(), failures.join("\n"));
    assert!(evidence.files > 10, "only {} files were found", evidence.files);
    evidence
}

/// Runs one file on a new database; afterwards its folder for intermediates must be empty.
fn run_file(label: &str, config: &Config, name: &str, script: &str, evidence: &mut Evidence) -> Result<(), String> {
    let temp_directory = tempfile::tempdir().expect("a temporary folder can be made");
    let config = Config { temp_directory: Some(temp_directory.path().to_owned()), ..config.clone() };
    let threads = config.threads.expect("a world says how many threads");
    let database = Database::open_with(":memory:", config).expect("a world's configuration is valid");
    let mut session = Connected::new(&database);
    let outcome = run_script(&mut session, &[label], name, script);

    let MemoryStatistics { evictions, spilled_bytes_total, reread_bytes_total, peak_bytes, .. } =
        database.memory_statistics();
    evidence.files += 1;
    evidence.evictions += evictions;
    evidence.spilled_bytes += spilled_bytes_total;
    evidence.reread_bytes += reread_bytes_total;
    evidence.peak_bytes = evidence.peak_bytes.max(peak_bytes);
    evidence.other_threads += usize::from(session::threads(&database) != threads);
    // I/O threads hold pages until their batch is over.
    let began = Instant::now();
    let left_bytes = || database.memory_statistics().temp_file_bytes;
    while left_bytes() != 0 {
        if began.elapsed() > Duration::from_secs(60) {
            return Err(format!(
                "{name}: {} bytes of intermediates stay on disk after the last statement",
                left_bytes()
            ));
        }
        thread::sleep(Duration::from_millis(1));
    }
    drop((session, database));
    let left = fs::read_dir(temp_directory.path()).expect("the folder is there").count();
    if left != 0 {
        return Err(format!("{name}: {left} temporary files are left"));
    }
    outcome
}

/// Returns the length of the longest batch when a file of 10,000 rows is read.
fn batch_rows_max(config: &Config, data: &Path) -> usize {
    let database = Database::open_with(":memory:", config.clone()).expect("a world's configuration is valid");
    let result = database.connect().query(&format!("FROM '{}'", data.join("numbers.parquet").display()));
    let batches = result.expect("the file can be read");
    batches.map(|batch| batch.expect("the file can be read").num_rows()).max().expect("the file has rows")
}

/// Returns the names and texts of all files. Tests run in the folder of their package, wherever they were built.
fn corpus_files() -> Vec<(String, String)> {
    let root = PathBuf::from("../../tests/sql");
    let read = |file: PathBuf| {
        let name = file.strip_prefix(&root).expect("the file was found under the root").display().to_string();
        (name, fs::read_to_string(&file).expect("the file is readable text"))
    };
    files_in(&root).into_iter().map(read).collect()
}

fn files_in(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).expect("the corpus is there") {
        let path = entry.expect("the folder is readable").path();
        if path.is_dir() {
            files.extend(files_in(&path));
        } else if path.extension().is_some_and(|extension| extension == "slt") {
            files.push(path);
        }
    }
    files.sort();
    files
}
