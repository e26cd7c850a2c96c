//! Calls and clauses that users of DuckDB and PostgreSQL write, in the words that the binder of the planner crates knows.
//!
//! ```text
//! year(d), hour(t), …             date_part('year', d)
//! if(c, a, b)                     CASE WHEN c THEN a ELSE b END
//! count_if(c)                     count(CASE WHEN c THEN 1 END)
//! max(x, n), arg_min(x, y, n)     max_n(x, n), arg_min_n(x, y, n): other functions than those without the number
//! approx_count_distinct(x)        count(DISTINCT x), which is near enough and counted out of core too
//! SELECT DISTINCT a … ORDER BY a  ORDER BY 1
//! SEMI JOIN, ANTI JOIN            LEFT SEMI JOIN, LEFT ANTI JOIN
//! 1e3                             CAST('1e3' AS DOUBLE); other fractions are decimals
//! (a, b) = (c, d)                 a = c AND b = d; IN with a list of rows alike
//! (a, b) IN (SELECT c, d …)       struct(a, b) IN (SELECT struct(c0, c1) FROM (SELECT c, d …) AS rows(c0, c1))
//! list[1].field, list[2:], [:2]   list[1].'field', list[2:-1], list[1:2]
//! a ^ b, mod(a, b), xor(a, b), ~a power(a, b), a % b, a # b, -1 - a
//! read_csv('x', header = true)    read_csv('x', 'header=true')
//! ```

use std::ops::ControlFlow;

use datafusion_sql::sqlparser::ast::helpers::attached_token::AttachedToken;
use datafusion_sql::sqlparser::ast::{
    AccessExpr, BinaryOperator, CaseWhen, CastKind, DataType, DuplicateTreatment, ExactNumberInfo, Expr, Function,
    FunctionArg, FunctionArgExpr, FunctionArgumentList, FunctionArguments, Ident, JoinOperator, ObjectName,
    OrderByKind, Query, Select, SelectItem, SetExpr, Subscript, TableAlias, TableAliasColumnDef, TableFactor,
    UnaryOperator, Value, VisitMut, VisitorMut,
};
use datafusion_sql::sqlparser::parser::Parser;

use crate::Place;
use crate::binder;
use crate::grammar::Grammar;
use crate::macros;
use crate::parse::ordinal;

/// Aggregate functions that exist only here.
pub(crate) const AGGREGATES: [&str; 6] = ["count_if", "countif", "geomean", "geometric_mean", "weighted_avg", "wavg"];

/// Fields of dates and times that are functions, and what `date_part` calls them.
const DATE_PARTS: [(&str, &str); 16] = [
    ("year", "year"),
    ("quarter", "quarter"),
    ("month", "month"),
    ("week", "week"),
    ("weekofyear", "week"),
    ("day", "day"),
    ("dayofmonth", "day"),
    ("dayofweek", "dow"),
    ("isodow", "isodow"),
    ("isoyear", "isoyear"),
    ("weekday", "dow"),
    ("dayofyear", "doy"),
    ("hour", "hour"),
    ("minute", "minute"),
    ("second", "second"),
    ("epoch", "epoch"),
];

/// Rewrites all of a query, subqueries too. `current` is what `current_schema()` and `current_database()` tell.
pub(crate) fn rewrite(query: &mut Query, current: &Place) {
    let _: ControlFlow<()> = query.visit(&mut Dialect { current });
}

struct Dialect<'a> {
    current: &'a Place,
}

