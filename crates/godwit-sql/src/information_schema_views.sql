-- Views of information_schema. Those that begin with `e.*` have columns of which little is known: these are of an
-- empty table in `columns_of`, and NULL unless the view replaces them.
CREATE VIEW information_schema.character_sets AS
    SELECT NULL::VARCHAR AS character_set_catalog, NULL::VARCHAR AS character_set_schema,
        'UTF8' AS character_set_name, 'UCS' AS character_repertoire, 'UTF8' AS form_of_use,
        current_database() AS default_collate_catalog, 'pg_catalog' AS default_collate_schema,
        'C' AS default_collate_name;
CREATE VIEW information_schema.collations AS
    SELECT current_database() AS collation_catalog, 'pg_catalog' AS collation_schema, 'C' AS collation_name,
        'NO PAD' AS pad_attribute;
CREATE VIEW information_schema.information_schema_catalog_name AS
    SELECT current_database() AS catalog_name;
CREATE VIEW information_schema.enabled_roles AS
    SELECT 'godwit' AS role_name;
CREATE VIEW information_schema.referential_constraints AS
    SELECT current_database() AS constraint_catalog, n.nspname AS constraint_schema, c.conname AS constraint_name,
        current_database() AS unique_constraint_catalog, m.nspname AS unique_constraint_schema,
        k.conname AS unique_constraint_name, 'NONE' AS match_option, 'NO ACTION' AS update_rule,
        'NO ACTION' AS delete_rule
    FROM pg_catalog.pg_constraint c JOIN pg_catalog.pg_namespace n ON n.oid = c.connamespace
        LEFT JOIN pg_catalog.pg_constraint k
            ON k.conrelid = c.confrelid AND k.contype IN ('p', 'u') AND list_sort(k.conkey) = list_sort(c.confkey)
        LEFT JOIN pg_catalog.pg_namespace m ON m.oid = k.connamespace
    WHERE c.contype = 'f';
CREATE VIEW information_schema.constraint_column_usage AS
    SELECT u.table_catalog, u.table_schema, u.table_name, u.column_name, u.constraint_catalog, u.constraint_schema,
        u.constraint_name
    FROM information_schema.key_column_usage u JOIN information_schema.table_constraints c
        USING (constraint_catalog, constraint_schema, constraint_name, table_name)
    WHERE c.constraint_type <> 'FOREIGN KEY'
    UNION ALL
    SELECT current_database(), n.nspname, t.relname, a.attname, current_database(), n.nspname, f.conname
    FROM (SELECT conname, connamespace, CASE contype WHEN 'f' THEN confrelid ELSE conrelid END AS relation,
                unnest(CASE contype WHEN 'f' THEN confkey ELSE conkey END) AS place
            FROM pg_catalog.pg_constraint WHERE contype IN ('f', 'c')) f
        JOIN pg_catalog.pg_class t ON t.oid = f.relation JOIN pg_catalog.pg_namespace n ON n.oid = f.connamespace
        JOIN pg_catalog.pg_attribute a ON a.attrelid = f.relation AND a.attnum = f.place;
CREATE VIEW information_schema.constraint_table_usage AS
    SELECT DISTINCT table_catalog, table_schema, table_name, constraint_catalog, constraint_schema, constraint_name
    FROM information_schema.constraint_column_usage;
CREATE VIEW information_schema.collation_character_set_applicability AS
    SELECT c.collation_catalog, c.collation_schema, c.collation_name, s.character_set_catalog, s.character_set_schema,
        s.character_set_name
    FROM information_schema.collations c, information_schema.character_sets s;
CREATE VIEW information_schema.column_udt_usage AS
    SELECT udt_catalog, udt_schema, udt_name, table_catalog, table_schema, table_name, column_name
    FROM information_schema.columns;
CREATE VIEW information_schema.data_type_privileges AS
    SELECT table_catalog AS object_catalog, table_schema AS object_schema, table_name AS object_name,
        'TABLE' AS object_type, dtd_identifier
    FROM information_schema.columns;
