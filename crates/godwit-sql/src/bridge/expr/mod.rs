//! Expressions.
//!
//! Types are settled in the plan; the planner crates derive types anew from operands. Where theirs differ from the plan's
//! (the precision of products, counts without sign), the expression is cast to the plan's, so that what is above it may
//! rely on that.
//!
//! ```text
//! a / b of exact numbers as DOUBLE     quotient(a, b): a divisor of zero is an error
//! timestamp - timestamp, time + …      functions of ours, row by row: functions/own.rs
//! date + 1                             date + INTERVAL '1 day', for which there is a kernel
//! SIMILAR TO, GLOB                     regular expressions: pattern.rs
//! ```

mod call;
mod pattern;

use std::cell::RefCell;
use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef};
use datafusion_common::{Column, DFSchema, ScalarValue};
use datafusion_expr::expr::{Case, InList, Like, Placeholder, ScalarFunction, Sort};
use datafusion_expr::{Expr as PlannerExpr, ExprSchemable, Operator, binary_expr, cast, lit, try_cast};
use godwit_common::{Error, Result};
use godwit_plan::{Arithmetic, ColumnId, Comparison, Expr, ExprKind, Match, SortKey, Subquery, SubqueryKind};
use godwit_types::{Interval, SqlType, Value};

use super::functions::{row_arithmetic, row_cast};
use super::plan::Bridge;
use super::planning_error;
use super::types::{arrow_interval, arrow_type, is_same, scalar};
use crate::functions::FUNCTIONS;
use crate::inexact;

/// Converts expressions over the rows of a schema.
pub(super) struct Expressions<'a> {
    schema: &'a Arc<DFSchema>,
    name_of: &'a dyn Fn(ColumnId) -> Option<Column>,
    /// For subqueries and parameters; not there for what runs on samples.
    bridge: Option<&'a Bridge<'a>>,
    /// The parameters of lambdas around what is being converted.
    parameters: RefCell<Vec<(ColumnId, FieldRef)>>,
}

impl<'a> Expressions<'a> {
    /// For expressions over columns only.
    pub(super) fn over_names(schema: &'a Arc<DFSchema>, name_of: &'a dyn Fn(ColumnId) -> Option<Column>) -> Self {
        Self { schema, name_of, bridge: None, parameters: RefCell::default() }
    }

    /// For expressions of a plan.
    pub(super) fn of_plan(
        schema: &'a Arc<DFSchema>,
        name_of: &'a dyn Fn(ColumnId) -> Option<Column>,
        bridge: &'a Bridge<'a>,
    ) -> Self {
        Self { schema, name_of, bridge: Some(bridge), parameters: RefCell::default() }
    }

    /// The expression, of the Arrow type that its type has.
    pub(super) fn convert(&self, expr: &Expr) -> Result<PlannerExpr> {
        let bare = self.bare(expr).map_err(|error| error.at_span(expr.span))?;
        self.typed(bare, &expr.ty)
    }

