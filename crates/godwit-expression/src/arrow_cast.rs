//! Casts for which we have no kernel: Arrow's.

use arrow_cast::CastOptions;
use arrow_cast::display::FormatOptions;
use arrow_schema::{ArrowError, DataType};
use godwit_common::{Error, Result};
use godwit_vector::kernels::cast::convert;
use godwit_vector::{PhysicalType, Vector, from_arrow, to_arrow};

use crate::expression::Kernel;

/// A cast between Arrow types.
pub(crate) struct ArrowCast {
    pub(crate) from: DataType,
    pub(crate) to: DataType,
}

impl Kernel for ArrowCast {
    fn evaluate(&self, arguments: &[Vector], _rows: usize) -> Result<Vector> {
        let array = to_arrow(&arguments[0], &self.from)?;
        let options = CastOptions { safe: false, format_options: FormatOptions::default() };
        let cast = arrow_cast::cast_with_options(&array, &self.to, &options).map_err(|error| {
            error_of(&error).with_hint("use TRY_CAST to get NULL for values that can't be converted")
        })?;
        let (vector, physical) = (from_arrow(&cast)?, PhysicalType::natural(&self.to)?);
        Ok(if vector.physical() == physical || !physical.is_integer() { vector } else { convert(&vector, physical) })
    }

    fn can_fail(&self) -> bool {
        true
    }
}

/// Strips the prefix, which says nothing: "Cast error: Cannot cast string 'x' to value of Int32 type".
fn error_of(error: &ArrowError) -> Error {
    let text = error.to_string();
    Error::user(text.split_once("error: ").map_or(text.as_str(), |(_, message)| message))
}
