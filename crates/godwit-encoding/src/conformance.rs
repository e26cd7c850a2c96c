//! The laws that every scheme obeys, tested for each scheme in the registry on all columns that it can store.
//!
//! - Decoding returns what was encoded, as a whole and by windows, and also where some of the rows form a part of their
//!   own.
//! - Taking rows is equivalent to decoding and picking; retaining rows, to decoding and comparing.
//! - Headers survive serialization; an exact size is that of the body.
//! - Damaged headers and bodies yield errors or other values, never a panic.

use godwit_vector::{Bitmap, Flat, Lists, Native, PhysicalType, SharedBytes, StrColumn, ValueRange, Vector};
use proptest::prelude::*;

use crate::choose::encode_by;
use crate::column::{Column, Learned};
use crate::registry::{Entry, REGISTRY};
use crate::scheme::Size;
use crate::{BLOCK_ROWS, EncodedPart, Part, PartContent, PartHeader};

/// A share of the rows of a test: one in `n` under Miri, which takes a thousand times as long.
const fn some_of(rows: usize, n: usize) -> usize {
    if cfg!(miri) { rows / n } else { rows }
}

/// Number of rows that scans decode at once.
const WINDOW_ROWS: usize = 2 * BLOCK_ROWS;

/// Values as scheme `entry` stores them, and the size that it predicted; `None` if it can't store them. Strings may be
/// lists of 64-bit numbers.
fn encode_with(entry: &Entry, values: &Vector) -> Option<(EncodedPart, Size)> {
    let flattened = values.flattened();
    // Columns of lists have no symbols.
    let list_items = (entry.name == "lists").then_some(PhysicalType::I64);
    let learned = Learned::of_lists(list_items);
    let size = (entry.propose)(&Column::new(&flattened, &learned))?.size;
    let encoded =
        encode_by(values, &Learned::of_lists(list_items), |column| (entry.propose)(column).expect("it did before"));
    assert_eq!(encoded.header.encoding.name(), entry.name);
    Some((encoded, size))
}

/// Checks all schemes that can store these values; returns their names.
fn check_all(values: &Vector) -> Vec<&'static str> {
    let check = |entry: &'static Entry| {
        let (encoded, size) = encode_with(entry, values)?;
        let bytes = encoded.body.len() - encoded.header.bitmap_bytes();
        assert!(matches!(size, Size::Sampled(_)) || size == Size::Exact(bytes), "{}: {size:?}, {bytes}", entry.name);
        check_part(values, &encoded);
        Some(entry.name)
    };
    REGISTRY.iter().filter_map(check).collect()
}

/// Checks that a part has these values, however it is read.
pub(crate) fn check_part(values: &Vector, encoded: &EncodedPart) {
    let mut bytes = Vec::new();
    encoded.header.to_bytes(&mut bytes);
    let header = PartHeader::from_bytes(&mut &bytes[..], PartContent::Values).unwrap();
    assert_eq!(header, encoded.header);
    let expected = shown(values);
    // A body at an odd address is read through copies.
    let shifted = [&[0u8][..], &encoded.body].concat();
    let shared = SharedBytes::new(encoded.body.clone());
    let bodies = [&encoded.body[..], &shifted[1..]].map(|body| Part::new(&header, body));
    for part in bodies.into_iter().chain([Part::shared(&header, &shared)]) {
        let part = part.unwrap();
        check_decode(&part, &expected);
        check_take(&part, &expected);
    }
    if values.physical().is_integer() || values.physical() == PhysicalType::Bool {
        check_retain(&encoded.part(), values);
    }
    for start in (0..values.len()).step_by(3 * BLOCK_ROWS) {
        let rows = start..values.len().min(start + WINDOW_ROWS);
        if let Some((header, body)) = header.of_rows(&rows) {
            let part = Part::new(&header, &encoded.body[body]).unwrap();
            assert_eq!(shown(&part.decode(0..rows.len()).unwrap()), expected[rows], "{:?}", header.encoding);
        }
    }
}

fn check_decode(part: &Part<'_>, expected: &[String]) {
    let rows = expected.len();
    assert_eq!(shown(&part.decode(0..rows).unwrap()), expected, "{:?}", part.header.encoding);
    for start in (0..rows).step_by(WINDOW_ROWS) {
        let window = start..rows.min(start + WINDOW_ROWS);
        let decoded = part.decode(window.clone()).unwrap();
        assert_eq!(shown(&decoded), expected[window], "{:?}", part.header.encoding);
    }
}

