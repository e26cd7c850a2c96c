//! A page of rows by column: writing and reading it.

use std::ops::Range;

use arrow_buffer::{ArrowNativeType, ScalarBuffer};
use godwit_common::{MemoryTag, Result};
use godwit_memory::{BufferManager, PAGE_BYTES, Page, PinnedPage};
use godwit_trace::VECTOR_BYTES;
use godwit_vector::{Bitmap, Data, Flat, Heaps, PhysicalType, StrColumn, StrView, Vector};

use super::layout::{Areas, ColumnLayout};
use crate::page_walk::PageOfRows;
use crate::place::Order;
use crate::scatter::{each_view, words};

/// A page that is full or closed. Dropping it drops the rows.
pub(super) struct ColumnPage {
    page: Page,
    areas: Areas,
    rows: usize,
    /// Which columns have NULLs on this page: validity bits are written only for those.
    has_nulls: Vec<bool>,
}

/// The page that is being filled; pinned.
pub(super) struct OpenPage {
    pin: PinnedPage,
    content: ColumnPage,
    /// Bytes of strings so far.
    string_bytes: usize,
}

impl OpenPage {
    pub(super) fn new(
        manager: &BufferManager,
        layout: &ColumnLayout,
        areas: Areas,
        partition: Option<u32>,
    ) -> Result<Self> {
        let pin = if areas.bytes > PAGE_BYTES {
            manager.allocate_large(areas.bytes, MemoryTag::ColumnPage)?
        } else {
            manager.allocate_page(MemoryTag::ColumnPage, partition)?
        };
        let has_nulls = vec![false; layout.columns().len()];
        let content = ColumnPage { page: pin.page().clone(), areas, rows: 0, has_nulls };
        Ok(Self { pin, content, string_bytes: 0 })
    }

    /// How many of the next `rows` rows fit, given the sizes of their strings (empty if there are no string columns).
    pub(super) fn room(&self, rows: usize, string_bytes: &[u64]) -> usize {
        let Areas { capacity, strings, bytes } = self.content.areas;
        let rows = rows.min(capacity - self.content.rows);
        let mut free = (bytes - strings - self.string_bytes) as u64;
        let fits = |&&bytes: &&u64| {
            let fits = bytes <= free;
            free = free.saturating_sub(bytes);
            fits
        };
        if string_bytes.is_empty() { rows } else { string_bytes[..rows].iter().take_while(fits).count() }
    }

    /// Appends the rows at `positions` of `columns`, for which there is room.
    pub(super) fn append(
        &mut self,
        layout: &ColumnLayout,
        columns: &[Vector],
        positions: &[u32],
        string_bytes: &[u64],
    ) {
        let Areas { capacity, strings, .. } = self.content.areas;
        let rows = self.content.rows..self.content.rows + positions.len();
        assert!(rows.end <= capacity, "there is room");
        // SAFETY: the page is ours alone until it is closed: its handle wasn't handed out.
        let bytes = unsafe { self.pin.as_mut_slice() };
        for (column, vector) in columns.iter().enumerate() {
            let area = &mut bytes[layout.values(column, capacity)];
            match vector.physical() {
                PhysicalType::Str => write_lengths(vector, positions, &mut slots_mut(area)[rows.clone()]),
                physical => match physical.width_bytes() {
                    1 => write::<u8>(vector, positions, &mut slots_mut(area)[rows.clone()]),
                    2 => write::<u16>(vector, positions, &mut slots_mut(area)[rows.clone()]),
                    4 => write::<u32>(vector, positions, &mut slots_mut(area)[rows.clone()]),
                    8 => write::<u64>(vector, positions, &mut slots_mut(area)[rows.clone()]),
                    _ => write::<u128>(vector, positions, &mut slots_mut(area)[rows.clone()]),
                },
            }
            if let Some(validity) = vector.validity() {
                let area = &mut bytes[layout.validity(column, capacity)];
                if !std::mem::replace(&mut self.content.has_nulls[column], true) {
                    area.fill(u8::MAX);
                }
                for (row, &position) in rows.clone().zip(positions) {
                    area[row / 8] &= !(u8::from(!validity.get(position as usize)) << (row % 8));
                }
            }
        }
        if layout.has_flags() {
            bytes[layout.flags(capacity)][rows.clone()].fill(0);
        }
        if !string_bytes.is_empty() {
            self.string_bytes +=
                write_strings(layout, columns, positions, string_bytes, &mut bytes[strings + self.string_bytes..]);
        }
        self.content.rows = rows.end;
    }

