//! Generated columns: their values follow from the other columns of the row.
//!
//! | kind | in the table | value |
//! |---|---|---|
//! | virtual | no | computed by a projection above each scan |
//! | stored | yes | computed by a projection below each change of rows |
//! | identity | yes | taken from a sequence of the column's own, as a default that can't be replaced |
//!
//! Expressions are kept as text over the columns that the table has; virtual columns in them are replaced by what they
//! stand for when the column is made.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema};
use datafusion_common::{DFSchema, Result as PlanResult};
use datafusion_expr::{EmptyRelation, Expr, ExprSchemable, LogicalPlan, LogicalPlanBuilder, TableSource, cast};
use datafusion_sql::sqlparser::ast::{self, Ident, SelectItem, VisitMut, VisitorMut};
use godwit_common::{Error, Result};

use crate::binder::{Binder, PlanSource, external};
use crate::create_table::plain;
use crate::spelling::NO_TYPE;
use crate::table::ScanSource;
use crate::write::{ROWS, Target, expression, named, quoted, select, table};
use crate::{ParsedStatement, Planner, TableDefinition, TableRules, as_view_type};

/// How a generated column comes by its values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GeneratedKind {
    /// When it is read.
    Virtual,
    /// When its row is written.
    Stored,
    /// From a sequence.
    Identity,
}

/// A column whose values nobody can write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GeneratedColumn {
    /// Name and type.
    pub field: Field,
    /// Where a virtual column is among all columns, from 0.
    pub position: usize,
    /// What it is, over the columns of the table.
    pub expression: String,
    /// How it comes by its values.
    pub kind: GeneratedKind,
}

/// A generated column as a statement defines it.
pub(crate) struct GeneratedDefinition {
    pub name: String,
    pub expr: ast::Expr,
    pub kind: GeneratedKind,
}

impl GeneratedColumn {
    /// A column whose values are those of `next`.
    pub(crate) fn identity(name: &str, next: String) -> Self {
        let field = Field::new(name, DataType::Int64, false);
        Self { field, position: 0, expression: next, kind: GeneratedKind::Identity }
    }
}

impl TableRules {
    /// The rule of a generated column.
    pub fn generated_column(&self, name: &str) -> Option<&GeneratedColumn> {
        self.generated.iter().find(|column| column.field.name().eq_ignore_ascii_case(name))
    }

    /// True if reading the table computes something.
    pub(crate) fn has_virtual(&self) -> bool {
        self.generated.iter().any(|column| column.kind == GeneratedKind::Virtual)
    }

    /// The columns as statements see them, given those that are stored.
    pub fn visible(&self, stored: &Schema) -> Vec<Field> {
        let mut columns: Vec<Field> = stored.fields().iter().map(|field| field.as_ref().clone()).collect();
        let mut computed: Vec<_> =
            self.generated.iter().filter(|column| column.kind == GeneratedKind::Virtual).collect();
        computed.sort_by_key(|column| column.position);
        for column in computed {
            columns.insert(column.position.min(columns.len()), column.field.clone());
        }
        columns
    }

    /// Forgets that a column is generated, before it is dropped. True if there is nothing more of it.
    pub(crate) fn forget_generated(&mut self, name: &str, stored: &Schema) -> bool {
        let visible = self.visible(stored);
        let place = visible.iter().position(|field| field.name().eq_ignore_ascii_case(name));
        let is_virtual = self.generated_column(name).is_some_and(|column| column.kind == GeneratedKind::Virtual);
        self.generated.retain(|column| !column.field.name().eq_ignore_ascii_case(name));
        for column in &mut self.generated {
            if place.is_some_and(|place| column.position > place) {
                column.position -= 1;
            }
        }
        is_virtual
    }

    /// An error if an expression needs a column.
    pub(crate) fn check_unused(&self, column: &str) -> Result<()> {
        for generated in &self.generated {
            if generated.kind != GeneratedKind::Identity && mentions(&generated.expression, column)? {
                let name = generated.field.name();
                return Err(Error::user(format!("the generated column {name} needs {column}"))
                    .with_hint(format!("drop {name} first")));
            }
        }
        Ok(())
    }
}

