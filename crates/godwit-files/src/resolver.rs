//! Tables by path: single files, globs, and the files of a folder; their format is given by name or file extension.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use arrow_schema::Schema;
use godwit_catalog::{CopyOption, TableDefinition, TableResolver};
use godwit_common::{Error, Result, without_secrets};
use godwit_io::{FileKind, Files, at_once, check_interrupt, url_scheme};
use godwit_memory::BufferManager;
use godwit_types::Value;
use parking_lot::Mutex;

use crate::ParquetTable;
use crate::arrow::{self, ArrowTable, is_arrow_file};
use crate::config::{CACHED_TABLES_MAX, RESOLVED_AT_ONCE_MAX};
use crate::facts::ContentsTable;
use crate::footer::ParquetFile;
use crate::glob::{expand, find, is_glob};
use crate::local::{check_reachable, name_of};
use crate::table::ParquetOptions;
use crate::text::{self, Rejects, Streams, TextFiles, TextTable, is_text_file};

/// File name extensions of Parquet files.
const EXTENSIONS: [&str; 2] = ["parquet", "parq"];
/// Minimum similarity of a file name to be suggested, from 0 to 1.
const SIMILARITY_MIN: f64 = 0.75;

/// Resolves `'x.parquet'` and `'dir/*.parquet'`. Remembers footers of unchanged files.
pub struct FileResolver {
    memory: BufferManager,
    files: Arc<dyn Files>,
    streams: Arc<Streams>,
    /// The rows rejected by scans of the connection.
    rejects: Arc<Rejects>,
    /// Most recently used last.
    known: Arc<Mutex<Vec<Known>>>,
}

/// Self-describing file formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Parquet,
    Arrow,
}

impl Format {
    /// Returns the format by the name that users write.
    fn of_name(name: &str) -> Result<Self> {
        match name {
            "parquet" | "parq" => Ok(Format::Parquet),
            "arrow" | "arrows" | "feather" => Ok(Format::Arrow),
            other => Err(Error::user(format!("there is no format '{other}'"))),
        }
    }

    /// Returns the format by the extension of a file, or else by its first bytes.
    fn of_file(files: &dyn Files, path: &Path) -> Self {
        if !has_extension(path, &EXTENSIONS) && is_arrow_file(files, path) { Format::Arrow } else { Format::Parquet }
    }

    /// Returns the format by the extension of a file alone.
    fn of_extension(path: &Path) -> Option<Self> {
        let is_arrow = || has_extension(path, &arrow::EXTENSIONS).then_some(Format::Arrow);
        if has_extension(path, &EXTENSIONS) { Some(Format::Parquet) } else { is_arrow() }
    }

    /// Returns the table in files. `name` is its name in the catalog.
    fn table(
        self,
        files: &dyn Files,
        paths: Vec<PathBuf>,
        options: &ParquetOptions,
        name: &str,
        memory: &BufferManager,
    ) -> Result<Arc<TableDefinition>> {
        match self {
            Format::Parquet => Ok(ParquetTable::open_on(files, paths, options, memory)?.definition(name, memory)),
            Format::Arrow if options.add_columns() => Err(Error::user("Arrow files are read without options")),
            Format::Arrow => Ok(ArrowTable::open_on(files, &paths, memory)?.definition(name, memory)),
        }
    }
}

/// A table, by the texts of requests for it.
struct Known {
    texts: Vec<String>,
    /// The requested format.
    format: Option<Format>,
    options: ParquetOptions,
    versions: Vec<Version>,
    table: Arc<TableDefinition>,
}

/// The state of a file when its footer was read.
#[derive(Clone, PartialEq)]
struct Version {
    path: PathBuf,
    bytes: u64,
    modified: Option<SystemTime>,
    identity: (u64, u64),
    is_stream: bool,
}

impl FileResolver {
    /// Creates a resolver that accounts for what it reads with `memory`.
    pub fn new(files: Arc<dyn Files>, memory: BufferManager) -> Self {
        let rejects = Arc::new(Rejects::new(memory.clone()));
        Self { memory, files, streams: Arc::default(), rejects, known: Arc::default() }
    }

    /// Returns a resolver for another connection: rejected rows are its own, everything else is shared.
    #[must_use]
    pub fn of_connection(&self) -> Self {
        Self {
            memory: self.memory.clone(),
            files: self.files.clone(),
            streams: self.streams.clone(),
            rejects: Arc::new(Rejects::new(self.memory.clone())),
            known: self.known.clone(),
        }
    }

    /// Returns the means to read text files.
    fn text_files<'a>(&'a self, files: &'a Arc<dyn Files>) -> TextFiles<'a> {
        TextFiles { files, streams: &self.streams, rejects: &self.rejects, memory: &self.memory }
    }

