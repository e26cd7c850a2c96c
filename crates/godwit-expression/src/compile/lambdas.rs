//! Functions that take a lambda: the body is evaluated on the elements of all lists of a chunk at once.
//!
//! ```text
//! list      captured            elements  captured
//! [1, 2]    10                  1         10
//! []        20          ─►      2         10         ─► body ─► results, cut into lists again
//! [3]       30                  3         30
//! ```

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, UInt32Array};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::{DataType, Field};
use godwit_common::{Error, Result};
use godwit_functions::LambdaForm;
use godwit_plan::{ColumnId, Expr, ExprKind};
use godwit_scalar::{Room, Work};
use godwit_types::SqlType;
use godwit_vector::sql::{arrow_type, column_type};
use godwit_vector::{CHUNK_ROWS, Chunk, Data, Flat, Vector, from_arrow, in_layout, to_arrow};

use super::reduce::ReduceCall;
use super::{Compiler, Layout};
use crate::Expression;
use crate::expression::Kernel;
use crate::literal::Literal;

impl Compiler<'_> {
    pub(super) fn lambda_call(&mut self, form: LambdaForm, args: &[Expr], expr: &Expr) -> Result<Expression> {
        let unsupported = || Error::internal(format!("{expr} calls something else with a lambda"));
        let [list, Expr { kind: ExprKind::Lambda(parameters, body), .. }, initial @ ..] = args else {
            return Err(unsupported());
        };
        let element = list.ty.element().ok_or_else(unsupported)?;
        let mut parameter_types = vec![column_type(element, true)?, column_type(&SqlType::BigInt, false)?];
        if form == LambdaForm::Reduce {
            parameter_types.insert(0, column_type(&expr.ty, true)?);
        }
        if parameters.len() > parameter_types.len() || initial.len() > 1 {
            return Err(unsupported());
        }
        let captured: Vec<ColumnId> = {
            let mut used = body.columns();
            parameters.iter().for_each(|&parameter| used.remove(parameter));
            used.iter().collect()
        };
        let mut arguments = vec![self.compile(list)?];
        for initial in initial {
            arguments.push(self.compile(initial)?);
        }
        let first_captured = arguments.len();
        for &column in &captured {
            let ty = captured_type(body, column)?;
            arguments.push(self.column(column, &Expr::new(ExprKind::Column(column), ty.clone(), true))?);
        }
        let columns: Vec<ColumnId> = parameters.iter().copied().chain(captured).collect();
        let types = parameter_types[..parameters.len()].iter();
        let types: Vec<_> = types.chain(arguments[first_captured..].iter().map(Expression::output)).cloned().collect();
        let mut inner = Compiler::new(Layout { columns: &columns, types: &types }, self.context);
        inner.depth = self.depth;
        let body_type = &body.ty;
        let body = inner.compile(body)?;
        let logical = arrow_type(body_type)?;
        if form == LambdaForm::Reduce {
            let parameter = *parameters.get(1).ok_or_else(unsupported)?;
            let element = Expr::new(ExprKind::Column(parameter), element.clone(), true);
            let first = if initial.is_empty() { Some(self.first_value(element, &expr.ty)?) } else { None };
            let (has_position, work) = (parameters.len() > 2, Arc::clone(self.context.work()));
            let output = column_type(&expr.ty, true)?;
            // What one round gives is what the next one takes.
            let alike = |value: &Expression| value.with_physical(output.physical);
            arguments[1..first_captured].iter_mut().for_each(|initial| *initial = alike(initial));
            let (body, first) = (alike(&body), first.as_ref().map(alike));
            let kernel = ReduceCall { body, value_type: logical, has_position, first, work };
            return Ok(Expression::strict(kernel, arguments, output));
        }
        let output = column_type(&expr.ty, arguments[0].output().nullable)?;
        let kernel = LambdaCall {
            form,
            body,
            body_type: logical,
            has_position: parameters.len() > 1,
            output: expr.ty.clone(),
            work: Arc::clone(self.context.work()),
        };
        Ok(Expression::strict(kernel, arguments, output))
    }

    /// Compiles the cast of an element, which is a column, to the first value of a reduction.
    fn first_value(&self, element: Expr, value: &SqlType) -> Result<Expression> {
        let (columns, types) = (Vec::from_iter(element.as_column()), [column_type(&element.ty, true)?]);
        let mut compiler = Compiler::new(Layout { columns: &columns, types: &types }, self.context);
        compiler.compile(&element.cast_to(value))
    }
}

