//! Compressed materialization: projections around operators that keep rows, which make the rows narrow.
//!
//! ```text
//! … ─▶ Project (compress) ─▶ sort | build side of a join | …  ─▶ Project (decompress) ─▶ …
//! ```
//!
//! The operators know nothing of it. Integers, dates, decimals and times become their difference to the smallest value;
//! text whose values are all known, because some scan below has it in dictionaries, becomes a code
//! ([`godwit_expression::Compression`]). It pays where many bytes are kept, so that below
//! [`crate::QuerySettings::compress_from_bytes`] nothing is touched, with two exceptions. Text that scans emit as codes of one
//! ordered dictionary, as those of the database's own tables do, becomes these codes wherever it is kept, compared or
//! hashed. Lists, structs and maps always become bytes of the same order: rows hold none.
//!
//! A new operator calls [`PhysicalPlanner::compressions_of`] with the columns that it keeps,
//! [`PhysicalPlanner::compress_stream`] before its sink and [`PhysicalPlanner::decompress_stream`] behind its source.

use std::collections::BTreeSet;
use std::sync::Arc;

use datafusion_common::JoinType;
use datafusion_expr::logical_plan::Distinct;
use datafusion_expr::{Expr, LogicalPlan};
use godwit_common::Result;
use godwit_expression::{Compression, Expression, TextDomain};
use godwit_sql::table_of;
use godwit_vector::{ColumnType, PhysicalType, ValueRange};

use super::stream::Stream;
use super::{PhysicalPlanner, passed_column};
use crate::explain::ExplainNode;
use crate::hash_aggregate::{AggregateKind, HashAggregateSpec};
use crate::operators::ProjectTransform;
use crate::scan::{Table, TableHandle};

/// A column that was compressed: how, and its type before.
#[derive(Clone)]
pub(super) struct Compressed {
    pub compression: Compression,
    pub original: ColumnType,
}

/// Per column of a stream: what was done to it.
pub(super) type CompressedColumns = Vec<Option<Compressed>>;

