//! Nodes, calls and expressions that unnesting adds.

use godwit_common::{Error, Result, Span};
use godwit_plan::{
    AggregateCall, ArgumentType, ColumnId, Comparison, Expr, ExprKind, Node, NodeId, Project, SortKey, Values,
    WindowCall, WindowTarget,
};
use godwit_types::{SqlType, Value};

use super::Unnester;

impl Unnester<'_> {
    /// Returns a column as a nullable expression, regardless of its node: there may be outer joins in between.
    pub(super) fn column(&self, column: ColumnId) -> Expr {
        Expr::new(ExprKind::Column(column), self.plan.column(column).ty.clone(), true)
    }

    /// Adds a column for the values of an expression.
    pub(super) fn column_for(&mut self, name: &str, expr: &Expr) -> ColumnId {
        self.plan.add_column(name, expr.ty.clone(), expr.nullable)
    }

    pub(super) fn columns(&self, columns: &[ColumnId]) -> Vec<Expr> {
        columns.iter().map(|&column| self.column(column)).collect()
    }

    /// Returns columns as a projection passes them on.
    pub(super) fn passed(&self, columns: &[ColumnId]) -> Vec<(ColumnId, Expr)> {
        columns.iter().map(|&column| (column, self.column(column))).collect()
    }

    /// Compares columns one by one for equality, NULL-safe.
    pub(super) fn same_values(&self, left: &[ColumnId], right: &[ColumnId]) -> Vec<Expr> {
        let pair = |(&left, &right)| Expr::compare(Comparison::NotDistinct, self.column(left), self.column(right));
        left.iter().zip(right).map(pair).collect()
    }

    pub(super) fn project(&mut self, input: NodeId, columns: Vec<(ColumnId, Expr)>) -> NodeId {
        self.plan.add(Node::Project(Project { input, columns }))
    }

    /// Adds computed columns to the rows.
    pub(super) fn extend(&mut self, input: NodeId, columns: Vec<(ColumnId, Expr)>) -> NodeId {
        if columns.is_empty() {
            return input;
        }
        let mut all = self.passed(&self.plan.outputs(input));
        all.extend(columns);
        self.project(input, all)
    }

    /// Returns the rows with exactly these columns, in this order.
    pub(super) fn restore(&mut self, node: NodeId, outputs: &[ColumnId]) -> NodeId {
        if self.plan.outputs(node) == outputs {
            return node;
        }
        let columns = self.passed(outputs);
        self.project(node, columns)
    }

    pub(super) fn filter(&mut self, input: NodeId, conditions: Vec<Expr>) -> NodeId {
        if conditions.is_empty() {
            return input;
        }
        self.plan.add(Node::Filter { input, conditions })
    }

    /// Returns one row without columns.
    pub(super) fn one_row(&mut self) -> NodeId {
        self.plan.add(Node::Values(Values { columns: Vec::new(), rows: vec![Vec::new()] }))
    }

    pub(super) fn is_one_row(&self, id: NodeId) -> bool {
        matches!(self.plan.node(id), Node::Values(values) if values.columns.is_empty() && values.rows.len() == 1)
    }

    /// Builds a call of `row_number` or `rank`.
    pub(super) fn numbering(
        &mut self,
        name: &str,
        partition_by: Vec<Expr>,
        order_by: Vec<SortKey>,
    ) -> Result<(ColumnId, WindowCall)> {
        let found = self.functions.window(name, &[]).map_err(|_| missing(name))?;
        let column = self.plan.add_column(name, found.ty.clone(), found.nullable);
        let call = WindowCall::over(WindowTarget::Window(found.function), found.ty, partition_by, order_by);
        Ok((column, WindowCall { nullable: found.nullable, ..call }))
    }

    /// Builds a call that counts the rows of each partition.
    pub(super) fn partition_size(&mut self, partition_by: Vec<Expr>) -> Result<(ColumnId, WindowCall)> {
        let (column, count) = self.aggregate_call("count", Vec::new())?;
        let call = WindowCall::over(WindowTarget::Aggregate(count.function), count.ty, partition_by, Vec::new());
        Ok((column, WindowCall { nullable: count.nullable, ..call }))
    }

    pub(super) fn aggregate_call(&mut self, name: &str, args: Vec<Expr>) -> Result<(ColumnId, AggregateCall)> {
        let types: Vec<ArgumentType<'_>> = args.iter().map(argument).collect();
        let found = self.functions.aggregate(name, &types, &[]).map_err(|_| missing(name))?;
        let column = self.plan.add_column(name, found.ty.clone(), found.nullable);
        Ok((column, AggregateCall::of(found, args)))
    }

    /// Builds a call that fails with a message when it is evaluated, in place of a value.
    pub(super) fn failure(&self, message: &str, ty: &SqlType, span: Span) -> Result<Expr> {
        let message = Expr::literal(Value::text(message), SqlType::Varchar);
        let found = self.functions.scalar("error", &[argument(&message)]).map_err(|_| missing("error"))?;
        let call = Expr::new(ExprKind::Call(found.function, vec![message]), found.ty, found.nullable);
        Ok(call.at(span).cast_to(ty))
    }
}

/// Builds `CASE WHEN condition THEN value ELSE otherwise END`.
pub(super) fn case(condition: Expr, value: Expr, otherwise: Expr) -> Expr {
    let (ty, nullable) = (value.ty.clone(), value.nullable || otherwise.nullable);
    Expr::new(ExprKind::Case { branches: vec![(condition, value)], otherwise: Some(Box::new(otherwise)) }, ty, nullable)
}

/// Builds the value, or another one in place of NULL.
pub(super) fn coalesce(value: Expr, otherwise: Expr) -> Expr {
    let (ty, nullable) = (value.ty.clone(), otherwise.nullable);
    Expr::new(ExprKind::Coalesce(vec![value, otherwise]), ty, nullable)
}

/// Builds a test of whether the condition is TRUE, which is never NULL.
pub(super) fn is_true(condition: Expr) -> Expr {
    Expr::compare(Comparison::NotDistinct, condition, Expr::boolean(true))
}

fn argument(expr: &Expr) -> ArgumentType<'_> {
    ArgumentType { ty: &expr.ty, value: expr.as_literal(), nullable: expr.nullable, lambda_parameters: None }
}

/// Reports that a registry lacks a function that SQL needs, which is a bug of its author.
fn missing(name: &str) -> Error {
    Error::internal(format!("subqueries need a function {name}"))
}
