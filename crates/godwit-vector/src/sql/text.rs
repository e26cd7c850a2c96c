//! Writes the rows of vectors as text and as JSON.
//!
//! Nested values, long texts and BLOBs are written part by part, so that whoever takes the text can count it as it grows,
//! and needn't have it twice ([`TextSink`]). Keys of JSON objects are short, and written as a whole.

use godwit_common::Result;
use godwit_types::{
    SqlType, Value, format_value, iso_moment, needs_quotes, write_escaped, write_hex, write_json_escaped,
    write_json_string, write_part, write_quoted, write_value,
};

use super::Reader;
use super::reader::{Values, flat_value, text_at};

/// Bytes of a text that are written at once.
const PIECE_BYTES: usize = 64 << 10;

/// Takes text.
pub trait TextSink {
    /// Where the next part is written, behind those that are still there.
    fn text(&mut self) -> &mut String;

    /// Called between parts of a value: what was written may be moved on.
    ///
    /// # Errors
    /// If there is no memory for it, or the statement should stop.
    fn end_part(&mut self) -> Result<()>;
}

/// Keeps everything.
impl TextSink for String {
    fn text(&mut self) -> &mut String {
        self
    }

    fn end_part(&mut self) -> Result<()> {
        Ok(())
    }
}

impl Reader<'_> {
    /// Appends the value of a row as a cast to VARCHAR writes it; nothing if it is NULL. Returns whether it isn't NULL.
    ///
    /// # Errors
    /// If a text of the vector isn't UTF-8; those of `out`.
    pub fn write_text<S: TextSink>(&self, row: usize, out: &mut S) -> Result<bool> {
        let Some(row) = self.place(row) else { return Ok(false) };
        match &self.values {
            Values::Flat(flat) if is_own_text(self.ty) => {
                write_pieces(text_at(flat, row)?, out, |out, piece| out.push_str(piece))?;
            }
            Values::Flat(flat) if *self.ty == SqlType::Blob => write_blob(flat.strings().get(row), "\\x", out)?,
            Values::Flat(_) | Values::Intervals(_) => write_value(out.text(), &self.value_in(row)?, self.ty),
            Values::Lists(..) | Values::Structs(_) | Values::Maps(..) => self.write_nested(row, out)?,
        }
        Ok(true)
    }

    /// Appends the nested value in a place.
    fn write_nested<S: TextSink>(&self, row: usize, out: &mut S) -> Result<()> {
        match &self.values {
            Values::Lists(offsets, elements) => {
                write_all("[]", ", ", offsets[row]..offsets[row + 1], out, |at, out| elements.write_part(at, out))
            }
            Values::Structs(fields) => {
                let names = self.ty.fields().expect("structs have fields").iter().map(|field| &field.name);
                write_all("{}", ", ", names.zip(fields), out, |(name, field), out| {
                    write_quoted(out.text(), name);
                    out.text().push_str(": ");
                    field.write_part(row, out)
                })
            }
            Values::Maps(offsets, parts) => write_all("{}", ", ", offsets[row]..offsets[row + 1], out, |at, out| {
                parts.0.write_part(at, out)?;
                out.text().push('=');
                parts.1.write_part(at, out)
            }),
            Values::Flat(_) | Values::Intervals(_) => unreachable!("they aren't nested"),
        }
    }

    /// Appends the value of a row as it is written within a nested one.
    fn write_part<S: TextSink>(&self, row: usize, out: &mut S) -> Result<()> {
        let Some(row) = self.place(row) else {
            out.text().push_str("NULL");
            return Ok(());
        };
        match &self.values {
            Values::Flat(flat) if is_own_text(self.ty) => {
                let text = text_at(flat, row)?;
                if !needs_quotes(text) {
                    return write_pieces(text, out, |out, piece| out.push_str(piece));
                }
                out.text().push('\'');
                write_pieces(text, out, write_escaped)?;
                out.text().push('\'');
            }
            Values::Flat(flat) if *self.ty == SqlType::Blob => write_blob(flat.strings().get(row), "\\x", out)?,
            Values::Flat(_) | Values::Intervals(_) => write_part(out.text(), &self.value_in(row)?, self.ty),
            Values::Lists(..) | Values::Structs(_) | Values::Maps(..) => self.write_nested(row, out)?,
        }
        Ok(())
    }

    /// Appends the value of a row as JSON, on one line: what SQL's `to_json` returns, and `null` for NULL.
    ///
    /// # Errors
    /// If a text of the vector isn't UTF-8; those of `out`.
    pub fn write_json<S: TextSink>(&self, row: usize, out: &mut S) -> Result<()> {
        let Some(row) = self.place(row) else {
            out.text().push_str("null");
            return Ok(());
        };
        match &self.values {
            Values::Flat(flat) if *self.ty == SqlType::Json => {
                write_pieces(text_at(flat, row)?, out, write_json_value)?;
            }
            Values::Flat(flat) if is_own_text(self.ty) => {
                out.text().push('"');
                write_pieces(text_at(flat, row)?, out, write_json_escaped)?;
                out.text().push('"');
            }
            Values::Flat(flat) if *self.ty == SqlType::Blob => {
                write_blob(flat.strings().get(row), "\"\\\\x", out)?;
                out.text().push('"');
            }
            Values::Flat(flat) => write_json_scalar(&flat_value(flat, row, self.ty)?, self.ty, out.text()),
            Values::Intervals(_) => write_json_string(out.text(), &format_value(&self.value_in(row)?, self.ty)),
            Values::Lists(offsets, elements) => {
                write_all("[]", ",", offsets[row]..offsets[row + 1], out, |at, out| elements.write_json(at, out))?;
            }
            Values::Structs(fields) => {
                let names = self.ty.fields().expect("structs have fields").iter().map(|field| &field.name);
                write_all("{}", ",", names.zip(fields), out, |(name, field), out| {
                    write_json_string(out.text(), name);
                    out.text().push(':');
                    field.write_json(row, out)
                })?;
            }
            Values::Maps(offsets, parts) => {
                write_all("{}", ",", offsets[row]..offsets[row + 1], out, |at, out| {
                    parts.0.write_json_key(at, out)?;
                    parts.1.write_json(at, out)
                })?;
            }
        }
        Ok(())
    }

    /// Appends the value of a row as the key of a JSON object, and the colon behind it: text, whatever its type. Nothing
    /// if it is NULL. Returns whether it isn't NULL.
    ///
    /// # Errors
    /// See [`Self::write_json`].
    pub fn write_json_key<S: TextSink>(&self, row: usize, out: &mut S) -> Result<bool> {
        let mut key = String::new();
        let is_valid = self.write_text(row, &mut key)?;
        if is_valid {
            write_json_string(out.text(), &key);
            out.text().push(':');
        }
        Ok(is_valid)
    }
}

