//! Reads a text from left to right.

/// The rest of a text.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scan<'t> {
    rest: &'t str,
}

impl<'t> Scan<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self { rest: text.trim() }
    }

    pub(super) fn rest(&self) -> &'t str {
        self.rest
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    pub(super) fn skip_blanks(&mut self) {
        self.rest = self.rest.trim_start();
    }

    /// Takes the character if it is next.
    pub(super) fn eat(&mut self, expected: char) -> bool {
        match self.rest.strip_prefix(expected) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    /// Takes a sign; true for a minus.
    pub(super) fn sign(&mut self) -> Option<bool> {
        if self.eat('-') {
            Some(true)
        } else if self.eat('+') {
            Some(false)
        } else {
            None
        }
    }

    /// Takes all digits that come next, possibly none.
    pub(super) fn digits(&mut self) -> &'t str {
        self.take_while(|c| c.is_ascii_digit())
    }

    /// Takes all letters that come next, possibly none.
    pub(super) fn word(&mut self) -> &'t str {
        self.take_while(char::is_alphabetic)
    }

    /// Takes everything up to the next blank, possibly nothing.
    pub(super) fn until_blank(&mut self) -> &'t str {
        self.take_while(|c| !c.is_whitespace())
    }

    /// Takes the digits after a point, if a point is next.
    pub(super) fn fraction(&mut self) -> &'t str {
        if self.eat('.') { self.digits() } else { "" }
    }

    fn take_while(&mut self, matches: impl Fn(char) -> bool) -> &'t str {
        let end = self.rest.find(|c| !matches(c)).unwrap_or(self.rest.len());
        let (taken, rest) = self.rest.split_at(end);
        self.rest = rest;
        taken
    }
}

/// Converts digits to a number.
pub(super) fn number(digits: &str) -> Option<i64> {
    digits.parse().ok()
}

/// Converts the digits after a point to a number of `places` digits, rounded; 10^`places` if it rounds up to one.
pub(super) fn rounded_fraction(digits: &str, places: usize) -> i64 {
    let digit = |at: usize| digits.as_bytes().get(at).map_or(0, |byte| i64::from(byte - b'0'));
    let kept = (0..places).fold(0, |sum, at| sum * 10 + digit(at));
    kept + i64::from(digit(places) >= 5)
}
