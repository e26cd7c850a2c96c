//! The plan of a window operator: the columns of its rows, and the computations of its results.

use std::sync::Arc;

use godwit_common::{Error, Result};
use godwit_expression::{Expression, Projection};
use godwit_rows::{RowLayout, RowLayoutOptions, RowOrder, RowOrderKey};
use godwit_vector::{PhysicalType, RowType};

use super::WindowSpec;
use super::call::{WindowCall, WindowFunction};
use super::frame::{Frame, FrameBound};
use super::range::RangeKey;
use super::varying::{Distance, kind_of};
use crate::hash_aggregate::FramedAggregates;
use crate::sort::SortKey;

/// Aggregates over one frame.
pub(super) struct FramedSet {
    pub(super) frame: Frame,
    pub(super) aggregates: Arc<FramedAggregates>,
    /// Columns of the rows.
    pub(super) inputs: Vec<usize>,
}

/// Where a result column comes from.
#[derive(Clone, Copy)]
pub(super) enum Output {
    /// A call that isn't an aggregate, by its index.
    Call(usize),
    /// An aggregate of a set.
    Framed { set: usize, index: usize },
}

pub(super) struct Plan {
    /// Computes the columns of the rows: partition keys, order keys, then everything else.
    pub(super) columns: Projection,
    pub(super) types: RowType,
    pub(super) layout: Arc<RowLayout>,
    pub(super) partition_keys: usize,
    /// Partition keys, then order keys, over the columns of the rows.
    pub(super) keys: Vec<SortKey>,
    /// The order of two rows by the partition keys, and by all keys.
    pub(super) partition_order: RowOrder,
    pub(super) order: RowOrder,
    /// Columns that are passed through.
    pub(super) passed: Vec<usize>,
    /// Calls that aren't aggregates, with the columns of their arguments.
    pub(super) calls: Vec<(WindowCall, Vec<usize>)>,
    pub(super) sets: Vec<FramedSet>,
    pub(super) outputs: Vec<Output>,
    pub(super) output_type: RowType,
    /// The key that distances in value are measured in, if some frame has one.
    pub(super) range_key: Option<RangeKey>,
    /// Distances that depend on the row.
    pub(super) distances: Vec<Distance>,
}

/// The distinct columns of the rows.
#[derive(Default)]
struct Columns(Vec<Expression>);

impl Columns {
    fn add(&mut self, expression: &Expression) -> usize {
        let known = self.0.iter().position(|known| known.is_same(expression) && !expression.is_volatile());
        known.unwrap_or_else(|| {
            self.0.push(expression.clone());
            self.0.len() - 1
        })
    }
}

impl Plan {
    pub(super) fn new(spec: &WindowSpec) -> Result<Self> {
        let mut columns = Columns::default();
        spec.partition_by.iter().for_each(|key| {
            columns.add(key);
        });
        let partition_keys = columns.0.len();
        let mut keys: Vec<SortKey> =
            (0..partition_keys).map(|column| sort_key(&columns.0, column, false, true)).collect();
        for key in &spec.order_by {
            let known = columns.0.len();
            let column = columns.add(&key.expression);
            // A repeated key doesn't distinguish rows any further.
            if column == known {
                keys.push(sort_key(&columns.0, column, key.descending, key.nulls_first));
            }
        }
        if let Some(key) = keys.iter().find(|key| key.expression.output().physical == PhysicalType::Nested) {
            let ty = &key.expression.output().logical;
            return Err(Error::unsupported(format!("a window by values of type {ty}"))
                .with_hint("partition and order by a part of them"));
        }
        let range_key = range_key(spec, &mut columns)?;
        let distances =
            spec.distances.iter().map(|distance| Distance::new(distance, |stored| columns.add(stored))).collect();
        let passed: Vec<usize> = spec.passed.iter().map(|value| columns.add(value)).collect();
        let (calls, sets, outputs, call_types) = computations(spec, &mut columns)?;

        let columns = Projection::new(columns.0);
        let types = columns.output();
        let physical: Vec<PhysicalType> = types.iter().map(|ty| ty.physical).collect();
        let has_hash = partition_keys > 0;
        let layout = RowLayout::new(&physical, RowLayoutOptions { hash: has_hash, ..RowLayoutOptions::default() })?;
        let order = |keys: &[SortKey]| {
            let keys = keys.iter().map(|key| RowOrderKey {
                column: key.expression.column_index().expect("keys are columns"),
                descending: key.descending,
                nulls_first: key.nulls_first,
            });
            RowOrder::new(&layout, keys.collect())
        };
        Ok(Self {
            partition_order: order(&keys[..partition_keys]),
            order: order(&keys),
            output_type: passed.iter().map(|&column| types[column].clone()).chain(call_types).collect(),
            columns,
            types,
            layout,
            partition_keys,
            keys,
            passed,
            calls,
            sets,
            outputs,
            range_key,
            distances,
        })
    }
}

