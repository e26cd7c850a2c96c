//! Memory traces as tables: `godwit_trace_registry('t.parquet')`, on which SQL macros build
//! (crates/godwit-sql/src/trace_macros.sql).
//!
//! A trace is a Parquet file with one row per sample. JSON in its footer describes the samples: a header, and the
//! objects that had addresses while it was made.

use std::sync::{Arc, LazyLock, Weak};

use arrow_array::cast::AsArray;
use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, Field, Fields, Schema, SchemaRef};
use godwit_catalog::{Argument, TableDefinition, TableFunction};
use godwit_common::{Error, Result};
use godwit_exec::ComputedTable;
use godwit_files::metadata_json;
use godwit_types::Value;

use crate::database::Shared;

/// Key of the JSON in the footer.
const KEY: &str = "godwit.trace";

/// Columns of the header, in order.
static HEADER: LazyLock<Fields> = LazyLock::new(|| {
    Fields::from(vec![
        field("source", DataType::Utf8View),
        field("one_in", DataType::UInt64),
        field("duration_nanos", DataType::UInt64),
        field("samples", DataType::UInt64),
        field("lost", DataType::UInt64),
        field("statements", list_of(DataType::Utf8View)),
    ])
});

/// Columns of an object, in order.
static OBJECT: LazyLock<Fields> = LazyLock::new(|| {
    let range = ["address", "bytes", "offset", "from", "until"];
    let range = Fields::from_iter(range.map(|name| field(name, DataType::UInt64)));
    let entry = Fields::from(vec![field("entry", DataType::Int64), field("value", DataType::Utf8View)]);
    Fields::from(vec![
        field("id", DataType::Int32),
        field("path", DataType::Utf8View),
        field("kind", DataType::Utf8View),
        field("bytes", DataType::Int64),
        field("entry_bytes", DataType::Int64),
        field("table", DataType::Utf8View),
        field("column", DataType::Utf8View),
        field("query", DataType::Int64),
        field("first_row", DataType::Int64),
        field("rows", DataType::Int64),
        field("ranges", list_of(DataType::Struct(range))),
        field("entries", list_of(DataType::Struct(entry))),
    ])
});

fn field(name: &str, data_type: DataType) -> Field {
    Field::new(name, data_type, true)
}

fn list_of(element: DataType) -> DataType {
    DataType::List(Arc::new(Field::new_list_field(element, true)))
}

/// The part of a trace to show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// One row: source and number of the samples.
    Header,
    /// A row for each object.
    Objects,
}

impl Part {
    fn schema(self) -> SchemaRef {
        Arc::new(match self {
            Part::Header => Schema::new(HEADER.clone()),
            Part::Objects => Schema::new(OBJECT.clone()),
        })
    }

    /// Returns the JSON fields that it needs.
    fn decoded(self) -> SchemaRef {
        match self {
            Part::Header => self.schema(),
            Part::Objects => Arc::new(Schema::new(vec![field("objects", list_of(DataType::Struct(OBJECT.clone())))])),
        }
    }

    fn rows(self, shared: &Shared, path: &str) -> Result<RecordBatch> {
        let row = metadata_json(&*shared.files, path, KEY, self.decoded(), &shared.memory)?;
        let row = row.ok_or_else(|| {
            Error::user(format!("{path} is a Parquet file, but not a trace: its footer has no {KEY}"))
                .with_hint("SET trace = 'file.parquet' begins a trace, RESET trace ends it")
        })?;
        match self {
            Part::Header => Ok(row),
            Part::Objects => {
                let objects = row.column(0).as_list::<i32>();
                let schema = self.schema();
                if objects.is_null(0) {
                    return Ok(RecordBatch::new_empty(schema));
                }
                let objects = objects.value(0);
                let objects = objects.as_struct();
                if objects.null_count() > 0 {
                    return Err(Error::corrupt(format!("{path}: an object of the trace is null")));
                }
                RecordBatch::try_new(schema, objects.columns().to_vec())
                    .map_err(|error| Error::internal(error.to_string()))
            }
        }
    }
}

/// Function of a trace's path.
pub(super) struct TraceTable {
    /// Weak, since the database owns the planner, which owns the functions.
    pub(super) shared: Weak<Shared>,
    pub(super) part: Part,
}

impl TableFunction for TraceTable {
    fn arguments(&self) -> &'static str {
        "file"
    }

    fn table(&self, name: &str, arguments: &[Argument]) -> Result<Arc<TableDefinition>> {
        let [Argument { value: Value::Text(path), .. }] = arguments else {
            let error = Error::user(format!("{name} takes the path of a trace in quotes"));
            return Err(error.with_hint(format!("for example: {name}('trace.parquet')")));
        };
        let (shared, part, path) = (self.shared.clone(), self.part, path.to_string());
        let rows = move || {
            let shared = shared.upgrade().ok_or_else(|| Error::internal("a statement outlives its database"))?;
            part.rows(&shared, &path)
        };
        // The file is only read along with the rows: registries are long.
        ComputedTable::definition(name, &part.schema(), rows)
    }
}
