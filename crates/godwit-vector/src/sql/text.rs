//! Writes the rows of vectors as text and as JSON.

use godwit_common::Result;
use godwit_types::{SqlType, Value, format_value, iso_moment, write_json_string, write_value};

use super::Reader;
use super::reader::{Values, flat_value, text_at};

impl Reader<'_> {
    /// Appends the value of a row as a cast to VARCHAR writes it; nothing if it is NULL. Returns whether it isn't NULL.
    ///
    /// # Errors
    /// If a text of the vector isn't UTF-8.
    pub fn write_text(&self, row: usize, out: &mut String) -> Result<bool> {
        let Some(row) = self.place(row) else { return Ok(false) };
        match &self.values {
            Values::Flat(flat) if is_own_text(self.ty) => out.push_str(text_at(flat, row)?),
            _ => write_value(out, &self.value_in(row)?, self.ty),
        }
        Ok(true)
    }

    /// Appends the value of a row as JSON, on one line: what SQL's `to_json` returns, and `null` for NULL.
    ///
    /// # Errors
    /// If a text of the vector isn't UTF-8.
    pub fn write_json(&self, row: usize, out: &mut String) -> Result<()> {
        let Some(row) = self.place(row) else {
            out.push_str("null");
            return Ok(());
        };
        match &self.values {
            Values::Flat(flat) if *self.ty == SqlType::Json => write_json_value(text_at(flat, row)?, out),
            Values::Flat(flat) if is_own_text(self.ty) => write_json_string(out, text_at(flat, row)?),
            Values::Flat(flat) => write_json_scalar(&flat_value(flat, row, self.ty)?, self.ty, out),
            Values::Intervals(_) => write_json_string(out, &format_value(&self.value_in(row)?, self.ty)),
            Values::Lists(offsets, elements) => {
                let elements =
                    (offsets[row]..offsets[row + 1]).map(|at| move |out: &mut _| elements.write_json(at, out));
                write_all("[]", elements, out)?;
            }
            Values::Structs(fields) => {
                let names = self.ty.fields().expect("structs have fields").iter().map(|field| &field.name);
                let fields = names.zip(fields).map(|(name, field)| {
                    move |out: &mut String| {
                        write_json_string(out, name);
                        out.push(':');
                        field.write_json(row, out)
                    }
                });
                write_all("{}", fields, out)?;
            }
            Values::Maps(offsets, parts) => {
                let entries = (offsets[row]..offsets[row + 1]).map(|at| {
                    move |out: &mut String| {
                        parts.0.write_json_key(at, out)?;
                        parts.1.write_json(at, out)
                    }
                });
                write_all("{}", entries, out)?;
            }
        }
        Ok(())
    }

    /// Appends the value of a row as the key of a JSON object, and the colon behind it: text, whatever its type. Nothing
    /// if it is NULL. Returns whether it isn't NULL.
    ///
    /// # Errors
    /// See [`Self::write_json`].
    pub fn write_json_key(&self, row: usize, out: &mut String) -> Result<bool> {
        let mut key = String::new();
        let is_valid = self.write_text(row, &mut key)?;
        if is_valid {
            write_json_string(out, &key);
            out.push(':');
        }
        Ok(is_valid)
    }
}

/// Returns true for types whose vectors hold the text of their values.
fn is_own_text(ty: &SqlType) -> bool {
    matches!(ty, SqlType::Varchar | SqlType::Json | SqlType::Bit)
}

/// Writes a JSON text. Its line breaks are blanks between values, as those of strings are escaped.
fn write_json_value(text: &str, out: &mut String) {
    match text.contains(['\n', '\r']) {
        true => out.extend(text.chars().map(|char| if matches!(char, '\n' | '\r') { ' ' } else { char })),
        false => out.push_str(text),
    }
}

fn write_json_scalar(value: &Value, ty: &SqlType, out: &mut String) {
    match (value, ty) {
        (Value::Boolean(_), _) => write_value(out, value, ty),
        (Value::Float(number), _) if number.is_finite() => write_value(out, value, ty),
        (Value::Integer(_), SqlType::Enum(_)) => write_json_string(out, &format_value(value, ty)),
        (Value::Integer(_) | Value::UHuge(_), _) => write_value(out, value, ty),
        (Value::Timestamp(_), _) => write_json_string(out, &iso_moment(format_value(value, ty))),
        _ => write_json_string(out, &format_value(value, ty)),
    }
}

/// Writes parts between brackets.
fn write_all<W: FnOnce(&mut String) -> Result<()>>(
    brackets: &str,
    parts: impl Iterator<Item = W>,
    out: &mut String,
) -> Result<()> {
    out.push_str(&brackets[..1]);
    for (at, write) in parts.enumerate() {
        out.push_str(if at == 0 { "" } else { "," });
        write(out)?;
    }
    out.push_str(&brackets[1..]);
    Ok(())
}
