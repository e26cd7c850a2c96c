//! Statements that change rows, as queries whose rows say what to do.
//!
//! ```text
//! DELETE FROM t USING u WHERE p        SELECT t.row_id FROM t, u WHERE p
//! UPDATE t SET a = e FROM u WHERE p    SELECT t.row_id, e AS a, t.b … FROM t, u WHERE p
//! INSERT INTO t (a) query              SELECT a, default of b … FROM query            (lists of literals: no query)
//! … ON CONFLICT, MERGE                 the new rows LEFT JOIN t: row_id is NULL where there was none   (merge.rs)
//! ```
//!
//! Around the new rows comes, if it is needed, `SELECT …, condition of each CHECK, RETURNING expressions FROM rows`. What
//! the columns are says [`WriteKind`]. Nothing is rewritten as text: errors point to where the user wrote.

mod insert;
mod literal_rows;
mod merge;
mod update;

use std::sync::Arc;

use arrow_schema::SchemaRef;
use datafusion_expr::{Expr, LogicalPlan, LogicalPlanBuilder, TableSource, cast};
use datafusion_sql::sqlparser::ast::{
    self, Assignment, AssignmentTarget, Ident, SelectItem, SetExpr, TableFactor, TableWithJoins,
};
use datafusion_sql::sqlparser::parser::Parser;
use godwit_common::{Error, Result};

use crate::binder::PlanSource;
use crate::grammar::Grammar;
use crate::names::{ObjectName, WrittenName, nearest, simple_name};
use crate::parse::desugar;
use crate::sequence::stored_expression;
use crate::table::{ROW_ID, ScanSource};
use crate::{
    CatalogEntry, GeneratedKind, ParsedStatement, Planner, Statement, TableDefinition, TableRules, WritableTable,
    plan_error,
};

pub(crate) use insert::{InsertClauses, syntax as insert_syntax};

/// Names that stand for sources in the queries made here; they can't be spelled in SQL.
pub(crate) const TARGET: &str = "\u{1}target";
pub(crate) const ROWS: &str = "\u{1}rows";
/// Names of columns that aren't the table's.
const IS_DELETED: &str = "\u{1}is deleted";
const CHECK: &str = "\u{1}check ";
const PLACE: &str = "\u{1}column ";

/// What a statement does to rows, and which columns its query has: in this order
///
/// | | row id | is deleted | columns of the table | a BOOLEAN per check | RETURNING |
/// |---|---|---|---|---|---|
/// | `Insert` | | | yes | yes | if asked for |
/// | `Update` | yes | | yes | yes | if asked for |
/// | `Delete` | yes | | | | if asked for |
/// | `Upsert` | or NULL | | yes | yes | if asked for |
/// | `Merge` | or NULL | yes | yes | yes | |
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteKind {
    /// Adds rows.
    Insert,
    /// Replaces rows. One that is to be replaced several times is replaced once.
    Update,
    /// Removes rows.
    Delete,
    /// Replaces rows, or adds those without a row id.
    Upsert,
    /// As `Upsert`, or removes them.
    Merge,
}

impl WriteKind {
    /// True if there is a column of row ids.
    pub fn has_row_ids(self) -> bool {
        self != WriteKind::Insert
    }

    /// True if there is a column that tells which rows are removed.
    pub fn has_deletions(self) -> bool {
        self == WriteKind::Merge
    }

    /// True if there are the columns of the table.
    pub fn has_columns(self) -> bool {
        self != WriteKind::Delete
    }

    fn lead(self) -> &'static [&'static str] {
        match self {
            WriteKind::Insert => &[],
            WriteKind::Merge => &[ROW_ID, IS_DELETED],
            WriteKind::Update | WriteKind::Delete | WriteKind::Upsert => &[ROW_ID],
        }
    }
}

/// A planned change of rows.
#[derive(Debug, Clone)]
pub struct WritePlan {
    /// The table.
    pub table: ObjectName,
    /// What is done.
    pub kind: WriteKind,
    /// The rows.
    pub rows: LogicalPlan,
    /// Names of the CHECK constraints that the rows have a column for.
    pub checks: Vec<String>,
    /// The RETURNING clause: names of its columns.
    pub returning: Option<Vec<String>>,
}

/// The table that a statement changes.
pub(crate) struct Target {
    pub(crate) name: ObjectName,
    /// What the statement calls it.
    pub(crate) alias: Ident,
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

