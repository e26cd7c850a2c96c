//! Pipes, links, devices and bad files, as users of the built shell encounter them.
#![cfg(target_os = "linux")]

use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

/// Returns a shell command that runs a script in a folder.
fn shell(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_godwit"));
    command.current_dir(folder).args(["--format", "csv"]).args(arguments);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn run(folder: &Path, arguments: &[&str]) -> Output {
    shell(folder, arguments).output().expect("the shell was built")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// Returns the output of a script that succeeds.
fn ok(folder: &Path, arguments: &[&str]) -> String {
    let output = run(folder, arguments);
    assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
    text(&output.stdout)
}

/// Returns the error message of a script that fails.
fn complaint(folder: &Path, arguments: &[&str]) -> String {
    let output = run(folder, arguments);
    assert_eq!(output.status.code(), Some(1), "{arguments:?}: {}", text(&output.stdout));
    text(&output.stderr)
}

fn names_in(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Runs a statement whose standard input is a pipe with the content of a file.
fn piped(folder: &Path, file: &str, sql: &str) -> Output {
    let mut cat = Command::new("cat").arg(folder.join(file)).stdout(Stdio::piped()).spawn().expect("there is cat");
    let input = cat.stdout.take().expect("it is a pipe");
    let output = shell(folder, &["-c", sql]).stdin(input).output().expect("the shell was built");
    cat.wait().unwrap();
    output
}

/// Row counts of a text file larger than the sample, and of a small one.
const LARGE: &str = "200000";
const SMALL: &str = "3";

#[test]
fn pipes_are_read_as_a_whole() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for (file, function) in [("x.csv", "read_csv"), ("x.json", "read_json"), ("x.csv.gz", "read_csv")] {
        let options = if file.ends_with("gz") { ", compression = 'gzip'" } else { "" };
        for rows in [LARGE, SMALL] {
            ok(
                folder,
                &["-c", &format!("COPY (SELECT i AS n, 'text ' || i AS t FROM range({rows}) r(i)) TO '{file}'")],
            );
            let count = rows.parse::<u64>().unwrap();
            let expected = format!("{rows},{}\n", count * (count - 1) / 2);
            let of_pipe = format!("SELECT count(*), sum(n) FROM {function}('/dev/stdin'{options})");
            let output = piped(folder, file, &of_pipe);
            assert!(text(&output.stdout).ends_with(&expected), "{file}, {rows}: {}", text(&output.stderr));
            // A file as standard input is a file.
            let from_file = File::open(folder.join(file)).unwrap();
            let twice = format!(
                "SELECT count(*), sum(a.n) FROM {function}('/dev/stdin'{options}) a \
                JOIN {function}('/dev/stdin'{options}) b USING (n)"
            );
            let output = shell(folder, &["-c", &twice]).stdin(from_file).output().unwrap();
            assert!(text(&output.stdout).ends_with(&expected), "{file}, {rows}: {}", text(&output.stderr));
        }
    }
    ok(folder, &["-c", "COPY (SELECT i AS n, 'a' AS t FROM range(200000) r(i)) TO 'x.csv'"]);
    let load =
        "CREATE TABLE t (n BIGINT, t VARCHAR); COPY t FROM '/dev/stdin' (FORMAT csv); SELECT count(*), sum(n) FROM t";
    assert!(text(&piped(folder, "x.csv", load).stdout).ends_with("200000,19999900000\n"));
}

#[test]
fn a_pipe_is_read_once() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("x.csv"), "n,t\n1,a\n2,b\n").unwrap();
    for sql in [
        "SELECT count(*) FROM read_csv('/dev/stdin') a JOIN read_csv('/dev/stdin') b USING (n)",
        "SELECT count(*) FROM read_csv('/dev/stdin') a, read_csv('/dev/fd/0') b",
    ] {
        let output = piped(folder, "x.csv", sql);
        assert_eq!(output.status.code(), Some(1), "{sql}: {}", text(&output.stdout));
        let complaint = text(&output.stderr);
        assert!(complaint.contains("is read already") && complaint.contains("hint: "), "{sql}: {complaint}");
    }
    // Planning alone has read the beginning, which isn't lost. After execution there is no more.
    for before in ["DESCRIBE FROM read_csv('/dev/stdin')", "EXPLAIN SELECT sum(n) FROM read_csv('/dev/stdin')"] {
        let script = format!("{before}; PREPARE p AS SELECT sum(n) FROM read_csv('/dev/stdin'); EXECUTE p; EXECUTE p");
        let output = piped(folder, "x.csv", &script);
        assert!(text(&output.stdout).ends_with("sum(n)\n3\n"), "{before}: {}", text(&output.stderr));
        assert_eq!(output.status.code(), Some(1), "{before}: {}", text(&output.stdout));
        let complaint = text(&output.stderr);
        assert!(complaint.contains("is read already") || complaint.contains("is empty"), "{before}: {complaint}");
    }
    let output = piped(folder, "x.csv", "FROM read_parquet('/dev/stdin')");
    assert!(text(&output.stderr).contains("is a pipe or a device"), "{}", text(&output.stderr));
}

