//! UUIDs: random ones, those that begin with the time, and the fields of both.

use godwit_plan::Volatility;
use godwit_types::{SqlType, UuidGenerator};

use super::hex;
use crate::function::{Category, Form, Function, function};
use crate::rows::{Text, TimestampTz, Writer, scalar, text};

pub(super) fn functions() -> Vec<Function> {
    let names = &["gen_random_uuid", "uuid", "uuidv4"];
    vec![
        function(Category::Binary, names, "A random UUID, another one for each row")
            .example("length(gen_random_uuid()::VARCHAR)", "36")
            .volatility(Volatility::Volatile)
            .form(random_uuids()),
        function(Category::Binary, &["uuidv7"], "A UUID that begins with the time, then is random")
            .example("uuid_extract_version(uuidv7())", "7")
            .volatility(Volatility::Volatile)
            .form(timed_uuids()),
        function(Category::Binary, &["uuid_extract_version"], "The version of the UUID; NULL if it is of another kind")
            .example("uuid_extract_version('5dd6a1c4-3a34-7000-8000-000000000000'::UUID)", "7")
            .form(
                scalar::<(Text,), u32, _>(|(uuid,)| {
                    let uuid = read_uuid(uuid);
                    (uuid >> 62 & 0b11 == 0b10).then_some((uuid >> 76 & 15) as u32)
                })
                .with_types([SqlType::Uuid], SqlType::UInteger),
            ),
        function(Category::Binary, &["uuid_extract_timestamp"], "The time in a UUID of version 7; NULL for others")
            .example("epoch_ms(uuid_extract_timestamp('0193e6f4-1c00-7000-8000-000000000000'::UUID))", "1734746577920")
            .form(
                scalar::<(Text,), TimestampTz, _>(|(uuid,)| {
                    let uuid = read_uuid(uuid);
                    // 48 bits of milliseconds fit into 64 bits of microseconds.
                    (uuid >> 76 & 15 == 7).then_some((uuid >> 80) as i64 * 1000)
                })
                .with_types([SqlType::Uuid], SqlType::TimestampTz),
            ),
    ]
}

/// Creates UUIDs from milliseconds since 1970, then random bits.
fn timed_uuids() -> Form {
    let generator = UuidGenerator::default();
    text::<(), Text, _>(move |(), out| write_uuid(generator.timed(), out)).with_types([], SqlType::Uuid)
}

fn random_uuids() -> Form {
    let generator = UuidGenerator::default();
    text::<(), Text, _>(move |(), out| write_uuid(generator.random(), out)).with_types([], SqlType::Uuid)
}

/// Reads the bits of a UUID, which is stored as its text.
fn read_uuid(text: &str) -> u128 {
    let digits = text.bytes().filter_map(|digit| char::from(digit).to_digit(16));
    digits.fold(0, |bits, digit| bits << 4 | u128::from(digit))
}

/// Positions of the hyphens.
const HYPHENS: [usize; 4] = [8, 13, 18, 23];

fn write_uuid(value: u128, out: &mut Writer<'_>) {
    let mut written = [b'-'; 36];
    let places = (0..36).filter(|place| !HYPHENS.contains(place));
    for (digit, place) in places.enumerate() {
        written[place] = hex::LOWER[(value >> (124 - 4 * digit) & 15) as usize];
    }
    out.push_bytes(&written);
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use godwit_types::{SqlType, Value};
    use godwit_vector::sql::Reader;

    use crate::kernel::Bounded;

    #[test]
    fn uuids_differ_and_are_of_version_4() {
        let (_, form) = crate::choose("uuid", &[]).unwrap();
        assert_eq!(form.result, SqlType::Uuid);
        let mut seen = HashSet::new();
        for _ in 0..2 {
            let vector = form.kernel.evaluate(&[], 1000, &Bounded::new(1 << 20)).unwrap();
            let reader = Reader::new(&vector, &SqlType::Uuid).unwrap();
            for row in 0..1000 {
                let Value::Uuid(value) = reader.value(row).unwrap() else { panic!("it isn't a UUID") };
                assert_eq!((value >> 76 & 15, value >> 62 & 3), (4, 2));
                assert!(seen.insert(value));
            }
        }
    }
}
