//! Windows and ORDER BY.

use godwit_common::Result;

use super::Parser;
use super::level::AND;
use crate::ast::{
    Direction, Frame, FrameBound, FrameExclusion, FrameUnits, Ident, NullsOrder, OrderByExpr, WindowSpec,
};
use crate::keyword::Keyword as K;
use crate::lex::Symbol;

impl Parser<'_> {
    /// `([base] [PARTITION BY …] [ORDER BY …] [frame])`.
    pub(super) fn window_spec(&mut self) -> Result<WindowSpec> {
        let open = self.peek().span;
        self.expect_symbol(Symbol::LeftParen)?;
        let base = self.window_base()?;
        let partition_by = if self.eat_all(&[K::Partition, K::By]) { self.comma_list(Self::expr)? } else { Vec::new() };
        let order_by = if self.is(K::Order) { self.order_by_list()? } else { Vec::new() };
        let frame = match self.eat_any(&[K::Rows, K::Range, K::Groups]) {
            Some(K::Rows) => Some(self.frame(FrameUnits::Rows)?),
            Some(K::Range) => Some(self.frame(FrameUnits::Range)?),
            Some(_) => Some(self.frame(FrameUnits::Groups)?),
            None => None,
        };
        self.expect_close(open)?;
        Ok(WindowSpec { base, partition_by, order_by, frame, span: self.since(open) })
    }

    fn window_base(&mut self) -> Result<Option<Ident>> {
        let is_clause = match self.keyword() {
            Some(K::Partition) => self.keyword_at(1) == Some(K::By),
            Some(K::Rows | K::Range | K::Groups) => self.symbol_at(1) != Some(Symbol::RightParen),
            _ => false,
        };
        if self.is_name_at(0) && !is_clause { self.name().map(Some) } else { Ok(None) }
    }

    /// Parses what follows ROWS, RANGE or GROUPS.
    fn frame(&mut self, units: FrameUnits) -> Result<Frame> {
        let start_span = self.tokens[self.at - 1].span;
        let (start, end) = if self.eat(K::Between) {
            let start = self.frame_bound()?;
            self.expect(K::And)?;
            (start, self.frame_bound()?)
        } else {
            (self.frame_bound()?, FrameBound::CurrentRow)
        };
        let exclude = if !self.eat(K::Exclude) || self.eat_all(&[K::No, K::Others]) {
            FrameExclusion::NoOthers
        } else if self.eat_all(&[K::Current, K::Row]) {
            FrameExclusion::CurrentRow
        } else if self.eat(K::Group) {
            FrameExclusion::Group
        } else if self.eat(K::Ties) {
            FrameExclusion::Ties
        } else {
            return Err(self.expected("CURRENT ROW, GROUP, TIES or NO OTHERS"));
        };
        Ok(Frame { units, start, end, exclude, span: self.since(start_span) })
    }

    fn frame_bound(&mut self) -> Result<FrameBound> {
        if self.eat_all(&[K::Unbounded, K::Preceding]) {
            return Ok(FrameBound::UnboundedPreceding);
        }
        if self.eat_all(&[K::Unbounded, K::Following]) {
            return Ok(FrameBound::UnboundedFollowing);
        }
        if self.eat_all(&[K::Current, K::Row]) {
            return Ok(FrameBound::CurrentRow);
        }
        let distance = Box::new(self.expr_above(AND)?);
        match self.eat_any(&[K::Preceding, K::Following]) {
            Some(K::Preceding) => Ok(FrameBound::Preceding(distance)),
            Some(_) => Ok(FrameBound::Following(distance)),
            None => Err(self.expected("PRECEDING or FOLLOWING")),
        }
    }

    /// `ORDER BY a, b`.
    pub(super) fn order_by_list(&mut self) -> Result<Vec<OrderByExpr>> {
        self.expect_all(&[K::Order, K::By])?;
        self.comma_list(Self::order_by_expr)
    }

    /// `expr [ASC | DESC] [NULLS FIRST | LAST]`.
    pub(super) fn order_by_expr(&mut self) -> Result<OrderByExpr> {
        let expr = self.expr()?;
        let (direction, nulls) = self.order_options()?;
        Ok(OrderByExpr { expr, direction, nulls })
    }

    /// `[ASC | DESC] [NULLS FIRST | LAST]`.
    pub(super) fn order_options(&mut self) -> Result<(Option<Direction>, Option<NullsOrder>)> {
        let direction = self.eat_any(&[K::Asc, K::Desc]);
        let direction = direction.map(|direction| if direction == K::Asc { Direction::Asc } else { Direction::Desc });
        if !self.eat(K::Nulls) {
            return Ok((direction, None));
        }
        match self.eat_any(&[K::First, K::Last]) {
            Some(K::First) => Ok((direction, Some(NullsOrder::First))),
            Some(_) => Ok((direction, Some(NullsOrder::Last))),
            None => Err(self.expected("FIRST or LAST")),
        }
    }
}
