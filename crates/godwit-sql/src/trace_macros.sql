-- Analyses of memory traces, over `godwit_trace_registry` and `godwit_trace_header`, which read a trace's footer, and the
-- samples, which are its rows. docs/tracing.md shows each with an example.
--
-- One sample stands for `one_in` accesses. Places in an object are counted from its beginning: objects keep them while
-- their pages move.

-- The samples of a trace, each with what it is a sample of
CREATE MACRO godwit_trace(file) AS TABLE
SELECT
    sample.time, sample.thread, sample.address, known.path AS object, known.kind, known."table", known."column",
    sample."offset", sample.entry
FROM read_parquet(file) AS sample LEFT JOIN godwit_trace_registry(file) AS known ON known.id = sample.object;

-- The objects that had addresses while a trace was made, sampled or not
CREATE MACRO godwit_trace_objects(file) AS TABLE
WITH sampled AS (
    SELECT object, count(*) AS samples, min(time) AS first_time, max(time) AS last_time
    FROM read_parquet(file) GROUP BY object
)
SELECT
    known.id, known.path AS object, known.kind, known."table", known."column", known.query, known.bytes,
    known.entry_bytes, known.first_row, known.rows, coalesce(sampled.samples, 0) AS samples, sampled.first_time,
    sampled.last_time
FROM godwit_trace_registry(file) AS known LEFT JOIN sampled ON sampled.object = known.id;

-- Accesses of each object in each of `steps` intervals, by the interval's beginning
CREATE MACRO godwit_trace_accesses(file, steps := 100) AS TABLE
WITH step AS (
    SELECT one_in, greatest(CAST(ceil((duration_nanos + 1) / CAST(steps AS DOUBLE)) AS BIGINT), 1) AS nanos
    FROM godwit_trace_header(file)
)
SELECT
    known.path AS object, known.kind, sample.time // step.nanos * step.nanos AS time,
    CAST(count(*) * any_value(one_in) AS BIGINT) AS accesses
FROM read_parquet(file) AS sample JOIN godwit_trace_registry(file) AS known ON known.id = sample.object, step
GROUP BY ALL ORDER BY ALL;

-- How often each entry of one object was read, and the entry's value where the trace has it
--
-- Where entries are unknown, it is the lines of 64 bytes.
CREATE MACRO godwit_trace_skew(file, object_path) AS TABLE
WITH known AS (
    SELECT id, coalesce(entry_bytes, 64) AS entry_bytes, entries FROM godwit_trace_registry(file) WHERE path = object_path
), named AS (
    SELECT pair['entry'] AS entry, pair['value'] AS value FROM (SELECT unnest(entries) AS pair FROM known)
), read AS (
    SELECT
        sample.entry, CASE WHEN sample.entry IS NULL THEN sample."offset" // entry_bytes * entry_bytes END AS line,
        min(sample."offset") AS first_offset, count(*) AS samples
    FROM read_parquet(file) AS sample JOIN known ON known.id = sample.object
    GROUP BY ALL
)
SELECT
    read.entry, coalesce(read.line, read.first_offset) AS "offset", named.value,
    CAST(read.samples * (SELECT one_in FROM godwit_trace_header(file)) AS BIGINT) AS accesses,
    read.samples / CAST(sum(read.samples) OVER () AS DOUBLE) AS share
FROM read LEFT JOIN named ON named.entry = read.entry
ORDER BY accesses DESC, "offset";