/// Returns true for types whose vectors hold the text of their values.
fn is_own_text(ty: &SqlType) -> bool {
    matches!(ty, SqlType::Varchar | SqlType::Json | SqlType::Bit)
}

/// Writes a text in pieces that are cut between characters.
fn write_pieces<S: TextSink>(text: &str, out: &mut S, write: impl Fn(&mut String, &str)) -> Result<()> {
    let mut rest = text;
    while rest.len() > PIECE_BYTES {
        let (piece, behind) = rest.split_at(rest.floor_char_boundary(PIECE_BYTES));
        write(out.text(), piece);
        out.end_part()?;
        rest = behind;
    }
    write(out.text(), rest);
    Ok(())
}

/// Writes a BLOB in hexadecimal digits behind `prefix`.
fn write_blob<S: TextSink>(bytes: &[u8], prefix: &str, out: &mut S) -> Result<()> {
    out.text().push_str(prefix);
    for piece in bytes.chunks(PIECE_BYTES) {
        write_hex(out.text(), piece);
        out.end_part()?;
    }
    Ok(())
}

/// Writes a JSON text. Its line breaks are blanks between values, as those of strings are escaped.
fn write_json_value(out: &mut String, text: &str) {
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

/// Writes parts between brackets, with a separator between them.
fn write_all<S: TextSink, P>(
    brackets: &str,
    separator: &str,
    parts: impl Iterator<Item = P>,
    out: &mut S,
    write: impl Fn(P, &mut S) -> Result<()>,
) -> Result<()> {
    out.text().push_str(&brackets[..1]);
    for (at, part) in parts.enumerate() {
        out.text().push_str(if at == 0 { "" } else { separator });
        write(part, out)?;
        out.end_part()?;
    }
    out.text().push_str(&brackets[1..]);
    Ok(())
}
