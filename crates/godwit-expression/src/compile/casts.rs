//! Casts, with the semantics of [`cast_value`].
//!
//! Between numbers they are free where the proven range fits the new type. Checks are done by kernels, one comparison
//! per value; TRY_CAST turns values that fail them into NULL. Text is read and written by `godwit-types`. Nested values
//! are cast by the kernels of their parts, and written as texts part by part.

use std::sync::Arc;

use godwit_common::{Error, Result, SqlState};
use godwit_scalar::Work;
use godwit_types::calendar::{MICROS_PER_DAY, SECONDS_PER_DAY, date_of_timestamp, finite_timestamp};
use godwit_types::calendar::{is_finite_timestamp, ticks_per_second, timestamp_of_date};
use godwit_types::{SqlType, Value, cast_kind, cast_value, parse_value, write_integer, write_value};
use godwit_vector::kernels::arithmetic::Arithmetic as Operator;
use godwit_vector::sql::{Reader, arrow_type, column_type, vector_of_values};
use godwit_vector::{ColumnType, Native, PhysicalType, StrColumn, ValueRange, Vector, match_flat};

use super::checked::Checked;
use super::labels;
use super::nested_casts::{self, Counted};
use super::part_casts::{NestedCast, PartCast};
use super::rows::RowFunction;
use super::types::{exact_limit, is_held_as_text};
use super::values::text_at;
use crate::arithmetic::{Target, compile_exact, integer_literal, shortened};
use crate::cast::{ExactType, does_not_fit, exact_to_exact, relabelled, to_boolean, to_float, to_physical, unfailing};
use crate::expression::Kernel;
use crate::temporal::{FINITE_DAYS, is_proven_finite};
use crate::{Expression, range};

/// Number of digits that always fit into an `i64`.
const SHORT_DIGITS: usize = 18;

/// Compiles `CAST(argument AS to)`, or TRY_CAST if `lenient`.
pub(super) fn compile(
    argument: Expression,
    from: &SqlType,
    to: &SqlType,
    lenient: bool,
    text: &str,
    work: &Arc<dyn Work>,
) -> Result<Expression> {
    if from == to {
        return Ok(argument);
    }
    if matches!(argument.as_literal(), Some((_, true))) {
        return Expression::literal(&Value::Null, to);
    }
    // Quoted text to which nothing gave a type is text.
    let from = if *from == SqlType::Unknown { &SqlType::Varchar } else { from };
    if from != to && cast_kind(from, to).is_none() {
        let error = Error::user(format!("there is no cast from {from} to {to}"));
        return Err(error.with_code(SqlState::CANNOT_COERCE));
    }
    let cast = Cast { from, to, lenient, text };
    let is_number = |ty: &SqlType| ty.is_numeric() || *ty == SqlType::Boolean;
    match (from, to) {
        _ if from == to => Ok(argument),
        // Numbers in strings have no kernels.
        (SqlType::UHugeInt, other) | (other, SqlType::UHugeInt) if is_number(other) => cast.by_rows(argument),
        _ if is_number(from) && is_number(to) => cast.number(argument),
        (SqlType::Date, _) if to.is_timestamp() => cast.midnight(argument),
        _ if from.is_timestamp() && to.is_timestamp() => cast.timestamp(argument),
        (_, SqlType::Date) if from.is_timestamp() => cast.day(argument),
        (_, SqlType::Time) if from.is_timestamp() => cast.time_of_day(argument),
        (_, SqlType::Varchar) if is_held_as_text(from) => Ok(argument),
        (SqlType::Enum(definition), SqlType::Varchar) => labels::as_text(argument, definition),
        (_, SqlType::Varchar) if from.is_nested() || *from == SqlType::Blob => {
            nested_casts::written(argument, from, work)
        }
        (_, SqlType::Varchar) => cast.written(argument),
        (SqlType::Varchar, SqlType::Enum(definition)) => labels::of_text(argument, to, definition, lenient),
        (SqlType::Varchar, _) => cast.read(argument, work),
        // The text of a bit string isn't that of the number that it stands for.
        (SqlType::Bit, _) => cast.by_rows(argument),
        _ if is_held_as_text(from) => cast.read(argument, work),
        _ if from.is_nested() && to.is_nested() => cast.nested(argument, work),
        _ => cast.by_rows(argument),
    }
}

/// Casts a date to its first moment, as some timestamp type.
pub(super) fn midnight(date: Expression, to: &SqlType, text: &str) -> Result<Expression> {
    if matches!(date.as_literal(), Some((_, true))) {
        return Expression::literal(&Value::Null, to);
    }
    Cast { from: &SqlType::Date, to, lenient: false, text }.midnight(date)
}

