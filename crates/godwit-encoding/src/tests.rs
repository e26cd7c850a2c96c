//! Every encoding against the values it was made of.

use std::collections::BTreeSet;
use std::ops::Bound;

use godwit_vector::{Bitmap, Flat, PhysicalType, SharedBytes, StrColumn, ValueRange, Vector};
use proptest::prelude::*;

use crate::{BLOCK_ROWS, EncodingChoice, OrderedDictionary, Part, PartContent, PartHeader, encode};

const CHOICES: [EncodingChoice; 5] = [
    EncodingChoice::Auto,
    EncodingChoice::Plain,
    EncodingChoice::Packed,
    EncodingChoice::RunLength,
    EncodingChoice::Symbols,
];

/// A value as text, so that vectors of all types compare; floats by their bits.
fn show(vector: &Vector, row: usize) -> String {
    if !vector.is_valid(row) {
        return "NULL".to_owned();
    }
    match vector.to_flat() {
        Flat::F32(values) => format!("{:x}", values[row].to_bits()),
        Flat::F64(values) => format!("{:x}", values[row].to_bits()),
        Flat::Str(strings) => format!("{:?}", strings.get(row)),
        flat => godwit_vector::match_flat!(&flat, values => values[row].to_string(), _s => panic!(), _a => panic!()),
    }
}

fn rows_of(vector: &Vector) -> Vec<String> {
    let vector = vector.flattened();
    (0..vector.len()).map(|row| show(&vector, row)).collect()
}

/// Encodes, sends header and body through bytes, and reads in all ways.
fn check(values: &Vector, choice: EncodingChoice) -> &'static str {
    let encoded = encode(values, choice);
    let mut bytes = Vec::new();
    encoded.header.to_bytes(&mut bytes);
    let header = PartHeader::from_bytes(&mut &bytes[..], PartContent::Values).unwrap();
    assert_eq!(header, encoded.header);
    // A body at an odd address is read through copies.
    let shifted = [&[0u8][..], &encoded.body].concat();
    let shared = SharedBytes::new(encoded.body.clone());
    let bodies = [&encoded.body[..], &shifted[1..]].map(|body| Part::new(&header, body));
    for part in bodies.into_iter().chain([Part::shared(&header, &shared)]) {
        let part = part.unwrap();
        let expected = rows_of(values);
        assert_eq!(rows_of(&part.decode(0..values.len()).unwrap()), expected, "{choice:?} {:?}", header.encoding);
        let begin = values.len() / 2 / BLOCK_ROWS * BLOCK_ROWS;
        let end = (begin + 100).min(values.len());
        assert_eq!(rows_of(&part.decode(begin..end).unwrap()), expected[begin..end]);
        // Few rows of a block are read one by one, many by decoding it.
        for step in [1, 7, 100] {
            let picked: Vec<u32> = (0..(values.len() - begin) as u32).step_by(step).collect();
            let of_picked: Vec<String> = picked.iter().map(|&row| expected[begin + row as usize].clone()).collect();
            assert_eq!(rows_of(&part.take(begin, &picked).unwrap()), of_picked, "{choice:?} {:?}", header.encoding);
        }
        // Some of the rows are a part, too.
        if let Some((header, body)) = header.of_rows(&(begin..end)) {
            let part = Part::new(&header, &encoded.body[body]).unwrap();
            assert_eq!(rows_of(&part.decode(0..end - begin).unwrap()), expected[begin..end]);
        }
    }
    header.encoding.name()
}

fn with_nulls<T: godwit_vector::Native + Default>(values: &[Option<T>]) -> Vector {
    let plain: Vec<T> = values.iter().map(|value| value.unwrap_or_default()).collect();
    let validity =
        values.iter().any(Option::is_none).then(|| Bitmap::from_fn(values.len(), |row| values[row].is_some()));
    Vector::from_values(plain, validity)
}

