
-- The schemas in which names are looked up
--   current_schemas(false) → [main]
CREATE MACRO current_schemas(with_implicit) AS
    CASE WHEN with_implicit THEN ['pg_catalog', current_schema()] ELSE [current_schema()] END;
-- The name of the user with a number
CREATE MACRO pg_get_userbyid(role_number) AS 'godwit';
-- The name of the encoding with a number
CREATE MACRO pg_encoding_to_char(encoding) AS 'UTF8';
-- Whether the server is being restored: it isn't
CREATE MACRO pg_is_in_recovery() AS false;
-- The number of the schema of temporary tables: 0
CREATE MACRO pg_my_temp_schema() AS 0;
-- Whether the schema holds temporary tables of another session: it doesn't
CREATE MACRO pg_is_other_temp_schema(schema_number) AS false;
-- Whether the type with a number is found without its schema
CREATE MACRO pg_type_is_visible(type_number) AS true;
-- Whether the function with a number is found without its schema
CREATE MACRO pg_function_is_visible(function_number) AS true;
-- Whether the table with a number is found without its schema
CREATE MACRO pg_table_is_visible(table_number) AS EXISTS (
    SELECT 1 FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    WHERE c.oid = table_number AND n.nspname IN (current_schema(), 'pg_temp'));
-- The text of an expression of the catalog
CREATE MACRO pg_get_expr(expression, table_number, pretty := false) AS expression;
-- The query of the view with a number
CREATE MACRO pg_get_viewdef(view_number, pretty := false) AS (
        SELECT v.definition FROM pg_catalog.pg_views v JOIN pg_catalog.pg_namespace n ON n.nspname = v.schemaname
            JOIN pg_catalog.pg_class c ON c.relname = v.viewname AND c.relnamespace = n.oid
        WHERE c.oid = view_number);
-- The definition of the constraint with a number
CREATE MACRO pg_get_constraintdef(constraint_number, pretty := false) AS
    (SELECT c.definition FROM pg_catalog.pg_constraint c WHERE c.oid = constraint_number);
-- The definition of the index with a number
CREATE MACRO pg_get_indexdef(index_number) AS
    (SELECT i.definition FROM pg_catalog.pg_index i WHERE i.indexrelid = index_number),
    (index_number, place, pretty) AS CASE place WHEN 0
        THEN (SELECT i.definition FROM pg_catalog.pg_index i WHERE i.indexrelid = index_number)
        ELSE (SELECT a.attname FROM pg_catalog.pg_index i JOIN pg_catalog.pg_attribute a ON a.attrelid = i.indrelid
            WHERE i.indexrelid = index_number AND a.attnum = i.indkey[place]) END;
-- The comment of the object with a number
CREATE MACRO obj_description(object_number, catalog_name := 'pg_class') AS
    (SELECT d.description FROM pg_catalog.pg_description d WHERE d.objoid = object_number AND d.objsubid = 0);
-- The comment of a column of the table with a number
CREATE MACRO col_description(table_number, column_number) AS
    (SELECT d.description FROM pg_catalog.pg_description d
        WHERE d.objoid = table_number AND d.objsubid = column_number);
