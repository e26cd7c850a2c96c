//! Formatting of values in fields.

use godwit_common::{Error, Result, SqlState};

use super::numbers::{write_float, write_integer};
use super::template::{Align, Sign, Size, Spec, Style};
use crate::rows::Writer;
use crate::text::characters::after;
use crate::text::quote::{write_literal, write_name};

/// A value.
#[derive(Debug, Clone, Copy)]
pub(super) enum Cell<'c> {
    Null,
    Boolean(bool),
    Integer(i128),
    Float(f64),
    Text(&'c str),
}

impl Cell<'_> {
    fn type_name(self) -> &'static str {
        match self {
            Cell::Null => "NULL",
            Cell::Boolean(_) => "BOOLEAN",
            Cell::Integer(_) => "an integer",
            Cell::Float(_) => "a number with a fraction",
            Cell::Text(_) => "a text",
        }
    }
}

/// Writes values into fields.
#[derive(Default)]
pub(super) struct Fields {
    /// The value, before the width of its padding is known.
    value: String,
}

/// Maximum precision: no number has more nonzero digits.
const PRECISION_MAX: usize = 10_000;

impl Fields {
    pub(super) fn write<'c>(
        &mut self,
        cell: Cell<'c>,
        spec: &Spec,
        style: Style,
        others: &impl Fn(usize) -> Cell<'c>,
        out: &mut Writer<'_>,
    ) -> Result<()> {
        let (width, is_left) = width_of(spec, style, others)?;
        let spec = &Spec { align: if is_left { Some(Align::Left) } else { spec.align }, ..*spec };
        let precision = precision_of(spec, others)?;
        match cell {
            Cell::Boolean(value) if matches!(spec.kind, None | Some('s')) => {
                write_text(if value { "true" } else { "false" }, spec, style, width, precision, out)
            }
            Cell::Boolean(value) => self.write_number(Cell::Integer(value.into()), spec, style, width, precision, out),
            Cell::Integer(_) | Cell::Float(_) => self.write_number(cell, spec, style, width, precision, out),
            Cell::Text(text) => match (style, spec.kind) {
                (Style::Postgres, _) => write_postgres(Some(text), spec, width, out),
                (_, None | Some('s')) => write_text(text, spec, style, width, precision, out),
                _ => Err(unfit(cell, spec)),
            },
            Cell::Null => write_postgres(None, spec, width, out),
        }
    }

    fn write_number(
        &mut self,
        cell: Cell<'_>,
        spec: &Spec,
        style: Style,
        width: usize,
        precision: Option<usize>,
        out: &mut Writer<'_>,
    ) -> Result<()> {
        let kind = spec.kind.filter(|&kind| kind != 's' && kind != 'n');
        if let (Cell::Integer(number), Some('c')) = (cell, kind) {
            let character = u32::try_from(number).ok().and_then(char::from_u32).ok_or_else(|| unfit(cell, spec))?;
            return write_text(character.encode_utf8(&mut [0; 4]), spec, Style::Percent, width, None, out);
        }
        let sign = self.take_number(cell, kind, spec, style, precision)?;
        let has_digits = !matches!(cell, Cell::Float(number) if !number.is_finite());
        let align = match spec.align {
            Some(Align::Digits) if !has_digits => Align::Right,
            align => align.unwrap_or(Align::Right),
        };
        let fill = if has_digits || spec.fill != '0' { spec.fill } else { ' ' };
        let length = sign.len() + self.value.chars().count();
        let missing = width.saturating_sub(length);
        out.reserve(missing.saturating_mul(fill.len_utf8()).saturating_add(self.value.len() + 1))?;
        let (before, between, behind) = match align {
            Align::Left => (0, 0, missing),
            Align::Right => (missing, 0, 0),
            Align::Center => (missing / 2, 0, missing - missing / 2),
            Align::Digits => (0, missing, 0),
        };
        // The `0x` of digits is treated as a part of the sign.
        let prefix = if spec.is_alternate { prefix_of(kind) } else { "" };
        let (prefix, digits) = match self.value.strip_prefix(prefix) {
            Some(digits) => (prefix, digits),
            None => ("", self.value.as_str()),
        };
        fill_up(fill, before, out);
        out.push_str(sign);
        out.push_str(prefix);
        fill_up(fill, between, out);
        out.push_str(digits);
        fill_up(fill, behind, out);
        Ok(())
    }

    /// Takes the digits of a number; returns its sign.
    fn take_number(
        &mut self,
        cell: Cell<'_>,
        kind: Option<char>,
        spec: &Spec,
        style: Style,
        precision: Option<usize>,
    ) -> Result<&'static str> {
        self.value.clear();
        let is_negative = match (cell, kind) {
            (Cell::Integer(number), None | Some('d' | 'i' | 'u' | 'x' | 'X' | 'o' | 'b' | 'B')) => {
                if style == Style::Braces && precision.is_some() {
                    return Err(refused("a field of an integer takes no precision"));
                }
                // C shows negative numbers as their bits.
                let is_unsigned = style == Style::Percent && !matches!(kind, None | Some('d' | 'i'));
                let magnitude = match is_unsigned {
                    true => i64::try_from(number).map_or(number as u128, |narrow| u128::from(narrow as u64)),
                    false => number.unsigned_abs(),
                };
                write_integer(&mut self.value, magnitude, spec, precision.unwrap_or(1));
                number < 0 && !is_unsigned
            }
            (Cell::Integer(number), Some('e' | 'E' | 'f' | 'F' | 'g' | 'G')) => {
                write_float(&mut self.value, number as f64, kind, spec, precision);
                number < 0
            }
            (Cell::Float(number), None | Some('e' | 'E' | 'f' | 'F' | 'g' | 'G')) => {
                write_float(&mut self.value, number, kind, spec, precision);
                number.is_sign_negative() && !number.is_nan()
            }
            _ => return Err(unfit(cell, spec)),
        };
        Ok(sign_of(is_negative, spec))
    }
}

