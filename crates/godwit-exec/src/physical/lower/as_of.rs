//! ASOF joins.
//!
//! If the conditions are equalities, both sides go through one window, which avoids quadratic work:
//!
//! ```text
//! left                         ─┐
//!                               ├─ UNION ALL ─▶ the last number in the order of the values so far,  ─▶ rows of the left,
//! right, numbered: its keys,   ─┘               in the partition of the keys                           each with a number
//!   value and number                                                                                         │
//! right, numbered ──────────────────────────────────────────────────────────────────────────────▶ join by the number
//! ```
//!
//! The order descends for `<` and `<=`. Among equal values the right rows come first, unless the comparison is strict;
//! a left row whose value is NULL comes before all right rows, and right rows that can't match because of a NULL are
//! left out.
//!
//! With other conditions each left row is joined with all its matches, and the nearest one is kept.

use std::sync::Arc;

use godwit_plan::{
    ColumnId, Comparison, Expr, Frame, FrameBound, FrameExclusion, FrameUnits, Join, JoinKind, Node, NodeId,
    SetOperation, SetOperator, SharedPlan, SortKey, Window, WindowCall, WindowFunction, WindowTarget,
};
use godwit_types::SqlType;

use super::{Lowering, numbering};
use crate::physical::join_conditions::Key;

/// An ASOF join, taken apart.
struct AsOf<'n> {
    left: NodeId,
    right: NodeId,
    outer: bool,
    comparison: Comparison,
    left_value: &'n Expr,
    right_value: &'n Expr,
    conditions: &'n [Expr],
}

impl Lowering {
    pub(super) fn as_of(&mut self, node: &Node) -> NodeId {
        let Node::Join(Join { kind: JoinKind::AsOf { outer, comparison, left: value, right: other }, .. }) = node
        else {
            unreachable!("the rewrite of another node")
        };
        let Node::Join(Join { left, right, conditions, .. }) = node else { unreachable!("it is a join") };
        let as_of = AsOf {
            left: *left,
            right: *right,
            outer: *outer,
            comparison: *comparison,
            left_value: value,
            right_value: other,
            conditions,
        };
        let (left_columns, right_columns) = (self.plan.output_set(*left), self.plan.output_set(*right));
        let keys: Option<Vec<Key>> =
            conditions.iter().map(|condition| Key::of(condition, &left_columns, &right_columns)).collect();
        match keys {
            // This reads the right side twice, so it has to be shared, which isn't possible for the working rows of a
            // recursion.
            Some(keys) if !self.reads_working_rows(*right) => self.by_window(&as_of, &keys),
            _ => self.by_pairs(&as_of),
        }
    }

    fn by_window(&mut self, as_of: &AsOf<'_>, keys: &[Key]) -> NodeId {
        let columns = self.columns_of_both(as_of.left, as_of.right);
        let (numbered, number) = self.numbered_in_order(as_of.right);
        let root = self.filter(numbered, right_rows_that_count(as_of, keys));
        let shared = self.plan.add_shared(SharedPlan { name: "right".to_owned(), root, materialized: Some(true) });
        let (found, found_number) = self.with_found_numbers(as_of, keys, shared, number);
        let (right, renamed) = self.use_of(shared);
        let equal = Expr::compare(Comparison::Equal, self.column(found_number), self.column(renamed[&number]));
        let kind = if as_of.outer { JoinKind::Left } else { JoinKind::Inner };
        let joined = self.add(Node::Join(Join { kind, left: found, right, conditions: vec![equal] }));
        if as_of.outer {
            self.plan.outputs(as_of.right).into_iter().for_each(|column| self.plan.make_nullable(column));
        }
        let columns = columns.into_iter().map(|(column, value)| (column, value.rename(&renamed))).collect();
        self.project(joined, columns)
    }

    /// The left rows, each with the number of its right row.
    fn with_found_numbers(
        &mut self,
        as_of: &AsOf<'_>,
        keys: &[Key],
        shared: godwit_plan::SharedId,
        number: ColumnId,
    ) -> (NodeId, ColumnId) {
        // For both sides: the keys, the value, the number; then the left columns.
        let left_columns = self.columns(as_of.left);
        let (right, renamed) = self.use_of(shared);
        let of_right = |expr: &Expr| expr.clone().rename(&renamed);
        let mut left_values: Vec<Expr> = keys.iter().map(|key| key.probe.clone()).collect();
        let mut right_values: Vec<Expr> = keys.iter().map(|key| of_right(&key.build)).collect();
        left_values.push(as_of.left_value.clone());
        right_values.push(of_right(as_of.right_value));
        left_values.push(Expr::null(SqlType::BigInt));
        right_values.push(self.column(renamed[&number]));
        for (_, column) in &left_columns {
            left_values.push(column.clone());
            right_values.push(Expr::null(column.ty.clone()));
        }
        let types: Vec<SqlType> = left_values.iter().map(|value| value.ty.clone()).collect();
        let left = self.computed(as_of.left, left_values);
        let right = self.computed(right, right_values);
        let columns: Vec<ColumnId> = types.into_iter().map(|ty| self.plan.add_column("asof", ty, true)).collect();
        let (operator, inputs) = (SetOperator::Union, vec![left, right]);
        let operation = SetOperation { operator, all: true, columns: columns.clone(), inputs };
        let both = self.add(Node::SetOperation(operation));

        let own = self.column(columns[keys.len() + 1]);
        let found = self.plan.add_column("found", SqlType::BigInt, true);
        let call = self.last_number(as_of, &columns[..=keys.len() + 1]);
        let windowed = self.add(Node::Window(Window { input: both, calls: vec![(found, call)] }));
        let of_left = self.filter(windowed, vec![own.is_null()]);
        let passed = columns[keys.len() + 2..].iter();
        let mut output: Vec<(ColumnId, Expr)> =
            left_columns.iter().zip(passed).map(|((id, _), &column)| (*id, self.column(column))).collect();
        output.push((found, self.column(found)));
        (self.project(of_left, output), found)
    }

