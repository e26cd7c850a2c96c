//! Values of literals and quoted names.

use godwit_common::{Result, Span};

use super::error_at;

/// Returns the value of `'text'` or `"name"` with doubled quotes inside. A letter before the first quote is skipped.
pub(crate) fn quoted(written: &str) -> String {
    let quote = if written.ends_with('"') { '"' } else { '\'' };
    inside(written, quote).replace(if quote == '"' { "\"\"" } else { "''" }, if quote == '"' { "\"" } else { "'" })
}

/// Returns the value of `$tag$text$tag$`.
pub(crate) fn dollar_quoted(written: &str) -> &str {
    let tag = 2 + written[1..].find('$').expect("the lexer has seen the tag");
    &written[tag..written.len() - tag]
}

/// Returns the text between the first quote and the last.
fn inside(written: &str, quote: char) -> &str {
    let start = written.find(quote).expect("the lexer has seen the quote") + 1;
    &written[start..written.len() - 1]
}

/// Reads the inside of a literal character by character, and tracks its position in the script.
struct Reader<'a> {
    rest: &'a str,
    end: usize,
}

impl<'a> Reader<'a> {
    /// Reads a literal whose last character is a quote.
    fn new(written: &'a str, quote: char, span: Span) -> Self {
        Self { rest: inside(written, quote), end: span.end as usize - 1 }
    }

    fn at(&self) -> usize {
        self.end - self.rest.len()
    }

    fn next(&mut self) -> Option<char> {
        let mut characters = self.rest.chars();
        let next = characters.next();
        self.rest = characters.as_str();
        next
    }

    fn eat(&mut self, wanted: char) -> bool {
        let is_there = self.rest.starts_with(wanted);
        if is_there {
            self.next();
        }
        is_there
    }

    /// Reads up to `most` digits as a number; also returns how many there were.
    fn digits(&mut self, radix: u32, most: usize) -> (u32, usize) {
        let (mut value, mut count) = (0, 0);
        while count < most
            && let Some(digit) = self.rest.chars().next().and_then(|next| next.to_digit(radix))
        {
            value = value * radix + digit;
            count += 1;
            self.next();
        }
        (value, count)
    }

    /// Reads a character given by exactly `count` hexadecimal digits. The first half of a surrogate pair is combined
    /// with the second, which `second` reads.
    fn code_point(
        &mut self,
        start: usize,
        count: usize,
        second: impl FnOnce(&mut Self) -> Option<u32>,
    ) -> Result<char> {
        let (mut value, found) = self.digits(16, count);
        if found == count && (0xd800..0xdc00).contains(&value) {
            let low = second(self).filter(|low| (0xdc00..0xe000).contains(low));
            value = low.map_or(value, |low| 0x10000 + ((value - 0xd800) << 10) + (low - 0xdc00));
        }
        let character = if found == count { char::from_u32(value) } else { None };
        character.ok_or_else(|| {
            error_at("the escape isn't a Unicode character", start, self.at())
                .with_hint(format!("it takes {count} hexadecimal digits"))
        })
    }
}

/// Returns the value of `E'text'`: escapes `\b \f \n \r \t \v \0 \101 \x41 \u0041 \U00000041`; before any other
/// character, the backslash is just dropped.
pub(crate) fn escaped(written: &str, span: Span) -> Result<String> {
    let mut reader = Reader::new(written, '\'', span);
    let mut value: Vec<u8> = Vec::with_capacity(reader.rest.len());
    let mut buffer = [0; 4];
    loop {
        let start = reader.at();
        let character = match reader.next() {
            None => break,
            Some('\'') => {
                reader.eat('\'');
                '\''
            }
            Some('\\') => match escape(&mut reader, start)? {
                Escape::Character(character) => character,
                Escape::Byte(byte) => {
                    value.push(byte);
                    continue;
                }
            },
            Some(other) => other,
        };
        value.extend(character.encode_utf8(&mut buffer).bytes());
    }
    String::from_utf8(value).map_err(|_| {
        error_at("the escapes don't make valid UTF-8", span.start as usize, span.end as usize)
            .with_hint("write characters as \\u and four hexadecimal digits")
    })
}

