//! Results as text.

use arrow_array::RecordBatch;
use godwit::ColumnReader;
use godwit_vector::sql::type_of_field;

/// Returns the values of each row, as a cast to VARCHAR writes them, and `null` for NULL.
pub fn texts(batch: &RecordBatch, null: &str) -> Vec<Vec<String>> {
    let schema = batch.schema();
    let types: Vec<_> = schema.fields().iter().map(|field| type_of_field(field).expect("SQL has its type")).collect();
    let columns = batch.columns().iter().zip(&types);
    let columns: Vec<ColumnReader<'_>> =
        columns.map(|(array, ty)| ColumnReader::new(array, ty).expect("the array is of the type")).collect();
    let text = |column: &ColumnReader<'_>, row| {
        let text = column.text(row).expect("results are sound");
        text.unwrap_or_else(|| null.to_owned())
    };
    (0..batch.num_rows()).map(|row| columns.iter().map(|column| text(column, row)).collect()).collect()
}
