//! Text functions.

use arrow_schema::DataType;
use godwit_common::{Error, Result};
use godwit_vector::kernels::boolean::both_valid;
use godwit_vector::kernels::string::{char_count, map_parts, substring};
use godwit_vector::{Bitmap, ColumnType, Data, Flat, PhysicalType, StrColumn, Vector};

use crate::cast::{is_text, to_physical};
use crate::expression::Kernel;
use crate::{Expression, range};

/// Compiles a text function by name if it has a kernel for these arguments.
pub(crate) fn compile(name: &str, arguments: &[Expression], logical: &DataType) -> Option<Expression> {
    let text = |index: usize| arguments.get(index).is_some_and(|argument| is_text(&argument.output().logical));
    let number = |index: usize| arguments.get(index).is_some_and(|argument| argument.output().logical.is_integer());
    let function = match (name, arguments.len()) {
        ("substr" | "substring", 2) if text(0) && number(1) => Function::Substring,
        ("substr" | "substring", 3) if text(0) && number(1) && number(2) => Function::Substring,
        ("left", 2) if text(0) && matches!(arguments[1].as_literal(), Some((_, false))) => {
            let count = range::of_flat(arguments[1].as_literal()?.0)?.min;
            Function::Left(u32::try_from(count).ok()?)
        }
        ("character_length" | "length" | "char_length", 1) if text(0) => Function::CharCount,
        ("octet_length", 1) if text(0) => Function::ByteCount,
        ("starts_with", 2) if text(0) && text(1) => Function::StartsWith,
        ("ends_with", 2) if text(0) && text(1) => Function::EndsWith,
        _ => return None,
    };
    let physical = match function {
        Function::CharCount | Function::ByteCount => PhysicalType::I32,
        Function::StartsWith | Function::EndsWith => PhysicalType::Bool,
        _ => PhysicalType::Str,
    };
    let nullable = arguments.iter().any(|argument| argument.output().nullable);
    let range = (physical == PhysicalType::I32).then(|| range::new(0, i32::MAX as i128));
    let output = ColumnType { logical: logical.clone(), physical, nullable, range };
    let arguments = arguments.iter().map(|argument| match argument.output().physical {
        physical if physical.is_integer() => to_physical(argument, PhysicalType::I64),
        _ => argument.clone(),
    });
    Some(Expression::strict(function, arguments.collect(), output))
}

#[derive(Clone, Copy)]
enum Function {
    /// From a position, optionally up to a length, in characters.
    Substring,
    /// The first characters.
    Left(u32),
    CharCount,
    ByteCount,
    StartsWith,
    EndsWith,
}

impl Kernel for Function {
    fn evaluate(&self, arguments: &[Vector], _rows: usize) -> Result<Vector> {
        let flat = arguments[0].to_flat();
        let strings = flat.strings();
        let kept = |flat: Flat| Vector::flat(flat, None).with_validity(arguments[0].validity().cloned());
        Ok(match self {
            Function::Substring => return substrings(arguments),
            Function::Left(count) => {
                let count = *count as i64;
                kept(Flat::Str(map_parts(strings, |_, string| substring(string, 1, Some(count)))))
            }
            Function::CharCount => {
                kept(Flat::I32(strings.iter().map(|string| char_count(string) as i32).collect::<Vec<_>>().into()))
            }
            Function::ByteCount => {
                kept(Flat::I32(strings.views().iter().map(|view| view.len() as i32).collect::<Vec<_>>().into()))
            }
            Function::StartsWith => test_pairs(strings, arguments, |string, part| string.starts_with(part)),
            Function::EndsWith => test_pairs(strings, arguments, |string, part| string.ends_with(part)),
        })
    }

    fn can_fail(&self) -> bool {
        matches!(self, Function::Substring)
    }
}

/// Strings, one per row or one for all.
struct Text {
    strings: StrColumn,
    constant: bool,
}

impl Text {
    fn of(vector: &Vector) -> Text {
        match vector.data() {
            Data::Constant(flat) => Text { strings: flat.strings().clone(), constant: true },
            _ => Text { strings: vector.to_flat().strings().clone(), constant: false },
        }
    }

    fn get(&self, row: usize) -> &[u8] {
        self.strings.get(if self.constant { 0 } else { row })
    }
}

fn test_pairs(strings: &StrColumn, arguments: &[Vector], test: impl Fn(&[u8], &[u8]) -> bool) -> Vector {
    let parts = Text::of(&arguments[1]);
    let bytes = strings.iter().enumerate().map(|(row, string)| test(string, parts.get(row)) as u8).collect();
    Vector::from_bools(bytes, None).with_validity(both_valid(&arguments[0], &arguments[1]))
}

fn substrings(arguments: &[Vector]) -> Result<Vector> {
    let flat = arguments[0].to_flat();
    let strings = flat.strings();
    let starts = arguments[1].to_flat();
    let starts = starts.values::<i64>();
    let mut validity = both_valid(&arguments[0], &arguments[1]);
    let parts = match arguments.get(2) {
        None => map_parts(strings, |row, string| substring(string, starts[row], None)),
        Some(lengths) => {
            if let Some(other) = lengths.validity() {
                validity = Some(validity.map_or_else(|| other.clone(), |validity| validity.and(other).into()));
            }
            let flat = lengths.to_flat();
            let lengths = flat.values::<i64>();
            let valid = |row: usize| validity.as_deref().is_none_or(|validity: &Bitmap| validity.get(row));
            if lengths.iter().enumerate().any(|(row, &length)| length < 0 && valid(row)) {
                return Err(Error::user("substring with a negative length"));
            }
            map_parts(strings, |row, string| substring(string, starts[row], Some(lengths[row].max(0))))
        }
    };
    Ok(Vector::flat(Flat::Str(parts), None).with_validity(validity))
}