fn strings(values: &[Option<String>]) -> Vector {
    let column = StrColumn::from_strings(values.iter().map(|value| value.as_deref().unwrap_or("")));
    let validity =
        values.iter().any(Option::is_none).then(|| Bitmap::from_fn(values.len(), |row| values[row].is_some()));
    Vector::flat(Flat::Str(column), validity)
}

/// Integers whose spread goes from one value to the whole type.
fn spread(bits: u32) -> impl Strategy<Value = i64> {
    (0..=bits).prop_flat_map(|width| {
        let mask = u64::MAX.checked_shr(64 - width).unwrap_or(0);
        any::<u64>().prop_map(move |value| (value & mask) as i64)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn integers_come_back(
        width in 0u32..=64,
        base in any::<i64>(),
        values in prop::collection::vec(prop::option::weighted(0.9, any::<u64>()), 0..5000),
        has_nulls in any::<bool>(),
    ) {
        let mask = u64::MAX.checked_shr(64 - width).unwrap_or(0);
        let values: Vec<Option<i64>> = values
            .into_iter()
            .map(|value| if has_nulls { value } else { value.or(Some(0)) })
            .map(|value| value.map(|value| base.wrapping_add((value & mask) as i64)))
            .collect();
        for choice in CHOICES {
            check(&with_nulls(&values), choice);
        }
        let narrow: Vec<Option<i16>> = values.iter().map(|value| value.map(|value| value as i16)).collect();
        check(&with_nulls(&narrow), EncodingChoice::Auto);
        let wide: Vec<Option<i128>> = values.iter().map(|value| value.map(|value| (value as i128) << 60)).collect();
        check(&with_nulls(&wide), EncodingChoice::Auto);
        let unsigned: Vec<Option<u64>> = values.iter().map(|value| value.map(|value| value as u64)).collect();
        check(&with_nulls(&unsigned), EncodingChoice::Auto);
    }

    #[test]
    fn runs_come_back(runs in prop::collection::vec((any::<Option<i32>>(), 1usize..400), 1..30)) {
        let values: Vec<Option<i32>> =
            runs.into_iter().flat_map(|(value, length)| std::iter::repeat_n(value, length)).collect();
        for choice in CHOICES {
            check(&with_nulls(&values), choice);
        }
    }

    #[test]
    fn floats_come_back_to_the_bit(
        values in prop::collection::vec(any::<Option<f64>>(), 1..2000),
        cents in prop::collection::vec(prop::option::of(-1_000_000i64..1_000_000), 1..2000),
    ) {
        check(&with_nulls(&values), EncodingChoice::Auto);
        let singles: Vec<Option<f32>> = values.iter().map(|value| value.map(|value| value as f32)).collect();
        check(&with_nulls(&singles), EncodingChoice::Auto);
        let prices: Vec<Option<f64>> = cents.iter().map(|cents| cents.map(|cents| cents as f64 / 100.0)).collect();
        check(&with_nulls(&prices), EncodingChoice::Auto);
    }

    #[test]
    fn strings_come_back(values in prop::collection::vec(prop::option::of("[a-c]{0,40}|\\PC{0,10}"), 0..3000)) {
        for choice in CHOICES {
            check(&strings(&values), choice);
        }
    }

    #[test]
    fn selections_agree_with_values(
        values in prop::collection::vec(prop::option::weighted(0.9, spread(20)), 1..5000),
        low in -10i64..1_100_000,
        span in 0i64..1_000_000,
        seed in any::<u64>(),
    ) {
        let vector = with_nulls(&values);
        let begin = if values.len() > BLOCK_ROWS { BLOCK_ROWS } else { 0 };
        let wanted = ValueRange { min: low as i128, max: (low + span) as i128 };
        let codes = Bitmap::from_fn(1 << 16, |code| (code as u64).wrapping_mul(seed | 1) >> 5 & 1 == 1);
        // Rows that other filters left; a block of them may be empty.
        let left = Bitmap::from_fn(values.len() - begin, |row| row / BLOCK_ROWS != 1 && seed >> (row % 64) & 1 == 1);
        let of_values = |is_wanted: &dyn Fn(i64) -> bool| {
            Bitmap::from_fn(left.len(), |row| left.get(row) && values[begin + row].is_some_and(is_wanted))
        };
        for choice in CHOICES {
            let encoded = encode(&vector, choice);
            let mut mask = left.words().to_vec();
            encoded.part().retain_range(begin..values.len(), wanted, &mut mask).unwrap();
            let in_range = of_values(&|value| low <= value && value <= low + span);
            prop_assert_eq!(&mask, in_range.words());
            mask.copy_from_slice(left.words());
            encoded.part().retain_codes(begin..values.len(), &codes, &mut mask).unwrap();
            let with_code = of_values(&|value| (value as usize) < codes.len() && codes.get(value as usize));
            prop_assert_eq!(&mask, with_code.words());
        }
    }

    #[test]
    fn dictionaries_keep_order(old in prop::collection::vec("[ab]{0,4}", 0..60), new in prop::collection::vec("[a-c]{0,4}", 0..60), probe in "[a-c]{0,3}") {
        let first = OrderedDictionary::from_strings(old.clone());
        let (merged, codes) = first.merge(&OrderedDictionary::from_strings(new.clone()));
        let model: Vec<String> = old.iter().chain(&new).cloned().collect::<BTreeSet<_>>().into_iter().collect();
        let all: Vec<&[u8]> = (0..merged.len() as u32).map(|code| merged.get(code)).collect();
        prop_assert_eq!(all, model.iter().map(|string| string.as_bytes()).collect::<Vec<_>>());
        for code in 0..first.len() as u32 {
            let becomes = codes.as_ref().map_or(code, |codes| codes[code as usize]);
            prop_assert_eq!(first.get(code), merged.get(becomes));
        }
        prop_assert_eq!(merged.code(probe.as_bytes()).map(|code| code as usize), model.iter().position(|string| *string == probe));
        let of_model = |is_in: &dyn Fn(&str) -> bool| -> Vec<u32> {
            (0..model.len()).filter(|&code| is_in(&model[code])).map(|code| code as u32).collect()
        };
        let bytes = probe.as_bytes();
        let codes = |range: std::ops::Range<u32>| range.collect::<Vec<u32>>();
        prop_assert_eq!(codes(merged.range(Bound::Excluded(bytes), Bound::Unbounded)), of_model(&|s| s > probe.as_str()));
        prop_assert_eq!(codes(merged.range(Bound::Unbounded, Bound::Included(bytes))), of_model(&|s| s <= probe.as_str()));
        prop_assert_eq!(codes(merged.range(Bound::Included(bytes), Bound::Excluded(b"b"))), of_model(&|s| s >= probe.as_str() && s < "b"));
        prop_assert_eq!(codes(merged.prefix(bytes)), of_model(&|s| s.starts_with(&probe)));
    }

    /// As a dictionary of all strings that is rebuilt.
    #[test]
    fn dictionaries_are_united_as_if_they_were_one(
        old in prop::collection::vec("[ab]{0,4}|[ab]{14}", 0..60),
        new in prop::collection::btree_set("[a-c]{0,4}|[a-c]{14}", 0..60),
        shuffle in any::<prop::sample::Index>(),
    ) {
        let first = OrderedDictionary::from_strings(old.clone());
        let mut added: Vec<&String> = new.iter().collect();
        if !added.is_empty() {
            let middle = shuffle.index(added.len());
            added.rotate_left(middle);
        }
        let column = StrColumn::from_strings(&added);
        let mut order: Vec<u32> = (0..added.len() as u32).collect();
        order.sort_by_key(|&place| added[place as usize]);
        let all = OrderedDictionary::from_strings(old.iter().chain(&new).collect());
        let united = first.united(&column, &order);
        prop_assert!(united.dictionary.shared().values().strings().iter().eq(all.shared().values().strings().iter()));
        for (place, string) in added.iter().enumerate() {
            prop_assert_eq!(united.dictionary.get(united.added_codes[place]), string.as_bytes());
        }
        for code in 0..first.len() as u32 {
            let becomes = united.codes.as_ref().map_or(code, |codes| codes[code as usize]);
            prop_assert_eq!(first.get(code), united.dictionary.get(becomes));
        }
        prop_assert_eq!(united.codes.is_none(), all.len() == first.len());
    }

    #[test]
    fn damage_is_never_a_crash(
        values in prop::collection::vec(prop::option::of("[a-c]{0,12}"), 1..1500),
        at in any::<prop::sample::Index>(),
        flip in 1u8..=255,
        choice in prop::sample::select(&CHOICES[..]),
    ) {
        let numbers: Vec<Option<i64>> = values.iter().map(|value| value.as_ref().map(|value| value.len() as i64)).collect();
        for encoded in [encode(&strings(&values), choice), encode(&with_nulls(&numbers), choice)] {
            let mut body = encoded.body.clone();
            if !body.is_empty() {
                let at = at.index(body.len());
                body[at] ^= flip;
            }
            let shared = SharedBytes::new(body.clone());
            for part in [Part::new(&encoded.header, &body), Part::shared(&encoded.header, &shared)] {
                let part = part.unwrap();
                // Either an error or other values; what matters is that it returns.
                let _ = part.decode(0..values.len());
                let _ = part.take(0, &[0, values.len() as u32 - 1]);
            }
            let mut header = Vec::new();
            encoded.header.to_bytes(&mut header);
            let at = at.index(header.len());
            header[at] ^= flip;
            if let Ok(header) = PartHeader::from_bytes(&mut &header[..], PartContent::Values)
                && let Ok(part) = Part::new(&header, &encoded.body)
            {
                let _ = part.decode(0..header.rows as usize);
            }
        }
    }
}

#[test]
fn the_smallest_encoding_is_chosen() {
    let auto = |vector: &Vector| check(vector, EncodingChoice::Auto);
    assert_eq!(auto(&Vector::from_values(vec![7i64; 3000], None)), "constant");
    assert_eq!(auto(&Vector::null(PhysicalType::Str, 10)), "null");
    assert_eq!(auto(&strings(&[None, Some("x".to_owned()), Some("x".to_owned())])), "constant");
    let sorted: Vec<i32> = (0..4000).map(|row| row / 1000).collect();
    assert_eq!(auto(&Vector::from_values(sorted, None)), "run_length");
    let mixed: Vec<i64> = (0..4000).map(|row| 1_000_000 + row * 7919 % 1000).collect();
    assert_eq!(auto(&Vector::from_values(mixed, None)), "packed");
    let whole: Vec<i64> = (0..4000).map(|row| row * 7919 % 50 * 100).collect();
    assert_eq!(auto(&Vector::from_values(whole, None)), "multiples");
    let keys: Vec<i64> = (0..4000).map(|row| 32 * (row / 8) + row % 8).collect();
    assert_eq!(auto(&Vector::from_values(keys, None)), "delta");
    let prices: Vec<f64> = (0..4000).map(|row| (row * 7919 % 100_000) as f64 / 100.0).collect();
    assert_eq!(auto(&Vector::from_values(prices, None)), "decimals");
    let noise: Vec<f64> = (0..4000).map(|row| (row as f64 + 0.1).sqrt()).collect();
    assert_eq!(auto(&Vector::from_values(noise, None)), "plain");
    let words: Vec<Option<String>> = (0..2000).map(|row| Some(format!("https://example.org/item/{row}"))).collect();
    assert_eq!(auto(&strings(&words)), "symbols");
    let digits: Vec<Option<String>> = (0..200u64).map(|row| Some(format!("{:02x}", row * 0x9e37 % 256))).collect();
    assert!(["text", "symbols"].contains(&auto(&strings(&digits))));
}

#[test]
fn a_long_string_is_a_part() {
    let long = Some("x".repeat(1 << 20));
    for choice in CHOICES {
        check(&strings(&[None, long.clone(), Some(String::new())]), choice);
    }
}
