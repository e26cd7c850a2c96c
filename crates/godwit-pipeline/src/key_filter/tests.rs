use std::collections::HashSet;

use godwit_memory::BufferConfig;
use godwit_vector::{PhysicalType, StrColumn};
use proptest::prelude::*;

use godwit_vector::kernels::hash::hash_integer;

use super::*;

fn memory() -> BufferManager {
    BufferManager::new(BufferConfig::new(256 << 20)).unwrap()
}

/// Every representation of `keys` (with NULLs where `valid` is false) loses no row whose key is in the set; an exact
/// filter keeps no other one.
fn check(filter: &KeyFilter, keys: &[i64], valid: &[bool], expected: &HashSet<i64>) {
    let validity = Some(Bitmap::from_fn(keys.len(), |i| valid[i]));
    let flat = Vector::from_values(keys.to_vec(), validity.clone());
    let mut distinct: Vec<i64> = keys.to_vec();
    distinct.sort_unstable();
    distinct.dedup();
    let dictionary = |padding: usize| {
        let entries: Vec<i64> = distinct.iter().copied().chain((0..padding as i64).map(|i| i * 7 - 50)).collect();
        let codes: Vec<u32> = keys.iter().map(|key| distinct.binary_search(key).unwrap() as u32).collect();
        Vector::dictionary(codes.into(), Arc::new(Dictionary::new(Flat::I64(entries.into()), false)), validity.clone())
    };
    let narrow = keys.iter().all(|&key| i32::try_from(key).is_ok());
    let mut vectors = vec![flat, dictionary(0), dictionary(1000)];
    if narrow {
        vectors.push(Vector::from_values(keys.iter().map(|&key| key as i32).collect(), validity.clone()));
        vectors.push(Vector::from_values(keys.iter().map(|&key| key as i128).collect(), validity.clone()));
    }
    for (vector, skips) in vectors.into_iter().flat_map(|vector| [(vector.clone(), true), (vector, false)]) {
        let mut rows: Vec<u32> = (0..keys.len() as u32).filter(|row| !skips || row % 5 != 3).collect();
        let before = rows.clone();
        filter.retain(&vector, &mut rows);
        let kept: HashSet<u32> = rows.iter().copied().collect();
        assert!(rows.is_sorted() && rows.iter().all(|row| before.contains(row)));
        for row in before {
            let (key, is_valid) = (keys[row as usize], valid[row as usize]);
            let matches = is_valid && expected.contains(&key);
            if matches || filter.is_exact() || !is_valid {
                assert_eq!(kept.contains(&row), matches, "key {key}");
            }
        }
    }
}

proptest! {
    #[test]
    fn no_key_is_lost(
        build in prop::collection::vec(-100i64..100, 0..50),
        probe in prop::collection::vec((prop_oneof![-300i64..300, any::<i64>()], any::<bool>()), 0..300),
        scale in prop_oneof![Just(1i64), Just(1 << 40)],
        base in prop_oneof![Just(0i64), Just(i64::MAX - 100), Just(i64::MIN + 100)],
    ) {
        let build: Vec<i64> = build.iter().map(|key| if base == 0 { key * scale } else { key + base }).collect();
        let vector = Vector::from_values(build.clone(), None);
        let (keys, valid): (Vec<i64>, Vec<bool>) = probe.iter().map(|(key, valid)| (key.wrapping_add(base), *valid)).unzip();
        let expected: HashSet<i64> = build.iter().copied().collect();
        let range = range_of(&vector);
        let rows = build.len() as u64;
        let bits = KeySet::bits(range, rows, &memory());
        prop_assert_eq!(bits.is_some(), rows > 0 && (scale == 1 || base != 0 || range.unwrap().count() < 1 << 20));
        for set in [bits, KeySet::bloom(rows, &memory()), None] {
            let unique = set.as_ref().map(|set| set.insert(&vector));
            let filter = KeyFilter::new(range, set.map(Arc::new), rows);
            prop_assert!(!filter.is_exact() || unique == Some(expected.len() == build.len()));
            check(&filter, &keys, &valid, &expected);
            if let Some(known) = filter.hashes() {
                prop_assert!(build.iter().all(|&key| known.contains(&hash_integer(key))));
            } else {
                prop_assert!(filter.set_bytes() == 0);
            }
        }
    }
}