    /// Conditions as one; `None` without any.
    pub(super) fn conjunction<'e>(
        &self,
        conditions: impl IntoIterator<Item = &'e Expr>,
    ) -> Result<Option<PlannerExpr>> {
        let conditions = conditions.into_iter().map(|condition| self.convert(condition));
        Ok(balanced(conditions.collect::<Result<_>>()?, Operator::And))
    }

    /// Keys of an order.
    pub(super) fn sort_keys(&self, keys: &[SortKey]) -> Result<Vec<Sort>> {
        let key = |key: &SortKey| Ok(Sort::new(self.convert(&key.expr)?, !key.descending, key.nulls_first));
        keys.iter().map(key).collect()
    }

    /// The type that the planner crates give an expression.
    pub(super) fn type_of(&self, expr: &PlannerExpr) -> Result<DataType> {
        expr.get_type(self.schema.as_ref()).map_err(planning_error)
    }

    /// The expression as a type.
    pub(super) fn typed(&self, expr: PlannerExpr, ty: &SqlType) -> Result<PlannerExpr> {
        let wanted = arrow_type(ty)?;
        Ok(if is_same(&self.type_of(&expr)?, &wanted) { expr } else { cast(expr, wanted) })
    }

    fn bare(&self, expr: &Expr) -> Result<PlannerExpr> {
        Ok(match &expr.kind {
            ExprKind::Column(column) => self.column(*column)?,
            ExprKind::Literal(value) => PlannerExpr::Literal(scalar(value, &expr.ty)?, None),
            ExprKind::Parameter(parameter) => {
                let bridge = self.bridge.ok_or_else(|| unexpected("a parameter"))?;
                let id = format!("${}", bridge.plan.parameter_info(*parameter).name);
                let field = Arc::new(Field::new(&id, arrow_type(&expr.ty)?, true));
                PlannerExpr::Placeholder(Placeholder::new_with_field(id, Some(field)))
            }
            ExprKind::Cast { input, lenient } => self.cast(input, &expr.ty, *lenient)?,
            ExprKind::Compare(comparison, left, right) => {
                binary_expr(self.convert(left)?, comparison_operator(*comparison), self.convert(right)?)
            }
            ExprKind::And(all) => self.connected(all, Operator::And)?,
            ExprKind::Or(all) => self.connected(all, Operator::Or)?,
            ExprKind::Not(inner) => match &inner.kind {
                ExprKind::IsNull(value) => self.convert(value)?.is_not_null(),
                _ => PlannerExpr::Not(Box::new(self.convert(inner)?)),
            },
            ExprKind::IsNull(value) => self.convert(value)?.is_null(),
            ExprKind::Arithmetic(op, left, right) => self.arithmetic(*op, left, right, &expr.ty)?,
            ExprKind::Negate(value) => self.negation(value)?,
            ExprKind::Case { branches, otherwise } => self.case(branches, otherwise.as_deref())?,
            ExprKind::Coalesce(values) => FUNCTIONS.scalar["coalesce"].call(self.convert_all(values)?),
            ExprKind::InList(value, list) => {
                let value = Box::new(self.convert(value)?);
                PlannerExpr::InList(InList::new(value, self.convert_all(list)?, false))
            }
            ExprKind::Match { kind, input, pattern, escape } => self.matching(*kind, input, pattern, *escape)?,
            ExprKind::Call(function, arguments) => self.call(function, arguments, &expr.ty)?,
            ExprKind::Subquery(subquery) => self.subquery(subquery)?,
            ExprKind::Let { column, value, body } if !value.is_volatile() => {
                let value_of = |used| (used == *column).then(|| (**value).clone());
                self.convert(&body.as_ref().clone().substitute(&value_of))?
            }
            ExprKind::Let { .. } => return Err(unexpected("a volatile value that is named inside an expression")),
            ExprKind::Lambda(..) => return Err(unexpected("a lambda that is no argument")),
        })
    }

    fn convert_all(&self, exprs: &[Expr]) -> Result<Vec<PlannerExpr>> {
        exprs.iter().map(|expr| self.convert(expr)).collect()
    }

    fn column(&self, id: ColumnId) -> Result<PlannerExpr> {
        if let Some((_, field)) = self.parameters.borrow().iter().rev().find(|(known, _)| *known == id) {
            let variable = datafusion_expr::expr::LambdaVariable::new(field.name().clone(), Some(Arc::clone(field)));
            return Ok(PlannerExpr::LambdaVariable(variable));
        }
        let name = (self.name_of)(id).ok_or_else(|| unexpected("a column of a row that isn't there"))?;
        Ok(PlannerExpr::Column(name))
    }

    fn connected(&self, conditions: &[Expr], op: Operator) -> Result<PlannerExpr> {
        balanced(self.convert_all(conditions)?, op).ok_or_else(|| unexpected("a chain without conditions"))
    }

    fn cast(&self, input: &Expr, to: &SqlType, lenient: bool) -> Result<PlannerExpr> {
        let value = self.convert(input)?;
        Ok(match row_cast(&input.ty, to, lenient) {
            Some(function) => PlannerExpr::ScalarFunction(ScalarFunction::new_udf(function, vec![value])),
            None if lenient => try_cast(value, arrow_type(to)?),
            None => cast(value, arrow_type(to)?),
        })
    }

    fn arithmetic(&self, op: Arithmetic, left: &Expr, right: &Expr, ty: &SqlType) -> Result<PlannerExpr> {
        if let Some(days) = days_of(op, left, right) {
            let interval = lit(ScalarValue::IntervalMonthDayNano(Some(arrow_interval(days)?)));
            return Ok(binary_expr(self.convert(left)?, operator(op), interval));
        }
        let (a, b) = (self.convert(left)?, self.convert(right)?);
        if let Some(function) = row_arithmetic(op, &left.ty, &right.ty, ty) {
            return Ok(PlannerExpr::ScalarFunction(ScalarFunction::new_udf(function, vec![a, b])));
        }
        Ok(match (op, ty) {
            (Arithmetic::Divide, SqlType::Double) if is_exact_quotient(left, right) => inexact::quotient_of(a, b),
            // The planner crates' quotient of decimals has digits behind the point.
            (Arithmetic::Divide, SqlType::HugeInt) => {
                let rest = binary_expr(a.clone(), Operator::Modulo, b.clone());
                binary_expr(binary_expr(a, Operator::Minus, rest), Operator::Divide, b)
            }
            _ => binary_expr(a, operator(op), b),
        })
    }

    fn negation(&self, value: &Expr) -> Result<PlannerExpr> {
        if value.ty == SqlType::Interval {
            let minus_one = Expr::literal(Value::Float(-1.0), SqlType::Double);
            return self.arithmetic(Arithmetic::Multiply, value, &minus_one, &SqlType::Interval);
        }
        Ok(PlannerExpr::Negative(Box::new(self.convert(value)?)))
    }

    fn case(&self, branches: &[(Expr, Expr)], otherwise: Option<&Expr>) -> Result<PlannerExpr> {
        let branch = |(when, then): &(Expr, Expr)| Ok((Box::new(self.convert(when)?), Box::new(self.convert(then)?)));
        let branches = branches.iter().map(branch).collect::<Result<_>>()?;
        let otherwise = otherwise.map(|value| self.convert(value).map(Box::new)).transpose()?;
        Ok(PlannerExpr::Case(Case::new(None, branches, otherwise)))
    }

    fn matching(&self, kind: Match, input: &Expr, pattern: &Expr, escape: Option<char>) -> Result<PlannerExpr> {
        let value = self.convert(input)?;
        let regex = |pattern: PlannerExpr, op| Ok(binary_expr(value.clone(), op, pattern));
        match kind {
            Match::Like | Match::ILike => {
                let pattern = Box::new(self.convert(pattern)?);
                let ignores_case = kind == Match::ILike;
                Ok(PlannerExpr::Like(Like::new(false, Box::new(value), pattern, escape, ignores_case)))
            }
            Match::Regex => regex(self.convert(pattern)?, Operator::RegexMatch),
            Match::IRegex => regex(self.convert(pattern)?, Operator::RegexIMatch),
            Match::Similar | Match::Glob => {
                let translated = match pattern.as_literal() {
                    Some(Value::Text(text)) if kind == Match::Glob => Value::text(pattern::of_glob(text)),
                    Some(Value::Text(text)) => Value::text(pattern::of_similar(text, escape)?),
                    Some(Value::Null) => Value::Null,
                    _ => {
                        let error = Error::unsupported(format!("{} with a pattern that isn't constant", kind.symbol()));
                        return Err(error.with_hint("use LIKE, or ~ with a regular expression"));
                    }
                };
                regex(lit(scalar(&translated, &SqlType::Varchar)?), Operator::RegexMatch)
            }
        }
    }

    fn subquery(&self, subquery: &Subquery) -> Result<PlannerExpr> {
        let bridge = self.bridge.ok_or_else(|| unexpected("a subquery"))?;
        match (&subquery.kind, subquery.columns.as_slice()) {
            (SubqueryKind::Scalar, &[column]) => bridge.scalar_subquery(subquery.plan, column),
            _ => Err(unexpected("a subquery that wasn't made a join")),
        }
    }
}

