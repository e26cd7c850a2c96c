//! Sets of ways of a cache.

use std::fmt;
use std::ops::BitAnd;

/// A set of ways of a set-associative cache, one bit per way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct WayMask(u64);

impl WayMask {
    /// The ways whose bits are set.
    pub const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    /// `count` ways (at most 64), starting at way `first`.
    pub const fn run(first: u32, count: u32) -> Self {
        assert!(first as u64 + count as u64 <= 64, "a mask has at most 64 ways");
        if count == 0 { Self(0) } else { Self((u64::MAX >> (64 - count)) << first) }
    }

    /// All ways of a cache that has `count` of them.
    pub const fn all(count: u32) -> Self {
        Self::run(0, count)
    }

    /// One bit per way.
    pub const fn bits(self) -> u64 {
        self.0
    }

    /// Number of ways.
    pub const fn count(self) -> u32 {
        self.0.count_ones()
    }

    /// True if no way is in the set.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// True if `way` is in the set.
    pub const fn contains(self, way: u32) -> bool {
        way < 64 && self.0 >> way & 1 == 1
    }

    /// The longest run of adjacent ways, as first way and length; of equally long ones, the lowest.
    pub fn longest_run(self) -> (u32, u32) {
        let (mut best, mut rest) = ((0, 0), self.0);
        while rest != 0 {
            let first = rest.trailing_zeros();
            let count = (rest >> first).trailing_ones();
            if count > best.1 {
                best = (first, count);
            }
            rest &= !Self::run(first, count).0;
        }
        best
    }
}

impl BitAnd for WayMask {
    type Output = Self;

    fn bitand(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

/// Hexadecimal, as Linux writes masks.
impl fmt::LowerHex for WayMask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::LowerHex::fmt(&self.0, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs() {
        assert_eq!(WayMask::run(0, 0).bits(), 0);
        assert_eq!(WayMask::run(2, 3).bits(), 0b11100);
        assert_eq!(WayMask::all(64).bits(), u64::MAX);
        assert_eq!(WayMask::all(20).bits(), 0xfffff);
        assert_eq!(WayMask::from_bits(0).longest_run(), (0, 0));
        assert_eq!(WayMask::from_bits(0b0110_1110).longest_run(), (1, 3));
        assert_eq!(WayMask::from_bits(0b11_0011).longest_run(), (0, 2));
        assert_eq!(WayMask::all(64).longest_run(), (0, 64));
        assert!(WayMask::run(63, 1).contains(63) && !WayMask::all(64).contains(64));
        assert_eq!(format!("{:x}", WayMask::all(12)), "fff");
    }
}
