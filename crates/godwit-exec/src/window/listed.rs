//! Aggregates without a fixed-size state: minima and maxima of strings, distinct values, quantiles, joined strings.
//!
//! The values of the current frame are kept as the aggregate needs them (content.rs): rows that enter the frame are
//! added, rows that leave it are removed, whether at its ends or where an exclusion moves through it. If frames never
//! move back, each row is added and removed once per part. A minimum keeps only values that can still become the
//! result, and only one if rows never leave the frame. The other aggregates reserve memory for all values of a frame.

use std::collections::VecDeque;
use std::ops::Range;

use godwit_common::{MemoryTag, Result};
use godwit_memory::{BufferManager, Reservation};
use godwit_pipeline::CancelToken;
use godwit_vector::{Bitmap, Flat, PhysicalType, StrColumn, Vector, match_flat};

use super::call::{ListedKind, WindowCall};
use super::config::{BLOCK_ROWS, GROWTH_BYTES};
use super::content::{Content, Item};
use super::frame::{Bounds, FrameCursor, Part};
use super::ordered::Ordered;
use super::plan::Plan;
use super::range::ordered_float;
use super::step::Step;

/// A call over one sequence of rows.
pub(super) struct Listed {
    call: WindowCall,
    kind: ListedKind,
    column: usize,
    cursor: FrameCursor,
    bounds: Bounds,
    content: Content,
    /// The frame, including excluded rows.
    frame: Range<usize>,
    /// The rows whose values are in the content, in order, none of them empty.
    parts: Vec<Range<usize>>,
    /// The values of the frame by row, if rows may leave it or the result is built from rows.
    values: VecDeque<(usize, Item)>,
    keeps_values: bool,
    bytes: usize,
    reservation: Reservation,
    /// Values that were read ahead, and the row of the first one.
    ahead: VecDeque<Option<Item>>,
    ahead_begin: usize,
    cancel: CancelToken,
}

impl Listed {
    pub(super) fn new(
        plan: &Plan,
        call: &WindowCall,
        kind: &ListedKind,
        column: usize,
        memory: &BufferManager,
        cancel: &CancelToken,
    ) -> Result<Self> {
        let rows_leave = !call.frame.only_grows();
        let content = Content::new(kind, rows_leave, call.frame.jumps() || call.frame.parts().len() > 1);
        Ok(Self {
            call: call.clone(),
            kind: kind.clone(),
            column,
            cursor: FrameCursor::new(call.frame, plan),
            bounds: Bounds::default(),
            keeps_values: matches!(content, Content::Rows) || rows_leave && !content.forgets_by_itself(),
            content,
            frame: 0..0,
            parts: Vec::new(),
            values: VecDeque::new(),
            bytes: 0,
            reservation: memory.reserve(0, MemoryTag::Other)?,
            ahead: VecDeque::new(),
            ahead_begin: 0,
            cancel: cancel.clone(),
        })
    }

    /// The results of a step.
    pub(super) fn compute(&mut self, rows: &Ordered, step: &Step) -> Result<Vector> {
        let mut bounds = std::mem::take(&mut self.bounds);
        self.cursor.advance(rows, step, &mut bounds)?;
        let mut results: Vec<Option<Item>> = Vec::with_capacity(step.len());
        let mut result_bytes = 0;
        for i in 0..step.len() {
            let parts = self.call.frame.parts().iter().map(|&part| bounds.part(part, step, i));
            let parts: Vec<Range<usize>> = parts.filter(|part| !part.is_empty()).collect();
            if i > 0 && parts == self.parts {
                results.push(results[i - 1].clone());
            } else {
                self.move_to(rows, bounds.part(Part::All, step, i), parts)?;
                results.push(self.result());
            }
            if let Some(Some(Item::Text(text))) = results.last() {
                result_bytes += text.len();
                self.account(result_bytes)?;
            }
        }
        self.bounds = bounds;
        self.account(0)?;
        Ok(self.vector(results))
    }

    /// Reserves memory for the values and for `more` bytes.
    fn account(&mut self, more: usize) -> Result<()> {
        let needed = self.bytes + more;
        if needed > self.reservation.bytes() || needed + 4 * GROWTH_BYTES < self.reservation.bytes() {
            self.reservation.resize(needed.next_multiple_of(GROWTH_BYTES))?;
        }
        Ok(())
    }

