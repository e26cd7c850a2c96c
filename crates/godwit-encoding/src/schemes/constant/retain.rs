//! All rows, or none.

use godwit_vector::ValueRange;

use super::Constant;
use crate::part::CodeFilter;
use crate::scheme::{contains, has_code};

pub(super) fn retain_range(constant: &Constant, wanted: ValueRange, mask: &mut [u64]) {
    retain(constant, mask, |value| contains(wanted, value));
}

pub(super) fn retain_codes(constant: &Constant, wanted: &CodeFilter, mask: &mut [u64]) {
    retain(constant, mask, |code| has_code(wanted, code));
}

fn retain(constant: &Constant, mask: &mut [u64], is_wanted: impl Fn(i128) -> bool) {
    match constant {
        Constant::Number(value) if is_wanted(*value) => {}
        Constant::Number(_) => mask.fill(0),
        Constant::Text => unreachable!("strings are selected by code"),
    }
}
