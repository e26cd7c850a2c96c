//! TPC-H tables as Parquet files, made by the `tpchgen` crate.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use arrow_array::RecordBatch;
use arrow_schema::ArrowError;
use godwit::{Error, ErrorKind, Result};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;
use tpchgen::generators::*;

use super::columns::{self, Columns};
use crate::progress::ProgressBar;

/// The tables, largest first, so that the longest job starts first.
pub const TABLES: [&str; 8] = ["lineitem", "orders", "partsupp", "customer", "part", "supplier", "nation", "region"];

/// Rows per batch that the generator hands to the Parquet writer.
const BATCH_ROWS: usize = 8192;

/// Returns true if all tables exist.
pub fn is_complete(directory: &Path) -> bool {
    TABLES.iter().all(|table| table_path(directory, table).exists())
}

/// Writes `<table>.parquet` for all tables at `scale` into `directory`. Existing tables are kept: files only appear
/// under their name when they are complete. `progress` counts rows.
pub fn generate(scale: f64, directory: &Path, threads: usize, progress: &ProgressBar) -> Result<()> {
    fs::create_dir_all(directory).map_err(|e| Error::io(format!("creating {}", directory.display()), &e))?;
    let missing: Vec<&str> = TABLES.into_iter().filter(|table| !table_path(directory, table).exists()).collect();
    progress.set_all(missing.iter().map(|table| expected_rows(table, scale)).sum());
    let threads = threads.clamp(1, TABLES.len());
    let queue = Mutex::new(missing.into_iter());
    std::thread::scope(|scope| {
        let worker = || -> Result<()> {
            loop {
                let next = queue.lock().expect("no generator thread panics with the lock held").next();
                let Some(table) = next else { return Ok(()) };
                progress.set_text(table);
                write_table(table, scale, directory, progress)?;
            }
        };
        let handles: Vec<_> = (0..threads).map(|_| scope.spawn(worker)).collect();
        handles.into_iter().try_for_each(|handle| {
            handle.join().map_err(|_| Error::internal("a thread that generates TPC-H data panicked"))?
        })
    })
}

fn table_path(directory: &Path, table: &str) -> PathBuf {
    directory.join(format!("{table}.parquet"))
}

/// Returns the approximate number of rows in the specification.
fn expected_rows(table: &str, scale: f64) -> u64 {
    let thousands = match table {
        "lineitem" => 6000.0,
        "orders" => 1500.0,
        "partsupp" => 800.0,
        "part" => 200.0,
        "customer" => 150.0,
        "supplier" => 10.0,
        _ => return 25,
    };
    (thousands * 1000.0 * scale) as u64
}

fn write_table(table: &str, scale: f64, directory: &Path, progress: &ProgressBar) -> Result<()> {
    let path = table_path(directory, table);
    match table {
        "lineitem" => write_rows(&path, LineItemGenerator::new(scale, 1, 1).iter(), columns::lineitem, progress),
        "orders" => write_rows(&path, OrderGenerator::new(scale, 1, 1).iter(), columns::orders, progress),
        "partsupp" => write_rows(&path, PartSuppGenerator::new(scale, 1, 1).iter(), columns::partsupp, progress),
        "customer" => write_rows(&path, CustomerGenerator::new(scale, 1, 1).iter(), columns::customer, progress),
        "part" => write_rows(&path, PartGenerator::new(scale, 1, 1).iter(), columns::part, progress),
        "supplier" => write_rows(&path, SupplierGenerator::new(scale, 1, 1).iter(), columns::supplier, progress),
        "nation" => write_rows(&path, NationGenerator::new(scale, 1, 1).iter(), columns::nation, progress),
        "region" => write_rows(&path, RegionGenerator::new(scale, 1, 1).iter(), columns::region, progress),
        other => Err(Error::internal(format!("{other} is not a TPC-H table"))),
    }
}

/// Writes a file under a temporary name first; it is removed on failure.
fn write_rows<R>(
    path: &Path,
    mut rows: impl Iterator<Item = R>,
    columns: fn(&[R]) -> Columns,
    progress: &ProgressBar,
) -> Result<()> {
    let partial = path.with_extension("partial");
    let io = |e: std::io::Error| Error::io(format!("writing {}", path.display()), &e);
    let parquet = |e: parquet::errors::ParquetError| {
        Error::new(ErrorKind::Io, format!("writing {}: {e}", path.display())).with_hint("is the disk full?")
    };
    let batch = |rows: &[R]| {
        RecordBatch::try_from_iter(columns(rows)).map_err(|error: ArrowError| Error::internal(error.to_string()))
    };
    let mut write = || {
        let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
        let file = File::create(&partial).map_err(io)?;
        let mut writer = ArrowWriter::try_new(file, batch(&[])?.schema(), Some(properties)).map_err(parquet)?;
        loop {
            let next: Vec<R> = rows.by_ref().take(BATCH_ROWS).collect();
            if next.is_empty() {
                break;
            }
            writer.write(&batch(&next)?).map_err(parquet)?;
            progress.advance(next.len() as u64);
        }
        writer.close().map_err(parquet)?;
        fs::rename(&partial, path).map_err(io)
    };
    let outcome = write();
    if outcome.is_err() {
        // The first error counts; the file may not even have been created.
        let _ = fs::remove_file(&partial);
    }
    outcome
}
