//! Statements that change rows: [`godwit_bind`] turns them into plans whose rows are the changes; this module
//! determines the table that they change and its rules.

mod literal_rows;
mod with;

pub(crate) use with::writes;

use std::sync::Arc;

use arrow_schema::{Schema, SchemaRef};
use godwit_bind::{Binder, BoundWrite, Environment, Generation, TargetColumn, TargetKey, WriteTarget};
use godwit_catalog::names::{WrittenName, nearest};
use godwit_catalog::stored::{expression, stored_expression};
use godwit_catalog::{
    CatalogEntry, CheckRule, CopyOption, GeneratedKind, KeyRule, ObjectName, ScannedTable, TableDefinition, TableRules,
    WritableTable, split_name,
};
use godwit_common::{Error, Result};
use godwit_plan::{Plan, Relation, WriteKind};
use godwit_syntax::ast::{self, Ident};
use godwit_vector::sql::type_of_field;

use crate::{ListedRows, Planner, Statement, WriteStatement};

/// A planned change of rows.
#[derive(Debug, Clone)]
pub struct WritePlan {
    /// The table.
    pub table: ObjectName,
    /// Kind of change.
    pub kind: WriteKind,
    /// The rows.
    pub rows: Arc<Plan>,
    /// Names of the CHECK constraints for which the rows have a column.
    pub checks: Vec<String>,
    /// Names of the columns of the RETURNING clause.
    pub returning: Option<Vec<String>>,
}

/// The table that a statement changes.
pub(crate) struct Target {
    pub(crate) name: ObjectName,
    table: Arc<TableDefinition>,
    writable: Arc<dyn WritableTable>,
}

impl Target {
    pub(crate) fn schema(&self) -> &SchemaRef {
        &self.table.schema
    }

    pub(crate) fn rules(&self) -> &TableRules {
        self.writable.rules()
    }

    /// Returns the table's name without its schema.
    pub(crate) fn own_name(&self) -> String {
        split_name(&self.name.name).1
    }

    /// Returns its rows, including computed columns.
    pub(crate) fn relation(&self) -> Result<ScannedTable> {
        ScannedTable::new(self.table.clone())
    }

    /// Returns true if there is such a column, generated or not.
    pub(crate) fn has_column(&self, name: &str) -> bool {
        self.rules().visible(self.schema()).iter().any(|field| field.name().eq_ignore_ascii_case(name))
    }

    /// Returns true for columns whose values are given by statements.
    fn is_given(&self, column: usize) -> bool {
        self.rules().generated_column(self.schema().field(column).name()).is_none()
    }

    /// Returns the position of the column of this name, if statements give its values.
    pub(crate) fn given_position(&self, name: &str) -> Result<usize> {
        match self.rules().generated_column(name) {
            None => self.position(name),
            Some(column) => Err(Error::user(format!("column {} of {} is generated", column.field.name(), self.name))
                .with_hint("leave it out, or write DEFAULT: its values follow from the other columns")),
        }
    }

    /// Returns the position of the column of this name.
    pub(crate) fn position(&self, name: &str) -> Result<usize> {
        let fields = self.schema().fields();
        fields.iter().position(|field| field.name().eq_ignore_ascii_case(name)).ok_or_else(|| {
            let error = Error::user(format!("{} has no column {name}", self.name));
            match nearest(name, fields.iter().map(|field| field.name().as_str())) {
                Some(near) => error.with_hint(format!("did you mean {near}?")),
                None => error,
            }
        })
    }

    /// Returns the positions of the named columns, or of all columns that statements give if none is named. `None` for
    /// a name that the binder will reject.
    fn places(&self, columns: &[Ident]) -> Option<Vec<usize>> {
        match columns {
            [] => Some((0..self.schema().fields().len()).filter(|&at| self.is_given(at)).collect()),
            columns => columns.iter().map(|name| self.given_position(&name.text).ok()).collect(),
        }
    }

