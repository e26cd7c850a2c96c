//! Rows rejected by scans of CSV files with `store_rejects`, and why: `reject_errors` and `reject_scans`.
//!
//! The newest scans are kept. Those before a new one take at most [`SCAN_BYTES_MAX`], and so does each running scan;
//! errors that a scan has no room for are only counted.

use std::collections::VecDeque;
use std::sync::Arc;

use godwit_common::{MemoryTag, Result};
use godwit_memory::{BufferManager, Reservation};
use godwit_types::{SqlType, Value};
use godwit_vector::sql::type_of_field;
use parking_lot::Mutex;

use super::TextTable;
use super::source::TextSource;

/// Maximum bytes of a scan, and of all that existed when it began: 16 MiB in total if one runs at a time.
const SCAN_BYTES_MAX: usize = 8 << 20;
/// Maximum number of scans that are kept.
const SCANS_MAX: usize = 1000;
/// Maximum bytes of a line that are kept.
pub(super) const LINE_BYTES_MAX: usize = 4096;

/// The kind of error in a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RejectKind {
    /// A field isn't a value of its column's type.
    Cast,
    /// It has too few fields.
    MissingColumns,
    /// It has too many.
    TooManyColumns,
    /// It has an unclosed quote.
    UnquotedValue,
}

impl RejectKind {
    fn name(self) -> &'static str {
        match self {
            RejectKind::Cast => "CAST",
            RejectKind::MissingColumns => "MISSING COLUMNS",
            RejectKind::TooManyColumns => "TOO MANY COLUMNS",
            RejectKind::UnquotedValue => "UNQUOTED VALUE",
        }
    }
}

/// An error in a row.
pub(super) struct Reject {
    /// Line in which the row begins, from 1.
    pub line: u64,
    /// If a single value is wrong, its column, from 0, and the column's name.
    pub column: Option<(usize, String)>,
    pub kind: RejectKind,
    /// The row as written, or its beginning.
    pub text: String,
    pub message: String,
}

impl Reject {
    fn bytes(&self) -> usize {
        let name = self.column.as_ref().map_or(0, |(_, name)| name.capacity());
        size_of::<(usize, Self)>() + name + self.text.capacity() + self.message.capacity()
    }
}

/// The rejects of a database.
pub(crate) struct Rejects {
    scans: Mutex<Scans>,
    memory: BufferManager,
}

#[derive(Default)]
struct Scans {
    /// Oldest first.
    kept: VecDeque<Arc<ScanRejects>>,
    next_id: u64,
}

/// The rejects of one scan.
pub(crate) struct ScanRejects {
    id: u64,
    /// The values shown for each file.
    files: Vec<Vec<Value>>,
    /// Maximum number of errors kept per file.
    per_file_max: Option<u64>,
    found: Mutex<Found>,
}

struct Found {
    /// Rejects with the number of their file in the scan.
    rejects: Vec<(usize, Reject)>,
    /// Errors by file.
    per_file: Vec<u64>,
    /// Memory of the files and the errors.
    memory: Reservation,
    /// Number of errors for which there was no room; after the first of them, no more are kept.
    lost: u64,
}

impl Rejects {
    /// Creates an empty store. `memory` accounts for what is kept.
    pub(crate) fn new(memory: BufferManager) -> Self {
        Self { scans: Mutex::default(), memory }
    }

    /// Begins a scan. Earlier scans are forgotten if there are too many.
    pub(super) fn begin(&self, table: &TextTable) -> Result<Arc<ScanRejects>> {
        let files = table.sources.iter().map(|source| file_values(source, table)).collect::<Result<Vec<_>>>()?;
        let memory = self.memory.reserve(files.iter().map(|values| bytes_of(values)).sum(), MemoryTag::Reader)?;
        let found = Found { rejects: Vec::new(), per_file: vec![0; files.len()], memory, lost: 0 };
        let mut scans = self.scans.lock();
        let scan = ScanRejects {
            id: scans.next_id,
            files,
            per_file_max: table.options.rejects_max.filter(|&limit| limit > 0),
            found: Mutex::new(found),
        };
        scans.next_id += 1;
        let mut bytes: usize = scans.kept.iter().map(|scan| scan.bytes()).sum();
        while bytes > SCAN_BYTES_MAX || scans.kept.len() >= SCANS_MAX {
            let oldest = scans.kept.pop_front().expect("something is kept");
            bytes -= oldest.bytes();
        }
        let scan = Arc::new(scan);
        scans.kept.push_back(scan.clone());
        Ok(scan)
    }

    fn scans(&self) -> Vec<Arc<ScanRejects>> {
        self.scans.lock().kept.iter().cloned().collect()
    }

    /// Returns a row for each error.
    pub(crate) fn error_rows(&self) -> Vec<Vec<Value>> {
        self.scans().iter().flat_map(|scan| scan.error_rows()).collect()
    }

