//! Compiles the plan's expressions to trees of kernels.
//!
//! ```text
//! godwit_plan::Expr ──compile──→ Expression
//!        │
//!        ├─ constants, columns, parameters, Let                 here, locals.rs, values.rs, context.rs
//!        ├─ AND, OR, NOT, CASE, COALESCE, IN, patterns           logic.rs
//!        ├─ comparisons                                         comparisons.rs
//!        ├─ arithmetic of numbers; of dates, times, intervals    arithmetic.rs, times.rs
//!        ├─ casts                                               casts.rs, checked.rs, labels.rs
//!        └─ functions; those that take lambdas                   calls.rs, lambdas.rs
//! ```
//!
//! The binder has resolved names and made casts explicit, so operands have the types that an operation takes. It
//! remains to choose kernels, which have the semantics of `godwit-types`; where there are none, its functions are
//! called row by row ([`rows`]).
//!
//! Columns and results of functions are converted to the Arrow type that represents their SQL type here
//! ([`arrow_type`]): values of one SQL type always meet in one layout.

mod arithmetic;
mod calls;
mod casts;
mod checked;
mod comparisons;
mod context;
mod labels;
mod lambdas;
mod locals;
mod logic;
mod nested_casts;
mod part_casts;
mod reduce;
mod rows;
mod times;
mod types;
mod values;
mod wide;

use std::fmt::{self, Write};

use godwit_common::{Error, Result, SqlState};
use godwit_plan::{ColumnId, Expr, ExprKind, SubqueryKind};
use godwit_types::SqlType;
use godwit_vector::ColumnType;
use godwit_vector::sql::arrow_type;

pub use context::{PlanContext, PlanSubquery};

use self::locals::Locals;
use crate::arithmetic::TEXT_CHARS_MAX;
use crate::{Expression, Predicate, Projection, cast};

/// Maximum nesting of expressions: that of statements, with casts between.
const DEPTH_MAX: usize = 2_500;

/// The positions of a plan's columns in chunks.
#[derive(Clone, Copy)]
pub struct Layout<'a> {
    /// The column at each position.
    pub columns: &'a [ColumnId],
    /// The type of each column.
    pub types: &'a [ColumnType],
}

impl Expression {
    /// Compiles an expression over the columns of chunks with this layout.
    pub fn compile(expr: &Expr, layout: Layout<'_>, context: &PlanContext) -> Result<Expression> {
        Ok(Compiler::new(layout, context).compile(expr)?.per_entry(Some(context.work())))
    }
}

impl Predicate {
    /// Compiles a conjunction of conditions, split at their ANDs.
    pub fn compile(conditions: &[Expr], layout: Layout<'_>, context: &PlanContext) -> Result<Predicate> {
        Ok(Predicate::of_compiled(&Compiler::new(layout, context).compile_all(conditions)?, context.work()))
    }
}

impl Projection {
    /// Compiles expressions to the columns of a new chunk.
    pub fn compile<'e>(
        exprs: impl IntoIterator<Item = &'e Expr>,
        layout: Layout<'_>,
        context: &PlanContext,
    ) -> Result<Projection> {
        let expressions = exprs.into_iter().map(|expr| Expression::compile(expr, layout, context));
        Ok(Projection::new(expressions.collect::<Result<_>>()?))
    }
}

struct Compiler<'a> {
    layout: Layout<'a>,
    context: &'a PlanContext,
    /// The meaning of the columns of Lets around the current expression.
    locals: Locals,
    depth: usize,
}

impl<'a> Compiler<'a> {
    fn new(layout: Layout<'a>, context: &'a PlanContext) -> Self {
        Self { layout, context, locals: Locals::default(), depth: 0 }
    }

    fn compile(&mut self, expr: &Expr) -> Result<Expression> {
        if self.depth >= DEPTH_MAX {
            let error = Error::user("the expression is nested too deeply").with_code(SqlState::STATEMENT_TOO_COMPLEX);
            return Err(error.with_hint("compute parts of it in a subquery").at_span(expr.span));
        }
        self.depth += 1;
        let compiled = self.compile_kind(expr);
        self.depth -= 1;
        Ok(compiled.map_err(|error| error.at_span(expr.span))?.at(expr.span))
    }

