//! Commands that change how results are shown.

use clap::ValueEnum;
use godwit::{Error, Result};

use super::super::pager::Pager;
use super::super::{Outcome, Shell};
use super::Call;
use crate::output::Format;

pub(super) fn mode(shell: &mut Shell, call: &Call) -> Outcome {
    if call.words.is_empty() {
        let name = shell.settings.format.name();
        return shell.sink.print(&shell.settings, &name);
    }
    let format = format(call.word(0))?;
    if call.words.len() > 1 {
        if format != Format::Insert {
            return Err(Error::user(format!("only .mode insert takes a table, not {}", format.name())).into());
        }
        shell.settings.options.table = call.word(1).to_owned();
    }
    shell.settings.format = format;
    // Separators of one format would be wrong for another.
    shell.settings.options.separators = None;
    Ok(())
}

fn format(name: &str) -> Result<Format> {
    Format::from_str(name, true).map_err(|_| {
        let hint = format!("formats are: {}", Format::names().join(", "));
        Error::user(format!("there is no format '{name}'")).with_hint(hint)
    })
}

pub(super) fn max_rows(shell: &mut Shell, call: &Call) -> Outcome {
    shell.settings.options.rows_max = match call.word(0) {
        "all" => usize::MAX,
        number => number_above_zero(number, "all")?,
    };
    Ok(())
}

pub(super) fn max_width(shell: &mut Shell, call: &Call) -> Outcome {
    shell.settings.width_max = match call.word(0) {
        "auto" => None,
        number => Some(number_above_zero(number, "auto")?),
    };
    Ok(())
}

fn number_above_zero(text: &str, word: &str) -> Result<usize> {
    let number = text.parse().ok().filter(|&number| number > 0);
    number.ok_or_else(|| Error::user(format!("'{text}' is neither a number above 0 nor {word}")))
}

pub(super) fn null_value(shell: &mut Shell, call: &Call) -> Outcome {
    shell.settings.options.null = Some(call.words.join(" "));
    Ok(())
}

pub(super) fn separator(shell: &mut Shell, call: &Call) -> Outcome {
    let row = if call.words.len() > 1 { unescaped(call.word(1)) } else { "\n".into() };
    shell.settings.options.separators = Some((unescaped(call.word(0)), row));
    Ok(())
}

/// Replaces the escapes `\t`, `\n`, `\r` and `\\`.
fn unescaped(text: &str) -> String {
    let mut out = String::new();
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match (character, if character == '\\' { characters.next() } else { None }) {
            ('\\', Some('t')) => out.push('\t'),
            ('\\', Some('n')) => out.push('\n'),
            ('\\', Some('r')) => out.push('\r'),
            ('\\', Some('\\')) => out.push('\\'),
            (_, next) => {
                out.push(character);
                out.extend(next);
            }
        }
    }
    out
}

pub(super) fn pager(shell: &mut Shell, call: &Call) -> Outcome {
    shell.settings.pager = match call.rest.as_str() {
        "off" => Pager::Off,
        "on" => Pager::on(),
        command => Pager::Command(command.to_owned()),
    };
    Ok(())
}

pub(super) fn show(shell: &mut Shell, _: &Call) -> Outcome {
    let settings = &shell.settings;
    let switch = |on: bool| if on { "on" } else { "off" }.to_owned();
    let options = &settings.options;
    let separators = options
        .separators
        .as_ref()
        .map(|(column, row)| format!("'{}' '{}'", column.escape_default(), row.escape_default()));
    let lines = [
        ("database", shell.path.display().to_string()),
        (
            "mode",
            match settings.format {
                Format::Insert => format!("insert {}", options.table),
                format => format.name(),
            },
        ),
        ("output", shell.sink.describe()),
        ("headers", switch(options.headers)),
        ("nullvalue", options.null.clone().map_or("the format's own".into(), |null| format!("'{null}'"))),
        ("separator", separators.unwrap_or_else(|| "the format's own".into())),
        (
            "maxrows",
            match options.rows_max {
                usize::MAX => "all".into(),
                rows => rows.to_string(),
            },
        ),
        ("maxwidth", settings.width_max.map_or("auto".into(), |width| width.to_string())),
        (
            "pager",
            match &settings.pager {
                Pager::Off => "off".into(),
                Pager::Command(command) => command.clone(),
            },
        ),
        ("timer", switch(settings.timer)),
        ("progress", switch(settings.progress)),
        ("changes", switch(settings.changes)),
        ("echo", switch(settings.echo)),
        ("bail", switch(settings.bail)),
    ];
    let lines = lines.map(|(name, value)| format!("{name:>9}: {value}"));
    shell.sink.print(&shell.settings, &lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_checked() {
        assert!(format("xml").unwrap_err().hint().unwrap().contains("jsonlines"));
        assert_eq!(format("Markdown").unwrap(), Format::Markdown);
        assert_eq!(unescaped(r"\t|\\n\x"), "\t|\\n\\x");
        assert!(number_above_zero("0", "all").is_err() && number_above_zero("x", "all").is_err());
    }
}
