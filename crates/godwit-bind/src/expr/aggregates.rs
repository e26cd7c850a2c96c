//! Aggregate calls. They are collected for the node that computes them; the expression refers to its column.
//!
//! The arguments refer to the rows before grouping, so they may contain neither aggregates nor window functions. An
//! aggregate belongs to the innermost query of which it uses a column, possibly one around the query that contains it;
//! without columns, it belongs to the query that contains it. Source: PostgreSQL's documentation, "Aggregate
//! Expressions".

use godwit_common::{Error, Result, Span, SqlState};
use godwit_plan::{AggregateCall, AggregateMatch, ArgumentType, ColumnId, ColumnSet, Expr, ExprKind, SortKey};
use godwit_syntax::ast::{self, NullTreatment};
use godwit_types::SqlType;

use super::MacroClauses;
use crate::Binder;
use crate::binder::{Clause, Collected, ExprContext};

/// The parts of an aggregate call, from inside its parentheses and after them.
pub(super) struct AggregateParts {
    pub found: AggregateMatch,
    pub args: Vec<Expr>,
    pub filter: Option<Expr>,
    pub order_by: Vec<SortKey>,
    pub distinct: bool,
    pub ignore_nulls: bool,
}

impl AggregateParts {
    /// A call without clauses.
    fn plain(found: AggregateMatch, args: Vec<Expr>) -> Self {
        Self { found, args, filter: None, order_by: Vec::new(), distinct: false, ignore_nulls: false }
    }
}

impl Binder {
    pub(super) fn aggregate(
        &mut self,
        name: &str,
        call: &ast::Call,
        span: Span,
        cx: &mut ExprContext<'_>,
    ) -> Result<Expr> {
        let of_macro = cx.scope.of_query().macro_clauses;
        if let Some(clauses) = of_macro
            && let Some(window) = &clauses.over
        {
            return self.aggregate_over(name, call, clauses, window.clone(), span, cx);
        }
        let mut inside = Collected::default();
        let (scope, clause) = (cx.scope, Clause::AggregateArgument);
        let mut arguments = ExprContext { scope, clause, collected: &mut inside, windows: &[] };
        let parts = self.aggregate_parts(name, call, of_macro, &mut arguments)?;
        assert!(inside.aggregates.is_empty() && inside.windows.is_empty(), "the clause allows none");
        let of_list = parts.found.of_list;
        let bound = aggregate_call(parts, span);
        let bound = self.collect_aggregate(name, bound, cx).map_err(|error| error.at_span(call.name.span))?;
        if let Some(clauses) = of_macro {
            clauses.note(&bound);
        }
        self.computed_of(bound, of_list, span)
    }

    /// Returns the result that a function computes from the list of an aggregate, or else its own.
    pub(super) fn computed_of(&mut self, value: Expr, of_list: Option<&str>, span: Span) -> Result<Expr> {
        match of_list {
            Some(function) => self.call_scalar(function, vec![value], span),
            None => Ok(value),
        }
    }

    /// Binds an aggregate of values that are already bound.
    pub(crate) fn call_aggregate(
        &mut self,
        name: &str,
        args: Vec<Expr>,
        span: Span,
        cx: &mut ExprContext<'_>,
    ) -> Result<Expr> {
        let found = self.find_aggregate(name, &args, &[], span)?;
        let (args, of_list) = (self.cast_arguments(args, &found.argument_types)?, found.of_list);
        let value = self.collect_aggregate(name, aggregate_call(AggregateParts::plain(found, args), span), cx)?;
        self.computed_of(value, of_list, span)
    }

    /// Adds the aggregate that takes one of the values of each group; returns its column.
    pub(crate) fn add_any_value(
        &mut self,
        value: Expr,
        aggregates: &mut Vec<(ColumnId, AggregateCall)>,
    ) -> Result<ColumnId> {
        let (span, args) = (value.span, vec![value]);
        let found = self.find_aggregate("any_value", &args, &[], span)?;
        let call = aggregate_call(AggregateParts::plain(found, args), span);
        let column = self.plan.add_column("any_value", call.ty.clone(), call.nullable);
        self.inherit_collation(column, &call.args[0]);
        aggregates.push((column, call));
        Ok(column)
    }

