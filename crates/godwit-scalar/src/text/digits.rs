//! Numbers as digits in a base, as sizes, and as bars.

use godwit_common::{Error, Result, SqlState};

use crate::function::{Category, Function, function};
use crate::rows::{Blob, Text, TextBytes, Writer, text};

pub(super) fn functions() -> Vec<Function> {
    let text_function = |names, description| function(Category::Text, names, description);
    vec![
        text_function(
            &["to_hex"],
            "The hexadecimal digits of an integer; of a negative one, those of its two's complement",
        )
        .example("to_hex(255)", "ff")
        .example("to_hex(-1)", "ffffffff")
        .form(text::<(i32,), Text, _>(|(number,), out| write_digits(u128::from(number as u32), 16, LOWER, 1, out)))
        .form(text::<(i64,), Text, _>(|(number,), out| write_digits(u128::from(number as u64), 16, LOWER, 1, out)))
        .form(text::<(i128,), Text, _>(|(number,), out| write_digits(number as u128, 16, LOWER, 1, out))),
        text_function(&["bin", "to_binary"], "The binary digits of an integer, or of the bytes of a text or BLOB")
            .example("bin(5)", "101")
            .example("bin('a')", "01100001")
            .form(text::<(i64,), Text, _>(|(number,), out| write_digits(u128::from(number as u64), 2, LOWER, 1, out)))
            .form(text::<(i128,), Text, _>(|(number,), out| write_digits(number as u128, 2, LOWER, 1, out)))
            .form(text::<(TextBytes,), Text, _>(|(bytes,), out| write_bits(bytes, out)))
            .form(text::<(Blob,), Text, _>(|(bytes,), out| write_bits(bytes, out))),
        text_function(
            &["to_base"],
            "The digits of a number that isn't negative in a base of 2 to 36, with zeros before them up to a length",
        )
        .example("to_base(255, 16)", "FF")
        .example("to_base(5, 2, 8)", "00000101")
        .form(text::<(i64, i64), Text, _>(|(number, base), out| write_base(number, base, 0, out)))
        .form(text::<(i64, i64, i64), Text, _>(|(number, base, length), out| write_base(number, base, length, out))),
        text_function(
            &["format_bytes", "formatreadablesize", "pg_size_pretty"],
            "A number of bytes in units of 1024, as people read it",
        )
        .example("format_bytes(1536)", "1.5 KiB")
        .form(text::<(i64,), Text, _>(|(bytes,), out| write_size(bytes, 1024, "KMGTP", "iB", out))),
        text_function(&["formatreadabledecimalsize"], "A number of bytes in units of 1000, as people read it")
            .example("formatReadableDecimalSize(1536)", "1.5 kB")
            .form(text::<(i64,), Text, _>(|(bytes,), out| write_size(bytes, 1000, "kMGTP", "B", out))),
        text_function(
            &["bar"],
            "A bar whose length is to its width, 80 characters if none is said, as the number is to a range",
        )
        .example("bar(5, 0, 10, 10)", "█████     ")
        .form(text::<(f64, f64, f64), Text, _>(|(number, least, most), out| write_bar(number, least, most, 80.0, out)))
        .form(text::<(f64, f64, f64, f64), Text, _>(|(number, least, most, width), out| {
            write_bar(number, least, most, width, out)
        })),
    ]
}

const UPPER: &[u8; 36] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
const LOWER: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";

fn write_digits(mut number: u128, base: u8, digits: &[u8; 36], least: usize, out: &mut Writer<'_>) {
    let mut buffer = [b'0'; 128];
    let mut start = buffer.len();
    // Division of 128-bit integers is slow.
    while number > u128::from(u64::MAX) {
        start -= 1;
        buffer[start] = digits[(number % u128::from(base)) as usize];
        number /= u128::from(base);
    }
    let mut number = number as u64;
    while number > 0 {
        start -= 1;
        let digit = match base {
            2 => number % 2,
            10 => number % 10,
            16 => number % 16,
            _ => number % u64::from(base),
        };
        buffer[start] = digits[digit as usize];
        number = match base {
            2 => number / 2,
            10 => number / 10,
            16 => number / 16,
            _ => number / u64::from(base),
        };
    }
    out.push_bytes(&buffer[start.min(buffer.len() - least)..]);
}

