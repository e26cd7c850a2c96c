//! Tests rows against a naive model, with every page spilled as soon as its last pin is dropped.
//!
//! Column 0 is always the number of the row in the model, so that rows can be recognized in any order.

use std::sync::Arc;
use std::thread;

use godwit_common::ErrorKind;
use godwit_memory::{BufferConfig, BufferManager, PAGE_BYTES};
use godwit_vector::kernels::hash::hash_vectors;
use godwit_vector::{Bitmap, Data, Dictionary, Flat, PhysicalType, StrColumn, Vector, match_flat};
use proptest::prelude::*;

use crate::radix::partition_of;
use crate::{Extra, PartitionedRows, RowCollection, RowLayout, RowLayoutOptions, RowList, RowScan, Rows};

const TYPES: [PhysicalType; 13] = [
    PhysicalType::Bool,
    PhysicalType::I8,
    PhysicalType::I16,
    PhysicalType::I32,
    PhysicalType::I64,
    PhysicalType::I128,
    PhysicalType::U8,
    PhysicalType::U16,
    PhysicalType::U32,
    PhysicalType::U64,
    PhysicalType::F32,
    PhysicalType::F64,
    PhysicalType::Str,
];

// Miri takes a thousand times as long, so it gets less of everything.
/// Maximum number of rows in a batch.
const MANY_ROWS: u64 = if cfg!(miri) { 100 } else { 2048 };
/// Maximum length of a string.
const LONGEST_BYTES: u64 = if cfg!(miri) { 3_000 } else { 300_000 };
const CASES: u32 = if cfg!(miri) { 2 } else { 60 };
/// The number of batches in a test is divided by this.
const BATCHES_PART: usize = if cfg!(miri) { 4 } else { 1 };

/// A small generator: proptest's own is too slow for the amount of data.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut x = self.0;
        x = (x ^ x >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        x = (x ^ x >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        x ^ x >> 31
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    pub(crate) fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }
}

/// A value in the model: bytes, or `None` for NULL.
pub(crate) type Value = Option<Vec<u8>>;

fn value_at(vector: &Vector, row: usize) -> Value {
    let position = match vector.data() {
        Data::Flat(_) => row,
        Data::Constant(_) => 0,
        Data::Dictionary(codes, _) => codes[row] as usize,
    };
    let flat = match vector.data() {
        Data::Flat(flat) | Data::Constant(flat) => flat,
        Data::Dictionary(_, dictionary) => dictionary.values(),
    };
    vector.is_valid(row).then(|| {
        match_flat!(flat,
        values => values[position].to_le_bytes().to_vec(),
        strings => strings.get(position).to_vec(),
        _array => panic!("nested"))
    })
}

/// Values that are equal as keys have the same canonical bytes.
fn key(value: Value, physical: PhysicalType) -> Value {
    value.map(|bytes| match physical {
        PhysicalType::F32 => {
            let value = f32::from_le_bytes(bytes.try_into().unwrap());
            (if value.is_nan() { f32::NAN } else { value + 0.0 }).to_le_bytes().to_vec()
        }
        PhysicalType::F64 => {
            let value = f64::from_le_bytes(bytes.try_into().unwrap());
            (if value.is_nan() { f64::NAN } else { value + 0.0 }).to_le_bytes().to_vec()
        }
        _ => bytes,
    })
}

fn random_string(random: &mut Random, long: bool) -> Vec<u8> {
    let len = match random.below(if long { 400 } else { 100 }) {
        0..=59 => random.below(13),
        60..=97 => 12 + random.below(40),
        398 => random.below(5_000),
        399 => random.below(LONGEST_BYTES),
        _ => 100 + random.below(200),
    };
    let first = random.next();
    (0..len).map(|at| (first >> (at % 8 * 8)) as u8).collect()
}