#[test]
fn hashes_are_known_of_few_keys() {
    let keys = |rows: i64| Vector::from_values((0..rows).map(|key| key << 40).collect::<Vec<i64>>(), None);
    let known = |expected: u64, rows: i64| {
        let set = KeySet::bloom(expected, &memory()).unwrap();
        (0..2).for_each(|_| assert!(set.insert(&keys(rows / 2))));
        KeyFilter::new(None, Some(Arc::new(set)), rows as u64).hashes().map(|hashes| hashes.len())
    };
    assert_eq!(known(64, 64), Some(64));
    assert_eq!(known(65, 60), None, "many were expected");
    assert_eq!(known(10, 66), None, "there were more than expected");
    let one = KeyFilter::new(Some(ValueRange { min: 7, max: 7 }), None, 1);
    assert_eq!(one.hashes(), Some(vec![hash_integer(7)]));
    let several = KeyFilter::new(Some(ValueRange { min: 7, max: 8 }), None, 2);
    assert_eq!(several.hashes(), None);
}

#[test]
fn a_bit_vector_may_be_sparse_where_it_is_small() {
    let (memory, range) = (memory(), |bits: i128| Some(ValueRange { min: 1, max: bits }));
    let is_exact = |bits: i128, keys: u64| KeySet::for_keys(range(bits), keys, &memory).unwrap().is_exact();
    assert!(is_exact(1 << 21, 1), "that many are always allowed");
    assert!(is_exact(20_000_000, 100_000) && !is_exact(20_000_000, 70_000), "256 for each key");
    assert!(is_exact(1 << 27, 1 << 20) && !is_exact(1 << 28, 1 << 21), "16 MiB");
    assert!(KeySet::bits(range(20_000_000), 100_000, &memory).is_none(), "it is no Bloom filter's alternative");
    let _others = memory.reserve(200 << 20, MemoryTag::HashTable).unwrap();
    assert!(!is_exact(20_000_000, 100_000), "memory is short");
}

#[test]
fn a_bloom_filter_rejects_most_strings() {
    let name = |i: usize| format!("Customer#{i:09}");
    let strings =
        |range: std::ops::Range<usize>| Vector::flat(Flat::Str(StrColumn::from_strings(range.map(name))), None);
    let set = KeySet::for_keys(None, 10_000, &memory()).unwrap();
    set.insert(&strings(0..10_000));
    let filter = KeyFilter::new(None, Some(Arc::new(set)), 10_000);
    let mut rows: Vec<u32> = (0..20_000).collect();
    filter.retain(&strings(0..20_000), &mut rows);
    assert!((10_000..10_400).contains(&rows.len()), "{} rows pass", rows.len());
    assert_eq!(rows[9_999], 9_999);
    let mut all = vec![3, 4];
    filter.retain(&Vector::constant(Flat::Str(StrColumn::from_strings([name(7)])), 10), &mut all);
    assert_eq!(all, [3, 4]);
    let mut none = all.clone();
    filter.retain(&Vector::null(PhysicalType::Str, 10), &mut none);
    assert!(none.is_empty());
    filter.retain(&Vector::constant(Flat::Str(StrColumn::from_strings(["nobody"])), 10), &mut all);
    assert!(all.is_empty());
}

#[test]
fn the_share_that_passes_is_guessed_from_ranges() {
    let column = Some(ValueRange { min: 1, max: 1000 });
    let filter = KeyFilter::new(Some(ValueRange { min: 1, max: 500 }), None, 500);
    assert_eq!(filter.selectivity(column), 0.5);
    assert_eq!(filter.selectivity(Some(ValueRange { min: 501, max: 1000 })), 0.0);
    assert_eq!(KeyFilter::new(None, None, 0).selectivity(None), 0.0);
}