fn sort_key(columns: &[Expression], column: usize, descending: bool, nulls_first: bool) -> SortKey {
    SortKey { expression: Expression::column(column, columns[column].output().clone()), descending, nulls_first }
}

/// The order key, if a frame measures distances in it.
fn range_key(spec: &WindowSpec, columns: &mut Columns) -> Result<Option<RangeKey>> {
    let mut range_key = None;
    for frame in spec.calls.iter().map(|call| &call.frame).filter(|frame| frame.measures_values()) {
        let [key] = &spec.order_by[..] else {
            return Err(Error::user("RANGE with an offset needs an ORDER BY of exactly one key")
                .with_hint("order by one key, or count ROWS or GROUPS"));
        };
        let ty = key.expression.output();
        let known = RangeKey::new(columns.add(&key.expression), ty, key.descending, key.nulls_first);
        for bound in [frame.start, frame.end] {
            match bound {
                FrameBound::ShiftedValue(offset) => known.check(&offset, ty)?,
                FrameBound::Varying { distance, .. } => {
                    known.check(&kind_of(spec.distances[distance].output())?, ty)?
                }
                _ => {}
            }
        }
        range_key = Some(known);
    }
    Ok(range_key)
}

type Computations = (Vec<(WindowCall, Vec<usize>)>, Vec<FramedSet>, Vec<Output>, RowType);

/// Single calls, and aggregates by frame.
fn computations(spec: &WindowSpec, columns: &mut Columns) -> Result<Computations> {
    let mut calls = Vec::new();
    let mut frames: Vec<(Frame, Vec<usize>)> = Vec::new();
    let mut outputs = Vec::new();
    for (index, call) in spec.calls.iter().enumerate() {
        let WindowFunction::Aggregate(_) = call.function else {
            let arguments = call.arguments.iter().map(|argument| columns.add(argument)).collect();
            outputs.push(Output::Call(calls.len()));
            calls.push((call.clone(), arguments));
            continue;
        };
        let set = frames.iter().position(|(frame, _)| *frame == call.frame).unwrap_or_else(|| {
            frames.push((call.frame, Vec::new()));
            frames.len() - 1
        });
        outputs.push(Output::Framed { set, index: frames[set].1.len() });
        frames[set].1.push(index);
    }
    let mut sets = Vec::new();
    for (frame, members) in frames {
        let aggregates = members.iter().map(|&index| match &spec.calls[index].function {
            WindowFunction::Aggregate(call) => call.clone(),
            _ => unreachable!("members of frames are aggregates"),
        });
        let aggregates = Arc::new(FramedAggregates::new(aggregates.collect())?);
        let inputs = aggregates.inputs().iter().map(|input| columns.add(input)).collect();
        sets.push(FramedSet { frame, aggregates, inputs });
    }
    let types = outputs.iter().map(|output| match *output {
        Output::Call(call) => calls[call].0.output.clone(),
        Output::Framed { set, index } => sets[set].aggregates.output_type()[index].clone(),
    });
    let types = types.collect();
    Ok((calls, sets, outputs, types))
}