-- The comment of an object that databases share: NULL
CREATE MACRO shobj_description(object_number, catalog_name) AS NULL::VARCHAR;
-- Whether the user may do something with a table: always
CREATE MACRO has_table_privilege(object, privilege) AS true, (role, object, privilege) AS true;
-- Whether the user may do something with a schema: always
CREATE MACRO has_schema_privilege(object, privilege) AS true, (role, object, privilege) AS true;
-- Whether the user may do something with a database: always
CREATE MACRO has_database_privilege(object, privilege) AS true, (role, object, privilege) AS true;
-- Whether the user may do something with a sequence: always
CREATE MACRO has_sequence_privilege(object, privilege) AS true, (role, object, privilege) AS true;
-- Whether the user may do something with a function: always
CREATE MACRO has_function_privilege(object, privilege) AS true, (role, object, privilege) AS true;
-- Whether the user may do something with a column: always
CREATE MACRO has_column_privilege(object, part, privilege) AS true, (role, object, part, privilege) AS true;
-- Whether the user may do something with some column of a table: always
CREATE MACRO has_any_column_privilege(object, privilege) AS true, (role, object, privilege) AS true;
-- Whether the user has the privileges of a role: always
CREATE MACRO pg_has_role(role, privilege) AS true, (member, role, privilege) AS true;
-- How the table with a number is divided into partitions: NULL, as none is
CREATE MACRO pg_get_partkeydef(table_number) AS NULL::VARCHAR;
-- The sessions that a session waits for: none
CREATE MACRO pg_blocking_pids(session_number) AS []::INTEGER[];
-- The number of the table, view, sequence or index with a name; NULL if there is none
--   to_regclass('pg_class') → 1259
CREATE MACRO to_regclass(object_name) AS coalesce(
    CASE regexp_replace(lower(object_name), '^pg_catalog[.]', ''){numbers_of_catalogs} END,
    (SELECT arg_max(c.oid, n.nspname = 'pg_temp')
        FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
        WHERE lower(c.relname) = lower(replace(split_part(object_name, '.', -1), '"', ''))
            AND CASE WHEN contains(object_name, '.')
                THEN lower(n.nspname) = lower(replace(split_part(object_name, '.', -2), '"', ''))
                ELSE n.nspname IN (current_schema(), 'pg_temp') END));
-- The number of the table, view, sequence or index with a name: a cast of a text to regclass
CREATE MACRO regclassin(object_name) AS CASE WHEN object_name IS NOT NULL THEN
    coalesce(TRY_CAST(object_name AS BIGINT), to_regclass(object_name),
        CAST(error('there is no table, view, sequence or index named ' || object_name) AS BIGINT)) END;
-- The name of the table, view, sequence or index with a number: a cast of a number to regclass
--   regclassout(1259) → pg_class
CREATE MACRO regclassout(object_number) AS coalesce(
    CASE object_number{names_of_catalogs} WHEN 0 THEN '-' END,
    (SELECT CASE WHEN n.nspname IN (current_schema(), 'pg_temp') THEN '' ELSE quote_ident(n.nspname) || '.' END
            || quote_ident(c.relname)
        FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
        WHERE c.oid = object_number),
    CAST(object_number AS VARCHAR));
-- The number of the type with a name; NULL if there is none
--   to_regtype('integer') → 23
CREATE MACRO to_regtype(type_name) AS CASE lower(type_name)
    WHEN 'int' THEN 23 WHEN 'decimal' THEN 1700 WHEN 'float' THEN 701 WHEN 'char' THEN 1042
    ELSE (SELECT min(t.oid) FROM pg_catalog.pg_type t
        WHERE lower(replace(regexp_replace(type_name, '^pg_catalog[.]', ''), '"', ''))
            IN (lower(t.typname), format_type(t.oid, NULL))) END;
-- The number of the type with a name: a cast of a text to regtype
CREATE MACRO regtypein(type_name) AS CASE WHEN type_name IS NOT NULL THEN
    coalesce(TRY_CAST(type_name AS BIGINT), to_regtype(type_name),
        CAST(error('there is no type named ' || type_name) AS BIGINT)) END;
-- The name of the type with a number: a cast of a number to regtype
--   regtypeout(23) → integer
CREATE MACRO regtypeout(type_number) AS
    coalesce(CASE type_number WHEN 0 THEN '-' END, format_type(type_number, NULL), CAST(type_number AS VARCHAR));
-- The number of the function with a name; NULL if there is none
CREATE MACRO to_regproc(function_name) AS (SELECT min(p.oid) FROM pg_catalog.pg_proc p
    WHERE p.proname = lower(split_part(regexp_replace(function_name, '[(].*', ''), '.', -1)));
