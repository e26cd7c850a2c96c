//! How vectors represent the values of SQL types.
//!
//! | SQL | vector |
//! |---|---|
//! | integers, REAL, DOUBLE | the same |
//! | HUGEINT, DECIMAL | the narrowest of 32, 64, 128 bits |
//! | UHUGEINT | strings of 16 bytes |
//! | VARCHAR, UUID, JSON, BIT, BLOB | strings |
//! | ENUM | positions of labels, in 8, 16 or 32 bits |
//! | DATE, TIME, with time zone, timestamps | 32 or 64 bits |
//! | INTERVAL, lists, structs, maps | Arrow arrays |

use godwit_types::SqlType;
use godwit_vector::ValueRange;

/// The unscaled values that an integer or decimal type allows.
pub(super) fn exact_limit(ty: &SqlType) -> Option<ValueRange> {
    let (min, max) = match ty {
        SqlType::Decimal { precision, .. } => {
            let greatest = 10i128.pow(u32::from(*precision)) - 1;
            (-greatest, greatest)
        }
        _ => ty.integer_range()?,
    };
    Some(ValueRange { min, max })
}

/// True for types whose values are strings in vectors but that aren't just VARCHAR.
pub(super) fn is_held_as_text(ty: &SqlType) -> bool {
    matches!(ty, SqlType::Bit | SqlType::Uuid | SqlType::Json)
}