impl VisitorMut for Dialect<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        order_distinct_by_position(query);
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        for join in select.from.iter_mut().flat_map(|from| &mut from.joins) {
            join.join_operator = match std::mem::replace(&mut join.join_operator, JoinOperator::OuterApply) {
                JoinOperator::Semi(constraint) => JoinOperator::LeftSemi(constraint),
                JoinOperator::Anti(constraint) => JoinOperator::LeftAnti(constraint),
                other => other,
            };
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        if let TableFactor::Table { name, args: Some(arguments), .. } = factor
            && binder::takes_options(&name.to_string())
        {
            arguments.args.iter_mut().for_each(option_as_text);
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if matches!(expr, Expr::BinaryOp { op: BinaryOperator::BitwiseXor, .. }) {
            bind_power_tighter(expr);
        }
        if let Expr::CompoundFieldAccess { root, access_chain } = expr {
            name_fields(root, access_chain);
        }
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        rewrite_operator(expr);
        if let Expr::Function(function) = expr
            && let Some(known) = known_form(function).or_else(|| place_of(function, self.current))
        {
            *expr = known;
        }
        ControlFlow::Continue(())
    }
}

/// Gives fields of values their names as text, and slices both bounds. The words after a first word are left to the binder,
/// which knows what is a table, a column or a field.
fn name_fields(root: &Expr, accesses: &mut [AccessExpr]) {
    let is_word = |access: &&AccessExpr| matches!(access, AccessExpr::Dot(Expr::Identifier(_)));
    let words = if matches!(root, Expr::Identifier(_)) { accesses.iter().take_while(is_word).count() } else { 0 };
    for access in &mut accesses[words..] {
        match access {
            AccessExpr::Dot(field) => {
                if let Expr::Identifier(Ident { value, quote_style, .. }) = field {
                    let name = if quote_style.is_some() { value.clone() } else { value.to_lowercase() };
                    *field = Expr::value(Value::SingleQuotedString(name));
                }
            }
            AccessExpr::Subscript(Subscript::Slice { lower_bound, upper_bound, .. }) => {
                lower_bound.get_or_insert_with(|| Expr::value(Value::Number("1".into(), false)));
                upper_bound.get_or_insert_with(|| Expr::value(Value::Number("-1".into(), false)));
            }
            AccessExpr::Subscript(Subscript::Index { .. }) => {}
        }
    }
}

/// What a function tells about the current schema.
fn place_of(function: &Function, current: &Place) -> Option<Expr> {
    let FunctionArguments::List(FunctionArgumentList { args, .. }) = &function.args else { return None };
    let text = match function.name.to_string().to_lowercase().as_str() {
        "current_schema" => current.schema.clone(),
        "current_database" | "current_catalog" => current.database.to_string(),
        _ => return None,
    };
    args.is_empty().then(|| Expr::value(Value::SingleQuotedString(text)))
}

/// Turns `name = value` into the text `'name=value'`, if the value is a constant.
fn option_as_text(argument: &mut FunctionArg) {
    let FunctionArg::Named { name, arg: FunctionArgExpr::Expr(value), .. } = argument else { return };
    let text = match value {
        Expr::Value(value) => match &value.value {
            Value::SingleQuotedString(text) => text.clone(),
            Value::Number(number, _) => number.clone(),
            Value::Boolean(flag) => flag.to_string(),
            _ => return,
        },
        Expr::Identifier(word) => word.value.clone(),
        _ => return,
    };
    let text = Value::SingleQuotedString(format!("{}={text}", name.value));
    *argument = FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Value(text.into())));
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

