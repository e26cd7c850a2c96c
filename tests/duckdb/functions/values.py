"""Arguments of functions: by type, by what signatures call them, and those that certain functions take.

All are literals that Godwit and DuckDB read alike; `engines.py` writes them for PostgreSQL.
"""

FAMILIES = ["INTEGER", "VARCHAR", "DOUBLE", "DATE", "BOOLEAN", "DECIMAL(9,2)"]
# Types of numbers for what takes all of them.
NUMBERS = ["INTEGER", "BIGINT", "DOUBLE", "DECIMAL(9,2)", "UTINYINT", "HUGEINT"]


def cast(values: list[str], type_name: str) -> list[str]:
    return [f"CAST({value} AS {type_name})" for value in values]


def quoted(values: list[str], type_name: str) -> list[str]:
    return [f"CAST('{value}' AS {type_name})" for value in values]


def integers(type_name: str, bits: int, signed: bool) -> list[str]:
    least, greatest = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
    small = ["0", "1", "2", "3", "7", "65"] + (["-1", "-2"] if signed else [])
    return cast(small, type_name) + quoted([str(least), str(greatest)], type_name)


FLOATS = ["0", "-0.0", "1", "-1", "0.5", "2.5", "-2.5", "1.005", "100", "1e15", "nan", "inf", "-inf"]
TEXTS = ["", "a", "aBc dEf", "ÄöüßΣ", "e\u0301x", "🤦🏼‍♂️x", "  ab ", "a,b,,c", "12", "abcabcabc", "NULL", "x%_\\y"]
DATES = ["1970-01-01", "2024-02-29", "2023-12-31", "2024-12-30", "1900-02-28", "1582-10-15", "0001-01-01", "9999-12-31", "2000-01-01"]
INFINITIES = ["infinity", "-infinity"]
TIMES = ["00:00:00", "23:59:59.999999", "12:30:45.5", "07:08:09"]
TIMESTAMPS = [f"{date} {time}" for date, time in zip(DATES, (TIMES * 3)[: len(DATES)], strict=True)] + ["1969-12-31 23:59:59.5"]
INTERVALS = [
    "0 days",
    "1 month",
    "-1 month",
    "1 year 2 months 3 days 04:05:06.789",
    "-1 day 02:00:00",
    "100 years",
    "1 microsecond",
    "15 minutes",
    "36 hours",
    "-35 days",
    "1 month -1 days 25:00:00",
]

JSONS = [
    '{"a": 1, "b": [1, 2.5, null, "x"], "c": {"d": true}}',
    "[]",
    "{}",
    "[1, [2, 3], {}]",
    "null",
    "true",
    '"text"',
    "-12",
    "1.5e3",
    '"é\\u0041\\n"',
    ' { "a" : null , "a" : 2 } ',
    "18446744073709551615",
]