    /// `alias.column`.
    pub(crate) fn column(&self, name: &str) -> ast::Expr {
        ast::Expr::CompoundIdentifier(vec![self.alias.clone(), quoted(name)])
    }

    /// True if there is such a column, generated or not.
    pub(crate) fn has_column(&self, name: &str) -> bool {
        self.rules().visible(self.schema()).iter().any(|field| field.name().eq_ignore_ascii_case(name))
    }

    /// True for a column that counts.
    pub(crate) fn is_identity(&self, name: &str) -> bool {
        self.rules().generated_column(name).is_some_and(|column| column.kind == GeneratedKind::Identity)
    }

    /// True for columns whose values statements give.
    pub(crate) fn is_given(&self, column: usize) -> bool {
        self.rules().generated_column(self.schema().field(column).name()).is_none()
    }

    /// Where a column of this name is, whose values statements give.
    pub(crate) fn given_position(&self, name: &str) -> Result<usize> {
        match self.rules().generated_column(name) {
            None => self.position(name),
            Some(column) => Err(Error::user(format!("column {} of {} is generated", column.field.name(), self.name))
                .with_hint("leave it out, or write DEFAULT: its values follow from the other columns")),
        }
    }

    /// The table, for FROM.
    pub(crate) fn without_row_ids(&self) -> (String, Arc<dyn TableSource>) {
        (TARGET.to_owned(), Arc::new(ScanSource::new(self.table.clone())))
    }

    /// Where a column of this name is.
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

    /// By column of the table: the expression that assignments give it. DEFAULT is replaced by what it stands for.
    fn assigned(&self, assignments: &[Assignment]) -> Result<Vec<Option<ast::Expr>>> {
        let mut values = vec![None; self.schema().fields().len()];
        for assignment in assignments {
            let AssignmentTarget::ColumnName(name) = &assignment.target else {
                return Err(Error::unsupported("assignments to several columns at once"));
            };
            let name = simple_name(name)?;
            let at = match is_default(&assignment.value) {
                true => self.position(&name)?,
                false => self.given_position(&name)?,
            };
            let value = match is_default(&assignment.value) {
                true => self.default_of(at)?,
                false => assignment.value.clone(),
            };
            if values[at].replace(value).is_some() {
                return Err(Error::user(format!("column {} is assigned twice", self.schema().field(at).name())));
            }
        }
        Ok(values)
    }

    /// The default of a column, NULL without one.
    fn default_of(&self, column: usize) -> Result<ast::Expr> {
        self.default_in(self.rules(), self.schema().field(column).name())
    }

    /// The default of a column by rules that the table has or will have, NULL without one; the next number of an identity.
    pub(crate) fn default_in(&self, rules: &TableRules, column: &str) -> Result<ast::Expr> {
        let identity = rules.generated_column(column).filter(|column| column.kind == GeneratedKind::Identity);
        match rules.default_of(column).or(identity.map(|column| column.expression.as_str())) {
            Some(text) => stored_expression(&self.name.database, text),
            None => Ok(ast::Expr::value(ast::Value::Null)),
        }
    }

    /// RETURNING, without wildcards.
    fn returned(&self, items: &[SelectItem]) -> Result<Vec<SelectItem>> {
        let mut expanded = Vec::new();
        for item in items {
            match item {
                SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..) => {
                    let fields = self.rules().visible(self.schema());
                    let fields = fields.iter();
                    expanded.extend(fields.map(|field| SelectItem::UnnamedExpr(self.column(field.name()))));
                }
                SelectItem::UnnamedExpr(_) | SelectItem::ExprWithAlias { .. } => expanded.push(item.clone()),
                SelectItem::ExprWithAliases { .. } => return Err(Error::unsupported("several names in RETURNING")),
            }
        }
        Ok(expanded)
    }
}

impl Planner {
    pub(crate) fn target(&self, written: &WrittenName, alias: Option<Ident>) -> Result<Target> {
        match self.namespace().find(written.parts()) {
            Some((name, _)) => self.target_named(name, alias.unwrap_or_else(|| quoted(written.last()))),
            None => Err(self.unknown_table(&written.to_string())),
        }
    }

