//! Built-in macros: functions of DuckDB and PostgreSQL that are expressions or queries over others, and analyses of
//! memory traces.

use std::collections::HashMap;
use std::sync::{LazyLock, OnceLock};

use godwit_functions::{Listed, ListedKind};
use godwit_syntax::ast::{MacroBody, MacroOverload, Statement};
use godwit_syntax::{ParsedStatement, parse_script};

use crate::pg_catalog::{CATALOGS, TYPES};

/// The macros, written as users would define them. The comment before each is its description, a line, and an example
/// with its value, if it has one. Macros of one description are one in the reference.
const DEFINITIONS: &str = "
-- The date or time plus an interval
--   date_add(DATE '2024-01-31', INTERVAL '1 month') → 2024-02-29 00:00:00
CREATE MACRO date_add(moment, span) AS moment + span;
-- The geometric mean of the numbers
--   geomean(x) FROM unnest([2, 8]) AS t(x) → 4.0
CREATE MACRO geomean(number) AS exp(avg(ln(number)));
-- The geometric mean of the numbers
CREATE MACRO geometric_mean(number) AS geomean(number);
-- The mean of numbers, each with a weight
--   weighted_avg(x, weight) FROM (VALUES (1, 3), (5, 1)) AS t(x, weight) → 2.0
CREATE MACRO weighted_avg(number, weight) AS
    CAST(sum(number * weight) AS DOUBLE) / sum(CASE WHEN number IS NOT NULL THEN weight END);
-- The mean of numbers, each with a weight
CREATE MACRO wavg(number, weight) AS weighted_avg(number, weight);

-- The list of the most frequent values, as many as the number says
--   approx_top_k(x, 1) FROM unnest([1, 2, 2]) AS t(x) → [2]
CREATE MACRO approx_top_k(value, k) AS
    list_transform(list_reverse_sort(list_transform(map_entries(histogram(value)), e -> {'times': e.value, 'value': e.key}))[1:k],
        e -> e.value);
-- The first value, NULL or not, in the row with the least second value
--   arg_min_null(x, y) FROM (VALUES (NULL, 1), (5, 2)) AS t(x, y) → NULL
CREATE MACRO arg_min_null(value, number) AS struct_extract(arg_min({'value': value}, number), 'value');
-- The first value, NULL or not, in the row with the greatest second value
--   arg_max_null(x, y) FROM (VALUES (NULL, 1), (5, 2)) AS t(x, y) → 5
CREATE MACRO arg_max_null(value, number) AS struct_extract(arg_max({'value': value}, number), 'value');
-- The sum of the numbers
--   sum_no_overflow(x) FROM unnest([1, 2, 4]) AS t(x) → 7
CREATE MACRO sum_no_overflow(number) AS sum(number);
-- A map from each bin to the number of values that aren't above it, but above the bin before; others have one of their own
--   histogram(x, [10, 20]) FROM unnest([1, 10, 15, 25]) AS t(x) → {10=2, 20=1, 2147483647=1}
CREATE MACRO histogram(value, bins) AS
    CASE WHEN count(value) > 0 THEN histogram_of_bins(histogram(histogram_bin(value, bins)), bins) END;
-- A map from each bin to the number of values that equal it; others have a bin of their own
--   histogram_exact(x, [10, 20]) FROM unnest([1, 10, 15, 20]) AS t(x) → {10=1, 20=1, 2147483647=2}
CREATE MACRO histogram_exact(value, bins) AS
    CASE WHEN count(value) > 0 THEN histogram_of_bins(histogram(histogram_bin_exact(value, bins)), bins) END;
-- The numbers of values in the bins of a histogram, with 0 for those without any, and at the end those in no bin
--   histogram_of_bins(MAP {10: 2, 99: 1}, [20, 10]) → {10=2, 20=0, 99=1}
CREATE MACRO histogram_of_bins(counts, bins) AS map_from_entries(list_concat(
    list_transform(list_sort(list_distinct(cast_to_type(bins, map_keys(counts)))),
        lambda bin: {'key': bin, 'value': coalesce(counts[bin], 0::UBIGINT)}),
    list_filter(map_entries(counts),
        lambda entry: NOT list_contains(cast_to_type(bins, map_keys(counts)), entry.key))));

