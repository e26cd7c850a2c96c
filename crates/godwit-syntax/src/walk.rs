//! Iteration over the children of a node.
//!
//! ```
//! use godwit_syntax::{Child, ast::{Expr, ExprKind}, parse_expression};
//!
//! /// True if a parameter is in the expression, subqueries left aside.
//! fn has_parameter(expr: &Expr) -> bool {
//!     let mut found = matches!(expr.kind, ExprKind::Parameter(_));
//!     expr.for_each_child(&mut |child| {
//!         if let Child::Expr(child) = child {
//!             found |= has_parameter(child);
//!         }
//!     });
//!     found
//! }
//! assert!(has_parameter(&parse_expression("1 + f(x, ?)").unwrap()));
//! ```

use crate::ast::{
    Call, CteBody, DescribeTarget, Distinct, Expr, ExprKind, FrameBound, GroupBy, GroupingElement, GroupingElementKind,
    JoinConstraint, ObjectName, OrderBy, OrderByExpr, Over, Pivot, PivotValues, Quantified, Query, Select, SelectItem,
    SetExpr, SetExprKind, Statement, TableFactor, TableFactorKind, TableWithJoins, Unpivot, WindowSpec,
};

/// A node below another.
#[derive(Debug, Clone, Copy)]
pub enum Child<'a> {
    /// An expression.
    Expr(&'a Expr),
    /// A query: a subquery of an expression, a common table expression, a table of FROM, an operand of a set operation.
    Query(&'a Query),
    /// A data-modifying statement in a common table expression.
    Write(&'a Statement),
    /// The path of a file in FROM.
    File(&'a str),
}

/// Called for each child.
type Visit<'v, 'a> = &'v mut dyn FnMut(Child<'a>);

impl Expr {
    /// Calls `visit` for each expression and query directly below, from left to right.
    pub fn for_each_child<'a>(&'a self, visit: Visit<'_, 'a>) {
        match &self.kind {
            ExprKind::Literal(_)
            | ExprKind::TypedLiteral { .. }
            | ExprKind::Column(_)
            | ExprKind::Parameter(_)
            | ExprKind::Position(_)
            | ExprKind::Default => {}
            ExprKind::Wildcard(star) => star.replace.iter().for_each(|one| visit(Child::Expr(&one.expr))),
            ExprKind::Columns(columns) => visit(Child::Expr(&columns.selection)),
            ExprKind::Interval { value: operand, .. }
            | ExprKind::Unary { operand, .. }
            | ExprKind::Is { operand, .. }
            | ExprKind::Cast { operand, .. }
            | ExprKind::Collate { operand, .. }
            | ExprKind::Field { operand, .. }
            | ExprKind::AllFields(operand)
            | ExprKind::Lambda { body: operand, .. } => visit(Child::Expr(operand)),
            ExprKind::Binary { left, right, .. }
            | ExprKind::IsDistinctFrom { left, right, .. }
            | ExprKind::InExpr { operand: left, list: right, .. }
            | ExprKind::Subscript { operand: left, index: right } => {
                visit(Child::Expr(left));
                visit(Child::Expr(right));
            }
            ExprKind::And(items) | ExprKind::Or(items) | ExprKind::List(items) | ExprKind::Row { items, .. } => {
                exprs(items, visit);
            }
            ExprKind::Between { operand, low, high, .. } => {
                [operand, low, high].into_iter().for_each(|one| visit(Child::Expr(one)));
            }
            ExprKind::InList { operand, list, .. } => {
                visit(Child::Expr(operand));
                exprs(list, visit);
            }
            ExprKind::InSubquery { operand, query, .. } => {
                visit(Child::Expr(operand));
                visit(Child::Query(query));
            }
            ExprKind::Like { operand, pattern, escape, .. } => {
                [Some(operand), Some(pattern), escape.as_ref()]
                    .into_iter()
                    .flatten()
                    .for_each(|one| visit(Child::Expr(one)));
            }
            ExprKind::Quantified { left, right, .. } => {
                visit(Child::Expr(left));
                match right {
                    Quantified::Query(query) => visit(Child::Query(query)),
                    Quantified::List(list) => visit(Child::Expr(list)),
                }
            }
            ExprKind::Exists(query) | ExprKind::Subquery(query) | ExprKind::ArraySubquery(query) => {
                visit(Child::Query(query));
            }
            ExprKind::Call(call) => call.for_each_child(visit),
            _ => self.for_each_part(visit),
        }
    }

    /// Visits the children of kinds whose parts are structs.
    fn for_each_part<'a>(&'a self, visit: Visit<'_, 'a>) {
        match &self.kind {
            ExprKind::Case { operand, branches, otherwise } => {
                operand.iter().for_each(|one| visit(Child::Expr(one)));
                for branch in branches {
                    visit(Child::Expr(&branch.when));
                    visit(Child::Expr(&branch.then));
                }
                otherwise.iter().for_each(|one| visit(Child::Expr(one)));
            }
            ExprKind::Struct(fields) => fields.iter().for_each(|field| visit(Child::Expr(&field.value))),
            ExprKind::Map(entries) => {
                for entry in entries {
                    visit(Child::Expr(&entry.key));
                    visit(Child::Expr(&entry.value));
                }
            }
            ExprKind::ListComprehension(list) => {
                visit(Child::Expr(&list.result));
                visit(Child::Expr(&list.source));
                list.condition.iter().for_each(|one| visit(Child::Expr(one)));
            }
            ExprKind::Slice { operand, low, high, step } => {
                visit(Child::Expr(operand));
                [low, high, step].into_iter().flatten().for_each(|one| visit(Child::Expr(one)));
            }
            _ => unreachable!("the other kinds are visited above"),
        }
    }
}