/// Turns `(a * b) ^ (c + d)`, as the parser crate reads `a * b ^ c + d`, into `a * (b ^ c) + d`.
fn bind_power_tighter(expr: &mut Expr) {
    let is_looser = |expr: &Expr| {
        use BinaryOperator::{Divide, DuckIntegerDivide, Minus, Modulo, Multiply, Plus};
        matches!(expr, Expr::BinaryOp { op: Plus | Minus | Multiply | Divide | Modulo | DuckIntegerDivide, .. })
    };
    let Expr::BinaryOp { left: base, op: BinaryOperator::BitwiseXor, right: exponent } = expr else { return };
    let nothing = || Box::new(Expr::value(Value::Null));
    if is_looser(base) {
        let mut outer = std::mem::replace(base, nothing());
        if let Expr::BinaryOp { right, .. } = &mut *outer {
            std::mem::swap(right, base);
            let mut power = std::mem::replace(expr, Expr::value(Value::Null));
            if let Expr::BinaryOp { right, .. } = &mut *outer {
                bind_power_tighter(&mut power);
                **right = power;
            }
        }
        *expr = *outer;
    } else if is_looser(exponent) {
        let mut outer = std::mem::replace(exponent, nothing());
        if let Expr::BinaryOp { left, .. } = &mut *outer {
            std::mem::swap(left, exponent);
            let mut power = std::mem::replace(expr, Expr::value(Value::Null));
            bind_power_tighter(&mut power);
            **left = power;
        }
        *expr = *outer;
    }
}

/// Operators and literals that the binder reads otherwise, or not at all.
fn rewrite_operator(expr: &mut Expr) {
    let nothing = || Box::new(Expr::value(Value::Null));
    match expr {
        Expr::BinaryOp { left, op: BinaryOperator::BitwiseXor, right } => {
            let arguments = [std::mem::replace(left, nothing()), std::mem::replace(right, nothing())];
            *expr = call_of("power", arguments.map(|argument| *argument).into());
        }
        Expr::BinaryOp { left, op: op @ (BinaryOperator::Eq | BinaryOperator::NotEq), right } => {
            if let (Some(left), Some(right)) = (row_of(left), row_of(right))
                && left.len() == right.len()
            {
                let equal = equal_rows(left, right);
                *expr = match op {
                    BinaryOperator::Eq => equal,
                    _ => Expr::UnaryOp { op: UnaryOperator::Not, expr: Box::new(equal) },
                };
            }
        }
        Expr::InList { expr: row, list, negated } => {
            let Some(row) = row_of(row) else { return };
            let same_width =
                |other: &Expr| row_of(other).filter(|other| other.len() == row.len()).map(<[Expr]>::to_vec);
            let Some(rows) = list.iter().map(same_width).collect::<Option<Vec<_>>>() else { return };
            let equal = rows.iter().map(|other| equal_rows(row, other));
            let Some(any) = equal.reduce(|all, next| infix(&all, BinaryOperator::Or, &next)) else { return };
            *expr = match negated {
                true => Expr::UnaryOp { op: UnaryOperator::Not, expr: Box::new(any) },
                false => any,
            };
        }
        Expr::InSubquery { expr: row, subquery, .. } => {
            let Some(fields) = row_of(row) else { return };
            let columns: Vec<Ident> = (0..fields.len()).map(|at| Ident::new(format!("c{at}"))).collect();
            **row = call_of("struct", fields.to_vec());
            rows_as_values(subquery, columns);
        }
        Expr::UnaryOp { op: UnaryOperator::BitwiseNot, expr: operand } => {
            let left = Box::new(Expr::value(Value::Number("-1".to_owned(), false)));
            let right = Box::new(Expr::Nested(std::mem::replace(operand, nothing())));
            *expr = Expr::Nested(Box::new(Expr::BinaryOp { left, op: BinaryOperator::Minus, right }));
        }
        Expr::Value(value) => {
            if let Value::Number(number, _) = &value.value
                && number.contains(['e', 'E'])
                && !number.starts_with("0x")
            {
                *expr = Expr::Cast {
                    kind: CastKind::Cast,
                    expr: Box::new(Expr::value(Value::SingleQuotedString(number.clone()))),
                    data_type: DataType::Double(ExactNumberInfo::None),
                    array: false,
                    format: None,
                };
            }
        }
        _ => {}
    }
}

/// The fields of `(a, b)`.
fn row_of(expr: &Expr) -> Option<&[Expr]> {
    match expr {
        Expr::Tuple(fields) if fields.len() > 1 => Some(fields),
        _ => None,
    }
}

