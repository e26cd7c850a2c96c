//! Serialization of sequences, and the notes in the log that record which numbers are taken.
//!
//! ```text
//!   sequence   start, increment, min, max (8 each), cycle (1), owned (1), then what comes next
//!   next       flag (1): 0 if there are no more, then the number (8)
//! ```
//!
//! A note is a record of its own, independent of the transaction that takes the numbers. Statements continue once it is
//! written; a commit whose rows contain the numbers follows it in the log.

use std::sync::{Arc, Weak};

use godwit_catalog::{CatalogEntry, Comments, Sequence, SequenceDefinition, SequenceKeeper};
use godwit_common::{Error, Result};
use godwit_storage::wire::{Reader, put_u64};

use super::{Store, key, record};

/// Records numbers of sequences in the log of a database.
struct LogKeeper(Weak<Store>);

impl Store {
    /// Records the numbers that are taken; `None` if sequences live only as long as the database is open.
    pub(super) fn keeper(self: &Arc<Self>) -> Option<Arc<dyn SequenceKeeper>> {
        self.disk.is_some().then(|| -> Arc<dyn SequenceKeeper> { Arc::new(LogKeeper(Arc::downgrade(self))) })
    }

    /// All sequences.
    pub(super) fn sequences(&self) -> Vec<Arc<Sequence>> {
        let of = |(_, entry)| match entry {
            CatalogEntry::Sequence(sequence) => Some(sequence),
            _ => None,
        };
        self.catalog.entries().into_iter().filter_map(of).collect()
    }
}

impl SequenceKeeper for LogKeeper {
    fn reserve(&self, sequence: &Sequence, count: usize) -> Result<()> {
        let store = self.0.upgrade().ok_or_else(|| Error::internal("a sequence outlives its database"))?;
        store.check_writable()?;
        let Some(log) = store.log() else { return Err(Error::internal("a database that is written has a log")) };
        let _commit = store.commits.read();
        let mut position = None;
        {
            // Sequences are created and dropped under this lock.
            let _tables = store.tables.lock();
            let name = &sequence.definition().name;
            let is_current = match store.catalog.get(&key(name)) {
                Some(CatalogEntry::Sequence(current)) => current.is_same(sequence),
                _ => false,
            };
            sequence.reserve(count, |next| {
                if is_current {
                    position = Some(log.append(&record::note_bytes(name, next)?)?);
                }
                Ok(())
            })?;
        }
        position.map_or(Ok(()), |position| log.sync_to(position))
    }
}

pub(super) fn write_sequence(sequence: &Sequence, out: &mut Vec<u8>) {
    let SequenceDefinition { name: _, start, increment, min, max, cycle, is_owned, comments: _ } =
        sequence.definition();
    [start, increment, min, max].into_iter().for_each(|&number| put_u64(out, number as u64));
    out.extend([*cycle as u8, *is_owned as u8]);
    write_next(sequence.peek(), out);
}

pub(super) fn read_sequence(name: &str, bytes: &mut Reader<'_>) -> Result<Sequence> {
    let mut number = || Ok::<i64, Error>(bytes.u64()? as i64);
    let (start, increment, min, max) = (number()?, number()?, number()?, number()?);
    let (cycle, is_owned) = (bytes.u8()? != 0, bytes.u8()? != 0);
    let next = read_next(bytes)?;
    let in_bounds = |number: i64| (min..=max).contains(&number);
    if increment == 0 || !in_bounds(start) || !next.is_none_or(in_bounds) {
        return Err(Error::corrupt(format!("the sequence {name} is damaged")));
    }
    let (name, comments) = (name.to_owned(), Comments::default());
    let definition = SequenceDefinition { name, start, increment, min, max, cycle, is_owned, comments };
    Ok(Sequence::new(definition, next))
}

pub(super) fn write_next(next: Option<i64>, out: &mut Vec<u8>) {
    out.push(next.is_some() as u8);
    put_u64(out, next.unwrap_or(0) as u64);
}

pub(super) fn read_next(bytes: &mut Reader<'_>) -> Result<Option<i64>> {
    let (is_some, number) = (bytes.u8()? != 0, bytes.u64()? as i64);
    Ok(is_some.then_some(number))
}
