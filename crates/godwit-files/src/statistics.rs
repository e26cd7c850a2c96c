//! Statistics of files: bounds per row group and per page, and totals for the planner.

use arrow_array::{Array, ArrayRef, UInt64Array};
use arrow_schema::DataType;
use godwit_catalog::ColumnStatistics;
use godwit_pipeline::scan_filter::{Bounds, compare};
use godwit_types::Value;
use godwit_vector::sql::{Reader, arrow_type, is_same_but_layout, sql_type};
use godwit_vector::{PhysicalType, ValueRange, from_arrow, in_layout};
use parquet::arrow::arrow_reader::statistics::StatisticsConverter;

use crate::file::FileBytes;
use crate::footer::{FileColumn, ParquetFile, Stored, guard};

/// Bounds of a column in consecutive parts of a file: row groups, or the pages of one.
pub(crate) struct PartBounds {
    mins: Vec<Option<Value>>,
    maxes: Vec<Option<Value>>,
    nulls: Vec<Option<u64>>,
    rows: Vec<u64>,
}

impl PartBounds {
    fn new(mins: &ArrayRef, maxes: &ArrayRef, nulls: &UInt64Array, rows: Vec<u64>) -> Self {
        // NaN isn't part of bounds but sorts after all numbers, so there is no upper bound. Writers that didn't know
        // this have it as a lower one, which says nothing.
        let is_float = matches!(maxes.data_type(), DataType::Float16 | DataType::Float32 | DataType::Float64);
        let maxes = if is_float { Vec::new() } else { values_of(maxes).unwrap_or_default() };
        let mut mins = values_of(mins).unwrap_or_default();
        for min in &mut mins {
            min.take_if(|min| matches!(min, Value::Float(min) if min.is_nan()));
        }
        Self { mins, maxes, nulls: nulls.iter().collect(), rows }
    }

    /// Returns the bounds of a column that has one value in all row groups of a file.
    pub(crate) fn of_value(value: &Value, row_group_rows: &[usize]) -> Self {
        let rows: Vec<u64> = row_group_rows.iter().map(|&rows| rows as u64).collect();
        let bounds = vec![(!value.is_null()).then(|| value.clone()); rows.len()];
        let nulls = rows.iter().map(|&rows| Some(if value.is_null() { rows } else { 0 })).collect();
        Self { mins: bounds.clone(), maxes: bounds, nulls, rows }
    }

    /// Returns the first row number of each row group of a file, and the bounds of row numbers.
    pub(crate) fn of_row_numbers(row_group_rows: &[usize]) -> (Vec<i64>, Self) {
        let mut next = 0;
        let (mut firsts, mut mins, mut maxes) = (Vec::new(), Vec::new(), Vec::new());
        for &rows in row_group_rows {
            firsts.push(next);
            mins.push(Some(Value::from(next)));
            next += rows as i64;
            maxes.push(Some(Value::from(next - 1)));
        }
        let nulls = vec![Some(0); row_group_rows.len()];
        (firsts, Self { mins, maxes, nulls, rows: row_group_rows.iter().map(|&rows| rows as u64).collect() })
    }

    /// Number of parts.
    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Bounds of one part.
    pub(crate) fn get(&self, part: usize) -> Bounds {
        let value = |values: &[Option<Value>]| values.get(part).cloned().flatten();
        Bounds {
            min: value(&self.mins),
            max: value(&self.maxes),
            nulls: self.nulls.get(part).copied().flatten(),
            rows: self.rows[part],
        }
    }
}

/// Returns the known values of an array; `None` if they can't be compared, as those in other units than SQL's.
fn values_of(array: &ArrayRef) -> Option<Vec<Option<Value>>> {
    let ty = sql_type(array.data_type()).ok()?;
    let layout = arrow_type(&ty).ok().filter(|layout| is_same_but_layout(array.data_type(), layout))?;
    let vector = from_arrow(&in_layout(array, &layout).ok()?).ok()?;
    let reader = Reader::new(&vector, &ty).ok()?;
    Some((0..array.len()).map(|row| reader.value(row).ok().filter(|value| !value.is_null())).collect())
}

/// Returns the bounds of a column in all row groups; `None` if the file has none for columns of this type.
pub(crate) fn row_group_bounds(file: &ParquetFile, column: usize) -> Option<PartBounds> {
    let file_column = &file.columns[column];
    let metadata = file.metadata();
    let groups = metadata.row_groups();
    // Old writers' statistics ordered unsigned and binary values incorrectly.
    let is_trusted = groups.iter().all(|group| {
        let statistics = group.column(file_column.leaf).statistics();
        statistics.is_none_or(|s| !s.is_min_max_deprecated() || s.is_min_max_backwards_compatible())
    });
    if !is_trusted {
        return None;
    }
    let (mins, maxes, nulls) = convert(&file.bytes, file, file_column, |converter| {
        Ok((
            converter.row_group_mins(groups)?,
            converter.row_group_maxes(groups)?,
            converter.row_group_null_counts(groups)?,
        ))
    })?;
    Some(PartBounds::new(&mins, &maxes, &nulls, file.row_group_rows.iter().map(|&rows| rows as u64).collect()))
}

