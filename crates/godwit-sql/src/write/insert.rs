//! `INSERT`, `COPY … FROM`.

use std::sync::Arc;

use arrow_schema::Schema;
use datafusion_common::{Column, TableReference};
use datafusion_expr::{Expr, LogicalPlan, LogicalPlanBuilder, TableSource};
use datafusion_sql::sqlparser::ast::{self, Ident, OnInsert, SelectItem, SetExpr};
use godwit_common::{Error, Result};

use super::literal_rows::literal_rows;
use super::{PLACE, ROWS, Target, WriteKind, is_default, named, quoted, select, table, typed};
use crate::binder::PlanSource;
use crate::copy::CopyFrom;
use crate::names::{WrittenName, simple_name};
use crate::parse::{Syntax, desugar};
use crate::table::ScanSource;
use crate::{ListedRows, ParsedStatement, Planner, Statement, plan_error};

/// What an INSERT has besides a table, columns and rows.
#[derive(Debug, Clone, Default)]
pub(crate) struct InsertClauses {
    pub alias: Option<Ident>,
    pub on: Option<OnInsert>,
    pub returning: Option<Vec<SelectItem>>,
    /// It is a COPY, which may give identity columns their values.
    pub is_copy: bool,
}

/// The syntax of an INSERT statement.
pub(crate) fn syntax(insert: ast::Insert) -> Result<Syntax> {
    let ast::TableObject::TableName(name) = &insert.table else {
        return Err(Error::unsupported("INSERT into something else than a table"));
    };
    let has_more = insert.or.is_some()
        || insert.overwrite
        || insert.replace_into
        || !insert.assignments.is_empty()
        || insert.partitioned.is_some();
    if has_more {
        return Err(Error::unsupported("INSERT with OR, OVERWRITE, SET or PARTITION")
            .with_hint("ON CONFLICT says what happens to keys that are there"));
    }
    let table = WrittenName::of(name)?;
    let columns = insert.columns.iter().map(simple_name).collect::<Result<_>>()?;
    let source = match insert.source {
        Some(mut source) => {
            desugar(&mut source)?;
            Some(source)
        }
        None => None,
    };
    let alias = insert.table_alias.map(|alias| alias.alias);
    let clauses = Box::new(InsertClauses { alias, on: insert.on, returning: insert.returning, is_copy: false });
    Ok(Syntax::Insert { table, columns, source, clauses })
}

impl Planner {
    pub(crate) fn insert(
        &self,
        name: &WrittenName,
        columns: &[String],
        source: Option<&ast::Query>,
        clauses: &InsertClauses,
        parsed: &ParsedStatement,
    ) -> Result<Statement> {
        let target = self.target(name, clauses.alias.clone())?;
        if let (Some(source), None, None) = (source, &clauses.on, &clauses.returning)
            && let Some((rows, values)) = literal_rows(&target, &places_of(&target, columns, clauses.is_copy)?, source)
        {
            return Ok(Statement::InsertRows { table: target.name, rows, columns: ListedRows(values) });
        }
        let rows = self.inserted_rows(&target, columns, source, clauses.is_copy, parsed)?;
        let returning = clauses.returning.as_deref();
        match &clauses.on {
            None => self.write(&target, WriteKind::Insert, rows, returning, parsed),
            Some(on) => self.upsert(&target, rows, on, returning, parsed),
        }
    }

    /// The rows to insert, with all columns of the table.
    fn inserted_rows(
        &self,
        target: &Target,
        columns: &[String],
        source: Option<&ast::Query>,
        is_copy: bool,
        parsed: &ParsedStatement,
    ) -> Result<LogicalPlan> {
        let places: Vec<usize> = match (columns, source) {
            ([], None) => Vec::new(),
            _ => places_of(target, columns, is_copy)?,
        };
        let bound = match source {
            None => LogicalPlanBuilder::empty(true).build().map_err(|error| plan_error::of_planning(&error, parsed))?,
            Some(source) => {
                let mut source = source.clone();
                replace_defaults(target, &places, &mut source)?;
                self.bound(&source, parsed)?.0
            }
        };
        self.arranged(target, &places, bound, parsed)
    }

