//! The built shell as users encounter it: its output on each stream, and its exit status.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

const EMPTY_INPUT: &str = "";

/// Ten rows in a column x, joined with itself for as many rows as a test needs.
const DIGITS: &str = "WITH t(x) AS (VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)) ";

fn godwit(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_godwit"));
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn start(arguments: &[&str], input: &str) -> Child {
    let mut child = godwit(arguments).spawn().expect("the shell was built");
    let mut stdin = child.stdin.take().expect("standard input is a pipe");
    // A shell that got its statements on the command line may have exited already.
    let _ = stdin.write_all(input.as_bytes());
    child
}

fn run(arguments: &[&str], input: &str) -> Output {
    start(arguments, input).wait_with_output().expect("the shell ends")
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// Returns the output of a run that succeeds without error messages.
fn text(arguments: &[&str], input: &str) -> String {
    let output = run(arguments, input);
    assert_eq!(stderr(&output), "", "{arguments:?}");
    assert!(output.status.success(), "{arguments:?}");
    stdout(&output)
}

#[test]
fn each_format_writes_the_result() {
    let sql = "SELECT 1 AS n, 'a,b' AS s, CAST(NULL AS INT) AS x";
    let formats = [
        ("csv", "n,s,x\n1,\"a,b\",\n"),
        ("json", "[{\"n\":1,\"s\":\"a,b\",\"x\":null}]\n"),
        ("jsonlines", "{\"n\":1,\"s\":\"a,b\",\"x\":null}\n"),
        ("line", "n = 1\ns = a,b\nx = NULL\n"),
        ("list", "n|s|x\n1|a,b|NULL\n"),
        ("tabs", "n\ts\tx\n1\ta,b\t\n"),
        ("insert", "INSERT INTO \"result\" (\"n\", \"s\", \"x\") VALUES (1, 'a,b', NULL);\n"),
        (
            "html",
            "<table>\n<tr><th>n</th><th>s</th><th>x</th></tr>\n<tr><td>1</td><td>a,b</td><td>NULL</td></tr>\n</table>\n",
        ),
        (
            "latex",
            "\\begin{tabular}{rlr}\n\\hline\nn & s & x \\\\\n\\hline\n1 & a,b & NULL \\\\\n\\hline\n\\end{tabular}\n",
        ),
        ("markdown", "| n | s | x |\n|---:|---|---:|\n| 1 | a,b | NULL |\n"),
        (
            "box",
            "┌─────────┬─────────┬─────────┐\n│       n │ s       │       x │\n│ integer │ varchar │ integer │\n\
             ├─────────┼─────────┼─────────┤\n│       1 │ a,b     │    NULL │\n└─────────┴─────────┴─────────┘\n1 row\n",
        ),
    ];
    for (format, expected) in formats {
        assert_eq!(text(&["-c", sql, "--format", format], EMPTY_INPUT), expected, "{format}");
    }
}

#[test]
fn a_streamed_result_is_whole() {
    let sql = format!("{DIGITS} SELECT a.x + 10 * b.x + 100 * c.x + 1000 * d.x AS n FROM t a, t b, t c, t d");
    for (format, first_row) in [("csv", 1), ("jsonlines", 0)] {
        let text = text(&["--format", format, "-c", &sql], EMPTY_INPUT);
        let numbers = text.lines().skip(first_row).map(|line| line.trim_matches(|c: char| !c.is_ascii_digit()));
        let mut numbers: Vec<u32> = numbers.map(|digits| digits.parse().unwrap()).collect();
        numbers.sort_unstable();
        assert!(numbers.into_iter().eq(0..10_000), "{format}");
    }
}

#[test]
fn scripts_run_in_the_order_of_the_command_line() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("b.sql");
    std::fs::write(&file, ".mode csv\nSELECT 'b' AS x;\n-- nothing more").unwrap();
    let file = file.to_str().unwrap();
    let script =
        ["-c", ".mode jsonlines", "-c", "SELECT 'a' AS x", "-f", file, "-c", "SELECT 'c' AS x; SELECT 'd' AS x"];
    assert_eq!(text(&script, "SELECT 'not read';"), "{\"x\":\"a\"}\nx\nb\nx\nc\nx\nd\n");
    assert_eq!(text(&["--format", "csv"], &format!(".read {file}\nSELECT 'e' AS x")), "x\nb\nx\ne\n");
    let nowhere = run(&["-f", "no/such/file.sql"], EMPTY_INPUT);
    assert_eq!(nowhere.status.code(), Some(1));
    assert!(stderr(&nowhere).contains("no/such/file.sql"), "{}", stderr(&nowhere));
}

#[test]
fn a_file_that_reads_itself_ends() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("circle.sql");
    std::fs::write(&file, format!(".read {}", file.display())).unwrap();
    let output = run(&["-f", file.to_str().unwrap()], EMPTY_INPUT);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("does a file read itself?"), "{}", stderr(&output));
}