    /// The last number so far; `columns` are the keys, the value, and the number.
    fn last_number(&self, as_of: &AsOf<'_>, columns: &[ColumnId]) -> WindowCall {
        let [keys @ .., value, number] = columns else { unreachable!("a value and a number") };
        let descends = matches!(as_of.comparison, Comparison::Less | Comparison::LessOrEqual);
        let is_strict = matches!(as_of.comparison, Comparison::Less | Comparison::Greater);
        let number = self.column(*number);
        let key = |expr, descending, nulls_first| SortKey { expr, descending, nulls_first };
        let order_by = vec![
            key(self.column(*value), descends, true),
            key(number.clone().is_null(), is_strict, false),
            // Among equal values the first one counts as the last here.
            key(number.clone(), true, false),
        ];
        let frame = Frame {
            units: FrameUnits::Rows,
            start: FrameBound::UnboundedPreceding,
            end: FrameBound::CurrentRow,
            exclude: FrameExclusion::NoOthers,
        };
        let partition_by = keys.iter().map(|&key| self.column(key)).collect();
        let function = WindowFunction { name: "last_value".into(), uses_frame: true, implementation: Arc::new(()) };
        let call = WindowCall::over(WindowTarget::Window(function), SqlType::BigInt, partition_by, order_by);
        WindowCall { args: vec![number], ignore_nulls: true, frame, nullable: true, ..call }
    }

    /// Forms all pairs and keeps the nearest for each left row.
    fn by_pairs(&mut self, as_of: &AsOf<'_>) -> NodeId {
        let columns = self.columns_of_both(as_of.left, as_of.right);
        let (left, number) = self.numbered_in_order(as_of.left);
        let (right, right_number) = self.numbered_in_order(as_of.right);
        let values = (as_of.left_value.clone(), as_of.right_value.clone());
        let is_partner = Expr::compare(as_of.comparison, values.0, values.1);
        let conditions = as_of.conditions.iter().cloned().chain([is_partner]).collect();
        let kind = if as_of.outer { JoinKind::Left } else { JoinKind::Inner };
        let input = self.add(Node::Join(Join { kind, left, right, conditions }));
        let ascends = matches!(as_of.comparison, Comparison::Less | Comparison::LessOrEqual);
        // They may be NULL in an outer join.
        let order_by = [(as_of.right_value.clone(), !ascends), (self.column(right_number), false)];
        let order_by = order_by.map(|(expr, descending)| {
            let expr = Expr { nullable: true, ..expr };
            SortKey { expr, descending, nulls_first: false }
        });
        let place = self.plan.add_column("place", SqlType::BigInt, false);
        let calls = vec![(place, numbering("row_number", vec![self.column(number)], order_by.to_vec()))];
        let placed = self.add(Node::Window(Window { input, calls }));
        let is_nearest = Expr::compare(Comparison::Equal, self.column(place), Expr::bigint(1));
        let nearest = self.filter(placed, vec![is_nearest]);
        self.project(nearest, columns)
    }

    /// Expressions over a node as columns.
    fn computed(&mut self, input: NodeId, values: Vec<Expr>) -> (NodeId, Vec<ColumnId>) {
        let column = |value: Expr| (self.plan.add_column("asof", value.ty.clone(), value.nullable), value);
        let columns: Vec<(ColumnId, Expr)> = values.into_iter().map(column).collect();
        let ids = columns.iter().map(|&(id, _)| id).collect();
        (self.project(input, columns), ids)
    }
}

/// Selects the right rows that can match: NULL equals nothing, and comes before nothing.
fn right_rows_that_count(as_of: &AsOf<'_>, keys: &[Key]) -> Vec<Expr> {
    let compared = keys.iter().filter(|key| !key.null_safe).map(|key| &key.build).chain([as_of.right_value]);
    compared.filter(|value| value.nullable).map(|value| value.clone().is_null().negated()).collect()
}
