//! Window functions: an operator for each combination of partition and order.

use std::collections::BTreeSet;

use datafusion_expr::Expr;
use datafusion_expr::expr::WindowFunction;
use datafusion_expr::logical_plan::Window;
use godwit_common::{Error, Result};
use godwit_expression::Expression;

use super::compress::{as_stored, nested};
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
        let spec = WindowSpec {
            partition_by: params
                .partition_by
                .iter()
                .map(|key| Ok(as_stored(&compiler.expression(key)?)))
                .collect::<Result<_>>()?,
            order_by: params
                .order_by
                .iter()
                .map(|key| {
                    let expression = as_stored(&compiler.expression(&key.expr)?);
                    Ok(SortKey { expression, descending: !key.asc, nulls_first: key.nulls_first })
                })
                .collect::<Result<_>>()?,
            calls: group.iter().map(|call| compiler.call(call.expr, call.function)).collect::<Result<_>>()?,
            input: stream.row_type.clone(),
            output,
            estimated_rows: Some(rows as u64),
        };
        self.run_subqueries_before(&mut stream)?;
        // Results come after the columns that are passed on, nested ones as rows hold them.
        let passed: Vec<_> = spec.output.iter().map(|&at| nested(&stream.row_type[at])).collect();
        let mut origin: Vec<usize> = spec.output.iter().map(|&at| stream.origin[at]).collect();
        origin.extend(group.iter().map(|call| call.column));

        let operator = WindowOperator::new(&spec, self.query, name_of(group))?;
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
                Some(Some(nested)) => nested.compression.decompress(&column, &nested.original),
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