#[test]
fn statements_on_standard_input_are_answered_one_by_one() {
    let mut child = godwit(&["--format", "csv"]).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut answers = BufReader::new(child.stdout.take().unwrap()).lines();
    for number in ["1", "2"] {
        // The next statement is sent only after the answer to this one has arrived.
        writeln!(stdin, "SELECT\n{number} AS n;").unwrap();
        stdin.flush().unwrap();
        assert_eq!(answers.next().unwrap().unwrap(), "n");
        assert_eq!(answers.next().unwrap().unwrap(), number);
    }
    drop(stdin);
    assert!(child.wait().unwrap().success());
}

#[test]
fn the_first_error_ends_a_script_with_status_1() {
    let script = "SELECT 1 AS a;\n\nSELECT 2 AS b,\n  FROM nowhere WHERE (;\nSELECT 3 AS c;";
    let output = run(&["--format", "csv"], script);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(stdout(&output), "a\n1\n");
    let complaint = stderr(&output);
    let lines: Vec<&str> = complaint.lines().collect();
    assert!(lines[0].starts_with("error: ") && lines[0].contains("(line 4, column"), "{complaint}");
    assert_eq!(lines[1], "  FROM nowhere WHERE (;", "{complaint}");
    assert_eq!(lines[2].trim(), "^", "{complaint}");

    for arguments in [["-c", "SELECT no_such_column"], ["-c", ".tabels"], ["-c", "SET threads = 'many'"]] {
        let output = run(&arguments, EMPTY_INPUT);
        assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(1), ""), "{arguments:?}");
        assert!(stderr(&output).starts_with("error: "), "{}", stderr(&output));
    }
    assert!(stderr(&run(&["-c", ".tabels"], EMPTY_INPUT)).contains("did you mean .tables?"));
}

#[test]
fn errors_while_rows_come_are_reported_too() {
    let output = run(&["--format", "csv", "-c", &format!("{DIGITS} SELECT 10 / (x - 5) AS n FROM t")], EMPTY_INPUT);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("division by zero"), "{}", stderr(&output));
}

#[test]
fn the_time_is_the_last_word_on_a_failed_statement() {
    let output = run(&[], ".timer on\nSELECT nothing;");
    assert_eq!(output.status.code(), Some(1));
    let lines: Vec<String> = stderr(&output).lines().map(str::to_owned).collect();
    assert!(lines.len() > 1 && lines[lines.len() - 1].starts_with("Run Time: "), "{lines:?}");
}

#[test]
fn the_timer_prints_one_line_per_statement() {
    let output = run(&["--format", "csv"], ".timer on\nSELECT 1 AS a; SELECT 2 AS a;\n.timer off\nSELECT 3 AS a;");
    assert_eq!(stdout(&output), "a\n1\na\n2\na\n3\n");
    let lines: Vec<String> = stderr(&output).lines().map(str::to_owned).collect();
    assert_eq!(lines.len(), 2, "{lines:?}");
    for line in lines {
        let words: Vec<&str> = line.split(' ').collect();
        assert_eq!(
            (words[0], words[1], words[2], words[4], words[6]),
            ("Run", "Time:", "real", "user", "sys"),
            "{line}"
        );
        for seconds in [words[3], words[5], words[7]] {
            let (_, decimals) = seconds.split_once('.').expect("seconds have a decimal point");
            assert_eq!(decimals.len(), 3, "{line}");
            assert!(seconds.parse::<f64>().unwrap() < 60.0, "{line}");
        }
        assert_eq!(words.len(), 8, "{line}");
    }
}

#[test]
fn a_closed_pipe_ends_the_shell_quietly() {
    let sql = format!("{DIGITS} SELECT a.x FROM t a, t b, t c, t d, t e, t f");
    for format in ["csv", "json", "markdown"] {
        let mut child = start(&["--format", format, "-c", &sql], EMPTY_INPUT);
        let mut first = [0; 10];
        child.stdout.take().unwrap().read_exact(&mut first).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(0), ""), "{format}");
    }
}

