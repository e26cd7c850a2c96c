//! Distances between texts. All count characters.
//!
//! The time grows with the product of the lengths, so long texts check now and then whether to go on.

use std::cmp::min;
use std::collections::HashMap;
use std::sync::Arc;

use godwit_common::{Error, Result, SqlState};
use godwit_types::SqlType;
use godwit_vector::Vector;
use godwit_vector::kernels::string::char_count;

use super::characters::number;
use super::similarity::{jaro, jaro_winkler};
use crate::function::{Category, Form, Function, function};
use crate::kernel::{Kernel, Work};
use crate::rows::{Fixed, Pace, Strings, Text, byte_pieces, for_each_row, scalar_checked, valid_rows};

pub(super) fn functions() -> Vec<Function> {
    let text_function = |names, description| function(Category::Text, names, description);
    vec![
        text_function(
            &["levenshtein", "editdist3"],
            "The least number of characters to insert, remove or change that makes one text of the other",
        )
        .example("levenshtein('kitten', 'sitting')", "3")
        .form(distance::<i32>(|a, b, scratch, work| Ok(number(levenshtein(a, b, scratch, work)?)))),
        text_function(
            &["damerau_levenshtein"],
            "The least number of characters to insert, remove, change or swap with a neighbor that makes one text of the other",
        )
        .example("damerau_levenshtein('duckdb', 'udckbd')", "2")
        .form(distance::<i64>(|a, b, scratch, work| Ok(damerau_levenshtein(a, b, scratch, work)? as i64))),
        text_function(&["hamming", "mismatches"], "The number of places where two texts of one length differ")
            .example("hamming('duck', 'luck')", "1")
            .form(scalar_checked::<(Text, Text), i64, _>(|(a, b), work| hamming(a, b, &mut Pace::new(work)))),
        text_function(&["jaro_similarity"], "How similar two texts are by Jaro's measure, from 0 to 1")
            .example("jaro_similarity('martha', 'marhta')", "0.9444444444444445")
            .form(distance::<f64>(|a, b, scratch, work| jaro(a, b, scratch, work)))
            .form(similarity_from(jaro)),
        text_function(
            &["jaro_winkler_similarity"],
            "How similar two texts are by the measure of Jaro and Winkler, from 0 to 1; 0 if it is less than the third argument",
        )
        .example("jaro_winkler_similarity('dixon', 'dicksonx')", "0.8133333333333332")
        .form(distance::<f64>(|a, b, scratch, work| jaro_winkler(a, b, scratch, work)))
        .form(similarity_from(jaro_winkler)),
    ]
}

/// Memory that rows reuse, to avoid allocations.
#[derive(Default)]
pub(super) struct Scratch {
    pub(super) first: Vec<char>,
    pub(super) second: Vec<char>,
    pub(super) flags: [Vec<bool>; 2],
    row: Vec<usize>,
    others: [Vec<usize>; 2],
    last_rows: LastRows,
}

/// The last row of the table that had a character; 0 for none.
#[derive(Default)]
struct LastRows {
    ascii: Vec<usize>,
    others: HashMap<char, usize>,
}

impl LastRows {
    fn clear(&mut self) {
        self.ascii.clear();
        self.ascii.resize(128, 0);
        self.others.clear();
    }

    fn get(&self, character: char) -> usize {
        match self.ascii.get(character as usize) {
            Some(&row) => row,
            None => self.others.get(&character).copied().unwrap_or(0),
        }
    }

    fn set(&mut self, character: char, row: usize) {
        match self.ascii.get_mut(character as usize) {
            Some(last) => *last = row,
            None => {
                self.others.insert(character, row);
            }
        }
    }
}

impl Scratch {
    /// Takes the characters of two texts.
    pub(super) fn take(&mut self, a: &str, b: &str) {
        self.first.clear();
        self.second.clear();
        self.first.extend(a.chars());
        self.second.extend(b.chars());
    }
}

/// Maximum bytes of scratch per byte of text.
const SCRATCH_BYTES: usize = 64;

/// Minimum length of texts that reserve memory.
const LONG_TEXT: usize = 1 << 14;

/// Compares two texts.
pub(super) type Measure<T> = fn(&str, &str, &mut Scratch, &dyn Work) -> Result<T>;

