//! Groups, and aggregates over them.
//!
//! The input of an aggregate is the arguments of those rows of a group for which its filter is TRUE; with DISTINCT,
//! each combination once; in its order. If nothing is left, the result is the function's value for an empty group.

use std::collections::BTreeSet;

use godwit_common::Result;
use godwit_plan::{Aggregate, AggregateCall, AggregateFunction, Expr, SortKey};
use godwit_types::{SqlType, Value, compare_values};

use crate::environment::{Environment, Row, Rows};
use crate::evaluator::Evaluator;
use crate::functions::{Group, aggregate_kernel};

/// The input of an aggregate, from a group or a frame.
pub(crate) struct Taken<'a> {
    pub(crate) args: &'a [Expr],
    pub(crate) distinct: bool,
    pub(crate) filter: Option<&'a Expr>,
    pub(crate) order_by: &'a [SortKey],
    pub(crate) ignore_nulls: bool,
}

impl Evaluator<'_> {
    pub(crate) fn aggregate(&self, aggregate: &Aggregate, environment: &Environment<'_>) -> Result<Rows> {
        let input = self.rows(aggregate.input, environment)?;
        let keys = |row: &Row| -> Result<Row> {
            let environment = environment.with_row(&input.columns, row);
            aggregate.keys.iter().map(|(_, key)| self.value(key, &environment)).collect()
        };
        let keys = input.rows.iter().map(keys).collect::<Result<Vec<Row>>>()?;
        let every_key: Vec<usize> = (0..aggregate.keys.len()).collect();
        let sets = aggregate.sets.clone().unwrap_or_else(|| vec![every_key]);
        let types: Vec<&SqlType> = aggregate.keys.iter().map(|(_, key)| &key.ty).collect();
        let mut rows = Vec::new();
        for set in sets {
            let members: BTreeSet<usize> = set.into_iter().collect();
            let masked = |key: &Row| -> Row {
                let part = |(index, value): (usize, &Value)| {
                    if members.contains(&index) { value.clone() } else { Value::Null }
                };
                key.iter().enumerate().map(part).collect()
            };
            let mut groups = group_by(keys.iter().map(masked), &types);
            if members.is_empty() && groups.is_empty() {
                groups.push((vec![Value::Null; types.len()], Vec::new()));
            }
            for (key, positions) in groups {
                let group: Vec<&Row> = positions.into_iter().map(|position| &input.rows[position]).collect();
                let mut row = key;
                row.extend(aggregate.grouping_id.map(|_| grouping_id(types.len(), &members)));
                for (_, call) in &aggregate.aggregates {
                    row.push(self.aggregate_call(call, &input, &group, environment)?);
                }
                rows.push(row);
            }
        }
        let columns = aggregate.keys.iter().map(|&(column, _)| column).chain(aggregate.grouping_id);
        let columns = columns.chain(aggregate.aggregates.iter().map(|&(column, _)| column)).collect();
        Ok(Rows { columns, rows })
    }

    fn aggregate_call(
        &self,
        call: &AggregateCall,
        input: &Rows,
        group: &[&Row],
        environment: &Environment<'_>,
    ) -> Result<Value> {
        let taken = Taken {
            args: &call.args,
            distinct: call.distinct,
            filter: call.filter.as_ref(),
            order_by: &call.order_by,
            ignore_nulls: call.ignore_nulls,
        };
        let result = self.take(&taken, input, group, environment);
        result
            .and_then(|rows| aggregate_rows(&call.function, &call.args, &rows, &call.ty))
            .map_err(|error| error.at_span(call.span))
    }

    /// Collects the input of an aggregate from some rows.
    pub(crate) fn take(
        &self,
        taken: &Taken<'_>,
        input: &Rows,
        rows: &[&Row],
        environment: &Environment<'_>,
    ) -> Result<Vec<Row>> {
        let mut seen: Vec<(Row, Row)> = Vec::new();
        for row in rows {
            let environment = environment.with_row(&input.columns, row);
            let passes = taken.filter.map_or(Ok(Some(true)), |filter| self.truth(filter, &environment))?;
            if passes != Some(true) {
                continue;
            }
            let args = self.values(taken.args, &environment)?;
            if taken.ignore_nulls && args.first().is_some_and(Value::is_null) {
                continue;
            }
            let keys = taken.order_by.iter().map(|key| self.value(&key.expr, &environment)).collect::<Result<_>>()?;
            seen.push((args, keys));
        }
        if taken.distinct {
            let types: Vec<&SqlType> = taken.args.iter().map(|arg| &arg.ty).collect();
            let mut kept: Vec<(Row, Row)> = Vec::new();
            for (args, keys) in seen {
                if !kept.iter().any(|(other, _)| same_key(other, &args, &types)) {
                    kept.push((args, keys));
                }
            }
            seen = kept;
        }
        seen.sort_by(|(_, a), (_, b)| crate::order::compare_keys(a, b, taken.order_by));
        Ok(seen.into_iter().map(|(args, _)| args).collect())
    }
}

/// Evaluates an aggregate function for rows of arguments.
pub(crate) fn aggregate_rows(function: &AggregateFunction, args: &[Expr], rows: &[Row], ty: &SqlType) -> Result<Value> {
    if rows.is_empty() {
        return Ok(function.of_empty.clone());
    }
    let types: Vec<SqlType> = args.iter().map(|arg| arg.ty.clone()).collect();
    aggregate_kernel(function)?(&Group { rows, types: &types, ty })
}

/// Groups positions by equal keys, in order of first occurrence. NULLs are equal here.
pub(crate) fn group_by(keys: impl Iterator<Item = Row>, types: &[&SqlType]) -> Vec<(Row, Vec<usize>)> {
    let mut groups: Vec<(Row, Vec<usize>)> = Vec::new();
    for (position, key) in keys.enumerate() {
        match groups.iter_mut().find(|(other, _)| same_key(other, &key, types)) {
            Some((_, positions)) => positions.push(position),
            None => groups.push((key, vec![position])),
        }
    }
    groups
}

/// Whether rows of values are equal, with NULLs equal to each other.
pub(crate) fn same_key(a: &[Value], b: &[Value], types: &[&SqlType]) -> bool {
    a.iter().zip(b).zip(types).all(|((a, b), ty)| compare_values(a, b, ty).is_eq())
}

/// Returns a bit for each key, set if it isn't in the grouping set; the last key has the lowest bit.
fn grouping_id(keys: usize, members: &BTreeSet<usize>) -> Value {
    let missing = (0..keys).filter(|key| !members.contains(key));
    Value::Integer(missing.map(|key| 1i128 << (keys - 1 - key)).sum())
}
