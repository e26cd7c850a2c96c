//! From DataFusion's `Expr` to an [`Expression`].
//!
//! The planner has resolved names, coerced types and folded most constants; what is left is to choose kernels. Each
//! kind of expression has a file of its own with a `compile` function; this one finds the way there.

use std::sync::Arc;

use arrow_schema::DataType;
use datafusion_common::tree_node::{Transformed, TreeNode};
use datafusion_common::{Column, DFSchema, ScalarValue};
use datafusion_expr::expr::{Case, ScalarFunction};
use datafusion_expr::{Between, BinaryExpr, Expr, ExprSchemable, Operator};
use godwit_common::{Error, Result};
use godwit_vector::kernels::arithmetic::Arithmetic;
use godwit_vector::kernels::compare::Comparison;
use godwit_vector::{ColumnType, PhysicalType};

use crate::arrow_call::{ArrowBinary, ArrowFunction, user_error};
use crate::compare::{Test, boolean, compile_test, fuse_ranges};
use crate::expression::Operation;
use crate::{CompileContext, Expression, arithmetic, bits, cast, compare, like, range, set, temporal, text};

pub(crate) struct Compiler<'a> {
    schema: &'a DFSchema,
    input: &'a [ColumnType],
    context: &'a CompileContext,
}

impl<'a> Compiler<'a> {
    pub(crate) fn new(schema: &'a DFSchema, input: &'a [ColumnType], context: &'a CompileContext) -> Self {
        Self { schema, input, context }
    }

    pub(crate) fn compile(&self, expr: &Expr) -> Result<Expression> {
        match expr {
            Expr::Alias(alias) => self.compile(&alias.expr),
            Expr::Column(column) => {
                let index =
                    self.schema.index_of_column(column).map_err(|error| Error::internal(error.strip_backtrace()))?;
                Ok(Expression::column(index, self.input[index].clone()))
            }
            Expr::Literal(scalar, _) => Expression::literal(scalar),
            Expr::ScalarSubquery(subquery) => Expression::parameter(&self.context.subquery(subquery)?),
            Expr::Placeholder(placeholder) => Expression::parameter(&self.context.placeholder(&placeholder.id)?),
            Expr::BinaryExpr(binary) => self.binary(expr, binary),
            Expr::Not(argument) => self.test(Test::Not, argument),
            Expr::IsNull(argument) | Expr::IsUnknown(argument) => self.test(Test::Null { negated: false }, argument),
            Expr::IsNotNull(argument) | Expr::IsNotUnknown(argument) => {
                self.test(Test::Null { negated: true }, argument)
            }
            Expr::IsTrue(argument) => self.test(Test::Value { value: true, negated: false }, argument),
            Expr::IsNotTrue(argument) => self.test(Test::Value { value: true, negated: true }, argument),
            Expr::IsFalse(argument) => self.test(Test::Value { value: false, negated: false }, argument),
            Expr::IsNotFalse(argument) => self.test(Test::Value { value: false, negated: true }, argument),
            Expr::Negative(argument) => self.negative(expr, argument),
            Expr::Between(between) => self.between(expr, between),
            Expr::InList(list) => {
                let values = self.compile_all(&list.list)?;
                set::compile(self.compile(&list.expr)?, values, list.negated, &text_of(expr))
            }
            Expr::Like(like) => {
                let (argument, pattern) = (self.compile(&like.expr)?, self.compile(&like.pattern)?);
                Ok(like::compile(argument, pattern, like.escape_char, like.negated, like.case_insensitive))
            }
            Expr::SimilarTo(like) => {
                let (argument, pattern) = (self.compile(&like.expr)?, self.compile(&like.pattern)?);
                Ok(like::compile_regex(argument, pattern, like.negated, like.case_insensitive))
            }
            Expr::Case(case) => self.case(expr, case),
            Expr::Cast(call) => {
                cast::compile(self.compile(unrounded(&call.expr))?, call.field.data_type(), false, &text_of(expr))
            }
            Expr::TryCast(call) => {
                cast::compile(self.compile(unrounded(&call.expr))?, call.field.data_type(), true, &text_of(expr))
            }
            Expr::ScalarFunction(call) => self.function(expr, call),
            Expr::OuterReferenceColumn(_, column) => {
                Err(Error::unsupported(format!("a subquery that refers to {column} of the outer query in this way"))
                    .with_hint("rewrite it as a join"))
            }
            other => Err(Error::unsupported(format!("the expression {other}"))),
        }
    }