    pub(crate) fn target_named(&self, name: ObjectName, alias: Ident) -> Result<Target> {
        let table = match self.namespace().get(&name) {
            Some(CatalogEntry::Table(table)) => table,
            Some(CatalogEntry::View(_)) => return Err(Error::user(format!("{name} is a view; rows are in tables"))),
            _ => return Err(self.unknown_table(&name.name)),
        };
        let Some(writable) = table.writable.clone() else {
            return Err(Error::user(format!("{name} is a file: its rows can't be changed"))
                .with_hint("CREATE TABLE makes a table of the database"));
        };
        Ok(Target { name, alias, table, writable })
    }

    /// The target of a table factor: a name, perhaps with an alias.
    fn target_of(&self, factor: &TableFactor) -> Result<Target> {
        let TableFactor::Table { name, alias, .. } = factor else {
            return Err(Error::unsupported("changes of something else than a table"));
        };
        self.target(&WrittenName::of(name)?, alias.as_ref().map(|alias| alias.name.clone()))
    }

    /// The statement that does `kind` with `rows`, which have the columns before the checks.
    fn write(
        &self,
        target: &Target,
        kind: WriteKind,
        rows: LogicalPlan,
        returning: Option<&[SelectItem]>,
        parsed: &ParsedStatement,
    ) -> Result<Statement> {
        let checks = &target.rules().checks;
        let rows = self.with_stored(target, kind, rows, parsed)?;
        let mut plan = WritePlan { table: target.name.clone(), kind, rows, checks: Vec::new(), returning: None };
        if !checks.is_empty() || returning.is_some() {
            let fields = target.schema().fields().iter().map(|field| field.name().as_str());
            let names = kind.lead().iter().copied().chain(fields);
            let mut items: Vec<SelectItem> = names.map(|name| SelectItem::UnnamedExpr(target.column(name))).collect();
            for (at, check) in checks.iter().enumerate() {
                let condition =
                    ast::Expr::IsNotFalse(Box::new(ast::Expr::Nested(Box::new(expression(&check.condition)?))));
                items.push(named(condition, &format!("{CHECK}{at}")));
                plan.checks.push(check.name.clone());
            }
            let own = items.len();
            items.extend(target.returned(returning.unwrap_or_default())?);
            let source = self.with_virtual(target, Arc::new(PlanSource::new(plan.rows)), parsed)?;
            let query = select(items, vec![table(ROWS, &target.alias)?], None)?;
            let (bound, names) = self.bound_with(query, vec![(ROWS.to_owned(), source)], parsed)?;
            plan.rows = bound;
            plan.returning = returning.map(|_| names[own..].to_vec());
        }
        plan.rows = self.optimize(plan.rows, parsed)?;
        Ok(Statement::Write(plan))
    }

    /// The rows with the values of generated columns that are stored.
    fn with_stored(
        &self,
        target: &Target,
        kind: WriteKind,
        rows: LogicalPlan,
        parsed: &ParsedStatement,
    ) -> Result<LogicalPlan> {
        let stored =
            |name: &str| target.rules().generated_column(name).filter(|column| column.kind == GeneratedKind::Stored);
        if !kind.has_columns() || !target.schema().fields().iter().any(|field| stored(field.name()).is_some()) {
            return Ok(rows);
        }
        let names = kind.lead().iter().copied();
        let items = names.chain(target.schema().fields().iter().map(|field| field.name().as_str())).map(|name| {
            Ok(match stored(name) {
                Some(column) => named(expression(&column.expression)?, name),
                None => SelectItem::UnnamedExpr(ast::Expr::Identifier(quoted(name))),
            })
        });
        let source: Arc<dyn TableSource> = Arc::new(PlanSource::new(rows));
        let query = select(items.collect::<Result<_>>()?, vec![table(ROWS, &target.alias)?], None)?;
        let (bound, _) = self.bound_with(query, vec![(ROWS.to_owned(), source)], parsed)?;
        typed(target, kind, bound, parsed)
    }

    /// Rows with the columns of a table, and those that are computed when they are read.
    fn with_virtual(
        &self,
        target: &Target,
        rows: Arc<dyn TableSource>,
        parsed: &ParsedStatement,
    ) -> Result<Arc<dyn TableSource>> {
        if !target.rules().has_virtual() {
            return Ok(rows);
        }
        self.binder().with_virtual(rows, target.rules()).map_err(|error| plan_error::of_planning(&error, parsed))
    }

