//! Development tasks: `cargo xtask test` runs all tests, `cargo xtask tidy` checks what the compiler doesn't, and
//! `cargo xtask soundness` runs loom and Miri.
#![forbid(unsafe_code)]

mod soundness;
mod test;
mod tidy;

use std::path::Path;
use std::process::ExitCode;

const USAGE: &str = "usage: cargo xtask COMMAND
  test       run the Rust tests, then compare the TPC-H results with DuckDB's
  tidy       check crate order, unsafe code, file sizes, and paths named in the documents
  soundness [loom | miri]
             run the models of lock-free code, and the unit tests of crates with unsafe code in an interpreter";

fn main() -> ExitCode {
    // Determined at run time: a binary that was built in another copy of the project still checks this one.
    let manifest = std::env::var("CARGO_MANIFEST_DIR").unwrap_or_else(|_| env!("CARGO_MANIFEST_DIR").to_owned());
    let root = Path::new(&manifest).parent().expect("xtask lies in the workspace");
    match std::env::args().nth(1).as_deref() {
        Some("test") => test::run(root),
        Some("soundness") => soundness::run(root, std::env::args().nth(2).as_deref()),
        Some("tidy") => tidy::run(root),
        _ => {
            eprintln!("{USAGE}");
            ExitCode::from(2)
        }
    }
}
