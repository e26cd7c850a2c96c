//! Estimates of quantiles: a t-digest of a fixed size.
//!
//! ```text
//! value ─▶ buffer of 512 ── full ─▶ sorted, merged with the centroids (mean, weight) ─▶ at most 200 centroids
//! ```
//!
//! The share of the values that a centroid stands for is small at both ends and largest in the middle: from quantile q0
//! to q1 with k(q1) - k(q0) ≤ 1, where k(q) = δ · asin(2q - 1) / π. The last q1 that a q0 allows follows from the addition
//! theorem of the sine, without an arcsine. Two neighbours together span more than 1, so there are fewer than 2δ of them.
//! Up to 512 values are kept as they are, and one of them is the result. Of more, it is interpolated between centroids: at
//! the median it is off by less than a hundredth of the values, at the ends by far less.
//!
//! Source: Dunning, Ertl, "Computing Extremely Accurate Quantiles Using t-Digests" (2019), scale function k1.

/// Half of the maximum number of centroids: δ. As in DuckDB.
const COMPRESSION: usize = 100;

/// sin(π / δ) and cos(π / δ): the angle that a centroid may span.
const STEP: (f64, f64) = (0.031_410_759_078_128_29, 0.999_506_560_365_731_6);

/// Maximum number of centroids.
const CENTROIDS_MAX: usize = 2 * COMPRESSION;

/// Number of values in the buffer. Sorting them costs about as much as merging them with the centroids.
const BUFFER_VALUES: usize = 512;

/// A summary of a group's values. All zeros if there are none.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(super) struct Digest {
    /// Number of all values.
    count: f64,
    min: f64,
    max: f64,
    centroids: u32,
    buffered: u32,
    /// The centroids' means, in ascending order.
    means: [f64; CENTROIDS_MAX],
    /// Their weights.
    weights: [f64; CENTROIDS_MAX],
    buffer: [f64; BUFFER_VALUES],
}

impl Digest {
    /// A digest without values.
    #[cfg(test)]
    const EMPTY: Self = Self {
        count: 0.0,
        min: 0.0,
        max: 0.0,
        centroids: 0,
        buffered: 0,
        means: [0.0; CENTROIDS_MAX],
        weights: [0.0; CENTROIDS_MAX],
        buffer: [0.0; BUFFER_VALUES],
    };

    /// Returns true if there are no values.
    fn is_empty(&self) -> bool {
        self.count == 0.0
    }

    /// Adds a value. Infinities and NaN are left out: nothing lies between them and other values.
    #[inline]
    pub(super) fn add(&mut self, value: f64) {
        if !value.is_finite() {
            return;
        }
        if self.buffered as usize == BUFFER_VALUES {
            self.empty_buffer(None);
        }
        self.widen(value, value);
        self.count += 1.0;
        self.buffer[self.buffered as usize] = value;
        self.buffered += 1;
    }

    /// Adds the values of another digest.
    pub(super) fn add_digest(&mut self, other: &Self) {
        if other.is_empty() {
            return;
        }
        if other.centroids > 0 {
            self.widen(other.min, other.max);
            self.empty_buffer(Some(other));
        }
        other.buffer[..other.buffered as usize].iter().for_each(|&value| self.add(value));
    }

    fn widen(&mut self, min: f64, max: f64) {
        let is_first = self.is_empty();
        self.min = if is_first || min < self.min { min } else { self.min };
        self.max = if is_first || max > self.max { max } else { self.max };
    }

    /// Merges the buffer, and another digest's centroids, with the centroids.
    fn empty_buffer(&mut self, other: Option<&Self>) {
        let points = self.sorted_points(other);
        let total: f64 = points.iter().map(|&(_, weight)| weight).sum();
        self.count = total;
        self.centroids = 0;
        self.buffered = 0;
        let mut points = points.into_iter();
        let Some((mut mean, mut weight)) = points.next() else { return };
        let (mut begin, mut end) = (0.0, last_end(0.0, total));
        for (next_mean, next_weight) in points {
            if begin + weight + next_weight <= end || self.centroids as usize == CENTROIDS_MAX - 1 {
                weight += next_weight;
                mean = between(mean, next_mean, next_weight / weight);
                continue;
            }
            self.push(mean, weight);
            begin += weight;
            end = last_end(begin, total);
            (mean, weight) = (next_mean, next_weight);
        }
        self.push(mean, weight);
    }

