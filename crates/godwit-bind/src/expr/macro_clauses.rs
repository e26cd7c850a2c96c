//! FILTER, DISTINCT, ORDER BY, IGNORE NULLS and OVER of a macro's call: they hold for the aggregates of its body.
//!
//! They are bound in the context of the call, and reach the aggregates by the scope of the body; through it also those
//! of a macro that the body calls. Window functions and subqueries of the body are as they are written.

use std::cell::RefCell;

use godwit_common::{Error, Result, SqlState};
use godwit_plan::{ColumnSet, Expr, SortKey};
use godwit_syntax::ast::{self, NullTreatment};

use super::calls::{clause_of, no_clause, refuse_clauses};
use super::windows::{BoundWindow, inside, misplaced};
use crate::Binder;
use crate::binder::{Clause, Collected, ExprContext};

/// The clauses of a macro's call, and of those whose bodies contain it.
pub(crate) struct MacroClauses {
    pub(super) distinct: bool,
    pub(super) over: Option<BoundWindow>,
    filter: Option<Expr>,
    order_by: Vec<SortKey>,
    ignore_nulls: bool,
    /// The columns of the aggregates that they hold for.
    aggregates: RefCell<ColumnSet>,
}

impl Binder {
    /// Binds the clauses of a macro's call, and adds those of the call around it; `None` if there are none.
    pub(super) fn macro_clauses(
        &mut self,
        call: &ast::Call,
        name: &str,
        cx: &mut ExprContext<'_>,
    ) -> Result<Option<MacroClauses>> {
        if call.star || !call.within_group.is_empty() {
            let clause = if call.star { "*" } else { "WITHIN GROUP" };
            return Err(no_clause(name, clause).at_span(call.name.span));
        }
        // With OVER, it stands for window functions, which belong to no clause around it.
        let around = cx.scope.of_query().macro_clauses.filter(|_| call.over.is_none());
        if clause_of(call).is_none() && around.is_none() {
            return Ok(None);
        }
        let over = match &call.over {
            Some(_) if !cx.clause.allows_windows() => {
                return Err(misplaced(name, cx.clause).at_span(call.name.span));
            }
            Some(over) => Some(self.bound_over(over, &mut inside(cx))?),
            None => around.and_then(|around| around.over.clone()),
        };
        let mut own = Collected::default();
        let mut context = match over {
            Some(_) => inside(cx),
            None => {
                ExprContext { scope: cx.scope, clause: Clause::AggregateArgument, collected: &mut own, windows: &[] }
            }
        };
        let mut order_by = self.sort_keys(&call.order_by, &mut context)?;
        let mut filter = match &call.filter {
            Some(filter) => Some(self.truth(filter, &mut context, "the condition of FILTER")?),
            None => None,
        };
        let mut ignore_nulls = call.nulls == Some(NullTreatment::Ignore);
        if let Some(around) = around {
            around.add_to(&mut filter, &mut order_by, &mut ignore_nulls);
        }
        let distinct = call.distinct || around.is_some_and(|around| around.distinct);
        let aggregates = RefCell::default();
        Ok(Some(MacroClauses { distinct, over, filter, order_by, ignore_nulls, aggregates }))
    }
}

impl MacroClauses {
    /// Adds the clauses to those of an aggregate. An order of its own holds.
    pub(super) fn add_to(&self, filter: &mut Option<Expr>, order_by: &mut Vec<SortKey>, ignore_nulls: &mut bool) {
        if let Some(condition) = &self.filter {
            *filter = Some(Expr::and(filter.take().into_iter().chain([condition.clone()])));
        }
        if order_by.is_empty() {
            order_by.clone_from(&self.order_by);
        }
        *ignore_nulls |= self.ignore_nulls;
    }

    /// Notes an aggregate that has the clauses.
    pub(super) fn note(&self, aggregate: &Expr) {
        self.aggregates.borrow_mut().union_with(&aggregate.columns());
    }

    /// Fails if the call has clauses, and its body no aggregate that they can belong to.
    pub(super) fn check_used(&self, call: &ast::Call, name: &str, cx: &ExprContext<'_>) -> Result<()> {
        let aggregates = self.aggregates.borrow();
        if let Some(around) = cx.scope.of_query().macro_clauses {
            around.aggregates.borrow_mut().union_with(&aggregates);
        }
        match aggregates.len() {
            0 => refuse_clauses(call, name),
            several @ 2.. if call.distinct => {
                let error = Error::user(format!("DISTINCT in a call of {name}, a macro of {several} aggregates"));
                let error = error.with_code(SqlState::SYNTAX_ERROR).at_span(call.name.span);
                Err(error.with_hint("remove duplicates in a subquery: FROM (SELECT DISTINCT …)"))
            }
            _ => Ok(()),
        }
    }
}
