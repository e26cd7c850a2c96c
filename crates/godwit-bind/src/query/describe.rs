//! DESCRIBE, SUMMARIZE and SHOW: queries about queries.

use std::sync::Arc;

use godwit_common::{Error, Result};
use godwit_plan::{Aggregate, AggregateCall, ColumnId, Expr, ExprKind, Node, Project, Unnest, UnnestedList};
use godwit_syntax::ast::{self, DescribeTarget, TableFactorKind};
use godwit_types::{SqlType, Value};

use crate::binder::{Clause, Collected, ExprContext};
use crate::scope::Scope;
use crate::{Binder, BoundQuery, Rows};

impl Binder {
    /// Returns the columns of a query: name, type, and whether NULL can occur; of a table also keys and defaults.
    pub(crate) fn describe(&mut self, describe: &ast::Describe, scope: &Scope<'_>) -> Result<BoundQuery> {
        let described = self.described(&describe.target, scope)?;
        let nullable = self.plan.nullable_columns(described.node);
        let rules = match &describe.target {
            DescribeTarget::Table(factor) => match &factor.kind {
                TableFactorKind::Table(name) if factor.alias.is_none() && !self.is_common_table(name) => {
                    let parts: Vec<&str> = name.parts.iter().map(|part| &*part.text).collect();
                    self.environment.column_rules(&parts)
                }
                _ => Vec::new(),
            },
            DescribeTarget::Query(_) => Vec::new(),
        };
        let text = |text: &str| Value::text(text);
        let row = |(name, column): &(Arc<str>, ColumnId)| {
            let null = if nullable.contains(*column) { "YES" } else { "NO" };
            let known = rules.iter().find(|rules| *rules.name == **name);
            let key = known.and_then(|rules| rules.key).map_or(Value::Null, text);
            let default = known.and_then(|rules| rules.default.as_deref()).map_or(Value::Null, text);
            vec![text(name), text(&self.plan.column(*column).ty.to_string()), text(null), key, default, Value::Null]
        };
        let rows = described.columns.iter().map(row).collect();
        let columns = ["column_name", "column_type", "null", "key", "default", "extra"];
        Ok(self.rows(Rows { columns: columns.map(|name| (name.to_owned(), SqlType::Varchar)).into(), rows }))
    }

    /// Returns a row per column of a query: extremes, number of distinct values (exact, whatever DuckDB's name for it
    /// says), mean and deviation of numbers, rows, NULLs. Reads the query once.
    pub(crate) fn summarize(&mut self, describe: &ast::Describe, scope: &Scope<'_>) -> Result<BoundQuery> {
        let described = self.described(&describe.target, scope)?;
        let nullable = self.plan.nullable_columns(described.node);
        let mut aggregates: Vec<(ColumnId, AggregateCall)> = Vec::new();
        let all = self.summary("count", None, false, &mut aggregates, describe)?;
        let mut fields: [Vec<Expr>; 9] = Default::default();
        for (name, column) in &described.columns {
            let info = self.plan.column(*column).clone();
            let value = Expr::new(ExprKind::Column(*column), info.ty.clone(), nullable.contains(*column));
            let text = |text: &str| Expr::literal(Value::text(text), SqlType::Varchar);
            let share = percentage(value.clone().is_null());
            let mut of_values = |name: &str, is_there: bool| match is_there {
                true => {
                    let found = self.summary(name, Some(value.clone()), false, &mut aggregates, describe)?;
                    Ok(found.cast_to(&SqlType::Varchar))
                }
                false => Ok::<_, Error>(Expr::null(SqlType::Varchar)),
            };
            let is_number = info.ty.is_numeric();
            let [min, max, avg, std] = [
                of_values("min", true)?,
                of_values("max", true)?,
                of_values("avg", is_number)?,
                of_values("stddev", is_number)?,
            ];
            let distinct = self.summary("count", Some(value), true, &mut aggregates, describe)?;
            let nulls = self.summary("avg", Some(share), false, &mut aggregates, describe)?;
            let nulls = nulls.cast_to(&SqlType::Decimal { precision: 9, scale: 2 });
            let row = [text(name), text(&info.ty.to_string()), min, max, distinct, avg, std, all.clone(), nulls];
            fields.iter_mut().zip(row).for_each(|(field, value)| field.push(value));
        }
        let aggregate =
            Aggregate { input: described.node, keys: Vec::new(), sets: None, grouping_id: None, aggregates };
        let input = self.plan.add(Node::Aggregate(aggregate));
        let names =
            ["column_name", "column_type", "min", "max", "approx_unique", "avg", "std", "count", "null_percentage"];
        let (mut lists, mut columns) = (Vec::new(), Vec::new());
        for (name, values) in names.into_iter().zip(fields) {
            let ty = values.first().map_or(SqlType::Varchar, |value| value.ty.clone());
            let list = self.call_scalar("list_value", values, describe.span)?;
            let column = self.plan.add_column(name, ty, true);
            lists.push(UnnestedList { column, list });
            columns.push((Arc::from(name), column));
        }
        let node = self.plan.add(Node::Unnest(Unnest { input, lists, ordinality: None, outer: false }));
        let passed = columns.iter().map(|&(_, column)| (column, self.column(column, &Scope::default()))).collect();
        let node = self.plan.add(Node::Project(Project { input: node, columns: passed }));
        Ok(BoundQuery { node, columns })
    }

    /// Returns the rows of SHOW.
    pub(crate) fn show(&mut self, show: &ast::Show) -> Result<BoundQuery> {
        let rows = self.environment.listed(show)?;
        Ok(self.rows(rows))
    }

    fn rows(&mut self, rows: Rows) -> BoundQuery {
        let source = self.listed(rows, vec![Arc::from("rows")]);
        let columns = source.visible.into_iter().map(|column| (column.name, column.column)).collect();
        BoundQuery { node: source.node, columns }
    }

    fn described(&mut self, target: &DescribeTarget, scope: &Scope<'_>) -> Result<BoundQuery> {
        match target {
            DescribeTarget::Query(query) => self.subquery(query, scope),
            DescribeTarget::Table(factor) => {
                let source = self.factor(factor, None, scope)?;
                let shown = source.visible.into_iter().filter(|column| !column.hidden);
                let columns = shown.map(|column| (column.name, column.column)).collect();
                Ok(BoundQuery { node: source.node, columns })
            }
        }
    }

    /// Returns the value of an aggregate over the described rows.
    fn summary(
        &mut self,
        name: &str,
        argument: Option<Expr>,
        distinct: bool,
        aggregates: &mut Vec<(ColumnId, AggregateCall)>,
        describe: &ast::Describe,
    ) -> Result<Expr> {
        let scope = Scope::default();
        let mut collected = Collected::default();
        let clause = Clause::Select;
        let mut context = ExprContext { scope: &scope, clause, collected: &mut collected, windows: &[] };
        let value = self.call_aggregate(name, argument.into_iter().collect(), distinct, describe.span, &mut context)?;
        aggregates.append(&mut collected.aggregates);
        Ok(value)
    }
}

/// 100 where a condition holds, else 0: the mean of it is a percentage.
fn percentage(condition: Expr) -> Expr {
    let number = |value: f64| Expr::literal(Value::Float(value), SqlType::Double);
    let kind = ExprKind::Case { branches: vec![(condition, number(100.0))], otherwise: Some(Box::new(number(0.0))) };
    Expr::new(kind, SqlType::Double, false)
}
