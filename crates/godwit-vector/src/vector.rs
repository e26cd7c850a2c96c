//! Vectors: a column of values, flat, constant, or as codes into a shared dictionary.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, new_null_array};
use arrow_buffer::{ArrowNativeType, ScalarBuffer};

use crate::{Bitmap, ColumnType, Dictionary, PhysicalType, StrColumn};

/// A sequence of values. Cheap to clone; buffers are shared.
#[derive(Clone)]
#[allow(missing_docs, reason = "the variants are the physical types")]
pub enum Flat {
    /// One byte per value, 0 or 1.
    Bool(ScalarBuffer<u8>),
    I8(ScalarBuffer<i8>),
    I16(ScalarBuffer<i16>),
    I32(ScalarBuffer<i32>),
    I64(ScalarBuffer<i64>),
    I128(ScalarBuffer<i128>),
    U8(ScalarBuffer<u8>),
    U16(ScalarBuffer<u16>),
    U32(ScalarBuffer<u32>),
    U64(ScalarBuffer<u64>),
    F32(ScalarBuffer<f32>),
    F64(ScalarBuffer<f64>),
    Str(StrColumn),
    /// An Arrow array of a nested type; its own NULLs are repeated in the vector's validity.
    Nested(ArrayRef),
}

/// Fixed-width values with their own [`Flat`] variant.
pub trait Native: ArrowNativeType + Send + Sync {
    /// The physical type.
    const PHYSICAL: PhysicalType;
    /// Wraps values.
    fn into_flat(values: ScalarBuffer<Self>) -> Flat;
    /// Returns the values, if `flat` holds this type.
    fn of(flat: &Flat) -> Option<&ScalarBuffer<Self>>;
}

macro_rules! natives {
    ($($t:ty => $variant:ident),*) => { $(
        impl Native for $t {
            const PHYSICAL: PhysicalType = PhysicalType::$variant;
            fn into_flat(values: ScalarBuffer<Self>) -> Flat { Flat::$variant(values) }
            fn of(flat: &Flat) -> Option<&ScalarBuffer<Self>> {
                match flat { Flat::$variant(values) => Some(values), _ => None }
            }
        }
    )* };
}
natives!(i8 => I8, i16 => I16, i32 => I32, i64 => I64, i128 => I128, u8 => U8, u16 => U16, u32 => U32, u64 => U64,
         f32 => F32, f64 => F64);

/// Runs `$body` with `$values` bound to the typed buffer of any fixed-width variant (`Bool` as `u8`), `$str` with the
/// string column, or `$nested` with the Arrow array.
#[macro_export]
macro_rules! match_flat {
    ($flat:expr, $values:ident => $body:expr, $strings:ident => $str_body:expr, $array:ident => $nested_body:expr) => {
        match $flat {
            $crate::Flat::Bool($values) | $crate::Flat::U8($values) => $body,
            $crate::Flat::I8($values) => $body,
            $crate::Flat::I16($values) => $body,
            $crate::Flat::I32($values) => $body,
            $crate::Flat::I64($values) => $body,
            $crate::Flat::I128($values) => $body,
            $crate::Flat::U16($values) => $body,
            $crate::Flat::U32($values) => $body,
            $crate::Flat::U64($values) => $body,
            $crate::Flat::F32($values) => $body,
            $crate::Flat::F64($values) => $body,
            $crate::Flat::Str($strings) => $str_body,
            $crate::Flat::Nested($array) => $nested_body,
        }
    };
}

impl Flat {
    /// The physical type.
    pub fn physical(&self) -> PhysicalType {
        match self {
            Flat::Bool(_) => PhysicalType::Bool,
            Flat::I8(_) => PhysicalType::I8,
            Flat::I16(_) => PhysicalType::I16,
            Flat::I32(_) => PhysicalType::I32,
            Flat::I64(_) => PhysicalType::I64,
            Flat::I128(_) => PhysicalType::I128,
            Flat::U8(_) => PhysicalType::U8,
            Flat::U16(_) => PhysicalType::U16,
            Flat::U32(_) => PhysicalType::U32,
            Flat::U64(_) => PhysicalType::U64,
            Flat::F32(_) => PhysicalType::F32,
            Flat::F64(_) => PhysicalType::F64,
            Flat::Str(_) => PhysicalType::Str,
            Flat::Nested(_) => PhysicalType::Nested,
        }
    }

