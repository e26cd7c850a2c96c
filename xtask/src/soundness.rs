//! `cargo xtask soundness`: finds what tests that run once can't show.
//!
//! Code that several threads run without a lock is tried in all orders in which they may meet, and with all values that
//! they may see, by loom. The models are in `xtask/models`, a workspace of its own, and are built into a target folder of
//! their own.

use std::env;
use std::path::Path;
use std::process::{Command, ExitCode};

/// Modules with models; the product's unit tests beside them need no loom.
const MODELS: [&str; 2] = ["chains::", "pages::"];
/// Preemptions per execution: two are enough for nearly all known bugs, three take seconds.
const PREEMPTIONS_MAX: &str = "3";

pub(crate) fn run(root: &Path) -> ExitCode {
    let program = env::current_exe().expect("the system knows where this program lies");
    let target = program.ancestors().nth(2).expect("a program lies in a folder of the target folder").join("loom");
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(["test", "--release", "--"]).args(MODELS).current_dir(root.join("xtask/models"));
    command.env("RUSTFLAGS", "--cfg loom").env("LOOM_MAX_PREEMPTIONS", PREEMPTIONS_MAX);
    match command.env("CARGO_TARGET_DIR", target).status() {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("cargo can't be run: {error}");
            ExitCode::FAILURE
        }
    }
}
