//! `cargo xtask test`: the Rust tests; the TPC-H queries, random queries, functions and the benchmark suites' queries,
//! compared with DuckDB; damaged files; another S3 implementation; pages of memory traces in a browser, if there is
//! one; the benchmark driver on tiny data.
//!
//! All but the first need Python and, the first time, a connection to fetch the pinned packages. They go into a virtual
//! environment next to the build, and so does the data.

use std::env;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

const REQUIREMENTS: &str = "tests/duckdb/requirements.txt";
const COMPARE: &str = "tests/duckdb/compare_tpch.py";
const COMPARE_BUDGETS: &str = "tests/duckdb/compare_budgets.py";
const FUZZ_QUERIES: &str = "tests/duckdb/fuzz_queries.py";
/// Enough to cover every form of query; the same in each run: only changes to the code can make a run fail.
const FUZZED_QUERIES: &str = "1000";
const COMPARE_FUNCTIONS: &str = "tests/duckdb/compare_functions.py";
/// Calls of each form of a function; the script's default takes minutes.
const FUNCTION_CALLS: &str = "2";
const OBJECT_STORES: &str = "tests/objects/s3_round_trip.py";
const TRACE_PAGES: &str = "tests/trace/report_page.py";
const DAMAGED_FILES: &str = "tests/damage/damaged_files.py";
/// Files per kind of damage; enough to cover every form of it, the same in each run.
const DAMAGED_FILES_EACH: &str = "150";
/// Benchmark programs, with their arguments.
const BENCHES: [&[&str]; 4] = [
    &["bench/run.py", "all", "--engines", "godwit,duckdb"],
    &["bench/cliff.py", "--engines", "godwit,duckdb"],
    &["bench/compaction.py", "--figures", "10,12,16"],
    &["bench/strategies.py", "job-like", "--engine", "godwit-native", "--strategies", "none,binary,smart"],
];

/// Large enough for every operator to see many chunks, small enough for a run to take seconds.
const SCALE: &str = "0.1";

/// The result of a step: a remark, or what went wrong.
type Outcome = Result<String, String>;

pub(crate) fn run(root: &Path) -> ExitCode {
    let build = build_folder();
    let steps: [(&str, &dyn Fn() -> Outcome); 9] = [
        ("Rust tests", &|| rust_tests(root)),
        ("TPC-H against DuckDB", &|| compare_with_duckdb(root, &build)),
        ("random queries", &|| fuzz_queries(root, &build)),
        ("functions", &|| compare_functions(root, &build)),
        ("damaged files", &|| damaged_files(root, &build)),
        ("object stores", &|| object_stores(root, &build)),
        ("pages of traces", &|| trace_pages(root, &build)),
        ("suites under budgets", &|| compare_budgets(root, &build)),
        ("suites, smoke", &|| smoke_suites(root, &build)),
    ];
    let mut summary = Vec::new();
    let mut all_passed = true;
    for (name, step) in steps {
        println!("\n== {name}");
        let started = Instant::now();
        let outcome = step();
        all_passed &= outcome.is_ok();
        let (verdict, remark) = match outcome {
            Ok(remark) => ("passed", remark),
            Err(remark) => ("FAILED", remark),
        };
        summary.push(format!("{verdict}  {name:<22} {:>6.0} s  {remark}", started.elapsed().as_secs_f64()));
    }
    println!("\n{}", summary.join("\n"));
    if all_passed { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The folder into which this program was built; the shell is built there, too.
fn build_folder() -> PathBuf {
    let program = env::current_exe().expect("the system knows where this program lies");
    program.parent().expect("a program lies in a folder").to_owned()
}

fn rust_tests(root: &Path) -> Outcome {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["test", "--release", "--workspace", "--no-fail-fast", "--quiet"]).current_dir(root);
    let mut counts = TestCounts::default();
    let passed = run_echoing(&mut command, |line| counts.add(line))?;
    if passed { Ok(counts.to_string()) } else { Err(counts.to_string()) }
}

/// Sums over the result lines of test programs.
#[derive(Default)]
struct TestCounts {
    passed: usize,
    failed: usize,
}

impl TestCounts {
    /// Adds a line such as "test result: ok. 12 passed; 0 failed; 0 ignored; ...".
    fn add(&mut self, line: &str) {
        let Some(counts) = line.strip_prefix("test result:").and_then(|rest| rest.split_once(". ")) else { return };
        for part in counts.1.split(';') {
            match part.trim().split_once(' ') {
                Some((count, "passed")) => self.passed += count.parse().unwrap_or(0),
                Some((count, "failed")) => self.failed += count.parse().unwrap_or(0),
                _ => {}
            }
        }
    }
}

impl std::fmt::Display for TestCounts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} passed, {} failed", self.passed, self.failed)
    }
}

