//! Lists of rows, together with the pins that keep the rows in place.
//!
//! ```text
//! RowList   | address | address | address | …       pins: those of the pages, and of the pages of the strings
//!    └ all, slice ─▶ Rows<'_>: some of them, borrowed ─▶ gather, hashes, append to another list or collection
//! ```
//!
//! Rows enter a list from an owner that pins them, and bring their pins along, so a list never holds stale rows. Pins
//! are shared: one reference per list and source, whatever the number of rows.

use std::ops::Range;
use std::sync::Arc;

use godwit_vector::{Heap, Heaps};

use crate::owner::Access;
use crate::row_ptr::RowPtr;
use crate::{KeyedRows, RowLayout, RowOwner};

/// The pins that keep rows and their long strings in place.
#[derive(Clone)]
pub(crate) struct Pins {
    /// The pages of the rows.
    pages: Vec<Heap>,
    /// The pages of their strings.
    strings: Heaps,
    /// The holder of the pages of some rows also holds those of their strings.
    has_common: bool,
    /// Who may use the rows.
    access: Access,
}

impl Default for Pins {
    fn default() -> Self {
        Self { pages: Vec::new(), strings: Heaps::none(), has_common: false, access: Access::Shared }
    }
}

impl Pins {
    /// Pins of rows, and of their strings.
    pub(crate) fn new(pages: Heap, strings: Heaps, access: Access) -> Self {
        Self { pages: vec![pages], strings, has_common: false, access }
    }

    /// Who may use the rows.
    #[inline]
    pub(crate) fn access(&self) -> Access {
        self.access
    }

    pub(crate) fn set_access(&mut self, access: Access) {
        self.access = access;
    }

    /// Also holds the pins of `other`; returns false if they were held already, as they mostly are.
    #[inline]
    pub(crate) fn add(&mut self, other: &Pins) -> bool {
        let is_new = !other.pages.iter().all(|page| self.holds(page));
        if is_new {
            self.add_new(other);
        }
        is_new
    }

    #[inline]
    fn holds(&self, page: &Heap) -> bool {
        self.pages.iter().rev().any(|known| Arc::ptr_eq(known, page))
    }

    #[cold]
    fn add_new(&mut self, other: &Pins) {
        self.join(other.access);
        self.strings = if self.pages.is_empty() { other.strings.clone() } else { self.strings.union(&other.strings) };
        self.has_common |= other.has_common;
        for page in &other.pages {
            if !self.holds(page) {
                self.pages.push(page.clone());
            }
        }
    }

    /// Also holds the pins of one heap: of rows and their strings.
    #[inline]
    pub(crate) fn add_common(&mut self, heap: &Heap, access: Access) {
        if !self.holds(heap) {
            self.join(access);
            self.pages.push(heap.clone());
        }
        self.has_common = true;
    }

    /// Called before other rows are added: they are the same owner's as those that are here.
    fn join(&mut self, access: Access) {
        if self.pages.is_empty() {
            self.access = access;
        }
        assert_eq!(self.access, access, "a list has rows of one owner");
    }

    pub(crate) fn clear(&mut self) {
        self.pages.clear();
        self.strings = Heaps::none();
        self.has_common = false;
        self.access = Access::Shared;
    }

    /// The holders of columns of long strings.
    pub(crate) fn strings(&self) -> Heaps {
        match self.has_common {
            true => self.strings.union(&Heaps::many(self.pages.clone())),
            false => self.strings.clone(),
        }
    }
}

/// Rows of one layout that stay in place as long as they are borrowed. If they have an owner, they can be read once it
/// [says so](RowOwner::read).
#[derive(Clone, Copy)]
pub struct Rows<'a> {
    layout: &'a Arc<RowLayout>,
    rows: &'a [RowPtr],
    pins: &'a Pins,
    /// The owner, if it lets the rows be read.
    owner: Option<&'a RowOwner>,
}

