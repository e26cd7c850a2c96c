//! Sequences: numbers that statements take, each only once.
//!
//! ```text
//!    taken          noted on the disk as taken        free
//! ──────────────┬─────────────────────────────┬────────────────
//!             next                          mark           (a crash: goes on at the mark, with a gap)
//! ```
//!
//! Taken numbers stay taken: a rollback gives none back. The keeper of the database has to note them on disk, in
//! batches that grow, so that few numbers wait for the disk.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use godwit_common::{Error, Result};
use parking_lot::Mutex;

use crate::{Comments, ObjectName};

/// Size of the first batch of numbers noted as taken, and of the largest. Each batch costs a sync, and a crash loses
/// the rest of one.
const BATCH_MIN: usize = 32;
const BATCH_MAX: usize = 8_192;

/// The definition of a sequence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SequenceDefinition {
    /// The full name.
    pub name: String,
    /// The first number.
    pub start: i64,
    /// The step from one number to the next; not 0.
    pub increment: i64,
    /// The least number.
    pub min: i64,
    /// The greatest number.
    pub max: i64,
    /// True if it starts over at the other end when it is exhausted.
    pub cycle: bool,
    /// True if it was created with an IDENTITY column, with which it is dropped.
    pub is_owned: bool,
    /// Comments on it.
    pub comments: Comments,
}

/// Notes on disk which numbers are taken.
pub trait SequenceKeeper: Send + Sync {
    /// Calls [`Sequence::reserve`] while no checkpoint is made, and writes down its answer.
    fn reserve(&self, sequence: &Sequence, count: usize) -> Result<()>;
}

/// A sequence and its position.
pub struct Sequence {
    definition: SequenceDefinition,
    /// Shared with the same sequence under other comments: a number is taken only once, whatever a transaction sees.
    state: Arc<Mutex<State>>,
}

struct State {
    /// `None`: exhausted.
    next: Option<i64>,
    /// This many numbers from `next` on are noted as taken.
    noted: usize,
    /// True if all remaining numbers are noted as taken.
    is_noted_to_end: bool,
    /// Size of the batch noted last.
    batch: usize,
    /// `None`: nothing has to be noted.
    keeper: Option<Arc<dyn SequenceKeeper>>,
}

impl SequenceDefinition {
    /// Returns the number after another one.
    fn after(&self, number: i64) -> Option<i64> {
        let next = number.checked_add(self.increment).filter(|next| (self.min..=self.max).contains(next));
        let other_end = if self.increment > 0 { self.min } else { self.max };
        next.or_else(|| self.cycle.then_some(other_end))
    }
}

impl Sequence {
    /// Creates a sequence whose next number is known; `None`: it is exhausted.
    pub fn new(definition: SequenceDefinition, next: Option<i64>) -> Self {
        let state = State { next, noted: 0, is_noted_to_end: false, batch: 0, keeper: None };
        Self { definition, state: Arc::new(Mutex::new(state)) }
    }

    /// Returns the same sequence with other comments.
    pub fn with_comments(&self, comments: Comments) -> Self {
        let definition = SequenceDefinition { comments, ..self.definition.clone() };
        Self { definition, state: self.state.clone() }
    }

    /// Returns true if both hand out the same numbers, whatever their comments.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.state, &other.state)
    }

    /// Its definition.
    pub fn definition(&self) -> &SequenceDefinition {
        &self.definition
    }

    /// Returns the current position to be noted. From now on, no number is taken before `keeper` has noted it.
    pub fn begin_noting(&self, keeper: Option<Arc<dyn SequenceKeeper>>) -> Option<i64> {
        let mut state = self.state.lock();
        (state.noted, state.is_noted_to_end) = (0, false);
        if keeper.is_some() {
            state.keeper = keeper;
        }
        state.next
    }

    /// Returns the next number unless it is taken meanwhile; `None`: the sequence is exhausted.
    pub fn peek(&self) -> Option<i64> {
        self.state.lock().next
    }

    /// Returns the number that was taken last, as far as the next one tells; `None` before the first.
    pub fn last(&self) -> Option<i64> {
        let SequenceDefinition { start, increment, min, max, .. } = self.definition;
        let end = if increment > 0 { max } else { min };
        match self.peek() {
            None => Some(end),
            Some(next) if next == start => None,
            Some(next) => Some(next.checked_sub(increment).filter(|last| (min..=max).contains(last)).unwrap_or(end)),
        }
    }

    /// Sets the next number.
    pub fn set_next(&self, next: Option<i64>) {
        self.state.lock().next = next;
    }

    /// Continues at a number, or after it if it counts as taken. The change is on disk when this returns.
    pub fn restart(&self, number: i64, is_taken: bool) -> Result<()> {
        let SequenceDefinition { name, min, max, .. } = &self.definition;
        if !(*min..=*max).contains(&number) {
            return Err(Error::user(format!("the sequence {name} goes from {min} to {max}, not to {number}")));
        }
        let next = if is_taken { self.definition.after(number) } else { Some(number) };
        let keeper = {
            let mut state = self.state.lock();
            (state.next, state.noted, state.is_noted_to_end) = (next, 0, false);
            state.keeper.clone()
        };
        keeper.map_or(Ok(()), |keeper| keeper.reserve(self, 1))
    }

    /// Lets at least `count` more numbers be taken. `note` records the number after them.
    pub fn reserve(&self, count: usize, note: impl FnOnce(Option<i64>) -> Result<()>) -> Result<()> {
        let mut state = self.state.lock();
        let batch = count.max((state.batch * 2).clamp(BATCH_MIN, BATCH_MAX));
        let mut mark = state.next;
        let mut noted = 0;
        while noted < batch
            && let Some(number) = mark
        {
            mark = self.definition.after(number);
            noted += 1;
        }
        note(mark)?;
        (state.noted, state.is_noted_to_end, state.batch) = (noted, mark.is_none(), batch);
        Ok(())
    }

    /// Takes the next numbers.
    pub fn take(&self, count: usize) -> Result<Vec<i64>> {
        loop {
            let mut state = self.state.lock();
            match state.keeper.clone() {
                Some(keeper) if state.noted < count && !state.is_noted_to_end => {
                    drop(state);
                    keeper.reserve(self, count)?;
                }
                _ => return self.take_noted(&mut state, count),
            }
        }
    }

    fn take_noted(&self, state: &mut State, count: usize) -> Result<Vec<i64>> {
        let mut numbers = Vec::with_capacity(count);
        while numbers.len() < count {
            let number = state.next.ok_or_else(|| self.exhausted())?;
            state.noted = state.noted.saturating_sub(1);
            state.next = self.definition.after(number);
            numbers.push(number);
        }
        Ok(numbers)
    }

    fn exhausted(&self) -> Error {
        let SequenceDefinition { name, increment, min, max, .. } = &self.definition;
        let end = if *increment > 0 { max } else { min };
        Error::user(format!("the sequence {name} has reached its end, {end}"))
            .with_hint("CREATE SEQUENCE … CYCLE begins anew")
    }
}

