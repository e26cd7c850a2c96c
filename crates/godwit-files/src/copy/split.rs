//! A folder of files as the target of `COPY`: one folder per value of some columns (`PARTITION_BY`), files of limited
//! size (`FILE_SIZE_BYTES`), files of one worker (`PER_THREAD_OUTPUT`).
//!
//! ```text
//! chunk ─▶ rows by the values of the columns ─▶ open files, one encoder each, under a lock
//!                                                └─ too many, or no memory: the one that rests longest is finished
//! ```
//!
//! Each file holds a whole piece in memory, whatever the number of workers. If the file of a partition was finished,
//! the partition continues in another one. Workers share the open files, unless each has its own.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow_schema::{Schema, SchemaRef};
use godwit_common::{Error, ErrorKind, Result};
use godwit_io::{FileKind, Files, url_scheme};
use godwit_memory::{BufferManager, Reservation};
use godwit_types::{SqlType, Value, format_value};
use godwit_vector::Chunk;
use godwit_vector::sql::{Reader, type_of_field};
use parking_lot::Mutex;

use super::output_file::OutputFile;
use super::replacement::Replacement;
use super::split_options::{Existing, SplitOptions};
use super::{Encoder, FileWriter, TAG};
use crate::hive::folder;

/// Maximum number of open files that workers share, or that each has. Each has its own buffers of a mebibyte or more.
const OPEN_FILES_MAX: usize = 64;

/// Minimum memory of an open file.
const FILE_BYTES_MIN: u64 = 2 << 20;

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
    /// Number of files begun, by folder.
    begun: Mutex<HashMap<PathBuf, u64>>,
    /// Their names, if they are wanted.
    names: Option<Mutex<Names>>,
    /// What becomes of the files that are there, if new ones replace them.
    replacement: Option<Replacement>,
    /// The files that workers share.
    open: Mutex<OpenFiles>,
}

/// Names of files, and their memory.
struct Names {
    names: Vec<String>,
    memory: Reservation,
}

impl Names {
    fn push(&mut self, name: &Path) -> Result<()> {
        let name = name.display().to_string();
        self.memory.resize(self.memory.bytes() + size_of::<String>() + name.capacity())?;
        self.names.push(name);
        Ok(())
    }
}

