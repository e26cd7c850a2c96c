//! Statements that are deep, or that grow exponentially if names are expanded: each is answered or rejected with a
//! clear error, using little time and memory.
//!
//! ```text
//!   parent:  for each case: spawn ──▶ wait, at most so long ──▶ read what the child says, and what it used
//!   child:   setup, then the statement of the case; prints the outcome, its processor time and its most memory
//! ```
//!
//! Each case has its own process, since a stack overflow ends the process, and a hanging one can only be killed. Limits
//! are on processor time, so that a busy machine causes no failures; unoptimized builds have no such limit.

use std::env;
use std::fs;
use std::io::Read;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use godwit::{Config, Database};

/// Maximum processor time of a whole case: setup, planning and execution. On a quiet machine each takes less than a
/// third of it, most far less.
const CPU_TIME_MAX: Duration = Duration::from_secs(3);
/// Time after which the child is killed.
const WALL_TIME_MAX: Duration = Duration::from_secs(20);
const MEMORY_BYTES_MAX: u64 = 256 << 20;
/// Longest acceptable error message.
const ERROR_BYTES_MAX: usize = 2_000;
/// Environment variable with the label of the case, for the process that runs it.
const CASE_VARIABLE: &str = "GODWIT_TEST_DEPTH_CASE";
/// Prefix of the child's lines that the parent reads.
const REPORT: &str = "report: ";

/// Number of levels that each double something.
const DOUBLINGS: usize = 40;
/// Nesting levels.
const LEVELS: usize = 1_000;
/// Parts of a chain.
const PARTS: usize = 10_000;

struct Case {
    label: &'static str,
    setup: Vec<String>,
    sql: String,
}

fn case(label: &'static str, sql: String) -> Case {
    Case { label, setup: Vec::new(), sql }
}

/// Creates a case over a table `t` with one row.
fn over_table(label: &'static str, sql: String) -> Case {
    Case { label, setup: vec!["CREATE TABLE t AS SELECT 1 AS x, 'a' AS s".into()], sql }
}

/// Wraps `inside` in `levels` layers.
fn nested(levels: usize, before: &str, inside: &str, after: &str) -> String {
    format!("{}{inside}{}", before.repeat(levels), after.repeat(levels))
}

/// Joins `part(0) separator part(1) …`
fn chain(parts: usize, separator: &str, part: impl Fn(usize) -> String) -> String {
    (0..parts).map(part).collect::<Vec<_>>().join(separator)
}

/// Builds a WITH of common table expressions `c0`, `c1` and so on, each a query over the previous one.
fn with_chain(tables: usize, query_over: impl Fn(&str) -> String) -> String {
    let table = |at: usize| match at {
        0 => "c0 AS (SELECT 1 AS x)".to_owned(),
        _ => format!("c{at} AS ({})", query_over(&format!("c{}", at - 1))),
    };
    format!("WITH {} SELECT count(*) FROM c{}", chain(tables, ", ", table), tables - 1)
}

/// Creates a case over views `v0`, `v1` and so on, each a query over the previous one.
fn over_views(label: &'static str, views: usize, query_over: impl Fn(&str) -> String) -> Case {
    let view = |at: usize| match at {
        0 => "CREATE VIEW v0 AS SELECT 1 AS x".to_owned(),
        _ => format!("CREATE VIEW v{at} AS {}", query_over(&format!("v{}", at - 1))),
    };
    let setup = (0..views).map(view).collect();
    Case { label, setup, sql: format!("SELECT count(*) FROM v{}", views - 1) }
}

