//! A bit per row: where partitions and groups of peers begin.

/// Marked rows of a sequence.
#[derive(Default)]
pub(super) struct Marks {
    words: Vec<u64>,
    rows: usize,
}

impl Marks {
    /// The marks of rows of which only the first one is marked.
    pub(super) fn first_of(rows: usize) -> Self {
        let mut words = vec![0; rows.div_ceil(64)];
        words.iter_mut().take(1).for_each(|word| *word = 1);
        Self { words, rows }
    }

    /// Adds a row.
    #[inline]
    pub(super) fn push(&mut self, is_marked: bool) {
        if self.rows.is_multiple_of(64) {
            self.words.push(0);
        }
        *self.words.last_mut().expect("there is a word") |= (is_marked as u64) << (self.rows % 64);
        self.rows += 1;
    }

    /// Is the row marked?
    #[inline]
    pub(super) fn get(&self, row: usize) -> bool {
        self.words[row / 64] >> (row % 64) & 1 == 1
    }

    /// The first marked row from `row` on; the number of rows if there is none.
    #[inline]
    pub(super) fn next(&self, row: usize) -> usize {
        if row >= self.rows {
            return self.rows;
        }
        let mut index = row / 64;
        let mut word = self.words[index] & (u64::MAX << (row % 64));
        while word == 0 {
            index += 1;
            match self.words.get(index) {
                Some(&next) => word = next,
                None => return self.rows,
            }
        }
        index * 64 + word.trailing_zeros() as usize
    }

    /// Memory for the marks of `rows` rows.
    pub(super) fn bytes_for(rows: usize) -> usize {
        rows.div_ceil(64) * size_of::<u64>()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn finds_marks_like_a_loop(bits in prop::collection::vec(prop::bool::weighted(0.02), 0..500)) {
            let mut marks = Marks::default();
            bits.iter().for_each(|&bit| marks.push(bit));
            for row in 0..bits.len() {
                prop_assert_eq!(marks.get(row), bits[row]);
                let next = (row..bits.len()).find(|&row| bits[row]).unwrap_or(bits.len());
                prop_assert_eq!(marks.next(row), next);
            }
            prop_assert_eq!(marks.next(bits.len()), bits.len());
        }
    }
}