/// Few rows of a block are read one by one, many by decoding the block; a row may be requested twice.
fn check_take(part: &Part<'_>, expected: &[String]) {
    for start in [0, expected.len() / 2 / BLOCK_ROWS * BLOCK_ROWS] {
        let rows = (expected.len() - start) as u32;
        for step in [1, 3, 100, 1500] {
            let picked: Vec<u32> =
                (0..rows).step_by(step).flat_map(|row| [row, row, (row + 1).min(rows - 1)]).collect();
            let taken = part.take(start, &picked).unwrap();
            let of_picked: Vec<&String> = picked.iter().map(|&row| &expected[start + row as usize]).collect();
            assert_eq!(shown(&taken).iter().collect::<Vec<_>>(), of_picked, "{:?}", part.header.encoding);
        }
    }
}

fn check_retain(part: &Part<'_>, values: &Vector) {
    let integers: Vec<Option<i128>> = (0..values.len()).map(|row| integer(values, row)).collect();
    let known = part.header.range.unwrap_or(ValueRange { min: 0, max: 0 });
    let middle = known.min.midpoint(known.max);
    let ranges =
        [(known.min, middle), (middle, known.max), (middle, middle), (i128::MIN, middle - 1), (known.max, i128::MAX)];
    let rows = integers.len() / 3 / BLOCK_ROWS * BLOCK_ROWS..integers.len();
    // Rows that other filters left; one block has none.
    let left = Bitmap::from_fn(rows.len(), |row| row / BLOCK_ROWS != 1 && row % 5 != 2);
    let expected = |is_wanted: &dyn Fn(i128) -> bool| {
        Bitmap::from_fn(rows.len(), |row| left.get(row) && integers[rows.start + row].is_some_and(is_wanted))
    };
    for (min, max) in ranges {
        let mut mask = left.words().to_vec();
        part.retain_range(rows.clone(), ValueRange { min, max }, &mut mask).unwrap();
        let in_range = expected(&|value| min <= value && value <= max);
        assert_eq!(mask, in_range.words(), "{min}..={max} {:?}", part.header.encoding);
    }
    // Codes are `U32`; other types of up to 64 bits are tested with values that aren't codes.
    if values.physical() == PhysicalType::I128 {
        return;
    }
    let codes = Bitmap::from_fn(5_000, |code| code % 7 == 3 || code / 100 % 2 == 0);
    let mut mask = left.words().to_vec();
    part.retain_codes(rows.clone(), &codes, &mut mask).unwrap();
    let with_code = expected(&|code| (0..5_000).contains(&code) && codes.get(code as usize));
    assert_eq!(mask, with_code.words(), "{:?}", part.header.encoding);
}

/// Values as text, so that vectors of all types compare; floats by their bits.
fn shown(vector: &Vector) -> Vec<String> {
    let flat = vector.to_flat();
    let show = |row: usize| match &flat {
        _ if !vector.is_valid(row) => "NULL".to_owned(),
        Flat::F32(values) => format!("{:x}", values[row].to_bits()),
        Flat::F64(values) => format!("{:x}", values[row].to_bits()),
        Flat::Str(strings) => format!("{:?}", strings.get(row)),
        flat => godwit_vector::match_flat!(flat, values => values[row].to_string(), _s => panic!(), _a => panic!()),
    };
    (0..vector.len()).map(show).collect()
}

#[allow(clippy::unnecessary_cast, reason = "loops are compiled for every integer type")]
fn integer(values: &Vector, row: usize) -> Option<i128> {
    let flat = values.to_flat();
    let value = godwit_vector::match_flat!(&flat, values => values[row] as i128, _s => panic!(), _a => panic!());
    values.is_valid(row).then_some(value)
}

fn vector<T: Native + Default>(values: &[Option<T>]) -> Vector {
    let plain: Vec<T> = values.iter().map(|value| value.unwrap_or_default()).collect();
    let has_nulls = values.iter().any(Option::is_none);
    Vector::from_values(plain, has_nulls.then(|| Bitmap::from_fn(values.len(), |row| values[row].is_some())))
}

fn strings(values: &[Option<String>]) -> Vector {
    let column = StrColumn::from_strings(values.iter().map(|value| value.as_deref().unwrap_or("")));
    let has_nulls = values.iter().any(Option::is_none);
    Vector::flat(Flat::Str(column), has_nulls.then(|| Bitmap::from_fn(values.len(), |row| values[row].is_some())))
}

/// Lists of the integers before a NULL, as the ordered bytes that tables keep; every fifth is NULL, and so are some items.
fn lists(values: &[Option<i64>]) -> Vector {
    let rows: Vec<&[Option<i64>]> = values.split(Option::is_none).collect();
    let validity = Bitmap::from_fn(rows.len(), |row| row % 5 != 4);
    let is_valid = |row: &usize| validity.get(*row);
    let items: Vec<Option<i64>> = (0..rows.len())
        .filter(is_valid)
        .flat_map(|row| rows[row])
        .map(|item| item.filter(|item| item % 9 != 5))
        .collect();
    let lengths = (0..rows.len()).map(|row| if is_valid(&row) { rows[row].len() as u32 } else { 0 }).collect();
    let lists = Lists { lengths, items: vector(&items), validity: None };
    Vector::flat(Flat::Str(lists.to_bytes()), Some(validity))
}