BY_TYPE: dict[str, list[str]] = {
    "BOOLEAN": ["TRUE", "FALSE"],
    "TINYINT": integers("TINYINT", 8, True),
    "SMALLINT": integers("SMALLINT", 16, True),
    "INTEGER": integers("INTEGER", 32, True),
    "BIGINT": integers("BIGINT", 64, True),
    "HUGEINT": [*integers("HUGEINT", 64, True), "CAST('100000000000000000000' AS HUGEINT)", "CAST('170141183460469231731687303715884105727' AS HUGEINT)"],
    "UTINYINT": integers("UTINYINT", 8, False),
    "USMALLINT": integers("USMALLINT", 16, False),
    "UINTEGER": integers("UINTEGER", 32, False),
    "UBIGINT": integers("UBIGINT", 64, False),
    "DOUBLE": quoted([*FLOATS, "1e308", "5e-324"], "DOUBLE"),
    "REAL": quoted([*FLOATS, "3e38", "1e-45"], "REAL"),
    "DECIMAL": [
        *quoted(["0", "1.25", "-1.25", "2.50", "0.5", "-7.999"], "DECIMAL(9,3)"),
        "CAST('999999999999999.99' AS DECIMAL(18,2))",
        "CAST('-12345678901234567890123456789.123456789' AS DECIMAL(38,9))",
    ],
    "DECIMAL(9,2)": quoted(["0", "1.25", "-1.25", "2.50", "9999999.99"], "DECIMAL(9,2)"),
    "VARCHAR": [f"'{text}'" for text in TEXTS],
    "BLOB": [f"unhex('{digits}')" for digits in ("", "00", "616263", "FF80", "0102030405060708090A")],
    "UUID": quoted(
        [
            "0193e6f4-1c00-7000-8000-000000000000",
            "47183823-2574-4bfd-b411-99ed177d3e43",
            "00000000-0000-0000-0000-000000000000",
        ],
        "UUID",
    ),
    "BIT": quoted(["0", "1", "0101", "11111111000000001"], "BIT"),
    "DATE": quoted(DATES + INFINITIES, "DATE"),
    "TIME": quoted(TIMES, "TIME"),
    "TIME WITH TIME ZONE": quoted([f"{time}{offset}" for time, offset in zip(TIMES, ["+00", "+05:30", "-11", "+15:59:59"])], "TIMETZ"),
    "TIMESTAMP": quoted(TIMESTAMPS + INFINITIES, "TIMESTAMP"),
    "TIMESTAMP_NS": quoted(["2024-02-29 12:34:56.123456789", "1970-01-01 00:00:00", "1969-12-31 23:59:59.5"], "TIMESTAMP_NS"),
    "TIMESTAMP WITH TIME ZONE": quoted([f"{timestamp}+00" for timestamp in TIMESTAMPS] + INFINITIES, "TIMESTAMPTZ"),
    "INTERVAL": quoted(INTERVALS, "INTERVAL"),
    "JSON": quoted(JSONS, "JSON"),
    "INTEGER[]": cast(["[]", "[1]", "[3, 1, 2]", "[0, -1]", "[NULL]"], "INTEGER[]"),
    "BIGINT[]": cast(["[]", "[1]", "[3, 1, 2]", "[0, -1]", "[NULL]"], "BIGINT[]"),
    "BOOLEAN[]": cast(["[]", "[TRUE]", "[TRUE, FALSE, NULL]"], "BOOLEAN[]"),
    "VARCHAR[]": cast(["[]", "['a']", "['b', 'a', NULL, '']", "['%Y-%m-%d', '%d.%m.%Y']"], "VARCHAR[]"),
}

# What stands in lists, and how lists of it look.
ELEMENTS = {
    "INTEGER": ["1", "2", "3", "-5"],
    "VARCHAR": ["'a'", "'b'", "''", "'é'"],
    "DOUBLE": quoted(["1", "2.5", "nan", "-inf"], "DOUBLE"),
    "DATE": quoted(["2024-02-29", "1970-01-01", "2000-01-01", "0001-01-01"], "DATE"),
    "BOOLEAN": ["TRUE", "FALSE", "TRUE", "FALSE"],
    "DECIMAL(9,2)": quoted(["1", "2.50", "-3.75", "0"], "DECIMAL(9,2)"),
}
LIST_FORMS = ["[]", "[{0}]", "[{2}, {0}, {1}]", "[{0}, {0}, NULL, {1}]", "[NULL]", "[{3}, {1}, {0}, {1}, {2}]"]

KEY_FORMS = ["[]", "[{0}]", "[{0}, {1}]", "[{0}, {0}]", "[NULL]"]


def lists(family: str) -> list[str]:
    return cast([form.format(*ELEMENTS[family]) for form in LIST_FORMS], f"{family}[]")


def maps(family: str) -> list[str]:
    elements = ELEMENTS[family]
    return [f"MAP {{{elements[0]}: 1}}", f"MAP {{{elements[0]}: 1, {elements[1]}: NULL}}", f"CAST(MAP {{}} AS MAP({family}, INTEGER))"]