fn random_flat(random: &mut Random, physical: PhysicalType, len: usize, domain: u64, long: bool) -> Flat {
    macro_rules! integers {
        ($($variant:ident),*) => {
            match physical {
                PhysicalType::Bool => Flat::Bool((0..len).map(|_| random.below(2) as u8).collect()),
                $( PhysicalType::$variant => Flat::$variant((0..len).map(|_| random.below(domain) as _).collect()), )*
                PhysicalType::F32 => Flat::F32((0..len).map(|_| random_float(random, domain) as f32).collect()),
                PhysicalType::F64 => Flat::F64((0..len).map(|_| random_float(random, domain)).collect()),
                PhysicalType::Str => {
                    let distinct: Vec<_> =
                        (0..domain.min(len as u64)).map(|_| random_string(random, long)).collect();
                    Flat::Str(StrColumn::from_strings(
                        (0..len).map(|_| &distinct[random.below(distinct.len() as u64) as usize][..]),
                    ))
                }
                PhysicalType::Nested => unreachable!(),
            }
        };
    }
    integers!(I8, I16, I32, I64, I128, U8, U16, U32, U64)
}

fn random_float(random: &mut Random, domain: u64) -> f64 {
    match random.below(8) {
        0 => f64::NAN,
        1 => -f64::NAN,
        2 => -0.0,
        3 => 0.0,
        _ => random.below(domain) as f64 / 4.0,
    }
}

/// A column in a random representation. Very long strings come in flat vectors only: others would repeat them.
fn random_vector(random: &mut Random, physical: PhysicalType, len: usize, domain: u64, long: bool) -> Vector {
    let validity = random.one_in(2).then(|| Bitmap::from_fn(len, |_| !random.one_in(5)));
    match random.below(8) {
        0 => Vector::null(physical, len),
        1 => {
            Vector::constant(random_flat(random, physical, 1, domain, false), len).with_validity(validity.map(Arc::new))
        }
        2 => {
            let dictionary = Dictionary::new(random_flat(random, physical, 0, domain, false), false);
            Vector::dictionary(vec![0; len].into(), Arc::new(dictionary), Some(Bitmap::filled(len, false)))
        }
        3 | 4 => {
            let entries = 1 + random.below(40);
            let dictionary = Dictionary::new(random_flat(random, physical, entries as usize, domain, false), false);
            let codes: Vec<u32> = (0..len).map(|_| random.below(entries) as u32).collect();
            Vector::dictionary(codes.into(), Arc::new(dictionary), validity)
        }
        _ => Vector::flat(random_flat(random, physical, len, domain, long), validity),
    }
}

/// All rows that were appended: the values of each, in the order of their numbers.
pub(crate) struct Model {
    pub(crate) types: Vec<PhysicalType>,
    pub(crate) rows: Vec<Vec<Value>>,
    seen: Vec<bool>,
}

impl Model {
    pub(crate) fn new(columns: &[PhysicalType]) -> Self {
        let types = std::iter::once(PhysicalType::U64).chain(columns.iter().copied()).collect();
        Self { types, rows: Vec::new(), seen: Vec::new() }
    }

    fn layout(&self, hash: bool, extra: Extra) -> Arc<RowLayout> {
        RowLayout::new(&self.types, RowLayoutOptions { hash, extra }).unwrap()
    }

    /// Random columns, and which of their rows are appended.
    pub(crate) fn batch(&mut self, random: &mut Random, long: bool) -> (Vec<Vector>, Option<Vec<u32>>, Vec<u64>) {
        let len_max = if random.one_in(3) { MANY_ROWS } else { MANY_ROWS / 20 };
        let len = 1 + random.below(len_max) as usize;
        let select = random.one_in(2);
        let positions: Vec<u32> = (0..len as u32).filter(|_| !select || random.one_in(2)).collect();
        let mut numbers = vec![u64::MAX; len];
        for (number, &position) in (self.rows.len() as u64..).zip(&positions) {
            numbers[position as usize] = number;
        }
        let mut columns = vec![Vector::from_values(numbers, None)];
        columns.extend(self.types[1..].iter().map(|&physical| random_vector(random, physical, len, 1 << 40, long)));
        for &position in &positions {
            self.rows.push(columns.iter().map(|column| value_at(column, position as usize)).collect());
        }
        let mut hashes = Vec::new();
        hash_vectors(&columns, len, &mut hashes);
        (columns, select.then_some(positions), hashes)
    }

    /// Checks rows, of which each may come once between two calls of [`Model::finish`].
    fn check(&mut self, rows: Rows<'_>) {
        let columns: Vec<Vector> = (0..self.types.len()).map(|column| rows.gather(column)).collect();
        self.check_columns(&columns);
    }

