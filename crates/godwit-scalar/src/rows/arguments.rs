//! Arguments as seen by functions of one row.

use arrow_array::cast::AsArray;
use arrow_array::types::IntervalMonthDayNanoType;
use arrow_buffer::ScalarBuffer;
use godwit_common::Result;
use godwit_types::{Interval, SqlType};
use godwit_vector::kernels::string::find;
use godwit_vector::sql::sql_interval;
use godwit_vector::{Data, Flat, Native, Vector};
use memchr::memmem::{self, Finder};

use super::Strings;
use super::pace::{Pace, find_in_windows};

/// The type of an argument.
pub(crate) trait Argument: 'static {
    /// The SQL type.
    const TYPE: SqlType;
    /// A value.
    type Item<'a>: Copy;
    /// All values of a chunk.
    type Column;

    fn column(vector: &Vector) -> Self::Column;

    fn item(column: &Self::Column, row: usize) -> Self::Item<'_>;
}

/// The types of all arguments, as a tuple.
pub(crate) trait Arguments: 'static {
    type Items<'a>;
    type Columns;

    fn types() -> Vec<SqlType>;

    fn columns(arguments: &[Vector]) -> Self::Columns;

    fn items(columns: &Self::Columns, row: usize) -> Self::Items<'_>;
}

macro_rules! tuples {
    ($($argument:ident $at:tt),*) => {
        impl<$($argument: Argument),*> Arguments for ($($argument,)*) {
            type Items<'a> = ($($argument::Item<'a>,)*);
            type Columns = ($($argument::Column,)*);

            fn types() -> Vec<SqlType> {
                vec![$($argument::TYPE),*]
            }

            #[allow(unused_variables, clippy::unused_unit, reason = "there may be no argument")]
            fn columns(arguments: &[Vector]) -> Self::Columns {
                ($($argument::column(&arguments[$at]),)*)
            }

            #[allow(unused_variables, clippy::unused_unit, reason = "there may be no argument")]
            #[inline]
            fn items(columns: &Self::Columns, row: usize) -> Self::Items<'_> {
                ($($argument::item(&columns.$at, row),)*)
            }
        }
    };
}

tuples!();
tuples!(A 0);
tuples!(A 0, B 1);
tuples!(A 0, B 1, C 2);
tuples!(A 0, B 1, C 2, D 3);
tuples!(A 0, B 1, C 2, D 3, E 4);
tuples!(A 0, B 1, C 2, D 3, E 4, G 5);
tuples!(A 0, B 1, C 2, D 3, E 4, G 5, H 6);

/// Returns the values of a vector, and the stride between rows: 0 for a constant.
pub(crate) fn strided(vector: &Vector) -> (Flat, usize) {
    match vector.data() {
        Data::Constant(flat) => (flat.clone(), 0),
        Data::Flat(_) | Data::Dictionary(..) => (vector.to_flat(), 1),
    }
}

/// Fixed-width values, one for each row or one for all.
pub(crate) struct Values<T: Native> {
    values: ScalarBuffer<T>,
    stride: usize,
}

impl<T: Native> Values<T> {
    pub(crate) fn of(vector: &Vector) -> Self {
        let (flat, stride) = strided(vector);
        let values = T::of(&flat).unwrap_or_else(|| panic!("expected {:?}, found {:?}", T::PHYSICAL, flat.physical()));
        Self { values: values.clone(), stride }
    }

    #[inline]
    pub(crate) fn get(&self, row: usize) -> T {
        self.values[row * self.stride]
    }
}

macro_rules! fixed_arguments {
    ($($argument:ty => $ty:ident $native:ty),*) => {$(
        impl Argument for $argument {
            const TYPE: SqlType = SqlType::$ty;
            type Item<'a> = $native;
            type Column = Values<$native>;

            fn column(vector: &Vector) -> Self::Column {
                Values::of(vector)
            }

            #[inline]
            fn item(column: &Self::Column, row: usize) -> $native {
                column.get(row)
            }
        }
    )*};
}

/// DATE: days since 1970.
pub(crate) struct Date;

/// TIME: microseconds since midnight.
pub(crate) struct Time;

/// TIME WITH TIME ZONE: the bits of a [`godwit_types::TimeTz`].
pub(crate) struct TimeTz;

/// TIMESTAMP: microseconds since 1970.
pub(crate) struct Timestamp;

/// TIMESTAMP WITH TIME ZONE: microseconds since 1970 in UTC.
pub(crate) struct TimestampTz;