    /// Returns the column of an aggregate: a new one, or that of an equal call.
    fn collect_aggregate(&mut self, name: &str, mut call: AggregateCall, cx: &mut ExprContext<'_>) -> Result<Expr> {
        let level = self.level_of(name, &call, cx)?;
        let (ty, nullable) = (call.ty.clone(), call.nullable);
        let column = |column| Ok(Expr::new(ExprKind::Column(column), ty.clone(), nullable));
        let collected = match level {
            Some(level) => &mut self.enclosing[level].aggregates,
            None => &mut cx.collected.aggregates,
        };
        if !call.exprs().any(Expr::is_volatile) {
            // Equal calls differ only in their spans.
            let span = call.span;
            for (known, other) in collected.iter() {
                call.span = other.span;
                if *other == call {
                    return column(*known);
                }
            }
            call.span = span;
        }
        let made = self.plan.add_column(name, ty.clone(), nullable);
        let text = call.args.first().filter(|_| ty == SqlType::Varchar).cloned();
        collected.push((made, call));
        if let Some(text) = text {
            self.inherit_collation(made, &text);
        }
        column(made)
    }

    fn find_aggregate(&self, name: &str, args: &[Expr], order_by: &[SortKey], span: Span) -> Result<AggregateMatch> {
        let keys = order_by.iter().map(|key| ArgumentType {
            ty: &key.expr.ty,
            value: key.expr.as_literal(),
            nullable: key.expr.nullable,
            lambda_parameters: None,
        });
        let keys: Vec<_> = keys.collect();
        let functions = self.environment.functions();
        let found = self.with_argument_types(args, |types| functions.aggregate(name, types, &keys));
        found.map_err(|error| self.no_function(name, args, &error, span))
    }

    /// Binds arguments, filter and order, and chooses the function. Clauses of a macro's call add to the call's own.
    pub(super) fn aggregate_parts(
        &mut self,
        name: &str,
        call: &ast::Call,
        of_macro: Option<&MacroClauses>,
        cx: &mut ExprContext<'_>,
    ) -> Result<AggregateParts> {
        let wrong = |message: String| Error::user(message).with_code(SqlState::SYNTAX_ERROR).at_span(call.name.span);
        let distinct = call.distinct || of_macro.is_some_and(|clauses| clauses.distinct);
        if distinct && call.args.is_empty() {
            return Err(wrong(format!("{name} with DISTINCT needs an argument")));
        }
        if !call.order_by.is_empty() && !call.within_group.is_empty() {
            return Err(wrong(format!("{name} has two orders: ORDER BY and WITHIN GROUP")));
        }
        let args = match &call.args[..] {
            [ast::Argument { value, .. }] if name == "count" && !distinct && is_rows_of_table(value) => {
                vec![self.presence(value, cx)?]
            }
            _ => self.call_arguments(call, name, cx)?,
        };
        let (name, args) = self.collated_aggregate(name, args, distinct)?;
        let mut order_by = self.sort_keys(&call.order_by, cx)?;
        order_by.extend(self.sort_keys(&call.within_group, cx)?);
        let mut filter = match &call.filter {
            Some(filter) => Some(self.truth(filter, cx, "the condition of FILTER")?),
            None => None,
        };
        let mut ignore_nulls = call.nulls == Some(NullTreatment::Ignore);
        if let Some(clauses) = of_macro {
            clauses.add_to(&mut filter, &mut order_by, &mut ignore_nulls);
        }
        let found = self.find_aggregate(name, &args, &order_by, call.name.span)?;
        let args = self.cast_arguments(args, &found.argument_types)?;
        if !found.function.depends_on_order && call.within_group.is_empty() {
            order_by.clear();
        }
        let distinct = distinct && !found.function.ignores_duplicates;
        if distinct && !order_by.iter().all(|key| args.contains(&key.expr)) {
            let error = wrong("with DISTINCT, ORDER BY can use only the arguments".to_owned());
            return Err(error.with_code(SqlState::INVALID_COLUMN_REFERENCE));
        }
        Ok(AggregateParts { found, args, filter, order_by, distinct, ignore_nulls })
    }

    /// The `t.*` of `count(t.*)`: NULL in rows that an outer join filled up, where all columns are NULL.
    fn presence(&mut self, star: &ast::Expr, cx: &mut ExprContext<'_>) -> Result<Expr> {
        let ast::ExprKind::Wildcard(wildcard) = &star.kind else {
            unreachable!("count was asked for the rows of a table")
        };
        let columns = self.wildcard_columns(wildcard.qualifier.as_ref(), star.span, cx.scope)?;
        let is_filled = columns.iter().any(|column| cx.scope.filled.contains(column.column));
        if !is_filled {
            return Ok(Expr::boolean(true));
        }
        let known = Expr::or(columns.iter().map(|column| self.column(column.column, cx.scope).is_null().negated()));
        let branches = vec![(known, Expr::boolean(true))];
        Ok(Expr::new(ExprKind::Case { branches, otherwise: None }, SqlType::Boolean, true).at(star.span))
    }

