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
//!              if s refers to nothing, by patterns of NULLs, so that each is joined by hash or asked once:
//!              (a is NULL and s has rows) or s has a NULL                              for one column
//!              (a₁ is NULL and EXISTS (s where b₂ = a₂)) or EXISTS (s where b₁ is NULL and b₂ = a₂) or …  for several
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

/// Patterns of NULLs that are joined each on its own: two columns that may be NULL on both sides, or three on one. Each
/// computes the subquery anew; beyond, all pairs of rows are compared.
const PATTERNS_MAX: usize = 8;

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
        let (named, mut renamed) = with_outer_columns_named(subquery.subquery.as_ref().clone())?;
        let pulled = named.rewrite(&mut pull_up).data()?;
        let (true, Some(condition)) = (pull_up.can_pull_up, conjunction(pull_up.join_filters)) else {
            return Ok(None);
        };
        self.marks.set(self.marks.get() + 1);
        let table = format!("exists {}", self.marks.get());
        let inner: BTreeSet<Column> = pull_up.correlated_subquery_cols_map.into_values().flatten().collect();
        renamed
            .extend(inner.into_iter().map(|column| (column.clone(), Column::new(Some(table.as_str()), column.name))));
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

/// Gives the columns of the outer query names that the subquery's own columns can't have, as both may read one table; and
/// what they stand for.
fn with_outer_columns_named(plan: LogicalPlan) -> Result<(LogicalPlan, HashMap<Column, Column>)> {
    let mut outer = HashMap::new();
    let named = plan.transform_up(|node| {
        node.map_expressions(|expr| {
            expr.transform(|part| {
                Ok(match part {
                    Expr::OuterReferenceColumn(field, column) => {
                        let table = column.relation.as_ref().map(ToString::to_string).unwrap_or_default();
                        let named = Column::new(Some(format!("outer {table}")), column.name.clone());
                        outer.insert(named.clone(), column);
                        Transformed::yes(Expr::OuterReferenceColumn(field, named))
                    }
                    other => Transformed::no(other),
                })
            })
        })
    })?;
    Ok((named.data, outer))
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
    for ((value, column), field) in values.into_iter().zip(columns).zip(rows.schema().fields()) {
        let (value_is_nullable, column_is_nullable) = (value.nullable(outer)?, field.is_nullable());
        let seen_value = as_outer(value.clone(), outer)?;
        pairs.push(Compared { value, seen_value, value_is_nullable, column, column_is_nullable });
    }
    let found = exists_where(&rows, conjunction(pairs.iter().map(Compared::equal)).expect("IN has a value"))?;
    let value = if pairs.iter().any(|pair| pair.value_is_nullable || pair.column_is_nullable) {
        let patterns: usize = pairs.iter().map(|pair| pair.states().count()).product();
        let unknown = match !is_correlated(&subquery) && patterns - 1 <= PATTERNS_MAX {
            true => unknown_by_patterns(&rows, &pairs)?,
            false => {
                exists_where(&rows, conjunction(pairs.iter().map(Compared::maybe_equal)).expect("IN has a value"))?
            }
        };
        when(found, lit(true)).when(unknown, lit(ScalarValue::Boolean(None))).otherwise(lit(false))?
    } else {
        found
    };
    Ok(if negated { !value } else { value })
}

/// A value and the column of the subquery that it is compared with.
struct Compared {
    value: Expr,
    /// The value as the subquery sees it.
    seen_value: Expr,
    value_is_nullable: bool,
    column: Expr,
    column_is_nullable: bool,
}

/// Why a value and a column aren't different.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Agreement {
    Equal,
    ValueIsNull,
    ColumnIsNull,
}

impl Compared {
    fn equal(&self) -> Expr {
        self.column.clone().eq(self.seen_value.clone())
    }

    fn maybe_equal(&self) -> Expr {
        let null = disjunction([self.column.clone().is_null(), self.seen_value.clone().is_null()]);
        match self.value_is_nullable || self.column_is_nullable {
            true => self.equal().or(null.expect("two conditions")),
            false => self.equal(),
        }
    }

    fn states(&self) -> impl Iterator<Item = Agreement> + use<> {
        let of_value = self.value_is_nullable.then_some(Agreement::ValueIsNull);
        let of_column = self.column_is_nullable.then_some(Agreement::ColumnIsNull);
        [Some(Agreement::Equal), of_value, of_column].into_iter().flatten()
    }
}

/// Whether some row of a plan that refers to no outer query agrees with the values because of NULLs: for each combination of
/// reasons, whether there is a row whose other columns are equal.
fn unknown_by_patterns(rows: &LogicalPlan, pairs: &[Compared]) -> Result<Expr> {
    let mut patterns: Vec<Vec<Agreement>> = vec![Vec::new()];
    for pair in pairs {
        let extended = |pattern: &Vec<Agreement>| {
            let pattern = pattern.clone();
            pair.states().map(move |state| pattern.iter().copied().chain([state]).collect())
        };
        patterns = patterns.iter().flat_map(extended).collect();
    }
    let mut unknown = Vec::new();
    for pattern in patterns.iter().filter(|pattern| pattern.iter().any(|state| *state != Agreement::Equal)) {
        let of =
            |state: Agreement| pairs.iter().zip(pattern).filter(move |(_, own)| **own == state).map(|(pair, _)| pair);
        let null_columns = conjunction(of(Agreement::ColumnIsNull).map(|pair| pair.column.clone().is_null()));
        let rows = match null_columns {
            Some(condition) => LogicalPlanBuilder::from(rows.clone()).filter(condition)?.build()?,
            None => rows.clone(),
        };
        let exists = match conjunction(of(Agreement::Equal).map(Compared::equal)) {
            Some(condition) => exists_where(&rows, condition)?,
            None => has_rows(&rows)?,
        };
        let null_values = of(Agreement::ValueIsNull).map(|pair| pair.value.clone().is_null());
        unknown.extend(conjunction(null_values.chain([exists])));
    }
    Ok(disjunction(unknown).expect("something may be NULL"))
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
