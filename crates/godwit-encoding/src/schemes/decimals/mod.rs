//! Floats that are decimals: prices, rates, measured values with a few places. Floats are `integer / 10^exponent`,
//! rounded, with a common exponent; the integers are packed. Division by a power of ten up to 10^22 rounds only once,
//! so decoding restores the same bits. Anything else (NaN, -0.0, a value with more places) is an exception.
//!
//! ```text
//! blocks      1,024 integers each, the last one padded with zeros                     (packing.rs)
//! exceptions  u32 each: its row, ascending
//! floats      8 bytes each, of exceptions in the same order; a 32-bit float's bits and zeros
//! ```
//!
//! Form 0, in all files: without exceptions.
//!
//! Source: Afroozeh, Kuffo, Boncz, "ALP: Adaptive Lossless floating-Point Compression", 2023, with division for its
//! multiplication by an inexact power, which makes its second exponent unnecessary.

mod decode;
mod encode;
mod exceptions;
mod take;
mod validate;

#[cfg(test)]
mod tests;

use std::ops::Range;

use godwit_common::Result;
use godwit_vector::{Flat, PhysicalType};

use crate::column::Column;
use crate::packing::{self, Packing};
use crate::parameters;
use crate::scheme::{Body, Proposal, Scheme, Shape};

/// Maximum number of decimal places tried. More would leave the integers too few of a double's 53 bits.
const EXPONENT_MAX: u8 = 14;

const POWERS: [f64; EXPONENT_MAX as usize + 1] =
    [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14];

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Decimals {
    /// Decimal places, at most [`EXPONENT_MAX`].
    exponent: u8,
    /// How the integers are packed.
    packing: Packing,
    /// Number of floats that aren't decimals.
    exceptions: u32,
}

impl Scheme for Decimals {
    fn propose<'a>(column: &'a Column<'_>) -> Option<Proposal<'a>> {
        encode::propose(column)
    }

    fn read(form: usize, bytes: &mut &[u8]) -> Result<Self> {
        let [exponent] = parameters::take(bytes)?;
        let packing = Packing::from_bytes(bytes)?;
        let exceptions = if form == 0 { 0 } else { u32::from_le_bytes(parameters::take(bytes)?) };
        Ok(Self { exponent, packing, exceptions })
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.push(self.exponent);
        self.packing.to_bytes(out);
        if self.exceptions > 0 {
            out.extend(self.exceptions.to_le_bytes());
        }
    }

    fn form(&self) -> usize {
        usize::from(self.exceptions > 0)
    }

    fn check(&self, shape: Shape) -> Result<()> {
        validate::check(self, shape)
    }

    fn decode(&self, body: Body<'_>, rows: Range<usize>) -> Result<Flat> {
        decode::decode(self, body, rows)
    }

    fn take(&self, body: Body<'_>, start: usize, rows: &[u32]) -> Result<Flat> {
        take::take(self, body, start, rows)
    }

    fn bytes_before(&self, _physical: PhysicalType, row: usize) -> Option<usize> {
        (self.exceptions == 0).then(|| packing::bytes_for(row, self.packing.width))
    }
}

impl Decimals {
    /// Bytes of the values of `rows` rows.
    fn bytes(&self, rows: usize) -> usize {
        packing::bytes_for(rows, self.packing.width) + self.exceptions as usize * exceptions::BYTES
    }
}

/// The types that this scheme stores.
trait Float: godwit_vector::Native {
    /// The float nearest to a double.
    fn of_double(value: f64) -> Self;
    fn to_double(self) -> f64;
    fn to_word(self) -> u64;
    fn of_word(word: u64) -> Self;
}

impl Float for f32 {
    fn of_double(value: f64) -> Self {
        value as f32
    }
    fn to_double(self) -> f64 {
        self.into()
    }
    fn to_word(self) -> u64 {
        self.to_bits().into()
    }
    fn of_word(word: u64) -> Self {
        Self::from_bits(word as u32)
    }
}

impl Float for f64 {
    fn of_double(value: f64) -> Self {
        value
    }
    fn to_double(self) -> f64 {
        self
    }
    fn to_word(self) -> u64 {
        self.to_bits()
    }
    fn of_word(word: u64) -> Self {
        Self::from_bits(word)
    }
}

/// The float of an integer.
#[inline]
fn unscale<T: Float>(integer: i64, exponent: u8) -> T {
    T::of_double(integer as f64 / POWERS[exponent as usize])
}