    pub(crate) fn compile_all(&self, exprs: &[Expr]) -> Result<Vec<Expression>> {
        exprs.iter().map(|expr| self.compile(expr)).collect()
    }

    fn logical(&self, expr: &Expr) -> Result<DataType> {
        expr.get_type(self.schema).map_err(|error| user_error(&error))
    }

    fn test(&self, test: Test, argument: &Expr) -> Result<Expression> {
        Ok(compile_test(test, self.compile(argument)?))
    }

    fn negative(&self, expr: &Expr, argument: &Expr) -> Result<Expression> {
        let argument = self.compile(argument)?;
        if argument.output().physical == PhysicalType::Nested {
            return Err(Error::unsupported(format!("the expression {expr}")).with_hint("subtract the interval instead"));
        }
        Ok(arithmetic::compile_negation(argument, &text_of(expr)))
    }

    fn between(&self, expr: &Expr, between: &Between) -> Result<Expression> {
        let text = text_of(expr);
        let argument = self.compile(&between.expr)?;
        let low = compare::compile(Comparison::GreaterOrEqual, argument.clone(), self.compile(&between.low)?, &text)?;
        let high = compare::compile(Comparison::LessOrEqual, argument, self.compile(&between.high)?, &text)?;
        let inside = conjunction(vec![low, high]);
        Ok(if between.negated { compile_test(Test::Not, inside) } else { inside })
    }

    fn binary(&self, expr: &Expr, binary: &BinaryExpr) -> Result<Expression> {
        let BinaryExpr { left, op, right } = binary;
        if matches!(op, Operator::And | Operator::Or) {
            return self.logical_chain(expr, *op);
        }
        let text = text_of(expr);
        let (a, b) = (self.compile(left)?, self.compile(right)?);
        if let Some(op) = comparison(*op) {
            return compare::compile(op, a, b, &text);
        }
        if let Some(op) = arithmetic_operator(*op) {
            return self.arithmetic(expr, op, a, b, binary);
        }
        let (negated, ignore_case) = (
            matches!(
                op,
                Operator::NotLikeMatch | Operator::NotILikeMatch | Operator::RegexNotMatch | Operator::RegexNotIMatch
            ),
            matches!(
                op,
                Operator::ILikeMatch | Operator::NotILikeMatch | Operator::RegexIMatch | Operator::RegexNotIMatch
            ),
        );
        match op {
            Operator::IsDistinctFrom => compare::compile_distinct(a, b, false, &text),
            Operator::IsNotDistinctFrom => compare::compile_distinct(a, b, true, &text),
            Operator::LikeMatch | Operator::ILikeMatch | Operator::NotLikeMatch | Operator::NotILikeMatch => {
                Ok(like::compile(a, b, None, negated, ignore_case))
            }
            Operator::RegexMatch | Operator::RegexIMatch | Operator::RegexNotMatch | Operator::RegexNotIMatch => {
                Ok(like::compile_regex(a, b, negated, ignore_case))
            }
            Operator::StringConcat => {
                let logical = self.logical(expr)?;
                if a.output().logical == DataType::Null || b.output().logical == DataType::Null {
                    return cast::null_literal(&logical);
                }
                Ok(text::compile_concatenation(
                    cast::compile(a, &logical, false, &text)?,
                    cast::compile(b, &logical, false, &text)?,
                    &logical,
                ))
            }
            Operator::BitwiseAnd
            | Operator::BitwiseOr
            | Operator::BitwiseXor
            | Operator::BitwiseShiftLeft
            | Operator::BitwiseShiftRight => bits::compile(*op, a, b, &self.logical(expr)?),
            _ => Err(Error::unsupported(format!("the operator {op}"))),
        }
    }