impl<'a> Rows<'a> {
    /// Rows that `pins` keep in place.
    ///
    /// # Safety
    /// As long as `pins` or a clone of them is held, each of `rows` is a row of `layout` that was written, and its
    /// strings are where its views point.
    pub(crate) unsafe fn new(layout: &'a Arc<RowLayout>, rows: &'a [RowPtr], pins: &'a Pins) -> Self {
        Self { layout, rows, pins, owner: None }
    }

    /// The same rows, which are those of `owner`.
    #[inline]
    pub(crate) fn read_by(self, owner: &'a RowOwner) -> Self {
        Self { owner: Some(owner), ..self }
    }

    /// Checks that the rows can be read, as nobody changes them while they are borrowed.
    #[inline]
    pub(crate) fn check_readable(self) {
        let is_readable = self.owner.is_some() || self.pins.access == Access::Shared;
        assert!(is_readable, "rows are read through their owner");
    }

    /// Whether strings may be overwritten when the rows aren't borrowed any more.
    pub(crate) fn strings_may_change(self) -> bool {
        self.owner.is_some_and(RowOwner::overwrites_strings)
    }

    /// Fills `places` with the positions where these rows differ from `others`.
    pub fn differing(self, others: Rows<'_>, places: &mut Vec<u32>) {
        let pairs = self.rows.iter().zip(others.rows).enumerate();
        places.clear();
        places.extend(pairs.filter(|(_, (mine, other))| mine != other).map(|(place, _)| place as u32));
    }

    /// Number of rows.
    #[inline]
    pub fn len(self) -> usize {
        self.rows.len()
    }

    /// True if there are no rows.
    pub fn is_empty(self) -> bool {
        self.rows.is_empty()
    }

    /// The layout of the rows.
    pub fn layout(self) -> &'a Arc<RowLayout> {
        self.layout
    }

    /// Some of them.
    #[inline]
    pub fn slice(self, range: Range<usize>) -> Self {
        Self { rows: &self.rows[range], ..self }
    }

    #[inline]
    pub(crate) fn pointers(self) -> &'a [RowPtr] {
        self.rows
    }

    /// Tells a memory trace that the field at `offset` was read of all rows, one after the other.
    #[inline(always)]
    pub(crate) fn note_loads(self, offset: usize) {
        godwit_trace::loads(|loads| loads.each(self.rows.len(), |i| self.rows[i].as_ptr().wrapping_add(offset)));
    }

    pub(crate) fn pins(self) -> &'a Pins {
        self.pins
    }
}

/// A list of rows of one layout that stay in place as long as they are in it. Kept and cleared, so that nothing is
/// allocated.
pub struct RowList {
    layout: Arc<RowLayout>,
    rows: Vec<RowPtr>,
    pins: Pins,
}

impl RowList {
    /// Bytes of a row in a list.
    pub const ROW_BYTES: usize = size_of::<RowPtr>();

    /// An empty list.
    pub fn new(layout: &Arc<RowLayout>) -> Self {
        Self { layout: layout.clone(), rows: Vec::new(), pins: Pins::default() }
    }

