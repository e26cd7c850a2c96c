//! Outer joins with USING, and NATURAL ones: a joined column has one value, that of the side which has a row.
//!
//! The planner crates let the name stand for either side's column, which is NULL where that side has no row. Here a
//! projection above the join puts the joined value in place of both columns, and keeps the sides' own values as hidden
//! columns for who asks for them as `a.k`:
//!
//! ```text
//! text                 a LEFT JOIN b    a RIGHT JOIN b    a FULL JOIN b          USING (k)
//! k, a.k of the plan   a.k              b.k               coalesce(a.k, b.k)
//! a.k of the text      hidden column "a.k"
//! ```
//!
//! The binder makes the same column of both texts. So [`mark_own_sides`] wraps the second one into the function
//! [`OwnSide`] in the syntax tree, and the plan's rewrite takes it away again.

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;

use arrow_schema::DataType;
use datafusion_common::tree_node::{Transformed, TreeNode};
use datafusion_common::{Column, Result, internal_err};
use datafusion_expr::expr_rewriter::NamePreserver;
use datafusion_expr::utils::{expand_wildcard, merge_schema};
use datafusion_expr::{
    ColumnarValue, Expr, Join, JoinConstraint, JoinType, LogicalPlan, LogicalPlanBuilder, ScalarFunctionArgs,
    ScalarUDFImpl, Signature, Volatility,
};
use datafusion_sql::sqlparser::ast::{
    self, Ident, JoinOperator, Query, Select, SelectItem, SetExpr, VisitMut, VisitorMut,
};

use crate::dialect::call_of;
use crate::functions::FUNCTIONS;

/// Name of the function; no user can call it without quotes.
const OWN_SIDE: &str = "own side";

/// Wraps `a.k` in queries with an outer join that has USING (k) or is NATURAL. True if a query has `*` over a join of
/// that kind.
pub(crate) fn mark_own_sides(query: &mut Query) -> bool {
    let mut mark = MarkQueries { has_wildcard: false };
    let _: ControlFlow<()> = query.visit(&mut mark);
    mark.has_wildcard
}

struct MarkQueries {
    has_wildcard: bool,
}

impl VisitorMut for MarkQueries {
    type Break = ();

    fn post_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        let SetExpr::Select(select) = query.body.as_mut() else { return ControlFlow::Continue(()) };
        let has_wildcard = select.projection.iter().any(|item| matches!(item, SelectItem::Wildcard(_)));
        self.has_wildcard |= has_wildcard && select.from.iter().any(|from| from.joins.iter().any(joins_columns));
        if let Some(mut columns) = JoinedColumns::of(select) {
            columns.name_results(&mut select.projection);
            let _: ControlFlow<()> = select.visit(&mut columns);
            if let Some(order) = &mut query.order_by {
                let _: ControlFlow<()> = order.visit(&mut columns);
            }
        }
        RepeatedColumns::of(select).name_sides(select, query.order_by.as_mut());
        ControlFlow::Continue(())
    }
}

/// True for joins of any kind with USING, and NATURAL ones.
fn joins_columns(join: &ast::Join) -> bool {
    let constraint = constraint(&join.join_operator);
    matches!(constraint, Some(ast::JoinConstraint::Using(_) | ast::JoinConstraint::Natural))
}

fn constraint(operator: &JoinOperator) -> Option<&ast::JoinConstraint> {
    match operator {
        JoinOperator::Join(constraint) | JoinOperator::Inner(constraint) => Some(constraint),
        other => outer_constraint(other),
    }
}

fn outer_constraint(operator: &JoinOperator) -> Option<&ast::JoinConstraint> {
    match operator {
        JoinOperator::Left(constraint)
        | JoinOperator::LeftOuter(constraint)
        | JoinOperator::Right(constraint)
        | JoinOperator::RightOuter(constraint)
        | JoinOperator::FullOuter(constraint) => Some(constraint),
        _ => None,
    }
}

/// Columns in the USING clauses of several joins of a SELECT, each with a table that has it. The binder of the planner
/// crates finds their names ambiguous; all their sides have the same value.
#[derive(Default)]
struct RepeatedColumns(HashMap<String, Ident>);

impl RepeatedColumns {
    fn of(select: &Select) -> Self {
        let mut tables: HashMap<String, (Option<Ident>, usize)> = HashMap::new();
        for join in select.from.iter().flat_map(|from| &from.joins) {
            let Some(ast::JoinConstraint::Using(columns)) = constraint(&join.join_operator) else { continue };
            for column in columns {
                let (_, joins) =
                    tables.entry(column.to_string().to_lowercase()).or_insert_with(|| (table_name(&join.relation), 0));
                *joins += 1;
            }
        }
        let repeated = tables.into_iter().filter(|(_, (_, joins))| *joins > 1);
        Self(repeated.filter_map(|(column, (table, _))| Some((column, table?))).collect())
    }

