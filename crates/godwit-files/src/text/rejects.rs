//! Rows rejected by a connection's scans of CSV files with `store_rejects`, and why: `reject_errors` and `reject_scans`,
//! or tables of other names.
//!
//! The newest scans are kept. Those before a new one take at most [`SCAN_BYTES_MAX`], and so does each running scan;
//! errors that a scan has no room for are only counted.

use std::collections::VecDeque;
use std::sync::Arc;

use godwit_common::{Error, MemoryTag, Result};
use godwit_memory::{BufferManager, Reservation};
use godwit_types::{SqlType, Value};
use godwit_vector::sql::type_of_field;
use parking_lot::Mutex;

use super::TextTable;
use super::options::TextOptions;
use super::sniffed::shown;
use super::source::TextSource;

/// Maximum bytes of a scan, and of all that existed when it began: 16 MiB in total if one runs at a time.
const SCAN_BYTES_MAX: usize = 8 << 20;
/// Maximum number of scans that are kept.
const SCANS_MAX: usize = 1000;
/// Maximum bytes of a line that are kept.
pub(super) const LINE_BYTES_MAX: usize = 4096;

/// The usual tables of errors and of scans.
const ERRORS: &str = "reject_errors";
const SCANS: &str = "reject_scans";

/// The tables in which the rejects of a scan are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RejectTables {
    errors: String,
    scans: String,
}

impl RejectTables {
    /// Returns those that the options name; `None` if no rejects are kept.
    pub(super) fn of(options: &TextOptions) -> Result<Option<Self>> {
        if !options.stores_rejects() {
            return Ok(None);
        }
        let named = |name: &Option<String>, usual: &str| name.clone().unwrap_or_else(|| usual.to_owned());
        let tables = Self { errors: named(&options.rejects_table, ERRORS), scans: named(&options.rejects_scan, SCANS) };
        if tables.errors.is_empty() || tables.scans.is_empty() {
            return Err(Error::user("a table of rejects needs a name"));
        }
        match is_same(&tables.errors, &tables.scans) || is_same(&tables.errors, SCANS) || is_same(&tables.scans, ERRORS)
        {
            true => Err(Error::user(format!("{} can't be a table of both errors and scans", tables.errors))
                .with_hint("rejects_table and rejects_scan name two tables")),
            false => Ok(Some(tables)),
        }
    }
}

/// Returns true for two names of one table.
fn is_same(name: &str, other: &str) -> bool {
    name.to_lowercase() == other.to_lowercase()
}

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
    /// Where the row begins in the file's text, in bytes.
    pub line_at: u64,
    /// Where the error is.
    pub at: u64,
    /// Number of the field with the error, from 1, and the name of the column that is wrong or missing.
    pub column: (usize, Option<String>),
    pub kind: RejectKind,
    /// The row as written, or its beginning.
    pub text: String,
    pub message: String,
}

impl Reject {
    fn bytes(&self) -> usize {
        let name = self.column.1.as_ref().map_or(0, String::capacity);
        size_of::<(usize, Self)>() + name + self.text.capacity() + self.message.capacity()
    }
}

