//! Arrow arrays in other layouts of the same SQL values.
//!
//! ```text
//! text, blobs    offsets of 32 or 64 bits, views, one size for all    lists    offsets of 32 or 64 bits, one size for all
//! moments        units from seconds to nanoseconds                    codes    their dictionary's values, runs unrolled
//! decimals       in 32 to 256 bits                                    NULLs    those of any type
//! ```
//!
//! Files choose among them, while an expression knows one: [`arrow_type`](crate::sql::arrow_type)'s.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::*;
use arrow_buffer::{IntervalMonthDayNano, NullBuffer, OffsetBuffer};
use arrow_schema::{ArrowError, DataType, FieldRef, IntervalUnit, TimeUnit};
use godwit_common::{Error, Result, SqlState};
use godwit_types::calendar::{INFINITE_DAYS, INFINITE_TICKS};

use crate::kernels::date::NANOSECONDS_PER_DAY;
use crate::{Flat, Vector, from_arrow, to_arrow};

/// Converts an array to another type for the same SQL values.
///
/// # Errors
/// If a value doesn't fit the type: decimals with too many digits, moments too far away for a finer unit, lists with too
/// many elements for its offsets. Also if the types stand for different SQL values, which is a bug.
pub fn in_layout(array: &ArrayRef, to: &DataType) -> Result<ArrayRef> {
    use DataType as D;
    if array.data_type() == to {
        return Ok(Arc::clone(array));
    }
    match (array.data_type(), to) {
        (D::Null, _) => Ok(new_null_array(to, array.len())),
        (D::Dictionary(..), _) => in_layout(&decoded(array)?, to),
        (D::RunEndEncoded(..), _) => in_layout(&unrolled(array)?, to),
        (D::List(_) | D::LargeList(_) | D::FixedSizeList(..), D::List(_) | D::LargeList(_) | D::FixedSizeList(..))
        | (D::Map(..), D::Map(..)) => lists(array, to),
        (D::Struct(_), D::Struct(fields)) => {
            let columns = array.as_struct().columns().iter().zip(fields);
            let columns = columns.map(|(column, field)| in_layout(column, field.data_type())).collect::<Result<_>>()?;
            let nulls = array.nulls().cloned();
            Ok(Arc::new(StructArray::try_new_with_length(fields.clone(), columns, nulls, array.len()).map_err(unfit)?))
        }
        (D::Duration(_) | D::Interval(_), D::Interval(IntervalUnit::MonthDayNano)) => intervals(array),
        (D::Float16, D::Float32) => {
            Ok(Arc::new(array.as_primitive::<Float16Type>().unary::<_, Float32Type>(f32::from)))
        }
        (D::Float16, D::Float64) => {
            Ok(Arc::new(array.as_primitive::<Float16Type>().unary::<_, Float64Type>(f64::from)))
        }
        (_, D::Decimal128(precision, scale)) => decimals(array, *precision, *scale),
        (from, _) if is_bytes(from) && is_bytes(to) => to_arrow(&from_arrow(array)?, to),
        (from, _) => match (tick_nanos(from), tick_nanos(to)) {
            (Some(from), Some(to_nanos)) => to_arrow(&ticks(array, from, to_nanos)?, to),
            _ => Err(Error::internal(format!("values of the Arrow type {from} can't become {to}"))),
        },
    }
}

fn unfit(error: ArrowError) -> Error {
    Error::corrupt(error.to_string())
}

/// Returns the values that codes stand for.
fn decoded(array: &ArrayRef) -> Result<ArrayRef> {
    let dictionary = array.as_any_dictionary();
    let codes = in_rows(&dictionary.normalized_keys(), dictionary.keys().nulls())?;
    take(dictionary.values(), &codes)
}

/// Returns a value for each row of an array of runs.
fn unrolled(array: &ArrayRef) -> Result<ArrayRef> {
    let any: &dyn Array = array.as_ref();
    downcast_run_array!(
        any => {
            let rows: Vec<usize> = (0..any.len()).map(|row| any.get_physical_index(row)).collect();
            take(any.values(), &in_rows(&rows, None)?)
        },
        other => Err(Error::internal(format!("runs of the Arrow type {other}")))
    )
}