/// Returns statements that grow exponentially if each use of a name is replaced by a copy of its definition.
fn doublings() -> Vec<Case> {
    let joined = |from: &str| format!("SELECT a.x FROM {from} a JOIN {from} b ON a.x = b.x");
    let crossed = |from: &str| format!("SELECT a.x FROM {from} a, {from} b");
    let united = |from: &str| format!("SELECT x FROM {from} UNION SELECT x FROM {from}");
    let appended = |from: &str| format!("SELECT x FROM {from} UNION ALL SELECT x FROM {from}");
    let counted = |from: &str| format!("SELECT (SELECT max(x) FROM {from}) + (SELECT min(x) FROM {from}) - 1 AS x");
    let added = |from: &str| format!("SELECT x + x AS x FROM {from}");
    let pairs = "SELECT x % 2 + x % 2 AS x FROM ";
    vec![
        over_views("views joined with themselves", DOUBLINGS, joined),
        over_views("views crossed with themselves", DOUBLINGS, crossed),
        over_views("views united with themselves", DOUBLINGS, united),
        over_views("columns of views used twice", DOUBLINGS, |from| format!("SELECT x % 7 + x % 7 AS x FROM {from}")),
        case("tables of WITH joined with themselves", with_chain(DOUBLINGS, joined)),
        case("tables of WITH united with themselves", with_chain(DOUBLINGS, united)),
        // The rows double as well, so they aren't counted.
        case("tables of WITH appended to themselves", with_chain(12, appended)),
        case("tables of WITH in two subqueries", with_chain(DOUBLINGS, counted)),
        case("columns of WITH used twice", with_chain(DOUBLINGS / 2, added)),
        over_table("columns of subqueries used twice", nested(DOUBLINGS, &format!("{pairs}("), "SELECT x FROM t", ")")),
        over_table("stars twice", format!("SELECT count(*) FROM {}", nested(16, "(SELECT *, * FROM ", "t", ")"))),
        over_table("cube", {
            let columns = chain(DOUBLINGS, ", ", |at| format!("x + {at}"));
            format!("SELECT count(*) FROM t GROUP BY CUBE ({columns})")
        }),
        over_table("rollups", {
            let rollups = chain(DOUBLINGS, ", ", |at| format!("ROLLUP (x + {at})"));
            format!("SELECT count(*) FROM t GROUP BY {rollups}")
        }),
    ]
}

/// Returns nested expressions.
fn nested_expressions() -> Vec<Case> {
    let selected = |label, before: &str, inside: &str, after: &str| {
        case(label, format!("SELECT {}", nested(LEVELS, before, inside, after)))
    };
    vec![
        selected("brackets", "(", "1", ")"),
        case("very many brackets", format!("SELECT {}", nested(100 * LEVELS, "(", "1", ")"))),
        case("brackets that don't end", format!("SELECT {}", "(".repeat(100 * LEVELS))),
        selected("casts", "CAST(", "1", " AS BIGINT)"),
        selected("casts behind", "", "1", "::BIGINT"),
        selected("slices", "", "[1]", "[1:1]"),
        case("very many slices", format!("SELECT [1]{}", "[1:1]".repeat(PARTS))),
        selected("lists", "[", "1", "]"),
        selected("structs", "{'a': ", "1", "}"),
        selected("types of lists", "", "NULL::INTEGER", "[]"),
        case("types of structs", format!("SELECT NULL::{}", nested(LEVELS, "STRUCT(a ", "INTEGER", ")"))),
        selected("CASE in THEN", "CASE WHEN TRUE THEN ", "1", " END"),
        selected("CASE in ELSE", "CASE WHEN FALSE THEN 0 ELSE ", "1", " END"),
        selected("NOT", "NOT ", "TRUE", ""),
        selected("minus", "- ", "1", ""),
        selected("calls", "abs(", "1", ")"),
        selected("lambdas", "list_transform([1], y -> len(", "[1]", "))"),
        case("comments in comments", format!("SELECT {} 1", nested(PARTS, "/*", "", "*/"))),
    ]
}

