//! Window functions: an operator for each combination of partition and order.

use std::collections::BTreeSet;

use datafusion_expr::Expr;
use datafusion_expr::expr::WindowFunction;
use datafusion_expr::logical_plan::Window;
use godwit_common::{Error, Result};
use godwit_expression::Expression;
use godwit_vector::ColumnType;

use super::compress::{CompressedColumns, as_stored, codes_note, nested};
use super::stream::{Branch, Stream};
use super::{Needs, PhysicalPlanner, columns_of_all};
use crate::explain::ExplainNode;
use crate::operators::ProjectTransform;
use crate::sort::{Sort, SortKey};
use crate::window::{Window as WindowOperator, WindowCompiler, WindowInput, WindowSpec};

/// A window expression and the column that it gives.
struct Call<'e> {
    expr: &'e Expr,
    function: &'e WindowFunction,
    column: usize,
}

impl PhysicalPlanner<'_> {
    pub(super) fn plan_window(&mut self, window: &Window, needs: Needs) -> Result<Stream> {
        let input_schema = window.input.schema();
        let inputs = input_schema.fields().len();
        let calls = window
            .window_expr
            .iter()
            .enumerate()
            .map(|(index, expr)| Ok(Call { expr, function: window_function(expr)?, column: inputs + index }))
            .collect::<Result<Vec<_>>>()?;
        let calls: Vec<Call> = calls.into_iter().filter(|call| needs.columns.contains(&call.column)).collect();
        let mut columns: BTreeSet<usize> = needs.columns.iter().copied().filter(|&column| column < inputs).collect();
        columns.extend(columns_of_all(calls.iter().map(|call| call.expr), input_schema)?);

        let mut groups: Vec<Vec<Call>> = Vec::new();
        for call in calls {
            match groups.iter_mut().find(|group| has_same_rows(group[0].function, call.function)) {
                Some(group) => group.push(call),
                None => groups.push(vec![call]),
            }
        }
        let filters = needs.filters_below(|column| is_partition_key(&groups, column, window).then_some(column));
        let mut stream = self.plan(&window.input, Needs::new(columns, filters))?;
        let rows = self.estimates.of(&window.input).rows;
        for (done, group) in groups.iter().enumerate() {
            // What is still needed: by the parent, or by the groups to come.
            let mut needed = needs.columns.clone();
            for later in &groups[done + 1..] {
                needed.extend(columns_of_all(later.iter().map(|call| call.expr), input_schema)?);
            }
            stream = self.window_stream(stream, window, group, &needed, rows)?;
        }
        Ok(stream)
    }

    fn window_stream(
        &mut self,
        mut stream: Stream,
        window: &Window,
        group: &[Call],
        needed: &BTreeSet<usize>,
        rows: f64,
    ) -> Result<Stream> {
        let params = &group[0].function.params;
        let output: Vec<usize> = (0..stream.origin.len()).filter(|&at| needed.contains(&stream.origin[at])).collect();
        let mut compiler = WindowCompiler::new(&stream.schema, &stream.row_type, &self.context);
        let calls = group.iter().map(|call| compiler.call(call.expr, call.function)).collect::<Result<_>>()?;
        let partition_by = params.partition_by.iter().map(|key| compiler.expression(key)).collect::<Result<_>>()?;
        let order_by = params
            .order_by
            .iter()
            .map(|key| {
                let expression = compiler.expression(&key.expr)?;
                Ok(SortKey { expression, descending: !key.asc, nulls_first: key.nulls_first })
            })
            .collect::<Result<_>>()?;
        let passed = output.iter().map(|&at| Expression::column(at, stream.row_type[at].clone())).collect();
        let mut spec = WindowSpec { partition_by, order_by, calls, passed, estimated_rows: Some(rows as u64) };
        let stored = self.compress_window(window, &stream, &mut spec)?;
        self.run_subqueries_before(&mut stream)?;
        // Results come after the columns that are passed on, as rows hold these.
        let passed: Vec<_> = output.iter().map(|&at| stored[at].clone()).collect();
        let mut origin: Vec<usize> = output.iter().map(|&at| stream.origin[at]).collect();
        origin.extend(group.iter().map(|call| call.column));

        let operator = WindowOperator::new(&spec, self.query, name_of(group) + codes_note(&stored))?;
        let (done, below) = match operator.input() {
            WindowInput::Any => self.close(stream, operator.sink()),
            WindowInput::Sorted { columns, sort } => {
                stream.transform(ProjectTransform::new(columns, "Project"));
                let sort = Sort::new(sort, self.query, "Sort")?;
                let (mut done, below) = self.close(stream, sort.sink());
                if let Some(merge) = sort.merge_source() {
                    let merged = self.reserve(1);
                    self.close_alone(merged[0], merge, done);
                    done = merged;
                }
                let source = sort.source();
                let explain = ExplainNode::leaf(source.metrics().clone()).above(below);
                let sorted = Stream {
                    schema: window.schema.clone(),
                    origin: Vec::new(),
                    row_type: Vec::new(),
                    branches: vec![Branch::new(source, done)],
                    explain,
                };
                self.close(sorted, operator.sink())
            }
        };
        let source = operator.source();
        let explain = ExplainNode::leaf(source.metrics().clone()).above(below);
        // The columns of a stream are in the order of the schema: results of earlier groups may come after later ones.
        let row_type = operator.output_type();
        let mut order: Vec<usize> = (0..origin.len()).collect();
        order.sort_by_key(|&at| origin[at]);
        let sorted_origin: Vec<usize> = order.iter().map(|&at| origin[at]).collect();
        let result = |&at: &usize| {
            let column = Expression::column(at, row_type[at].clone());
            match passed.get(at) {
                Some(Some(stored)) => stored.compression.decompress(&column, &stored.original),
                _ => column,
            }
        };
        let expressions: Vec<_> = order.iter().map(result).collect();
        let mut stream = Stream {
            schema: window.schema.clone(),
            origin: Vec::new(),
            row_type,
            branches: vec![Branch::new(source, done)],
            explain,
        };
        self.project_stream(&mut stream, expressions, &window.schema, sorted_origin)?;
        Ok(stream)
    }
}

