//! `EXPORT DATABASE`, `IMPORT DATABASE`: the current database as a folder of files in common formats.
//!
//! ```text
//!   schema.sql         CREATE SCHEMA, TYPE, MACRO, SEQUENCE, TABLE, INDEX, VIEW; COMMENT ON
//!   load.sql           COPY … FROM, for each table
//!   s_t.parquet        the rows of s.t
//! ```
//!
//! An export is a snapshot. An import is a transaction, or part of the one that is open.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use godwit_catalog::{CopyOption, OptionValue, literal_text, quoted_text, split_name, sql_of_name};
use godwit_common::{Error, Result};
use godwit_files::{OutputFile, check_reachable};
use godwit_io::Files;
use godwit_sql::{ParsedStatement, Planner, TransactionStep};

use crate::connection::Inner;
use crate::prepared::ParameterValues;
use crate::result::QueryResult;

const SCHEMA_FILE: &str = "schema.sql";
const LOAD_FILE: &str = "load.sql";

/// Text for NULL in CSV, distinct from an empty string.
const CSV_NULL: &str = "\\N";

/// Maximum number of characters of a table's name in the name of its file.
const FILE_NAME_CHARACTERS_MAX: usize = 100;

impl Inner {
    /// Exports the current database, as the planner sees it, to a folder.
    pub(crate) fn export(
        &self,
        sql: &str,
        planner: &Planner,
        folder: &str,
        options: &[CopyOption],
    ) -> Result<QueryResult> {
        let script = planner.export_script()?;
        let (format, options) = with_format(options);
        let files = &*self.database.0.files;
        check_reachable(files, folder)?;
        let folder = Path::new(folder);
        files
            .create_folder(folder)
            .map_err(|error| Error::io(format!("making the folder {}", folder.display()), &error))?;
        let database = planner.namespace().current().database.clone();
        let (mut load, mut names) = (Vec::new(), BTreeSet::new());
        for table in &script.tables {
            let path = folder.join(file_name(&table.name, &format, &mut names));
            let path = path.to_string_lossy();
            let columns = table.columns.iter().map(|name| quoted_text(name)).collect::<Vec<_>>().join(", ");
            let exported = table.columns.iter().map(|name| match table.with_intervals.contains(name) {
                true if format == "parquet" => format!("CAST({0} AS VARCHAR) AS {0}", quoted_text(name)),
                _ => quoted_text(name),
            });
            let exported = exported.collect::<Vec<_>>().join(", ");
            let of_table = sql_of_name(&table.name);
            let query = format!("SELECT {exported} FROM {}.{of_table}", quoted_text(&database));
            let plan = planner.plan_copy(&query, &path, &options)?;
            let written = self.copy(sql, &plan, &ParameterValues::default(), &path, &options, None)?;
            written.into_iter().try_for_each(|batch| batch.map(drop))?;
            load.push(format!("COPY {of_table} ({columns}) FROM {} ({})", literal_text(&path), text_of(&options)));
        }
        write(files, &folder.join(SCHEMA_FILE), &script.definitions)?;
        write(files, &folder.join(LOAD_FILE), &load)?;
        Ok(QueryResult::empty())
    }

    /// Runs the scripts of an export.
    pub(crate) fn import(self: &Arc<Self>, folder: &str) -> Result<()> {
        let folder = Path::new(folder);
        let read = |file: &str| {
            let path = folder.join(file);
            let mut text = String::new();
            let input = self.database.0.files.open(&path);
            let read = input.and_then(|input| input.reader().read_to_string(&mut text));
            read.map(|_| text).map_err(|error| Error::io(format!("reading {}", path.display()), &error))
        };
        let (definitions, load) = (read(SCHEMA_FILE)?, read(LOAD_FILE)?);
        let planner = &self.database.0.planner;
        let mut statements = planner.parse(&definitions)?;
        statements.extend(planner.parse(&load)?);
        statements.iter_mut().for_each(|statement| statement.move_files_to(folder));
        let path = self.session().own().path;
        let ran = self.run_together(&statements);
        // The script changes the search path.
        self.session().change(|own| own.path = path);
        ran
    }

    /// Runs statements in the open transaction, or in their own: all or nothing.
    pub(crate) fn run_together(self: &Arc<Self>, statements: &[ParsedStatement]) -> Result<()> {
        let begins = !self.transaction.is_open();
        if begins {
            self.transaction_step(&TransactionStep::Begin { is_read_only: false })?;
        }
        let mut statements = statements.iter();
        let ran = statements.try_for_each(|statement| self.run(statement)?.try_for_each(|batch| batch.map(drop)));
        match (begins, ran) {
            (true, Ok(())) => self.transaction_step(&TransactionStep::Commit),
            (true, Err(error)) => {
                self.transaction.clear();
                Err(error)
            }
            (false, ran) => {
                if ran.is_err() {
                    self.transaction.abort();
                }
                ran
            }
        }
    }
}

/// Returns the format, and the COPY options that it implies.
fn with_format(options: &[CopyOption]) -> (String, Vec<CopyOption>) {
    let given = options.iter().find(|option| option.name == "format").and_then(CopyOption::word);
    let format = given.map_or("parquet".to_owned(), str::to_lowercase);
    let mut all = vec![CopyOption::new("format", &format)];
    let is_given = |name: &str| options.iter().any(|option| option.name == name);
    if format == "csv" {
        let defaults = [CopyOption::new("header", "true"), CopyOption::new("null", CSV_NULL)];
        all.extend(defaults.into_iter().filter(|option| !is_given(&option.name)));
    }
    all.extend(options.iter().filter(|option| option.name != "format").cloned());
    (format, all)
}

/// Returns options in the syntax of COPY.
fn text_of(options: &[CopyOption]) -> String {
    let list = |texts: &[String]| texts.iter().map(|text| literal_text(text)).collect::<Vec<_>>().join(", ");
    let one = |option: &CopyOption| match &option.value {
        OptionValue::Text(value) => format!("{} {}", option.name, literal_text(value)),
        OptionValue::List(values) => format!("{} ({})", option.name, list(values)),
        OptionValue::Fields(_) | OptionValue::Absent => option.name.clone(),
    };
    // Self-describing files are read without options.
    let is_format = |option: &CopyOption| option.name == "format";
    let format = options.iter().find(|option| is_format(option)).and_then(CopyOption::word);
    let takes_options = !matches!(format, Some("parquet" | "arrow" | "arrows" | "feather"));
    let kept = options.iter().filter(|option| takes_options || is_format(option));
    kept.map(one).collect::<Vec<_>>().join(", ")
}

/// Returns a name for a table's file that no other file has.
fn file_name(full: &str, format: &str, taken: &mut BTreeSet<String>) -> PathBuf {
    let (schema, name) = split_name(full);
    let plain = |character: char| if character.is_alphanumeric() || character == '-' { character } else { '_' };
    let stem: String = format!("{schema}_{name}").chars().take(FILE_NAME_CHARACTERS_MAX).map(plain).collect();
    let mut candidate = format!("{stem}.{format}");
    let mut number = 1;
    while !taken.insert(candidate.to_lowercase()) {
        number += 1;
        candidate = format!("{stem}_{number}.{format}");
    }
    candidate.into()
}

fn write(files: &dyn Files, path: &Path, statements: &[String]) -> Result<()> {
    let lines: String = statements.iter().map(|statement| format!("{statement};\n")).collect();
    let mut file = OutputFile::create(files, &path.to_string_lossy())?;
    file.write_all(lines.as_bytes()).map_err(|error| Error::io(format!("writing {}", path.display()), &error))?;
    file.commit()
}
