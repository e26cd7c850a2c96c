-- What the page of a trace shows, as JSON: each query's column is one part of the data. All of it is bounded: pictures get
-- bins, and a sample of the points. The variable `trace` is the file.

SELECT to_json({
    'source': source, 'one_in': one_in, 'nanos': duration_nanos, 'samples': samples, 'lost': lost,
    'statements': list_transform(statements[:200], sql -> left(sql, 4000)), 'statement_count': len(statements)
}) AS header FROM godwit_trace_header(getvariable('trace'));

SELECT to_json(getvariable('trace')) AS file;

-- What the pictures stack and colour: a structure is one object, or the segments of one column, in the order of rows.
CREATE TEMP TABLE known AS
SELECT *, CASE WHEN kind = 'segment' THEN "table" || '.' || "column" ELSE object END AS structure
FROM godwit_trace_objects(getvariable('trace'));

-- Those of tables first, then those of queries as they come up. Beyond the 60 most read, they are only counted.
CREATE TEMP TABLE structure AS
WITH grouped AS (
    SELECT
        structure, any_value(kind) AS kind, any_value("table") AS "table", any_value("column") AS "column",
        sum(bytes) AS bytes, max(entry_bytes) AS entry_bytes, sum(samples) AS samples,
        min(first_time) AS first_time
    FROM known GROUP BY structure HAVING sum(samples) > 0
), shown AS (
    FROM grouped QUALIFY row_number() OVER (ORDER BY samples DESC, structure) <= 60
)
SELECT
    *, row_number() OVER (
        ORDER BY "table" IS NULL, "table", CASE WHEN "table" IS NULL THEN NULL ELSE structure END, first_time, structure
    ) - 1 AS number
FROM shown;

-- Where each object begins in its structure.
CREATE TEMP TABLE object AS
SELECT
    known.id, structure.number,
    CAST(sum(known.bytes) OVER (
        PARTITION BY structure.number ORDER BY known.first_row, known.id ROWS UNBOUNDED PRECEDING
    ) - known.bytes AS BIGINT) AS base
FROM known JOIN structure ON structure.structure = known.structure;

CREATE TEMP TABLE sample AS
SELECT taken.time, taken.thread, object.number, object.id, object.base + taken."offset" AS position, taken.entry
FROM read_parquet(getvariable('trace')) AS taken JOIN object ON object.id = taken.object;

SELECT to_json({
    'structures': (SELECT count(DISTINCT structure) FROM known WHERE samples > 0), 'shown': (SELECT count(*) FROM sample),
    'unowned': (SELECT count(*) FROM read_parquet(getvariable('trace')) WHERE object IS NULL)
}) AS counts;

SELECT to_json({
    'name': list(structure ORDER BY number), 'table': list("table" ORDER BY number), 'kind': list(kind ORDER BY number),
    'bytes': list(CAST(bytes AS BIGINT) ORDER BY number), 'entry_bytes': list(entry_bytes ORDER BY number),
    'samples': list(CAST(samples AS BIGINT) ORDER BY number)
}) AS structures FROM structure;

