//! The form of old files, and ends in several blocks.

use godwit_vector::{Bitmap, PhysicalType, Vector};

use crate::{EncodingChoice, Part, PartContent, PartHeader, encode};

/// A part of a file of format 5: ends and values as they are, number 4.
#[test]
fn runs_of_old_files_are_read() {
    let mut header = vec![2 /* I16 */];
    for number in [3000u32, 0, 3 * (4 + 2)] {
        header.extend(number.to_le_bytes());
    }
    header.extend([0, 4]);
    header.extend(3u32.to_le_bytes());
    let mut body = Vec::new();
    [1000u32, 2500, 3000].iter().for_each(|end| body.extend(end.to_le_bytes()));
    [7i16, -1, 9].iter().for_each(|value| body.extend(value.to_le_bytes()));
    let header = PartHeader::from_bytes(&mut &header[..], PartContent::Values).unwrap();
    assert_eq!(header.physical, PhysicalType::I16);
    let part = Part::new(&header, &body).unwrap();
    let values = part.decode(1024..3000).unwrap().to_flat();
    assert!((1024..3000).zip(values.values::<i16>()).all(|(row, &value)| value == if row < 2500 { -1 } else { 9 }));
    assert_eq!(part.take(0, &[0, 999, 1000, 2999]).unwrap().to_flat().values::<i16>(), [7, 7, -1, 9]);
}

/// Many runs, whose ends are packed in several blocks; windows begin and end within blocks of runs.
#[test]
fn blocks_of_runs_follow_each_other() {
    const ROWS: usize = if cfg!(miri) { 5_000 } else { 60_000 };
    let values: Vec<i64> = (0..ROWS as i64).map(|row| row / 7 * 7919 % 1000).collect();
    let validity = Bitmap::from_fn(values.len(), |row| row % 11 != 3);
    for vector in [Vector::from_values(values.clone(), None), Vector::from_values(values.clone(), Some(validity))] {
        let encoded = encode(&vector, EncodingChoice::RunLength);
        assert_eq!(encoded.header.encoding.name(), "run_length");
        for start in (0..ROWS).step_by(2048) {
            let rows = start..(start + 2048).min(ROWS);
            let window = encoded.part().decode(rows.clone()).unwrap();
            let decoded = window.to_flat();
            for (at, row) in rows.enumerate() {
                assert_eq!(window.is_valid(at), vector.is_valid(row));
                assert!(!window.is_valid(at) || decoded.values::<i64>()[at] == values[row]);
            }
        }
    }
}
