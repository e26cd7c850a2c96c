//! Statements of all families, with their printed form where it differs.

use crate::assert_round_trip;

#[track_caller]
fn assert_all(statements: &[&str]) {
    for sql in statements {
        let printed = assert_round_trip(sql);
        assert_eq!(&printed, sql);
    }
}

#[track_caller]
fn assert_printed(statements: &[(&str, &str)]) {
    for (sql, printed) in statements {
        assert_eq!(&assert_round_trip(sql), printed);
    }
}

#[test]
fn queries() {
    assert_all(&[
        "SELECT DISTINCT ON (a, b) a, t.*, * EXCLUDE (t.b, c) REPLACE (a + 1 AS a) RENAME (d AS e) FROM t",
        "SELECT COLUMNS('a.*'), t.COLUMNS(* EXCLUDE (a)), f(*COLUMNS(c -> c LIKE 'a%')), COLUMNS([a, b]) FROM t",
        "WITH RECURSIVE a (x, y) AS MATERIALIZED (SELECT 1), b AS NOT MATERIALIZED (SELECT 2) SELECT * FROM a, b",
        "WITH a AS (INSERT INTO t VALUES (1) RETURNING a) SELECT * FROM a",
        "SELECT 1 UNION ALL BY NAME SELECT 2 EXCEPT SELECT 3 INTERSECT ALL SELECT 4 ORDER BY 1 DESC NULLS LAST LIMIT 3",
        "(SELECT 1 LIMIT 1) UNION (SELECT 2) ORDER BY ALL DESC OFFSET 2",
        "SELECT a FROM t LIMIT 10 PERCENT OFFSET 1",
        "SELECT a FROM t ORDER BY a FETCH FIRST 3 ROWS WITH TIES",
        "VALUES (1, 'a'), (2, DEFAULT)",
        "TABLE s.t",
        "SELECT a, sum(b) FROM t WHERE c GROUP BY a, ROLLUP (b, (c, d)), CUBE (e), GROUPING SETS ((), (a, b), a, ROLLUP (c)) HAVING d QUALIFY e",
        "SELECT a FROM t GROUP BY ALL",
        "SELECT a FROM t GROUP BY DISTINCT ROLLUP (t.k + 1, t.k), CUBE ((t.s).b), (a, b)",
        "SELECT sum(x) OVER w, count(*) FILTER (WHERE a) OVER (w ORDER BY y) FROM t WINDOW w AS (PARTITION BY z)",
        "SELECT f(x) OVER (PARTITION BY a ORDER BY b RANGE BETWEEN INTERVAL 20 DAY PRECEDING AND 1 FOLLOWING EXCLUDE TIES)",
        "SELECT f(DISTINCT x ORDER BY y DESC) WITHIN GROUP (ORDER BY z) IGNORE NULLS, lead(x) RESPECT NULLS OVER ()",
        "SELECT a FROM t USING SAMPLE reservoir(10 ROWS) REPEATABLE (7)",
        "SELECT [x * 2 FOR x IN l IF x > 1], MAP {1: 'a'}, {a: 1, \"b c\": 2}, ARRAY(SELECT 1), ROW(1), (1, 2), l[1:-:2], l[:]",
        "SELECT * FROM a, LATERAL (SELECT a.x) AS b, range(10) WITH ORDINALITY AS r (i, o), 'f.parquet' AS f",
        "SELECT * FROM a LEFT JOIN b ON a.x = b.x FULL JOIN c USING (x, y) NATURAL JOIN d CROSS JOIN e",
        "SELECT * FROM a SEMI JOIN b USING (x) ANTI JOIN c USING (x) ASOF LEFT JOIN d ON a.t >= d.t POSITIONAL JOIN e",
        "SELECT * FROM (a JOIN b USING (x)) AS j, ((SELECT 1) AS p CROSS JOIN q)",
        "SELECT * FROM t AS u (a, b) TABLESAMPLE bernoulli(10 PERCENT), f(1) AS g (a INTEGER, b STRUCT(c DOUBLE)[])",
        "SELECT * FROM t PIVOT (sum(a) AS s, max(b) FOR y IN (1, 2 AS two) z IN e GROUP BY g) AS p",
        "SELECT * FROM t UNPIVOT INCLUDE NULLS ((v, w) FOR n IN ((a, b) AS x, (c, d)))",
        "PIVOT t ON y IN (SELECT 1), z USING sum(a) AS s GROUP BY g ORDER BY 1",
        "SELECT * FROM (DESCRIBE t), (SHOW TABLES), (SUMMARIZE SELECT 1), (PIVOT t ON a)",
        "SELECT a NOT IN (SELECT 1), EXISTS (SELECT 1), a = ANY (SELECT 1), a ~~ ALL (['x']), NOT a, -(-a), #1",
        "SELECT CAST(a AS DECIMAL(10, 2)), TRY_CAST(b AS timestamp with time zone), date '2020-01-01', CAST(c AS MAP(TEXT, INT[3]))",
        "EXPLAIN ANALYZE (format json) SELECT 1",
        "DESCRIBE t",
        "SUMMARIZE SELECT 1",
        "SHOW DATABASES",
        "SHOW ALL TABLES",
        "CALL f(1, a := 2)",
    ]);
}

