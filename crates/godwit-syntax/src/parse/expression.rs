//! Operators, by the precedences of [`level`](super::level).

use godwit_common::{Result, Span};

use super::Parser;
use super::level::{
    AND, AT_ZONE, COLLATE, COMPARISON, IS, LOWEST, NOT, OR, OTHER, PATTERN, POSTFIX, POWER, PRODUCT, SIGN, SUM,
};
use super::primary::Parens;
use crate::ast::{
    Argument, BinaryOperator, Call, Expr, ExprKind, Ident, IsTest, LikeKind, ObjectName, Quantified, Quantifier,
    UnaryOperator,
};
use crate::keyword::Keyword as K;
use crate::lex::{Symbol, TokenKind};

/// Returns the binary operator for a symbol, and its precedence.
fn infix(symbol: Symbol) -> Option<(BinaryOperator, u8)> {
    Some(match symbol {
        Symbol::Equal | Symbol::DoubleEqual => (BinaryOperator::Equal, COMPARISON),
        Symbol::NotEqual | Symbol::NotEqualClassic => (BinaryOperator::NotEqual, COMPARISON),
        Symbol::Less => (BinaryOperator::Less, COMPARISON),
        Symbol::LessOrEqual => (BinaryOperator::LessOrEqual, COMPARISON),
        Symbol::Greater => (BinaryOperator::Greater, COMPARISON),
        Symbol::GreaterOrEqual => (BinaryOperator::GreaterOrEqual, COMPARISON),
        Symbol::Plus => (BinaryOperator::Plus, SUM),
        Symbol::Minus => (BinaryOperator::Minus, SUM),
        Symbol::Star => (BinaryOperator::Multiply, PRODUCT),
        Symbol::Slash => (BinaryOperator::Divide, PRODUCT),
        Symbol::DoubleSlash => (BinaryOperator::IntegerDivide, PRODUCT),
        Symbol::Percent => (BinaryOperator::Modulo, PRODUCT),
        Symbol::Caret | Symbol::DoubleStar => (BinaryOperator::Power, POWER),
        Symbol::Concat => (BinaryOperator::Concat, OTHER),
        Symbol::Ampersand => (BinaryOperator::BitwiseAnd, OTHER),
        Symbol::Pipe => (BinaryOperator::BitwiseOr, OTHER),
        Symbol::Hash => (BinaryOperator::BitwiseXor, OTHER),
        Symbol::ShiftLeft => (BinaryOperator::ShiftLeft, OTHER),
        Symbol::ShiftRight => (BinaryOperator::ShiftRight, OTHER),
        Symbol::Arrow => (BinaryOperator::Arrow, OTHER),
        Symbol::LongArrow => (BinaryOperator::LongArrow, OTHER),
        Symbol::HashArrow => (BinaryOperator::PathArrow, OTHER),
        Symbol::HashLongArrow => (BinaryOperator::LongPathArrow, OTHER),
        Symbol::HashMinus => (BinaryOperator::WithoutPath, OTHER),
        Symbol::Question => (BinaryOperator::HasKey, OTHER),
        Symbol::Tilde => (BinaryOperator::Matches, OTHER),
        Symbol::MatchesInsensitive => (BinaryOperator::MatchesInsensitive, OTHER),
        Symbol::NotMatches => (BinaryOperator::NotMatches, OTHER),
        Symbol::NotMatchesInsensitive => (BinaryOperator::NotMatchesInsensitive, OTHER),
        Symbol::Like => (BinaryOperator::Like, OTHER),
        Symbol::NotLike => (BinaryOperator::NotLike, OTHER),
        Symbol::ILike => (BinaryOperator::ILike, OTHER),
        Symbol::NotILike => (BinaryOperator::NotILike, OTHER),
        Symbol::Glob => (BinaryOperator::Glob, OTHER),
        Symbol::StartsWith => (BinaryOperator::StartsWith, OTHER),
        Symbol::Contains => (BinaryOperator::Contains, OTHER),
        Symbol::ContainedBy => (BinaryOperator::ContainedBy, OTHER),
        Symbol::DoubleAmpersand => (BinaryOperator::Overlaps, OTHER),
        Symbol::Distance => (BinaryOperator::Distance, OTHER),
        Symbol::CosineDistance => (BinaryOperator::CosineDistance, OTHER),
        _ => return None,
    })
}

