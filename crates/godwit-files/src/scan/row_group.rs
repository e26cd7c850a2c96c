//! State shared by the morsels of a row group: dictionaries, and the results of filters on them.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;

use crate::column::SharedDictionary;

/// Lives from the first morsel of a row group to the last.
pub(crate) struct RowGroupState {
    /// By column of the table. Emptied after the last morsel, so memory holds the dictionaries of only a few row groups
    /// at a time.
    dictionaries: Mutex<Vec<Arc<SharedDictionary>>>,
    morsels_left: AtomicUsize,
    /// True if a filter is TRUE for no entry of a dictionary, so no row of the row group passes.
    pub refuted: OnceLock<bool>,
}

impl RowGroupState {
    /// Creates the state for a row group that is read in `morsels` morsels.
    pub(crate) fn new(columns: usize, morsels: usize) -> Self {
        Self {
            dictionaries: Mutex::new((0..columns).map(|_| Arc::default()).collect()),
            morsels_left: AtomicUsize::new(morsels),
            refuted: OnceLock::new(),
        }
    }

    /// Returns the shared dictionary of a column, which may not be loaded yet.
    pub(crate) fn dictionary(&self, column: usize) -> Arc<SharedDictionary> {
        self.dictionaries.lock()[column].clone()
    }

    /// Called when a morsel is done; returns true for the last one.
    pub(crate) fn finish_morsel(&self) -> bool {
        let is_last = self.morsels_left.fetch_sub(1, Ordering::AcqRel) == 1;
        if is_last {
            self.dictionaries.lock().clear();
        }
        is_last
    }
}