    fn compile_all<'e>(&mut self, exprs: impl IntoIterator<Item = &'e Expr>) -> Result<Vec<Expression>> {
        exprs.into_iter().map(|expr| self.compile(expr)).collect()
    }

    fn compile_kind(&mut self, expr: &Expr) -> Result<Expression> {
        match &expr.kind {
            ExprKind::Column(column) => self.column(*column, expr),
            ExprKind::Literal(value) => Expression::literal(value, &expr.ty),
            ExprKind::Parameter(id) => conform(Expression::parameter(&self.context.parameter(*id)?)?, &expr.ty),
            ExprKind::Cast { input, lenient } => {
                let text = text_of(expr, self.context);
                casts::compile(self.compile(input)?, &input.ty, &expr.ty, *lenient, &text, self.context.work())
            }
            ExprKind::Compare(comparison, a, b) => comparisons::compile(
                *comparison,
                self.compile(a)?,
                self.compile(b)?,
                &a.ty,
                &text_of(expr, self.context),
            ),
            ExprKind::And(all) => self.conjunction(all),
            ExprKind::Or(all) => self.disjunction(all),
            ExprKind::Not(input) => self.not(input),
            ExprKind::IsNull(input) => self.is_null(input, false),
            ExprKind::Arithmetic(op, a, b) => {
                let operands = [(self.compile(a)?, &a.ty), (self.compile(b)?, &b.ty)];
                arithmetic::compile(*op, operands, &expr.ty, &text_of(expr, self.context))
            }
            ExprKind::Negate(input) => {
                arithmetic::compile_negation(self.compile(input)?, &expr.ty, &text_of(expr, self.context))
            }
            ExprKind::Case { branches, otherwise } => self.case(branches, otherwise.as_deref(), &expr.ty),
            ExprKind::Coalesce(all) => self.coalesce(all, &expr.ty),
            ExprKind::Try(input) => self.attempt(input),
            ExprKind::InList(value, list) => self.in_list(value, list, false, &text_of(expr, self.context)),
            ExprKind::Match { kind, input, pattern, escape } => self.matches(*kind, input, pattern, *escape, false),
            ExprKind::Call(function, args) => self.call(function, args, expr),
            ExprKind::Let { column, value, body } => self.bind(*column, value, body),
            ExprKind::Lambda(..) => Err(Error::internal("a lambda stands where a value is needed")),
            ExprKind::Subquery(subquery) => match (&subquery.kind, subquery.columns.as_slice()) {
                (SubqueryKind::Scalar, [column]) => {
                    Expression::parameter(&self.context.subquery(subquery.plan, *column, &expr.ty))
                }
                _ => Err(Error::internal(format!("{expr} was not unnested"))),
            },
        }
    }

    fn column(&self, column: ColumnId, expr: &Expr) -> Result<Expression> {
        if let Some(local) = self.locals.get(column) {
            return Ok(local);
        }
        let index = self.layout.columns.iter().position(|&other| other == column);
        let index = index.ok_or_else(|| Error::internal(format!("column {column} isn't there where it is used")))?;
        conform(Expression::column(index, self.layout.types[index].clone()), &expr.ty)
    }
}

/// Returns the same values in the Arrow type that represents their SQL type here.
fn conform(expression: Expression, ty: &SqlType) -> Result<Expression> {
    let logical = arrow_type(ty)?;
    if *ty == SqlType::Unknown {
        return Ok(expression);
    }
    cast::compile(expression, &logical, "a value")
}

/// The beginning of an expression, for messages: no more than they quote, to make long expressions cost no more than
/// short ones.
fn text_of(expr: &Expr, context: &PlanContext) -> String {
    let mut text = Beginning(String::new());
    let is_whole = write!(text, "{}", expr.display_with(context.names())).is_ok();
    match text.0.strip_prefix('(') {
        Some(inner) if is_whole => inner.strip_suffix(')').unwrap_or(inner).to_owned(),
        Some(inner) => inner.to_owned(),
        None => text.0,
    }
}

/// Text that accepts no more once it is long enough.
struct Beginning(String);

impl fmt::Write for Beginning {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        self.0.push_str(part);
        if self.0.chars().nth(TEXT_CHARS_MAX + 2).is_some() { Err(fmt::Error) } else { Ok(()) }
    }
}