    fn name_sides(mut self, select: &mut Select, order: Option<&mut ast::OrderBy>) {
        if self.0.is_empty() {
            return;
        }
        let _: ControlFlow<()> = select.projection.visit(&mut self);
        let _: ControlFlow<()> = select.selection.visit(&mut self);
        let _: ControlFlow<()> = select.group_by.visit(&mut self);
        let _: ControlFlow<()> = select.having.visit(&mut self);
        if let Some(order) = order {
            let _: ControlFlow<()> = order.visit(&mut self);
        }
    }
}

impl VisitorMut for RepeatedColumns {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut ast::Expr) -> ControlFlow<()> {
        if let ast::Expr::Identifier(column) = expr
            && let Some(table) = self.0.get(&column.to_string().to_lowercase())
        {
            *expr = ast::Expr::CompoundIdentifier(vec![table.clone(), column.clone()]);
        }
        ControlFlow::Continue(())
    }
}

/// The name under which a table's columns are known.
fn table_name(table: &ast::TableFactor) -> Option<Ident> {
    match table {
        ast::TableFactor::Table { alias: Some(alias), .. } | ast::TableFactor::Derived { alias: Some(alias), .. } => {
            Some(alias.name.clone())
        }
        ast::TableFactor::Table { name, .. } => name.0.last()?.as_ident().cloned(),
        _ => None,
    }
}

/// Names in the USING clauses of a SELECT; `None` if a join is NATURAL, whose names are not known yet.
struct JoinedColumns(Option<HashSet<String>>);

impl JoinedColumns {
    /// `None` without an outer join of that kind.
    fn of(select: &Select) -> Option<Self> {
        let mut names = HashSet::new();
        let mut is_natural = false;
        for join in select.from.iter().flat_map(|from| &from.joins) {
            match outer_constraint(&join.join_operator) {
                Some(ast::JoinConstraint::Using(columns)) => {
                    names.extend(columns.iter().map(|column| column.to_string().to_lowercase()));
                }
                Some(ast::JoinConstraint::Natural) => is_natural = true,
                _ => {}
            }
        }
        match is_natural {
            true => Some(Self(None)),
            false => (!names.is_empty()).then_some(Self(Some(names))),
        }
    }

    /// Columns that will be wrapped keep their names in the result.
    fn name_results(&self, projection: &mut [SelectItem]) {
        for item in projection {
            if let SelectItem::UnnamedExpr(ast::Expr::CompoundIdentifier(parts)) = item
                && let Some(last) = parts.last().cloned()
                && self.contains(&last)
            {
                let expr = ast::Expr::CompoundIdentifier(std::mem::take(parts));
                *item = SelectItem::ExprWithAlias { expr, alias: last };
            }
        }
    }

    fn contains(&self, name: &Ident) -> bool {
        self.0.as_ref().is_none_or(|names| names.contains(&name.to_string().to_lowercase()))
    }
}

impl VisitorMut for JoinedColumns {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut ast::Expr) -> ControlFlow<()> {
        if let ast::Expr::CompoundIdentifier(parts) = expr
            && parts.last().is_some_and(|last| self.contains(last))
        {
            *expr = call_of(OWN_SIDE, vec![expr.clone()]);
        }
        ControlFlow::Continue(())
    }
}

/// Stands around a column that was written with its table, between parsing and [`merge`].
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct OwnSide {
    signature: Signature,
}

impl Default for OwnSide {
    fn default() -> Self {
        Self { signature: Signature::any(1, Volatility::Immutable) }
    }
}

impl ScalarUDFImpl for OwnSide {
    fn name(&self) -> &str {
        OWN_SIDE
    }

    fn display_name(&self, arguments: &[Expr]) -> Result<String> {
        Ok(arguments[0].to_string())
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, arguments: &[DataType]) -> Result<DataType> {
        Ok(arguments[0].clone())
    }

    fn invoke_with_args(&self, _arguments: ScalarFunctionArgs) -> Result<ColumnarValue> {
        internal_err!("the rewrite of the bound plan takes this function away")
    }
}

/// Rewrites the node: gives outer joins their joined columns, and takes [`OwnSide`] away.
pub(super) fn merge(plan: LogicalPlan) -> Result<LogicalPlan> {
    let plan = resolve_own_sides(plan)?;
    match plan {
        LogicalPlan::Join(join)
            if join.join_constraint == JoinConstraint::Using
                && matches!(join.join_type, JoinType::Left | JoinType::Right | JoinType::Full) =>
        {
            joined(join)
        }
        other => Ok(other),
    }
}