    /// Returns the centroids, ascending: means and weights.
    fn centroids(&self) -> impl Iterator<Item = (f64, f64)> {
        self.means.iter().copied().zip(self.weights.iter().copied()).take(self.centroids as usize)
    }

    /// Returns the values of the buffer and both digests' centroids in order, each with its weight.
    fn sorted_points(&self, other: Option<&Self>) -> Vec<(f64, f64)> {
        let mut centroids: Vec<(f64, f64)> = self.centroids().collect();
        if let Some(other) = other {
            centroids.extend(other.centroids());
            centroids.sort_unstable_by(|(a, _), (b, _)| a.total_cmp(b));
        }
        // Integers are sorted in half the time.
        let mut keys: Vec<i64> = self.buffer[..self.buffered as usize].iter().map(|&value| key_of(value)).collect();
        keys.sort_unstable();
        let mut points = Vec::with_capacity(centroids.len() + keys.len());
        let mut values = keys.into_iter().map(value_of).peekable();
        for (mean, weight) in centroids {
            while let Some(value) = values.next_if(|value| *value <= mean) {
                points.push((value, 1.0));
            }
            points.push((mean, weight));
        }
        points.extend(values.map(|value| (value, 1.0)));
        points
    }

    fn push(&mut self, mean: f64, weight: f64) {
        self.means[self.centroids as usize] = mean;
        self.weights[self.centroids as usize] = weight;
        self.centroids += 1;
    }

    /// Returns the values at these fractions of the way, which are from 0 to 1; `None` without values.
    pub(super) fn quantiles(mut self, fractions: &[f64]) -> Option<Vec<f64>> {
        if self.is_empty() {
            return None;
        }
        if self.centroids == 0 {
            let values = &mut self.buffer[..self.buffered as usize];
            values.sort_unstable_by(f64::total_cmp);
            let last = values.len() - 1;
            let place = |fraction: f64| ((fraction * values.len() as f64).ceil() as usize).saturating_sub(1).min(last);
            return Some(fractions.iter().map(|&fraction| values[place(fraction)]).collect());
        }
        self.empty_buffer(None);
        Some(fractions.iter().map(|&fraction| self.between_centroids(fraction * self.count)).collect())
    }

    /// Returns the value of which this many values are below. Half of a centroid's values are below its mean.
    fn between_centroids(&self, below: f64) -> f64 {
        let (mut place, mut value) = (0.0, self.min);
        let mut before = 0.0;
        let means = self.centroids().map(|(mean, weight)| {
            before += weight;
            (before - weight / 2.0, mean)
        });
        for (next_place, next_value) in means.chain([(self.count, self.max)]) {
            if below <= next_place {
                let way = (below - place) / (next_place - place);
                return between(value, next_value, way).clamp(self.min, self.max);
            }
            (place, value) = (next_place, next_value);
        }
        self.max
    }
}

/// Returns how many of all values a centroid that begins after this many of them may reach at most.
fn last_end(begin: f64, total: f64) -> f64 {
    let (sine, cosine) = STEP;
    let here = 2.0 * begin / total - 1.0;
    match here < cosine {
        true => (here * cosine + (1.0 - here * here).max(0.0).sqrt() * sine + 1.0) / 2.0 * total,
        // A step would lead beyond the last value.
        false => total,
    }
}

/// Returns the value this part of the way from one to the other, which may be far apart.
fn between(from: f64, to: f64, way: f64) -> f64 {
    from * (1.0 - way) + to * way
}

/// An integer that sorts as the float does.
fn key_of(value: f64) -> i64 {
    let bits = value.to_bits() as i64;
    bits ^ (bits >> 63) & i64::MAX
}