#[test]
fn named_pipes_are_files_by_their_endings() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let pipe = folder.join("pipe.csv");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    ok(folder, &["-c", "COPY (SELECT i AS n, 'a' AS t FROM range(300000) r(i)) TO 'x.csv'"]);
    for sql in ["SELECT count(*), sum(n) FROM 'pipe.csv'", "SELECT count(*), sum(n) FROM read_csv('pipe.csv')"] {
        let mut writer = Command::new("sh").args(["-c", "cat x.csv > pipe.csv"]).current_dir(folder).spawn().unwrap();
        assert!(ok(folder, &["-c", sql]).ends_with("300000,44999850000\n"));
        assert!(writer.wait().unwrap().success());
    }
    // Two shells, one at each end.
    let mut writer = shell(folder, &["-c", "COPY (SELECT 7 AS n) TO 'pipe.csv'"]).spawn().unwrap();
    assert_eq!(ok(folder, &["-c", "FROM 'pipe.csv'"]), "n\n7\n");
    assert!(writer.wait().unwrap().success());
    assert_eq!(names_in(folder), ["pipe.csv", "x.csv"]);
}

#[test]
fn standard_output_is_written_in_place() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let copy = "SELECT 'before' AS x; COPY (SELECT 1 AS a) TO '/dev/stdout' (FORMAT csv); SELECT 'behind' AS x";
    let expected = "x\nbefore\na\n1\nx\nbehind\n";
    assert_eq!(ok(folder, &["-c", copy]), expected);
    let out = File::create(folder.join("out")).unwrap();
    assert!(shell(folder, &["-c", copy]).stdout(out).status().unwrap().success());
    assert_eq!(fs::read_to_string(folder.join("out")).unwrap(), expected);
    assert!(fs::symlink_metadata("/dev/stdout").unwrap().is_symlink());
    assert_eq!(names_in(folder), ["out"]);
    symlink("out", folder.join("link.csv")).unwrap();
    ok(folder, &["-c", "COPY (SELECT 2 AS b) TO 'link.csv'"]);
    assert_eq!(fs::read_to_string(folder.join("out")).unwrap(), "b\n2\n");
    assert!(fs::symlink_metadata(folder.join("link.csv")).unwrap().is_symlink());
}

#[test]
fn the_files_of_an_open_database_are_no_targets() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    ok(folder, &["x.godwit", "-c", "CREATE TABLE t AS SELECT 42 AS n"]);
    ok(folder, &["y.godwit", "-c", "CREATE TABLE t AS SELECT 43 AS n"]);
    symlink("y.godwit", folder.join("link")).unwrap();
    for target in ["x.godwit", "x.godwit.wal", "./y.godwit", "link"] {
        let sql = format!("ATTACH 'y.godwit' AS other; COPY t TO '{target}' (FORMAT csv)");
        let complaint = complaint(folder, &["x.godwit", "-c", &sql]);
        assert!(complaint.contains("belongs to the database"), "{target}: {complaint}");
    }
    assert_eq!(ok(folder, &["x.godwit", "-c", "FROM t"]), "n\n42\n");
    assert_eq!(ok(folder, &["y.godwit", "-c", "FROM t"]), "n\n43\n");
}

const ENDLESS: &str = "COPY (SELECT i, 'text ' || i AS t FROM range(100000000000) r(i)) TO 'endless.csv'";

/// Reads the rows of a first statement, `SELECT 'ready' AS x`: on a busy machine, a process may start late.
fn wait_until_ready(child: &mut Child) {
    let mut rows = [0; "x\nready\n".len()];
    child.stdout.as_mut().unwrap().read_exact(&mut rows).unwrap();
    assert_eq!(text(&rows), "x\nready\n");
}

/// Starts an endless COPY, and lets it write for a moment.
fn start_copy(folder: &Path) -> Child {
    let script = format!("SELECT 'ready' AS x; {ENDLESS}; SELECT 'never' AS x");
    let mut child = shell(folder, &["-c", &script]).spawn().unwrap();
    wait_until_ready(&mut child);
    thread::sleep(Duration::from_millis(500));
    child
}

