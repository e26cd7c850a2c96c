-- Views of pg_catalog. Those that begin with `e.*` have columns of which little is known: these are of an empty table
-- in `columns_of`, and NULL unless the view replaces them.
CREATE VIEW pg_catalog.pg_tables AS
    SELECT n.nspname AS schemaname, c.relname AS tablename, 'godwit' AS tableowner,
        NULL::VARCHAR AS tablespace, c.relhasindex AS hasindexes, c.relhasrules AS hasrules,
        c.relhastriggers AS hastriggers, c.relrowsecurity AS rowsecurity
    FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind = 'r';
CREATE VIEW pg_catalog.pg_views AS
    SELECT table_schema AS schemaname, table_name AS viewname, 'godwit' AS viewowner,
        view_definition AS definition
    FROM information_schema.views WHERE table_catalog = current_database();
CREATE VIEW pg_catalog.pg_indexes AS
    SELECT n.nspname AS schemaname, t.relname AS tablename, c.relname AS indexname, NULL::VARCHAR AS tablespace,
        i.definition AS indexdef
    FROM pg_catalog.pg_index i JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid
        JOIN pg_catalog.pg_class t ON t.oid = i.indrelid JOIN pg_catalog.pg_namespace n ON n.oid = t.relnamespace;
CREATE VIEW pg_catalog.pg_sequences AS
    SELECT s.sequence_schema AS schemaname, s.sequence_name AS sequencename, 'godwit' AS sequenceowner, s.data_type,
        s.start_value, s.minimum_value AS min_value, s.maximum_value AS max_value, s.increment AS increment_by,
        s.cycle_option = 'YES' AS cycle, 1 AS cache_size, o.last_value
    FROM information_schema.sequences s LEFT JOIN system.objects o ON o.kind = 'sequence'
        AND o.database_name = s.sequence_catalog AND o.schema_name = s.sequence_schema AND o.name = s.sequence_name
    WHERE s.sequence_catalog = current_database();
CREATE VIEW pg_catalog.pg_sequence AS
    SELECT c.oid AS seqrelid, 20 AS seqtypid, s.start_value AS seqstart, s.increment_by AS seqincrement,
        s.max_value AS seqmax, s.min_value AS seqmin, s.cache_size AS seqcache, s.cycle AS seqcycle
    FROM pg_catalog.pg_sequences s JOIN pg_catalog.pg_namespace n ON n.nspname = s.schemaname
        JOIN pg_catalog.pg_class c ON c.relnamespace = n.oid AND c.relname = s.sequencename AND c.relkind = 'S';
CREATE VIEW pg_catalog.pg_settings AS
    SELECT name, value AS setting, NULL::VARCHAR AS unit, 'Godwit' AS category, description AS short_desc,
        NULL::VARCHAR AS extra_desc, 'user' AS context, 'string' AS vartype, 'default' AS source,
        NULL::VARCHAR AS min_val, NULL::VARCHAR AS max_val, NULL::VARCHAR[] AS enumvals, NULL::VARCHAR AS boot_val,
        NULL::VARCHAR AS reset_val, NULL::VARCHAR AS sourcefile, NULL::INTEGER AS sourceline, false AS pending_restart
    FROM godwit_settings();
CREATE VIEW pg_catalog.pg_roles AS
    SELECT 'godwit' AS rolname, true AS rolsuper, true AS rolinherit, true AS rolcreaterole, true AS rolcreatedb,
        true AS rolcanlogin, false AS rolreplication, -1 AS rolconnlimit, NULL::VARCHAR AS rolpassword,
        NULL::TIMESTAMPTZ AS rolvaliduntil, true AS rolbypassrls, NULL::VARCHAR[] AS rolconfig, 10 AS oid;
CREATE VIEW pg_catalog.pg_authid AS
    SELECT oid, * EXCLUDE (oid, rolconfig) FROM pg_catalog.pg_roles;
CREATE VIEW pg_catalog.pg_user AS
    SELECT rolname AS usename, oid AS usesysid, rolcreatedb AS usecreatedb, rolsuper AS usesuper,
        rolreplication AS userepl, rolbypassrls AS usebypassrls, rolpassword AS passwd, rolvaliduntil AS valuntil,
        rolconfig AS useconfig
    FROM pg_catalog.pg_roles;
CREATE VIEW pg_catalog.pg_shadow AS
    SELECT * FROM pg_catalog.pg_user;
CREATE VIEW pg_catalog.pg_am AS
    SELECT * FROM (VALUES (2, 'heap', '-', 't'), (403, 'btree', '-', 'i')) AS methods(oid, amname, amhandler, amtype);
CREATE VIEW pg_catalog.pg_tablespace AS
    SELECT 1663 AS oid, 'pg_default' AS spcname, 10 AS spcowner, NULL::VARCHAR[] AS spcacl,
        NULL::VARCHAR[] AS spcoptions;
