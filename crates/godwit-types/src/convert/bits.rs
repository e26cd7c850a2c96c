//! Numbers and bytes as strings of bits, the highest bit first, and back.

use godwit_common::Result;

use crate::text::{not_a, out_of_range};
use crate::{SqlType, Value};

/// Returns the bits of an integer, as many as its type has, or of bytes, of which there is at least one.
pub(super) fn of(value: &Value, from: &SqlType) -> Result<Value> {
    let bits: String = match value {
        Value::Blob(bytes) if bytes.is_empty() => return Err(not_a("", &SqlType::Bit)),
        Value::Blob(bytes) => bytes.iter().map(|byte| format!("{byte:08b}")).collect(),
        Value::Integer(value) => low_bits(value.cast_unsigned(), from),
        Value::UHuge(value) => low_bits(*value, from),
        other => unreachable!("{other:?} has no cast to BIT"),
    };
    Ok(Value::text(bits))
}

fn low_bits(value: u128, ty: &SqlType) -> String {
    let count = ty.integer_bits().map_or(128, |bits| bits as usize);
    format!("{value:0128b}")[128 - count..].to_owned()
}

/// Returns the value of a string of bits. Missing leading bits of an integer are zeros; excess bits are an error.
pub(super) fn read(bits: &str, to: &SqlType) -> Result<Value> {
    let number = |bits: &str| bits.bytes().fold(0u128, |number, bit| number << 1 | u128::from(bit == b'1'));
    if *to == SqlType::Blob {
        let first = bits.len() % 8;
        let bytes = bits.as_bytes()[first..].chunks(8).map(|byte| number(str::from_utf8(byte).expect("digits")));
        let bytes = (first > 0).then(|| number(&bits[..first])).into_iter().chain(bytes);
        return Ok(Value::Blob(bytes.map(|byte| byte as u8).collect::<Vec<u8>>().into()));
    }
    let count = to.integer_bits().map_or(128, |bits| bits as usize);
    if bits.len() > count {
        return Err(out_of_range(bits, to));
    }
    let value = number(bits);
    Ok(match to {
        SqlType::UHugeInt => Value::UHuge(value),
        ty if ty.is_unsigned_integer() => Value::Integer(value as i128),
        // The highest bit of a signed integer is its sign.
        _ => Value::Integer((value << (128 - count)).cast_signed() >> (128 - count)),
    })
}
