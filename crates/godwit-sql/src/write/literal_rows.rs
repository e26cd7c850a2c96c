//! `INSERT … VALUES` with only literals that are values of their columns without conversion: rows without a query.
//! Applications often insert this way, and planning a query takes longer than everything else in a small insert.
//!
//! Anything that involves a cast that might round or fail, a default, or other knowledge of the binder is planned as
//! usual, so that errors and the meaning of casts each have a single place.

use arrow_schema::{DataType, Field};
use godwit_catalog::{GeneratedKind, TableRules};
use godwit_syntax::ast::{self, Expr, ExprKind, InsertSource, SetExprKind, UnaryOperator};
use godwit_types::SqlType;
use godwit_vector::sql::{sql_type, type_of_field};
use godwit_vector::{Bitmap, Flat, Native, PhysicalType, StrColumn, Vector};

use super::Target;

/// Maximum number of rows: longer lists are bulk loads.
const ROWS_MAX: usize = 16_384;

/// Maximum number of digits of a number that is the same DOUBLE whether read as such or as a decimal that is divided.
const DOUBLE_DIGITS_MAX: usize = 15;

/// Number of digits of the widest decimals.
const DECIMAL_DIGITS_MAX: usize = 38;

/// Number of rows, and the table's columns in their own types.
pub(super) type LiteralRows = (usize, Vec<Vector>);

/// A literal.
#[derive(Clone, Copy)]
enum Literal<'a> {
    Null,
    Bool(bool),
    /// Digits, perhaps with a decimal point, and whether a minus sign precedes them.
    Number(&'a str, bool),
    Text(&'a str),
}

/// Returns the rows listed by an INSERT whose columns are those at `places`; `None`: they need a plan.
pub(super) fn literal_rows(target: &Target, places: &[usize], insert: &ast::Insert) -> Option<LiteralRows> {
    let TableRules { defaults: _, checks, keys: _, references: _, encodings: _, indexes: _, generated, comments: _ } =
        target.rules();
    let InsertSource::Query(source) = &insert.source else { return None };
    let SetExprKind::Values(rows) = &source.body.kind else { return None };
    let is_plain = source.with.is_none()
        && source.order_by.is_none()
        && source.limit.is_none()
        && source.offset.is_none()
        && insert.with.is_none()
        && insert.policy.is_none()
        && !insert.by_name
        && insert.on_conflict.is_none()
        && insert.returning.is_empty();
    let is_given = generated.iter().all(|column| column.kind == GeneratedKind::Virtual);
    let is_wanted = is_plain && is_given && checks.is_empty() && (1..=ROWS_MAX).contains(&rows.len());
    if !is_wanted || rows.iter().any(|row| row.len() != places.len()) {
        return None;
    }
    let column = |(at, field): (usize, &std::sync::Arc<arrow_schema::Field>)| {
        let mut sources = (0..places.len()).filter(|&source| places[source] == at);
        match (sources.next(), sources.next()) {
            (Some(source), None) => {
                let literals = rows.iter().map(|row| literal(&row[source])).collect::<Option<Vec<_>>>()?;
                has_plain_type(field).then(|| column(field.data_type(), &literals))?
            }
            (None, _) if target.rules().default_of(field.name()).is_none() => {
                let physical = PhysicalType::natural(field.data_type()).ok()?;
                (physical != PhysicalType::Nested).then(|| Vector::null(physical, rows.len()).flattened())
            }
            _ => None,
        }
    };
    let columns = target.schema().fields().iter().enumerate().map(column).collect::<Option<_>>()?;
    Some((rows.len(), columns))
}

/// Returns true if literals of a column are values of its Arrow type. Strings that must be JSON, for example, are cast
/// by a plan.
fn has_plain_type(column: &Field) -> bool {
    match (type_of_field(column), sql_type(column.data_type())) {
        (Ok(ty), Ok(plain)) => ty == plain || ty == SqlType::HugeInt,
        _ => false,
    }
}

fn literal(expr: &Expr) -> Option<Literal<'_>> {
    match &expr.kind {
        ExprKind::Literal(ast::Literal::Null) => Some(Literal::Null),
        ExprKind::Literal(ast::Literal::Boolean(value)) => Some(Literal::Bool(*value)),
        ExprKind::Literal(ast::Literal::Number(digits)) => Some(Literal::Number(digits, false)),
        ExprKind::Literal(ast::Literal::String(text)) => Some(Literal::Text(text)),
        ExprKind::Unary { op: UnaryOperator::Minus, operand } => match literal(operand)? {
            Literal::Number(digits, false) => Some(Literal::Number(digits, true)),
            _ => None,
        },
        _ => None,
    }
}