fn joined(join: Join) -> Result<LogicalPlan> {
    let keys: Vec<(Column, Column)> = join
        .on
        .iter()
        .filter_map(|(left, right)| Some((left.try_as_col()?.clone(), right.try_as_col()?.clone())))
        .collect();
    let value = |left: &Column, right: &Column| {
        let (left, right) = (Expr::Column(left.clone()), Expr::Column(right.clone()));
        match join.join_type {
            JoinType::Left => left,
            JoinType::Right => right,
            _ => FUNCTIONS.scalar["coalesce"].call(vec![left, right]),
        }
    };
    let mut exprs: Vec<Expr> = Vec::new();
    let mut hidden: Vec<Expr> = Vec::new();
    for column in join.schema.columns() {
        // A join below may have joined columns of that name already: they all have one value.
        let is_hidden = join.schema.has_column(&Column::new_unqualified(hidden_name(&column)));
        let is_key = |(left, right): &&(Column, Column)| {
            *left == column || *right == column || (is_hidden && left.name == column.name)
        };
        match keys.iter().find(is_key) {
            Some((left, right)) => {
                exprs.push(value(left, right).alias_qualified(column.relation.clone(), column.name.clone()));
                if !is_hidden {
                    hidden.push(Expr::Column(column.clone()).alias(hidden_name(&column)));
                }
            }
            None => exprs.push(Expr::Column(column)),
        }
    }
    exprs.extend(hidden);
    LogicalPlanBuilder::from(LogicalPlan::Join(join)).project(exprs)?.build()
}

/// Puts the columns of `*` into the order of the tables: of a joined column, the planner crates keep the side whose table
/// comes first in the alphabet. For plans of queries with `*` over such joins.
pub(super) fn order_wildcards(plan: LogicalPlan) -> Result<LogicalPlan> {
    let order = |node: LogicalPlan| {
        let LogicalPlan::Projection(projection) = &node else { return Ok(Transformed::no(node)) };
        let joined = projection.input.using_columns()?;
        if joined.is_empty() {
            return Ok(Transformed::no(node));
        }
        let expanded = expand_wildcard(projection.input.schema(), &projection.input, None)?;
        let Some(at) = projection.expr.windows(expanded.len().max(1)).position(|run| run == expanded) else {
            return Ok(Transformed::no(node));
        };
        let is_joined =
            |a: &Column, b: &Column| a.name == b.name && joined.iter().any(|set| set.contains(a) && set.contains(b));
        let mut rest = expanded.clone();
        let mut ordered: Vec<Expr> = Vec::new();
        for column in projection.input.schema().columns() {
            let same = |expr: &Expr| matches!(expr, Expr::Column(kept) if *kept == column || is_joined(kept, &column));
            if let Some(at) = rest.iter().position(same) {
                ordered.push(rest.remove(at));
            }
        }
        if !rest.is_empty() {
            return Ok(Transformed::no(node));
        }
        let mut exprs = projection.expr.clone();
        exprs.splice(at..at + expanded.len(), ordered);
        let ordered = LogicalPlanBuilder::new_from_arc(projection.input.clone()).project(exprs)?.build()?;
        Ok(Transformed::yes(ordered))
    };
    Ok(plan.transform_down_with_subqueries(order)?.data)
}

/// The name of the hidden column with a side's own value.
fn hidden_name(column: &Column) -> String {
    format!("own side of {}", column.flat_name())
}

fn resolve_own_sides(plan: LogicalPlan) -> Result<LogicalPlan> {
    let schema = merge_schema(&plan.inputs());
    let names = NamePreserver::new(&plan);
    let resolve = |expr: Expr| match expr {
        Expr::ScalarFunction(call) if call.func.name() == OWN_SIDE => {
            let argument = call.args.into_iter().next().expect("the signature has one argument");
            Ok(Transformed::yes(match &argument {
                Expr::Column(column) if schema.has_column(&Column::new_unqualified(hidden_name(column))) => {
                    Expr::Column(Column::new_unqualified(hidden_name(column)))
                }
                _ => argument,
            }))
        }
        other => Ok(Transformed::no(other)),
    };
    let resolved = plan.map_expressions(|expr| {
        let name = names.save(&expr);
        let resolved = expr.transform_up(resolve)?;
        Ok(if resolved.transformed { resolved.update_data(|expr| name.restore(expr)) } else { resolved })
    })?;
    Ok(resolved.data)
}
