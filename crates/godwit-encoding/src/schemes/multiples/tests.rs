//! Filters with bounds that aren't multiples.

use godwit_vector::{ValueRange, Vector};

use crate::{EncodingChoice, encode};

/// Bounds between multiples, below and above all of them.
#[test]
fn ranges_end_between_multiples() {
    let values: Vec<i64> = (0..3000).map(|row| -500 + row % 40 * 100).collect();
    let encoded = encode(&Vector::from_values(values.clone(), None), EncodingChoice::Auto);
    assert_eq!(encoded.header.encoding.name(), "multiples");
    for (min, max) in [(-500, -500), (-499, 99), (-100, 100), (-9999, -501), (3400, 9999), (3401, 9999), (1, 99)] {
        let mut mask = vec![u64::MAX; 1024 / 64];
        encoded.part().retain_range(1024..2048, ValueRange { min, max }, &mut mask).unwrap();
        for row in 0..1024 {
            let is_wanted = (min..=max).contains(&i128::from(values[1024 + row]));
            assert_eq!(mask[row / 64] >> (row % 64) & 1 == 1, is_wanted, "{min}..={max}, row {row}");
        }
    }
}
