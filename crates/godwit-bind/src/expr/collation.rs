//! COLLATE: text comparisons in the order of a language, or that ignore case or accents.
//!
//! A collation is a function of text, and texts compare as their images under it do. COLLATE is allowed where values
//! are compared, ordered or grouped: in comparisons, IN, BETWEEN, CASE, ORDER BY, GROUP BY and PARTITION BY. Anywhere
//! else it is rejected: as a value, text has no collation of its own.
//!
//! A column of a table may have a collation ([`godwit_plan::ColumnInfo::collation`]). It then also belongs to what is
//! computed of the column, and holds wherever such texts are compared, unless COLLATE says otherwise. Source:
//! PostgreSQL's documentation, "Collation Support", whose implicit and explicit derivations these are.
//!
//! ```text
//! compared, ordered    s = 'A'                  ─▶ lower(s) = lower('A')
//! grouped, distinct    SELECT s … GROUP BY s    ─▶ keys lower(s); any_value(s) stands for s
//! ```

use std::fmt;
use std::sync::Arc;

use godwit_common::{Error, Result, Span, SqlState};
use godwit_plan::{ColumnId, Expr, ExprKind};
use godwit_syntax::ast;
use godwit_types::{SqlType, Value};

use super::CastContext;
use crate::Binder;
use crate::binder::ExprContext;

/// Names of the order of text by its bytes.
const BYTE_ORDERS: [&str; 5] = ["c", "posix", "binary", "default", "ucs_basic"];

/// Functions that look for their second argument in the first.
const SEARCHES: [&str; 8] = ["contains", "starts_with", "prefix", "ends_with", "suffix", "strpos", "instr", "position"];

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
        let mut parts: Vec<&str> = name.parts.iter().map(|part| &*part.text).collect();
        if parts.len() > 1 && parts[0].eq_ignore_ascii_case("pg_catalog") {
            parts.remove(0);
        }
        Self::of_parts(&parts).map_err(|part| {
            Error::unsupported(format!("the collation {part}")).at_span(name.span).with_hint(
                "collations are NOCASE, NOACCENT, languages such as de or \"en-US\", these joined by dots, and \"C\", the \
                 order of bytes",
            )
        })
    }

    /// Parses its text, see [`fmt::Display`].
    fn of_text(text: &str) -> Result<Self> {
        let parts: Vec<&str> = text.split('.').collect();
        Self::of_parts(&parts).map_err(|part| Error::corrupt(format!("a column has the unknown collation {part}")))
    }

    /// Returns the part that is unknown, if one is.
    fn of_parts<'p>(parts: &[&'p str]) -> std::result::Result<Self, &'p str> {
        let mut collation = Self::default();
        for &part in parts {
            let is = |known: &str| part.eq_ignore_ascii_case(known);
            if is("nocase") {
                collation.ignores_case = true;
            } else if is("noaccent") {
                collation.ignores_accents = true;
            } else if collation.language.is_none() && is_language(part) {
                collation.language = Some(part.to_ascii_lowercase().replace('_', "-"));
            } else if parts.len() > 1 || !BYTE_ORDERS.iter().any(|known| is(known)) {
                return Err(part);
            }
        }
        Ok(collation)
    }

    fn is_by_bytes(&self) -> bool {
        *self == Self::default()
    }

    /// Splits COLLATE into its operand and collation, `None` for any other expression.
    pub(crate) fn split(expr: &ast::Expr) -> Result<(&ast::Expr, Option<Self>)> {
        match &expr.kind {
            ast::ExprKind::Collate { operand, collation } => Ok((operand, Some(Self::named(collation)?))),
            _ => Ok((expr, None)),
        }
    }
}

impl fmt::Display for Collation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [
            self.ignores_case.then_some("nocase"),
            self.ignores_accents.then_some("noaccent"),
            self.language.as_deref(),
        ];
        let parts: Vec<&str> = parts.into_iter().flatten().collect();
        f.write_str(&parts.join("."))
    }
}

