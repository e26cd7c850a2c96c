//! Rows of one layout, stored by column.

use std::sync::Arc;

use godwit_common::Result;
use godwit_memory::BufferManager;
use godwit_vector::{PhysicalType, Vector};

use super::page::{ColumnPage, OpenPage};
use super::{ColumnLayout, ColumnScan};
use crate::page_walk::read_ahead;
use crate::place::Order;
use crate::scatter::each_view;

/// Rows of one layout by column in spillable pages. The page that is being filled stays pinned until
/// [`close`](Self::close); those that are full can be evicted.
pub struct ColumnCollection {
    manager: BufferManager,
    layout: Arc<ColumnLayout>,
    partition: Option<u32>,
    pages: Vec<Arc<ColumnPage>>,
    open: Option<OpenPage>,
    rows: u64,
    bytes: u64,
    /// Total bytes of strings.
    string_bytes: u64,
}

impl ColumnCollection {
    /// An empty collection. Pages of high partitions are evicted before those of low ones.
    pub fn new(manager: &BufferManager, layout: &Arc<ColumnLayout>, partition: Option<u32>) -> Self {
        Self {
            manager: manager.clone(),
            layout: layout.clone(),
            partition,
            pages: Vec::new(),
            open: None,
            rows: 0,
            bytes: 0,
            string_bytes: 0,
        }
    }

    /// The layout of the rows.
    pub fn layout(&self) -> &Arc<ColumnLayout> {
        &self.layout
    }

    /// Number of rows.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// True if there are no rows.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Memory of the rows when all their pages are loaded.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Appends the rows at `positions` of `columns`. If memory runs out, some of the rows may have been appended; the
    /// collection stays valid.
    ///
    /// # Panics
    /// If types don't agree: a bug in the plan.
    pub fn append(&mut self, columns: &[Vector], positions: &[u32]) -> Result<()> {
        let mut string_bytes = Vec::new();
        string_bytes_of(&self.layout, columns, positions, &mut string_bytes);
        self.append_sized(columns, positions, &string_bytes)
    }

    /// [`append`](Self::append) for rows whose strings have these sizes; empty if there are no string columns.
    pub(super) fn append_sized(
        &mut self,
        columns: &[Vector],
        mut positions: &[u32],
        mut string_bytes: &[u64],
    ) -> Result<()> {
        while !positions.is_empty() {
            let mut room = self.open.as_ref().map_or(0, |open| open.room(positions.len(), string_bytes));
            if room == 0 {
                self.close();
                let open = self.open_page(string_bytes)?;
                room = open.room(positions.len(), string_bytes);
                self.open = Some(open);
            }
            let (now, later) = positions.split_at(room);
            let (sizes, later_sizes) = string_bytes.split_at(room.min(string_bytes.len()));
            self.open.as_mut().expect("just opened").append(&self.layout, columns, now, sizes);
            self.rows += now.len() as u64;
            self.string_bytes += sizes.iter().sum::<u64>();
            (positions, string_bytes) = (later, later_sizes);
        }
        Ok(())
    }

    /// A page laid out according to the rows so far and the next ones.
    fn open_page(&mut self, next: &[u64]) -> Result<OpenPage> {
        let rows = self.rows + next.len() as u64;
        let average = (self.string_bytes + next.iter().sum::<u64>()).div_ceil(rows.max(1));
        let areas = self.layout.areas(average, next.first().copied().unwrap_or(0));
        let open = OpenPage::new(&self.manager, &self.layout, areas, self.partition)?;
        self.bytes += areas.bytes as u64;
        Ok(open)
    }

    /// Unpins all pages; rows appended later begin a new page.
    pub fn close(&mut self) {
        self.pages.extend(self.open.take().map(|open| Arc::new(open.close())));
    }

    /// Takes over the rows of another collection of the same layout. Its pages are unpinned.
    pub fn absorb(&mut self, mut other: ColumnCollection) {
        assert!(Arc::ptr_eq(&self.layout, &other.layout), "collections of one layout");
        other.close();
        self.rows += other.rows;
        self.bytes += other.bytes;
        self.string_bytes += other.string_bytes;
        self.pages.append(&mut other.pages);
    }

    /// The rows in scans of about `bytes` each, in order; pages are freed once their rows have been read.
    pub fn into_scans(mut self, bytes: u64) -> Vec<ColumnScan> {
        self.close();
        let parts = self.parts(bytes);
        let mut pages = std::mem::take(&mut self.pages).into_iter();
        let scan = |part: usize| {
            let share = pages.len().div_ceil(parts - part);
            ColumnScan::new(&self.manager, &self.layout, pages.by_ref().take(share).collect())
        };
        (0..parts).map(scan).collect()
    }

    /// Like [`into_scans`](Self::into_scans), but keeps the rows.
    pub fn scans(&self, bytes: u64) -> Vec<ColumnScan> {
        assert!(self.open.is_none(), "a collection is closed before it is scanned");
        let parts = self.parts(bytes);
        let border = |part: usize| self.pages.len() * part / parts;
        let scan = |part: usize| {
            ColumnScan::new(&self.manager, &self.layout, self.pages[border(part)..border(part + 1)].to_vec())
        };
        (0..parts).map(scan).collect()
    }

    /// Number of scans of `bytes` bytes over which the pages are distributed: none if there are no pages, and each has
    /// at least one.
    fn parts(&self, bytes: u64) -> usize {
        (self.bytes.div_ceil(bytes.max(1)) as usize).min(self.pages.len())
    }

    /// Starts reading back the first pages while others are being processed: they will be scanned next.
    pub fn read_ahead(&self) {
        read_ahead(&self.manager, &self.pages, true);
    }
}

/// Puts the sizes of the rows' strings into `bytes`, replacing its content; leaves it empty if there are no string
/// columns.
pub(super) fn string_bytes_of(layout: &ColumnLayout, columns: &[Vector], positions: &[u32], bytes: &mut Vec<u64>) {
    assert!(
        columns.iter().map(Vector::physical).eq(layout.columns().iter().copied()),
        "columns must have the types of the layout"
    );
    bytes.clear();
    if layout.strings().is_empty() {
        return;
    }
    bytes.resize(positions.len(), 0);
    for column in columns.iter().filter(|column| column.physical() == PhysicalType::Str) {
        each_view(column, Order::Rows(positions), bytes.iter_mut(), |bytes, view| *bytes += view.len() as u64);
    }
}