fixed_arguments!(
    i8 => TinyInt i8,
    i16 => SmallInt i16,
    i32 => Integer i32,
    i64 => BigInt i64,
    i128 => HugeInt i128,
    u8 => UTinyInt u8,
    u16 => USmallInt u16,
    u32 => UInteger u32,
    u64 => UBigInt u64,
    f32 => Real f32,
    f64 => Double f64,
    Date => Date i32,
    Time => Time i64,
    TimeTz => TimeTz i64,
    Timestamp => Timestamp i64,
    TimestampTz => TimestampTz i64
);

impl Argument for bool {
    const TYPE: SqlType = SqlType::Boolean;
    type Item<'a> = bool;
    type Column = (ScalarBuffer<u8>, usize);

    fn column(vector: &Vector) -> Self::Column {
        match strided(vector) {
            (Flat::Bool(values), stride) => (values, stride),
            (other, _) => panic!("expected Bool, found {:?}", other.physical()),
        }
    }

    #[inline]
    fn item((values, stride): &Self::Column, row: usize) -> bool {
        values[row * stride] != 0
    }
}

/// VARCHAR.
pub(crate) struct Text;

/// JSON, as text.
pub(crate) struct Json;

/// BLOB.
pub(crate) struct Blob;

/// Returns bytes as text: readers have checked that texts are UTF-8.
#[inline]
pub(super) fn text_of(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("texts are UTF-8")
}

macro_rules! text_arguments {
    ($($argument:ident => $ty:ident),*) => {$(
        impl Argument for $argument {
            const TYPE: SqlType = SqlType::$ty;
            type Item<'a> = &'a str;
            type Column = Strings;

            fn column(vector: &Vector) -> Self::Column {
                Strings::of(vector)
            }

            #[inline]
            fn item(column: &Self::Column, row: usize) -> &str {
                column.text(row)
            }
        }
    )*};
}

text_arguments!(Text => Varchar, Json => Json);

/// VARCHAR as its bytes, for functions that needn't distinguish characters.
pub(crate) struct TextBytes;

macro_rules! byte_arguments {
    ($($argument:ident => $ty:ident),*) => {$(
        impl Argument for $argument {
            const TYPE: SqlType = SqlType::$ty;
            type Item<'a> = &'a [u8];
            type Column = Strings;

            fn column(vector: &Vector) -> Self::Column {
                Strings::of(vector)
            }

            #[inline]
            fn item(column: &Self::Column, row: usize) -> &[u8] {
                column.bytes(row)
            }
        }
    )*};
}

byte_arguments!(Blob => Blob, TextBytes => Varchar);

/// A VARCHAR to search for. A constant is prepared once per chunk.
pub(crate) struct Pattern;

/// A text to search for.
#[derive(Clone, Copy)]
pub(crate) struct Needle<'a> {
    bytes: &'a [u8],
    finder: Option<&'a Finder<'static>>,
}

impl<'a> Needle<'a> {
    pub(crate) fn bytes(self) -> &'a [u8] {
        self.bytes
    }

    /// Returns its first occurrence.
    #[inline]
    pub(crate) fn find(self, haystack: &[u8], pace: &mut Pace<'_>) -> Result<Option<usize>> {
        find_in_windows(haystack, self.bytes.len(), pace, |window| {
            find(window, self.bytes, || match self.finder {
                Some(finder) => finder.find(window),
                None => memmem::find(window, self.bytes),
            })
        })
    }
}

impl Argument for Pattern {
    const TYPE: SqlType = SqlType::Varchar;
    type Item<'a> = Needle<'a>;
    type Column = (Strings, Option<Finder<'static>>);

    fn column(vector: &Vector) -> Self::Column {
        let strings = Strings::of(vector);
        let is_constant = matches!(vector.data(), Data::Constant(_));
        let finder = is_constant.then(|| Finder::new(strings.bytes(0)).into_owned());
        (strings, finder)
    }

    #[inline]
    fn item((strings, finder): &Self::Column, row: usize) -> Needle<'_> {
        Needle { bytes: strings.bytes(row), finder: finder.as_ref() }
    }
}

/// INTERVAL.
pub(crate) struct Intervals;

impl Argument for Intervals {
    const TYPE: SqlType = SqlType::Interval;
    type Item<'a> = Interval;
    type Column = (Vec<Interval>, usize);

    fn column(vector: &Vector) -> Self::Column {
        let (flat, stride) = strided(vector);
        let Flat::Nested(array) = flat else { panic!("intervals are nested") };
        let values = array.as_primitive::<IntervalMonthDayNanoType>().values();
        (values.iter().copied().map(sql_interval).collect(), stride)
    }

    #[inline]
    fn item((values, stride): &Self::Column, row: usize) -> Interval {
        values[row * stride]
    }
}