impl Call {
    /// Calls `visit` for each expression and query directly below, from left to right.
    pub fn for_each_child<'a>(&'a self, visit: Visit<'_, 'a>) {
        self.args.iter().for_each(|argument| visit(Child::Expr(&argument.value)));
        sort_keys(&self.order_by, visit);
        sort_keys(&self.within_group, visit);
        self.filter.iter().for_each(|one| visit(Child::Expr(one)));
        if let Some(Over::Spec(window)) = &self.over {
            window.for_each_child(visit);
        }
    }
}

impl WindowSpec {
    /// Calls `visit` for each expression directly below.
    pub fn for_each_child<'a>(&'a self, visit: Visit<'_, 'a>) {
        exprs(&self.partition_by, visit);
        sort_keys(&self.order_by, visit);
        for bound in self.frame.iter().flat_map(|frame| [&frame.start, &frame.end]) {
            if let FrameBound::Preceding(distance) | FrameBound::Following(distance) = bound {
                visit(Child::Expr(distance));
            }
        }
    }
}

impl Query {
    /// Calls `visit` for each expression and query directly below, in all clauses, common table expressions first.
    pub fn for_each_child<'a>(&'a self, visit: Visit<'_, 'a>) {
        for cte in self.with.iter().flat_map(|with| &with.ctes) {
            match &cte.body {
                CteBody::Query(query) => visit(Child::Query(query)),
                CteBody::Write(statement) => visit(Child::Write(statement)),
            }
        }
        self.body.for_each_child(visit);
        if let Some(OrderBy::Exprs(keys)) = &self.order_by {
            sort_keys(keys, visit);
        }
        self.limit.iter().for_each(|limit| visit(Child::Expr(&limit.count)));
        self.offset.iter().for_each(|one| visit(Child::Expr(one)));
    }

    /// Calls `visit` for the names that stand for tables, including those in subqueries; common table expressions may
    /// be among them.
    pub fn for_each_table<'a>(&'a self, visit: &mut dyn FnMut(&'a ObjectName)) {
        self.body.for_each_table(visit);
        self.for_each_child(&mut |child| tables_in(child, visit));
    }
}

/// Visits the tables of the queries in a child.
fn tables_in<'a>(child: Child<'a>, visit: &mut dyn FnMut(&'a ObjectName)) {
    match child {
        Child::Expr(expr) => expr.for_each_child(&mut |child| tables_in(child, visit)),
        Child::Query(query) => query.for_each_table(visit),
        Child::Write(_) | Child::File(_) => {}
    }
}

impl SetExpr {
    /// Calls `visit` for each expression and query below that isn't inside another query or expression.
    pub fn for_each_child<'a>(&'a self, visit: Visit<'_, 'a>) {
        match &self.kind {
            SetExprKind::Select(select) => select.for_each_child(visit),
            SetExprKind::Query(query) => visit(Child::Query(query)),
            SetExprKind::Operations(operations) => {
                operations.first.for_each_child(visit);
                operations.steps.iter().for_each(|step| step.right.for_each_child(visit));
            }
            SetExprKind::Values(rows) => rows.iter().for_each(|row| exprs(row, visit)),
            SetExprKind::Pivot(pivot) => of_pivot(pivot, visit),
            SetExprKind::Unpivot(unpivot) => of_unpivot(unpivot, visit),
            SetExprKind::Describe(describe) | SetExprKind::Summarize(describe) => match &describe.target {
                DescribeTarget::Table(factor) => factor.for_each_child(visit),
                DescribeTarget::Query(query) => visit(Child::Query(query)),
            },
            SetExprKind::Table(_) | SetExprKind::Show(_) => {}
        }
    }
}

impl SetExpr {
    fn for_each_table<'a>(&'a self, visit: &mut dyn FnMut(&'a ObjectName)) {
        match &self.kind {
            SetExprKind::Select(select) => select.from.iter().for_each(|tables| tables.for_each_table(visit)),
            SetExprKind::Operations(operations) => {
                operations.first.for_each_table(visit);
                operations.steps.iter().for_each(|step| step.right.for_each_table(visit));
            }
            SetExprKind::Table(name) => visit(name),
            SetExprKind::Pivot(pivot) => pivot.source.for_each_table(visit),
            SetExprKind::Unpivot(unpivot) => unpivot.source.for_each_table(visit),
            SetExprKind::Describe(describe) | SetExprKind::Summarize(describe) => {
                if let DescribeTarget::Table(factor) = &describe.target {
                    factor.for_each_table(visit);
                }
            }
            SetExprKind::Query(_) | SetExprKind::Values(_) | SetExprKind::Show(_) => {}
        }
    }
}