    /// Number of rows.
    #[inline]
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// True if there are no rows.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// All of them.
    #[inline]
    pub fn all(&self) -> Rows<'_> {
        Rows { layout: &self.layout, rows: &self.rows, pins: &self.pins, owner: None }
    }

    /// Some of them.
    #[inline]
    pub fn slice(&self, range: Range<usize>) -> Rows<'_> {
        self.all().slice(range)
    }

    /// Removes the rows and releases their pins.
    pub fn clear(&mut self) {
        self.rows.clear();
        self.pins.clear();
    }

    /// Reserves room for this many more rows.
    pub fn reserve(&mut self, rows: usize) {
        self.rows.reserve(rows);
    }

    /// Appends rows.
    ///
    /// # Panics
    /// If they are of another layout; likewise for all following methods. A bug in the plan.
    #[inline]
    pub fn append(&mut self, rows: Rows<'_>) {
        self.hold(rows);
        self.rows.extend_from_slice(rows.rows);
    }

    /// Appends the rows at these positions.
    #[inline]
    pub fn append_picked(&mut self, rows: Rows<'_>, positions: &[u32]) {
        self.hold(rows);
        self.rows.extend(positions.iter().map(|&position| rows.rows[position as usize]));
    }

    /// Appends the row at one position.
    #[inline]
    pub fn push(&mut self, rows: Rows<'_>, position: usize) {
        self.hold(rows);
        self.rows.push(rows.rows[position]);
    }

    /// Appends the row at one position until there are `len` rows; rows beyond `len` are dropped.
    pub fn resize(&mut self, len: usize, rows: Rows<'_>, position: usize) {
        self.hold(rows);
        self.rows.resize(len, rows.rows[position]);
    }

    /// Replaces the row at `at` with the row at `position` of `rows`.
    #[inline]
    pub fn set(&mut self, at: usize, rows: Rows<'_>, position: usize) {
        self.hold(rows);
        self.rows[at] = rows.rows[position];
    }

    /// Puts row i of `rows` at `places[i]`.
    pub fn scatter(&mut self, places: &[u32], rows: Rows<'_>) {
        assert_eq!(places.len(), rows.len());
        self.hold(rows);
        places.iter().zip(rows.rows).for_each(|(&place, &row)| self.rows[place as usize] = row);
    }

    /// Replaces each row that is among `old` with the corresponding row of `new`.
    pub fn substitute(&mut self, old: Rows<'_>, new: Rows<'_>) {
        assert_eq!(old.len(), new.len());
        self.hold(new);
        let successors: std::collections::HashMap<u64, RowPtr> =
            old.rows.iter().map(|row| row.address()).zip(new.rows.iter().copied()).collect();
        for row in &mut self.rows {
            *row = successors.get(&row.address()).copied().unwrap_or(*row);
        }
    }

    /// Keeps the rows at positions for which `keep` is true.
    #[inline]
    pub fn retain(&mut self, mut keep: impl FnMut(usize) -> bool) {
        let mut kept = 0;
        for place in 0..self.rows.len() {
            self.rows[kept] = self.rows[place];
            kept += keep(place) as usize;
        }
        self.rows.truncate(kept);
    }

    /// Keeps the rows at these positions, which are ascending.
    pub fn keep(&mut self, places: &[u32]) {
        places.iter().enumerate().for_each(|(kept, &place)| self.rows[kept] = self.rows[place as usize]);
        self.rows.truncate(places.len());
    }

    /// Drops all but the first rows.
    pub fn truncate(&mut self, len: usize) {
        self.rows.truncate(len);
    }

    /// Appends the rows of the entries in `range`, in order.
    pub fn append_keyed<K: Copy>(&mut self, entries: &KeyedRows<K>, range: Range<usize>) {
        self.check(entries.layout());
        self.pins.add(entries.pins());
        self.rows.extend(entries.pointers(range));
    }

    #[inline]
    fn hold(&mut self, rows: Rows<'_>) {
        self.check(rows.layout);
        self.pins.add(rows.pins);
    }

    #[inline]
    fn check(&self, layout: &Arc<RowLayout>) {
        assert!(self.layout.reads(layout), "rows of another layout");
    }

    /// The addresses and the pins, to be changed together.
    ///
    /// # Safety
    /// When the list is next used, it satisfies [`Rows::new`] again.
    pub(crate) unsafe fn parts_mut(&mut self) -> (&mut Vec<RowPtr>, &mut Pins) {
        (&mut self.rows, &mut self.pins)
    }

    /// A list of rows that are known to satisfy [`Rows::new`].
    ///
    /// # Safety
    /// See there.
    pub(crate) unsafe fn from_parts(layout: &Arc<RowLayout>, rows: Vec<RowPtr>, pins: Pins) -> Self {
        Self { layout: layout.clone(), rows, pins }
    }
}