    /// Closes the page: nothing more will be appended.
    pub(super) fn close(self) -> ColumnPage {
        self.content
    }
}

impl PageOfRows for ColumnPage {
    fn rows(&self) -> usize {
        self.rows
    }

    fn all_pages(&self) -> impl Iterator<Item = &Page> {
        std::iter::once(&self.page)
    }
}

impl ColumnPage {
    pub(super) fn page(&self) -> &Page {
        &self.page
    }

    /// Some rows as columns. Their strings begin `string_bytes` after the start of the page's strings; `string_bytes`
    /// is advanced past them. Strings stay where they are: the result keeps the page pinned if there are long ones.
    pub(super) fn read(
        &self,
        layout: &ColumnLayout,
        pin: &PinnedPage,
        rows: Range<usize>,
        string_bytes: &mut usize,
    ) -> Vec<Vector> {
        let (bytes, capacity) = (pin.as_slice(), self.areas.capacity);
        let area = |column: usize| &bytes[layout.values(column, capacity)];
        let mut strings = read_strings(
            layout.strings().iter().map(|&column| &slots(area(column))[rows.clone()]),
            &bytes[self.areas.strings..],
            string_bytes,
            pin,
        )
        .into_iter();
        let flat = |(column, &physical): (usize, &PhysicalType)| match physical {
            PhysicalType::Bool => Flat::Bool(read(area(column), &rows)),
            PhysicalType::I8 => Flat::I8(read(area(column), &rows)),
            PhysicalType::I16 => Flat::I16(read(area(column), &rows)),
            PhysicalType::I32 => Flat::I32(read(area(column), &rows)),
            PhysicalType::I64 => Flat::I64(read(area(column), &rows)),
            PhysicalType::I128 => Flat::I128(read(area(column), &rows)),
            PhysicalType::U8 => Flat::U8(read(area(column), &rows)),
            PhysicalType::U16 => Flat::U16(read(area(column), &rows)),
            PhysicalType::U32 => Flat::U32(read(area(column), &rows)),
            PhysicalType::U64 => Flat::U64(read(area(column), &rows)),
            PhysicalType::F32 => Flat::F32(read(area(column), &rows)),
            PhysicalType::F64 => Flat::F64(read(area(column), &rows)),
            PhysicalType::Str => Flat::Str(strings.next().expect("one per string column")),
            PhysicalType::Nested => unreachable!("a layout has no nested columns"),
        };
        let flats: Vec<Flat> = layout.columns().iter().enumerate().map(flat).collect();
        let validity = |column: usize| {
            let area = &bytes[layout.validity(column, capacity)];
            let bit = |row: usize| area[(rows.start + row) / 8] >> ((rows.start + row) % 8) & 1 == 1;
            self.has_nulls[column].then(|| Bitmap::from_fn(rows.len(), bit))
        };
        flats.into_iter().enumerate().map(|(column, flat)| Vector::flat(flat, validity(column))).collect()
    }

    /// The flags of some rows.
    pub(super) fn flags<'a>(&self, layout: &ColumnLayout, pin: &'a PinnedPage, rows: Range<usize>) -> &'a [u8] {
        &pin.as_slice()[layout.flags(self.areas.capacity)][rows]
    }

    /// Changes the flags of some rows. `pin` is one that may write; the flags must not be read or changed elsewhere
    /// meanwhile.
    pub(super) fn set_flags(&self, layout: &ColumnLayout, pin: &PinnedPage, rows: Range<usize>, flags: &[u8]) {
        let area = layout.flags(self.areas.capacity);
        assert!(rows.end <= self.rows && area.len() >= self.rows && flags.len() == rows.len());
        let target = pin.as_ptr().wrapping_add(area.start + rows.start);
        // SAFETY: the area lies inside the pinned page and the rows inside the area. Others who have the page pinned
        // only read its strings, which lie elsewhere.
        unsafe { std::ptr::copy_nonoverlapping(flags.as_ptr(), target, flags.len()) }
    }
}

