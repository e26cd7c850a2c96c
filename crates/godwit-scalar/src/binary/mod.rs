//! Bytes: encodings, digests, single bits.

mod base64;
mod bit_strings;
mod bits;
mod digests;
mod encodings;
mod hex;
mod url;
mod uuids;

use crate::function::Function;

pub(crate) fn functions() -> Vec<Function> {
    let families = [
        encodings::functions(),
        digests::functions(),
        bits::functions(),
        bit_strings::functions(),
        url::functions(),
        uuids::functions(),
    ];
    families.into_iter().flatten().collect()
}
