"""Statements on texts of one megabyte each, and functions that make much of little: for `bench/memory.py`."""

from pathlib import Path

from suites.base import Options, Suite, parquet_of

ROWS = 1_500
SMOKE_ROWS = 20
MEMORY_LIMIT_BYTES = 256 * 2**20
# In `long`, t has a megabyte of digits and letters in each row, k is the number of the row, g one of ten groups.
FUNCTIONS = """
SELECT sum(len(range(i + 100000))) FROM range(4000) r(i)
SELECT sum(len(string_split(t, 'q'))) FROM long
SELECT max(length(upper(t) || lower(t) || reverse(t))) FROM long
SELECT sum(length(repeat(chr(65 + i % 20), 400000))) FROM range(4000) r(i)
SELECT sum(length(lpad(chr(65 + i % 20), 400000, 'y'))) FROM range(4000) r(i)
SELECT sum(length(concat(left(t, 400000), k, t))) FROM long
SELECT sum(length(t || t)) FROM long
SELECT length(lpad('x', 2147483647, 'y'))
SELECT length(replace(repeat('x', 1000000), 'x', repeat('y', 100000)))
SELECT length(repeat('x', 300000000))
SELECT sum(length(repeat(chr(65 + i % 20), 1100000))) FROM range(4000) r(i)
SELECT sum(length(replace(t, '1', 'one'))) FROM long
SELECT sum(length(regexp_replace(t, '[0-9]', '#', 'g'))) FROM long
SELECT sum(len(regexp_extract_all(t, '[a-f]+'))) FROM long
SELECT sum(len(regexp_split_to_array(t, '0'))) FROM long
SELECT sum(length(translate(t, 'abc', 'xyz'))) FROM long
SELECT max(md5(t)), max(sha256(t)) FROM long
SELECT sum(length(hex(t))) FROM long
SELECT sum(length(to_base64(t::BLOB))) FROM long
SELECT sum(length(format('{} and {}', t, t))) FROM long
SELECT sum(length(array_to_string([t, t, t], ','))) FROM long
SELECT sum(length(json_object('a', t, 'b', [t])::VARCHAR)) FROM long
SELECT sum(len(list_transform(range(200000), x -> x + k))) FROM long
SELECT sum(len(list_sort(range(200000)))) FROM long
SELECT sum(length(url_encode(t))), sum(length(strip_accents(t))) FROM long
"""
QUERIES = """
SELECT * FROM long
SELECT * FROM long ORDER BY t
SELECT * FROM long ORDER BY k DESC
SELECT t FROM long ORDER BY t LIMIT 10
SELECT max(t), min(t) FROM long
SELECT g, max(t) FROM long GROUP BY g
SELECT t, count(*) FROM long GROUP BY t
SELECT count(DISTINCT t) FROM long
SELECT DISTINCT t FROM long
SELECT any_value(t) FROM long GROUP BY k
SELECT a.k, length(b.t) FROM long a JOIN long b ON a.k = b.k
SELECT count(*) FROM long a JOIN long b ON a.t = b.t
SELECT k, length(lag(t) OVER (ORDER BY k)) FROM long
SELECT k, row_number() OVER (PARTITION BY g ORDER BY t) FROM long
SELECT g, length(string_agg(left(t, 100000), ',')) FROM long GROUP BY g
SELECT g, len(list(left(t, 100000))) FROM long GROUP BY g
SELECT count(*) FROM (SELECT t FROM long UNION SELECT t || 'x' FROM long)
SELECT count(*) FROM long WHERE t LIKE '%aaaaa%'
SELECT count(*) FROM long WHERE t IN (SELECT t FROM long WHERE g = 1)
SELECT mode(t) FROM long
SELECT unnest(string_split(t, 'a')) AS part, k FROM long ORDER BY part LIMIT 3
COPY long TO '{folder}/copy.parquet'
COPY long TO '{folder}/copy.csv'
COPY long TO '{folder}/copy.json'
CREATE TABLE copy AS SELECT * FROM long
CREATE TABLE copy AS SELECT * FROM long; UPDATE copy SET t = t || 'x'; SELECT sum(length(t)) FROM copy
CREATE TABLE copy (k INTEGER PRIMARY KEY, t VARCHAR); INSERT INTO copy SELECT k, t FROM long; DELETE FROM copy WHERE k % 2 = 0
"""


def suite(options: Options) -> Suite:
    """The scale is the number of rows, in thousands."""
    rows = SMOKE_ROWS if options.smoke else int((options.scale or ROWS / 1e3) * 1e3)
    folder = options.data / "heavy"
    lines = [line for text in (FUNCTIONS, QUERIES) for line in text.strip().split("\n")]
    queries = {f"{number} {line[:60]}": line.replace("{folder}", str(folder)) for number, line in enumerate(lines, 1)}
    return Suite(
        name=f"heavy-{rows}",
        title=f"{rows} texts of a megabyte",
        tables={"long": input_file(folder, rows)},
        queries=queries,
        engines=["godwit", "duckdb"],
        memory_limit_bytes=MEMORY_LIMIT_BYTES,
    )


def input_file(folder: Path, rows: int) -> Path:
    """The texts, of digests that repeat, in row groups of a hundred rows: a page of 100 MB each, 6 MB on disk."""
    query = f"""
        SELECT k, k % 10 AS g, (
            SELECT string_agg(repeat(md5((k * 1000 + i)::VARCHAR), 63), '') FROM range(500) AS parts(i)
        ) AS t
        FROM range({rows}) AS numbers(k)"""
    return parquet_of(query, folder / str(rows) / "long.parquet", ", ROW_GROUP_SIZE 100")
