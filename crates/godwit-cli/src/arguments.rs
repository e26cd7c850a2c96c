//! The command line of the shell and its subcommands.

use std::path::PathBuf;

use clap::{Args, CommandFactory, FromArgMatches, Parser};
use godwit::{Config, DebugOptions, parse_bytes};

use crate::output::Format;

/// An analytical SQL database that finishes the query on the memory you have
#[derive(Parser, Debug)]
#[command(name = "godwit", disable_version_flag = true, args_conflicts_with_subcommands = true)]
#[command(after_help = "Without -c and -f, statements are read from standard input. Try: godwit demo")]
pub struct Arguments {
    /// Database file, made if it isn't there; or a folder of Parquet files, each of them a table; or ':memory:'
    #[arg(default_value = ":memory:", hide_default_value = true)]
    pub database: PathBuf,
    /// Run these statements and quit; may be repeated and mixed with -f
    #[arg(short = 'c', long = "command", value_name = "SQL")]
    commands: Vec<String>,
    /// Run the statements in this file and quit
    #[arg(short = 'f', long = "file", value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The `-c` and `-f` arguments, in the given order.
    #[arg(skip)]
    pub scripts: Vec<Script>,
    /// How results are written
    #[arg(long, value_enum, default_value = "box")]
    pub format: Format,
    /// Don't run the user's init.sql before an interactive session
    #[arg(long)]
    pub no_init: bool,
    #[command(flatten)]
    pub limits: Limits,
    /// Print the version
    #[arg(short = 'V', long)]
    pub version: bool,
    /// With --version: also print the limits and what the processor offers
    #[arg(long, requires = "version")]
    pub verbose: bool,
    #[command(subcommand)]
    pub subcommand: Option<Subcommand>,
}

/// Statements from the command line.
#[derive(Debug, Clone)]
pub enum Script {
    Command(String),
    File(PathBuf),
}

#[derive(clap::Subcommand, Debug)]
pub enum Subcommand {
    /// Generate TPC-H as Parquet files and run its 22 queries
    Demo(Demo),
    /// Read a whole database file and say what is damaged
    Check(Check),
    /// Show what a trace of memory tells
    Trace(Trace),
    /// Measure this machine
    #[command(subcommand)]
    Bench(Bench),
}

#[derive(Args, Debug)]
pub struct Trace {
    #[command(subcommand)]
    pub command: TraceCommand,
}

#[derive(clap::Subcommand, Debug)]
pub enum TraceCommand {
    /// Write a page of HTML with pictures of a trace, which needs no network
    Report(TraceReport),
    /// Show where a trace's loads would hit if its structures got 10, 60 or 100 % of the last-level cache
    Cache(TraceCache),
}

#[derive(Args, Debug)]
pub struct TraceReport {
    /// The trace, as TRACE or SET trace wrote it
    pub file: PathBuf,
    /// The page [default: the trace's name with .html]
    #[arg(long, value_name = "PAGE")]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    pub limits: Limits,
}

#[derive(Args, Debug)]
pub struct TraceCache {
    /// The trace, as TRACE or SET trace wrote it, of every load: with a threshold of 1
    pub file: PathBuf,
    /// Size of the last-level cache [default: this machine's]
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub size: Option<u64>,
    /// Ways of the last-level cache [default: this machine's]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=64))]
    pub ways: Option<u32>,
    #[command(flatten)]
    pub limits: Limits,
}

#[derive(clap::Subcommand, Debug)]
pub enum Bench {
    /// How long memory takes to answer, by how much of it is in use, alone and beside threads that fill the shared
    /// cache
    Cache(BenchCache),
}

#[derive(Args, Debug)]
pub struct BenchCache {
    /// Most memory to measure with; below eight times the cache, larger working sets are left out
    #[arg(long, value_name = "SIZE", default_value = "512MiB", value_parser = parse_size)]
    pub memory: u64,
    /// How long to measure
    #[arg(long, value_name = "N", default_value_t = 20.0, value_parser = parse_seconds)]
    pub seconds: f64,
}

#[derive(Args, Debug)]
pub struct Check {
    /// The database file
    pub database: PathBuf,
    #[command(flatten)]
    pub limits: Limits,
}

#[derive(Args, Debug)]
pub struct Demo {
    /// Scale factor: gigabytes of raw data
    #[arg(long, default_value_t = 1.0, value_parser = parse_scale)]
    pub scale: f64,
    /// Where the Parquet files are, or are made if they aren't there [default: the user's cache folder]
    #[arg(long, value_name = "FOLDER")]
    pub directory: Option<PathBuf>,
    #[command(flatten)]
    pub limits: Limits,
}