fn write_bits(bytes: &[u8], out: &mut Writer<'_>) -> Result<()> {
    out.reserve(bytes.len().saturating_mul(8))?;
    for byte in bytes {
        let bits: [u8; 8] = std::array::from_fn(|at| b'0' + (byte >> (7 - at) & 1));
        out.push_bytes(&bits);
    }
    Ok(())
}

fn write_base(number: i64, base: i64, length: i64, out: &mut Writer<'_>) -> Result<()> {
    let number =
        u128::try_from(number).map_err(|_| refused(format!("to_base takes no negative number like {number}")))?;
    let base = u8::try_from(base).ok().filter(|base| (2..=36).contains(base));
    let base = base.ok_or_else(|| refused("the base of to_base must be between 2 and 36"))?;
    let length = usize::try_from(length).ok().filter(|&length| length <= 64);
    let length = length.ok_or_else(|| refused("the length of to_base must be between 0 and 64"))?;
    write_digits(number, base, UPPER, length.max(1), out);
    Ok(())
}

/// Writes one digit after the point, truncated: rounding never reaches the next unit.
fn write_size(bytes: i64, base: u64, units: &str, end: &str, out: &mut Writer<'_>) {
    let size = bytes.unsigned_abs();
    if bytes < 0 {
        out.push('-');
    }
    let (mut unit, mut last) = (1_u64, None);
    for name in units.chars() {
        if size / unit < base {
            break;
        }
        unit *= base;
        last = Some(name);
    }
    write_digits(u128::from(size / unit), 10, LOWER, 1, out);
    match last {
        None if size == 1 => out.push_str(" byte"),
        None => out.push_str(" bytes"),
        Some(name) => {
            let tenths = u128::from(size % unit) * 10 / u128::from(unit);
            out.push('.');
            write_digits(tenths, 10, LOWER, 1, out);
            out.push(' ');
            out.push(name);
            out.push_str(end);
        }
    }
}

/// Blocks by the eighths of a character that they cover.
const BLOCKS: [char; 9] = [' ', '▏', '▎', '▍', '▌', '▋', '▊', '▉', '█'];

const BAR_WIDTH_MAX: f64 = 1000.0;

fn write_bar(number: f64, least: f64, most: f64, width: f64, out: &mut Writer<'_>) -> Result<()> {
    if !(1.0..=BAR_WIDTH_MAX).contains(&width) {
        return Err(refused(format!("the width of a bar must be between 1 and {BAR_WIDTH_MAX}")));
    }
    let width = width as usize;
    let share = (number - least) / (most - least);
    let eighths = match number {
        _ if number.is_nan() || number < least || least >= most => 0,
        _ if number >= most => width * 8,
        _ if share.is_finite() => (share * width as f64 * 8.0) as usize,
        _ => return Err(refused("the range of a bar must be finite")),
    };
    let (full, part) = (eighths / 8, eighths % 8);
    (0..full).for_each(|_| out.push(BLOCKS[8]));
    if full < width {
        out.push(BLOCKS[part]);
        (full + 1..width).for_each(|_| out.push(BLOCKS[0]));
    }
    Ok(())
}

