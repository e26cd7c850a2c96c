//! Tests columns against the values that were appended, with every page spilled as soon as its last pin is dropped.

use godwit_vector::kernels::hash::hash_vectors;
use godwit_vector::{CHUNK_ROWS, PhysicalType, Vector};
use proptest::prelude::*;

use super::*;
use crate::radix::partition_of;
use crate::tests::{Model, Random, assert_empty, cases, column_types, manager};

/// All rows of some scans, seen once by the model; `flags` are expected, and changed to the next ones.
fn check(model: &mut Model, scans: Vec<ColumnScan>, rows_max: usize, mut each: impl FnMut(&ColumnBlock)) {
    for mut scan in scans {
        while let Some(block) = scan.next_block(rows_max).unwrap() {
            assert!(!block.is_empty() && block.len() <= rows_max);
            each(&block);
            let columns = block.columns().to_vec();
            drop(block);
            // Strings outlive their block.
            model.check_columns(&columns);
        }
    }
    model.finish();
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn collections_keep_columns(types in column_types(), seed in any::<u64>(), flags: bool, rows_max in 1..3000usize) {
        let mut random = Random(seed);
        let manager = manager(256 << 20, true);
        let mut model = Model::new(&types);
        let layout = ColumnLayout::new(&model.types, flags).unwrap();
        let mut rows = ColumnCollection::new(&manager, &layout, None);
        for _ in 0..20 {
            let mut other = random.one_in(3).then(|| ColumnCollection::new(&manager, &layout, Some(3)));
            let (vectors, positions, _) = model.batch(&mut random, true);
            let positions = positions.unwrap_or_else(|| (0..vectors[0].len() as u32).collect());
            other.as_mut().unwrap_or(&mut rows).append(&vectors, &positions).unwrap();
            if let Some(other) = other {
                rows.absorb(other);
            }
            prop_assert_eq!(rows.rows(), model.rows.len() as u64);
            if random.one_in(6) {
                rows.close();
            }
        }
        rows.close();
        prop_assert!(manager.statistics().spilled_bytes_total >= rows.bytes() / 2);
        for round in 0..3u8 {
            check(&mut model, rows.scans(1 << 19), rows_max, |block| {
                if flags {
                    let expected = |row: usize| if round == 0 { 0 } else { row as u8 ^ round };
                    assert!(block.flags().iter().enumerate().all(|(row, &flag)| flag == expected(row)));
                    let next: Vec<u8> = (0..block.len()).map(|row| row as u8 ^ (round + 1)).collect();
                    block.set_flags(&next).unwrap();
                }
            });
        }
        check(&mut model, rows.into_scans(1 << 18), rows_max, |_| {});
        assert_empty(&manager);
    }

    #[test]
    fn partitions_keep_columns(types in column_types(), seed in any::<u64>(), bits in 0..6u32, more_bits in 0..5u32) {
        let mut random = Random(seed);
        let manager = manager(256 << 20, true);
        let mut model = Model::new(&types);
        let layout = ColumnLayout::new(&model.types, false).unwrap();
        let hash = |columns: &[Vector], rows: usize, hashes: &mut Vec<u64>| {
            hash_vectors(&columns[..1], rows, hashes);
            Ok(())
        };
        let mut all = PartitionedColumns::new(&manager, &layout, bits);
        for _ in 0..3 {
            let mut rows = PartitionedColumns::new(&manager, &layout, bits);
            for _ in 0..3 {
                let (vectors, positions, mut hashes) = model.batch(&mut random, false);
                hash(&vectors, vectors[0].len(), &mut hashes).unwrap();
                let positions = positions.unwrap_or_else(|| (0..vectors[0].len() as u32).collect());
                rows.append(&vectors, &positions, &hashes).unwrap();
            }
            all.combine(rows);
        }
        let parts = all.into_partitions().into_iter().enumerate().flat_map(|(partition, rows)| {
            PartitionedColumns::refine(&manager, rows, partition, bits, more_bits, hash).unwrap().into_partitions()
        });
        let mut scans = Vec::new();
        for (partition, rows) in parts.enumerate() {
            let mut hashes = Vec::new();
            for mut scan in rows.scans(u64::MAX) {
                while let Some(block) = scan.next_block(CHUNK_ROWS).unwrap() {
                    hash(block.columns(), block.len(), &mut hashes).unwrap();
                    prop_assert!(hashes.iter().all(|&hash| partition_of(hash, bits + more_bits) == partition));
                }
            }
            scans.extend(rows.into_scans(u64::MAX));
        }
        check(&mut model, scans, CHUNK_ROWS, |_| {});
        assert_empty(&manager);
    }
}

/// Pages are filled with as many rows as fit, whatever the size of their strings.
#[test]
#[cfg_attr(miri, ignore = "too much memory")]
fn pages_are_full() {
    let manager = manager(256 << 20, false);
    for (types, len, row_bytes) in [
        (vec![PhysicalType::I64, PhysicalType::I8], 0, 9),
        (vec![PhysicalType::I32, PhysicalType::Str], 10, 4 + 4 + 10),
        (vec![PhysicalType::I32, PhysicalType::Str], 3000, 4 + 4 + 3000),
        (vec![PhysicalType::I128, PhysicalType::Str], 200_000, 262_144),
    ] {
        let layout = ColumnLayout::new(&types, false).unwrap();
        let mut rows = ColumnCollection::new(&manager, &layout, None);
        let text = "x".repeat(len);
        let count = if len > 1000 { 100 } else { CHUNK_ROWS };
        let columns: Vec<Vector> = types
            .iter()
            .map(|&physical| match physical {
                PhysicalType::Str => {
                    let texts = std::iter::repeat_n(&text, count);
                    Vector::flat(godwit_vector::Flat::Str(godwit_vector::StrColumn::from_strings(texts)), None)
                }
                physical => Vector::flat(godwit_vector::Flat::zeros(physical, count), None),
            })
            .collect();
        let positions: Vec<u32> = (0..count as u32).collect();
        (0..20).for_each(|_| rows.append(&columns, &positions).unwrap());
        let expected = 20 * count as u64 * row_bytes;
        assert!(
            rows.bytes() >= expected && rows.bytes() <= expected + expected / 16 + 262_144,
            "{types:?}: {} bytes for {expected}",
            rows.bytes()
        );
    }
}

#[test]
fn nested_columns_are_refused() {
    assert!(ColumnLayout::new(&[PhysicalType::Nested], false).is_err());
}