    /// AND and OR, with chains of the same operator flattened.
    fn logical_chain(&self, expr: &Expr, op: Operator) -> Result<Expression> {
        let mut operands = Vec::new();
        // The planner builds long chains to the left; the stack here keeps recursion away.
        let mut pending = vec![expr];
        while let Some(next) = pending.pop() {
            match next {
                Expr::BinaryExpr(binary) if binary.op == op => pending.extend([&*binary.right, &*binary.left]),
                other => operands.push(cast::compile(self.compile(other)?, &DataType::Boolean, false, "a condition")?),
            }
        }
        Ok(if op == Operator::And { conjunction(operands) } else { disjunction(operands) })
    }

    fn arithmetic(
        &self,
        expr: &Expr,
        op: Arithmetic,
        a: Expression,
        b: Expression,
        binary: &BinaryExpr,
    ) -> Result<Expression> {
        let text = text_of(expr);
        let logical = self.logical(expr)?;
        let is_null = |expression: &Expression| {
            expression.output().logical == DataType::Null || matches!(expression.as_literal(), Some((_, true)))
        };
        if is_null(&a) || is_null(&b) {
            return cast::null_literal(&logical);
        }
        let (left, right) = (a.output().logical.clone(), b.output().logical.clone());
        if !temporal::is_temporal(&left) && !temporal::is_temporal(&right) {
            return arithmetic::compile(op, a, b, &logical, &text);
        }
        let shift = match (&*binary.left, op, &*binary.right) {
            (_, Arithmetic::Add | Arithmetic::Subtract, Expr::Literal(interval, _)) => {
                temporal::date_shift(&a, interval, op == Arithmetic::Subtract, &text)?
            }
            (Expr::Literal(interval, _), Arithmetic::Add, _) => temporal::date_shift(&b, interval, false, &text)?,
            _ => None,
        };
        if let Some(shifted) = shift {
            return Ok(shifted);
        }
        if (&left, op, &right) == (&DataType::Date32, Arithmetic::Subtract, &DataType::Date32)
            && logical == DataType::Int64
        {
            return arithmetic::compile(op, a, b, &logical, &text);
        }
        let output = ColumnType::new(logical.clone(), a.output().nullable || b.output().nullable)?;
        let kernel = ArrowBinary { op: binary.op, left, right, output: logical };
        Ok(Expression::strict(kernel, vec![a, b], output))
    }

    fn case(&self, expr: &Expr, case: &Case) -> Result<Expression> {
        let logical = self.logical(expr)?;
        let text = text_of(expr);
        let subject = case.expr.as_ref().map(|subject| self.compile(subject)).transpose()?;
        let mut conditions = Vec::new();
        let mut values = Vec::new();
        for (when, then) in &case.when_then_expr {
            let when = self.compile(when)?;
            conditions.push(match &subject {
                Some(subject) => compare::compile(Comparison::Equal, subject.clone(), when, &text)?,
                None => cast::compile(when, &DataType::Boolean, false, &text)?,
            });
            values.push(cast::compile(self.compile(then)?, &logical, false, &text)?);
        }
        values.push(match &case.else_expr {
            Some(otherwise) => cast::compile(self.compile(otherwise)?, &logical, false, &text)?,
            None => cast::null_literal(&logical)?,
        });
        let (values, output) = unified(values, &logical)?;
        let mut arguments = Vec::new();
        let mut values = values.into_iter();
        for condition in conditions {
            arguments.push(condition);
            arguments.extend(values.next());
        }
        arguments.extend(values);
        Ok(Expression::new(Operation::Case, arguments, output).folded())
    }

