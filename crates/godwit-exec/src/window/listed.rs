//! Aggregates without states of a fixed size: minima and maxima of strings, distinct values, quantiles, joined strings.
//!
//! The values of the current frame are kept as the aggregate needs them: rows that the frame reaches are added, rows that
//! it leaves are taken out. A minimum keeps only values that can still become the result, and only one if the frame never
//! leaves a row. The other aggregates take memory, which is reserved, for all values of a frame.

use std::collections::{HashMap, VecDeque};

use godwit_common::{Error, MemoryTag, Result};
use godwit_memory::{BufferManager, Reservation};
use godwit_vector::{Bitmap, Flat, PhysicalType, StrColumn, Vector, match_flat};

use super::call::{ListedKind, WindowCall};
use super::config::{BLOCK_ROWS, GROWTH_BYTES, LISTED_VALUE_BYTES};
use super::frame::{Bounds, FrameCursor};
use super::ordered::Ordered;
use super::plan::Plan;
use super::range::ordered_float;
use super::step::Step;

/// A value that isn't NULL. Integers are themselves, floats are integers of the same order.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Item {
    Number(i128),
    Text(Vec<u8>),
}

/// The values of a frame.
enum Content {
    /// Each is better than all behind it; the best is first.
    Extreme(VecDeque<(usize, Item)>),
    /// How often each value occurs.
    Distinct(HashMap<Item, u64>),
    /// In order.
    Sorted(Vec<i128>),
    /// As the rows are.
    Texts,
}

/// A call over one sequence of rows.
pub(super) struct Listed {
    call: WindowCall,
    kind: ListedKind,
    column: usize,
    cursor: FrameCursor,
    bounds: Bounds,
    content: Content,
    /// The values of the frame by row, if rows may leave it or their order counts.
    values: VecDeque<(usize, Item)>,
    begin: usize,
    end: usize,
    bytes: usize,
    reservation: Reservation,
    block_begin: usize,
    block: Vec<Option<Item>>,
}

impl Listed {
    pub(super) fn new(
        plan: &Plan,
        call: &WindowCall,
        kind: &ListedKind,
        column: usize,
        memory: &BufferManager,
    ) -> Result<Self> {
        let content = match kind {
            ListedKind::Min | ListedKind::Max => Content::Extreme(VecDeque::new()),
            ListedKind::CountDistinct => Content::Distinct(HashMap::new()),
            ListedKind::Quantile(_) => Content::Sorted(Vec::new()),
            ListedKind::StringAgg(_) => Content::Texts,
        };
        Ok(Self {
            call: call.clone(),
            kind: kind.clone(),
            column,
            cursor: FrameCursor::new(call.frame, plan.range_key.as_ref()),
            bounds: Bounds::default(),
            content,
            values: VecDeque::new(),
            begin: 0,
            end: 0,
            bytes: 0,
            reservation: memory.reserve(0, MemoryTag::Other)?,
            block_begin: 0,
            block: Vec::new(),
        })
    }

