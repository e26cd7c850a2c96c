//! How the bits of a hash are used. The three uses never overlap.
//!
//! ```text
//! 63      48 47        32 31                       0
//! |  salt   | partition  |  slot in a hash table   |
//! ```
//!
//! Partitions take their bits from the top of their range downwards, so that a partition is refined by the next lower
//! bits: partition `p` of `b` bits becomes the partitions `p·2^k .. (p+1)·2^k` of `b + k` bits.

/// Lowest bit of the salt.
pub const SALT_SHIFT: u32 = 48;

/// Maximum number of bits for partitions.
pub const PARTITION_BITS_MAX: u32 = 16;

/// The partition of a hash among `2^bits`.
#[inline(always)]
pub fn partition_of(hash: u64, bits: u32) -> usize {
    debug_assert!(bits <= PARTITION_BITS_MAX);
    (hash >> (SALT_SHIFT - bits)) as usize & ((1 << bits) - 1)
}

/// The bits that a table entry keeps next to the pointer, to avoid dereferencing it unnecessarily.
#[inline(always)]
pub fn salt_of(hash: u64) -> u16 {
    (hash >> SALT_SHIFT) as u16
}

/// The number of a partition's pages in the eviction order: finer partitions sort inside coarser ones.
pub(crate) fn page_partition(partition: usize, bits: u32) -> u32 {
    (partition as u32) << (PARTITION_BITS_MAX - bits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finer_partitions_lie_inside_coarser_ones() {
        for hash in (0..1000u64).map(|i| i.wrapping_mul(0x9E37_79B9_7F4A_7C15)) {
            for bits in 0..PARTITION_BITS_MAX {
                let (coarse, fine) = (partition_of(hash, bits), partition_of(hash, bits + 1));
                assert_eq!(fine >> 1, coarse);
                assert!(page_partition(fine, bits + 1) >= page_partition(coarse, bits));
            }
            assert_eq!(partition_of(hash | 0xFFFF << 48, 16), partition_of(hash, 16));
        }
    }
}