struct Cast<'t> {
    from: &'t SqlType,
    to: &'t SqlType,
    lenient: bool,
    /// For messages.
    text: &'t str,
}

impl Cast<'_> {
    /// The error for a value that doesn't fit the type.
    fn failure(&self) -> Error {
        let error = does_not_fit(&shortened(self.text), &self.to.to_string());
        if self.to.is_numeric() { error } else { error.with_code(SqlState::DATETIME_FIELD_OVERFLOW) }
    }

    /// Applies a kernel that checks each value; `proven` holds all results.
    fn checked<A: Native, R: Native>(
        &self,
        argument: Expression,
        proven: Option<ValueRange>,
        can_fail: bool,
        convert: impl Fn(A) -> Option<R> + Send + Sync + 'static,
    ) -> Result<Expression> {
        let argument = to_physical(&argument, A::PHYSICAL);
        let nullable = argument.output().nullable || (self.lenient && can_fail);
        let output = ColumnType { logical: arrow_type(self.to)?, physical: R::PHYSICAL, nullable, range: proven };
        let kernel = Checked::new(convert, self.failure()).lenient(self.lenient).failing(can_fail);
        Ok(Expression::strict(kernel, vec![argument], output))
    }

    fn number(&self, argument: Expression) -> Result<Expression> {
        let logical = arrow_type(self.to)?;
        match (self.from, self.to) {
            (_, SqlType::Boolean) => Ok(to_boolean(argument)),
            (SqlType::Double, SqlType::Real) => self.checked(argument, None, true, |value: f64| {
                let single = value as f32;
                (single.is_finite() || !value.is_finite()).then_some(single)
            }),
            (_, SqlType::Real | SqlType::Double) => Ok(to_float(argument, &logical)),
            (SqlType::Real | SqlType::Double, _) => self.exact_of_float(argument),
            _ => {
                let limit = exact_limit(self.to).expect("an integer or decimal");
                let to = ExactType { logical: &logical, limit, name: self.to.to_string() };
                match self.lenient && exact_to_exact(unfailing(&argument), &to, self.text)?.can_fail() {
                    true => self.lenient_exact(argument, limit),
                    false => exact_to_exact(argument, &to, self.text),
                }
            }
        }
    }

    /// Casts between integers and decimals, with NULL for values that don't fit.
    fn lenient_exact(&self, argument: Expression, limit: ValueRange) -> Result<Expression> {
        let scale = |ty: &SqlType| ty.decimal_digits().map_or(0, |(_, scale)| i32::from(scale));
        let digits = scale(self.to) - scale(self.from);
        let cast = self.checked(argument, Some(limit), true, move |value: i128| {
            let scaled = match digits {
                0.. => value.checked_mul(10i128.checked_pow(digits.unsigned_abs())?)?,
                _ => match 10i128.checked_pow(digits.unsigned_abs()) {
                    Some(divisor) => range::divide_rounded(value, divisor),
                    None => 0,
                },
            };
            (limit.min <= scaled && scaled <= limit.max).then_some(scaled)
        })?;
        self.narrowed(&cast)
    }

    /// Converts to the natural physical type of the result, which holds all values.
    fn narrowed(&self, cast: &Expression) -> Result<Expression> {
        Ok(to_physical(cast, column_type(self.to, true)?.physical))
    }

    /// Rounds half to even for integers; for decimals, the shortest text of the float is rounded half away from zero.
    fn exact_of_float(&self, argument: Expression) -> Result<Expression> {
        let limit = exact_limit(self.to).expect("an integer or decimal");
        let cast = match self.to {
            SqlType::Decimal { scale, .. } => self.decimal_of_float(argument, *scale, limit),
            _ => self.integer_of_float(argument, limit),
        };
        self.narrowed(&cast?)
    }

    fn decimal_of_float(&self, argument: Expression, scale: u8, limit: ValueRange) -> Result<Expression> {
        let factor = 10f64.powi(i32::from(scale));
        let (from, to) = (self.from.clone(), self.to.clone());
        let precision = if from == SqlType::Real { f64::from(f32::EPSILON) } else { f64::EPSILON };
        self.checked(argument, Some(limit), true, move |value: f64| {
            let scaled = value * factor;
            // The product is off by a few units in the last place, which matters only next to a half.
            let from_half = (scaled.fract().abs() - 0.5).abs();
            if from_half > 4.0 * precision * scaled.abs() {
                return whole_inside(scaled.round(), limit);
            }
            match cast_value(&Value::Float(value), &from, &to) {
                Ok(Value::Integer(value)) => Some(value),
                _ => None,
            }
        })
    }

    /// Computes as narrowly as the limits allow, where they, powers of two, are exact in DOUBLE.
    fn integer_of_float(&self, argument: Expression, limit: ValueRange) -> Result<Expression> {
        let (least, beyond) = (limit.min as f64, limit.max as f64 + 1.0);
        let rounded = move |value: f64| {
            let rounded = value.round_ties_even();
            (least..beyond).contains(&rounded).then_some(rounded)
        };
        if limit.fits(PhysicalType::I32) {
            self.checked(argument, Some(limit), true, move |value| rounded(value).map(|whole| whole as i32))
        } else if limit.fits(PhysicalType::I64) {
            self.checked(argument, Some(limit), true, move |value| rounded(value).map(|whole| whole as i64))
        } else {
            self.checked(argument, Some(limit), true, move |value: f64| whole_inside(value.round_ties_even(), limit))
        }
    }

    fn midnight(&self, argument: Expression) -> Result<Expression> {
        let logical = arrow_type(self.to)?;
        let per_day = SECONDS_PER_DAY * ticks_per_second(self.to);
        let limit = ValueRange::of_type(PhysicalType::I64).expect("an integer type");
        let target = Target { logical: &logical, limit, what: "timestamp" };
        let ticks = integer_literal(per_day.into(), &logical);
        let multiplied = |days| compile_exact(Operator::Multiply, days, ticks.clone(), &target, self.text);
        match !is_proven_finite(&argument) || self.lenient && multiplied(unfailing(&argument))?.can_fail() {
            true => self.checked(argument, None, true, move |days: i64| timestamp_of_date(days as i32, per_day)),
            false => multiplied(argument),
        }
    }

    /// Casts between units: to coarser ones, rounding half away from zero.
    fn timestamp(&self, argument: Expression) -> Result<Expression> {
        let (from, to) = (ticks_per_second(self.from), ticks_per_second(self.to));
        if from == to {
            return Ok(relabelled(&argument, &arrow_type(self.to)?));
        }
        if to > from {
            let factor = to / from;
            return self.checked(argument, None, true, move |ticks: i64| match is_finite_timestamp(ticks) {
                true => ticks.checked_mul(factor).and_then(finite_timestamp),
                false => Some(ticks),
            });
        }
        let divisor = i128::from(from / to);
        self.checked(argument, None, false, move |ticks: i64| match is_finite_timestamp(ticks) {
            true => i64::try_from(range::divide_rounded(ticks.into(), divisor)).ok(),
            false => Some(ticks),
        })
    }

    fn day(&self, argument: Expression) -> Result<Expression> {
        let per_day = SECONDS_PER_DAY * ticks_per_second(self.from);
        let fits = i64::MAX / per_day < i64::from(i32::MAX);
        let day = move |ticks: i128| ticks.div_euclid(per_day.into());
        let proven = argument.output().range.map(|bound| range::monotonic(bound, day));
        let proven = proven.filter(|proven| range::contains(FINITE_DAYS, *proven) && is_proven_finite(&argument));
        let can_fail = !fits && proven.is_none();
        self.checked(argument, proven, can_fail, move |ticks: i64| date_of_timestamp(ticks, per_day))
    }

    fn time_of_day(&self, argument: Expression) -> Result<Expression> {
        let per_second = ticks_per_second(self.from);
        let per_day = SECONDS_PER_DAY * per_second;
        let proven = range::new(0, i128::from(MICROS_PER_DAY) - 1);
        let can_fail = !is_proven_finite(&argument);
        self.checked(argument, Some(proven), can_fail, move |ticks: i64| {
            let ticks = finite_timestamp(ticks)?;
            let micros = i128::from(ticks.rem_euclid(per_day)) * i128::from(MICROS_PER_DAY);
            let micros = range::divide_rounded(micros, per_day.into());
            i64::try_from(micros).ok().map(|micros| micros % MICROS_PER_DAY)
        })
    }

    fn written(&self, argument: Expression) -> Result<Expression> {
        let output = column_type(self.to, argument.output().nullable)?;
        Ok(Expression::strict(Write { from: self.from.clone() }, vec![argument], output))
    }

    fn read(&self, argument: Expression, work: &Arc<dyn Work>) -> Result<Expression> {
        let output = column_type(self.to, argument.output().nullable || self.lenient)?;
        let kernel = Read { to: self.to.clone(), integers: self.to.integer_range(), is_lenient: self.lenient };
        Ok(match self.to.is_nested() {
            true => Expression::strict(Counted::new(kernel, &SqlType::Varchar, self.to, work), vec![argument], output),
            false => Expression::strict(kernel, vec![argument], output),
        })
    }

    fn by_rows(&self, argument: Expression) -> Result<Expression> {
        let nullable = argument.output().nullable || self.lenient;
        self.row_function().call(vec![(argument, self.from.clone())], nullable)
    }

    /// Casts nested values by the kernels of their parts; row by row, if there are none for keys that may become equal.
    fn nested(&self, argument: Expression, work: &Arc<dyn Work>) -> Result<Expression> {
        let output = column_type(self.to, argument.output().nullable || self.lenient)?;
        let by_rows = Counted::new(self.row_function().kernel(vec![self.from.clone()]), self.from, self.to, work);
        Ok(match PartCast::new(self.from, self.to, work)? {
            Some(parts) => {
                Expression::strict(NestedCast::new(self.from, parts, by_rows, work)?, vec![argument], output)
            }
            None => Expression::strict(by_rows, vec![argument], output),
        })
    }

    fn row_function(&self) -> RowFunction<impl Fn(&[Value]) -> Result<Value> + Send + Sync + use<>> {
        let (from, to, lenient) = (self.from.clone(), self.to.clone(), self.lenient);
        RowFunction {
            ty: to.clone(),
            is_strict: true,
            can_fail: !lenient,
            is_volatile: false,
            compute: move |values: &[Value]| match cast_value(&values[0], &from, &to) {
                Err(_) if lenient => Ok(Value::Null),
                cast => cast,
            },
        }
    }
}

