//! IN and EXISTS with subqueries where their value matters: in SELECT lists, CASE, under OR and NOT, with several columns.
//!
//! The planner crates make semi and anti joins of the conjuncts of a WHERE, for which NULL is as good as FALSE. Everything
//! else becomes a mark join here, which gives each row a column that says whether it has a match:
//!
//! ```text
//! EXISTS (s)   mark of s, joined by the conditions that refer to the outer query
//!              count(*) > 0 of one row of s, if it refers to nothing
//! a IN (s)     CASE WHEN EXISTS (s where b = a) THEN TRUE WHEN unknown THEN NULL ELSE FALSE END
//! unknown      EXISTS (s where b = a or b is NULL or a is NULL)
//!              (a is NULL and s has rows) or s has a NULL, if s refers to nothing and has one column
//! ```

use std::cell::Cell;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use datafusion_common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion_common::{Column, DFSchema, ExprSchema, Result, ScalarValue};
use datafusion_expr::expr::{Exists, InSubquery};
use datafusion_expr::expr_rewriter::NamePreserver;
use datafusion_expr::utils::{conjunction, disjunction, split_conjunction_owned};
use datafusion_expr::{
    Expr, ExprSchemable, JoinType, LogicalPlan, LogicalPlanBuilder, Subquery, lit, scalar_subquery, when,
};
use datafusion_optimizer::decorrelate::PullUpCorrelatedExpr;

use crate::functions::FUNCTIONS;

/// Makes the marks of one statement; counts them, so that each has a name.
#[derive(Default)]
pub(super) struct SubqueryValues {
    marks: Cell<usize>,
}

impl SubqueryValues {
    /// Rewrites a node whose inputs and subqueries are rewritten.
    pub(super) fn rewrite(&self, plan: LogicalPlan) -> Result<LogicalPlan> {
        let is_joinable = matches!(
            plan,
            LogicalPlan::Projection(_) | LogicalPlan::Filter(_) | LogicalPlan::Aggregate(_) | LogicalPlan::Sort(_)
        );
        if !is_joinable || !plan.expressions().iter().any(has_subquery_value) {
            return Ok(plan);
        }
        let input = plan.inputs()[0].clone();
        let columns = plan.schema().columns();
        let names = NamePreserver::new(&plan);
        let is_filter = matches!(plan, LogicalPlan::Filter(_));
        let mut marked = input;
        let mut exprs = Vec::new();
        for expr in plan.expressions() {
            let name = names.save(&expr);
            let conjuncts = if is_filter { split_conjunction_owned(expr) } else { vec![expr] };
            let mut valued = Vec::new();
            for conjunct in conjuncts {
                valued.push(match is_filter && is_join_condition(&conjunct)? {
                    true => conjunct,
                    false => self.values_of(conjunct, &mut marked)?,
                });
            }
            exprs.push(name.restore(conjunction(valued).expect("an expression has a conjunct")));
        }
        let plan = plan.with_new_exprs(exprs, vec![marked])?;
        if plan.schema().fields().len() == columns.len() {
            return Ok(plan);
        }
        LogicalPlanBuilder::from(plan).project(columns.into_iter().map(Expr::Column))?.build()
    }

    /// The expression with marks and scalar subqueries in place of IN and EXISTS; the marks are joined to `input`.
    fn values_of(&self, expr: Expr, input: &mut LogicalPlan) -> Result<Expr> {
        let schema = Arc::clone(input.schema());
        let with_exists = expr.transform_up(|part| match part {
            Expr::InSubquery(membership) => membership_value(membership, &schema).map(Transformed::yes),
            other => Ok(Transformed::no(other)),
        })?;
        let valued = with_exists.data.transform_up(|part| match part {
            Expr::Exists(Exists { subquery, negated }) => {
                let value = match is_correlated(&subquery) {
                    false => Some(has_rows(&subquery.subquery)?),
                    true => self.mark(&subquery, input)?,
                };
                Ok(match value {
                    Some(value) => Transformed::yes(if negated { !value } else { value }),
                    None => Transformed::no(Expr::Exists(Exists { subquery, negated })),
                })
            }
            other => Ok(Transformed::no(other)),
        })?;
        Ok(valued.data)
    }

