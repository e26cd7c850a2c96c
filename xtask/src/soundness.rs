//! `cargo xtask soundness`: finds errors that a single run of a test may miss.
//!
//! loom tries lock-free code with all interleavings of its threads, and with all values that they may see. The
//! models are in `xtask/models`, a separate workspace, and are built into a separate target folder.

use std::env;
use std::path::Path;
use std::process::{Command, ExitCode};

/// Modules with models; the product's unit tests next to them don't need loom.
const MODELS: [&str; 2] = ["chains::", "pages::"];
/// Maximum preemptions per execution: two find nearly all known bugs, three take seconds.
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