    /// The table with row ids, for FROM.
    fn with_row_ids(&self, target: &Target, parsed: &ParsedStatement) -> Result<(String, Arc<dyn TableSource>)> {
        let rows = Arc::new(ScanSource::new(target.writable.with_row_ids()));
        Ok((TARGET.to_owned(), self.with_virtual(target, rows, parsed)?))
    }

    /// A query over sources of its own, besides those of the catalog.
    pub(crate) fn bound_with(
        &self,
        mut query: Box<ast::Query>,
        sources: Vec<(String, Arc<dyn TableSource>)>,
        parsed: &ParsedStatement,
    ) -> Result<(LogicalPlan, Vec<String>)> {
        desugar(&mut query)?;
        self.bound_by(|| self.binder().with_sources(sources.clone()), &query, parsed)
    }
}

/// The rows of a query with the columns of `kind`, cast to the types of the table.
fn typed(target: &Target, kind: WriteKind, rows: LogicalPlan, parsed: &ParsedStatement) -> Result<LogicalPlan> {
    let lead = kind.lead();
    let columns = rows.schema().columns();
    let mut expressions: Vec<Expr> = Vec::new();
    for (at, column) in columns.into_iter().enumerate() {
        let found = rows.schema().field(at).data_type();
        let value = Expr::Column(column);
        expressions.push(match (lead.get(at), at.checked_sub(lead.len())) {
            (Some(name), _) => value.alias(*name),
            (None, Some(of_table)) => {
                let field = target.schema().field(of_table);
                let value = if found == field.data_type() { value } else { cast(value, field.data_type().clone()) };
                value.alias(field.name())
            }
            (None, None) => unreachable!("columns behind the lead have a place in the table"),
        });
    }
    let typed = LogicalPlanBuilder::from(rows).project(expressions).and_then(LogicalPlanBuilder::build);
    typed.map_err(|error| plan_error::of_planning(&error, parsed))
}

/// `SELECT items FROM from WHERE condition`.
pub(crate) fn select(
    items: Vec<SelectItem>,
    from: Vec<TableWithJoins>,
    condition: Option<ast::Expr>,
) -> Result<Box<ast::Query>> {
    let mut query = query("SELECT 1")?;
    let SetExpr::Select(select) = query.body.as_mut() else { unreachable!("it is a SELECT") };
    select.projection = items;
    select.from = from;
    select.selection = condition;
    Ok(query)
}

/// `FROM name AS alias`.
pub(crate) fn table(name: &str, alias: &Ident) -> Result<TableWithJoins> {
    let mut query = query(&format!("SELECT 1 FROM \"{name}\" AS x"))?;
    let SetExpr::Select(select) = query.body.as_mut() else { unreachable!("it is a SELECT") };
    let mut from = select.from.remove(0);
    if let TableFactor::Table { alias: Some(given), .. } = &mut from.relation {
        given.name = alias.clone();
    }
    Ok(from)
}

/// `SELECT condition FROM rows`.
pub(crate) fn over_rows(condition: &str) -> Result<Box<ast::Query>> {
    select(vec![named(expression(condition)?, CHECK)], vec![table(ROWS, &quoted(ROWS))?], None)
}

/// `SELECT value`.
pub(crate) fn alone(value: ast::Expr) -> Result<Box<ast::Query>> {
    select(vec![named(value, CHECK)], Vec::new(), None)
}

fn query(text: &str) -> Result<Box<ast::Query>> {
    let parsed = Parser::new(&Grammar).try_with_sql(text).and_then(|mut parser| parser.parse_query());
    parsed.map_err(|error| Error::internal(format!("{text}: {error}")))
}

/// An expression that the catalog keeps as text.
pub(crate) fn expression(text: &str) -> Result<ast::Expr> {
    let parsed = Parser::new(&Grammar).try_with_sql(text).and_then(|mut parser| parser.parse_expr());
    parsed.map_err(|error| Error::corrupt(format!("the expression {text} of the catalog can't be read: {error}")))
}

pub(crate) fn quoted(name: &str) -> Ident {
    Ident::with_quote('"', name)
}

pub(crate) fn named(expr: ast::Expr, name: &str) -> SelectItem {
    SelectItem::ExprWithAlias { expr, alias: quoted(name) }
}

/// The keyword in place of a value.
fn is_default(expr: &ast::Expr) -> bool {
    matches!(expr, ast::Expr::Identifier(ident) if ident.quote_style.is_none() && ident.value.eq_ignore_ascii_case("default"))
}
