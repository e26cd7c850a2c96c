//! Subqueries in join conditions.
//!
//! - Inner joins: a conjunct that uses one side is a filter of that side, others are a filter above.
//! - Other joins: a subquery that uses one side becomes a join below that side; its value is a column there.
//! - A subquery that uses both sides of such a join: the conditions become a filter of the right side, which makes the
//!   join a dependent one: `l ⟕ r on p(l, r)` is `l ⟕ σ p(l, r) r`. A full join keeps both sides; it goes by the pairs
//!   of values that the conditions ask for:
//!
//! ```text
//! l FULL JOIN r on p(l.a, r.b)      (l ⟕ σ p(l.a, e) domain(e of r.b)) FULL JOIN r   on e IS NOT DISTINCT FROM r.b
//! ```

use godwit_common::{Error, Result};
use godwit_plan::{ColumnSet, Expr, ExprKind, Join, JoinKind, Node, NodeId};
use godwit_types::SqlType;

use super::Unnester;
use super::build::is_true;
use super::pile::Pile;
use super::rename::Renaming;

impl Unnester<'_> {
    pub(super) fn place_in_join(&mut self, join: Join) -> Result<NodeId> {
        if join.kind == JoinKind::Inner {
            return Ok(self.place_in_inner_join(join));
        }
        let mut sides = [Pile::new(self, join.left), Pile::new(self, join.right)];
        let node = Node::Join(join);
        let node = self.try_map_exprs(node, &mut |unnester, expr| unnester.place_on_side(&mut sides, expr))?;
        let [left, right] = sides;
        let mut below = [self.finish(left), self.finish(right)].into_iter();
        let node = node.map_inputs(&mut |_| below.next().expect("a join has two sides"));
        let Node::Join(join) = node else { return Err(Error::internal("a join stays one")) };
        self.place_on_both(join)
    }

    fn place_in_inner_join(&mut self, join: Join) -> NodeId {
        let outputs = [self.plan.output_set(join.left), self.plan.output_set(join.right)];
        let [mut at_left, mut at_right, mut above, mut conditions] = [const { Vec::new() }; 4];
        for conjunct in join.conditions.into_iter().flat_map(Expr::into_conjuncts) {
            let columns = self.columns_of(&conjunct);
            let place = if !self.has_placeable(&conjunct) {
                &mut conditions
            } else if columns.is_disjoint(&outputs[1]) {
                &mut at_left
            } else if columns.is_disjoint(&outputs[0]) {
                &mut at_right
            } else {
                &mut above
            };
            place.push(conjunct);
        }
        let left = self.filter(join.left, at_left);
        let right = self.filter(join.right, at_right);
        let joined = self.plan.add(Node::Join(Join { kind: JoinKind::Inner, left, right, conditions }));
        self.filter(joined, above)
    }

    /// Places the subqueries that need only one side of a condition on that side; returns a condition whose subqueries
    /// need both.
    fn place_on_side(&mut self, sides: &mut [Pile; 2], expr: Expr) -> Result<Expr> {
        if !self.has_placeable(&expr) {
            return Ok(expr);
        }
        let needed = self.needed_by_subqueries(&expr);
        let [left, right] = sides;
        if needed.is_disjoint(&right.base_columns) {
            self.place_in(left, expr)
        } else if needed.is_disjoint(&left.base_columns) {
            self.place_in(right, expr)
        } else {
            Ok(expr)
        }
    }

    /// Returns the columns used by subqueries in an expression and by values bound once around them.
    fn needed_by_subqueries(&mut self, expr: &Expr) -> ColumnSet {
        let mut parts = Vec::new();
        expr.for_each(&mut |part| match &part.kind {
            ExprKind::Subquery(_) => parts.push(part),
            ExprKind::Let { value, body, .. } if body.has_subquery() => parts.push(&**value),
            _ => {}
        });
        let mut needed = ColumnSet::new();
        for part in parts {
            needed.union_with(&self.columns_of(part));
        }
        needed
    }

    /// Handles the remaining subqueries, which use both sides.
    fn place_on_both(&mut self, mut join: Join) -> Result<NodeId> {
        let in_conditions = join.conditions.iter().any(|condition| self.has_placeable(condition));
        let in_compare = match &join.kind {
            JoinKind::Mark { compare, .. } => compare.iter().any(|conjunct| self.has_placeable(conjunct)),
            JoinKind::AsOf { left, right, .. } if self.has_placeable(left) || self.has_placeable(right) => {
                return Err(Error::unsupported(
                    "a subquery in the order of an ASOF join can use only one of its sides",
                ));
            }
            _ => false,
        };
        if !in_conditions && !in_compare {
            return Ok(self.plan.add(Node::Join(join)));
        }
        let mirrored = match join.kind {
            JoinKind::Full => return self.place_in_full_join(join),
            JoinKind::Right => Some(JoinKind::Left),
            JoinKind::RightSemi => Some(JoinKind::Semi),
            JoinKind::RightAnti => Some(JoinKind::Anti),
            _ => None,
        };
        if let Some(kind) = mirrored {
            join = Join { kind, left: join.right, right: join.left, conditions: join.conditions };
        }
        join.right = self.filter(join.right, std::mem::take(&mut join.conditions));
        if let JoinKind::Mark { compare, .. } = &mut join.kind {
            let compared = Expr::and(std::mem::take(compare));
            let column = self.column_for("compared", &compared);
            compare.push(Expr::new(ExprKind::Column(column), SqlType::Boolean, compared.nullable));
            join.right = self.extend(join.right, vec![(column, compared)]);
        }
        Ok(self.plan.add(Node::Join(join)))
    }

    fn place_in_full_join(&mut self, join: Join) -> Result<NodeId> {
        let mut right = Pile::new(self, join.right);
        let mut needed = ColumnSet::new();
        for condition in &join.conditions {
            needed.union_with(&self.columns_of(condition));
        }
        needed.intersect_with(&right.base_columns);
        let domain = self.domain(&mut right, join.conditions.iter().any(Expr::is_volatile), &needed)?;
        let (values, columns) = self.use_domain(&domain);
        let names = Renaming::new(domain.outer_columns(), columns.iter().copied());
        let conditions = join.conditions.into_iter().map(|condition| self.rename(condition, &names)).collect();
        let filtered = self.filter(values, conditions);
        let matched = self.plan.add_column("matched", SqlType::Boolean, false);
        let values = self.extend(filtered, vec![(matched, Expr::boolean(true))]);
        let mut left = Pile::new(self, join.left);
        self.join(&mut left, JoinKind::Left, values, Vec::new())?;
        let left = self.finish(left);
        let mut conditions = vec![is_true(self.column(matched))];
        conditions.extend(self.same_values(&domain.keys(&columns), &domain.keys(&domain.outer_columns())));
        let right = self.finish(right);
        Ok(self.plan.add(Node::Join(Join { kind: JoinKind::Full, left, right, conditions })))
    }
}