/// Casts values to text.
struct Write {
    from: SqlType,
}

impl Kernel for Write {
    fn evaluate(&self, arguments: &[Vector], rows: usize) -> Result<Vector> {
        let (mut texts, mut ends) = (String::new(), Vec::with_capacity(rows));
        if self.from.integer_range().is_some() {
            write_integers(&arguments[0], &mut texts, &mut ends);
        } else {
            let reader = Reader::new(&arguments[0], &self.from)?;
            for row in 0..rows {
                match reader.value(row)? {
                    Value::Null => {}
                    value => write_value(&mut texts, &value, &self.from),
                }
                ends.push(texts.len());
            }
        }
        let flat = godwit_vector::Flat::Str(StrColumn::from_parts(texts.into_bytes(), &ends));
        Ok(Vector::flat(flat, None).with_validity(arguments[0].validity().cloned()))
    }
}

/// Writes the integers of all rows one after the other, nothing for NULL, and the end of each.
fn write_integers(vector: &Vector, texts: &mut String, ends: &mut Vec<usize>) {
    match_flat!(
        vector.to_flat(),
        values => for (row, &value) in values.iter().enumerate() {
            if vector.is_valid(row) {
                #[allow(clippy::unnecessary_cast, reason = "one of the types is i128 already")]
                write_integer(texts, value as i128);
            }
            ends.push(texts.len());
        },
        _texts => unreachable!("texts are no integers"),
        _lists => unreachable!("nor are lists")
    );
}

