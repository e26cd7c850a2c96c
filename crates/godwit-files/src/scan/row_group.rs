//! What the morsels of one row group share: dictionaries, and the results of filters on them.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;

use crate::column::SharedDictionary;

/// Lives from the first morsel of a row group to the last.
pub(crate) struct RowGroupState {
    /// By column of the table; emptied when the last morsel is done, so that memory holds the dictionaries of a few row
    /// groups at a time.
    dictionaries: Mutex<Vec<Arc<SharedDictionary>>>,
    morsels_left: AtomicUsize,
    /// True if a filter is TRUE for no entry of a dictionary: the row group has no rows.
    pub refuted: OnceLock<bool>,
}

impl RowGroupState {
    /// For a row group that is read in `morsels` morsels.
    pub(crate) fn new(columns: usize, morsels: usize) -> Self {
        Self {
            dictionaries: Mutex::new((0..columns).map(|_| Arc::default()).collect()),
            morsels_left: AtomicUsize::new(morsels),
            refuted: OnceLock::new(),
        }
    }

    /// Where the dictionary of a column is, or will be.
    pub(crate) fn dictionary(&self, column: usize) -> Arc<SharedDictionary> {
        self.dictionaries.lock()[column].clone()
    }

    /// Called once for each morsel when it is done; true for the last.
    pub(crate) fn finish_morsel(&self) -> bool {
        let is_last = self.morsels_left.fetch_sub(1, Ordering::AcqRel) == 1;
        if is_last {
            self.dictionaries.lock().clear();
        }
        is_last
    }
}