/// What the process may use.
#[derive(Args, Debug, Clone)]
pub struct Limits {
    /// Most memory of the whole process, such as 2GB [default: 80 % of what it may use]
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    memory_limit: Option<u64>,
    /// Where intermediates go that don't fit into memory
    #[arg(long, value_name = "FOLDER")]
    temp_directory: Option<PathBuf>,
    /// Worker threads [default: one per core]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Open the database file for reading only; several processes may
    #[arg(long)]
    read_only: bool,
    /// For tests: every page goes to disk as soon as nobody uses it
    #[arg(long, hide = true)]
    force_spill: bool,
}

/// Memory limit below which the program's allocator doesn't keep freed memory.
const KEEP_FREED_LIMIT_MIN: u64 = 256 << 20;

impl Limits {
    /// Returns the configuration of a database opened with these limits; prepares the program if the limit is tight.
    pub fn config(&self) -> Config {
        if self.memory_limit.is_some_and(|limit| limit < KEEP_FREED_LIMIT_MIN) {
            godwit_allocator::give_back_at_once();
        }
        Config {
            memory_limit_bytes: self.memory_limit,
            whole_process: true,
            threads: self.threads,
            temp_directory: self.temp_directory.clone(),
            read_only: self.read_only,
            debug: DebugOptions { force_spill: self.force_spill, ..DebugOptions::default() },
            ..Config::default()
        }
    }
}

impl Arguments {
    /// Parses the command line of this process; prints help or an error message and exits if the command line calls for
    /// that.
    pub fn from_command_line() -> Self {
        Self::parse_from_iterator(std::env::args_os()).unwrap_or_else(|error| error.exit())
    }

    fn parse_from_iterator<T: Into<std::ffi::OsString> + Clone>(
        words: impl IntoIterator<Item = T>,
    ) -> Result<Self, clap::Error> {
        let matches = Self::command().try_get_matches_from(words)?;
        let mut arguments = Self::from_arg_matches(&matches)?;
        let indices = |id: &str| matches.indices_of(id).into_iter().flatten().collect::<Vec<_>>();
        let commands = indices("commands").into_iter().zip(arguments.commands.drain(..).map(Script::Command));
        let files = indices("files").into_iter().zip(arguments.files.drain(..).map(Script::File));
        let mut scripts: Vec<(usize, Script)> = commands.chain(files).collect();
        scripts.sort_by_key(|&(index, _)| index);
        arguments.scripts = scripts.into_iter().map(|(_, script)| script).collect();
        Ok(arguments)
    }
}

fn parse_size(text: &str) -> Result<u64, String> {
    parse_bytes(text).map_err(|error| format!("{}; {}", error.message(), error.hint().unwrap_or_default()))
}

fn parse_seconds(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(seconds) if (0.0..=3600.0).contains(&seconds) => Ok(seconds),
        _ => Err("expected a number from 0 to 3600".to_owned()),
    }
}

/// Largest scale factor that the generator's 32-bit keys allow, with room to spare.
const SCALE_MAX: f64 = 1000.0;

fn parse_scale(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(scale) if scale > 0.0 && scale <= SCALE_MAX => Ok(scale),
        _ => Err(format!("expected a number above 0, up to {SCALE_MAX}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_is_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn commands_and_files_keep_their_order() {
        let words = ["godwit", "-c", "SELECT 1", "-f", "a.sql", "-c", "SELECT 2"];
        let arguments = Arguments::parse_from_iterator(words).unwrap();
        assert_eq!(arguments.database, PathBuf::from(":memory:"));
        let scripts: Vec<String> = arguments.scripts.iter().map(|script| format!("{script:?}")).collect();
        assert_eq!(scripts, [r#"Command("SELECT 1")"#, r#"File("a.sql")"#, r#"Command("SELECT 2")"#]);
    }

    #[test]
    fn sizes_and_scales_are_checked() {
        assert!(Arguments::parse_from_iterator(["godwit", "--memory-limit", "2GB"]).is_ok());
        for wrong in [
            ["godwit", "--memory-limit=much", ""],
            ["godwit", "demo", "--scale=0"],
            ["godwit", "demo", "--scale=x"],
            ["godwit", "bench", ""],
            ["godwit", "bench", "nothing"],
        ] {
            assert!(Arguments::parse_from_iterator(wrong).is_err(), "{wrong:?}");
        }
    }
}
