//! `range` and `generate_series`: integers, and timestamps at regular intervals. Never in memory as a whole.
//!
//! Numbers are computed from their position, in parallel morsels. Timestamps are computed sequentially, because a month
//! has no fixed length: each is the previous one plus the step.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow_array::timezone::Tz;
use arrow_array::types::{IntervalMonthDayNano, TimestampNanosecondType};
use arrow_schema::{DataType, Field, Schema, TimeUnit};
use godwit_catalog::{Argument, ColumnStatistics, TableDefinition, TableFunction, TableStatistics};
use godwit_common::{Error, Result};
use godwit_pipeline::{
    CacheUse, Operator, OperatorMetrics, QueryContext, ScanRequest, Source, SourceVerdict, SourceWorker, Table,
    TableHandle,
};
use godwit_types::calendar::is_finite_timestamp;
use godwit_types::{SqlType, Value, cast_value, format_value};
use godwit_vector::sql::arrow_interval;
use godwit_vector::{Chunk, ColumnType, PhysicalType, RowType, ValueRange, Vector};

/// Numbers that one worker takes at a time: enough that taking them costs next to nothing, few enough to keep all
/// workers busy.
const MORSEL_ROWS: u64 = 1 << 17;

const INSTANT: DataType = DataType::Timestamp(TimeUnit::Nanosecond, None);

/// The table function behind both names.
pub struct Series {
    /// The end is part of the series.
    inclusive: bool,
}

impl Series {
    /// `range`: up to but not including its end.
    pub const RANGE: Series = Series { inclusive: false };
    /// `generate_series`: up to and including its end.
    pub const GENERATE_SERIES: Series = Series { inclusive: true };

    fn integers(&self, name: &str, arguments: &[Argument]) -> Result<Values> {
        let number = |given: &Argument| match given.value {
            Value::Integer(number) if given.ty.is_integer() => i64::try_from(number).ok(),
            _ => None,
        };
        let number =
            |given| number(given).ok_or_else(|| usage(name, &format!("{} is not a whole number", shown(given))));
        let (start, end, step) = match arguments {
            [end] => (0, number(end)?, 1),
            [start, end] => (number(start)?, number(end)?, 1),
            [start, end, step] => (number(start)?, number(end)?, number(step)?),
            _ => return Err(usage(name, "one, two or three arguments are expected")),
        };
        if step == 0 {
            return Err(usage(name, "the step must not be 0"));
        }
        let distance = (i128::from(end) - i128::from(start)) * i128::from(step.signum());
        let width = i128::from(step.unsigned_abs());
        let rows = match (distance < 0, self.inclusive) {
            (true, _) => 0,
            (false, true) => distance / width + 1,
            (false, false) => (distance + width - 1) / width,
        };
        // Only the series of all integers has one row too many.
        let rows = u64::try_from(rows).map_err(|_| usage(name, "the series is too long"))?;
        Ok(Values::Integers { start, step, rows })
    }

    fn instants(&self, name: &str, arguments: &[Argument]) -> Result<Values> {
        let [start, end, step] = arguments else {
            return Err(usage(name, "a series of dates has a start, an end and a step such as INTERVAL '1 day'"));
        };
        let instant = |given: &Argument| match cast_value(&given.value, &given.ty, &SqlType::TimestampNs) {
            Ok(Value::Timestamp(instant)) if is_finite_timestamp(instant) => Ok(instant),
            Ok(Value::Timestamp(_)) => Err(usage(name, "a series begins and ends at finite times")),
            _ => Err(usage(name, &format!("{} is not a date or timestamp", shown(given)))),
        };
        let step = match cast_value(&step.value, &step.ty, &SqlType::Interval) {
            Ok(Value::Interval(step)) => arrow_interval(step)?,
            _ => return Err(usage(name, &format!("{} is not an interval", shown(step)))),
        };
        let signs = [i64::from(step.months).signum(), i64::from(step.days).signum(), step.nanoseconds.signum()];
        let descending = signs.contains(&-1);
        if signs == [0; 3] || (descending && signs.contains(&1)) {
            return Err(usage(name, "the step must be an interval that goes one way"));
        }
        Ok(Values::Instants { start: instant(start)?, end: instant(end)?, step, descending, inclusive: self.inclusive })
    }
}

