//! Built-in views: the part of `pg_catalog` and `information_schema` that follows from their other tables, and from
//! what Godwit has settings and statements for.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use godwit_syntax::ast::{Query, Statement};
use godwit_syntax::{ParsedStatement, parse_script};

/// Schema of Godwit's own views.
pub(crate) const SYSTEM: &str = "system";

/// The views, written as users would define them.
const DEFINITIONS: &str = "
CREATE VIEW pg_catalog.pg_tables AS
    SELECT n.nspname AS schemaname, c.relname AS tablename, pg_get_userbyid(c.relowner) AS tableowner,
        NULL::VARCHAR AS tablespace, c.relhasindex AS hasindexes, c.relhasrules AS hasrules,
        c.relhastriggers AS hastriggers, c.relrowsecurity AS rowsecurity
    FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind = 'r';
CREATE VIEW pg_catalog.pg_views AS
    SELECT table_schema AS schemaname, table_name AS viewname, pg_get_userbyid(10) AS viewowner,
        view_definition AS definition
    FROM information_schema.views WHERE table_catalog = current_database();
CREATE VIEW pg_catalog.pg_indexes AS
    SELECT n.nspname AS schemaname, t.relname AS tablename, c.relname AS indexname, NULL::VARCHAR AS tablespace,
        i.definition AS indexdef
    FROM pg_catalog.pg_index i JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid
        JOIN pg_catalog.pg_class t ON t.oid = i.indrelid JOIN pg_catalog.pg_namespace n ON n.oid = t.relnamespace;
CREATE VIEW pg_catalog.pg_sequences AS
    SELECT sequence_schema AS schemaname, sequence_name AS sequencename, pg_get_userbyid(10) AS sequenceowner,
        data_type, start_value, minimum_value AS min_value, maximum_value AS max_value, increment AS increment_by,
        cycle_option = 'YES' AS cycle
    FROM information_schema.sequences WHERE sequence_catalog = current_database();
CREATE VIEW pg_catalog.pg_settings AS
    SELECT name, value AS setting, NULL::VARCHAR AS unit, 'Godwit' AS category, description AS short_desc,
        NULL::VARCHAR AS extra_desc, 'user' AS context, 'string' AS vartype, 'default' AS source
    FROM godwit_settings();
CREATE VIEW pg_catalog.pg_roles AS
    SELECT 10 AS oid, pg_get_userbyid(10) AS rolname, true AS rolsuper, true AS rolinherit, true AS rolcreaterole,
        true AS rolcreatedb, true AS rolcanlogin, false AS rolreplication, -1 AS rolconnlimit;
CREATE VIEW pg_catalog.pg_user AS
    SELECT rolname AS usename, oid AS usesysid, rolcreatedb AS usecreatedb, rolsuper AS usesuper
    FROM pg_catalog.pg_roles;
CREATE VIEW pg_catalog.pg_am AS
    SELECT * FROM (VALUES (2, 'heap', 't'), (403, 'btree', 'i')) AS methods(oid, amname, amtype);
CREATE VIEW pg_catalog.pg_tablespace AS
    SELECT 1663 AS oid, 'pg_default' AS spcname, 10 AS spcowner;
CREATE VIEW pg_catalog.pg_collation AS
    SELECT 950 AS oid, 'C' AS collname, 11 AS collnamespace, 10 AS collowner, 'c' AS collprovider, -1 AS collencoding;
CREATE VIEW pg_catalog.pg_depend AS
    SELECT 0 AS classid, 0 AS objid, 0 AS objsubid, 0 AS refclassid, 0 AS refobjid, 0 AS refobjsubid, 'n' AS deptype
    WHERE false;
CREATE VIEW pg_catalog.pg_inherits AS
    SELECT 0 AS inhrelid, 0 AS inhparent, 0 AS inhseqno WHERE false;
CREATE VIEW pg_catalog.pg_trigger AS
    SELECT 0 AS oid, 0 AS tgrelid, '' AS tgname, false AS tgisinternal WHERE false;
CREATE VIEW pg_catalog.pg_rewrite AS
    SELECT 0 AS oid, '' AS rulename, 0 AS ev_class WHERE false;
CREATE VIEW pg_catalog.pg_extension AS
    SELECT 0 AS oid, '' AS extname, 0 AS extnamespace, '' AS extversion WHERE false;
CREATE VIEW pg_catalog.pg_matviews AS
    SELECT '' AS schemaname, '' AS matviewname, '' AS matviewowner, '' AS definition WHERE false;
CREATE VIEW system.reject_errors AS
    SELECT * FROM godwit_reject_errors();
CREATE VIEW system.reject_scans AS
    SELECT * FROM godwit_reject_scans();
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
    SELECT pg_get_userbyid(10) AS role_name;
CREATE VIEW information_schema.check_constraints AS
    SELECT current_database() AS constraint_catalog, n.nspname AS constraint_schema, c.conname AS constraint_name,
        substring(c.definition, 7) AS check_clause
    FROM pg_catalog.pg_constraint c JOIN pg_catalog.pg_namespace n ON n.oid = c.connamespace WHERE c.contype = 'c';
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
    FROM (SELECT conname, connamespace, confrelid, unnest(confkey) AS place FROM pg_catalog.pg_constraint
            WHERE contype = 'f') f
        JOIN pg_catalog.pg_class t ON t.oid = f.confrelid JOIN pg_catalog.pg_namespace n ON n.oid = f.connamespace
        JOIN pg_catalog.pg_attribute a ON a.attrelid = f.confrelid AND a.attnum = f.place;
CREATE VIEW information_schema.constraint_table_usage AS
    SELECT DISTINCT table_catalog, table_schema, table_name, constraint_catalog, constraint_schema, constraint_name
    FROM information_schema.constraint_column_usage;
CREATE VIEW information_schema.routines AS
    SELECT current_database() AS specific_catalog, 'pg_catalog' AS specific_schema, signature AS specific_name,
        current_database() AS routine_catalog, 'pg_catalog' AS routine_schema, name AS routine_name,
        'FUNCTION' AS routine_type, NULL::VARCHAR AS data_type, NULL::VARCHAR AS routine_definition
    FROM godwit_functions();
";

static BY_NAME: LazyLock<HashMap<(String, String), Arc<Query>>> = LazyLock::new(|| {
    let definition = |parsed: ParsedStatement| match parsed.statement {
        Statement::CreateView(view) => match &view.name.parts[..] {
            [schema, name] => ((schema.text.to_string(), name.text.to_string()), Arc::new(*view.query)),
            _ => unreachable!("all views above have a schema"),
        },
        _ => unreachable!("all statements above define views"),
    };
    let script = parse_script(DEFINITIONS).expect("the definitions above are SQL");
    script.into_iter().map(definition).collect()
});

/// Returns the query of a view, by schema and name in lower case.
pub(crate) fn built_in_view(schema: &str, name: &str) -> Option<Arc<Query>> {
    BY_NAME.get(&(schema.to_owned(), name.to_owned())).cloned()
}
