//! The validity bitmap at the start of a body: 64-bit words, little-endian; a set bit is a value.

use std::ops::Range;

use godwit_vector::Bitmap;

use crate::part::Part;

/// Bytes of the bitmap of `rows` rows, whole words.
pub(crate) fn bytes_for(rows: usize) -> usize {
    rows.div_ceil(64) * 8
}

pub(crate) fn write(bitmap: &Bitmap, out: &mut Vec<u8>) {
    bitmap.words().iter().for_each(|word| out.extend(word.to_le_bytes()));
}

impl Part<'_> {
    /// Word `index` of the bitmap.
    pub(crate) fn word(&self, index: usize) -> u64 {
        u64::from_le_bytes(self.bitmap()[index * 8..][..8].try_into().expect("eight bytes"))
    }

    /// True if the row isn't NULL.
    pub(crate) fn is_valid(&self, row: usize) -> bool {
        self.header.nulls == 0 || (self.header.has_bitmap() && self.word(row / 64) >> (row % 64) & 1 == 1)
    }

    /// Validity of rows that start at a multiple of 64; `None` if none is NULL.
    pub(crate) fn validity(&self, rows: &Range<usize>) -> Option<Bitmap> {
        if self.header.nulls == 0 {
            return None;
        }
        if !self.header.has_bitmap() {
            return Some(Bitmap::filled(rows.len(), false));
        }
        let words = (rows.start / 64..rows.end.div_ceil(64)).map(|index| self.word(index)).collect();
        Some(Bitmap::from_words(words, rows.len()))
    }
}
