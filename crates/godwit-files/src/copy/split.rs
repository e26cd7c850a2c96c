//! A folder of files as the target of `COPY`: one folder per value of some columns (`PARTITION_BY`), files of limited
//! size (`FILE_SIZE_BYTES`).
//!
//! ```text
//! chunk ─▶ rows by the values of the columns ─▶ open files, one encoder each, under a lock
//!                                                └─ too many, or no memory: the one that rests longest is finished
//! ```
//!
//! Each file holds a whole piece in memory, whatever the number of workers. If the file of a partition was finished,
//! the partition continues in another one.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow_schema::{Schema, SchemaRef};
use godwit_catalog::{CopyOption, OptionValue};
use godwit_common::{Error, ErrorKind, Result, parse_bytes};
use godwit_io::Files;
use godwit_memory::BufferManager;
use godwit_types::{SqlType, Value, format_value};
use godwit_vector::Chunk;
use godwit_vector::sql::{Reader, type_of_field};
use parking_lot::Mutex;

use super::output_file::OutputFile;
use super::{Encoder, FileWriter};
use crate::hive::folder;

/// Maximum number of open files. Each has its own buffers of a mebibyte or more.
const OPEN_FILES_MAX: usize = 64;

/// Minimum memory of an open file.
const FILE_BYTES_MIN: u64 = 2 << 20;

/// Bytes of a file after which another one begins, if `FILE_SIZE_BYTES` is given without a number.
const FILE_BYTES_DEFAULT: u64 = 1 << 30;

/// The distribution of rows over files.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SplitOptions {
    /// Columns whose values name folders.
    partition_by: Vec<String>,
    /// True if the files contain these columns, too.
    keeps_columns: bool,
    file_bytes: Option<u64>,
    overwrites: bool,
}

impl SplitOptions {
    /// Names of the options.
    const NAMES: [&str; 5] =
        ["partition_by", "write_partition_columns", "file_size_bytes", "overwrite_or_ignore", "overwrite"];

    /// Returns true if an option is one of these.
    pub(super) fn has(option: &CopyOption) -> bool {
        Self::NAMES.contains(&option.name.as_str())
    }

    /// Returns these options from those of a statement; `None`: it writes a single file.
    pub fn of(options: &[CopyOption], schema: &Schema) -> Result<Option<Self>> {
        let mut split = Self::default();
        for option in options {
            match option.name.as_str() {
                "partition_by" if option.word() == Some("*") => {
                    split.partition_by = schema.fields().iter().map(|field| field.name().clone()).collect();
                }
                "partition_by" => split.partition_by = option.texts()?.to_vec(),
                "write_partition_columns" => split.keeps_columns = option.flag()?,
                "file_size_bytes" => {
                    split.file_bytes = Some(match option.value {
                        OptionValue::Absent => FILE_BYTES_DEFAULT,
                        _ => parse_bytes(option.text()?)?.max(1),
                    });
                }
                "overwrite_or_ignore" | "overwrite" => split.overwrites = option.flag()?,
                _ => {}
            }
        }
        Ok(Some(split).filter(|split| !split.partition_by.is_empty() || split.file_bytes.is_some()))
    }
}

/// Creates the writer of a file.
pub(super) type MakeWriter = Box<dyn Fn(OutputFile, &SchemaRef) -> Result<Arc<dyn FileWriter>> + Send + Sync>;

/// Spreads rows over files.
pub(super) struct SplitWriter {
    files: Arc<dyn Files>,
    folder: PathBuf,
    ending: String,
    options: SplitOptions,
    /// The columns of [`SplitOptions::partition_by`]: positions, names and types.
    keys: Vec<(usize, String, SqlType)>,
    /// Columns that are written, and their schema.
    kept: Vec<usize>,
    schema: SchemaRef,
    make: MakeWriter,
    memory: BufferManager,
    open: Mutex<OpenFiles>,
}

#[derive(Default)]
struct OpenFiles {
    /// Open files by folder, below that of the statement.
    files: BTreeMap<PathBuf, OpenFile>,
    /// Number of files begun, by folder.
    begun: HashMap<PathBuf, u64>,
    clock: u64,
}

struct OpenFile {
    writer: Arc<dyn FileWriter>,
    encoder: Box<dyn Encoder>,
    written: Arc<AtomicU64>,
    used: u64,
}

impl OpenFile {
    fn finish(self) -> Result<()> {
        self.encoder.finish()?;
        self.writer.finish()
    }
}

impl SplitWriter {
    /// Creates files with the extension `ending` below a folder, which must be empty or not exist unless the options
    /// say otherwise.
    pub(super) fn new(
        files: Arc<dyn Files>,
        path: &str,
        ending: &str,
        options: SplitOptions,
        schema: &SchemaRef,
        make: MakeWriter,
        memory: &BufferManager,
    ) -> Result<Arc<Self>> {
        let folder = PathBuf::from(path);
        let is_used = files.metadata(&folder).is_ok() && !files.entries(&folder).is_ok_and(|found| found.is_empty());
        if is_used && !options.overwrites {
            return Err(Error::user(format!("{path} is not an empty folder"))
                .with_hint("write to another one, or add OVERWRITE_OR_IGNORE to replace files of the same names"));
        }
        let mut keys: Vec<(usize, String, SqlType)> = Vec::new();
        for name in &options.partition_by {
            let place = schema.fields().iter().position(|field| field.name().eq_ignore_ascii_case(name));
            let place = place.ok_or_else(|| Error::user(format!("PARTITION_BY: there is no column {name}")))?;
            let field = schema.field(place);
            keys.push((place, field.name().clone(), type_of_field(field)?));
        }
        let is_kept = |place: &usize| options.keeps_columns || !keys.iter().any(|(key, ..)| key == place);
        let kept: Vec<usize> = (0..schema.fields().len()).filter(is_kept).collect();
        if kept.is_empty() {
            return Err(Error::user("PARTITION_BY names all columns, so that files have none")
                .with_hint("leave one out, or add WRITE_PARTITION_COLUMNS"));
        }
        let written = Schema::new(kept.iter().map(|&place| schema.field(place).clone()).collect::<Vec<_>>());
        let (ending, memory, open) = (ending.to_owned(), memory.clone(), Mutex::default());
        let schema = Arc::new(written);
        Ok(Arc::new(Self { files, folder, ending, options, keys, kept, schema, make, memory, open }))
    }

