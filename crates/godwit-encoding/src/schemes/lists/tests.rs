//! Lists as lists, not as strings.

use godwit_vector::{Bitmap, Flat, Lists, PhysicalType, StrBuilder, Vector};

use crate::{BLOCK_ROWS, Encoder, EncodingChoice, Part};

/// Lists of `row % 4` numbers, some of them NULL, and every seventh list NULL.
fn lists() -> Lists {
    let rows = 3 * BLOCK_ROWS + 77;
    let validity = Bitmap::from_fn(rows, |row| row % 7 != 3);
    let lengths: Vec<u32> = (0..rows).map(|row| if validity.get(row) { row as u32 % 4 } else { 0 }).collect();
    let items = lengths.iter().sum::<u32>() as usize;
    let values = (0..items as i64).map(|item| item * 7919 % 1_009).collect();
    let items = Vector::from_values(values, Some(Bitmap::from_fn(items, |item| item % 50 != 9)));
    Lists { lengths, items, validity: Some(validity) }
}

fn strings_of(lists: &Lists) -> Vector {
    let (bytes, validity) = (lists.to_bytes(), lists.validity.clone());
    let mut strings = StrBuilder::default();
    (0..lists.lengths.len()).for_each(|row| strings.push(bytes.get(row)));
    Vector::flat(Flat::Str(strings.finish()), validity)
}

/// Each list as text, NULL rows and NULL items included.
fn shown(lists: &Lists) -> Vec<String> {
    let flat = lists.items.to_flat();
    let mut end = 0;
    let show = |(row, &length): (usize, &u32)| {
        let items = end..end + length as usize;
        end = items.end;
        match lists.validity.as_ref().is_none_or(|validity| validity.get(row)) {
            true => format!(
                "{:?}",
                items.map(|i| lists.items.is_valid(i).then(|| flat.values::<i64>()[i])).collect::<Vec<_>>()
            ),
            false => "NULL".to_owned(),
        }
    };
    lists.lengths.iter().enumerate().map(show).collect()
}

#[test]
fn lengths_and_items_come_back() {
    let lists = lists();
    let expected = shown(&lists);
    let encoded = Encoder::for_lists(Some(PhysicalType::I64)).encode(&strings_of(&lists), EncodingChoice::Auto);
    assert_eq!(encoded.header.encoding.name(), "lists");
    let part = encoded.part();
    assert_eq!(shown(&part.decode_lists(0..expected.len()).unwrap().unwrap()), expected);
    let window = 2 * BLOCK_ROWS..expected.len();
    assert_eq!(shown(&part.decode_lists(window.clone()).unwrap().unwrap()), expected[window]);
    for step in [1, 5, 700] {
        let rows: Vec<u32> = (0..(expected.len() - BLOCK_ROWS) as u32).step_by(step).collect();
        let of_rows: Vec<&String> = rows.iter().map(|&row| &expected[BLOCK_ROWS + row as usize]).collect();
        let taken = part.take_lists(BLOCK_ROWS, &rows).unwrap().unwrap();
        assert_eq!(shown(&taken).iter().collect::<Vec<_>>(), of_rows, "each {step}th");
    }
}

/// Lists whose block begins among the items of the block before, or that have more items than there are.
#[test]
fn damaged_places_are_errors() {
    let lists = lists();
    let encoded = Encoder::for_lists(Some(PhysicalType::I64)).encode(&strings_of(&lists), EncodingChoice::Auto);
    let starts = encoded.part().bitmap().len();
    let rows: Vec<u32> = (BLOCK_ROWS as u32 - 20..BLOCK_ROWS as u32 + 20).collect();
    for (at, bytes) in [(starts + 4, 1u32.to_le_bytes()), (starts + 8, u32::MAX.to_le_bytes())] {
        let mut body = encoded.body.clone();
        body[at..at + 4].copy_from_slice(&bytes);
        let part = Part::new(&encoded.header, &body).unwrap();
        assert!(part.take_lists(0, &[BLOCK_ROWS as u32 - 1, BLOCK_ROWS as u32 + 3]).is_err() || at > starts + 4);
        let _ = part.take_lists(0, &rows);
        let _ = part.decode_lists(BLOCK_ROWS..2 * BLOCK_ROWS);
    }
}

/// Packed lengths and items take far less than strings do: that is what the scheme is for.
#[test]
fn lists_of_small_numbers_are_small() {
    let lists = lists();
    let strings = strings_of(&lists);
    let of = |item| Encoder::for_lists(item).encode(&strings, EncodingChoice::Auto).body.len();
    let (as_lists, as_strings) = (of(Some(PhysicalType::I64)), of(None));
    assert!(3 * as_lists < as_strings, "{as_lists} bytes, {as_strings} as strings");
}

/// Strings that aren't lists of the column's type are stored as strings.
#[test]
fn other_strings_stay_strings() {
    let mut strings = StrBuilder::default();
    (0..3_000).for_each(|row: u32| strings.push(format!("row {row}").as_bytes()));
    let values = Vector::flat(Flat::Str(strings.finish()), None);
    let encoded = Encoder::for_lists(Some(PhysicalType::I64)).encode(&values, EncodingChoice::Plain);
    assert_eq!(encoded.header.encoding.name(), "text");
    assert!(encoded.part().decode_lists(0..3_000).unwrap().is_none());
}