/// Returns nested queries.
fn nested_queries() -> Vec<Case> {
    let exists = |levels| {
        let level = |at: usize| format!("EXISTS (SELECT 1 FROM t t{} WHERE t{}.x = t{at}.x AND ", at + 1, at + 1);
        format!("SELECT count(*) FROM t t0 WHERE {}TRUE{}", chain(levels, "", level), ")".repeat(levels))
    };
    let derived = |levels| format!("SELECT * FROM {}", nested(levels, "(SELECT * FROM ", "(SELECT 1 AS x)", ")"));
    let in_rows = |levels| nested(levels, "x IN (SELECT x FROM t WHERE ", "TRUE", ")");
    vec![
        case("subqueries in FROM", derived(LEVELS)),
        case("fewer subqueries in FROM", derived(LEVELS / 4)),
        case("scalar subqueries", format!("SELECT {}", nested(LEVELS, "(SELECT ", "1", ")"))),
        case("fewer scalar subqueries", format!("SELECT {}", nested(LEVELS / 4, "(SELECT ", "1", ")"))),
        case("EXISTS", format!("SELECT {}", nested(LEVELS, "EXISTS (SELECT 1 WHERE ", "TRUE", ")"))),
        over_table("IN", format!("SELECT count(*) FROM t WHERE {}", in_rows(LEVELS))),
        over_table("less of IN", format!("SELECT count(*) FROM t WHERE {}", in_rows(LEVELS / 10))),
        over_table("EXISTS correlated with the query around", exists(LEVELS)),
        over_table("less of EXISTS correlated with the query around", exists(LEVELS / 20)),
        case("WITH in WITH", nested(LEVELS, "WITH c AS (", "SELECT 1 AS x", ") SELECT * FROM c")),
        over_table("joins in brackets", {
            // Each join has its own buffers for each worker: about a megabyte.
            let joins = chain(LEVELS / 10, "", |at| format!(" CROSS JOIN t t{at})"));
            format!("SELECT count(*) FROM {}t{joins}", "(".repeat(LEVELS))
        }),
        over_views("views of views", LEVELS, |from| format!("SELECT x FROM {from}")),
    ]
}

/// Returns chains and lists.
fn chains() -> Vec<Case> {
    let ones = |operator: &str| format!("SELECT {}", chain(PARTS, operator, |_| "1".to_owned()));
    let queries = |operator: &str| chain(PARTS, operator, |_| "SELECT 1".to_owned());
    let filtered = |conditions: String| format!("SELECT count(*) FROM t WHERE {conditions}");
    let tables = |separator: &str| chain(LEVELS, separator, |at| format!("t t{at}"));
    vec![
        over_table("AND", filtered(chain(PARTS, " AND ", |at| format!("x <> {}", at + 2)))),
        over_table("OR", filtered(chain(PARTS, " OR ", |at| format!("x = {at}")))),
        over_table("OR of AND", filtered(chain(PARTS, " OR ", |at| format!("(x = {at} AND s = 'a')")))),
        case("plus", ones(" + ")),
        over_table("plus of columns", format!("SELECT {} FROM t", chain(PARTS, " + ", |_| "x".to_owned()))),
        over_table("texts", format!("SELECT length({}) FROM t", chain(PARTS, " || ", |_| "s".to_owned()))),
        case("UNION", queries(" UNION ")),
        case("UNION ALL", format!("SELECT count(*) FROM ({}) u", queries(" UNION ALL "))),
        case("INTERSECT", queries(" INTERSECT ")),
        case("EXCEPT", queries(" EXCEPT ")),
        over_table("IN with a long list", filtered(format!("x IN ({})", chain(10 * PARTS, ", ", |at| at.to_string())))),
        case("VALUES", {
            let rows = chain(10 * PARTS, ", ", |at| format!("({at})"));
            format!("SELECT count(*) FROM (VALUES {rows}) v")
        }),
        over_table("WHEN", {
            let whens = chain(PARTS, " ", |at| format!("WHEN {} THEN {at}", at + 2));
            format!("SELECT CASE x {whens} END FROM t")
        }),
        case("a long SELECT list", format!("SELECT {}", chain(LEVELS, ", ", |at| format!("{at} AS c{at}")))),
        over_table("aggregates", format!("SELECT {} FROM t", chain(LEVELS, ", ", |at| format!("sum(x + {at})")))),
        over_table("cross joins", format!("SELECT count(*) FROM {}", tables(" CROSS JOIN "))),
        over_table("tables in FROM", format!("SELECT count(*) FROM {}", tables(", "))),
        over_table("joins", {
            // Each join has its own buffers for each worker: about a megabyte.
            let joins = chain(LEVELS / 10, "", |at| format!(" JOIN t t{} ON t{at}.x = t{}.x", at + 1, at + 1));
            format!("SELECT count(*) FROM t t0{joins}")
        }),
        case("a chain of WITH", with_chain(PARTS, |from| format!("SELECT x FROM {from}"))),
        over_table("windows upon windows", {
            let window = |at: usize| match at {
                0 => "w0 AS ()".to_owned(),
                _ => format!("w{at} AS (w{})", at - 1),
            };
            format!("SELECT x FROM t WINDOW {}", chain(PARTS, ", ", window))
        }),
        case("statements on a line", chain(PARTS, "; ", |_| "SELECT 1".to_owned())),
    ]
}

