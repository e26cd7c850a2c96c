//! JSON objects as rows: one per line, a sequence, or an array. Other values are rows of one column.
//!
//! ```text
//! objects ─┬─▶ places of scalars, lengths of lists, in one pass   (objects, spans)   ─▶ vectors   (arrays)
//!          └─▶ trees, for what is unusual, and to say what is wrong                  ─▶ values    (tree, values)
//! ```

mod arrays;
mod infer;
mod objects;
mod scanner;
mod spans;
#[cfg(test)]
mod tests;
mod tree;
mod values;

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{Field, FieldRef, Schema, SchemaRef};
use godwit_common::{Error, Result};
use godwit_io::check_interrupt;
use godwit_pipeline::to_batch;
use godwit_types::{SqlType, Value};
use godwit_vector::Chunk;
use godwit_vector::sql::{field_of, type_of_field, vector_of_values};

use super::TextTable;
use super::columns::ColumnForm;
use super::cutter::{Cutter, Piece};
use super::options::{Format, TextOptions};
use super::read_as;
use super::sample::Sample;
use infer::Inferred;
use objects::{Found, Structs};
pub(super) use scanner::{JsonScanner, Layout};
use tree::{Flaw, Node, NodeKind};

/// Number of objects from which the types of columns are inferred, unless an option says otherwise.
const SAMPLED_OBJECTS: u64 = 20_480;

/// Characters of a wrong value that an error shows.
const SHOWN_CHARACTERS_MAX: usize = 60;

/// The column for values that aren't objects.
const WHOLE_COLUMN: &str = "json";

/// Properties of a table's files.
pub(super) struct Sniffed {
    pub fields: Vec<Field>,
    /// Number of values in all samples.
    pub records: u64,
    pub layout: Layout,
}

/// Examines samples. `expected` are the columns to read. `all` cuts a whole file into pieces if the sample has to be
/// longer and the file can be read twice.
pub(super) fn sniff(
    samples: &[Sample],
    name: &str,
    options: &TextOptions,
    expected: Option<&Schema>,
    all: impl Fn(usize, Layout) -> Result<Option<Cutter>>,
) -> Result<Sniffed> {
    let is_array = samples.first().is_some_and(|first| is_one_array(&first.bytes));
    let of_values = if is_array { Layout::Elements } else { Layout::Values };
    let mut inferred = Inferred::Nothing;
    let mut records = 0;
    let given = expected.is_some() || options.columns.is_some();
    for (source, sample) in samples.iter().enumerate() {
        let seen = look(sample, of_values, options, &mut inferred, given)?;
        records += seen;
        if options.sample_size.is_some_and(|wanted| seen < wanted)
            && !(sample.is_all || given)
            && let Some(cutter) = all(source, of_values)?
        {
            look_at_all(cutter, options, &mut inferred)?;
        }
    }
    if let Some(schema) = expected {
        let fields = schema.fields().iter().map(|given| read_as(given, Format::Json)).collect::<Result<_>>()?;
        return Ok(Sniffed { fields, records, layout: Layout::Objects });
    }
    let whole = |ty| (vec![(WHOLE_COLUMN.to_owned(), ty)], of_values);
    let (columns, layout): (Vec<(String, SqlType)>, Layout) = match (&options.columns, options.records, inferred) {
        (Some(columns), Some(false), _) => (columns.clone(), of_values),
        (Some(columns), ..) => (columns.clone(), Layout::Objects),
        (None, Some(false), _) => whole(SqlType::Json),
        (None, _, Inferred::Object(fields)) if !fields.is_empty() => {
            (fields.into_iter().map(|(name, ty)| (name, ty.sql_type())).collect(), Layout::Objects)
        }
        (None, _, Inferred::Object(_)) => {
            return Err(Error::user(format!("{name} has no columns: its objects are empty")));
        }
        (None, _, of_value) => whole(of_value.sql_type()),
    };
    check_distinct(&columns, name)?;
    let fields = columns.into_iter().map(|(name, ty)| {
        let ty = ty.for_exchange().unwrap_or(ty);
        field_of(name, &ty, true)
    });
    Ok(Sniffed { fields: fields.collect::<Result<_>>()?, records, layout })
}