impl PhysicalPlanner<'_> {
    /// Are so many bytes worth compressing? False for all if compression is switched off.
    pub(super) fn is_worth_compressing(&self, bytes: f64) -> bool {
        self.query.settings.compress_from_bytes.is_some_and(|least| bytes >= least as f64)
    }

    /// Bytes of some columns of a plan's rows, of the first `rows_max` if there are more.
    pub(super) fn bytes_of<'c>(
        &self,
        plan: &LogicalPlan,
        columns: impl IntoIterator<Item = &'c usize>,
        rows_max: f64,
    ) -> f64 {
        let estimate = self.estimates.of(plan);
        let row_bytes: f64 = columns.into_iter().map(|&index| estimate.columns[index].average_bytes).sum();
        estimate.rows.min(rows_max) * row_bytes
    }

    /// How each column of `stream`, the rows of `plan`, is best compressed; where it isn't worth it, only what is done
    /// always.
    pub(super) fn compressions_of(
        &self,
        plan: &LogicalPlan,
        stream: &Stream,
        is_worth_it: bool,
    ) -> Result<CompressedColumns> {
        let columns = stream.origin.iter().zip(&stream.row_type);
        columns.map(|(&index, ty)| self.compression_of(plan, index, ty, is_worth_it)).collect()
    }

    /// How column `index` of `plan`, of type `ty`, is compressed.
    pub(super) fn compression_of(
        &self,
        plan: &LogicalPlan,
        index: usize,
        ty: &ColumnType,
        is_worth_it: bool,
    ) -> Result<Option<Compressed>> {
        let compression = match ty.physical {
            PhysicalType::Nested => Compression::of_nested(ty),
            PhysicalType::Str => {
                let domain = match text_column(plan, index) {
                    Some((table, column)) if is_worth_it => table.text_domain(column, &self.query.memory)?,
                    _ => self.text_codes(plan, index)?,
                };
                domain.map(Compression::of_domain)
            }
            _ if is_worth_it => Compression::of_range(ty),
            _ => None,
        };
        Ok(compression.map(|compression| Compressed { compression, original: ty.clone() }))
    }

    /// All values of column `index` of `plan` if it is text that comes as codes. None if compression is switched off.
    pub(super) fn text_codes(&self, plan: &LogicalPlan, index: usize) -> Result<Option<Arc<TextDomain>>> {
        if self.query.settings.compress_from_bytes.is_none() {
            return Ok(None);
        }
        text_column(plan, index).map_or(Ok(None), |(table, column)| table.text_codes(column))
    }

    /// How a key over the rows of `plan`, or a value that is kept of them, is compressed.
    pub(super) fn compression_of_key(
        &self,
        plan: &LogicalPlan,
        key: &Expr,
        compiled: &Expression,
        is_worth_it: bool,
    ) -> Result<Option<Compressed>> {
        match (compiled.output().physical, passed_column(key, plan.schema())) {
            (PhysicalType::Str, None) => Ok(None),
            (_, index) => self.compression_of(plan, index.unwrap_or(0), compiled.output(), is_worth_it),
        }
    }

    /// Replaces columns by their compressed values, where they are. Names and SQL types of the stream stay those of the
    /// plan: nothing may be compiled against it any more.
    pub(super) fn compress_stream(&self, stream: &mut Stream, columns: &CompressedColumns, appended: Vec<Expression>) {
        let kept = stream.row_type.iter().zip(columns).enumerate().map(|(position, (ty, compressed))| {
            let column = Expression::column(position, ty.clone());
            compressed.as_ref().map_or(column.clone(), |compressed| compressed.compression.compress(&column))
        });
        let expressions: Vec<Expression> = kept.chain(appended).collect();
        stream.row_type = expressions.iter().map(|expression| expression.output().clone()).collect();
        let transform = ProjectTransform::new(expressions, describe("Compress", stream, columns));
        stream.explain_above(ExplainNode::of_transform(&transform));
        stream.transform(transform);
    }

    /// Gives columns back what [`Self::compress_stream`] took from them.
    pub(super) fn decompress_stream(&self, stream: &mut Stream, columns: &CompressedColumns) {
        if columns.iter().all(Option::is_none) {
            return;
        }
        let expressions: Vec<Expression> = stream
            .row_type
            .iter()
            .zip(columns)
            .enumerate()
            .map(|(position, (ty, compressed))| {
                let column = Expression::column(position, ty.clone());
                match compressed {
                    Some(Compressed { compression, original }) => compression.decompress(&column, original),
                    None => column,
                }
            })
            .collect();
        stream.row_type = expressions.iter().map(|expression| expression.output().clone()).collect();
        let transform = ProjectTransform::new(expressions, describe("Decompress", stream, columns));
        stream.explain_above(ExplainNode::of_transform(&transform));
        stream.transform(transform);
    }

    /// Compresses the group keys of an aggregation over `input`, and what MIN, MAX and ANY_VALUE keep. `exprs` are the
    /// group keys, then the aggregates of `spec`. The result is for the columns that come out.
    pub(super) fn compress_aggregate<'e>(
        &self,
        input: &LogicalPlan,
        exprs: impl Iterator<Item = &'e Expr>,
        spec: &mut HashAggregateSpec,
    ) -> Result<CompressedColumns> {
        let exprs: Vec<&Expr> = exprs.collect();
        let key_bytes: usize = spec.groups.iter().map(|key| width_of(key.output())).sum();
        let state_bytes: usize =
            spec.aggregates.iter().flat_map(|call| &call.arguments).map(|argument| width_of(argument.output())).sum();
        let groups = spec.estimated_groups.unwrap_or(0) as f64;
        let is_worth_it = self.is_worth_compressing(groups * (key_bytes + state_bytes) as f64);
        let of = |expr: &Expr, compiled: &Expression| self.compression_of_key(input, expr, compiled, is_worth_it);
        let mut columns = CompressedColumns::new();
        for (group, expr) in spec.groups.iter_mut().zip(&exprs) {
            let compressed = of(expr, group)?;
            if let Some(compressed) = &compressed {
                *group = compressed.compression.compress(group);
            }
            columns.push(compressed);
        }
        // The grouping id.
        columns.extend(spec.grouping_sets.as_ref().map(|_| None));
        for (call, expr) in spec.aggregates.iter_mut().zip(&exprs[spec.groups.len()..]) {
            use AggregateKind as K;
            let keeps_values = matches!(call.kind, K::Min | K::Max | K::AnyValue) && call.order_by.is_empty();
            let gives_value = keeps_values || gives_collected_value(&call.kind);
            let compressed = match (arguments_of(expr).first(), call.arguments.first()) {
                (_, Some(compiled)) if gives_value && nested(compiled.output()).is_some() => nested(compiled.output()),
                (Some(argument), Some(compiled)) if keeps_values => of(argument, compiled)?,
                _ => None,
            };
            // Of distinct values that are counted, nobody asks which they are.
            if call.kind == K::Count && call.distinct {
                for (value, argument) in call.arguments.iter_mut().zip(arguments_of(expr)) {
                    if let Some(compressed) = of(argument, value)? {
                        *value = compressed.compression.compress(value);
                    }
                }
            }
            // Counts don't keep their argument.
            let kept = call.arguments.iter_mut().skip(compressed.is_some() as usize);
            for value in kept
                .filter(|_| call.kind != K::Count)
                .chain(call.order_by.iter_mut().map(|order| &mut order.expression))
            {
                *value = as_stored(value);
            }
            columns.push(compressed.map(|compressed| {
                let argument = compressed.compression.compress(&call.arguments[0]);
                let original = ColumnType { range: compressed.original.range, ..call.output.clone() };
                let original = ColumnType { physical: compressed.original.physical, ..original };
                call.output = ColumnType { nullable: call.output.nullable, ..argument.output().clone() };
                call.arguments[0] = argument;
                Compressed { original, ..compressed }
            }));
        }
        Ok(columns)
    }
}

