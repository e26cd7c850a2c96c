//! Links the program to a fixed address where a user of it waits for relocations, and equal functions once.

use std::env;

/// A position-independent program of this size has 70,000 relocations, one for each pointer in a constant table. The
/// dynamic loader writes them at each start, and so touches a megabyte of pages: 1.6 of the 4.2 ms that `SELECT 1` takes in
/// a new process. At a fixed address they are known when the program is linked, which also saves 1.4 MB of file.
///
/// What is given up is the random address of the program's own code and constants; heap, stacks and libraries keep theirs.
/// Who needs it, as hardened distributions do, sets `GODWIT_PIE=1` for the build.
fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=GODWIT_PIE");
    let target = |part: &str| env::var(format!("CARGO_CFG_TARGET_{part}")).unwrap_or_default();
    let takes_the_option = target("OS") == "linux" && target("ENV") == "gnu";
    if takes_the_option && env::var("GODWIT_PIE").is_err() {
        println!("cargo::rustc-link-arg-bins=-no-pie");
    }
    // The linker that comes with Rust for this target can do it: 1.3 % of the file. Nothing here compares addresses of
    // functions, which Rust doesn't promise to differ.
    if takes_the_option && target("ARCH") == "x86_64" {
        println!("cargo::rustc-link-arg-bins=-Wl,--icf=all");
    }
}