impl Select {
    /// Calls `visit` for each expression and query directly below, FROM first.
    pub fn for_each_child<'a>(&'a self, visit: Visit<'_, 'a>) {
        self.from.iter().for_each(|tables| tables.for_each_child(visit));
        if let Some(Distinct::On(keys)) = &self.distinct {
            exprs(keys, visit);
        }
        items(&self.projection, visit);
        self.filter.iter().for_each(|one| visit(Child::Expr(one)));
        if let Some(GroupBy::Elements { elements, .. }) = &self.group_by {
            elements.iter().for_each(|element| of_grouping(element, visit));
        }
        self.having.iter().for_each(|one| visit(Child::Expr(one)));
        self.windows.iter().for_each(|window| window.spec.for_each_child(visit));
        self.qualify.iter().for_each(|one| visit(Child::Expr(one)));
    }
}

impl TableWithJoins {
    /// Calls `visit` for each expression and query directly below.
    pub fn for_each_child<'a>(&'a self, visit: Visit<'_, 'a>) {
        self.relation.for_each_child(visit);
        for join in &self.joins {
            join.relation.for_each_child(visit);
            if let JoinConstraint::On(condition) = &join.constraint {
                visit(Child::Expr(condition));
            }
        }
    }
}

impl TableWithJoins {
    fn for_each_table<'a>(&'a self, visit: &mut dyn FnMut(&'a ObjectName)) {
        self.relation.for_each_table(visit);
        self.joins.iter().for_each(|join| join.relation.for_each_table(visit));
    }
}

impl TableFactor {
    fn for_each_table<'a>(&'a self, visit: &mut dyn FnMut(&'a ObjectName)) {
        match &self.kind {
            TableFactorKind::Table(name) => visit(name),
            TableFactorKind::Nested(tables) => tables.for_each_table(visit),
            TableFactorKind::Pivot(pivot) => pivot.source.for_each_table(visit),
            TableFactorKind::Unpivot(unpivot) => unpivot.source.for_each_table(visit),
            TableFactorKind::File(_) | TableFactorKind::Function { .. } | TableFactorKind::Subquery { .. } => {}
        }
    }

    /// Calls `visit` for each expression and query directly below.
    pub fn for_each_child<'a>(&'a self, visit: Visit<'_, 'a>) {
        match &self.kind {
            TableFactorKind::Table(_) => {}
            TableFactorKind::File(path) => visit(Child::File(path)),
            TableFactorKind::Function { call, .. } => call.for_each_child(visit),
            TableFactorKind::Subquery { query, .. } => visit(Child::Query(query)),
            TableFactorKind::Nested(tables) => tables.for_each_child(visit),
            TableFactorKind::Pivot(pivot) => of_pivot(pivot, visit),
            TableFactorKind::Unpivot(unpivot) => of_unpivot(unpivot, visit),
        }
    }
}

fn exprs<'a>(exprs: &'a [Expr], visit: Visit<'_, 'a>) {
    exprs.iter().for_each(|expr| visit(Child::Expr(expr)));
}

fn items<'a>(items: &'a [SelectItem], visit: Visit<'_, 'a>) {
    items.iter().for_each(|item| visit(Child::Expr(&item.expr)));
}

fn sort_keys<'a>(keys: &'a [OrderByExpr], visit: Visit<'_, 'a>) {
    keys.iter().for_each(|key| visit(Child::Expr(&key.expr)));
}

fn of_grouping<'a>(element: &'a GroupingElement, visit: Visit<'_, 'a>) {
    match &element.kind {
        GroupingElementKind::Expr(expr) => visit(Child::Expr(expr)),
        GroupingElementKind::Set(set) => exprs(set, visit),
        GroupingElementKind::Rollup(sets) | GroupingElementKind::Cube(sets) => {
            sets.iter().for_each(|set| exprs(set, visit));
        }
        GroupingElementKind::Sets(elements) => elements.iter().for_each(|element| of_grouping(element, visit)),
    }
}

fn of_pivot<'a>(pivot: &'a Pivot, visit: Visit<'_, 'a>) {
    pivot.source.for_each_child(visit);
    for column in &pivot.on {
        exprs(&column.exprs, visit);
        match &column.values {
            PivotValues::All | PivotValues::Enum(_) => {}
            PivotValues::List(values) => items(values, visit),
            PivotValues::Query(query) => visit(Child::Query(query)),
        }
    }
    items(&pivot.aggregates, visit);
    pivot.group_by.iter().for_each(|keys| exprs(keys, visit));
}

fn of_unpivot<'a>(unpivot: &'a Unpivot, visit: Visit<'_, 'a>) {
    unpivot.source.for_each_child(visit);
    unpivot.columns.iter().for_each(|column| exprs(&column.exprs, visit));
}
