//! Facts about files as rows: `glob(…)`, `parquet_metadata(…)`, `sniff_csv(…)`; and their whole content:
//! `read_text(…)`.

mod contents;
mod parquet;

use godwit_catalog::CopyOption;
use godwit_common::Result;
use godwit_types::{SqlType, Value};

pub(crate) use contents::ContentsTable;

use crate::resolver::FileResolver;
use crate::text;

/// Names and types of columns.
pub(crate) type Columns = Vec<(&'static str, SqlType)>;

type Rows = fn(&FileResolver, &[&str], &[CopyOption]) -> Result<Vec<Vec<Value>>>;

/// The arguments of a function about files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takes {
    /// At most the name of a table of rejected rows.
    Table,
    /// Paths and patterns.
    Paths,
    /// Paths and patterns, then options of CSV.
    PathsAndOptions,
}

/// A table function with facts about files, a few rows for each.
pub struct FileFacts {
    /// Its name.
    pub name: &'static str,
    /// Its rows, in a sentence without a subject.
    pub description: &'static str,
    /// Its arguments.
    pub takes: Takes,
    columns: fn() -> Columns,
    rows: Rows,
}

impl FileFacts {
    /// All of these functions.
    pub const ALL: &'static [FileFacts] = &[
        FileFacts {
            name: "glob",
            description: "The files that match patterns",
            takes: Takes::Paths,
            columns: || vec![("file", SqlType::Varchar)],
            rows: glob,
        },
        of_parquet(
            "parquet_schema",
            "The fields of the schemas of Parquet files",
            parquet::schema_columns,
            parquet::schema,
        ),
        of_parquet(
            "parquet_metadata",
            "The columns of the row groups of Parquet files: sizes, encodings, statistics",
            parquet::chunk_columns,
            parquet::chunks,
        ),
        of_parquet(
            "parquet_file_metadata",
            "Parquet files: their rows, row groups and who wrote them",
            parquet::file_columns,
            parquet::files,
        ),
        of_parquet(
            "parquet_kv_metadata",
            "The keys and values in the footers of Parquet files",
            parquet::key_value_columns,
            parquet::key_values,
        ),
        FileFacts {
            name: "sniff_csv",
            description: "The form that is found out of a CSV file: separator, quotes, header, types",
            takes: Takes::PathsAndOptions,
            columns: text::sniffed_columns,
            rows: sniff_csv,
        },
        FileFacts {
            name: "godwit_reject_errors",
            description: "The errors of lines that were left out of text files with store_rejects",
            takes: Takes::Table,
            columns: text::error_columns,
            rows: |resolver, tables, _| Ok(resolver.rejects().error_rows(tables.first().copied())),
        },
        FileFacts {
            name: "godwit_reject_scans",
            description: "The scans of text files with store_rejects, and the form in which they were read",
            takes: Takes::Table,
            columns: text::scan_columns,
            rows: |resolver, tables, _| Ok(resolver.rejects().scan_rows(tables.first().copied())),
        },
    ];

    /// Names and types of its columns.
    pub fn columns(&self) -> Vec<(&'static str, SqlType)> {
        (self.columns)()
    }

    /// Returns the rows about the files of some paths and patterns, in their current state.
    pub fn rows(&self, resolver: &FileResolver, paths: &[&str], options: &[CopyOption]) -> Result<Vec<Vec<Value>>> {
        (self.rows)(resolver, paths, options)
    }
}

const fn of_parquet(name: &'static str, description: &'static str, columns: fn() -> Columns, rows: Rows) -> FileFacts {
    FileFacts { name, description, takes: Takes::Paths, columns, rows }
}

fn glob(resolver: &FileResolver, patterns: &[&str], _options: &[CopyOption]) -> Result<Vec<Vec<Value>>> {
    let paths = resolver.matching(patterns)?;
    Ok(paths.iter().map(|path| vec![Value::text(path.display().to_string())]).collect())
}

fn sniff_csv(resolver: &FileResolver, paths: &[&str], options: &[CopyOption]) -> Result<Vec<Vec<Value>>> {
    resolver.sniffed(paths, options)
}
