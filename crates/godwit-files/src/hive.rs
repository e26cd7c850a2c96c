//! Columns with one value per file: those of folders, as in `sales/year=2024/month=5/x.parquet`, the file's path, and its
//! number.

use std::path::{Component, Path};

use arrow_schema::Field;
use godwit_catalog::{CopyOption, FILE_INDEX, FILE_NAME, hidden_name};
use godwit_common::{Error, Result};
use godwit_pipeline::ScanTask;
use godwit_pipeline::scan_filter::StagePlan;
use godwit_types::{SqlType, Value, format_value, parse_value};
use godwit_vector::sql::vector_of_values;
use godwit_vector::{CHUNK_ROWS, Chunk, ValueRange};

/// Represents NULL in the name of a folder.
const NULL_FOLDER: &str = "__HIVE_DEFAULT_PARTITION__";

/// A column with one value per file.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FileColumn {
    pub name: String,
    pub ty: SqlType,
    /// Values by file.
    pub values: Vec<Value>,
}

/// The user's options for columns that aren't in the files.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct FileColumnOptions {
    /// Name of a column with the path of each row's file.
    pub filename: Option<String>,
    pub hive_partitioning: Option<bool>,
    /// True if there is none, not even a hidden one.
    pub has_none: bool,
}

impl FileColumnOptions {
    /// Applies `filename = …`: whether there is such a column, or its name.
    pub(crate) fn set_filename(&mut self, option: &CopyOption) -> Result<()> {
        self.filename = match option.flag() {
            Ok(true) => Some("filename".to_owned()),
            Ok(false) => None,
            Err(_) => Some(option.text()?.to_owned()),
        };
        Ok(())
    }
}

/// Returns these columns for files with the given fields.
pub(crate) fn file_columns<P: AsRef<Path>>(
    paths: &[P],
    options: &FileColumnOptions,
    fields: &[Field],
) -> Result<Vec<FileColumn>> {
    if options.has_none {
        return Ok(Vec::new());
    }
    let is_known = |name: &str| fields.iter().any(|field| field.name().eq_ignore_ascii_case(name));
    let mut columns = Vec::new();
    let names = || paths.iter().map(|path| Value::text(path.as_ref().display().to_string())).collect();
    if let Some(name) = &options.filename {
        if is_known(name) {
            return Err(Error::user(format!("the files have a column {name} of their own"))
                .with_hint("give the column of paths another name: filename = 'path'"));
        }
        columns.push(FileColumn { name: name.clone(), ty: SqlType::Varchar, values: names() });
    }
    let of_folders = partitions(paths, options.hive_partitioning)?;
    columns.extend(of_folders.into_iter().filter(|column| !is_known(&column.name)));
    if options.filename.is_none() {
        columns.push(FileColumn { name: FILE_NAME.to_owned(), ty: SqlType::Varchar, values: names() });
    }
    let numbers = (0..paths.len() as u64).map(|number| Value::Integer(number.into())).collect();
    columns.push(FileColumn { name: FILE_INDEX.to_owned(), ty: SqlType::UBigInt, values: numbers });
    Ok(columns)
}

/// Returns for each of several files whether a scan may find rows in it, by filters that need nothing but columns with one
/// value per file. The first of these is the table's column `first`.
pub(crate) fn wanted_files(task: &ScanTask, columns: &[FileColumn], first: usize, files: usize) -> Result<Vec<bool>> {
    let mut is_wanted = vec![true; files];
    let column = |at: usize| at.checked_sub(first).and_then(|at| columns.get(at));
    for stage in &task.stages {
        let StagePlan::Predicate { columns: needed, predicate, can_fail: false, .. } = stage else { continue };
        let Some(needed) = needed.iter().map(|&at| column(at)).collect::<Option<Vec<_>>>() else { continue };
        let mut worker = predicate.worker();
        for begin in (0..files).step_by(CHUNK_ROWS) {
            let end = files.min(begin + CHUNK_ROWS);
            let values = needed.iter().map(|column| vector_of_values(&column.values[begin..end], &column.ty));
            let chunk = Chunk::new(values.collect::<Result<_>>()?, end - begin);
            if let Some(rows) = worker.rows(&chunk)? {
                let mut passed = vec![false; end - begin];
                rows.iter().for_each(|&row| passed[row as usize] = true);
                is_wanted[begin..end].iter_mut().zip(passed).for_each(|(wanted, passed)| *wanted &= passed);
            }
        }
    }
    for (at, range) in task.request.pruning().key_ranges {
        let Some(column) = column(at) else { continue };
        is_wanted.iter_mut().zip(&column.values).for_each(|(wanted, value)| *wanted &= may_be_in(value, range));
    }
    if files > 1 {
        let read = is_wanted.iter().filter(|wanted| **wanted).count();
        task.metrics.note("files", format!("{read} of {files}"));
    }
    Ok(is_wanted)
}

/// Returns true unless a value isn't one of the keys that a join looks for.
fn may_be_in(value: &Value, range: ValueRange) -> bool {
    match value {
        Value::Null => false,
        value => value.as_integer().is_none_or(|value| range.min <= value && value <= range.max),
    }
}

/// Returns the name of a column as it is shown.
pub(crate) fn shown_name(name_in_schema: &str) -> &str {
    hidden_name(name_in_schema).unwrap_or(name_in_schema)
}

/// Types for values of folders, the narrowest first.
const TYPES: [SqlType; 3] = [SqlType::BigInt, SqlType::Date, SqlType::Timestamp];

