"""What differs on purpose, each with its reason: a sentence of docs/sql.md, which `check_reasons` looks up."""

import re
from dataclasses import dataclass
from pathlib import Path

from .calls import Call
from .engines import Answer

# What functions of Godwit are called in DuckDB.
OTHER_NAMES: dict[str, str] = {
    "map_from_arrays": "map",
    "signum": "sign",
    "date_format": "strftime",
    "formatreadablesize": "format_bytes",
}


@dataclass(frozen=True)
class Known:
    """A difference: of which functions, for which calls, with which answers (patterns that are searched for)."""

    reason: str
    functions: str
    call: str = ""
    actual: str = ""
    expected: str = ""
    wrong: bool | None = None

    def fits(self, call: Call, actual: Answer, expected: Answer) -> bool:
        return (
            re.fullmatch(self.functions, call.name) is not None
            and re.search(self.call, call.sql) is not None
            and re.search(self.actual, str(actual)) is not None
            and re.search(self.expected, str(expected)) is not None
            and (self.wrong is None or self.wrong == call.wrong)
        )

    def fits_aggregate(self, name: str, sql: str, actual: str, expected: str) -> bool:
        return (
            re.fullmatch(self.functions, name) is not None
            and re.search(self.call, sql) is not None
            and re.search(self.actual, actual) is not None
            and re.search(self.expected, expected) is not None
        )


# Nobody takes such arguments there.
REFUSED = r"^error: (Binder Error|Parser Error|Not implemented Error|function \S+ |syntax error|could not (determine poly|find array type)|operator does not)"
VALUE = r"^(?!error)"
ERROR = r"^error"
NUMBER_TEXT = r"(?i)nan|inf|\de"

EXACT_BINS = "`equi_width_bins` computes exact bounds, and no round ones of times"
MORE_TYPES = "Functions take more types and numbers of arguments than the others"
NO_CASTS = "no texts of numbers, no numbers of truth values, no JSON of structs"
SIGNS = "`normalized_interval` keeps the signs of parts, and `strptime` reads weeks that other fields contradict"
EARLIEST = "the earliest of all nanoseconds is `-infinity`, too"
UUIDS = "UUIDs without a time or a version give NULL"
MORE_VALUES = "What the others refuse as too large, too short or unknown has a value where one is clear"
CHARACTERS = "Distances count characters"
DOMAINS = "are errors, not NaN"
NULLS = "as an argument gives NULL"
CONSTANTS_FIRST = "Constants are looked at before rows, so a wrong pattern, unit or zone is an error beside NULL, too"
CASE = "follow Unicode in full"
FLOAT_TEXTS = "NaN, infinities and exponents are written as `NaN`, `inf`, `1e308`"
BEFORE_CHRIST = "Years before the first are written as `0044-03-15 BC`"
INTERVAL_EPOCH = "The epoch of an interval counts years of 365.25 days"
INTERVAL_TEXTS = "Intervals are written without `+`"
DISTINCT_ORDER = "keeps the order of the first"
SPELLING = "keeps its spelling when a part is extracted"
ONE_PATH = "A path leads to one value, except in `json_extract` and `json_extract_string`"
STEPS = "A step of 0 is an error"
FROM_THE_END = "negative positions count from the end"
LISTS_AS_VALUES = "A list among the values of `concat_ws` is a value"
SEPARATORS = "An unknown separator of paths is an error"
STRICT_DATES = "`to_date` and `to_timestamp` refuse what isn't in the format"
UNIT = "units are those of time spans: `day`, not `isodow` or `julian`"
LOWER_HEX = "`to_hex` writes small letters"
DISTANCES_OF_DATES = "Distances of dates and timestamps"
DUCKDB_FAULTS = "`bit_count` of negative HUGEINTs, `%n` in formats"
EMPTY_NULL = "NULL is an empty list"
NOT_A_NUMBER = "The cosine of the angle to a vector of zeros or without elements is NaN"
FLOORED = "round down (DuckDB)"
ROUNDED = "are rounded, not cut off"
ROUNDING = "Sums of floats are as exact as their order lets them be"
SINGLE_INFINITY = "Variances and regressions over infinities or NaN are NaN or NULL as computed"
WINDOW_CONSTANTS = "offsets, buckets and numbers of windows are constants that aren't NULL"
FROM_LAST = "`nth_value(x, -1)` is the last"
MANY = "`min(x, n)` needs a constant n from 1 on"