impl PhysicalPlanner<'_> {
    /// Makes keys and columns that are passed on what rows hold of them. How that is, by column of the stream.
    fn compress_window(&self, window: &Window, stream: &Stream, spec: &mut WindowSpec) -> Result<CompressedColumns> {
        let inputs = window.input.schema().fields().len();
        let compression = |(&index, ty): (&usize, &ColumnType)| match index < inputs {
            true => self.compression_of(&window.input, index, ty, false),
            // A result of an earlier operator.
            false => Ok(nested(ty)),
        };
        let stored =
            stream.origin.iter().zip(&stream.row_type).map(compression).collect::<Result<CompressedColumns>>()?;
        // Once per column, so that keys and what is passed on are known to be the same.
        let columns: Vec<Expression> = stored
            .iter()
            .zip(&stream.row_type)
            .enumerate()
            .map(|(at, (stored, ty))| {
                let column = Expression::column(at, ty.clone());
                stored.as_ref().map_or(column.clone(), |stored| stored.compression.compress(&column))
            })
            .collect();
        let has_value_offsets = spec.has_value_offsets();
        let order_by = spec.order_by.iter_mut().map(|key| &mut key.expression).filter(|_| !has_value_offsets);
        for value in spec.partition_by.iter_mut().chain(order_by).chain(&mut spec.passed) {
            *value = value.column_index().map_or_else(|| as_stored(value), |at| columns[at].clone());
        }
        Ok(stored)
    }
}

fn window_function(expr: &Expr) -> Result<&WindowFunction> {
    match expr {
        Expr::Alias(alias) => window_function(&alias.expr),
        Expr::WindowFunction(function) => Ok(&**function),
        other => Err(Error::internal(format!("{other} is not a window function"))),
    }
}

/// True if both have the same partitions and orders.
fn has_same_rows(a: &WindowFunction, b: &WindowFunction) -> bool {
    let (a, b) = (&a.params, &b.params);
    let contains_all = |a: &[Expr], b: &[Expr]| b.iter().all(|key| a.contains(key));
    contains_all(&a.partition_by, &b.partition_by)
        && contains_all(&b.partition_by, &a.partition_by)
        && a.order_by == b.order_by
}

/// True if dropping all rows with some value of an input column drops whole partitions of all functions.
fn is_partition_key(groups: &[Vec<Call>], column: usize, window: &Window) -> bool {
    let schema = window.input.schema();
    column < schema.fields().len()
        && groups.iter().all(|group| {
            group[0].function.params.partition_by.iter().any(|key| super::passed_column(key, schema) == Some(column))
        })
}

fn name_of(group: &[Call]) -> String {
    let params = &group[0].function.params;
    let list = |keys: Vec<String>| keys.join(", ");
    let mut name = "Window".to_owned();
    if !params.partition_by.is_empty() {
        name += &format!(" by {}", list(params.partition_by.iter().map(|key| key.to_string()).collect()));
    }
    if !params.order_by.is_empty() {
        name += &format!(" order {}", list(params.order_by.iter().map(|key| key.to_string()).collect()));
    }
    let functions = group.iter().map(|call| call.function.fun.name().to_owned()).collect();
    format!("{name}: {}", list(functions))
}