fn in_rows(rows: &[usize], nulls: Option<&NullBuffer>) -> Result<UInt32Array> {
    let rows = rows.iter().map(|&row| u32::try_from(row)).collect::<std::result::Result<Vec<_>, _>>();
    let rows = rows.map_err(|_| Error::unsupported("arrays of more than 4 billion values"))?;
    Ok(UInt32Array::new(rows.into(), nulls.cloned()))
}

fn take(values: &ArrayRef, rows: &UInt32Array) -> Result<ArrayRef> {
    arrow_select::take::take(values, rows, None).map_err(unfit)
}

/// Lists of any layout, and maps, which are lists of entries.
fn lists(array: &ArrayRef, to: &DataType) -> Result<ArrayRef> {
    use DataType as D;
    let wide = |offsets: &[i32]| -> Vec<usize> { offsets.iter().map(|&offset| offset as usize).collect() };
    let (offsets, items): (Vec<usize>, ArrayRef) = match array.data_type() {
        D::FixedSizeList(_, size) => {
            let offsets = (0..=array.len()).map(|row| row * *size as usize).collect();
            (offsets, Arc::clone(array.as_fixed_size_list().values()))
        }
        D::LargeList(_) => {
            let lists = array.as_list::<i64>();
            (lists.value_offsets().iter().map(|&offset| offset as usize).collect(), Arc::clone(lists.values()))
        }
        D::Map(..) => (wide(array.as_map().value_offsets()), Arc::new(array.as_map().entries().clone())),
        _ => (wide(array.as_list::<i32>().value_offsets()), Arc::clone(array.as_list::<i32>().values())),
    };
    // A slice of an array has the items of all rows.
    let (start, end) = (offsets[0], offsets[array.len()]);
    let items = items.slice(start, end - start);
    let items = |field: &FieldRef| in_layout(&items, field.data_type());
    let nulls = array.nulls().cloned();
    let lists: std::result::Result<ArrayRef, ArrowError> = match (array.data_type(), to) {
        (_, D::List(field)) => ListArray::try_new(Arc::clone(field), shifted(&offsets)?, items(field)?, nulls)
            .map(|lists| Arc::new(lists) as _),
        (_, D::LargeList(field)) => {
            LargeListArray::try_new(Arc::clone(field), shifted(&offsets)?, items(field)?, nulls)
                .map(|lists| Arc::new(lists) as _)
        }
        (D::FixedSizeList(_, stored), D::FixedSizeList(field, size)) if stored == size => {
            let items = items(field)?;
            FixedSizeListArray::try_new_with_length(Arc::clone(field), *size, items, nulls, array.len())
                .map(|lists| Arc::new(lists) as _)
        }
        (D::Map(..), D::Map(field, is_sorted)) => {
            let entries = items(field)?.as_struct().clone();
            MapArray::try_new(Arc::clone(field), shifted(&offsets)?, entries, nulls, *is_sorted)
                .map(|maps| Arc::new(maps) as _)
        }
        (from, _) => return Err(Error::internal(format!("lists of the Arrow type {from} can't become {to}"))),
    };
    lists.map_err(unfit)
}

/// Returns offsets into the items of a slice.
fn shifted<O: OffsetSizeTrait>(offsets: &[usize]) -> Result<OffsetBuffer<O>> {
    let shifted = offsets.iter().map(|offset| O::from_usize(offset - offsets[0])).collect::<Option<Vec<O>>>();
    let shifted = shifted.ok_or_else(|| Error::unsupported("lists of more than 2 billion elements in one chunk"))?;
    Ok(OffsetBuffer::new(shifted.into()))
}

fn is_bytes(data_type: &DataType) -> bool {
    use DataType as D;
    matches!(
        data_type,
        D::Utf8 | D::LargeUtf8 | D::Utf8View | D::Binary | D::LargeBinary | D::BinaryView | D::FixedSizeBinary(_)
    )
}