FINITE_BARS = "the range of `bar` must be finite and rise"
CENTURIES = "centuries and millennia are PostgreSQL's"
DAYS_BEFORE_HOURS = "24 hours later (PostgreSQL)"
NO_SECOND_60 = "a minute has no second 60"
BYTES_AS_TEXT = "`decode` reads a format from a text"
COMMON_TYPE = "An element of another type makes a list of the type in common"
AS_POSTGRES = "`array_to_string`, `chr`, `log`, `overlay`, `reverse`, `split_part` and `substring` are PostgreSQL's where DuckDB's differ"
NAN_LIMIT = "A limit that is NaN doesn't hold"
POSTGRES_FIELDS = "or PostgreSQL's `%s`, `%I`, `%L` in a constant without braces"
OWN_ARGUMENTS = "`list_aggregate` takes what its aggregate takes, with quantiles from 0 to 1"
TEXTS = "Texts of values are those of casts to VARCHAR"
SPLIT = "`string_to_array` is PostgreSQL's"
NO_FIELD = "`to_char` writes what is no field as it stands"
HOURS = "have at most 292 years of hours"
ESTIMATED_COUNTS = "`approx_count_distinct` is a HyperLogLog"
CUT_OFF = "What lies between two moments or decimals is cut off"
INTERVAL_LISTS = "DISTINCT in `avg` and `sum` of intervals, in lists ordered by them"
INTERVALS = "Aggregates of intervals besides counts"
SORT_KEYS = "`icu_sort_key` is a BLOB"
UNKNOWN_LANGUAGE = "A language that it doesn't know is an error"
CONSTANTS_ARE_INTEGERS = "A constant without a fraction is an INTEGER"

DISTANCES = "damerau_levenshtein|levenshtein|editdist3|hamming|mismatches|jaccard|jaro.*"
MOMENTS = "(list_)?(quantile.*|median|stddev|var|sem|skewness|kurtosis|regr|covar|corr|fsum|favg|avg|sum).*"

