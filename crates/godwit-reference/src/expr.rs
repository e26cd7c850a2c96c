//! Expressions, with SQL's three-valued logic: `None` is NULL, which is neither TRUE nor FALSE.

use std::cmp::Ordering;

use godwit_common::{Error, ErrorKind, Result};
use godwit_plan::{ColumnId, Comparison, Expr, ExprKind, ScalarFunction};
use godwit_types::{SqlType, Value, cast_value, compare_values, sql_compare, sql_equals};

use crate::check::check_value;
use crate::environment::Environment;
use crate::evaluator::Evaluator;
use crate::functions::{Call, ScalarKernel, scalar_kernel};
use crate::{arithmetic, pattern};

/// TRUE, FALSE, or NULL (`None`).
pub(crate) type Truth = Option<bool>;

impl Evaluator<'_> {
    /// Evaluates an expression.
    pub(crate) fn value(&self, expr: &Expr, environment: &Environment<'_>) -> Result<Value> {
        let value = self.deeper(|| self.value_of_kind(expr, environment)).map_err(|error| error.at_span(expr.span))?;
        check_value(self.plan, expr, &value)?;
        Ok(value)
    }

    /// Evaluates several expressions.
    pub(crate) fn values(&self, exprs: &[Expr], environment: &Environment<'_>) -> Result<Vec<Value>> {
        exprs.iter().map(|expr| self.value(expr, environment)).collect()
    }

    /// Evaluates a condition.
    pub(crate) fn truth(&self, expr: &Expr, environment: &Environment<'_>) -> Result<Truth> {
        match self.value(expr, environment)? {
            Value::Null => Ok(None),
            Value::Boolean(value) => Ok(Some(value)),
            other => Err(Error::internal(format!("the condition {expr} is {other:?}"))),
        }
    }

    /// Whether all conditions are TRUE.
    pub(crate) fn all_true(&self, conditions: &[Expr], environment: &Environment<'_>) -> Result<bool> {
        for condition in conditions {
            if self.truth(condition, environment)? != Some(true) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Evaluates a conjunction: FALSE as soon as one is FALSE, else NULL if one is NULL.
    pub(crate) fn conjunction(&self, conditions: &[Expr], environment: &Environment<'_>) -> Result<Truth> {
        let mut all = Some(true);
        for condition in conditions {
            match self.truth(condition, environment)? {
                Some(true) => {}
                Some(false) => return Ok(Some(false)),
                None => all = None,
            }
        }
        Ok(all)
    }

    fn disjunction(&self, conditions: &[Expr], environment: &Environment<'_>) -> Result<Truth> {
        let mut any = Some(false);
        for condition in conditions {
            match self.truth(condition, environment)? {
                Some(false) => {}
                Some(true) => return Ok(Some(true)),
                None => any = None,
            }
        }
        Ok(any)
    }

    fn value_of_kind(&self, expr: &Expr, environment: &Environment<'_>) -> Result<Value> {
        Ok(match &expr.kind {
            ExprKind::Column(column) => self.column(*column, environment)?,
            ExprKind::Literal(value) => value.clone(),
            ExprKind::Parameter(parameter) => {
                let value = self.parameters.get(parameter.index()).cloned();
                value.ok_or_else(|| Error::user(format!("parameter {parameter} has no value")))?
            }
            ExprKind::Cast { input, lenient } => {
                match cast_value(&self.value(input, environment)?, &input.ty, &expr.ty) {
                    Err(_) if *lenient => Value::Null,
                    result => result?,
                }
            }
            ExprKind::Compare(comparison, a, b) => {
                let (left, right) = (self.value(a, environment)?, self.value(b, environment)?);
                of_truth(compare(*comparison, &left, &right, &a.ty))
            }
            ExprKind::And(all) => of_truth(self.conjunction(all, environment)?),
            ExprKind::Or(all) => of_truth(self.disjunction(all, environment)?),
            ExprKind::Not(input) => of_truth(self.truth(input, environment)?.map(|value| !value)),
            ExprKind::IsNull(input) => Value::Boolean(self.value(input, environment)?.is_null()),
            ExprKind::Arithmetic(op, a, b) => {
                let (left, right) = (self.value(a, environment)?, self.value(b, environment)?);
                arithmetic::compute(*op, (&left, &a.ty), (&right, &b.ty), &expr.ty)?
            }
            ExprKind::Negate(input) => arithmetic::negate(&self.value(input, environment)?, &expr.ty)?,
            ExprKind::Case { branches, otherwise } => self.case(branches, otherwise.as_deref(), environment)?,
            ExprKind::Coalesce(all) => self.coalesce(all, environment)?,
            ExprKind::Try(input) => match self.value(input, environment) {
                Err(error) if error.kind() == ErrorKind::User => Value::Null,
                result => result?,
            },
            ExprKind::InList(value, list) => of_truth(self.in_list(value, list, environment)?),
            ExprKind::Match { kind, input, pattern, escape } => {
                match (self.value(input, environment)?, self.value(pattern, environment)?) {
                    (Value::Text(text), Value::Text(form)) => {
                        Value::Boolean(pattern::matches(*kind, &text, &form, *escape)?)
                    }
                    _ => Value::Null,
                }
            }
            ExprKind::Call(function, args) => self.call(function, args, &expr.ty, environment)?,
            ExprKind::Let { column, value, body } => {
                let value = [self.value(value, environment)?];
                self.value(body, &environment.with_row(&[*column], &value))?
            }
            ExprKind::Lambda(..) => return Err(Error::internal("a lambda stands where a value is needed")),
            ExprKind::Subquery(subquery) => self.subquery(subquery, environment)?,
        })
    }

    fn column(&self, column: ColumnId, environment: &Environment<'_>) -> Result<Value> {
        let value = environment.value(column).cloned();
        let name = &self.plan.column(column).name;
        value.ok_or_else(|| Error::internal(format!("column {name}{column} isn't bound where it is used")))
    }

    fn case(
        &self,
        branches: &[(Expr, Expr)],
        otherwise: Option<&Expr>,
        environment: &Environment<'_>,
    ) -> Result<Value> {
        for (condition, value) in branches {
            if self.truth(condition, environment)? == Some(true) {
                return self.value(value, environment);
            }
        }
        otherwise.map_or(Ok(Value::Null), |value| self.value(value, environment))
    }

    fn coalesce(&self, all: &[Expr], environment: &Environment<'_>) -> Result<Value> {
        for expr in all {
            let value = self.value(expr, environment)?;
            if !value.is_null() {
                return Ok(value);
            }
        }
        Ok(Value::Null)
    }

    fn in_list(&self, value: &Expr, list: &[Expr], environment: &Environment<'_>) -> Result<Truth> {
        let sought = self.value(value, environment)?;
        let mut any = Some(false);
        for expr in list {
            match sql_equals(&sought, &self.value(expr, environment)?, &value.ty) {
                Some(false) => {}
                Some(true) => return Ok(Some(true)),
                None => any = None,
            }
        }
        Ok(any)
    }

    fn call(
        &self,
        function: &ScalarFunction,
        args: &[Expr],
        ty: &SqlType,
        environment: &Environment<'_>,
    ) -> Result<Value> {
        let lambda = args.iter().find_map(|arg| match &arg.kind {
            ExprKind::Lambda(parameters, body) => Some((parameters, body)),
            _ => None,
        });
        let plain: Vec<&Expr> = args.iter().filter(|arg| !matches!(arg.kind, ExprKind::Lambda(..))).collect();
        let values = plain.iter().map(|arg| self.value(arg, environment)).collect::<Result<Vec<_>>>()?;
        if function.strict && values.iter().any(Value::is_null) {
            return Ok(Value::Null);
        }
        let types: Vec<SqlType> = plain.iter().map(|arg| arg.ty.clone()).collect();
        let call = Call { args: &values, types: &types, ty };
        match (scalar_kernel(function)?, lambda) {
            (ScalarKernel::Plain(compute), None) => compute(&call),
            (ScalarKernel::Random, None) => Ok(Value::Float(self.random())),
            (ScalarKernel::Lambda(compute), Some((parameters, body))) => compute(&call, &mut |values| {
                self.spend(1)?;
                self.value(body, &environment.with_row(parameters, values))
            }),
            _ => Err(Error::internal(format!("the call of {} has a lambda too many or too few", function.name))),
        }
    }
}

/// Converts a truth value to a value.
pub(crate) fn of_truth(truth: Truth) -> Value {
    truth.map_or(Value::Null, Value::Boolean)
}

/// Compares two values of a type.
pub(crate) fn compare(comparison: Comparison, a: &Value, b: &Value, ty: &SqlType) -> Truth {
    let ordered = |test: fn(Ordering) -> bool| sql_compare(a, b, ty).map(test);
    match comparison {
        Comparison::Equal => ordered(Ordering::is_eq),
        Comparison::NotEqual => ordered(Ordering::is_ne),
        Comparison::Less => ordered(Ordering::is_lt),
        Comparison::LessOrEqual => ordered(Ordering::is_le),
        Comparison::Greater => ordered(Ordering::is_gt),
        Comparison::GreaterOrEqual => ordered(Ordering::is_ge),
        Comparison::Distinct => Some(compare_values(a, b, ty).is_ne()),
        Comparison::NotDistinct => Some(compare_values(a, b, ty).is_eq()),
    }
}
