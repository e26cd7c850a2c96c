//! Matching the columns of files that are read as one table.

use std::collections::HashMap;
use std::path::Path;

use arrow_schema::Field;
use godwit_common::{Error, Result};

/// The columns of a table, and the column of each file for each of them.
pub(crate) type MatchedColumns = (Vec<Field>, Vec<Vec<Option<usize>>>);

/// Returns the columns of files that all have the same, in the order of the first; nullable if they are in any file.
pub(crate) fn same_columns(files: &[(&Path, &[Field])]) -> Result<MatchedColumns> {
    let mut fields = files[0].1.to_vec();
    let mut places = Vec::with_capacity(files.len());
    for (number, file) in files.iter().enumerate() {
        // Two columns of the first file may have the same name.
        let matching = if number == 0 { (0..fields.len()).collect() } else { matching_columns(files[0], *file)? };
        for (field, &column) in fields.iter_mut().zip(&matching) {
            join(field, &file.1[column]);
        }
        places.push(matching.into_iter().map(Some).collect());
    }
    Ok((fields, places))
}

/// Makes a field also that of another file's column of the same Arrow type: nullable if one of them is, and text if one
/// is a UUID and the other isn't.
fn join(field: &mut Field, other: &Field) {
    field.set_nullable(field.is_nullable() || other.is_nullable());
    if field.metadata() != other.metadata() {
        field.set_metadata(HashMap::new());
    }
}

/// Returns the columns of all files by name, in any case, in order of first appearance; nullable if they are in any
/// file, or a file lacks them.
pub(crate) fn united_columns(files: &[(&Path, &[Field])]) -> Result<MatchedColumns> {
    let mut fields: Vec<(Field, &Path)> = Vec::new();
    for &(path, columns) in files {
        for column in columns {
            let known = fields.iter_mut().find(|(known, _)| known.name().eq_ignore_ascii_case(column.name()));
            match known {
                None => fields.push((column.clone(), path)),
                Some((known, _)) if known.data_type() == column.data_type() => {
                    join(known, column);
                }
                Some((known, first)) => {
                    let (name, a, b) = (column.name(), known.data_type(), column.data_type());
                    let (first, path) = (first.display(), path.display());
                    return Err(Error::user(format!("column {name} is {a} in {first}, {b} in {path}"))
                        .with_hint("columns of one name have one type in all files"));
                }
            }
        }
    }
    let mut fields: Vec<Field> = fields.into_iter().map(|(field, _)| field).collect();
    let mut places = Vec::with_capacity(files.len());
    for (_, columns) in files {
        let place = |field: &Field| columns.iter().position(|column| column.name().eq_ignore_ascii_case(field.name()));
        let of_file: Vec<Option<usize>> = fields.iter().map(place).collect();
        for (field, _) in fields.iter_mut().zip(&of_file).filter(|(_, place)| place.is_none()) {
            field.set_nullable(true);
        }
        places.push(of_file);
    }
    Ok((fields, places))
}

/// Returns the columns of `other` that match those of `first`, by name; each file is given by its path and its columns.
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
