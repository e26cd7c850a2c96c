//! Estimates of the number of different values: HyperLogLog.
//!
//! A sketch has 2^12 registers. The low bits of a value's hash choose a register, which keeps the longest run of zeros
//! that the other bits of such hashes begin with: values that were seen before change nothing, and two sketches are
//! combined by taking the longer run. The standard error is 1.04 / √registers = 1.6 %.
//!
//! Sources: Flajolet, Fusy, Gandouet, Meunier, "HyperLogLog: the analysis of a near-optimal cardinality estimation
//! algorithm" (2007); the estimate, which is unbiased for few values as well: Ertl, "New cardinality estimation
//! algorithms for HyperLogLog sketches" (2017), section 3.

/// Bits of a hash that choose a register.
const SKETCH_BITS: u32 = 12;

/// Number of registers, a byte each.
pub const SKETCH_BYTES: usize = 1 << SKETCH_BITS;

/// The registers of a sketch. Without values all are 0.
pub type Registers = [u8; SKETCH_BYTES];

/// Bits of a hash beside those that choose a register, and so the longest run of zeros.
const RUN_MAX: usize = 64 - SKETCH_BITS as usize;

/// Adds a value's hash.
#[inline(always)]
pub fn add_hash(registers: &mut Registers, hash: u64) {
    let register = &mut registers[hash as usize & (SKETCH_BYTES - 1)];
    // The bit in front bounds the run.
    let run = (hash >> SKETCH_BITS | 1 << RUN_MAX).trailing_zeros() as u8 + 1;
    *register = (*register).max(run);
}

/// Adds the values of another sketch.
pub(super) fn add_sketch(registers: &mut Registers, other: &Registers) {
    registers.iter_mut().zip(other).for_each(|(register, other)| *register = (*register).max(*other));
}

/// Estimates how many different hashes were added.
pub fn estimate(registers: &Registers) -> f64 {
    let mut counts = [0u32; RUN_MAX + 2];
    registers.iter().for_each(|&run| counts[run as usize] += 1);
    let all = SKETCH_BYTES as f64;
    let mut sum = all * tau(1.0 - f64::from(counts[RUN_MAX + 1]) / all);
    for &count in counts[1..=RUN_MAX].iter().rev() {
        sum = 0.5 * (sum + f64::from(count));
    }
    sum += all * sigma(f64::from(counts[0]) / all);
    all * all / (2.0 * std::f64::consts::LN_2 * sum)
}

/// x + Σ 2^(k-1) · x^(2^k): corrects for registers without a value.
fn sigma(mut x: f64) -> f64 {
    if x == 1.0 {
        return f64::INFINITY;
    }
    let (mut sum, mut weight) = (x, 1.0);
    loop {
        x *= x;
        let next = sum + x * weight;
        if next == sum {
            return sum;
        }
        sum = next;
        weight += weight;
    }
}

/// (1 - x - Σ 2^-k · (1 - x^(2^-k))²) / 3: corrects for registers that can't count further.
fn tau(mut x: f64) -> f64 {
    if x == 0.0 || x == 1.0 {
        return 0.0;
    }
    let (mut sum, mut weight) = (1.0 - x, 1.0);
    loop {
        x = x.sqrt();
        weight *= 0.5;
        let next = sum - (1.0 - x) * (1.0 - x) * weight;
        if next == sum {
            return sum / 3.0;
        }
        sum = next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A permutation of 64 bits (SplitMix64's).
    fn hash(mut x: u64) -> u64 {
        x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ x >> 31
    }

    fn sketch(values: std::ops::Range<u64>) -> Box<Registers> {
        let mut registers = Box::new([0; SKETCH_BYTES]);
        values.for_each(|value| add_hash(&mut registers, hash(value + 1)));
        registers
    }

    #[test]
    fn few_values_are_counted_nearly_exactly() {
        assert_eq!(estimate(&sketch(0..0)).round(), 0.0);
        for values in 1..50 {
            let counted = estimate(&sketch(0..values)).round();
            assert!((counted - values as f64).abs() <= 1.0, "{values}: {counted}");
        }
    }

    /// Within four standard errors, also where estimates without correction are biased (2 to 5 values per register).
    #[test]
    fn estimates_are_close() {
        let sizes = if cfg!(miri) { vec![300] } else { vec![300, 5_000, 12_000, 40_000, 1_000_000] };
        for values in sizes {
            let error = estimate(&sketch(0..values)) / values as f64 - 1.0;
            assert!(error.abs() < 0.065, "{values}: {error}");
        }
    }

    #[test]
    fn sketches_of_parts_are_that_of_the_whole() {
        let mut combined = sketch(0..3000);
        add_sketch(&mut combined, &sketch(2000..5000));
        assert!(combined == sketch(0..5000));
    }
}