impl TableFunction for Series {
    fn arguments(&self) -> &'static str {
        "start, end, step"
    }

    fn table(&self, name: &str, arguments: &[Argument]) -> Result<Arc<TableDefinition>> {
        let is_time = |given: &Argument| given.ty == SqlType::Date || given.ty.is_timestamp();
        let values = if arguments.iter().any(|given| given.value.is_null()) && (1..=3).contains(&arguments.len()) {
            Values::Integers { start: 0, step: 1, rows: 0 }
        } else if arguments.iter().any(is_time) {
            self.instants(name, arguments)?
        } else {
            self.integers(name, arguments)?
        };
        let table = SeriesTable { row_type: vec![values.column_type()?], values: Arc::new(values) };
        let schema = Arc::new(Schema::new(vec![Field::new(name, table.row_type[0].logical.clone(), false)]));
        let statistics = Arc::new(table.values.statistics());
        let handle = Arc::new(TableHandle(Arc::new(table)));
        Ok(Arc::new(TableDefinition::new(name, schema, statistics, handle).without_filters()))
    }
}

fn shown(given: &Argument) -> String {
    format_value(&given.value, &given.ty)
}

fn usage(name: &str, problem: &str) -> Error {
    Error::user(format!("{name}: {problem}")).with_hint(format!(
        "write {name}(end), {name}(start, end), {name}(start, end, step) or \
         {name}(DATE '2024-01-01', DATE '2025-01-01', INTERVAL '1 month')"
    ))
}

/// The values of a series.
enum Values {
    Integers { start: i64, step: i64, rows: u64 },
    Instants { start: i64, end: i64, step: IntervalMonthDayNano, descending: bool, inclusive: bool },
}

impl Values {
    fn column_type(&self) -> Result<ColumnType> {
        let (logical, range) = match self {
            Values::Integers { .. } => (DataType::Int64, self.range()),
            Values::Instants { .. } => (INSTANT, None),
        };
        Ok(ColumnType { physical: PhysicalType::I64, logical, nullable: false, range })
    }

    /// Bounds of the numbers.
    fn range(&self) -> Option<ValueRange> {
        let Values::Integers { start, step, rows: 1.. } = self else { return None };
        let (first, last) = (i128::from(*start), i128::from(*start) + i128::from(*step) * i128::from(self.rows() - 1));
        Some(ValueRange { min: first.min(last), max: first.max(last) })
    }

    /// Number of rows; for timestamps, estimated with a mean month of 30 days.
    fn rows(&self) -> u64 {
        match self {
            Values::Integers { rows, .. } => *rows,
            Values::Instants { start, end, step, .. } => {
                const DAY_NS: f64 = 86_400e9;
                let days = f64::from(step.months) * 30.0 + f64::from(step.days) + step.nanoseconds as f64 / DAY_NS;
                ((end - start) as f64 / DAY_NS / days).max(0.0) as u64 + 1
            }
        }
    }

    fn statistics(&self) -> TableStatistics {
        let exact = matches!(self, Values::Integers { .. });
        let mut statistics = TableStatistics::of_rows(self.rows(), exact, 1);
        let range = self.range();
        let value = |number: i128| Value::of_integer(number, &SqlType::BigInt);
        statistics.columns[0] = ColumnStatistics {
            range,
            min: range.and_then(|range| value(range.min)),
            max: range.and_then(|range| value(range.max)),
            null_count: Some(0),
            distinct: Some(self.rows()),
            average_bytes: None,
        };
        statistics
    }
}

struct SeriesTable {
    values: Arc<Values>,
    row_type: RowType,
}

impl Table for SeriesTable {
    fn row_type(&self) -> &RowType {
        &self.row_type
    }

    fn scan(self: Arc<Self>, request: ScanRequest, _query: &Arc<QueryContext>) -> Result<Arc<dyn Source>> {
        assert!(request.filters.is_empty(), "series evaluate no filters");
        let rows = self.values.rows().min(request.limit.map_or(u64::MAX, |rows| rows as u64));
        Ok(Arc::new(SeriesSource {
            values: self.values.clone(),
            rows,
            columns: request.columns,
            next_row: AtomicU64::new(0),
            metrics: OperatorMetrics::new(request.name),
        }))
    }
}

