//! Filters on packed values: a range of integers, or a set of dictionary codes.
//!
//! A conjunction of comparisons of one integer, decimal, date or time column with literals is a range. Any filter over
//! a single text column is evaluated once per string of the dictionary; the codes of those that pass are a range, too,
//! if they are consecutive, as for comparisons and prefixes.

use godwit_common::{MemoryTag, Result};
use godwit_memory::BufferManager;
use godwit_pipeline::scan_filter::{Condition, Stage, StagePlan};
use godwit_plan::Comparison;
use godwit_types::Value;
use godwit_vector::{
    Bitmap, CHUNK_ROWS, Chunk, ColumnType, Dictionary, Flat, PhysicalType, RowType, StrColumn, ValueRange, Vector,
};

use super::reader::Dictionaries;

/// Which integers or codes pass.
pub(super) enum PackedFilter {
    /// Integers, or consecutive codes.
    Range(ValueRange),
    /// One bit per code.
    Codes(Bitmap),
}

impl PackedFilter {
    /// The filter that lets these codes pass.
    fn of_passing(codes: Bitmap) -> Self {
        let words = codes.words();
        let count: usize = words.iter().map(|word| word.count_ones() as usize).sum();
        let first = words.iter().position(|&word| word != 0);
        let last = words.iter().rposition(|&word| word != 0);
        let (Some(first), Some(last)) = (first, last) else { return Self::Range(ValueRange { min: 1, max: 0 }) };
        let first = first * 64 + words[first].trailing_zeros() as usize;
        let last = last * 64 + 63 - words[last].leading_zeros() as usize;
        match last - first + 1 == count {
            true => Self::Range(ValueRange { min: first as i128, max: last as i128 }),
            false => Self::Codes(codes),
        }
    }

    /// The filter of a stage, if it can be evaluated on packed values and if that pays off for a scan of `rows` rows.
    pub(super) fn of(
        stage: &StagePlan,
        row_type: &RowType,
        dictionaries: &Dictionaries,
        rows: u64,
        memory: &BufferManager,
    ) -> Result<Option<Self>> {
        let columns = stage.columns();
        let &[column] = &columns[..] else { return Ok(None) };
        if row_type[column].physical == PhysicalType::Str {
            let Some(dictionary) = dictionaries.get(column) else { return Ok(None) };
            if !is_stable(stage) || dictionary.len() as u64 > rows {
                return Ok(None);
            }
            let texts = dictionaries.texts(column);
            let passing = passing(stage, dictionary.shared(), &|codes| texts.of_main(codes), memory)?;
            return Ok(passing.map(Self::of_passing));
        }
        Ok(range(stage, row_type).map(|(_, wanted)| PackedFilter::Range(wanted)))
    }
}

/// Maximum number of values of an IN list that are looked up one by one, as many as of a join's keys.
const LISTED_MAX: usize = 64;

/// The column of a stage and its integers that pass, if they form a range.
pub(super) fn range(stage: &StagePlan, row_type: &RowType) -> Option<(usize, ValueRange)> {
    match stage {
        StagePlan::Predicate { columns, conditions, .. } => {
            let &[column] = &columns[..] else { return None };
            Some((column, all_of(conditions, &row_type[column])?))
        }
        StagePlan::Keys { .. } => None,
    }
}

/// The column of a comparison and its integers that pass, if they form a range.
pub(super) fn range_of_comparison(condition: &Condition, row_type: &RowType) -> Option<(usize, ValueRange)> {
    let Condition::Compare(column, ..) = condition else { return None };
    Some((*column, range_of(condition, &row_type[*column])?))
}

/// The column of a stage and its values that pass, as a vector, if they are listed, and are numbers or strings.
pub(super) fn listed_values(stage: &StagePlan, row_type: &RowType) -> Option<(usize, Vector)> {
    let StagePlan::Predicate { columns, conditions, .. } = stage else { return None };
    let &[column] = &columns[..] else { return None };
    let values = conditions.iter().find_map(|condition| match condition {
        Condition::Compare(_, Comparison::Equal, value) => Some(std::slice::from_ref(value)),
        Condition::OneOf(_, values) if values.len() <= LISTED_MAX => Some(&values[..]),
        _ => None,
    })?;
    let text = |value: &Value| if let Value::Text(text) = value { Some(text.clone()) } else { None };
    if let Some(texts) = values.iter().map(text).collect::<Option<Vec<_>>>() {
        return Some((
            column,
            Vector::flat(Flat::Str(StrColumn::from_strings(texts.iter().map(|text| text.as_bytes()))), None),
        ));
    }
    let physical = row_type[column].physical;
    let number = |value: &Value| i64::try_from(value.as_integer()?).ok();
    let numbers: Option<Vec<i64>> = values.iter().map(number).collect();
    let numbers = numbers.filter(|_| physical.is_integer() && physical != PhysicalType::I128)?;
    Some((column, Vector::from_values(numbers, None)))
}

