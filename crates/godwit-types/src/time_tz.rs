//! TIME WITH TIME ZONE: the time of day that a clock shows, and how far that clock is ahead of UTC.
//!
//! A value is one integer: microseconds of UTC since midnight above, the clock's seconds behind UTC below. So integers
//! compare as PostgreSQL compares the values: by the time in UTC, and clocks further to the east come first among equal
//! ones. `10:00+02` and `09:00+01` are the same time, but different values.

use crate::Interval;
use crate::calendar::{MICROS_PER_DAY, MICROS_PER_SECOND};
use crate::interval::time_add;

/// Bits of an offset.
const OFFSET_BITS: u32 = 17;

/// A value of TIME WITH TIME ZONE.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TimeTz(i64);

impl TimeTz {
    /// Greatest distance of a clock from UTC, in seconds: 15:59:59.
    pub const OFFSET_SECONDS_MAX: i64 = 16 * 3_600 - 1;

    /// Returns the time at which a clock, `offset_seconds` ahead of UTC, shows this many microseconds since midnight;
    /// `None` if that isn't within a day, or the clock is further than 15:59:59 from UTC.
    pub fn new(local_micros: i64, offset_seconds: i64) -> Option<Self> {
        let is_valid = (0..MICROS_PER_DAY).contains(&local_micros) && offset_seconds.abs() <= Self::OFFSET_SECONDS_MAX;
        let utc = local_micros - offset_seconds * MICROS_PER_SECOND;
        is_valid.then_some(Self((utc << OFFSET_BITS) | (Self::OFFSET_SECONDS_MAX - offset_seconds)))
    }

    /// Returns the value that an integer represents; `None` if there is none.
    pub fn from_bits(bits: i64) -> Option<Self> {
        let value = Self(bits);
        let is_valid =
            value.offset_seconds() >= -Self::OFFSET_SECONDS_MAX && (0..MICROS_PER_DAY).contains(&value.local_micros());
        is_valid.then_some(value)
    }

    /// The integer that represents it, in the order of the values.
    pub fn to_bits(self) -> i64 {
        self.0
    }

    /// Microseconds since midnight, as its clock shows them.
    pub fn local_micros(self) -> i64 {
        self.utc_micros() + self.offset_seconds() * MICROS_PER_SECOND
    }

    /// Seconds that its clock is ahead of UTC.
    pub fn offset_seconds(self) -> i64 {
        Self::OFFSET_SECONDS_MAX - (self.0 & ((1 << OFFSET_BITS) - 1))
    }

    /// Returns the same time, as another clock shows it; `None` if that is too far from UTC.
    pub fn at_offset(self, offset_seconds: i64) -> Option<Self> {
        let local = self.utc_micros() + offset_seconds.checked_mul(MICROS_PER_SECOND)?;
        Self::new(local.rem_euclid(MICROS_PER_DAY), offset_seconds)
    }

    /// Returns what the same clock shows after an interval, of which months and days don't count.
    pub fn after(self, interval: Interval) -> Option<Self> {
        Self::new(time_add(self.local_micros(), interval), self.offset_seconds())
    }

    /// Microseconds since midnight in UTC; before it, or after the next, where the clock shows another day.
    pub fn utc_micros(self) -> i64 {
        self.0 >> OFFSET_BITS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_stand_for_values_in_their_order() {
        let hour = 3_600;
        let of = |local: i64, offset: i64| TimeTz::new(local * hour * MICROS_PER_SECOND, offset * hour).unwrap();
        let ordered = [of(0, 15), of(0, 0), of(10, 2), of(9, 1), of(8, 0), of(0, -8), of(9, 0), of(23, 0), of(23, -15)];
        assert!(ordered.is_sorted_by(|a, b| a < b && a.to_bits() < b.to_bits()));
        for value in ordered {
            assert_eq!(TimeTz::from_bits(value.to_bits()), Some(value));
            assert_eq!(TimeTz::new(value.local_micros(), value.offset_seconds()), Some(value));
        }
    }

    #[test]
    fn other_integers_stand_for_nothing() {
        assert_eq!(TimeTz::new(MICROS_PER_DAY, 0), None);
        assert_eq!(TimeTz::new(0, 16 * 3_600), None);
        for bits in
            [i64::MIN, i64::MAX, -1, (1 << OFFSET_BITS) - 1, MICROS_PER_DAY << OFFSET_BITS | TimeTz::OFFSET_SECONDS_MAX]
        {
            assert_eq!(TimeTz::from_bits(bits), None, "{bits}");
        }
    }
}