    /// Returns the rows rejected by scans of CSV files.
    pub(crate) fn rejects(&self) -> &Rejects {
        &self.rejects
    }

    /// Returns the files for some paths and patterns, each of which must have at least one.
    fn paths(files: &dyn Files, texts: &[&str]) -> Result<Vec<PathBuf>> {
        let mut paths = Vec::new();
        for text in texts {
            check_reachable(files, text)?;
            match is_pattern(files, text) {
                true => paths.extend(expand(files, text)?),
                false => paths.push(existing(files, Path::new(text))?),
            }
        }
        Ok(paths)
    }

    /// Returns the files that match patterns, and those of the given paths that exist.
    pub(crate) fn matching(&self, texts: &[&str]) -> Result<Vec<PathBuf>> {
        let files = &*self.view();
        let mut paths = Vec::new();
        for text in texts {
            check_reachable(files, text)?;
            paths.extend(find(files, text)?);
        }
        Ok(paths)
    }

    /// Returns a table of whole files: a row for each, with its name and content.
    pub fn contents(&self, name: &str, texts: &[&str], is_text: bool) -> Result<Arc<TableDefinition>> {
        let paths = Self::paths(&*self.view(), texts)?;
        ContentsTable::definition(name, self.files.clone(), paths, is_text)
    }

    /// Opens the Parquet files of some paths and patterns one after the other.
    pub(crate) fn each_parquet_file(
        &self,
        texts: &[&str],
        mut act: impl FnMut(&Path, &ParquetFile) -> Result<()>,
    ) -> Result<()> {
        let files = &*self.view();
        let paths = Self::paths(files, texts)?;
        for (at, path) in paths.iter().enumerate() {
            check_interrupt().map_err(|_| Error::cancelled())?;
            files.will_open(&paths[at..]);
            act(path, &ParquetFile::open(files, path, &self.memory)?)?;
        }
        Ok(())
    }

    /// Returns a row for each CSV file with what is detected from its beginning.
    pub(crate) fn sniffed(&self, texts: &[&str], options: &[CopyOption]) -> Result<Vec<Vec<Value>>> {
        let view = self.view();
        let paths = Self::paths(&*view, texts)?;
        let row = |path: &PathBuf| text::sniffed_row(&*view, &self.streams, path, options, &self.memory);
        paths.iter().map(row).collect()
    }

    fn resolve(
        &self,
        texts: &[&str],
        format: Option<Format>,
        options: &ParquetOptions,
    ) -> Result<Arc<TableDefinition>> {
        let view = self.view();
        let files = &*view;
        let paths = Self::paths(files, texts)?;
        let versions = paths.iter().map(|path| version(files, path)).collect::<Result<Vec<_>>>()?;
        if let Some(table) = self.remembered(texts, format, options, &versions) {
            return Ok(table);
        }
        let table = match format {
            None if paths.iter().all(|path| is_text_file(path)) => {
                TextTable::definition(self.text_files(&view), &paths, &[], None)?
            }
            _ => {
                let format = format.unwrap_or_else(|| Format::of_file(files, &paths[0]));
                format.table(files, paths, options, &without_secrets(&texts.join(", ")), &self.memory)?
            }
        };
        if versions.iter().any(|version| version.is_stream) {
            return Ok(table);
        }
        let mut known = self.known.lock();
        known.retain(|entry| entry.texts != texts || entry.format != format || entry.options != *options);
        if known.len() >= CACHED_TABLES_MAX {
            known.remove(0);
        }
        let texts = texts.iter().map(|text| (*text).to_owned()).collect();
        known.push(Known { texts, format, options: options.clone(), versions, table: table.clone() });
        Ok(table)
    }

    /// Returns the files as they are while a table is planned.
    fn view(&self) -> Arc<dyn Files> {
        self.files.view().unwrap_or_else(|| self.files.clone())
    }

    fn remembered(
        &self,
        texts: &[&str],
        format: Option<Format>,
        options: &ParquetOptions,
        versions: &[Version],
    ) -> Option<Arc<TableDefinition>> {
        let mut known = self.known.lock();
        let is_asked = |entry: &Known| entry.texts == texts && entry.format == format && entry.options == *options;
        let is_it = |entry: &Known| is_asked(entry) && entry.versions == versions;
        let index = known.iter().position(is_it)?;
        let entry = known.remove(index);
        let table = entry.table.clone();
        known.push(entry);
        Some(table)
    }
}

