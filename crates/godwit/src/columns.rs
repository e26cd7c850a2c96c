//! Values of a result, for display.

use arrow_array::ArrayRef;
use godwit_common::Result;
use godwit_types::{SqlType, Value, format_value};
use godwit_vector::from_arrow;
use godwit_vector::sql::Reader;

/// Reads the values of a batch's column as SQL values.
pub struct ColumnReader<'t> {
    reader: Reader<'t>,
    ty: &'t SqlType,
}

impl<'t> ColumnReader<'t> {
    /// Creates a reader of an array of values of a type, as returned by
    /// [`QueryResult::types`](crate::QueryResult::types).
    pub fn new(array: &ArrayRef, ty: &'t SqlType) -> Result<Self> {
        Ok(Self { reader: Reader::new(&from_arrow(array)?, ty)?, ty })
    }

    /// Returns the value in a row.
    pub fn value(&self, row: usize) -> Result<Value> {
        self.reader.value(row)
    }

    /// Returns the value in a row as text, like a cast to VARCHAR; `None` for NULL. Instants are in UTC.
    pub fn text(&self, row: usize) -> Result<Option<String>> {
        let value = self.value(row)?;
        Ok((!value.is_null()).then(|| format_value(&value, self.ty)))
    }
}