struct SeriesSource {
    values: Arc<Values>,
    /// Number of rows needed; for timestamps an estimate.
    rows: u64,
    /// Column 0, as often as it is needed.
    columns: Vec<usize>,
    /// The first number that no worker has taken.
    next_row: AtomicU64,
    metrics: Arc<OperatorMetrics>,
}

impl Operator for SeriesSource {
    fn metrics(&self) -> &Arc<OperatorMetrics> {
        &self.metrics
    }

    fn cache_use(&self) -> CacheUse {
        CacheUse::polluting("makes each row once")
    }
}

impl Source for SeriesSource {
    fn start(&self, query: &Arc<QueryContext>) -> Result<()> {
        query.rows_known.fetch_add(self.rows, Ordering::Relaxed);
        Ok(())
    }

    fn parallelism(&self) -> usize {
        match *self.values {
            Values::Integers { .. } => usize::try_from(self.rows.div_ceil(MORSEL_ROWS)).unwrap_or(usize::MAX),
            Values::Instants { .. } => 1,
        }
    }

    fn worker(self: Arc<Self>, query: &Arc<QueryContext>) -> Result<Box<dyn SourceWorker>> {
        let position = match *self.values {
            Values::Integers { start, step, .. } => Position::Integers { start, step, morsel: (0, 0) },
            Values::Instants { start, end, step, descending, inclusive } => {
                Position::Instants { next: Some(start), end, step, descending, inclusive }
            }
        };
        Ok(Box::new(SeriesWorker { series: self, position, query: query.clone() }))
    }
}

struct SeriesWorker {
    series: Arc<SeriesSource>,
    position: Position,
    query: Arc<QueryContext>,
}

enum Position {
    /// `morsel`: the rows that this worker has taken and not emitted.
    Integers { start: i64, step: i64, morsel: (u64, u64) },
    /// `next` is `None` after the last representable timestamp.
    Instants { next: Option<i64>, end: i64, step: IntervalMonthDayNano, descending: bool, inclusive: bool },
}

impl Position {
    /// The next values, at most `rows_max`.
    fn values(&mut self, series: &SeriesSource, rows_max: usize) -> Vec<i64> {
        match self {
            Position::Integers { start, step, morsel } => {
                if morsel.0 == morsel.1 {
                    // A worker that finds nothing adds only once, so the counter can't overflow.
                    let first = series.next_row.fetch_add(MORSEL_ROWS, Ordering::Relaxed).min(series.rows);
                    *morsel = (first, first.saturating_add(MORSEL_ROWS).min(series.rows));
                }
                let first = morsel.0;
                morsel.0 = morsel.1.min(first + rows_max as u64);
                // The product may not fit where the sum does.
                let value = |row: u64| start.wrapping_add(step.wrapping_mul(row as i64));
                (first..morsel.0).map(value).collect()
            }
            Position::Instants { next, end, step, descending, inclusive } => {
                let zone: Tz = "+00:00".parse().expect("a valid offset");
                let mut values = Vec::with_capacity(rows_max);
                while let (Some(instant), true) = (*next, values.len() < rows_max) {
                    let distance = i128::from(*end) - i128::from(instant);
                    let distance = if *descending { -distance } else { distance };
                    if distance < 0 || (distance == 0 && !*inclusive) {
                        *next = None;
                    } else {
                        values.push(instant);
                        *next = TimestampNanosecondType::add_month_day_nano(instant, *step, zone);
                    }
                }
                values
            }
        }
    }
}

impl SourceWorker for SeriesWorker {
    fn next(&mut self) -> Result<SourceVerdict> {
        let values = self.position.values(&self.series, self.query.settings.chunk_rows);
        if values.is_empty() {
            return Ok(SourceVerdict::Done);
        }
        self.query.rows_done.fetch_add(values.len() as u64, Ordering::Relaxed);
        let rows = values.len();
        let chunk = Chunk::new(vec![Vector::from_values(values, None)], rows);
        Ok(SourceVerdict::Chunk(chunk.project(&self.series.columns)))
    }
}
