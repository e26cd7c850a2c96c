//! Sums of floats that keep what rounding takes from them.
//!
//! Source: Neumaier, "Rundungsfehleranalyse einiger Verfahren zur Summation endlicher Summen" (1974).

/// A sum so far; all zeros for no values.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct CompensatedSum {
    sum: f64,
    /// What the roundings of `sum` have lost.
    lost: f64,
}

impl CompensatedSum {
    /// Adds a value.
    #[inline(always)]
    #[must_use]
    pub fn with(self, value: f64) -> Self {
        let sum = self.sum + value;
        // The smaller one loses its last bits.
        let (large, small) = if self.sum.abs() >= value.abs() { (self.sum, value) } else { (value, self.sum) };
        Self { sum, lost: self.lost + ((large - sum) + small) }
    }

    /// The sum of the values of both.
    #[inline(always)]
    #[must_use]
    pub fn combined(self, other: Self) -> Self {
        let both = self.with(other.sum);
        Self { lost: both.lost + other.lost, ..both }
    }

    /// The sum of the values.
    pub fn total(self) -> f64 {
        // What infinite sums have lost isn't a number.
        if self.sum.is_finite() { self.sum + self.lost } else { self.sum }
    }
}

#[cfg(test)]
mod tests {
    use super::CompensatedSum;

    fn sum(values: &[f64]) -> CompensatedSum {
        values.iter().fold(CompensatedSum::default(), |sum, value| sum.with(*value))
    }

    #[test]
    fn small_values_beside_large_ones_count() {
        assert_eq!(sum(&[1e100, 1.0, -1e100]).total(), 1.0);
        assert_eq!(sum(&[0.1; 10]).total(), 1.0);
        assert_eq!(sum(&[]).total(), 0.0);
    }

    #[test]
    fn parts_keep_what_they_have_lost() {
        assert_eq!(sum(&[1e100, 1.0]).combined(sum(&[-1e100, 2.0])).total(), 3.0);
        assert_eq!(sum(&[]).combined(sum(&[1e100, 1.0])).combined(sum(&[-1e100])).total(), 1.0);
    }

    #[test]
    fn infinity_stays() {
        assert_eq!(sum(&[1.0, f64::INFINITY, 1.0]).total(), f64::INFINITY);
        assert!(sum(&[f64::NEG_INFINITY, f64::INFINITY]).total().is_nan());
        assert!(sum(&[f64::NAN, 1.0]).total().is_nan());
        assert_eq!(sum(&[1.0]).combined(sum(&[f64::INFINITY])).total(), f64::INFINITY);
    }
}
