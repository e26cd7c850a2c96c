//! Errors in the records of CSV: as messages, and as rejects with their places.

use std::ops::Range;

use arrow_schema::DataType;
use godwit_common::Error;
use godwit_vector::sql::type_of_field;

use super::TextTable;
use super::csv::field_start;
use super::cutter::Piece;
use super::records::{CsvRecords, RejectedRecord};
use super::rejects::{LINE_BYTES_MAX, Reject, RejectKind, ScanRejects};

/// Characters of a wrong value shown in an error.
const SHOWN_CHARACTERS_MAX: usize = 60;

/// Error of a record that doesn't end.
pub(super) const UNCLOSED: &str = "a quote that begins in this record isn't closed";

/// Describes the error of a record of another width.
pub(super) fn wrong_width(fields: usize, expected: usize) -> String {
    format!("{fields} fields, {expected} expected")
}

/// An error in some records.
enum Wrong<'a> {
    Record(&'a RejectedRecord),
    /// Of a row, the field for a column.
    Field(usize, usize),
}

/// Keeps the errors of some records of a piece, in their order: those of rejected records, and those of the others' fields,
/// as rows and columns.
pub(super) fn keep_errors(
    rejects: &ScanRejects,
    table: &TextTable,
    piece: &Piece,
    (records, rejected, fields): (&CsvRecords, &[RejectedRecord], &[(usize, usize)]),
) {
    let of_records = rejected.iter().map(|record| (record.range.start, 0, Wrong::Record(record)));
    let begin = |row| records.range(piece, row).start;
    let of_fields = fields.iter().map(|&(row, column)| (begin(row), column, Wrong::Field(row, column)));
    let mut errors: Vec<_> = of_records.chain(of_fields).collect();
    errors.sort_unstable_by_key(|(begin, column, _)| (*begin, *column));
    let mut line = records.lines(piece);
    rejects.extend(piece.source, errors, |(.., error)| match error {
        Wrong::Record(record) => wrong_record(table, piece, record),
        Wrong::Field(row, column) => wrong_field(table, piece, records, (row, line(row)), column),
    });
}

/// Describes a record that was rejected before its values were read.
fn wrong_record(table: &TextTable, piece: &Piece, record: &RejectedRecord) -> Reject {
    let shape = table.shape(piece);
    let RejectedRecord { line, range, fields, is_unclosed } = record;
    let bytes = &piece.bytes[range.clone()];
    let start_of = |field| field_start(bytes, &shape.dialect, field);
    let (kind, message) = match *fields < shape.width {
        _ if *is_unclosed => (RejectKind::UnquotedValue, UNCLOSED.to_owned()),
        true => (RejectKind::MissingColumns, wrong_width(*fields, shape.width)),
        false => (RejectKind::TooManyColumns, wrong_width(*fields, shape.width)),
    };
    // The last field, the end of the record, the delimiter before the first field that is too many.
    let (column, named, at) = match kind {
        RejectKind::MissingColumns => (*fields, *fields, without_line_end(bytes).len()),
        RejectKind::TooManyColumns => {
            (shape.width + 1, shape.width, start_of(shape.width) - shape.dialect.delimiter.bytes().len())
        }
        RejectKind::UnquotedValue | RejectKind::Cast => (*fields, fields - 1, start_of(fields - 1)),
    };
    let of_field = shape.columns.iter().position(|(field, _)| *field == Some(named));
    let name = of_field.map(|column| table.schema.field(column).name().clone());
    reject(piece, (*line, range.clone()), at, (column, name), kind, message)
}

/// Describes a record of which a field isn't a value of its column's type.
fn wrong_field(
    table: &TextTable,
    piece: &Piece,
    records: &CsvRecords,
    (row, line): (usize, u64),
    column: usize,
) -> Reject {
    let shape = table.shape(piece);
    let place = shape.columns[column].0.expect("the file has the column");
    let range = records.range(piece, row);
    let fields = records.fields(piece, place, &shape.dialect, table.nulls_of(column));
    let field = fields.get(row).unwrap_or_default().trim_ascii();
    let at = field_start(&piece.bytes[range.clone()], &shape.dialect, place);
    let name = table.schema.field(column).name().clone();
    let message = not_a_value(table, piece, column, field);
    reject(piece, (line, range), at, (place + 1, Some(name)), RejectKind::Cast, message)
}

fn reject(
    piece: &Piece,
    (line, range): (u64, Range<usize>),
    at: usize,
    column: (usize, Option<String>),
    kind: RejectKind,
    message: String,
) -> Reject {
    let line_at = piece.offset + range.start as u64;
    let text = without_line_end(&piece.bytes[range]);
    let text = String::from_utf8_lossy(&text[..text.len().min(LINE_BYTES_MAX)]).into_owned();
    Reject { line, line_at, at: line_at + at as u64, column, kind, text, message }
}

fn without_line_end(record: &[u8]) -> &[u8] {
    let end = record.iter().rposition(|&byte| byte != b'\n' && byte != b'\r').map_or(0, |last| last + 1);
    &record[..end]
}

/// Describes the error of a field of a column.
fn not_a_value(table: &TextTable, piece: &Piece, column: usize, field: &[u8]) -> String {
    let field_type = table.schema.field(column);
    let text: String = String::from_utf8_lossy(field).chars().take(SHOWN_CHARACTERS_MAX).collect();
    let (name, data_type) = (field_type.name(), field_type.data_type());
    let ty = type_of_field(field_type).map_or_else(|_| data_type.to_string(), |ty| ty.to_string());
    let form = table.shape(piece).columns[column].1.day.map(|day| format!(", written as {}", day.template()));
    format!("column {name}: '{text}' is not a value of type {ty}{}", form.unwrap_or_default())
}

/// Returns the error of a field of a column, if rows with errors aren't left out.
pub(super) fn wrong_value(table: &TextTable, piece: &Piece, line: u64, column: usize, field: &[u8]) -> Error {
    let more = match table.schema.field(column).data_type() {
        DataType::Date32 => "DATEFORMAT names the form of dates",
        DataType::Timestamp(..) => "TIMESTAMPFORMAT names the form of timestamps",
        _ => "SAMPLE_SIZE -1 looks at all rows first, NULLSTR names texts that are NULL",
    };
    piece
        .error_at(line, &not_a_value(table, piece, column, field))
        .with_hint(format!("{more}; TYPES or ALL_VARCHAR read it as text, IGNORE_ERRORS leaves such rows out"))
}
