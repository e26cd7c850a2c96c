//! Payload of groups: columns after the keys that hold one value of the group, such as `any_value(x)` or the smallest
//! string. The first row of a group supplies the values; later rows matter only if theirs are better.
//!
//! ```text
//! row of a group:  | keys | payload columns | hash | states |
//!                             └ a long string lies in the heap of the row's own part, as that of a key does
//! ```
//!
//! A better value is written in place if it needs no room in the heap: fixed width, up to 12 bytes, or not longer than
//! the long string that it replaces. Other long strings are left to the operator, which creates a new row for the
//! group. When all rows of a partition stay pinned until they are read, views are simply copied
//! ([`Rows::merge_payload`]): then rows share strings, which are nowhere written over.

use std::cmp::Ordering;
use std::sync::Arc;

use godwit_vector::{Data, PhysicalType, StrView, Vector};

use crate::row_ptr::RowPtr;
use crate::scatter::words;
use crate::{RowLayout, RowOwner, Rows};

/// Which value of a group a payload column holds. Except for [`PayloadKind::First`], NULL is taken only if there is no
/// other value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PayloadKind {
    /// The value of the group's first row, NULL or not: all such columns come from one row.
    First,
    /// Any one.
    Any,
    /// The smallest string.
    Min,
    /// The largest string.
    Max,
}

impl PayloadKind {
    /// Whether `new` is better than `old`. Both are live strings.
    #[inline(always)]
    fn is_better(self, new: StrView, old: StrView) -> bool {
        let is_order = |ordering| {
            // SAFETY: the views are those of pinned rows and of vectors that are alive, and neither is NULL.
            unsafe { new.compare(&old) == ordering }
        };
        match self {
            PayloadKind::First | PayloadKind::Any => false,
            PayloadKind::Min => is_order(Ordering::Less),
            PayloadKind::Max => is_order(Ordering::Greater),
        }
    }

    /// The row of a vector with the best value (of equal strings, the first); `None` if all are NULL.
    pub fn best_of(self, values: &Vector) -> Option<u32> {
        let first_valid = || (0..values.len()).find(|&row| values.is_valid(row)).map(|row| row as u32);
        if values.physical() != PhysicalType::Str || matches!(self, PayloadKind::First | PayloadKind::Any) {
            return first_valid();
        }
        let is_valid = |row| values.is_valid(row);
        match values.data() {
            Data::Constant(_) => first_valid(),
            // All rows are NULL.
            Data::Dictionary(_, dictionary) if dictionary.is_empty() => None,
            Data::Flat(flat) => self.best_string(flat.strings().views().iter().copied(), is_valid),
            Data::Dictionary(codes, dictionary) => {
                let views = dictionary.values().strings().views();
                self.best_string(codes.iter().map(|&code| views[code as usize]), is_valid)
            }
        }
    }

    /// The first of the best strings of valid rows. For most, the prefix shows that they aren't better than the best so
    /// far.
    fn best_string(self, views: impl Iterator<Item = StrView>, is_valid: impl Fn(usize) -> bool) -> Option<u32> {
        let flip = if self == PayloadKind::Min { u32::MAX } else { 0 };
        let mut best: Option<(usize, StrView)> = None;
        let mut least = 0;
        for (row, view) in views.enumerate() {
            let goodness = view.prefix() ^ flip;
            if goodness >= least && is_valid(row) && best.is_none_or(|(_, old)| self.is_better(view, old)) {
                best = Some((row, view));
                least = goodness;
            }
        }
        best.map(|(row, _)| row as u32)
    }
}

impl RowLayout {
    /// Whether a later row can change this column. It can't if any value will do and there was never a NULL.
    pub fn improves_payload(&self, column: usize, kind: PayloadKind) -> bool {
        match kind {
            PayloadKind::First => false,
            PayloadKind::Any => self.has_nulls(column),
            PayloadKind::Min | PayloadKind::Max => true,
        }
    }

