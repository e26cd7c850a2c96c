//! Text in blocks of 64 bytes, with bit masks: where a byte occurs, and what is between quotes.

/// Bytes of a block.
pub const BLOCK_BYTES: usize = 64;

/// 64 bytes that are examined together.
pub struct Block([Lane; LANES]);

impl Block {
    /// Returns the block that begins at `at`, padded with zeros, and a bit for each byte that exists.
    #[inline]
    pub fn at(bytes: &[u8], at: usize) -> (Self, u64) {
        match bytes[at..].first_chunk() {
            Some(whole) => (Self::new(whole), u64::MAX),
            None => {
                let rest = &bytes[at..];
                let mut padded = [0; BLOCK_BYTES];
                padded[..rest.len()].copy_from_slice(rest);
                (Self::new(&padded), (1 << rest.len()) - 1)
            }
        }
    }

    #[inline]
    fn new(bytes: &[u8; BLOCK_BYTES]) -> Self {
        let (lanes, _) = bytes.as_chunks::<LANE_BYTES>();
        Self(std::array::from_fn(|index| load(&lanes[index])))
    }

    /// Returns a mask of the bytes that equal `byte`.
    #[inline]
    pub fn equal_to(&self, byte: u8) -> u64 {
        self.equal_with(0, byte)
    }

    /// Returns a mask of the bytes that equal `byte` once the bits of `set` are set in them.
    #[inline]
    pub fn equal_with(&self, set: u8, byte: u8) -> u64 {
        let mut mask = 0;
        for (index, lane) in self.0.iter().enumerate() {
            mask |= lane_equal_with(*lane, set, byte) << (index * LANE_BYTES);
        }
        mask
    }
}

const LANES: usize = BLOCK_BYTES / LANE_BYTES;

#[cfg(target_arch = "x86_64")]
use x86::{LANE_BYTES, Lane, lane_equal_with, load};

#[cfg(not(target_arch = "x86_64"))]
use portable::{LANE_BYTES, Lane, lane_equal_with, load};

/// SSE2, which every x86-64 processor has.
#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{__m128i, _mm_cmpeq_epi8, _mm_loadu_si128, _mm_movemask_epi8, _mm_or_si128, _mm_set1_epi8};

    pub(super) const LANE_BYTES: usize = 16;
    pub(super) type Lane = __m128i;

    #[inline]
    pub(super) fn load(bytes: &[u8; LANE_BYTES]) -> Lane {
        // SAFETY: 16 bytes are read, with any alignment.
        unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) }
    }

    #[inline]
    pub(super) fn lane_equal_with(lane: Lane, set: u8, byte: u8) -> u64 {
        // SAFETY: the processor has SSE2.
        let mask = unsafe {
            let lane = _mm_or_si128(lane, _mm_set1_epi8(set as i8));
            _mm_movemask_epi8(_mm_cmpeq_epi8(lane, _mm_set1_epi8(byte as i8)))
        };
        u64::from(mask as u16)
    }
}

/// Eight bytes at a time in an integer.
#[cfg(any(test, not(target_arch = "x86_64")))]
mod portable {
    pub(super) const LANE_BYTES: usize = 8;
    pub(super) type Lane = u64;

    #[inline]
    pub(super) fn load(bytes: &[u8; LANE_BYTES]) -> Lane {
        u64::from_le_bytes(*bytes)
    }

    #[inline]
    pub(super) fn lane_equal_with(lane: Lane, set: u8, byte: u8) -> u64 {
        const LOW: u64 = 0x7f7f_7f7f_7f7f_7f7f;
        let differs = (lane | u64::from_le_bytes([set; 8])) ^ u64::from_le_bytes([byte; 8]);
        // The highest bit of each zero byte.
        let zeros = !(((differs & LOW) + LOW) | differs | LOW);
        // Gathers the eight bits: each is moved to its own position in the highest byte.
        (zeros >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56
    }
}

/// Returns a mask of the bytes after an odd number of quotes, with the opening quote but without the closing one.
#[inline]
pub fn behind_odd(quotes: u64) -> u64 {
    let mut parity = quotes;
    for shift in [1, 2, 4, 8, 16, 32] {
        parity ^= parity << shift;
    }
    parity
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn masks_tell_where_a_byte_is(bytes in prop::collection::vec(0u8..4, 0..70), wanted in 0u8..4, high in any::<bool>()) {
            let raise = |byte: u8| if high { byte | 0x80 } else { byte };
            let bytes: Vec<u8> = bytes.into_iter().map(raise).collect();
            let wanted = raise(wanted);
            let (block, there) = Block::at(&bytes, 0);
            let expected = bytes.iter().take(64).enumerate().filter(|(_, byte)| **byte == wanted);
            let expected = expected.fold(0u64, |mask, (at, _)| mask | 1 << at);
            prop_assert_eq!(block.equal_to(wanted) & there, expected);
            let of_two = bytes.iter().take(64).enumerate().filter(|(_, byte)| **byte | 1 == wanted | 1);
            let of_two = of_two.fold(0u64, |mask, (at, _)| mask | 1 << at);
            prop_assert_eq!(block.equal_with(1, wanted | 1) & there, of_two);
            let (lanes, _) = bytes.as_chunks::<{ portable::LANE_BYTES }>();
            for (index, lane) in lanes.iter().take(8).enumerate() {
                let lane = portable::load(lane);
                prop_assert_eq!(portable::lane_equal_with(lane, 0, wanted), expected >> (index * 8) & 0xff);
                prop_assert_eq!(portable::lane_equal_with(lane, 1, wanted | 1), of_two >> (index * 8) & 0xff);
            }
        }

        #[test]
        fn quotes_open_and_close(quotes in any::<u64>()) {
            let expected = (0..64).filter(|&at| (quotes << (63 - at)).count_ones() % 2 == 1);
            prop_assert_eq!(behind_odd(quotes), expected.fold(0u64, |mask, at| mask | 1 << at));
        }
    }
}
