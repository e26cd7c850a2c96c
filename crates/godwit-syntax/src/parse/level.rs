//! Operator precedences.
//!
//! PostgreSQL's table of precedences, from the loosest to the tightest; all infix operators are left-associative.
//! PostgreSQL rejects `a < b < c`; here it is `(a < b) < c`.
//!
//! | level | operators |
//! |---|---|
//! | [`OR`] | OR |
//! | [`AND`] | AND |
//! | [`NOT`] | NOT |
//! | [`IS`] | IS, ISNULL, NOTNULL |
//! | [`COMPARISON`] | `<` `>` `=` `<=` `>=` `<>` |
//! | [`PATTERN`] | BETWEEN, IN, LIKE, ILIKE, SIMILAR TO, GLOB |
//! | [`OTHER`] | all other operators, prefix ones too |
//! | [`SUM`], [`PRODUCT`], [`POWER`] | `+ -`, `* / // %`, `^ **` |
//! | [`AT_ZONE`], [`COLLATE`] | AT TIME ZONE, COLLATE |
//! | [`SIGN`] | `+` and `-` before a value |
//! | [`POSTFIX`] | `[]`, `::`, `.` |

/// Looser than any operator.
pub(crate) const LOWEST: u8 = 0;
pub(crate) const OR: u8 = 1;
pub(crate) const AND: u8 = 2;
pub(crate) const NOT: u8 = 3;
pub(crate) const IS: u8 = 4;
pub(crate) const COMPARISON: u8 = 5;
pub(crate) const PATTERN: u8 = 6;
pub(crate) const OTHER: u8 = 7;
pub(crate) const SUM: u8 = 8;
pub(crate) const PRODUCT: u8 = 9;
pub(crate) const POWER: u8 = 10;
pub(crate) const AT_ZONE: u8 = 11;
pub(crate) const COLLATE: u8 = 12;
pub(crate) const SIGN: u8 = 13;
pub(crate) const POSTFIX: u8 = 14;
