//! Bit strings: operators, lengths, counts. They are stored as texts of zeros and ones.

use godwit_common::{Error, Result, SqlState};
use godwit_types::SqlType;

use crate::function::{Category, Form, Function, function};
use crate::rows::{Text, Writer, scalar, text};

pub(super) fn functions() -> Vec<Function> {
    let bits = |names, description| function(Category::Binary, names, description);
    vec![
        bits(&["&"], "The bits that are set in both, of strings of one length")
            .example("BIT '0101' & BIT '0110'", "0100")
            .form(of_two("&", |a, b| a & b)),
        bits(&["|"], "The bits that are set in one of them, of strings of one length")
            .example("BIT '0101' | BIT '0110'", "0111")
            .form(of_two("|", |a, b| a | b)),
        bits(&["xor", "#"], "The bits that are set in just one of them, of strings of one length")
            .example("xor(BIT '0101', BIT '0110')", "0011")
            .form(of_two("xor", |a, b| a ^ b)),
        bits(&["~"], "All bits turned").example("~ BIT '0101'", "1010").form(
            text::<(Text,), Text, _>(|(bits,), out| bits.bytes().for_each(|bit| out.push_str(digit(bit == b'0'))))
                .with_types([SqlType::Bit], SqlType::Bit),
        ),
        bits(&["<<"], "The bits moved to the left, with zeros behind them").example("BIT '0011' << 1", "0110").form(
            shifted(|bits, places, out| {
                out.push_str(&bits[places..]);
                zeros(places, out);
            }),
        ),
        bits(&[">>"], "The bits moved to the right, with zeros before them").example("BIT '0110' >> 1", "0011").form(
            shifted(|bits, places, out| {
                zeros(places, out);
                out.push_str(&bits[..bits.len() - places]);
            }),
        ),
        bits(&["bitstring"], "The bits, with zeros before them up to a length")
            .example("bitstring('101', 6)", "000101")
            .form(padded().with_types([SqlType::Bit, SqlType::BigInt], SqlType::Bit))
            .form(padded().with_types([SqlType::Varchar, SqlType::BigInt], SqlType::Bit)),
        bits(
            &["bit_position"],
            "The place, from 1, of the first part of the bits that is like the first; 0 without one",
        )
        .example("bit_position(BIT '1', BIT '0010')", "3")
        .form(
            scalar::<(Text, Text), i32, _>(|(part, bits)| bits.find(part).map_or(0, |place| place as i32 + 1))
                .with_types([SqlType::Bit, SqlType::Bit], SqlType::Integer),
        ),
        bits(&["bit_count"], "How many bits are set")
            .example("bit_count(BIT '0111')", "3")
            .form(counted(|bits| bits.bytes().filter(|&bit| bit == b'1').count())),
        bits(&["length", "bit_length"], "The number of bits")
            .example("length(BIT '0111')", "4")
            .form(counted(str::len)),
    ]
}

fn digit(is_set: bool) -> &'static str {
    if is_set { "1" } else { "0" }
}

fn zeros(count: usize, out: &mut Writer<'_>) {
    (0..count).for_each(|_| out.push_str("0"));
}

fn counted(count: fn(&str) -> usize) -> Form {
    let form = scalar::<(Text,), i32, _>(move |(bits,)| i32::try_from(count(bits)).unwrap_or(i32::MAX));
    form.with_types([SqlType::Bit], SqlType::Integer)
}

/// Creates the form of an operator on two bit strings, bit by bit.
fn of_two(operator: &'static str, apply: fn(bool, bool) -> bool) -> Form {
    let form = text::<(Text, Text), Text, _>(move |(left, right), out| {
        if left.len() != right.len() {
            let lengths = format!("{} and {} bits", left.len(), right.len());
            return Err(invalid(format!("{operator} takes strings of as many bits, not {lengths}"))
                .with_hint("bitstring(bits, length) puts zeros before them"));
        }
        let pairs = left.bytes().zip(right.bytes());
        pairs.map(|(left, right)| digit(apply(left == b'1', right == b'1'))).try_for_each(|digit| {
            out.push_str(digit);
            out.go(1)
        })
    });
    form.with_types([SqlType::Bit, SqlType::Bit], SqlType::Bit)
}

/// Shifts by at most as many places as there are bits.
fn shifted(write: fn(&str, usize, &mut Writer<'_>)) -> Form {
    let form = text::<(Text, i64), Text, _>(move |(bits, places), out| {
        let places = usize::try_from(places).map_err(|_| invalid(format!("bits can't be moved by {places} places")))?;
        write(bits, places.min(bits.len()), out);
        Ok(())
    });
    form.with_types([SqlType::Bit, SqlType::BigInt], SqlType::Bit)
}

fn padded() -> Form {
    text::<(Text, i64), Text, _>(|(bits, length), out| -> Result<()> {
        if let Some(wrong) = bits.chars().find(|bit| !matches!(bit, '0' | '1')) {
            return Err(invalid(format!("'{wrong}' is no bit")));
        }
        let missing = usize::try_from(length).ok().and_then(|length| length.checked_sub(bits.len()));
        let missing = missing.ok_or_else(|| invalid(format!("{} bits don't fit into {length}", bits.len())))?;
        out.reserve(missing + bits.len())?;
        zeros(missing, out);
        out.push_str(bits);
        Ok(())
    })
}

fn invalid(message: String) -> Error {
    Error::user(message).with_code(SqlState::INVALID_PARAMETER_VALUE)
}

#[cfg(test)]
mod tests {
    use crate::testing::{error_of, shown};

    #[test]
    fn operators() {
        let (a, b) = ("BIT '0101'", "BIT '0110'");
        assert_eq!(shown("&", &[a, b]), "0100");
        assert_eq!(shown("|", &[a, b]), "0111");
        assert_eq!(shown("xor", &[a, b]), "0011");
        assert_eq!(shown("~", &[a]), "1010");
        assert_eq!(shown("<<", &[a, "1"]), "1010");
        assert_eq!(shown(">>", &[a, "1"]), "0010");
        assert_eq!((shown("<<", &[a, "9"]), shown(">>", &[a, "0"])), ("0000".into(), "0101".into()));
        assert_eq!(shown("|", &[a, "NULL"]), "NULL");
        assert!(error_of("&", &[a, "BIT '1'"]).contains("4 and 1 bits"));
        assert!(error_of("<<", &[a, "-1"]).contains("-1 places"));
    }

    #[test]
    fn lengths_places_and_counts() {
        assert_eq!(shown("bitstring", &["'101'", "5"]), "00101");
        assert_eq!(shown("bitstring", &["BIT '101'", "3"]), "101");
        assert!(error_of("bitstring", &["'101'", "2"]).contains("3 bits don't fit into 2"));
        assert!(error_of("bitstring", &["'1x'", "2"]).contains("'x' is no bit"));
        assert!(error_of("bitstring", &["'1'", "9223372036854775807"]).contains("longer than"));
        assert_eq!(shown("bit_position", &["BIT '10'", "BIT '0010'"]), "3");
        assert_eq!(shown("bit_position", &["BIT '11'", "BIT '0010'"]), "0");
        assert_eq!(shown("bit_count", &["BIT '0111'"]), "3");
        assert_eq!(shown("length", &["BIT '0111'"]), "4");
    }
}