#[test]
fn other_spellings_of_queries() {
    assert_printed(&[
        ("FROM t", "SELECT * FROM t"),
        ("FROM t SELECT a WHERE b", "SELECT a FROM t WHERE b"),
        ("FROM t WHERE b LIMIT 1", "SELECT * FROM t WHERE b LIMIT 1"),
        ("FROM current_date d, CURRENT_TIME", "SELECT * FROM current_date() AS d, current_time()"),
        (
            "FROM extract(YEAR FROM x) WITH ORDINALITY y, current_date.t",
            "SELECT * FROM date_part('year', x) WITH ORDINALITY AS y, current_date.t",
        ),
        ("SELECT x: a + 1, b c, d AS 'e' FROM u: t", "SELECT a + 1 AS x, b AS c, d AS \"e\" FROM t AS u"),
        ("SELECT a, b, FROM t,", "SELECT a, b FROM t"),
        ("((SELECT 1))", "((SELECT 1))"),
        ("SELECT ALL a FROM ONLY t LIMIT ALL", "SELECT a FROM t"),
        ("SELECT 1 OFFSET 2 ROWS FETCH NEXT ROW ONLY", "SELECT 1 LIMIT 1 OFFSET 2"),
        ("SELECT 1 LIMIT 10%", "SELECT 1 LIMIT 10 PERCENT"),
        ("SELECT 1 UNION DISTINCT SELECT 2", "SELECT 1 UNION SELECT 2"),
        ("SELECT count(*) FILTER (k = 1)", "SELECT count(*) FILTER (WHERE k = 1)"),
        ("SELECT sum(x) OVER (ROWS 2 PRECEDING)", "SELECT sum(x) OVER (ROWS BETWEEN 2 PRECEDING AND CURRENT ROW)"),
        ("SELECT * FROM a JOIN b JOIN c ON p ON q", "SELECT * FROM a JOIN (b JOIN c ON p) ON q"),
        ("SELECT * FROM ((SELECT 1) UNION SELECT 2) u", "SELECT * FROM ((SELECT 1) UNION SELECT 2) AS u"),
        ("SELECT * FROM VALUES (1) t(a)", "SELECT * FROM (VALUES (1)) AS t (a)"),
        ("SELECT * FROM f(1) AS (a INT)", "SELECT * FROM f(1) AS f (a INT)"),
        ("SELECT * FROM t TABLESAMPLE 10%", "SELECT * FROM t TABLESAMPLE (10 PERCENT)"),
        ("FROM t USING SAMPLE 5", "SELECT * FROM t USING SAMPLE (5 ROWS)"),
        ("FROM t USING SAMPLE 10% (bernoulli, 3)", "SELECT * FROM t USING SAMPLE bernoulli(10 PERCENT) REPEATABLE (3)"),
        ("UNPIVOT t ON a, b", "UNPIVOT t ON a, b INTO NAME name VALUE value"),
        ("DESC SELECT 1", "DESCRIBE SELECT 1"),
        ("SHOW TIME ZONE", "SHOW timezone"),
        ("EXPLAIN (ANALYZE, FORMAT json) SELECT 1", "EXPLAIN ANALYZE (FORMAT json) SELECT 1"),
        (
            "SELECT 1::DOUBLE PRECISION, b::CHARACTER VARYING(3)",
            "SELECT CAST(1 AS double precision), CAST(b AS character varying(3))",
        ),
        ("SELECT x::TIMESTAMP(3) WITHOUT TIME ZONE", "SELECT CAST(x AS TIMESTAMP(3))"),
        ("SELECT TIME WITH TIME ZONE '10:00'", "SELECT time with time zone '10:00'"),
        ("SELECT lead(x IGNORE NULLS) OVER ()", "SELECT lead(x) IGNORE NULLS OVER ()"),
        (
            "SELECT 'a'.trim(), x IN l[1].m, ~ *, interval second",
            "SELECT \"trim\"('a'), x IN l[1].m, ~ *, interval AS second",
        ),
        ("SELECT a FROM t FOR UPDATE OF t SKIP LOCKED", "SELECT a FROM t"),
    ]);
}

