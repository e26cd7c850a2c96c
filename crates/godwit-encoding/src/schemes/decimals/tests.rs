//! Exceptions, and 32-bit floats.

use godwit_vector::Vector;

use crate::{EncodingChoice, encode};

/// Exceptions are restored bit by bit, alone and among others, even if a row is taken twice.
#[test]
fn exceptions_stay_what_they_are() {
    let odd = [f64::NAN, -0.0, f64::INFINITY, 1.0 / 3.0, 1e300, f64::from_bits(0x7ff8_0000_0000_0001)];
    let mut values: Vec<f64> = (0..5000).map(|row| f64::from(row * 7919 % 100_000) / 100.0).collect();
    for (index, value) in odd.into_iter().enumerate() {
        values[index * 900 + 5] = value;
    }
    values[4999] = f64::NAN;
    let encoded = encode(&Vector::from_values(values.clone(), None), EncodingChoice::Auto);
    assert_eq!(encoded.header.encoding.name(), "decimals");
    let is_same = |found: &[f64], rows: &[u32]| {
        found.iter().zip(rows).all(|(found, &row)| found.to_bits() == values[row as usize].to_bits())
    };
    let taken = [5, 5, 6, 905, 1805, 1806, 4999];
    assert!(is_same(encoded.part().take(0, &taken).unwrap().to_flat().values(), &taken));
    let all: Vec<u32> = (0..5000).collect();
    assert!(is_same(encoded.part().decode(0..5000).unwrap().to_flat().values(), &all));
    assert!(is_same(encoded.part().decode(2048..4096).unwrap().to_flat().values(), &all[2048..4096]));
}

/// 32-bit floats aren't decimals as doubles, but round to them.
#[test]
fn floats_of_32_bits_are_decimals_too() {
    let values: Vec<f32> = (0..3000).map(|row| (row % 777) as f32 / 10.0).collect();
    let encoded = encode(&Vector::from_values(values.clone(), None), EncodingChoice::Auto);
    assert_eq!(encoded.header.encoding.name(), "decimals");
    assert_eq!(encoded.part().decode(0..3000).unwrap().to_flat().values::<f32>(), values);
}