    /// [`Model::check`] for rows by column.
    pub(crate) fn check_columns(&mut self, columns: &[Vector]) {
        self.seen.resize(self.rows.len(), false);
        for (row, &number) in columns[0].to_flat().values::<u64>().iter().enumerate() {
            assert!(!std::mem::replace(&mut self.seen[number as usize], true), "row {number} twice");
            for (column, vector) in columns.iter().enumerate() {
                let expected = &self.rows[number as usize][column];
                assert!(value_at(vector, row) == *expected, "row {number}, column {column}: {:?}", self.types[column]);
            }
        }
    }

    fn check_scan(&mut self, mut scan: RowScan) {
        while let Some(block) = scan.next_block().unwrap() {
            assert!(!block.is_empty() && block.len() <= godwit_vector::CHUNK_ROWS);
            // Strings outlive the pin of their rows.
            self.check(block.rows());
        }
    }

    pub(crate) fn finish(&mut self) {
        assert_eq!(self.seen.len(), self.rows.len());
        assert!(std::mem::take(&mut self.seen).iter().all(|&seen| seen), "a row is missing");
    }
}

pub(crate) fn manager(limit_bytes: u64, force_spill: bool) -> BufferManager {
    let config = BufferConfig { force_spill, ..BufferConfig::new(limit_bytes) };
    // Miri can neither open files as the disk needs them nor call io_uring or compressors in C.
    #[cfg(miri)]
    return BufferManager::with_files(
        BufferConfig {
            compression: godwit_memory::SpillCompression::None,
            io_method: godwit_memory::IoMethod::Threads,
            ..config
        },
        Arc::new(godwit_io::SimulatedFiles::new()),
    )
    .unwrap();
    #[cfg(not(miri))]
    BufferManager::new(config).unwrap()
}

pub(crate) fn assert_empty(manager: &BufferManager) {
    manager.wait_for_io();
    let statistics = manager.statistics();
    assert_eq!((statistics.used_bytes, statistics.temp_file_bytes), (0, 0));
}

pub(crate) fn column_types() -> impl Strategy<Value = Vec<PhysicalType>> {
    proptest::collection::vec(
        prop_oneof![3 => proptest::sample::select(&TYPES[..]), 2 => Just(PhysicalType::Str)],
        0..11,
    )
}

fn extra() -> impl Strategy<Value = Extra> {
    proptest::sample::select(&[Extra::None, Extra::Link, Extra::LinkAndExtremes, Extra::States(16)][..])
}

