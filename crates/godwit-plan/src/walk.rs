//! Traversal and rewriting of expressions and nodes.
//!
//! One place knows the children of each kind; searches for columns, subqueries or calls use it.

use std::collections::HashMap;

use crate::{
    AggregateCall, ColumnId, ColumnSet, Expr, ExprKind, Frame, FrameBound, Join, JoinKind, Node, NodeId, SortKey,
    Subquery, SubqueryKind, UnnestedList, Volatility, WindowCall, WindowTarget,
};

impl Expr {
    /// Returns the direct parts of this expression, not including the plan of a subquery.
    pub fn children(&self) -> Vec<&Expr> {
        let mut children = Vec::new();
        self.push_children(&mut children);
        children.reverse();
        children
    }

    /// Pushes the direct parts of this expression onto a stack, with the first on top.
    fn push_children<'e>(&'e self, stack: &mut Vec<&'e Expr>) {
        match &self.kind {
            ExprKind::Column(_) | ExprKind::Literal(_) | ExprKind::Parameter(_) => {}
            ExprKind::Cast { input: one, .. }
            | ExprKind::Not(one)
            | ExprKind::IsNull(one)
            | ExprKind::Negate(one)
            | ExprKind::Try(one)
            | ExprKind::Lambda(_, one) => stack.push(one),
            ExprKind::Compare(_, a, b)
            | ExprKind::Arithmetic(_, a, b)
            | ExprKind::Match { input: a, pattern: b, .. }
            | ExprKind::Let { value: a, body: b, .. } => stack.extend([&**b, &**a]),
            ExprKind::And(all) | ExprKind::Or(all) | ExprKind::Coalesce(all) | ExprKind::Call(_, all) => {
                stack.extend(all.iter().rev());
            }
            ExprKind::Case { branches, otherwise } => {
                stack.extend(otherwise.as_deref());
                stack.extend(branches.iter().rev().flat_map(|(condition, value)| [value, condition]));
            }
            ExprKind::InList(value, list) => {
                stack.extend(list.iter().rev());
                stack.push(value);
            }
            ExprKind::Subquery(subquery) => stack.extend(subquery.left().iter().rev()),
        }
    }

    /// Calls `visit` for this expression and all its parts, parents first.
    pub fn for_each<'e>(&'e self, visit: &mut impl FnMut(&'e Expr)) {
        self.any(|part| {
            visit(part);
            false
        });
    }

    /// True if `test` is true for any part. Parents are tested first.
    pub fn any<'e>(&'e self, mut test: impl FnMut(&'e Expr) -> bool) -> bool {
        let mut open = Vec::new();
        let mut next = Some(self);
        while let Some(expr) = next {
            if test(expr) {
                return true;
            }
            expr.push_children(&mut open);
            next = open.pop();
        }
        false
    }

    /// Returns the columns that it uses, except those of lambdas and Lets inside. Doesn't descend into plans of
    /// subqueries: see [`Plan::free_columns`](crate::Plan::free_columns).
    pub fn columns(&self) -> ColumnSet {
        let (mut used, mut made) = (ColumnSet::new(), ColumnSet::new());
        self.for_each(&mut |part| match &part.kind {
            ExprKind::Column(column) => {
                used.insert(*column);
            }
            ExprKind::Let { column, .. } => {
                made.insert(*column);
            }
            ExprKind::Lambda(parameters, _) => made.extend(parameters.iter().copied()),
            _ => {}
        });
        used.subtract(&made);
        used
    }

    /// True if it contains a subquery.
    pub fn has_subquery(&self) -> bool {
        self.any(|part| matches!(part.kind, ExprKind::Subquery(_)))
    }

    /// True if its value may differ with each evaluation. Doesn't descend into plans of subqueries.
    pub fn is_volatile(&self) -> bool {
        self.any(|part| match &part.kind {
            ExprKind::Call(function, _) => function.volatility == Volatility::Volatile,
            _ => false,
        })
    }

    /// True if its value is the same for all rows and executions: no columns, parameters, subqueries, or volatile or
    /// stable calls.
    pub fn is_constant(&self) -> bool {
        let changes = |part: &Expr| match &part.kind {
            ExprKind::Parameter(_) | ExprKind::Subquery(_) => true,
            ExprKind::Call(function, _) => function.volatility != Volatility::Immutable,
            _ => false,
        };
        self.columns().is_empty() && !self.any(changes)
    }

    /// Returns the expression with its direct parts replaced.
    #[must_use]
    pub fn map_children(self, map: &mut impl FnMut(Expr) -> Expr) -> Expr {
        let mut one = |expr: Box<Expr>| Box::new(map(*expr));
        let kind = match self.kind {
            leaf @ (ExprKind::Column(_) | ExprKind::Literal(_) | ExprKind::Parameter(_)) => leaf,
            ExprKind::Cast { input, lenient } => ExprKind::Cast { input: one(input), lenient },
            ExprKind::Not(input) => ExprKind::Not(one(input)),
            ExprKind::IsNull(input) => ExprKind::IsNull(one(input)),
            ExprKind::Negate(input) => ExprKind::Negate(one(input)),
            ExprKind::Try(input) => ExprKind::Try(one(input)),
            ExprKind::Lambda(parameters, body) => ExprKind::Lambda(parameters, one(body)),
            ExprKind::Compare(comparison, a, b) => ExprKind::Compare(comparison, one(a), one(b)),
            ExprKind::Arithmetic(op, a, b) => ExprKind::Arithmetic(op, one(a), one(b)),
            ExprKind::Match { kind, input, pattern, escape } => {
                ExprKind::Match { kind, input: one(input), pattern: one(pattern), escape }
            }
            ExprKind::Let { column, value, body } => ExprKind::Let { column, value: one(value), body: one(body) },
            ExprKind::And(all) => ExprKind::And(all.into_iter().map(map).collect()),
            ExprKind::Or(all) => ExprKind::Or(all.into_iter().map(map).collect()),
            ExprKind::Coalesce(all) => ExprKind::Coalesce(all.into_iter().map(map).collect()),
            ExprKind::Call(function, all) => ExprKind::Call(function, all.into_iter().map(map).collect()),
            ExprKind::Case { branches, otherwise } => ExprKind::Case {
                branches: branches.into_iter().map(|(condition, value)| (map(condition), map(value))).collect(),
                otherwise: otherwise.map(|value| Box::new(map(*value))),
            },
            ExprKind::InList(value, list) => {
                let value = Box::new(map(*value));
                ExprKind::InList(value, list.into_iter().map(map).collect())
            }
            ExprKind::Subquery(subquery) => ExprKind::Subquery(Box::new(subquery.map_left(map))),
        };
        Expr { kind, ..self }
    }

    /// Replaces parts bottom-up.
    #[must_use]
    pub fn transform(self, map: &mut impl FnMut(Expr) -> Expr) -> Expr {
        fn inner(expr: Expr, map: &mut dyn FnMut(Expr) -> Expr) -> Expr {
            let expr = expr.map_children(&mut |child| inner(child, map));
            map(expr)
        }
        inner(self, map)
    }

    /// Returns the expression over other columns.
    #[must_use]
    pub fn map_columns(self, map: &impl Fn(ColumnId) -> ColumnId) -> Expr {
        self.transform(&mut |mut part| {
            match &mut part.kind {
                ExprKind::Column(column) | ExprKind::Let { column, .. } => *column = map(*column),
                ExprKind::Lambda(parameters, _) => parameters.iter_mut().for_each(|column| *column = map(*column)),
                ExprKind::Subquery(subquery) => subquery.columns.iter_mut().for_each(|column| *column = map(*column)),
                _ => {}
            }
            part
        })
    }

    /// Returns the expression with other names of columns. Those without one, such as those that the expression itself
    /// makes, stay.
    #[must_use]
    pub fn rename(self, names: &HashMap<ColumnId, ColumnId>) -> Expr {
        self.map_columns(&|column| names.get(&column).copied().unwrap_or(column))
    }

    /// Replaces columns by the results of `value_of`. Plans of subqueries don't change: callers that substitute below a
    /// subquery must know that its free columns aren't among those replaced.
    #[must_use]
    pub fn substitute(self, value_of: &impl Fn(ColumnId) -> Option<Expr>) -> Expr {
        self.transform(&mut |part| match part.kind {
            ExprKind::Column(column) => value_of(column).unwrap_or(part),
            _ => part,
        })
    }
}