/// Returns true if a file is a single array of values, not a sequence of values.
fn is_one_array(bytes: &[u8]) -> bool {
    let end = std::str::from_utf8(bytes).map_or_else(|error| error.valid_up_to(), str::len);
    let text = std::str::from_utf8(&bytes[..end]).unwrap_or_default();
    match tree::read(text, 0) {
        Ok((_, behind)) => text.trim_ascii_start().starts_with('[') && text[behind..].trim_ascii_start().is_empty(),
        // It continues after the sample.
        Err(_) => text.trim_ascii_start().starts_with('['),
    }
}

/// Fails if the names of two columns differ only in case.
fn check_distinct(columns: &[(String, SqlType)], file: &str) -> Result<()> {
    for (at, (name, _)) in columns.iter().enumerate() {
        if let Some((other, _)) = columns[..at].iter().find(|(other, _)| other.eq_ignore_ascii_case(name)) {
            return Err(Error::user(format!("{file}: the keys {other} and {name} differ only in case"))
                .with_hint("read objects as a whole with RECORDS false, and take json ->> 'key'"));
        }
    }
    Ok(())
}

/// Infers from the values of a sample; returns their number.
fn look(
    sample: &Sample,
    layout: Layout,
    options: &TextOptions,
    inferred: &mut Inferred,
    only_count: bool,
) -> Result<u64> {
    let limit = options.sample_size.unwrap_or(SAMPLED_OBJECTS);
    let mut bytes = sample.bytes.clone();
    let end = JsonScanner::new(layout).last_value_end(&mut bytes);
    // If the whole file was read, any rest is wrong unless it is blank.
    let end = if sample.is_all { bytes.len() } else { end.unwrap_or(bytes.len()) };
    let wrong = |at: usize, what: &str| {
        let line = sample.first_line + super::csv::breaks(&bytes[..at]);
        Error::user(format!("{}, line {line}: {what}", sample.name)).with_hint(NOT_JSON_HINT)
    };
    let text =
        std::str::from_utf8(&bytes[..end]).map_err(|error| wrong(error.valid_up_to(), "the text is not UTF-8"))?;
    match see(text, limit, options, inferred) {
        (records, None) => Ok(records),
        // Values of given columns are checked when they are read.
        (records, Some(_)) if options.skips_errors() || only_count => Ok(records),
        (_, Some(Flaw { at, what })) => Err(wrong(at, what)),
    }
}

/// Infers from the values of a whole file.
fn look_at_all(mut cutter: Cutter, options: &TextOptions, inferred: &mut Inferred) -> Result<()> {
    let limit = options.sample_size.unwrap_or(SAMPLED_OBJECTS);
    let (mut piece, mut records) = (Piece::default(), 0);
    while records < limit
        && let Some(next) = cutter.next(piece)?
    {
        check_interrupt().map_err(|_| Error::cancelled())?;
        next.check()?;
        let text = std::str::from_utf8(&next.bytes).map_err(|_| Error::internal("the piece was checked"))?;
        records += match see(text, limit - records, options, inferred) {
            (_, Some(Flaw { at, what })) if !options.skips_errors() => {
                return Err(next.error_at(next.line(at), what).with_hint(NOT_JSON_HINT));
            }
            (seen, _) => seen,
        };
        piece = next;
    }
    Ok(())
}