    /// Returns the default of a column by rules that the table has or will have; for an identity column, the next
    /// number.
    pub(crate) fn default_in(&self, rules: &TableRules, column: &str) -> Result<Option<ast::Expr>> {
        let identity = rules.generated_column(column).filter(|column| column.kind == GeneratedKind::Identity);
        let text = rules.default_of(column).or(identity.map(|column| column.expression.as_str()));
        text.map(|text| stored_expression(&self.name.database, text)).transpose()
    }

    /// Returns the table as the binder sees it.
    fn bound(&self) -> Result<WriteTarget> {
        let (fields, rules) = (self.schema().fields(), self.rules());
        let column = |field: &arrow_schema::FieldRef| {
            let generated = match rules.generated_column(field.name()) {
                Some(column) if column.kind == GeneratedKind::Stored => {
                    Some(Generation::Stored(expression(&column.expression)?))
                }
                Some(column) if column.kind == GeneratedKind::Identity => Some(Generation::Identity),
                _ => None,
            };
            let default = self.default_in(rules, field.name())?;
            Ok(TargetColumn { name: field.name().clone(), ty: type_of_field(field)?, default, generated })
        };
        let key = |key: &KeyRule| {
            let columns = key.columns.iter().map(|name| self.position(name)).collect::<Result<_>>()?;
            Ok(TargetKey { name: key.name.clone(), columns })
        };
        let check = |check: &CheckRule| Ok((check.name.clone(), expression(&check.condition)?));
        let (schema, own) = split_name(&self.name.name);
        let with_row_ids = ScannedTable::new(self.writable.with_row_ids())?;
        Ok(WriteTarget {
            name: vec![self.name.database.to_string(), schema, own],
            label: self.name.to_string(),
            relation: Arc::new(with_row_ids),
            columns: fields.iter().map(column).collect::<Result<_>>()?,
            keys: rules.keys.iter().map(key).collect::<Result<_>>()?,
            checks: rules.checks.iter().map(check).collect::<Result<_>>()?,
        })
    }
}

impl Planner {
    pub(crate) fn insert(&self, insert: &ast::Insert) -> Result<Statement> {
        let target = self.target(&insert.table)?;
        if let Some((rows, values)) =
            target.places(&insert.columns).and_then(|places| literal_rows::literal_rows(&target, &places, insert))
        {
            let listed = WriteStatement::Listed { table: target.name, rows, columns: ListedRows(values) };
            return Ok(Statement::Write(listed));
        }
        self.planned_insert(insert)
    }

    /// Plans an INSERT, even if its rows are already known.
    pub(crate) fn planned_insert(&self, insert: &ast::Insert) -> Result<Statement> {
        let target = self.target(&insert.table)?;
        self.write(&target, |binder, target| binder.insert(insert, target))
    }

    pub(crate) fn update(&self, update: &ast::Update) -> Result<Statement> {
        let target = self.target(&update.table)?;
        self.write(&target, |binder, target| binder.update(update, target))
    }

    pub(crate) fn delete(&self, delete: &ast::Delete) -> Result<Statement> {
        let target = self.target(&delete.table)?;
        self.write(&target, |binder, target| binder.delete(delete, target))
    }

    pub(crate) fn merge(&self, merge: &ast::Merge) -> Result<Statement> {
        let target = self.target(&merge.table)?;
        self.write(&target, |binder, target| binder.merge_into(merge, target))
    }

    pub(crate) fn truncate(&self, truncate: &ast::Truncate) -> Result<Statement> {
        match &truncate.tables[..] {
            [table] => self.write(&self.target(table)?, |binder, target| binder.truncate(target)),
            _ => Err(Error::unsupported("TRUNCATE of several tables").at_span(truncate.span)),
        }
    }

