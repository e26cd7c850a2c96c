//! A bit per row: where partitions and groups of peers begin, and which rows have a value.
//!
//! The marks before each block of rows are counted, so that a binary search finds a row by the number of its mark, and
//! vice versa.

/// Rows of a block: a cache line of marks.
const BLOCK_ROWS: usize = 512;
const BLOCK_WORDS: usize = BLOCK_ROWS / 64;

/// Marked rows of a sequence.
#[derive(Default)]
pub(super) struct Marks {
    words: Vec<u64>,
    rows: usize,
    /// Number of marked rows before each block.
    ranks: Vec<usize>,
    /// Number of marked rows.
    marked: usize,
}

impl Marks {
    /// Marks for `rows` rows, of which only the first is marked.
    pub(super) fn first_of(rows: usize) -> Self {
        let mut words = vec![0; rows.div_ceil(64)];
        words.iter_mut().take(1).for_each(|word| *word = 1);
        let ranks = (0..rows.div_ceil(BLOCK_ROWS)).map(|block| block.min(1)).collect();
        Self { words, rows, ranks, marked: rows.min(1) }
    }

    /// Adds a row.
    #[inline]
    pub(super) fn push(&mut self, is_marked: bool) {
        if self.rows.is_multiple_of(64) {
            self.words.push(0);
        }
        if self.rows.is_multiple_of(BLOCK_ROWS) {
            self.ranks.push(self.marked);
        }
        *self.words.last_mut().expect("there is a word") |= (is_marked as u64) << (self.rows % 64);
        self.rows += 1;
        self.marked += is_marked as usize;
    }

    /// Number of rows, marked or not.
    pub(super) fn len(&self) -> usize {
        self.rows
    }

    /// Whether the row is marked.
    #[inline]
    pub(super) fn get(&self, row: usize) -> bool {
        self.words[row / 64] >> (row % 64) & 1 == 1
    }

    /// The first marked row at or after `row`; the number of rows if there is none.
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

    /// The number of marked rows before `row`.
    pub(super) fn rank(&self, row: usize) -> usize {
        let block = row / BLOCK_ROWS;
        let Some(&before) = self.ranks.get(block) else { return self.marked };
        let whole =
            self.words[block * BLOCK_WORDS..row / 64].iter().map(|word| word.count_ones() as usize).sum::<usize>();
        let part = self.words.get(row / 64).map_or(0, |word| (word & !(u64::MAX << (row % 64))).count_ones() as usize);
        before + whole + part
    }

    /// The marked row with `rank` marked rows before it; the number of rows if there is none.
    pub(super) fn select(&self, rank: usize) -> usize {
        if rank >= self.marked {
            return self.rows;
        }
        let block = self.ranks.partition_point(|&before| before <= rank) - 1;
        let mut left = rank - self.ranks[block];
        let mut index = block * BLOCK_WORDS;
        while left >= self.words[index].count_ones() as usize {
            left -= self.words[index].count_ones() as usize;
            index += 1;
        }
        let mut word = self.words[index];
        (0..left).for_each(|_| word &= word - 1);
        index * 64 + word.trailing_zeros() as usize
    }

    /// Memory for the marks of `rows` rows.
    pub(super) fn bytes_for(rows: usize) -> usize {
        rows.div_ceil(64) * size_of::<u64>() + rows.div_ceil(BLOCK_ROWS) * size_of::<usize>()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn finds_marks_like_a_loop(
            share in prop::sample::select(vec![0.002, 0.02, 0.9]),
            len in 0usize..3000,
            seed: u64,
        ) {
            let mut random = crate::testing::Random(seed);
            let bits: Vec<bool> = (0..len).map(|_| (random.below(1000) as f64) < share * 1000.0).collect();
            let mut marks = Marks::default();
            bits.iter().for_each(|&bit| marks.push(bit));
            for row in 0..bits.len() {
                prop_assert_eq!(marks.get(row), bits[row]);
                let next = (row..bits.len()).find(|&row| bits[row]).unwrap_or(bits.len());
                prop_assert_eq!(marks.next(row), next);
                let rank = bits[..row].iter().filter(|&&bit| bit).count();
                prop_assert_eq!(marks.rank(row), rank);
                prop_assert_eq!(marks.select(rank), next);
            }
            prop_assert_eq!(marks.next(bits.len()), bits.len());
            let marked = bits.iter().filter(|&&bit| bit).count();
            prop_assert_eq!(marks.rank(bits.len()), marked);
            prop_assert_eq!(marks.select(marked), bits.len());
        }
    }
}
