//! Commands about the shell's surroundings.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::{self, Command, ExitStatus};

use godwit::{Error, Result};

use super::super::{Outcome, Shell, complain};
use super::Call;
use super::files::in_home;

pub(super) fn print(shell: &mut Shell, call: &Call) -> Outcome {
    shell.sink.print(&shell.settings, &call.words.join(" "))
}

pub(super) fn change_folder(_: &mut Shell, call: &Call) -> Outcome {
    let folder = in_home(call.word(0));
    std::env::set_current_dir(&folder)
        .map_err(|error| Error::io(format!("going to {}", folder.display()), &error).into())
}

pub(super) fn shell(_: &mut Shell, call: &Call) -> Outcome {
    let status = run(Command::new("sh").arg("-c").arg(&call.rest), &call.rest)?;
    if !status.success() {
        complain(format_args!("the command ended with {status}\n"));
    }
    Ok(())
}

fn run(command: &mut Command, name: &str) -> Result<ExitStatus> {
    command.status().map_err(|error| Error::io(format!("starting {name}"), &error))
}

/// Lets the user edit the last statement; the line editor starts with the result.
pub(super) fn edit(shell: &mut Shell, call: &Call) -> Outcome {
    if !shell.settings.interactive {
        return Err(Error::user(format!("{} needs a terminal", call.name)).into());
    }
    let path = std::env::temp_dir().join(format!("godwit-{}.sql", process::id()));
    let edited = edit_file(&path, &shell.last_statement);
    let _ = fs::remove_file(&path);
    let text = edited?;
    shell.draft = (!text.trim().is_empty()).then(|| text.trim_end().to_owned());
    Ok(())
}

fn edit_file(path: &Path, text: &str) -> Result<String> {
    let failed = |what: &str, error: &std::io::Error| Error::io(format!("{what} {}", path.display()), error);
    // Others can guess the name: the file must be new, and readable by the user only.
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    let mut file = file.map_err(|error| failed("making", &error))?;
    file.write_all(text.trim().as_bytes()).map_err(|error| failed("writing", &error))?;
    drop(file);
    let is_set = |name| std::env::var(name).ok().filter(|editor| !editor.trim().is_empty());
    let editor = is_set("VISUAL").or_else(|| is_set("EDITOR")).unwrap_or_else(|| "vi".into());
    let status = run(Command::new("sh").arg("-c").arg(format!("{editor} \"$1\"")).arg("sh").arg(path), &editor)?;
    if !status.success() {
        return Err(Error::user(format!("the editor {editor} ended with {status}")));
    }
    fs::read_to_string(path).map_err(|error| failed("reading", &error))
}