    /// Returns a row for each file of each scan.
    pub(crate) fn scan_rows(&self) -> Vec<Vec<Value>> {
        self.scans().iter().flat_map(|scan| scan.file_rows()).collect()
    }
}

impl ScanRejects {
    /// Keeps errors of a file if there is room for them; `describe` is called only for those.
    pub(super) fn extend<T>(
        &self,
        file: usize,
        errors: impl IntoIterator<Item = T>,
        mut describe: impl FnMut(T) -> Reject,
    ) {
        let mut found = self.found.lock();
        for error in errors {
            if self.per_file_max.is_some_and(|limit| found.per_file[file] >= limit) {
                break;
            }
            found.per_file[file] += 1;
            if found.lost > 0 {
                found.lost += 1;
                continue;
            }
            let reject = describe(error);
            let bytes = found.memory.bytes() + reject.bytes();
            match bytes <= SCAN_BYTES_MAX && found.memory.resize(bytes).is_ok() {
                true => found.rejects.push((file, reject)),
                false => found.lost += 1,
            }
        }
    }

    fn bytes(&self) -> usize {
        self.found.lock().memory.bytes()
    }

    fn error_rows(&self) -> Vec<Vec<Value>> {
        let found = self.found.lock();
        let mut rejects: Vec<&(usize, Reject)> = found.rejects.iter().collect();
        // Workers add them in any order.
        rejects.sort_by_key(|(file, reject)| (*file, reject.line, reject.column.as_ref().map(|(at, _)| *at)));
        let row = |(file, reject): &&(usize, Reject)| {
            vec![
                number(self.id),
                number(*file as u64),
                number(reject.line),
                reject.column.as_ref().map_or(Value::Null, |(at, _)| number(*at as u64 + 1)),
                reject.column.as_ref().map_or(Value::Null, |(_, name)| Value::text(&**name)),
                Value::text(reject.kind.name()),
                Value::text(&*reject.text),
                Value::text(&*reject.message),
            ]
        };
        rejects.iter().map(row).collect()
    }

    fn file_rows(&self) -> Vec<Vec<Value>> {
        let lost = self.found.lock().lost;
        let files = self.files.iter().enumerate();
        files
            .map(|(at, file)| {
                let mut row = vec![number(self.id), number(at as u64)];
                row.extend(file.iter().cloned());
                row.push(number(lost));
                row
            })
            .collect()
    }
}

/// Memory of the values of a file.
fn bytes_of(values: &[Value]) -> usize {
    let text = |value: &Value| if let Value::Text(text) = value { text.len() } else { 0 };
    size_of_val(values) + values.iter().map(text).sum::<usize>()
}

fn number(number: u64) -> Value {
    Value::Integer(number.into())
}

/// Returns the columns of [`Rejects::error_rows`], named as in DuckDB.
pub(crate) fn error_columns() -> Vec<(&'static str, SqlType)> {
    vec![
        ("scan_id", SqlType::UBigInt),
        ("file_id", SqlType::UBigInt),
        ("line", SqlType::UBigInt),
        ("column_idx", SqlType::UBigInt),
        ("column_name", SqlType::Varchar),
        ("error_type", SqlType::Varchar),
        ("csv_line", SqlType::Varchar),
        ("error_message", SqlType::Varchar),
    ]
}

/// Returns the columns of [`Rejects::scan_rows`], named as in DuckDB; `errors_lost` counts errors for which there was
/// no room.
pub(crate) fn scan_columns() -> Vec<(&'static str, SqlType)> {
    vec![
        ("scan_id", SqlType::UBigInt),
        ("file_id", SqlType::UBigInt),
        ("file_path", SqlType::Varchar),
        ("delimiter", SqlType::Varchar),
        ("quote", SqlType::Varchar),
        ("escape", SqlType::Varchar),
        ("skip_rows", SqlType::UBigInt),
        ("has_header", SqlType::Boolean),
        ("columns", SqlType::Varchar),
        ("errors_lost", SqlType::UBigInt),
    ]
}

/// Returns those values of [`scan_columns`] that depend on the file.
fn file_values(source: &TextSource, table: &TextTable) -> Result<Vec<Value>> {
    let shape = source.shape.as_ref().expect("only CSV has rejects");
    let [delimiter, quote, escape] = shape.dialect.texts().map(Value::text);
    let fields = table.schema.fields().iter().take(table.record_columns());
    let columns = fields.map(|field| Ok(format!("{}: {}", field.name(), type_of_field(field)?)));
    Ok(vec![
        Value::text(source.path.display().to_string()),
        delimiter,
        quote,
        escape,
        number(table.options.skip.unwrap_or(0) + shape.skip),
        Value::Boolean(shape.header.is_some()),
        Value::text(columns.collect::<Result<Vec<_>>>()?.join(", ")),
    ])
}