/// The same integers in another type; those that don't fit wrap around.
fn of_type(values: &[Option<i64>], physical: PhysicalType) -> Vector {
    fn cast<T: Native + Default>(values: &[Option<i64>], to: impl Fn(i64) -> T) -> Vector {
        vector(&values.iter().map(|value| value.map(&to)).collect::<Vec<_>>())
    }
    match physical {
        PhysicalType::I8 => cast(values, |value| value as i8),
        PhysicalType::I16 => cast(values, |value| value as i16),
        PhysicalType::I32 => cast(values, |value| value as i32),
        PhysicalType::I128 => cast(values, |value| i128::from(value) << 60),
        PhysicalType::U8 => cast(values, |value| value as u8),
        PhysicalType::U16 => cast(values, |value| value as u16),
        PhysicalType::U32 => cast(values, |value| value as u32),
        PhysicalType::U64 => cast(values, |value| value as u64),
        PhysicalType::F32 => cast(values, |value| value as f32 / 100.0),
        PhysicalType::F64 => cast(values, |value| value as f64 / 100.0),
        _ => cast(values, |value| value),
    }
}

const TYPES: [PhysicalType; 11] = {
    use PhysicalType::*;
    [I8, I16, I32, I64, I128, U8, U16, U32, U64, F32, F64]
};

/// Integers as found in columns: spread out, in steps, in runs, multiples of something.
fn integers(rows_max: usize) -> impl Strategy<Value = Vec<Option<i64>>> {
    let value = (any::<u64>(), prop::bool::weighted(0.9));
    let values = prop::collection::vec(value, 0..rows_max);
    let base = prop::sample::select(&[0, -70, 1_000_000, i64::MIN, i64::MAX - 5][..]);
    let factor = prop::sample::select(&[1, 1, 3, 100, -1_000_000][..]);
    let run = prop::sample::select(&[1usize, 1, 4, 700][..]);
    (values, 0u32..=64, base, factor, run, any::<bool>(), any::<bool>()).prop_map(
        |(values, width, base, factor, run, is_ascending, has_nulls)| {
            let mask = u64::MAX.checked_shr(64 - width).unwrap_or(0);
            let mut sum = base;
            let value = |row: usize| {
                let (random, is_valid) = values[row / run * run];
                let step = ((random & mask) as i64).wrapping_mul(factor);
                sum = if is_ascending && row.is_multiple_of(run) { sum.wrapping_add(step) } else { sum };
                let value = if is_ascending { sum } else { base.wrapping_add(step) };
                (is_valid || !has_nulls).then_some(value)
            };
            (0..values.len()).map(value).collect()
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 1 } else { 64 }))]

    #[test]
    fn schemes_of_numbers_obey_the_laws(values in integers(some_of(5000, 4)), physical in prop::sample::select(&TYPES[..])) {
        check_all(&of_type(&values, physical));
    }

    #[test]
    fn schemes_of_floats_obey_the_laws(
        values in prop::collection::vec(any::<Option<f64>>(), 1..some_of(2000, 10)),
        cents in prop::collection::vec(prop::option::of(-1_000_000i64..1_000_000), 1..some_of(3000, 10)),
        every in 1usize..500,
    ) {
        let mixed: Vec<Option<f64>> = cents.iter().enumerate().map(|(row, cents)| match row % every {
            0 => values[row % values.len()],
            _ => cents.map(|cents| cents as f64 / 100.0),
        }).collect();
        check_all(&vector(&mixed));
        check_all(&vector(&mixed.iter().map(|value| value.map(|value| value as f32)).collect::<Vec<_>>()));
    }

    #[test]
    fn schemes_of_strings_obey_the_laws(
        values in prop::collection::vec(prop::option::of("[a-c]{0,40}|[\\x00ab]{0,20}|\\PC{0,10}"), 0..some_of(3000, 30)),
        is_constant in any::<bool>(),
    ) {
        let first = values.iter().flatten().next().cloned();
        let values = if is_constant { values.iter().map(|value| value.as_ref().and(first.clone())).collect() } else { values };
        check_all(&strings(&values));
    }

    #[test]
    fn schemes_of_lists_obey_the_laws(values in integers(some_of(4_000, 80))) {
        let names = check_all(&lists(&values));
        prop_assert!(names.contains(&"lists") || names.contains(&"null"), "{names:?}");
    }

    #[test]
    fn damage_is_never_a_panic(
        integers in integers(some_of(5000, 50)),
        texts in prop::collection::vec(prop::option::of("[a-c]{0,12}"), 1..some_of(1500, 50)),
        physical in prop::sample::select(&TYPES[..]),
        damages in prop::collection::vec((any::<prop::sample::Index>(), 1u8..=255), 1..4),
    ) {
        for values in [of_type(&integers, physical), strings(&texts), lists(&integers)] {
            for (encoded, _) in REGISTRY.iter().filter_map(|entry| encode_with(entry, &values)) {
                let mut header = Vec::new();
                encoded.header.to_bytes(&mut header);
                for (at, flip) in &damages {
                    let mut body = encoded.body.clone();
                    if !body.is_empty() {
                        let place = at.index(body.len());
                        body[place] ^= flip;
                        read_all(&encoded.header, &body);
                        // Damage has most effect in directories and widths.
                        let place = at.index(body.len().min(64));
                        body[place] ^= flip;
                        read_all(&encoded.header, &body);
                    }
                    // Large row counts aren't errors, but they take long.
                    if cfg!(miri) {
                        continue;
                    }
                    let mut header = header.clone();
                    let place = at.index(header.len());
                    header[place] ^= flip;
                    if let Ok(header) = PartHeader::from_bytes(&mut &header[..], PartContent::Codes) {
                        read_all(&header, &encoded.body);
                    }
                }
            }
        }
    }
}