fn equal_rows(left: &[Expr], right: &[Expr]) -> Expr {
    let equal = left.iter().zip(right).map(|(left, right)| infix(left, BinaryOperator::Eq, right));
    equal.reduce(|all, next| infix(&all, BinaryOperator::And, &next)).expect("rows have fields")
}

/// Turns a subquery of several columns into one of a single column with rows `(a, b)`.
fn rows_as_values(subquery: &mut Query, columns: Vec<Ident>) {
    let fields = columns.iter().map(|column| Expr::Identifier(column.clone())).collect();
    let row = call_of("struct", fields);
    let columns = columns.into_iter().map(|name| TableAliasColumnDef { name, data_type: None }).collect();
    let alias = TableAlias { explicit: true, name: Ident::new("rows"), columns, at: None };
    let mut around = Parser::new(&Grammar)
        .try_with_sql("SELECT NULL FROM (SELECT NULL) AS rows")
        .and_then(|mut parser| parser.parse_query())
        .expect("the text is a query");
    if let SetExpr::Select(select) = around.body.as_mut() {
        select.projection = vec![SelectItem::UnnamedExpr(row)];
        if let TableFactor::Derived { subquery: inner, alias: inner_alias, .. } = &mut select.from[0].relation {
            std::mem::swap(inner.as_mut(), subquery);
            *inner_alias = Some(alias);
        }
    }
    *subquery = *around;
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
        ("min" | "max", [_, _]) => Some(call(&format!("{name}_n"), function)),
        ("arg_min" | "argmin" | "min_by", [_, _, _]) => Some(call("arg_min_n", function)),
        ("arg_max" | "argmax" | "max_by", [_, _, _]) => Some(call("arg_max_n", function)),
        ("geomean" | "geometric_mean" | "weighted_avg" | "wavg", [value, others @ ..]) => {
            if function.over.is_some() || list.duplicate_treatment.is_some() {
                return None;
            }
            let name = if name == "wavg" { "weighted_avg" } else { name.as_str() };
            // NULLs don't count.
            let value = match &function.filter {
                Some(filter) => &case((**filter).clone(), (*value).clone(), None),
                None => *value,
            };
            macros::expanded(name, &[&[value], others].concat())
        }
        ("mod" | "fmod", [left, right]) => Some(infix(left, BinaryOperator::Modulo, right)),
        ("xor", [left, right]) => Some(infix(left, BinaryOperator::PGBitwiseXor, right)),
        (name, arguments) => {
            if let Some(expanded) = macros::expanded(name, arguments) {
                return Some(expanded);
            }
            let (_, part) = DATE_PARTS.iter().find(|(known, _)| *known == name && arguments.len() == 1)?;
            let part = Expr::value(Value::SingleQuotedString((*part).to_owned()));
            list.args.insert(0, FunctionArg::Unnamed(FunctionArgExpr::Expr(part)));
            Some(call("date_part", function))
        }
    }
}

fn infix(left: &Expr, op: BinaryOperator, right: &Expr) -> Expr {
    let nested = |operand: &Expr| Box::new(Expr::Nested(Box::new(operand.clone())));
    Expr::Nested(Box::new(Expr::BinaryOp { left: nested(left), op, right: nested(right) }))
}

/// A plain call.
pub(crate) fn call_of(name: &str, arguments: Vec<Expr>) -> Expr {
    let args = arguments.into_iter().map(|argument| FunctionArg::Unnamed(FunctionArgExpr::Expr(argument))).collect();
    Expr::Function(Function {
        name: ObjectName::from(vec![Ident::with_quote('"', name)]),
        uses_odbc_syntax: false,
        parameters: FunctionArguments::None,
        args: FunctionArguments::List(FunctionArgumentList { duplicate_treatment: None, args, clauses: Vec::new() }),
        filter: None,
        null_treatment: None,
        over: None,
        within_group: Vec::new(),
    })
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
