//! `cargo xtask soundness`: finds what tests that run once can't show.
//!
//! - *loom* runs code in which threads meet in every order in which they may, with all values that they may see. The
//!   models are in `xtask/models`, a workspace of its own.
//! - *Miri* interprets the unit tests of the crates with pointers of their own, and reports undefined behaviour: reads
//!   of freed memory, references that alias, unaligned or uninitialized values. It needs a nightly toolchain, which is
//!   installed by `rustup` if it is missing.
//!
//! `cargo xtask soundness loom` and `cargo xtask soundness miri` run one of them. Each has a target folder of its own.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// Modules with models; the product's unit tests beside them need no loom.
const MODELS: [&str; 3] = ["chains::", "pages::", "signals::"];
/// Preemptions per execution: two are enough for nearly all known bugs, three take seconds.
const PREEMPTIONS_MAX: &str = "3";

/// Crates whose unit tests Miri interprets. Tests that call into C, map files or take hours are ignored there, each with
/// its reason.
const INTERPRETED: [&str; 3] = ["godwit-encoding", "godwit-vector", "godwit-rows"];
/// Files are read and clocks asked; pages' addresses pass through integers, as pointers in rows are swizzled.
const MIRI_FLAGS: &str = "-Zmiri-disable-isolation -Zmiri-permissive-provenance";
/// The project builds for processors with instructions that Miri doesn't know.
const MIRI_TARGET: &str = "-C target-cpu=generic";

/// Runs both tools, or the one that is named.
pub(crate) fn run(root: &Path, tool: Option<&str>) -> ExitCode {
    let passes = match tool {
        None => loom(root) && miri(root),
        Some("loom") => loom(root),
        Some("miri") => miri(root),
        Some(other) => {
            eprintln!("there is no tool {other}; loom and miri are");
            false
        }
    };
    if passes { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn loom(root: &Path) -> bool {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(["test", "--release", "--"]).args(MODELS).current_dir(root.join("xtask/models"));
    command.env("RUSTFLAGS", "--cfg loom").env("LOOM_MAX_PREEMPTIONS", PREEMPTIONS_MAX);
    succeeds(command.env("CARGO_TARGET_DIR", target_of("loom")))
}

fn miri(root: &Path) -> bool {
    // A `cargo` that rustup started would pass its own toolchain on.
    let rustup = |arguments: &[&str]| {
        let mut command = Command::new("rustup");
        command
            .args(arguments)
            .current_dir(root)
            .env_remove("RUSTUP_TOOLCHAIN")
            .env_remove("RUSTC")
            .env_remove("CARGO");
        command
    };
    let is_installed = rustup(&["run", "nightly", "cargo", "miri", "--version"]).output();
    let install = ["toolchain", "install", "nightly", "--profile", "minimal", "--component", "miri,rust-src"];
    if !is_installed.is_ok_and(|output| output.status.success()) && !succeeds(&mut rustup(&install)) {
        return false;
    }
    let mut command = rustup(&["run", "nightly", "cargo", "miri", "test", "--lib"]);
    command.args(INTERPRETED.iter().flat_map(|package| ["-p", package]));
    command.env("MIRIFLAGS", MIRI_FLAGS).env("RUSTFLAGS", MIRI_TARGET).env("PROPTEST_CASES", "1");
    succeeds(command.env("CARGO_TARGET_DIR", target_of("miri")))
}

/// Folder of a tool beside the folder of this program's profile.
fn target_of(tool: &str) -> PathBuf {
    let program = env::current_exe().expect("the system knows where this program lies");
    program.ancestors().nth(2).expect("a program lies in a folder of the target folder").join(tool)
}

/// Runs a command to its end; says why if it can't be started.
fn succeeds(command: &mut Command) -> bool {
    match command.status() {
        Ok(status) => status.success(),
        Err(error) => {
            eprintln!("{} can't be run: {error}", command.get_program().display());
            false
        }
    }
}
