//! Compressed materialization: projections around operators that keep rows, to make those rows narrower.
//!
//! ```text
//! … ─▶ Project (compress) ─▶ sort | build side of a join | …  ─▶ Project (decompress) ─▶ …
//! ```
//!
//! The operators know nothing about it. Integers, dates, decimals and times become their difference from the smallest
//! value; text whose values are all known, because a scan below reads it from dictionaries, becomes a code
//! ([`godwit_expression::Compression`]). It pays off where many bytes are kept, so below
//! [`crate::QuerySettings::compress_from_bytes`] nothing is compressed, with two exceptions. Text that scans emit as
//! codes of one ordered dictionary, as scans of the database's own tables do, is replaced by these codes wherever it is
//! kept, compared or hashed. Lists, structs and maps are always encoded as bytes that sort the same way: rows can't
//! hold them.
//!
//! A new operator calls [`PhysicalPlanner::compressions_of`] with the columns that it keeps,
//! [`PhysicalPlanner::compress_stream`] before its sink and [`PhysicalPlanner::decompress_stream`] after its source.

use std::sync::Arc;

use godwit_common::Result;
use godwit_expression::{Compression, Expression, TextDomain};
use godwit_pipeline::Table;
use godwit_plan::{AggregateCall, ColumnId, ColumnSet, Expr, Node, NodeId, Plan};
use godwit_vector::{ColumnType, PhysicalType};

use super::PhysicalPlanner;
use super::scan::table_of;
use super::stored::{Compressed, CompressedColumns, as_stored, describe, gives_collected_value, nested, width_of};
use super::stream::Stream;
use crate::hash_aggregate::{AggregateKind, HashAggregateSpec};
use crate::operators::ProjectTransform;

