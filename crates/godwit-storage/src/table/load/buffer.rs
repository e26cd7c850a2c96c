//! The rows of an unfinished row group, column by column.

use std::sync::Arc;

use godwit_common::Result;
use godwit_vector::kernels::cast::convert;
use godwit_vector::kernels::concatenate::concatenated_values;
use godwit_vector::{Bitmap, Data, Dictionary, Flat, PhysicalType, StrBuilder, Vector};

use super::LoadColumn;
use super::interner::Interner;

/// A code that hasn't been looked up yet.
const UNKNOWN: u32 = u32::MAX;

/// One column's rows.
pub(super) struct ColumnBuffer {
    values: Values,
    /// Validity of the pieces; `None` as long as there are no NULLs.
    validity: Option<Vec<u64>>,
    rows: usize,
    translation: Translation,
    /// See [`Self::new_value_bytes`].
    new_value_bytes: usize,
}

enum Values {
    /// Flat vectors of the column's type.
    Pieces(Vec<Flat>),
    /// Codes of the interner.
    Codes(Vec<u32>),
    /// Strings, copied.
    Strings(StrBuilder),
}

/// Codes of the interner for the entries of the most recent dictionary.
#[derive(Default)]
struct Translation {
    dictionary: u64,
    codes: Vec<u32>,
}

impl ColumnBuffer {
    pub(super) fn new(column: &LoadColumn) -> Self {
        let values = match &column.interner {
            Some(_) => Values::Codes(Vec::new()),
            None if column.physical == PhysicalType::Str => Values::Strings(StrBuilder::default()),
            None => Values::Pieces(Vec::new()),
        };
        Self { values, validity: None, rows: 0, translation: Translation::default(), new_value_bytes: 0 }
    }

    /// Approximate memory of the rows.
    pub(super) fn bytes(&self) -> usize {
        match &self.values {
            Values::Pieces(pieces) => pieces.first().map_or(0, |piece| self.rows * piece.physical().width_bytes()),
            Values::Codes(codes) => codes.capacity() * size_of::<u32>(),
            Values::Strings(strings) => strings.allocated_bytes(),
        }
    }

    /// Bytes of strings, which compression copies.
    pub(super) fn string_bytes(&self) -> usize {
        match &self.values {
            Values::Strings(strings) => strings.bytes().len(),
            Values::Pieces(_) | Values::Codes(_) => 0,
        }
    }

    /// Bytes of the strings that came into the dictionary with these rows. The dictionary has reserved them.
    pub(super) fn new_value_bytes(&self) -> usize {
        self.new_value_bytes
    }

    pub(super) fn append(&mut self, column: &LoadColumn, vector: &Vector) -> Result<()> {
        self.append_validity(vector);
        self.rows += vector.len();
        if let (Values::Codes(_), Some(interner)) = (&self.values, &column.interner) {
            let mut interner = interner.0.lock();
            if interner.is_given_up() {
                self.give_up(&interner);
            } else {
                let known_bytes = interner.string_bytes();
                self.append_codes(vector, &mut interner);
                self.new_value_bytes += interner.string_bytes() - known_bytes;
                interner.note_rows(vector.len());
                return Ok(());
            }
        }
        match &mut self.values {
            Values::Pieces(pieces) => pieces.push(convert(vector, column.physical).to_flat()),
            Values::Strings(strings) => append_strings(vector, strings),
            Values::Codes(_) => unreachable!("columns with codes have an interner"),
        }
        Ok(())
    }

    fn append_validity(&mut self, vector: &Vector) {
        if self.validity.is_none() && !vector.has_nulls() {
            return;
        }
        let rows = self.rows;
        let words = self.validity.get_or_insert_with(|| Bitmap::filled(rows, true).words().to_vec());
        words.resize((rows + vector.len()).div_ceil(64), 0);
        for row in 0..vector.len() {
            let at = rows + row;
            words[at / 64] |= (vector.is_valid(row) as u64) << (at % 64);
        }
    }

    fn append_codes(&mut self, vector: &Vector, interner: &mut Interner) {
        let Values::Codes(codes) = &mut self.values else { unreachable!("the caller looked") };
        match vector.data() {
            Data::Dictionary(theirs, dictionary) if !dictionary.is_empty() => {
                let known = self.translation.of(dictionary);
                let strings = dictionary.values().strings();
                for (row, &code) in theirs.iter().enumerate() {
                    if !vector.is_valid(row) {
                        codes.push(0);
                        continue;
                    }
                    let known = &mut known[code as usize];
                    if *known == UNKNOWN {
                        *known = interner.intern(strings.get(code as usize));
                    }
                    codes.push(*known);
                }
            }
            _ => {
                let flat = vector.to_flat();
                let strings = flat.strings();
                codes.extend((0..vector.len()).map(|row| match vector.is_valid(row) {
                    true => interner.intern(strings.get(row)),
                    false => 0,
                }));
            }
        }
    }

    /// Turns codes into strings.
    fn give_up(&mut self, interner: &Interner) {
        let Values::Codes(codes) = &self.values else { return };
        let is_valid = |row: usize| self.validity.as_ref().is_none_or(|words| words[row / 64] >> (row % 64) & 1 == 1);
        let string = |(row, &code): (usize, &u32)| if is_valid(row) { interner.get(code) } else { &[] };
        let bytes = codes.iter().enumerate().map(|code| string(code).len()).sum();
        let mut strings = StrBuilder::with_capacities(codes.len(), bytes);
        codes.iter().enumerate().for_each(|code| strings.push(string(code)));
        self.values = Values::Strings(strings);
        self.new_value_bytes = 0;
    }

    /// Takes the rows; returns true if they are codes.
    pub(super) fn take(&mut self, column: &LoadColumn) -> (Vector, bool) {
        let rows = std::mem::take(&mut self.rows);
        self.new_value_bytes = 0;
        let validity = self.validity.take().map(|words| Bitmap::from_words(words, rows));
        match &mut self.values {
            Values::Pieces(pieces) => {
                (Vector::flat(concatenated_values(&std::mem::take(pieces), column.physical), validity), false)
            }
            Values::Codes(codes) => {
                let given_up = column.interner.as_ref().is_none_or(|interner| interner.0.lock().is_given_up());
                let values = Vector::from_values(std::mem::take(codes), validity);
                if given_up {
                    // Later rows come as strings; these are turned into strings at the end.
                    self.values = Values::Strings(StrBuilder::default());
                }
                (values, true)
            }
            Values::Strings(strings) => (Vector::flat(Flat::Str(std::mem::take(strings).finish()), validity), false),
        }
    }
}

impl Translation {
    fn of(&mut self, dictionary: &Arc<Dictionary>) -> &mut [u32] {
        if self.dictionary != dictionary.id() {
            self.dictionary = dictionary.id();
            self.codes.clear();
            self.codes.resize(dictionary.len(), UNKNOWN);
        }
        &mut self.codes
    }
}

fn append_strings(vector: &Vector, strings: &mut StrBuilder) {
    let flat = vector.to_flat();
    let column = flat.strings();
    (0..vector.len()).for_each(|row| strings.push(if vector.is_valid(row) { column.get(row) } else { &[] }));
}