    fn move_to(&mut self, rows: &Ordered, frame: Range<usize>, parts: Vec<Range<usize>>) -> Result<()> {
        self.cancel.check()?;
        let is_apart = frame.start >= self.frame.end || frame.end <= self.frame.start;
        if is_apart || (self.call.frame.only_grows() && frame.start != self.frame.start) {
            self.values.clear();
            self.content.clear();
            self.parts.clear();
            self.bytes = 0;
            self.frame = frame.start..frame.start;
        }
        for range in without(&self.parts, &parts) {
            let leaving = self.values.partition_point(|(row, _)| *row < range.start);
            for (_, item) in self.values.range(leaving..).take_while(|(row, _)| *row < range.end) {
                self.bytes -= self.content.remove(item);
            }
        }
        self.bytes -= self.content.leave(frame.start);
        if self.keeps_values {
            self.keep(rows, &frame)?;
        }
        for range in without(&parts, &self.parts) {
            match self.keeps_values {
                true => self.add_kept(range)?,
                false => self.add_read(rows, range)?,
            }
        }
        (self.frame, self.parts) = (frame, parts);
        Ok(())
    }

    /// Keeps the values of exactly these rows.
    fn keep(&mut self, rows: &Ordered, new: &Range<usize>) -> Result<()> {
        while let Some((_, item)) = self.values.pop_front_if(|(row, _)| *row < new.start) {
            self.bytes -= item.bytes();
        }
        while let Some((_, item)) = self.values.pop_back_if(|(row, _)| *row >= new.end) {
            self.bytes -= item.bytes();
        }
        let old = self.frame.clone();
        for begin in (new.start..old.start).step_by(BLOCK_ROWS).collect::<Vec<_>>().into_iter().rev() {
            let mut items = self.read(rows, begin..old.start.min(begin + BLOCK_ROWS))?;
            self.bytes += items.iter().map(|(_, item)| item.bytes()).sum::<usize>();
            self.account(0)?;
            items.drain(..).rev().for_each(|item| self.values.push_front(item));
        }
        for begin in (old.end..new.end).step_by(BLOCK_ROWS) {
            let items = self.read(rows, begin..new.end.min(begin + BLOCK_ROWS))?;
            self.bytes += items.iter().map(|(_, item)| item.bytes()).sum::<usize>();
            self.account(0)?;
            self.values.extend(items);
        }
        Ok(())
    }

    /// Adds rows whose values are kept to the content.
    fn add_kept(&mut self, range: Range<usize>) -> Result<()> {
        let coming = self.values.partition_point(|(row, _)| *row < range.start);
        for (row, item) in self.values.range(coming..).take_while(|(row, _)| *row < range.end) {
            let (more, fewer) = self.content.add(*row, item);
            self.bytes = self.bytes + more - fewer;
        }
        self.account(0)
    }

    /// Adds rows whose values aren't kept to the content.
    fn add_read(&mut self, rows: &Ordered, range: Range<usize>) -> Result<()> {
        for begin in range.clone().step_by(BLOCK_ROWS) {
            for (row, item) in self.read(rows, begin..range.end.min(begin + BLOCK_ROWS))? {
                let (more, fewer) = self.content.add(row, &item);
                self.bytes = self.bytes + more - fewer;
            }
            self.account(0)?;
        }
        Ok(())
    }

    fn result(&self) -> Option<Item> {
        match (&self.content, &self.kind) {
            (Content::Distinct(counts), _) => Some(Item::Number(counts.len() as i128)),
            (Content::Sorted(values), ListedKind::Quantile(fraction)) => self.quantile(values, *fraction),
            (_, ListedKind::StringAgg(separator)) => {
                let is_in_frame = |row: &usize| self.parts.iter().any(|part| part.contains(row));
                let texts = self.values.iter().filter(|(row, _)| is_in_frame(row)).map(|(_, item)| item.text());
                let texts: Vec<&[u8]> = texts.collect();
                (!texts.is_empty()).then(|| Item::Text(texts.join(separator.as_bytes())))
            }
            _ => self.content.best(),
        }
    }