-- A bit for each integer from the least to the greatest: whether it is a value; the bounds may be given
--   bitstring_agg(x, 0, 5) FROM unnest([1, 3]) AS t(x) → 010100
CREATE MACRO bitstring_agg(value) AS list_bitstring_agg(list(DISTINCT value)),
    (value, least, greatest) AS list_bitstring_agg(list(DISTINCT value), least, greatest);

-- The interval of years, months, weeks, days, hours, minutes and seconds, each of which may be left out or named
--   make_interval(1, 2, days => 3, secs => 6.5) → 1 year 2 months 3 days 00:00:06.5
CREATE MACRO make_interval(years := 0, months := 0, weeks := 0, days := 0, hours := 0, mins := 0, secs := 0.0) AS
    to_years(years) + to_months(months) + to_weeks(weeks) + to_days(days)
        + to_hours(hours) + to_minutes(mins) + to_seconds(secs);
-- The date and time at which the statement began
--   current_localtimestamp() = localtimestamp → true
CREATE MACRO current_localtimestamp() AS localtimestamp;
-- The time of day at which the statement began
--   current_localtime() = localtime → true
CREATE MACRO current_localtime() AS localtime;
-- The texts of a list's elements with a text between them, a comma if none is said
--   array_to_string_comma_default(['a', 'b']) → a,b
CREATE MACRO array_to_string_comma_default(list, separator := ',') AS array_to_string(list, separator);
-- A row for each place in a list, counted from 1
--   generate_subscripts(['a', 'b'], 1) → 1, 2
CREATE MACRO generate_subscripts(list, dimension) AS
    unnest(CASE WHEN dimension = 1 THEN generate_series(1, len(list)) END);
-- A row for each part of the text between matches of a pattern
--   regexp_split_to_table('a1b2c', '[0-9]') → a, b, c
CREATE MACRO regexp_split_to_table(value, pattern) AS unnest(regexp_split_to_array(value, pattern));
-- The number rounded to the given number of digits; halves go to the even neighbor
--   round_even(2.5, 0) → 2.0
CREATE MACRO round_even(number, digits) AS
    CASE WHEN abs(number * 10 ** digits - trunc(number * 10 ** digits)) = 0.5
        THEN 2 * round(number * 10 ** digits / 2.0) / 10 ** digits ELSE round(number, digits) END;
-- The number rounded to the given number of digits; halves go to the even neighbor
CREATE MACRO roundbankers(number, digits) AS round_even(number, digits);
-- The first value, or NULL if the second is NULL
--   constant_or_null(1, NULL) → NULL
CREATE MACRO constant_or_null(value, other) AS CASE WHEN other IS NOT NULL THEN value END;
-- The number of days of the month that a date or time is in
--   days_in_month(DATE '2024-02-01') → 29
CREATE MACRO days_in_month(moment) AS day(last_day(moment));
-- The instant at which the statement began, less an interval
--   ago(INTERVAL '1 day') = now() - INTERVAL '1 day' → true
CREATE MACRO ago(span) AS current_timestamp - CAST(span AS INTERVAL);
-- The number of rows
--   count_star() FROM unnest([1, NULL, 3]) AS t(x) → 3
CREATE MACRO count_star() AS count(*);
-- The MD5 digest as a number whose lowest byte comes first in the digest
--   md5_number('a') → 129134844867590561315626153795017621772
CREATE MACRO md5_number(value) AS
    CAST('0x' || regexp_replace(reverse(md5(value)), '(.)(.)', '\\2\\1', 'g') AS UHUGEINT);
-- The last half of the MD5 digest as a number: the higher 64 bits of md5_number
--   md5_number_lower('a') → 7000413967451013937
CREATE MACRO md5_number_lower(value) AS
    CAST('0x' || regexp_replace(reverse(md5(value)[17:]), '(.)(.)', '\\2\\1', 'g') AS UBIGINT);
-- The first half of the MD5 digest as a number: the lower 64 bits of md5_number
--   md5_number_upper('a') → 12157170054180749580
CREATE MACRO md5_number_upper(value) AS
    CAST('0x' || regexp_replace(reverse(md5(value)[:16]), '(.)(.)', '\\2\\1', 'g') AS UBIGINT);