    /// False if the string is better but needs room in the heap.
    ///
    /// # Safety
    /// The row is a pinned one of this layout, which nobody else uses, and its strings are pinned and only its own. The
    /// new string is alive, and not the row's.
    #[inline(always)]
    unsafe fn improve_string(&self, column: usize, kind: PayloadKind, row: RowPtr, view: StrView) -> bool {
        let offset = self.column_offset(column);
        // SAFETY: the row is pinned, and the column holds a view.
        let (old, is_valid) = unsafe { (StrView::from_bits(row.read::<u128>(offset)), self.is_valid(row, column)) };
        if is_valid && !kind.is_better(view, old) {
            return true;
        }
        let in_place = if view.is_inline() {
            view
        } else if is_valid && !old.is_inline() && view.len() <= old.len() {
            // SAFETY: the caller's promise.
            unsafe { std::ptr::copy_nonoverlapping(view.pointer(), old.pointer().cast_mut(), view.len()) };
            view.with_pointer(old.pointer())
        } else {
            return false;
        };
        // SAFETY: as for the read; nobody else uses the row.
        unsafe {
            row.write(offset, in_place.bits());
            self.set_valid(row, column);
        }
        true
    }

    /// # Safety
    /// The row is a pinned one of this layout, which nobody else uses.
    #[inline(always)]
    unsafe fn set_valid(&self, row: RowPtr, column: usize) {
        let (offset, bit) = self.validity_bit(column);
        // SAFETY: the caller's promise; the byte lies inside the row.
        unsafe { row.write(offset, row.read::<u8>(offset) | 1 << bit) };
    }
}

