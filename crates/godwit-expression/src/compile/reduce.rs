//! `list_reduce`: each round evaluates the lambda on the next elements of all lists that have one.
//!
//! ```text
//! list          so far   element            so far   element
//! [1, 2, 3]     1        2                  3        3
//! [4]           4                   ─►                            ─► 6, 4, 11
//! [5, 6]        5        6                  11
//! ```

use std::ops::Range;
use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_schema::DataType;
use godwit_common::{Error, Result, SqlState};
use godwit_scalar::{Room, Work};
use godwit_vector::{Chunk, Vector, from_arrow, to_arrow};

use super::lambdas::{Elements, internal};
use crate::Expression;
use crate::expression::Kernel;

pub(super) struct ReduceCall {
    /// Over the accumulated value, the element, optionally its position, and the captured columns.
    pub body: Expression,
    pub value_type: DataType,
    pub has_position: bool,
    /// The first value, over the first element; `None` if the second argument is the initial value of each list.
    pub first: Option<Expression>,
    pub work: Arc<dyn Work>,
}

/// The lists with elements left.
struct Open {
    rows: Vec<u32>,
    /// The remaining elements of each.
    left: Vec<Range<usize>>,
    /// The accumulated value of each.
    values: Vector,
}

/// The results of finished lists: the array of each, and the position in it.
struct Finished {
    arrays: Vec<ArrayRef>,
    places: Vec<(usize, usize)>,
}

impl Kernel for ReduceCall {
    fn evaluate(&self, arguments: &[Vector], rows: usize) -> Result<Vector> {
        let mut room = Room::new(rows, &*self.work);
        let elements = Elements::of(&arguments[0], rows, &mut room)?;
        let mut open = self.begin(&elements, arguments, rows)?;
        let captured = &arguments[if self.first.is_some() { 1 } else { 2 }..];
        // NULL lists have the value of the first array.
        let none = arrow_array::new_null_array(&self.value_type, 1);
        let mut finished = Finished { arrays: vec![none], places: vec![(0, 0); rows] };
        loop {
            self.work.check()?;
            open = self.without_finished(open, &mut finished)?;
            if open.rows.is_empty() {
                break;
            }
            let next: Vec<usize> = open.left.iter_mut().filter_map(Iterator::next).collect();
            let mut columns = vec![open.values, elements.values_at(&next)?];
            if self.has_position {
                columns.push(Vector::from_values(next.iter().map(|&at| elements.positions[at]).collect(), None));
            }
            columns.extend(captured.iter().map(|vector| vector.take(&open.rows)));
            let values = self.body.evaluate(&Chunk::new(columns, next.len()))?;
            open = Open { values, ..open };
        }
        let arrays: Vec<&dyn arrow_array::Array> = finished.arrays.iter().map(AsRef::as_ref).collect();
        let all = arrow_select::interleave::interleave(&arrays, &finished.places).map_err(|error| internal(&error))?;
        from_arrow(&all)
    }

    fn can_fail(&self) -> bool {
        self.first.is_some() || self.body.can_fail()
    }

    fn is_volatile(&self) -> bool {
        self.body.is_volatile()
    }
}

impl ReduceCall {
    /// Returns the lists with their initial values: the argument, or their first element.
    fn begin(&self, elements: &Elements, arguments: &[Vector], row_count: usize) -> Result<Open> {
        let (mut rows, mut left, mut end) = (Vec::new(), Vec::new(), 0);
        for row in (0..row_count as u32).filter(|&row| arguments[0].is_valid(row as usize)) {
            let start = end;
            end += elements.rows[start..].iter().take_while(|&&of| of == row).count();
            rows.push(row);
            left.push(start..end);
        }
        let Some(first) = &self.first else {
            let values = arguments[1].take(&rows);
            return Ok(Open { rows, left, values });
        };
        let firsts: Vec<usize> = left.iter_mut().filter_map(Iterator::next).collect();
        if firsts.len() < rows.len() {
            let error = Error::user("list_reduce of an empty list without an initial value");
            let error = error.with_code(SqlState::INVALID_PARAMETER_VALUE);
            return Err(error.with_hint("give one behind the lambda: list_reduce(l, (a, x) -> a + x, 0)"));
        }
        let values = first.evaluate(&Chunk::new(vec![elements.values_at(&firsts)?], firsts.len()))?;
        Ok(Open { rows, left, values })
    }

    /// Keeps the lists that have elements left, and stores the values of the others.
    fn without_finished(&self, open: Open, finished: &mut Finished) -> Result<Open> {
        let (ended, going): (Vec<u32>, Vec<u32>) =
            (0..open.rows.len() as u32).partition(|&at| open.left[at as usize].is_empty());
        if ended.is_empty() {
            return Ok(open);
        }
        let array = to_arrow(&open.values.take(&ended), &self.value_type)?;
        for (place, &at) in ended.iter().enumerate() {
            finished.places[open.rows[at as usize] as usize] = (finished.arrays.len(), place);
        }
        finished.arrays.push(array);
        let rows = going.iter().map(|&at| open.rows[at as usize]).collect();
        let left = going.iter().map(|&at| open.left[at as usize].clone()).collect();
        Ok(Open { rows, left, values: open.values.take(&going) })
    }
}
