//! Aggregates without a state that could be carried from frame to frame: lists, modes, histograms, arg_min and arg_max,
//! everything with DISTINCT or its own ORDER BY. Each frame is a group, and the group-by operator does the rest.
//!
//! ```text
//! rows of a step      frames                   rows of the aggregation: frame, is a row of it, arguments
//!   r5                0: r3 r4 r5              (0, true, r3) (0, true, r4) (0, true, r5)
//!   r6, r7 (peers)    1: r4 r5 r6 r7           (1, true, r4) …
//!                                              (0, false, NULL) (1, false, NULL): so that empty frames are groups, too
//! ```
//!
//! A row is fed in once for each frame that contains it, except that neighbours with equal frames share one. The cost
//! is proportional to the total size of all frames of a step: results like modes and lists can't be derived from those
//! of other frames.

use std::ops::Range;
use std::sync::Arc;

use arrow_schema::DataType;
use godwit_common::{MemoryTag, Result};
use godwit_expression::Expression;
use godwit_memory::{BufferManager, Reservation};
use godwit_pipeline::QueryContext;
use godwit_vector::kernels::concatenate::concatenated;
use godwit_vector::{Bitmap, Chunk, ColumnType, Flat, PhysicalType, ValueRange, Vector};

use super::call::{WindowCall, WindowFunction};
use super::config::{BLOCK_ROWS, SCATTERED_ROWS};
use super::frame::{Bounds, FrameCursor};
use super::ordered::Ordered;
use super::plan::Plan;
use super::step::Step;
use crate::hash_aggregate::{AggregateAlone, AggregateCall, HashAggregateSpec, output_type_of};

/// Columns of the aggregation before the arguments: the number of the frame, and whether the row belongs to it.
const FRAME: usize = 0;
const IS_ROW: usize = 1;
const ARGUMENTS: usize = 2;

/// A call over one sequence of rows.
pub(super) struct FrameGroups {
    aggregate: AggregateCall,
    has_filter: bool,
    /// Columns of the rows: the filter, if there is one, then the arguments.
    columns: Vec<usize>,
    /// Physical types of the arguments.
    types: Vec<PhysicalType>,
    call: WindowCall,
    cursor: FrameCursor,
    bounds: Bounds,
    query: Arc<QueryContext>,
    memory: BufferManager,
    reservation: Reservation,
}

/// An aggregate over frames as a window function, its arguments, and the type of its results. They are nullable, as
/// frames may be empty, unless the aggregate's aren't.
pub(crate) fn grouped_call(mut call: AggregateCall) -> Result<(WindowFunction, Vec<Expression>, ColumnType)> {
    let filter = call.filter.take();
    let has_filter = filter.is_some();
    let mut arguments: Vec<Expression> = filter.into_iter().collect();
    let first = arguments.len();
    let mut as_column = |expression: &mut Expression| {
        let ty = ColumnType { nullable: true, ..expression.output().clone() };
        // With DISTINCT, an order has to be one of the arguments.
        let known = arguments[first..].iter().position(|known| known.is_same(expression) && !expression.is_volatile());
        let place = known.unwrap_or_else(|| {
            arguments.push(expression.clone());
            arguments.len() - first - 1
        });
        *expression = Expression::column(ARGUMENTS + place, ty);
    };
    call.arguments.iter_mut().for_each(&mut as_column);
    call.order_by.iter_mut().for_each(|order| as_column(&mut order.expression));
    call.filter = Some(Expression::column(IS_ROW, ColumnType::new(DataType::Boolean, false)?));
    let output = output_type_of(&call)?;
    Ok((WindowFunction::Grouped { aggregate: call, has_filter }, arguments, output))
}

impl FrameGroups {
    pub(super) fn new(
        plan: &Plan,
        (call, columns): &(WindowCall, Vec<usize>),
        (aggregate, has_filter): (&AggregateCall, bool),
        memory: &BufferManager,
        query: &Arc<QueryContext>,
    ) -> Result<Self> {
        let arguments = call.arguments[usize::from(has_filter)..].iter();
        Ok(Self {
            aggregate: aggregate.clone(),
            has_filter,
            columns: columns.clone(),
            types: arguments.map(|argument| argument.output().physical).collect(),
            call: call.clone(),
            cursor: FrameCursor::new(call.frame, plan),
            bounds: Bounds::default(),
            query: query.clone(),
            memory: memory.clone(),
            reservation: memory.reserve(0, MemoryTag::Other)?,
        })
    }

