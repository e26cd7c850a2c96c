//! Bytes: encodings, digests, single bits.

mod base64;
mod bits;
mod digests;
mod encodings;
mod hex;
mod random;
mod url;

use crate::function::Function;

pub(crate) fn functions() -> Vec<Function> {
    [encodings::functions(), digests::functions(), bits::functions(), url::functions(), random::functions()]
        .into_iter()
        .flatten()
        .collect()
}