/// Returns the text of a collation for a column's definition, `None` for the order of bytes.
///
/// # Errors
/// If there is no such collation.
pub fn collation_text(name: &ast::ObjectName) -> Result<Option<String>> {
    let collation = Collation::named(name)?;
    Ok((!collation.is_by_bytes()).then(|| collation.to_string()))
}

/// True for texts that begin as languages do: with the two or three letters of ISO 639.
fn is_language(text: &str) -> bool {
    let is_tag = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
    let code = text.split(['-', '_']).next().filter(|_| is_tag).unwrap_or_default();
    (2..=3).contains(&code.len()) && code.bytes().all(|byte| byte.is_ascii_alphabetic())
}

/// Returns the one collation among those of several values.
fn united(collations: impl IntoIterator<Item = Collation>, span: Span) -> Result<Option<Collation>> {
    let mut found: Option<Collation> = None;
    for own in collations {
        match &found {
            Some(known) if *known != own => {
                let error = Error::user("values of different collations are compared");
                let error = error.with_code(SqlState::COLLATION_MISMATCH).at_span(span);
                return Err(error.with_hint("say which one holds with COLLATE"));
            }
            _ => found = Some(own),
        }
    }
    Ok(found)
}

impl Binder {
    /// Returns the collation of a value: that of the columns whose text it is, or is computed of.
    pub(crate) fn collation_of(&self, value: &Expr) -> Result<Option<Collation>> {
        if value.ty != SqlType::Varchar {
            return Ok(None);
        }
        let of_column = |column| {
            let collation: Option<&Arc<str>> = self.plan.column(column).collation.as_ref();
            collation.map(|text| Collation::of_text(text)).transpose()
        };
        match &value.kind {
            ExprKind::Column(column) => of_column(*column),
            ExprKind::Subquery(subquery) => match subquery.columns[..] {
                [column] => of_column(column),
                _ => Ok(None),
            },
            _ => {
                let of_parts = value.children().into_iter().map(|part| self.collation_of(part));
                united(of_parts.collect::<Result<Vec<_>>>()?.into_iter().flatten(), value.span)
            }
        }
    }

    /// Adds a column for a value, with its collation.
    pub(crate) fn add_column_of(&mut self, name: &str, value: &Expr) -> ColumnId {
        let column = self.plan.add_column(name, value.ty.clone(), value.nullable);
        self.inherit_collation(column, value);
        column
    }

    /// Gives a column the collation of the value that it has or is computed of; none if that is of several collations.
    pub(crate) fn inherit_collation(&mut self, column: ColumnId, value: &Expr) {
        let collation = self.collation_of(value).ok().flatten();
        self.plan.set_collation(column, collation.map(|collation| collation.to_string().into()));
    }

    /// Returns what values are compared by: their images under the collation that was written, or else under their own.
    pub(crate) fn in_one_collation(&mut self, values: Vec<Expr>, written: Option<Collation>) -> Result<Vec<Expr>> {
        let collation = match (written, values.first()) {
            (None, Some(first)) => {
                let own = values.iter().map(|value| self.collation_of(value)).collect::<Result<Vec<_>>>()?;
                united(own.into_iter().flatten(), first.span)?
            }
            (written, _) => written,
        };
        let Some(collation) = collation else { return Ok(values) };
        values.into_iter().map(|value| self.image(value, &collation)).collect()
    }

    /// Does the same for a single value: a key of an order or of groups.
    pub(crate) fn key_of(&mut self, value: Expr, written: Option<Collation>) -> Result<Expr> {
        let mut keys = self.in_one_collation(vec![value], written)?;
        Ok(keys.pop().expect("one was given"))
    }

    /// Does the same for two values.
    pub(crate) fn in_common_collation(&mut self, left: Expr, right: Expr) -> Result<(Expr, Expr)> {
        let mut both = self.in_one_collation(vec![left, right], None)?;
        let right = both.pop().expect("two were given");
        Ok((both.pop().expect("two were given"), right))
    }