/// Returns the prefix of digits of a kind.
pub(super) fn prefix_of(kind: Option<char>) -> &'static str {
    match kind {
        Some('x') => "0x",
        Some('X') => "0X",
        Some('b') => "0b",
        Some('B') => "0B",
        _ => "",
    }
}

/// Returns the width of a field, and whether it was negative, which aligns the value to the left.
fn width_of<'c>(spec: &Spec, style: Style, others: &impl Fn(usize) -> Cell<'c>) -> Result<(usize, bool)> {
    match spec.width {
        None => Ok((0, false)),
        Some(Size::Fixed(width)) => Ok((width, false)),
        Some(Size::Argument(argument)) => {
            let width = match others(argument) {
                Cell::Integer(width) => width,
                Cell::Null if style == Style::Postgres => 0,
                // PostgreSQL's values have been cast to text.
                Cell::Text(text) if style == Style::Postgres => {
                    text.parse().map_err(|_| refused(format!("'{text}' is no width of a field")))?
                }
                other => return Err(refused(format!("the width of a field is {}", other.type_name()))),
            };
            if width < 0 && style == Style::Braces {
                return Err(refused(format!("the width of a field is {width}")));
            }
            Ok((usize::try_from(width.unsigned_abs()).unwrap_or(usize::MAX), width < 0))
        }
    }
}

fn precision_of<'c>(spec: &Spec, others: &impl Fn(usize) -> Cell<'c>) -> Result<Option<usize>> {
    let precision = match spec.precision {
        None => return Ok(None),
        Some(Size::Fixed(precision)) => precision as i128,
        Some(Size::Argument(argument)) => match others(argument) {
            Cell::Integer(precision) => precision,
            other => return Err(refused(format!("the precision of a field is {}", other.type_name()))),
        },
    };
    match usize::try_from(precision) {
        Ok(precision) if precision <= PRECISION_MAX => Ok(Some(precision)),
        _ => Err(refused(format!("the precision of a field is {precision}, beyond 0 to {PRECISION_MAX}"))),
    }
}

fn sign_of(is_negative: bool, spec: &Spec) -> &'static str {
    match (is_negative, spec.sign) {
        (true, _) => "-",
        (false, Sign::Minus) => "",
        (false, Sign::Plus) => "+",
        (false, Sign::Space) => " ",
    }
}

fn write_text(
    text: &str,
    spec: &Spec,
    style: Style,
    width: usize,
    precision: Option<usize>,
    out: &mut Writer<'_>,
) -> Result<()> {
    if style == Style::Braces && (spec.sign != Sign::Minus || spec.align == Some(Align::Digits)) {
        return Err(refused("a field of a text takes neither a sign nor digits' alignment"));
    }
    let text = precision.map_or(text, |precision| &text[..after(text, precision)]);
    let fill = if style == Style::Braces { spec.fill } else { ' ' };
    let missing = if width == 0 { 0 } else { width.saturating_sub(text.chars().count()) };
    out.reserve(missing.saturating_mul(fill.len_utf8()).saturating_add(text.len()))?;
    let before = match spec.align {
        None | Some(Align::Left) => 0,
        Some(Align::Center) => missing / 2,
        Some(Align::Right | Align::Digits) => missing,
    };
    fill_up(fill, before, out);
    out.push_str(text);
    fill_up(fill, missing - before, out);
    Ok(())
}

/// Writes a value in PostgreSQL's formats: names and literals are quoted.
fn write_postgres(text: Option<&str>, spec: &Spec, width: usize, out: &mut Writer<'_>) -> Result<()> {
    let fill_from = out.row_mut().len();
    match (spec.kind, text) {
        (Some('I'), None) => return Err(refused("NULL is no name")),
        (Some('I'), Some(text)) => write_name(text, out)?,
        (Some('L'), None) => out.push_str("NULL"),
        (Some('L'), Some(text)) => write_literal(text, out)?,
        (_, text) => out.push_str(text.unwrap_or("")),
    }
    let written = out.row_mut()[fill_from..].iter().filter(|&&byte| byte & 0xC0 != 0x80).count();
    let missing = width.saturating_sub(written);
    out.reserve(missing)?;
    fill_up(' ', missing, out);
    if spec.align != Some(Align::Left) {
        out.row_mut()[fill_from..].rotate_right(missing);
    }
    Ok(())
}

fn fill_up(fill: char, count: usize, out: &mut Writer<'_>) {
    (0..count).for_each(|_| out.push(fill));
}

fn unfit(cell: Cell<'_>, spec: &Spec) -> Error {
    let kind = spec.kind.unwrap_or('s');
    refused(format!("a field of the kind '{kind}' doesn't take {}", cell.type_name()))
}

fn refused(message: impl Into<String>) -> Error {
    Error::user(message).with_code(SqlState::INVALID_PARAMETER_VALUE)
}
