//! `godwit trace`: analyses of a memory trace, as one page of HTML, which works without a network, or as hits in parts
//! of a cache (cache.rs).
//!
//! ```text
//! trace.parquet ── report.sql ──▶ data as JSON ─┐
//!             page/frame.html, page/style.css,  ├─▶ one file
//!             page/*.js, in the order below     ┘
//! ```

mod cache;

use std::fs;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use godwit::{Connection, Database, Error, ErrorKind, Result, format_bytes};

use crate::arguments::{Limits, Trace, TraceCommand, TraceReport};
use crate::interrupt::Interrupt;
use crate::shell::{complain, print_line};

const QUERIES: &str = include_str!("report.sql");
const FRAME: &str = include_str!("page/frame.html");
const STYLE: &str = include_str!("page/style.css");
/// Parts of one script: each uses definitions of those before it.
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
        TraceCommand::Cache(arguments) => cache::run(arguments),
    }
}

fn report(arguments: &TraceReport) -> Result<ExitCode> {
    let output = arguments.output.clone().unwrap_or_else(|| arguments.file.with_extension("html"));
    if output == arguments.file {
        let error = Error::user(format!("the page would replace the trace {}", output.display()));
        return Err(error.with_hint("--output says where else it goes"));
    }
    let data = match asked(&arguments.file, &arguments.limits, data)? {
        Ok(data) => data,
        Err(cancelled) => return Ok(cancelled),
    };
    let page = page(&data);
    fs::write(&output, &page)
        .map_err(|error| Error::user(format!("{} can't be written: {error}", output.display())))?;
    print_line(&format!("wrote {} ({})", output.display(), format_bytes(page.len() as u64)))?;
    Ok(ExitCode::SUCCESS)
}

/// Returns the result of `ask` on a trace, which is the variable `trace` of its connection; or the exit code if it was
/// cancelled.
fn asked<T>(
    trace: &Path,
    limits: &Limits,
    ask: impl FnOnce(&Connection) -> Result<T>,
) -> Result<std::result::Result<T, ExitCode>> {
    let path = trace.to_str().ok_or_else(|| Error::user(format!("{} is not text", trace.display())))?;
    let interrupt = Interrupt::install()?;
    let connection = Arc::new(Database::open_with(Path::new(":memory:"), limits.config())?.connect());
    connection.execute(&format!("SET VARIABLE trace = '{}'", path.replace('\'', "''")))?;
    let running = interrupt.running(&connection);
    let told = ask(&connection);
    drop(running);
    match told {
        Err(error) if error.kind() == ErrorKind::Cancelled => {
            complain("cancelled\n");
            Ok(Err(interrupt.exit_status().into()))
        }
        told => told.map(Ok).map_err(|error| unplaced(&error)),
    }
}

/// Returns the error without its position: the text of these queries means nothing to users who request a page.
fn unplaced(error: &Error) -> Error {
    let told = Error::new(error.kind(), error.message()).with_code(error.code());
    match error.hint() {
        Some(hint) => told.with_hint(hint),
        None => told,
    }
}

/// Returns the parts of the page's data, each with a name and JSON text.
fn data(connection: &Connection) -> Result<Vec<(String, String)>> {
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

/// Returns the page. No `<` is left in the data, so nothing in it can end the surrounding element.
fn page(data: &[(String, String)]) -> String {
    let parts: Vec<String> = data.iter().map(|(name, json)| format!("\"{name}\": {json}")).collect();
    let data = format!("{{{}}}", parts.join(",\n")).replace('<', "\\u003c");
    // The data comes last, since it may contain the placeholders of the others.
    FRAME.replace("{{style}}", STYLE).replace("{{script}}", &SCRIPTS.join("\n")).replace("{{data}}", &data)
}