#[test]
fn writes() {
    assert_all(&[
        "INSERT INTO t (a, b) VALUES (1, DEFAULT) ON CONFLICT (a) WHERE c DO UPDATE SET b = excluded.b WHERE d RETURNING a AS x, *",
        "INSERT OR REPLACE INTO s.t AS u BY NAME SELECT 1 AS a",
        "INSERT INTO t SELECT 2, 11 ON CONFLICT ON CONSTRAINT k DO NOTHING",
        "INSERT INTO t DEFAULT VALUES",
        "INSERT INTO t (SELECT 1) UNION SELECT 2",
        "WITH c AS (SELECT 1) INSERT INTO t SELECT * FROM c",
        "UPDATE t AS u SET a = 1, (b, c) = (SELECT 1, 2), s.f = DEFAULT FROM v WHERE u.a = v.a RETURNING *",
        "WITH c AS (SELECT 1) DELETE FROM t USING c, d WHERE t.a = c.a RETURNING t.a",
        "MERGE INTO t AS u USING (SELECT 1) AS s ON u.a = s.a WHEN MATCHED AND s.b THEN UPDATE SET a = 1 WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT (a) VALUES (s.a) WHEN NOT MATCHED BY SOURCE THEN DO NOTHING RETURNING a",
        "MERGE INTO t USING s USING (a) WHEN MATCHED THEN UPDATE WHEN NOT MATCHED THEN INSERT BY POSITION",
        "MERGE INTO t USING s USING (a) WHEN NOT MATCHED THEN INSERT DEFAULT VALUES WHEN MATCHED THEN ERROR 'no'",
        "TRUNCATE a, s.b",
        "COPY t (a, b) FROM 'x.csv' (HEADER TRUE, DELIMITER ';', NULLS ('a', 'b'))",
        "COPY (SELECT 1) TO 'x.parquet' (FORMAT parquet, PARTITION_BY (a, b), FORCE_QUOTE *)",
        "COPY t TO STDOUT",
        "COPY t FROM ('x' || $1)",
        "EXPORT DATABASE 'folder' (FORMAT csv)",
        "IMPORT DATABASE 'folder'",
    ]);
    assert_printed(&[
        ("COPY t TO ? (HEADER)", "COPY t TO ($1) (HEADER)"),
        ("COPY t FROM 'x' WITH CSV HEADER DELIMITER AS ';'", "COPY t FROM 'x' (format CSV, HEADER, DELIMITER ';')"),
        ("TRUNCATE TABLE t", "TRUNCATE t"),
        (
            "MERGE INTO t USING s ON a WHEN NOT MATCHED BY TARGET THEN INSERT *",
            "MERGE INTO t USING s ON a WHEN NOT MATCHED THEN INSERT",
        ),
        ("UPDATE t u SET a = 1", "UPDATE t AS u SET a = 1"),
    ]);
}