def by_kind(kind: str, family: str) -> list[str] | None:
    """Arguments for a word of a signature that isn't a type; `family` is the type of what the call is about."""
    match kind:
        case "list":
            return lists(family)
        case "element" | "from" | "to" | "tested":
            return ELEMENTS[family]
        case "value" | "argument":
            return BY_TYPE[family] if family in BY_TYPE else ELEMENTS[family]
        case "number" | "integer":
            return BY_TYPE[family]
        case "map":
            return maps(family)
        case "key":
            return ELEMENTS[family]
        case "keys":
            return cast([form.format(*ELEMENTS[family]) for form in KEY_FORMS], f"{family}[]")
        case "values":
            return cast(["[]", "[1]", "[1, NULL]"], "INTEGER[]")
        case "enum":
            return cast(["'low'", "'high'", "NULL"], "ENUM('low', 'mid', 'high')")
        case "struct":
            return ["{'a': 1, 'b': 'x'}", "{'a': CAST(NULL AS INTEGER), 'b': 'y'}"]
        case "name := value":
            return ["a := 5", "c := 'z'"]
        case "text":
            return [*BY_TYPE["VARCHAR"], "'2024-05-17 and 2023-01-02'"]
        case "pattern":
            return ["'b'", "'[a-c]+'", "'(a)(b)?'", "''", "'^a'", "'([0-9]+)-([0-9]+)'", "'(?i)ABC'", "'\\s'", "'.'", "'('", "'é|ö'"]
        case "replacement":
            return ["'X'", "''", "'\\1-\\0'", "'$1'", "'\\\\'"]
        case "flags" | "flags or start":
            return ["'g'", "'i'", "''", "'gi'", "'q'"]
        case "start" | "n" | "group" | "dimension" | "position" | "count":
            return ["1", "2", "0", "3", "-1"]
        case "group or list of names":
            return ["0", "1", "2", "['x', 'y']"]
        case "end":
            return ["0", "1"]
        case "json":
            return [*BY_TYPE["JSON"], """'{"a": {"b": 7}}'""", "'nonsense'"]
        case "path":
            return ["'a'", "'$.a'", "'$.b[1]'", "'$.b[*]'", "'$'", "'$.c.d'", "0", "-1", "'$[#-1]'", "['$.a', '$.c']", "''", "'/c/d'"]
        case "least":
            return ["-2", "0"]
        case "greatest":
            return ["4", "9"]
        case "separator":
            return ["','", "''", "' - '"]
        case "null_text":
            return ["'nil'", "''"]
        case "'name'":
            return ["'a'", "'B'", "'zz'"]
        case "'ASC' or 'DESC'":
            return ["'ASC'", "'DESC'"]
        case "'NULLS FIRST' or 'NULLS LAST'":
            return ["'NULLS FIRST'", "'NULLS LAST'"]
    return None


UNITS = """year month day hour minute second decade century millennium quarter week isoyear dow isodow doy epoch
    millisecond microseconds Y mon us julian era nonsense timezone""".split()
FORMATS = ["%Y-%m-%d", "%d.%m.%Y %H:%M:%S", "%H:%M:%S.%f", "%A %a %B %b %j %U %W %p %I %y", "%-d/%-m/%y %%", "", "%", "%G-W%V-%u", "x%nz", "%s", "%f %g %z"]
ZONES = ["'UTC'", "'Europe/Berlin'", "'America/New_York'", "'Asia/Kathmandu'", "'Nowhere/Land'", "'+02'"]
SMALL = ["0", "1", "2", "5", "-1", "-3", "100"]
FIELDS = ["'{}'", "'{} {}'", "'{1}-{0}'", "'{:>8}|'", "'x'", "''", "'{{}}'", "'{:.2f}'", "'{:,}'", "'{:x}'"]
C_FIELDS = ["'%s'", "'%d'", "'%5d|%-5d'", "'%.2f'", "'%%'", "'x'", "'%x'", "'%e'", "'%'"]


def texts(values: list[str]) -> list[str]:
    return [f"'{value}'" for value in values]


# Arguments of certain functions by their place; `None` for all places.
SPECIAL: dict[tuple[str, int | None], list[str]] = {}


def special(names: str, place: int | None, values: list[str]) -> None:
    for name in names.split():
        SPECIAL[name, place] = values