    /// Joins the mark of a correlated subquery to `input`; `None` if its conditions can't be pulled out of it.
    fn mark(&self, subquery: &Subquery, input: &mut LogicalPlan) -> Result<Option<Expr>> {
        let mut pull_up = PullUpCorrelatedExpr::new().with_exists_sub_query(true);
        let pulled = subquery.subquery.as_ref().clone().rewrite(&mut pull_up).data()?;
        let (true, Some(condition)) = (pull_up.can_pull_up, conjunction(pull_up.join_filters)) else {
            return Ok(None);
        };
        self.marks.set(self.marks.get() + 1);
        let table = format!("exists {}", self.marks.get());
        let inner: BTreeSet<Column> = pull_up.correlated_subquery_cols_map.into_values().flatten().collect();
        let renamed: HashMap<Column, Column> =
            inner.into_iter().map(|column| (column.clone(), Column::new(Some(table.as_str()), column.name))).collect();
        let condition = condition.transform(|part| match &part {
            Expr::Column(column) => Ok(match renamed.get(column) {
                Some(renamed) => Transformed::yes(Expr::Column(renamed.clone())),
                None => Transformed::no(part),
            }),
            _ => Ok(Transformed::no(part)),
        })?;
        let right = LogicalPlanBuilder::from(pulled).alias(table.as_str())?.build()?;
        let compared =
            right.schema().columns().into_iter().filter(|column| condition.data.column_refs().contains(column));
        let compared: Vec<Expr> = compared.map(Expr::Column).collect();
        let right = match compared.is_empty() {
            true => right,
            false => LogicalPlanBuilder::from(right).project(compared)?.build()?,
        };
        let joined = LogicalPlanBuilder::from(input.clone()).join_on(right, JoinType::LeftMark, [condition.data])?;
        *input = joined.build()?;
        Ok(Some(Expr::Column(Column::new(Some(table), "mark"))))
    }
}

fn has_subquery_value(expr: &Expr) -> bool {
    expr.exists(|part| Ok(matches!(part, Expr::InSubquery(_) | Expr::Exists(_)))).unwrap_or(false)
}

/// True for a conjunct that the planner crates turn into a semi or anti join rightly, or that has no subquery.
fn is_join_condition(conjunct: &Expr) -> Result<bool> {
    Ok(match conjunct {
        Expr::Not(inner) => match inner.as_ref() {
            Expr::InSubquery(membership) => is_join_membership(membership, !membership.negated),
            Expr::Exists(exists) => is_correlated(&exists.subquery),
            other => !has_subquery_value(other),
        },
        Expr::InSubquery(membership) => is_join_membership(membership, membership.negated),
        Expr::Exists(exists) => is_correlated(&exists.subquery),
        other => !has_subquery_value(other),
    })
}

/// A NOT IN that sees NULLs may have one key only, and nothing else to compare.
fn is_join_membership(membership: &InSubquery, negated: bool) -> bool {
    row_fields(&membership.expr).is_none() && !(negated && is_correlated(&membership.subquery))
}

fn is_correlated(subquery: &Subquery) -> bool {
    !subquery.outer_ref_columns.is_empty() || subquery.subquery.contains_outer_reference()
}

/// The parts of a row `(a, b)`.
fn row_fields(expr: &Expr) -> Option<&[Expr]> {
    match expr {
        Expr::ScalarFunction(call) if call.func.name() == "struct" => Some(&call.args),
        _ => None,
    }
}

