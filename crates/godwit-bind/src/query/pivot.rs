//! PIVOT and UNPIVOT.
//!
//! ```text
//! PIVOT t ON y IN (2019, 2020) USING sum(x) GROUP BY c
//!   SELECT c, sum(x) FILTER (WHERE y = 2019) AS "2019", sum(x) FILTER (WHERE y = 2020) AS "2020" FROM t GROUP BY c
//! PIVOT t ON y USING sum(x)
//!   the same for all values of SELECT DISTINCT y FROM t ORDER BY ALL, which is run before
//! UNPIVOT t ON a, b INTO NAME n VALUE v
//!   SELECT …, unnest(['a', 'b']) AS n, unnest([a, b]) AS v FROM t, without the rows where v is NULL
//! ```

use std::sync::Arc;

use godwit_common::{Error, Result, Span, SqlState};
use godwit_plan::{ColumnId, Expr, Node, Project, Unnest, UnnestedList};
use godwit_syntax::ast::{self, PivotValues};
use godwit_types::{SqlType, Value};

use super::items::name_of;
use super::source::Source;
use crate::binder::{Clause, Collected};
use crate::scope::{Scope, VisibleColumn};
use crate::{Binder, BoundQuery};

/// Maximum number of columns that PIVOT makes.
const COLUMNS_MAX: usize = 10_000;

/// A column made by PIVOT: the condition on its rows, and its name.
#[derive(Clone)]
struct PivotedColumn {
    condition: Option<ast::Expr>,
    name: String,
}

impl Binder {
    /// Binds PIVOT.
    pub(super) fn pivot(&mut self, pivot: &ast::Pivot, outer: &Scope<'_>) -> Result<BoundQuery> {
        let source = self.factor(&pivot.source, None, outer)?;
        let mut columns = vec![PivotedColumn { condition: None, name: String::new() }];
        for on in &pivot.on {
            let values = self.pivot_values(on, pivot)?;
            let combined = columns.iter().flat_map(|column| values.iter().map(|value| both(column, value)));
            columns = combined.collect();
            if columns.len() > COLUMNS_MAX {
                return Err(too_many_columns().at_span(pivot.span));
            }
        }
        let keys = match &pivot.group_by {
            Some(keys) => keys.clone(),
            None => unmentioned(pivot, &source),
        };
        let mut projection: Vec<ast::SelectItem> = Vec::new();
        projection.extend(keys.iter().map(|key| ast::SelectItem { expr: key.clone(), alias: None }));
        let count = [ast::SelectItem { expr: count_star(pivot.span), alias: None }];
        let aggregates = if pivot.aggregates.is_empty() { &count[..] } else { &pivot.aggregates };
        for column in &columns {
            for aggregate in aggregates {
                let label = match &aggregate.alias {
                    Some(alias) => Some(alias.text.to_string()),
                    None if aggregates.len() > 1 => Some(name_of(&aggregate.expr).to_string()),
                    None => None,
                };
                let name = match label {
                    Some(label) if column.name.is_empty() => label,
                    Some(label) => format!("{}_{label}", column.name),
                    None => column.name.clone(),
                };
                let alias = ast::Ident { text: name.into(), quoted: true, span: aggregate.expr.span };
                let expr = filtered(&aggregate.expr, column.condition.as_ref());
                projection.push(ast::SelectItem { expr, alias: Some(alias) });
            }
        }
        let elements: Vec<ast::GroupingElement> = keys
            .into_iter()
            .map(|key| ast::GroupingElement { span: key.span, kind: ast::GroupingElementKind::Expr(key) })
            .collect();
        let group_by = (!elements.is_empty()).then_some(ast::GroupBy::Elements { distinct: false, elements });
        let select = ast::Select { group_by, ..ast::Select::of(projection, pivot.span) };
        self.select_of(source, &select, None, outer)
    }