    /// Returns the rows of a chunk by the folder that they go to.
    fn parts(&self, chunk: &Chunk) -> Result<BTreeMap<PathBuf, Vec<u32>>> {
        let columns: Vec<_> = self.keys.iter().map(|&(place, ..)| chunk.dense(place)).collect();
        let readers = columns.iter().zip(&self.keys).map(|(column, (_, _, ty))| Reader::new(column, ty));
        let readers = readers.collect::<Result<Vec<_>>>()?;
        let mut parts: BTreeMap<PathBuf, Vec<u32>> = BTreeMap::new();
        for row in 0..chunk.len() {
            let mut path = PathBuf::new();
            for (reader, (_, name, ty)) in readers.iter().zip(&self.keys) {
                let text = match reader.value(row)? {
                    Value::Null => None,
                    value => Some(format_value(&value, ty)),
                };
                path.push(folder(name, text.as_deref()));
            }
            parts.entry(path).or_default().push(row as u32);
        }
        Ok(parts)
    }

    fn write(&self, chunk: &Chunk) -> Result<()> {
        let vectors: Vec<_> = self.kept.iter().map(|&place| chunk.dense(place)).collect();
        if self.keys.is_empty() {
            return self.write_part(&mut self.open.lock(), Path::new(""), &Chunk::new(vectors, chunk.len()));
        }
        let parts = self.parts(chunk)?;
        let mut open = self.open.lock();
        for (path, rows) in parts {
            let part = Chunk::new(vectors.iter().map(|vector| vector.take(&rows)).collect(), rows.len());
            self.write_part(&mut open, &path, &part)?;
        }
        Ok(())
    }

    fn write_part(&self, open: &mut OpenFiles, path: &Path, part: &Chunk) -> Result<()> {
        if !open.files.contains_key(path) {
            while open.files.len() >= OPEN_FILES_MAX {
                open.finish_oldest()?;
            }
            // Without memory for another file, others are finished.
            let file = loop {
                match self.begin(path, *open.begun.get(path).unwrap_or(&0)) {
                    Err(error) if error.kind() == ErrorKind::Resource && !open.files.is_empty() => {
                        open.finish_oldest()?
                    }
                    begun => break begun?,
                }
            };
            *open.begun.entry(path.to_owned()).or_default() += 1;
            open.files.insert(path.to_owned(), file);
        }
        open.clock += 1;
        let clock = open.clock;
        let file = open.files.get_mut(path).expect("it is open");
        file.used = clock;
        file.encoder.write(part)?;
        let is_full = self.options.file_bytes.is_some_and(|bytes| file.written.load(Ordering::Relaxed) >= bytes);
        if !is_full {
            return Ok(());
        }
        open.files.remove(path).map_or(Ok(()), OpenFile::finish)
    }

    fn begin(&self, path: &Path, number: u64) -> Result<OpenFile> {
        let folder = self.folder.join(path);
        let shown = folder.display();
        self.files.create_folder(&folder).map_err(|error| Error::io(format!("making the folder {shown}"), &error))?;
        let name = folder.join(format!("data_{number}.{}", self.ending));
        let file = OutputFile::create(&*self.files, &name.to_string_lossy())?;
        let written = file.written();
        let writer = (self.make)(file, &self.schema)?;
        let encoder = writer.clone().encoder(&self.memory)?;
        Ok(OpenFile { writer, encoder, written, used: 0 })
    }
}

impl OpenFiles {
    /// Finishes the file that has been idle longest.
    fn finish_oldest(&mut self) -> Result<()> {
        let oldest = self.files.iter().min_by_key(|(_, file)| file.used).map(|(path, _)| path.clone());
        match oldest.and_then(|path| self.files.remove(&path)) {
            Some(file) => file.finish(),
            None => Ok(()),
        }
    }
}

impl FileWriter for SplitWriter {
    fn encoder(self: Arc<Self>, _memory: &BufferManager) -> Result<Box<dyn Encoder>> {
        Ok(Box::new(SplitEncoder(self)))
    }

    fn worker_bytes_min(&self) -> u64 {
        FILE_BYTES_MIN
    }

    fn finish(&self) -> Result<()> {
        let mut open = self.open.lock();
        // Without rows, there is one file without rows, unless its folder is named by values.
        if open.begun.is_empty() && self.keys.is_empty() {
            self.begin(Path::new(""), 0)?.finish()?;
        }
        while !open.files.is_empty() {
            open.finish_oldest()?;
        }
        Ok(())
    }
}

/// A worker's access to the files.
struct SplitEncoder(Arc<SplitWriter>);

impl Encoder for SplitEncoder {
    fn write(&mut self, chunk: &Chunk) -> Result<()> {
        self.0.write(chunk)
    }

    fn finish(self: Box<Self>) -> Result<()> {
        Ok(())
    }
}
