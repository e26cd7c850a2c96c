//! Information about files as tables: `glob`, `read_text`, `read_blob`, `sniff_csv`, `parquet_metadata` and its
//! variants.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{Schema, SchemaRef};
use godwit_catalog::{Argument, CopyOption, OptionValue, TableDefinition, TableFunction, TableFunctions, paths_of};
use godwit_common::{Error, Result};
use godwit_exec::ComputedTable;
use godwit_files::{FileFacts, FileResolver, Takes};
use godwit_types::Value;
use godwit_vector::sql::{array_of_values, field_of};

pub(super) fn functions(resolver: &Arc<FileResolver>) -> TableFunctions {
    let contents = |is_text| Arc::new(ContentsFunction { resolver: resolver.clone(), is_text });
    let functions = TableFunctions::default()
        .with("read_text", "Files as texts: their names, contents, sizes and times of change", contents(true))
        .with("read_blob", "Files as BLOBs: their names, contents, sizes and times of change", contents(false));
    FileFacts::ALL.iter().fold(functions, |functions, facts| {
        functions.with(facts.name, facts.description, Arc::new(FactsFunction { resolver: resolver.clone(), facts }))
    })
}

/// Function that returns files as values.
struct ContentsFunction {
    resolver: Arc<FileResolver>,
    is_text: bool,
}

impl TableFunction for ContentsFunction {
    fn arguments(&self) -> &'static str {
        "paths"
    }

    fn table(&self, name: &str, arguments: &[Argument]) -> Result<Arc<TableDefinition>> {
        let (paths, _) = paths_and_options(name, arguments, false)?;
        self.resolver.contents(name, &texts(&paths), self.is_text)
    }
}

/// Function that returns a few rows about each file.
struct FactsFunction {
    resolver: Arc<FileResolver>,
    facts: &'static FileFacts,
}

impl TableFunction for FactsFunction {
    fn arguments(&self) -> &'static str {
        match self.facts.takes {
            Takes::Table => "table",
            Takes::Paths => "paths",
            Takes::PathsAndOptions => "paths, option = value, …",
        }
    }

    fn table(&self, name: &str, arguments: &[Argument]) -> Result<Arc<TableDefinition>> {
        let (paths, options) = match self.facts.takes {
            Takes::Table if arguments.is_empty() => (Vec::new(), Vec::new()),
            Takes::Table => (vec![table_name(name, arguments)?], Vec::new()),
            takes => paths_and_options(name, arguments, takes == Takes::PathsAndOptions)?,
        };
        let columns = self.facts.columns();
        let fields = columns.iter().map(|(name, ty)| field_of(*name, ty, true)).collect::<Result<Vec<_>>>()?;
        let schema: SchemaRef = Arc::new(Schema::new(fields));
        let (resolver, facts, of_batch) = (self.resolver.clone(), self.facts, schema.clone());
        ComputedTable::definition(name, &schema, move || {
            let rows = facts.rows(&resolver, &texts(&paths), &options)?;
            let array = |(at, (_, ty)): (usize, &(&str, _))| {
                let values: Vec<Value> = rows.iter().map(|row| row[at].clone()).collect();
                array_of_values(&values, ty)
            };
            let arrays = columns.iter().enumerate().map(array).collect::<Result<Vec<_>>>()?;
            RecordBatch::try_new(of_batch.clone(), arrays).map_err(|error| Error::internal(error.to_string()))
        })
    }
}

/// Returns the only argument, a name.
fn table_name(function: &str, arguments: &[Argument]) -> Result<String> {
    match arguments {
        [Argument { name: None, value: Value::Text(table), .. }] => Ok(table.to_string()),
        _ => Err(Error::user(format!("{function} takes at most the name of a table in quotes"))),
    }
}

fn texts(paths: &[String]) -> Vec<&str> {
    paths.iter().map(String::as_str).collect()
}

/// Splits arguments into the leading paths, and options by name.
fn paths_and_options(
    name: &str,
    arguments: &[Argument],
    takes_options: bool,
) -> Result<(Vec<String>, Vec<CopyOption>)> {
    let usage = || {
        let more = if takes_options { ", then options" } else { "" };
        Error::user(format!("{name} takes a path in quotes or a list of paths{more}"))
    };
    let [Argument { name: None, value, .. }, options @ ..] = arguments else { return Err(usage()) };
    let paths = paths_of(value).ok_or_else(usage)?.into_iter().map(str::to_owned).collect();
    let option = |given: &Argument| {
        let option = given.name.clone().filter(|_| takes_options).ok_or_else(usage)?;
        let value = OptionValue::of(&option, &given.value, &given.ty)?;
        Ok(CopyOption { name: option, value })
    };
    Ok((paths, options.iter().map(option).collect::<Result<_>>()?))
}