/// Reads in all ways. Either an error or some values; what matters is that it returns.
fn read_all(header: &PartHeader, body: &[u8]) {
    let shared = SharedBytes::new(body.to_vec());
    let rows = header.rows as usize;
    for part in [Part::new(header, body), Part::shared(header, &shared)] {
        let Ok(part) = part else { return };
        let _ = part.decode(0..rows);
        let _ = part.decode(rows / 2 / BLOCK_ROWS * BLOCK_ROWS..rows);
        let _ = part.decode_lists(0..rows).map(|lists| lists.map(|lists| lists.to_bytes()));
        // Neighbours, in two blocks.
        let around: Vec<u32> =
            (rows.min(BLOCK_ROWS).saturating_sub(20)..rows.min(BLOCK_ROWS + 20)).map(|row| row as u32).collect();
        let _ = part.take(0, &around);
        let _ = part.take_lists(0, &around).map(|lists| lists.map(|lists| lists.to_bytes()));
        if rows > 0 {
            let _ = part.take(0, &[0, rows as u32 / 2, rows as u32 / 2, rows as u32 - 1]);
        }
        if header.range.is_some() && header.physical.is_integer() {
            let mut mask = vec![u64::MAX; rows.div_ceil(64)];
            let _ = part.retain_range(0..rows, ValueRange { min: -5, max: 100 }, &mut mask);
            let _ = part.retain_codes(0..rows, &Bitmap::filled(100, true), &mut mask);
        }
    }
}

/// Columns such that each scheme is best for one, as large as the parts of a row group.
#[test]
#[cfg_attr(miri, ignore = "too many rows")]
fn every_scheme_is_tried() {
    let integers = |value: &dyn Fn(i64) -> i64| vector(&(0..20_000).map(|row| Some(value(row))).collect::<Vec<_>>());
    let floats = |value: &dyn Fn(i32) -> f64| vector(&(0..20_000).map(|row| Some(value(row))).collect::<Vec<_>>());
    let texts = |text: &dyn Fn(u64) -> String| strings(&(0..5_000).map(|row| Some(text(row))).collect::<Vec<_>>());
    let columns = [
        Vector::null(PhysicalType::Str, 3_000),
        integers(&|_| 7),
        integers(&|row| 1_000_000 + row * 7919 % 1_009),
        integers(&|row| row * 7919 % 50 * 100),
        integers(&|row| 32 * (row / 8) + row % 8),
        integers(&|row| row / 9 * 7919 % 1_009),
        integers(&|row| row / 9_000),
        floats(&|row| f64::from(row * 7919 % 100_000) / 100.0),
        floats(&|row| if row % 1_000 == 7 { f64::NAN } else { f64::from(row % 777) / 8.0 }),
        floats(&|row| (f64::from(row) + 0.1).sqrt()),
        lists(&(0..20_000).map(|row| (row % 4 > 0).then_some(row * 7919 % 1_009)).collect::<Vec<_>>()),
        texts(&|_| "the same".to_owned()),
        texts(&|row| format!("https://example.org/item/{}", row * 7919 % 1_009)),
    ];
    let tried: Vec<&str> = columns.iter().flat_map(check_all).collect();
    let missing: Vec<&str> = REGISTRY.iter().map(|entry| entry.name).filter(|name| !tried.contains(name)).collect();
    assert_eq!(missing, [""; 0], "no column for these schemes");
}
