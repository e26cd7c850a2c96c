//! Compares the keys of stored rows with those in columns.

use godwit_vector::{Bitmap, Data, Flat, PhysicalType, StrView, Vector};

use crate::RowLayout;
use crate::row_ptr::RowPtr;

/// Equality of two values of a type, consistent with hashing: all NaNs are equal, and -0.0 equals 0.0.
trait KeyValue: Copy {
    fn key_equals(self, other: Self) -> bool;
}

macro_rules! exact_keys {
    ($($t:ty),*) => { $(
        impl KeyValue for $t {
            #[inline(always)]
            fn key_equals(self, other: Self) -> bool { self == other }
        }
    )* };
}
exact_keys!(u8, i8, i16, i32, i64, i128, u16, u32, u64);

macro_rules! float_keys {
    ($($t:ty),*) => { $(
        impl KeyValue for $t {
            #[inline(always)]
            fn key_equals(self, other: Self) -> bool { self == other || self.is_nan() && other.is_nan() }
        }
    )* };
}
float_keys!(f32, f64);

/// A string of a pinned row or of a vector that is alive.
#[derive(Clone, Copy)]
#[repr(transparent)]
struct LiveString(StrView);

impl KeyValue for LiveString {
    #[inline(always)]
    fn key_equals(self, other: Self) -> bool {
        // SAFETY: views of pinned rows and live vectors point at live bytes; NULLs were filtered out before.
        unsafe { self.0.equals(&other.0) }
    }
}

/// The candidates of a comparison, and the list for those that turn out unequal.
struct Candidates<'a> {
    equal: &'a mut Vec<u32>,
    unequal: &'a mut Vec<u32>,
}

impl RowLayout {
    /// Keeps the candidates `i` for which `rows[i]` equals row `i` of the dense `probe` columns in all `columns` (of
    /// the layout, in step with `probe`). Keeps their order.
    ///
    /// Candidates that aren't equal are appended to `unequal`, in no particular order.
    ///
    /// # Panics
    /// If a candidate lies outside, or types differ: bugs in the plan.
    ///
    /// # Safety
    /// The rows of candidates are pinned ones of this layout, and so are their strings.
    pub(crate) unsafe fn match_rows(
        &self,
        columns: &[usize],
        rows: &[RowPtr],
        probe: &[Vector],
        candidates: &mut Vec<u32>,
        unequal: &mut Vec<u32>,
        nulls_equal: bool,
    ) {
        let mut candidates = Candidates { equal: candidates, unequal };
        assert_eq!(columns.len(), probe.len());
        let end = candidates.equal.iter().max().map_or(0, |&last| last as usize + 1);
        assert!(end <= rows.len() && probe.iter().all(|vector| end <= vector.len()), "a candidate lies outside");
        for (&column, vector) in columns.iter().zip(probe) {
            assert_eq!(self.columns()[column], vector.physical(), "keys of one type");
            if candidates.equal.is_empty() {
                return;
            }
            let mut pair = Pair { layout: self, column, rows, vector, nulls_equal };
            pair.retain_equal(&mut candidates);
        }
    }
}

/// A column of rows and the vector that it is compared with. Part of [`RowLayout::match_rows`], whose safety conditions
/// it relies on.
struct Pair<'a> {
    layout: &'a RowLayout,
    column: usize,
    rows: &'a [RowPtr],
    vector: &'a Vector,
    nulls_equal: bool,
}

impl Pair<'_> {
    fn retain_equal(&mut self, candidates: &mut Candidates<'_>) {
        macro_rules! by_type {
            ($($variant:ident => $t:ty),*) => {
                match self.vector.physical() {
                    PhysicalType::Bool => self.retain_typed::<u8>(candidates, |flat| flat.bools()),
                    PhysicalType::Str => self.retain_typed::<LiveString>(candidates, live_strings),
                    $( PhysicalType::$variant => self.retain_typed::<$t>(candidates, |flat| flat.values::<$t>()), )*
                    PhysicalType::Nested => unreachable!("a layout has no nested columns"),
                }
            };
        }
        by_type!(I8 => i8, I16 => i16, I32 => i32, I64 => i64, I128 => i128, U8 => u8, U16 => u16, U32 => u32,
                 U64 => u64, F32 => f32, F64 => f64)
    }

    fn retain_typed<T: KeyValue>(&self, candidates: &mut Candidates<'_>, values: impl Fn(&Flat) -> &[T]) {
        match self.vector.data() {
            Data::Flat(flat) => {
                let values = values(flat);
                debug_assert_eq!(values.len(), self.vector.len());
                // SAFETY: candidates were checked to lie inside the vector.
                self.retain_values(candidates, |i| unsafe { *values.get_unchecked(i) });
            }
            Data::Constant(flat) => {
                let value = values(flat)[0];
                self.retain_values(candidates, |_| value);
            }
            Data::Dictionary(codes, dictionary) => {
                // With an empty dictionary all rows are NULL, and values aren't read.
                let values = values(dictionary.values());
                dictionary.note_loads(codes);
                self.retain_values(candidates, |i| values[codes[i] as usize]);
            }
        }
    }

    #[inline(always)]
    fn retain_values<T: KeyValue>(&self, candidates: &mut Candidates<'_>, value: impl Fn(usize) -> T) {
        let offset = self.layout.column_offset(self.column);
        let rows = self.rows;
        godwit_trace::loads(|loads| {
            let compared = &candidates.equal;
            loads.each(compared.len(), |i| rows[compared[i] as usize].as_ptr().wrapping_add(offset));
        });
        let equal = |i: usize| {
            // SAFETY: candidates were checked to lie inside `rows`, and their rows are pinned.
            let stored = unsafe { rows.get_unchecked(i).read::<T>(offset) };
            stored.key_equals(value(i))
        };
        let validity: Option<&Bitmap> = self.vector.validity().map(|validity| &**validity);
        if validity.is_none() && !self.layout.has_nulls(self.column) {
            candidates.retain(equal);
        } else {
            candidates.retain(|i| {
                // SAFETY: as above.
                let stored = unsafe { self.layout.is_valid(rows[i], self.column) };
                let probed = validity.is_none_or(|validity| validity.get(i));
                if stored && probed { equal(i) } else { self.nulls_equal && stored == probed }
            });
        }
    }
}

impl Candidates<'_> {
    /// Splits the candidates without a branch on the outcome.
    #[inline(always)]
    fn retain(&mut self, equal: impl Fn(usize) -> bool) {
        let candidates = &mut self.equal[..];
        let unequal = &mut *self.unequal;
        let (mut kept, mut end) = (0, unequal.len());
        unequal.resize(end + candidates.len(), 0);
        for at in 0..candidates.len() {
            let i = candidates[at];
            let is_equal = equal(i as usize);
            candidates[kept] = i;
            unequal[end] = i;
            kept += is_equal as usize;
            end += !is_equal as usize;
        }
        unequal.truncate(end);
        self.equal.truncate(kept);
    }
}

fn live_strings(flat: &Flat) -> &[LiveString] {
    let views = flat.strings().views();
    // SAFETY: `LiveString` wraps a view and nothing else.
    unsafe { std::slice::from_raw_parts(views.as_ptr().cast::<LiveString>(), views.len()) }
}
