//! Dot commands, formats and messages of statements, tested through the built shell.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// Runs a script from standard input in a folder.
fn run(folder: &Path, arguments: &[&str], script: &str) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_godwit"))
        .current_dir(folder)
        .args(arguments)
        .env("XDG_CONFIG_HOME", folder.join("config"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the shell was built");
    let mut stdin = child.stdin.take().expect("standard input is a pipe");
    // A shell that stops early doesn't read everything.
    let _ = stdin.write_all(script.as_bytes());
    drop(stdin);
    child.wait_with_output().expect("the shell ends")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// Returns the standard output, in CSV, of a script that succeeds, and its standard error.
fn both(folder: &Path, script: &str) -> (String, String) {
    let output = run(folder, &["--format", "csv"], script);
    let (said, told) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{script}: {told}");
    (said, told)
}

fn ok(script: &str) -> String {
    both(tempfile::tempdir().unwrap().path(), script).0
}

/// Returns the error message of a script that fails.
fn complaint(script: &str) -> String {
    let output = run(tempfile::tempdir().unwrap().path(), &[], script);
    assert_eq!(output.status.code(), Some(1), "{script}: {}", text(&output.stdout));
    text(&output.stderr)
}

/// The shell's handling of signals isn't inherited by its children.
#[test]
fn commands_of_the_system_can_be_interrupted() {
    assert_eq!(ok(".shell grep ^SigBlk /proc/self/status"), "SigBlk:\t0000000000000000\n");
}

#[test]
fn the_cache_is_measured() {
    let folder = tempfile::tempdir().unwrap();
    let output = run(folder.path(), &["bench", "cache", "--memory", "1MiB", "--seconds", "0.1"], "");
    let said = text(&output.stdout);
    assert!(output.status.success(), "{}", text(&output.stderr));
    for part in ["Last-level cache of ", "Cache partitioning is o", " working set ", "16.0 KiB", "512.0 KiB"] {
        assert!(said.contains(part), "{said}");
    }
    assert!(!said.contains("1.0 MiB   "), "half of the memory is the polluters': {said}");
}

#[test]
fn writes_say_what_they_did_beside_the_results() {
    let folder = tempfile::tempdir().unwrap();
    let script = "CREATE TABLE t (a INT PRIMARY KEY, b INT);\nINSERT INTO t VALUES (1, 1), (2, 2), (3, 3);\n\
        INSERT INTO t VALUES (4, 4);\nUPDATE t SET b = 0 WHERE a > 2;\nDELETE FROM t WHERE a = 1;\n\
        INSERT INTO t VALUES (2, 9) ON CONFLICT (a) DO UPDATE SET b = 9;\nCREATE TABLE u AS FROM t;\n\
        COPY t TO 'x.csv';\nCOPY u FROM 'x.csv';\nINSERT INTO u VALUES (7, 7) RETURNING a;\nSELECT count(*) AS count FROM u;";
    let (rows, told) = both(folder.path(), script);
    assert_eq!(rows, "a\n7\ncount\n7\n");
    assert_eq!(
        told,
        "3 rows inserted\n1 row inserted\n2 rows updated\n1 row deleted\n1 row inserted or updated\n\
         3 rows inserted\n3 rows written\n3 rows inserted\n"
    );
    let quiet = format!(".changes off\n{script}").replace("x.csv", "y.csv");
    assert_eq!(both(folder.path(), &quiet), (rows, String::new()));
}

#[test]
fn modes_and_their_options_are_chosen() {
    let sql = "SELECT 1 AS a, NULL AS b, 'x' AS c;\n";
    assert_eq!(ok(&format!(".mode list\n{sql}.separator ; \\n\\n\n{sql}.mode csv\n{sql}")), {
        "a|b|c\n1|NULL|x\na;b;c\n\n1;NULL;x\n\na,b,c\n1,,x\n"
    });
    assert_eq!(ok(&format!(".headers off\n.nullvalue nil\n{sql}.mode tabs\n{sql}")), "1,nil,x\n1\tnil\tx\n");
    assert_eq!(ok(&format!(".nullvalue ''\n.mode line\n{sql}")), "a = 1\nb = \nc = x\n");
    assert_eq!(
        ok(&format!(".mode insert t\n{sql}")),
        "INSERT INTO \"t\" (\"a\", \"b\", \"c\") VALUES (1, NULL, 'x');\n"
    );
    assert_eq!(ok(".mode\n.mode latex;\n.mode"), "csv\nlatex\n");
    let narrow = ok(".mode box\n.maxwidth 20\n.maxrows 2\nSELECT i, repeat('x', 100) AS s FROM range(9) t(i);");
    assert!(narrow.contains('…') && narrow.contains("9 rows (2 shown)"), "{narrow}");
    assert!(ok(".mode box\n.maxrows all\n.maxwidth auto\nFROM range(99);").ends_with("\n99 rows\n"));
    for wrong in
        [".mode xml", ".mode csv t", ".maxrows 0", ".maxwidth x", ".headers maybe", ".nullvalue", ".mode a b c"]
    {
        assert!(complaint(wrong).starts_with("error: "), "{wrong}");
    }
}

#[test]
fn every_command_is_listed_and_shown() {
    let help = ok(".help");
    for name in [".bail", ".dump", ".import", ".once", ".pager", ".schema", ".timer"] {
        assert!(help.lines().any(|line| line.starts_with(name)), "{name}");
    }
    assert!(ok(".help mode").starts_with(".mode [FORMAT] [TABLE]"));
    let shown = ok(".show");
    for line in ["database: :memory:", "mode: csv", "output: stdout", "maxrows: 40", "bail: on", "pager: off"] {
        assert!(shown.contains(line) || line.starts_with("pager"), "{line} in {shown}");
    }
    assert_eq!(ok(".print one 'two  three'\n.print"), "one two  three\n\n");
}

#[test]
fn the_catalog_is_told() {
    let script = "CREATE TABLE orders (a INT PRIMARY KEY, b VARCHAR);\nCREATE INDEX i ON orders (b);\n\
        CREATE VIEW v AS SELECT a FROM orders;\nCREATE TABLE other (x INT);\n";
    assert_eq!(ok(&format!("{script}.tables")), "name,kind\norders,table\nother,table\nv,view\n");
    assert_eq!(ok(&format!("{script}.tables ord%")), "schema,name,kind\nmain,orders,table\n");
    let all = ok(&format!("{script}.schema"));
    assert!(
        all.contains("CREATE TABLE \"main\".\"orders\" (") && all.contains("CREATE VIEW") && !all.contains("USE"),
        "{all}"
    );
    let one = ok(&format!("{script}.schema ORDERS;"));
    assert!(one.contains("CREATE TABLE \"main\".\"orders\"") && one.contains("CREATE INDEX"), "{one}");
    assert!(!one.contains("other") && !one.contains("VIEW"), "{one}");
    let indexes = ok(&format!("{script}.indexes\n.indexes other"));
    assert_eq!(indexes, "CREATE INDEX \"i\" ON \"main\".\"orders\" (\"b\");\n");
    assert_eq!(ok(".databases"), "database_name\nmemory\n");
    let functions = ok(".functions levensh");
    assert!(functions.contains("levenshtein(") && functions.lines().count() < 10, "{functions}");
    assert!(complaint(".schema nothing").contains("nothing"));
}

/// Tables with every kind of column and value.
const TABLES: &str = "CREATE SCHEMA s;\nCREATE TYPE mood AS ENUM ('sad', 'it''s ok');\n\
    CREATE TABLE kinds (b BOOLEAN, t TINYINT, u UBIGINT, h HUGEINT, d DECIMAL(38, 10), r REAL, f DOUBLE, v VARCHAR, \
    bl BLOB, da DATE, ti TIME, ts TIMESTAMP, tz TIMESTAMPTZ, i INTERVAL, uu UUID, j JSON, m mood, l VARCHAR[], \
    st STRUCT(a INT, \"b c\" VARCHAR), ma MAP(VARCHAR, INT), bi BIT);\n\
    INSERT INTO kinds VALUES (true, -128, 18446744073709551615, -170141183460469231731687303715884105, \
    1234567890123456789012345678.0123456789, 0.1, 0.1::DOUBLE + 0.2::DOUBLE, 'it''s \"quoted\", 東京\n\tline', \
    '\\x00\\xff''', '0001-01-01', '23:59:59.999999', '9999-12-31 23:59:59.999999', '2024-01-01 12:00:00.5+02', \
    '1 month -2 days 00:00:00.000001', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '{\"a\": [1, \"''\"]}', 'it''s ok', \
    ['a,b', NULL, 'NULL', '', ' x ', '\"', '\\'], {'a': NULL, 'b c': 'y''z'}, map {'k=v': 1, '': NULL}, '0101');\n\
    INSERT INTO kinds (f, r) VALUES ('NaN', '-Infinity'), ('Infinity', 1e-40), (1.7976931348623157e308, 0);\n\
    INSERT INTO kinds (v) VALUES (''), ('NULL'), (NULL), ('--'), ('; DROP TABLE kinds;');\n\
    CREATE TABLE s.\"odd \"\"name\"\"\" (\"select\" INT DEFAULT 7 CHECK (\"select\" > 0), g AS (\"select\" * 2), \
    id INT GENERATED ALWAYS AS IDENTITY);\nINSERT INTO s.\"odd \"\"name\"\"\" (\"select\") VALUES (1), (2);\n\
    CREATE TABLE parent (k INT PRIMARY KEY);\nCREATE TABLE child (k INT REFERENCES parent (k));\n\
    INSERT INTO parent SELECT i FROM range(3000) t(i);\nINSERT INTO child VALUES (2999), (NULL);\n\
    CREATE INDEX idx ON kinds (v);\nCREATE VIEW view1 AS SELECT count(*) AS n FROM child;\nCREATE TABLE nothing (x INT);\n";

#[test]
fn a_dump_read_back_makes_equal_tables() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let made = run(folder, &["a.godwit"], &format!("{TABLES}.output dump.sql\n.dump\n"));
    assert!(made.status.success(), "{}", text(&made.stderr));
    let dump = fs::read_to_string(folder.join("dump.sql")).unwrap();
    let read = run(folder, &["b.godwit", "-f", "dump.sql"], "");
    assert!(read.status.success(), "{}\n{dump}", text(&read.stderr));
    let content = "FROM kinds ORDER BY ALL; FROM s.\"odd \"\"name\"\"\" ORDER BY ALL; FROM view1; FROM child ORDER BY ALL; \
        SELECT count(*), sum(k) FROM parent; FROM nothing;";
    let rows = |database: &str| text(&run(folder, &[database, "--format", "jsonlines"], content).stdout);
    assert!(rows("a.godwit").contains("東京") && rows("a.godwit").lines().count() > 10, "{}", rows("a.godwit"));
    assert_eq!(rows("a.godwit"), rows("b.godwit"), "{dump}");
    let types = |database: &str| text(&run(folder, &[database, "--format", "csv"], "DESCRIBE kinds;").stdout);
    assert_eq!(types("a.godwit"), types("b.godwit"));
    // Bit for bit, and with the same types: neither has rows that the other lacks.
    let compare = "ATTACH 'b.godwit' AS b; SELECT count(*) FROM (FROM kinds EXCEPT ALL FROM b.kinds) x; \
        INSERT INTO b.parent VALUES (-1);";
    assert_eq!(text(&run(folder, &["a.godwit", "--format", "csv"], compare).stdout), "count(*)\n0\n");
    // Numbers continue where they were.
    let next = "INSERT INTO s.\"odd \"\"name\"\"\" (\"select\") VALUES (3) RETURNING id;";
    assert_eq!(text(&run(folder, &["b.godwit", "--format", "csv"], next).stdout), "id\n3\n");

    let one = run(folder, &["a.godwit"], ".dump child");
    assert!(text(&one.stdout).contains("CREATE TABLE \"main\".\"child\"") && !text(&one.stdout).contains("kinds"));
    assert!(complaint(".dump nothing").contains("there is no table named nothing"));
}

#[test]
fn results_go_to_files_and_programs() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let script = "SELECT 1 AS a;\n.once 'my file.csv'\nSELECT 2 AS a;\nSELECT 3 AS a;\n.output out.csv\nSELECT 4 AS a;\n\
        .print text\n.output\nSELECT 5 AS a;\n.once |sort -r > sorted.txt\nSELECT i FROM range(3) t(i);\n.cd ..\n.shell pwd";
    let (rows, _) = both(folder, script);
    let parent = folder.parent().unwrap().canonicalize().unwrap();
    assert_eq!(rows, format!("a\n1\na\n3\na\n5\n{}\n", parent.display()));
    let file = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
    assert_eq!((file("my file.csv").as_str(), file("out.csv").as_str()), ("a\n2\n", "a\n4\ntext\n"));
    assert_eq!(file("sorted.txt"), "i\n2\n1\n0\n");
    assert!(complaint(".output no/such/folder/x\nSELECT 1;").contains("no/such/folder/x"));
    assert!(complaint(".cd no/such/folder").contains("no/such/folder"));
    assert!(both(folder, ".system exit 3").1.contains("exit status: 3"));
    assert!(complaint(".edit").contains("needs a terminal"));
}