/// The float of a [key](key_of).
fn value_of(key: i64) -> f64 {
    f64::from_bits((key ^ (key >> 63) & i64::MAX) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers in an order that is far from sorted: multiples of a number that is prime to their count.
    fn shuffled(count: u64) -> impl Iterator<Item = f64> {
        (0..count).map(move |i| (i * 7_919 % count) as f64)
    }

    fn digest(values: impl Iterator<Item = f64>) -> Digest {
        let mut digest = Digest::EMPTY;
        values.for_each(|value| digest.add(value));
        digest
    }

    #[test]
    fn few_values_are_exact() {
        assert_eq!(Digest::EMPTY.quantiles(&[0.5]), None);
        assert_eq!(digest([f64::NAN, f64::INFINITY].into_iter()).quantiles(&[0.5]), None);
        assert_eq!(digest([5.0].into_iter()).quantiles(&[0.0, 0.5, 1.0]), Some(vec![5.0; 3]));
        let found = digest(shuffled(500)).quantiles(&[0.0, 0.25, 0.5, 0.75, 1.0]);
        assert_eq!(found, Some(vec![0.0, 124.0, 249.0, 374.0, 499.0]));
    }

    /// Values in ascending order come together in few centroids if these may grow without bound: the exponential ones
    /// show it, as interpolation doesn't hide it.
    #[test]
    fn many_values_are_close() {
        let count = if cfg!(miri) { 3_000 } else { 200_000 };
        let fractions = [0.0, 0.001, 0.01, 0.25, 0.5, 0.75, 0.9, 0.999, 1.0];
        let exponential = |i: f64| (i * 20.0 / count as f64).exp();
        let rank = |value: f64| value.ln() * count as f64 / 20.0 / (count - 1) as f64;
        let ascending = || (0..count).map(|i| i as f64);
        let third = count as usize / 3;
        // Blocks of the ascending values go to two digests in turn, as chunks go to workers.
        let of_worker = |worker: usize| ascending().filter(move |&i| i as usize / 2_048 % 2 == worker);
        let combined = |a: Digest, b: Digest| {
            let mut all = a;
            all.add_digest(&b);
            all
        };
        let digests = [
            digest(shuffled(count).map(exponential)),
            digest(ascending().map(exponential)),
            digest(ascending().map(|i| exponential((count - 1) as f64 - i))),
            combined(
                digest(ascending().take(third).map(exponential)),
                digest(ascending().skip(third).map(exponential)),
            ),
            combined(digest(of_worker(0).map(exponential)), digest(of_worker(1).map(exponential))),
        ];
        for found in digests {
            assert!(found.centroids > 50 && (found.centroids as usize) < CENTROIDS_MAX, "{}", found.centroids);
            assert_eq!(found.count, count as f64);
            for (&fraction, value) in fractions.iter().zip(found.quantiles(&fractions).unwrap()) {
                let bound = 0.0005 + 0.02 * f64::sqrt(fraction * (1.0 - fraction));
                assert!((rank(value) - fraction).abs() <= bound, "{fraction}: {}", rank(value));
            }
        }
    }

    #[test]
    fn steps_are_those_of_the_compression() {
        let angle = std::f64::consts::PI / COMPRESSION as f64;
        assert!((STEP.0 - angle.sin()).abs() < 1e-15 && (STEP.1 - angle.cos()).abs() < 1e-15);
    }

    #[test]
    fn distant_values_do_not_overflow() {
        let far = (0..2_000).map(|i| if i % 2 == 0 { 1.5e308 } else { -1.5e308 });
        let found = digest(far).quantiles(&[0.1, 0.5, 0.9]).unwrap();
        assert!(found.iter().all(|value| value.is_finite()), "{found:?}");
    }

    #[test]
    fn equal_values_stay_one() {
        let found = digest(std::iter::repeat_n(3.5, 10_000)).quantiles(&[0.0, 0.3, 1.0]);
        assert_eq!(found, Some(vec![3.5; 3]));
    }
}
