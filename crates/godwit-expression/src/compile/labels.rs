//! Casts of ENUM labels to text and back. In vectors, a label is its position, so the text is a dictionary vector over
//! all labels.

use std::collections::HashMap;
use std::sync::Arc;

use godwit_common::Result;
use godwit_types::{EnumType, SqlType, Value, parse_value};
use godwit_vector::sql::{column_type, vector_of_values};
use godwit_vector::{Dictionary, Flat, StrColumn, Vector, match_flat};

use super::values::text_at;
use crate::Expression;
use crate::expression::Kernel;

/// Casts labels to text.
pub(super) fn as_text(argument: Expression, definition: &Arc<EnumType>) -> Result<Expression> {
    let output = column_type(&SqlType::Varchar, argument.output().nullable)?;
    let labels = StrColumn::from_strings(definition.labels.iter().map(|label| label.as_bytes()));
    let dictionary = Arc::new(Dictionary::new(Flat::Str(labels), false));
    let kernel = Texts { definition: Arc::clone(definition), dictionary };
    Ok(Expression::strict(kernel, vec![argument], output))
}

/// Casts text to labels; NULL for other texts if `is_lenient`.
pub(super) fn of_text(
    argument: Expression,
    to: &SqlType,
    definition: &EnumType,
    is_lenient: bool,
) -> Result<Expression> {
    let output = column_type(to, argument.output().nullable || is_lenient)?;
    let places = definition.labels.iter().cloned().zip(0..).collect();
    Ok(Expression::strict(Places { to: to.clone(), places, is_lenient }, vec![argument], output))
}

struct Texts {
    definition: Arc<EnumType>,
    dictionary: Arc<Dictionary>,
}

impl Kernel for Texts {
    #[allow(clippy::unnecessary_cast, reason = "one of the types is i128 already")]
    fn evaluate(&self, arguments: &[Vector], rows: usize) -> Result<Vector> {
        let flat = arguments[0].to_flat();
        let code = |row: usize, place: i128| match arguments[0].is_valid(row) {
            true => Ok(self.definition.checked_place(place)? as u32),
            false => Ok(0),
        };
        let codes: Vec<u32> = match_flat!(&flat,
            places => (0..rows).map(|row| code(row, places[row] as i128)).collect::<Result<_>>()?,
            _strings => unreachable!("labels are held as places"),
            _array => unreachable!("labels are held as places"));
        let texts = Vector::dictionary(codes.into(), Arc::clone(&self.dictionary), None);
        Ok(texts.with_validity(arguments[0].validity().cloned()))
    }
}

struct Places {
    to: SqlType,
    places: HashMap<Arc<str>, i128>,
    is_lenient: bool,
}

impl Kernel for Places {
    fn evaluate(&self, arguments: &[Vector], rows: usize) -> Result<Vector> {
        let texts = arguments[0].to_flat();
        let place = |row| {
            if !arguments[0].is_valid(row) {
                return Ok(Value::Null);
            }
            let text = text_at(&texts, row)?;
            match self.places.get(text) {
                Some(place) => Ok(Value::Integer(*place)),
                None if self.is_lenient => Ok(Value::Null),
                None => parse_value(text, &self.to),
            }
        };
        vector_of_values(&(0..rows).map(place).collect::<Result<Vec<_>>>()?, &self.to)
    }

    fn can_fail(&self) -> bool {
        !self.is_lenient
    }
}