    /// Binds values that are compared with each other, as what they are compared by.
    pub(super) fn compared(&mut self, operands: &[&ast::Expr], cx: &mut ExprContext<'_>) -> Result<Vec<Expr>> {
        let (mut values, mut written) = (Vec::with_capacity(operands.len()), Vec::new());
        let mut span = Span::default();
        for operand in operands {
            let (inner, collation) = Collation::split(operand)?;
            values.push(self.expr(inner, cx)?);
            if collation.is_some() {
                span = operand.span;
                written.extend(collation);
            }
        }
        let written = united(written, span)?;
        self.in_one_collation(values, written)
    }

    /// Returns a text and the pattern for it without the differences that its collation ignores. The order of a language
    /// says nothing about single letters.
    pub(super) fn as_letters(&mut self, text: Expr, pattern: Expr) -> Result<(Expr, Expr)> {
        let own = [self.collation_of(&text)?, self.collation_of(&pattern)?];
        let Some(collation) = united(own.into_iter().flatten(), text.span)? else { return Ok((text, pattern)) };
        let letters = Collation { language: None, ..collation };
        Ok((self.image(text, &letters)?, self.image(pattern, &letters)?))
    }

    /// Returns the arguments of a function; those of a search without the differences that the text's collation ignores.
    pub(super) fn searched(&mut self, name: &str, args: Vec<Expr>) -> Result<Vec<Expr>> {
        match <[Expr; 2]>::try_from(args) {
            Ok([text, part]) if SEARCHES.contains(&name) => {
                let (text, part) = self.as_letters(text, part)?;
                Ok(vec![text, part])
            }
            Ok(others) => Ok(others.into()),
            Err(args) => Ok(args),
        }
    }

    /// Returns the aggregate that takes texts of a collation as it compares them, and its arguments.
    pub(super) fn collated_aggregate<'n>(
        &mut self,
        name: &'n str,
        args: Vec<Expr>,
        distinct: bool,
    ) -> Result<(&'n str, Vec<Expr>)> {
        let keys = args.iter().map(|arg| self.key_of(arg.clone(), None)).collect::<Result<Vec<_>>>()?;
        if keys == args {
            return Ok((name, args));
        }
        match (name, distinct) {
            ("count", true) => Ok((name, keys)),
            ("min", _) if args.len() == 1 => Ok(("arg_min", args.into_iter().chain(keys).collect())),
            ("max", _) if args.len() == 1 => Ok(("arg_max", args.into_iter().chain(keys).collect())),
            ("arg_min" | "min_by" | "argmin" | "arg_max" | "max_by" | "argmax", false) => {
                let keys = keys.into_iter().skip(1);
                Ok((name, args.into_iter().take(1).chain(keys).collect()))
            }
            ("min" | "max", _) => {
                let error = Error::unsupported(format!("{name} of several texts that have a collation"));
                Err(error.with_hint("use ORDER BY and LIMIT"))
            }
            (_, false) => Ok((name, args)),
            (_, true) => {
                let error = Error::unsupported(format!("{name} with DISTINCT of texts that have a collation"));
                Err(error.with_hint("remove duplicates in a subquery: FROM (SELECT DISTINCT …)"))
            }
        }
    }

    /// Returns the value's image under a collation, by which it is compared.
    fn image(&mut self, value: Expr, collation: &Collation) -> Result<Expr> {
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
        let operand = self.expr(operand, cx)?;
        let is_by_bytes = collation.is_none_or(|collation| collation.is_by_bytes());
        if !is_by_bytes || self.collation_of(&operand)?.is_some() {
            let error = Error::unsupported("COLLATE of a value that isn't compared, ordered or grouped");
            return Err(error.at_span(expr.span).with_hint(match is_by_bytes {
                true => "as a value, text has its column's collation",
                false => "use the value by which the collation compares: lower(…), strip_accents(…), icu_sort_key(…)",
            }));
        }
        self.coerce(operand, &SqlType::Varchar, CastContext::Implicit)
    }
}
