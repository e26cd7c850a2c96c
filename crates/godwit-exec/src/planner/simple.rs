//! Nodes that need little planning: projection, filter, sort, limit, union, values.

use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

use arrow_array::{Array, ArrayRef};
use datafusion_common::{DFSchemaRef, ScalarValue};
use datafusion_expr::logical_plan::{
    EmptyRelation, FetchType, Filter, Limit, Projection, SkipType, Sort, Union, Values,
};
use datafusion_expr::{Expr, LogicalPlan};
use godwit_common::{Error, Result};
use godwit_expression::{Expression, Predicate};
use godwit_sql::Repeat;
use godwit_vector::kernels::cast::{convert, min_max};
use godwit_vector::{Chunk, ColumnType, PhysicalType, RowType, ValueRange, from_arrow, to_arrow};

use super::compress::{CompressedColumns, as_stored, codes_note};
use super::stream::{Branch, Stream};
use super::{Needs, PhysicalPlanner, WantedFilter, columns_of, columns_of_all, passed_column, planning_error};
use crate::explain::ExplainNode;
use crate::key_filter::KeyFilter;
use crate::operators::{FilterTransform, LimitTransform, ProjectTransform, RepeatTransform, ValuesSource};

use crate::sort::{Sort as SortOperator, SortKey, SortSpec};
use crate::top_bound::TopBound;

