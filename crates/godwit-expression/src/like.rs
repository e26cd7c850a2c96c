//! LIKE, ILIKE, SIMILAR TO, GLOB and regular expressions.
//!
//! A pattern is compiled once: most are a prefix, a suffix or a substring, or several substrings in order between
//! wildcards, which are searched with SIMD. Only `_` needs the general matcher. SIMILAR TO and GLOB become regular
//! expressions ([`pattern`](crate::pattern)).

use std::sync::Arc;

use godwit_common::{Error, Result, SqlState};
use godwit_vector::kernels::boolean::both_valid;
use godwit_vector::{Data, StrColumn, Vector, kernels};
use memchr::memmem::Finder;
use parking_lot::Mutex;

use crate::compare::boolean;
use crate::expression::Kernel;
use crate::{Expression, pattern};

/// Compiles a match of text with a pattern.
pub(crate) fn compile(argument: Expression, pattern: Expression, syntax: Syntax, negated: bool) -> Expression {
    let output = boolean(argument.output().nullable || pattern.output().nullable);
    let mut kernel = Match { syntax, negated, can_fail: true, last: Mutex::default() };
    if let Some((text, is_null)) = pattern.as_literal() {
        kernel.can_fail = !is_null && kernel.matcher(text.strings().get(0)).is_err();
    }
    Expression::strict(kernel, vec![argument, pattern], output)
}

/// The syntax of a pattern.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Syntax {
    /// LIKE and ILIKE.
    Like { escape: Option<char>, ignore_case: bool },
    /// SIMILAR TO.
    Similar { escape: Option<char> },
    /// GLOB.
    Glob,
    /// `~` and `~*`.
    Regex { ignore_case: bool },
}

struct Match {
    syntax: Syntax,
    negated: bool,
    /// True if the pattern may be invalid.
    can_fail: bool,
    /// The most recently compiled pattern.
    last: Mutex<Option<(Vec<u8>, Arc<Matcher>)>>,
}

impl Match {
    fn matcher(&self, pattern: &[u8]) -> Result<Arc<Matcher>> {
        let mut last = self.last.lock();
        if let Some((_, matcher)) = last.as_ref().filter(|(known, _)| known == pattern) {
            return Ok(matcher.clone());
        }
        let text = String::from_utf8_lossy(pattern);
        let matcher = Arc::new(match self.syntax {
            Syntax::Like { escape, ignore_case } => Matcher::like(&text, escape, ignore_case)?,
            Syntax::Regex { ignore_case } => Matcher::regex(&text, &text, ignore_case)?,
            Syntax::Similar { escape } => Matcher::regex(&pattern::of_similar(&text, escape)?, &text, false)?,
            Syntax::Glob => Matcher::regex(&pattern::of_glob(&text), &text, false)?,
        });
        *last = Some((pattern.to_vec(), matcher.clone()));
        Ok(matcher)
    }
}

impl Kernel for Match {
    fn evaluate(&self, arguments: &[Vector], rows: usize) -> Result<Vector> {
        let (argument, pattern) = (&arguments[0], &arguments[1]);
        let strings = argument.to_flat();
        let strings = strings.strings();
        let validity = both_valid(argument, pattern);
        let mut bytes = match pattern.data() {
            Data::Constant(_) if !pattern.is_valid(0) => vec![0; rows],
            Data::Constant(pattern) => self.matcher(pattern.strings().get(0))?.match_all(strings),
            _ => {
                let patterns = pattern.to_flat();
                let patterns = patterns.strings();
                let valid = |row: usize| validity.as_ref().is_none_or(|validity| validity.get(row));
                (0..rows)
                    .map(|row| match valid(row) {
                        true => {
                            Ok(self.matcher(patterns.get(row))?.matches(strings.get(row), &mut String::new()) as u8)
                        }
                        false => Ok(0),
                    })
                    .collect::<Result<Vec<u8>>>()?
            }
        };
        if self.negated {
            bytes.iter_mut().for_each(|byte| *byte ^= 1);
        }
        Ok(Vector::from_bools(bytes, None).with_validity(validity))
    }

    fn can_fail(&self) -> bool {
        self.can_fail
    }
}

