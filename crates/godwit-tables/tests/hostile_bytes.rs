//! The fuzzers' targets (`fuzz/`) on sound, damaged and random bytes: nothing may panic.

#[path = "../../../fuzz/src/lib.rs"]
mod targets;

use proptest::prelude::*;

/// Sound bytes with some of them replaced, a piece left out, or the end cut off.
fn damaged(sound: Vec<u8>) -> impl Strategy<Value = Vec<u8>> {
    let index = any::<prop::sample::Index>;
    let replaced = prop::collection::vec((index(), any::<u8>()), 0..4);
    let numbers = prop::collection::vec((index(), prop::sample::select(vec![0, 1, u32::MAX, 1 << 31, 255])), 0..2);
    (replaced, numbers, prop::option::of((index(), 1usize..9)), prop::option::weighted(0.2, index())).prop_map(
        move |(replaced, numbers, removed, cut)| {
            let mut bytes = sound.clone();
            replaced.into_iter().for_each(|(at, byte)| {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            });
            for (at, number) in numbers {
                let at = at.index(bytes.len().saturating_sub(4).max(1));
                let end = bytes.len().min(at + 4);
                bytes[at..end].copy_from_slice(&u32::to_le_bytes(number)[..end - at]);
            }
            if let Some((at, length)) = removed {
                let at = at.index(bytes.len());
                bytes.drain(at..(at + length).min(bytes.len()));
            }
            if let Some(at) = cut.filter(|_| !bytes.is_empty()) {
                bytes.truncate(at.index(bytes.len()));
            }
            bytes
        },
    )
}

const SCRIPTS: &[&str] = &[
    "INSERT INTO t VALUES (1, 'a', 2.5), (2, NULL, -3)",
    "SELECT s, count(*), sum(x) OVER (PARTITION BY n % 3) FROM t WHERE s LIKE 'a%' GROUP BY ALL HAVING count(*) > 1 ORDER BY 1",
    "WITH RECURSIVE r AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM r WHERE i < 9) SELECT * FROM r JOIN t USING (n)",
    "MERGE INTO t USING (SELECT 1 AS n) AS u ON t.n = u.n WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT VALUES (1, 'x', 2)",
    "CREATE TABLE u (a DECIMAL(9, 2) DEFAULT 1 CHECK (a > 0), b DATE REFERENCES t (n)); ALTER TABLE t RENAME COLUMN n TO m",
    "COPY (SELECT [1, 2], {'a': DATE '2020-01-01'}, INTERVAL 3 DAY) TO 'x.parquet' (FORMAT parquet)",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn damaged_files(changes in prop::collection::vec(any::<u8>(), 0..20)) {
        targets::file(&changes);
    }

    #[test]
    fn damaged_roots(bytes in Just(targets::sound_root()).prop_flat_map(damaged)) {
        targets::root(&bytes);
    }

    #[test]
    fn damaged_records(bytes in prop::sample::select(targets::sound_records()).prop_flat_map(damaged)) {
        targets::log(&bytes);
    }

    #[test]
    fn random_bytes(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        targets::root(&bytes);
        targets::log(&bytes);
        targets::segment(&bytes);
        targets::sql(&bytes);
    }

    #[test]
    fn damaged_scripts(script in prop::sample::select(SCRIPTS).prop_flat_map(|script| damaged(script.as_bytes().to_vec()))) {
        targets::sql(&script);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(5_000))]

    #[test]
    fn damaged_segments(bytes in prop::sample::select(targets::sound_parts()).prop_flat_map(damaged)) {
        targets::segment(&bytes);
    }
}

#[test]
fn what_is_sound_is_read() {
    targets::file(&[]);
    targets::root(&targets::sound_root());
    targets::sound_records().iter().for_each(|record| targets::log(record));
    targets::sound_parts().iter().for_each(|bytes| targets::segment(bytes));
    SCRIPTS.iter().for_each(|script| targets::sql(script.as_bytes()));
}
