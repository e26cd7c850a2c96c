//! `to_number(text, template)`: reads the number in a text, whose digits are at the places of a template.
//!
//! A place without a digit takes nothing from the text, so numbers may be shorter than the template; the same goes for
//! missing separators. Text after the end of the template is left unread, as in PostgreSQL.

use std::sync::Arc;

use godwit_common::{Error, Result, SqlState};
use godwit_plan::ArgumentType;
use godwit_types::{SqlType, Value};
use godwit_vector::Vector;

use super::super::digits::vector_of_digits;
use super::{Chosen, Leading, Part, Template, parse};
use crate::choose::fits;
use crate::function::{Form, Function};
use crate::kernel::{Kernel, Work};
use crate::list::types::bad_argument;
use crate::number::number_function;
use crate::rows::{Strings, for_each_row, valid_rows};

pub(in super::super) fn to_number() -> Function {
    number_function(&["to_number"], "The number in a text, in a constant template such as '9,990.00': a DECIMAL")
        .example("to_number('-1,234.5', '9G999D99')", "-1234.50")
        .example("to_number('<7>', '99PR')", "-7")
        .chosen("to_number(VARCHAR, VARCHAR)", choose)
}

fn choose(arguments: &[ArgumentType<'_>]) -> Chosen {
    let [text, template] = arguments else { return None };
    if !fits(text, &SqlType::Varchar) || !fits(template, &SqlType::Varchar) {
        return None;
    }
    let Some(Value::Text(template)) = template.value else {
        return Some(Err(bad_argument(
            1,
            "the template of to_number says how many places the number has: it must be a constant",
        )));
    };
    let template = match parse(template) {
        Ok(template) => template,
        Err(error) => return Some(Err(bad_argument(1, error.message()))),
    };
    if template.roman.is_some() || template.has_exponent || template.shift > 0 {
        return Some(Err(bad_argument(1, "to_number doesn't read RN, EEEE and V")));
    }
    let digits = template.whole_places + template.fraction_places;
    let places = |places: usize| u8::try_from(places).ok().filter(|places| *places <= SqlType::DECIMAL_PRECISION_MAX);
    let (Some(precision), Some(scale)) = (places(digits), places(template.fraction_places)) else {
        let most = SqlType::DECIMAL_PRECISION_MAX;
        return Some(Err(bad_argument(1, format!("a template of to_number has {most} places at most, not {digits}"))));
    };
    let result = SqlType::decimal(precision.max(1), scale);
    let kernel = Arc::new(ToNumber { template, result: result.clone() });
    Some(Ok(Form::strict(vec![SqlType::Varchar, SqlType::Varchar], result, true, false, kernel)))
}

struct ToNumber {
    template: Template,
    result: SqlType,
}

impl Kernel for ToNumber {
    fn evaluate(&self, arguments: &[Vector], rows: usize, work: &dyn Work) -> Result<Vector> {
        let texts = Strings::of(&arguments[0]);
        let valid = valid_rows(arguments);
        let mut numbers = Vec::with_capacity(rows);
        for_each_row(rows, valid.as_deref(), work, |row, is_valid| {
            numbers.push(if is_valid { self.template.read(texts.text(row))? } else { 0 });
            Ok(())
        })?;
        Ok(vector_of_digits::<i128>(numbers, &self.result)?.with_validity(valid))
    }
}

/// What has been read of a text.
struct Reading<'t> {
    rest: &'t str,
    is_negative: bool,
    digits: i128,
    /// Places that had a digit.
    places: usize,
}

impl Reading<'_> {
    fn eat(&mut self, character: char) -> bool {
        let after = self.rest.strip_prefix(character);
        self.rest = after.unwrap_or(self.rest);
        after.is_some()
    }

    fn sign(&mut self) {
        if self.eat('-') {
            self.is_negative = true;
        } else {
            self.eat('+');
        }
    }

    /// Takes a digit, if there is one next; called at most 38 times.
    fn digit(&mut self) -> bool {
        let Some(digit) = self.rest.chars().next().and_then(|character| character.to_digit(10)) else { return false };
        self.rest = &self.rest[1..];
        self.digits = self.digits * 10 + i128::from(digit);
        self.places += 1;
        true
    }
}