-- At most some 60,000 points, drawn by chance that is the same each time.
WITH drawn AS (
    SELECT time // 1000 AS micros, thread, number, position, entry FROM sample
    WHERE hash(time, thread, position) % greatest(1, (SELECT count(*) FROM sample) // 60000) = 0
)
SELECT to_json({
    'micros': list(micros ORDER BY micros), 'thread': list(thread ORDER BY micros),
    'structure': list(number ORDER BY micros), 'position': list(position ORDER BY micros),
    'entry': list(entry ORDER BY micros)
}) AS points FROM drawn;

-- Samples of each structure in 200 intervals.
WITH step AS (
    SELECT number, least(time * 200 // greatest(header.duration_nanos, 1), 199) AS step, count(*) AS samples
    FROM sample, godwit_trace_header(getvariable('trace')) AS header GROUP BY ALL
)
SELECT to_json({'structure': list(number), 'step': list(step), 'samples': list(samples)}) AS steps FROM step;

-- Samples of each structure by place, in 1,024 parts.
WITH part AS (
    SELECT sample.number, least(position * 1024 // greatest(structure.bytes, 1), 1023) AS part, count(*) AS samples
    FROM sample JOIN structure ON structure.number = sample.number GROUP BY ALL
)
SELECT to_json({'structure': list(number), 'part': list(part), 'samples': list(samples)}) AS parts FROM part;

-- The most read entries of each structure, with their values as far as the trace has them; lines of 64 bytes where entries
-- aren't known.
WITH read AS (
    SELECT
        number, id, entry, CASE WHEN entry IS NULL THEN position // 64 * 64 END AS line, min(position) AS first_position,
        count(*) AS samples
    FROM sample GROUP BY ALL
), hottest AS (
    FROM read QUALIFY row_number() OVER (PARTITION BY number ORDER BY samples DESC, id, first_position) <= 20
), named AS (
    SELECT id, pair['entry'] AS entry, pair['value'] AS value
    FROM (SELECT id, unnest(entries) AS pair FROM godwit_trace_registry(getvariable('trace')))
), ranked AS (
    SELECT hottest.*, coalesce(line, first_position) AS position, left(named.value, 200) AS value
    FROM hottest LEFT JOIN named ON named.id = hottest.id AND named.entry = hottest.entry
)
SELECT to_json({
    'structure': list(number ORDER BY number, samples DESC, id, position),
    'entry': list(entry ORDER BY number, samples DESC, id, position),
    'position': list(position ORDER BY number, samples DESC, id, position),
    'value': list(value ORDER BY number, samples DESC, id, position),
    'samples': list(samples ORDER BY number, samples DESC, id, position)
}) AS hottest FROM ranked;

-- The curve, thinned to 400 points.
WITH curve AS (
    FROM godwit_trace_working_set_curve(getvariable('trace'))
    QUALIFY row_number() OVER (PARTITION BY scope, CAST(floor(share * 400) AS BIGINT) ORDER BY total_bytes DESC) = 1
)
SELECT to_json({
    'scope': list(scope ORDER BY scope, total_bytes), 'bytes': list(total_bytes ORDER BY scope, total_bytes),
    'share': list(share ORDER BY scope, total_bytes), 'accesses': list(accesses_per_page ORDER BY scope, total_bytes)
}) AS curve FROM curve;

SELECT to_json({
    'scope': list(scope), 'point': list(point), 'share': list(share), 'bytes': list(bytes), 'accesses': list(accesses_per_page)
}) AS working_set FROM godwit_trace_working_set(getvariable('trace'));

WITH most AS (FROM godwit_trace_columns(getvariable('trace')) WHERE accesses > 0 LIMIT 100)
SELECT to_json({
    'table': list("table"), 'column': list("column"), 'kind': list(kind), 'bytes': list(bytes), 'touched': list(touched_bytes),
    'volume': list(volume_bytes), 'accesses': list(accesses)
}) AS columns FROM most;

-- Samples of each column in 64 ranges of its table's rows.
WITH stored AS (
    FROM godwit_trace_stored_columns(getvariable('trace')) WHERE samples > 0 ORDER BY samples DESC, "table", "column" LIMIT 100
), ranged AS (
    SELECT stored."table", stored."column", any_value(stored.rows) AS rows, CAST(any_value(stored.bytes) AS BIGINT) AS bytes,
        least(taken.row_number * 64 // greatest(stored.rows, 1), 63) AS part, count(*) AS samples
    FROM godwit_trace_rows(getvariable('trace')) AS taken
    JOIN stored ON stored."table" = taken."table" AND stored."column" = taken."column"
    GROUP BY stored."table", stored."column", part
)
SELECT to_json({
    'table': list("table"), 'column': list("column"), 'rows': list(rows), 'bytes': list(bytes),
    'part': list(part), 'samples': list(samples)
}) AS ranges FROM ranged;