fn decimals(array: &ArrayRef, precision: u8, scale: i8) -> Result<ArrayRef> {
    fn digits<T: DecimalType>(array: &ArrayRef) -> Vec<Option<i128>>
    where
        T::Native: Into<i128>,
    {
        array.as_primitive::<T>().values().iter().map(|&value| Some(value.into())).collect()
    }
    let (stored_scale, values) = match array.data_type() {
        DataType::Decimal32(_, scale) => (*scale, digits::<Decimal32Type>(array)),
        DataType::Decimal64(_, scale) => (*scale, digits::<Decimal64Type>(array)),
        DataType::Decimal128(_, scale) => (*scale, digits::<Decimal128Type>(array)),
        DataType::Decimal256(_, scale) => {
            (*scale, array.as_primitive::<Decimal256Type>().values().iter().map(|value| value.to_i128()).collect())
        }
        other => return Err(Error::internal(format!("values of the Arrow type {other} can't become decimals"))),
    };
    // Only scales below 0 differ from those of SQL's types.
    let factor =
        u32::try_from(i32::from(scale) - i32::from(stored_scale)).ok().and_then(|zeros| 10i128.checked_pow(zeros));
    let limit = 10i128.checked_pow(precision.into());
    let scaled = |(row, value): (usize, Option<i128>)| {
        if array.is_null(row) {
            return Ok(0);
        }
        let value = value.zip(factor).and_then(|(value, factor)| value.checked_mul(factor));
        value.filter(|value| limit.is_some_and(|limit| value.unsigned_abs() < limit.unsigned_abs())).ok_or_else(|| {
            Error::user(format!("a decimal has more than {precision} digits"))
                .with_code(SqlState::NUMERIC_VALUE_OUT_OF_RANGE)
        })
    };
    let values = values.into_iter().enumerate().map(scaled).collect::<Result<Vec<i128>>>()?;
    let decimals = Decimal128Array::new(values.into(), array.nulls().cloned());
    Ok(Arc::new(decimals.with_precision_and_scale(precision, scale).map_err(unfit)?))
}

/// Returns the nanoseconds in a unit of a date, a time, a timestamp or a duration.
fn tick_nanos(data_type: &DataType) -> Option<i64> {
    use DataType as D;
    Some(match data_type {
        D::Date32 => NANOSECONDS_PER_DAY,
        D::Date64 => 1_000_000,
        D::Time32(unit) | D::Time64(unit) | D::Timestamp(unit, _) | D::Duration(unit) => match unit {
            TimeUnit::Second => 1_000_000_000,
            TimeUnit::Millisecond => 1_000_000,
            TimeUnit::Microsecond => 1_000,
            TimeUnit::Nanosecond => 1,
        },
        _ => return None,
    })
}

/// Converts dates, times, timestamps and durations to another unit, towards the past where it is coarser.
fn ticks(array: &ArrayRef, from_nanos: i64, to_nanos: i64) -> Result<Vector> {
    let vector = from_arrow(array)?;
    let flat = vector.to_flat();
    let values: Vec<i64> = match &flat {
        Flat::I32(values) => values.iter().map(|&value| value.into()).collect(),
        Flat::I64(values) => values.to_vec(),
        other => return Err(Error::internal(format!("{:?} for moments", other.physical()))),
    };
    let infinite = match array.data_type() {
        DataType::Date32 => Some(i64::from(INFINITE_DAYS)),
        DataType::Timestamp(..) => Some(INFINITE_TICKS),
        _ => None,
    };
    let converted = |(row, value): (usize, i64)| match from_nanos >= to_nanos {
        _ if !vector.is_valid(row) => Ok(0),
        _ if infinite.is_some_and(|infinite| value.saturating_abs() >= infinite) => Ok(value.signum() * INFINITE_TICKS),
        true => value
            .checked_mul(from_nanos / to_nanos)
            .ok_or_else(|| Error::user("a date or time is out of range").with_code(SqlState::DATETIME_FIELD_OVERFLOW)),
        false => Ok(value.div_euclid(to_nanos / from_nanos)),
    };
    let values = values.into_iter().enumerate().map(converted).collect::<Result<Vec<i64>>>()?;
    Ok(Vector::from_values(values, None).with_validity(vector.validity().cloned()))
}

fn intervals(array: &ArrayRef) -> Result<ArrayRef> {
    let intervals: IntervalMonthDayNanoArray = match array.data_type() {
        DataType::Interval(IntervalUnit::YearMonth) => {
            array.as_primitive::<IntervalYearMonthType>().unary(|months| IntervalMonthDayNano::new(months, 0, 0))
        }
        DataType::Interval(IntervalUnit::DayTime) => array.as_primitive::<IntervalDayTimeType>().unary(|interval| {
            IntervalMonthDayNano::new(0, interval.days, i64::from(interval.milliseconds) * 1_000_000)
        }),
        duration => {
            let nanos = tick_nanos(duration).ok_or_else(|| Error::internal(format!("{duration} is no interval")))?;
            let nanos = ticks(array, nanos, 1)?.to_flat();
            let intervals = nanos.values::<i64>().iter().map(|&nanos| IntervalMonthDayNano::new(0, 0, nanos));
            IntervalMonthDayNanoArray::new(intervals.collect(), array.nulls().cloned())
        }
    };
    Ok(Arc::new(intervals))
}

