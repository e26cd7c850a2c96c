//! Bit-packed integers and values looked up by them.
//!
//! ```text
//! value i of width w lies in bits i*w .. (i+1)*w, least significant bit first (Parquet's and our own packing)
//!
//! 8 values = w bytes:  |0 1 2 3|4 5 6 7|      two 16-byte loads, one per half
//!                       shuffle 4 bytes to each 32-bit lane, shift each lane right by 0..7, mask
//! ```
//!
//! Widths above `SIMD_WIDTH_MAX` and the ends of a run are read value by value through a 64-bit window.

/// Widest value that fits into four bytes whichever bit of the first one it starts at.
#[cfg(target_feature = "avx2")]
const SIMD_WIDTH_MAX: u32 = 25;

/// Appends the values `first .. first + count`, each `width` ≤ 32 bits wide.
///
/// # Panics
/// If `packed` is too short.
pub fn unpack(packed: &[u8], width: u32, first: usize, count: usize, out: &mut Vec<u32>) {
    assert!(width <= 32 && (first + count) * width as usize <= packed.len() * 8, "values lie inside the packed bytes");
    if width == 0 {
        out.resize(out.len() + count, 0);
        return;
    }
    out.reserve(count);
    let end = first + count;
    let mut next = first;
    let aligned = first.next_multiple_of(8).min(end);
    while next < aligned {
        out.push(value_at(packed, width, next));
        next += 1;
    }
    #[cfg(target_feature = "avx2")]
    if width <= SIMD_WIDTH_MAX {
        next += unpack_groups(packed, width, next / 8, (end - next) / 8, out) * 8;
    }
    while next < end {
        out.push(value_at(packed, width, next));
        next += 1;
    }
}

/// Values that [`repeat`] writes at once.
const REPEAT_STEP: usize = 16;

/// Appends `value` `count` times. Fast for runs of a few values: they take one or two wide stores, without a loop over
/// values whose number of turns the processor would have to guess.
#[inline]
pub fn repeat(value: u32, count: usize, out: &mut Vec<u32>) {
    let len = out.len();
    out.reserve(count.next_multiple_of(REPEAT_STEP));
    let target = out.spare_capacity_mut();
    for step in 0..count.div_ceil(REPEAT_STEP) {
        target[step * REPEAT_STEP..][..REPEAT_STEP].fill(std::mem::MaybeUninit::new(value));
    }
    // SAFETY: all steps were written, which are at least `count` values.
    unsafe { out.set_len(len + count) }
}

/// Appends the values `first + position` for each of `positions`.
///
/// # Panics
/// If `packed` is too short.
pub fn unpack_at(packed: &[u8], width: u32, first: usize, positions: &[u32], out: &mut Vec<u32>) {
    if width == 0 {
        out.resize(out.len() + positions.len(), 0);
        return;
    }
    out.extend(positions.iter().map(|&position| value_at(packed, width, first + position as usize)));
}

/// Reads value `index` through a window of eight bytes, or of those that are left.
#[inline(always)]
fn value_at(packed: &[u8], width: u32, index: usize) -> u32 {
    let bit = index * width as usize;
    let tail = &packed[bit / 8..];
    let window = match tail.first_chunk::<8>() {
        Some(bytes) => u64::from_le_bytes(*bytes),
        None => {
            let mut padded = [0u8; 8];
            padded[..tail.len()].copy_from_slice(tail);
            u64::from_le_bytes(padded)
        }
    };
    ((window >> (bit % 8)) & ((1u64 << width) - 1)) as u32
}

/// Appends whole groups of eight values, starting with group `first`, as long as both loads lie inside `packed`;
/// returns how many of the `count` groups were done.
#[cfg(target_feature = "avx2")]
fn unpack_groups(packed: &[u8], width: u32, first: usize, count: usize, out: &mut Vec<u32>) -> usize {
    use std::arch::x86_64::*;
    let group_bytes = width as usize;
    let high_offset = group_bytes / 2;
    let readable = packed.len().saturating_sub(high_offset + 16);
    let loadable = if packed.len() >= high_offset + 16 { readable / group_bytes + 1 } else { 0 };
    let count = count.min(loadable.saturating_sub(first));
    out.reserve(count * 8);
    let (shuffle, shift) = (&SHUFFLES[group_bytes], &SHIFTS[group_bytes]);
    // SAFETY: AVX2 is enabled at compile time. Group `first + count - 1` starts at most `readable` bytes into `packed`,
    // so both of its loads end inside; the stores stay inside the reserved capacity, and the new length covers only
    // what was stored.
    unsafe {
        let shuffle = _mm256_loadu_si256(shuffle.as_ptr().cast());
        let shift = _mm256_loadu_si256(shift.as_ptr().cast());
        let mask = _mm256_set1_epi32(((1u64 << width) - 1) as i32);
        let mut source = packed.as_ptr().add(first * group_bytes);
        let mut target = out.as_mut_ptr().add(out.len());
        for _ in 0..count {
            let low = _mm_loadu_si128(source.cast());
            let high = _mm_loadu_si128(source.add(high_offset).cast());
            let bytes = _mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1);
            let lanes = _mm256_srlv_epi32(_mm256_shuffle_epi8(bytes, shuffle), shift);
            _mm256_storeu_si256(target.cast(), _mm256_and_si256(lanes, mask));
            source = source.add(group_bytes);
            target = target.add(8);
        }
        out.set_len(out.len() + count * 8);
    }
    count
}

