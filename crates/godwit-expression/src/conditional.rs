//! Operations that evaluate their arguments only where they matter: AND, OR, CASE, COALESCE.
//!
//! An argument that can fail sees only the rows that reach it. One that can't fail sees all rows if most of them reach
//! it, because dense loops are faster than gathering, and otherwise only those rows.

use godwit_common::{ErrorKind, Result};
use godwit_vector::kernels::boolean;
use godwit_vector::kernels::concatenate::concatenated;
use godwit_vector::kernels::scatter::Scatter;
use godwit_vector::kernels::select::{select_bits, select_not_true};
use godwit_vector::{PhysicalType, Vector};

use crate::Expression;
use crate::batch::Batch;
use crate::predicate::true_rows;

/// A branch that can't fail is evaluated on all rows if at least one in this many reaches it: below that, gathering its
/// columns costs less than computing unneeded rows.
const REACHED_SHARE_MIN: usize = 4;

fn prefers_all_rows(argument: &Expression, reached: usize, rows: usize) -> bool {
    !argument.can_fail() && reached * REACHED_SHARE_MIN >= rows
}

/// Evaluates three-valued AND: FALSE wins over NULL.
pub(crate) fn evaluate_and(arguments: &[Expression], batch: &Batch<'_>) -> Result<Vector> {
    evaluate_logical(arguments, batch, false)
}

/// Evaluates three-valued OR: TRUE wins over NULL.
pub(crate) fn evaluate_or(arguments: &[Expression], batch: &Batch<'_>) -> Result<Vector> {
    evaluate_logical(arguments, batch, true)
}

/// Combines arguments until all rows have the `deciding` value.
fn evaluate_logical(arguments: &[Expression], batch: &Batch<'_>, deciding: bool) -> Result<Vector> {
    let combine = if deciding { boolean::or } else { boolean::and };
    let rows = batch.rows();
    let mut result = arguments[0].evaluate_batch(batch)?;
    let mut undecided = Vec::new();
    for argument in &arguments[1..] {
        undecided_rows(&result, deciding, &mut undecided);
        if undecided.is_empty() {
            break;
        }
        if prefers_all_rows(argument, undecided.len(), rows) || undecided.len() == rows {
            result = combine(&result, &argument.evaluate_batch(batch)?);
            continue;
        }
        let part = argument.evaluate_batch(&batch.select(&undecided))?;
        let combined = combine(&result.take(&undecided), &part);
        let mut scatter = Scatter::new(PhysicalType::Bool, rows);
        scatter.put_all(&result);
        scatter.put(&undecided, &combined);
        result = scatter.finish();
    }
    Ok(result)
}

/// Collects the rows that aren't `deciding` yet: those with the other value and NULLs.
fn undecided_rows(result: &Vector, deciding: bool, rows: &mut Vec<u32>) {
    let flat = result.to_flat();
    let validity = result.validity().map(|validity| &**validity);
    if deciding {
        select_not_true(flat.bools(), validity, rows);
    } else {
        let inverted: Vec<u8> = flat.bools().iter().map(|&value| (value == 0) as u8).collect();
        select_not_true(&inverted, validity, rows);
    }
}

/// Returns the value of the first condition that is TRUE, else that of the last argument.
pub(crate) fn evaluate_case(arguments: &[Expression], batch: &Batch<'_>, physical: PhysicalType) -> Result<Vector> {
    let rows = batch.rows();
    let mut scatter = Scatter::new(physical, rows);
    // `None`: all rows are left.
    let mut left: Option<Vec<u32>> = None;
    let mut hits = Vec::new();
    let (branches, otherwise) = arguments.as_chunks::<2>();
    for [condition, value] in branches {
        let reached = left.as_ref().map_or(rows, Vec::len);
        if reached == 0 {
            break;
        }
        let condition = match &left {
            None => condition.evaluate_batch(batch)?,
            Some(left) => condition.evaluate_batch(&batch.select(left))?,
        };
        if true_rows(&condition, &mut hits) {
            if left.is_none() {
                return value.evaluate_batch(batch);
            }
            put(&mut scatter, value, batch, left.as_deref().unwrap_or_default())?;
            left = Some(Vec::new());
            break;
        }
        if hits.is_empty() {
            continue;
        }
        let mut misses = Vec::new();
        let flat = condition.to_flat();
        select_not_true(flat.bools(), condition.validity().map(|validity| &**validity), &mut misses);
        if let Some(left) = &left {
            hits.iter_mut().chain(&mut misses).for_each(|row| *row = left[*row as usize]);
        }
        put(&mut scatter, value, batch, &hits)?;
        left = Some(misses);
    }
    let [otherwise] = otherwise else { panic!("CASE has an odd number of arguments") };
    match left {
        None => return otherwise.evaluate_batch(batch),
        Some(left) => put(&mut scatter, otherwise, batch, &left)?,
    }
    Ok(scatter.finish())
}

/// Returns the first argument that isn't NULL.
pub(crate) fn evaluate_coalesce(arguments: &[Expression], batch: &Batch<'_>, physical: PhysicalType) -> Result<Vector> {
    let rows = batch.rows();
    let first = arguments[0].evaluate_batch(batch)?;
    let Some(validity) = first.validity() else { return Ok(first) };
    let mut scatter = Scatter::new(physical, rows);
    scatter.put_all(&first);
    let mut left = Vec::new();
    select_bits(validity, false, &mut left);
    for argument in &arguments[1..] {
        let part = argument.evaluate_batch(&batch.select(&left))?;
        scatter.put(&left, &part);
        let Some(validity) = part.validity() else { break };
        let mut nulls = Vec::new();
        select_bits(validity, false, &mut nulls);
        left = nulls.iter().map(|&row| left[row as usize]).collect();
    }
    Ok(scatter.finish())
}

/// Returns the values of the argument, NULL in rows for which it is an error. A batch with an error is evaluated again
/// by halves, which finds `n` such rows in `n` log(rows) evaluations.
pub(crate) fn evaluate_try(argument: &Expression, batch: &Batch<'_>) -> Result<Vector> {
    match argument.evaluate_batch(batch) {
        Err(error) if error.kind() == ErrorKind::User && batch.rows() == 1 => Ok(Vector::null_of(argument.output(), 1)),
        Err(error) if error.kind() == ErrorKind::User => {
            Ok(concatenated(&batch.by_halves(|half| evaluate_try(argument, half))?))
        }
        evaluated => evaluated,
    }
}

/// Puts the values of `value` at `rows` of the batch into the result.
fn put(scatter: &mut Scatter, value: &Expression, batch: &Batch<'_>, rows: &[u32]) -> Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    if prefers_all_rows(value, rows.len(), batch.rows()) {
        scatter.put_aligned(rows, &value.evaluate_batch(batch)?);
    } else {
        scatter.put(rows, &value.evaluate_batch(&batch.select(rows))?);
    }
    Ok(())
}
