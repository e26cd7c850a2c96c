//! Bits of integers.

use super::number_function;
use crate::function::Function;
use crate::rows::scalar;

pub(super) fn functions() -> Vec<Function> {
    let count = number_function(&["bit_count"], "How many bits are set").example("bit_count(31)", "5");
    vec![
        count
            .form(scalar::<(i64,), i32, _>(|(bits,)| bits.count_ones().cast_signed()))
            .form(scalar::<(i8,), i32, _>(|(bits,)| bits.count_ones().cast_signed()))
            .form(scalar::<(i16,), i32, _>(|(bits,)| bits.count_ones().cast_signed()))
            .form(scalar::<(i32,), i32, _>(|(bits,)| bits.count_ones().cast_signed()))
            .form(scalar::<(i128,), i32, _>(|(bits,)| bits.count_ones().cast_signed()))
            .form(scalar::<(u8,), i32, _>(|(bits,)| bits.count_ones().cast_signed()))
            .form(scalar::<(u16,), i32, _>(|(bits,)| bits.count_ones().cast_signed()))
            .form(scalar::<(u32,), i32, _>(|(bits,)| bits.count_ones().cast_signed()))
            .form(scalar::<(u64,), i32, _>(|(bits,)| bits.count_ones().cast_signed())),
    ]
}

#[cfg(test)]
mod tests {
    use crate::testing::shown;

    #[test]
    fn bits_are_those_of_the_type() {
        for (argument, expected) in [
            ("31", "5"),
            ("TINYINT '-1'", "8"),
            ("SMALLINT '-1'", "16"),
            ("INTEGER '-1'", "32"),
            ("BIGINT '-1'", "64"),
            ("HUGEINT '-1'", "128"),
            ("UBIGINT '18446744073709551615'", "64"),
            ("UTINYINT '255'", "8"),
            ("0", "0"),
            ("NULL", "NULL"),
        ] {
            assert_eq!(shown("bit_count", &[argument]), expected, "{argument}");
        }
    }
}