-- The number of the function with a name; NULL if there is none
CREATE MACRO to_regprocedure(function_name) AS to_regproc(function_name);
-- The number of the function with a name: a cast of a text to regproc
CREATE MACRO regprocin(function_name) AS CASE WHEN function_name IS NOT NULL THEN
    coalesce(TRY_CAST(function_name AS BIGINT), to_regproc(function_name),
        CAST(error('there is no function named ' || function_name) AS BIGINT)) END;
-- The number of the function with a name: a cast of a text to regprocedure
CREATE MACRO regprocedurein(function_name) AS regprocin(function_name);
-- The name of the function with a number: a cast of a number to regproc
--   regprocout(0) → -
CREATE MACRO regprocout(function_number) AS coalesce(CASE function_number WHEN 0 THEN '-' END,
    (SELECT min(p.proname) FROM pg_catalog.pg_proc p WHERE p.oid = function_number), CAST(function_number AS VARCHAR));
-- The name of the function with a number: a cast of a number to regprocedure
CREATE MACRO regprocedureout(function_number) AS regprocout(function_number);
-- The number of the schema with a name; NULL if there is none
--   to_regnamespace('pg_catalog') → 11
CREATE MACRO to_regnamespace(schema_name) AS (SELECT min(n.oid) FROM pg_catalog.pg_namespace n
    WHERE lower(n.nspname) = lower(replace(schema_name, '"', '')));
-- The number of the schema with a name: a cast of a text to regnamespace
CREATE MACRO regnamespacein(schema_name) AS CASE WHEN schema_name IS NOT NULL THEN
    coalesce(TRY_CAST(schema_name AS BIGINT), to_regnamespace(schema_name),
        CAST(error('there is no schema named ' || schema_name) AS BIGINT)) END;
-- The name of the schema with a number: a cast of a number to regnamespace
--   regnamespaceout(11) → pg_catalog
CREATE MACRO regnamespaceout(schema_number) AS coalesce(CASE schema_number WHEN 0 THEN '-' END,
    (SELECT min(quote_ident(n.nspname)) FROM pg_catalog.pg_namespace n WHERE n.oid = schema_number),
    CAST(schema_number AS VARCHAR));
-- The number of the user with a name; NULL if there is none
--   to_regrole('godwit') → 10
CREATE MACRO to_regrole(role_name) AS CASE replace(role_name, '"', '') WHEN 'godwit' THEN 10 END;
-- The number of the user with a name: a cast of a text to regrole
CREATE MACRO regrolein(role_name) AS CASE WHEN role_name IS NOT NULL THEN
    coalesce(TRY_CAST(role_name AS BIGINT), to_regrole(role_name),
        CAST(error('there is no user named ' || role_name) AS BIGINT)) END;
-- The name of the user with a number: a cast of a number to regrole
--   regroleout(10) → godwit
CREATE MACRO regroleout(role_number) AS
    CASE role_number WHEN 0 THEN '-' WHEN 10 THEN 'godwit' ELSE CAST(role_number AS VARCHAR) END;
-- The parameters of the function with a number, of its first form
CREATE MACRO pg_get_function_arguments(function_number) AS (SELECT min(array_to_string(f.parameters, ', '))
    FROM duckdb_functions() f JOIN pg_catalog.pg_proc p ON p.proname = f.function_name WHERE p.oid = function_number);
-- The parameters of the function with a number, of its first form
CREATE MACRO pg_get_function_identity_arguments(function_number) AS pg_get_function_arguments(function_number);
-- The type of the results of the function with a number: NULL, as it depends on the arguments
CREATE MACRO pg_get_function_result(function_number) AS NULL::VARCHAR;
-- The sequence that a column of a table takes its default from; NULL if it takes none
CREATE MACRO pg_get_serial_sequence(table_name, column_name) AS (
    SELECT nullif(regexp_extract(d.adbin, 'nextval[(]''([^'']+)''', 1), '') FROM pg_catalog.pg_attrdef d
        JOIN pg_catalog.pg_attribute a ON a.attrelid = d.adrelid AND a.attnum = d.adnum
    WHERE d.adrelid = regclassin(table_name) AND a.attname = column_name);
-- The number of the process
CREATE MACRO pg_backend_pid() AS {process};