    /// The results of a step.
    pub(super) fn compute(&mut self, rows: &Ordered, step: &Step) -> Result<Vector> {
        let mut bounds = std::mem::take(&mut self.bounds);
        self.cursor.advance(rows, step, &mut bounds)?;
        let mut results: Vec<Option<Item>> = Vec::with_capacity(step.len());
        let mut result_bytes = 0;
        for (i, (&begin, &end)) in bounds.begins.iter().zip(&bounds.ends).enumerate() {
            if i > 0 && begin == self.begin && end == self.end {
                results.push(results[i - 1].clone());
            } else {
                self.move_to(rows, begin, end)?;
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

    fn keeps_rows(&self) -> bool {
        !self.call.frame.only_grows() || matches!(self.content, Content::Texts)
    }

    fn move_to(&mut self, rows: &Ordered, begin: usize, end: usize) -> Result<()> {
        if begin >= self.end || (self.call.frame.only_grows() && begin != self.begin) {
            self.clear();
            self.end = self.end.max(begin);
        }
        for row in self.end..end {
            if let Some(item) = self.read(rows, row)? {
                self.add(row, item)?;
            }
        }
        self.begin = begin;
        self.end = self.end.max(end);
        if let Content::Extreme(best) = &mut self.content {
            while best.front().is_some_and(|(row, _)| *row < begin) {
                let (_, item) = best.pop_front().expect("there is a first one");
                self.bytes -= bytes_of(&item);
            }
        }
        while self.values.front().is_some_and(|(row, _)| *row < begin) {
            let (_, item) = self.values.pop_front().expect("there is a first one");
            self.remove(item);
        }
        Ok(())
    }

    fn clear(&mut self) {
        self.values.clear();
        self.bytes = 0;
        match &mut self.content {
            Content::Extreme(best) => best.clear(),
            Content::Distinct(counts) => counts.clear(),
            Content::Sorted(values) => values.clear(),
            Content::Texts => {}
        }
    }

    fn add(&mut self, row: usize, item: Item) -> Result<()> {
        let keeps_rows = self.keeps_rows();
        let is_min = matches!(self.kind, ListedKind::Min);
        match &mut self.content {
            Content::Extreme(best) => {
                let is_better = |a: &Item, b: &Item| if is_min { a < b } else { a > b };
                if !keeps_rows && best.front().is_some_and(|(_, known)| !is_better(&item, known)) {
                    return Ok(());
                }
                while best.back().is_some_and(|(_, known)| !is_better(known, &item)) {
                    let (_, beaten) = best.pop_back().expect("there is a last one");
                    self.bytes -= bytes_of(&beaten);
                }
                self.bytes += bytes_of(&item);
                best.push_back((row, item));
                return self.account(0);
            }
            Content::Distinct(counts) => {
                if !counts.contains_key(&item) {
                    self.bytes += bytes_of(&item);
                }
                *counts.entry(item.clone()).or_insert(0) += 1;
            }
            Content::Sorted(values) => {
                let Item::Number(number) = item else { panic!("quantiles are of numbers") };
                values.insert(values.partition_point(|&known| known <= number), number);
                self.bytes += size_of::<i128>();
            }
            Content::Texts => {}
        }
        if keeps_rows {
            self.bytes += bytes_of(&item);
            self.values.push_back((row, item));
        }
        self.account(0)
    }

    fn remove(&mut self, item: Item) {
        self.bytes -= bytes_of(&item);
        match (&mut self.content, &item) {
            (Content::Distinct(counts), _) => {
                let count = counts.get_mut(&item).expect("the value was counted");
                *count -= 1;
                if *count == 0 {
                    counts.remove(&item);
                    self.bytes -= bytes_of(&item);
                }
            }
            (Content::Sorted(values), Item::Number(number)) => {
                values.remove(values.partition_point(|known| known < number));
                self.bytes -= size_of::<i128>();
            }
            _ => {}
        }
    }

    fn result(&self) -> Option<Item> {
        if self.begin >= self.end {
            return matches!(self.kind, ListedKind::CountDistinct).then_some(Item::Number(0));
        }
        match (&self.content, &self.kind) {
            (Content::Extreme(best), _) => best.front().map(|(_, item)| item.clone()),
            (Content::Distinct(counts), _) => Some(Item::Number(counts.len() as i128)),
            (Content::Sorted(values), ListedKind::Quantile(fraction)) => self.quantile(values, *fraction),
            (_, ListedKind::StringAgg(separator)) => {
                let texts: Vec<&[u8]> = self.values.iter().map(|(_, item)| text_of(item)).collect();
                (!texts.is_empty()).then(|| Item::Text(texts.join(separator.as_bytes())))
            }
            _ => unreachable!("quantiles are sorted"),
        }
    }

    /// The value at the fraction, interpolated between its neighbours; floats again as integers of the same order.
    fn quantile(&self, values: &[i128], fraction: f64) -> Option<Item> {
        let place = fraction * values.len().checked_sub(1)? as f64;
        let (lower, upper, way) = (values[place.floor() as usize], values[place.ceil() as usize], place.fract());
        let is_float = matches!(self.call.output.physical, PhysicalType::F32 | PhysicalType::F64);
        let is_float_column = matches!(self.call.arguments[0].output().physical, PhysicalType::F32 | PhysicalType::F64);
        let float = |value: i128| if is_float_column { float_of(value) } else { value as f64 };
        Some(Item::Number(match is_float {
            true if way == 0.0 => ordered_float(float(lower)),
            true => ordered_float(float(lower) + (float(upper) - float(lower)) * way),
            // Half of an odd distance rounds down, as the planner's type has no room for it.
            false if way == 0.5 => lower + upper.wrapping_sub(lower) / 2,
            false => lower + (upper.wrapping_sub(lower) as f64 * way) as i128,
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
                let text = |item: &'_ Option<Item>| item.as_ref().map_or(Vec::new(), |item| text_of(item).to_vec());
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

    /// The value of a row; rows are read in order.
    #[allow(clippy::unnecessary_cast, reason = "compiled for every integer type")]
    fn read(&mut self, rows: &Ordered, row: usize) -> Result<Option<Item>> {
        if !(self.block_begin..self.block_begin + self.block.len()).contains(&row) {
            let end = rows.len().min(row + BLOCK_ROWS);
            let column = rows.gather(&rows.pin(row..end)?, self.column);
            let flat = column.to_flat();
            let item = |i: usize| match &flat {
                Flat::F32(values) => Item::Number(ordered_float(values[i] as f64)),
                Flat::F64(values) => Item::Number(ordered_float(values[i])),
                flat => {
                    match_flat!(flat, values => Item::Number(values[i] as i128), strings => Item::Text(strings.get(i).to_vec()), _a => unreachable!("rows hold no lists"))
                }
            };
            self.block_begin = row;
            self.block = (0..column.len()).map(|i| column.is_valid(i).then(|| item(i))).collect();
        }
        Ok(self.block[row - self.block_begin].take())
    }
}

fn text_of(item: &Item) -> &[u8] {
    match item {
        Item::Text(text) => text,
        Item::Number(_) => panic!("a number among strings"),
    }
}

/// The float that became this integer.
fn float_of(ordered: i128) -> f64 {
    f64::from_bits(ordered.unsigned_abs() as u64 | if ordered < 0 { 1 << 63 } else { 0 })
}

/// What a value takes, with its place in a list.
fn bytes_of(item: &Item) -> usize {
    LISTED_VALUE_BYTES + if let Item::Text(text) = item { text.len() } else { 0 }
}

/// An error unless the aggregate can be computed over values of this type.
pub(crate) fn check(kind: &ListedKind, physical: PhysicalType, name: &str) -> Result<()> {
    let is_number = physical.is_integer() || matches!(physical, PhysicalType::F32 | PhysicalType::F64);
    let fits = match kind {
        ListedKind::Min | ListedKind::Max | ListedKind::CountDistinct => physical != PhysicalType::Nested,
        ListedKind::Quantile(_) => is_number,
        ListedKind::StringAgg(_) => physical == PhysicalType::Str,
    };
    if fits { Ok(()) } else { Err(Error::unsupported(format!("{name} over values of this type as a window function"))) }
}