    /// Returns the values of an ON, each with the condition for its rows and its name.
    fn pivot_values(&mut self, on: &ast::PivotColumn, pivot: &ast::Pivot) -> Result<Vec<PivotedColumn>> {
        let span = pivot.span;
        let listed: Vec<ast::SelectItem> = match &on.values {
            PivotValues::List(values) => values.clone(),
            PivotValues::Enum(name) => {
                let parts: Vec<&str> = name.parts.iter().map(|part| &*part.text).collect();
                let Some(SqlType::Enum(definition)) = self.environment.named_type(&parts) else {
                    let error = Error::user(format!("{} is no type with labels", parts.join(".")));
                    return Err(error.with_code(SqlState::UNDEFINED_OBJECT).at_span(name.span));
                };
                let label = |label: &Arc<str>| {
                    let kind = ast::ExprKind::Literal(ast::Literal::String(label.clone()));
                    ast::SelectItem { expr: ast::Expr { kind, span: name.span }, alias: None }
                };
                definition.labels.iter().map(label).collect()
            }
            PivotValues::All => self.values_of(&all_values(on, &pivot.source, span), span)?,
            PivotValues::Query(query) => self.values_of(query, span)?,
        };
        let mut values = Vec::new();
        for item in listed {
            let parts = match (&item.expr.kind, on.exprs.len()) {
                (ast::ExprKind::Row { items, .. }, count) if items.len() == count => items.clone(),
                (_, 1) => vec![item.expr.clone()],
                _ => {
                    let message = format!("PIVOT needs {} values here", on.exprs.len());
                    return Err(Error::user(message).at_span(item.expr.span));
                }
            };
            let equal = |(expr, value): (&ast::Expr, &ast::Expr)| {
                let (left, right) = (Box::new(expr.clone()), Box::new(value.clone()));
                let kind = ast::ExprKind::IsDistinctFrom { left, right, negated: true };
                ast::Expr { kind, span: value.span }
            };
            let conditions = on.exprs.iter().zip(&parts).map(equal).collect();
            let name = match &item.alias {
                Some(alias) => alias.text.to_string(),
                None => parts.iter().map(|part| self.value_name(part)).collect::<Result<Vec<_>>>()?.join("_"),
            };
            values.push(PivotedColumn { condition: Some(all_of(conditions, item.expr.span)), name });
        }
        Ok(values)
    }

    /// Returns the rows of a query as lists of values, without those that are NULL. They are read now: PIVOT's columns
    /// must be known before a plan can be made.
    fn values_of(&self, query: &ast::Query, span: Span) -> Result<Vec<ast::SelectItem>> {
        let mut binder = self.clone();
        binder.query(query)?;
        let rows = self.environment.distinct_rows(&binder.plan, COLUMNS_MAX).unwrap_or_else(|| {
            let error = Error::unsupported("PIVOT without a list of values in a view, macro or prepared statement");
            Err(error.with_hint("list them: PIVOT t ON x IN ('a', 'b') USING sum(y)"))
        });
        let literal = |text: &Option<String>| {
            let literal = text.as_ref().map_or(ast::Literal::Null, |text| ast::Literal::String(text.as_str().into()));
            ast::Expr { kind: ast::ExprKind::Literal(literal), span }
        };
        let item = |row: Vec<Option<String>>| {
            let mut items: Vec<ast::Expr> = row.iter().map(literal).collect();
            let expr = match items.len() {
                1 => items.remove(0),
                _ => ast::Expr { kind: ast::ExprKind::Row { items, explicit: true }, span },
            };
            ast::SelectItem { expr, alias: None }
        };
        let rows = rows.map_err(|error| error.at_span(span))?;
        Ok(rows.into_iter().filter(|row| row.iter().any(Option::is_some)).map(item).collect())
    }

    /// Returns the name of the column for a value: its text.
    fn value_name(&mut self, value: &ast::Expr) -> Result<String> {
        if let Some(word) = value.as_word() {
            return Ok(word.to_string());
        }
        let (value, ty) = self.constant(value, Clause::From)?;
        Ok(if value.is_null() { "NULL".to_owned() } else { godwit_types::format_value(&value, &ty) })
    }

    /// Binds UNPIVOT.
    pub(super) fn unpivot(&mut self, unpivot: &ast::Unpivot, outer: &Scope<'_>) -> Result<BoundQuery> {
        let source = self.factor(&unpivot.source, None, outer)?;
        let scope = source.scope(outer);
        let mut names: Vec<Expr> = Vec::new();
        let mut values: Vec<Vec<Expr>> = vec![Vec::new(); unpivot.values.len()];
        let mut mentioned = godwit_plan::ColumnSet::new();
        for column in &unpivot.columns {
            let items: Vec<ast::SelectItem> =
                column.exprs.iter().map(|expr| ast::SelectItem { expr: expr.clone(), alias: None }).collect();
            let items = self.items(&items, &scope)?;
            for group in items.chunks(unpivot.values.len().max(1)) {
                let name: Arc<str> = match &column.alias {
                    Some(alias) => alias.text.clone(),
                    None => group.iter().map(|item| &*item.name).collect::<Vec<_>>().join("_").into(),
                };
                names.push(Expr::literal(Value::Text(name), SqlType::Varchar));
                for (item, values) in group.iter().zip(&mut values) {
                    let mut collected = Collected::default();
                    let value = self.item(item, &scope, Clause::From, &mut collected, &[])?;
                    mentioned.union_with(&value.columns());
                    values.push(value);
                }
            }
        }
        let mut columns: Vec<(Arc<str>, ColumnId)> = Vec::new();
        let others = source.visible.iter().filter(|column| !column.hidden && !mentioned.contains(column.column));
        columns.extend(others.map(|column| (column.name.clone(), column.column)));
        let mut lists = Vec::new();
        let mut unnested = |binder: &mut Self, name: &ast::Ident, values: Vec<Expr>| -> Result<ColumnId> {
            let (values, ty) = binder.unify(values, "the columns of UNPIVOT")?;
            let list = binder.call_scalar("list_value", values, name.span)?;
            let column = binder.plan.add_column(&*name.text, ty, true);
            lists.push(UnnestedList { column, list });
            columns.push((name.text.clone(), column));
            Ok(column)
        };
        unnested(self, &unpivot.name, names)?;
        let mut made = Vec::new();
        for (name, values) in unpivot.values.iter().zip(values) {
            made.push(unnested(self, name, values)?);
        }
        let mut node =
            self.plan.add(Node::Unnest(Unnest { input: source.node, lists, ordinality: None, outer: false }));
        if !unpivot.include_nulls {
            let tests = made.iter().map(|&column| self.column(column, &Scope::default()).is_null().negated());
            let any = Expr::or(tests.collect::<Vec<_>>());
            node = self.filtered(node, Some(any));
        }
        let passed = columns.iter().map(|&(_, column)| (column, self.column(column, &scope)));
        let passed = passed.collect();
        let node = self.plan.add(Node::Project(Project { input: node, columns: passed }));
        Ok(BoundQuery { node, columns })
    }
}