CREATE VIEW pg_catalog.pg_collation AS
    SELECT 950 AS oid, 'C' AS collname, 11 AS collnamespace, 10 AS collowner, 'c' AS collprovider,
        true AS collisdeterministic, -1 AS collencoding, 'C' AS collcollate, 'C' AS collctype,
        NULL::VARCHAR AS colliculocale, NULL::VARCHAR AS collicurules, NULL::VARCHAR AS collversion;
CREATE VIEW pg_catalog.pg_language AS
    SELECT oid, lanname, 10 AS lanowner, false AS lanispl, true AS lanpltrusted, 0 AS lanplcallfoid, 0 AS laninline,
        0 AS lanvalidator, NULL::VARCHAR[] AS lanacl
    FROM (VALUES (12, 'internal'), (14, 'sql')) AS languages(oid, lanname);
CREATE VIEW pg_catalog.pg_operator AS
    SELECT 96 + row_number() OVER () AS oid, name AS oprname, 11 AS oprnamespace, 10 AS oprowner, kind AS oprkind,
        false AS oprcanmerge, name = '=' AS oprcanhash, CASE kind WHEN 'b' THEN 2276 ELSE 0 END AS oprleft,
        2276 AS oprright, CASE WHEN is_condition THEN 16 ELSE 2276 END AS oprresult, 0 AS oprcom, 0 AS oprnegate,
        '-' AS oprcode, '-' AS oprrest, '-' AS oprjoin
    FROM (SELECT unnest(['=', '<>', '<', '<=', '>', '>=', '~', '!~', '~*', '!~*', '~~', '!~~', '~~*', '!~~*', '@>',
                '<@', '&&', '^@']) AS name, 'b' AS kind, true AS is_condition
        UNION ALL SELECT unnest(['+', '-', '*', '/', '//', '%', '**', '^', '||', '&', '|', '<<', '>>', '->', '->>']),
            'b', false
        UNION ALL SELECT unnest(['-', '+', '~', '@']), 'l', false) AS operators;
CREATE VIEW pg_catalog.pg_stat_activity AS
    SELECT e.* REPLACE (d.oid AS datid, d.datname AS datname, q.connection AS pid, 10 AS usesysid, 'godwit' AS usename,
        'godwit' AS application_name, now() - to_seconds(q.elapsed_seconds) AS query_start,
        CASE q.state WHEN 'waiting' THEN 'admission' END AS wait_event, 'active' AS state, q.id AS query_id,
        q.sql AS query, 'client backend' AS backend_type)
    FROM godwit_queries() q JOIN pg_catalog.pg_database d ON d.datname = current_database()
        LEFT JOIN columns_of.pg_stat_activity e ON false;
CREATE VIEW pg_catalog.pg_stat_database AS
    SELECT e.* REPLACE (d.oid AS datid, d.datname AS datname,
        (SELECT count(DISTINCT connection) FROM godwit_queries()) AS numbackends)
    FROM pg_catalog.pg_database d LEFT JOIN columns_of.pg_stat_database e ON false;
CREATE VIEW pg_catalog.pg_stat_all_tables AS
    SELECT e.* REPLACE (c.oid AS relid, n.nspname AS schemaname, c.relname AS relname, c.reltuples AS n_live_tup)
    FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
        LEFT JOIN columns_of.pg_stat_all_tables e ON false
    WHERE c.relkind = 'r';
CREATE VIEW pg_catalog.pg_stat_user_tables AS
    SELECT * FROM pg_catalog.pg_stat_all_tables;
CREATE VIEW pg_catalog.pg_stat_sys_tables AS
    SELECT * FROM pg_catalog.pg_stat_all_tables WHERE false;
CREATE VIEW pg_catalog.pg_stat_all_indexes AS
    SELECT e.* REPLACE (t.oid AS relid, c.oid AS indexrelid, n.nspname AS schemaname, t.relname AS relname,
        c.relname AS indexrelname)
    FROM pg_catalog.pg_index i JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid
        JOIN pg_catalog.pg_class t ON t.oid = i.indrelid JOIN pg_catalog.pg_namespace n ON n.oid = t.relnamespace
        LEFT JOIN columns_of.pg_stat_all_indexes e ON false;
CREATE VIEW pg_catalog.pg_stat_user_indexes AS
    SELECT * FROM pg_catalog.pg_stat_all_indexes;
CREATE VIEW pg_catalog.pg_statio_all_tables AS
    SELECT e.* REPLACE (s.relid AS relid, s.schemaname AS schemaname, s.relname AS relname)
    FROM pg_catalog.pg_stat_all_tables s LEFT JOIN columns_of.pg_statio_all_tables e ON false;
CREATE VIEW pg_catalog.pg_statio_user_tables AS
    SELECT * FROM pg_catalog.pg_statio_all_tables;