impl TableResolver for FileResolver {
    fn reject_function(&self, name: &str) -> Option<&'static str> {
        self.rejects.function(name)
    }

    fn resolve_path(&self, path: &str) -> Option<Result<Arc<TableDefinition>>> {
        let looks_like_file = is_glob(path) || path.contains('/') || Format::of_extension(Path::new(path)).is_some();
        let is_there = || self.files.metadata(Path::new(path)).is_ok_and(|found| found.kind != FileKind::Folder);
        (looks_like_file || is_there()).then(|| self.resolve(&[path], None, &ParquetOptions::default()))
    }

    fn resolve_paths(&self, paths: &[&str]) -> Vec<Option<Result<Arc<TableDefinition>>>> {
        at_once(paths, RESOLVED_AT_ONCE_MAX, |path| self.resolve_path(path))
    }

    fn table_of_format(&self, paths: &[&str], format: &str, options: &[CopyOption]) -> Result<Arc<TableDefinition>> {
        self.resolve(paths, Some(Format::of_name(format)?), &ParquetOptions::of(options)?)
    }

    fn text_table(
        &self,
        paths: &[&str],
        options: &[CopyOption],
        expected: Option<&Schema>,
    ) -> Result<Arc<TableDefinition>> {
        let files = self.view();
        TextTable::definition(self.text_files(&files), &Self::paths(&*files, paths)?, options, expected)
    }
}

/// Returns the Parquet and Arrow files of a folder as tables named after them, ordered by name. A subfolder of files of
/// one format is a table, too. Unreadable files, and names used twice, become tables whose use is an error.
pub fn tables_in(files: &dyn Files, folder: &Path, memory: &BufferManager) -> Result<Vec<Arc<TableDefinition>>> {
    let mut tables: Vec<Arc<TableDefinition>> = Vec::new();
    for path in entries(files, folder)? {
        let paths = if is_folder(files, &path) { files_in(files, &path)? } else { vec![path.clone()] };
        let format = paths.first().and_then(|first| Format::of_extension(first));
        let (Some(format), Some(name)) = (format, path.file_stem().and_then(|stem| stem.to_str())) else { continue };
        let table = match format.table(files, paths, &ParquetOptions::without_folders(), name, memory) {
            Ok(table) => table,
            Err(error) => Arc::new(TableDefinition::unusable(name, error)),
        };
        match tables.iter_mut().find(|known| known.name.eq_ignore_ascii_case(name)) {
            None => tables.push(table),
            Some(known) => {
                let error = Error::user(format!("two files in {} are named {name}", folder.display()));
                let error = error.with_hint(format!("name one of them with its ending: FROM '{}'", path.display()));
                *known = Arc::new(TableDefinition::unusable(name, error));
            }
        }
    }
    Ok(tables)
}

/// Returns the files of a folder that have the format of the first one.
fn files_in(files: &dyn Files, folder: &Path) -> Result<Vec<PathBuf>> {
    let is_file = |path: &PathBuf| files.metadata(path).is_ok_and(|found| found.kind == FileKind::File);
    let mut paths = entries(files, folder)?;
    let format = paths.iter().find_map(|path| Format::of_extension(path));
    paths.retain(|path| format.is_some() && Format::of_extension(path) == format && is_file(path));
    Ok(paths)
}

fn entries(files: &dyn Files, folder: &Path) -> Result<Vec<PathBuf>> {
    files.entries(folder).map_err(|error| Error::io(format!("reading the folder {}", folder.display()), &error))
}

fn is_folder(files: &dyn Files, path: &Path) -> bool {
    files.metadata(path).is_ok_and(|found| found.kind == FileKind::Folder)
}

/// Returns true if a file's name has one of these extensions.
pub(crate) fn has_extension(path: &Path, extensions: &[&str]) -> bool {
    let extension = name_of(path).extension().and_then(|extension| extension.to_str()).map(str::to_lowercase);
    extension.is_some_and(|extension| extensions.contains(&extension.as_str()))
}

/// Returns true if a path is a pattern for several files. A file's name may look like a pattern; web servers can't be
/// searched, and question marks in their URLs have a different meaning.
fn is_pattern(files: &dyn Files, text: &str) -> bool {
    match url_scheme(text) {
        Some("http" | "https") => false,
        Some(_) => is_glob(text),
        None => is_glob(text) && files.metadata(Path::new(text)).is_err(),
    }
}

