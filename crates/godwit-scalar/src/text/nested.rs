//! Lists, structs, maps and BLOBs as texts: values that may be long.

use std::sync::Arc;

use godwit_common::Result;
use godwit_types::SqlType;
use godwit_vector::sql::Reader;
use godwit_vector::{Flat, Vector};

use crate::kernel::{Kernel, Work};
use crate::rows::{Pieces, for_each_row, valid_rows, with_nulls};

/// Returns the kernel that casts values of a type, nested ones or BLOBs, to VARCHAR.
pub fn long_as_text(ty: SqlType) -> Arc<dyn Kernel> {
    Arc::new(Written { ty })
}

struct Written {
    ty: SqlType,
}

impl Kernel for Written {
    fn evaluate(&self, arguments: &[Vector], rows: usize, work: &dyn Work) -> Result<Vector> {
        let valid = valid_rows(arguments);
        let reader = Reader::new(&arguments[0], &self.ty)?;
        let mut out = Pieces::new(rows, work);
        for_each_row(rows, valid.as_deref(), work, |row, is_valid| {
            if is_valid {
                reader.write_text(row, &mut out)?;
            }
            out.end_row()
        })?;
        Ok(with_nulls(Flat::Str(out.finish()), valid, &[]))
    }
}

#[cfg(test)]
mod tests {
    use godwit_common::ErrorKind;
    use godwit_types::Value;
    use godwit_vector::sql::vector_of_values;

    use super::*;
    use crate::Bounded;

    #[test]
    fn a_list_is_counted_while_it_is_written() {
        let ty = SqlType::list_of(SqlType::Varchar);
        let text = "x".repeat(100_000);
        let list = |count: usize| Value::List((0..count).map(|_| Value::text(&*text)).collect());
        let cast = |count: usize, work: &Bounded| {
            let vector = vector_of_values(&[list(count)], &ty).unwrap();
            long_as_text(ty.clone()).evaluate(&[vector], 1, work)
        };
        let work = Bounded::new(4 << 20);
        let written = cast(10, &work).unwrap();
        assert_eq!(written.to_flat().strings().get(0).len(), 10 * 100_000 + 9 * 2 + 2);
        assert_eq!(cast(100, &work).err().map(|error| error.kind()), Some(ErrorKind::Resource));
    }
}