impl Subquery {
    /// Returns the left value of a quantified comparison; nothing for others.
    pub fn left(&self) -> &[Expr] {
        match &self.kind {
            SubqueryKind::Quantified { left, .. } => left,
            SubqueryKind::Scalar | SubqueryKind::Exists => &[],
        }
    }

    fn map_left(mut self, map: &mut impl FnMut(Expr) -> Expr) -> Self {
        if let SubqueryKind::Quantified { left, .. } = &mut self.kind {
            *left = std::mem::take(left).into_iter().map(map).collect();
        }
        self
    }
}

fn map_keys(keys: Vec<SortKey>, map: &mut impl FnMut(Expr) -> Expr) -> Vec<SortKey> {
    keys.into_iter().map(|key| SortKey { expr: map(key.expr), ..key }).collect()
}

impl AggregateCall {
    /// Iterates over its arguments, filter and keys.
    pub fn exprs(&self) -> impl Iterator<Item = &Expr> {
        self.args.iter().chain(&self.filter).chain(self.order_by.iter().map(|key| &key.expr))
    }

    /// Returns the call with other expressions.
    #[must_use]
    pub fn map_exprs(self, map: &mut impl FnMut(Expr) -> Expr) -> Self {
        Self {
            args: self.args.into_iter().map(&mut *map).collect(),
            filter: self.filter.map(&mut *map),
            order_by: map_keys(self.order_by, map),
            ..self
        }
    }
}

