//! The bound that a top-N finds while it runs and passes to the scan below: rows beyond it needn't be read.
//!
//! It only ever tightens, so workers may read a stale one: the top-N drops the excess rows that they let pass.

use std::sync::atomic::{AtomicI64, Ordering};

use godwit_rows::match_integers;
use godwit_vector::Vector;

/// A bound of the first sort key: an integer, decimal, date or time.
pub struct TopBound {
    descending: bool,
    nulls_first: bool,
    /// Values beyond it are excluded; the extreme value as long as there is no bound.
    value: AtomicI64,
}

impl TopBound {
    /// No bound yet, for a key sorted like this.
    pub fn new(descending: bool, nulls_first: bool) -> Self {
        let value = AtomicI64::new(if descending { i64::MIN } else { i64::MAX });
        Self { descending, nulls_first, value }
    }

    /// Tightens the bound to the first key of a row that is certainly preceded by enough rows.
    pub fn tighten(&self, value: i64) {
        match self.descending {
            true => self.value.fetch_max(value, Ordering::Relaxed),
            false => self.value.fetch_min(value, Ordering::Relaxed),
        };
    }

    /// Keeps those of `rows` (positions in the dense vector `keys`) that may still be among the first.
    #[allow(clippy::unnecessary_cast, reason = "the cast is one for most types of the match")]
    pub fn retain(&self, keys: &Vector, rows: &mut Vec<u32>) {
        let bound = self.value.load(Ordering::Relaxed);
        if bound == if self.descending { i64::MIN } else { i64::MAX } {
            return;
        }
        let validity = keys.validity();
        let (descending, nulls_first) = (self.descending, self.nulls_first);
        match_integers!(&keys.to_flat(), values => rows.retain(|&row| {
            let row = row as usize;
            if validity.is_some_and(|validity| !validity.get(row)) {
                return nulls_first;
            }
            let value = values[row] as i128;
            if descending { value >= bound as i128 } else { value <= bound as i128 }
        }));
    }
}

#[cfg(test)]
mod tests {
    use godwit_vector::Bitmap;

    use super::*;

    fn kept(bound: &TopBound) -> Vec<u32> {
        let validity = Bitmap::from_fn(5, |row| row != 3);
        let mut rows = (0..5).collect();
        bound.retain(&Vector::from_values(vec![7i32, 5, 9, 0, -1], Some(validity)), &mut rows);
        rows
    }

    #[test]
    fn keeps_what_may_be_among_the_first() {
        let ascending = TopBound::new(false, false);
        assert_eq!(kept(&ascending), [0, 1, 2, 3, 4]);
        ascending.tighten(7);
        ascending.tighten(8);
        assert_eq!(kept(&ascending), [0, 1, 4]);
        let descending = TopBound::new(true, true);
        descending.tighten(6);
        assert_eq!(kept(&descending), [0, 2, 3]);
    }
}
