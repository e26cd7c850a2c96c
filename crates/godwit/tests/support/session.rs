//! Connections that run the corpus' statements, and the text form of values in the corpus.

use std::path::PathBuf;

use arrow_array::ArrayRef;
use arrow_array::cast::AsArray;
use arrow_schema::DataType;
use godwit::{ColumnReader, Config, Connection, Database, SqlType, Value};
use godwit_types::{StructField, format_value};

use super::script::{Answer, Session};

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
        let classes = result.schema().fields().iter().map(|field| class_of(field.data_type())).collect();
        let types = result.types()?;
        let mut rows = Vec::new();
        for batch in result {
            let batch = batch?;
            let columns = batch.columns().iter().zip(&types).map(|(array, ty)| texts(array, ty));
            let columns: Vec<Vec<String>> = columns.collect::<godwit::Result<_>>()?;
            rows.extend((0..batch.num_rows()).map(|row| columns.iter().map(|column| column[row].clone()).collect()));
        }
        Ok(Answer { types: classes, rows })
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

/// Returns the values of a column in the corpus' text form.
fn texts(column: &ArrayRef, ty: &SqlType) -> godwit::Result<Vec<String>> {
    let reader = ColumnReader::new(column, ty)?;
    let text = |row| {
        let text = match reader.value(row)? {
            Value::Float(value) => float_text(value),
            // Only the array has the time zone of a moment.
            Value::Timestamp(_) => reader.text(row)?.unwrap_or_default(),
            value => value_text(&value, ty),
        };
        Ok(if text.is_empty() { "(empty)".into() } else { text })
    };
    (0..column.len()).map(text).collect()
}

/// Formats a value as SQL does, but bytes in hexadecimal, and parts of nested values without quotes.
fn value_text(value: &Value, ty: &SqlType) -> String {
    match (value, ty) {
        (Value::Blob(bytes), _) => bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
        (Value::List(values), SqlType::List(ty) | SqlType::Array(ty, _)) => {
            let values: Vec<String> = values.iter().map(|value| value_text(value, ty)).collect();
            format!("[{}]", values.join(", "))
        }
        (Value::Struct(values), SqlType::Struct(fields)) => {
            let field = |(value, field): (&Value, &StructField)| (field.name.to_string(), value_text(value, &field.ty));
            braced(values.iter().zip(fields.iter()).map(field))
        }
        (Value::Map(entries), SqlType::Map(types)) => {
            braced(entries.iter().map(|(key, value)| (value_text(key, &types.0), value_text(value, &types.1))))
        }
        _ => format_value(value, ty),
    }
}

fn braced(pairs: impl Iterator<Item = (String, String)>) -> String {
    let pairs: Vec<String> = pairs.map(|(key, value)| format!("{key}: {value}")).collect();
    format!("{{{}}}", pairs.join(", "))
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