/// The column of a join's keys and its only value, as a vector, if there is just one.
pub(super) fn single_key(&(column, range): &(usize, ValueRange)) -> Option<(usize, Vector)> {
    let value = i64::try_from(range.min).ok().filter(|_| range.min == range.max)?;
    Some((column, Vector::from_values(vec![value], None)))
}

/// The codes of the delta's dictionary that pass the filter of a stage, if they determine which rows do and if that
/// pays off for `rows` rows.
pub(super) fn delta_codes(
    stage: &StagePlan,
    row_type: &RowType,
    dictionaries: &Dictionaries,
    rows: usize,
    memory: &BufferManager,
) -> Result<Option<Bitmap>> {
    let columns = stage.columns();
    let &[column] = &columns[..] else { return Ok(None) };
    if row_type[column].physical != PhysicalType::Str || !is_stable(stage) {
        return Ok(None);
    }
    let texts = dictionaries.texts(column);
    match texts.delta().filter(|dictionary| dictionary.len() <= rows) {
        Some(dictionary) => passing(stage, dictionary, &|codes| Ok(texts.of_delta(codes)), memory),
        None => Ok(None),
    }
}

/// True if a filter may be evaluated only once per value, and on values that no row has.
fn is_stable(stage: &StagePlan) -> bool {
    match stage {
        StagePlan::Predicate { can_fail, .. } => !can_fail,
        StagePlan::Keys { filter, .. } => filter.filter.get().is_some_and(|filter| !filter.gets_better()),
    }
}

/// The entries of a dictionary that pass; `None` if they don't determine which rows do. `strings` turns codes into the
/// values that the scan would return.
fn passing(
    stage: &StagePlan,
    dictionary: &Dictionary,
    strings: &dyn Fn(&Vector) -> Result<Vector>,
    memory: &BufferManager,
) -> Result<Option<Bitmap>> {
    let Some(mut worker) = Stage::new(stage) else { return Ok(None) };
    // A filter that is TRUE for NULL isn't a set of codes.
    if passes_null(&mut worker)? {
        return Ok(None);
    }
    let entries = dictionary.len();
    let _reservation = memory.reserve(entries / 8, MemoryTag::Table)?;
    let mut passing = Bitmap::filled(entries, false);
    // Filters on codes need no strings.
    let by_codes = matches!(stage, StagePlan::Keys { filter, .. } if filter.key.is_some());
    let values = Vector::flat(dictionary.values().clone(), None);
    for start in (0..entries).step_by(CHUNK_ROWS) {
        let rows = CHUNK_ROWS.min(entries - start);
        let part = match by_codes {
            true => strings(&Vector::from_values((start as u32..(start + rows) as u32).collect::<Vec<u32>>(), None))?,
            false => values.slice(start, rows),
        };
        let kept = worker.rows(&Chunk::new(vec![part], rows))?;
        for row in kept.unwrap_or_else(|| (0..rows as u32).collect()) {
            passing.set(start + row as usize, true);
        }
    }
    Ok(Some(passing))
}

fn passes_null(stage: &mut Stage) -> Result<bool> {
    let null = Chunk::new(vec![Vector::null(PhysicalType::Str, 1)], 1);
    Ok(stage.rows(&null)?.is_none_or(|rows| !rows.is_empty()))
}

/// The integers for which a condition on a column of this type is TRUE, if they form a range.
fn range_of(condition: &Condition, ty: &ColumnType) -> Option<ValueRange> {
    match condition {
        Condition::Compare(_, comparison, literal) => {
            if !ty.physical.is_integer() || ty.physical == PhysicalType::I128 {
                return None;
            }
            let value = literal.as_integer()?;
            let (low, high) = (i64::MIN as i128, u64::MAX as i128);
            let (min, max) = match comparison {
                Comparison::Equal => (value, value),
                Comparison::Less => (low, value - 1),
                Comparison::LessOrEqual => (low, value),
                Comparison::Greater => (value + 1, high),
                Comparison::GreaterOrEqual => (value, high),
                Comparison::NotEqual | Comparison::Distinct | Comparison::NotDistinct => return None,
            };
            Some(ValueRange { min, max })
        }
        Condition::All(parts) => all_of(parts, ty),
        _ => None,
    }
}

/// The integers for which all conditions on a column are TRUE, if they form a range.
fn all_of(conditions: &[Condition], ty: &ColumnType) -> Option<ValueRange> {
    let ranges: Option<Vec<ValueRange>> = conditions.iter().map(|condition| range_of(condition, ty)).collect();
    ranges?.into_iter().reduce(|a, b| ValueRange { min: a.min.max(b.min), max: a.max.min(b.max) })
}
