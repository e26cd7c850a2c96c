//! What rewrites may know of DataFusion's functions. Where nothing is said, the careful answer holds: a function isn't
//! strict, and may fail.

use datafusion_expr::Volatility as ArrowVolatility;
use godwit_plan::Volatility;

/// Functions that give NULL if an argument is NULL, and a value for all others.
const STRICT: &[&str] = &[
    "abs",
    "acos",
    "acosh",
    "ascii",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "bit_length",
    "btrim",
    "cbrt",
    "ceil",
    "character_length",
    "chr",
    "cos",
    "cosh",
    "cot",
    "date_bin",
    "date_part",
    "date_trunc",
    "degrees",
    "ends_with",
    "exp",
    "factorial",
    "floor",
    "gcd",
    "initcap",
    "isnan",
    "iszero",
    "lcm",
    "left",
    "levenshtein",
    "ln",
    "log",
    "log10",
    "log2",
    "lower",
    "lpad",
    "ltrim",
    "octet_length",
    "pi",
    "power",
    "radians",
    "repeat",
    "replace",
    "reverse",
    "right",
    "round",
    "rpad",
    "rtrim",
    "signum",
    "sin",
    "sinh",
    "split_part",
    "sqrt",
    "starts_with",
    "strpos",
    "substr",
    "tan",
    "tanh",
    "to_hex",
    "translate",
    "trunc",
    "upper",
];

/// Functions that take every value of their types.
const TOTAL: &[&str] = &[
    "array_distinct",
    "array_has",
    "array_length",
    "array_max",
    "array_min",
    "array_reverse",
    "ascii",
    "bit_length",
    "btrim",
    "character_length",
    "concat",
    "date_part",
    "date_trunc",
    "ends_with",
    "floor",
    "ceil",
    "get_field",
    "greatest",
    "initcap",
    "isnan",
    "iszero",
    "least",
    "lower",
    "ltrim",
    "make_array",
    "named_struct",
    "octet_length",
    "reverse",
    "rtrim",
    "signum",
    "starts_with",
    "strpos",
    "struct",
    "trunc",
    "upper",
];

/// Functions whose value may be much larger than their arguments.
const GROWING: &[&str] =
    &["repeat", "lpad", "rpad", "generate_series", "range", "array_repeat", "array_resize", "string_to_array"];

/// Does NULL make NULL?
pub(super) fn is_strict(function: &str) -> bool {
    STRICT.contains(&function)
}

/// May some arguments make it fail?
pub(super) fn may_fail(function: &str) -> bool {
    !TOTAL.contains(&function)
}

/// May its value be large though its arguments are small?
pub(crate) fn is_growing(function: &str) -> bool {
    GROWING.contains(&function)
}

/// How often a call has to be evaluated.
pub(super) fn volatility(of: ArrowVolatility) -> Volatility {
    match of {
        ArrowVolatility::Immutable => Volatility::Immutable,
        ArrowVolatility::Stable => Volatility::Stable,
        ArrowVolatility::Volatile => Volatility::Volatile,
    }
}
