//! DESCRIBE, SUMMARIZE and SHOW: queries about queries.

use std::sync::Arc;

use godwit_common::{Error, Result, Span};
use godwit_plan::{Aggregate, AggregateCall, ColumnId, Expr, ExprKind, Node, NodeId, Project, Unnest, UnnestedList};
use godwit_syntax::ast::{self, DescribeTarget, TableFactorKind};
use godwit_types::{SqlType, Value};

use crate::binder::{Clause, Collected, ExprContext};
use crate::scope::Scope;
use crate::{Binder, BoundQuery, Rows};

impl Binder {
    /// Returns the columns of a query: name and type; of a table also what its definition says of NULL, keys and defaults.
    pub(crate) fn describe(&mut self, describe: &ast::Describe, scope: &Scope<'_>) -> Result<BoundQuery> {
        let described = self.described(&describe.target, scope)?;
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
            let known = rules.iter().find(|rules| *rules.name == **name);
            let null = if known.is_some_and(|rules| rules.not_null) { "NO" } else { "YES" };
            let key = known.and_then(|rules| rules.key).map_or(Value::Null, text);
            let default = known.and_then(|rules| rules.default.as_deref()).map_or(Value::Null, text);
            vec![text(name), text(&self.plan.column(*column).ty.to_string()), text(null), key, default, Value::Null]
        };
        let rows = described.columns.iter().map(row).collect();
        let columns = ["column_name", "column_type", "null", "key", "default", "extra"];
        Ok(self.rows(Rows { columns: columns.map(|name| (name.to_owned(), SqlType::Varchar)).into(), rows }))
    }

    /// Returns a row per column of a query: extremes, estimated number of distinct values, mean, deviation and estimated
    /// quartiles of numbers and moments, rows, NULLs. Reads the query once for every [`SUMMARIZED_AT_ONCE`] columns.
    pub(crate) fn summarize(&mut self, describe: &ast::Describe, scope: &Scope<'_>) -> Result<BoundQuery> {
        let mut fields: [Vec<Expr>; SUMMARY_COLUMNS.len()] = Default::default();
        let BoundQuery { node, columns } = self.described(&describe.target, scope)?;
        let mut parts = columns.chunks(SUMMARIZED_AT_ONCE);
        let mut input = self.summary_of(node, parts.next().unwrap_or_default(), describe.span, &mut fields)?;
        let mut summarized = SUMMARIZED_AT_ONCE;
        for part in parts {
            let again = self.described(&describe.target, scope)?;
            let columns = &again.columns[summarized..summarized + part.len()];
            let row = self.summary_of(again.node, columns, describe.span, &mut fields)?;
            input = self.product(input, row);
            summarized += part.len();
        }
        let (mut lists, mut columns) = (Vec::new(), Vec::new());
        for (name, values) in SUMMARY_COLUMNS.into_iter().zip(fields) {
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

    /// Adds the summaries of some columns to the fields; returns the node whose only row they are computed from.
    fn summary_of(
        &mut self,
        input: NodeId,
        columns: &[(Arc<str>, ColumnId)],
        span: Span,
        fields: &mut [Vec<Expr>; SUMMARY_COLUMNS.len()],
    ) -> Result<NodeId> {
        let nullable = self.plan.nullable_columns(input);
        let mut summary = Summary { aggregates: Vec::new(), span };
        let all = self.aggregate_of_summary("count", Vec::new(), &mut summary)?;
        for (name, column) in columns {
            let ty = self.plan.column(*column).ty.clone();
            let value = Expr::new(ExprKind::Column(*column), ty, nullable.contains(*column));
            let row = self.row_of_summary(name, value, &all, &mut summary)?;
            fields.iter_mut().zip(row).for_each(|(field, value)| field.push(value));
        }
        let aggregates = summary.aggregates;
        Ok(self.plan.add(Node::Aggregate(Aggregate {
            input,
            keys: Vec::new(),
            sets: None,
            grouping_id: None,
            aggregates,
        })))
    }

    /// Returns the row of a column, in the order of [`SUMMARY_COLUMNS`].
    fn row_of_summary(
        &mut self,
        name: &str,
        value: Expr,
        all: &Expr,
        summary: &mut Summary,
    ) -> Result<[Expr; SUMMARY_COLUMNS.len()]> {
        let ty = value.ty.clone();
        let text = |text: &str| Expr::literal(Value::text(text), SqlType::Varchar);
        let mut of_values = |name: &str, fraction: Option<f64>, is_there: bool| match is_there {
            true => {
                let fraction = fraction.map(|fraction| Expr::literal(Value::Float(fraction), SqlType::Double));
                let arguments = std::iter::once(value.clone()).chain(fraction).collect();
                Ok(self.aggregate_of_summary(name, arguments, summary)?.cast_to(&SqlType::Varchar))
            }
            false => Ok::<_, Error>(Expr::null(SqlType::Varchar)),
        };
        let has_mean = ty.is_numeric() || ty.is_timestamp() || matches!(ty, SqlType::Date | SqlType::Time);
        let [min, max, avg, std, q25, q50, q75] = [
            of_values("min", None, true)?,
            of_values("max", None, true)?,
            of_values("avg", None, has_mean)?,
            of_values("stddev", None, ty.is_numeric())?,
            of_values("approx_quantile", Some(0.25), has_mean)?,
            of_values("approx_quantile", Some(0.5), has_mean)?,
            of_values("approx_quantile", Some(0.75), has_mean)?,
        ];
        let distinct = self.aggregate_of_summary("approx_count_distinct", vec![value.clone()], summary)?;
        let nulls = self.aggregate_of_summary("avg", vec![percentage(value.is_null())], summary)?;
        let nulls = nulls.cast_to(&SqlType::Decimal { precision: 9, scale: 2 });
        let (name, ty) = (text(name), text(&ty.to_string()));
        Ok([name, ty, min, max, distinct, avg, std, q25, q50, q75, all.clone(), nulls])
    }

    /// Returns the rows of SHOW.
    pub(crate) fn show(&mut self, show: &ast::Show) -> Result<BoundQuery> {
        if let ast::Show::Tables { all: true, .. } = show {
            let query = godwit_syntax::parse_query("FROM show_all_tables()")?;
            return self.subquery(&query, &Scope::default());
        }
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
    fn aggregate_of_summary(&mut self, name: &str, arguments: Vec<Expr>, summary: &mut Summary) -> Result<Expr> {
        let scope = Scope::default();
        let mut collected = Collected::default();
        let clause = Clause::Select;
        let mut context = ExprContext { scope: &scope, clause, collected: &mut collected, windows: &[] };
        let value = self.call_aggregate(name, arguments, summary.span, &mut context)?;
        summary.aggregates.append(&mut collected.aggregates);
        Ok(value)
    }
}

/// Maximum number of columns that one aggregation summarizes: their sketches and digests have room in a row.
const SUMMARIZED_AT_ONCE: usize = 16;

/// The columns of SUMMARIZE.
const SUMMARY_COLUMNS: [&str; 12] = [
    "column_name",
    "column_type",
    "min",
    "max",
    "approx_unique",
    "avg",
    "std",
    "q25",
    "q50",
    "q75",
    "count",
    "null_percentage",
];

/// The aggregates that SUMMARIZE computes.
struct Summary {
    aggregates: Vec<(ColumnId, AggregateCall)>,
    /// The place of the statement.
    span: Span,
}

/// 100 where a condition holds, else 0: the mean of it is a percentage.
fn percentage(condition: Expr) -> Expr {
    let number = |value: f64| Expr::literal(Value::Float(value), SqlType::Double);
    let kind = ExprKind::Case { branches: vec![(condition, number(100.0))], otherwise: Some(Box::new(number(0.0))) };
    Expr::new(kind, SqlType::Double, false)
}