/// Infers from the values of a text, up to the first flaw; returns their number.
fn see(text: &str, limit: u64, options: &TextOptions, inferred: &mut Inferred) -> (u64, Option<Flaw>) {
    let (mut at, mut records) = (0, 0);
    let form = ColumnForm::of_user(options);
    while records < limit && !text[at..].trim_ascii_start().is_empty() {
        let (node, behind) = match tree::read(text, at) {
            Ok(found) => found,
            Err(flaw) => return (records, Some(flaw)),
        };
        let is_object = matches!(node.kind, NodeKind::Object(_) | NodeKind::Null);
        if !is_object && options.records == Some(true) {
            return (records, Some(Flaw { at, what: "a value that is no object" }));
        }
        // Non-objects are errors if all other values are objects.
        if is_object || !(options.skips_errors() && matches!(inferred, Inferred::Object(_))) {
            *inferred = std::mem::replace(inferred, Inferred::Nothing).with(Inferred::of(&node, &form));
        }
        at = behind;
        records += 1;
    }
    (records, None)
}

/// Returns the JSON object in a text as a row with these columns. Keys without a column are ignored; columns without a
/// key are NULL. Errors begin with `place`.
pub(crate) fn row_of_object(text: &str, place: &str, schema: &SchemaRef) -> Result<RecordBatch> {
    let piece = Piece { bytes: text.into(), path: place.into(), first_line: 1, ..Piece::default() };
    let mut objects = Objects::of_fields(schema.fields(), ColumnForm::default(), 1, false, false)?;
    match objects.next(&piece)? {
        Some(row) if piece.bytes[objects.at..].trim_ascii().is_empty() => to_batch(&row, schema),
        _ => Err(piece.error_at(1, "it is not one JSON object")),
    }
}

/// Reads the objects of one piece after the other.
pub(super) struct Objects {
    /// For values in their usual form.
    found: Option<Structs>,
    /// Where the next object of the piece begins.
    at: usize,
    rows_max: usize,
    columns: Vec<(String, SqlType)>,
    form: ColumnForm,
    ignore_errors: bool,
    /// True if each column is the whole value.
    is_whole: bool,
    /// Number of objects rejected since the last request.
    rejected: u64,
}

impl Objects {
    /// Creates a reader of `columns` of the table.
    pub(super) fn new(table: &TextTable, columns: &[usize], rows_max: usize) -> Result<Self> {
        let options = &table.options;
        let form = ColumnForm::of_user(options);
        let fields: Vec<FieldRef> = columns.iter().map(|&column| Arc::clone(&table.schema.fields()[column])).collect();
        let is_whole = table.layout != Layout::Objects;
        Self::of_fields(&fields, form, rows_max, is_whole, options.skips_errors())
    }

    fn of_fields(
        fields: &[FieldRef],
        form: ColumnForm,
        rows_max: usize,
        is_whole: bool,
        ignore_errors: bool,
    ) -> Result<Self> {
        let named = fields.iter().map(|field| Ok((field.name().clone(), type_of_field(field)?)));
        let columns = named.collect::<Result<Vec<_>>>()?;
        let found = match form == ColumnForm::default() && !is_whole {
            true => Structs::of_rows(&columns, fields),
            false => None,
        };
        Ok(Self { found, at: 0, rows_max, columns, form, ignore_errors, is_whole, rejected: 0 })
    }

    /// Goes to the beginning of a piece.
    pub(super) fn open(&mut self) {
        self.at = 0;
    }

    /// Returns the memory per byte of a piece: places in nested values, or trees, may need more than the text.
    pub(super) fn bytes_per_byte(&self) -> usize {
        let is_flat = |found: &Structs| found.fields.iter().all(|field| matches!(field, Found::Scalars(_)));
        if self.found.as_ref().is_some_and(is_flat) { 1 } else { 3 }
    }

    /// Returns the number of objects rejected since the last call.
    pub(super) fn take_rejected(&mut self) -> u64 {
        std::mem::take(&mut self.rejected)
    }

