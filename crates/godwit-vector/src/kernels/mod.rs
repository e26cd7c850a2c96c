//! Kernels: loops over vectors, one file per family.
//!
//! Kernels know physical types only. What a value means, whether an overflow is possible and how it is reported is
//! decided by `godwit-expression`, which calls them. NULL rows hold arbitrary values: kernels compute on them, too,
//! where that is harmless, and check the validity where it isn't (division, checked arithmetic).

pub mod arithmetic;
pub mod blocks;
pub mod boolean;
pub mod byte_array;
pub mod cast;
pub mod compare;
pub mod compensated;
pub mod concatenate;
pub mod date;
pub mod grouped;
pub mod hash;
mod operand;
pub mod scatter;
pub mod select;
pub mod snappy;
pub mod spread;
pub mod string;
pub mod unpack;

#[cfg(test)]
mod tests;
