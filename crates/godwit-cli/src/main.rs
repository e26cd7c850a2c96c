//! The shell `godwit`: SQL from a terminal, from files or from other programs; and its subcommands.
#![forbid(unsafe_code)]

mod arguments;
mod bench;
mod check;
mod demo;
mod interrupt;
mod output;
mod progress;
mod shell;
mod terminal;
mod timer;
mod tpch;
mod trace;
mod version;

use std::panic;
use std::process::ExitCode;

use arguments::{Arguments, Subcommand};

#[global_allocator]
static ALLOCATOR: godwit_allocator::Allocator = godwit_allocator::Allocator;

fn main() -> ExitCode {
    report_panics_of_ours();
    let arguments = Arguments::from_command_line();
    let outcome = match &arguments.subcommand {
        Some(Subcommand::Demo(demo)) => demo::run(demo),
        Some(Subcommand::Check(check)) => check::run(check),
        Some(Subcommand::Trace(trace)) => trace::run(trace),
        Some(Subcommand::Bench(bench)) => bench::run(bench),
        None if arguments.version => version::print(arguments.verbose, &arguments.limits),
        None => shell::run(&arguments),
    };
    outcome.unwrap_or_else(|error| {
        shell::complain(format_args!("{error}\n"));
        ExitCode::FAILURE
    })
}

/// Silences panic reports from libraries that give up on a damaged file: an error about the file reports that instead.
fn report_panics_of_ours() {
    let report = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        if !godwit::is_in_foreign_call() {
            report(panic);
        }
    }));
}