impl Rows<'_> {
    /// Puts value `i` of the dense `values` into `column` of row `i` where it is better. Pushes onto `left` the numbers
    /// of rows that would need room for a long string.
    ///
    /// # Panics
    /// If the rows may share strings, since their owner is that of [rows pinned at once](crate::PinnedRows::own).
    pub fn improve_payload(
        self,
        owner: &mut RowOwner,
        column: usize,
        kind: PayloadKind,
        values: &Vector,
        left: &mut Vec<u32>,
    ) {
        owner.check(self);
        assert!(owner.overwrites_strings(), "shared strings aren't overwritten");
        let (layout, rows) = (self.layout(), self.pointers());
        assert_eq!(rows.len(), values.len());
        assert_eq!(layout.columns()[column], values.physical());
        let flat = values.to_flat();
        match layout.columns()[column] {
            PhysicalType::Str => {
                let views = flat.strings().views();
                for (i, (&row, &view)) in rows.iter().zip(views).enumerate().filter(|(i, _)| values.is_valid(*i)) {
                    // SAFETY: the row and its strings are pinned, and the vector keeps its own alive. Nobody else uses
                    // the row: the owner is borrowed mutably. Its strings are its own: such an owner doesn't let rows
                    // share them, and columns have copies.
                    if !unsafe { layout.improve_string(column, kind, row, view) } {
                        left.push(i as u32);
                    }
                }
            }
            physical => match physical.width_bytes() {
                1 => self.fill_nulls(column, values, words::<u8>(&flat)),
                2 => self.fill_nulls(column, values, words::<u16>(&flat)),
                4 => self.fill_nulls(column, values, words::<u32>(&flat)),
                8 => self.fill_nulls(column, values, words::<u64>(&flat)),
                _ => self.fill_nulls(column, values, words::<u128>(&flat)),
            },
        }
    }

    fn fill_nulls<T: Copy>(self, column: usize, values: &Vector, words: &[T]) {
        let layout = self.layout();
        let offset = layout.column_offset(column);
        for (i, &row) in self.pointers().iter().enumerate() {
            // SAFETY: the row is pinned, nobody else uses it, and the column lies inside it.
            unsafe {
                if !layout.is_valid(row, column) && values.is_valid(i) {
                    row.write(offset, words[i]);
                    layout.set_valid(row, column);
                }
            }
        }
    }

    /// Of the row numbers `left`, keeps the one with the best string for each of these rows, if it is better than the
    /// row's own, which may have improved meanwhile.
    pub fn keep_best(self, column: usize, kind: PayloadKind, values: &Vector, left: &mut Vec<u32>) {
        self.check_readable();
        let (layout, rows) = (self.layout(), self.pointers());
        assert_eq!(layout.columns()[column], PhysicalType::Str);
        let flat = values.to_flat();
        let views = flat.strings().views();
        left.sort_by_key(|&i| rows[i as usize].address());
        left.dedup_by(|later, best| {
            let is_same = rows[*later as usize] == rows[*best as usize];
            if is_same && kind.is_better(views[*later as usize], views[*best as usize]) {
                *best = *later;
            }
            is_same
        });
        left.retain(|&i| {
            let row = rows[i as usize];
            // SAFETY: the row is pinned and readable, and the column holds a view.
            let (old, is_valid) = unsafe {
                (StrView::from_bits(row.read::<u128>(layout.column_offset(column))), layout.is_valid(row, column))
            };
            !is_valid || kind.is_better(views[i as usize], old)
        });
    }

    /// Takes over better values from the rows at the same positions of `sources`, which are other rows of the same
    /// layout and owner. Strings stay where they are, so the rows can't be pinned a second time.
    ///
    /// # Panics
    /// If the owner isn't that of [rows pinned at once](crate::PinnedRows::own).
    pub fn merge_payload(self, owner: &mut RowOwner, column: usize, kind: PayloadKind, sources: Rows<'_>) {
        owner.check(self);
        owner.check(sources);
        assert!(!owner.overwrites_strings(), "strings are shared that stay as they are");
        let layout = self.layout();
        assert!(Arc::ptr_eq(layout, sources.layout()) && self.len() == sources.len(), "rows of one layout");
        if kind == PayloadKind::First {
            return;
        }
        let (offset, physical) = (layout.column_offset(column), layout.columns()[column]);
        assert!(physical == PhysicalType::Str || kind == PayloadKind::Any, "only strings have an order here");
        for (&target, &source) in self.pointers().iter().zip(sources.pointers()) {
            // SAFETY: both rows are pinned and of this layout; their owner is borrowed mutably, so that nobody else uses
            // them. Whoever reads the target has the pins of all strings.
            unsafe {
                if !layout.is_valid(source, column) {
                    continue;
                }
                if layout.is_valid(target, column) {
                    if kind == PayloadKind::Any {
                        continue;
                    }
                    let view = |row: RowPtr| StrView::from_bits(row.read::<u128>(offset));
                    if !kind.is_better(view(source), view(target)) {
                        continue;
                    }
                }
                let (from, to) = (source.as_ptr().add(offset), target.as_ptr().add(offset));
                std::ptr::copy(from, to, physical.width_bytes());
                layout.set_valid(target, column);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use godwit_vector::{Bitmap, Dictionary, Flat, StrColumn};
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn codes_of_an_empty_dictionary_have_no_best_string() {
        let entries = Arc::new(Dictionary::new(Flat::zeros(PhysicalType::Str, 0), false));
        let nulls = Vector::dictionary(vec![0, 0].into(), entries, Some(Bitmap::filled(2, false)));
        assert_eq!(PayloadKind::Max.best_of(&nulls), None);
    }

    proptest! {
        /// The best string is the first of the smallest or largest, whether the prefix decides or not.
        #[test]
        fn the_best_string_is_the_first_of_the_best(
            texts in prop::collection::vec(prop::option::of("[\\x00a\u{ff}]{0,5}|same[ab]{0,3}|same longer than a view [ab]"), 0..40),
            codes in prop::collection::vec(any::<prop::sample::Index>(), 0..40),
        ) {
            let strings = StrColumn::from_strings(texts.iter().map(|text| text.as_deref().unwrap_or("")));
            let flat = Vector::flat(Flat::Str(strings), Some(Bitmap::from_fn(texts.len(), |row| texts[row].is_some())));
            let selected = if texts.is_empty() { Vec::new() } else { codes };
            let selected: Vec<u32> = selected.iter().map(|code| code.index(texts.len()) as u32).collect();
            let all: Vec<u32> = (0..texts.len() as u32).collect();
            let validity = Bitmap::from_fn(selected.len(), |row| texts[selected[row] as usize].is_some());
            let entries = Arc::new(Dictionary::new(flat.to_flat(), false));
            let repeated = Vector::dictionary(selected.clone().into(), entries, Some(validity));
            for (values, rows) in [(flat.clone(), all), (repeated, selected)] {
                let known = || rows.iter().map(|&row| texts[row as usize].as_ref()).enumerate().filter(|(_, text)| text.is_some());
                let least = known().min_by_key(|(_, text)| *text).map(|(row, _)| row as u32);
                let most = known().rev().max_by_key(|(_, text)| *text).map(|(row, _)| row as u32);
                prop_assert_eq!(PayloadKind::Min.best_of(&values), least);
                prop_assert_eq!(PayloadKind::Max.best_of(&values), most);
                prop_assert_eq!(PayloadKind::Any.best_of(&values), known().next().map(|(row, _)| row as u32));
            }
        }
    }
}
