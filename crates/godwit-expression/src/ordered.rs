//! A value after its sort keys in one string: strings compare as the keys do, so the first value in an order is the one
//! in the smallest string.
//!
//! ```text
//! string    key 1 | key 2 | … | value, as it is in memory, or a text and its length | 1: a value, 0: NULL
//! key       0x01, value | NULL: 0x00 if NULLs come first, else 0x02;   descending: all bits of the value inverted
//! integer   big-endian, sign inverted        float   its bits as an integer of the same order; −0 is 0, all NaN are one
//! text      its bytes, 0x00 as 0x00 0xFF, then 0x00 0x00
//! ```
//!
//! The value is found from the end of the string, whatever the length of the keys. Where keys are equal, the bytes of
//! the values decide.

use arrow_schema::DataType;
use godwit_common::{Error, Result};
use godwit_vector::kernels::string::build;
use godwit_vector::{Bitmap, ColumnType, Flat, PhysicalType, StrColumn, Vector};

use crate::Expression;
use crate::expression::Kernel;

const NULL_FIRST: u8 = 0x00;
const VALUE: u8 = 0x01;
const NULL_LAST: u8 = 0x02;
/// Follows a zero byte of a text.
const ZERO: u8 = 0xFF;

/// A sort key.
#[derive(Debug, Clone)]
pub struct OrderedKey {
    /// The value to compare; not nested.
    pub expression: Expression,
    /// Largest first.
    pub descending: bool,
    /// NULLs before all values, otherwise after them.
    pub nulls_first: bool,
    /// True if there is no string where the key is NULL.
    pub required: bool,
}

/// Appends `value`, which isn't nested, to its keys; with `required`, there is no string where the value is NULL.
pub fn ordered_value(keys: &[OrderedKey], value: &Expression, required: bool) -> Expression {
    let arguments: Vec<Expression> = keys.iter().map(|key| &key.expression).chain([value]).cloned().collect();
    let is_required: Vec<bool> = keys.iter().map(|key| key.required).chain([required]).collect();
    let nullable =
        arguments.iter().zip(&is_required).any(|(argument, &required)| required && argument.output().nullable);
    let output = ColumnType { logical: DataType::Binary, physical: PhysicalType::Str, nullable, range: None };
    let directions = keys.iter().map(|key| (key.descending, key.nulls_first)).collect();
    Expression::strict(Join { directions, is_required }, arguments, output)
}

/// Extracts the values of type `physical` from such strings; NULL where there is no string.
pub fn value_of_ordered(strings: &Vector, physical: PhysicalType) -> Result<Vector> {
    let flat = strings.to_flat();
    let column = flat.strings();
    // The bytes of a value; `None` for NULL.
    let value = |row: usize| -> Result<Option<&[u8]>> {
        let string = if strings.is_valid(row) { column.get(row) } else { return Ok(None) };
        let (&validity, rest) = string.split_last().ok_or_else(cut_off)?;
        if validity == 0 {
            return Ok(None);
        }
        let (rest, len) = match physical {
            PhysicalType::Str => {
                let (rest, len) = rest.split_last_chunk().ok_or_else(cut_off)?;
                (rest, u32::from_be_bytes(*len) as usize)
            }
            physical => (rest, physical.width_bytes()),
        };
        let begin = rest.len().checked_sub(len).ok_or_else(cut_off)?;
        Ok(Some(&rest[begin..]))
    };
    let values = (0..strings.len()).map(value).collect::<Result<Vec<Option<&[u8]>>>>()?;
    macro_rules! words {
        ($($variant:ident: $t:ty),*) => {
            match physical {
                $( PhysicalType::$variant => Flat::$variant(values.iter().map(|value| {
                    let bytes = value.and_then(|bytes| bytes.try_into().ok());
                    bytes.map_or(<$t>::default(), <$t>::from_le_bytes)
                }).collect::<Vec<$t>>().into()), )*
                PhysicalType::Str => Flat::Str(StrColumn::from_strings(values.iter().map(|value| value.unwrap_or(&[])))),
                PhysicalType::Nested => return Err(Error::internal("nested values behind sort keys")),
            }
        };
    }
    let flat = words!(Bool: u8, I8: i8, I16: i16, I32: i32, I64: i64, I128: i128, U8: u8, U16: u16, U32: u32, U64: u64,
                      F32: f32, F64: f64);
    Ok(Vector::flat(flat, Some(Bitmap::from_fn(values.len(), |row| values[row].is_some()))))
}

fn cut_off() -> Error {
    Error::internal("a value behind sort keys is cut off")
}

/// Arguments: the keys, then the value.
struct Join {
    /// For each key: descending, NULLs first.
    directions: Vec<(bool, bool)>,
    is_required: Vec<bool>,
}

