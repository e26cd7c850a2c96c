//! `godwit trace report`: a trace of memory as one page of HTML, which opens without a network.
//!
//! ```text
//! trace.parquet ── report.sql ──▶ data as JSON ─┐
//!             page/frame.html, page/style.css,  ├─▶ one file
//!             page/*.js, in the order below     ┘
//! ```

use std::fs;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use godwit::{Connection, Database, Error, ErrorKind, Result, format_bytes};

use crate::arguments::{Trace, TraceCommand, TraceReport};
use crate::interrupt::Interrupt;
use crate::shell::complain;

const QUERIES: &str = include_str!("report.sql");
const FRAME: &str = include_str!("page/frame.html");
const STYLE: &str = include_str!("page/style.css");
/// Parts of one script: each uses what those before it define.
const SCRIPTS: [&str; 6] = [
    include_str!("page/format.js"),
    include_str!("page/data.js"),
    include_str!("page/plot.js"),
    include_str!("page/over_time.js"),
    include_str!("page/structures.js"),
    include_str!("page/sizes.js"),
];

/// Runs a subcommand of `godwit trace`.
pub fn run(trace: &Trace) -> Result<ExitCode> {
    match &trace.command {
        TraceCommand::Report(arguments) => report(arguments),
    }
}

fn report(arguments: &TraceReport) -> Result<ExitCode> {
    let output = arguments.output.clone().unwrap_or_else(|| arguments.file.with_extension("html"));
    if output == arguments.file {
        let error = Error::user(format!("the page would replace the trace {}", output.display()));
        return Err(error.with_hint("--output says where else it goes"));
    }
    let interrupt = Interrupt::install()?;
    let connection = Arc::new(Database::open_with(Path::new(":memory:"), arguments.limits.config())?.connect());
    let running = interrupt.running(&connection);
    let data = data(&connection, &arguments.file);
    drop(running);
    let data = match data {
        Err(error) if error.kind() == ErrorKind::Cancelled => {
            complain("cancelled\n");
            return Ok(interrupt.exit_status().into());
        }
        data => data.map_err(|error| unplaced(&error))?,
    };
    let page = page(&data);
    fs::write(&output, &page)
        .map_err(|error| Error::user(format!("{} can't be written: {error}", output.display())))?;
    println!("wrote {} ({})", output.display(), format_bytes(page.len() as u64));
    Ok(ExitCode::SUCCESS)
}

/// The error without its place: the text of these queries means nothing to who asks for a page.
fn unplaced(error: &Error) -> Error {
    let told = Error::new(error.kind(), error.message()).with_code(error.code());
    match error.hint() {
        Some(hint) => told.with_hint(hint),
        None => told,
    }
}

/// The parts of the page's data: a name and a JSON text for each.
fn data(connection: &Connection, trace: &Path) -> Result<Vec<(String, String)>> {
    let path = trace.to_str().ok_or_else(|| Error::user(format!("{} is not text", trace.display())))?;
    connection.execute(&format!("SET VARIABLE trace = '{}'", path.replace('\'', "''")))?;
    let mut parts = Vec::new();
    for statement in connection.parse(QUERIES)? {
        let result = connection.run(&statement)?;
        let name = result.schema().fields().first().map(|field| field.name().clone());
        for batch in result {
            let batch = batch?;
            if let (Some(name), Some(json)) =
                (&name, batch.columns().first().and_then(|column| column.as_string_view_opt()))
            {
                parts.extend(json.iter().flatten().map(|json| (name.clone(), json.to_owned())));
            }
        }
    }
    Ok(parts)
}

/// The page. No `<` is left in the data, so nothing in it can end the element that it is in.
fn page(data: &[(String, String)]) -> String {
    let parts: Vec<String> = data.iter().map(|(name, json)| format!("\"{name}\": {json}")).collect();
    let data = format!("{{{}}}", parts.join(",\n")).replace('<', "\\u003c");
    // The data comes last: it may contain the marks of the others.
    FRAME.replace("{{style}}", STYLE).replace("{{script}}", &SCRIPTS.join("\n")).replace("{{data}}", &data)
}