#[test]
fn files_are_imported_whole_or_not_at_all() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("a.csv"), "x,y\n1,one\n2,two\n").unwrap();
    fs::write(folder.join("bad.csv"), "x,y\n3,three\nfour,4\n").unwrap();
    let (rows, told) = both(folder, ".import a.csv t\n.import 'a.csv' t\nSELECT count(*) AS n, sum(x) AS s FROM t;");
    assert_eq!((rows.as_str(), told.as_str()), ("n,s\n4,6\n", "2 rows inserted\n2 rows inserted\n"));
    let bad = run(
        folder,
        &["--format", "csv"],
        ".bail off\n.import a.csv t\n.import bad.csv t\n.import bad.csv u x\n\
        .import nowhere.csv w\n.tables\nSELECT count(*) AS n FROM t;",
    );
    assert_eq!((bad.status.code(), text(&bad.stdout).as_str()), (Some(1), "name,kind\nt,table\nn\n2\n"), "{bad:?}");
    // What is found in a file holds for its new table: the first record is a row, though COPY would take it for the header.
    fs::write(folder.join("half.csv"), "z,,\nd,e,g\n").unwrap();
    let half = both(folder, ".import half.csv h\nSELECT count(*) AS n, max(column0) AS z FROM h;");
    assert_eq!(half, ("n,z\n2,z\n".to_owned(), "2 rows inserted\n".to_owned()));
    both(folder, "COPY (SELECT 9 AS x) TO 'p.parquet';\n.import p.parquet p\n.import p.parquet p\nFROM p;");
}