/// Is the result of an aggregate one of the values that it collects?
fn gives_collected_value(kind: &AggregateKind) -> bool {
    use AggregateKind as K;
    match kind {
        K::FirstValue { .. } | K::LastValue { .. } | K::ArgMin | K::ArgMax | K::Mode => true,
        K::Quantile { interpolated, as_list, .. } => !interpolated && !as_list,
        _ => false,
    }
}

/// How a column of nested values gets into rows; `None` for others.
pub(super) fn nested(ty: &ColumnType) -> Option<Compressed> {
    Compression::of_nested(ty).map(|compression| Compressed { compression, original: ty.clone() })
}

/// How the columns of a stream get into rows that must be compressed for that.
pub(super) fn nested_columns(stream: &Stream) -> CompressedColumns {
    stream.row_type.iter().map(nested).collect()
}

/// A value as rows hold it.
pub(super) fn as_stored(value: &Expression) -> Expression {
    Compression::of_nested(value.output()).map_or_else(|| value.clone(), |compression| compression.compress(value))
}

/// Makes keys ready for columns of which some are compressed: a key that is one that becomes bytes is the column; others
/// that use compressed columns are computed before, as columns behind those of the stream. If there may be none, the
/// columns that such keys use stay what they are.
pub(super) fn stored_keys(
    keys: &mut [Expression],
    stream: &Stream,
    columns: &mut CompressedColumns,
    may_append: bool,
) -> Vec<Expression> {
    let becomes_bytes =
        |columns: &CompressedColumns, column: usize| columns[column].as_ref().is_some_and(|c| c.is_nested());
    for key in keys.iter().filter(|key| !may_append && key.column_index().is_none()) {
        key.columns_used().into_iter().for_each(|column| columns[column] = None);
    }
    let mut computed = Vec::new();
    for key in keys {
        let stored = as_stored(key);
        *key = match key.column_index() {
            Some(column) if becomes_bytes(columns, column) => Expression::column(column, stored.output().clone()),
            None if stored.columns_used().into_iter().any(|column| columns[column].is_some()) => {
                computed.push(stored.clone());
                Expression::column(stream.row_type.len() + computed.len() - 1, stored.output().clone())
            }
            _ => stored,
        };
    }
    computed
}

impl Compressed {
    fn is_nested(&self) -> bool {
        self.original.physical == PhysicalType::Nested
    }
}