#[cfg(test)]
mod tests {
    use arrow_array::builder::{Int32Builder, ListBuilder, MapBuilder, StringBuilder, StringDictionaryBuilder};
    use arrow_buffer::i256;
    use arrow_schema::Field;
    use godwit_types::SqlType;

    use super::*;
    use crate::sql::{arrow_type, value_at};

    fn texts(array: &ArrayRef, ty: &SqlType) -> Vec<String> {
        let converted = in_layout(array, &arrow_type(ty).unwrap()).unwrap();
        assert_eq!(*converted.data_type(), arrow_type(ty).unwrap());
        let text = |row| godwit_types::format_value(&value_at(&converted, row, ty).unwrap(), ty);
        (0..array.len()).map(text).collect()
    }

    #[test]
    fn text_and_blobs_change_their_layout() {
        let long = "longer than what a view holds itself";
        let text: ArrayRef = Arc::new(StringArray::from(vec![Some("a"), None, Some(long)]));
        assert_eq!(texts(&text, &SqlType::Varchar), ["a", "NULL", long]);
        let blobs: ArrayRef = Arc::new(LargeBinaryArray::from(vec![&b"a"[..], b"b"]));
        assert_eq!(texts(&blobs, &SqlType::Blob), ["\\x61", "\\x62"]);
        let wrong: ArrayRef = Arc::new(BinaryArray::from(vec![&b"\xFF"[..]]));
        assert!(in_layout(&wrong, &DataType::Utf8View).is_err());
    }

    #[test]
    fn codes_and_runs_become_values() {
        let mut builder = StringDictionaryBuilder::<Int8Type>::new();
        ["x", "y", "x"].iter().for_each(|text| builder.append_value(text));
        builder.append_null();
        let codes: ArrayRef = Arc::new(builder.finish());
        assert_eq!(texts(&codes, &SqlType::Varchar), ["x", "y", "x", "NULL"]);
        let runs = RunArray::try_new(&Int32Array::from(vec![2, 3, 5]), &Int16Array::from(vec![Some(7), None, Some(9)]));
        let runs: ArrayRef = Arc::new(runs.unwrap());
        assert_eq!(texts(&runs, &SqlType::SmallInt), ["7", "7", "NULL", "9", "9"]);
        assert_eq!(texts(&runs.slice(1, 3), &SqlType::SmallInt), ["7", "NULL", "9"]);
    }

    #[test]
    fn moments_change_their_unit_and_fail_out_of_range() {
        let millis: ArrayRef = Arc::new(Time32MillisecondArray::from(vec![Some(1_500), None]));
        assert_eq!(texts(&millis, &SqlType::Time), ["00:00:01.5", "NULL"]);
        let days: ArrayRef = Arc::new(Date64Array::from(vec![-1, 86_400_000]));
        assert_eq!(texts(&days, &SqlType::Date), ["1969-12-31", "1970-01-02"]);
        assert_eq!(texts(&days, &SqlType::Timestamp), ["1969-12-31 23:59:59.999", "1970-01-02 00:00:00"]);
        let nanos: ArrayRef = Arc::new(TimestampNanosecondArray::from(vec![-1]).with_timezone("Europe/Berlin"));
        assert_eq!(texts(&nanos, &SqlType::TimestampTz), ["1969-12-31 23:59:59.999999+00"]);
        let far: ArrayRef = Arc::new(TimestampSecondArray::from(vec![Some(i64::MAX - 1)]));
        let error = in_layout(&far, &DataType::Timestamp(TimeUnit::Microsecond, None)).unwrap_err();
        assert_eq!(error.code(), SqlState::DATETIME_FIELD_OVERFLOW);
        let infinite: ArrayRef = Arc::new(TimestampSecondArray::from(vec![i64::MAX, -i64::MAX]));
        assert_eq!(texts(&infinite, &SqlType::Timestamp), ["infinity", "-infinity"]);
        let hours: ArrayRef = Arc::new(DurationSecondArray::from(vec![7_200]));
        assert_eq!(texts(&hours, &SqlType::Interval), ["02:00:00"]);
        let months: ArrayRef = Arc::new(IntervalYearMonthArray::from(vec![14]));
        assert_eq!(texts(&months, &SqlType::Interval), ["1 year 2 months"]);
    }