/// Creates a form from a measure of two texts.
fn distance<R: Fixed>(measure: Measure<R::Native>) -> Form
where
    R::Native: Copy,
{
    let kernel = Distance::<R> { measure };
    Form::strict(vec![SqlType::Varchar; 2], R::TYPE, false, false, Arc::new(kernel))
}

struct Distance<R: Fixed> {
    measure: Measure<R::Native>,
}

impl<R: Fixed> Kernel for Distance<R> {
    fn evaluate(&self, arguments: &[Vector], rows: usize, work: &dyn Work) -> Result<Vector> {
        let values = measured(arguments, rows, work, R::Native::default(), self.measure)?;
        Ok(Vector::flat(R::flat(values), None).with_validity(valid_rows(arguments)))
    }
}

/// Creates a form of a similarity that is 0 if it is less than a third argument.
fn similarity_from(measure: Measure<f64>) -> Form {
    let types = vec![SqlType::Varchar, SqlType::Varchar, SqlType::Double];
    Form::strict(types, SqlType::Double, false, false, Arc::new(SimilarityFrom { measure }))
}

struct SimilarityFrom {
    measure: Measure<f64>,
}

impl Kernel for SimilarityFrom {
    fn evaluate(&self, arguments: &[Vector], rows: usize, work: &dyn Work) -> Result<Vector> {
        let least = crate::rows::Values::<f64>::of(&arguments[2]);
        let mut values = measured(arguments, rows, work, 0.0, self.measure)?;
        for (row, value) in values.iter_mut().enumerate() {
            if *value < least.get(row) {
                *value = 0.0;
            }
        }
        Ok(Vector::flat(f64::flat(values), None).with_validity(valid_rows(arguments)))
    }
}

/// Measures the texts of all rows without NULLs.
fn measured<T: Clone>(
    arguments: &[Vector],
    rows: usize,
    work: &dyn Work,
    default: T,
    measure: Measure<T>,
) -> Result<Vec<T>> {
    let [first, second] = [0, 1].map(|at| Strings::of(&arguments[at]));
    let valid = valid_rows(arguments);
    let mut scratch = Scratch::default();
    let mut values = vec![default; rows];
    for_each_row(rows, valid.as_deref(), work, |row, is_valid| {
        if is_valid {
            let bytes = first.bytes(row).len() + second.bytes(row).len();
            let lease = (bytes > LONG_TEXT).then(|| work.reserve(bytes.saturating_mul(SCRATCH_BYTES))).transpose()?;
            values[row] = measure(first.text(row), second.text(row), &mut scratch, work)?;
            if lease.is_some() {
                scratch = Scratch::default();
            }
        }
        Ok(())
    })?;
    Ok(values)
}

fn levenshtein(a: &str, b: &str, scratch: &mut Scratch, work: &dyn Work) -> Result<usize> {
    let (short, long) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    if short.len() <= 64 && short.is_ascii() && long.is_ascii() && long.len() < LONG_TEXT {
        return Ok(levenshtein_of_words(short.as_bytes(), long.as_bytes()));
    }
    scratch.take(short, long);
    let Scratch { first, second, row, .. } = scratch;
    let mut pace = Pace::new(work);
    row.clear();
    row.extend(0..=first.len());
    for (above, other) in second.iter().enumerate() {
        pace.go(first.len())?;
        let mut diagonal = std::mem::replace(&mut row[0], above + 1);
        let mut left = above + 1;
        for (cell, character) in row[1..].iter_mut().zip(first.iter()) {
            let changed = diagonal + usize::from(character != other);
            diagonal = *cell;
            left = min(changed, min(diagonal, left) + 1);
            *cell = left;
        }
    }
    Ok(row[first.len()])
}

/// Computes the distance of ASCII texts, one of which has at most 64 characters: the differences between the cells of a
/// table column are bits of words, and a column is one step (Myers 1999, in the form of Hyyrö 2003).
fn levenshtein_of_words(short: &[u8], long: &[u8]) -> usize {
    let Some(last) = short.len().checked_sub(1) else { return long.len() };
    let mut places = [0_u64; 128];
    for (at, byte) in short.iter().enumerate() {
        places[usize::from(*byte)] |= 1 << at;
    }
    let (mut increases, mut decreases, mut distance) = (u64::MAX, 0_u64, short.len());
    for byte in long {
        let equal = places[usize::from(*byte)];
        let diagonal = (((equal & increases).wrapping_add(increases)) ^ increases) | equal | decreases;
        let up = decreases | !(diagonal | increases);
        let down = increases & diagonal;
        distance = distance + (up >> last & 1) as usize - (down >> last & 1) as usize;
        let up = up << 1 | 1;
        increases = down << 1 | !(diagonal | up);
        decreases = up & diagonal;
    }
    distance
}

