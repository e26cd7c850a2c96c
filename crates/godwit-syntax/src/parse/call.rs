//! Calls and their clauses.

use godwit_common::{Result, Span};

use super::{Parser, syntax_error};
use crate::ast::{Argument, Call, Expr, ExprKind, NullTreatment, ObjectName, Over};
use crate::keyword::Keyword as K;
use crate::lex::{Symbol, TokenKind};

/// Functions whose arguments after the first may be lambdas that begin with a constant: those of `godwit-functions`, in
/// `lambda.rs`.
const TAKE_LAMBDAS: [&str; 11] = [
    "list_transform",
    "array_transform",
    "list_apply",
    "array_apply",
    "apply",
    "list_filter",
    "array_filter",
    "filter",
    "list_reduce",
    "array_reduce",
    "reduce",
];

impl Parser<'_> {
    /// Parses a call, starting at its parenthesis. `first` are arguments from before the name.
    pub(super) fn call_expr(&mut self, name: ObjectName, first: Vec<Argument>, start: Span) -> Result<Expr> {
        let call = self.call(name, first)?;
        Ok(Expr { kind: ExprKind::Call(Box::new(call)), span: self.since(start) })
    }

    /// Parses the parentheses and clauses of a call.
    pub(super) fn call(&mut self, name: ObjectName, first: Vec<Argument>) -> Result<Call> {
        let mut call = Call::new(name, first);
        let open = self.peek().span;
        self.expect_symbol(Symbol::LeftParen)?;
        call.distinct = self.eat(K::Distinct);
        if !call.distinct && !self.is_quantified_all() {
            self.eat(K::All);
        }
        if !self.is_symbol(Symbol::RightParen) && !self.is(K::Order) {
            let takes_lambda = TAKE_LAMBDAS.iter().any(|known| call.name.last().is(known));
            let mut place = call.args.len();
            let args = if call.name.last().is("json_object") {
                self.members()?
            } else {
                self.comma_list(|parser| {
                    place += 1;
                    parser.argument(takes_lambda && place > 1)
                })?
            };
            call.args.extend(args);
        }
        if self.is(K::Order) {
            call.order_by = self.order_by_list()?;
        }
        call.nulls = self.null_treatment();
        self.expect_close(open)?;
        if is_count_of_all(&call) {
            call.star = true;
            call.args.clear();
        }
        self.call_clauses(&mut call)?;
        Ok(call)
    }

    /// `'a': 1, KEY 'b' VALUE 2, 'c', 3`: keys and values in turn.
    fn members(&mut self) -> Result<Vec<Argument>> {
        let mut args = Vec::new();
        self.comma_list(|parser| {
            let is_word = parser.is(K::Key)
                && !matches!(
                    parser.kind_at(1),
                    TokenKind::Symbol(_) | TokenKind::Word(Some(K::Value)) | TokenKind::End
                );
            parser.at += usize::from(is_word);
            args.push(parser.argument(false)?);
            if parser.eat_symbol(Symbol::Colon) || parser.eat(K::Value) {
                args.push(parser.argument(false)?);
            }
            Ok(())
        })?;
        Ok(args)
    }

    /// True for `ALL (`, where ALL isn't the keyword before arguments.
    fn is_quantified_all(&self) -> bool {
        self.is(K::All) && self.symbol_at(1) == Some(Symbol::LeftParen)
    }

    fn null_treatment(&mut self) -> Option<NullTreatment> {
        if self.eat_all(&[K::Ignore, K::Nulls]) {
            Some(NullTreatment::Ignore)
        } else if self.eat_all(&[K::Respect, K::Nulls]) {
            Some(NullTreatment::Respect)
        } else {
            None
        }
    }

    /// Parses the clauses after the parentheses.
    fn call_clauses(&mut self, call: &mut Call) -> Result<()> {
        if self.are(&[K::Within, K::Group]) {
            self.at += 2;
            let open = self.peek().span;
            self.expect_symbol(Symbol::LeftParen)?;
            call.within_group = self.order_by_list()?;
            self.expect_close(open)?;
        }
        call.nulls = self.null_treatment().or(call.nulls);
        if self.is(K::Filter) && self.symbol_at(1) == Some(Symbol::LeftParen) {
            self.take();
            let open = self.peek().span;
            self.expect_symbol(Symbol::LeftParen)?;
            self.eat(K::Where);
            call.filter = Some(self.expr()?);
            self.expect_close(open)?;
        }
        call.nulls = self.null_treatment().or(call.nulls);
        if self.is(K::Over) {
            let place = self.take().span;
            call.over = Some(match self.symbol() {
                Some(Symbol::LeftParen) => Over::Spec(Box::new(self.window_spec()?)),
                _ if self.is_name_at(0) => Over::Name(self.name()?),
                _ => {
                    return Err(syntax_error("OVER takes the name of a window or a window in parentheses")
                        .with_hint("OVER () is the window of all rows")
                        .at_span(place));
                }
            });
        }
        Ok(())
    }

    /// `x`, `name := x`, `name => x`, `x -> …`.
    pub(super) fn argument(&mut self, takes_lambda: bool) -> Result<Argument> {
        let is_named = matches!(self.symbol_at(1), Some(Symbol::ColonEqual | Symbol::FatArrow));
        let name = if is_named {
            let name = self.label()?;
            self.take();
            Some(name)
        } else {
            None
        };
        let start = self.peek().span;
        let value = match self.lambda_parameters(takes_lambda)? {
            Some(parameters) => {
                let body = Box::new(self.nested(Self::expr)?);
                Expr { kind: ExprKind::Lambda { parameters, body, keyword: false }, span: self.since(start) }
            }
            None => self.expr()?,
        };
        Ok(Argument { name, value })
    }

    /// `(args)`, possibly empty.
    pub(super) fn arguments_in_parens(&mut self) -> Result<Vec<Argument>> {
        let open = self.peek().span;
        self.expect_symbol(Symbol::LeftParen)?;
        let args = match self.is_symbol(Symbol::RightParen) {
            true => Vec::new(),
            false => self.comma_list(|parser| parser.argument(false))?,
        };
        self.expect_close(open)?;
        Ok(args)
    }
}

/// True for `count(*)`.
fn is_count_of_all(call: &Call) -> bool {
    let [Argument { name: None, value: Expr { kind: ExprKind::Wildcard(star), .. } }] = &call.args[..] else {
        return false;
    };
    let is_plain =
        star.qualifier.is_none() && star.exclude.is_empty() && star.replace.is_empty() && star.rename.is_empty();
    is_plain && call.name.last().is("count")
}
