//! Damaged statements yield a tree or an error with a span, whatever the damage.

use godwit_syntax::parse_script;

use crate::corpus;
use crate::shape;

/// Pseudorandom numbers, the same in every run (xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % end.max(1) as u64) as usize
    }
}

/// Splits into words, blanks and single characters of other kinds.
fn pieces(sql: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut rest = sql;
    while let Some(first) = rest.chars().next() {
        let is_word = |letter: char| letter.is_alphanumeric() || letter == '_';
        let length = if is_word(first) { rest.find(|letter| !is_word(letter)) } else { Some(first.len_utf8()) };
        let (piece, behind) = rest.split_at(length.unwrap_or(rest.len()));
        pieces.push(piece);
        rest = behind;
    }
    pieces
}

fn damaged(sql: &str, other: &str, random: &mut Random) -> String {
    let mut pieces = pieces(sql);
    let at = random.below(pieces.len());
    match random.below(5) {
        0 => pieces.truncate(at),
        1 => {
            pieces.remove(at);
        }
        2 => pieces.insert(at, pieces[random.below(pieces.len())]),
        3 => {
            let from = self::pieces(other);
            pieces[at] = from[random.below(from.len())];
        }
        _ => {
            let other = random.below(pieces.len());
            pieces.swap(at, other);
        }
    }
    pieces.concat()
}

#[test]
fn damaged_statements_never_panic() {
    let statements = corpus::statements();
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for sql in statements.iter().filter(|sql| !sql.is_empty()) {
        let mut text = sql.clone();
        for _ in 0..4 {
            let other = &statements[random.below(statements.len())];
            if other.is_empty() || text.is_empty() {
                continue;
            }
            text = damaged(&text, other, &mut random);
            match parse_script(&text) {
                Err(error) => assert!(error.span().is_some(), "no place: {error} in\n{text}"),
                Ok(parsed) => {
                    for one in parsed {
                        let printed = one.statement.to_string();
                        let again = parse_script(&printed).unwrap_or_else(|error| {
                            panic!("{text}\nwas printed as\n{printed}\n{}", error.locate(&printed))
                        });
                        let again: Vec<_> = again.into_iter().map(|one| shape(&one.statement)).collect();
                        assert_eq!(again, [shape(&one.statement)], "{text}\nwas printed as\n{printed}");
                    }
                }
            }
        }
    }
}
