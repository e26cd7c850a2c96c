//! Numbers of headers and bodies as bytes, little-endian.

use godwit_common::Result;

use crate::header::corrupt;

/// Takes an array off the front of `bytes`.
pub(crate) fn take<const N: usize>(bytes: &mut &[u8]) -> Result<[u8; N]> {
    let (head, tail) = bytes.split_first_chunk::<N>().ok_or_else(|| corrupt("too short"))?;
    *bytes = tail;
    Ok(*head)
}

/// Takes `length` bytes off the front of `bytes`.
pub(crate) fn split<'a>(bytes: &mut &'a [u8], length: usize) -> Result<&'a [u8]> {
    let (head, tail) = bytes.split_at_checked(length).ok_or_else(|| corrupt("too short"))?;
    *bytes = tail;
    Ok(head)
}

/// Number `index` of an array.
pub(crate) fn u32_at(array: &[u8], index: usize) -> Result<u32> {
    let number = array.as_chunks::<4>().0.get(index).ok_or_else(|| corrupt("too short"))?;
    Ok(u32::from_le_bytes(*number))
}

/// Appends zeros up to a multiple of 8 bytes after `start`, where packed words may begin.
pub(crate) fn pad(start: usize, out: &mut Vec<u8>) {
    out.resize(start + (out.len() - start).next_multiple_of(8), 0);
}