/// `a IN (s)` in terms of EXISTS.
fn membership_value(membership: InSubquery, outer: &DFSchema) -> Result<Expr> {
    let InSubquery { expr, subquery, negated } = membership;
    let (values, rows) = match row_fields(&expr) {
        Some(fields) => (fields.to_vec(), columns_of_rows(&subquery.subquery, fields.len())?),
        None => (vec![*expr], subquery.subquery.as_ref().clone()),
    };
    let columns: Vec<Expr> = rows.schema().columns().into_iter().map(Expr::Column).collect();
    if columns.len() != values.len() {
        return datafusion_common::plan_err!("IN compares {} values with {} columns", values.len(), columns.len());
    }
    let mut pairs = Vec::new();
    for ((value, column), field) in values.iter().zip(&columns).zip(rows.schema().fields()) {
        let is_nullable = field.is_nullable() || value.nullable(outer)?;
        pairs.push((column.clone(), as_outer(value.clone(), outer)?, is_nullable));
    }
    let equal = pairs.iter().map(|(column, value, _)| column.clone().eq(value.clone()));
    let found = exists_where(&rows, conjunction(equal).expect("IN has a value"))?;
    let value = if pairs.iter().any(|(_, _, is_nullable)| *is_nullable) {
        let unknown = match values.as_slice() {
            [value] if !is_correlated(&subquery) => {
                let null = LogicalPlanBuilder::from(rows.clone()).filter(columns[0].clone().is_null())?.build()?;
                value.clone().is_null().and(has_rows(&rows)?).or(has_rows(&null)?)
            }
            _ => {
                let maybe_equal = pairs.into_iter().map(|(column, value, is_nullable)| {
                    let equal = column.clone().eq(value.clone());
                    let null = disjunction([column.is_null(), value.is_null()]).expect("two conditions");
                    if is_nullable { equal.or(null) } else { equal }
                });
                exists_where(&rows, conjunction(maybe_equal).expect("IN has a value"))?
            }
        };
        when(found, lit(true)).when(unknown, lit(ScalarValue::Boolean(None))).otherwise(lit(false))?
    } else {
        found
    };
    Ok(if negated { !value } else { value })
}

/// The columns behind a subquery that selects one row `(a, b)`.
fn columns_of_rows(plan: &LogicalPlan, width: usize) -> Result<LogicalPlan> {
    let row = Expr::Column(plan.schema().columns().remove(0));
    let field = |at: usize| {
        let name = lit(format!("c{at}"));
        FUNCTIONS.scalar["get_field"].call(vec![row.clone(), name]).alias(format!("c{at}"))
    };
    if let LogicalPlan::Projection(projection) = plan
        && let [expr] = projection.expr.as_slice()
        && let Some(fields) = row_fields(unaliased(expr))
    {
        let fields = fields.iter().enumerate().map(|(at, field)| field.clone().alias(format!("c{at}")));
        return LogicalPlanBuilder::new_from_arc(Arc::clone(&projection.input)).project(fields)?.build();
    }
    LogicalPlanBuilder::from(plan.clone()).project((0..width).map(field).collect::<Vec<Expr>>())?.build()
}

fn unaliased(expr: &Expr) -> &Expr {
    match expr {
        Expr::Alias(alias) => unaliased(&alias.expr),
        other => other,
    }
}

fn exists_where(rows: &LogicalPlan, condition: Expr) -> Result<Expr> {
    let plan = LogicalPlanBuilder::from(rows.clone()).filter(condition)?.build()?;
    let outer_ref_columns = plan.all_out_ref_exprs();
    let subquery = Subquery { subquery: Arc::new(plan), outer_ref_columns, spans: Default::default() };
    Ok(Expr::Exists(Exists { subquery, negated: false }))
}

/// Whether a plan that refers to no outer query has rows, as a subquery that runs once.
fn has_rows(plan: &LogicalPlan) -> Result<Expr> {
    let count = FUNCTIONS.aggregate["count"].call(vec![lit(1_i64)]);
    let counted = LogicalPlanBuilder::from(plan.clone()).limit(0, Some(1))?.aggregate(Vec::<Expr>::new(), [count])?;
    Ok(scalar_subquery(Arc::new(counted.build()?)).gt(lit(0_i64)))
}

/// An expression of the outer query, as its subquery sees it.
fn as_outer(expr: Expr, outer: &DFSchema) -> Result<Expr> {
    let seen = expr.transform(|part| match &part {
        Expr::Column(column) => {
            let field = Arc::clone(outer.field_from_column(column)?);
            Ok(Transformed::yes(Expr::OuterReferenceColumn(field, column.clone())))
        }
        _ => Ok(Transformed::no(part)),
    })?;
    Ok(seen.data)
}