    fn function(&self, expr: &Expr, call: &ScalarFunction) -> Result<Expression> {
        let name = call.func.name();
        let logical = self.logical(expr)?;
        let arguments = self.compile_all(&call.args)?;
        if let Some(expression) = self.native_function(name, &arguments, &logical, &text_of(expr))? {
            return Ok(expression);
        }
        let fields = call
            .args
            .iter()
            .map(|argument| Ok(argument.to_field(self.schema)?.1))
            .collect::<datafusion_common::Result<Vec<_>>>();
        let output = expr.to_field(self.schema).map_err(|error| user_error(&error))?.1;
        let ty = ColumnType::new(output.data_type().clone(), true)?;
        let kernel = ArrowFunction {
            function: call.func.clone(),
            arguments: fields.map_err(|error| user_error(&error))?,
            output,
            config: Arc::clone(self.context.config()),
        };
        Ok(Expression::strict(kernel, arguments, ty))
    }

    fn native_function(
        &self,
        name: &str,
        arguments: &[Expression],
        logical: &DataType,
        text: &str,
    ) -> Result<Option<Expression>> {
        let literal_text = |argument: &Expression| match argument.as_literal() {
            Some((flat, false)) if flat.physical() == PhysicalType::Str => {
                Some(String::from_utf8_lossy(flat.strings().get(0)).into_owned())
            }
            _ => None,
        };
        Ok(match (name, arguments) {
            ("date_part" | "datepart", [field, argument]) => {
                literal_text(field).and_then(|field| temporal::date_part(&field, argument))
            }
            ("date_trunc" | "datetrunc", [unit, argument]) => {
                literal_text(unit).and_then(|unit| temporal::date_trunc(&unit, argument))
            }
            ("coalesce", [_, ..]) => {
                let values = arguments.iter().map(|argument| cast::compile(argument.clone(), logical, false, text));
                let (values, mut output) = unified(values.collect::<Result<Vec<_>>>()?, logical)?;
                output.nullable = values.iter().all(|value| value.output().nullable);
                Some(Expression::new(Operation::Coalesce, values, output).folded())
            }
            ("nullif", [value, null]) => {
                let equal = compare::compile(Comparison::Equal, value.clone(), null.clone(), text)?;
                let value = cast::compile(value.clone(), logical, false, text)?;
                let output = ColumnType { nullable: true, ..value.output().clone() };
                let nothing = retyped_null(&output)?;
                Some(Expression::new(Operation::Case, vec![equal, nothing, value], output).folded())
            }
            ("abs", [argument]) if argument.output().logical.is_integer() || argument.output().logical.is_decimal() => {
                absolute(argument, text)?
            }
            _ => text::compile(name, arguments, logical),
        })
    }
}

/// The operand of a cast without the rounding that `godwit-sql` puts around it: casts round by themselves.
fn unrounded(operand: &Expr) -> &Expr {
    match operand {
        Expr::ScalarFunction(call) if call.func.name() == "whole" => &call.args[0],
        other => other,
    }
}

/// An expression for messages: literals and columns as SQL spells them, not as the planner's crates do.
fn text_of(expr: &Expr) -> String {
    let as_written = |part| {
        let name = match part {
            Expr::Literal(scalar, _) => literal_text(&scalar),
            Expr::Column(column) => column.name,
            other => return Ok(Transformed::no(other)),
        };
        Ok(Transformed::yes(Expr::Column(Column::new_unqualified(name))))
    };
    expr.clone().transform_up(as_written).map_or_else(|_| expr.to_string(), |shown| shown.data.to_string())
}

fn literal_text(scalar: &ScalarValue) -> String {
    match scalar.cast_to(&DataType::Utf8) {
        Ok(ScalarValue::Utf8(Some(text))) if scalar.data_type().is_numeric() => text,
        Ok(ScalarValue::Utf8(Some(text))) => format!("'{text}'"),
        _ => scalar.to_string(),
    }
}