fn refused(message: impl Into<String>) -> Error {
    Error::user(message).with_code(SqlState::INVALID_PARAMETER_VALUE)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use crate::testing::{error_of, shown};

    #[test]
    fn digits() {
        assert_eq!(shown("to_hex", &["255"]), "ff");
        assert_eq!(shown("to_hex", &["0"]), "0");
        assert_eq!(shown("to_hex", &["-1"]), "ffffffff");
        assert_eq!(shown("to_hex", &["SMALLINT '-1'"]), "ffffffff");
        assert_eq!(shown("to_hex", &["BIGINT '-1'"]), "ffffffffffffffff");
        assert_eq!(shown("to_hex", &["UBIGINT '18446744073709551615'"]), "ffffffffffffffff");
        assert_eq!(shown("to_hex", &["HUGEINT '-1'"]), "f".repeat(32));
        assert_eq!(shown("to_hex", &["NULL"]), "NULL");
        assert_eq!(shown("bin", &["5"]), "101");
        assert_eq!(shown("to_binary", &["0"]), "0");
        assert_eq!(shown("bin", &["-1"]), "1".repeat(64));
        assert_eq!(shown("bin", &["HUGEINT '-1'"]), "1".repeat(128));
        assert_eq!(shown("bin", &["'é'"]), "1100001110101001");
        assert_eq!(shown("bin", &["BLOB '\\x01'"]), "00000001");
        assert_eq!(shown("bin", &["''"]), "");
        assert_eq!(shown("to_base", &["9223372036854775807", "36"]), "1Y2P0IJ32E8E7");
        assert_eq!(shown("to_base", &["0", "2"]), "0");
        assert_eq!(shown("to_base", &["5", "2", "64"]), format!("{:064b}", 5));
        for arguments in [["-1", "2", "0"], ["5", "1", "0"], ["5", "37", "0"], ["5", "2", "65"], ["5", "2", "-1"]] {
            error_of("to_base", &arguments);
        }
    }

    proptest! {
        #[test]
        fn digits_are_those_of_the_standard_library(number: i64) {
            prop_assert_eq!(shown("to_hex", &[&format!("BIGINT '{number}'")]), format!("{number:x}"));
            prop_assert_eq!(shown("bin", &[&format!("BIGINT '{number}'")]), format!("{number:b}"));
        }
    }

    #[test]
    fn sizes() {
        for (bytes, size) in [
            ("0", "0 bytes"),
            ("1", "1 byte"),
            ("1023", "1023 bytes"),
            ("1024", "1.0 KiB"),
            ("-1536", "-1.5 KiB"),
            ("1048575", "1023.9 KiB"),
            ("9223372036854775807", "8191.9 PiB"),
            ("BIGINT '-9223372036854775808'", "-8192.0 PiB"),
        ] {
            assert_eq!(shown("format_bytes", &[bytes]), size);
        }
        assert_eq!(shown("formatreadablesize", &["2048"]), "2.0 KiB");
        assert_eq!(shown("formatreadabledecimalsize", &["1536"]), "1.5 kB");
        assert_eq!(shown("formatreadabledecimalsize", &["999999"]), "999.9 kB");
    }

    #[test]
    fn bars() {
        let bar = |number: &str, width: &str| shown("bar", &[number, "0", "10", width]);
        assert_eq!(bar("5.55", "10"), "█████▌    ");
        assert_eq!(bar("15", "10"), "██████████");
        assert_eq!(bar("DOUBLE 'inf'", "2"), "██");
        assert_eq!(bar("-5", "3"), "   ");
        assert_eq!(bar("DOUBLE 'nan'", "2"), "  ");
        assert_eq!(bar("1", "10.9"), "█         ");
        assert_eq!(shown("bar", &["1", "0", "3", "5"]), "█▋   ");
        assert_eq!(shown("bar", &["5", "10", "0", "2"]), "  ");
        assert_eq!(shown("bar", &["10", "0", "10"]).chars().count(), 80);
        for width in ["0", "1001", "DOUBLE 'nan'", "DOUBLE 'inf'"] {
            assert!(error_of("bar", &["5", "0", "10", width]).contains("width"));
        }
        assert!(error_of("bar", &["5", "DOUBLE '-inf'", "10", "10"]).contains("finite"));
    }
}
