//! Buffers that start at a multiple of [`ALIGNMENT_BYTES`], as direct I/O requires.

use std::ops::{Deref, DerefMut};
use std::slice;

use crate::ALIGNMENT_BYTES;

#[derive(Clone, Copy)]
#[repr(C, align(4096))]
struct Block([u8; ALIGNMENT_BYTES]);

const _: () = assert!(align_of::<Block>() == ALIGNMENT_BYTES && size_of::<Block>() == ALIGNMENT_BYTES);

/// Bytes, initially zero, whose address and length are multiples of [`ALIGNMENT_BYTES`].
#[derive(Default)]
pub struct AlignedBuffer(Vec<Block>);

impl AlignedBuffer {
    /// Creates a buffer of at least `bytes` bytes.
    pub fn new(bytes: usize) -> Self {
        Self(vec![Block([0; ALIGNMENT_BYTES]); bytes.div_ceil(ALIGNMENT_BYTES)])
    }
}

impl Deref for AlignedBuffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: the vector owns this many blocks, which are bytes without padding.
        unsafe { slice::from_raw_parts(self.0.as_ptr().cast(), self.0.len() * ALIGNMENT_BYTES) }
    }
}

impl DerefMut for AlignedBuffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and the vector is borrowed exclusively.
        unsafe { slice::from_raw_parts_mut(self.0.as_mut_ptr().cast(), self.0.len() * ALIGNMENT_BYTES) }
    }
}