/// |argument| as a CASE over its sign.
fn absolute(argument: &Expression, text: &str) -> Result<Option<Expression>> {
    let zero = arithmetic::integer_literal(0, &argument.output().logical);
    let negative = compare::compile(Comparison::Less, argument.clone(), zero, text)?;
    let negated = arithmetic::compile_negation(argument.clone(), text);
    let (values, mut output) = unified(vec![negated, argument.clone()], &argument.output().logical)?;
    output.range = argument.output().bound().and_then(range::absolute);
    let [negated, argument]: [Expression; 2] = values.try_into().expect("two values");
    Ok(Some(Expression::new(Operation::Case, vec![negative, negated, argument], output).folded()))
}

/// NULL in the physical type of `output`.
fn retyped_null(output: &ColumnType) -> Result<Expression> {
    let null = cast::null_literal(&output.logical)?;
    Ok(cast::to_physical(&null, output.physical).retyped(ColumnType { nullable: true, ..output.clone() }))
}

/// Brings values of one SQL type to one physical type, and joins their ranges. NULLs follow the others.
fn unified(values: Vec<Expression>, logical: &DataType) -> Result<(Vec<Expression>, ColumnType)> {
    let is_null = |value: &Expression| matches!(value.as_literal(), Some((_, true)));
    let mut output = ColumnType::new(logical.clone(), values.iter().any(|value| value.output().nullable))?;
    let known: Vec<&Expression> = values.iter().filter(|value| !is_null(value)).collect();
    if let Some(first) = known.first() {
        output.physical = first.output().physical;
        if output.physical.is_integer() {
            let bounds = known.iter().filter_map(|value| value.output().bound());
            let joined = bounds.reduce(range::union).expect("an integer type");
            if known.iter().any(|value| value.output().physical != output.physical) {
                output.physical = compare::common_integer(joined, joined);
            }
            output.range = Some(joined);
        }
    }
    let values = values
        .into_iter()
        .map(
            |value| {
                if is_null(&value) { retyped_null(&output) } else { Ok(cast::to_physical(&value, output.physical)) }
            },
        )
        .collect::<Result<Vec<_>>>()?;
    Ok((values, output))
}

/// AND of boolean expressions; bounds of one column are joined, and what can't fail comes first.
pub(crate) fn conjunction(operands: Vec<Expression>) -> Expression {
    let mut operands = fuse_ranges(operands);
    operands.sort_by_key(Expression::can_fail);
    connected(Operation::And, operands)
}

fn disjunction(mut operands: Vec<Expression>) -> Expression {
    operands.sort_by_key(Expression::can_fail);
    connected(Operation::Or, operands)
}

fn connected(operation: Operation, mut operands: Vec<Expression>) -> Expression {
    if operands.len() == 1 {
        return operands.remove(0);
    }
    let nullable = operands.iter().any(|operand| operand.output().nullable);
    Expression::new(operation, operands, boolean(nullable)).folded()
}

fn comparison(op: Operator) -> Option<Comparison> {
    Some(match op {
        Operator::Eq => Comparison::Equal,
        Operator::NotEq => Comparison::NotEqual,
        Operator::Lt => Comparison::Less,
        Operator::LtEq => Comparison::LessOrEqual,
        Operator::Gt => Comparison::Greater,
        Operator::GtEq => Comparison::GreaterOrEqual,
        _ => return None,
    })
}

fn arithmetic_operator(op: Operator) -> Option<Arithmetic> {
    Some(match op {
        Operator::Plus => Arithmetic::Add,
        Operator::Minus => Arithmetic::Subtract,
        Operator::Multiply => Arithmetic::Multiply,
        Operator::Divide => Arithmetic::Divide,
        Operator::Modulo => Arithmetic::Remainder,
        _ => return None,
    })
}
