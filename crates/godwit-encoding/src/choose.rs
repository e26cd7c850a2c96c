//! Which encoding a part gets: the smallest, by exact size where that is cheap to know, by a sample for strings.
#![allow(clippy::unnecessary_cast, reason = "loops are compiled for every integer type")]

use fsst::Compressor;
use godwit_common::Named;
use godwit_vector::{Flat, PhysicalType, ValueRange, Vector, match_physical};

use crate::header::{Encoding, PartHeader};
use crate::packed::{self, Packing};
use crate::part::EncodedPart;
use crate::plain::make;
use crate::{ROW_GROUP_ROWS, decimals, plain, run_length, text, validity};

/// Run length is random access by binary search, and a value per run to gather: it must save this factor over packing.
const RUN_LENGTH_GAIN_MIN: usize = 2;

/// Decompressing costs more than copying: symbols must save a fifth of the bytes.
const SYMBOLS_SHARE_MAX: (usize, usize) = (4, 5);

/// Strings that the symbol table is trained on, and that it is judged by: enough for its 255 symbols to settle.
const SAMPLE_STRINGS: usize = 512;

/// Who chooses the encoding of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum EncodingChoice {
    /// The smallest that reads fast.
    #[default]
    Auto,
    /// Values as they are.
    Plain,
    /// Bit packing, where the type allows it.
    Packed,
    /// Run length, where the type allows it.
    RunLength,
    /// Symbol tables, for strings.
    Symbols,
    /// An ordered dictionary, for strings, which is the table's business; the codes get what `Auto` finds.
    Dictionary,
}

impl Named for EncodingChoice {
    const NAMES: &'static [(&'static str, Self)] = &[
        ("auto", Self::Auto),
        ("plain", Self::Plain),
        ("packed", Self::Packed),
        ("run_length", Self::RunLength),
        ("symbols", Self::Symbols),
        ("dictionary", Self::Dictionary),
    ];
}

/// Encodes the values of one part: at most [`ROW_GROUP_ROWS`] rows of any type but nested ones.
pub fn encode(values: &Vector, choice: EncodingChoice) -> EncodedPart {
    let rows = values.len();
    assert!(rows <= ROW_GROUP_ROWS, "a part lies in one row group");
    let values = values.flattened();
    let flat = values.to_flat();
    let nulls = (0..rows).filter(|&row| !values.is_valid(row)).count();
    let mut body = Vec::new();
    if nulls > 0 && nulls < rows {
        validity::write(values.validity().expect("there are NULLs"), &mut body);
    }
    let range = integer_range(&flat, |row| values.is_valid(row));
    let choice = if choice == EncodingChoice::Dictionary { EncodingChoice::Auto } else { choice };
    let mut runs = rows - nulls;
    let encoding = if nulls == rows {
        Encoding::Null
    } else if let Flat::Str(strings) = &flat {
        let get = |row| if values.is_valid(row) { strings.get(row) } else { &[][..] };
        write_strings(rows, get, choice, &mut body)
    } else {
        write_numbers(&values, &flat, range, choice, &mut body, &mut runs)
    };
    let header = PartHeader {
        physical: flat.physical(),
        rows: rows as u32,
        nulls: nulls as u32,
        body_bytes: u32::try_from(body.len()).expect("the storage bounds the bytes of a part"),
        range,
        encoding,
    };
    EncodedPart { header, body, runs: runs as u32 }
}

/// The bounds of the values that aren't NULL.
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

