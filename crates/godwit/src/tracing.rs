//! Memory traces: `TRACE query`, and `SET trace = 'file'` until `RESET trace`.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use arrow_array::{ArrayRef, Float64Array, RecordBatch, StringArray, UInt64Array};
use godwit_common::{Error, Named, Result, format_bytes, parse_bytes};
use godwit_files::{SAMPLE_BYTES_MAX, TraceFile, TracedStatements};
use godwit_plan::Plan;
use godwit_sql::TracedQuery;
use godwit_trace::{Sample, Trace, TraceDescription, TraceOptions, TraceSink, TraceSource};
use parking_lot::Mutex;

use crate::connection::Inner;
use crate::database::Shared;
use crate::execution::result_schema;
use crate::prepared::ParameterValues;
use crate::result::QueryResult;
use crate::settings::{Setting, named};

/// Default of the setting `trace_threshold`. Table 3.1 of the thesis goes from 200 to 4,000; with 4,000, a trace of
/// TPC-H takes a few percent of the time and has enough samples to tell objects apart (bench/trace_figures.py).
const THRESHOLD: u32 = 4_000;

/// Default of the setting `trace_size_max`: some 25 million samples.
const FILE_BYTES_MAX: u64 = 1 << 30;

/// Maximum number of statement texts in a trace; later statements have no text.
const STATEMENTS_MAX: usize = 1_000;

/// The trace of a database, if one is running, and the settings for the next one.
pub(crate) struct Tracing {
    running: Mutex<Option<Running>>,
    threshold: AtomicU32,
    source: Mutex<TraceSource>,
    file_bytes_max: AtomicU64,
}

struct Running {
    trace: Trace,
    path: String,
    statements: TracedStatements,
}

impl Default for Tracing {
    fn default() -> Self {
        Self {
            running: Mutex::default(),
            threshold: AtomicU32::new(THRESHOLD),
            source: Mutex::default(),
            file_bytes_max: AtomicU64::new(FILE_BYTES_MAX),
        }
    }
}

impl Tracing {
    fn options(&self, threshold: Option<u32>) -> TraceOptions {
        TraceOptions {
            source: *self.source.lock(),
            one_in: threshold.unwrap_or_else(|| self.threshold.load(Ordering::Relaxed)),
            samples_max: self.file_bytes_max.load(Ordering::Relaxed) / SAMPLE_BYTES_MAX,
        }
    }

    /// Returns the file of the running trace.
    fn path(&self) -> Option<String> {
        self.running.lock().as_ref().map(|running| running.path.clone())
    }

    /// Records a statement that is about to run.
    pub(crate) fn note_statement(&self, sql: &str) {
        if !godwit_trace::is_on() {
            return;
        }
        if let Some(running) = &*self.running.lock() {
            note(&running.statements, sql);
        }
    }

    fn begin(&self, shared: &Shared, path: &str) -> Result<()> {
        let mut running = self.running.lock();
        if let Some(Running { path, .. }) = &*running {
            return Err(Error::user(format!("a trace is being written to {path}")).with_hint("RESET trace ends it"));
        }
        let statements = TracedStatements::default();
        let file = TraceFile::create(&*shared.files, path, statements.clone(), &shared.memory)?;
        let trace = Trace::start(self.options(None), Box::new(file))?;
        *running = Some(Running { trace, path: path.to_owned(), statements });
        Ok(())
    }

    /// Ends the trace, if there is one; its file is complete afterwards.
    pub(crate) fn end(&self) -> Result<()> {
        match self.running.lock().take() {
            Some(running) => running.trace.stop().map(drop),
            None => Ok(()),
        }
    }
}

fn note(statements: &TracedStatements, sql: &str) {
    let mut statements = statements.lock();
    if statements.len() < STATEMENTS_MAX {
        statements.push(godwit_common::without_secrets(sql));
    }
}

/// Sink that counts samples and writes nothing.
struct CountedOnly;

impl TraceSink for CountedOnly {
    fn write(&mut self, _samples: &[Sample]) -> Result<()> {
        Ok(())
    }

    fn finish(self: Box<Self>, _description: &TraceDescription) -> Result<()> {
        Ok(())
    }
}