impl Kernel for Join {
    fn evaluate(&self, arguments: &[Vector], rows: usize) -> Result<Vector> {
        let required = arguments.iter().zip(&self.is_required).filter(|(_, required)| **required);
        let validities = required.filter_map(|(argument, _)| argument.validity().map(|validity| (**validity).clone()));
        let validity = validities.reduce(|a, b| a.and(&b));
        let is_there = |row: usize| validity.as_ref().is_none_or(|validity| validity.get(row));
        let flats: Vec<Flat> = arguments.iter().map(Vector::to_flat).collect();
        let (value, keys) = flats.split_last().expect("there is a value");
        let joined = build(rows, |row, bytes| {
            if !is_there(row) {
                return;
            }
            for (index, (flat, &(descending, nulls_first))) in keys.iter().zip(&self.directions).enumerate() {
                if arguments[index].is_valid(row) {
                    bytes.push(VALUE);
                    let begin = bytes.len();
                    put_key(flat, row, bytes);
                    if descending {
                        bytes[begin..].iter_mut().for_each(|byte| *byte = !*byte);
                    }
                } else {
                    bytes.push(if nulls_first { NULL_FIRST } else { NULL_LAST });
                }
            }
            let is_valid = arguments[keys.len()].is_valid(row);
            if is_valid {
                put_value(value, row, bytes);
            }
            bytes.push(u8::from(is_valid));
        });
        Ok(Vector::flat(Flat::Str(joined), validity))
    }
}

#[inline(always)]
fn put_key(flat: &Flat, row: usize, bytes: &mut Vec<u8>) {
    match flat {
        Flat::Bool(v) | Flat::U8(v) => bytes.push(v[row]),
        Flat::U16(v) => bytes.extend_from_slice(&v[row].to_be_bytes()),
        Flat::U32(v) => bytes.extend_from_slice(&v[row].to_be_bytes()),
        Flat::U64(v) => bytes.extend_from_slice(&v[row].to_be_bytes()),
        Flat::I8(v) => bytes.extend_from_slice(&(v[row] ^ i8::MIN).to_be_bytes()),
        Flat::I16(v) => bytes.extend_from_slice(&(v[row] ^ i16::MIN).to_be_bytes()),
        Flat::I32(v) => bytes.extend_from_slice(&(v[row] ^ i32::MIN).to_be_bytes()),
        Flat::I64(v) => bytes.extend_from_slice(&(v[row] ^ i64::MIN).to_be_bytes()),
        Flat::I128(v) => bytes.extend_from_slice(&(v[row] ^ i128::MIN).to_be_bytes()),
        // Widening keeps the order.
        Flat::F32(v) => bytes.extend_from_slice(&ordered_bits(v[row].into()).to_be_bytes()),
        Flat::F64(v) => bytes.extend_from_slice(&ordered_bits(v[row]).to_be_bytes()),
        Flat::Str(v) => {
            for &byte in v.get(row) {
                bytes.push(byte);
                if byte == 0 {
                    bytes.push(ZERO);
                }
            }
            bytes.extend_from_slice(&[0, 0]);
        }
        Flat::Nested(_) => unreachable!("nested values are no keys"),
    }
}

/// Returns an integer of the same order; NaN is above all.
fn ordered_bits(value: f64) -> u64 {
    let bits = if value.is_nan() { f64::NAN } else { value + 0.0 }.to_bits();
    if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
}

#[inline(always)]
fn put_value(flat: &Flat, row: usize, bytes: &mut Vec<u8>) {
    match flat {
        Flat::Bool(v) | Flat::U8(v) => bytes.push(v[row]),
        Flat::U16(v) => bytes.extend_from_slice(&v[row].to_le_bytes()),
        Flat::U32(v) => bytes.extend_from_slice(&v[row].to_le_bytes()),
        Flat::U64(v) => bytes.extend_from_slice(&v[row].to_le_bytes()),
        Flat::I8(v) => bytes.extend_from_slice(&v[row].to_le_bytes()),
        Flat::I16(v) => bytes.extend_from_slice(&v[row].to_le_bytes()),
        Flat::I32(v) => bytes.extend_from_slice(&v[row].to_le_bytes()),
        Flat::I64(v) => bytes.extend_from_slice(&v[row].to_le_bytes()),
        Flat::I128(v) => bytes.extend_from_slice(&v[row].to_le_bytes()),
        Flat::F32(v) => bytes.extend_from_slice(&v[row].to_le_bytes()),
        Flat::F64(v) => bytes.extend_from_slice(&v[row].to_le_bytes()),
        Flat::Str(v) => {
            bytes.extend_from_slice(v.get(row));
            bytes.extend_from_slice(&(v.get(row).len() as u32).to_be_bytes());
        }
        Flat::Nested(_) => unreachable!("nested values don't stand behind keys"),
    }
}

#[cfg(test)]
mod tests {
    use std::cmp::Ordering;

    use godwit_vector::Chunk;