/// Returns a column's bounds in the pages of a row group, and each page's first row; `None` without a page index.
pub(crate) fn page_bounds(file: &ParquetFile, row_group: usize, column: usize) -> Option<(PartBounds, Vec<usize>)> {
    let file_column = &file.columns[column];
    let pages = file.chunk(row_group, column).ok()?.pages?;
    let (columns, offsets) = file.metadata().column_index().zip(file.metadata().offset_index())?;
    let (mins, maxes, nulls) = convert(&file.bytes, file, file_column, |converter| {
        let groups = [row_group];
        Ok((
            converter.data_page_mins(columns, offsets, &groups)?,
            converter.data_page_maxes(columns, offsets, &groups)?,
            converter.data_page_null_counts(columns, offsets, &groups)?,
        ))
    })?;
    let starts: Vec<usize> = pages.iter().map(|page| page.first_row).collect();
    let ends = starts.iter().skip(1).copied().chain([file.row_group_rows[row_group]]);
    let rows: Vec<u64> = starts.iter().zip(ends).map(|(&start, end)| (end - start) as u64).collect();
    Some((PartBounds::new(&mins, &maxes, &nulls, rows), starts))
}

type Arrays = (ArrayRef, ArrayRef, UInt64Array);

/// Runs a conversion of statistics; values that can't be converted are unknown.
fn convert(
    bytes: &FileBytes,
    file: &ParquetFile,
    column: &FileColumn,
    conversion: impl FnOnce(StatisticsConverter<'_>) -> parquet::errors::Result<Arrays>,
) -> Option<Arrays> {
    // Bounds of these are bytes, which aren't the values as queries see them.
    if matches!(column.decoding?.stored, Stored::Uuid | Stored::Interval) {
        return None;
    }
    let schema = file.metadata().file_metadata().schema_descr();
    let converted = guard(bytes, || {
        let converter = StatisticsConverter::from_column_index(column.leaf, &column.field, schema)?;
        conversion(converter.with_missing_null_counts_as_zero(false))
    });
    converted.ok()
}

/// Merges the bounds of all parts of a column into statistics for the planner, without the number of distinct values.
pub(crate) fn column_statistics<'a>(
    parts: impl Iterator<Item = Option<&'a PartBounds>>,
    physical: PhysicalType,
) -> ColumnStatistics {
    let mut total = Total { min: Extreme::None, max: Extreme::None, nulls: Some(0) };
    for part in parts {
        match part {
            Some(bounds) => (0..bounds.len()).for_each(|index| total.add(bounds.get(index))),
            None => {
                total = Total { min: Extreme::Unknown, max: Extreme::Unknown, nulls: None };
                break;
            }
        }
    }
    let (min, max) = (total.min.value(), total.max.value());
    let range = match (min.as_ref().and_then(Value::as_integer), max.as_ref().and_then(Value::as_integer)) {
        (Some(min), Some(max)) if physical.is_integer() && min <= max => Some(ValueRange { min, max }),
        _ => None,
    };
    let range = range.filter(|range| range.fits(physical));
    ColumnStatistics { range, min, max, null_count: total.nulls, distinct: None, average_bytes: None }
}

/// The running minimum or maximum of bounds.
enum Extreme {
    /// No value yet.
    None,
    Known(Value),
    /// Some part has values but no bound.
    Unknown,
}

struct Total {
    min: Extreme,
    max: Extreme,
    nulls: Option<u64>,
}

impl Total {
    fn add(&mut self, part: Bounds) {
        if part.rows == 0 {
            return;
        }
        self.nulls = self.nulls.zip(part.nulls).map(|(a, b)| a + b);
        if part.nulls != Some(part.rows) {
            self.min.add(part.min, std::cmp::Ordering::Less);
            self.max.add(part.max, std::cmp::Ordering::Greater);
        }
    }
}

impl Extreme {
    fn add(&mut self, bound: Option<Value>, better: std::cmp::Ordering) {
        let Some(bound) = bound else {
            *self = Extreme::Unknown;
            return;
        };
        match self {
            Extreme::None => *self = Extreme::Known(bound),
            Extreme::Known(known) if compare(&bound, known) == Some(better) => *known = bound,
            _ => {}
        }
    }

    fn value(self) -> Option<Value> {
        match self {
            Extreme::Known(value) => Some(value),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::Float64Array;

    use super::*;

    #[test]
    fn nan_as_a_bound_says_nothing() {
        let values: ArrayRef = Arc::new(Float64Array::from(vec![f64::NAN, 1.0]));
        let bounds = PartBounds::new(&values, &values, &UInt64Array::from(vec![0, 0]), vec![1, 1]);
        let mins = [0, 1].map(|part| bounds.get(part).min);
        assert_eq!(mins, [None, Some(Value::Float(1.0))]);
        assert!((0..2).all(|part| bounds.get(part).max.is_none()), "NaN sorts after all numbers");
    }
}
