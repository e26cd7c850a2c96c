//! Base64.

use godwit_common::{Error, Result, SqlState};

use crate::rows::Writer;

const STANDARD: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const URL: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// Characters per line of mail, and the bytes that they encode.
const LINE_CHARS: usize = 76;
const LINE_BYTES: usize = LINE_CHARS / 4 * 3;

/// Writes four characters for every three bytes, padded with `=`.
pub(super) fn write(bytes: &[u8], out: &mut Writer<'_>) -> Result<()> {
    out.reserve(bytes.len().div_ceil(3).saturating_mul(4))?;
    bytes.chunks(LINE_BYTES).try_for_each(|line| write_line(line, STANDARD, out))?;
    let missing = (3 - bytes.len() % 3) % 3;
    out.push_bytes(&b"=="[..missing]);
    Ok(())
}

/// Like [`write`], in lines of 76 characters.
pub(super) fn write_lines(bytes: &[u8], out: &mut Writer<'_>) -> Result<()> {
    out.reserve(bytes.len().div_ceil(3).saturating_mul(4).saturating_add(bytes.len() / LINE_BYTES))?;
    for (at, line) in bytes.chunks(LINE_BYTES).enumerate() {
        if at > 0 {
            out.push('\n');
        }
        write_line(line, STANDARD, out)?;
    }
    let missing = (3 - bytes.len() % 3) % 3;
    out.push_bytes(&b"=="[..missing]);
    Ok(())
}

/// Like [`write`], with `-` and `_`, and without padding.
pub(super) fn write_for_url(bytes: &[u8], out: &mut Writer<'_>) -> Result<()> {
    out.reserve(bytes.len().div_ceil(3).saturating_mul(4))?;
    bytes.chunks(LINE_BYTES).try_for_each(|line| write_line(line, URL, out))
}

fn write_line(line: &[u8], alphabet: &[u8; 64], out: &mut Writer<'_>) -> Result<()> {
    let mut written = [0; LINE_CHARS];
    let (threes, rest) = line.as_chunks::<3>();
    let char_at = |bits: u32, shift: u32| alphabet[(bits >> shift & 63) as usize];
    for (four, &[a, b, c]) in written.as_chunks_mut::<4>().0.iter_mut().zip(threes) {
        let bits = u32::from_be_bytes([0, a, b, c]);
        *four = [char_at(bits, 18), char_at(bits, 12), char_at(bits, 6), char_at(bits, 0)];
    }
    out.push_bytes(&written[..threes.len() * 4]);
    match *rest {
        [a] => out.push_bytes(&[12, 6].map(|shift| char_at(u32::from(a) << 10, shift))),
        [a, b] => out.push_bytes(&[12, 6, 0].map(|shift| char_at(u32::from_be_bytes([0, 0, a, b]) << 2, shift))),
        _ => {}
    }
    out.go(line.len())
}

/// Marks characters that encode nothing in the table of all characters.
const NOTHING: u8 = 0xFF;

/// Values of characters, in both alphabets.
const VALUES: [u8; 256] = {
    let mut values = [NOTHING; 256];
    let mut at = 0;
    while at < 64 {
        values[STANDARD[at] as usize] = at as u8;
        values[URL[at] as usize] = at as u8;
        at += 1;
    }
    values
};

/// Decodes characters; blanks are ignored, and the `=` at the end may be missing.
pub(super) fn read(text: &str, out: &mut Writer<'_>) -> Result<()> {
    let (fours, _) = text.as_bytes().as_chunks::<4>();
    let mut read = 0;
    for four in fours {
        let [a, b, c, d] = four.map(|char| VALUES[usize::from(char)]);
        if (a | b | c | d) & 0xC0 != 0 {
            break;
        }
        let bits = u32::from(a) << 18 | u32::from(b) << 12 | u32::from(c) << 6 | u32::from(d);
        out.push_bytes(&bits.to_be_bytes()[1..]);
        out.go(1)?;
        read += 4;
    }
    read_rest(text, read, out)
}

/// Decodes from the first group that contains characters outside the alphabet.
fn read_rest(text: &str, start: usize, out: &mut Writer<'_>) -> Result<()> {
    let (mut bits, mut count, mut padding) = (0u32, 0, 0);
    for (at, char) in text.bytes().enumerate().skip(start).filter(|(_, char)| !char.is_ascii_whitespace()) {
        let value = VALUES[usize::from(char)];
        match char {
            b'=' => padding += 1,
            _ if value != NOTHING && padding == 0 => (bits, count) = (bits << 6 | u32::from(value), count + 1),
            _ => {
                let found = text[at..].chars().next().unwrap_or_default();
                return Err(broken(format!("'{found}' has no meaning at byte {}", at + 1)));
            }
        }
        if count == 4 {
            out.push_bytes(&bits.to_be_bytes()[1..]);
            (bits, count) = (0, 0);
        }
        out.go(1)?;
    }
    match (count, padding) {
        (0, 0) => {}
        (2, 0 | 2) => out.push_bytes(&[(bits >> 4) as u8]),
        (3, 0 | 1) => out.push_bytes(&[(bits >> 10) as u8, (bits >> 2) as u8]),
        _ => return Err(broken("its end is missing".to_owned())),
    }
    Ok(())
}

fn broken(why: String) -> Error {
    Error::user(format!("the text isn't in base 64: {why}")).with_code(SqlState::INVALID_PARAMETER_VALUE)
}