impl Template {
    /// Reads the digits of the number in a text, as many after the point as the template has places.
    fn read(&self, text: &str) -> Result<i128> {
        let mut reading = Reading { rest: text.trim_start(), is_negative: false, digits: 0, places: 0 };
        let mut missing = self.fraction_places;
        for part in &self.parts {
            if let Part::Whole(_) | Part::Fraction(_) | Part::Point = part
                && reading.places == 0
            {
                self.read_leading(&mut reading);
            }
            match part {
                Part::Whole(_) => _ = reading.digit(),
                Part::Fraction(_) => missing -= usize::from(reading.digit()),
                Part::Point => _ = reading.eat('.'),
                Part::Group => _ = reading.eat(','),
                Part::Currency => _ = reading.eat('$'),
                Part::TrailingSign | Part::Minus | Part::Plus | Part::Sign => reading.sign(),
                Part::Text(skipped) => skip(&mut reading.rest, skipped.chars().count()),
                Part::Ordinal { .. } => skip(&mut reading.rest, 2),
            }
        }
        if reading.places == 0 {
            return Err(Error::user(format!("there is no number in '{text}' where the template has places for it"))
                .with_code(SqlState::INVALID_TEXT_REPRESENTATION));
        }
        let digits = reading.digits * 10i128.pow(missing as u32);
        Ok(if reading.is_negative { -digits } else { digits })
    }

    fn read_leading(&self, reading: &mut Reading<'_>) {
        reading.rest = reading.rest.trim_start();
        match self.leading {
            Leading::Nothing => {}
            Leading::Bracket if reading.eat('<') => reading.is_negative = true,
            _ => reading.sign(),
        }
    }
}

fn skip(text: &mut &str, characters: usize) {
    *text = text.char_indices().nth(characters).map_or("", |(at, _)| &text[at..]);
}

#[cfg(test)]
mod tests {
    use crate::testing::{call, error_of, shown};

    #[test]
    fn numbers_are_read_where_places_are() {
        for (text, template, expected) in [
            ("485", "999", "485"),
            ("-485", "999", "-485"),
            ("  12", "9999", "12"),
            ("12,454.8-", "99G999D9S", "-12454.8"),
            ("-1,234.5", "9G999D99", "-1234.50"),
            ("1234.5", "9G999D99", "1234.50"),
            ("0.25", "9.9", "0.2"),
            (".5", "9.99", "0.50"),
            ("5", "9.99", "5.00"),
            ("<7>", "99PR", "-7"),
            ("7", "99PR", "7"),
            ("$ 12", "L99", "12"),
            ("485-", "999MI", "-485"),
            ("485+", "999SG", "485"),
            ("+485", "S999", "485"),
            ("no 12", "\"no \"99", "12"),
            ("12th", "99th", "12"),
            ("123456", "99", "12"),
            ("99999999999999999999999999999999999999", &"9".repeat(38), "99999999999999999999999999999999999999"),
        ] {
            assert_eq!(
                shown("to_number", &[&format!("'{text}'"), &format!("'{template}'")]),
                expected,
                "{text} {template}"
            );
        }
        assert_eq!(call("to_number", &["'1.5'", "'99D99'"]).unwrap().1.to_string(), "DECIMAL(4,2)");
        assert_eq!(shown("to_number", &["NULL", "'99'"]), "NULL");
    }

    #[test]
    fn what_has_no_number() {
        assert!(error_of("to_number", &["'abc'", "'999'"]).contains("no number in 'abc'"));
        assert!(error_of("to_number", &["''", "'999'"]).contains("no number"));
    }
}
