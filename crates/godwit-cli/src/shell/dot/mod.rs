//! Dot commands, which the shell itself executes. Each is one entry in [`COMMANDS`].

mod catalog;
mod dump;
mod files;
mod settings;
mod system;
mod words;

use std::ops::ControlFlow;

use godwit::{Error, Result};

use super::splitter::{Item, ItemKind};
use super::{Outcome, Shell, Stop};
use crate::output::Format;
use words::words;

pub(super) use files::in_home;

/// A dot command.
pub(super) struct Command {
    pub name: &'static str,
    /// Its arguments, for the help: optional ones in brackets; the last one takes the rest of the line if it ends in
    /// dots.
    pub arguments: &'static str,
    pub help: &'static str,
    /// Possible values of its arguments, for completion.
    pub values: Values,
    run: fn(&mut Shell, &Call) -> Outcome<ControlFlow<Stop>>,
}

/// Possible values of arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Values {
    /// None, or anything.
    Any,
    Words(&'static [&'static str]),
    Formats,
    Files,
    Tables,
    /// A file, then a table.
    FileAndTable,
    Functions,
    Commands,
}

/// A command with its arguments.
pub(super) struct Call {
    name: &'static str,
    /// All of them, as written.
    rest: String,
    words: Vec<String>,
}

impl Call {
    /// Returns the argument at a position; empty if there is none.
    fn word(&self, place: usize) -> &str {
        self.words.get(place).map_or("", String::as_str)
    }

    /// Returns the argument as a switch.
    fn switch(&self) -> Result<bool> {
        match self.word(0).to_lowercase().as_str() {
            "on" | "true" | "yes" | "1" => Ok(true),
            "off" | "false" | "no" | "0" => Ok(false),
            _ => Err(Error::user(format!("'{}' is neither on nor off", self.word(0)))),
        }
    }
}

const SWITCH: Values = Values::Words(&["on", "off"]);

/// Defines a command after which the shell goes on.
macro_rules! goes_on {
    ($function:path) => {
        |shell, call| $function(shell, call).map(ControlFlow::Continue)
    };
}

/// Defines a command that sets a switch.
macro_rules! switches {
    ($($field:ident).+) => {
        |shell, call| {
            shell.settings.$($field).+ = call.switch()?;
            Ok(ControlFlow::Continue(()))
        }
    };
}

macro_rules! commands {
    ($($name:literal $arguments:literal $values:expr, $help:literal, $run:expr;)*) => {
        &[$(Command { name: $name, arguments: $arguments, help: $help, values: $values, run: $run },)*]
    };
}

/// All commands, in alphabetical order.
pub(super) const COMMANDS: &[Command] = commands! {
    ".bail" "on|off" SWITCH, "End a script with its first error (on), or go on", switches!(bail);
    ".cd" "FOLDER" Values::Files,
        "Make a folder the one in which files are looked for", goes_on!(system::change_folder);
    ".changes" "on|off" SWITCH, "Tell how many rows a statement changed (on)", switches!(changes);
    ".databases" "" Values::Any, "Names of the databases that are attached", catalog::databases;
    ".dump" "[TABLE]" Values::Tables,
        "The database, or a table, as SQL statements that make it", goes_on!(dump::dump);
    ".echo" "on|off" SWITCH, "Print statements before they run", switches!(echo);
    ".edit" "" Values::Any,
        "Edit the last statement with $VISUAL or $EDITOR", goes_on!(system::edit);
    ".exit" "" Values::Any, "Leave the shell", |_, _| Ok(ControlFlow::Break(Stop::Quit));
    ".functions" "[PATTERN]" Values::Functions,
        "Functions whose names are like it, with what they do", catalog::functions;
    ".headers" "on|off" SWITCH, "Write the names of the columns (on)", switches!(options.headers);
    ".help" "[COMMAND]" Values::Commands, "This list, or a line of it", goes_on!(help);
    ".import" "FILE TABLE" Values::FileAndTable,
        "Add a file's rows to a table, which is made if it isn't there", files::import;
    ".indexes" "[TABLE]" Values::Tables,
        "Indexes of the database or a table", goes_on!(catalog::indexes);
    ".maxrows" "N|all" Values::Words(&["all"]),
        "Most rows of a box (40)", goes_on!(settings::max_rows);
    ".maxwidth" "N|auto" Values::Words(&["auto"]),
        "Most columns of the window for a box (auto: all)", goes_on!(settings::max_width);
    ".mode" "[FORMAT] [TABLE]" Values::Formats,
        "How results are written; the table is for insert", goes_on!(settings::mode);
    ".nullvalue" "TEXT..." Values::Any, "What stands for NULL", goes_on!(settings::null_value);
    ".once" "FILE..." Values::Files,
        "Write the next result to a file, or to |COMMAND", goes_on!(files::once);
    ".open" "[FILE]" Values::Files,
        "Close the database and open another one; without a file, one in memory", goes_on!(files::open);
    ".output" "[FILE...]" Values::Files,
        "Write results to a file, or to |COMMAND; without it, to standard output", goes_on!(files::output);
    ".pager" "on|off|COMMAND..." SWITCH,
        "Show results that are longer than the screen by $PAGER, or a command", goes_on!(settings::pager);
    ".print" "[TEXT...]" Values::Any, "Print a text", goes_on!(system::print);
    ".progress" "on|off" SWITCH, "Show a bar while a long query runs (on)", switches!(progress);
    ".quit" "" Values::Any, "Leave the shell", |_, _| Ok(ControlFlow::Break(Stop::Quit));
    ".read" "FILE" Values::Files, "Run the statements in a file", files::read;
    ".schema" "[NAME]" Values::Tables,
        "The statements that make the database, or a table or view", goes_on!(catalog::schema);
    ".separator" "COLUMN [ROW]" Values::Any,
        "What stands between values and behind rows of csv, list, tabs", goes_on!(settings::separator);
    ".shell" "COMMAND..." Values::Files, "Run a command of the system", goes_on!(system::shell);
    ".show" "" Values::Any, "What these commands have set", goes_on!(settings::show);
    ".system" "COMMAND..." Values::Files, "Run a command of the system", goes_on!(system::shell);
    ".tables" "[PATTERN]" Values::Tables,
        "Names of tables and views, of those that are like it", catalog::tables;
    ".timer" "on|off" SWITCH, "Print the times that each statement took", switches!(timer);
};

