//! Calls and clauses that users of DuckDB and PostgreSQL write, in the words that the binder of the planner crates knows.
//!
//! ```text
//! year(d), hour(t), …             date_part('year', d)
//! if(c, a, b)                     CASE WHEN c THEN a ELSE b END
//! count_if(c)                     count(CASE WHEN c THEN 1 END)
//! approx_count_distinct(x)        count(DISTINCT x), which is near enough and counted out of core too
//! SELECT DISTINCT a … ORDER BY a  ORDER BY 1
//! ```

use std::ops::ControlFlow;

use datafusion_sql::sqlparser::ast::helpers::attached_token::AttachedToken;
use datafusion_sql::sqlparser::ast::{
    CaseWhen, DuplicateTreatment, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, ObjectName,
    OrderByKind, Query, SelectItem, SetExpr, Value, VisitMut, VisitorMut,
};

use crate::parse::ordinal;

/// Aggregate functions that exist only here.
pub(crate) const AGGREGATES: [&str; 2] = ["count_if", "countif"];

/// Fields of dates and times that are functions, and what `date_part` calls them.
const DATE_PARTS: [(&str, &str); 14] = [
    ("year", "year"),
    ("quarter", "quarter"),
    ("month", "month"),
    ("week", "week"),
    ("weekofyear", "week"),
    ("day", "day"),
    ("dayofmonth", "day"),
    ("dayofweek", "dow"),
    ("weekday", "dow"),
    ("dayofyear", "doy"),
    ("hour", "hour"),
    ("minute", "minute"),
    ("second", "second"),
    ("epoch", "epoch"),
];

/// Rewrites all of a query, subqueries too.
pub(crate) fn rewrite(query: &mut Query) {
    let _: ControlFlow<()> = query.visit(&mut Dialect);
}

struct Dialect;

impl VisitorMut for Dialect {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        order_distinct_by_position(query);
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::Function(function) = expr
            && let Some(known) = known_form(function)
        {
            *expr = known;
        }
        ControlFlow::Continue(())
    }
}

/// `ORDER BY` of a `SELECT DISTINCT` by the positions of the expressions that it repeats.
fn order_distinct_by_position(query: &mut Query) {
    let SetExpr::Select(select) = query.body.as_ref() else { return };
    let Some(OrderByKind::Expressions(keys)) = query.order_by.as_mut().map(|order| &mut order.kind) else { return };
    // A wildcard stands for an unknown number of columns.
    let selected: Option<Vec<&Expr>> = select
        .projection
        .iter()
        .map(|item| match item {
            SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => Some(expr),
            _ => None,
        })
        .collect();
    let (Some(_), Some(selected)) = (&select.distinct, selected) else { return };
    for key in keys {
        let is_name = matches!(key.expr, Expr::Identifier(_) | Expr::CompoundIdentifier(_) | Expr::Value(_));
        if !is_name && let Some(at) = selected.iter().position(|expr| **expr == key.expr) {
            key.expr = ordinal(at);
        }
    }
}

/// The call in words that the binder knows, if it doesn't know it as it is.
fn known_form(function: &mut Function) -> Option<Expr> {
    let name = function.name.to_string().to_lowercase();
    let FunctionArguments::List(list) = &mut function.args else { return None };
    if let ("approx_count_distinct" | "approx_distinct", [_]) = (name.as_str(), list.args.as_slice()) {
        list.duplicate_treatment = Some(DuplicateTreatment::Distinct);
        return Some(call("count", function));
    }
    let arguments: Option<Vec<&Expr>> = list
        .args
        .iter()
        .map(|argument| match argument {
            FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr),
            _ => None,
        })
        .collect();
    match (name.as_str(), arguments?.as_slice()) {
        ("if" | "iff", [condition, then, otherwise]) => {
            Some(case((*condition).clone(), (*then).clone(), Some((*otherwise).clone())))
        }
        ("count_if" | "countif", [condition]) => {
            let counted = case((*condition).clone(), ordinal(0), None);
            list.args = vec![FunctionArg::Unnamed(FunctionArgExpr::Expr(counted))];
            Some(call("count", function))
        }
        (name, [_]) => {
            let (_, part) = DATE_PARTS.iter().find(|(known, _)| *known == name)?;
            let part = Expr::value(Value::SingleQuotedString((*part).to_owned()));
            list.args.insert(0, FunctionArg::Unnamed(FunctionArgExpr::Expr(part)));
            Some(call("date_part", function))
        }
        _ => None,
    }
}

fn call(name: &str, function: &Function) -> Expr {
    Expr::Function(Function { name: ObjectName::from(vec![Ident::new(name)]), ..function.clone() })
}

fn case(condition: Expr, result: Expr, otherwise: Option<Expr>) -> Expr {
    Expr::Case {
        case_token: AttachedToken::empty(),
        end_token: AttachedToken::empty(),
        operand: None,
        conditions: vec![CaseWhen { condition, result }],
        else_result: otherwise.map(Box::new),
    }
}