    /// Number of values.
    pub fn len(&self) -> usize {
        match_flat!(self, values => values.len(), strings => strings.len(), array => array.len())
    }

    /// True if there are no values.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the typed values.
    ///
    /// # Panics
    /// If the physical type differs: a bug in the plan.
    #[inline]
    pub fn values<T: Native>(&self) -> &[T] {
        T::of(self).unwrap_or_else(|| panic!("expected {:?}, found {:?}", T::PHYSICAL, self.physical()))
    }

    /// Returns the values of a nested column as an array.
    pub fn nested(&self) -> &ArrayRef {
        match self {
            Flat::Nested(array) => array,
            other => panic!("expected nested values, found {:?}", other.physical()),
        }
    }

    /// Returns booleans as 0/1 bytes. Panics if the type differs.
    #[inline]
    pub fn bools(&self) -> &[u8] {
        match self {
            Flat::Bool(values) => values,
            other => panic!("expected Bool, found {:?}", other.physical()),
        }
    }

    /// Returns the strings. Panics if the type differs.
    #[inline]
    pub fn strings(&self) -> &StrColumn {
        match self {
            Flat::Str(strings) => strings,
            other => panic!("expected Str, found {:?}", other.physical()),
        }
    }

    /// Creates `len` default values (zero, empty string); panics for nested types.
    pub fn zeros(physical: PhysicalType, len: usize) -> Flat {
        use PhysicalType as P;
        match physical {
            P::Bool => Flat::Bool(vec![0u8; len].into()),
            P::I8 => Flat::I8(vec![0; len].into()),
            P::I16 => Flat::I16(vec![0; len].into()),
            P::I32 => Flat::I32(vec![0; len].into()),
            P::I64 => Flat::I64(vec![0; len].into()),
            P::I128 => Flat::I128(vec![0; len].into()),
            P::U8 => Flat::U8(vec![0; len].into()),
            P::U16 => Flat::U16(vec![0; len].into()),
            P::U32 => Flat::U32(vec![0; len].into()),
            P::U64 => Flat::U64(vec![0; len].into()),
            P::F32 => Flat::F32(vec![0.0; len].into()),
            P::F64 => Flat::F64(vec![0.0; len].into()),
            P::Str => Flat::Str(StrColumn::from_strings(std::iter::repeat_n("", len))),
            P::Nested => panic!("nested values have no default"),
        }
    }

    /// Returns the values at `rows`, in that order.
    pub fn take(&self, rows: &[u32]) -> Flat {
        fn gather<T: ArrowNativeType>(values: &[T], rows: &[u32]) -> ScalarBuffer<T> {
            ScalarBuffer::from(rows.iter().map(|&row| values[row as usize]).collect::<Vec<T>>())
        }
        match self {
            Flat::Bool(v) => Flat::Bool(gather(v, rows)),
            Flat::I8(v) => Flat::I8(gather(v, rows)),
            Flat::I16(v) => Flat::I16(gather(v, rows)),
            Flat::I32(v) => Flat::I32(gather(v, rows)),
            Flat::I64(v) => Flat::I64(gather(v, rows)),
            Flat::I128(v) => Flat::I128(gather(v, rows)),
            Flat::U8(v) => Flat::U8(gather(v, rows)),
            Flat::U16(v) => Flat::U16(gather(v, rows)),
            Flat::U32(v) => Flat::U32(gather(v, rows)),
            Flat::U64(v) => Flat::U64(gather(v, rows)),
            Flat::F32(v) => Flat::F32(gather(v, rows)),
            Flat::F64(v) => Flat::F64(gather(v, rows)),
            Flat::Str(v) => Flat::Str(v.take(rows)),
            Flat::Nested(array) => {
                let indices = arrow_array::UInt32Array::from(rows.to_vec());
                Flat::Nested(arrow_select::take::take(array, &indices, None).expect("rows lie inside the array"))
            }
        }
    }

    /// The address of the first value, and the bytes per value; null and 0 for nested values.
    pub fn memory(&self) -> (*const u8, usize) {
        fn of<T>(values: &[T]) -> (*const u8, usize) {
            (values.as_ptr().cast(), size_of::<T>())
        }
        match self {
            Flat::Str(strings) => of(strings.views()),
            Flat::Nested(_) => (std::ptr::null(), 0),
            flat => {
                match_flat!(flat, values => of(&values[..]), _s => unreachable!("above"), _n => unreachable!("above"))
            }
        }
    }