/// Computes the distance in which swapped neighbors may be edited further, in memory for three rows of the table (Zhao
/// and Sahni 2019): for a swap, only the last row with one character and the last column with the other are considered.
fn damerau_levenshtein(a: &str, b: &str, scratch: &mut Scratch, work: &dyn Work) -> Result<usize> {
    scratch.take(a, b);
    let Scratch { first, second, row, others: [above, swaps], last_rows, .. } = scratch;
    let most = first.len().max(second.len()) + 1;
    // Cell 0 lies to the left of the table.
    let size = second.len() + 2;
    above.clear();
    above.resize(size, most);
    swaps.clear();
    swaps.resize(size, most);
    row.clear();
    row.push(most);
    row.extend(0..size - 1);
    last_rows.clear();
    let mut pace = Pace::new(work);
    for (place, &character) in (1..).zip(first.iter()) {
        pace.go(second.len())?;
        std::mem::swap(row, above);
        let (mut last_column, mut before_swap) = (0, most);
        let mut two_above = row[1];
        row[1] = place;
        for (column, &other) in (1..).zip(second.iter()) {
            let changed = above[column] + usize::from(character != other);
            let mut cell = min(changed, min(row[column], above[column + 1]) + 1);
            if character == other {
                last_column = column;
                swaps[column + 1] = above[column - 1];
                before_swap = two_above;
            } else {
                let last_row = last_rows.get(other);
                if last_column > 0 && column - last_column == 1 {
                    cell = min(cell, swaps[column + 1].saturating_add(place - last_row));
                } else if last_column > 0 && last_row > 0 && place - last_row == 1 {
                    cell = min(cell, before_swap.saturating_add(column - last_column));
                }
            }
            two_above = std::mem::replace(&mut row[column + 1], cell);
        }
        last_rows.set(character, place);
    }
    Ok(row[second.len() + 1])
}