    #[test]
    fn decimals_are_widened_narrowed_and_scaled() {
        let ty = SqlType::decimal(9, 2);
        let small: ArrayRef =
            Arc::new(Decimal32Array::from(vec![Some(-150), None]).with_precision_and_scale(9, 2).unwrap());
        assert_eq!(texts(&small, &ty), ["-1.50", "NULL"]);
        let thousands: ArrayRef = Arc::new(Decimal64Array::from(vec![12]).with_precision_and_scale(5, -3).unwrap());
        assert_eq!(texts(&thousands, &SqlType::decimal(8, 0)), ["12000"]);
        let wide = Decimal256Array::from(vec![i256::from_i128(i128::MAX), i256::from_i128(1)]);
        let wide: ArrayRef = Arc::new(wide.with_precision_and_scale(39, 0).unwrap());
        let error = in_layout(&wide, &DataType::Decimal128(38, 0)).unwrap_err();
        assert_eq!(error.code(), SqlState::NUMERIC_VALUE_OUT_OF_RANGE);
        assert_eq!(texts(&wide.slice(1, 1), &SqlType::decimal(38, 0)), ["1"]);
    }

    #[test]
    fn nested_values_change_inside() {
        let mut builder = ListBuilder::new(StringBuilder::new());
        builder.append_value([Some("a"), None]);
        builder.append_null();
        builder.append_value([Some("b")]);
        let lists: ArrayRef = Arc::new(builder.finish());
        let ty = SqlType::list_of(SqlType::Varchar);
        assert_eq!(texts(&lists, &ty), ["[a, NULL]", "NULL", "[b]"]);
        let large = DataType::LargeList(Arc::new(Field::new_list_field(DataType::Utf8, true)));
        let large = in_layout(&lists.slice(1, 2), &large).unwrap();
        assert_eq!(texts(&large, &ty), ["NULL", "[b]"]);
        let fields = vec![Arc::new(Field::new("l", lists.data_type().clone(), true))];
        let structs: ArrayRef = Arc::new(StructArray::new(fields.into(), vec![lists], None));
        assert_eq!(
            texts(&structs, &SqlType::struct_of([("l", ty)])),
            ["{'l': [a, NULL]}", "{'l': NULL}", "{'l': [b]}"]
        );
        let fixed: ArrayRef = Arc::new(FixedSizeListArray::new(
            Arc::new(Field::new_list_field(DataType::Null, true)),
            2,
            Arc::new(NullArray::new(4)),
            None,
        ));
        assert_eq!(texts(&fixed.slice(1, 1), &SqlType::Array(Arc::new(SqlType::Double), 2)), ["[NULL, NULL]"]);
        let field = Arc::new(Field::new_list_field(DataType::Null, true));
        let none = FixedSizeListArray::try_new_with_length(field, 0, Arc::new(NullArray::new(0)), None, 2);
        let none: ArrayRef = Arc::new(none.unwrap());
        assert_eq!(texts(&none, &SqlType::Array(Arc::new(SqlType::Double), 0)), ["[]", "[]"]);
        let mut builder = MapBuilder::new(None, StringBuilder::new(), Int32Builder::new());
        for (key, value) in [("a", 1), ("b", 2)] {
            builder.keys().append_value(key);
            builder.values().append_value(value);
            builder.append(true).unwrap();
        }
        let maps: ArrayRef = Arc::new(builder.finish());
        let ty = SqlType::Map(Arc::new((SqlType::Varchar, SqlType::Integer)));
        assert_eq!(texts(&maps, &ty), ["{a=1}", "{b=2}"]);
        let last = in_layout(&maps.slice(1, 1), &arrow_type(&ty).unwrap()).unwrap();
        assert_eq!(last.as_map().entries().len(), 1, "only the entries of the slice are converted");
        assert_eq!(texts(&maps.slice(1, 1), &ty), ["{b=2}"]);
    }
}