/// True if this process, and so those that it starts, ignores SIGHUP.
fn ignores_hangup() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    ignored.and_then(|signals| u64::from_str_radix(signals.trim(), 16).ok()).is_some_and(|signals| signals & 1 == 1)
}

#[test]
fn nothing_is_left_of_a_copy_that_a_signal_ended() {
    let folder = tempfile::tempdir().unwrap();
    // Who runs the tests under `nohup` has the shell ignore the signal, too: the statement would go on and fill the disk.
    let hangup = (!ignores_hangup()).then_some((Signal::HUP, Some(129)));
    for (signal, status) in [(Signal::TERM, Some(143)), (Signal::KILL, None)].into_iter().chain(hangup) {
        let child = start_copy(folder.path());
        kill_process(Pid::from_child(&child), signal).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), status, "{signal:?}: {}", text(&output.stderr));
        assert_eq!(text(&output.stdout), "");
        assert!(names_in(folder.path()).is_empty(), "{signal:?}: {:?}", names_in(folder.path()));
    }
    // Nothing is running: the shell waits for statements. Its input must stay open until it has ended.
    let mut idle = shell(folder.path(), &[]).stdin(Stdio::piped()).spawn().unwrap();
    let mut input = idle.stdin.take().unwrap();
    input.write_all(b"SELECT 'ready' AS x;\n").unwrap();
    wait_until_ready(&mut idle);
    kill_process(Pid::from_child(&idle), Signal::TERM).unwrap();
    assert_eq!(idle.wait().unwrap().code(), Some(143));
}

#[test]
fn who_ignores_a_signal_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let godwit = env!("CARGO_BIN_EXE_godwit");
    let script =
        format!("trap '' HUP; exec {godwit} -c \"SELECT max(a.i * b.i) FROM range(30000) a(i), range(30000) b(i)\"");
    let mut command = Command::new("sh");
    let child = command
        .current_dir(folder.path())
        .args(["-c", &script])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    thread::sleep(Duration::from_millis(300));
    kill_process(Pid::from_child(&child), Signal::HUP).unwrap();
    thread::sleep(Duration::from_millis(300));
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    let status = child.wait_with_output().unwrap().status;
    assert!(status.code() != Some(129), "{status}");
}

#[test]
fn one_bad_file_leaves_the_others_of_its_folder_usable() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::create_dir_all(folder.join("data/differ")).unwrap();
    let copies = "COPY (SELECT 1 AS a) TO 'data/good.parquet'; COPY (SELECT 1 AS a) TO 'data/differ/1.parquet'; \
                  COPY (SELECT 1 AS b) TO 'data/differ/2.parquet'";
    ok(folder, &["-c", copies]);
    fs::write(folder.join("data/empty.parquet"), "").unwrap();
    assert_eq!(ok(folder, &["data", "-c", "FROM good"]), "a\n1\n");
    let names = ok(folder, &["data", "-c", "SHOW TABLES"]);
    assert!(["good", "empty", "differ"].iter().all(|name| names.contains(name)), "{names}");
    for (sql, expected) in [
        ("SELECT count(*) FROM empty", "empty.parquet is not a Parquet file"),
        ("DESCRIBE empty", "empty.parquet is not a Parquet file"),
        ("SELECT a FROM differ", "only the first has a column a"),
    ] {
        let complaint = complaint(folder, &["data", "-c", sql]);
        assert!(complaint.contains(expected), "{sql}: {complaint}");
    }
}

#[test]
fn secrets_are_not_repeated() {
    let folder = tempfile::tempdir().unwrap();
    let url = "s3://key:secret@bucket/x.parquet?token=secret";
    for sql in [
        format!("FROM '{url}'"),
        format!("SELECT nope FROM read_csv('{url}')"),
        format!("COPY (SELECT 1 AS a) TO '{url}'"),
        format!("ATTACH '{url}' AS a"),
        format!("EXPORT DATABASE '{url}'"),
        format!("SELECT * FROM t('{url}') WHERE x"),
    ] {
        let complaint = complaint(folder.path(), &["-c", &sql]);
        assert!(!complaint.contains("secret"), "{sql}: {complaint}");
    }
    assert!(names_in(folder.path()).is_empty());
}

#[test]
fn a_full_standard_error_is_no_crash() {
    let folder = tempfile::tempdir().unwrap();
    for (arguments, status) in [(vec!["-c", "SELECT nope"], 1), (vec!["-f", "no.sql"], 1), (vec!["no/x.godwit"], 1)] {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let mut command = shell(folder.path(), &arguments);
        assert_eq!(command.stderr(full).status().unwrap().code(), Some(status), "{arguments:?}");
    }
}
