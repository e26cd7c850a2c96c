//! Similarities of texts, from 0 to 1.

use std::collections::HashSet;

use godwit_common::{Error, Result, SqlState};

use super::distance::Scratch;
use crate::function::{Category, Function, function};
use crate::kernel::Work;
use crate::rows::{Pace, Text, scalar_checked, text_pieces};

pub(super) fn functions() -> Vec<Function> {
    vec![
        function(
            Category::Text,
            &["jaccard"],
            "How many of the characters that occur in two texts occur in both, from 0 to 1",
        )
        .example("jaccard('duck', 'luck')", "0.6")
        .form(scalar_checked::<(Text, Text), f64, _>(|(a, b), work| jaccard(a, b, &mut Pace::new(work)))),
    ]
}

fn jaccard(a: &str, b: &str, pace: &mut Pace<'_>) -> Result<f64> {
    if a.is_empty() || b.is_empty() {
        let error = Error::user("jaccard takes texts that aren't empty");
        return Err(error.with_code(SqlState::INVALID_PARAMETER_VALUE));
    }
    let (both, any) = if a.is_ascii() && b.is_ascii() {
        let (a, b) = (ascii_set(a, pace)?, ascii_set(b, pace)?);
        let count = |of: fn(u64, u64) -> u64| a.iter().zip(b).map(|(&a, b)| of(a, b).count_ones() as usize).sum();
        (count(|a, b| a & b), count(|a, b| a | b))
    } else {
        let (a, b) = (character_set(a, pace)?, character_set(b, pace)?);
        (a.intersection(&b).count(), a.union(&b).count())
    };
    Ok(both as f64 / any as f64)
}

/// Returns a bit for each ASCII character.
fn ascii_set(text: &str, pace: &mut Pace<'_>) -> Result<[u64; 2]> {
    let mut set = [0; 2];
    for piece in text_pieces(text) {
        piece.bytes().for_each(|byte| set[usize::from(byte >> 6)] |= 1 << (byte & 63));
        pace.go(piece.len())?;
    }
    Ok(set)
}

fn character_set(text: &str, pace: &mut Pace<'_>) -> Result<HashSet<char>> {
    let mut set = HashSet::new();
    for piece in text_pieces(text) {
        set.extend(piece.chars());
        pace.go(piece.len())?;
    }
    Ok(set)
}

/// Characters match equal ones at a distance less than half the length of the longer text; matches in another order
/// count half.
pub(super) fn jaro(a: &str, b: &str, scratch: &mut Scratch, work: &dyn Work) -> Result<f64> {
    if a.len().max(b.len()) <= 64 && a.is_ascii() && b.is_ascii() {
        return Ok(jaro_of_words(a.as_bytes(), b.as_bytes()));
    }
    scratch.take(a, b);
    let Scratch { first, second, flags: [first_matched, second_matched], .. } = scratch;
    if first.is_empty() || second.is_empty() {
        return Ok(0.0);
    }
    let reach = (first.len().max(second.len()) / 2).saturating_sub(1);
    for (flags, length) in [(&mut *first_matched, first.len()), (&mut *second_matched, second.len())] {
        flags.clear();
        flags.resize(length, false);
    }
    let mut pace = Pace::new(work);
    let mut matches = 0_usize;
    for (at, character) in first.iter().enumerate() {
        let near = at.saturating_sub(reach)..(at + reach + 1).min(second.len());
        if near.is_empty() {
            continue;
        }
        pace.go(near.len())?;
        if let Some(found) = near.into_iter().find(|&other| !second_matched[other] && second[other] == *character) {
            first_matched[at] = true;
            second_matched[found] = true;
            matches += 1;
        }
    }
    if matches == 0 {
        return Ok(0.0);
    }
    let matched = |characters: &[char], flags: &[bool]| -> Vec<char> {
        characters.iter().zip(flags).filter(|(_, matched)| **matched).map(|(character, _)| *character).collect()
    };
    let pairs = matched(first, first_matched).into_iter().zip(matched(second, second_matched));
    let swapped = pairs.filter(|(a, b)| a != b).count();
    Ok(jaro_of_counts(first.len(), second.len(), matches, swapped))
}

