//! The values to be encoded, with the properties that all schemes need.
#![allow(clippy::unnecessary_cast, reason = "loops are compiled for every integer type")]

use std::cell::RefCell;
use std::sync::Arc;

use fsst::Compressor;
use godwit_vector::{Flat, PhysicalType, ValueRange, Vector, match_physical};

use crate::flat::make;

/// Values of a part. In number columns, NULL rows have the preceding value, or the first one, so that they neither end
/// runs nor widen a range; in string columns they are empty.
pub(crate) struct Column<'a> {
    values: &'a Vector,
    flat: Flat,
    /// Rows that are NULL.
    pub nulls: usize,
    /// Smallest and largest integer; `None` for other types, and without values.
    pub range: Option<ValueRange>,
    /// The rows at which runs of equal numbers end; empty for strings.
    pub run_ends: Vec<u32>,
    /// What was learned from other parts of the column; this part adds to it.
    pub learned: &'a Learned,
}

/// What is known of a column, and what is carried from one of its parts to the next.
#[derive(Default)]
pub(crate) struct Learned {
    symbols: RefCell<Option<Arc<Compressor>>>,
    /// Type of the items, if the strings of the column are lists of numbers.
    pub list_items: Option<PhysicalType>,
}

impl Learned {
    /// Nothing but the type of the items, if the column has lists of numbers.
    pub(crate) fn of_lists(list_items: Option<PhysicalType>) -> Self {
        Self { list_items, ..Self::default() }
    }

    /// The symbol table that `train` derives from the last one.
    pub(crate) fn symbols(&self, train: impl FnOnce(Option<Arc<Compressor>>) -> Arc<Compressor>) -> Arc<Compressor> {
        let trained = train(self.symbols.take());
        *self.symbols.borrow_mut() = Some(trained.clone());
        trained
    }
}

impl<'a> Column<'a> {
    /// The column of a flat vector.
    pub(crate) fn new(values: &'a Vector, learned: &'a Learned) -> Self {
        let flat = values.to_flat();
        let nulls = (0..values.len()).filter(|&row| !values.is_valid(row)).count();
        let range = integer_range(&flat, |row| values.is_valid(row));
        if flat.physical() == PhysicalType::Str || nulls == values.len() {
            return Self { values, flat, nulls, range, run_ends: Vec::new(), learned };
        }
        let flat = if nulls == 0 { flat } else { filled(values, &flat) };
        let run_ends = run_ends(&flat);
        Self { values, flat, nulls, range, run_ends, learned }
    }

    pub(crate) fn rows(&self) -> usize {
        self.values.len()
    }

    pub(crate) fn physical(&self) -> PhysicalType {
        self.flat.physical()
    }

    /// True if all rows are NULL.
    pub(crate) fn is_null(&self) -> bool {
        self.nulls == self.rows()
    }

    /// True if there are strings.
    pub(crate) fn is_text(&self) -> bool {
        self.physical() == PhysicalType::Str && !self.is_null()
    }

    /// Numbers; `None` if there are strings, or only NULLs.
    pub(crate) fn numbers(&self) -> Option<&Flat> {
        (self.physical() != PhysicalType::Str && !self.is_null()).then_some(&self.flat)
    }

    /// The string of a row.
    #[inline]
    pub(crate) fn string(&self, row: usize) -> &[u8] {
        if self.nulls == 0 || self.values.is_valid(row) { self.flat.strings().get(row) } else { &[] }
    }

    /// True if the row isn't NULL.
    pub(crate) fn is_valid(&self, row: usize) -> bool {
        self.values.is_valid(row)
    }

    /// Bytes of the numbers as they are.
    pub(crate) fn plain_bytes(&self) -> usize {
        self.rows() * self.physical().width_bytes()
    }
}

/// The bounds of the integers that aren't NULL.
fn integer_range(flat: &Flat, is_valid: impl Fn(usize) -> bool) -> Option<ValueRange> {
    if !flat.physical().is_integer() && flat.physical() != PhysicalType::Bool {
        return None;
    }
    godwit_vector::match_flat!(
        flat,
        values => {
            let mut valid = values.iter().enumerate().filter(|(row, _)| is_valid(*row)).map(|(_, value)| *value);
            let first = valid.next()?;
            let (min, max) = valid.fold((first, first), |(min, max), value| {
                (if value < min { value } else { min }, if value > max { value } else { max })
            });
            Some(ValueRange { min: min as i128, max: max as i128 })
        },
        _s => None,
        _a => None
    )
}

/// The values, with those of NULL rows replaced by the preceding value, or by the first one.
fn filled(values: &Vector, flat: &Flat) -> Flat {
    let physical = flat.physical();
    let first = (0..flat.len()).find(|&row| values.is_valid(row)).expect("not all rows are NULL");
    match_physical!(physical, T => {
        godwit_vector::match_flat!(
            flat,
            source => {
                let mut last = source[first];
                let filled = source.iter().enumerate().map(|(row, &value)| {
                    if values.is_valid(row) {
                        last = value;
                    }
                    last as T
                });
                make(physical, filled.collect::<Vec<T>>())
            },
            _s => unreachable!("strings are text"),
            _a => unreachable!("nested values have no segments")
        )
    })
}

/// Where runs of equal values end; floats are compared by their bits.
fn run_ends(flat: &Flat) -> Vec<u32> {
    let rows = flat.len();
    match flat {
        Flat::F32(values) => ends(rows, |row| values[row].to_bits() == values[row - 1].to_bits()),
        Flat::F64(values) => ends(rows, |row| values[row].to_bits() == values[row - 1].to_bits()),
        flat => godwit_vector::match_flat!(
            flat,
            values => ends(rows, |row| values[row] == values[row - 1]),
            _s => unreachable!("strings are text"),
            _a => unreachable!("nested values have no segments")
        ),
    }
}

/// The rows at which runs end; `is_same(row)` says whether a row equals the one before it.
fn ends(rows: usize, is_same: impl Fn(usize) -> bool) -> Vec<u32> {
    let starts = (1..rows).filter(|&row| !is_same(row)).map(|row| row as u32);
    starts.chain((rows > 0).then_some(rows as u32)).collect()
}