KNOWN: list[Known] = [
    Known(SORT_KEYS, "icu_sort_key", actual=VALUE),
    Known(UNKNOWN_LANGUAGE, "icu_sort_key", call="klingon", actual=ERROR),
    Known(CONSTANTS_ARE_INTEGERS, "add|subtract|multiply", call=r"U?(TINYINT|SMALLINT)", actual=VALUE, expected="Overflow in"),
    Known(MORE_TYPES, r".*", actual=VALUE, expected=REFUSED),
    Known(NO_CASTS, r".*", actual=r"error: (no function \S+ takes|there is no cast|.* and .* have no common type|.* is not an? |.*there is no \S+ [-+*/])", wrong=True),
    Known(CHARACTERS, DISTANCES, call=r"[^\x00-\x7f]"),
    Known(
        DOMAINS,
        r".*",
        actual=r"error: (cannot take|division by zero|the result is out of range|input is out of range|.* is undefined|the base of a logarithm|.* (is|are) out of range)",
        expected=r"^-?(inf|nan|-nan|NULL|2147483648)",
    ),
    Known(NULLS, r".*", call=r"\bNULL\b", actual=r"^NULL"),
    Known(CONSTANTS_FIRST, r".*", call=r"\bNULL\b", actual=ERROR, expected=r"^NULL"),
    Known(CASE, "lower|upper|lcase|ucase|initcap|casefold", call=r"[ßΣ]"),
    Known(FLOAT_TEXTS, ".*", call=r"DOUBLE|REAL", actual=NUMBER_TEXT + r"|\d\.0", expected=NUMBER_TEXT),
    Known(BEFORE_CHRIST, ".*", actual=r"\d BC", expected=r"\(BC\)|\d BC"),
    Known(INTERVAL_EPOCH, r"epoch.*", call=r"INTERVAL", actual=VALUE, expected=VALUE),
    Known(INTERVAL_TEXTS, ".*", actual="INTERVAL", expected=r"\+\d\d:"),
    Known(DISTINCT_ORDER, r"(list|array)_(distinct|union|except|intersect)", actual=VALUE, expected=VALUE),
    Known(SPELLING, r"json.*|->>?", call=r"\\u0041|\"a\" ?: |null|, ", actual=VALUE),
    Known(ONE_PATH, r"json.*|->>?", call=r"\[\*\]|\['\$"),
    Known(STEPS, "range|generate_series|(list|array)_slice", actual=r"step of .* is 0"),
    Known(FROM_THE_END, "(list|array)_select", call="-1"),
    Known(LISTS_AS_VALUES, "concat_ws", call=r"\[1\]"),
    Known(SEPARATORS, "parse_.*", actual="no separator of paths"),
    Known(STRICT_DATES, "to_date|to_timestamp", call="'"),
    Known(UNIT, "date_?(diff|sub|trunc)", actual="there is no unit"),
    Known(LOWER_HEX, "to_hex"),
    Known(DISTANCES_OF_DATES, "(list|array)_(avg|mad|stddev.*|var.*)|list_aggr.*|array_aggr.*|aggregate|mad", call="DATE|t_date|t_timestamp", actual="takes"),
    Known(DUCKDB_FAULTS, "bit_count|strftime|date_format", call="HUGEINT|%n|%g"),
    Known(EMPTY_NULL, r"\|\|", call="NULL"),
    Known(NOT_A_NUMBER, "(list|array)_cosine.*|cosine_distance|<=>", actual="NaN"),
    Known(FLOORED, "fmod|fdiv", call="inf|1e308|1e15"),
    Known(BYTES_AS_TEXT, "decode", call="unhex|, "),
    Known(COMMON_TYPE, "(list|array)_.*", wrong=True, actual=VALUE, expected=VALUE),
    Known(AS_POSTGRES, "array_length|array_to_string|chr|log|make_timestamptz|overlay|reverse|split_part|substr|substring"),
    Known(ROUNDED, "epoch_ms"),
    Known(SIGNS, "normalized_interval|(try_)?strptime"),
    Known(UUIDS, "uuid_extract_.*", expected=r"^(error|0 )"),
    Known(EARLIEST, "make_timestamp_ns", call="-9223372036854775808"),
    Known(
        MORE_VALUES,
        r"date_add|(array|list)_(extract|element|select|slice|resize|skewness|kurtosis.*)|decode|encode|format|printf|from_base64|base64|to_base64|map_concat|str[fp]time|try_strptime|date_bin"
        r"|date_format|make_timestamp_ns|sha\d+|struct_extract_at|to_char|regexp.*|str.*_regex|bar|json_(build_)?object|skewness|kurtosis.*",
        actual=VALUE,
        expected=ERROR,
    ),
    Known(SINGLE_INFINITY, MOMENTS, call="t_floats", actual="NaN|inf|None|1.0"),
    Known(ROUNDING, MOMENTS, call="t_bigint|t_decimal|t_floats|t_interval"),
    Known(WINDOW_CONSTANTS, "ntile|lag|lead|nth_value", call="NULL|, 0"),
    Known(FROM_LAST, "nth_value", call="-1"),
    Known(MANY, "min|max", call="x, 0"),
    Known(FINITE_BARS, "bar"),
    Known(NAN_LIMIT, "jaro.*", call="nan"),
    Known(CENTURIES, "date_?(diff|sub)", call="century|millennium|decade"),
    Known(DAYS_BEFORE_HOURS, "date_add", call="TIMESTAMPTZ"),
    Known(NO_SECOND_60, "make_t.*", actual=ERROR, call="60"),
    Known(POSTGRES_FIELDS, "format", call="%I|''|'x'"),
    Known(OWN_ARGUMENTS, "(list|array)_aggr.*|aggregate", actual="no function|a quantile lies"),
    Known(TEXTS, "quote_.*"),
    Known(TEXTS, r"\|\|", call="unhex", wrong=True),
    Known(SPLIT, "string_to_(array|list)"),
    Known(NO_FIELD, "to_char"),
    Known(HOURS, "to_.*s", actual="hours of the interval"),
    Known(CUT_OFF, "quantile_cont|median|percentile_cont", call="t_timestamp|t_date|t_decimal"),
    Known(EXACT_BINS, "equi_width_bins"),
    Known(ESTIMATED_COUNTS, "approx_count_distinct"),
    Known(INTERVAL_LISTS, "array_agg|avg|sum", call="DISTINCT.*t_interval", actual=ERROR),
    Known(INTERVALS, "median|quantile_cont|mode", call="t_interval"),
]


def check_reasons(documentation: Path) -> None:
    """Each reason stands in the documentation."""
    text = " ".join(documentation.read_text().split())
    for known in KNOWN:
        if known.reason not in text:
            raise SystemExit(f"{documentation.name} doesn't say: {known.reason}")