#[test]
fn definitions() {
    assert_all(&[
        "CREATE TEMPORARY TABLE IF NOT EXISTS s.t (a INTEGER NOT NULL DEFAULT 1 + 2 PRIMARY KEY, b TEXT COLLATE nocase NULL UNIQUE, c INT CHECK (c > 0) REFERENCES p (x) ON DELETE CASCADE ON UPDATE SET NULL, d INT GENERATED ALWAYS AS (a + 1) STORED, e INT ENCODING packed, CONSTRAINT k PRIMARY KEY (a, b), UNIQUE (c), CHECK (a < b), FOREIGN KEY (a) REFERENCES p) WITH (encoding 'dictionary')",
        "CREATE TABLE t (a INT GENERATED BY DEFAULT AS IDENTITY (START WITH 5 INCREMENT BY -2), LIKE other, b INT CONSTRAINT n NOT NULL)",
        "CREATE TABLE t (a, b) AS SELECT 1, 2 WITH NO DATA",
        "CREATE OR REPLACE TEMPORARY VIEW v (a, b) AS SELECT 1, 2",
        "CREATE SCHEMA IF NOT EXISTS d.s",
        "CREATE SEQUENCE s AS BIGINT START WITH -5 INCREMENT BY 2 NO MINVALUE MAXVALUE 10 CACHE 1 NO CYCLE OWNED BY t.a",
        "CREATE UNIQUE INDEX IF NOT EXISTS i ON t USING art (a DESC, lower(b)) WHERE c",
        "CREATE TYPE mood AS ENUM('a', 'b')",
        "CREATE TYPE mood AS ENUM (SELECT 'a')",
        "CREATE TYPE pair AS STRUCT(a INTEGER, b MAP(TEXT, INT)[])",
        "CREATE MACRO m (a, b INTEGER := 2) AS a + b, (a) AS a",
        "CREATE MACRO m (a) AS TABLE SELECT a",
        "DROP TABLE IF EXISTS a, s.b CASCADE",
        "DROP MACRO TABLE m",
        "DROP INDEX i RESTRICT",
        "ALTER TABLE IF EXISTS t RENAME TO u",
        "ALTER TABLE t RENAME COLUMN a.b TO c, ADD COLUMN IF NOT EXISTS s.d INT DEFAULT 1, DROP COLUMN IF EXISTS e CASCADE",
        "ALTER TABLE t ALTER COLUMN a TYPE BIGINT COLLATE c USING CAST(a AS BIGINT) + 1",
        "ALTER TABLE t ALTER COLUMN a SET DEFAULT 1, ALTER COLUMN a DROP DEFAULT, ALTER COLUMN a SET NOT NULL, ALTER COLUMN a DROP NOT NULL",
        "ALTER TABLE t ALTER COLUMN a SET ENCODING dictionary",
        "ALTER TABLE t ADD CONSTRAINT c CHECK (a > 0), DROP CONSTRAINT IF EXISTS d, RENAME CONSTRAINT e TO f, SET SCHEMA s",
        "ALTER VIEW v RENAME TO w",
        "ALTER SEQUENCE s RESTART WITH 5 CYCLE",
        "ALTER SCHEMA a RENAME TO b",
        "COMMENT ON COLUMN t.a IS 'it''s'",
        "COMMENT ON TABLE t IS NULL",
    ]);
    assert_printed(&[
        (
            "CREATE TEMP TABLE t (a AS (b + 1) VIRTUAL, b INT,)",
            "CREATE TEMPORARY TABLE t (a GENERATED ALWAYS AS (b + 1) VIRTUAL, b INT)",
        ),
        ("CREATE FUNCTION f(x := 1) AS x", "CREATE MACRO f (x := 1) AS x"),
        ("CREATE TABLE t (a INT USING COMPRESSION rle)", "CREATE TABLE t (a INT ENCODING rle)"),
        ("ALTER TABLE t ALTER a SET DATA TYPE INT", "ALTER TABLE t ALTER COLUMN a TYPE INT"),
        ("ALTER TABLE t ADD a INT", "ALTER TABLE t ADD COLUMN a INT"),
    ]);
}

#[test]
fn sessions_and_transactions() {
    assert_all(&[
        "SET SESSION memory_limit = '1GB'",
        "SET search_path = a, b",
        "SET x = DEFAULT",
        "SET VARIABLE v = 1 + 2",
        "RESET ALL",
        "RESET VARIABLE v",
        "PRAGMA threads = 4",
        "PRAGMA table_info('t')",
        "PRAGMA version",
        "USE d.s",
        "ATTACH OR REPLACE IF NOT EXISTS 'x.db' AS x (READ_ONLY, TYPE godwit)",
        "DETACH DATABASE IF EXISTS x",
        "PREPARE p (INTEGER, TEXT) AS SELECT $1, $2",
        "EXECUTE p(1, name := 'a')",
        "DEALLOCATE ALL",
        "COMMIT",
        "ROLLBACK",
        "SAVEPOINT s",
        "ROLLBACK TO SAVEPOINT s",
        "RELEASE SAVEPOINT s",
        "BEGIN TRANSACTION ISOLATION LEVEL READ COMMITTED, READ ONLY",
        "FORCE CHECKPOINT d",
        "MERGE DELTA OF s.t",
        "VACUUM t (a, b)",
        "ANALYZE",
    ]);
    assert_printed(&[
        ("BEGIN", "BEGIN TRANSACTION"),
        ("START TRANSACTION", "BEGIN TRANSACTION"),
        ("END WORK", "COMMIT"),
        ("ABORT", "ROLLBACK"),
        ("ROLLBACK TO s", "ROLLBACK TO SAVEPOINT s"),
        ("SET x TO on", "SET x = on"),
        ("SET LOCAL x = 1", "SET LOCAL x = 1"),
        ("SET memory_limit = 512MB", "SET memory_limit = \"512MB\""),
        ("SET TIME ZONE 'UTC'", "SET timezone = 'UTC'"),
        ("DETACH x", "DETACH DATABASE x"),
    ]);
}