/// Returns the columns of the folders of some files. `wanted` is the user's choice; without one, there are such columns
/// if all files have the same.
fn partitions<P: AsRef<Path>>(paths: &[P], wanted: Option<bool>) -> Result<Vec<FileColumn>> {
    if wanted == Some(false) {
        return Ok(Vec::new());
    }
    let of_files: Vec<Vec<(String, String)>> = paths.iter().map(|path| folders(path.as_ref())).collect();
    let names = |folders: &[(String, String)]| folders.iter().map(|(name, _)| name.to_lowercase()).collect::<Vec<_>>();
    let first = of_files.first().map(|folders| names(folders)).unwrap_or_default();
    if let Some(other) = of_files.iter().position(|folders| names(folders) != first) {
        return match wanted {
            Some(true) => Err(Error::user(format!(
                "{} and {} are in folders of different keys",
                paths[0].as_ref().display(),
                paths[other].as_ref().display()
            ))
            .with_hint(
                "the folders of all files have the same keys, as in year=2024/month=5; or hive_partitioning = false",
            )),
            _ => Ok(Vec::new()),
        };
    }
    let columns = (0..first.len()).map(|place| {
        let texts: Vec<&str> = of_files.iter().map(|folders| folders[place].1.as_str()).collect();
        let value = |text: &str, ty: &SqlType| match text {
            NULL_FOLDER => Some(Value::Null),
            // Names such as `infinity` stay texts.
            text if *ty != SqlType::Varchar
                && !text.starts_with(|first: char| first == '-' || first.is_ascii_digit()) =>
            {
                None
            }
            // Nothing of the text may be lost, as the time of day is in a DATE.
            text => parse_value(text, ty).ok().filter(|value| is_written_as(value, ty, text)),
        };
        let fits = |ty: &&SqlType| texts.iter().all(|text| !begins_with_zero(text) && value(text, ty).is_some());
        let ty = TYPES.iter().find(fits).cloned().unwrap_or(SqlType::Varchar);
        let values = texts.iter().map(|text| value(text, &ty).unwrap_or(Value::Null)).collect();
        FileColumn { name: of_files[0][place].0.clone(), ty, values }
    });
    Ok(columns.collect())
}

/// Returns true if a value parsed from the text has all of it. There are many ways to write a TIMESTAMP, but it has no
/// place for less than a date and a time.
fn is_written_as(value: &Value, ty: &SqlType, text: &str) -> bool {
    match ty {
        SqlType::Timestamp => text.len() > "2020-01-01".len(),
        _ => format_value(value, ty) == text,
    }
}

/// Returns true for numbers with leading zeros, which are names.
fn begins_with_zero(text: &str) -> bool {
    text.len() > 1 && text.starts_with('0') && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns keys and values of the folders that contain a file.
fn folders(path: &Path) -> Vec<(String, String)> {
    let folders = path.parent().into_iter().flat_map(Path::components).filter_map(|component| match component {
        Component::Normal(name) => name.to_str()?.split_once('='),
        _ => None,
    });
    folders.filter(|(key, _)| !key.is_empty()).map(|(key, value)| (unescaped(key), unescaped(value))).collect()
}

/// Decodes text with `%41` for some characters.
fn unescaped(text: &str) -> String {
    let (mut bytes, mut rest) = (Vec::with_capacity(text.len()), text.as_bytes());
    while let Some((&first, behind)) = rest.split_first() {
        let code = behind.get(..2).and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok());
        let (byte, length) = if let (b'%', Some(code)) = (first, code) { (code, 3) } else { (first, 1) };
        bytes.push(byte);
        rest = &rest[length..];
    }
    String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned())
}

/// Returns the name of a folder for a value; characters that paths can't have are escaped.
pub(crate) fn folder(name: &str, value: Option<&str>) -> String {
    let escaped = |text: &str| {
        let mut escaped = String::with_capacity(text.len());
        for byte in text.chars() {
            match byte {
                '/' | '\\' | '=' | '%' | ':' | '*' | '?' | '"' | '<' | '>' | '|' | '#' | '[' | ']' | '\0'..='\x1f' => {
                    escaped.push_str(&format!("%{:02X}", u32::from(byte)));
                }
                plain => escaped.push(plain),
            }
        }
        escaped
    };
    format!("{}={}", escaped(name), value.map_or_else(|| NULL_FOLDER.to_owned(), escaped))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_columns() {
        let paths = ["t/y=2024/m=05/city=New%20York/a.csv", "t/y=2025/m=11/city=__HIVE_DEFAULT_PARTITION__/b.csv"];
        let columns = partitions(&paths, None).unwrap();
        let types: Vec<_> = columns.iter().map(|column| (column.name.as_str(), column.ty.clone())).collect();
        assert_eq!(types, [("y", SqlType::BigInt), ("m", SqlType::Varchar), ("city", SqlType::Varchar)]);
        assert_eq!(columns[2].values, [Value::text("New York"), Value::Null]);
        let mixed = ["t/y=1/a.csv", "t/b.csv"];
        assert_eq!(partitions(&mixed, None).unwrap(), []);
        assert!(partitions(&mixed, Some(true)).unwrap_err().to_string().contains("different keys"));
        assert_eq!(partitions(&paths, Some(false)).unwrap(), []);
        let name = folder("a b", Some("x/y=é%"));
        assert_eq!(name, "a b=x%2Fy%3Dé%25");
        assert_eq!(folders(Path::new(&name).join("f").as_path()), [("a b".to_owned(), "x/y=é%".to_owned())]);
    }
}