#[test]
fn another_database_is_opened() {
    let folder = tempfile::tempdir().unwrap();
    let script = "CREATE TABLE t (x INT);\n.open a.godwit\nCREATE TABLE u (x INT);\n.tables\n.open\n.tables\n.open a.godwit\n.tables";
    let (rows, _) = both(folder.path(), script);
    assert_eq!(rows, "name,kind\nu,table\nname,kind\nname,kind\nu,table\n");
    let kept =
        run(folder.path(), &["--format", "csv"], "SELECT 1 AS a;\n.open no/such/folder/x.godwit\nSELECT 2 AS a;");
    assert_eq!((kept.status.code(), text(&kept.stdout).as_str()), (Some(1), "a\n1\n"));
}

#[test]
fn a_script_goes_on_after_errors_if_it_is_told_to() {
    let folder = tempfile::tempdir().unwrap();
    let script = ".bail off\nSELECT 1 AS a;\nSELECT nope;\n.nope\nSELECT 2 AS a;";
    let output = run(folder.path(), &["--format", "csv"], script);
    assert_eq!((output.status.code(), text(&output.stdout).as_str()), (Some(1), "a\n1\na\n2\n"));
    assert_eq!(text(&output.stderr).matches("error: ").count(), 2);
    fs::write(folder.path().join("x.sql"), "SELECT 3 AS a;\nSELECT nope;\nSELECT 4 AS a;").unwrap();
    let output = run(folder.path(), &["--format", "csv"], ".read x.sql\nSELECT 5 AS a;");
    assert_eq!((output.status.code(), text(&output.stdout).as_str()), (Some(1), "a\n3\n"));
    let fine = run(folder.path(), &["--format", "csv"], ".bail off\nSELECT 1 AS a;\n.quit\nSELECT nope;");
    assert_eq!((fine.status.code(), text(&fine.stdout).as_str()), (Some(0), "a\n1\n"));
}

