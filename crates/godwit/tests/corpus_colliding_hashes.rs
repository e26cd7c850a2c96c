//! The corpus in the world in which all hashes are equal. The switch is global to the process, hence a separate
//! program.

mod support;

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array};
use godwit::Config;
use godwit_vector::from_arrow;
use godwit_vector::kernels::hash::{force_hash_collisions, hash_vectors};
use support::run_corpus;

#[test]
fn colliding_hashes() {
    force_hash_collisions(true);
    let numbers: ArrayRef = Arc::new(Int64Array::from(vec![1, 2, 3]));
    let mut hashes = Vec::new();
    hash_vectors(&[from_arrow(&numbers).unwrap()], 3, &mut hashes);
    assert!(hashes.iter().all(|hash| *hash == hashes[0]), "{hashes:?}");

    let evidence = run_corpus("colliding_hashes", &Config { threads: Some(4), ..Config::default() });
    assert!(evidence.files > 0 && evidence.batch_rows_max > 0);
}
