//! Tests the choice of schemes, and ordered dictionaries. `conformance.rs` tests that schemes preserve values.

use std::collections::BTreeSet;
use std::ops::Bound;

use godwit_vector::{Bitmap, Flat, PhysicalType, StrColumn, Vector};
use proptest::prelude::*;

use crate::conformance::check_part;
use crate::{EncodingChoice, OrderedDictionary, encode};

const CHOICES: [EncodingChoice; 5] = [
    EncodingChoice::Auto,
    EncodingChoice::Plain,
    EncodingChoice::Packed,
    EncodingChoice::RunLength,
    EncodingChoice::Symbols,
];

/// Encodes values and checks all laws; returns the name of the scheme.
fn check(values: &Vector, choice: EncodingChoice) -> &'static str {
    let encoded = encode(values, choice);
    check_part(values, &encoded);
    encoded.header.encoding.name()
}

fn strings(values: &[Option<String>]) -> Vector {
    let column = StrColumn::from_strings(values.iter().map(|value| value.as_deref().unwrap_or("")));
    let validity =
        values.iter().any(Option::is_none).then(|| Bitmap::from_fn(values.len(), |row| values[row].is_some()));
    Vector::flat(Flat::Str(column), validity)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 1 } else { 48 }))]

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

    /// Uniting gives the same result as rebuilding a dictionary from all strings.
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
}

#[test]
#[cfg_attr(miri, ignore = "too many rows")]
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
    assert_eq!(auto(&Vector::from_values(keys, None)), "packed", "a third of the bytes isn't worth the sums");
    assert_eq!(auto(&Vector::from_values((0..4000i64).map(|row| row * 3).collect::<Vec<_>>(), None)), "delta");
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
#[cfg_attr(miri, ignore = "too many rows")]
fn a_scheme_that_is_asked_for_is_taken_where_it_can_be() {
    let numbers = Vector::from_values((0..3000).map(|row| row / 10 * 7919 % 1000).collect::<Vec<i64>>(), None);
    let doubles = Vector::from_values((0..3000).map(|row| f64::from(row % 77) / 4.0).collect::<Vec<f64>>(), None);
    let texts = strings(&(0..3000).map(|row| Some(format!("{row} bottles"))).collect::<Vec<_>>());
    for (choice, expected) in [
        (EncodingChoice::Plain, ["plain", "plain", "text"]),
        (EncodingChoice::Packed, ["packed", "decimals", "text"]),
        (EncodingChoice::RunLength, ["run_length", "plain", "text"]),
        (EncodingChoice::Symbols, ["plain", "plain", "symbols"]),
    ] {
        assert_eq!([&numbers, &doubles, &texts].map(|values| check(values, choice)), expected, "{choice:?}");
    }
}

#[test]
#[cfg_attr(miri, ignore = "too many rows")]
fn a_long_string_is_a_part() {
    let long = Some("x".repeat(1 << 20));
    for choice in CHOICES {
        check(&strings(&[None, long.clone(), Some(String::new())]), choice);
    }
}