/// Returns a column of a type; `None` if a literal isn't a value of it.
fn column(data_type: &DataType, literals: &[Literal<'_>]) -> Option<Vector> {
    match data_type {
        DataType::Boolean => {
            let bool_of =
                |literal: Literal<'_>| if let Literal::Bool(value) = literal { Some(value as u8) } else { None };
            Some(Vector::from_bools(values(literals, bool_of)?, validity(literals)))
        }
        DataType::Int8 => integers::<i8>(literals, 0),
        DataType::Int16 => integers::<i16>(literals, 0),
        DataType::Int32 => integers::<i32>(literals, 0),
        DataType::Int64 => integers::<i64>(literals, 0),
        DataType::UInt8 => integers::<u8>(literals, 0),
        DataType::UInt16 => integers::<u16>(literals, 0),
        DataType::UInt32 => integers::<u32>(literals, 0),
        DataType::UInt64 => integers::<u64>(literals, 0),
        DataType::Decimal128(precision, scale) => {
            let scale = usize::try_from(*scale).ok()?;
            let limit = 10_i128.checked_pow(*precision as u32)?;
            let fits = |literal: &Literal<'_>| match literal {
                Literal::Number(..) => unscaled(*literal, scale).is_some_and(|value| value.abs() < limit),
                _ => true,
            };
            if !literals.iter().all(fits) {
                return None;
            }
            match PhysicalType::natural(data_type).ok()? {
                PhysicalType::I32 => integers::<i32>(literals, scale),
                PhysicalType::I64 => integers::<i64>(literals, scale),
                _ => integers::<i128>(literals, scale),
            }
        }
        DataType::Float64 => Some(Vector::from_values(values(literals, double)?, validity(literals))),
        DataType::Utf8View => {
            let text = |literal| match literal {
                Literal::Null => Some(&[][..]),
                Literal::Text(text) => Some(text.as_bytes()),
                _ => None,
            };
            let texts: Vec<&[u8]> = literals.iter().copied().map(text).collect::<Option<_>>()?;
            Some(Vector::flat(Flat::Str(StrColumn::from_strings(texts)), validity(literals)))
        }
        _ => None,
    }
}

fn validity(literals: &[Literal<'_>]) -> Option<Bitmap> {
    let is_null = |literal: &Literal<'_>| matches!(literal, Literal::Null);
    literals.iter().any(is_null).then(|| Bitmap::from_fn(literals.len(), |row| !is_null(&literals[row])))
}

/// Returns the values, with a default in place of NULL.
fn values<T: Default>(literals: &[Literal<'_>], value: impl Fn(Literal<'_>) -> Option<T>) -> Option<Vec<T>> {
    let value = |literal: &Literal<'_>| match literal {
        Literal::Null => Some(T::default()),
        literal => value(*literal),
    };
    literals.iter().map(value).collect()
}

fn integers<T: Native + Default + TryFrom<i128>>(literals: &[Literal<'_>], scale: usize) -> Option<Vector> {
    let value = |literal: Literal<'_>| unscaled(literal, scale).and_then(|value| T::try_from(value).ok());
    Some(Vector::from_values(values(literals, value)?, validity(literals)))
}

/// Returns the digits before and after the decimal point.
fn digits(number: &str) -> Option<(&str, &str)> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    (is_digits(whole) && is_digits(fraction) && whole.len() + fraction.len() > 0).then_some((whole, fraction))
}

/// Returns a number times a power of ten; `None` if fractional digits remain.
fn unscaled(literal: Literal<'_>, scale: usize) -> Option<i128> {
    let Literal::Number(number, is_negative) = literal else { return None };
    let (whole, fraction) = digits(number)?;
    if fraction.len() > scale || whole.len() + scale > DECIMAL_DIGITS_MAX {
        return None;
    }
    let zeros = std::iter::repeat_n(b'0', scale - fraction.len());
    let all = whole.bytes().chain(fraction.bytes()).chain(zeros);
    let value = all.fold(0i128, |value, digit| value * 10 + (digit - b'0') as i128);
    Some(if is_negative { -value } else { value })
}

fn double(literal: Literal<'_>) -> Option<f64> {
    let Literal::Number(number, is_negative) = literal else { return None };
    let (whole, fraction) = digits(number)?;
    if whole.len() + fraction.len() > DOUBLE_DIGITS_MAX {
        return None;
    }
    let value: f64 = number.parse().ok()?;
    // Decimals have no negative zero.
    Some(if is_negative && value != 0.0 { -value } else { value })
}
