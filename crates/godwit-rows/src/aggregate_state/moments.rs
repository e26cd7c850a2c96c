//! Moments of distributions in one pass, numerically stable: sums of powers of differences from the mean so far.
//!
//! A new value shifts the mean, and the sums with it; two states are combined as if one were a value that occurs many
//! times.
//!
//! Source: Pébay, "Formulas for Robust, One-Pass Parallel Computation of Covariances and Arbitrary-Order Statistical
//! Moments".

/// Number, mean and sum of squared differences from the mean.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Moments {
    /// Number of values.
    pub count: f64,
    /// Their mean.
    pub mean: f64,
    /// Sum of (value - mean)².
    pub squares: f64,
}

/// Like [`Moments`], with higher powers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PowerSums {
    /// Number of values.
    pub count: f64,
    /// Their mean.
    pub mean: f64,
    /// Sum of (value - mean)².
    pub squares: f64,
    /// Sum of (value - mean)³.
    pub cubes: f64,
    /// Sum of (value - mean)⁴.
    pub fourths: f64,
}

/// Moments of pairs (x, y).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Comoments {
    /// Number of pairs.
    pub count: f64,
    /// Mean of x.
    pub mean_x: f64,
    /// Mean of y.
    pub mean_y: f64,
    /// Sum of (x - mean of x)².
    pub squares_x: f64,
    /// Sum of (y - mean of y)².
    pub squares_y: f64,
    /// Sum of (x - mean of x) (y - mean of y).
    pub products: f64,
}

impl Moments {
    /// Adds a value.
    #[inline(always)]
    pub(super) fn with(self, value: f64) -> Self {
        let count = self.count + 1.0;
        let delta = value - self.mean;
        let mean = self.mean + delta / count;
        Self { count, mean, squares: self.squares + delta * (value - mean) }
    }

    /// The moments of the values of both.
    pub(super) fn combined(self, other: Self) -> Self {
        let count = self.count + other.count;
        if count == 0.0 {
            return self;
        }
        let delta = other.mean - self.mean;
        Self {
            count,
            mean: self.mean + delta * other.count / count,
            squares: self.squares + other.squares + delta * delta * self.count * other.count / count,
        }
    }
}

impl PowerSums {
    /// Adds a value.
    #[inline(always)]
    pub(super) fn with(self, value: f64) -> Self {
        self.combined(Self { count: 1.0, mean: value, squares: 0.0, cubes: 0.0, fourths: 0.0 })
    }

    /// The power sums of the values of both.
    #[inline(always)]
    pub(super) fn combined(self, other: Self) -> Self {
        let (a, b) = (self.count, other.count);
        let n = a + b;
        if n == 0.0 {
            return self;
        }
        let delta = other.mean - self.mean;
        let step = delta / n;
        let squares = self.squares + other.squares + delta * step * a * b;
        let cubes = self.cubes
            + other.cubes
            + delta * step * step * a * b * (a - b)
            + 3.0 * step * (a * other.squares - b * self.squares);
        let fourths = self.fourths
            + other.fourths
            + delta * step * step * step * a * b * (a * a - a * b + b * b)
            + 6.0 * step * step * (a * a * other.squares + b * b * self.squares)
            + 4.0 * step * (a * other.cubes - b * self.cubes);
        Self { count: n, mean: self.mean + step * b, squares, cubes, fourths }
    }
}

impl Comoments {
    /// Adds a pair.
    #[inline(always)]
    pub(super) fn with(self, x: f64, y: f64) -> Self {
        self.combined(Self { count: 1.0, mean_x: x, mean_y: y, squares_x: 0.0, squares_y: 0.0, products: 0.0 })
    }

    /// The moments of the pairs of both.
    #[inline(always)]
    pub(super) fn combined(self, other: Self) -> Self {
        let count = self.count + other.count;
        if count == 0.0 {
            return self;
        }
        let (x, y) = (other.mean_x - self.mean_x, other.mean_y - self.mean_y);
        let weight = self.count * other.count / count;
        Self {
            count,
            mean_x: self.mean_x + x * other.count / count,
            mean_y: self.mean_y + y * other.count / count,
            squares_x: self.squares_x + other.squares_x + x * x * weight,
            squares_y: self.squares_y + other.squares_y + y * y * weight,
            products: self.products + other.products + x * y * weight,
        }
    }
}