    /// Plans `COPY table FROM` a file. Text is read as the types of the table.
    pub(crate) fn copy_from(
        &self,
        table: &ast::ObjectName,
        columns: &[Ident],
        path: &str,
        options: &[CopyOption],
    ) -> Result<Statement> {
        let target = self.target(table)?;
        let format = options.iter().find(|option| option.name == "format").and_then(CopyOption::word);
        let format = format.map(str::to_lowercase);
        let is_self_describing = match &format {
            Some(format) => SELF_DESCRIBING.contains(&format.as_str()),
            None => !is_text_file(path),
        };
        let file: Arc<dyn Relation> = match is_self_describing {
            true => {
                if let Some(option) = options.iter().find(|option| option.name != "format") {
                    let error = Error::user(format!("'{path}' is read without the option {}", option.name));
                    return Err(error.with_hint("for CSV and JSON add FORMAT csv or FORMAT json"));
                }
                let unreadable = || {
                    let error = Error::user(format!("'{path}' is not a file that can be read"));
                    Err(error.with_hint("add FORMAT csv, json, parquet or arrow: the name doesn't tell which it is"))
                };
                let is_parquet = || [".parquet", ".parq"].iter().any(|ending| path.to_lowercase().ends_with(ending));
                match format.or_else(|| is_parquet().then(|| "parquet".to_owned())) {
                    Some(format) => {
                        // Folder names tell where the file is, not what it contains.
                        let options = [CopyOption::new("hive_partitioning", "false")];
                        Arc::new(ScannedTable::new(self.resolver.table_of_format(&[path], &format, &options)?)?)
                    }
                    None => self.statement_names().file(path).unwrap_or_else(unreadable)?,
                }
            }
            false => {
                let places: Vec<usize> = match columns {
                    [] => (0..target.schema().fields().len()).filter(|&at| target.is_given(at)).collect(),
                    columns => columns.iter().map(|name| target.position(&name.text)).collect::<Result<_>>()?,
                };
                self.statement_names().check_reject_tables(options)?;
                let filled: Vec<_> = places.iter().map(|&place| target.schema().field(place).clone()).collect();
                let file = self.resolver.text_table(&[path], options, Some(&Schema::new(filled)))?;
                Arc::new(ScannedTable::new(file)?)
            }
        };
        self.write(&target, |binder, target| binder.copy_from(&file, columns, target))
    }

    pub(crate) fn target(&self, name: &ast::ObjectName) -> Result<Target> {
        let written = WrittenName::of(name)?;
        let found = match self.namespace().find(written.parts()) {
            Some((name, _)) => self.target_named(name),
            None => Err(self.unknown_table(&written.to_string())),
        };
        found.map_err(|error| error.at_span(name.span))
    }

    pub(crate) fn target_named(&self, name: ObjectName) -> Result<Target> {
        let table = match self.namespace().get(&name) {
            Some(CatalogEntry::Table(table)) => table,
            Some(CatalogEntry::View(_)) => return Err(Error::user(format!("{name} is a view; rows are in tables"))),
            _ => return Err(self.unknown_table(&name.name)),
        };
        let Some(writable) = table.writable.clone() else {
            return Err(Error::user(format!("{name} is a file: its rows can't be changed"))
                .with_hint("CREATE TABLE makes a table of the database"));
        };
        Ok(Target { name, table, writable })
    }

    /// Returns the statement for a bound write.
    fn write(
        &self,
        target: &Target,
        bind: impl FnOnce(&mut Binder, &WriteTarget) -> Result<BoundWrite>,
    ) -> Result<Statement> {
        let names = self.statement_names();
        let mut binder = self.binder(&names);
        let BoundWrite { kind, checks, returning } = bind(&mut binder, &target.bound()?)?;
        let rows = self.optimized(binder.plan, &names)?;
        let plan = WritePlan { table: target.name.clone(), kind, rows, checks, returning };
        Ok(Statement::Write(WriteStatement::Planned(plan)))
    }
}

/// Self-describing file formats.
const SELF_DESCRIBING: [&str; 4] = ["parquet", "arrow", "arrows", "feather"];

fn is_text_file(path: &str) -> bool {
    let path = path.to_lowercase();
    [".csv", ".json", ".tsv", ".ndjson", ".txt"].iter().any(|ending| path.contains(ending))
}