impl WindowCall {
    /// Iterates over its arguments, filter, keys and bounds.
    pub fn exprs(&self) -> impl Iterator<Item = &Expr> {
        let keys = self.argument_order.iter().chain(&self.order_by).map(|key| &key.expr);
        let bounds = [&self.frame.start, &self.frame.end].into_iter().filter_map(FrameBound::distance);
        self.args.iter().chain(&self.filter).chain(&self.partition_by).chain(keys).chain(bounds)
    }

    /// Returns the call with other expressions.
    #[must_use]
    pub fn map_exprs(self, map: &mut impl FnMut(Expr) -> Expr) -> Self {
        Self {
            args: self.args.into_iter().map(&mut *map).collect(),
            filter: self.filter.map(&mut *map),
            argument_order: map_keys(self.argument_order, map),
            partition_by: self.partition_by.into_iter().map(&mut *map).collect(),
            order_by: map_keys(self.order_by, map),
            frame: Frame {
                start: self.frame.start.map_distance(map),
                end: self.frame.end.map_distance(map),
                ..self.frame
            },
            ..self
        }
    }

    /// Returns the name of its function.
    pub fn name(&self) -> &str {
        match &self.function {
            WindowTarget::Window(function) => &function.name,
            WindowTarget::Aggregate(function) => &function.name,
        }
    }
}

impl FrameBound {
    /// Returns the distance from the current row, if the bound has one.
    pub fn distance(&self) -> Option<&Expr> {
        match self {
            FrameBound::Preceding(distance) | FrameBound::Following(distance) => Some(distance),
            FrameBound::UnboundedPreceding | FrameBound::CurrentRow | FrameBound::UnboundedFollowing => None,
        }
    }

    fn map_distance(self, map: &mut impl FnMut(Expr) -> Expr) -> Self {
        match self {
            FrameBound::Preceding(distance) => FrameBound::Preceding(Box::new(map(*distance))),
            FrameBound::Following(distance) => FrameBound::Following(Box::new(map(*distance))),
            other => other,
        }
    }
}

impl Node {
    /// Returns the nodes whose rows it reads, not including subqueries in its expressions.
    pub fn inputs(&self) -> Vec<NodeId> {
        match self {
            Node::Values(_) | Node::Scan(_) | Node::WorkingRows { .. } | Node::Use(_) => Vec::new(),
            Node::Project(project) => vec![project.input],
            Node::Filter { input, .. } | Node::Sort { input, .. } => vec![*input],
            Node::Join(join) => vec![join.left, join.right],
            Node::Aggregate(aggregate) => vec![aggregate.input],
            Node::Window(window) => vec![window.input],
            Node::Limit(limit) => vec![limit.input],
            Node::SetOperation(operation) => operation.inputs.iter().map(|&(input, _)| input).collect(),
            Node::Unnest(unnest) => vec![unnest.input],
            Node::Recursive(recursive) => vec![recursive.base.0, recursive.step.0],
            Node::Sample(sample) => vec![sample.input],
        }
    }

