//! Filters on packed values: a range of integers, or a set of dictionary codes.
//!
//! A conjunction of comparisons of one integer, decimal, date or time column with literals is a range. Any filter over a
//! single text column is evaluated once per string of the dictionary; the codes of those that pass are a range, too, if
//! they follow each other, as for comparisons and prefixes.

use datafusion_common::ScalarValue;
use datafusion_expr::expr::{Between, BinaryExpr};
use datafusion_expr::{Expr, Operator};
use godwit_common::{MemoryTag, Result};
use godwit_encoding::OrderedDictionary;
use godwit_exec::scan_filter::{Stage, StagePlan};
use godwit_expression::scalar_to_integer;
use godwit_memory::BufferManager;
use godwit_vector::{Bitmap, CHUNK_ROWS, Chunk, ColumnType, PhysicalType, RowType, ValueRange, Vector};

use super::reader::Dictionaries;

/// Which integers or codes pass.
pub(super) enum PackedFilter {
    /// Integers, or codes that follow each other.
    Range(ValueRange),
    /// One bit per code.
    Codes(Bitmap),
}

impl PackedFilter {
    /// The filter of a stage, if it can be evaluated on packed values and that pays for a scan of so many rows.
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
            let is_stable = match stage {
                StagePlan::Predicate { can_fail, .. } => !can_fail,
                StagePlan::Keys { filter, .. } => filter.filter.get().is_some_and(|filter| !filter.gets_better()),
            };
            if !is_stable || dictionary.len() as u64 > rows {
                return Ok(None);
            }
            return of_codes(stage, dictionary, memory);
        }
        match stage {
            StagePlan::Predicate { conjuncts, .. } => {
                let ranges = conjuncts.iter().map(|conjunct| range_of(conjunct, &row_type[column]));
                let all: Option<Vec<ValueRange>> = ranges.collect();
                let range = all.and_then(|ranges| {
                    ranges.into_iter().reduce(|a, b| ValueRange { min: a.min.max(b.min), max: a.max.min(b.max) })
                });
                Ok(range.map(PackedFilter::Range))
            }
            StagePlan::Keys { .. } => Ok(None),
        }
    }
}

/// The codes of the strings that pass.
fn of_codes(stage: &StagePlan, dictionary: &OrderedDictionary, memory: &BufferManager) -> Result<Option<PackedFilter>> {
    let Some(mut worker) = Stage::new(stage) else { return Ok(None) };
    // What is TRUE for NULL isn't a set of codes.
    if passes_null(&mut worker)? {
        return Ok(None);
    }
    let strings = dictionary.len();
    let _reservation = memory.reserve(strings / 8, MemoryTag::Table)?;
    let mut passing = Bitmap::filled(strings, false);
    let (mut first, mut last, mut count) = (strings, 0, 0);
    // Filters about codes have no use for strings.
    let by_codes = matches!(stage, StagePlan::Keys { filter, .. } if filter.key.is_some());
    let values = Vector::flat(dictionary.shared().values().clone(), None);
    for start in (0..strings).step_by(CHUNK_ROWS) {
        let rows = CHUNK_ROWS.min(strings - start);
        let entries = match by_codes {
            true => {
                let codes: Vec<u32> = (start as u32..(start + rows) as u32).collect();
                Vector::dictionary(codes.into(), dictionary.shared().clone(), None)
            }
            false => values.slice(start, rows),
        };
        let kept = worker.rows(&Chunk::new(vec![entries], rows))?;
        for row in kept.unwrap_or_else(|| (0..rows as u32).collect()) {
            let code = start + row as usize;
            passing.set(code, true);
            (first, last, count) = (first.min(code), last.max(code), count + 1);
        }
    }
    Ok(Some(match count {
        0 => PackedFilter::Range(ValueRange { min: 1, max: 0 }),
        count if last - first + 1 == count => PackedFilter::Range(ValueRange { min: first as i128, max: last as i128 }),
        _ => PackedFilter::Codes(passing),
    }))
}

fn passes_null(stage: &mut Stage) -> Result<bool> {
    let null = Chunk::new(vec![Vector::null(PhysicalType::Str, 1)], 1);
    Ok(stage.rows(&null)?.is_none_or(|rows| !rows.is_empty()))
}

/// The integers for which a conjunct over a column of this type is TRUE, if they are a range.
fn range_of(conjunct: &Expr, ty: &ColumnType) -> Option<ValueRange> {
    let of = |operator: Operator, literal: &ScalarValue| {
        // Integers of different types, as decimals of other scales, don't compare as they are.
        if literal.data_type() != ty.logical || !(ty.physical.is_integer() && ty.physical != PhysicalType::I128) {
            return None;
        }
        let value = scalar_to_integer(literal)?;
        let (low, high) = (i64::MIN as i128, u64::MAX as i128);
        let (min, max) = match operator {
            Operator::Eq => (value, value),
            Operator::Lt => (low, value - 1),
            Operator::LtEq => (low, value),
            Operator::Gt => (value + 1, high),
            Operator::GtEq => (value, high),
            _ => return None,
        };
        Some(ValueRange { min, max })
    };
    match conjunct {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => match (&**left, &**right) {
            (Expr::Column(_), Expr::Literal(value, _)) => of(*op, value),
            (Expr::Literal(value, _), Expr::Column(_)) => of(op.swap()?, value),
            _ => None,
        },
        Expr::Between(Between { expr, negated: false, low, high }) => match (&**expr, &**low, &**high) {
            (Expr::Column(_), Expr::Literal(low, _), Expr::Literal(high, _)) => {
                let (low, high) = (of(Operator::GtEq, low)?, of(Operator::LtEq, high)?);
                Some(ValueRange { min: low.min, max: high.max })
            }
            _ => None,
        },
        _ => None,
    }
}
