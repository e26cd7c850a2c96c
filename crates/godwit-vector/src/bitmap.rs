//! Validity as 64-bit words: a set bit is a value, a clear bit is NULL. Bits past the length are clear.

/// One bit per row.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Bitmap {
    words: Vec<u64>,
    len: usize,
}

impl Bitmap {
    /// Creates `len` equal bits.
    pub fn filled(len: usize, value: bool) -> Self {
        let mut bitmap = Self { words: vec![if value { u64::MAX } else { 0 }; len.div_ceil(64)], len };
        bitmap.clear_tail();
        bitmap
    }

    /// Creates a bitmap from words; bits past `len` are cleared.
    pub fn from_words(mut words: Vec<u64>, len: usize) -> Self {
        words.resize(len.div_ceil(64), 0);
        let mut bitmap = Self { words, len };
        bitmap.clear_tail();
        bitmap
    }

    /// Creates a bitmap from one call of `bit(row)` per bit.
    pub fn from_fn(len: usize, mut bit: impl FnMut(usize) -> bool) -> Self {
        let mut words = Vec::with_capacity(len.div_ceil(64));
        for start in (0..len).step_by(64) {
            let mut word = 0u64;
            for offset in 0..64.min(len - start) {
                word |= (bit(start + offset) as u64) << offset;
            }
            words.push(word);
        }
        Self { words, len }
    }

    fn clear_tail(&mut self) {
        let used = self.len % 64;
        if used != 0
            && let Some(last) = self.words.last_mut()
        {
            *last &= (1u64 << used) - 1;
        }
    }

    /// Number of bits.
    pub fn len(&self) -> usize {
        self.len
    }

    /// True if there are no bits.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The words; bits past the length are clear.
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// Returns bit `row`.
    #[inline]
    pub fn get(&self, row: usize) -> bool {
        debug_assert!(row < self.len);
        self.words[row / 64] >> (row % 64) & 1 == 1
    }

    /// Sets bit `row`.
    #[inline]
    pub fn set(&mut self, row: usize, value: bool) {
        assert!(row < self.len);
        let mask = 1u64 << (row % 64);
        if value {
            self.words[row / 64] |= mask;
        } else {
            self.words[row / 64] &= !mask;
        }
    }

    /// Number of set bits.
    pub fn count_ones(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// True if every bit is set.
    pub fn all(&self) -> bool {
        self.count_ones() == self.len
    }

    /// Bitwise AND of two bitmaps of equal length.
    pub fn and(&self, other: &Bitmap) -> Bitmap {
        assert_eq!(self.len, other.len);
        let words = self.words.iter().zip(&other.words).map(|(a, b)| a & b).collect();
        Bitmap { words, len: self.len }
    }

    /// Returns bits `offset .. offset + len`.
    pub fn slice(&self, offset: usize, len: usize) -> Bitmap {
        assert!(offset + len <= self.len);
        let (first, shift) = (offset / 64, offset % 64);
        let word = |i: usize| self.words.get(i).copied().unwrap_or(0);
        let words = (0..len.div_ceil(64))
            .map(|i| {
                let low = word(first + i) >> shift;
                if shift == 0 { low } else { low | word(first + i + 1) << (64 - shift) }
            })
            .collect();
        Bitmap::from_words(words, len)
    }

    /// Returns the bits at `rows`, in that order.
    pub fn take(&self, rows: &[u32]) -> Bitmap {
        Bitmap::from_fn(rows.len(), |i| self.get(rows[i] as usize))
    }

    /// Returns the bits as 0/1 bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        (0..self.len).map(|row| self.get(row) as u8).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_agree_with_single_bits() {
        let bitmap = Bitmap::from_fn(200, |i| i % 3 == 0 || i % 7 == 0);
        for (offset, len) in [(0, 200), (1, 130), (63, 65), (64, 64), (127, 73), (200, 0)] {
            let slice = bitmap.slice(offset, len);
            assert_eq!(slice, Bitmap::from_fn(len, |i| bitmap.get(offset + i)), "{offset} {len}");
        }
    }
}