#[test]
fn a_memory_limit_below_the_floor_is_refused() {
    let output = run(&["--memory-limit", "1MB", "-c", "SELECT 1"], EMPTY_INPUT);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("memory limit") && stderr(&output).contains("hint: "), "{}", stderr(&output));
    let output = run(&["--memory-limit", "1XB", "-c", "SELECT 1"], EMPTY_INPUT);
    assert_eq!(output.status.code(), Some(2), "a malformed command line");
}

#[test]
fn limits_of_the_command_line_are_the_databases() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    let show = "SHOW threads; SHOW temp_directory; SHOW memory_limit;";
    let arguments =
        ["--threads", "3", "--memory-limit", "1GiB", "--temp-directory", path, "--format", "csv", "-c", show];
    let text = text(&arguments, EMPTY_INPUT);
    assert!(text.contains("threads,3,") && text.contains(path) && text.contains("1.0 GiB"), "{text}");
}

#[test]
fn the_version_tells_limits_and_reasons() {
    assert_eq!(text(&["--version"], EMPTY_INPUT), format!("godwit {}\n", env!("CARGO_PKG_VERSION")));
    let verbose = text(&["--version", "--verbose", "--threads", "2"], EMPTY_INPUT);
    for part in ["memory_limit:", "80 % of", "threads:", " 2 ", "temp_directory:", "processor:"] {
        assert!(verbose.contains(part), "{part} in {verbose}");
    }
}

/// Returns a query that runs for minutes unless it is stopped.
fn endless_query() -> String {
    let tables = (0..12).map(|number| format!("t t{number}")).collect::<Vec<_>>().join(", ");
    format!("{DIGITS} SELECT sum(t0.x + t5.x + t11.x) AS s FROM {tables}")
}

#[test]
fn ctrl_c_cancels_and_a_script_ends_with_130() {
    let mut child = start(&["--format", "csv"], &format!("SELECT 1 AS n;\n{};\nSELECT 2 AS n;", endless_query()));
    let mut answers = BufReader::new(child.stdout.take().unwrap());
    let mut first = String::new();
    answers.read_line(&mut first).unwrap();
    std::thread::sleep(Duration::from_millis(500));
    let pressed = Instant::now();
    interrupt(&child);
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(130), "cancelled\n"));
    assert!(pressed.elapsed() < Duration::from_secs(5), "{:?}", pressed.elapsed());
    let mut rest = String::new();
    answers.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "1\n", "nothing runs after the cancelled statement");
}

#[test]
fn ctrl_c_while_nothing_runs_ends_a_script() {
    let mut child = godwit(&["--format", "csv"]).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    writeln!(stdin, "SELECT 1 AS n;").unwrap();
    let mut answer = [0; 4];
    child.stdout.as_mut().unwrap().read_exact(&mut answer).unwrap();
    // The rows are written a moment before the shell waits for its next line.
    std::thread::sleep(Duration::from_millis(300));
    interrupt(&child);
    assert_eq!(child.wait().unwrap().code(), Some(130));
    drop(stdin);
}

fn interrupt(child: &Child) {
    rustix::process::kill_process(rustix::process::Pid::from_child(child), rustix::process::Signal::INT).unwrap();
}

#[test]
fn the_demo_makes_its_data_once_and_runs_every_query() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    let demo = ["demo", "--scale", "0.01", "--directory", path, "--threads", "2"];
    let first = text(&demo, EMPTY_INPUT);
    assert!(first.contains("Making the TPC-H tables") && first.contains("22 of 22 queries"), "{first}");
    let rows = |query: &str| {
        let line = first.lines().find(|line| line.split_whitespace().next() == Some(query));
        line.and_then(|line| line.split_whitespace().nth(1)).map(str::to_owned)
    };
    assert_eq!(
        (rows("Q1").as_deref(), rows("Q6").as_deref(), rows("Q22").as_deref()),
        (Some("4"), Some("1"), Some("7"))
    );
    assert!(!text(&demo, EMPTY_INPUT).contains("Making"));

    let count = "SELECT count(*) AS n FROM region; SHOW TABLES;";
    let counted = text(&[path, "--format", "csv", "-c", count], EMPTY_INPUT);
    assert!(counted.starts_with("n\n5\n") && counted.contains("lineitem"), "{counted}");
}
