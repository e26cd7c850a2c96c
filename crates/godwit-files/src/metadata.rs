//! Key-value metadata in a Parquet file's footer.

use std::path::Path;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use godwit_common::{Error, MemoryTag, Result};
use godwit_io::Files;
use godwit_memory::BufferManager;

use crate::footer::ParquetFile;
use crate::local::check_reachable;
use crate::text::row_of_object;

/// Memory for a JSON text and its decoded form, in multiples of the text's length.
const DECODED_LENGTHS: usize = 4;

/// Returns the JSON object under a key of a file as a row with these columns; `None` if the file doesn't have the key.
/// Fields without a column are ignored; columns without a field are NULL.
pub fn metadata_json(
    files: &dyn Files,
    path: &str,
    key: &str,
    schema: SchemaRef,
    memory: &BufferManager,
) -> Result<Option<RecordBatch>> {
    check_reachable(files, path)?;
    let file = ParquetFile::open(files, Path::new(path), memory)?;
    let entries = file.metadata().file_metadata().key_value_metadata();
    let entry = entries.into_iter().flatten().find(|entry| entry.key == key);
    let Some(text) = entry.and_then(|entry| entry.value.as_deref()) else { return Ok(None) };
    let context = |error: Error| error.context(format!("{key} of {path}"));
    let _memory = memory.reserve(DECODED_LENGTHS * text.len(), MemoryTag::Reader).map_err(context)?;
    let row = row_of_object(text, &format!("{path}: what it has under {key} is wrong"), &schema);
    row.map(Some).map_err(|error| Error::corrupt(error.message()))
}