-- The pages of objects that were sampled, in groups of pages that are alike: how many, and their samples
--
-- `rate` is the samples that each page would be expected to have in another trace.
-- A page without samples was maybe just missed. Within an object, rates of pages are taken to be spread as a Gamma
-- distribution, which the mean and the variance of the samples determine; samples are spread around rates by chance
-- (Poisson). The rate is the expected one under that: pages that differ no more than by chance are alike, and an object's
-- rates add up to its samples.
CREATE MACRO godwit_trace_page_rates(file, page_bytes := 4096) AS TABLE
WITH page AS (
    SELECT object, "offset" // page_bytes AS page, count(*) AS samples
    FROM read_parquet(file) WHERE object IS NOT NULL GROUP BY ALL
), alike AS (
    SELECT object, samples, count(*) AS pages FROM page GROUP BY ALL
), spread AS (
    SELECT
        known.id, known.path, known.kind,
        greatest(CAST(ceil(any_value(known.bytes) / CAST(page_bytes AS DOUBLE)) AS BIGINT), sum(alike.pages)) AS pages,
        sum(alike.pages) AS seen, sum(alike.samples * alike.pages) AS samples,
        sum(alike.samples * alike.samples * alike.pages) AS squares
    FROM godwit_trace_registry(file) AS known JOIN alike ON alike.object = known.id
    GROUP BY known.id, known.path, known.kind
), moments AS (
    SELECT
        *, samples / CAST(pages AS DOUBLE) AS mean, squares / CAST(pages AS DOUBLE) - mean * mean - mean AS beyond_chance
    FROM spread
), every AS (
    SELECT object, samples, pages FROM alike
    UNION ALL
    SELECT id, 0, pages - seen FROM spread WHERE pages > seen
)
SELECT
    moments.id, moments.path AS object, moments.kind, every.pages, every.samples,
    CASE
        WHEN beyond_chance <= 0 THEN mean
        -- With a Gamma distribution of shape s: (samples + s) × mean / (mean + s), where s = mean² / beyond_chance.
        ELSE (every.samples + mean * mean / beyond_chance) * mean / (mean + mean * mean / beyond_chance)
    END AS rate
FROM every JOIN moments ON moments.id = every.object;

-- The bytes of the hottest pages, and the share of accesses that they get, from the hottest on
--
-- `scope` is the data of tables, or everything, the objects of queries included.
CREATE MACRO godwit_trace_working_set_curve(file, page_bytes := 4096) AS TABLE
WITH scoped AS (
    SELECT unnest(CASE
        WHEN kind IN ('database', 'table', 'column', 'segment', 'dictionary', 'delta', 'file', 'file column')
        THEN ['tables', 'everything'] ELSE ['everything'] END) AS scope, rate, pages
    FROM godwit_trace_page_rates(file, page_bytes)
), rated AS (
    SELECT scope, rate, sum(pages) AS pages FROM scoped GROUP BY ALL
)
SELECT
    scope, rate * (SELECT one_in FROM godwit_trace_header(file)) AS accesses_per_page,
    CAST(pages * page_bytes AS BIGINT) AS bytes,
    CAST(sum(pages) OVER hottest * page_bytes AS BIGINT) AS total_bytes,
    sum(rate * pages) OVER hottest / sum(rate * pages) OVER (PARTITION BY scope) AS share