    /// Returns the node over other inputs; `map` is called in the order of [`inputs`](Self::inputs).
    #[must_use]
    pub fn map_inputs(mut self, map: &mut impl FnMut(NodeId) -> NodeId) -> Self {
        match &mut self {
            Node::Values(_) | Node::Scan(_) | Node::WorkingRows { .. } | Node::Use(_) => {}
            Node::Project(project) => project.input = map(project.input),
            Node::Filter { input, .. } | Node::Sort { input, .. } => *input = map(*input),
            Node::Join(join) => {
                join.left = map(join.left);
                join.right = map(join.right);
            }
            Node::Aggregate(aggregate) => aggregate.input = map(aggregate.input),
            Node::Window(window) => window.input = map(window.input),
            Node::Limit(limit) => limit.input = map(limit.input),
            Node::SetOperation(operation) => operation.inputs.iter_mut().for_each(|(input, _)| *input = map(*input)),
            Node::Unnest(unnest) => unnest.input = map(unnest.input),
            Node::Recursive(recursive) => {
                recursive.base.0 = map(recursive.base.0);
                recursive.step.0 = map(recursive.step.0);
            }
            Node::Sample(sample) => sample.input = map(sample.input),
        }
        self
    }

    /// Returns the columns that the node produces and no input has.
    pub fn made_columns(&self) -> Vec<ColumnId> {
        match self {
            Node::Values(values) => values.columns.clone(),
            Node::Scan(scan) => scan.columns.iter().map(|&(column, _)| column).collect(),
            Node::Project(project) => {
                let made = project.columns.iter().filter(|(column, expr)| expr.as_column() != Some(*column));
                made.map(|&(column, _)| column).collect()
            }
            Node::Filter { .. } | Node::Sort { .. } | Node::Limit(_) | Node::Sample(_) => Vec::new(),
            Node::Join(join) => match join.kind {
                JoinKind::Mark { mark, .. } => vec![mark],
                _ => Vec::new(),
            },
            Node::Aggregate(aggregate) => {
                let keys = aggregate.keys.iter().filter(|(column, expr)| expr.as_column() != Some(*column));
                let aggregates = aggregate.aggregates.iter().map(|&(column, _)| column);
                keys.map(|&(column, _)| column).chain(aggregate.grouping_id).chain(aggregates).collect()
            }
            Node::Window(window) => window.calls.iter().map(|&(column, _)| column).collect(),
            Node::SetOperation(operation) => operation.columns.clone(),
            Node::Unnest(unnest) => unnest.lists.iter().map(|list| list.column).chain(unnest.ordinality).collect(),
            Node::Recursive(recursive) => {
                recursive.columns.iter().copied().chain(std::iter::once(recursive.working)).collect()
            }
            Node::WorkingRows { columns, .. } => columns.clone(),
            Node::Use(shared) => shared.columns.iter().map(|&(column, _)| column).collect(),
        }
    }

    /// Calls `visit` for each expression of the node, but not for their parts.
    pub fn for_each_expr<'n>(&'n self, visit: &mut impl FnMut(&'n Expr)) {
        match self {
            Node::Values(values) => values.rows.iter().flatten().for_each(visit),
            Node::Scan(scan) => scan.filters.iter().for_each(visit),
            Node::Project(project) => project.columns.iter().map(|(_, expr)| expr).for_each(visit),
            Node::Filter { conditions, .. } => conditions.iter().for_each(visit),
            Node::Join(Join { kind, conditions, .. }) => {
                conditions.iter().for_each(&mut *visit);
                match kind {
                    JoinKind::Mark { compare, .. } => compare.iter().for_each(visit),
                    JoinKind::AsOf { left, right, .. } => [left, right].into_iter().for_each(|expr| visit(expr)),
                    _ => {}
                }
            }
            Node::Aggregate(aggregate) => {
                aggregate.keys.iter().map(|(_, key)| key).for_each(&mut *visit);
                aggregate.aggregates.iter().flat_map(|(_, call)| call.exprs()).for_each(visit);
            }
            Node::Window(window) => window.calls.iter().flat_map(|(_, call)| call.exprs()).for_each(visit),
            Node::Sort { keys, .. } => keys.iter().map(|key| &key.expr).for_each(visit),
            Node::Limit(limit) => limit.offset.iter().chain(&limit.count).for_each(visit),
            Node::Unnest(unnest) => unnest.lists.iter().map(|list| &list.list).for_each(visit),
            Node::SetOperation(_) | Node::Recursive(_) | Node::WorkingRows { .. } | Node::Use(_) | Node::Sample(_) => {}
        }
    }