/// How both keys of an equality get narrower, if their bounds allow it and values can stay what they are: filters made
/// of the build keys are applied to columns that aren't compressed.
pub(super) fn key_compression(probe: &ColumnType, build: &ColumnType) -> Option<Compression> {
    let (a, b) = (probe.range?, build.range?);
    let both = ValueRange { min: a.min.min(b.min), max: a.max.max(b.max) };
    Compression::of_key(&ColumnType { range: Some(both), ..build.clone() })
}

/// The columns of `columns` but those at `positions`.
pub(super) fn without(mut columns: CompressedColumns, positions: &BTreeSet<usize>) -> CompressedColumns {
    positions.iter().for_each(|&position| columns[position] = None);
    columns
}

/// Bytes of a value in a row.
fn width_of(ty: &ColumnType) -> usize {
    if ty.physical == PhysicalType::Nested { 0 } else { ty.physical.width_bytes() }
}

fn arguments_of(aggregate: &Expr) -> &[Expr] {
    match aggregate {
        Expr::Alias(alias) => arguments_of(&alias.expr),
        Expr::AggregateFunction(function) => &function.params.args,
        _ => &[],
    }
}

/// ` (codes)`, for the name of an operator that works on codes of one of these columns.
pub(super) fn codes_note<'c>(columns: impl IntoIterator<Item = &'c Option<Compressed>>) -> &'static str {
    let is_codes = |column: &Option<Compressed>| column.as_ref().is_some_and(|column| column.compression.is_codes());
    if columns.into_iter().any(is_codes) { " (codes)" } else { "" }
}

/// `Compress a 8→2, b 16→1 bytes`, for EXPLAIN.
fn describe(what: &str, stream: &Stream, columns: &CompressedColumns) -> String {
    let named = columns.iter().enumerate().filter_map(|(position, compressed)| {
        let Compressed { compression, original } = compressed.as_ref()?;
        let name = stream.schema.field(position).name();
        let (wide, narrow) = (width_of(original), compression.physical().width_bytes());
        Some(match what {
            "Compress" if wide == 0 => format!("{name} to text"),
            "Compress" if compression.is_codes() => format!("{name} {wide}→{narrow} (codes)"),
            "Compress" => format!("{name} {wide}→{narrow}"),
            _ => name.clone(),
        })
    });
    let named: Vec<String> = named.collect();
    format!("{what} {}{}", named.join(", "), if what == "Compress" { " bytes" } else { "" })
}

/// The table's column whose values column `index` of a plan passes on, if it is one: all values that aren't NULL occur
/// there.
fn text_column(plan: &LogicalPlan, index: usize) -> Option<(Arc<dyn Table>, usize)> {
    match plan {
        LogicalPlan::TableScan(scan) => {
            let definition = table_of(&scan.source).ok()?;
            let handle = definition.handle.downcast_ref::<TableHandle>()?;
            let column = scan.projection.as_ref().map_or(index, |projection| projection[index]);
            Some((handle.0.clone(), column))
        }
        LogicalPlan::Projection(node) => {
            text_column(&node.input, passed_column(&node.expr[index], node.input.schema())?)
        }
        LogicalPlan::Filter(node) => text_column(&node.input, index),
        LogicalPlan::Sort(node) => text_column(&node.input, index),
        LogicalPlan::Limit(node) => text_column(&node.input, index),
        LogicalPlan::SubqueryAlias(node) => text_column(&node.input, index),
        LogicalPlan::Subquery(node) => text_column(&node.subquery, index),
        LogicalPlan::Distinct(Distinct::All(input)) => text_column(input, index),
        LogicalPlan::Window(node) => {
            (index < node.input.schema().fields().len()).then(|| text_column(&node.input, index))?
        }
        LogicalPlan::Aggregate(node) => {
            let has_sets = node.group_expr.iter().any(|group| matches!(group, Expr::GroupingSet(_)));
            let group = node.group_expr.get(index).filter(|_| !has_sets)?;
            text_column(&node.input, passed_column(group, node.input.schema())?)
        }
        LogicalPlan::Join(node) => {
            let left = node.left.schema().fields().len();
            match node.join_type {
                JoinType::RightSemi | JoinType::RightAnti | JoinType::RightMark => text_column(&node.right, index),
                _ if index < left => text_column(&node.left, index),
                JoinType::LeftMark => None,
                _ => text_column(&node.right, index - left),
            }
        }
        _ => None,
    }
}