fn compare_with_duckdb(root: &Path, build: &Path) -> Outcome {
    let data = build.join(format!("test-tpch-sf{SCALE}"));
    let mut demo = Command::new(shell(build));
    succeed(demo.args(["demo", "--scale", SCALE, "--directory"]).arg(&data).stdout(Stdio::null()))?;
    run_script(python(root, build)?.arg(root.join(COMPARE)).arg(shell(build)).arg(&data))
}

fn fuzz_queries(root: &Path, build: &Path) -> Outcome {
    let mut fuzz = python(root, build)?;
    run_script(fuzz.arg(root.join(FUZZ_QUERIES)).arg(shell(build)).args(["--queries", FUZZED_QUERIES]))
}

fn compare_functions(root: &Path, build: &Path) -> Outcome {
    let mut compare = python(root, build)?;
    run_script(compare.arg(root.join(COMPARE_FUNCTIONS)).arg(shell(build)).args(["--calls", FUNCTION_CALLS]))
}

fn damaged_files(root: &Path, build: &Path) -> Outcome {
    let mut damaged = python(root, build)?;
    run_script(damaged.arg(root.join(DAMAGED_FILES)).arg(shell(build)).args(["--files", DAMAGED_FILES_EACH]))
}

fn object_stores(root: &Path, build: &Path) -> Outcome {
    run_script(python(root, build)?.arg(root.join(OBJECT_STORES)).arg(shell(build)))
}

fn trace_pages(root: &Path, build: &Path) -> Outcome {
    run_script(python(root, build)?.arg(root.join(TRACE_PAGES)).arg(shell(build)))
}

fn compare_budgets(root: &Path, build: &Path) -> Outcome {
    run_script(python(root, build)?.arg(root.join(COMPARE_BUDGETS)).arg(shell(build)).arg(suites_data(build)))
}

fn smoke_suites(root: &Path, build: &Path) -> Outcome {
    for words in BENCHES {
        let mut command = python(root, build)?;
        command.current_dir(root).args(words).arg("--smoke");
        command.arg("--godwit").arg(shell(build)).arg("--data").arg(suites_data(build));
        run_script(command.arg("--output").arg(build.join("test-bench")))?;
    }
    Ok("all ran".into())
}

/// The shell, which the Rust tests have built because its own tests run it.
fn shell(build: &Path) -> PathBuf {
    build.join("godwit")
}

/// The folder for the suites' small test data.
fn suites_data(build: &Path) -> PathBuf {
    build.join("test-suites")
}

/// Returns a command for Python with the required packages.
fn python(root: &Path, build: &Path) -> Result<Command, String> {
    python_environment(root, &build.join("test-python")).map(Command::new)
}

/// Runs a script whose last line is its summary.
fn run_script(command: &mut Command) -> Outcome {
    let mut last = String::new();
    let passed = run_echoing(command, |line| last = line.to_owned())?;
    if passed { Ok(last) } else { Err(last) }
}

/// Returns the Python of an environment with exactly the required packages; rebuilt when the requirements change.
fn python_environment(root: &Path, folder: &Path) -> Result<PathBuf, String> {
    let required = fs::read_to_string(root.join(REQUIREMENTS)).map_err(|error| format!("{REQUIREMENTS}: {error}"))?;
    let python = folder.join("bin/python");
    let stamp = folder.join("requirements.txt");
    if fs::read_to_string(&stamp).is_ok_and(|installed| installed == required) {
        return Ok(python);
    }
    succeed(Command::new("python3").args(["-m", "venv", "--clear"]).arg(folder))?;
    let requirements = root.join(REQUIREMENTS);
    succeed(Command::new(&python).args(["-m", "pip", "install", "--quiet", "--requirement"]).arg(requirements))?;
    fs::write(&stamp, required).map_err(|error| format!("{}: {error}", stamp.display()))?;
    Ok(python)
}

fn succeed(command: &mut Command) -> Result<(), String> {
    let program = command.get_program().to_string_lossy().into_owned();
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{program}: {status}")),
        Err(error) => Err(format!("{program}: {error}")),
    }
}

/// Runs a command, shows each line that it prints and passes it to `line_seen`; returns whether it succeeded.
fn run_echoing(command: &mut Command, mut line_seen: impl FnMut(&str)) -> Result<bool, String> {
    let mut child = command.stdout(Stdio::piped()).spawn().map_err(|error| error.to_string())?;
    let output = child.stdout.take().expect("standard output is a pipe");
    for line in BufReader::new(output).lines().map_while(Result::ok) {
        println!("{line}");
        line_seen(&line);
    }
    child.wait().map(|status| status.success()).map_err(|error| error.to_string())
}
