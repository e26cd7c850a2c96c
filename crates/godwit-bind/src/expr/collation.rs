//! COLLATE: text comparisons in the order of a language, or that ignore case or accents.
//!
//! A collation is a function of text, and texts compare as their images under it do. COLLATE is allowed where values
//! are compared or ordered: in comparisons, IN, BETWEEN, CASE and ORDER BY. Anywhere else it is rejected: as a value,
//! text has no collation.

use godwit_common::{Error, Result};
use godwit_plan::Expr;
use godwit_syntax::ast;
use godwit_types::{SqlType, Value};

use super::CastContext;
use crate::Binder;
use crate::binder::ExprContext;

/// Names of the order of text by its bytes.
const BYTE_ORDERS: [&str; 5] = ["c", "posix", "binary", "default", "ucs_basic"];

/// The order in which texts are compared, and the differences that don't count; by default the order of their bytes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Collation {
    ignores_case: bool,
    ignores_accents: bool,
    /// The language whose order it is.
    language: Option<String>,
}

impl Collation {
    /// Parses `NOCASE`, `NOACCENT` and a language, joined by dots, or a name for byte order.
    fn named(name: &ast::ObjectName) -> Result<Self> {
        let mut collation = Self::default();
        for part in &name.parts {
            match part {
                part if part.is("nocase") => collation.ignores_case = true,
                part if part.is("noaccent") => collation.ignores_accents = true,
                part if name.parts.len() == 1 && BYTE_ORDERS.iter().any(|known| part.is(known)) => {}
                part if collation.language.is_none() && is_language(&part.text) => {
                    collation.language = Some(part.text.to_ascii_lowercase().replace('_', "-"));
                }
                part => {
                    let error = Error::unsupported(format!("the collation {}", part.text)).at_span(name.span);
                    return Err(error.with_hint(
                        "collations are NOCASE, NOACCENT, languages such as de or \"en-US\", these joined by dots, and \"C\", \
                         the order of bytes",
                    ));
                }
            }
        }
        Ok(collation)
    }

    fn is_by_bytes(&self) -> bool {
        *self == Self::default()
    }

    /// Splits COLLATE into its operand and collation; any other expression is its own operand.
    pub(crate) fn split(expr: &ast::Expr) -> Result<(&ast::Expr, Self)> {
        match &expr.kind {
            ast::ExprKind::Collate { operand, collation } => Ok((operand, Self::named(collation)?)),
            _ => Ok((expr, Self::default())),
        }
    }

    /// Returns the collation in which these operands are compared: that of the operands that have one.
    pub(super) fn of<'a>(operands: impl IntoIterator<Item = &'a ast::Expr>) -> Result<Self> {
        let mut found = Self::default();
        for operand in operands {
            let (_, own) = Self::split(operand)?;
            if !own.is_by_bytes() && !found.is_by_bytes() && own != found {
                return Err(Error::unsupported("a comparison in two collations").at_span(operand.span));
            }
            if !own.is_by_bytes() {
                found = own;
            }
        }
        Ok(found)
    }
}

/// True for texts that begin as languages do: with the two or three letters of ISO 639.
fn is_language(text: &str) -> bool {
    let code = text.split(['-', '_']).next().unwrap_or_default();
    (2..=3).contains(&code.len()) && code.bytes().all(|byte| byte.is_ascii_alphabetic())
}

impl Binder {
    /// Binds an operand of a comparison in a collation.
    pub(super) fn collated(
        &mut self,
        operand: &ast::Expr,
        collation: &Collation,
        cx: &mut ExprContext<'_>,
    ) -> Result<Expr> {
        if collation.is_by_bytes() {
            return self.expr(operand, cx);
        }
        let (operand, _) = Collation::split(operand)?;
        let value = self.expr(operand, cx)?;
        self.in_collation(value, collation)
    }

    /// Binds the values of a list that are compared in a collation.
    pub(super) fn exprs_in(
        &mut self,
        list: &[ast::Expr],
        collation: &Collation,
        cx: &mut ExprContext<'_>,
    ) -> Result<Vec<Expr>> {
        // `*COLUMNS(…)` stands for several expressions, and has no collation.
        match collation.is_by_bytes() {
            true => self.exprs(list, cx),
            false => list.iter().map(|item| self.collated(item, collation, cx)).collect(),
        }
    }

    /// Returns the value's image under a collation, by which it is compared.
    pub(crate) fn in_collation(&mut self, value: Expr, collation: &Collation) -> Result<Expr> {
        let span = value.span;
        if collation.is_by_bytes() {
            return Ok(value);
        }
        let mut image = self.coerce(value, &SqlType::Varchar, CastContext::Implicit)?;
        if collation.ignores_accents {
            image = self.call_scalar("strip_accents", vec![image], span)?;
        }
        if collation.ignores_case {
            image = self.call_scalar("lower", vec![image], span)?;
        }
        if let Some(language) = &collation.language {
            let language = Expr::literal(Value::text(language.as_str()), SqlType::Varchar).at(span);
            image = self.call_scalar("icu_sort_key", vec![image, language], span)?;
        }
        Ok(image.at(span))
    }

    /// COLLATE where nothing is compared: an error.
    pub(super) fn collate(&mut self, expr: &ast::Expr, cx: &mut ExprContext<'_>) -> Result<Expr> {
        let (operand, collation) = Collation::split(expr)?;
        if !collation.is_by_bytes() {
            let error = Error::unsupported("COLLATE outside of comparisons and ORDER BY").at_span(expr.span);
            return Err(error.with_hint(
                "use the value by which the collation compares: lower(…), strip_accents(…), icu_sort_key(…)",
            ));
        }
        let operand = self.expr(operand, cx)?;
        self.coerce(operand, &SqlType::Varchar, CastContext::Implicit)
    }
}
