//! VALUES: rows of expressions that use no columns.

use arrow_array::{Array, ArrayRef};
use godwit_common::{Error, Result};
use godwit_expression::{Expression, Layout};
use godwit_pipeline::Operator;
use godwit_plan::{ColumnId, Expr, Values};
use godwit_vector::kernels::cast::{convert, min_max};
use godwit_vector::sql::column_type;
use godwit_vector::sql::vector_of_values;
use godwit_vector::{Chunk, ColumnType, RowType, from_arrow, to_arrow};

use super::stored::common_row_type;
use super::stream::Stream;
use super::{Branch, Needs, PhysicalPlanner};
use crate::explain::ExplainNode;
use crate::operators::ValuesSource;

/// No columns: the layout for VALUES.
const NOTHING: Layout<'_> = Layout { columns: &[], types: &[] };

impl PhysicalPlanner<'_> {
    pub(super) fn plan_values(&mut self, values: &Values, needs: &Needs) -> Result<Stream> {
        let wanted: Vec<usize> =
            (0..values.columns.len()).filter(|&at| needs.columns.contains(values.columns[at])).collect();
        let columns: Vec<ColumnId> = wanted.iter().map(|&at| values.columns[at]).collect();
        let rows: Vec<Vec<&Expr>> = values.rows.iter().map(|row| wanted.iter().map(|&at| &row[at]).collect()).collect();
        if rows.is_empty() {
            let types = columns.iter().map(|&id| column_type(&self.plan.column(id).ty, true));
            let row_type = types.collect::<Result<_>>()?;
            return Ok(self.values_stream(columns, row_type, Vec::new()));
        }
        if rows.iter().flatten().any(|cell| cell.has_subquery()) {
            return self.rows_one_by_one(&columns, &rows);
        }
        let (row_type, all) = match self.literal_columns(&columns, &rows)? {
            Some(literals) => literals,
            None => self.computed_columns(&rows)?,
        };
        Ok(self.values_stream(columns, row_type, vec![all]))
    }

    pub(super) fn values_stream(&self, columns: Vec<ColumnId>, row_type: RowType, chunks: Vec<Chunk>) -> Stream {
        let source = ValuesSource::new(chunks, self.query, "Values");
        let explain = ExplainNode::leaf(source.metrics().clone());
        Stream::new(columns, row_type, Branch::new(source, []), explain)
    }

    /// Rows whose values are known only at run time: each is a projection of a single row.
    fn rows_one_by_one(&mut self, columns: &[ColumnId], rows: &[Vec<&Expr>]) -> Result<Stream> {
        let one = |planner: &mut Self, row: &Vec<&Expr>| {
            let mut stream = planner.values_stream(Vec::new(), Vec::new(), vec![Chunk::new(Vec::new(), 1)]);
            let cells = planner.compile_all(row.iter().copied(), &mut stream)?;
            stream.project(columns.to_vec(), cells);
            Ok(stream)
        };
        let streams = rows.iter().map(|row| one(self, row)).collect::<Result<Vec<_>>>()?;
        Ok(Stream::union(columns.to_vec(), streams))
    }

    /// The rows if they are all literals, as in most INSERT statements: they need no expressions.
    fn literal_columns(&self, columns: &[ColumnId], rows: &[Vec<&Expr>]) -> Result<Option<(RowType, Chunk)>> {
        if columns.is_empty() || rows.iter().flatten().any(|cell| cell.as_literal().is_none()) {
            return Ok(None);
        }
        let (mut row_type, mut vectors) = (RowType::new(), Vec::new());
        for (at, &column) in columns.iter().enumerate() {
            let ty = &self.plan.column(column).ty;
            let value = |row: &Vec<&Expr>| row[at].as_literal().expect("all cells are literals").clone();
            let vector = vector_of_values(&rows.iter().map(value).collect::<Vec<_>>(), ty)?;
            let (physical, nullable) = (vector.physical(), vector.has_nulls());
            let range = if physical.is_integer() { min_max(&vector) } else { None };
            row_type.push(ColumnType { physical, nullable, range, ..column_type(ty, nullable)? });
            vectors.push(vector);
        }
        Ok(Some((row_type, Chunk::new(vectors, rows.len()))))
    }

    fn computed_columns(&self, rows: &[Vec<&Expr>]) -> Result<(RowType, Chunk)> {
        let compile = |cell: &&Expr| Expression::compile(cell, NOTHING, &self.context);
        let compiled = rows.iter().map(|row| row.iter().map(compile).collect()).collect::<Result<Vec<Vec<_>>>>()?;
        let types: Vec<RowType> =
            compiled.iter().map(|row| row.iter().map(|cell| cell.output().clone()).collect()).collect();
        let row_type = common_row_type(&types);
        let one_row = Chunk::new(Vec::new(), 1);
        let mut columns: Vec<Vec<ArrayRef>> = vec![Vec::with_capacity(rows.len()); row_type.len()];
        for row in &compiled {
            for ((cell, common), column) in row.iter().zip(&row_type).zip(&mut columns) {
                let value = cell.with_physical(common.physical).evaluate(&one_row)?;
                column.push(to_arrow(&value, &common.logical)?);
            }
        }
        let vectors = columns.iter().zip(&row_type).map(|(values, common)| {
            let values: Vec<&dyn Array> = values.iter().map(|value| value.as_ref()).collect();
            let column = arrow_select::concat::concat(&values)
                .map_err(|error| Error::internal(format!("VALUES of different types: {error}")))?;
            let vector = from_arrow(&column)?;
            let is_integer = vector.physical().is_integer() && common.physical.is_integer();
            Ok(if is_integer { convert(&vector, common.physical) } else { vector })
        });
        let vectors = vectors.collect::<Result<_>>()?;
        Ok((row_type, Chunk::new(vectors, rows.len())))
    }
}