pub(crate) fn cases() -> ProptestConfig {
    ProptestConfig { cases: CASES, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn collections_keep_rows(columns in column_types(), seed in any::<u64>(), hash: bool, extra in extra()) {
        let mut random = Random(seed);
        let manager = manager(256 << 20, true);
        let mut model = Model::new(&columns);
        let layout = model.layout(hash, extra);
        let mut rows = RowCollection::new(&manager, &layout, None);
        let mut checked_while_shared = None;
        // Stays in place, whatever happens to the collection.
        let mut listed = RowList::new(&layout);
        for _ in 0..12 / BATCHES_PART {
            // Into the collection itself, or into one that it absorbs.
            let mut other = random.one_in(3).then(|| RowCollection::new(&manager, &layout, Some(3)));
            for _ in 0..2 {
                let (vectors, positions, hashes) = model.batch(&mut random, true);
                let target = other.as_mut().unwrap_or(&mut rows);
                if random.one_in(2) {
                    target.keep_pinned();
                    target.append(&vectors, positions.as_deref(), hash.then_some(&hashes), Some(&mut listed)).unwrap();
                } else {
                    target.append(&vectors, positions.as_deref(), hash.then_some(&hashes), None).unwrap();
                }
                if random.one_in(2) {
                    target.release_pins();
                }
            }
            if let Some(other) = other {
                rows.absorb(other);
            }
            prop_assert_eq!(rows.rows(), model.rows.len() as u64);
            match random.below(6) {
                0 => {
                    model.check_scan(rows.scan());
                    model.finish();
                }
                1 => {
                    let pinned = rows.pin().unwrap();
                    let mut list = RowList::new(&layout);
                    let middle = random.below(pinned.rows() as u64 + 1) as usize;
                    pinned.list(middle..pinned.rows(), &mut list);
                    pinned.list(0..middle, &mut list);
                    drop(pinned);
                    model.check(list.all());
                    model.finish();
                }
                2 => rows.close(),
                // Appending continues while the existing pages are shared.
                3 => checked_while_shared = Some((rows.scan(), model.rows.len())),
                _ => {}
            }
        }
        rows.close();
        for begin in (0..listed.len()).step_by(2048) {
            model.check(listed.slice(begin..listed.len().min(begin + 2048)));
        }
        model.seen.clear();
        listed.clear();
        if let Some((scan, len)) = checked_while_shared {
            let later = model.rows.split_off(len);
            model.check_scan(scan);
            model.finish();
            model.rows.extend(later);
        }
        for part in 0..3 {
            model.check_scan(rows.scan_part(part, 3));
        }
        model.finish();
        prop_assert!(manager.statistics().spilled_bytes_total >= rows.bytes() / 2);
        let bytes = rows.bytes();
        let pieces = rows.split(3);
        prop_assert_eq!(pieces.iter().map(RowCollection::bytes).sum::<u64>(), bytes);
        let mut copy = RowCollection::new(&manager, &layout, None);
        for piece in pieces {
            let mut scan = piece.into_scan();
            while let Some(block) = scan.next_block().unwrap() {
                copy.append_rows(block.rows(), None).unwrap();
            }
        }
        model.check_scan(copy.into_scan());
        model.finish();
        assert_empty(&manager);
    }

    #[test]
    fn partitions_keep_rows(columns in column_types(), seed in any::<u64>(), bits in 0..6u32, more_bits in 0..5u32) {
        let mut random = Random(seed);
        let manager = manager(256 << 20, true);
        let mut model = Model::new(&columns);
        let layout = model.layout(true, Extra::Link);
        let extra = layout.extra_offset();
        let mut all = PartitionedRows::new(&manager, &layout, bits);
        for _ in 0..3 {
            let mut rows = PartitionedRows::new(&manager, &layout, bits);
            rows.keep_pinned();
            for _ in 0..3 {
                let (vectors, positions, hashes) = model.batch(&mut random, random_long(seed));
                let mut list = RowList::new(&layout);
                rows.append(&vectors, positions.as_deref(), &hashes, Some(&mut list)).unwrap();
                let positions = positions.unwrap_or_else(|| (0..vectors[0].len() as u32).collect());
                let mut stored = Vec::new();
                list.all().hashes(&mut stored);
                let expected: Vec<u64> = positions.iter().map(|&position| hashes[position as usize]).collect();
                prop_assert!(stored == expected, "rows come in the order of the input");
                for (row, hash) in list.all().pointers().iter().zip(&stored) {
                    // SAFETY: the list keeps the rows pinned, and nobody else uses them.
                    unsafe {
                        prop_assert_eq!(row.read::<u64>(extra), 0);
                        row.write(extra, !hash);
                    }
                }
            }
            rows.release_pins();
            all.combine(rows);
        }
        prop_assert_eq!(all.rows(), model.rows.len() as u64);
        for (partition, rows) in all.into_partitions().into_iter().enumerate() {
            let refined = PartitionedRows::refine(&manager, rows, partition, bits, more_bits).unwrap();
            prop_assert_eq!(refined.radix_bits(), bits + more_bits);
            for (fine, rows) in refined.into_partitions().into_iter().enumerate() {
                let mut scan = rows.into_scan();
                while let Some(block) = scan.next_block().unwrap() {
                    for row in block.rows().pointers() {
                        // SAFETY: the block keeps the rows pinned, and nobody else uses them.
                        let (hash, kept) =
                            unsafe { (row.read::<u64>(layout.hash_offset()), row.read::<u64>(extra)) };
                        prop_assert_eq!(partition_of(hash, bits + more_bits), (partition << more_bits) + fine);
                        prop_assert_eq!(kept, !hash);
                    }
                    model.check(block.rows());
                }
            }
        }
        model.finish();
        prop_assert!(manager.statistics().spilled_bytes_total > 0);
        assert_empty(&manager);
    }

    #[test]
    fn matches_are_those_of_a_loop(columns in column_types(), seed in any::<u64>(), nulls_equal: bool, domain in 1..20u64) {
        let mut random = Random(seed);
        let manager = manager(64 << 20, false);
        let layout = RowLayout::new(&columns, RowLayoutOptions::default()).unwrap();
        let len = 1 + random.below(300) as usize;
        let vectors = |random: &mut Random| -> Vec<Vector> {
            columns.iter().map(|&physical| random_vector(random, physical, len, domain, false)).collect()
        };
        let stored = vectors(&mut random);
        // Some keys are equal because they are the same, others by chance.
        let probe: Vec<Vector> = vectors(&mut random)
            .into_iter()
            .zip(&stored)
            .map(|(fresh, stored)| if random.one_in(2) { stored.clone() } else { fresh })
            .collect();
        let everything: Vec<u32> = (0..len as u32).collect();
        let mut rows = RowCollection::new(&manager, &layout, None);
        rows.append(&stored, Some(&everything), None, None).unwrap();
        let mut list = RowList::new(&layout);
        rows.pin().unwrap().list(0..len, &mut list);
        let candidates: Vec<u32> = everything.into_iter().filter(|_| !random.one_in(4)).collect();
        let keys: Vec<usize> = (0..columns.len()).filter(|_| random.one_in(2)).collect();
        let probe: Vec<Vector> = keys.iter().map(|&column| probe[column].clone()).collect();
        let is_equal = |i: &u32| keys.iter().zip(&probe).all(|(&column, probe)| {
            let stored = key(value_at(&stored[column], *i as usize), columns[column]);
            let probed = key(value_at(probe, *i as usize), columns[column]);
            stored == probed && (nulls_equal || stored.is_some())
        });
        let (expected, mut rest): (Vec<u32>, Vec<u32>) = candidates.iter().partition(|i| is_equal(i));
        let (mut equal, mut unequal) = (candidates, vec![7]);
        // SAFETY: the list keeps the rows pinned.
        unsafe { layout.match_rows(&keys, list.all().pointers(), &probe, &mut equal, &mut unequal, nulls_equal) };
        prop_assert_eq!(&equal, &expected);
        rest.push(7);
        rest.sort_unstable();
        unequal.sort_unstable();
        prop_assert_eq!(unequal, rest);
    }
}

/// Very long strings in one case of four: each takes a page of its own.
fn random_long(seed: u64) -> bool {
    seed.is_multiple_of(4)
}

#[test]
fn workers_pin_spilled_rows_at_once() {
    let manager = manager(256 << 20, true);
    let mut random = Random(5);
    let mut model = Model::new(&[PhysicalType::Str, PhysicalType::I32, PhysicalType::Str]);
    let layout = model.layout(false, Extra::None);
    let mut rows = RowCollection::new(&manager, &layout, None);
    for _ in 0..40 / BATCHES_PART {
        let (vectors, positions, _) = model.batch(&mut random, true);
        rows.append(&vectors, positions.as_deref(), None, None).unwrap();
    }
    rows.close();
    thread::scope(|scope| {
        for worker in 0..4 {
            let (rows, layout) = (&rows, &layout);
            let mut model = Model { types: model.types.clone(), rows: model.rows.clone(), seen: Vec::new() };
            scope.spawn(move || {
                for round in 0..6 {
                    if (worker + round) % 2 == 0 {
                        model.check_scan(rows.scan());
                    } else {
                        let pinned = rows.pin().unwrap();
                        let mut list = RowList::new(layout);
                        pinned.list(0..pinned.rows(), &mut list);
                        model.check(list.all());
                    }
                    model.finish();
                }
            });
        }
    });
    drop(rows);
    assert_empty(&manager);
}

fn numbered_string(number: u64, bytes: usize) -> String {
    format!("{number:08}{}", "x".repeat(bytes - 8))
}

/// `rows` rows of a number and a string of `bytes` bytes.
fn wide_columns(first: u64, rows: usize, bytes: usize) -> Vec<Vector> {
    let strings = (first..first + rows as u64).map(|number| numbered_string(number, bytes));
    vec![
        Vector::from_values((first..first + rows as u64).collect::<Vec<u64>>(), None),
        Vector::flat(Flat::Str(StrColumn::from_strings(strings)), None),
    ]
}

#[test]
#[cfg_attr(miri, ignore = "too much memory")]
fn memory_stays_below_the_limit_and_is_freed_while_scanning() {
    for bytes in [8, 200, 100_000, 1_000_000] {
        let limit = 8 << 20;
        let manager = manager(limit, false);
        let layout = RowLayout::new(&[PhysicalType::U64, PhysicalType::Str], RowLayoutOptions::default()).unwrap();
        let mut rows = RowCollection::new(&manager, &layout, None);
        // 64 MB of data; the columns themselves aren't in the pool.
        let chunk = (8_000_000 / (bytes + 24)).clamp(1, 2048);
        let mut appended = 0u64;
        while rows.bytes() < 64_000_000 {
            rows.append(&wide_columns(appended, chunk, bytes), None, None, None).unwrap();
            appended += chunk as u64;
        }
        assert_eq!(rows.rows(), appended);
        let statistics = manager.statistics();
        assert!(statistics.peak_bytes <= limit && statistics.spilled_bytes_total >= 50_000_000, "{statistics:?}");
        // A scan that doesn't change the rows causes no page to be written again, except where pointers moved.
        let mut scan = rows.into_scan();
        let mut seen = 0u64;
        while let Some(block) = scan.next_block().unwrap() {
            let strings = block.rows().gather(1);
            drop(block);
            for string in strings.to_flat().strings().iter() {
                assert!(string == numbered_string(seen, bytes).as_bytes());
                seen += 1;
            }
        }
        assert_eq!(seen, appended);
        assert!(manager.statistics().peak_bytes <= limit);
        assert_empty(&manager);
    }
}

#[test]
#[cfg_attr(miri, ignore = "too much memory")]
fn a_collection_survives_the_lack_of_memory() {
    let manager = manager(4 << 20, false);
    let layout = RowLayout::new(&[PhysicalType::U64, PhysicalType::Str], RowLayoutOptions::default()).unwrap();
    let mut rows = RowCollection::new(&manager, &layout, None);
    rows.keep_pinned();
    let mut batch = 0;
    let error = loop {
        if let Err(error) = rows.append(&wide_columns(batch * 2000, 2000, 300), None, None, None) {
            break error;
        }
        batch += 1;
    };
    assert_eq!(error.kind(), ErrorKind::Resource);
    assert!(rows.rows() >= batch * 2000);
    rows.release_pins();
    let mut scan = rows.scan();
    let mut seen = 0;
    while let Some(block) = scan.next_block().unwrap() {
        let strings = block.rows().gather(1);
        for string in strings.to_flat().strings().iter() {
            assert!(string == numbered_string(seen, 300).as_bytes());
            seen += 1;
        }
    }
    assert_eq!(seen, rows.rows());
    drop(scan);
    drop(rows);
    assert_empty(&manager);
}

#[test]
fn layouts_are_compact_and_refuse_what_they_cannot_hold() {
    use PhysicalType::*;
    let layout = RowLayout::new(&[I8, I64, Str, I32], RowLayoutOptions::default()).unwrap();
    assert_eq!((0..4).map(|column| layout.column_offset(column)).collect::<Vec<_>>(), [28, 16, 0, 24]);
    assert_eq!(layout.row_bytes(), 32);
    let layout = RowLayout::new(&[I32], RowLayoutOptions { hash: true, extra: Extra::States(16) }).unwrap();
    assert_eq!((layout.hash_offset(), layout.extra_offset(), layout.row_bytes()), (8, 16, 32));
    assert_eq!(RowLayout::new(&[I16; 3], RowLayoutOptions::default()).unwrap().row_bytes(), 8);
    assert_eq!(RowLayout::new(&[], RowLayoutOptions::default()).unwrap().row_bytes(), 1);
    for columns in [&[Nested][..], &[Str; PAGE_BYTES / 16]] {
        let error = RowLayout::new(columns, RowLayoutOptions::default()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert!(error.hint().is_some());
    }
}
