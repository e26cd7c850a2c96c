"""A hundred functions that people use most, each on ten million values.

Each query computes one function for every row and makes one number or text of the results, so that the time is that of
the function, of reading its arguments and of a cheap aggregate. Half of the columns have few distinct values and half
have one per row; a tenth of the values is NULL.
"""

from pathlib import Path

from suites.base import Options, Suite, parquet_of

ROWS = 10_000_000
SMOKE_ROWS = 10_000

# Columns: i INTEGER, n BIGINT, d DOUBLE between 0 and 1000, p DECIMAL(15,2), s VARCHAR of some 25 letters, w VARCHAR of
# 1,000 words, u VARCHAR of letters beyond ASCII, h VARCHAR of hexadecimal digits, t TIMESTAMP, e DATE, l BIGINT[],
# j VARCHAR of JSON.
NUMBERS = """
abs(i - 5000000); sign(i - 5000000); mod(n, 7); greatest(i, n); least(i, n); round(d); round(d, 2); floor(d); ceil(d);
trunc(d); round(p, 1); sqrt(d); cbrt(d); exp(d / 100); ln(d + 1); log10(d + 1); log2(d + 1); power(d, 1.5); sin(d); cos(d);
tan(d); atan(d); atan2(d, 3.0); degrees(d); radians(d); gcd(n, 360); bit_count(n); xor(i, 255); i << 3; CAST(d AS INTEGER);
CAST(i AS DOUBLE); CAST(p AS DOUBLE); CAST(CAST(i AS VARCHAR) AS INTEGER); isnan(d)::INTEGER;
length(s); octet_length(s::BLOB); strpos(s, 'ra'); ascii(s); unicode(u); levenshtein(w, 'monsoon'); jaccard(w, 'monsoon');
jaro_winkler_similarity(w, 'monsoon'); hamming(substring(s, 1, 8), 'abcdefgh');
starts_with(s, 'ba')::INTEGER; ends_with(s, 'ra')::INTEGER; contains(s, 'ora')::INTEGER; (s LIKE '%ra%o%')::INTEGER;
(s ILIKE 'BA%')::INTEGER; regexp_matches(s, '[ab]o+r')::INTEGER; regexp_full_match(w, '[a-m].*')::INTEGER;
len(string_split(s, '-')); len(regexp_extract_all(s, '[a-c]+')); len(regexp_split_to_array(s, '-'));
year(t); month(t); day(e); hour(t); minute(t); second(t); dayofweek(e); dayofyear(e); week(e); quarter(t); epoch(t);
date_part('month', e); date_diff('day', e, DATE '2020-01-01'); date_diff('month', t, TIMESTAMP '2020-01-01');
datesub('month', e, DATE '2030-01-01'); epoch_ms(t);
len(l); l[2]; list_sum(l); list_max(l); list_contains(l, 7)::INTEGER; list_position(l, 7); list_sort(l)[1];
len(list_distinct(l)); len(list_concat(l, l)); len(l[2:3]); json_array_length(j, '$.b'); CAST(j ->> '$.a' AS BIGINT)
"""
TEXTS = """
upper(s); lower(s); upper(u); reverse(s); trim(s); ltrim(s, 'ab'); rtrim(s, 'ab'); lpad(w, 20, '*'); rpad(w, 20, '*');
repeat(w, 3); replace(s, 'a', 'xy'); substring(s, 3, 5); left(s, 4); right(s, 4); split_part(s, '-', 2); concat(w, '-', i);
s || w; concat_ws('-', w, w, w); translate(s, 'abc', 'xyz'); md5(s); sha256(w); hex(s); to_base64(s::BLOB);
url_encode(u); format('{}: {}', w, i); printf('%s: %d', w, i); strip_accents(u); regexp_replace(s, '[aeiou]', '_', 'g');
regexp_extract(s, '([a-z]+)-([a-z]+)', 2); CAST(i AS VARCHAR); CAST(d AS VARCHAR); CAST(t AS VARCHAR);
strftime(t, '%Y-%m-%d %H:%M'); monthname(e); dayname(e); j ->> '$.c'; array_to_string(l, ',')
"""
TIMES = """
date_trunc('month', t); date_trunc('hour', t); date_trunc('day', e); t + INTERVAL 3 DAY; last_day(e); make_date(2000, 1, i % 28 + 1);
strptime(strftime(t, '%Y-%m-%d'), '%Y-%m-%d'); time_bucket(INTERVAL '15 minutes', t); CAST(t AS DATE); to_timestamp(n)
"""


def suite(options: Options) -> Suite:
    """The scale is the number of rows, in millions."""
    rows = SMOKE_ROWS if options.smoke else int((options.scale or ROWS / 1e6) * 1e6)
    queries = {}
    for functions, result in ((NUMBERS, "sum({})"), (TEXTS, "max({})"), (TIMES, "CAST(max({}) AS VARCHAR)")):
        for function in (" ".join(text.split()) for text in functions.split(";")):
            queries[function] = f"SELECT {result.format(function)} AS result FROM input"
    return Suite(
        name=f"functions-{rows / 1e6:g}m",
        title=f"functions of {rows / 1e6:g} million values",
        tables={"input": input_file(options.data / "functions", rows)},
        queries=queries,
        engines=["godwit-native", "duckdb-native"],
        checks=queries,
    )


def input_file(folder: Path, rows: int) -> Path:
    """The columns, made of hashes of the row's number, if they aren't there."""
    syllables = "['ba', 'ro', 'mon', 'sea', 'win', 'to', 'ka', 'lu', 'per', 'ci', 'ra', 'oor', 'bli', 'an', 'de', 'fe']"
    accented = "['é', 'ü', 'ñ', 'å', 'ö', 'ç', 'Ж', 'ł']"

    def syllable(source: str, shift: int) -> str:
        return f"{syllables}[1 + ({source} >> {shift}) % 16]"

    def word(source: str, *shifts: int) -> str:
        return " || ".join(syllable(source, shift) for shift in shifts)

    query = f"""
        WITH keys AS (SELECT range AS row, (hash(range) >> 1)::BIGINT AS k, (hash(range % 1000) >> 1)::BIGINT AS few FROM range({rows})),
        columns AS (
            SELECT k % 10 = 0 AS gap,
                (k % 10000000)::INTEGER AS i, (k % 1000000000)::BIGINT AS n, (k % 1000000) / 1000.0::DOUBLE AS d,
                ((k % 100000000) / 100.0)::DECIMAL(15, 2) AS p,
                {word("k", 4, 8, 12)} || '-' || {word("k", 16, 20, 24)} || '-' || {word("k", 28, 32)} AS s,
                {word("few", 4, 8, 12)} AS w, {accented}[1 + k % 8] || {word("k", 7, 11)} || {accented}[1 + (k >> 3) % 8] AS u,
                TIMESTAMP '1992-01-01' + to_microseconds((k % 1000000000000000)::BIGINT) AS t,
                DATE '1992-01-01' + (few % 10000)::INTEGER AS e,
                [(k % 10)::BIGINT, ((k >> 8) % 100)::BIGINT, ((k >> 16) % 1000)::BIGINT, 7][1:1 + ((k >> 24) % 4)::INTEGER] AS l,
                '{{"a": ' || (k % 1000) || ', "b": [1, 2, ' || (k % 7) || '], "c": "' || {word("few", 4, 8)} || '"}}' AS j
            FROM keys
        )
        SELECT {", ".join(f"CASE WHEN gap THEN NULL ELSE {name} END AS {name}" for name in "indpswutelj")}
        FROM columns"""
    return parquet_of(query, folder / str(rows) / "input.parquet")