/// The type of a captured column, according to its use in the body.
fn captured_type(body: &Expr, column: ColumnId) -> Result<SqlType> {
    let mut ty = None;
    body.for_each(&mut |part| {
        if part.as_column() == Some(column) {
            ty = Some(part.ty.clone());
        }
    });
    ty.ok_or_else(|| Error::internal(format!("column {column} isn't used where it is captured")))
}

struct LambdaCall {
    form: LambdaForm,
    /// Over the element, optionally its position, and the captured columns.
    body: Expression,
    body_type: DataType,
    has_position: bool,
    output: SqlType,
    work: Arc<dyn Work>,
}

/// The elements of all lists that aren't NULL.
pub(super) struct Elements {
    pub values: ArrayRef,
    /// For each element: its index in `values`, its row, its position in the list.
    pub places: Vec<u32>,
    pub rows: Vec<u32>,
    pub positions: Vec<i64>,
}

/// Memory per element besides its value: an index, a row, a position.
const ELEMENT_BYTES: usize = 16;

impl Elements {
    /// Returns the elements of `row_count` lists; a constant is one list for all rows.
    pub(super) fn of(lists: &Vector, row_count: usize, room: &mut Room<'_>) -> Result<Self> {
        let is_constant = matches!(lists.data(), Data::Constant(_));
        let is_valid = |row: usize| lists.is_valid(row);
        let single;
        let lists = if is_constant {
            single = lists.slice(0, 1);
            &single
        } else {
            lists
        };
        let Flat::Nested(lists) = lists.to_flat() else { unreachable!("lists are nested") };
        let (values, bounds): (ArrayRef, Box<dyn Fn(usize) -> std::ops::Range<usize>>) = match lists.data_type() {
            DataType::FixedSizeList(_, length) => {
                let length = *length as usize;
                (lists.as_fixed_size_list().values().clone(), Box::new(move |row| row * length..(row + 1) * length))
            }
            _ => {
                let lists = lists.as_list::<i32>();
                let offsets = lists.offsets().clone();
                (lists.values().clone(), Box::new(move |row| offsets[row] as usize..offsets[row + 1] as usize))
            }
        };
        let (mut places, mut rows, mut positions) = (Vec::new(), Vec::new(), Vec::new());
        for row in (0..row_count).filter(|&row| is_valid(row)) {
            let list = bounds(if is_constant { 0 } else { row });
            room.count((places.len() + list.len()) * ELEMENT_BYTES)?;
            for (place, position) in list.zip(1..) {
                places.push(place as u32);
                rows.push(row as u32);
                positions.push(position);
            }
        }
        Ok(Self { values, places, rows, positions })
    }

    /// Returns the values of some elements.
    pub(super) fn values_at(&self, elements: &[usize]) -> Result<Vector> {
        let places: UInt32Array = elements.iter().map(|&at| self.places[at]).collect();
        from_arrow(&arrow_select::take::take(&self.values, &places, None).map_err(|error| internal(&error))?)
    }

    /// Returns the chunk of elements `from..to`, with the captured columns of their rows.
    fn chunk(&self, from: usize, to: usize, with_position: bool, captured: &[Vector]) -> Result<Chunk> {
        let places = UInt32Array::from(self.places[from..to].to_vec());
        let taken = arrow_select::take::take(&self.values, &places, None).map_err(|error| internal(&error))?;
        let mut columns = vec![from_arrow(&taken)?];
        if with_position {
            columns.push(Vector::from_values(self.positions[from..to].to_vec(), None));
        }
        columns.extend(captured.iter().map(|vector| vector.take(&self.rows[from..to])));
        Ok(Chunk::new(columns, to - from))
    }
}

