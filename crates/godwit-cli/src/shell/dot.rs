//! Dot commands: carried out by the shell itself.

use std::ops::ControlFlow;
use std::path::Path;

use clap::ValueEnum;
use godwit::{Error, Result};

use super::splitter::{Item, ItemKind};
use super::{Shell, Stop, say, script};
use crate::output::Format;

struct Command {
    name: &'static str,
    /// Its argument, for the help; empty if it takes none.
    argument: &'static str,
    help: &'static str,
    run: fn(&mut Shell, &str) -> Result<ControlFlow<Stop>>,
}

const COMMANDS: [Command; 8] = [
    Command { name: ".help", argument: "", help: "This list", run: |_, _| Ok(say(&help())) },
    Command {
        name: ".timer",
        argument: "on|off",
        help: "Print the times that each statement took",
        run: |shell, argument| switch(argument).map(|on| shell.timer = on).map(ControlFlow::Continue),
    },
    Command {
        name: ".mode",
        argument: "FORMAT",
        help: "How results are written: box, csv, json, jsonlines, markdown",
        run: |shell, argument| mode(argument).map(|format| shell.format = format).map(ControlFlow::Continue),
    },
    Command {
        name: ".tables",
        argument: "",
        help: "Names of tables and views",
        run: |shell, _| query(shell, "SHOW TABLES"),
    },
    Command {
        name: ".schema",
        argument: "NAME",
        help: "Columns of a table, a view or a file",
        run: |shell, argument| query(shell, &format!("DESCRIBE {argument}")),
    },
    Command { name: ".read", argument: "FILE", help: "Run the statements in a file", run: read },
    Command {
        name: ".progress",
        argument: "on|off",
        help: "Show a bar while a long query runs",
        run: |shell, argument| switch(argument).map(|on| shell.progress = on).map(ControlFlow::Continue),
    },
    Command { name: ".quit", argument: "", help: "Leave the shell", run: |_, _| Ok(ControlFlow::Break(Stop::Quit)) },
];

/// Runs a line that starts with a dot.
pub(super) fn run(shell: &mut Shell, line: &str) -> Result<ControlFlow<Stop>> {
    let (name, argument) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let argument = argument.trim().trim_end_matches(';');
    let Some(command) = COMMANDS.iter().find(|command| command.name == name) else {
        return Err(unknown(name));
    };
    if command.argument.is_empty() != argument.is_empty() {
        let usage = format!("{} {}", command.name, command.argument);
        return Err(Error::user(format!(
            "{name} takes {}",
            if argument.is_empty() { "an argument" } else { "no argument" }
        ))
        .with_hint(format!("write {}", usage.trim_end())));
    }
    (command.run)(shell, argument)
}

fn unknown(name: &str) -> Error {
    const SIMILARITY_MIN: f64 = 0.75;
    let letters = name.trim_start_matches('.');
    let similarity = |command: &&Command| strsim::jaro_winkler(command.name.trim_start_matches('.'), letters);
    let nearest = COMMANDS.iter().max_by(|a, b| similarity(a).total_cmp(&similarity(b)));
    let hint = match nearest.filter(|command| similarity(command) >= SIMILARITY_MIN) {
        Some(command) => format!("did you mean {}?", command.name),
        None => ".help lists the commands".to_owned(),
    };
    Error::user(format!("there is no command {name}")).with_hint(hint)
}

fn help() -> String {
    let lines = COMMANDS
        .iter()
        .map(|command| format!("{:<20} {}", format!("{} {}", command.name, command.argument), command.help));
    let sql = ["Statements end with a semicolon. Files are tables: SELECT * FROM 'data/*.parquet';".to_owned()];
    lines.chain(sql).collect::<Vec<_>>().join("\n")
}

fn switch(argument: &str) -> Result<bool> {
    match argument {
        "on" => Ok(true),
        "off" => Ok(false),
        other => Err(Error::user(format!("'{other}' is neither on nor off"))),
    }
}

fn mode(argument: &str) -> Result<Format> {
    Format::from_str(argument, true).map_err(|_| {
        let names: Vec<String> = Format::value_variants().iter().map(|format| format.name()).collect();
        Error::user(format!("there is no format '{argument}'")).with_hint(format!("formats are: {}", names.join(", ")))
    })
}

/// Runs a statement on the user's behalf.
fn query(shell: &mut Shell, sql: &str) -> Result<ControlFlow<Stop>> {
    Ok(shell.run_item(&Item { kind: ItemKind::Statement, line: 1, text: sql.to_owned() }, None))
}

/// Maximum nesting of files that read each other; deeper ones are taken for a cycle.
const READ_DEPTH_MAX: usize = 16;

fn read(shell: &mut Shell, file: &str) -> Result<ControlFlow<Stop>> {
    if shell.read_depth == READ_DEPTH_MAX {
        return Err(Error::user(format!("{READ_DEPTH_MAX} files are being read already, each from another"))
            .with_hint("does a file read itself?"));
    }
    shell.read_depth += 1;
    let flow = script::run_file(shell, Path::new(file.trim_matches(['\'', '"'])));
    shell.read_depth -= 1;
    flow
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_suggested() {
        assert_eq!(unknown(".tabels").hint(), Some("did you mean .tables?"));
        assert_eq!(unknown(".exit").hint(), Some(".help lists the commands"));
        assert!(switch("yes").is_err());
        assert!(mode("xml").unwrap_err().hint().unwrap().contains("jsonlines"));
        assert_eq!(mode("Markdown").unwrap(), Format::Markdown);
    }
}