/// Returns the prefix operator for a symbol, and the precedence of its operand.
fn prefix(symbol: Symbol) -> Option<(UnaryOperator, u8)> {
    Some(match symbol {
        Symbol::Minus => (UnaryOperator::Minus, SIGN),
        Symbol::Plus => (UnaryOperator::Plus, SIGN),
        Symbol::Tilde => (UnaryOperator::BitwiseNot, OTHER),
        Symbol::At => (UnaryOperator::Absolute, OTHER),
        Symbol::SquareRoot => (UnaryOperator::SquareRoot, OTHER),
        Symbol::CubeRoot => (UnaryOperator::CubeRoot, OTHER),
        _ => return None,
    })
}

/// An infix operator in the text.
struct InfixAhead {
    op: BinaryOperator,
    level: u8,
    /// How many symbols it consists of.
    symbols: usize,
}

/// The list that a chain of the same connective continues.
#[derive(PartialEq, Clone, Copy)]
enum Chain {
    None,
    And,
    Or,
}

impl Parser<'_> {
    /// Parses an expression.
    pub(crate) fn expr(&mut self) -> Result<Expr> {
        self.expr_above(LOWEST)
    }

    /// Parses an expression with operators that bind tighter than `level`.
    pub(super) fn expr_above(&mut self, level: u8) -> Result<Expr> {
        self.nested(|parser| {
            let start = parser.peek().span;
            let left = parser.prefix_expr()?;
            parser.operators(left, start, level)
        })
    }

    /// Parses a value with its prefix operators.
    fn prefix_expr(&mut self) -> Result<Expr> {
        let start = self.peek().span;
        let (op, level) = match self.kind_at(0) {
            TokenKind::Word(Some(K::Not)) => (UnaryOperator::Not, NOT),
            TokenKind::Symbol(symbol) => match prefix(symbol) {
                Some(found) => found,
                None => return self.primary(),
            },
            _ => return self.primary(),
        };
        self.take();
        let operand = Box::new(self.expr_above(level)?);
        Ok(Expr { kind: ExprKind::Unary { op, operand }, span: self.since(start) })
    }

    /// Parses what follows a value: operators that bind tighter than `level`. `start` is where the value begins,
    /// including parentheses.
    pub(super) fn operators(&mut self, mut left: Expr, start: Span, level: u8) -> Result<Expr> {
        let mut chain = Chain::None;
        loop {
            let before = self.at;
            left = match self.kind_at(0) {
                TokenKind::Symbol(_) => match self.infix_ahead() {
                    Some(found) if found.level > level => self.binary(left, start, found)?,
                    None if POSTFIX > level => self.postfix(left, start)?,
                    _ => left,
                },
                TokenKind::Word(Some(K::And)) if AND > level => {
                    let expr = self.connective(left, start, chain == Chain::And, AND)?;
                    chain = Chain::And;
                    left = expr;
                    continue;
                }
                TokenKind::Word(Some(K::Or)) if OR > level => {
                    let expr = self.connective(left, start, chain == Chain::Or, OR)?;
                    chain = Chain::Or;
                    left = expr;
                    continue;
                }
                TokenKind::Word(Some(keyword)) => self.word_operator(left, start, keyword, level)?,
                _ => left,
            };
            if self.at == before {
                return if self.is_symbol(Symbol::DoubleEqual) { Err(self.expected("an operator")) } else { Ok(left) };
            }
            chain = Chain::None;
        }
    }

    /// `left AND right`; appends to the list of `left` if it belongs to the same chain.
    fn connective(&mut self, left: Expr, start: Span, goes_on: bool, level: u8) -> Result<Expr> {
        self.take();
        let right = self.expr_above(level)?;
        let span = self.since(start);
        let items = match left.kind {
            ExprKind::And(mut items) | ExprKind::Or(mut items) if goes_on => {
                items.push(right);
                items
            }
            _ => {
                self.wrap()?;
                vec![left, right]
            }
        };
        Ok(Expr { kind: if level == AND { ExprKind::And(items) } else { ExprKind::Or(items) }, span })
    }

    /// Returns the infix operator that comes next. `?|` and `?&` are two symbols without a blank between them: where an
    /// operand stands, `?||` is a parameter before `||`.
    fn infix_ahead(&self) -> Option<InfixAhead> {
        let symbol = self.symbol()?;
        let (op, level) = infix(symbol)?;
        let is_next = |second| self.symbol_at(1) == Some(second) && self.peek_at(1).span.start == self.peek().span.end;
        Some(match symbol {
            Symbol::Question if is_next(Symbol::Pipe) => {
                InfixAhead { op: BinaryOperator::HasAnyKey, level, symbols: 2 }
            }
            Symbol::Question if is_next(Symbol::Ampersand) => {
                InfixAhead { op: BinaryOperator::HasAllKeys, level, symbols: 2 }
            }
            _ => InfixAhead { op, level, symbols: 1 },
        })
    }

    fn binary(&mut self, left: Expr, start: Span, found: InfixAhead) -> Result<Expr> {
        let op_start = self.peek().span;
        self.at += found.symbols;
        self.after_operator(left, start, found.op, self.since(op_start), found.level)
    }

    /// `left OPERATOR(pg_catalog.~) right`: an operator with its schema.
    fn qualified_operator(&mut self, left: Expr, start: Span) -> Result<Expr> {
        let op_start = self.take().span;
        self.expect_symbol(Symbol::LeftParen)?;
        while self.is_name_at(0) {
            let schema = self.name_of("a schema")?;
            if !schema.is("pg_catalog") && !schema.is("main") && !schema.is("system") {
                let error = super::syntax_error(format!("no operators in the schema {}", schema.text));
                return Err(error.with_hint("all operators are in pg_catalog").at_span(schema.span));
            }
            self.expect_symbol(Symbol::Dot)?;
        }
        let Some(found) = self.infix_ahead() else { return Err(self.expected("an operator")) };
        self.at += found.symbols;
        self.expect_symbol(Symbol::RightParen)?;
        self.after_operator(left, start, found.op, self.since(op_start), OTHER)
    }

    fn after_operator(
        &mut self,
        left: Expr,
        start: Span,
        op: BinaryOperator,
        op_span: Span,
        level: u8,
    ) -> Result<Expr> {
        if let Some(quantifier) = self.quantifier() {
            return self.quantified(left, start, op, op_span, quantifier);
        }
        let right = Box::new(self.expr_above(level)?);
        self.wrap()?;
        let kind = ExprKind::Binary { op, op_span, left: Box::new(left), right };
        Ok(Expr { kind, span: self.since(start) })
    }

    /// ANY, SOME or ALL before a parenthesis.
    fn quantifier(&self) -> Option<Quantifier> {
        let quantifier = match self.keyword()? {
            K::Any | K::Some => Quantifier::Any,
            K::All => Quantifier::All,
            _ => return None,
        };
        (self.symbol_at(1) == Some(Symbol::LeftParen)).then_some(quantifier)
    }

    fn quantified(
        &mut self,
        left: Expr,
        start: Span,
        op: BinaryOperator,
        op_span: Span,
        quantifier: Quantifier,
    ) -> Result<Expr> {
        self.take();
        let right = match self.query_or_exprs()? {
            Parens::Query(query) => Quantified::Query(query),
            Parens::Exprs(mut items) if items.len() == 1 => {
                Quantified::List(Box::new(items.pop().expect("there is one")))
            }
            Parens::Exprs(_) => {
                return Err(super::syntax_error("ANY and ALL take a query or one list")
                    .with_hint("write a list as [a, b]")
                    .at_span(op_span));
            }
        };
        self.wrap()?;
        let kind = ExprKind::Quantified { left: Box::new(left), op, op_span, quantifier, right };
        Ok(Expr { kind, span: self.since(start) })
    }

    /// Parses operators that are words. Returns `left` if none binds tighter than `level`.
    fn word_operator(&mut self, left: Expr, start: Span, keyword: K, level: u8) -> Result<Expr> {
        match keyword {
            K::Is if IS > level => self.is_test(left, start),
            K::Isnull | K::Notnull if IS > level => {
                self.take();
                self.wrap()?;
                let (test, negated) = (IsTest::Null, keyword == K::Notnull);
                Ok(Expr { kind: ExprKind::Is { operand: Box::new(left), test, negated }, span: self.since(start) })
            }
            K::Not if PATTERN > level && is_pattern(self.keyword_at(1)) => {
                self.take();
                self.pattern(left, start, true)
            }
            _ if PATTERN > level && is_pattern(Some(keyword)) => self.pattern(left, start, false),
            K::At if AT_ZONE > level && self.are(&[K::At, K::Time, K::Zone]) => {
                let name = self.peek().span;
                self.at += 3;
                let zone = self.expr_above(AT_ZONE)?;
                self.wrap()?;
                let args = [zone, left].map(|value| Argument { name: None, value });
                let call = Call::new(ObjectName::of(Ident::new("timezone", name)), args.into());
                Ok(Expr { kind: ExprKind::Call(Box::new(call)), span: self.since(start) })
            }
            K::Operator if OTHER > level && self.symbol_at(1) == Some(Symbol::LeftParen) => {
                self.qualified_operator(left, start)
            }
            K::Collate if COLLATE > level => {
                self.take();
                let collation = self.object_name()?;
                self.wrap()?;
                let kind = ExprKind::Collate { operand: Box::new(left), collation };
                Ok(Expr { kind, span: self.since(start) })
            }
            _ => Ok(left),
        }
    }

    /// `IS [NOT] NULL` and so on.
    fn is_test(&mut self, left: Expr, start: Span) -> Result<Expr> {
        self.take();
        let negated = self.eat(K::Not);
        let operand = Box::new(left);
        let test = match self.keyword() {
            Some(K::Null) => IsTest::Null,
            Some(K::True) => IsTest::True,
            Some(K::False) => IsTest::False,
            Some(K::Unknown) => IsTest::Unknown,
            Some(K::Distinct) => {
                self.take();
                self.expect(K::From)?;
                let right = Box::new(self.expr_above(IS)?);
                self.wrap()?;
                let kind = ExprKind::IsDistinctFrom { left: operand, right, negated };
                return Ok(Expr { kind, span: self.since(start) });
            }
            Some(K::Json) => self.json_test(),
            _ => return Err(self.expected("NULL, TRUE, FALSE, UNKNOWN, JSON or DISTINCT FROM")),
        };
        self.take();
        self.wrap()?;
        Ok(Expr { kind: ExprKind::Is { operand, test, negated }, span: self.since(start) })
    }

    /// `JSON [VALUE | OBJECT | ARRAY | SCALAR]`, up to its last word.
    fn json_test(&mut self) -> IsTest {
        let test = match self.keyword_at(1) {
            Some(K::Value) => IsTest::Json,
            Some(K::Object) => IsTest::JsonObject,
            Some(K::Array) => IsTest::JsonArray,
            Some(K::Scalar) => IsTest::JsonScalar,
            _ => return IsTest::Json,
        };
        self.take();
        test
    }

    /// BETWEEN, IN, LIKE and similar.
    fn pattern(&mut self, left: Expr, start: Span, negated: bool) -> Result<Expr> {
        let op_span = self.peek().span;
        let keyword = self.keyword();
        self.take();
        let kind = match keyword {
            Some(K::Between) => return self.between(left, start, negated),
            Some(K::In) => return self.in_values(left, start, negated),
            Some(K::Similar) => {
                self.expect(K::To)?;
                LikeKind::SimilarTo
            }
            Some(K::Ilike) => LikeKind::ILike,
            Some(K::Glob) => LikeKind::Glob,
            _ => LikeKind::Like,
        };
        if let Some(quantifier) = self.quantifier() {
            let op = match (kind, negated) {
                (LikeKind::Like, false) => BinaryOperator::Like,
                (LikeKind::Like, true) => BinaryOperator::NotLike,
                (LikeKind::ILike, false) => BinaryOperator::ILike,
                (LikeKind::ILike, true) => BinaryOperator::NotILike,
                _ => return Err(self.expected("a pattern")),
            };
            return self.quantified(left, start, op, op_span, quantifier);
        }
        let pattern = Box::new(self.expr_above(PATTERN)?);
        let escape = if self.eat(K::Escape) { Some(Box::new(self.expr_above(PATTERN)?)) } else { None };
        self.wrap()?;
        let kind = ExprKind::Like { kind, operand: Box::new(left), pattern, escape, negated };
        Ok(Expr { kind, span: self.since(start) })
    }

    fn between(&mut self, left: Expr, start: Span, negated: bool) -> Result<Expr> {
        let symmetric = self.eat(K::Symmetric);
        if !symmetric {
            self.eat(K::Asymmetric);
        }
        let low = Box::new(self.expr_above(PATTERN)?);
        self.expect(K::And)?;
        let high = Box::new(self.expr_above(PATTERN)?);
        self.wrap()?;
        let kind = ExprKind::Between { operand: Box::new(left), low, high, negated, symmetric };
        Ok(Expr { kind, span: self.since(start) })
    }

    fn in_values(&mut self, left: Expr, start: Span, negated: bool) -> Result<Expr> {
        let operand = Box::new(left);
        let kind = if !self.is_symbol(Symbol::LeftParen) {
            let list = Box::new(self.nested(|parser| {
                let start = parser.peek().span;
                let list = parser.primary()?;
                parser.operators(list, start, SIGN)
            })?);
            ExprKind::InExpr { operand, list, negated }
        } else {
            match self.query_or_exprs()? {
                Parens::Query(query) => ExprKind::InSubquery { operand, query, negated },
                Parens::Exprs(list) => ExprKind::InList { operand, list, negated },
            }
        };
        self.wrap()?;
        Ok(Expr { kind, span: self.since(start) })
    }
}

fn is_pattern(keyword: Option<K>) -> bool {
    matches!(keyword, Some(K::Between | K::In | K::Like | K::Ilike | K::Similar | K::Glob))
}