impl PhysicalPlanner<'_> {
    pub(super) fn plan_projection(&mut self, projection: &Projection, needs: Needs) -> Result<Stream> {
        let input_schema = projection.input.schema();
        let origin: Vec<usize> = needs.columns.iter().copied().collect();
        let exprs: Vec<&Expr> = origin.iter().map(|&index| &projection.expr[index]).collect();
        let columns = columns_of_all(exprs.iter().copied(), input_schema)?;
        let filters = needs.filters_below(|index| passed_column(&projection.expr[index], input_schema));
        let below = Needs { rows_enough: needs.rows_enough, ..Needs::new(columns, filters) };
        let mut stream = self.plan(&projection.input, below)?;
        let expressions = self.compile_all(exprs, &mut stream)?;
        self.project_stream(&mut stream, expressions, &projection.schema, origin)?;
        Ok(stream)
    }

    /// Replaces the columns of a stream; a projection that changes nothing costs nothing.
    pub(super) fn project_stream(
        &mut self,
        stream: &mut Stream,
        expressions: Vec<Expression>,
        schema: &DFSchemaRef,
        origin: Vec<usize>,
    ) -> Result<()> {
        let row_type: RowType = expressions.iter().map(|expression| expression.output().clone()).collect();
        let unchanged = expressions.len() == stream.row_type.len()
            && expressions.iter().enumerate().all(|(index, expression)| expression.column_index() == Some(index));
        if !unchanged {
            let transform = ProjectTransform::new(expressions, "Project");
            stream.explain_above(ExplainNode::of_transform(&transform));
            stream.transform(transform);
        }
        stream.describe(schema, origin, row_type)
    }

    pub(super) fn plan_filter(&mut self, filter: &Filter, needs: Needs) -> Result<Stream> {
        let mut columns = needs.columns.clone();
        columns.extend(columns_of(&filter.predicate, filter.input.schema())?);
        let stream = self.plan(&filter.input, Needs::new(columns, needs.filters))?;
        self.filter_stream(&filter.predicate, stream)
    }

    pub(super) fn filter_stream(&mut self, predicate: &Expr, mut stream: Stream) -> Result<Stream> {
        let conjuncts = datafusion_expr::utils::split_conjunction(predicate);
        let compiled = self.compile_all(conjuncts, &mut stream)?;
        let transform = FilterTransform::new(Predicate::new(compiled), format!("Filter {predicate}"));
        stream.explain_above(ExplainNode::of_transform(&transform));
        stream.transform(transform);
        Ok(stream)
    }

    pub(super) fn plan_sort(&mut self, sort: &Sort, needs: Needs) -> Result<Stream> {
        let mut columns = needs.columns.clone();
        columns.extend(columns_of_all(sort.expr.iter().map(|key| &key.expr), sort.input.schema())?);
        // A bound on the number of rows makes dropping rows early wrong, a full sort doesn't mind.
        let mut filters = if sort.fetch.is_none() { needs.filters.clone() } else { Vec::new() };
        // What keeps many rows is compressed, and so are its keys: they say nothing to the scan.
        let rows_max = sort.fetch.map_or(f64::INFINITY, |rows| rows as f64);
        let keeps_many = self.is_worth_compressing(self.bytes_of(&sort.input, &columns, rows_max));
        let bounded = if sort.fetch.is_some() && !keeps_many { top_bound(sort) } else { None };
        let bound = bounded.map(|(column, bound)| {
            let filter = Arc::new(KeyFilter::of_bound(bound.clone()));
            filters.push(WantedFilter { column, key: None, slot: Arc::new(OnceLock::from(filter)), filled_by: None });
            bound
        });
        let mut stream = self.plan(&sort.input, Needs::new(columns, filters))?;
        let mut keys = sort
            .expr
            .iter()
            .map(|key| {
                let expression = self.compile(&key.expr, &mut stream)?;
                Ok(SortKey { expression, descending: !key.asc, nulls_first: key.nulls_first })
            })
            .collect::<Result<Vec<_>>>()?;
        let columns = self.compressions_of(&sort.input, &stream, keeps_many)?;
        let key_columns = columns.clone();
        let compressed = self.compress_sort_input(columns, &mut stream, &mut keys);
        let origin: Vec<usize> = needs.columns.iter().copied().collect();
        let output: Vec<usize> =
            origin.iter().map(|&index| stream.position(index).expect("needed columns are there")).collect();
        let compressed = output.iter().filter_map(|&column| compressed.get(column).cloned()).collect();
        let row_type: RowType = output.iter().map(|&column| stream.row_type[column].clone()).collect();
        let by: Vec<String> = sort.expr.iter().map(|key| key.to_string()).collect();
        let codes = codes_note(keys.iter().filter_map(|key| key_columns.get(key.expression.column_index()?)));
        let name = match sort.fetch {
            Some(rows) => format!("TopN {rows} by {}{codes}", by.join(", ")),
            None => format!("Sort by {}{codes}", by.join(", ")),
        };
        let spec = SortSpec { keys, input: stream.row_type.clone(), output, limit: sort.fetch, bound };
        let operator = SortOperator::new(spec, self.query, name)?;
        let (mut done, below) = self.close(stream, operator.sink());
        if let Some(merge) = operator.merge_source() {
            let merged = self.reserve(1);
            self.close_alone(merged[0], merge, done);
            done = merged;
        }
        let source = operator.source();
        let explain = ExplainNode::leaf(source.metrics().clone()).above(below);
        let mut stream = Stream::new(sort.input.schema(), origin, row_type, Branch::new(source, done), explain)?;
        self.decompress_stream(&mut stream, &compressed);
        Ok(stream)
    }

    /// Compresses what a sort keeps; keys that aren't columns are computed before. Compression keeps the order.
    fn compress_sort_input(
        &self,
        columns: CompressedColumns,
        stream: &mut Stream,
        keys: &mut [SortKey],
    ) -> CompressedColumns {
        for key in keys.iter_mut().filter(|key| key.expression.column_index().is_none()) {
            key.expression = as_stored(&key.expression);
        }
        if columns.iter().all(Option::is_none) {
            return Vec::new();
        }
        let computed: Vec<Expression> =
            keys.iter().map(|key| &key.expression).filter(|key| key.column_index().is_none()).cloned().collect();
        let mut next_computed = columns.len();
        self.compress_stream(stream, &columns, computed);
        for key in keys {
            let position = key.expression.column_index().unwrap_or_else(|| {
                next_computed += 1;
                next_computed - 1
            });
            key.expression = Expression::column(position, stream.row_type[position].clone());
        }
        columns
    }

    pub(super) fn plan_limit(&mut self, limit: &Limit, needs: Needs) -> Result<Stream> {
        let SkipType::Literal(offset) = limit.get_skip_type().map_err(planning_error)? else {
            return Err(Error::user("OFFSET must be a constant number"));
        };
        let FetchType::Literal(rows) = limit.get_fetch_type().map_err(planning_error)? else {
            return Err(Error::user("LIMIT must be a constant number"));
        };
        let rows_enough = rows.map(|rows| (offset as u64).saturating_add(rows as u64));
        let mut stream = self.plan(&limit.input, Needs { rows_enough, ..Needs::columns(needs.columns) })?;
        let name = match rows {
            Some(rows) => format!("Limit {rows} offset {offset}"),
            None => format!("Offset {offset}"),
        };
        let transform = LimitTransform::new(offset as u64, rows.map(|rows| rows as u64), name);
        stream.explain_above(ExplainNode::of_transform(&transform));
        stream.transform(transform);
        Ok(stream)
    }

    pub(super) fn plan_repeat(&mut self, repeat: &Repeat, needs: Needs) -> Result<Stream> {
        let mut columns = needs.columns;
        columns.extend(columns_of(&repeat.copies, repeat.input.schema())?);
        let mut stream = self.plan(&repeat.input, Needs::new(columns, needs.filters))?;
        let copies = self.compile(&repeat.copies, &mut stream)?.with_physical(PhysicalType::I64);
        let transform = RepeatTransform::new(copies, format!("Repeat {}", repeat.copies));
        stream.explain_above(ExplainNode::of_transform(&transform));
        stream.transform(transform);
        Ok(stream)
    }

    /// The input's rows under other column names.
    pub(super) fn plan_renamed(&mut self, input: &LogicalPlan, schema: &DFSchemaRef, needs: Needs) -> Result<Stream> {
        let mut stream = self.plan(input, needs)?;
        let (origin, row_type) = (stream.origin.clone(), stream.row_type.clone());
        stream.describe(schema, origin, row_type)?;
        Ok(stream)
    }

    pub(super) fn plan_union(&mut self, union: &Union, needs: Needs) -> Result<Stream> {
        let inputs = union
            .inputs
            .iter()
            .map(|input| self.plan(input, Needs::new(needs.columns.clone(), needs.filters.clone())))
            .collect::<Result<Vec<_>>>()?;
        let origin: Vec<usize> = needs.columns.iter().copied().collect();
        let types = inputs
            .iter()
            .map(|stream| {
                let position = |&index: &usize| stream.position(index).expect("needed columns are there");
                origin.iter().map(|index| stream.row_type[position(index)].clone()).collect::<RowType>()
            })
            .collect::<Vec<_>>();
        let row_type = common_row_type(&types);
        let mut explain = ExplainNode::named("Union");
        let mut branches: Vec<Branch> = Vec::new();
        for mut stream in inputs {
            let expressions = origin
                .iter()
                .zip(&row_type)
                .map(|(&index, common)| {
                    let position = stream.position(index).expect("needed columns are there");
                    let column = Expression::column(position, stream.row_type[position].clone());
                    column.with_physical(common.physical)
                })
                .collect();
            self.project_stream(&mut stream, expressions, &union.schema, origin.clone())?;
            let offset = branches.len();
            branches.extend(stream.branches.into_iter().map(|mut branch| {
                branch.follows.iter_mut().for_each(|earlier| *earlier += offset);
                branch
            }));
            explain.children.push(stream.explain);
        }
        let first = branches.remove(0);
        let mut stream = Stream::new(&union.schema, origin, row_type, first, explain)?;
        stream.branches.extend(branches);
        Ok(stream)
    }

    pub(super) fn plan_values(&mut self, values: &Values) -> Result<Stream> {
        if let Some(columns) = literal_columns(values) {
            let vectors = columns.iter().map(from_arrow).collect::<Result<Vec<_>>>()?;
            let first = self.constant_row(&values.values[0])?;
            let types = first.iter().zip(&vectors).map(|(first, vector)| {
                let (physical, nullable) = (vector.physical(), vector.has_nulls());
                let range = if physical.is_integer() { min_max(vector) } else { None };
                ColumnType { physical, nullable, range, ..first.output().clone() }
            });
            let row_type: RowType = types.collect();
            let (rows, rows_max) = (values.values.len(), self.query.settings.chunk_rows);
            let all = Chunk::new(vectors, rows);
            let chunks = (0..rows).step_by(rows_max).map(|start| all.slice(start, rows_max.min(rows - start)));
            return self.values_stream(&values.schema, row_type, chunks.collect());
        }
        let types = values
            .values
            .iter()
            .map(|row| self.constant_row(row).map(|row| row.iter().map(|e| e.output().clone()).collect::<RowType>()))
            .collect::<Result<Vec<_>>>()?;
        let row_type = common_row_type(&types);
        let rows_max = self.query.settings.chunk_rows;
        let chunks = values.values.chunks(rows_max).map(|rows| self.values_chunk(rows, &row_type));
        let chunks = chunks.collect::<Result<Vec<_>>>()?;
        self.values_stream(&values.schema, row_type, chunks)
    }

    /// Rows of constants as one chunk.
    fn values_chunk(&mut self, rows: &[Vec<Expr>], row_type: &RowType) -> Result<Chunk> {
        let one_row = Chunk::new(Vec::new(), 1);
        let mut columns: Vec<Vec<ArrayRef>> = vec![Vec::with_capacity(rows.len()); row_type.len()];
        for row in rows {
            for ((expression, common), column) in self.constant_row(row)?.iter().zip(row_type).zip(&mut columns) {
                let value = expression.with_physical(common.physical).evaluate(&one_row)?;
                column.push(to_arrow(&value, &common.logical)?);
            }
        }
        let vectors = columns.iter().zip(row_type).map(|(values, common)| {
            let values: Vec<&dyn Array> = values.iter().map(|value| value.as_ref()).collect();
            let column = arrow_select::concat::concat(&values)
                .map_err(|error| Error::internal(format!("VALUES of different types: {error}")))?;
            let vector = from_arrow(&column)?;
            let is_integer = vector.physical().is_integer() && common.physical.is_integer();
            Ok(if is_integer { convert(&vector, common.physical) } else { vector })
        });
        Ok(Chunk::new(vectors.collect::<Result<_>>()?, rows.len()))
    }

    fn constant_row(&mut self, row: &[Expr]) -> Result<Vec<Expression>> {
        let no_columns = datafusion_common::DFSchema::empty();
        row.iter().map(|expr| Expression::compile(expr, &no_columns, &Vec::new(), &self.context)).collect()
    }

    pub(super) fn plan_empty(&mut self, empty: &EmptyRelation) -> Result<Stream> {
        let row_type = empty
            .schema
            .fields()
            .iter()
            .map(|field| godwit_vector::ColumnType::new(field.data_type().clone(), true))
            .collect::<Result<RowType>>()?;
        let rows = usize::from(empty.produce_one_row);
        let columns = row_type.iter().map(|ty| godwit_vector::Vector::null(ty.physical, rows)).collect();
        let chunks = if rows == 0 { Vec::new() } else { vec![Chunk::new(columns, rows)] };
        self.values_stream(&empty.schema, row_type, chunks)
    }

    fn values_stream(&mut self, schema: &DFSchemaRef, row_type: RowType, chunks: Vec<Chunk>) -> Result<Stream> {
        let source = ValuesSource::new(chunks, self.query, "Values");
        let explain = ExplainNode::leaf(crate::pipeline::Source::metrics(&*source).clone());
        let origin = (0..row_type.len()).collect();
        Stream::new(schema, origin, row_type, Branch::new(source, BTreeSet::new()), explain)
    }
}