/// Casts text to values.
struct Read {
    to: SqlType,
    /// Smallest and largest value of an integer type.
    integers: Option<(i128, i128)>,
    is_lenient: bool,
}

impl Read {
    fn value(&self, text: &str) -> Result<Value> {
        if let Some((min, max)) = self.integers
            && let Some(value) = short_integer(text)
            && (min..=max).contains(&value)
        {
            return Ok(Value::Integer(value));
        }
        match parse_value(text, &self.to) {
            Err(_) if self.is_lenient => Ok(Value::Null),
            parsed => parsed.map_err(|error| match error.hint() {
                Some(_) => error,
                None => error.with_hint("use TRY_CAST to get NULL for values that can't be converted"),
            }),
        }
    }
}

impl Kernel for Read {
    fn evaluate(&self, arguments: &[Vector], rows: usize) -> Result<Vector> {
        let texts = arguments[0].to_flat();
        let value = |row| match arguments[0].is_valid(row) {
            true => self.value(text_at(&texts, row)?),
            false => Ok(Value::Null),
        };
        vector_of_values(&(0..rows).map(value).collect::<Result<Vec<_>>>()?, &self.to)
    }

    fn can_fail(&self) -> bool {
        !self.is_lenient
    }
}

/// Returns a whole number as an integer, if it is inside the limit.
fn whole_inside(number: f64, limit: ValueRange) -> Option<i128> {
    const BEYOND: f64 = (1u128 << 127) as f64;
    let value = (-BEYOND..BEYOND).contains(&number).then_some(number as i128)?;
    (limit.min <= value && value <= limit.max).then_some(value)
}

/// Returns the integer if the text consists of just a sign and a few digits.
fn short_integer(text: &str) -> Option<i128> {
    let (is_negative, digits) = text.strip_prefix('-').map_or((false, text), |digits| (true, digits));
    if digits.is_empty() || digits.len() > SHORT_DIGITS || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let value = digits.bytes().fold(0i64, |value, digit| value * 10 + i64::from(digit - b'0'));
    Some(i128::from(if is_negative { -value } else { value }))
}