FROM rated
WINDOW hottest AS (PARTITION BY scope ORDER BY rate DESC ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
ORDER BY scope, share;

-- The hot working set: the bytes that cover given shares of all accesses, the knee of the curve, and the suggested buffer
--
-- The knee is where the curve is farthest above the straight line from nothing to the bytes that cover 99 %; if it is
-- nowhere far above, there is none, and those bytes are suggested.
CREATE MACRO godwit_trace_working_set(file, page_bytes := 4096) AS TABLE
WITH curve AS (
    SELECT * FROM godwit_trace_working_set_curve(file, page_bytes)
), covered AS (
    SELECT
        curve.scope, point.share, min_by(
            -- Pages of one rate are alike: as many of them as are needed.
            CAST(curve.total_bytes - curve.bytes * (curve.share - point.share) / nullif(curve.share - before, 0) AS BIGINT),
            curve.total_bytes
        ) AS bytes, max(curve.accesses_per_page) AS accesses_per_page
    FROM (SELECT *, lag(share, 1, 0.0) OVER (PARTITION BY scope ORDER BY total_bytes) AS before FROM curve) AS curve
    JOIN unnest([0.5, 0.8, 0.9, 0.95, 0.99]) AS point(share) ON curve.share >= point.share
    GROUP BY ALL
), knee AS (
    SELECT
        curve.scope, max(curve.share - curve.total_bytes / CAST(hot.bytes AS DOUBLE)) AS height,
        max_by(curve.share, curve.share - curve.total_bytes / CAST(hot.bytes AS DOUBLE)) AS share,
        max_by(curve.total_bytes, curve.share - curve.total_bytes / CAST(hot.bytes AS DOUBLE)) AS bytes,
        max_by(curve.accesses_per_page, curve.share - curve.total_bytes / CAST(hot.bytes AS DOUBLE)) AS accesses_per_page
    FROM curve JOIN covered AS hot ON hot.scope = curve.scope AND hot.share = 0.99
    GROUP BY curve.scope
), points AS (
    SELECT scope, format('{} %', CAST(round(share * 100) AS BIGINT)) AS point, share, bytes, accesses_per_page FROM covered
    UNION ALL
    SELECT scope, 'knee', share, bytes, accesses_per_page FROM knee WHERE height >= 0.1
    UNION ALL
    SELECT
        knee.scope, 'suggested buffer', CASE WHEN height >= 0.1 THEN knee.share ELSE hot.share END,
        CASE WHEN height >= 0.1 THEN knee.bytes ELSE hot.bytes END,
        CASE WHEN height >= 0.1 THEN knee.accesses_per_page ELSE hot.accesses_per_page END
    FROM knee JOIN covered AS hot ON hot.scope = knee.scope AND hot.share = 0.99
)
SELECT scope, point, share, bytes, accesses_per_page FROM points ORDER BY scope, point = 'suggested buffer', bytes, point;

-- Accesses and accessed volume by column: `volume_bytes` were read, from pages of 4 KiB that take `touched_bytes`
CREATE MACRO godwit_trace_columns(file) AS TABLE
WITH pages AS (
    SELECT id, sum(CASE WHEN samples > 0 THEN pages ELSE 0 END) * 4096 AS touched_bytes
    FROM godwit_trace_page_rates(file) GROUP BY id
)
SELECT
    known."table", known."column", known.kind, CAST(sum(known.bytes) AS BIGINT) AS bytes,
    CAST(sum(least(coalesce(pages.touched_bytes, 0), known.bytes)) AS BIGINT) AS touched_bytes,
    CAST(sum(known.samples * coalesce(known.entry_bytes, known.bytes / CAST(nullif(known.rows, 0) AS DOUBLE), 8))
        * any_value(header.one_in) AS BIGINT) AS volume_bytes,
    CAST(sum(known.samples) * any_value(header.one_in) AS BIGINT) AS accesses
FROM godwit_trace_objects(file) AS known LEFT JOIN pages ON pages.id = known.id, godwit_trace_header(file) AS header
WHERE known."column" IS NOT NULL
GROUP BY known."table", known."column", known.kind
ORDER BY accesses DESC, known."table", known."column", known.kind;

-- Samples of rows of tables: the row's number in its table
CREATE MACRO godwit_trace_rows(file) AS TABLE
SELECT
    known."table", known."column",
    coalesce(sample.entry, known.first_row + sample."offset" * known.rows // nullif(known.bytes, 0)) AS row_number
FROM read_parquet(file) AS sample JOIN godwit_trace_registry(file) AS known ON known.id = sample.object
WHERE known.kind = 'segment' AND row_number IS NOT NULL;

-- Columns of the tables that have segments: their rows and bytes
CREATE MACRO godwit_trace_stored_columns(file) AS TABLE
SELECT "table", "column", max(first_row + rows) AS rows, sum(bytes) AS bytes, sum(samples) AS samples
FROM godwit_trace_objects(file) WHERE kind = 'segment' GROUP BY ALL;

-- The bytes to hold if each table were cut into `parts` ranges of its rows, in the order of loading
--
-- A range in which a column isn't read needn't be held.
CREATE MACRO godwit_trace_row_ranges(file, parts := 8) AS TABLE
WITH stored AS (
    SELECT * FROM godwit_trace_stored_columns(file) WHERE samples > 0
), touched AS (
    SELECT DISTINCT
        stored."table", stored."column",
        least(sampled.row_number * parts // greatest(stored.rows, 1), parts - 1) AS part
    FROM godwit_trace_rows(file) AS sampled
    JOIN stored ON stored."table" = sampled."table" AND stored."column" = sampled."column"
)
SELECT
    stored."table", stored."column", parts AS partitions, count(touched.part) AS touched_partitions,
    CAST(any_value(stored.bytes) AS BIGINT) AS bytes_before,
    CAST(any_value(stored.bytes) * count(touched.part) / parts AS BIGINT) AS bytes_after
FROM stored LEFT JOIN touched ON touched."table" = stored."table" AND touched."column" = stored."column"
GROUP BY stored."table", stored."column"
ORDER BY bytes_before - bytes_after DESC, stored."table", stored."column";

-- The bytes that would be held if a table were cut into ranges of a column
--
-- The ranges begin at `bounds`, or have an eighth of the rows each.
--
-- The table has to be as it was traced. `bytes_after`: partitions in which the column isn't read needn't be held.
-- `bytes_pruned`: partitions in which some column that was read has no samples aren't read at all, as if the filters that kept
-- queries from there were filters on the partitioning column. Truth is between the two.
CREATE MACRO godwit_trace_partitions(file, table_name, column_name, bounds := NULL) AS TABLE
WITH valued AS (
    SELECT row_number() OVER () - 1 AS row_number, struct_extract(traced, column_name) AS value
    FROM query_table(table_name) AS traced
), given AS (
    SELECT coalesce(bounds, quantile_disc(value, [0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 0.875])) AS bounds FROM valued
), placed AS (
    SELECT row_number, len(list_filter(given.bounds, bound -> bound <= value)) AS part FROM valued, given
), partitions AS (
    SELECT part, count(*) AS rows FROM placed GROUP BY part
), stored AS (
    SELECT * FROM godwit_trace_stored_columns(file)
    WHERE samples > 0 AND ("table" = table_name OR ends_with("table", '.' || table_name))
), touched AS (
    SELECT DISTINCT stored."column", placed.part
    FROM godwit_trace_rows(file) AS sampled
    JOIN stored ON stored."table" = sampled."table" AND stored."column" = sampled."column"
    JOIN placed ON placed.row_number = sampled.row_number
), needed AS (
    SELECT part FROM touched GROUP BY part HAVING count(*) = (SELECT count(*) FROM stored)
), totals AS (
    SELECT count(*) AS partitions, sum(rows) AS rows FROM partitions
), held AS (
    SELECT
        touched."column", count(*) AS touched_partitions, sum(partitions.rows) AS rows,
        sum(CASE WHEN needed.part IS NULL THEN 0 ELSE partitions.rows END) AS needed_rows
    FROM touched JOIN partitions ON partitions.part = touched.part LEFT JOIN needed ON needed.part = touched.part
    GROUP BY touched."column"
)
SELECT
    stored."column", totals.partitions, held.touched_partitions, CAST(stored.bytes AS BIGINT) AS bytes_before,
    CAST(stored.bytes * held.rows / CAST(totals.rows AS DOUBLE) AS BIGINT) AS bytes_after,
    CAST(stored.bytes * held.needed_rows / CAST(totals.rows AS DOUBLE) AS BIGINT) AS bytes_pruned
FROM stored JOIN held ON held."column" = stored."column", totals
ORDER BY bytes_before - bytes_pruned DESC, stored."column";