/// The value of an escape. Bytes of several escapes may make one character.
enum Escape {
    Character(char),
    Byte(u8),
}

fn escape(reader: &mut Reader<'_>, start: usize) -> Result<Escape> {
    let Some(letter) = reader.next() else { return Ok(Escape::Character('\\')) };
    Ok(match letter {
        'b' => Escape::Character('\u{8}'),
        'f' => Escape::Character('\u{c}'),
        'n' => Escape::Character('\n'),
        'r' => Escape::Character('\r'),
        't' => Escape::Character('\t'),
        'v' => Escape::Character('\u{b}'),
        'x' => match reader.digits(16, 2) {
            (_, 0) => Escape::Character('x'),
            (byte, _) => Escape::Byte(u8::try_from(byte).expect("two hexadecimal digits")),
        },
        'u' | 'U' => {
            let count = if letter == 'u' { 4 } else { 8 };
            Escape::Character(reader.code_point(start, count, |reader| {
                (reader.eat('\\') && reader.eat(letter)).then(|| reader.digits(16, count).0)
            })?)
        }
        '0'..='7' => {
            let (more, count) = reader.digits(8, 2);
            let first = letter.to_digit(8).expect("an octal digit");
            let byte = (first << (3 * count)) + more;
            Escape::Byte(u8::try_from(byte & 0xff).expect("eight bits"))
        }
        other => Escape::Character(other),
    })
}

/// Returns the value of `U&'text'` or `U&"name"`: `\0041` and `\+000041` with the escape character, which is doubled to
/// stand for itself.
pub(crate) fn unicode(written: &str, escape: char, span: Span) -> Result<String> {
    let quote = if written.ends_with('"') { '"' } else { '\'' };
    let mut reader = Reader::new(written, quote, span);
    let mut value = String::with_capacity(reader.rest.len());
    loop {
        let start = reader.at();
        match reader.next() {
            None => return Ok(value),
            Some(character) if character == quote => {
                reader.eat(quote);
                value.push(quote);
            }
            Some(character) if character == escape => {
                if reader.eat(escape) {
                    value.push(escape);
                    continue;
                }
                let count = if reader.eat('+') { 6 } else { 4 };
                value.push(reader.code_point(start, count, |reader| {
                    let is_there = reader.eat(escape);
                    let count = if reader.eat('+') { 6 } else { 4 };
                    is_there.then(|| reader.digits(16, count).0)
                })?);
            }
            Some(character) => value.push(character),
        }
    }
}

/// Returns the bytes of `X'00ff'`.
pub(crate) fn blob(written: &str, span: Span) -> Result<Vec<u8>> {
    let digits = inside(written, '\'').as_bytes();
    let value = |digit: u8| char::from(digit).to_digit(16);
    let bytes = digits.chunks(2).map(|pair| match pair {
        [high, low] => u8::try_from(value(*high)? * 16 + value(*low)?).ok(),
        _ => None,
    });
    bytes.collect::<Option<_>>().ok_or_else(|| {
        error_at("the bytes aren't pairs of hexadecimal digits", span.start as usize, span.end as usize)
            .with_hint("write X'00ff'")
    })
}

/// Returns the digits of `B'0101'`.
pub(crate) fn bits(written: &str, span: Span) -> Result<&str> {
    let digits = inside(written, '\'');
    if digits.bytes().all(|digit| matches!(digit, b'0' | b'1')) {
        return Ok(digits);
    }
    Err(error_at("bits are 0 or 1", span.start as usize, span.end as usize).with_hint("write B'0101'"))
}

/// Normalizes a number: no underscores, letters in lower case.
pub(crate) fn number(written: &str) -> String {
    let digits = written.bytes().filter(|&byte| byte != b'_');
    digits.map(|byte| char::from(byte.to_ascii_lowercase())).collect()
}