    /// Returns the node with other expressions.
    #[must_use]
    pub fn map_exprs(mut self, map: &mut impl FnMut(Expr) -> Expr) -> Self {
        let mut replace = |expr: &mut Expr| *expr = map(std::mem::replace(expr, Expr::boolean(false)));
        match &mut self {
            Node::Values(values) => values.rows.iter_mut().flatten().for_each(replace),
            Node::Scan(scan) => scan.filters.iter_mut().for_each(replace),
            Node::Project(project) => project.columns.iter_mut().for_each(|(_, expr)| replace(expr)),
            Node::Filter { conditions, .. } => conditions.iter_mut().for_each(replace),
            Node::Join(Join { kind, conditions, .. }) => {
                conditions.iter_mut().for_each(&mut replace);
                match kind {
                    JoinKind::Mark { compare, .. } => compare.iter_mut().for_each(replace),
                    JoinKind::AsOf { left, right, .. } => [left, right].into_iter().for_each(|expr| replace(expr)),
                    _ => {}
                }
            }
            Node::Aggregate(aggregate) => {
                aggregate.keys.iter_mut().for_each(|(_, key)| replace(key));
                for (_, call) in &mut aggregate.aggregates {
                    *call = call.clone().map_exprs(map);
                }
            }
            Node::Window(window) => {
                for (_, call) in &mut window.calls {
                    *call = call.clone().map_exprs(map);
                }
            }
            Node::Sort { keys, .. } => keys.iter_mut().for_each(|key| replace(&mut key.expr)),
            Node::Limit(limit) => limit.offset.iter_mut().chain(&mut limit.count).for_each(replace),
            Node::Unnest(unnest) => unnest.lists.iter_mut().for_each(|list| replace(&mut list.list)),
            Node::SetOperation(_) | Node::Recursive(_) | Node::WorkingRows { .. } | Node::Use(_) | Node::Sample(_) => {}
        }
        self
    }

    /// Returns the node over other columns, both those of its inputs and those that it produces.
    #[must_use]
    pub fn map_columns(self, map: &impl Fn(ColumnId) -> ColumnId) -> Self {
        let mut node = self.map_exprs(&mut |expr| expr.map_columns(map));
        let all = |columns: &mut [ColumnId]| columns.iter_mut().for_each(|column| *column = map(*column));
        match &mut node {
            Node::Values(values) => all(&mut values.columns),
            Node::Scan(scan) => scan.columns.iter_mut().for_each(|(column, _)| *column = map(*column)),
            Node::Project(project) => project.columns.iter_mut().for_each(|(column, _)| *column = map(*column)),
            Node::Filter { .. } | Node::Sort { .. } | Node::Limit(_) | Node::Sample(_) => {}
            Node::Join(join) => {
                if let JoinKind::Mark { mark, .. } = &mut join.kind {
                    *mark = map(*mark);
                }
            }
            Node::Aggregate(aggregate) => {
                aggregate.keys.iter_mut().for_each(|(column, _)| *column = map(*column));
                aggregate.aggregates.iter_mut().for_each(|(column, _)| *column = map(*column));
                aggregate.grouping_id.iter_mut().for_each(|column| *column = map(*column));
            }
            Node::Window(window) => window.calls.iter_mut().for_each(|(column, _)| *column = map(*column)),
            Node::SetOperation(operation) => {
                all(&mut operation.columns);
                operation.inputs.iter_mut().for_each(|(_, columns)| all(columns));
            }
            Node::Unnest(unnest) => {
                let made = unnest.lists.iter_mut().map(|UnnestedList { column, .. }| column);
                made.chain(&mut unnest.ordinality).for_each(|column| *column = map(*column));
            }
            Node::Recursive(recursive) => {
                recursive.working = map(recursive.working);
                all(&mut recursive.columns);
                all(&mut recursive.base.1);
                all(&mut recursive.step.1);
            }
            Node::WorkingRows { of, columns } => {
                *of = map(*of);
                all(columns);
            }
            Node::Use(shared) => shared.columns.iter_mut().for_each(|(column, _)| *column = map(*column)),
        }
        node
    }
}
