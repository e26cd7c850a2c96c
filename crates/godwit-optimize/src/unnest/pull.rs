//! Predicates on outer columns rise to the join: if all of them can, no domain is needed.
//!
//! ```text
//! outer ⋈ Aggregate sum(x)            outer ⟕ Aggregate by k, sum(x)  on outer.k = k
//!           Filter k = outer.k   ─►              inner
//!             inner
//! ```
//!
//! Any comparison rises through filters, projections and joins. Only equalities rise through groups, windows and
//! limits, where the inner side becomes a key. Projections of outer columns are put off until above the join. An
//! aggregate without keys has a row even for empty input: it gets keys here, and the value of the empty group is
//! computed above an outer join.

use godwit_common::Result;
use godwit_plan::{
    Aggregate, ColumnId, ColumnSet, Comparison, Expr, ExprKind, Join, JoinKind, Limit, Node, NodeId, Project, SortKey,
    Unnest, Values, Window,
};
use godwit_types::SqlType;

use super::Unnester;
use super::build::{case, coalesce};

/// A subtree without its correlation. Its rows for an outer row are those of `node` for which the conditions are TRUE.
pub(super) struct Pulled {
    /// The rows; they use no outer columns. There may be more columns than the subtree had.
    pub(super) node: NodeId,
    /// Conjuncts over outer columns and those of the node.
    pub(super) conditions: Vec<Expr>,
    /// Columns of the subtree that are computed above, from outer columns and those of the node.
    pub(super) computed: Vec<(ColumnId, Expr)>,
    /// There is exactly one row for each outer row: if `node` has none, its columns are NULL, and `computed` are
    /// computed.
    pub(super) always: bool,
}

impl Pulled {
    pub(super) fn rows(node: NodeId) -> Self {
        Self { node, conditions: Vec::new(), computed: Vec::new(), always: false }
    }

    fn computed_set(&self) -> ColumnSet {
        self.computed.iter().map(|&(column, _)| column).collect()
    }
}

/// An equality that binds an outer value: `inner = outer`, or `inner IS NOT DISTINCT FROM outer`.
struct Binding {
    comparison: Comparison,
    inner: Expr,
    outer: Expr,
}