/// The columns of VALUES that are all literals, as in most INSERT statements: they need no expressions.
fn literal_columns(values: &Values) -> Option<Vec<ArrayRef>> {
    let columns = values.schema.fields().iter().enumerate().map(|(column, field)| {
        let ty = field.data_type();
        let literals = values.values.iter().map(|row| match &row[column] {
            Expr::Literal(value, _) if value.data_type() == *ty => Some(value.clone()),
            _ => None,
        });
        ScalarValue::iter_to_array(literals.collect::<Option<Vec<ScalarValue>>>()?).ok()
    });
    columns.collect()
}

/// The column by which a top-N sorts first and the bound that it will tell, if it is a column of integers, decimals, dates
/// or times.
fn top_bound(sort: &Sort) -> Option<(usize, Arc<TopBound>)> {
    let key = sort.expr.first()?;
    let schema = sort.input.schema();
    let column = passed_column(&key.expr, schema)?;
    let physical = PhysicalType::natural(schema.field(column).data_type()).ok()?;
    physical.is_integer().then(|| (column, Arc::new(TopBound::new(!key.asc, key.nulls_first))))
}

/// A type for each column that all inputs can be cast to without loss.
fn common_row_type(inputs: &[RowType]) -> RowType {
    let mut common = inputs[0].clone();
    for input in &inputs[1..] {
        for (mine, theirs) in common.iter_mut().zip(input) {
            mine.nullable |= theirs.nullable;
            mine.range =
                mine.range.zip(theirs.range).map(|(a, b)| ValueRange { min: a.min.min(b.min), max: a.max.max(b.max) });
            mine.physical = common_physical(mine.physical, theirs.physical);
        }
    }
    common
}

/// The narrowest physical type that holds the values of both integer types; types of one kind only.
pub(crate) fn common_physical(a: PhysicalType, b: PhysicalType) -> PhysicalType {
    use PhysicalType::*;
    if a == b {
        return a;
    }
    let (Some(ra), Some(rb)) = (ValueRange::of_type(a), ValueRange::of_type(b)) else {
        // A NULL literal is Bool: the other type wins.
        return if a == Bool { b } else { a };
    };
    let both = ValueRange { min: ra.min.min(rb.min), max: ra.max.max(rb.max) };
    [I8, U8, I16, U16, I32, U32, I64, U64, I128].into_iter().find(|&t| both.fits(t)).unwrap_or(I128)
}