impl Kernel for LambdaCall {
    fn evaluate(&self, arguments: &[Vector], rows: usize) -> Result<Vector> {
        let (mut room, mut room_of_parts) = (Room::new(rows, &*self.work), Room::new(rows, &*self.work));
        let elements = Elements::of(&arguments[0], rows, &mut room)?;
        let (mut lengths, mut parts, mut part_bytes) = (vec![0; rows], Vec::new(), 0);
        for from in (0..elements.places.len()).step_by(CHUNK_ROWS) {
            self.work.check()?;
            let to = elements.places.len().min(from + CHUNK_ROWS);
            let chunk = elements.chunk(from, to, self.has_position, &arguments[1..])?;
            let results = self.body.evaluate(&chunk)?;
            let kept: Vec<usize> = match self.form {
                LambdaForm::Transform => (from..to).collect(),
                LambdaForm::Filter => (from..to).filter(|&at| is_true(&results, at - from)).collect(),
                LambdaForm::Reduce => unreachable!("reductions have a kernel of their own"),
            };
            kept.iter().for_each(|&at| lengths[elements.rows[at] as usize] += 1);
            let part = match self.form {
                LambdaForm::Transform => to_arrow(&results, &self.body_type)?,
                LambdaForm::Filter | LambdaForm::Reduce => {
                    let places: UInt32Array = kept.iter().map(|&at| Some(elements.places[at])).collect();
                    arrow_select::take::take(&elements.values, &places, None).map_err(|error| internal(&error))?
                }
            };
            // Twice: the parts become one array.
            part_bytes += 2 * part.get_array_memory_size();
            room_of_parts.count(part_bytes)?;
            parts.push(part);
        }
        let valid: NullBuffer = (0..rows).map(|row| arguments[0].is_valid(row)).collect();
        self.lists(&lengths, &parts, valid)
            .map(|flat| Vector::flat(flat, None).with_validity(arguments[0].validity().cloned()))
    }

    fn can_fail(&self) -> bool {
        self.body.can_fail()
    }

    fn is_volatile(&self) -> bool {
        self.body.is_volatile()
    }
}

impl LambdaCall {
    /// Builds lists of these lengths, whose elements are the concatenated parts.
    fn lists(&self, lengths: &[usize], parts: &[ArrayRef], valid: NullBuffer) -> Result<Flat> {
        let DataType::List(field) = arrow_type(&self.output)? else {
            return Err(Error::internal(format!("{} is no list", self.output)));
        };
        let arrays: Vec<&dyn Array> = parts.iter().map(AsRef::as_ref).collect();
        let elements = match arrays.is_empty() {
            true => arrow_array::new_empty_array(field.data_type()),
            false => arrow_select::concat::concat(&arrays).map_err(|error| internal(&error))?,
        };
        let elements = in_layout(&elements, field.data_type())?;
        let field: Arc<Field> = field;
        let offsets = OffsetBuffer::from_lengths(lengths.iter().copied());
        let lists = arrow_array::ListArray::try_new(field, offsets, elements, Some(valid));
        Ok(Flat::Nested(Arc::new(lists.map_err(|error| internal(&error))?)))
    }
}

fn is_true(results: &Vector, row: usize) -> bool {
    let value = match results.data() {
        Data::Constant(value) => value.bools()[0],
        Data::Flat(values) => values.bools()[row],
        Data::Dictionary(..) => Literal::of_vector(&results.slice(row, 1)).value.bools()[0],
    };
    value != 0 && results.is_valid(row)
}

pub(super) fn internal(error: &arrow_schema::ArrowError) -> Error {
    Error::internal(error.to_string())
}