special("date_part datepart date_trunc datetrunc date_diff datediff date_sub datesub", 0, texts(UNITS))
special("strftime date_format", 1, texts(FORMATS))
special("strptime try_strptime", 1, [*texts(FORMATS), "['%Y-%m-%d', '%d.%m.%Y']"])
special(
    "strptime try_strptime",
    0,
    texts(["2024-02-29", "29.02.2024 10:11:12", "10:11:12.5", "Thursday Thu February Feb 060 08 09 PM 10 24", "29/2/24 %", "", "2024-W09-4", "xz", "2023-02-29", "1709164800"]),
)
special("timezone", 0, ZONES)
special("icu_sort_key", 1, texts(["de", "sv_SE", "en-US", "de-u-co-phonebk", "klingon"]))
special("json_transform from_json json_transform_strict from_json_strict", 1, texts(['"INTEGER"', '["DOUBLE"]', '{"a": "VARCHAR"}', '{"a": ["INTEGER"], "b": "JSON"}', '"MAP(VARCHAR, JSON)"', "[1]"]))
special("make_timestamptz from_unixtime", 6, ZONES)
special("from_unixtime", 1, ZONES)
special("repeat lpad rpad list_resize array_resize list_repeat array_repeat substring substr left right left_grapheme right_grapheme substring_grapheme", 1, SMALL)
special("substring substr substring_grapheme", 2, SMALL)
special("range generate_series", None, ["0", "1", "5", "-3", "10", "2"])
# Moments and steps that don't make long series.
SERIES = {
    "TIMESTAMP": quoted(["2024-02-28 00:00:00", "2024-03-01 12:00:00", "2024-01-01 00:00:00.5"], "TIMESTAMP"),
    "INTERVAL": quoted(["1 day", "-1 day", "12 hours", "1 month", "0 days"], "INTERVAL"),
}
special("to_base", 1, ["2", "10", "16", "36", "1", "37"])
special("to_base", 2, ["0", "8", "64", "-1"])
special("chr", 0, ["65", "0", "128512", "-1", "1114112", "55296", "955"])
special("encode decode", 1, texts(["hex", "base64", "escape", "base64url", "rot13"]))
special("decode", 0, [*texts(["676f", "Z29k", "x", "", "\\000a"]), *BY_TYPE["BLOB"]])
special("digest", 1, texts(["md5", "sha1", "sha224", "sha256", "sha384", "sha512", "SHA256", "crc"]))
special("from_base64", 0, texts(["", "Z29kd2l0", "Zg==", "Zg", "!!", "Z g = ="]))
special("unhex from_hex", 0, texts(["", "61", "6f6", "zz", "FFfe"]))
special("unbin from_binary", 0, texts(["", "01100001", "1", "2"]))
special("url_decode", 0, texts(["", "a%20b%2Fc", "%zz", "%", "a+b", "%C3%A4"]))
special("format", 0, FIELDS + ["'%s %I %L'"])
special("printf", 0, C_FIELDS)
special("normalize", 1, texts(["NFC", "NFD", "NFKC", "NFKD", "x"]))
special("unistr", 0, texts(["d\\0061ta", "\\u0061", "\\+000061", "\\", "\\00", "plain"]))
special("parse_path parse_dirname parse_dirpath parse_filename", 0, texts(["", "a", "/", "/a/b.csv", "a/b/c.tar.gz", "a\\b\\c.txt", "a//b", "./.hidden", "/a/b/"]))
special("parse_path parse_dirname parse_dirpath", 1, texts(["both_slash", "forward_slash", "backslash", "system", "x"]))
special("parse_filename", 1, [*texts(["both_slash", "forward_slash", "backslash"]), "TRUE", "FALSE"])
special("path_join", None, texts(["", "a", "a/", "../b", "/a", "/a/b", "s3://b/x", "a\\b", "C:\\c", "."]))
special("equi_width_bins", 2, ["1", "3", "10", "0", "-1", "1000001"])
special("parse_filename", 2, texts(["both_slash", "forward_slash"]))
special("list_aggregate list_aggr array_aggregate array_aggr aggregate", 1, texts("sum avg min max count string_agg first last median mode stddev bool_and bit_or histogram any_value product quantile_cont nonsense".split()))
special("width_bucket", 3, ["1", "5", "0", "-1", "2147483647"])
special("factorial", 0, ["0", "1", "5", "20", "33", "34", "-1"])
special("make_date", 0, ["2024", "1", "0", "-5", "1970", "9999", "300000"])
special("make_date", 1, ["1", "2", "12", "0", "13"])
special("make_date", 2, ["1", "29", "31", "0", "-1"])
special("make_time", 0, ["0", "23", "24", "-1"])
special("make_time", 1, ["0", "59", "60", "-1"])
special("make_time", 2, ["0", "59.999999", "60", "-0.5", "1.2345678"])
for timestamp in ("make_timestamp", "make_timestamptz"):
    special(timestamp, 0, ["2024", "1970", "1", "0", "1500000"])
    special(timestamp, 1, ["2", "12", "13"])
    special(timestamp, 2, ["29", "1", "32"])
    special(timestamp, 3, ["0", "23", "24"])
    special(timestamp, 4, ["0", "59", "60"])
    special(timestamp, 5, ["0", "59.5", "60", "-1"])