/// Returns the path if it exists; otherwise an error that names similar files.
fn existing(files: &dyn Files, path: &Path) -> Result<PathBuf> {
    let is_url = path.to_str().is_some_and(|text| url_scheme(text).is_some());
    let error = match files.metadata(path) {
        Ok(_) => return Ok(path.to_owned()),
        Err(error) if is_url && error.kind() != io::ErrorKind::NotFound => {
            return Err(Error::io(format!("opening {}", path.display()), &error));
        }
        Err(_) => Error::user(format!("there is no file {}", path.display())),
    };
    if is_url {
        return Err(error.with_hint("check the URL; names of buckets and objects are case-sensitive"));
    }
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if !is_folder(files, parent) {
        return Err(error.with_hint(format!("there is no folder {} either", parent.display())));
    }
    let wanted = path.file_name().map(|name| name.to_string_lossy().to_lowercase()).unwrap_or_default();
    let names = entries(files, parent)?.into_iter().filter_map(|path| Some(path.file_name()?.to_str()?.to_owned()));
    let near = names
        .map(|name| (strsim::jaro_winkler(&name.to_lowercase(), &wanted), name))
        .filter(|(similarity, _)| *similarity >= SIMILARITY_MIN)
        .max_by(|a, b| a.0.total_cmp(&b.0));
    Err(match near {
        Some((_, name)) => error.with_hint(format!("did you mean {}?", parent.join(name).display())),
        None => error.with_hint("check the path; relative ones start at the current folder"),
    })
}

fn version(files: &dyn Files, path: &Path) -> Result<Version> {
    let found = files.metadata(path).map_err(|error| Error::io(format!("opening {}", path.display()), &error))?;
    let is_stream = found.kind == FileKind::Stream;
    let (path, identity) = (path.to_owned(), found.identity);
    Ok(Version { path, bytes: found.bytes, modified: found.modified, identity, is_stream })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
    use godwit_common::ErrorKind;
    use godwit_io::DiskSystem;
    use godwit_memory::BufferConfig;
    use parquet::arrow::ArrowWriter;

    use super::*;

    fn write(path: &Path, columns: Vec<(&str, ArrayRef)>) {
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        let mut writer = ArrowWriter::try_new(fs::File::create(path).unwrap(), batch.schema(), None).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
    }

    fn integers(count: i64) -> ArrayRef {
        Arc::new((0..count).collect::<Int64Array>())
    }

    fn resolver() -> FileResolver {
        FileResolver::new(Arc::new(DiskSystem), BufferManager::new(BufferConfig::new(64 << 20)).unwrap())
    }

    #[test]
    fn files_and_globs_are_tables_and_footers_are_remembered() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        write(&path("a.parquet"), vec![("x", integers(3)), ("y", integers(3))]);
        write(&path("b.parquet"), vec![("y", integers(4)), ("x", integers(4))]);
        let resolver = resolver();
        let resolve = |path: PathBuf| resolver.resolve_path(path.to_str().unwrap()).unwrap().unwrap();
        let table = resolve(path("*.parquet"));
        assert_eq!((table.statistics.rows, table.schema.field(0).name().as_str()), (7, "x"));
        assert!(Arc::ptr_eq(&table, &resolve(path("*.parquet"))));
        write(&path("b.parquet"), vec![("x", integers(5)), ("y", integers(5))]);
        assert_eq!(resolve(path("*.parquet")).statistics.rows, 8);
        assert!(resolver.resolve_path("lineitem").is_none());

        let tables = tables_in(&DiskSystem, directory.path(), &resolver.memory).unwrap();
        assert_eq!(tables.iter().map(|table| table.name.as_str()).collect::<Vec<_>>(), ["a", "b"]);
    }

    #[test]
    fn errors_say_what_is_wrong_and_what_to_do() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        write(&path("lineitem.parquet"), vec![("x", integers(3))]);
        write(&path("other.parquet"), vec![("x", Arc::new(StringArray::from(vec!["a"])))]);
        write(&path("third.parquet"), vec![("z", integers(3))]);
        fs::write(path("text.parquet"), "hello, I am not Parquet").unwrap();
        fs::write(path("empty.parquet"), "").unwrap();
        let whole = fs::read(path("lineitem.parquet")).unwrap();
        fs::write(path("cut.parquet"), &whole[..whole.len() - 20]).unwrap();
        let resolver = resolver();
        let error = |name: &str| {
            let path = path(name);
            resolver.resolve_path(path.to_str().unwrap()).unwrap().expect_err("an error").to_string()
        };
        for (name, expected) in [
            ("linietem.parquet", "did you mean"),
            ("nothing/x.parquet", "there is no folder"),
            ("*.csv", "no file matches"),
            ("[", "is not a valid pattern"),
            ("text.parquet", "is not a Parquet file"),
            ("empty.parquet", "is not a Parquet file"),
            ("cut.parquet", "truncated"),
            ("[lo]*.parquet", "column x is Int64 in the first, Utf8View in the second"),
        ] {
            assert!(error(name).contains(expected), "{name}: {}", error(name));
        }
        let both = ParquetTable::open(vec![path("lineitem.parquet"), path("third.parquet")], &resolver.memory);
        assert!(both.err().expect("columns differ").to_string().contains("only the first has a column x"));
        let folder = ParquetTable::open(vec![directory.path().to_owned()], &resolver.memory);
        assert_eq!(folder.err().map(|error| error.kind()), Some(ErrorKind::User));
    }
}