impl Inner {
    /// Runs a query, drops its rows, and returns its loads, by object.
    pub(crate) fn trace(
        &self,
        sql: &str,
        plan: &Plan,
        values: &ParameterValues,
        options: &TracedQuery,
    ) -> Result<QueryResult> {
        let shared = &self.database.0;
        let sink: Box<dyn TraceSink> = match &options.file {
            Some(path) => {
                let statements = TracedStatements::default();
                note(&statements, sql);
                Box::new(TraceFile::create(&*shared.files, path, statements, &shared.memory)?)
            }
            None => Box::new(CountedOnly),
        };
        let trace = Trace::start(shared.tracing.options(options.threshold), sink)?;
        let (mut result, _) = self.start(sql, plan, values, result_schema(plan)?, false, |_, rows| Ok(rows))?;
        for batch in &mut result {
            batch?;
        }
        // Its workers no longer need it.
        drop(result);
        summary(trace.stop()?)
    }
}

/// Lists the objects that were loaded, the most loaded first.
fn summary(description: TraceDescription) -> Result<QueryResult> {
    let mut objects = description.objects;
    objects.retain(|totals| totals.samples > 0);
    objects.sort_by(|a, b| b.samples.cmp(&a.samples).then_with(|| a.object.path.cmp(&b.object.path)));
    let all: u64 = objects.iter().map(|totals| totals.samples).sum();
    let texts = |of: fn(&godwit_trace::TracedObject) -> &str| -> ArrayRef {
        Arc::new(StringArray::from_iter_values(objects.iter().map(|totals| of(&totals.object))))
    };
    let loads = objects.iter().map(|totals| totals.samples * u64::from(description.one_in));
    let share = objects.iter().map(|totals| totals.samples as f64 / all as f64);
    let columns: [(&str, ArrayRef); 6] = [
        ("object", texts(|object| &object.path)),
        ("kind", texts(|object| &object.kind)),
        ("samples", Arc::new(UInt64Array::from_iter_values(objects.iter().map(|totals| totals.samples)))),
        ("loads", Arc::new(UInt64Array::from_iter_values(loads))),
        ("share", Arc::new(Float64Array::from_iter_values(share))),
        ("bytes", Arc::new(UInt64Array::from_iter_values(objects.iter().map(|totals| totals.bytes)))),
    ];
    let batch = RecordBatch::try_from_iter(columns).map_err(|error| Error::internal(error.to_string()))?;
    Ok(QueryResult::of_batch(batch))
}

/// The settings of traces.
pub(crate) const SETTINGS: &[Setting] = &[
    Setting {
        name: "trace",
        description: "The Parquet file that loads from memory are traced to until RESET trace, or 'off'",
        default: || OFF.into(),
        get: |session| session.shared.tracing.path().unwrap_or_else(|| OFF.into()),
        set: |session, value| match value.eq_ignore_ascii_case(OFF) {
            true => session.shared.tracing.end(),
            false => session.shared.tracing.begin(session.shared, value),
        },
        reset: |session| session.shared.tracing.end(),
    },
    Setting {
        name: "trace_size_max",
        description: "Bytes that the file of a trace may have, at most: later samples are only counted",
        default: || format_bytes(FILE_BYTES_MAX),
        get: |session| format_bytes(session.shared.tracing.file_bytes_max.load(Ordering::Relaxed)),
        set: |session, value| {
            session.shared.tracing.file_bytes_max.store(parse_bytes(value)?, Ordering::Relaxed);
            Ok(())
        },
        reset: |session| {
            session.shared.tracing.file_bytes_max.store(FILE_BYTES_MAX, Ordering::Relaxed);
            Ok(())
        },
    },
    Setting {
        name: "trace_source",
        description: "Who samples the loads of traces: 'hardware', the processor (Intel PEBS, AMD IBS); 'software', the \
                      kernels; 'auto', the processor if it can and may",
        default: || TraceSource::default().name().into(),
        get: |session| session.shared.tracing.source.lock().name().into(),
        set: |session, value| {
            *session.shared.tracing.source.lock() = named("trace_source", value)?;
            Ok(())
        },
        reset: |session| {
            *session.shared.tracing.source.lock() = TraceSource::default();
            Ok(())
        },
    },
    Setting {
        name: "trace_threshold",
        description: "Traces sample one in so many loads: few show patterns, many cost little",
        default: || THRESHOLD.to_string(),
        get: |session| session.shared.tracing.threshold.load(Ordering::Relaxed).to_string(),
        set: |session, value| {
            let threshold = value.parse().ok().filter(|&threshold| threshold > 0).ok_or_else(|| {
                Error::user(format!("trace_threshold can't be '{value}'")).with_hint("use a number from 1 on")
            })?;
            session.shared.tracing.threshold.store(threshold, Ordering::Relaxed);
            Ok(())
        },
        reset: |session| {
            session.shared.tracing.threshold.store(THRESHOLD, Ordering::Relaxed);
            Ok(())
        },
    },
];

/// Value of `trace` while there is none.
const OFF: &str = "off";