-- The bytes of binary digits
--   unbin('0110000101100010') → \\x6162
CREATE MACRO unbin(digits) AS
    CASE length(digits) WHEN 0 THEN ''::BLOB ELSE CAST(CAST(nullif(CAST(digits AS VARCHAR), '') AS BIT) AS BLOB) END;
-- The bytes of binary digits
CREATE MACRO from_binary(digits) AS unbin(digits);
-- A row for each element of a JSON array
--   json_array_elements('[1, \"a\", null]') → 1, \"a\", null
CREATE MACRO json_array_elements(document) AS unnest(CASE json_type(document) WHEN 'ARRAY'
    THEN json_extract(document, '$[*]') ELSE CAST(CAST(document AS JSON) AS JSON[]) END);
-- A row for each element of a JSON array, as text
--   json_array_elements_text('[1, \"a\", null]') → 1, a, NULL
CREATE MACRO json_array_elements_text(document) AS unnest(CAST(CAST(document AS JSON) AS VARCHAR[]));
-- A row for each key of a JSON object
--   json_object_keys('{\"a\": 1, \"b\": 2}') → a, b
CREATE MACRO json_object_keys(document) AS unnest(json_keys(document));
-- A row for each element of a JSON array
CREATE MACRO jsonb_array_elements(document) AS json_array_elements(document);
-- A row for each element of a JSON array, as text
CREATE MACRO jsonb_array_elements_text(document) AS json_array_elements_text(document);
-- A row for each key of a JSON object
CREATE MACRO jsonb_object_keys(document) AS json_object_keys(document);
-- A row for each value at a path into JSON
--   jsonb_path_query('[{\"a\": 1}, {\"a\": 2}]', '$[*].a') → 1, 2
CREATE MACRO jsonb_path_query(document, path) AS unnest(CAST(jsonb_path_query_array(document, path) AS JSON[]));
-- Whether the text matches a pattern of LIKE with an escape character
--   like_escape('a%c', 'a$%c', '$') → true
CREATE MACRO like_escape(value, pattern, escape) AS value LIKE pattern ESCAPE escape;
-- Whether the text doesn't match a pattern of LIKE with an escape character
--   not_like_escape('abc', 'a$%c', '$') → true
CREATE MACRO not_like_escape(value, pattern, escape) AS value NOT LIKE pattern ESCAPE escape;
-- Whether the text matches a pattern of ILIKE with an escape character
--   ilike_escape('A%c', 'a$%c', '$') → true
CREATE MACRO ilike_escape(value, pattern, escape) AS value ILIKE pattern ESCAPE escape;
-- Whether the text doesn't match a pattern of ILIKE with an escape character
--   not_ilike_escape('Abc', 'a$%c', '$') → true
CREATE MACRO not_ilike_escape(value, pattern, escape) AS value NOT ILIKE pattern ESCAPE escape;
-- The JSON array of all values
--   json_group_array(x) FROM unnest([1, NULL]) AS t(x) → [1,null]
CREATE MACRO json_group_array(value) AS to_json(list(value));
-- The JSON array of all values
CREATE MACRO json_agg(value) AS json_group_array(value);
-- The JSON array of all values
CREATE MACRO jsonb_agg(value) AS json_group_array(value);
-- The JSON array of all values that aren't NULL
--   json_arrayagg(x) FROM unnest([1, NULL]) AS t(x) → [1]
CREATE MACRO json_arrayagg(value) AS to_json(list_filter(list(value), lambda element: element IS NOT NULL));
-- The JSON object of keys and values
--   json_group_object(k, x) FROM (VALUES ('a', 1), ('b', 2)) AS t(k, x) → {\"a\":1,\"b\":2}
CREATE MACRO json_group_object(key, value) AS
    CAST('{' || string_agg(CASE WHEN key IS NULL THEN error('a key of json_group_object is NULL')
        ELSE to_json(CAST(key AS VARCHAR)) END || ':' || coalesce(to_json(value), 'null'), ',') || '}' AS JSON);
-- The JSON object of keys and values
CREATE MACRO json_object_agg(key, value) AS json_group_object(key, value);
-- The JSON object of keys and values
CREATE MACRO jsonb_object_agg(key, value) AS json_group_object(key, value);
-- The name of the user, of whom there is one
--   current_user() → godwit
CREATE MACRO current_user() AS 'godwit';
-- The name of the user, of whom there is one
CREATE MACRO session_user() AS 'godwit';
-- The name of the user, of whom there is one
CREATE MACRO current_role() AS 'godwit';

-- The members of a JSON object or array, with their paths
CREATE MACRO json_each(document, root := '$') AS TABLE
    SELECT e ->> '$.key' AS key, e -> '$.value' AS value, e ->> '$.type' AS type,
        CASE WHEN e ->> '$.type' NOT IN ('ARRAY', 'OBJECT', 'NULL') THEN e -> '$.value' END AS atom,
        (e ->> '$.id')::UBIGINT AS id, NULL::UBIGINT AS parent,
        root || substring(e ->> '$.fullkey', 2) AS fullkey, root || substring(e ->> '$.path', 2) AS path
    FROM (SELECT unnest(json_entries(json_extract(document, root))) AS e) AS parts;
-- The members of a JSON object or array and those within them, with their paths
CREATE MACRO json_tree(document, root := '$') AS TABLE
    SELECT e ->> '$.key' AS key, e -> '$.value' AS value, e ->> '$.type' AS type,
        CASE WHEN e ->> '$.type' NOT IN ('ARRAY', 'OBJECT', 'NULL') THEN e -> '$.value' END AS atom,
        (e ->> '$.id')::UBIGINT AS id, (e ->> '$.parent')::UBIGINT AS parent,
        root || substring(e ->> '$.fullkey', 2) AS fullkey, root || substring(e ->> '$.path', 2) AS path
    FROM (SELECT unnest(json_tree_entries(json_extract(document, root))) AS e) AS parts;
-- The members of a JSON object: keys and values
CREATE MACRO jsonb_each(document) AS TABLE
    SELECT e ->> '$.key' AS key, e -> '$.value' AS value FROM (SELECT unnest(json_entries(document)) AS e) AS parts;
-- The members of a JSON object: keys and values, as text
CREATE MACRO jsonb_each_text(document) AS TABLE
    SELECT e ->> '$.key' AS key, e ->> '$.value' AS value FROM (SELECT unnest(json_entries(document)) AS e) AS parts;
-- The members of a JSON object: keys and values, as text
CREATE MACRO json_each_text(document) AS TABLE SELECT * FROM jsonb_each_text(document);

-- The databases, as in DuckDB
CREATE MACRO duckdb_databases() AS TABLE
    SELECT p.datname AS database_name, p.oid AS database_oid, d.path, NULL::VARCHAR AS comment,
        MAP {}::MAP(VARCHAR, VARCHAR) AS tags, false AS internal, 'godwit' AS type, coalesce(d.read_only, false) AS readonly
    FROM pg_catalog.pg_database p LEFT JOIN godwit_databases() d ON d.name = p.datname;
-- The names and files of the databases
CREATE MACRO pragma_database_list() AS TABLE
    SELECT row_number() OVER () - 1 AS seq, database_name AS name, path AS file FROM duckdb_databases();
-- The schemas, as in DuckDB
CREATE MACRO duckdb_schemas() AS TABLE
    SELECT s.catalog_name AS database_name, s.schema_name, o.comment, MAP {}::MAP(VARCHAR, VARCHAR) AS tags,
        s.schema_name = 'main' AS internal, o.sql
    FROM information_schema.schemata s LEFT JOIN system.objects o
        ON o.kind = 'schema' AND o.database_name = s.catalog_name AND o.name = s.schema_name;
-- The tables, as in DuckDB
CREATE MACRO duckdb_tables() AS TABLE
    SELECT o.database_name, o.database_oid, o.schema_name, o.schema_oid, o.name AS table_name, o.oid AS table_oid,
        o.comment, MAP {}::MAP(VARCHAR, VARCHAR) AS tags, false AS internal,
        t.table_type = 'LOCAL TEMPORARY' AS temporary, coalesce(k.has_primary_key, false) AS has_primary_key,
        o.rows AS estimated_size, c.column_count, coalesce(k.index_count, 0) AS index_count,
        coalesce(k.check_constraint_count, 0) AS check_constraint_count, o.sql
    FROM system.objects o
        JOIN information_schema.tables t
            ON t.table_catalog = o.database_name AND t.table_schema = o.schema_name AND t.table_name = o.name
        LEFT JOIN (SELECT table_catalog, table_schema, table_name, count(*) AS column_count
            FROM information_schema.columns GROUP BY ALL) c
            ON c.table_catalog = o.database_name AND c.table_schema = o.schema_name AND c.table_name = o.name
        LEFT JOIN (SELECT table_catalog, table_schema, table_name,
                bool_or(constraint_type = 'PRIMARY KEY') AS has_primary_key,
                count(*) FILTER (WHERE constraint_type IN ('PRIMARY KEY', 'UNIQUE')) AS index_count,
                count(*) FILTER (WHERE constraint_type = 'CHECK' AND constraint_name NOT LIKE '%_not_null')
                    AS check_constraint_count
            FROM information_schema.table_constraints GROUP BY ALL) k
            ON k.table_catalog = o.database_name AND k.table_schema = o.schema_name AND k.table_name = o.name
    WHERE o.kind = 'table';
-- The columns of tables and views, as in DuckDB
CREATE MACRO duckdb_columns() AS TABLE
    SELECT c.table_catalog AS database_name, o.database_oid, c.table_schema AS schema_name, o.schema_oid, c.table_name,
        o.oid AS table_oid, c.column_name, c.ordinal_position AS column_index, c.column_comment AS comment,
        false AS internal, c.column_default, c.is_nullable = 'YES' AS is_nullable, c.data_type, c.numeric_precision,
        c.numeric_scale, c.is_generated = 'ALWAYS' AS is_generated, c.generation_expression
    FROM information_schema.columns c LEFT JOIN system.objects o
        ON o.database_name = c.table_catalog AND o.schema_name = c.table_schema AND o.name = c.table_name
            AND o.kind IN ('table', 'view');
-- The columns of a table or view, as in SQLite
CREATE MACRO pragma_table_info(described) AS TABLE
    SELECT c.ordinal_position - 1 AS cid, c.column_name AS name, c.data_type AS type, c.is_nullable = 'NO' AS notnull,
        c.column_default AS dflt_value, coalesce(k.is_key, false) AS pk
    FROM information_schema.columns c
        LEFT JOIN (SELECT u.table_catalog, u.table_schema, u.table_name, u.column_name, true AS is_key
            FROM information_schema.key_column_usage u
                JOIN information_schema.table_constraints t USING (table_catalog, table_schema, table_name, constraint_name)
            WHERE t.constraint_type = 'PRIMARY KEY') k USING (table_catalog, table_schema, table_name, column_name)
    WHERE lower(c.table_name) = lower(split_part(described, '.', -1))
        AND CASE len(string_split(described, '.'))
            WHEN 1 THEN c.table_schema = current_schema() AND c.table_catalog IN (current_database(), 'temp')
            WHEN 2 THEN lower(c.table_schema) = lower(split_part(described, '.', 1))
                AND c.table_catalog = current_database()
            ELSE lower(c.table_schema) = lower(split_part(described, '.', 2))
                AND lower(c.table_catalog) = lower(split_part(described, '.', 1)) END
    ORDER BY cid;
-- The columns of a table or view, as DESCRIBE shows them
CREATE MACRO pragma_show(described) AS TABLE
    SELECT name AS column_name, type AS column_type, CASE WHEN \"notnull\" THEN 'NO' ELSE 'YES' END AS \"null\",
        CASE WHEN pk THEN 'PRI' END AS key, dflt_value AS \"default\", NULL::VARCHAR AS extra
    FROM pragma_table_info(described);
-- The version of the program
CREATE MACRO pragma_version() AS TABLE SELECT version() AS library_version;
-- The views, as in DuckDB
CREATE MACRO duckdb_views() AS TABLE
    SELECT o.database_name, o.database_oid, o.schema_name, o.schema_oid, o.name AS view_name, o.oid AS view_oid,
        o.comment, MAP {}::MAP(VARCHAR, VARCHAR) AS tags, false AS internal,
        o.database_name = 'temp' AS temporary, c.column_count, o.sql
    FROM system.objects o
        JOIN information_schema.tables t
            ON t.table_catalog = o.database_name AND t.table_schema = o.schema_name AND t.table_name = o.name
        LEFT JOIN (SELECT table_catalog, table_schema, table_name, count(*) AS column_count
            FROM information_schema.columns GROUP BY ALL) c
            ON c.table_catalog = o.database_name AND c.table_schema = o.schema_name AND c.table_name = o.name
    WHERE o.kind = 'view';
-- The tables and views of all databases, with their columns
CREATE MACRO show_all_tables() AS TABLE
    SELECT table_catalog AS database, table_schema AS schema, table_name AS name,
        list(column_name ORDER BY ordinal_position) AS column_names,
        list(data_type ORDER BY ordinal_position) AS column_types, table_catalog = 'temp' AS temporary
    FROM information_schema.columns GROUP BY ALL ORDER BY 1, 2, 3;
-- The tables, views and indexes, as in SQLite
CREATE MACRO sqlite_master() AS TABLE
    SELECT kind AS type, name, coalesce(table_name, name) AS tbl_name, 0 AS rootpage, sql FROM system.objects
    WHERE kind IN ('table', 'view', 'index') AND database_name IN (current_database(), 'temp');
-- The tables, views and indexes, as in SQLite
CREATE MACRO sqlite_schema() AS TABLE SELECT * FROM sqlite_master();
-- The variables of the session, as in DuckDB
CREATE MACRO duckdb_variables() AS TABLE SELECT * FROM system.variables;
-- The words of SQL with a meaning of their own, as in DuckDB
CREATE MACRO duckdb_keywords() AS TABLE SELECT * FROM system.keywords;
-- The use of memory by purpose, as in DuckDB
CREATE MACRO duckdb_memory() AS TABLE
    SELECT tag, sum(bytes)::BIGINT AS memory_usage_bytes, sum(spilled_bytes)::BIGINT AS temporary_storage_bytes
    FROM godwit_memory() GROUP BY tag ORDER BY tag;
-- The temporary files, as in DuckDB
CREATE MACRO duckdb_temporary_files() AS TABLE
    SELECT directory AS path, bytes::BIGINT AS size FROM godwit_temp_files();
-- The objects that need others, as in DuckDB
CREATE MACRO duckdb_dependencies() AS TABLE SELECT * FROM pg_catalog.pg_depend;
-- The extensions, all of them built in, as in DuckDB
CREATE MACRO duckdb_extensions() AS TABLE
    SELECT extname AS extension_name, true AS loaded, true AS installed, extversion AS extension_version
    FROM pg_catalog.pg_extension;
-- The settings, as in DuckDB
CREATE MACRO duckdb_settings() AS TABLE SELECT name, value, description FROM godwit_settings();
-- The functions and macros, as in DuckDB
CREATE MACRO duckdb_functions() AS TABLE
    SELECT 'system' AS database_name, 'main' AS schema_name, name AS function_name, kind AS function_type,
        nullif(description, '') AS description, NULL::VARCHAR AS comment, NULL::VARCHAR AS return_type,
        string_split(regexp_extract(signature, '\\((.*)\\)$', 1), ', ') AS parameters, signature,
        NULL::VARCHAR AS macro_definition, nullif(upper(volatility), '') AS stability, true AS internal,
        CASE example WHEN '' THEN [] ELSE [example] END AS examples, nullif(category, '') AS category
    FROM godwit_functions()
    UNION ALL
    SELECT database_name, schema_name, name, kind, NULL, comment, NULL, parts, name || '(' || array_to_string(parts, ', ') || ')',
        body, NULL, false, []::VARCHAR[], NULL
    FROM system.objects WHERE kind IN ('macro', 'table_macro');
-- The types, as in DuckDB
CREATE MACRO duckdb_types() AS TABLE
    SELECT current_database() AS database_name, n.nspname AS schema_name, t.oid AS type_oid, t.typname AS type_name,
        t.typlen AS type_size,
        CASE WHEN o.parts IS NOT NULL THEN 'ENUM' ELSE upper(format_type(t.oid, -1)) END AS logical_type,
        t.typcategory AS type_category, o.comment, n.nspname = 'pg_catalog' AS internal, o.parts AS labels
    FROM pg_catalog.pg_type t JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace
        LEFT JOIN system.objects o ON o.kind = 'type' AND o.name = t.typname AND o.schema_name = n.nspname
            AND o.database_name = current_database();
-- The constraints of tables, as in DuckDB
CREATE MACRO duckdb_constraints() AS TABLE
    WITH columns_of AS (SELECT k.oid, list(a.attname ORDER BY k.place) AS names
        FROM (SELECT oid, conrelid, unnest(conkey) AS attnum, generate_subscripts(conkey, 1) AS place
            FROM pg_catalog.pg_constraint) k
            JOIN pg_catalog.pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = k.attnum
        GROUP BY k.oid)
    SELECT current_database() AS database_name, n.nspname AS schema_name, t.relname AS table_name,
        CASE c.contype WHEN 'p' THEN 'PRIMARY KEY' WHEN 'u' THEN 'UNIQUE' WHEN 'f' THEN 'FOREIGN KEY' ELSE 'CHECK' END
            AS constraint_type,
        c.definition AS constraint_text, CASE c.contype WHEN 'c' THEN substring(c.definition, 7) END AS expression,
        c.conkey AS constraint_column_indexes, m.names AS constraint_column_names, c.conname AS constraint_name
    FROM pg_catalog.pg_constraint c JOIN pg_catalog.pg_namespace n ON n.oid = c.connamespace
        JOIN pg_catalog.pg_class t ON t.oid = c.conrelid LEFT JOIN columns_of m ON m.oid = c.oid
    UNION ALL
    SELECT current_database(), n.nspname, t.relname, 'NOT NULL', 'NOT NULL', NULL, [a.attnum], [a.attname],
        t.relname || '_' || a.attname || '_not_null'
    FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_class t ON t.oid = a.attrelid
        JOIN pg_catalog.pg_namespace n ON n.oid = t.relnamespace
    WHERE a.attnotnull AND t.relkind = 'r';
-- The sequences, as in DuckDB
CREATE MACRO duckdb_sequences() AS TABLE
    SELECT o.database_name, o.database_oid, o.schema_name, o.schema_oid, o.name AS sequence_name, o.oid AS sequence_oid,
        o.comment, o.database_name = 'temp' AS temporary, s.start_value, s.minimum_value AS min_value,
        s.maximum_value AS max_value, s.increment AS increment_by, s.cycle_option = 'YES' AS cycle, o.last_value, o.sql
    FROM system.objects o JOIN information_schema.sequences s
        ON s.sequence_catalog = o.database_name AND s.sequence_schema = o.schema_name AND s.sequence_name = o.name
    WHERE o.kind = 'sequence';
-- The indexes, as in DuckDB
CREATE MACRO duckdb_indexes() AS TABLE
    SELECT o.database_name, o.database_oid, o.schema_name, o.schema_oid, o.name AS index_name, o.oid AS index_oid,
        o.table_name, false AS is_unique, false AS is_primary, o.parts::VARCHAR AS expressions, o.sql
    FROM system.objects o WHERE o.kind = 'index';
-- Whether names are looked up in a schema of a database
--   in_search_path('nowhere', 'main') → false
CREATE MACRO in_search_path(database_name, schema_name) AS
    database_name = current_database() AND list_contains(current_schemas(true), schema_name);
";

/// Table macros over the trace of a file.
const TRACES: &str = include_str!("trace_macros.sql");

/// Builds `format_type`: PostgreSQL's name of a type, by its OID.
fn format_type() -> String {
    let mut cases = String::new();
    for (oid, _, _, _, array, shown) in TYPES {
        cases.push_str(&match shown {
            "numeric" => format!(
                " WHEN {oid} THEN CASE WHEN modifier > 4 THEN printf('numeric(%d,%d)', (modifier - 4) >> 16, \
                 (modifier - 4) & 65535) ELSE 'numeric' END"
            ),
            _ => format!(" WHEN {oid} THEN '{shown}'"),
        });
        if array != 0 {
            cases.push_str(&format!(" WHEN {array} THEN '{shown}[]'"));
        }
    }
    format!(
        "\n-- PostgreSQL's name of the type with a number, given its modifier\n\
         --   format_type(23, -1) → integer\n\
         CREATE MACRO format_type(type_number, modifier) AS CASE type_number{cases} \
         ELSE (SELECT t.typname FROM pg_catalog.pg_type t WHERE t.oid = type_number) END;"
    )
}

/// Builds PostgreSQL's functions. Its catalogs have their numbers there.
fn pg_catalog_functions() -> String {
    let cases = |case: &dyn Fn(i64, &str) -> String| CATALOGS.map(|(oid, name)| case(oid, name)).concat();
    include_str!("pg_catalog_functions.sql")
        .replace("{numbers_of_catalogs}", &cases(&|oid, name| format!(" WHEN '{name}' THEN {oid}")))
        .replace("{names_of_catalogs}", &cases(&|oid, name| format!(" WHEN {oid} THEN '{name}'")))
        .replace("{process}", &std::process::id().to_string())
}

/// A macro whose definition is parsed when it is first used: all of them take milliseconds.
struct BuiltInMacro {
    text: &'static str,
    /// The first line of the comment before it.
    description: &'static str,
    /// The line of the comment with an arrow: what may follow SELECT, and its value.
    example: Option<(&'static str, &'static str)>,
    overloads: OnceLock<Vec<MacroOverload>>,
}

/// The text of all definitions. Each begins a line with `CREATE MACRO` and the name, after its comment.
static SCRIPT: LazyLock<String> =
    LazyLock::new(|| [DEFINITIONS, TRACES, &format_type(), &pg_catalog_functions()].concat());

static BY_NAME: LazyLock<HashMap<&'static str, BuiltInMacro>> = LazyLock::new(|| {
    let parts: Vec<&'static str> = SCRIPT.split("\nCREATE MACRO ").collect();
    let named = |before: &'static str, text: &'static str| {
        let (name, _) = text.split_once('(').expect("parameters follow the name");
        let from_last = before.lines().rev().map_while(|line| line.strip_prefix("--"));
        let comment: Vec<&str> = from_last.map(str::trim).collect();
        let description = comment.last().copied().unwrap_or_default();
        let example = comment.iter().find_map(|line| line.split_once(" → "));
        (name, BuiltInMacro { text, description, example, overloads: OnceLock::new() })
    };
    parts.iter().zip(&parts[1..]).map(|(before, text)| named(before, text)).collect()
});

