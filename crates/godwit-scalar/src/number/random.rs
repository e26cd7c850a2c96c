//! Random numbers.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use godwit_common::{Error, Result, SqlState};
use godwit_plan::Volatility;
use godwit_types::SqlType;
use godwit_vector::Vector;

use super::number_function;
use crate::function::{Form, Function};
use crate::kernel::{Kernel, Work};
use crate::rows::scalar;

pub(super) fn functions() -> Vec<Function> {
    STATE.store(RandomState::new().hash_one("random"), Ordering::Relaxed);
    let form = Form::strict(Vec::new(), SqlType::Double, false, false, Arc::new(Random));
    let random = number_function(&["random", "rand"], "A random number from 0 up to, but not including, 1")
        .example("random() < 1", "true")
        .volatility(Volatility::Volatile)
        .form(form);
    let seeded = scalar::<(f64,), i32, Result<Option<i32>>>(|(seed,)| {
        if !(-1.0..=1.0).contains(&seed) {
            return Err(Error::user(format!("a seed lies between -1 and 1, not at {seed}"))
                .with_code(SqlState::INVALID_PARAMETER_VALUE));
        }
        STATE.store(seed.to_bits(), Ordering::Relaxed);
        Ok(None)
    });
    let setseed = number_function(
        &["setseed"],
        "Sets where the random numbers of this process begin, a number from -1 to 1; one thread then gets the same ones; NULL",
    )
    .example("setseed(0.5)", "NULL")
    .volatility(Volatility::Volatile)
    .form(seeded);
    vec![random, setseed]
}

/// SplitMix64: the numbers are hashes of a counter, which threads share without waiting for each other.
static STATE: AtomicU64 = AtomicU64::new(0);

struct Random;

const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

impl Kernel for Random {
    fn evaluate(&self, _arguments: &[Vector], rows: usize, work: &dyn Work) -> Result<Vector> {
        work.check()?;
        let first = STATE.fetch_add(STEP.wrapping_mul(rows as u64), Ordering::Relaxed);
        let number = |row: u64| fraction(mixed(first.wrapping_add(STEP.wrapping_mul(row))));
        Ok(Vector::from_values((0..rows as u64).map(number).collect(), None))
    }
}

fn mixed(state: u64) -> u64 {
    let state = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let state = (state ^ (state >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    state ^ (state >> 31)
}

/// Takes the highest bits, as many as a DOUBLE has.
fn fraction(bits: u64) -> f64 {
    (bits >> 11) as f64 / (1u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::Bounded;
    use crate::testing::{error_of, shown};

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
        // Other tests may draw numbers meanwhile, so only the limits of seeds are tested.
        assert_eq!(shown("setseed", &["-1"]), "NULL");
        assert!(error_of("setseed", &["1.5"]).contains("between -1 and 1"));
        assert!(error_of("setseed", &["DOUBLE 'nan'"]).contains("between -1 and 1"));
    }
}