/// The bit of its 16-byte load at which value `lane` of a group starts. The second load begins at byte `width / 2`, so
/// for odd widths its first value starts at bit 4.
#[cfg(target_feature = "avx2")]
const fn start_bit(width: usize, lane: usize) -> usize {
    if lane < 4 { lane * width } else { lane * width - width / 2 * 8 }
}

#[cfg(target_feature = "avx2")]
const SHUFFLES: [[u8; 32]; SIMD_WIDTH_MAX as usize + 1] = {
    let mut table = [[0u8; 32]; SIMD_WIDTH_MAX as usize + 1];
    let mut width = 0;
    while width < table.len() {
        let mut byte = 0;
        while byte < 32 {
            table[width][byte] = (start_bit(width, byte / 4) / 8 + byte % 4) as u8;
            byte += 1;
        }
        width += 1;
    }
    table
};

#[cfg(target_feature = "avx2")]
const SHIFTS: [[u32; 8]; SIMD_WIDTH_MAX as usize + 1] = {
    let mut table = [[0u32; 8]; SIMD_WIDTH_MAX as usize + 1];
    let mut width = 0;
    while width < table.len() {
        let mut lane = 0;
        while lane < 8 {
            table[width][lane] = (start_bit(width, lane) % 8) as u32;
            lane += 1;
        }
        width += 1;
    }
    table
};

/// Appends `values[code]` for each code; returns `false` and appends nothing if a code isn't below `values.len()`.
#[must_use]
pub fn look_up<T: Copy>(values: &[T], codes: &[u32], out: &mut Vec<T>) -> bool {
    if codes.is_empty() {
        return true;
    }
    let largest = codes.iter().fold(0, |largest, &code| largest.max(code));
    if largest as usize >= values.len() {
        return false;
    }
    // SAFETY: no code is above `largest`, which is in bounds.
    out.extend(codes.iter().map(|&code| unsafe { *values.get_unchecked(code as usize) }));
    true
}

/// True if all values are in `min ..= max`.
#[must_use]
pub fn all_within<T: Copy + PartialOrd>(values: &[T], min: T, max: T) -> bool {
    // In blocks: the inner loop then has no exit and becomes wide compares.
    values.chunks(1024).all(|block| block.iter().fold(true, |inside, &value| inside & (min <= value) & (value <= max)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn pack(values: &[u32], width: u32) -> Vec<u8> {
        let mut packed = vec![0u8; (values.len() * width as usize).div_ceil(8)];
        for (i, &value) in values.iter().enumerate() {
            for bit in (0..width as usize).filter(|bit| value >> bit & 1 == 1) {
                let at = i * width as usize + bit;
                packed[at / 8] |= 1 << (at % 8);
            }
        }
        packed
    }

    proptest! {
        #[test]
        fn unpacking_inverts_packing(
            width in 0u32..=32, values in prop::collection::vec(any::<u32>(), 0..300), cut in 0usize..300, picks: Vec<u16>,
        ) {
            let mask = ((1u64 << width) - 1) as u32;
            let values: Vec<u32> = values.iter().map(|value| value & mask).collect();
            let packed = pack(&values, width);
            let first = cut.min(values.len());
            for count in [0, (values.len() - first) / 2, values.len() - first] {
                let mut out = vec![9];
                unpack(&packed, width, first, count, &mut out);
                prop_assert_eq!(&out[1..], &values[first..first + count]);
            }
            if first < values.len() {
                let left = values.len() - first;
                let positions: Vec<u32> = picks.iter().map(|&pick| (pick as usize % left) as u32).collect();
                let mut out = Vec::new();
                unpack_at(&packed, width, first, &positions, &mut out);
                let expected: Vec<u32> = positions.iter().map(|&p| values[first + p as usize]).collect();
                prop_assert_eq!(out, expected);
            }
        }

        #[test]
        fn values_are_repeated(runs in prop::collection::vec((any::<u32>(), 0usize..100), 0..10)) {
            let (mut out, mut expected) = (Vec::new(), Vec::new());
            for (value, count) in runs {
                repeat(value, count, &mut out);
                expected.resize(expected.len() + count, value);
            }
            prop_assert_eq!(out, expected);
        }

        #[test]
        fn look_ups_are_checked(values: Vec<i64>, codes in prop::collection::vec(0u32..20, 0..50)) {
            let mut out = Vec::new();
            let expected: Option<Vec<i64>> = codes.iter().map(|&code| values.get(code as usize).copied()).collect();
            prop_assert_eq!(look_up(&values, &codes, &mut out), expected.is_some());
            prop_assert_eq!(out, expected.unwrap_or_default());
        }

        #[test]
        fn bounds_are_seen(values in prop::collection::vec(-50i64..50, 0..3000), min in -60i64..0, max in 0i64..60) {
            prop_assert_eq!(all_within(&values, min, max), values.iter().all(|v| (min..=max).contains(v)));
        }
    }
}