special("to_char", 1, texts(["YYYY-MM-DD HH24:MI:SS", "999.99", "FM000", "Day DD Month", "S9", "RN", "MI:SS.US", "HH12 AM", "9,999", ""]))
special("to_date to_timestamp", 1, texts(["YYYY-MM-DD", "DD.MM.YYYY", "%Y-%m-%d", "YYYYMMDD", ""]))
special("to_date to_timestamp date to_time to_unixtime", 0, texts(["2024-02-29", "29.02.2024", "20240229", "x", "", "10:11:12"]))
special("split_part substring_index substr_index", 1, texts([",", "", "b", "zz"]))
special("split_part substring_index substr_index", 2, ["1", "2", "-1", "0", "-9", "9"])
special("string_split str_split split string_to_array string_to_list", 1, texts([",", "", "b", "zz"]))
special("translate", 1, texts(["abc", "", "aa", "é"]))
special("translate", 2, texts(["x", "", "xyz", "ßß"]))
special("overlay", 2, ["1", "2", "0", "-1", "99"])
special("overlay", 3, ["0", "1", "-1", "99"])
special("to_years to_quarters to_months to_weeks to_days to_hours to_minutes to_seconds to_milliseconds to_microseconds to_decades to_centuries to_millennia", 0, ["0", "1", "-1", "5", "100000", "9223372036854775807"])
special("json json_valid json_structure json_pretty json_type json_typeof json_keys json_array_length json_strip_nulls json_contains json_merge_patch", 0, [*texts(JSONS), "'nonsense'", "''"])
special("json_valid", 1, texts(["value", "object", "array", "scalar", "nonsense"]))
special("bar", 3, ["10", "1", "0", "80", "-1"])
special("get_byte get_bit set_byte set_bit", 1, ["0", "1", "7", "8", "-1", "999"])
special("set_bit", 2, ["0", "1", "2"])
special("set_byte", 2, ["0", "1", "255", "256", "-1"])
special("age", None, BY_TYPE["TIMESTAMP"])
special("map_contains_value", 1, ["1", "2"])
special("map_contains_entry", 2, ["1", "2"])
special("array_fill", 1, ["[2]", "[0]", "[2, 2]"])
special("array_length array_upper array_lower list_length", 1, ["1", "2", "0"])

# Words of signatures that say a family's type, by the families they go with.
OF_FAMILY = {"list", "element", "from", "to", "tested", "value", "argument", "map", "key", "keys"}
OF_NUMBER = {"number", "integer"}

# Nothing of what is a text, a number or a time.
WRONG = ["CAST('x' AS VARCHAR)", "1", "2.5", "TRUE", "DATE '2024-01-01'", "[1]", "INTERVAL '1 day'", "{'a': 1}"]