#[derive(Default)]
struct OpenFiles {
    /// By folder, below that of the statement.
    files: BTreeMap<PathBuf, OpenFile>,
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
        (options, returns_files): (SplitOptions, bool),
        schema: &SchemaRef,
        make: MakeWriter,
        memory: &BufferManager,
    ) -> Result<Arc<Self>> {
        let folder = PathBuf::from(path);
        let ending = options.extension.as_deref().unwrap_or(ending).to_owned();
        let found = files.metadata(&folder).ok();
        if found.is_some_and(|found| found.kind != FileKind::Folder) {
            return Err(Error::user(format!("{path} is not a folder, and these options write several files")));
        }
        let is_used = found.is_some() && !files.entries(&folder).is_ok_and(|found| found.is_empty());
        let replacement = match options.existing {
            Existing::Refused if is_used => {
                return Err(Error::user(format!("{path} is not an empty folder")).with_hint(
                    "write to another one, or add APPEND to keep its files, OVERWRITE to remove them, or \
                     OVERWRITE_OR_IGNORE to replace those of the same names",
                ));
            }
            Existing::Removed if url_scheme(path).is_some() => {
                return Err(Error::unsupported("COPY with OVERWRITE to an object store, whose objects aren't removed"));
            }
            Existing::Removed if is_used => Some(Replacement::of(&files, &folder, &ending)?),
            Existing::Refused | Existing::Removed | Existing::Overwritten | Existing::Kept => None,
        };
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
        let names = match returns_files {
            true => Some(Mutex::new(Names { names: Vec::new(), memory: memory.reserve(0, TAG)? })),
            false => None,
        };
        let written = Schema::new(kept.iter().map(|&place| schema.field(place).clone()).collect::<Vec<_>>());
        Ok(Arc::new(Self {
            files,
            folder,
            ending,
            options,
            keys,
            kept,
            schema: Arc::new(written),
            make,
            memory: memory.clone(),
            begun: Mutex::default(),
            names,
            replacement,
            open: Mutex::default(),
        }))
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

    /// Writes rows to a worker's own files, or to those that workers share.
    fn write(&self, chunk: &Chunk, own: Option<&mut OpenFiles>) -> Result<()> {
        let vectors: Vec<_> = self.kept.iter().map(|&place| chunk.dense(place)).collect();
        let parts = match self.keys.is_empty() {
            true => vec![(PathBuf::new(), Chunk::new(vectors, chunk.len()))],
            false => {
                let part = |rows: &[u32]| Chunk::new(vectors.iter().map(|v| v.take(rows)).collect(), rows.len());
                self.parts(chunk)?.into_iter().map(|(path, rows)| (path, part(&rows))).collect()
            }
        };
        let mut shared;
        let open = match own {
            Some(own) => own,
            None => {
                shared = self.open.lock();
                &mut *shared
            }
        };
        parts.iter().try_for_each(|(path, part)| self.write_part(open, path, part))
    }

    fn write_part(&self, open: &mut OpenFiles, path: &Path, part: &Chunk) -> Result<()> {
        if !open.files.contains_key(path) {
            while open.files.len() >= OPEN_FILES_MAX {
                open.finish_oldest()?;
            }
            // Without memory for another file, others are finished.
            let file = loop {
                match self.begin(path) {
                    Err(error) if error.kind() == ErrorKind::Resource && !open.files.is_empty() => {
                        open.finish_oldest()?
                    }
                    begun => break begun?,
                }
            };
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

    fn file_name(&self, number: u64) -> String {
        format!("{}.{}", self.options.names.name(number), self.ending)
    }

    fn begin(&self, path: &Path) -> Result<OpenFile> {
        let folder = self.folder.join(path);
        let shown = folder.display();
        self.files.create_folder(&folder).map_err(|error| Error::io(format!("making the folder {shown}"), &error))?;
        let mut begun = self.begun.lock();
        let number = begun.entry(path.to_owned()).or_default();
        let mut name = folder.join(self.file_name(*number));
        while self.replacement.as_ref().is_some_and(|replacement| !replacement.take(&name)) {
            *number += 1;
            name = folder.join(self.file_name(*number));
        }
        let file = OutputFile::create(&*self.files, &name.to_string_lossy())?;
        let written = file.written();
        let writer = (self.make)(file, &self.schema)?;
        let encoder = writer.clone().encoder(&self.memory)?;
        *number += 1;
        if let Some(names) = &self.names {
            names.lock().push(&name)?;
        }
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

    fn finish(&mut self) -> Result<()> {
        while !self.files.is_empty() {
            self.finish_oldest()?;
        }
        Ok(())
    }
}

impl FileWriter for SplitWriter {
    fn encoder(self: Arc<Self>, _memory: &BufferManager) -> Result<Box<dyn Encoder>> {
        let own = self.options.by_worker.then(OpenFiles::default);
        Ok(Box::new(SplitEncoder { writer: self, own }))
    }

    fn worker_bytes_min(&self) -> u64 {
        FILE_BYTES_MIN
    }

    fn file_names(&self) -> Option<Vec<String>> {
        let mut names = self.names.as_ref()?.lock().names.clone();
        names.sort_unstable();
        Some(names)
    }

    fn finish(&self) -> Result<()> {
        // Without rows, there is one file without rows, unless its folder is named by values.
        if self.begun.lock().is_empty() && self.keys.is_empty() {
            self.begin(Path::new(""))?.finish()?;
        }
        self.open.lock().finish()?;
        self.replacement.as_ref().map_or(Ok(()), Replacement::finish)
    }
}

/// A worker's access to the files.
struct SplitEncoder {
    writer: Arc<SplitWriter>,
    own: Option<OpenFiles>,
}

impl Encoder for SplitEncoder {
    fn write(&mut self, chunk: &Chunk) -> Result<()> {
        self.writer.write(chunk, self.own.as_mut())
    }

    fn finish(self: Box<Self>) -> Result<()> {
        self.own.map_or(Ok(()), |mut own| own.finish())
    }
}