    /// Returns the next rows; `None` at the end of the piece.
    pub(super) fn next(&mut self, piece: &Piece) -> Result<Option<Chunk>> {
        match self.next_found(piece) {
            Some(chunk) => Ok(Some(chunk).filter(|chunk| !chunk.is_empty())),
            None => self.next_trees(piece),
        }
    }

    /// Returns the next rows, none at the end of the piece; `None` if anything about them is unusual.
    fn next_found(&mut self, piece: &Piece) -> Option<Chunk> {
        let found = self.found.as_mut()?;
        let next = found.find_rows(&piece.bytes, self.at, self.rows_max)?;
        let vectors = found.fields.iter().map(|column| column.vector(&piece.bytes)).collect::<Option<Vec<_>>>()?;
        self.at = next;
        Some(Chunk::new(vectors, found.valid.len()))
    }

    /// Returns the next rows, parsed as trees; `None` at the end of the piece.
    fn next_trees(&mut self, piece: &Piece) -> Result<Option<Chunk>> {
        let text = std::str::from_utf8(&piece.bytes).map_err(|_| Error::internal("the piece was checked"))?;
        let mut columns: Vec<Vec<Value>> = self.columns.iter().map(|_| Vec::new()).collect();
        let mut rows = 0;
        while rows < self.rows_max && !text[self.at..].trim_ascii_start().is_empty() {
            let begin = self.at + (text.len() - self.at - text[self.at..].trim_ascii_start().len());
            let (node, next) = match tree::read(text, begin) {
                Ok(found) => found,
                Err(_) if self.ignore_errors => {
                    self.rejected += 1;
                    self.at = next_line(text, begin, self.is_whole);
                    continue;
                }
                Err(Flaw { at, what }) => return Err(piece.error_at(piece.line(at), what).with_hint(NOT_JSON_HINT)),
            };
            self.at = next;
            match self.row(&node) {
                Ok(row) => {
                    columns.iter_mut().zip(row).for_each(|(column, value)| column.push(value));
                    rows += 1;
                }
                Err(_) if self.ignore_errors => self.rejected += 1,
                Err(what) => {
                    return Err(piece.error_at(piece.line(begin), &what).with_hint(
                        "SAMPLE_SIZE -1 looks at all rows first, COLUMNS gives types, IGNORE_ERRORS leaves such rows out",
                    ));
                }
            }
        }
        if rows == 0 {
            return Ok(None);
        }
        let vectors = columns.iter().zip(&self.columns).map(|(values, (_, ty))| vector_of_values(values, ty));
        Ok(Some(Chunk::new(vectors.collect::<Result<Vec<_>>>()?, rows)))
    }

    /// Returns the values of an object; an error says what is wrong.
    fn row(&self, node: &Node<'_>) -> std::result::Result<Vec<Value>, String> {
        let keys: &[_] = match &node.kind {
            _ if self.is_whole => &[],
            NodeKind::Object(keys) => keys,
            NodeKind::Null => &[],
            _ => return Err(format!("'{}' is no object", shortened(node.raw))),
        };
        let value = |(name, ty): &(String, SqlType)| {
            let node = if self.is_whole { Some(node) } else { values::find(keys, name) };
            node.map_or(Ok(Value::Null), |node| values::value(node, ty, &self.form))
                .map_err(|text| format!("column {name}: '{}' is not a value of type {ty}", shortened(&text)))
        };
        self.columns.iter().map(value).collect()
    }
}

const NOT_JSON_HINT: &str = "a JSON file holds values, or an array of them; IGNORE_ERRORS leaves others out";

/// Returns where a value begins after a flaw: on the next line; for objects, on the next line that begins with a brace.
fn next_line(text: &str, at: usize, is_value: bool) -> usize {
    text[at..].find(if is_value { "\n" } else { "\n{" }).map_or(text.len(), |length| at + length + 1)
}

fn shortened(text: &str) -> String {
    text.chars().take(SHOWN_CHARACTERS_MAX).collect()
}