impl BuiltInMacro {
    fn overloads(&self) -> &[MacroOverload] {
        self.overloads.get_or_init(|| {
            let script = parse_script(&format!("CREATE MACRO {}", self.text)).expect("the definitions are SQL");
            match <[ParsedStatement; 1]>::try_from(script).map(|[parsed]| parsed.statement) {
                Ok(Statement::CreateMacro(definition)) => definition.overloads,
                _ => unreachable!("each of the parts defines a macro"),
            }
        })
    }
}

/// Lists the macros.
pub(crate) fn listed() -> impl Iterator<Item = Listed> {
    BY_NAME.iter().map(|(&name, known)| {
        let overloads = known.overloads();
        let signature = |form: &MacroOverload| {
            let parameters: Vec<&str> = form.parameters.iter().map(|parameter| &*parameter.name.text).collect();
            format!("{name}({})", parameters.join(", "))
        };
        let signatures = overloads.iter().map(signature).collect();
        let table = Listed::table(&[name], "", known.description);
        match overloads[0].body {
            MacroBody::Table(_) => Listed { signatures, ..table },
            _ => {
                let (kind, category, examples) = (ListedKind::Macro, "Macros", known.example.into_iter().collect());
                Listed { kind, category, signatures, examples, ..table }
            }
        }
    })
}

/// Returns the overloads of the macro of this name, case-insensitively.
pub(crate) fn built_in_macro(name: &str) -> Option<Vec<MacroOverload>> {
    BY_NAME.get(&*name.to_lowercase()).map(|known| known.overloads().to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_definitions_are_macros_of_their_own_names() {
        let statements = parse_script(&SCRIPT).expect("the definitions are SQL");
        assert_eq!(statements.len(), BY_NAME.len());
        for parsed in statements {
            let Statement::CreateMacro(definition) = parsed.statement else { panic!("not a macro") };
            let name = definition.name.parts.last().expect("names have parts").text.to_string();
            assert_eq!(built_in_macro(&name).map(|forms| forms.len()), Some(definition.overloads.len()), "{name}");
        }
    }

    #[test]
    fn macros_are_found_in_any_case() {
        assert_eq!(built_in_macro("GEOmean").map(|forms| forms.len()), Some(1));
        assert!(built_in_macro("mean").is_none());
    }
}
