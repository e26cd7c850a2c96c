//! Single strings by the lengths before them in their block.

use godwit_common::Result;
use godwit_vector::{StrBuilder, StrColumn};

use super::Strings;
use crate::header::corrupt;
use crate::lengths::Places;
use crate::scheme::Body;

pub(super) fn take(body: Body<'_>, start: usize, rows: &[u32]) -> Result<StrColumn> {
    let strings = Strings::of(body)?;
    let mut places = Places::new(strings.starts, strings.lengths, body.rows);
    let mut taken = StrBuilder::with_capacity(rows.len());
    for &row in rows {
        let string = strings.bytes.get(places.of(start + row as usize)?);
        taken.push(string.ok_or_else(|| corrupt("a string lies outside of it"))?);
    }
    Ok(taken.finish())
}