/// What the passes before the bridge should have taken out of the plan.
pub(super) fn unexpected(what: &str) -> Error {
    Error::internal(format!("{what} in a finished plan"))
}

/// A tree of little depth.
fn balanced(mut operands: Vec<PlannerExpr>, op: Operator) -> Option<PlannerExpr> {
    if operands.len() <= 1 {
        return operands.pop();
    }
    let right = operands.split_off(operands.len() / 2);
    Some(binary_expr(balanced(operands, op)?, op, balanced(right, op)?))
}

/// The interval that a constant number of days is, if a DATE is moved by it.
fn days_of(op: Arithmetic, left: &Expr, right: &Expr) -> Option<Interval> {
    let moves = matches!(op, Arithmetic::Add | Arithmetic::Subtract);
    match right.as_literal() {
        Some(Value::Integer(days)) if moves && left.ty == SqlType::Date && right.ty.is_integer() => {
            Some(Interval { days: i32::try_from(*days).ok()?, ..Interval::default() })
        }
        _ => None,
    }
}

/// True for quotients of exact numbers that were made DOUBLE for the division.
fn is_exact_quotient(left: &Expr, right: &Expr) -> bool {
    let was_exact = |expr: &Expr| match &expr.kind {
        ExprKind::Cast { input, .. } => input.ty.is_integer() || input.ty.is_decimal(),
        ExprKind::Literal(_) => true,
        _ => false,
    };
    was_exact(left) && was_exact(right)
}

fn operator(op: Arithmetic) -> Operator {
    match op {
        Arithmetic::Add => Operator::Plus,
        Arithmetic::Subtract => Operator::Minus,
        Arithmetic::Multiply => Operator::Multiply,
        Arithmetic::Divide => Operator::Divide,
        Arithmetic::Modulo => Operator::Modulo,
    }
}

fn comparison_operator(comparison: Comparison) -> Operator {
    match comparison {
        Comparison::Equal => Operator::Eq,
        Comparison::NotEqual => Operator::NotEq,
        Comparison::Less => Operator::Lt,
        Comparison::LessOrEqual => Operator::LtEq,
        Comparison::Greater => Operator::Gt,
        Comparison::GreaterOrEqual => Operator::GtEq,
        Comparison::Distinct => Operator::IsDistinctFrom,
        Comparison::NotDistinct => Operator::IsNotDistinctFrom,
    }
}
