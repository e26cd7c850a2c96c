//! JSON objects as rows: lines of them, a sequence, or an array.

use arrow_array::Array;
use arrow_json::ReaderBuilder;
use arrow_json::reader::{Decoder, infer_json_schema};
use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};
use godwit_common::{Error, Result};
use godwit_vector::{CHUNK_ROWS, Chunk, ColumnType, RowType, from_arrow};

use super::columns::Formats;
use super::cutter::{Piece, Sample};
use super::objects::FlatObjects;
use super::parse::{date, timestamp};
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
    let mut fields: Vec<Field> = fields.collect();
    if fields.is_empty() {
        return Err(Error::user(format!("{name} is empty: it has no columns")));
    }
    find_moments(&mut fields, &objects);
    Ok((fields, records as u64))
}

/// Turns columns whose texts are all dates or timestamps into such columns, where objects are flat.
fn find_moments(fields: &mut [Field], objects: &[u8]) {
    let places: Vec<usize> = (0..fields.len()).filter(|&at| *fields[at].data_type() == DataType::Utf8View).collect();
    if places.is_empty() {
        return;
    }
    let texts = places.iter().map(|&place| (fields[place].name().as_str(), fields[place].data_type()));
    let Some(mut flat) = FlatObjects::new(texts) else { return };
    // For each column, whether all of its texts are dates or all are timestamps; `None` before the first.
    let mut found: Vec<Option<(bool, bool)>> = vec![None; places.len()];
    let mut at = 0;
    while at < objects.len() {
        let Some(next) = flat.find(objects, at, CHUNK_ROWS) else { return };
        for (column, found) in found.iter_mut().enumerate() {
            let texts = flat.fields(objects, column);
            for text in (0..flat.len()).filter_map(|row| texts.get(row)) {
                let (dates, timestamps) = found.unwrap_or((true, true));
                *found = Some((dates && date(text).is_some(), timestamps && timestamp(text).is_some()));
            }
        }
        at = next;
    }
    for (&place, found) in places.iter().zip(found) {
        let data_type = match found {
            Some((true, _)) => DataType::Date32,
            Some((_, true)) => DataType::Timestamp(TimeUnit::Microsecond, None),
            _ => continue,
        };
        fields[place] = field(fields[place].name(), &data_type);
    }
}

/// Reads the objects of pieces in turn.
pub(super) struct Objects {
    /// For columns of flat values.
    flat: Option<FlatObjects>,
    /// For all others, and for objects that aren't flat.
    decoder: Decoder,
    /// Where the next object of the piece begins.
    at: usize,
    rows_max: usize,
    types: RowType,
}

impl Objects {
    /// Reads `columns` of the table.
    pub(super) fn new(table: &TextTable, columns: &[usize], rows_max: usize) -> Result<Self> {
        // The decoder reads a column in any case, so that rows are counted.
        let read = if columns.is_empty() { &[0] } else { columns };
        let fields: Vec<Field> = read.iter().map(|&column| table.schema.field(column).clone()).collect();
        let schema: SchemaRef = Schema::new(fields).into();
        let decoder = ReaderBuilder::new(schema).with_batch_size(rows_max).with_coerce_primitive(true).build_decoder();
        let decoder = decoder.map_err(|error| Error::unsupported(format!("reading JSON: {}", message(&error))))?;
        let named = columns.iter().map(|&column| table.schema.field(column));
        let flat = FlatObjects::new(named.map(|field| (field.name().as_str(), field.data_type())));
        let types = columns.iter().map(|&column| table.row_type[column].clone()).collect();
        Ok(Self { flat, decoder, at: 0, rows_max, types })
    }

    /// Goes to the beginning of a piece.
    pub(super) fn open(&mut self) {
        self.at = 0;
    }

    /// The next rows; `None` at the end of the piece.
    pub(super) fn next(&mut self, piece: &Piece) -> Result<Option<Chunk>> {
        match self.next_flat(piece)? {
            Some(chunk) => Ok(Some(chunk).filter(|chunk| !chunk.is_empty())),
            None => self.decode(piece),
        }
    }

    /// The next rows, none at the end of the piece; `None` if they aren't flat.
    fn next_flat(&mut self, piece: &Piece) -> Result<Option<Chunk>> {
        let Some(flat) = &mut self.flat else { return Ok(None) };
        let Some(next) = flat.find(&piece.bytes, self.at, self.rows_max) else { return Ok(None) };
        let mut vectors = Vec::with_capacity(self.types.len());
        for (column, ColumnType { logical, physical, .. }) in self.types.iter().enumerate() {
            let fields = flat.fields(&piece.bytes, column);
            if *logical == DataType::Utf8View {
                vectors.push(fields.strings(None));
                continue;
            }
            let values = fields.values(logical, *physical, &Formats::default())?;
            // Arrow knows better how unusual JSON is meant.
            if values.is_cast {
                return Ok(None);
            }
            vectors.push(values.vector);
        }
        self.at = next;
        Ok(Some(Chunk::new(vectors, flat.len())))
    }

    fn decode(&mut self, piece: &Piece) -> Result<Option<Chunk>> {
        // Arrow reports no position. How much of the piece it has consumed tells approximately.
        let wrong = |at: usize, error: arrow_schema::ArrowError| {
            piece.error_at(piece.line(at), &format!("in this line or behind it, {}", message(&error)))
        };
        let begin = self.at;
        self.at += self.decoder.decode(&piece.bytes[self.at..]).map_err(|error| wrong(begin, error))?;
        let Some(batch) = self.decoder.flush().map_err(|error| wrong(begin, error))? else { return Ok(None) };
        let vectors = batch.columns()[..self.types.len()].iter().map(from_arrow).collect::<Result<Vec<_>>>()?;
        debug_assert!(batch.columns().iter().all(|column| column.len() == batch.num_rows()));
        Ok(Some(Chunk::new(vectors, batch.num_rows())))
    }
}

/// Arrow's message without its kind.
fn message(error: &arrow_schema::ArrowError) -> String {
    let text = error.to_string();
    text.split_once(": ").map_or(text.clone(), |(_, rest)| rest.to_owned())
}