impl PhysicalPlanner<'_> {
    /// Whether `bytes` bytes are worth compressing. Always false if compression is off.
    pub(super) fn is_worth_compressing(&self, bytes: f64) -> bool {
        self.query.settings.compress_from_bytes.is_some_and(|least| bytes >= least as f64)
    }

    /// Bytes of some columns of a node's rows, counting at most `rows_max` rows.
    pub(super) fn bytes_of(&self, node: NodeId, columns: &ColumnSet, rows_max: f64) -> f64 {
        let estimate = self.estimates.of(self.plan, node);
        let row_bytes: f64 =
            columns.iter().filter_map(|column| estimate.column(column)).map(|column| column.average_bytes).sum();
        estimate.rows.min(rows_max) * row_bytes
    }

    /// How best to compress each column of `stream`, the rows of `node`; where that isn't worth it, only the
    /// compressions that are always applied.
    pub(super) fn compressions_of(
        &self,
        node: NodeId,
        stream: &Stream,
        is_worth_it: bool,
    ) -> Result<CompressedColumns> {
        let columns = stream.columns.iter().zip(&stream.row_type);
        columns.map(|(&column, ty)| self.compression_of(node, column, ty, is_worth_it)).collect()
    }

    /// How to compress a column of `node`, of type `ty`.
    pub(super) fn compression_of(
        &self,
        node: NodeId,
        column: ColumnId,
        ty: &ColumnType,
        is_worth_it: bool,
    ) -> Result<Option<Compressed>> {
        let compression = match ty.physical {
            PhysicalType::Nested => Compression::of_nested(ty),
            PhysicalType::Str => {
                let domain = match text_column(self.plan, node, column) {
                    Some((table, column)) if is_worth_it => table.text_domain(column, &self.query.memory)?,
                    _ => self.text_codes(node, column)?,
                };
                domain.map(Compression::of_domain)
            }
            _ if is_worth_it => Compression::of_range(ty),
            _ => None,
        };
        Ok(compression.map(|compression| Compressed { compression, original: ty.clone() }))
    }

    /// The domain of a column of `node`, if it is text that arrives as codes. None if compression is off.
    pub(super) fn text_codes(&self, node: NodeId, column: ColumnId) -> Result<Option<Arc<TextDomain>>> {
        if self.query.settings.compress_from_bytes.is_none() {
            return Ok(None);
        }
        text_column(self.plan, node, column).map_or(Ok(None), |(table, column)| table.text_codes(column))
    }

    /// How to compress a key over the rows of `node`, or a value that is kept from them.
    fn compression_of_key(
        &self,
        node: NodeId,
        key: &Expr,
        compiled: &Expression,
        is_worth_it: bool,
    ) -> Result<Option<Compressed>> {
        let ty = compiled.output();
        match (ty.physical, key.as_column()) {
            (_, Some(column)) => self.compression_of(node, column, ty, is_worth_it),
            (PhysicalType::Nested, None) => Ok(nested(ty)),
            (PhysicalType::Str, None) => Ok(None),
            (_, None) => Ok(is_worth_it
                .then(|| Compression::of_range(ty))
                .flatten()
                .map(|compression| Compressed { compression, original: ty.clone() })),
        }
    }

    /// Replaces columns with their compressed values, where there are any, and appends others. These have no id:
    /// nothing may be compiled against the stream any more.
    pub(super) fn compress_stream(&self, stream: &mut Stream, columns: &CompressedColumns, appended: Vec<Expression>) {
        let kept = columns.iter().enumerate().map(|(position, compressed)| {
            let column = stream.column(position);
            compressed.as_ref().map_or(column.clone(), |compressed| compressed.compression.compress(&column))
        });
        let expressions: Vec<Expression> = kept.chain(appended).collect();
        stream.row_type = expressions.iter().map(|expression| expression.output().clone()).collect();
        stream.transform(ProjectTransform::new(expressions, self.describe("Compress", stream, columns)));
    }

    /// Undoes [`Self::compress_stream`].
    pub(super) fn decompress_stream(&self, stream: &mut Stream, columns: &CompressedColumns) {
        if columns.iter().all(Option::is_none) {
            return;
        }
        let expressions: Vec<Expression> = columns
            .iter()
            .enumerate()
            .map(|(position, compressed)| {
                let column = stream.column(position);
                match compressed {
                    Some(Compressed { compression, original }) => compression.decompress(&column, original),
                    None => column,
                }
            })
            .collect();
        stream.row_type = expressions.iter().map(|expression| expression.output().clone()).collect();
        stream.transform(ProjectTransform::new(expressions, self.describe("Decompress", stream, columns)));
    }

    fn describe(&self, what: &str, stream: &Stream, columns: &CompressedColumns) -> String {
        let names: Vec<_> = stream.columns.iter().map(|&column| self.plan.explain_column(column)).collect();
        describe(what, names.iter().map(|name| &**name), columns)
    }

    /// Compresses the group keys of an aggregation over `input`, and the values that MIN, MAX and ANY_VALUE keep.
    /// `keys` are the group keys of `spec`, and `calls` its aggregates. The result describes the output columns.
    pub(super) fn compress_aggregate(
        &self,
        input: NodeId,
        keys: &[&Expr],
        calls: &[&AggregateCall],
        spec: &mut HashAggregateSpec,
    ) -> Result<CompressedColumns> {
        let key_bytes: usize = spec.groups.iter().map(|key| width_of(key.output())).sum();
        let state_bytes: usize =
            spec.aggregates.iter().flat_map(|call| &call.arguments).map(|argument| width_of(argument.output())).sum();
        let groups = spec.estimated_groups.unwrap_or(0) as f64;
        let is_worth_it = self.is_worth_compressing(groups * (key_bytes + state_bytes) as f64);
        let of = |expr: &Expr, compiled: &Expression| self.compression_of_key(input, expr, compiled, is_worth_it);
        let mut columns = CompressedColumns::new();
        for (group, expr) in spec.groups.iter_mut().zip(keys) {
            let compressed = of(expr, group)?;
            if let Some(compressed) = &compressed {
                *group = compressed.compression.compress(group);
            }
            columns.push(compressed);
        }
        // The grouping id.
        columns.extend(spec.grouping_sets.as_ref().map(|_| None));
        for (call, planned) in spec.aggregates.iter_mut().zip(calls) {
            columns.push(compress_call(call, &planned.args, &of)?);
        }
        Ok(columns)
    }
}