/// The rejects of a connection.
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
    tables: RejectTables,
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

    /// Returns the function whose rows are those of the table of this name; `None`: no kept scan has such a table.
    pub(crate) fn function(&self, name: &str) -> Option<&'static str> {
        let scans = self.scans.lock();
        let has = |usual: &str, own: fn(&RejectTables) -> &str| {
            is_same(name, usual) || scans.kept.iter().any(|scan| is_same(name, own(&scan.tables)))
        };
        match (has(ERRORS, |tables| &tables.errors), has(SCANS, |tables| &tables.scans)) {
            (true, _) => Some("godwit_reject_errors"),
            (false, true) => Some("godwit_reject_scans"),
            (false, false) => None,
        }
    }

    /// Begins a scan whose rejects go to `tables`. Earlier scans are forgotten if there are too many.
    pub(super) fn begin(&self, table: &TextTable, tables: &RejectTables) -> Result<Arc<ScanRejects>> {
        let files = table.sources.iter().map(|source| file_values(source, table)).collect::<Result<Vec<_>>>()?;
        let names = tables.errors.len() + tables.scans.len();
        let bytes = files.iter().map(|values| bytes_of(values)).sum::<usize>() + names;
        let memory = self.memory.reserve(bytes, MemoryTag::Reader)?;
        let found = Found { rejects: Vec::new(), per_file: vec![0; files.len()], memory, lost: 0 };
        let mut scans = self.scans.lock();
        let is_taken = |scan: &Arc<ScanRejects>| {
            is_same(&scan.tables.errors, &tables.scans) || is_same(&scan.tables.scans, &tables.errors)
        };
        if let Some(other) = scans.kept.iter().find(|scan| is_taken(scan)) {
            let RejectTables { errors, scans } = &other.tables;
            let message = format!("an earlier scan has its errors in {errors}, and is itself listed in {scans}");
            return Err(Error::user(message).with_hint("name other tables with rejects_table and rejects_scan"));
        }
        let scan = ScanRejects {
            id: scans.next_id,
            tables: tables.clone(),
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

    /// Returns the scans with the given table, or with the usual one.
    fn scans(&self, table: Option<&str>, usual: &str, own: fn(&RejectTables) -> &str) -> Vec<Arc<ScanRejects>> {
        let is_asked = |scan: &&Arc<ScanRejects>| is_same(own(&scan.tables), table.unwrap_or(usual));
        self.scans.lock().kept.iter().filter(is_asked).cloned().collect()
    }

    /// Returns a row for each error in a table of errors.
    pub(crate) fn error_rows(&self, table: Option<&str>) -> Vec<Vec<Value>> {
        let scans = self.scans(table, ERRORS, |tables| &tables.errors);
        scans.iter().flat_map(|scan| scan.error_rows()).collect()
    }

    /// Returns a row for each file of each scan in a table of scans.
    pub(crate) fn scan_rows(&self, table: Option<&str>) -> Vec<Vec<Value>> {
        let scans = self.scans(table, SCANS, |tables| &tables.scans);
        scans.iter().flat_map(|scan| scan.file_rows()).collect()
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
        rejects.sort_by_key(|(file, reject)| (*file, reject.line_at, reject.column.0));
        let row = |(file, reject): &&(usize, Reject)| {
            vec![
                number(self.id),
                number(*file as u64),
                number(reject.line),
                number(reject.line_at + 1),
                number(reject.at + 1),
                number(reject.column.0 as u64),
                reject.column.1.as_deref().map_or(Value::Null, Value::text),
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
        ("line_byte_position", SqlType::UBigInt),
        ("byte_position", SqlType::UBigInt),
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
        ("newline_delimiter", SqlType::Varchar),
        ("skip_rows", SqlType::UInteger),
        ("has_header", SqlType::Boolean),
        ("columns", SqlType::Varchar),
        ("date_format", SqlType::Varchar),
        ("timestamp_format", SqlType::Varchar),
        ("user_arguments", SqlType::Varchar),
        ("errors_lost", SqlType::UBigInt),
    ]
}

/// Returns those values of [`scan_columns`] that depend on the file.
fn file_values(source: &TextSource, table: &TextTable) -> Result<Vec<Value>> {
    let shape = source.shape.as_ref().expect("only CSV has rejects");
    let [delimiter, quote, escape] = shape.dialect.texts();
    let fields = table.schema.fields().iter().take(table.record_columns());
    let columns = fields.map(|field| Ok(format!("'{}': '{}'", field.name(), type_of_field(field)?)));
    let or_null = |text: &Option<String>| text.as_deref().map_or(Value::Null, Value::text);
    Ok(vec![
        Value::text(source.path.display().to_string()),
        Value::text(delimiter),
        shown(&quote),
        shown(&escape),
        Value::text(shape.newline),
        number((table.options.skip.unwrap_or(0) + shape.skip).min(u32::MAX.into())),
        Value::Boolean(shape.header.is_some()),
        Value::text(format!("{{{}}}", columns.collect::<Result<Vec<_>>>()?.join(","))),
        or_null(&table.options.date_format),
        or_null(&table.options.timestamp_format),
        or_null(&table.arguments),
    ])
}
