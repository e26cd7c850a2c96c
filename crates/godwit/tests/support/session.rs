//! Connections that run the corpus' statements, and the text form of values in the corpus.

use std::path::PathBuf;

use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use arrow_array::{Array, RecordBatch};
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_schema::DataType;
use godwit::{Config, Connection, Database};

use super::script::{Answer, Session};

/// Format of values that have no special form in the corpus.
const OPTIONS: FormatOptions<'static> = FormatOptions::new()
    .with_null("NULL")
    .with_timestamp_format(Some("%Y-%m-%d %H:%M:%S%.f"))
    .with_timestamp_tz_format(Some("%Y-%m-%d %H:%M:%S%.f%:z"));

/// One connection for all statements.
pub struct Connected(Connection);

impl Connected {
    pub fn new(database: &Database) -> Self {
        Self(database.connect())
    }

    pub fn execute(&self, sql: &str) -> godwit::Result<()> {
        self.0.execute(sql)
    }
}

impl Session for Connected {
    fn run(&mut self, sql: &str) -> godwit::Result<Answer> {
        let result = self.0.query(sql)?;
        let types = result.schema().fields().iter().map(|field| class_of(field.data_type())).collect();
        let mut rows = Vec::new();
        for batch in result {
            append_rows(&batch?, &mut rows);
        }
        Ok(Answer { types, rows })
    }
}

/// Returns the number of workers that a database reports.
pub fn threads(database: &Database) -> usize {
    let result = database.connect().query("SHOW threads").expect("there is a setting 'threads'");
    let batch = result.last().expect("SHOW gives a row").expect("SHOW doesn't fail");
    batch.column(1).as_string::<i32>().value(0).parse().expect("'threads' is a number")
}

fn class_of(data_type: &DataType) -> char {
    match data_type {
        DataType::Null => '?',
        DataType::Dictionary(_, values) => class_of(values),
        other if other.is_integer() => 'I',
        // A HUGEINT.
        DataType::Decimal128(38, 0) => 'I',
        other if other.is_numeric() => 'R',
        _ => 'T',
    }
}

fn append_rows(batch: &RecordBatch, rows: &mut Vec<Vec<String>>) {
    let columns: Vec<Vec<String>> = batch.columns().iter().map(|column| texts(column)).collect();
    rows.extend((0..batch.num_rows()).map(|row| columns.iter().map(|column| column[row].clone()).collect()));
}

/// Returns the values of a column in the corpus' text form.
fn texts(column: &dyn Array) -> Vec<String> {
    if matches!(column.data_type(), DataType::Float32 | DataType::Float64) {
        let column = arrow_cast::cast(column, &DataType::Float64).expect("a float is a double");
        let values = column.as_primitive::<Float64Type>().iter();
        return values.map(|value| value.map_or("NULL".into(), float_text)).collect();
    }
    let formatter = ArrayFormatter::try_new(column, &OPTIONS).expect("every type can be shown");
    let text = |row| match formatter.value(row).to_string() {
        text if text.is_empty() => "(empty)".into(),
        text => text,
    };
    (0..column.len()).map(text).collect()
}

/// Formats seven significant digits or six after the decimal point, so that the order of additions doesn't matter.
fn float_text(value: f64) -> String {
    if value.is_nan() {
        return "NaN".into();
    }
    if value.is_infinite() || value == 0.0 || (1e-4..1e15).contains(&value.abs()) {
        let text = format!("{value:.6}");
        let trimmed = text.trim_end_matches('0');
        return if trimmed.ends_with('.') { format!("{trimmed}0") } else { trimmed.into() };
    }
    format!("{value:.6e}")
}

/// A database file that is closed and reopened for every statement.
pub struct Restarting {
    pub path: PathBuf,
    pub config: Config,
    /// Script that runs first each time.
    pub setup: String,
}

impl Session for Restarting {
    fn run(&mut self, sql: &str) -> godwit::Result<Answer> {
        let database = Database::open_with(&self.path, self.config.clone())?;
        let mut session = Connected::new(&database);
        session.execute(&self.setup)?;
        session.run(sql)
    }
}