impl fmt::Debug for Sequence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sequence({}, next {:?})", self.definition.name, self.peek())
    }
}

/// The last number that a connection took of each sequence, for `currval`.
#[derive(Debug, Clone, Default)]
pub struct TakenNumbers(Arc<Mutex<HashMap<ObjectName, i64>>>);

impl TakenNumbers {
    /// Returns the last number taken of a sequence.
    pub fn last(&self, sequence: &ObjectName) -> Option<i64> {
        self.0.lock().get(sequence).copied()
    }

    /// Remembers the last number taken.
    pub fn note(&self, sequence: ObjectName, number: i64) {
        self.0.lock().insert(sequence, number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn definition(increment: i64, min: i64, max: i64, cycle: bool) -> SequenceDefinition {
        let start = if increment > 0 { min } else { max };
        SequenceDefinition {
            name: "s".to_owned(),
            start,
            increment,
            min,
            max,
            cycle,
            is_owned: false,
            comments: Comments::default(),
        }
    }

    #[test]
    fn numbers_end_or_begin_anew() {
        let take = |definition: SequenceDefinition, count| {
            let next = Some(definition.start);
            Sequence::new(definition, next).take(count)
        };
        assert_eq!(take(definition(2, 1, 5, false), 3).unwrap(), [1, 3, 5]);
        assert!(take(definition(2, 1, 5, false), 4).unwrap_err().message().contains("has reached its end, 5"));
        assert_eq!(take(definition(2, 1, 5, true), 5).unwrap(), [1, 3, 5, 1, 3]);
        assert_eq!(take(definition(-2, 1, 5, true), 5).unwrap(), [5, 3, 1, 5, 3]);
        let near_end = definition(1, i64::MAX - 1, i64::MAX, false);
        assert_eq!(take(near_end.clone(), 2).unwrap(), [i64::MAX - 1, i64::MAX]);
        assert!(take(near_end, 3).is_err());
    }

    /// Remembers the newest mark.
    struct Note(Mutex<Vec<Option<i64>>>);

    impl SequenceKeeper for Note {
        fn reserve(&self, sequence: &Sequence, count: usize) -> Result<()> {
            sequence.reserve(count, |mark| {
                self.0.lock().push(mark);
                Ok(())
            })
        }
    }

    #[test]
    fn a_sequence_goes_on_where_it_is_told() {
        let sequence = Sequence::new(definition(2, 1, 9, false), Some(1));
        let note = Arc::new(Note(Mutex::new(Vec::new())));
        sequence.begin_noting(Some(note.clone()));
        assert_eq!(sequence.take(1).unwrap(), [1]);
        sequence.restart(5, true).unwrap();
        assert_eq!(sequence.take(2).unwrap(), [7, 9]);
        sequence.restart(2, false).unwrap();
        assert_eq!((sequence.take(1).unwrap(), note.0.lock().len()), (vec![2], 3));
        sequence.restart(9, true).unwrap();
        assert!(sequence.take(1).is_err());
        assert!(sequence.restart(10, false).unwrap_err().message().contains("from 1 to 9"));
    }

    #[test]
    fn no_number_is_taken_that_is_not_noted() {
        for (max, counts) in [(i64::MAX, vec![1, 1, 40, 3, 9_000, 1]), (50, vec![1, 1, 40, 8, 1]), (32, vec![31, 1, 1])]
        {
            let sequence = Sequence::new(definition(1, 1, max, false), Some(1));
            let note = Arc::new(Note(Mutex::new(Vec::new())));
            sequence.begin_noting(Some(note.clone()));
            for count in counts {
                let Ok(numbers) = sequence.take(count) else {
                    assert_eq!(sequence.peek(), None);
                    continue;
                };
                let mark = note.0.lock().last().copied().expect("something was noted");
                assert!(mark.is_none_or(|mark| mark > numbers[count - 1]), "{numbers:?} up to {mark:?}");
            }
            assert!(note.0.lock().len() <= 4, "{} notes", note.0.lock().len());
        }
    }
}