fn cases() -> Vec<Case> {
    [doublings(), nested_expressions(), nested_queries(), chains()].into_iter().flatten().collect()
}

/// The child's work: runs the case named by the variable. Without the variable there is nothing to do.
#[test]
fn child() {
    let Ok(label) = env::var(CASE_VARIABLE) else { return };
    let case = cases().into_iter().find(|case| case.label == label).expect("the parent knows the cases");
    let config = Config { threads: Some(2), memory_limit_bytes: Some(MEMORY_BYTES_MAX / 2), ..Config::default() };
    let connection = Database::open_with(":memory:", config).expect("the configuration is valid").connect();
    let statements = case.setup.iter().chain([&case.sql]);
    let outcome = statements.map(|sql| connection.execute(sql)).find_map(Result::err);
    let outcome = outcome.map_or("answered".to_owned(), |error| error.to_string());
    println!("{REPORT}{}", outcome.replace('\n', " "));
    println!("{REPORT}{} {}", cpu_time().as_millis(), peak_bytes());
}

/// Returns the processor time of this process.
fn cpu_time() -> Duration {
    /// Linux counts in hundredths of a second wherever it runs on x86-64 and ARM.
    const TICK: Duration = Duration::from_millis(10);
    let stat = fs::read_to_string("/proc/self/stat").expect("Linux has it");
    let fields = stat.rsplit(')').next().expect("the name of the program is in brackets").split_whitespace();
    // Fields 14 and 15, counting the two before the last bracket.
    let ticks: u32 = fields.skip(11).take(2).map(|ticks| ticks.parse::<u32>().expect("a number")).sum();
    TICK * ticks
}

/// Returns the peak memory of this process.
fn peak_bytes() -> u64 {
    let status = fs::read_to_string("/proc/self/status").expect("Linux has it");
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("Linux tells it");
    peak.trim().trim_end_matches(" kB").parse::<u64>().expect("a number") * 1024
}

/// Runs a case in a separate process; returns what went wrong, if anything.
fn run(case: &Case) -> Result<(), String> {
    let mut child = Command::new(env::current_exe().expect("this program has a path"))
        .args(["--exact", "child", "--nocapture"])
        .env(CASE_VARIABLE, case.label)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("a process can be started");
    let mut output = child.stdout.take().expect("it is piped");
    let reader = thread::spawn(move || {
        let mut text = String::new();
        output.read_to_string(&mut text).map(|_| text)
    });
    let end = Instant::now() + WALL_TIME_MAX;
    let status = loop {
        if let Some(status) = child.try_wait().expect("it is our child") {
            break status;
        }
        if Instant::now() > end {
            child.kill().expect("it is our child");
            child.wait().expect("it is our child");
            return Err(format!("no end after {WALL_TIME_MAX:?}"));
        }
        thread::sleep(Duration::from_millis(5));
    };
    let text = reader.join().expect("the reader doesn't panic").expect("the child writes text");
    let report: Vec<&str> = text.lines().filter_map(|line| line.split_once(REPORT)).map(|(_, said)| said).collect();
    let [outcome, used] = report[..] else { return Err(format!("ended with {status}")) };
    let (milliseconds, bytes) = used.split_once(' ').expect("the child writes two numbers");
    let time = Duration::from_millis(milliseconds.parse().expect("a number"));
    let bytes: u64 = bytes.parse().expect("a number");
    if outcome.contains("internal error") || outcome.len() > ERROR_BYTES_MAX {
        return Err(format!("an error that isn't clear: {}", outcome.chars().take(200).collect::<String>()));
    }
    if bytes > MEMORY_BYTES_MAX {
        return Err(format!("{} MiB of memory", bytes >> 20));
    }
    if time > CPU_TIME_MAX && !cfg!(debug_assertions) {
        return Err(format!("{time:?} of processor time ({})", outcome.chars().take(60).collect::<String>()));
    }
    Ok(())
}

#[test]
fn deep_statements_end_soon() {
    let cases = cases();
    let failed = |case: &Case| run(case).err().map(|failure| format!("{}: {failure}", case.label));
    let failures: Vec<String> = cases.iter().filter_map(failed).collect();
    assert!(failures.is_empty(), "{} of {} cases:\n{}", failures.len(), cases.len(), failures.join("\n"));
}