fn jaro_of_counts(first: usize, second: usize, matches: usize, in_other_order: usize) -> f64 {
    let count = matches as f64;
    let in_order = count - (in_other_order / 2) as f64;
    (count / first as f64 + count / second as f64 + in_order / count) / 3.0
}

/// The same for ASCII texts of up to 64 characters, whose positions are bits of words.
fn jaro_of_words(a: &[u8], b: &[u8]) -> f64 {
    if a.is_empty() || b.is_empty() {
        return 0.0;
    }
    let reach = (a.len().max(b.len()) / 2).saturating_sub(1);
    let mut places = [0_u64; 128];
    for (at, byte) in b.iter().enumerate() {
        places[usize::from(*byte)] |= 1 << at;
    }
    let (mut a_matched, mut b_matched) = (0_u64, 0_u64);
    for (at, byte) in a.iter().enumerate() {
        let first = at.saturating_sub(reach);
        if first >= b.len() {
            break;
        }
        let near = (u64::MAX << first) & (u64::MAX >> (63 - (at + reach).min(63)));
        let found = places[usize::from(*byte)] & near & !b_matched;
        b_matched |= found & found.wrapping_neg();
        a_matched |= u64::from(found != 0) << at;
    }
    if a_matched == 0 {
        return 0.0;
    }
    let matches = a_matched.count_ones() as usize;
    let mut in_other_order = 0;
    while a_matched != 0 {
        let (at, other) = (a_matched.trailing_zeros() as usize, b_matched.trailing_zeros() as usize);
        in_other_order += usize::from(a[at] != b[other]);
        a_matched &= a_matched - 1;
        b_matched &= b_matched - 1;
    }
    jaro_of_counts(a.len(), b.len(), matches, in_other_order)
}

/// Minimum similarity for which a common prefix counts.
const START_COUNTS_FROM: f64 = 0.7;

/// Maximum number of characters of a common prefix that count.
const START_MAX: usize = 4;

/// Weight of each of them.
const START_WEIGHT: f64 = 0.1;

/// Jaro's measure, increased for texts with a common prefix.
pub(super) fn jaro_winkler(a: &str, b: &str, scratch: &mut Scratch, work: &dyn Work) -> Result<f64> {
    let similarity = jaro(a, b, scratch, work)?;
    if similarity <= START_COUNTS_FROM {
        return Ok(similarity);
    }
    let alike = a.chars().zip(b.chars()).take(START_MAX).take_while(|(a, b)| a == b).count();
    Ok(similarity + alike as f64 * START_WEIGHT * (1.0 - similarity))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::kernel::Bounded;
    use crate::testing::{error_of, shown};

    proptest! {
        /// A non-ASCII character in both texts selects the other implementation.
        #[test]
        fn words_of_bits_find_the_same(a in "[a-d]{0,63}", b in "[a-d]{0,63}") {
            let widened = |text: &str| text.replace('d', "é");
            let (work, scratch) = (Bounded::new(0), &mut Scratch::default());
            let slow = jaro(&widened(&a), &widened(&b), scratch, &work).unwrap();
            prop_assert_eq!(jaro(&a, &b, scratch, &work).unwrap(), slow);
        }
    }

    #[test]
    fn common_characters() {
        assert_eq!(shown("jaccard", &["'duck'", "'luck'"]), "0.6");
        assert_eq!(shown("jaccard", &["'aaa'", "'a'"]), "1.0");
        assert_eq!(shown("jaccard", &["'éa'", "'é'"]), "0.5");
        assert_eq!(shown("jaccard", &["'é'", "'e'"]), "0.0");
        assert_eq!(shown("jaccard", &["'a'", "NULL"]), "NULL");
        assert!(error_of("jaccard", &["''", "'a'"]).contains("empty"));
    }
}