fn both(left: &PivotedColumn, right: &PivotedColumn) -> PivotedColumn {
    let conditions: Vec<ast::Expr> = left.condition.iter().chain(&right.condition).cloned().collect();
    let span = right.condition.as_ref().map_or(Span::NONE, |condition| condition.span);
    let name = match left.name.is_empty() {
        true => right.name.clone(),
        false => format!("{}_{}", left.name, right.name),
    };
    PivotedColumn { condition: (!conditions.is_empty()).then(|| all_of(conditions, span)), name }
}

fn all_of(mut conditions: Vec<ast::Expr>, span: Span) -> ast::Expr {
    match conditions.len() {
        1 => conditions.remove(0),
        _ => ast::Expr { kind: ast::ExprKind::And(conditions), span },
    }
}

fn too_many_columns() -> Error {
    let error = Error::user(format!("PIVOT would make more than {COLUMNS_MAX} columns"));
    error.with_code(SqlState::STATEMENT_TOO_COMPLEX)
}

/// `SELECT DISTINCT on FROM source ORDER BY ALL`
fn all_values(on: &ast::PivotColumn, source: &ast::TableFactor, span: Span) -> ast::Query {
    let item = |expr: &ast::Expr| ast::SelectItem { expr: expr.clone(), alias: None };
    let select = ast::Select {
        distinct: Some(ast::Distinct::Rows),
        from: vec![ast::TableWithJoins { relation: source.clone(), joins: Vec::new() }],
        ..ast::Select::of(on.exprs.iter().map(item).collect(), span)
    };
    let order_by = Some(ast::OrderBy::All { direction: None, nulls: None, span });
    ast::Query { order_by, ..ast::Query::of(ast::SetExprKind::Select(Box::new(select)), span) }
}

fn count_star(span: Span) -> ast::Expr {
    let name = ast::ObjectName::of(ast::Ident::new("count", span));
    let call = ast::Call { star: true, ..ast::Call::new(name, Vec::new()) };
    ast::Expr { kind: ast::ExprKind::Call(Box::new(call)), span }
}

/// Restricts each outermost call in the expression to the rows of the condition. Calls around aggregates are unchanged:
/// the binder knows which calls are aggregates, and rejects a FILTER on others.
fn filtered(expr: &ast::Expr, condition: Option<&ast::Expr>) -> ast::Expr {
    let Some(condition) = condition else { return expr.clone() };
    let mut expr = expr.clone();
    if let ast::ExprKind::Call(call) = &mut expr.kind {
        let conditions = call.filter.take().into_iter().chain([condition.clone()]).collect();
        call.filter = Some(all_of(conditions, condition.span));
    }
    expr
}

/// Returns the columns of a source that neither ON nor USING mentions: the keys if GROUP BY wasn't written.
fn unmentioned(pivot: &ast::Pivot, source: &Source) -> Vec<ast::Expr> {
    let mut names: Vec<Arc<str>> = Vec::new();
    let mut note = |expr: &ast::Expr| {
        super::items::for_each_part(expr, &mut |part| {
            if let ast::ExprKind::Column(path) = &part.kind {
                names.extend(path.last().map(|name| name.text.clone()));
            }
        });
    };
    pivot.on.iter().flat_map(|on| &on.exprs).for_each(&mut note);
    pivot.aggregates.iter().for_each(|item| note(&item.expr));
    let is_key =
        |column: &&VisibleColumn| !column.hidden && !names.iter().any(|name| name.eq_ignore_ascii_case(&column.name));
    let path = |column: &VisibleColumn| {
        let part = ast::Ident { text: column.name.clone(), quoted: true, span: pivot.span };
        ast::Expr { kind: ast::ExprKind::Column(vec![part]), span: pivot.span }
    };
    source.visible.iter().filter(is_key).map(path).collect()
}