enum Matcher {
    Exact(Vec<u8>),
    Prefix(Vec<u8>),
    Suffix(Vec<u8>),
    Contains(Box<Finder<'static>>),
    /// A prefix, substrings in order, a suffix, with anything between.
    Parts {
        prefix: Vec<u8>,
        middle: Vec<Finder<'static>>,
        suffix: Vec<u8>,
    },
    General(Vec<Token>),
    /// The argument in lower case, against a pattern in lower case.
    Lower(Box<Matcher>),
    Regex(regex::bytes::Regex),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Token {
    /// `%`
    Any,
    /// `_`
    One,
    Char(char),
}

impl Matcher {
    fn like(pattern: &str, escape: Option<char>, ignore_case: bool) -> Result<Matcher> {
        if ignore_case {
            return Ok(Matcher::Lower(Box::new(Matcher::like(&pattern.to_lowercase(), escape, false)?)));
        }
        let tokens = tokens(pattern, escape)?;
        if tokens.contains(&Token::One) {
            return Ok(Matcher::General(tokens));
        }
        let mut literals: Vec<Vec<u8>> = vec![Vec::new()];
        for token in &tokens {
            match token {
                Token::Char(c) => {
                    literals.last_mut().expect("never empty").extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes())
                }
                _ => literals.push(Vec::new()),
            }
        }
        let suffix = literals.pop().expect("never empty");
        if literals.is_empty() {
            return Ok(Matcher::Exact(suffix));
        }
        let prefix = literals.remove(0);
        let mut middle: Vec<Finder<'static>> = literals
            .iter()
            .filter(|literal| !literal.is_empty())
            .map(|literal| Finder::new(literal).into_owned())
            .collect();
        Ok(match (prefix.is_empty(), middle.len(), suffix.is_empty()) {
            (false, 0, true) => Matcher::Prefix(prefix),
            (true, 0, false) => Matcher::Suffix(suffix),
            (true, 1, true) => Matcher::Contains(Box::new(middle.remove(0))),
            _ => Matcher::Parts { prefix, middle, suffix },
        })
    }

    /// Compiles a regular expression, made from what the user has `written`.
    fn regex(expression: &str, written: &str, ignore_case: bool) -> Result<Matcher> {
        let regex = regex::bytes::RegexBuilder::new(expression).case_insensitive(ignore_case).build();
        Ok(Matcher::Regex(regex.map_err(|error| {
            Error::user(format!("'{written}' is not a regular expression: {error}"))
                .with_code(SqlState::INVALID_REGULAR_EXPRESSION)
        })?))
    }

    fn match_all(&self, strings: &StrColumn) -> Vec<u8> {
        match self {
            Matcher::Exact(text) => strings.iter().map(|string| (string == &text[..]) as u8).collect(),
            Matcher::Prefix(text) => strings.iter().map(|string| string.starts_with(text) as u8).collect(),
            Matcher::Suffix(text) => strings.iter().map(|string| string.ends_with(text) as u8).collect(),
            Matcher::Contains(finder) => strings.iter().map(|string| find(finder, string).is_some() as u8).collect(),
            _ => {
                let mut scratch = String::new();
                strings.iter().map(|string| self.matches(string, &mut scratch) as u8).collect()
            }
        }
    }

    fn matches(&self, string: &[u8], scratch: &mut String) -> bool {
        match self {
            Matcher::Exact(text) => string == &text[..],
            Matcher::Prefix(text) => string.starts_with(text),
            Matcher::Suffix(text) => string.ends_with(text),
            Matcher::Contains(finder) => find(finder, string).is_some(),
            Matcher::Parts { prefix, middle, suffix } => match_parts(string, prefix, middle, suffix),
            Matcher::General(tokens) => match_general(string, tokens),
            Matcher::Lower(matcher) => {
                scratch.clear();
                match std::str::from_utf8(string) {
                    Ok(text) if text.is_ascii() => {
                        scratch.push_str(text);
                        scratch.make_ascii_lowercase();
                    }
                    _ => scratch.push_str(&String::from_utf8_lossy(string).to_lowercase()),
                }
                matcher.matches(scratch.as_bytes(), &mut String::new())
            }
            Matcher::Regex(regex) => regex.is_match(string),
        }
    }
}

fn tokens(pattern: &str, escape: Option<char>) -> Result<Vec<Token>> {
    let mut tokens = Vec::new();
    let mut chars = pattern.chars();
    while let Some(c) = chars.next() {
        tokens.push(match c {
            c if Some(c) == escape => Token::Char(chars.next().ok_or_else(pattern::dangling_escape)?),
            '%' => Token::Any,
            '_' => Token::One,
            c => Token::Char(c),
        });
    }
    tokens.dedup_by(|a, b| *a == Token::Any && *b == Token::Any);
    Ok(tokens)
}

#[inline]
fn find(finder: &Finder<'_>, text: &[u8]) -> Option<usize> {
    kernels::string::find(text, finder.needle(), || finder.find(text))
}

/// The leftmost occurrence of each part is as good as any other.
fn match_parts(string: &[u8], prefix: &[u8], middle: &[Finder<'_>], suffix: &[u8]) -> bool {
    // The pointer of an empty vector is unmapped, and comparing zero bytes there costs over 100 ns with AVX-512: a
    // masked load from an unmapped address is resolved in microcode.
    let starts = prefix.is_empty() || string.starts_with(prefix);
    let ends = suffix.is_empty() || string.ends_with(suffix);
    if string.len() < prefix.len() + suffix.len() || !starts || !ends {
        return false;
    }
    let mut rest = &string[prefix.len()..string.len() - suffix.len()];
    for finder in middle {
        match find(finder, rest) {
            Some(at) => rest = &rest[at + finder.needle().len()..],
            None => return false,
        }
    }
    true
}

/// Matches character by character; a mismatch goes back to the last `%` and lets it take one more character.
fn match_general(string: &[u8], tokens: &[Token]) -> bool {
    let text = String::from_utf8_lossy(string);
    let mut rest = text.chars();
    let mut at = 0;
    let mut retry: Option<(std::str::Chars<'_>, usize)> = None;
    loop {
        match tokens.get(at) {
            Some(Token::Any) => {
                retry = Some((rest.clone(), at + 1));
                at += 1;
                continue;
            }
            Some(token) => {
                let next = rest.next();
                if next.is_some_and(|c| *token == Token::One || *token == Token::Char(c)) {
                    at += 1;
                    continue;
                }
            }
            None if rest.as_str().is_empty() => return true,
            None => {}
        }
        let Some((from, resume)) = &mut retry else { return false };
        if from.next().is_none() {
            return false;
        }
        (rest, at) = (from.clone(), *resume);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A matcher straight from the definition.
    fn naive(text: &[char], tokens: &[Token]) -> bool {
        match tokens {
            [] => text.is_empty(),
            [Token::Any, rest @ ..] => (0..=text.len()).any(|taken| naive(&text[taken..], rest)),
            [Token::One, rest @ ..] => !text.is_empty() && naive(&text[1..], rest),
            [Token::Char(c), rest @ ..] => text.first() == Some(c) && naive(&text[1..], rest),
        }
    }

    proptest! {
        #[test]
        fn patterns_match_by_definition(text in "[abé€]{0,10}", pattern in "[abé%_\\\\]{0,7}") {
            let Ok(tokens) = tokens(&pattern, Some('\\')) else { return Ok(()) };
            let matcher = Matcher::like(&pattern, Some('\\'), false).unwrap();
            let chars: Vec<char> = text.chars().collect();
            let expected = naive(&chars, &tokens);
            prop_assert_eq!(matcher.matches(text.as_bytes(), &mut String::new()), expected);
            prop_assert_eq!(matcher.match_all(&StrColumn::from_strings([&text])), vec![expected as u8]);
            let insensitive = Matcher::like(&pattern.to_uppercase(), Some('\\'), true).unwrap();
            prop_assert_eq!(insensitive.matches(text.to_uppercase().as_bytes(), &mut String::new()), expected);
        }
    }

    #[test]
    fn common_patterns_have_fast_forms() {
        let form = |pattern| Matcher::like(pattern, Some('\\'), false).unwrap();
        assert!(matches!(form("PROMO%"), Matcher::Prefix(_)));
        assert!(matches!(form("%BRASS"), Matcher::Suffix(_)));
        assert!(matches!(form("%green%"), Matcher::Contains(_)));
        assert!(matches!(form("%special%requests%"), Matcher::Parts { .. }));
        assert!(matches!(form("100\\%"), Matcher::Exact(_)));
        assert!(form("%").matches(b"", &mut String::new()));
    }
}
