//! Calls with special syntax, and intervals.

use godwit_common::{Result, Span};

use super::Parser;
use super::level::PATTERN;
use crate::ast::{Argument, Call, Expr, ExprKind, Ident, IntervalUnit, Literal, ObjectName};
use crate::keyword::Keyword as K;
use crate::lex::{Symbol, TokenKind};

/// Builds the function call that special syntax stands for; `place` is the span of the syntax's name.
fn call_of(name: &str, place: Span, args: Vec<Expr>) -> Call {
    let args = args.into_iter().map(|value| Argument { name: None, value }).collect();
    Call::new(ObjectName::of(Ident::new(name, place)), args)
}

impl Parser<'_> {
    /// Parses a call that begins with this word and has special syntax; `None` if it is an ordinary name.
    pub(super) fn special_call(&mut self, keyword: K, has_parens: bool) -> Result<Option<Call>> {
        let call = match keyword {
            K::CurrentDate
            | K::CurrentTime
            | K::CurrentTimestamp
            | K::Localtime
            | K::Localtimestamp
            | K::CurrentUser
            | K::CurrentRole
            | K::CurrentCatalog
            | K::CurrentSchema
            | K::SessionUser => self.call_without_parens(keyword)?,
            K::Extract if has_parens && self.is_extract() => self.extract()?,
            K::Substring if has_parens => self.substring()?,
            K::Position if has_parens => self.position_of()?,
            K::Overlay if has_parens => self.overlay()?,
            K::Trim if has_parens => self.trim()?,
            _ => return Ok(None),
        };
        Ok(Some(call))
    }

    /// `CURRENT_DATE`, `CURRENT_TIMESTAMP(3)`.
    fn call_without_parens(&mut self, keyword: K) -> Result<Call> {
        let place = self.take().span;
        let args = if self.is_symbol(Symbol::LeftParen) { self.exprs_in_parens()? } else { Vec::new() };
        Ok(call_of(&keyword.text().to_lowercase(), place, args))
    }

    /// True for `EXTRACT(part FROM`.
    fn is_extract(&self) -> bool {
        self.keyword_at(3) == Some(K::From)
    }

    /// `EXTRACT(part FROM x)`.
    fn extract(&mut self) -> Result<Call> {
        let place = self.take().span;
        let open = self.take().span;
        let part_span = self.peek().span;
        let part = self.label_or_text()?.text.to_lowercase();
        self.expect(K::From)?;
        let value = self.expr()?;
        self.expect_close(open)?;
        let part = Expr { kind: ExprKind::Literal(Literal::String(part.into())), span: part_span };
        Ok(call_of("date_part", place, vec![part, value]))
    }

    /// `SUBSTRING(x FROM start FOR length)`, with either part optional and in either order, or an ordinary call.
    fn substring(&mut self) -> Result<Call> {
        let place = self.take().span;
        let open = self.take().span;
        let mut args = self.comma_list(Self::expr)?;
        let (mut from, mut length) = (None, None);
        while args.len() == 1 && from.is_none() && self.eat(K::From) {
            from = Some(self.expr()?);
            if self.eat(K::For) {
                length = Some(self.expr()?);
            }
        }
        if args.len() == 1 && from.is_none() && self.eat(K::For) {
            length = Some(self.expr()?);
            if self.eat(K::From) {
                from = Some(self.expr()?);
            }
        }
        self.expect_close(open)?;
        if length.is_some() && from.is_none() {
            from = Some(Expr { kind: ExprKind::Literal(Literal::Number("1".into())), span: Span::NONE });
        }
        args.extend(from);
        args.extend(length);
        Ok(call_of("substring", place, args))
    }

    /// `POSITION(needle IN text)` is `strpos(text, needle)`.
    fn position_of(&mut self) -> Result<Call> {
        let place = self.take().span;
        let open = self.take().span;
        let needle = self.expr_above(PATTERN)?;
        if self.is_symbol(Symbol::Comma) {
            self.take();
            let text = self.expr()?;
            self.expect_close(open)?;
            return Ok(call_of("position", place, vec![needle, text]));
        }
        self.expect(K::In)?;
        let text = self.expr()?;
        self.expect_close(open)?;
        Ok(call_of("strpos", place, vec![text, needle]))
    }

    /// `OVERLAY(x PLACING y FROM start [FOR length])`.
    fn overlay(&mut self) -> Result<Call> {
        let place = self.take().span;
        let open = self.take().span;
        let mut args = self.comma_list(Self::expr)?;
        if args.len() == 1 && self.eat(K::Placing) {
            args.push(self.expr()?);
            self.expect(K::From)?;
            args.push(self.expr()?);
            if self.eat(K::For) {
                args.push(self.expr()?);
            }
        }
        self.expect_close(open)?;
        Ok(call_of("overlay", place, args))
    }

    /// `TRIM([BOTH | LEADING | TRAILING] [characters] [FROM] x)`.
    fn trim(&mut self) -> Result<Call> {
        let place = self.take().span;
        let open = self.take().span;
        let name = match self.eat_any(&[K::Both, K::Leading, K::Trailing]) {
            Some(K::Leading) => "ltrim",
            Some(K::Trailing) => "rtrim",
            _ => "trim",
        };
        let args = if self.eat(K::From) {
            self.comma_list(Self::expr)?
        } else {
            let mut args = self.comma_list(Self::expr)?;
            if args.len() == 1 && self.eat(K::From) {
                args.insert(0, self.expr()?);
            }
            args
        };
        self.expect_close(open)?;
        Ok(call_of(name, place, args))
    }

    /// True if INTERVAL begins an interval rather than naming a column or a type.
    pub(super) fn is_interval(&self) -> bool {
        let unit_at = |ahead: usize| match self.kind_at(ahead) {
            TokenKind::Word(_) => IntervalUnit::of(self.written(self.peek_at(ahead).span)).is_some(),
            _ => false,
        };
        match self.kind_at(1) {
            TokenKind::Number | TokenKind::BadNumber => true,
            TokenKind::Symbol(Symbol::LeftParen | Symbol::Question) => true,
            TokenKind::Symbol(Symbol::Minus | Symbol::Plus) => self.kind_at(2) == TokenKind::Number && unit_at(3),
            TokenKind::Word(_) => self.is_name_at(1) && unit_at(2),
            TokenKind::Parameter | TokenKind::QuotedName => unit_at(2),
            kind => kind.is_string(),
        }
    }

    /// `INTERVAL '1 day'`, `INTERVAL '1' DAY`, `INTERVAL 1 DAY`, `INTERVAL (x) DAY`.
    pub(super) fn interval(&mut self) -> Result<ExprKind> {
        self.expect(K::Interval)?;
        let is_text = self.peek().kind.is_string();
        let value = if self.is_symbol(Symbol::LeftParen) {
            let open = self.take().span;
            let value = self.expr()?;
            self.expect_close(open)?;
            value
        } else if self.is_symbol(Symbol::Minus) || self.is_symbol(Symbol::Plus) {
            self.expr_above(super::level::COLLATE)?
        } else {
            self.nested(Self::primary)?
        };
        let unit = self.interval_unit();
        if unit.is_none() && !is_text {
            return Err(self.expected("a unit, such as DAY"));
        }
        Ok(ExprKind::Interval { value: Box::new(value), unit })
    }

    /// `DAY`, `DAYS`, `DAY TO SECOND`.
    fn interval_unit(&mut self) -> Option<IntervalUnit> {
        let unit_at = |ahead: usize| match self.kind_at(ahead) {
            TokenKind::Word(_) => IntervalUnit::of(self.written(self.peek_at(ahead).span)),
            _ => None,
        };
        let unit = unit_at(0)?;
        let range = (self.keyword_at(1) == Some(K::To)).then(|| unit.to(unit_at(2)?)).flatten();
        self.at += if range.is_some() { 3 } else { 1 };
        Some(range.unwrap_or(unit))
    }
}