    /// The results of a step.
    pub(super) fn compute(&mut self, rows: &Ordered, step: &Step) -> Result<Vector> {
        self.cursor.advance(rows, step, &mut self.bounds)?;
        let mut frames: Vec<Vec<Range<usize>>> = Vec::new();
        let mut frame_of_row = Vec::with_capacity(step.len());
        for i in 0..step.len() {
            let parts = self.call.frame.parts().iter().map(|&part| self.bounds.part(part, step, i));
            let frame: Vec<Range<usize>> = parts.filter(|part| !part.is_empty()).collect();
            if frames.last() != Some(&frame) {
                frames.push(frame);
            }
            frame_of_row.push(frames.len() - 1);
        }
        let mut aggregation = AggregateAlone::new(self.spec(frames.len())?, &self.query, &self.memory)?;
        self.feed(rows, &frames, &mut aggregation)?;

        let mut groups = aggregation.finish()?;
        let mut place_of_frame = vec![0; frames.len()];
        let (mut results, mut done, mut bytes) = (Vec::new(), 0, 0);
        self.reservation.resize(0)?;
        while let Some(chunk) = groups.next()? {
            let columns = chunk.dense_columns();
            for &frame in columns[FRAME].to_flat().values::<u32>().iter() {
                place_of_frame[frame as usize] = done;
                done += 1;
            }
            let result = &columns[FRAME + 1];
            bytes += bytes_of(result);
            self.reserve(bytes)?;
            results.push(result.clone());
        }
        if frames.len() == 1 {
            let nothing = (!results[0].is_valid(0)).then(|| Arc::new(Bitmap::filled(step.len(), false)));
            return Ok(Vector::constant(results[0].to_flat(), step.len()).with_validity(nothing));
        }
        // For the parts, the combined result, and its copies for the rows.
        self.reserve(2 * bytes + bytes / frames.len() * step.len())?;
        let places: Vec<u32> = frame_of_row.into_iter().map(|frame| place_of_frame[frame]).collect();
        Ok(concatenated(&results).take(&places))
    }

    /// Reserves memory for the results of a step; the next step releases it.
    fn reserve(&mut self, bytes: usize) -> Result<()> {
        let what = || format!("making {} MiB of values for the frames of a window", bytes >> 20);
        self.reservation.resize(bytes).map_err(|error| error.context(what()))
    }

    fn spec(&self, frames: usize) -> Result<HashAggregateSpec> {
        let range = Some(ValueRange { min: 0, max: frames as i128 - 1 });
        let number = ColumnType { range, ..ColumnType::new(DataType::UInt32, false)? };
        Ok(HashAggregateSpec {
            groups: vec![Expression::column(FRAME, number)],
            aggregates: vec![self.aggregate.clone()],
            estimated_groups: Some(frames as u64),
            ..HashAggregateSpec::default()
        })
    }

    /// Hands the rows of all frames to the aggregation, in order.
    fn feed(&self, rows: &Ordered, frames: &[Vec<Range<usize>>], aggregation: &mut AggregateAlone) -> Result<()> {
        let mut next = Block::default();
        for (frame, parts) in frames.iter().enumerate() {
            for part in parts {
                for begin in part.clone().step_by(BLOCK_ROWS) {
                    let piece = begin..part.end.min(begin + BLOCK_ROWS);
                    // Scattered pieces may each be on a page of their own.
                    let is_scattered = self.call.frame.jumps() && next.pieces == SCATTERED_ROWS;
                    if next.rows.len() + piece.len() > BLOCK_ROWS || is_scattered {
                        self.push(rows, std::mem::take(&mut next), aggregation)?;
                    }
                    next.frames.extend(std::iter::repeat_n(frame as u32, piece.len()));
                    next.rows.extend(piece);
                    next.pieces += 1;
                }
            }
        }
        if !next.rows.is_empty() {
            self.push(rows, next, aggregation)?;
        }
        let nothing = self.types.iter().map(|&physical| Vector::null(physical, frames.len())).collect();
        let numbers = (0..frames.len() as u32).collect();
        aggregation.push(chunk(numbers, Vector::from_bools(vec![0; frames.len()], None), nothing))
    }

    fn push(&self, rows: &Ordered, block: Block, aggregation: &mut AggregateAlone) -> Result<()> {
        self.query.cancel.check()?;
        let pinned = rows.pin_each(block.rows)?;
        let mut columns: Vec<Vector> = self.columns.iter().map(|&column| rows.gather(&pinned, column)).collect();
        let is_row = match self.has_filter {
            true => {
                let filter = columns.remove(0);
                let flat = filter.to_flat();
                let passes = |row: usize| u8::from(filter.is_valid(row)) & flat.bools()[row];
                Vector::from_bools((0..filter.len()).map(passes).collect(), None)
            }
            false => Vector::from_bools(vec![1; block.frames.len()], None),
        };
        aggregation.push(chunk(block.frames, is_row, columns))
    }
}

/// Rows that are fed to the aggregation together, and the frame of each.
#[derive(Default)]
struct Block {
    rows: Vec<usize>,
    frames: Vec<u32>,
    pieces: usize,
}

fn chunk(frames: Vec<u32>, is_row: Vector, arguments: Vec<Vector>) -> Chunk {
    let rows = frames.len();
    let columns = [Vector::from_values(frames, None), is_row].into_iter().chain(arguments);
    Chunk::new(columns.collect(), rows)
}

/// Approximate bytes of the values of a vector.
fn bytes_of(values: &Vector) -> usize {
    match &values.to_flat() {
        Flat::Str(strings) => strings.views().iter().map(|view| size_of_val(view) + view.len()).sum(),
        Flat::Nested(array) => {
            array.to_data().get_slice_memory_size().unwrap_or_else(|_| array.get_array_memory_size())
        }
        flat => flat.len() * flat.physical().width_bytes(),
    }
}
