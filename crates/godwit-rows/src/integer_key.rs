//! Integer keys as distances from the smallest one, for arrays and bit vectors indexed by key.

use godwit_vector::Native;

/// An integer that may be a key.
pub trait IntegerKey: Native {
    /// `self - min` if that isn't negative, otherwise a number beyond the end of any array.
    ///
    /// For keys of up to 64 bits the difference wraps around: then it is larger than the distance of any value above
    /// `min`, so it fails the same comparison with the length of the array.
    fn offset_from(self, min: i64) -> u64;
}

macro_rules! small_keys {
    ($($t:ty),*) => { $(
        impl IntegerKey for $t {
            #[inline(always)]
            fn offset_from(self, min: i64) -> u64 {
                (self as i64).wrapping_sub(min) as u64
            }
        }
    )* };
}
small_keys!(i8, i16, i32, i64, u8, u16, u32);

impl IntegerKey for i128 {
    #[inline(always)]
    fn offset_from(self, min: i64) -> u64 {
        self.checked_sub(min as i128).and_then(|offset| u64::try_from(offset).ok()).unwrap_or(u64::MAX)
    }
}

impl IntegerKey for u64 {
    #[inline(always)]
    fn offset_from(self, min: i64) -> u64 {
        (self as i128).offset_from(min)
    }
}

/// Runs `$body` with `$values` bound to the slice of the integers in a flat vector.
///
/// # Panics
/// If they aren't integers: a bug in the plan.
#[macro_export]
macro_rules! match_integers {
    ($flat:expr, $values:ident => $body:expr) => {
        match $flat {
            godwit_vector::Flat::I8(buffer) => {
                let $values: &[i8] = buffer;
                $body
            }
            godwit_vector::Flat::I16(buffer) => {
                let $values: &[i16] = buffer;
                $body
            }
            godwit_vector::Flat::I32(buffer) => {
                let $values: &[i32] = buffer;
                $body
            }
            godwit_vector::Flat::I64(buffer) => {
                let $values: &[i64] = buffer;
                $body
            }
            godwit_vector::Flat::I128(buffer) => {
                let $values: &[i128] = buffer;
                $body
            }
            godwit_vector::Flat::U8(buffer) => {
                let $values: &[u8] = buffer;
                $body
            }
            godwit_vector::Flat::U16(buffer) => {
                let $values: &[u16] = buffer;
                $body
            }
            godwit_vector::Flat::U32(buffer) => {
                let $values: &[u32] = buffer;
                $body
            }
            godwit_vector::Flat::U64(buffer) => {
                let $values: &[u64] = buffer;
                $body
            }
            other => panic!("expected integers, found {:?}", other.physical()),
        }
    };
}