impl Binder<'_> {
    /// What a table is to FROM: its rows, with the columns that are computed.
    pub(crate) fn source_of(&self, table: &Arc<TableDefinition>) -> PlanResult<Arc<dyn TableSource>> {
        let scan: Arc<dyn TableSource> = Arc::new(ScanSource::new(table.clone()));
        match table.rules() {
            Some(rules) if rules.has_virtual() => self.with_virtual(scan, rules),
            _ => Ok(scan),
        }
    }

    /// Rows with the columns of a table, and maybe others behind them, with those that are computed.
    pub(crate) fn with_virtual(
        &self,
        rows: Arc<dyn TableSource>,
        rules: &TableRules,
    ) -> PlanResult<Arc<dyn TableSource>> {
        let schema = rows.schema();
        let visible = rules.visible(&schema);
        let computed = |name: &str| rules.generated_column(name).filter(|column| column.kind == GeneratedKind::Virtual);
        let item = |field: &Field| {
            Ok(match computed(field.name()) {
                Some(column) => named(expression(&column.expression)?, field.name()),
                None => SelectItem::UnnamedExpr(ast::Expr::Identifier(quoted(field.name()))),
            })
        };
        let items = visible.iter().map(item).collect::<Result<Vec<_>>>();
        let query = items.and_then(|items| select(items, vec![table(ROWS, &quoted(ROWS))?], None)).map_err(external)?;
        let inner = Binder::new(self.namespace, self.resolver, self.functions, self.config);
        let bound = inner.with_sources(vec![(ROWS.to_owned(), rows)]).bind(query)?;
        let columns = bound.schema().columns().into_iter().zip(&visible);
        let columns = columns.map(|(column, field)| {
            let value = Expr::Column(column);
            let value = if computed(field.name()).is_some() { cast(value, field.data_type().clone()) } else { value };
            value.alias(field.name())
        });
        let columns: Vec<Expr> = columns.collect();
        let plan = LogicalPlanBuilder::from(bound).project(columns)?.build()?;
        Ok(Arc::new(PlanSource::new(plan)))
    }
}

impl Planner {
    /// Gives generated columns their types, and puts what virtual ones stand for in place of them. `columns` are all
    /// columns in their order; those without a type get that of their expression.
    pub(crate) fn typed_columns(
        &self,
        columns: Vec<ast::ColumnDef>,
        definitions: &[GeneratedDefinition],
        rules: &mut TableRules,
        parsed: &ParsedStatement,
    ) -> Result<Vec<Field>> {
        let definition = |name: &str| definitions.iter().find(|definition| definition.name == name);
        let mut fields: Vec<Option<Field>> = Vec::new();
        let names: Vec<String> = columns.iter().map(|column| plain(&column.name)).collect();
        for column in columns {
            fields.push(match has_type(&column) {
                true => Some(self.binder().columns(vec![column], parsed)?.remove(0)),
                false => None,
            });
        }
        let known = virtual_expressions(rules, definitions)?;
        for (position, name) in names.iter().enumerate() {
            let Some(definition) = definition(name) else { continue };
            let mut expr = definition.expr.clone();
            expand(&mut expr, &known, 0)?;
            let others = names.iter().zip(&fields).filter(|(other, _)| !known.contains_key(*other) && *other != name);
            let others: Vec<Field> = others.filter_map(|(_, field)| field.clone()).collect();
            let inferred = self.type_of(&expr, &others, fields[position].as_ref(), parsed)?;
            let field = fields[position].get_or_insert_with(|| Field::new(name, inferred, true)).clone();
            rules.generated.push(GeneratedColumn {
                field,
                position,
                expression: expr.to_string(),
                kind: definition.kind,
            });
        }
        let stored = names.iter().zip(fields).filter(|(name, _)| !known.contains_key(*name));
        stored.map(|(name, field)| field.ok_or_else(|| Error::user(format!("the column {name} has no type")))).collect()
    }

    /// The column that is added to a table; `None` if it is computed.
    pub(crate) fn typed_addition(
        &self,
        target: &Target,
        columns: Vec<ast::ColumnDef>,
        definitions: &[GeneratedDefinition],
        rules: &mut TableRules,
        parsed: &ParsedStatement,
    ) -> Result<Option<Field>> {
        let Some(GeneratedDefinition { name, expr, kind }) = definitions.first() else {
            return Ok(Some(self.binder().columns(columns, parsed)?.remove(0)));
        };
        let field = self.binder().columns(columns, parsed)?.remove(0);
        let (mut expr, known) = (expr.clone(), virtual_expressions(rules, definitions)?);
        expand(&mut expr, &known, 0)?;
        let others: Vec<Field> = target.schema().fields().iter().map(|field| field.as_ref().clone()).collect();
        self.type_of(&expr, &others, Some(&field), parsed)?;
        let position = rules.visible(target.schema()).len();
        let is_virtual = *kind == GeneratedKind::Virtual;
        let stored_type = as_view_type(field.data_type());
        let field = field.with_name(name).with_data_type(stored_type);
        let column = GeneratedColumn { field: field.clone(), position, expression: expr.to_string(), kind: *kind };
        rules.generated.push(column);
        Ok((!is_virtual).then_some(field))
    }

