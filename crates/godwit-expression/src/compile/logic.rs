//! Logic: AND, OR, NOT, IS NULL, CASE, COALESCE, IN, patterns.

use godwit_common::{ErrorKind, Result};
use godwit_plan::{Expr, ExprKind, Match};
use godwit_types::{SqlType, Value};
use godwit_vector::ColumnType;
use godwit_vector::sql::arrow_type;

use super::types::is_held_as_text;
use super::{Compiler, comparisons};
use crate::compare::{Test, compile_test};
use crate::expression::Operation;
use crate::like::Syntax;
use crate::{Expression, branches, like, set};

impl Compiler<'_> {
    pub(super) fn conjunction(&mut self, all: &[Expr]) -> Result<Expression> {
        Ok(branches::conjunction(self.compile_all(all)?))
    }

    pub(super) fn disjunction(&mut self, all: &[Expr]) -> Result<Expression> {
        Ok(branches::disjunction(self.compile_all(all)?))
    }

    /// Compiles NOT; tests have a negated form of their own.
    pub(super) fn not(&mut self, input: &Expr) -> Result<Expression> {
        match &input.kind {
            ExprKind::IsNull(input) => self.is_null(input, true),
            ExprKind::InList(value, list) => self.in_list(value, list, true, &super::text_of(input, self.context)),
            ExprKind::Match { kind, input, pattern, escape } => self.matches(*kind, input, pattern, *escape, true),
            _ => Ok(compile_test(Test::Not, self.compile(input)?)),
        }
    }

    pub(super) fn is_null(&mut self, input: &Expr, negated: bool) -> Result<Expression> {
        Ok(compile_test(Test::Null { negated }, self.compile(input)?))
    }

    pub(super) fn case(
        &mut self,
        branches: &[(Expr, Expr)],
        otherwise: Option<&Expr>,
        ty: &SqlType,
    ) -> Result<Expression> {
        let conditions = self.compile_all(branches.iter().map(|(condition, _)| condition))?;
        let mut results = self.compile_all(branches.iter().map(|(_, value)| value))?;
        results.push(match otherwise {
            Some(value) => self.compile(value)?,
            None => Expression::literal(&godwit_types::Value::Null, ty)?,
        });
        let (mut results, output) = branches::unified(results, &arrow_type(ty)?)?;
        let otherwise = results.pop().expect("it was just pushed");
        let pairs = conditions.into_iter().zip(results).flat_map(|(condition, value)| [condition, value]);
        let arguments = pairs.chain([otherwise]).collect();
        Ok(Expression::new(Operation::Case, arguments, output).folded())
    }

    pub(super) fn coalesce(&mut self, all: &[Expr], ty: &SqlType) -> Result<Expression> {
        let (values, mut output) = branches::unified(self.compile_all(all)?, &arrow_type(ty)?)?;
        output.nullable = values.iter().all(|value| value.output().nullable);
        Ok(Expression::new(Operation::Coalesce, values, output).folded())
    }

    pub(super) fn attempt(&mut self, input: &Expr) -> Result<Expression> {
        let input = match self.compile(input) {
            // Constants that aren't of their type are found while compiling.
            Err(error) if error.kind() == ErrorKind::User => return Expression::literal(&Value::Null, &input.ty),
            compiled => compiled?,
        };
        if !input.can_fail() {
            return Ok(input);
        }
        let output = ColumnType { nullable: true, ..input.output().clone() };
        Ok(Expression::new(Operation::Try, vec![input], output))
    }

    /// Compiles IN: one look-up in a set of constants, otherwise one comparison per element with a value computed once.
    pub(super) fn in_list(&mut self, value: &Expr, list: &[Expr], negated: bool, text: &str) -> Result<Expression> {
        let ty = &value.ty;
        let sought = self.compile(value)?;
        let list = self.compile_all(list)?;
        let are_constant = list.iter().all(|value| value.as_literal().is_some());
        let found = |sought: Expression| {
            let list = list.into_iter().map(|value| comparisons::order_key(value, ty));
            let list = list.collect::<Result<Vec<_>>>()?;
            set::compile(comparisons::order_key(sought, ty)?, list, false, text)
        };
        let found = match are_constant && !sought.is_volatile() {
            true => found(sought)?,
            false => self.with_value(sought, |_, sought| found(sought))?,
        };
        Ok(if negated { compile_test(Test::Not, found) } else { found })
    }

    pub(super) fn matches(
        &mut self,
        kind: Match,
        input: &Expr,
        pattern: &Expr,
        escape: Option<char>,
        negated: bool,
    ) -> Result<Expression> {
        debug_assert!(input.ty == SqlType::Varchar || is_held_as_text(&input.ty), "patterns match text");
        let syntax = match kind {
            Match::Like => Syntax::Like { escape, ignore_case: false },
            Match::ILike => Syntax::Like { escape, ignore_case: true },
            Match::Similar => Syntax::Similar { escape },
            Match::Glob => Syntax::Glob,
            Match::Regex => Syntax::Regex { ignore_case: false },
            Match::IRegex => Syntax::Regex { ignore_case: true },
        };
        let (input, pattern) = (self.compile(input)?, self.compile(pattern)?);
        let is_null = |expression: &Expression| matches!(expression.as_literal(), Some((_, true)));
        if is_null(&input) || is_null(&pattern) {
            return Expression::literal(&godwit_types::Value::Null, &SqlType::Boolean);
        }
        Ok(like::compile(input, pattern, syntax, negated))
    }
}
