//! How often segments are read, their forms in memory, and the changes made by adaptive compression.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use arrow_array::{ArrayRef, Float64Array, RecordBatch, StringArray, TimestampMicrosecondArray};
use godwit_common::{Named, Result};
use godwit_memory::ObjectKind;
use godwit_tables::adaptation::FormBytes;

use super::{batch, numbers, texts};
use crate::database::Shared;

pub(super) fn heat_rows(shared: &Shared) -> Result<RecordBatch> {
    let forms = shared.adaptation.forms();
    let mut objects = shared.memory.objects();
    objects.retain(|object| match object.kind() {
        ObjectKind::Segment | ObjectKind::Dictionary | ObjectKind::Delta | ObjectKind::FileColumn => true,
        ObjectKind::Structure(_) => object.accesses().reads > 0,
        ObjectKind::Database | ObjectKind::Table | ObjectKind::Column | ObjectKind::File => false,
        ObjectKind::Query | ObjectKind::Operator => false,
    });
    let now = SystemTime::now();
    let accesses: Vec<_> = objects.iter().map(|object| object.accesses()).collect();
    let of_form: Vec<_> = objects.iter().map(|object| forms.get(&object.id())).collect();
    let bytes =
        |of: fn(&FormBytes) -> u64| numbers(of_form.iter().map(|known| known.map_or(0, |(_, bytes)| of(bytes))));
    let form = of_form.iter().map(|known| known.map(|(form, _)| form.name()));
    let last = accesses.iter().map(|accesses| accesses.last.and_then(|ago| now.checked_sub(ago)));
    batch(vec![
        ("object", texts(objects.iter().map(|object| object.path()))),
        ("kind", texts(objects.iter().map(|object| object.kind().name()))),
        ("reads", numbers(accesses.iter().map(|accesses| accesses.reads))),
        ("rows", numbers(accesses.iter().map(|accesses| accesses.rows))),
        ("bytes", numbers(accesses.iter().map(|accesses| accesses.bytes))),
        ("last_access", moments(last)),
        ("form", Arc::new(form.collect::<StringArray>())),
        ("hot_bytes", bytes(|bytes| bytes.hot)),
        ("compact_bytes", bytes(|bytes| bytes.compact)),
        ("frozen_bytes", bytes(|bytes| bytes.frozen)),
    ])
}

pub(super) fn adaptation_rows(shared: &Shared) -> Result<RecordBatch> {
    let changes = shared.adaptation.changes();
    batch(vec![
        ("at", moments(changes.iter().map(|change| Some(change.at)))),
        ("object", texts(changes.iter().map(|change| &change.object))),
        ("from_form", texts(changes.iter().map(|change| change.from.name()))),
        ("to_form", texts(changes.iter().map(|change| change.to.name()))),
        ("reason", texts(changes.iter().map(|change| &change.reason))),
        ("bytes_before", numbers(changes.iter().map(|change| change.bytes_before))),
        ("bytes_after", numbers(changes.iter().map(|change| change.bytes_after))),
        ("took_ms", milliseconds(changes.iter().map(|change| change.took))),
        ("saves_ms", milliseconds(changes.iter().map(|change| change.saved))),
    ])
}

fn moments(times: impl Iterator<Item = Option<SystemTime>>) -> ArrayRef {
    let micros = |time: SystemTime| time.duration_since(UNIX_EPOCH).ok().map(|since| since.as_micros() as i64);
    let array: TimestampMicrosecondArray = times.map(|time| time.and_then(micros)).collect();
    Arc::new(array.with_timezone("UTC"))
}

fn milliseconds(times: impl Iterator<Item = Duration>) -> ArrayRef {
    Arc::new(Float64Array::from_iter_values(times.map(|time| time.as_secs_f64() * 1e3)))
}
