//! Sums per group, for a handful of groups.
//!
//! With few groups it is cheaper to go over all rows once per group, adding the row's value or 0, than to add each
//! value to its group in memory: the loop has no dependent stores and becomes SIMD code.

/// Maximum number of groups for which the loops of [`add_by_group`] cost less than one addition in memory per row.
pub const FEW_GROUPS_MAX: usize = 8;

/// Calls `add(group, sum of amounts)` for each of the groups `0 .. groups_len`; `groups[row]` is a row's group.
///
/// `amount` is called for every row and every group: it should be as cheap as a load and must not branch.
#[inline]
pub fn add_by_group(groups: &[u32], groups_len: usize, amount: impl Fn(usize) -> i64, mut add: impl FnMut(usize, i64)) {
    for group in 0..groups_len {
        add(group, sum_of_group(groups, group as u32, &amount));
    }
}

#[inline]
fn sum_of_group(groups: &[u32], group: u32, amount: &impl Fn(usize) -> i64) -> i64 {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx512f") && std::arch::is_x86_feature_detected!("avx512vl") {
        // SAFETY: the CPU has the features.
        return unsafe { sum_avx512(groups, group, amount) };
    }
    sum_portable(groups, group, amount)
}

/// The portable loop, compiled for AVX-512.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512vl")]
unsafe fn sum_avx512(groups: &[u32], group: u32, amount: &impl Fn(usize) -> i64) -> i64 {
    sum_portable(groups, group, amount)
}

#[inline(always)]
fn sum_portable(groups: &[u32], group: u32, amount: &impl Fn(usize) -> i64) -> i64 {
    // A mask instead of a condition, so that the load doesn't depend on it.
    (0..groups.len()).map(|row| amount(row) & -((groups[row] == group) as i64)).sum()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn sums_agree_with_additions_in_memory(rows in prop::collection::vec((0u32..5, any::<i32>()), 0..100)) {
            let groups: Vec<u32> = rows.iter().map(|row| row.0).collect();
            let mut expected = [0i64; 5];
            rows.iter().for_each(|&(group, value)| expected[group as usize] += value as i64);
            let mut sums = [0i64; 5];
            add_by_group(&groups, 5, |row| rows[row].1 as i64, |group, sum| sums[group] += sum);
            prop_assert_eq!(sums, expected);
            let portable: Vec<i64> = (0..5).map(|group| sum_portable(&groups, group, &|row| rows[row].1 as i64)).collect();
            prop_assert_eq!(&portable[..], &expected[..]);
        }
    }
}