fn hamming(a: &str, b: &str, pace: &mut Pace<'_>) -> Result<i64> {
    let (length, differences) = if a.is_ascii() && b.is_ascii() {
        let mut differences = 0;
        for (a, b) in byte_pieces(a.as_bytes()).zip(byte_pieces(b.as_bytes())) {
            differences += a.iter().zip(b).filter(|(a, b)| a != b).count();
            pace.go(a.len())?;
        }
        ((a.len(), b.len()), differences)
    } else {
        let mut differences = 0;
        for (a, b) in a.chars().zip(b.chars()) {
            differences += usize::from(a != b);
            pace.go(1)?;
        }
        ((char_count(a.as_bytes()), char_count(b.as_bytes())), differences)
    };
    if length.0 != length.1 {
        let error = Error::user("hamming takes texts of one length");
        return Err(error.with_code(SqlState::INVALID_PARAMETER_VALUE));
    }
    Ok(differences as i64)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::kernel::Bounded;
    use crate::testing::{error_of, shown};

    fn work() -> Bounded {
        Bounded::new(0)
    }

    /// The whole table; with swaps, that of Lowrance and Wagner.
    fn naive(a: &str, b: &str, with_swaps: bool) -> usize {
        let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
        let mut table = vec![vec![0; b.len() + 1]; a.len() + 1];
        for i in 0..=a.len() {
            for j in 0..=b.len() {
                let mut cell = if i == 0 {
                    j
                } else if j == 0 {
                    i
                } else {
                    usize::MAX
                };
                if i > 0 && j > 0 {
                    cell = table[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
                    cell = cell.min(table[i - 1][j] + 1).min(table[i][j - 1] + 1);
                    let swap = |k: usize, l: usize| table[k - 1][l - 1] + (i - k - 1) + 1 + (j - l - 1);
                    let pairs = (1..i).flat_map(|k| (1..j).map(move |l| (k, l)));
                    let swaps = pairs.filter(|&(k, l)| with_swaps && a[k - 1] == b[j - 1] && b[l - 1] == a[i - 1]);
                    cell = swaps.map(|(k, l)| swap(k, l)).fold(cell, usize::min);
                }
                table[i][j] = cell;
            }
        }
        table[a.len()][b.len()]
    }

    proptest! {
        #[test]
        fn distances_are_those_of_the_whole_table(a in "[abcé]{0,9}", b in "[abcé]{0,9}") {
            let scratch = &mut Scratch::default();
            prop_assert_eq!(levenshtein(&a, &b, scratch, &work()).unwrap(), naive(&a, &b, false));
            prop_assert_eq!(damerau_levenshtein(&a, &b, scratch, &work()).unwrap(), naive(&a, &b, true));
        }

        #[test]
        fn words_of_bits_are_a_table(a in "[a-d]{0,64}", b in "[a-d]{0,90}") {
            prop_assert_eq!(levenshtein(&a, &b, &mut Scratch::default(), &work()).unwrap(), naive(&a, &b, false));
        }
    }

    #[test]
    fn known_distances() {
        assert_eq!(shown("levenshtein", &["'kitten'", "'sitting'"]), "3");
        assert_eq!(shown("editdist3", &["'é'", "'e'"]), "1");
        assert_eq!(shown("levenshtein", &["''", "'abc'"]), "3");
        assert_eq!(shown("levenshtein", &["NULL", "'abc'"]), "NULL");
        assert_eq!(shown("damerau_levenshtein", &["'ca'", "'abc'"]), "2");
        assert_eq!(shown("damerau_levenshtein", &["''", "''"]), "0");
        assert_eq!(shown("hamming", &["'duck'", "'luck'"]), "1");
        assert_eq!(shown("mismatches", &["'é'", "'e'"]), "1");
        assert_eq!(shown("hamming", &["''", "''"]), "0");
        assert!(error_of("hamming", &["'a'", "''"]).contains("one length"));
        assert!(error_of("hamming", &["'é'", "'ab'"]).contains("one length"));
    }

    #[test]
    fn known_similarities() {
        for (a, b, jaro, winkler) in [
            ("'martha'", "'marhta'", "0.9444444444444445", "0.9611111111111111"),
            ("'dixon'", "'dicksonx'", "0.7666666666666666", "0.8133333333333332"),
            ("'duck'", "'duckdb'", "0.8888888888888888", "0.9333333333333333"),
            ("'abcdefgh'", "'abcdxxxx'", "0.6666666666666666", "0.6666666666666666"),
            ("''", "'a'", "0.0", "0.0"),
            ("''", "''", "0.0", "0.0"),
            ("'é'", "'é'", "1.0", "1.0"),
            ("'a'", "'b'", "0.0", "0.0"),
        ] {
            assert_eq!(shown("jaro_similarity", &[a, b]), jaro, "{a} {b}");
            assert_eq!(shown("jaro_winkler_similarity", &[a, b]), winkler, "{a} {b}");
        }
        assert_eq!(shown("jaro_winkler_similarity", &["'duck'", "'duckdb'", "0.9"]), "0.9333333333333333");
        assert_eq!(shown("jaro_winkler_similarity", &["'duck'", "'duckdb'", "0.95"]), "0.0");
        assert_eq!(shown("jaro_similarity", &["'duck'", "'duckdb'", "NULL"]), "NULL");
    }

    struct Stopped;

    impl Work for Stopped {
        fn reserve(&self, _: usize) -> Result<crate::Lease> {
            Ok(Box::new(()))
        }

        fn rows_bytes_max(&self) -> usize {
            usize::MAX
        }

        fn check(&self) -> Result<()> {
            Err(Error::cancelled())
        }
    }

    #[test]
    fn long_texts_can_be_stopped_and_ask_for_memory() {
        let long = "ab".repeat(100_000);
        for measure in [levenshtein, damerau_levenshtein] {
            assert!(measure(&long, &long, &mut Scratch::default(), &Stopped).is_err());
        }
        assert!(jaro(&long, &long, &mut Scratch::default(), &Stopped).is_err());
        let long = format!("'{}'", "é".repeat(200_000));
        assert!(error_of("levenshtein", &[&long, &long]).contains("bytes"));
    }
}
