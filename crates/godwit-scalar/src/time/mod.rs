//! Dates, times, timestamps and intervals.

mod convert;
mod difference;
mod fields;
mod format;
mod make;
mod moment;
mod names;
mod part;
mod strptime;
mod template;
mod template_read;
mod truncate;
mod zone;

use crate::function::Function;

pub(crate) fn functions() -> Vec<Function> {
    [
        convert::functions(),
        difference::functions(),
        format::functions(),
        make::functions(),
        names::functions(),
        part::functions(),
        strptime::functions(),
        truncate::functions(),
        zone::functions(),
    ]
    .into_iter()
    .flatten()
    .collect()
}