    /// Returns values `offset .. offset + len`; buffers are shared.
    pub fn slice(&self, offset: usize, len: usize) -> Flat {
        match self {
            Flat::Bool(v) => Flat::Bool(v.slice(offset, len)),
            Flat::I8(v) => Flat::I8(v.slice(offset, len)),
            Flat::I16(v) => Flat::I16(v.slice(offset, len)),
            Flat::I32(v) => Flat::I32(v.slice(offset, len)),
            Flat::I64(v) => Flat::I64(v.slice(offset, len)),
            Flat::I128(v) => Flat::I128(v.slice(offset, len)),
            Flat::U8(v) => Flat::U8(v.slice(offset, len)),
            Flat::U16(v) => Flat::U16(v.slice(offset, len)),
            Flat::U32(v) => Flat::U32(v.slice(offset, len)),
            Flat::U64(v) => Flat::U64(v.slice(offset, len)),
            Flat::F32(v) => Flat::F32(v.slice(offset, len)),
            Flat::F64(v) => Flat::F64(v.slice(offset, len)),
            Flat::Str(v) => Flat::Str(v.slice(offset, len)),
            Flat::Nested(array) => Flat::Nested(array.slice(offset, len)),
        }
    }
}

/// The representation of a vector's values.
#[derive(Clone)]
pub enum Data {
    /// One value per row.
    Flat(Flat),
    /// One value (a `Flat` of length 1) for all rows.
    Constant(Flat),
    /// One code per row into a shared dictionary. Codes of NULL rows are in bounds, too.
    Dictionary(ScalarBuffer<u32>, Arc<Dictionary>),
}

/// A column of values with NULLs. Cheap to clone; buffers are shared and never change.
#[derive(Clone)]
pub struct Vector {
    data: Data,
    /// `None`: no NULL. Never `Some` without a NULL in it. For a constant NULL: a bitmap with all `len` bits clear.
    validity: Option<Arc<Bitmap>>,
    len: usize,
}

impl Vector {
    /// Creates a flat vector.
    pub fn flat(flat: Flat, validity: Option<Bitmap>) -> Self {
        let len = flat.len();
        Self::assemble(Data::Flat(flat), validity, len)
    }

    /// Creates a flat vector of fixed-width values.
    pub fn from_values<T: Native>(values: Vec<T>, validity: Option<Bitmap>) -> Self {
        Self::flat(T::into_flat(values.into()), validity)
    }

    /// Creates a flat vector of booleans, 0 or 1 in each byte.
    pub fn from_bools(values: Vec<u8>, validity: Option<Bitmap>) -> Self {
        Self::flat(Flat::Bool(values.into()), validity)
    }

    /// Creates `len` rows of one value; `value` has length 1.
    pub fn constant(value: Flat, len: usize) -> Self {
        assert_eq!(value.len(), 1);
        Self { data: Data::Constant(value), validity: None, len }
    }

    /// Creates `len` rows of NULL.
    pub fn null(physical: PhysicalType, len: usize) -> Self {
        let value = Flat::zeros(physical, 1);
        Self::assemble(Data::Constant(value), Some(Bitmap::filled(len, false)), len)
    }

    /// Creates `len` rows of NULL of any type, nested ones included.
    pub fn null_of(ty: &ColumnType, len: usize) -> Self {
        match ty.physical {
            PhysicalType::Nested => {
                let value = Flat::Nested(new_null_array(&ty.logical, 1));
                Self::assemble(Data::Constant(value), Some(Bitmap::filled(len, false)), len)
            }
            physical => Self::null(physical, len),
        }
    }

    /// Creates a dictionary vector; every code must be below the dictionary's length (0 for NULL rows if it is empty).
    pub fn dictionary(codes: ScalarBuffer<u32>, dictionary: Arc<Dictionary>, validity: Option<Bitmap>) -> Self {
        let len = codes.len();
        debug_assert!(codes.iter().all(|&code| (code as usize) < dictionary.len().max(1)));
        Self::assemble(Data::Dictionary(codes, dictionary), validity, len)
    }