impl Unnester<'_> {
    /// Removes outer columns from a subtree; `None` if some can't rise.
    pub(super) fn pull(&mut self, id: NodeId, outer: &ColumnSet) -> Result<Option<Pulled>> {
        if self.free(id).is_disjoint(outer) {
            return Ok(Some(Pulled::rows(id)));
        }
        match self.plan.node(id).clone() {
            Node::Filter { .. } | Node::Join(Join { kind: JoinKind::Inner, .. }) => self.pull_region(id, outer),
            Node::Values(values) => Ok(self.pull_values(values, outer)),
            Node::Join(join) => self.pull_join(join, outer),
            Node::Limit(limit) => self.pull_limit(limit, outer),
            Node::Project(Project { input, .. })
            | Node::Sort { input, .. }
            | Node::Aggregate(Aggregate { input, .. })
            | Node::Window(Window { input, .. })
            | Node::Unnest(Unnest { input, .. }) => {
                let Some(pulled) = self.pull(input, outer)? else { return Ok(None) };
                Ok(match self.plan.node(id).clone() {
                    Node::Project(project) => self.pull_project(project, pulled, outer),
                    Node::Sort { keys, .. } => self.pull_sort(keys, pulled, outer),
                    Node::Aggregate(aggregate) => self.pull_aggregate(aggregate, pulled, outer),
                    Node::Window(window) => self.pull_window(window, pulled, outer),
                    Node::Unnest(unnest) => self.pull_unnest(unnest, pulled, outer),
                    _ => None,
                })
            }
            Node::Scan(_)
            | Node::SetOperation(_)
            | Node::Recursive(_)
            | Node::WorkingRows { .. }
            | Node::Use(_)
            | Node::Sample(_) => Ok(None),
        }
    }

    fn pull_values(&mut self, values: Values, outer: &ColumnSet) -> Option<Pulled> {
        let [row] = <[Vec<Expr>; 1]>::try_from(values.rows).ok()?;
        if row.iter().any(|expr| self.is_stuck(expr, outer)) {
            return None;
        }
        let computed = values.columns.into_iter().zip(row).collect();
        Some(Pulled { computed, ..Pulled::rows(self.one_row()) })
    }

    /// Handles a projection above the rows: expressions that use only columns of the node stay, the rest are put off.
    pub(super) fn pull_project(&mut self, project: Project, input: Pulled, outer: &ColumnSet) -> Option<Pulled> {
        let above = outer.union(&input.computed_set());
        let mut kept = Vec::new();
        let mut computed = Vec::new();
        for (column, expr) in project.columns {
            if expr.as_column() == Some(column) && outer.contains(column) {
                continue;
            }
            let rises = !self.columns_of(&expr).is_disjoint(&above);
            if rises || (input.always && !is_null_with_its_columns(&expr)) {
                if self.is_stuck(&expr, &above) {
                    return None;
                }
                computed.push((column, put_in(expr, &input.computed)));
            } else if expr.as_column() != Some(column) {
                kept.push((column, expr));
            }
        }
        let node = self.extend(input.node, kept);
        Some(Pulled { node, computed, ..input })
    }

    fn pull_sort(&mut self, keys: Vec<SortKey>, mut input: Pulled, outer: &ColumnSet) -> Option<Pulled> {
        if input.always {
            return Some(input);
        }
        let above = outer.union(&input.computed_set());
        if keys.iter().any(|key| !self.columns_of(&key.expr).is_disjoint(&above)) {
            return None;
        }
        input.node = self.plan.add(Node::Sort { input: input.node, keys });
        Some(input)
    }

    fn pull_unnest(&mut self, unnest: Unnest, mut input: Pulled, outer: &ColumnSet) -> Option<Pulled> {
        let above = outer.union(&input.computed_set());
        if input.always || unnest.lists.iter().any(|list| !self.columns_of(&list.list).is_disjoint(&above)) {
            return None;
        }
        input.node = self.plan.add(Node::Unnest(Unnest { input: input.node, ..unnest }));
        Some(input)
    }

    /// Handles a join that keeps the rows of its left side as they are, and depends on outer columns only there.
    fn pull_join(&mut self, join: Join, outer: &ColumnSet) -> Result<Option<Pulled>> {
        use JoinKind::{Anti, AsOf, Left, Mark, Semi, Single};
        if !matches!(join.kind, Left | Semi | Anti | Mark { .. } | Single | AsOf { .. }) {
            return Ok(None);
        }
        if !self.free(join.right).is_disjoint(outer) {
            return Ok(None);
        }
        let Some(mut left) = self.pull(join.left, outer)? else { return Ok(None) };
        let above = outer.union(&left.computed_set());
        if left.always || !self.free(join.right).is_disjoint(&above) {
            return Ok(None);
        }
        let mut exprs = Vec::new();
        let node = Node::Join(Join { left: left.node, ..join });
        node.for_each_expr(&mut |expr| exprs.push(expr.clone()));
        if exprs.iter().any(|expr| !self.columns_of(expr).is_disjoint(&above)) {
            return Ok(None);
        }
        left.node = self.plan.add(node);
        Ok(Some(left))
    }

    /// Groups separately for each value of the bindings.
    pub(super) fn pull_aggregate(&mut self, aggregate: Aggregate, input: Pulled, outer: &ColumnSet) -> Option<Pulled> {
        let is_global = aggregate.keys.is_empty();
        let bindings = self.bindings(&input, outer)?;
        let above = outer.union(&input.computed_set());
        let mut exprs = aggregate.keys.iter().map(|(_, key)| key).collect::<Vec<_>>();
        exprs.extend(aggregate.aggregates.iter().flat_map(|(_, call)| call.exprs()));
        if aggregate.sets.is_some() || exprs.into_iter().any(|expr| !self.columns_of(expr).is_disjoint(&above)) {
            return None;
        }
        let mut keys = aggregate.keys;
        let mut conditions = Vec::new();
        for Binding { comparison, inner, outer } in bindings {
            let known = keys.iter().find(|(_, key)| *key == inner).map(|&(column, _)| column);
            let column = known.or(inner.as_column()).unwrap_or_else(|| self.column_for("key", &inner));
            if known.is_none() {
                keys.push((column, inner));
            }
            conditions.push(Expr::compare(comparison, self.column(column), outer));
        }
        let mut aggregates = aggregate.aggregates;
        let computed = if is_global { self.values_of_empty_group(&mut aggregates) } else { Vec::new() };
        let mut grouped = Pulled { conditions, always: is_global, ..Pulled::rows(input.node) };
        grouped.node = self.plan.add(Node::Aggregate(Aggregate {
            input: input.node,
            keys,
            sets: None,
            grouping_id: None,
            aggregates,
        }));
        self.compute_empty_group(&mut grouped, computed);
        Some(grouped)
    }

    /// Gives other ids to aggregates that aren't NULL for an empty group: (column, its stand-in, the call's value for
    /// no rows).
    fn values_of_empty_group(
        &mut self,
        aggregates: &mut [(ColumnId, godwit_plan::AggregateCall)],
    ) -> Vec<(ColumnId, ColumnId, Expr)> {
        let mut computed = Vec::new();
        for (column, call) in aggregates {
            if !call.function.of_empty.is_null() {
                let stand_in = self.plan.copy_column(*column);
                computed.push((*column, stand_in, Expr::literal(call.function.of_empty.clone(), call.ty.clone())));
                *column = stand_in;
            }
        }
        computed
    }

    /// Substitutes the value of the empty group where no group is found. An aggregate that is never NULL indicates that
    /// by being NULL.
    fn compute_empty_group(&mut self, grouped: &mut Pulled, columns: Vec<(ColumnId, ColumnId, Expr)>) {
        let needs_flag = columns.iter().any(|&(_, stand_in, _)| self.plan.column(stand_in).nullable);
        let found = needs_flag.then(|| {
            let found = self.plan.add_column("matched", SqlType::Boolean, false);
            grouped.node = self.extend(grouped.node, vec![(found, Expr::boolean(true))]);
            found
        });
        for (column, stand_in, of_empty) in columns {
            let value = self.column(stand_in);
            let value = match found.filter(|_| self.plan.column(stand_in).nullable) {
                Some(found) => case(self.column(found).is_null(), of_empty, value),
                None => coalesce(value, of_empty),
            };
            grouped.computed.push((column, value));
        }
    }

    /// Partitions separately for each value of the bindings.
    fn pull_window(&mut self, window: Window, mut input: Pulled, outer: &ColumnSet) -> Option<Pulled> {
        let above = outer.union(&input.computed_set());
        let bindings = self.bindings(&input, outer)?;
        let exprs = window.calls.iter().flat_map(|(_, call)| call.exprs());
        if exprs.into_iter().any(|expr| !self.columns_of(expr).is_disjoint(&above)) {
            return None;
        }
        let mut calls = window.calls;
        for (_, call) in &mut calls {
            call.partition_by.extend(bindings.iter().map(|binding| binding.inner.clone()));
        }
        input.node = self.plan.add(Node::Window(Window { input: input.node, calls }));
        Some(input)
    }

    fn pull_limit(&mut self, limit: Limit, outer: &ColumnSet) -> Result<Option<Pulled>> {
        let (input, keys) = self.rows_and_order(limit.input);
        let Some(mut pulled) = self.pull(input, outer)? else { return Ok(None) };
        let above = outer.union(&pulled.computed_set());
        let Some(bindings) = self.bindings(&pulled, outer) else { return Ok(None) };
        let exprs = keys.iter().map(|key| &key.expr).chain(&limit.offset).chain(&limit.count);
        if exprs.into_iter().any(|expr| !self.columns_of(expr).is_disjoint(&above)) {
            return Ok(None);
        }
        let partition_by = bindings.into_iter().map(|binding| binding.inner).collect();
        pulled.node = self.limit_each(pulled.node, partition_by, keys, limit)?;
        Ok(Some(pulled))
    }

    /// Returns the conditions as bindings, if all of them equate an inner and an outer value.
    fn bindings(&mut self, pulled: &Pulled, outer: &ColumnSet) -> Option<Vec<Binding>> {
        if pulled.always {
            return None;
        }
        pulled.conditions.iter().map(|condition| self.binding(condition, outer)).collect()
    }

    fn binding(&mut self, condition: &Expr, outer: &ColumnSet) -> Option<Binding> {
        let (comparison, inner, outer) = self.bound_value(condition, outer)?;
        Some(Binding { comparison, inner: inner.clone(), outer: outer.clone() })
    }

    /// Returns the inner and the outer side of an equality.
    pub(super) fn bound_value<'e>(
        &mut self,
        condition: &'e Expr,
        outer: &ColumnSet,
    ) -> Option<(Comparison, &'e Expr, &'e Expr)> {
        let ExprKind::Compare(comparison @ (Comparison::Equal | Comparison::NotDistinct), a, b) = &condition.kind
        else {
            return None;
        };
        let (of_a, of_b) = (self.columns_of(a), self.columns_of(b));
        if of_a.is_disjoint(outer) && of_b.is_subset(outer) {
            Some((*comparison, a, b))
        } else if of_b.is_disjoint(outer) && of_a.is_subset(outer) {
            Some((*comparison, b, a))
        } else {
            None
        }
    }

    /// Returns true if an expression can't rise. One with a subquery that becomes a join has to stay where it is.
    pub(super) fn is_stuck(&mut self, expr: &Expr, above: &ColumnSet) -> bool {
        self.has_placeable(expr) && !self.columns_of(expr).is_disjoint(above)
    }
}

/// Replaces columns in the expression by the expressions that compute them.
pub(super) fn put_in(expr: Expr, computed: &[(ColumnId, Expr)]) -> Expr {
    if computed.is_empty() {
        return expr;
    }
    expr.substitute(&|column| computed.iter().find(|(known, _)| *known == column).map(|(_, value)| value.clone()))
}

/// Returns true if the value is NULL whenever the columns are. Then it can be computed below an outer join as well as
/// above.
fn is_null_with_its_columns(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Column(_) => true,
        ExprKind::Cast { input, .. } | ExprKind::Negate(input) => is_null_with_its_columns(input),
        ExprKind::Arithmetic(_, a, b) => is_null_with_its_columns(a) || is_null_with_its_columns(b),
        _ => false,
    }
}