impl IntervalUnit {
    const WORDS: [(&'static str, IntervalUnit); 28] = [
        ("millennium", Self::Millennium),
        ("millenniums", Self::Millennium),
        ("millennia", Self::Millennium),
        ("century", Self::Century),
        ("centuries", Self::Century),
        ("decade", Self::Decade),
        ("decades", Self::Decade),
        ("year", Self::Year),
        ("years", Self::Year),
        ("quarter", Self::Quarter),
        ("quarters", Self::Quarter),
        ("month", Self::Month),
        ("months", Self::Month),
        ("week", Self::Week),
        ("weeks", Self::Week),
        ("day", Self::Day),
        ("days", Self::Day),
        ("hour", Self::Hour),
        ("hours", Self::Hour),
        ("minute", Self::Minute),
        ("minutes", Self::Minute),
        ("second", Self::Second),
        ("seconds", Self::Second),
        ("millisecond", Self::Millisecond),
        ("milliseconds", Self::Millisecond),
        ("microsecond", Self::Microsecond),
        ("microseconds", Self::Microsecond),
        ("millenium", Self::Millennium),
    ];

    /// Returns the unit with this name, in any case, singular or plural.
    pub fn of(name: &str) -> Option<Self> {
        Self::WORDS.iter().find(|(word, _)| word.eq_ignore_ascii_case(name)).map(|&(_, unit)| unit)
    }

    /// Returns `self TO last`, if there is such a unit.
    fn to(self, last: Self) -> Option<Self> {
        Some(match (self, last) {
            (Self::Year, Self::Month) => Self::YearToMonth,
            (Self::Day, Self::Hour) => Self::DayToHour,
            (Self::Day, Self::Minute) => Self::DayToMinute,
            (Self::Day, Self::Second) => Self::DayToSecond,
            (Self::Hour, Self::Minute) => Self::HourToMinute,
            (Self::Hour, Self::Second) => Self::HourToSecond,
            (Self::Minute, Self::Second) => Self::MinuteToSecond,
            _ => return None,
        })
    }
}