/// Compresses the values that an aggregate keeps; the result describes its output.
fn compress_call(
    call: &mut crate::hash_aggregate::AggregateCall,
    args: &[Expr],
    of: &impl Fn(&Expr, &Expression) -> Result<Option<Compressed>>,
) -> Result<Option<Compressed>> {
    use AggregateKind as K;
    let keeps_values = matches!(call.kind, K::Min | K::Max | K::AnyValue) && call.order_by.is_empty();
    let gives_value = keeps_values || gives_collected_value(&call.kind);
    let compressed = match (args.first(), call.arguments.first()) {
        (_, Some(compiled)) if gives_value && nested(compiled.output()).is_some() => nested(compiled.output()),
        (Some(argument), Some(compiled)) if keeps_values => of(argument, compiled)?,
        _ => None,
    };
    // Distinct values that are only counted needn't be restored.
    if call.kind == K::Count && call.distinct {
        for (value, argument) in call.arguments.iter_mut().zip(args) {
            if let Some(compressed) = of(argument, value)? {
                *value = compressed.compression.compress(value);
            }
        }
    }
    // Counts don't keep their argument.
    let kept = call.arguments.iter_mut().skip(compressed.is_some() as usize);
    for value in
        kept.filter(|_| call.kind != K::Count).chain(call.order_by.iter_mut().map(|order| &mut order.expression))
    {
        *value = as_stored(value);
    }
    Ok(compressed.map(|compressed| {
        let argument = compressed.compression.compress(&call.arguments[0]);
        let original = ColumnType { range: compressed.original.range, ..call.output.clone() };
        let original = ColumnType { physical: compressed.original.physical, ..original };
        call.output = ColumnType { nullable: call.output.nullable, ..argument.output().clone() };
        call.arguments[0] = argument;
        Compressed { original, ..compressed }
    }))
}

/// The table column whose values a column of a node passes on, if there is one: all non-NULL values of the latter occur
/// there.
fn text_column(plan: &Plan, node: NodeId, column: ColumnId) -> Option<(Arc<dyn Table>, usize)> {
    let (mut node, mut column) = (node, column);
    loop {
        node = match plan.node(node) {
            Node::Scan(scan) => {
                let (_, position) = scan.columns.iter().find(|(id, _)| *id == column)?;
                return Some((table_of(&*scan.relation).ok()?, *position));
            }
            Node::Project(project) => {
                column = project.columns.iter().find(|(id, _)| *id == column)?.1.as_column()?;
                project.input
            }
            Node::Aggregate(aggregate) if aggregate.sets.is_none() => {
                column = aggregate.keys.iter().find(|(id, _)| *id == column)?.1.as_column()?;
                aggregate.input
            }
            Node::Use(shared) => {
                column = shared.columns.iter().find(|(id, _)| *id == column)?.1;
                plan.shared(shared.shared).root
            }
            Node::Filter { input, .. } | Node::Sort { input, .. } => *input,
            Node::Limit(limit) => limit.input,
            Node::Window(window) => window.input,
            Node::Unnest(unnest) => unnest.input,
            Node::Join(join) if plan.output_set(join.left).contains(column) => join.left,
            Node::Join(join) => join.right,
            Node::Values(_)
            | Node::Aggregate(_)
            | Node::SetOperation(_)
            | Node::Recursive(_)
            | Node::WorkingRows { .. }
            | Node::Sample(_) => return None,
        };
    }
}
