//! The developers' door: `cargo xtask tidy` checks what the compiler doesn't.
#![forbid(unsafe_code)]

mod tidy;

use std::process::ExitCode;

const USAGE: &str = "usage: cargo xtask tidy    check crate order, unsafe code, file sizes, and paths named in the documents";

fn main() -> ExitCode {
    match std::env::args().nth(1).as_deref() {
        Some("tidy") => tidy::run(),
        _ => {
            eprintln!("{USAGE}");
            ExitCode::from(2)
        }
    }
}
