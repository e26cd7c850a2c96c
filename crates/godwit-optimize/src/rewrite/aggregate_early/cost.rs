//! Whether aggregating early pays.
//!
//! The unit of cost is one probe of a join. Costs are rough: differences of less than a quarter don't count. The number of
//! groups is that of independent keys: expecting too few of them costs more than missing a chance.

use godwit_plan::{Aggregate, AggregateCall, ColumnSet, Comparison, Expr, ExprKind, Join, JoinKind, NodeId};
use godwit_types::SqlType;

use super::split::Split;
use crate::properties::effects::weight;

/// Finding the group of a row.
const GROUP: f64 = 3.0;

/// Hashing and comparing a key.
const KEY: f64 = 1.0;

/// The same for a string.
const TEXT_KEY: f64 = 4.0;

/// Adding a value to a state, and each operation that makes the value.
const OPERATION: f64 = 1.0;

/// When aggregating early is worth it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Worth {
    /// Minimum number of rows that are aggregated. Fewer are joined in less time than another operator takes to start.
    pub(crate) rows_min: f64,
    /// Minimum number of rows for each group.
    pub(crate) rows_per_group_min: f64,
    /// Minimum gain, as a share of the cost of aggregating early.
    pub(crate) gain_min: f64,
}

impl Worth {
    /// Wherever it is possible.
    #[cfg(test)]
    pub(crate) const ALWAYS: Self = Self { rows_min: 0.0, rows_per_group_min: 0.0, gain_min: f64::NEG_INFINITY };
}

impl Default for Worth {
    fn default() -> Self {
        Self { rows_min: 50_000.0, rows_per_group_min: 4.0, gain_min: 0.25 }
    }
}

/// A place for aggregating early.
#[derive(Debug, Clone, Copy)]
pub(super) struct Candidate {
    /// Rows that come out of all joins above.
    pub(super) rows_above: f64,
    /// Rows that are aggregated early.
    pub(super) rows: f64,
    /// The number of joins above.
    pub(super) joins: f64,
    /// Rows that go into them, taken together.
    pub(super) rows_joined: f64,
}

impl Candidate {
    /// Returns how much is gained by joining this number of groups instead of the rows; `None` if it isn't worth it.
    pub(super) fn gain(
        &self,
        worth: Worth,
        groups: f64,
        aggregate: &Aggregate,
        keys: &[Expr],
        split: &Split,
    ) -> Option<f64> {
        let groupings = aggregate.sets.as_ref().map_or(1, Vec::len) as f64;
        let cost_above = |calls: &[_]| groupings * cost_of_row(aggregate.keys.iter().map(|(_, key)| key), calls);
        let groups_above = self.rows_above * groups / self.rows.max(1.0);
        let early = self.rows * cost_of_row(keys.iter(), &split.partial);
        let spared = self.rows_joined - self.joins * groups + self.rows_above * cost_above(&aggregate.aggregates)
            - groups_above * cost_above(&split.of_groups);
        let gain = spared - early;
        let pays = groups * worth.rows_per_group_min <= self.rows && gain >= early * worth.gain_min;
        pays.then_some(gain)
    }
}

/// Returns the cost of aggregating a row.
fn cost_of_row<'e, T>(keys: impl Iterator<Item = &'e Expr>, calls: &[(T, AggregateCall)]) -> f64 {
    let of_key = |key: &Expr| {
        let is_string = matches!(key.ty, SqlType::Varchar | SqlType::Blob | SqlType::Uuid);
        let own = if is_string { TEXT_KEY } else { KEY };
        own + weight(key) as f64 * OPERATION
    };
    let of_call = |(_, call): &(T, AggregateCall)| (1 + call.exprs().map(weight).sum::<usize>()) as f64 * OPERATION;
    GROUP + keys.map(of_key).sum::<f64>() + calls.iter().map(of_call).sum::<f64>()
}

/// Returns true if scans of this side will drop rows whose keys the join's other side doesn't have, even if the side is
/// an aggregation by these columns.
pub(super) fn passes_filters(join: &Join, side: NodeId, columns: &ColumnSet) -> bool {
    let is_key = |expr: &Expr| expr.as_column().is_some_and(|column| columns.contains(column));
    let has_key = |condition: &Expr| match &condition.kind {
        ExprKind::Compare(Comparison::Equal, left, right) => is_key(left) || is_key(right),
        _ => false,
    };
    let drops = matches!(join.kind, JoinKind::Inner | JoinKind::Semi);
    drops && side == join.left && join.conditions.iter().any(has_key)
}
