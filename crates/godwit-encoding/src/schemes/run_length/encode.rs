//! Ends in the smaller form, values in the best of their own.

use godwit_vector::Vector;

use super::RunLength;
use super::ends::EndsForm;
use super::validate::VALUES;
use crate::choose::smallest;
use crate::column::{Column, Learned};
use crate::cost;
use crate::registry::Encoding;
use crate::scheme::{Proposal, Size};

pub(super) fn propose<'a>(column: &'a Column<'_>) -> Option<Proposal<'a>> {
    let numbers = column.numbers()?;
    let ends = &column.run_ends;
    // Unless every other row begins a run, there is nothing to save.
    if ends.len() * 2 > column.rows() {
        return None;
    }
    let lasts: Vec<u32> = ends.iter().map(|end| end - 1).collect();
    let values = Vector::flat(numbers.take(&lasts), None);
    let form = EndsForm::of(ends);
    let values_bytes = with_values(&values, |proposal| proposal.size.bytes());
    let size = Size::Exact(form.bytes(ends.len()) + values_bytes);
    let cost = cost::RUN_LENGTH + cost::RUN_PER_ROW * ends.len() as f64 / column.rows() as f64;
    let write = Box::new(move |body: &mut Vec<u8>| {
        let begin = body.len();
        form.write_ends(ends, begin, body);
        let values = Box::new(with_values(&values, |proposal| (proposal.write)(body)));
        Encoding::RunLength(RunLength { runs: ends.len() as u32, ends: form, values })
    });
    Some(Proposal { size, cost, write })
}

/// Calls `then` with the best scheme for the values of runs.
fn with_values<R>(values: &Vector, then: impl FnOnce(Proposal<'_>) -> R) -> R {
    let nothing = Learned::default();
    let column = Column::new(values, &nothing);
    then(smallest(&column, |name| VALUES.contains(&name)).expect("numbers are stored as they are, if not shorter"))
}