    /// The value at the fraction, interpolated between its neighbours; floats are again integers that sort the same
    /// way.
    fn quantile(&self, values: &[i128], fraction: f64) -> Option<Item> {
        let place = fraction * values.len().checked_sub(1)? as f64;
        let (lower, upper, way) = (values[place.floor() as usize], values[place.ceil() as usize], place.fract());
        let is_float = matches!(self.call.output.physical, PhysicalType::F32 | PhysicalType::F64);
        let is_float_column = matches!(self.call.arguments[0].output().physical, PhysicalType::F32 | PhysicalType::F64);
        let float = |value: i128| if is_float_column { float_of(value) } else { value as f64 };
        Some(Item::Number(match is_float {
            true => ordered_float(crate::hash_aggregate::part_of_the_way(float(lower), float(upper), way)),
            false => crate::hash_aggregate::integer_part_of_the_way(lower, upper, way),
        }))
    }

    fn vector(&self, results: Vec<Option<Item>>) -> Vector {
        let validity = Bitmap::from_fn(results.len(), |i| results[i].is_some());
        let number = |item: &Option<Item>| match item {
            Some(Item::Number(number)) => *number,
            _ => 0,
        };
        let flat = match self.call.output.physical {
            PhysicalType::Str => {
                let text = |item: &'_ Option<Item>| item.as_ref().map_or(Vec::new(), |item| item.text().to_vec());
                Flat::Str(StrColumn::from_strings(results.iter().map(text)))
            }
            PhysicalType::F64 => {
                Flat::F64(results.iter().map(|item| float_of(number(item))).collect::<Vec<_>>().into())
            }
            PhysicalType::F32 => {
                Flat::F32(results.iter().map(|item| float_of(number(item)) as f32).collect::<Vec<_>>().into())
            }
            physical => crate::hash_aggregate::integers(physical, results.iter().map(number)),
        };
        Vector::flat(flat, Some(validity))
    }

    /// The values of some rows, without NULLs. Where frames never move back, rows are read in order, a block at a time.
    #[allow(clippy::unnecessary_cast, reason = "compiled for every integer type")]
    fn read(&mut self, rows: &Ordered, range: Range<usize>) -> Result<Vec<(usize, Item)>> {
        if self.ahead_begin != range.start {
            self.ahead.clear();
            self.ahead_begin = range.start;
        }
        let block_rows = if self.call.frame.jumps() { 1 } else { BLOCK_ROWS };
        while self.ahead_begin + self.ahead.len() < range.end {
            let begin = self.ahead_begin + self.ahead.len();
            let end = rows.len().min(range.end.max(begin + block_rows));
            let column = rows.gather(&rows.pin(begin..end)?, self.column);
            let flat = column.to_flat();
            let item = |i: usize| match &flat {
                Flat::F32(values) => Item::Number(ordered_float(values[i] as f64)),
                Flat::F64(values) => Item::Number(ordered_float(values[i])),
                flat => {
                    match_flat!(flat, values => Item::Number(values[i] as i128), strings => Item::Text(strings.get(i).to_vec()), _a => unreachable!("rows hold no lists"))
                }
            };
            self.ahead.extend((0..column.len()).map(|i| column.is_valid(i).then(|| item(i))));
        }
        self.ahead_begin = range.end;
        let items = range.clone().zip(self.ahead.drain(..range.len()));
        Ok(items.filter_map(|(row, item)| item.map(|item| (row, item))).collect())
    }
}

/// The rows of some ranges that are in none of the others; both are in order.
fn without(parts: &[Range<usize>], others: &[Range<usize>]) -> Vec<Range<usize>> {
    let mut left = Vec::new();
    for part in parts {
        let mut begin = part.start;
        for other in others.iter().filter(|other| other.start < part.end && other.end > part.start) {
            if begin < other.start {
                left.push(begin..other.start);
            }
            begin = begin.max(other.end);
        }
        if begin < part.end {
            left.push(begin..part.end);
        }
    }
    left
}

/// The float that this integer was made from.
fn float_of(ordered: i128) -> f64 {
    f64::from_bits(ordered.unsigned_abs() as u64 | if ordered < 0 { 1 << 63 } else { 0 })
}