CREATE VIEW information_schema.table_privileges AS
    SELECT 'godwit' AS grantor, 'godwit' AS grantee, t.table_catalog, t.table_schema, t.table_name, p.privilege_type,
        'YES' AS is_grantable, CASE p.privilege_type WHEN 'SELECT' THEN 'YES' ELSE 'NO' END AS with_hierarchy
    FROM information_schema.tables t
        JOIN (SELECT unnest(['SELECT', 'INSERT', 'UPDATE', 'DELETE', 'TRUNCATE', 'REFERENCES']) AS privilege_type) p
            ON t.table_type <> 'VIEW' OR p.privilege_type = 'SELECT';
CREATE VIEW information_schema.role_table_grants AS
    SELECT * FROM information_schema.table_privileges;
CREATE VIEW information_schema.column_privileges AS
    SELECT p.grantor, p.grantee, c.table_catalog, c.table_schema, c.table_name, c.column_name, p.privilege_type,
        p.is_grantable
    FROM information_schema.columns c
        JOIN information_schema.table_privileges p USING (table_catalog, table_schema, table_name)
    WHERE p.privilege_type NOT IN ('DELETE', 'TRUNCATE');
CREATE VIEW information_schema.role_column_grants AS
    SELECT * FROM information_schema.column_privileges;
CREATE VIEW information_schema.usage_privileges AS
    SELECT 'godwit' AS grantor, 'godwit' AS grantee, sequence_catalog AS object_catalog,
        sequence_schema AS object_schema, sequence_name AS object_name, 'SEQUENCE' AS object_type,
        'USAGE' AS privilege_type, 'YES' AS is_grantable
    FROM information_schema.sequences
    UNION ALL
    SELECT 'godwit', 'PUBLIC', collation_catalog, collation_schema, collation_name, 'COLLATION', 'USAGE', 'NO'
    FROM information_schema.collations;
CREATE VIEW information_schema.role_usage_grants AS
    SELECT * FROM information_schema.usage_privileges WHERE grantee <> 'PUBLIC';
CREATE VIEW information_schema.udt_privileges AS
    SELECT 'godwit' AS grantor, 'godwit' AS grantee, database_name AS udt_catalog, schema_name AS udt_schema,
        name AS udt_name, 'TYPE USAGE' AS privilege_type, 'YES' AS is_grantable
    FROM system.objects WHERE kind = 'type';
CREATE VIEW information_schema.role_udt_grants AS
    SELECT * FROM information_schema.udt_privileges;
CREATE VIEW information_schema.routines AS
    SELECT e.* REPLACE (r.catalog AS specific_catalog, r.schema AS specific_schema, r.signature AS specific_name,
        r.catalog AS routine_catalog, r.schema AS routine_schema, r.name AS routine_name, 'FUNCTION' AS routine_type,
        CASE WHEN r.body IS NULL THEN 'EXTERNAL' ELSE 'SQL' END AS routine_body, r.body AS routine_definition,
        CASE r.volatility WHEN 'immutable' THEN 'YES' WHEN '' THEN NULL ELSE 'NO' END AS is_deterministic,
        'YES' AS schema_level_routine, 'INVOKER' AS security_type, 'NO' AS is_udt_dependent)
    FROM (SELECT current_database() AS catalog, 'pg_catalog' AS schema, name, signature, NULL AS body, volatility
            FROM godwit_functions()
            UNION ALL
            SELECT database_name, schema_name, name, name || '(' || array_to_string(parts, ', ') || ')', body, ''
            FROM system.objects WHERE kind IN ('macro', 'table_macro')) r
        LEFT JOIN columns_of.routines e ON false;
CREATE VIEW information_schema.parameters AS
    SELECT e.* REPLACE (r.specific_catalog AS specific_catalog, r.specific_schema AS specific_schema,
        r.specific_name AS specific_name, r.place AS ordinal_position, 'IN' AS parameter_mode, 'NO' AS is_result,
        'NO' AS as_locator, CASE WHEN r.parameter <> upper(r.parameter) OR r.routine_body = 'SQL' THEN r.parameter END
            AS parameter_name,
        CASE WHEN r.parameter = upper(r.parameter) AND r.routine_body <> 'SQL' THEN r.parameter END AS data_type,
        r.place::VARCHAR AS dtd_identifier)
    FROM (SELECT specific_catalog, specific_schema, specific_name, routine_body, unnest(parameters) AS parameter,
                generate_subscripts(parameters, 1) AS place
            FROM (SELECT *, string_split(regexp_extract(specific_name, '\((.*)\)$', 1), ', ') AS parameters
                FROM information_schema.routines
                -- Not those with `[, flags]`, `name := value`, `x -> …`: these are no plain lists.
                WHERE routine_body = 'SQL' OR regexp_full_match(specific_name,
                    '[^(]*\((([a-z0-9_]*|[A-Z0-9_ ]+(\[\])*|…)(, |\)))+'))) r
        LEFT JOIN columns_of.parameters e ON false
    WHERE r.parameter NOT IN ('', '…');
