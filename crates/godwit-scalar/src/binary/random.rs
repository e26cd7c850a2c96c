//! Random UUIDs.

use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};

use godwit_plan::Volatility;
use godwit_types::SqlType;

use super::hex;
use crate::function::{Category, Form, Function, function};
use crate::rows::{Text, Writer, text};

pub(super) fn functions() -> Vec<Function> {
    let names = &["gen_random_uuid", "uuid", "uuidv4"];
    vec![
        function(Category::Binary, names, "A random UUID, another one for each row")
            .example("length(gen_random_uuid()::VARCHAR)", "36")
            .volatility(Volatility::Volatile)
            .form(random_uuids()),
    ]
}

/// SipHash of a counter with a key that the system made at random: who has seen values can't tell the next.
struct Generator {
    key: RandomState,
    count: AtomicU64,
}

impl Generator {
    fn next(&self) -> u128 {
        let count = self.count.fetch_add(1, Ordering::Relaxed);
        let half = |half: bool| u128::from(self.key.hash_one((count, half)));
        half(true) << 64 | half(false)
    }
}

fn random_uuids() -> Form {
    let generator = Generator { key: RandomState::new(), count: AtomicU64::new(0) };
    let form = text::<(), Text, _>(move |(), out| write_uuid(of_version_4(generator.next()), out));
    form.with_types([], SqlType::Uuid)
}

/// Six of the bits say that the others are random.
fn of_version_4(random: u128) -> u128 {
    const KEPT: u128 = !(0xF << 76 | 0b11 << 62);
    random & KEPT | 4 << 76 | 0b10 << 62
}

/// Places of the hyphens.
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
