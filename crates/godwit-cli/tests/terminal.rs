//! The shell at a terminal: a pseudo-terminal of `script` from util-linux, into which the tests type.
#![cfg(target_os = "linux")]

use std::fs;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

const TIMEOUT: Duration = Duration::from_secs(60);

struct Terminal {
    shell: Child,
    keys: ChildStdin,
    screen: Arc<Mutex<String>>,
}

impl Terminal {
    /// Starts a shell that waits for statements.
    fn new(home: &Path, arguments: &str, variables: &[(&str, &str)]) -> Self {
        let terminal = Self::start(home, arguments, variables);
        terminal.wait_for("godwit> ");
        terminal
    }

    /// Starts the program in a window of 80 columns, with its own home folder.
    fn start(home: &Path, arguments: &str, variables: &[(&str, &str)]) -> Self {
        let command = format!("stty cols 80 rows 24; exec {} {arguments}", env!("CARGO_BIN_EXE_godwit"));
        let mut shell = Command::new("script")
            .args(["-qec", &command, "/dev/null"])
            .current_dir(home)
            .env("HOME", home)
            .env("TERM", "xterm-256color")
            .env("SHELL", "/bin/sh")
            .env_remove("NO_COLOR")
            .env_remove("PAGER")
            .env_remove("XDG_CONFIG_HOME")
            .env_remove("XDG_STATE_HOME")
            .envs(variables.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("there is script of util-linux");
        let keys = shell.stdin.take().expect("it is a pipe");
        let mut output = shell.stdout.take().expect("it is a pipe");
        let screen = Arc::new(Mutex::new(String::new()));
        let shown = screen.clone();
        thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = output.read(&mut bytes) {
                shown.lock().unwrap().push_str(&String::from_utf8_lossy(&bytes[..count]));
            }
        });
        Self { shell, keys, screen }
    }

    fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
        self.keys.flush().unwrap();
    }

    fn screen(&self) -> String {
        self.screen.lock().unwrap().clone()
    }

    fn wait_for(&self, text: &str) {
        let started = Instant::now();
        while !self.screen().contains(text) {
            assert!(started.elapsed() < TIMEOUT, "{text:?} doesn't appear in {:?}", self.screen());
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Returns the exit status of the shell, which is about to end, and its output.
    fn ended(mut self) -> (Option<i32>, String) {
        let started = Instant::now();
        loop {
            if let Some(status) = self.shell.try_wait().unwrap() {
                return (status.code(), self.screen());
            }
            assert!(started.elapsed() < TIMEOUT, "the shell doesn't end: {:?}", self.screen());
            thread::sleep(Duration::from_millis(20));
        }
    }
}

#[test]
fn tab_completes_and_enter_goes_on_in_a_line_with_a_prompt() {
    let home = tempfile::tempdir().unwrap();
    let mut terminal = Terminal::new(home.path(), "", &[]);
    terminal.press("CREATE TABLE measurements (temperature INT);\r");
    terminal.press("SELE\t 6 * 7 AS answer,\r");
    terminal.wait_for("   ...> ");
    terminal.press("count(tempera\t) AS n FROM measu\t;\r");
    terminal.wait_for("42 │");
    // The input is one entry of the history, with its lines.
    terminal.press("\x1b[A\r");
    terminal.press("quit\r");
    let (status, screen) = terminal.ended();
    assert_eq!(status, Some(0));
    assert_eq!(screen.matches("1 row").count(), 2, "{screen}");
    let history = fs::read_to_string(home.path().join(".local/state/godwit/history")).unwrap();
    assert!(history.contains("SELECT 6 * 7 AS answer,\\n\tcount(temperature) AS n FROM measurements;"), "{history}");
}

#[test]
fn the_demo_draws_a_bar_below_its_lines() {
    let home = tempfile::tempdir().unwrap();
    let (status, screen) = Terminal::start(home.path(), "demo --scale 0.001 --directory data", &[]).ended();
    assert_eq!(status, Some(0), "{screen}");
    for part in ["   0 %  query 1 of 22", "  95 %  query 22 of 22", "\r\x1b[KQ22 "] {
        assert!(screen.contains(part), "{screen}");
    }
}

#[test]
fn keys_take_a_line_break_and_its_prompt_as_one() {
    let home = tempfile::tempdir().unwrap();
    let mut terminal = Terminal::new(home.path(), "", &[]);
    // Home moves to just after the prompt.
    terminal.press("SELECT 10 +\r7 AS home\x1b[H700\x1b[F;\r");
    terminal.wait_for("7017 │");
    // Backspace and Delete join lines.
    terminal.press("SELECT 8\r\x7f642 AS backspace;\r");
    terminal.wait_for("8642 │");
    terminal.press("SELECT 9\r753 AS delete\x1b[A\x1b[F\x1b[3~\x1b[F;\r");
    terminal.wait_for("9753 │");
    // Left and right cross the prompt in one step.
    terminal.press("SELECT 12 +\r34 AS arrows\x1b[H\x1b[D 500 +\x1b[C1\x1b[F;\r");
    terminal.wait_for("646 │");
    terminal.press("quit\r");
    let (status, screen) = terminal.ended();
    assert_eq!(status, Some(0), "{screen}");
}

#[test]
fn what_is_typed_ahead_or_pasted_runs() {
    let home = tempfile::tempdir().unwrap();
    let mut terminal = Terminal::new(home.path(), "", &[("NO_COLOR", "1")]);
    terminal.press("SELECT 11 * 1001 AS a;\rSELECT 22 * 1001 AS b;\rSELECT 33 *\r1001 AS c;\r");
    for number in ["11011", "22022", "33033"] {
        terminal.wait_for(number);
    }
    terminal.press("\x1b[200~SELECT 44 * 1001 AS d;\nSELECT\n55 * 1001 AS e; SELECT 66 * 1001 AS f;\n\x1b[201~\r");
    for number in ["44044", "55055", "66066"] {
        terminal.wait_for(number);
    }
    terminal.press("SELECT 1; SELECT nope; SELECT 2; SELECT 3;\r");
    terminal.wait_for("2 more statements were not run");
    terminal.press(".quit\r");
    let (status, screen) = terminal.ended();
    assert_eq!(status, Some(0));
    assert!(!screen.contains("\x1b[32m") && !screen.contains("\x1b[2m"), "{screen:?}");
}

#[test]
fn colours_and_hints_are_shown_while_typing() {
    let home = tempfile::tempdir().unwrap();
    let mut terminal = Terminal::new(home.path(), "", &[]);
    terminal.press("SELECT 'x' AS text, 12 -- why\r;\r");
    for part in ["\x1b[32mSELECT\x1b[0m", "\x1b[33m'x'\x1b[0m", "\x1b[35m12\x1b[0m", "\x1b[90m-- why\x1b[0m"] {
        terminal.wait_for(part);
    }
    // The right arrow accepts the last history entry with this prefix.
    terminal.wait_for("1 row");
    terminal.press("SELECT 'x");
    terminal.wait_for("\x1b[90m' AS text, 12 -- why …\x1b[0m");
    terminal.press("\x1b[C\r");
    let started = Instant::now();
    while terminal.screen().matches("1 row").count() < 2 {
        assert!(started.elapsed() < TIMEOUT, "{:?}", terminal.screen());
        thread::sleep(Duration::from_millis(20));
    }
    terminal.press("SELECT (1;\r");
    terminal.wait_for("\x1b[1;31m(\x1b[0m");
    terminal.wait_for("error: ");
    terminal.press("exit;\r");
    assert_eq!(terminal.ended().0, Some(0));
}

#[test]
fn the_init_file_runs_before_the_first_prompt() {
    let home = tempfile::tempdir().unwrap();
    fs::create_dir_all(home.path().join(".config/godwit")).unwrap();
    let init = ".mode csv\nCREATE TABLE from_init (x INT);\nSELECT nope;\nSELECT 'not reached';\n";
    fs::write(home.path().join(".config/godwit/init.sql"), init).unwrap();
    let mut terminal = Terminal::new(home.path(), "", &[]);
    terminal.press(".tables\rquit\r");
    let (status, screen) = terminal.ended();
    assert_eq!(status, Some(0));
    assert!(screen.contains("from_init,table") && screen.contains("init.sql: error: "), "{screen}");
    let mut terminal = Terminal::new(home.path(), "--no-init", &[]);
    terminal.press(".tables\rquit\r");
    assert!(!terminal.ended().1.contains("from_init"));
}

#[test]
fn long_results_go_through_the_pager() {
    let home = tempfile::tempdir().unwrap();
    let pager = [("PAGER", "sed s/^/paged:/")];
    let mut terminal = Terminal::new(home.path(), "--format csv", &pager);
    terminal.press("FROM range(5) t(few);\rFROM range(50000) t(many);\r.pager off\rFROM range(50) t(more);\r");
    terminal.wait_for("paged:49999");
    // The terminal would echo keys between the rows.
    terminal.wait_for("\n49\r\n");
    terminal.press(
        "SELECT 'behind';\r.pager head -n 3\rFROM range(900000) t(lots) ORDER BY lots;\rSELECT 'the end';\rquit\r",
    );
    let (status, screen) = terminal.ended();
    assert_eq!(status, Some(0));
    let ends = format!("{:?} … {:?}", &screen[..2000.min(screen.len())], &screen[screen.len().saturating_sub(2000)..]);
    for part in ["\nfew\r\n0\r\n", "paged:many", "\nmore\r\n0\r\n", "\nlots\r\n0\r\n1\r\n", "the end\r\n"] {
        assert!(screen.contains(part), "{part:?} isn't in {ends}");
    }
    assert!(!screen.contains("899999"), "{ends}");
}
