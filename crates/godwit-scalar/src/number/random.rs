//! Random numbers.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use godwit_common::Result;
use godwit_plan::Volatility;
use godwit_types::SqlType;
use godwit_vector::Vector;

use super::number_function;
use crate::function::{Form, Function};
use crate::kernel::{Kernel, Work};

pub(super) fn functions() -> Vec<Function> {
    let state = AtomicU64::new(RandomState::new().hash_one("random"));
    let form = Form::strict(Vec::new(), SqlType::Double, false, false, Arc::new(Random { state }));
    let random = number_function(&["random", "rand"], "A random number from 0 up to, but not including, 1")
        .example("random() < 1", "true")
        .volatility(Volatility::Volatile)
        .form(form);
    vec![random]
}

/// SplitMix64: the numbers are hashes of a counter, which threads share without waiting for each other.
struct Random {
    state: AtomicU64,
}

const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

impl Kernel for Random {
    fn evaluate(&self, _arguments: &[Vector], rows: usize, work: &dyn Work) -> Result<Vector> {
        work.check()?;
        let first = self.state.fetch_add(STEP.wrapping_mul(rows as u64), Ordering::Relaxed);
        let number = |row: u64| fraction(mixed(first.wrapping_add(STEP.wrapping_mul(row))));
        Ok(Vector::from_values((0..rows as u64).map(number).collect(), None))
    }
}

fn mixed(state: u64) -> u64 {
    let state = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let state = (state ^ (state >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    state ^ (state >> 31)
}

/// The highest bits, as many as a DOUBLE has.
fn fraction(bits: u64) -> f64 {
    (bits >> 11) as f64 / (1u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::Bounded;

    #[test]
    fn numbers_are_spread_and_new_each_time() {
        let (_, form) = crate::choose("random", &[]).unwrap();
        let numbers = || {
            let vector = form.kernel.evaluate(&[], 10_000, &Bounded::new(0)).unwrap();
            vector.to_flat().values::<f64>().to_vec()
        };
        let first = numbers();
        assert!(first.iter().all(|number| (0.0..1.0).contains(number)));
        let mean = first.iter().sum::<f64>() / 10_000.0;
        assert!((mean - 0.5).abs() < 0.03, "{mean}");
        assert_ne!(first, numbers());
        assert!(fraction(u64::MAX) < 1.0);
    }
}
