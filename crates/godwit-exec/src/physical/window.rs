//! Window functions: an operator for each combination of partition and order.

use godwit_common::Result;
use godwit_expression::Expression;
use godwit_plan::{ColumnId, ColumnSet, Expr, NodeId, Window, WindowCall, WindowTarget};
use godwit_vector::sql::column_type;
use godwit_vector::{ColumnType, PhysicalType};

use super::stored::{Compressed, CompressedColumns, as_stored, codes_note, nested};
use super::stream::Stream;
use super::window_call::WindowCompiler;
use super::{Branch, Needs, PhysicalPlanner, columns_of};
use crate::explain::ExplainNode;
use crate::operators::{NumberTransform, ProjectTransform};
use crate::sort::SortKey;
use crate::window::{FirstRows, Window as WindowOperator, WindowInput, WindowSpec};

/// Maximum number of first rows per partition that are filtered before the sort: each partition keeps a heap of that
/// many strings.
const FIRST_ROWS_MAX: usize = 4096;

/// A call, and the column that it produces.
type Call<'p> = &'p (ColumnId, WindowCall);

impl PhysicalPlanner<'_> {
    pub(super) fn plan_window(&mut self, window: &Window, needs: Needs) -> Result<Stream> {
        let calls: Vec<Call<'_>> = window.calls.iter().filter(|(column, _)| needs.columns.contains(*column)).collect();
        let mut columns = needs.columns.clone();
        window.calls.iter().for_each(|&(column, _)| columns.remove(column));
        columns.union_with(&used_by(&calls));

        let mut groups: Vec<Vec<Call<'_>>> = Vec::new();
        for call in calls {
            match groups.iter_mut().find(|group| has_same_rows(&group[0].1, &call.1)) {
                Some(group) => group.push(call),
                None => groups.push(vec![call]),
            }
        }
        let is_key = |column| {
            let is = |key: &Expr| key.as_column() == Some(column);
            // Dropping all rows with some value of the column drops whole partitions of all functions.
            groups.iter().all(|group| group[0].1.partition_by.iter().any(is))
        };
        let filters = needs.filters_below(|column| is_key(column).then_some(column));
        let mut stream = self.plan_node(window.input, Needs::new(columns, filters))?;
        for (done, group) in groups.iter().enumerate() {
            // The columns that are still needed by the parent or by later groups.
            let mut needed = needs.columns.clone();
            groups[done + 1..].iter().for_each(|later| needed.union_with(&used_by(later)));
            let first_rows = if groups.len() == 1 { first_rows(group, &needs) } else { None };
            stream = self.window_stream(stream, window.input, group, &needed, first_rows)?;
        }
        Ok(stream)
    }

    fn window_stream(
        &mut self,
        mut stream: Stream,
        input: NodeId,
        group: &[Call<'_>],
        needed: &ColumnSet,
        first_rows: Option<(usize, bool)>,
    ) -> Result<Stream> {
        if group.iter().all(|(_, call)| numbers_all_rows(call)) {
            return self.numbered_stream(stream, group);
        }
        let output = stream.positions(needed);
        let first = &group[0].1;
        let mut compiler = WindowCompiler::new(stream.layout(), &self.context);
        let calls = group.iter().map(|(_, call)| compiler.call(call)).collect::<Result<_>>()?;
        let partition_by = first.partition_by.iter().map(|key| compiler.expression(key)).collect::<Result<_>>()?;
        let keys = first.order_by.iter().map(|key| {
            let expression = compiler.expression(&key.expr)?;
            Ok(SortKey { expression, descending: key.descending, nulls_first: key.nulls_first })
        });
        let order_by = keys.collect::<Result<_>>()?;
        let passed = output.iter().map(|&at| stream.column(at)).collect();
        let rows = self.estimates.rows(self.plan, input);
        let distances = compiler.distances;
        let estimated_rows = Some(rows as u64);
        let mut spec = WindowSpec { partition_by, order_by, calls, distances, passed, estimated_rows };
        let stored = self.compress_window(input, &stream, &mut spec)?;
        self.run_subqueries_before(&mut stream)?;
        if let Some((rows, with_ties)) = first_rows {
            stream.transform(FirstRows::new(&spec, rows, with_ties, self.query)?);
        }
        // Results come after the columns that are passed on, which are in the form stored in rows.
        let passed = output.iter().map(|&at| Ok(stored[at].clone()));
        let results = spec.calls.iter().map(|call| nested_result(&call.output));
        let stored_output = passed.chain(results).collect::<Result<CompressedColumns>>()?;
        let mut columns: Vec<ColumnId> = output.iter().map(|&at| stream.columns[at]).collect();
        columns.extend(group.iter().map(|&&(column, _)| column));

        let operator = WindowOperator::new(&spec, self.query, self.window_name(group) + codes_note(&stored))?;
        let (done, below) = match operator.input() {
            WindowInput::Any => self.close(stream, operator.sink()),
            WindowInput::Sorted { columns, sort } => {
                stream.transform(ProjectTransform::new(columns, "Project"));
                let (branch, explain) = self.close_sort(stream, sort, "Sort".to_owned())?;
                self.close(Stream::new(Vec::new(), Vec::new(), branch, explain), operator.sink())
            }
        };
        let source = operator.source();
        let explain = ExplainNode::leaf(source.metrics().clone()).above(below);
        let mut stream = Stream::new(columns, operator.output_type(), Branch::new(source, done), explain);
        let expressions = (0..stream.columns.len()).map(|at| {
            let column = stream.column(at);
            match &stored_output[at] {
                Some(stored) => stored.compression.decompress(&column, &stored.original),
                None => column,
            }
        });
        let expressions = expressions.collect();
        stream.project(stream.columns.clone(), expressions);
        Ok(stream)
    }

    /// Numbers all rows in order of arrival, without keeping any.
    fn numbered_stream(&mut self, mut stream: Stream, group: &[Call<'_>]) -> Result<Stream> {
        stream.in_order();
        for (column, call) in group {
            stream.transform(NumberTransform::new(self.window_name(group)));
            stream.columns.push(*column);
            stream.row_type.push(column_type(&call.ty, false)?);
        }
        Ok(stream)
    }

    /// Converts keys and columns that are passed on to the form stored in rows. Returns the compressions by column of
    /// the stream.
    fn compress_window(&self, input: NodeId, stream: &Stream, spec: &mut WindowSpec) -> Result<CompressedColumns> {
        let inputs = self.plan.output_set(input);
        let compression = |(&column, ty): (&ColumnId, &ColumnType)| match inputs.contains(column) {
            true => self.compression_of(input, column, ty, false),
            // A result of an earlier operator.
            false => Ok(nested(ty)),
        };
        let stored =
            stream.columns.iter().zip(&stream.row_type).map(compression).collect::<Result<CompressedColumns>>()?;
        // Once per column, so that keys and passed columns are known to be the same.
        let column = |(at, stored): (usize, &Option<_>)| {
            let column = stream.column(at);
            let compress = |stored: &Compressed| stored.compression.compress(&column);
            stored.as_ref().map_or_else(|| column.clone(), compress)
        };
        let columns: Vec<Expression> = stored.iter().enumerate().map(column).collect();
        let has_value_offsets = spec.has_value_offsets();
        let order_by = spec.order_by.iter_mut().map(|key| &mut key.expression).filter(|_| !has_value_offsets);
        for value in spec.partition_by.iter_mut().chain(order_by).chain(&mut spec.passed) {
            *value = value.column_index().map_or_else(|| as_stored(value), |at| columns[at].clone());
        }
        Ok(stored)
    }

    fn window_name(&self, group: &[Call<'_>]) -> String {
        let call = &group[0].1;
        let mut name = "Window".to_owned();
        if !call.partition_by.is_empty() {
            name += &format!(" by {}", self.show(&call.partition_by, ", "));
        }
        if !call.order_by.is_empty() {
            name += &format!(" order {}", self.show_keys(&call.order_by));
        }
        let functions: Vec<&str> = group.iter().map(|(_, call)| call.name()).collect();
        format!("{name}: {}", functions.join(", "))
    }
}

/// How to turn the result of a call that is stored as bytes back into its nested value.
fn nested_result(output: &ColumnType) -> Result<Option<Compressed>> {
    let natural = ColumnType::new(output.logical.clone(), output.nullable)?;
    Ok(nested(&natural).filter(|_| output.physical == PhysicalType::Str))
}

fn used_by(calls: &[Call<'_>]) -> ColumnSet {
    columns_of(calls.iter().flat_map(|(_, call)| call.exprs()))
}

/// The number of rows needed of each partition, and whether ties with the last one are needed, too; if all calls number
/// rows, and larger numbers aren't needed.
fn first_rows(group: &[Call<'_>], needs: &Needs) -> Option<(usize, bool)> {
    let numbers_rows = |call: &WindowCall| {
        let is_number = matches!(call.name(), "row_number" | "rank" | "dense_rank");
        is_number && matches!(call.function, WindowTarget::Window(_)) && !call.exprs().any(Expr::is_volatile)
    };
    if !group.iter().all(|(_, call)| numbers_rows(call)) {
        return None;
    }
    let wanted = group.iter().flat_map(|(column, call)| {
        let of_call = needs.largest_wanted.iter().filter(move |(bounded, _)| bounded == column);
        of_call.map(move |&(_, rows)| (usize::try_from(rows).unwrap_or(usize::MAX), call.name()))
    });
    let first = wanted.filter(|(_, name)| *name != "dense_rank").min()?;
    (1..=FIRST_ROWS_MAX).contains(&first.0).then_some((first.0, first.1 == "rank"))
}

/// Whether it is `row_number() OVER ()`.
fn numbers_all_rows(call: &WindowCall) -> bool {
    let is_plain = call.partition_by.is_empty() && call.order_by.is_empty() && call.filter.is_none();
    is_plain && matches!(call.function, WindowTarget::Window(_)) && call.name() == "row_number"
}

/// True if both have the same partitions and orders.
fn has_same_rows(a: &WindowCall, b: &WindowCall) -> bool {
    let contains_all = |a: &[Expr], b: &[Expr]| b.iter().all(|key| a.contains(key));
    contains_all(&a.partition_by, &b.partition_by)
        && contains_all(&b.partition_by, &a.partition_by)
        && a.order_by == b.order_by
}