/// An area as the plain values that it holds.
fn slots<T: ArrowNativeType>(area: &[u8]) -> &[T] {
    // SAFETY: any bits are a value of a native type.
    let (before, slots, behind) = unsafe { area.align_to() };
    assert!(before.is_empty() && behind.is_empty(), "areas are aligned");
    slots
}

fn slots_mut<T: Copy>(area: &mut [u8]) -> &mut [T] {
    // SAFETY: called with unsigned integers, for which any bits are a value.
    let (before, slots, behind) = unsafe { area.align_to_mut() };
    assert!(before.is_empty() && behind.is_empty(), "areas are aligned");
    slots
}

fn read<T: ArrowNativeType>(area: &[u8], rows: &Range<usize>) -> ScalarBuffer<T> {
    let slots = &slots::<T>(area)[rows.clone()];
    godwit_trace::loads(|loads| loads.run(slots.as_ptr().cast(), size_of_val(slots), VECTOR_BYTES));
    slots.to_vec().into()
}

fn write<T: Copy + Default>(vector: &Vector, positions: &[u32], slots: &mut [T]) {
    let target = slots.iter_mut().zip(positions);
    match vector.data() {
        Data::Flat(flat) => {
            let values = words::<T>(flat);
            target.for_each(|(slot, &position)| *slot = values[position as usize]);
        }
        Data::Constant(flat) => slots.fill(words::<T>(flat)[0]),
        // Without entries all rows are NULL, and any value will do.
        Data::Dictionary(_, dictionary) if dictionary.is_empty() => slots.fill(T::default()),
        Data::Dictionary(codes, dictionary) => {
            let values = words::<T>(dictionary.values());
            target.for_each(|(slot, &position)| *slot = values[codes[position as usize] as usize]);
        }
    }
}

fn write_lengths(vector: &Vector, positions: &[u32], slots: &mut [u32]) {
    each_view(vector, Order::Rows(positions), slots.iter_mut(), |slot, view| *slot = view.len() as u32);
}

/// Writes the strings of rows, which have these sizes, row by row; returns their total size.
fn write_strings(
    layout: &ColumnLayout,
    columns: &[Vector],
    positions: &[u32],
    string_bytes: &[u64],
    target: &mut [u8],
) -> usize {
    let mut end = 0;
    let mut places: Vec<usize> = Vec::with_capacity(string_bytes.len());
    for &bytes in string_bytes {
        places.push(end);
        end += bytes as usize;
    }
    for &column in layout.strings() {
        each_view(&columns[column], Order::Rows(positions), places.iter_mut(), |place, view| {
            // SAFETY: the vector keeps its strings alive.
            let string = unsafe { view.as_bytes() };
            target[*place..*place + string.len()].copy_from_slice(string);
            *place += string.len();
        });
    }
    end
}

/// The strings of rows with these lengths, by column; they begin at `begin`, which is advanced past them.
fn read_strings<'a>(
    lengths: impl Iterator<Item = &'a [u32]> + Clone,
    bytes: &[u8],
    begin: &mut usize,
    pin: &PinnedPage,
) -> Vec<StrColumn> {
    let Some(first) = lengths.clone().next() else { return Vec::new() };
    let mut places = vec![0usize; first.len()];
    lengths.clone().for_each(|lengths| places.iter_mut().zip(lengths).for_each(|(sum, &len)| *sum += len as usize));
    for place in &mut places {
        let end = *begin + *place;
        *place = std::mem::replace(begin, end);
    }
    let heaps = Heaps::one(std::sync::Arc::new(pin.clone()));
    let column = |lengths: &[u32]| {
        let view = |(place, &len): (&mut usize, &u32)| {
            let begin = *place;
            *place += len as usize;
            StrView::new(&bytes[begin..*place])
        };
        let views: Vec<StrView> = places.iter_mut().zip(lengths).map(view).collect();
        let heaps = if views.iter().all(|view| view.is_inline()) { Heaps::none() } else { heaps.clone() };
        // SAFETY: the views point into the page, which stays pinned as long as `heaps`; its strings never change.
        unsafe { StrColumn::new(views, heaps) }
    };
    lengths.map(column).collect()
}