CREATE VIEW information_schema.routine_privileges AS
    SELECT 'godwit' AS grantor, CASE specific_schema WHEN 'pg_catalog' THEN 'PUBLIC' ELSE 'godwit' END AS grantee,
        specific_catalog, specific_schema, specific_name, routine_catalog, routine_schema, routine_name,
        'EXECUTE' AS privilege_type, CASE specific_schema WHEN 'pg_catalog' THEN 'NO' ELSE 'YES' END AS is_grantable
    FROM information_schema.routines;
CREATE VIEW information_schema.role_routine_grants AS
    SELECT * FROM information_schema.routine_privileges WHERE grantee <> 'PUBLIC';
CREATE VIEW information_schema.user_defined_types AS
    SELECT e.* REPLACE (o.database_name AS user_defined_type_catalog, o.schema_name AS user_defined_type_schema,
        o.name AS user_defined_type_name, 'DISTINCT' AS user_defined_type_category, 'YES' AS is_instantiable)
    FROM system.objects o LEFT JOIN columns_of.user_defined_types e ON false
    WHERE o.kind = 'type';
CREATE VIEW information_schema.sql_implementation_info AS
    SELECT i.id AS implementation_info_id, i.name AS implementation_info_name, NULL::INTEGER AS integer_value,
        i.value AS character_value, NULL::VARCHAR AS comments
    FROM (VALUES ('10003', 'CATALOG NAME', 'Y'), ('17', 'DBMS NAME', 'Godwit'), ('18', 'DBMS VERSION', version()))
        AS i(id, name, value);
CREATE VIEW information_schema.sql_features AS
    SELECT f.part[1:4] AS feature_id, f.part[6:] AS feature_name, '' AS sub_feature_id, '' AS sub_feature_name,
        f.is_supported, NULL::VARCHAR AS is_verified_by, NULL::VARCHAR AS comments
    FROM (SELECT unnest([
                'E011 Numeric data types', 'E031 Identifiers', 'E051 Basic query specification',
                'E061 Basic predicates and search conditions', 'E071 Basic query expressions', 'E091 Set functions',
                'E101 Basic data manipulation', 'E131 Null value support (nulls in lieu of values)',
                'E141 Basic integrity constraints', 'E151 Transaction support',
                'E161 SQL comments using leading double minus', 'E171 SQLSTATE support',
                'F021 Basic information schema', 'F041 Basic joined table', 'F051 Basic date and time',
                'F081 UNION and EXCEPT in views', 'F131 Grouped operations', 'F201 CAST function',
                'F221 Explicit defaults', 'F261 CASE expression', 'F302 INTERSECT table operator',
                'F304 EXCEPT ALL table operator', 'F312 MERGE statement', 'F401 Extended joined table',
                'F471 Scalar subquery values', 'F591 Derived tables', 'F850 Top-level ORDER BY in query expression',
                'S098 ARRAY_AGG', 'T031 BOOLEAN data type', 'T121 WITH (excluding RECURSIVE) in query expression',
                'T131 Recursive query', 'T174 Identity columns', 'T175 Generated columns',
                'T176 Sequence generator support', 'T431 Extended grouping capabilities',
                'T611 Elementary OLAP operations', 'T621 Enhanced numeric functions',
                'T631 IN predicate with one list element']) AS part, 'YES' AS is_supported
        UNION ALL
        SELECT unnest([
                'E021 Character string types', 'E081 Basic privileges', 'E121 Basic cursor support',
                'E152 Basic SET TRANSACTION statement', 'E153 Updatable queries with subqueries',
                'F031 Basic schema manipulation', 'F181 Multiple module support',
                'F311 Schema definition statement', 'T211 Basic trigger capability',
                'T321 Basic SQL-invoked routines']), 'NO') f;
