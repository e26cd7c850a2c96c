//! Values of a result, for those who show them.

use arrow_array::ArrayRef;
use godwit_common::Result;
use godwit_types::{SqlType, Value, format_value};
use godwit_vector::from_arrow;
use godwit_vector::sql::Reader;

/// Reads the values of a column of a batch as SQL's.
pub struct ColumnReader<'t> {
    reader: Reader<'t>,
    ty: &'t SqlType,
}

impl<'t> ColumnReader<'t> {
    /// A reader of an array of values of a type, as [`QueryResult::types`](crate::QueryResult::types) tells it.
    pub fn new(array: &ArrayRef, ty: &'t SqlType) -> Result<Self> {
        Ok(Self { reader: Reader::new(&from_arrow(array)?, ty)?, ty })
    }

    /// The value in a row.
    pub fn value(&self, row: usize) -> Result<Value> {
        self.reader.value(row)
    }

    /// The value in a row as text, as a cast to VARCHAR makes it; `None` for NULL. Moments are in UTC.
    pub fn text(&self, row: usize) -> Result<Option<String>> {
        let value = self.value(row)?;
        Ok((!value.is_null()).then(|| format_value(&value, self.ty)))
    }
}