    /// Returns the query that an aggregate belongs to: one of [`Binder::enclosing`], or the one that contains it.
    fn level_of(&self, name: &str, call: &AggregateCall, cx: &ExprContext<'_>) -> Result<Option<usize>> {
        let exprs: Vec<&Expr> = call.exprs().collect();
        let used = self.used_columns(&exprs);
        if cx.collected.windows.iter().any(|&(column, _)| used.contains(column)) {
            let error = Error::user("a window function can't stand in the arguments of an aggregate");
            return Err(error.with_code(SqlState::WINDOWING_ERROR));
        }
        self.check_no_lambda_parameter(&exprs, name, cx)?;
        let own = cx.scope.of_query();
        let is_outer = !used.is_empty() && used.is_disjoint(&own.own_columns());
        let level = self.enclosing.iter().rposition(|query| is_outer && !used.is_disjoint(&query.columns));
        let (clause, aggregates) = match level {
            Some(level) => (self.enclosing[level].clause, &self.enclosing[level].aggregates),
            // Tables to the left of LATERAL aren't grouped before it.
            None if is_outer && own.around().any(|scope| !used.is_disjoint(&scope.own_columns())) => {
                return Err(misplaced_aggregate(name, Clause::From));
            }
            None => (cx.clause, &cx.collected.aggregates),
        };
        if aggregates.iter().any(|&(column, _)| used.contains(column)) {
            return Err(misplaced_aggregate(name, Clause::AggregateArgument));
        }
        if !clause.allows_aggregates() {
            return Err(misplaced_aggregate(name, clause));
        }
        if let Some(level) = level {
            // The remaining columns belong to a query in between, such as the tables to the left of LATERAL.
            let mut inside = used;
            self.enclosing[..=level].iter().for_each(|query| inside.subtract(&query.columns));
            if !inside.is_empty() {
                return Err(Error::unsupported(format!("{name} of columns of several outer queries")));
            }
        }
        Ok(level)
    }

    /// Rejects columns that exist only while a list's elements are visited.
    pub(super) fn check_no_lambda_parameter(&self, exprs: &[&Expr], name: &str, cx: &ExprContext<'_>) -> Result<()> {
        let used = self.used_columns(exprs);
        let mut scope = Some(cx.scope);
        while let Some(lambda) = scope.filter(|scope| !scope.lambda_parameters.is_empty()) {
            if let Some((parameter, _)) = lambda.lambda_parameters.iter().find(|(_, column)| used.contains(*column)) {
                return Err(Error::unsupported(format!("{name} of {parameter}, a parameter of a lambda")));
            }
            scope = lambda.outer;
        }
        Ok(())
    }

    /// Returns the columns that expressions use, including those in plans of subqueries.
    pub(crate) fn used_columns(&self, exprs: &[&Expr]) -> ColumnSet {
        let mut used = ColumnSet::new();
        for expr in exprs {
            used.union_with(&expr.columns());
            expr.for_each(&mut |part| {
                if let ExprKind::Subquery(subquery) = &part.kind {
                    used.union_with(&self.plan.free_columns(subquery.plan));
                }
            });
        }
        used
    }
}

/// Whether the expression is `t.*`.
fn is_rows_of_table(expr: &ast::Expr) -> bool {
    match &expr.kind {
        ast::ExprKind::Wildcard(wildcard) => {
            let changes = [wildcard.exclude.len(), wildcard.replace.len(), wildcard.rename.len()];
            wildcard.qualifier.is_some() && changes == [0; 3]
        }
        _ => false,
    }
}

/// Makes the call from its parts. Over no rows, most aggregates are NULL.
fn aggregate_call(parts: AggregateParts, span: Span) -> AggregateCall {
    AggregateCall {
        nullable: parts.found.nullable || parts.found.function.of_empty.is_null(),
        function: parts.found.function,
        args: parts.args,
        distinct: parts.distinct,
        filter: parts.filter,
        order_by: parts.order_by,
        ignore_nulls: parts.ignore_nulls,
        ty: parts.found.ty,
        span,
    }
}

fn misplaced_aggregate(name: &str, clause: Clause) -> Error {
    let error = Error::user(format!("the aggregate {name} can't stand in {}", clause.name()));
    let error = error.with_code(SqlState::GROUPING_ERROR);
    match clause {
        Clause::Where => error.with_hint("conditions on groups stand in HAVING"),
        Clause::AggregateArgument => error.with_hint("compute the inner aggregate in a subquery in FROM"),
        _ => error,
    }
}
