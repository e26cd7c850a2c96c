//! Joins, all as nested loops: for each left row, the right rows for which the conditions are TRUE are its *matches*
//! (`Partners`). The kind of join determines the output rows.

use std::rc::Rc;

use godwit_common::{Error, Result};
use godwit_plan::{ColumnId, Comparison, Expr, Join, JoinKind};
use godwit_types::{Value, compare_values};

use crate::environment::{Environment, Row, Rows};
use crate::evaluator::Evaluator;
use crate::expr::{compare, of_truth};
use crate::subquery::more_than_one_row;

/// The right rows, and which of them match the left row.
struct Partners {
    right: Rc<Rows>,
    positions: Vec<usize>,
}

impl Evaluator<'_> {
    pub(crate) fn join(&self, join: &Join, environment: &Environment<'_>) -> Result<Rows> {
        let left = self.rows(join.left, environment)?;
        let columns = self.joined_columns(join, &left);
        let dependent = self.is_dependent(&left.columns, join.right);
        if dependent && looks_from_right(&join.kind) {
            return Err(Error::internal("the right side of a join that keeps its rows uses columns of the left one"));
        }
        let once = if dependent { None } else { Some(Rc::new(self.rows(join.right, environment)?)) };
        if join.kind == JoinKind::Positional {
            let right = once.expect("a positional join isn't dependent");
            return Ok(Rows { columns, rows: side_by_side(&left, &right) });
        }
        let mut rows = Vec::new();
        let mut paired = vec![false; once.as_ref().map_or(0, |right| right.rows.len())];
        for row in &left.rows {
            let outer = environment.with_row(&left.columns, row);
            let right = match &once {
                Some(right) => Rc::clone(right),
                None => Rc::new(self.rows(join.right, &outer)?),
            };
            let partners = self.partners(&join.conditions, right, &outer)?;
            if once.is_some() {
                partners.positions.iter().for_each(|&position| paired[position] = true);
            }
            rows.extend(self.joined(&join.kind, row, &partners, &outer)?);
        }
        if let Some(right) = once {
            let with = |wanted: bool| right.rows.iter().zip(&paired).filter(move |(_, paired)| **paired == wanted);
            match join.kind {
                JoinKind::Right | JoinKind::Full => {
                    rows.extend(
                        with(false).map(|(row, _)| [vec![Value::Null; left.columns.len()], row.clone()].concat()),
                    );
                }
                JoinKind::RightSemi => rows.extend(with(true).map(|(row, _)| row.clone())),
                JoinKind::RightAnti => rows.extend(with(false).map(|(row, _)| row.clone())),
                _ => {}
            }
        }
        Ok(Rows { columns, rows })
    }

    fn joined_columns(&self, join: &Join, left: &Rows) -> Vec<ColumnId> {
        let mut columns = left.columns.clone();
        match &join.kind {
            JoinKind::Semi | JoinKind::Anti => {}
            JoinKind::RightSemi | JoinKind::RightAnti => columns = self.plan.outputs(join.right),
            JoinKind::Mark { mark, .. } => columns.push(*mark),
            _ => columns.extend(self.plan.outputs(join.right)),
        }
        columns
    }

    fn partners(&self, conditions: &[Expr], right: Rc<Rows>, outer: &Environment<'_>) -> Result<Partners> {
        self.spend(right.rows.len())?;
        let mut positions = Vec::new();
        for (position, row) in right.rows.iter().enumerate() {
            if self.all_true(conditions, &outer.with_row(&right.columns, row))? {
                positions.push(position);
            }
        }
        Ok(Partners { right, positions })
    }

    /// Returns the output rows for a left row.
    fn joined(&self, kind: &JoinKind, left: &Row, partners: &Partners, outer: &Environment<'_>) -> Result<Vec<Row>> {
        let Partners { right, positions } = partners;
        let pair = |&position: &usize| [left.as_slice(), &right.rows[position]].concat();
        let alone = || vec![[left.as_slice(), &vec![Value::Null; right.columns.len()]].concat()];
        let has_partner = !positions.is_empty();
        Ok(match kind {
            JoinKind::Inner | JoinKind::Right => positions.iter().map(pair).collect(),
            JoinKind::Left | JoinKind::Full if has_partner => positions.iter().map(pair).collect(),
            JoinKind::Left | JoinKind::Full => alone(),
            JoinKind::Semi if has_partner => vec![left.clone()],
            JoinKind::Anti if !has_partner => vec![left.clone()],
            JoinKind::Semi | JoinKind::Anti | JoinKind::RightSemi | JoinKind::RightAnti => Vec::new(),
            JoinKind::Single => match positions.as_slice() {
                [] => alone(),
                [one] => vec![pair(one)],
                _ => return Err(more_than_one_row()),
            },
            JoinKind::Mark { compare, .. } => {
                let mark = self.mark(compare, partners, outer)?;
                vec![[left.as_slice(), &[mark]].concat()]
            }
            JoinKind::AsOf { outer: keeps_left, comparison, left: value, right: key } => {
                let value = self.value(value, outer)?;
                match self.nearest((*comparison, &value), key, partners, outer)? {
                    Some(position) => vec![pair(&position)],
                    None if *keeps_left => alone(),
                    None => Vec::new(),
                }
            }
            JoinKind::Positional => return Err(Error::internal("positional joins have no conditions")),
        })
    }

    fn mark(&self, compare: &[Expr], partners: &Partners, outer: &Environment<'_>) -> Result<Value> {
        let Partners { right, positions } = partners;
        let mut any = Some(false);
        for &position in positions {
            match self.conjunction(compare, &outer.with_row(&right.columns, &right.rows[position]))? {
                Some(true) => return Ok(Value::Boolean(true)),
                Some(false) => {}
                None => any = None,
            }
        }
        Ok(of_truth(any))
    }

    /// Returns the match whose key is nearest to the value, on the side given by the comparison.
    fn nearest(
        &self,
        (comparison, value): (Comparison, &Value),
        key: &Expr,
        partners: &Partners,
        outer: &Environment<'_>,
    ) -> Result<Option<usize>> {
        let Partners { right, positions } = partners;
        let wants_last = matches!(comparison, Comparison::Greater | Comparison::GreaterOrEqual);
        let mut best: Option<(usize, Value)> = None;
        for &position in positions {
            let candidate = self.value(key, &outer.with_row(&right.columns, &right.rows[position]))?;
            if compare(comparison, value, &candidate, &key.ty) != Some(true) {
                continue;
            }
            let is_nearer = best.as_ref().is_none_or(|(_, best)| {
                let order = compare_values(&candidate, best, &key.ty);
                if wants_last { order.is_gt() } else { order.is_lt() }
            });
            if is_nearer {
                best = Some((position, candidate));
            }
        }
        Ok(best.map(|(position, _)| position))
    }
}

/// Whether the output for a right row depends on all left rows.
fn looks_from_right(kind: &JoinKind) -> bool {
    use JoinKind::{Full, Positional, Right, RightAnti, RightSemi};
    matches!(kind, Right | Full | RightSemi | RightAnti | Positional)
}

fn side_by_side(left: &Rows, right: &Rows) -> Vec<Row> {
    let at = |side: &Rows, index: usize| side.rows.get(index).cloned().unwrap_or(vec![Value::Null; side.columns.len()]);
    (0..left.rows.len().max(right.rows.len())).map(|index| [at(left, index), at(right, index)].concat()).collect()
}
