//! Blobs, bits and UUIDs as text.

use memchr::memchr;

/// `\x` and two digits for each byte.
pub(super) fn write_blob(out: &mut String, bytes: &[u8]) {
    out.push_str("\\x");
    write_hex(out, bytes);
}

/// Two hexadecimal digits for each byte.
pub fn write_hex(out: &mut String, bytes: &[u8]) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    out.extend(digits.map(|digit| char::from(DIGITS[usize::from(digit)])));
}

/// PostgreSQL's `\x00ff`, or text in which `\xFF` and `\377` are bytes and `\\` is a backslash.
pub(super) fn parse_blob(text: &str) -> Option<Vec<u8>> {
    if let Some(bytes) = text.strip_prefix("\\x").and_then(parse_hex) {
        return Some(bytes);
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some(place) = memchr(b'\\', rest) {
        bytes.extend_from_slice(&rest[..place]);
        rest = &rest[place + 1..];
        let (byte, length) = match *rest {
            [b'\\', ..] => (b'\\', 1),
            [b'x' | b'X', high, low, ..] => (hex_digit(high)? << 4 | hex_digit(low)?, 3),
            [a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', ..] => {
                ((a - b'0') << 6 | (b - b'0') << 3 | (c - b'0'), 3)
            }
            _ => return None,
        };
        bytes.push(byte);
        rest = &rest[length..];
    }
    bytes.extend_from_slice(rest);
    Some(bytes)
}

fn parse_hex(digits: &str) -> Option<Vec<u8>> {
    let (pairs, rest) = digits.as_bytes().as_chunks::<2>();
    if !rest.is_empty() {
        return None;
    }
    pairs.iter().map(|&[high, low]| Some(hex_digit(high)? << 4 | hex_digit(low)?)).collect()
}

fn hex_digit(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

/// Zeros and ones, at least one.
pub(super) fn parse_bits(text: &str) -> Option<&str> {
    let text = text.trim();
    (!text.is_empty() && text.bytes().all(|byte| matches!(byte, b'0' | b'1'))).then_some(text)
}

/// Groups of 8, 4, 4, 4 and 12 digits.
pub(super) fn write_uuid(out: &mut String, value: u128) {
    let digits = format!("{value:032x}");
    let groups = [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]];
    out.push_str(&groups.join("-"));
}

/// 32 digits, with or without hyphens between any groups of four, optionally in braces.
pub(super) fn parse_uuid(text: &str) -> Option<u128> {
    let text = text.trim();
    let inner = match text.strip_prefix('{') {
        Some(rest) => rest.strip_suffix('}')?,
        None => text,
    };
    let (mut value, mut count, mut may_split) = (0u128, 0, false);
    for byte in inner.bytes() {
        if byte == b'-' && may_split {
            may_split = false;
            continue;
        }
        value = value << 4 | u128::from(hex_digit(byte)?);
        count += 1;
        if count > 32 {
            return None;
        }
        may_split = count % 4 == 0 && count < 32;
    }
    (count == 32).then_some(value)
}