#[test]
fn statements_are_echoed_and_init_files_left_to_terminals() {
    assert_eq!(ok(".echo on\nSELECT 1\n AS a;\n.print x"), "SELECT 1\n AS a;\na\n1\n.print x\nx\n");
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir_all(folder.path().join("config/godwit")).unwrap();
    fs::write(folder.path().join("config/godwit/init.sql"), ".print from init\n").unwrap();
    assert_eq!(both(folder.path(), "SELECT 1 AS a;").0, "a\n1\n");
    assert!(run(folder.path(), &["--no-init", "-c", "SELECT 1"], "").status.success());
}

#[test]
fn many_statements_on_one_line_take_linear_time() {
    let started = std::time::Instant::now();
    let script = "SELECT 1 AS a; ".repeat(3_000);
    assert_eq!(ok(&script).lines().count(), 6_000);
    assert!(started.elapsed().as_secs() < 60, "{:?}", started.elapsed());
}

#[test]
fn a_page_is_made_of_a_trace_only() {
    let folder = tempfile::tempdir().unwrap();
    both(folder.path(), "COPY (SELECT 1 AS time) TO 'rows.parquet'");
    for (arguments, complaint) in [
        (vec!["nothing.parquet"], "opening nothing.parquet: No such file"),
        (vec!["rows.parquet"], "rows.parquet is a Parquet file, but not a trace"),
        (vec!["rows.parquet", "--output", "rows.parquet"], "the page would replace the trace"),
    ] {
        let output = run(folder.path(), &[&["trace", "report"], &arguments[..]].concat(), "");
        let told = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{told}");
        // Queries that the user didn't write aren't shown.
        assert!(told.contains(complaint) && !told.contains("line"), "{told}");
    }
    assert!(!folder.path().join("rows.html").exists());
}
