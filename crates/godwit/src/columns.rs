//! Values of a result, for display.

use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;
use godwit_common::Result;
use godwit_types::{SqlType, TimeZone, Value, iso_moment, write_json_string};
use godwit_vector::from_arrow;
use godwit_vector::sql::Reader;

/// Reads the values of a batch's column as SQL values, as text or as JSON.
///
/// A TIMESTAMP WITH TIME ZONE is written in the time zone of the array's type, which in results is the session's; within
/// lists, structs and maps in UTC.
pub struct ColumnReader<'t> {
    reader: Reader<'t>,
    /// The time zone of moments.
    zone: Option<TimeZone>,
}

impl<'t> ColumnReader<'t> {
    /// Creates a reader of an array of values of a type, as returned by
    /// [`QueryResult::types`](crate::QueryResult::types).
    ///
    /// # Errors
    /// If the array's type has no SQL type, or a time zone that isn't known.
    pub fn new(array: &ArrayRef, ty: &'t SqlType) -> Result<Self> {
        let zone = match (ty, array.data_type()) {
            (SqlType::TimestampTz, DataType::Timestamp(_, Some(name))) => Some(TimeZone::named(name)?),
            _ => None,
        };
        Ok(Self { reader: Reader::new(&from_arrow(array)?, ty)?, zone })
    }

    /// Returns the value in a row.
    ///
    /// # Errors
    /// If it is none of the type: text that isn't UTF-8, a label that the ENUM lacks.
    pub fn value(&self, row: usize) -> Result<Value> {
        self.reader.value(row)
    }

    /// Returns the value in a row as [`write_text`](Self::write_text) writes it; `None` for NULL.
    ///
    /// # Errors
    /// Those of [`value`](Self::value).
    pub fn text(&self, row: usize) -> Result<Option<String>> {
        let mut text = String::new();
        Ok(self.write_text(row, &mut text)?.then_some(text))
    }

    /// Appends the value in a row, like a cast to VARCHAR; writes nothing and returns false if it is NULL.
    ///
    /// # Errors
    /// Those of [`value`](Self::value).
    pub fn write_text(&self, row: usize, out: &mut String) -> Result<bool> {
        let Some(zone) = &self.zone else { return self.reader.write_text(row, out) };
        let text = self.moment(row, zone)?;
        out.push_str(text.as_deref().unwrap_or_default());
        Ok(text.is_some())
    }

    /// Appends the value in a row as JSON on one line, like `to_json`; NULL as `null`.
    ///
    /// # Errors
    /// Those of [`value`](Self::value).
    pub fn write_json(&self, row: usize, out: &mut String) -> Result<()> {
        let Some(zone) = &self.zone else { return self.reader.write_json(row, out) };
        match self.moment(row, zone)? {
            Some(text) => write_json_string(out, &iso_moment(text)),
            None => out.push_str("null"),
        }
        Ok(())
    }

    /// Returns a moment as a cast writes it in a time zone; `None` for NULL.
    fn moment(&self, row: usize, zone: &TimeZone) -> Result<Option<String>> {
        Ok(match zone.cast(&self.value(row)?, &SqlType::TimestampTz, &SqlType::Varchar)? {
            Value::Text(text) => Some(text.to_string()),
            _ => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Database;

    /// Returns text and JSON of the only value of a query in a session with a time zone.
    fn shown(zone: &str, sql: &str) -> (Option<String>, String) {
        let connection = Database::open(":memory:").unwrap().connect();
        connection.execute(&format!("SET TimeZone = '{zone}'")).unwrap();
        let mut result = connection.query(sql).unwrap();
        let types = result.types().unwrap();
        let batch = result.next().unwrap().unwrap();
        let reader = ColumnReader::new(batch.column(0), &types[0]).unwrap();
        let mut json = String::new();
        reader.write_json(0, &mut json).unwrap();
        (reader.text(0).unwrap(), json)
    }

    #[test]
    fn moments_are_in_the_time_zone_of_the_session() {
        for (zone, moment, text, json) in [
            ("UTC", "2024-01-15 12:00:00", "2024-01-15 12:00:00+00", "2024-01-15T12:00:00+00:00"),
            ("UTC", "2024-01-15 12:00:00.1234", "2024-01-15 12:00:00.1234+00", "2024-01-15T12:00:00.1234+00:00"),
            ("UTC", "0044-03-15 12:00:00 BC", "0044-03-15 12:00:00+00 BC", "0044-03-15T12:00:00+00:00 BC"),
            ("Europe/Berlin", "2024-07-16 01:30:00", "2024-07-16 01:30:00+02", "2024-07-16T01:30:00+02:00"),
            ("Asia/Kolkata", "2024-07-01 05:30:00", "2024-07-01 05:30:00+05:30", "2024-07-01T05:30:00+05:30"),
            ("America/New_York", "2024-01-15 07:00:00.5", "2024-01-15 07:00:00.5-05", "2024-01-15T07:00:00.5-05:00"),
        ] {
            let expected = (Some(text.to_owned()), format!("\"{json}\""));
            assert_eq!(shown(zone, &format!("SELECT TIMESTAMPTZ '{moment}'")), expected, "{zone}");
        }
        assert_eq!(shown("Europe/Berlin", "SELECT NULL::TIMESTAMPTZ"), (None, "null".to_owned()));
        let within = (Some("[2024-07-15 23:30:00+00]".to_owned()), "[\"2024-07-15T23:30:00+00:00\"]".to_owned());
        assert_eq!(shown("Europe/Berlin", "SELECT [TIMESTAMPTZ '2024-07-16 01:30:00']"), within);
    }

    #[test]
    fn other_values_are_as_in_sql() {
        for (sql, text, json) in [
            ("1.50", "1.50", "1.50"),
            ("'a\"b'", "a\"b", "\"a\\\"b\""),
            ("[1, NULL]", "[1, NULL]", "[1,null]"),
            ("{'a': 'x y'}", "{'a': x y}", "{\"a\":\"x y\"}"),
            ("'{\"a\": [1]}'::JSON", "{\"a\": [1]}", "{\"a\": [1]}"),
            ("TIMESTAMP '2024-01-15 12:00:00.5'", "2024-01-15 12:00:00.5", "\"2024-01-15T12:00:00.5\""),
        ] {
            assert_eq!(shown("UTC", &format!("SELECT {sql}")), (Some(text.to_owned()), json.to_owned()));
        }
        assert_eq!(shown("UTC", "SELECT NULL"), (None, "null".to_owned()));
    }
}
