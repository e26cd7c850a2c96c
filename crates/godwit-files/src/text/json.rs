//! JSON objects as rows: lines of them, a sequence, or an array.

use arrow_array::Array;
use arrow_json::ReaderBuilder;
use arrow_json::reader::{Decoder, infer_json_schema};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use godwit_common::{Error, Result};
use godwit_vector::{Chunk, from_arrow};

use super::cutter::{Piece, Sample};
use super::{TextTable, field};

/// Objects that the types of columns are judged by.
const SAMPLED_OBJECTS: usize = 20_000;

/// The columns of a file, and objects in its sample. `expected` are the columns to read it as.
pub(super) fn sniff(sample: &Sample, name: &str, expected: Option<&Schema>) -> Result<(Vec<Field>, u64)> {
    let objects = sample.objects();
    let inferred = infer_json_schema(&objects[..], Some(SAMPLED_OBJECTS));
    if let Some(schema) = expected {
        let records = inferred.map_or(1, |(_, records)| records);
        let fields = schema.fields().iter().map(|given| field(given.name(), given.data_type()));
        return Ok((fields.collect(), records as u64));
    }
    let (schema, records) = inferred.map_err(|error| {
        Error::user(format!("{name}: {}", message(&error))).with_hint("a JSON file holds objects, or an array of them")
    })?;
    let fields = schema.fields().iter().map(|found| match found.data_type() {
        DataType::Null => field(found.name(), &DataType::Utf8View),
        data_type => field(found.name(), data_type),
    });
    let fields: Vec<Field> = fields.collect();
    if fields.is_empty() {
        return Err(Error::user(format!("{name} is empty: it has no columns")));
    }
    Ok((fields, records as u64))
}

/// The objects of a piece that aren't read yet.
pub(super) struct Objects {
    decoder: Decoder,
    piece: Piece,
    at: usize,
    /// Columns to emit; the decoder may read one more, so that rows are counted.
    columns: usize,
}

impl Objects {
    /// Reads `columns` of the table.
    pub(super) fn new(table: &TextTable, columns: &[usize], piece: Piece, rows_max: usize) -> Result<Self> {
        let read = if columns.is_empty() { &[0] } else { columns };
        let fields: Vec<Field> = read.iter().map(|&column| table.schema.field(column).clone()).collect();
        let schema: SchemaRef = Schema::new(fields).into();
        let decoder = ReaderBuilder::new(schema).with_batch_size(rows_max).with_coerce_primitive(true).build_decoder();
        let decoder = decoder.map_err(|error| Error::unsupported(format!("reading JSON: {}", message(&error))))?;
        Ok(Self { decoder, piece, at: 0, columns: columns.len() })
    }

    /// The next rows; `None` at the end of the piece.
    pub(super) fn next(&mut self, table: &TextTable) -> Result<Option<Chunk>> {
        // Arrow tells no place. What it has taken of the piece says where it is, about.
        let wrong = |at: usize, error: arrow_schema::ArrowError| {
            let before = self.piece.bytes.get(..at).unwrap_or_default();
            let line = self.piece.first_line + memchr::memchr_iter(b'\n', before).count() as u64;
            table.error_at(line, &format!("in this line or behind it, {}", message(&error)))
        };
        let begin = self.at;
        self.at += self.decoder.decode(&self.piece.bytes[self.at..]).map_err(|error| wrong(begin, error))?;
        let Some(batch) = self.decoder.flush().map_err(|error| wrong(begin, error))? else { return Ok(None) };
        let vectors = batch.columns()[..self.columns].iter().map(from_arrow).collect::<Result<Vec<_>>>()?;
        debug_assert!(batch.columns().iter().all(|column| column.len() == batch.num_rows()));
        Ok(Some(Chunk::new(vectors, batch.num_rows())))
    }
}

/// Arrow's message without its kind.
fn message(error: &arrow_schema::ArrowError) -> String {
    let text = error.to_string();
    text.split_once(": ").map_or(text.clone(), |(_, rest)| rest.to_owned())
}