fn write_numbers(
    values: &Vector,
    flat: &Flat,
    range: Option<ValueRange>,
    choice: EncodingChoice,
    body: &mut Vec<u8>,
    runs: &mut usize,
) -> Encoding {
    let rows = flat.len();
    // NULL rows take the value before them, so that they neither end runs nor widen anything.
    let flat = fill_nulls(values, flat);
    let ends = run_ends(&flat);
    *runs = ends.len().min(*runs);
    let is_auto = choice == EncodingChoice::Auto;
    if let [_] = ends[..]
        && is_auto
    {
        return Encoding::Constant(bits_at(&flat, 0));
    }
    let plain_bytes = rows * flat.physical().width_bytes();
    let packing = range.and_then(Packing::of_range);
    let packed_bytes = packing.map_or(usize::MAX, |packing| packed::bytes_for(rows, packing.width));
    let runs_bytes = ends.len() * (4 + flat.physical().width_bytes());
    let by_runs = runs_bytes * RUN_LENGTH_GAIN_MIN <= packed_bytes.min(plain_bytes);
    if choice == EncodingChoice::RunLength || (is_auto && by_runs) {
        run_length::write(&flat, &ends, body);
        return Encoding::RunLength { runs: ends.len() as u32 };
    }
    let may_pack = choice == EncodingChoice::Packed || (is_auto && packed_bytes < plain_bytes);
    if let Some(packing) = packing.filter(|_| may_pack) {
        let base = packing.base;
        godwit_vector::match_flat!(
            &flat,
            values => packing.write(rows, |row| (values[row] as i128).wrapping_sub(base) as u64, body),
            _s => unreachable!("strings have no range"),
            _a => unreachable!("nested values have no range")
        );
        return Encoding::Packed(packing);
    }
    if let Flat::F64(doubles) = &flat
        && choice != EncodingChoice::Plain
        && let Some(encoding) = write_decimals(values, doubles, plain_bytes, body)
    {
        return encoding;
    }
    plain::write(&flat, body);
    Encoding::Plain
}

fn write_decimals(values: &Vector, doubles: &[f64], plain_bytes: usize, body: &mut Vec<u8>) -> Option<Encoding> {
    let optional = doubles.iter().enumerate().map(|(row, &value)| values.is_valid(row).then_some(value));
    let scaled = decimals::find(optional)?;
    let packing = Packing::of_range(scaled.range)?;
    if packed::bytes_for(doubles.len(), packing.width) >= plain_bytes {
        return None;
    }
    let base = packing.base as i64;
    packing.write(doubles.len(), |row| scaled.integers[row].wrapping_sub(base) as u64, body);
    Some(Encoding::Decimals { exponent: scaled.exponent, packing })
}

fn write_strings<'a>(
    rows: usize,
    get: impl Fn(usize) -> &'a [u8],
    choice: EncodingChoice,
    body: &mut Vec<u8>,
) -> Encoding {
    if let Some(compressor) = symbols_for(rows, &get, choice) {
        text::write_symbols(rows, get, &compressor, body);
        return Encoding::Symbols;
    }
    text::write_plain(rows, get, body);
    Encoding::Text
}

/// A symbol table trained on strings from all over the part, if it is asked for or worth it.
fn symbols_for<'a>(rows: usize, get: impl Fn(usize) -> &'a [u8], choice: EncodingChoice) -> Option<Compressor> {
    if !matches!(choice, EncodingChoice::Auto | EncodingChoice::Symbols) {
        return None;
    }
    let sample: Vec<&[u8]> = (0..rows).step_by(rows.div_ceil(SAMPLE_STRINGS).max(1)).map(get).collect();
    let compressor = Compressor::train(&sample);
    let plain: usize = sample.iter().map(|string| string.len()).sum();
    let stored: usize = sample.iter().map(|string| compressor.compress(string).len()).sum();
    let (part, whole) = SYMBOLS_SHARE_MAX;
    (choice == EncodingChoice::Symbols || stored * whole < plain * part).then_some(compressor)
}

/// The values with those of NULL rows replaced by the value before, or by the first one.
fn fill_nulls(values: &Vector, flat: &Flat) -> Flat {
    if values.validity().is_none() {
        return flat.clone();
    }
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

/// Where runs of equal values end; floats by their bits.
fn run_ends(flat: &Flat) -> Vec<u32> {
    let rows = flat.len();
    match flat {
        Flat::F32(values) => run_length::ends(rows, |row| values[row].to_bits() == values[row - 1].to_bits()),
        Flat::F64(values) => run_length::ends(rows, |row| values[row].to_bits() == values[row - 1].to_bits()),
        flat => godwit_vector::match_flat!(
            flat,
            values => run_length::ends(rows, |row| values[row] == values[row - 1]),
            _s => unreachable!("strings are text"),
            _a => unreachable!("nested values have no segments")
        ),
    }
}

/// An integer, or the bits of a float.
fn bits_at(flat: &Flat, row: usize) -> i128 {
    match flat {
        Flat::F32(values) => values[row].to_bits() as i128,
        Flat::F64(values) => values[row].to_bits() as i128,
        flat => godwit_vector::match_flat!(flat, values => values[row] as i128, _s => 0, _a => 0),
    }
}