    use super::*;

    fn column(index: usize, logical: DataType) -> Expression {
        Expression::column(index, ColumnType::new(logical, true).unwrap())
    }

    /// Every pair of rows compares as its keys do, with NULLs where requested; values come back.
    #[test]
    fn strings_compare_as_the_keys_do() {
        let numbers = [Some(-7i64), None, Some(i64::MIN), Some(0), Some(i64::MAX), Some(-7), Some(300)];
        let floats = [Some(-0.0), Some(f64::NAN), None, Some(f64::NEG_INFINITY), Some(1e-300), Some(0.0), Some(2.5)];
        let texts = [Some("a"), Some("a\0"), Some("a\0b"), None, Some(""), Some("ab"), Some("a\u{1}")];
        let validity = |is_valid: Vec<bool>| Some(Bitmap::from_fn(is_valid.len(), |row| is_valid[row]));
        // All combinations of the three.
        let rows: Vec<(usize, usize, usize)> = (0..343).map(|row| (row % 7, row / 7 % 7, row / 49)).collect();
        let number = |row: &(usize, usize, usize)| numbers[row.0];
        let float = |row: &(usize, usize, usize)| floats[row.1];
        let text = |row: &(usize, usize, usize)| texts[row.2];
        let chunk = Chunk::new(
            vec![
                Vector::from_values::<i64>(
                    rows.iter().map(|row| number(row).unwrap_or(5)).collect(),
                    validity(rows.iter().map(|row| number(row).is_some()).collect()),
                ),
                Vector::from_values::<f64>(
                    rows.iter().map(|row| float(row).unwrap_or(5.0)).collect(),
                    validity(rows.iter().map(|row| float(row).is_some()).collect()),
                ),
                Vector::flat(
                    Flat::Str(StrColumn::from_strings(rows.iter().map(|row| text(row).unwrap_or("x")))),
                    validity(rows.iter().map(|row| text(row).is_some()).collect()),
                ),
            ],
            rows.len(),
        );
        for (descending, nulls_first) in [(false, false), (false, true), (true, false), (true, true)] {
            let types = [DataType::Int64, DataType::Float64, DataType::Utf8View];
            let keys: Vec<OrderedKey> = types
                .iter()
                .enumerate()
                .map(|(index, ty)| OrderedKey {
                    expression: column(index, ty.clone()),
                    descending: descending ^ (index == 1),
                    nulls_first,
                    required: false,
                })
                .collect();
            let strings = ordered_value(&keys, &keys[2].expression, false).evaluate(&chunk).unwrap();
            let flat = strings.to_flat();
            fn compare<T>(
                a: Option<T>,
                b: Option<T>,
                order: impl Fn(T, T) -> Ordering,
                desc: bool,
                first: bool,
            ) -> Ordering {
                match (a, b) {
                    (None, None) => Ordering::Equal,
                    (None, Some(_)) => {
                        if first {
                            Ordering::Less
                        } else {
                            Ordering::Greater
                        }
                    }
                    (Some(_), None) => {
                        if first {
                            Ordering::Greater
                        } else {
                            Ordering::Less
                        }
                    }
                    (Some(a), Some(b)) => {
                        if desc {
                            order(b, a)
                        } else {
                            order(a, b)
                        }
                    }
                }
            }
            let floats = |a: f64, b: f64| (a + 0.0).total_cmp(&(b + 0.0));
            for (i, a) in rows.iter().enumerate() {
                for (j, b) in rows.iter().enumerate() {
                    let expected = compare(number(a), number(b), |a, b| a.cmp(&b), descending, nulls_first)
                        .then_with(|| compare(float(a), float(b), floats, !descending, nulls_first))
                        .then_with(|| compare(text(a), text(b), |a, b| a.cmp(b), descending, nulls_first));
                    let found = flat.strings().get(i).cmp(flat.strings().get(j));
                    assert_eq!(found, expected, "{a:?} {b:?}");
                }
            }
            let values = value_of_ordered(&strings, PhysicalType::Str).unwrap();
            for (row, at) in rows.iter().enumerate() {
                let value = values.is_valid(row).then(|| values.to_flat().strings().get(row).to_vec());
                assert_eq!(value.as_deref(), text(at).map(str::as_bytes));
            }
        }
        let key =
            OrderedKey { expression: column(0, DataType::Int64), descending: true, nulls_first: false, required: true };
        let strings = ordered_value(&[key], &column(1, DataType::Float64), true).evaluate(&chunk).unwrap();
        let values = value_of_ordered(&strings, PhysicalType::F64).unwrap();
        for (row, at) in rows.iter().enumerate() {
            let expected = number(at).and(float(at)).map(f64::to_bits);
            assert_eq!(values.is_valid(row).then(|| values.to_flat().values::<f64>()[row].to_bits()), expected);
        }
    }
}