    /// `COPY table FROM` a text file, which is read as the types of the table.
    pub(crate) fn copy_from(&self, copy: &CopyFrom, parsed: &ParsedStatement) -> Result<Statement> {
        let target = self.target(&copy.table, None)?;
        let places = places_of(&target, &copy.columns, true)?;
        let fields: Vec<_> = places.iter().map(|&place| target.schema().field(place).clone()).collect();
        let file = self.resolver.text_table(&copy.path, &copy.options, Some(&Schema::new(fields)))?;
        let source: Arc<dyn TableSource> = Arc::new(ScanSource::new(file));
        let bound =
            LogicalPlanBuilder::scan(TableReference::bare(ROWS), source, None).and_then(LogicalPlanBuilder::build);
        let bound = bound.map_err(|error| plan_error::of_planning(&error, parsed))?;
        let rows = self.arranged(&target, &places, bound, parsed)?;
        self.write(&target, WriteKind::Insert, rows, None, parsed)
    }

    /// The rows of a plan, whose columns are those at `places`, with all columns of the table.
    fn arranged(
        &self,
        target: &Target,
        places: &[usize],
        bound: LogicalPlan,
        parsed: &ParsedStatement,
    ) -> Result<LogicalPlan> {
        let fields = target.schema().fields();
        // By column of the table: which of the source's it is.
        let mut sources = vec![None; fields.len()];
        for (at, &place) in places.iter().enumerate() {
            if sources[place].replace(at).is_some() {
                return Err(Error::user(format!("column {} is named twice", fields[place].name())));
            }
        }
        let given = bound.schema().columns();
        if given.len() != places.len() {
            let message = format!("{} gets {} columns, the rows have {}", target.name, places.len(), given.len());
            return Err(Error::user(message).with_hint("name the columns: INSERT INTO t (a, b) ..."));
        }
        let rows = match places.len() == fields.len() {
            true => in_order(bound, &given, &sources).map_err(|error| plan_error::of_planning(&error, parsed))?,
            false => self.with_defaults(target, bound, &given, &sources, parsed)?,
        };
        typed(target, WriteKind::Insert, rows, parsed)
    }

    /// The source's columns where there is one for a column of the table, defaults where there is none.
    fn with_defaults(
        &self,
        target: &Target,
        bound: LogicalPlan,
        given: &[Column],
        sources: &[Option<usize>],
        parsed: &ParsedStatement,
    ) -> Result<LogicalPlan> {
        let place = |at: usize| format!("{PLACE}{at}");
        let renamed = given.iter().enumerate().map(|(at, column)| Expr::Column(column.clone()).alias(place(at)));
        let renamed = match given {
            [] => Ok(bound),
            _ => LogicalPlanBuilder::from(bound).project(renamed).and_then(LogicalPlanBuilder::build),
        };
        let renamed = renamed.map_err(|error| plan_error::of_planning(&error, parsed))?;
        let mut items = Vec::new();
        for (column, source) in sources.iter().enumerate() {
            let value = match source {
                Some(at) => ast::Expr::Identifier(quoted(&place(*at))),
                None => target.default_of(column)?,
            };
            items.push(named(value, target.schema().field(column).name()));
        }
        let from = match given {
            [] => Vec::new(),
            _ => vec![table(ROWS, &quoted(ROWS))?],
        };
        let source: Arc<dyn TableSource> = Arc::new(PlanSource::new(renamed));
        Ok(self.bound_with(select(items, from, None)?, vec![(ROWS.to_owned(), source)], parsed)?.0)
    }
}

/// Which columns of the table are named; all that aren't generated if none is.
fn places_of(target: &Target, columns: &[String], is_copy: bool) -> Result<Vec<usize>> {
    match columns {
        [] => Ok((0..target.schema().fields().len()).filter(|&at| target.is_given(at)).collect()),
        columns => columns
            .iter()
            .map(|name| match is_copy && target.is_identity(name) {
                true => target.position(name),
                false => target.given_position(name),
            })
            .collect(),
    }
}

/// The columns of a plan in the order of the table's.
fn in_order(plan: LogicalPlan, given: &[Column], sources: &[Option<usize>]) -> datafusion_common::Result<LogicalPlan> {
    if sources.iter().copied().eq((0..given.len()).map(Some)) {
        return Ok(plan);
    }
    let ordered = sources.iter().flatten().map(|&at| Expr::Column(given[at].clone()));
    LogicalPlanBuilder::from(plan).project(ordered)?.build()
}

/// Replaces the word DEFAULT in a list of VALUES.
fn replace_defaults(target: &Target, places: &[usize], source: &mut ast::Query) -> Result<()> {
    let SetExpr::Values(values) = source.body.as_mut() else { return Ok(()) };
    for row in &mut values.rows {
        for (value, &place) in row.content.iter_mut().zip(places) {
            if is_default(value) {
                *value = target.default_of(place)?;
            }
        }
    }
    Ok(())
}