    fn assemble(data: Data, validity: Option<Bitmap>, len: usize) -> Self {
        if let Some(bitmap) = &validity {
            assert_eq!(bitmap.len(), len);
        }
        Self { data, validity: validity.filter(|bitmap| !bitmap.all()).map(Arc::new), len }
    }

    /// Replaces the validity.
    pub fn with_validity(mut self, validity: Option<Arc<Bitmap>>) -> Self {
        if let Some(bitmap) = &validity {
            assert_eq!(bitmap.len(), self.len);
        }
        self.validity = validity.filter(|bitmap| !bitmap.all());
        self
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.len
    }

    /// True if there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The values.
    pub fn data(&self) -> &Data {
        &self.data
    }

    /// Which rows are not NULL; `None` if all are.
    pub fn validity(&self) -> Option<&Arc<Bitmap>> {
        self.validity.as_ref()
    }

    /// True if `row` is not NULL.
    #[inline]
    pub fn is_valid(&self, row: usize) -> bool {
        self.validity.as_ref().is_none_or(|bitmap| bitmap.get(row))
    }

    /// True if some row is NULL.
    pub fn has_nulls(&self) -> bool {
        self.validity.is_some()
    }

    /// The physical type of the values.
    pub fn physical(&self) -> PhysicalType {
        match &self.data {
            Data::Flat(flat) | Data::Constant(flat) => flat.physical(),
            Data::Dictionary(_, dictionary) => dictionary.values().physical(),
        }
    }

    /// Returns the rows at `rows`, in that order. Dictionary and constant vectors keep their representation.
    pub fn take(&self, rows: &[u32]) -> Vector {
        let data = match &self.data {
            Data::Flat(flat) => Data::Flat(flat.take(rows)),
            Data::Constant(flat) => Data::Constant(flat.clone()),
            Data::Dictionary(codes, dictionary) => {
                let taken: Vec<u32> = rows.iter().map(|&row| codes[row as usize]).collect();
                Data::Dictionary(taken.into(), dictionary.clone())
            }
        };
        Self::assemble(data, self.validity.as_ref().map(|bitmap| bitmap.take(rows)), rows.len())
    }

    /// Returns rows `offset .. offset + len`; buffers are shared.
    pub fn slice(&self, offset: usize, len: usize) -> Vector {
        assert!(offset + len <= self.len);
        if offset == 0 && len == self.len {
            return self.clone();
        }
        let data = match &self.data {
            Data::Flat(flat) => Data::Flat(flat.slice(offset, len)),
            Data::Constant(flat) => Data::Constant(flat.clone()),
            Data::Dictionary(codes, dictionary) => Data::Dictionary(codes.slice(offset, len), dictionary.clone()),
        };
        Self::assemble(data, self.validity.as_ref().map(|bitmap| bitmap.slice(offset, len)), len)
    }

    /// Bytes of the strings in all rows; 0 for other types.
    pub fn text_bytes(&self) -> usize {
        match &self.data {
            Data::Flat(Flat::Str(strings)) => strings.views().iter().map(|view| view.len()).sum(),
            Data::Constant(Flat::Str(strings)) => strings.get(0).len() * self.len(),
            Data::Dictionary(codes, dictionary) => match dictionary.values() {
                Flat::Str(strings) if !strings.is_empty() => {
                    codes.iter().map(|&code| strings.views()[code as usize].len()).sum()
                }
                _ => 0,
            },
            Data::Flat(_) | Data::Constant(_) => 0,
        }
    }

    /// Returns one value per row: constants are repeated, codes looked up. NULL rows hold arbitrary values.
    pub fn to_flat(&self) -> Flat {
        match &self.data {
            Data::Flat(flat) => flat.clone(),
            Data::Constant(flat) => flat.take(&vec![0; self.len]),
            Data::Dictionary(codes, dictionary) => {
                if dictionary.is_empty() {
                    return Flat::zeros(self.physical(), self.len);
                }
                dictionary.note_loads(codes);
                dictionary.values().take(codes)
            }
        }
    }

    /// Returns the same rows as a flat vector.
    pub fn flattened(&self) -> Vector {
        match &self.data {
            Data::Flat(_) => self.clone(),
            _ => Self { data: Data::Flat(self.to_flat()), validity: self.validity.clone(), len: self.len },
        }
    }
}
