//! Files that are read as one table have the same columns.

use std::path::Path;

use arrow_schema::Field;
use godwit_common::{Error, Result};

/// The columns of `other` that are those of `first`, by name; each file is given by its path and its columns.
pub(crate) fn matching_columns(first: (&Path, &[Field]), other: (&Path, &[Field])) -> Result<Vec<usize>> {
    let differ = |how: String| {
        let paths = format!("{} and {}", first.0.display(), other.0.display());
        Error::user(format!("{paths} differ: {how}")).with_hint("files read as one table must have the same columns")
    };
    let columns = first.1.iter().map(|column| {
        let name = column.name();
        let index = other.1.iter().position(|other| other.name() == name);
        let index = index.ok_or_else(|| differ(format!("only the first has a column {name}")))?;
        let (a, b) = (column.data_type(), other.1[index].data_type());
        match a == b {
            true => Ok(index),
            false => Err(differ(format!("column {name} is {a} in the first, {b} in the second"))),
        }
    });
    let columns: Vec<usize> = columns.collect::<Result<_>>()?;
    match other.1.iter().enumerate().find(|(index, _)| !columns.contains(index)) {
        Some((_, extra)) => Err(differ(format!("only the second has a column {}", extra.name()))),
        None => Ok(columns),
    }
}