/// The command for help.
pub(super) const HELP: &str = ".help";

/// Runs a line that starts with a dot.
pub(super) fn run(shell: &mut Shell, line: &str) -> Outcome<ControlFlow<Stop>> {
    let (name, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let command = find(name.trim_end_matches(';'))?;
    let rest = rest.trim();
    let takes_rest = command.arguments.contains("...");
    let least = command.arguments.split_whitespace().filter(|argument| !argument.starts_with('[')).count();
    let most = if takes_rest { usize::MAX } else { command.arguments.split_whitespace().count() };
    // Out of habit, users end commands with a semicolon; it is taken as the argument only if there is no other.
    let without = rest.trim_end_matches(';').trim_end();
    let rest = if takes_rest || (without.is_empty() && least > 0) { rest } else { without };
    let words = match words(rest) {
        // The system's shell has its own quoting.
        Err(_) if takes_rest => rest.split_whitespace().map(str::to_owned).collect(),
        words => words?,
    };
    if words.len() < least || words.len() > most {
        let what = match (words.len() < least, most) {
            (true, 1) => "takes an argument".into(),
            (true, _) => format!("takes {least} arguments at least"),
            (false, 0) => "takes no argument".into(),
            (false, 1) => "takes one argument".into(),
            (false, most) => format!("takes {most} arguments at most"),
        };
        let usage = format!("write {} {}", command.name, command.arguments);
        return Err(Error::user(format!("{} {what}", command.name)).with_hint(usage.trim_end()).into());
    }
    (command.run)(shell, &Call { name: command.name, rest: rest.to_owned(), words })
}

/// Returns the command of this name, or the only one with this prefix.
fn find(name: &str) -> Result<&'static Command> {
    let name = name.to_lowercase();
    if let Some(command) = COMMANDS.iter().find(|command| command.name == name) {
        return Ok(command);
    }
    let mut candidates = COMMANDS.iter().filter(|command| name.len() > 1 && command.name.starts_with(&name));
    match (candidates.next(), candidates.next()) {
        (Some(command), None) => Ok(command),
        (Some(first), Some(second)) => {
            let more: String = candidates.map(|command| format!(", {}", command.name)).collect();
            let hint = format!("commands that begin so: {}, {}{more}", first.name, second.name);
            Err(Error::user(format!("{name} could be several commands")).with_hint(hint))
        }
        (None, _) => Err(unknown(&name)),
    }
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

fn help(shell: &mut Shell, call: &Call) -> Outcome {
    let line =
        |command: &Command| format!("{:<25} {}", format!("{} {}", command.name, command.arguments), command.help);
    let text = match call.word(0) {
        "" => {
            let lines = COMMANDS.iter().map(line);
            let formats = format!("Formats of .mode: {}.", Format::names().join(", "));
            let sql = "Statements end with a semicolon. Files are tables: SELECT * FROM 'data/*.parquet';".to_owned();
            lines.chain([formats, sql]).collect::<Vec<_>>().join("\n")
        }
        name => line(find(&format!(".{}", name.trim_start_matches('.')))?),
    };
    shell.sink.print(&shell.settings, &text)
}

/// Runs a statement on the user's behalf.
fn query(shell: &mut Shell, sql: &str) -> Outcome<ControlFlow<Stop>> {
    let item = Item { kind: ItemKind::Statement, line: 1, column: 0, text: sql.to_owned() };
    let outcome = shell.run_statements(sql);
    Ok(shell.report(outcome, &item, None))
}

/// Returns a string as an SQL literal.
fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_suggested_and_beginnings_understood() {
        assert_eq!(unknown(".tabels").hint(), Some("did you mean .tables?"));
        assert_eq!(unknown(".xyzzy").hint(), Some(".help lists the commands"));
        assert_eq!(find(".ta").unwrap().name, ".tables");
        assert_eq!(find(".MODE").unwrap().name, ".mode");
        assert_eq!(find(".on").unwrap().name, ".once");
        let several = find(".s").err().unwrap();
        assert_eq!(several.hint(), Some("commands that begin so: .schema, .separator, .shell, .show, .system"));
        assert!(find(".").is_err());
    }

    #[test]
    fn the_table_is_in_order_and_documented() {
        assert!(COMMANDS.is_sorted_by(|a, b| a.name < b.name));
        let documentation = include_str!("../../../../../docs/shell.md");
        for Command { name, arguments, help, .. } in COMMANDS {
            let escaped = |text: &str| text.trim_end().replace('|', "\\|");
            let row = format!("| `{}` | {} |", escaped(&format!("{name} {arguments}")), escaped(help));
            assert!(documentation.contains(&row), "docs/shell.md has no line\n{row}");
        }
    }
}
