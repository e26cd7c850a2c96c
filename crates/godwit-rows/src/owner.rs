//! Who may read and change rows.
//!
//! ```text
//! shared   written once ─▶ anyone who has their pins reads them
//! owned    PartitionedRows::owned_by ─▶ the owner reads and changes ─▶ hand_over ─▶ at rest ─┬▶ into_scan: shared
//!                                                                                            └▶ PinnedRows::own
//! ```
//!
//! The rows of groups change after they were written: their states, and their payload. They have one [`RowOwner`] at a
//! time. It holds no rows, but the right to use them: who borrows it may read its rows, who borrows it mutably may
//! change them, and it can't be copied. So the compiler keeps reads and changes apart, on whatever threads they are.
//! Lists of owned rows may be anywhere meanwhile: without the owner they are only addresses, which can be moved and
//! compared.
//!
//! Lists record who owns their rows, and each function checks once per call that they are its owner's. Rows pass from
//! one owner to the next only when the former is consumed, so that its lists have become useless.
//!
//! Long strings lie outside the rows, and columns that were gathered still point to them when the owner is used again.
//! So an owner either writes strings over others, of which columns get copies then ([`Rows::improve_payload`]), or lets
//! rows share strings that stay as they are ([`Rows::merge_payload`]).

use std::sync::atomic::{AtomicU64, Ordering};

use crate::{PartitionedRows, Rows};

/// Who may use the rows of a collection or a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// Everyone may read them; they don't change.
    Shared,
    /// The owner with this number.
    Owned(u64),
    /// Nobody, until they get an owner or are shared.
    AtRest,
}

/// What an owner does with long strings of its rows.
#[derive(Debug, PartialEq, Eq)]
enum Strings {
    /// Writes them over others.
    Overwritten,
    /// Lets rows share them. All lists hold the pins of all strings, because all rows were pinned at once.
    Kept,
}

/// The right to read and change some rows.
#[derive(Debug)]
pub struct RowOwner {
    /// No other owner has, had or will have it.
    number: u64,
    strings: Strings,
}

impl RowOwner {
    /// The owner of rows that will be appended, or of states in areas that will be made for it.
    #[allow(clippy::new_without_default, reason = "each owner is another one")]
    pub fn new() -> Self {
        Self::with(Strings::Overwritten)
    }

    /// The owner of rows of which all lists hold the pins of all.
    pub(crate) fn of_pinned() -> Self {
        Self::with(Strings::Kept)
    }

    fn with(strings: Strings) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self { number: NEXT.fetch_add(1, Ordering::Relaxed), strings }
    }

    /// The access that makes rows those of this owner.
    pub(crate) fn access(&self) -> Access {
        Access::Owned(self.number)
    }

    /// Makes rows readable as long as nobody changes them.
    ///
    /// # Panics
    /// If they are another's: a bug in the caller; likewise for all functions that take an owner.
    #[inline]
    pub fn read<'a>(&'a self, rows: Rows<'a>) -> Rows<'a> {
        self.check(rows);
        rows.read_by(self)
    }

    /// Ends the ownership, so that the rows can get another owner.
    pub fn hand_over(self, rows: &mut PartitionedRows) {
        assert!(self.overwrites_strings(), "rows that share strings can't be pinned again");
        rows.lay_to_rest(self.access());
    }

    /// Whether strings that were gathered may be overwritten.
    pub(crate) fn overwrites_strings(&self) -> bool {
        self.strings == Strings::Overwritten
    }

    /// Checks that rows are this owner's.
    #[inline]
    pub(crate) fn check(&self, rows: Rows<'_>) {
        assert!(rows.is_empty() || rows.pins().access() == self.access(), "rows of another owner");
    }

    /// Checks that rows can be changed by way of others, which are this owner's, too, or readable.
    #[inline]
    pub(crate) fn check_pairs(&self, targets: Rows<'_>, sources: Rows<'_>) {
        self.check(targets);
        if sources.pins().access() != self.access() {
            sources.check_readable();
        }
    }
}