    /// The type of an expression over columns; an error if it can't be cast to that of `wanted`.
    fn type_of(
        &self,
        expr: &ast::Expr,
        columns: &[Field],
        wanted: Option<&Field>,
        parsed: &ParsedStatement,
    ) -> Result<DataType> {
        let schema =
            DFSchema::try_from(Schema::new(columns.to_vec())).map_err(|error| Error::internal(error.to_string()))?;
        let rows = EmptyRelation { produce_one_row: false, schema: Arc::new(schema) };
        let source: Arc<dyn TableSource> = Arc::new(PlanSource::new(LogicalPlan::EmptyRelation(rows)));
        let query = select(vec![named(expr.clone(), "value")], vec![table(ROWS, &quoted(ROWS))?], None)?;
        let (bound, _) = self.bound_with(query, vec![(ROWS.to_owned(), source)], parsed)?;
        let is_plain = bound.expressions().iter().all(|expr| !expr.is_volatile());
        if !is_plain || !matches!(&bound, LogicalPlan::Projection(_)) {
            return Err(Error::user(format!("{expr} can't be generated: it isn't the same for the same row")));
        }
        let value = Expr::Column(bound.schema().columns().remove(0));
        let found = bound.schema().field(0).data_type().clone();
        if let Some(wanted) = wanted {
            let cast = value.cast_to(wanted.data_type(), bound.schema());
            cast.map_err(|error| crate::plan_error::of_planning(&error, parsed))?;
        }
        Ok(as_view_type(&found))
    }
}

/// True unless the type of a column is left to its expression.
fn has_type(column: &ast::ColumnDef) -> bool {
    column.data_type.to_string() != quoted(NO_TYPE).to_string()
}

/// What virtual columns stand for, by name.
fn virtual_expressions(rules: &TableRules, definitions: &[GeneratedDefinition]) -> Result<HashMap<String, ast::Expr>> {
    let is_virtual = |kind: GeneratedKind| kind == GeneratedKind::Virtual;
    let known = rules.generated.iter().filter(|column| is_virtual(column.kind));
    let known = known.map(|column| Ok((column.field.name().to_lowercase(), expression(&column.expression)?)));
    let new = definitions.iter().filter(|definition| is_virtual(definition.kind));
    known.chain(new.map(|definition| Ok((definition.name.clone(), definition.expr.clone())))).collect()
}

/// Puts what virtual columns stand for in place of their names.
fn expand(expr: &mut ast::Expr, known: &HashMap<String, ast::Expr>, depth: usize) -> Result<()> {
    struct Expand<'a>(&'a HashMap<String, ast::Expr>, usize);
    impl VisitorMut for Expand<'_> {
        type Break = Error;
        fn post_visit_expr(&mut self, expr: &mut ast::Expr) -> ControlFlow<Error> {
            let ast::Expr::Identifier(name) = expr else { return ControlFlow::Continue(()) };
            let Some(value) = self.0.get(&plain(name)) else { return ControlFlow::Continue(()) };
            let mut value = value.clone();
            match expand(&mut value, self.0, self.1 + 1) {
                Ok(()) => *expr = ast::Expr::Nested(Box::new(value)),
                Err(error) => return ControlFlow::Break(error),
            }
            ControlFlow::Continue(())
        }
    }
    if depth > known.len() {
        return Err(Error::user("generated columns are made of each other"));
    }
    match expr.visit(&mut Expand(known, depth)) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(error),
    }
}

/// True if an expression of the catalog has a column in it.
pub(crate) fn mentions(text: &str, column: &str) -> Result<bool> {
    let mut found = false;
    rename(text, |name| {
        found |= name.value.eq_ignore_ascii_case(column);
    })?;
    Ok(found)
}

/// An expression of the catalog with another name for a column.
pub(crate) fn with_renamed(text: &str, from: &str, to: &str) -> Result<String> {
    rename(text, |name| {
        if name.value.eq_ignore_ascii_case(from) {
            *name = quoted(to);
        }
    })
}

/// Shows all names of columns of an expression to `change`.
fn rename(text: &str, change: impl FnMut(&mut Ident)) -> Result<String> {
    struct Names<F>(F);
    impl<F: FnMut(&mut Ident)> VisitorMut for Names<F> {
        type Break = ();
        fn pre_visit_expr(&mut self, expr: &mut ast::Expr) -> ControlFlow<()> {
            match expr {
                ast::Expr::Identifier(name) => (self.0)(name),
                ast::Expr::CompoundIdentifier(parts) => parts.iter_mut().for_each(&mut self.0),
                _ => {}
            }
            ControlFlow::Continue(())
        }
    }
    let mut expr = expression(text)?;
    let _: ControlFlow<()> = expr.visit(&mut Names(change));
    Ok(expr.to_string())
}
