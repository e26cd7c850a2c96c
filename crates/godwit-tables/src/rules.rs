//! Defaults and constraints as bytes.
//!
//! ```text
//!   defaults    count, then column, expression        checks      count, then name, condition
//!   keys        count, then name, primary, columns    references  count, then name, columns, parent, its columns
//!   indexes     count, then name, columns
//! ```

use godwit_common::Result;
use godwit_sql::{CheckRule, IndexRule, KeyRule, ReferenceRule, TableRules};
use godwit_storage::wire::{Reader, put_bytes, put_u32};

/// Appends rules.
pub(crate) fn write_rules(rules: &TableRules, out: &mut Vec<u8>) {
    // How columns are stored is a change of its own.
    let TableRules { defaults, checks, keys, references, encodings: _, indexes } = rules;
    put_u32(out, defaults.len() as u32);
    for (column, expression) in defaults {
        put_bytes(out, column.as_bytes());
        put_bytes(out, expression.as_bytes());
    }
    put_u32(out, checks.len() as u32);
    for CheckRule { name, condition } in checks {
        put_bytes(out, name.as_bytes());
        put_bytes(out, condition.as_bytes());
    }
    put_u32(out, keys.len() as u32);
    for KeyRule { name, columns, is_primary } in keys {
        put_bytes(out, name.as_bytes());
        out.push(*is_primary as u8);
        write_names(columns, out);
    }
    put_u32(out, references.len() as u32);
    for ReferenceRule { name, columns, parent, parent_columns } in references {
        put_bytes(out, name.as_bytes());
        write_names(columns, out);
        put_bytes(out, parent.as_bytes());
        write_names(parent_columns, out);
    }
    put_u32(out, indexes.len() as u32);
    for IndexRule { name, columns } in indexes {
        put_bytes(out, name.as_bytes());
        write_names(columns, out);
    }
}

/// Reads rules.
pub(crate) fn read_rules(bytes: &mut Reader<'_>) -> Result<TableRules> {
    let mut rules = TableRules::default();
    for _ in 0..bytes.u32()? {
        rules.defaults.push((bytes.text()?.to_owned(), bytes.text()?.to_owned()));
    }
    for _ in 0..bytes.u32()? {
        rules.checks.push(CheckRule { name: bytes.text()?.to_owned(), condition: bytes.text()?.to_owned() });
    }
    for _ in 0..bytes.u32()? {
        let (name, is_primary) = (bytes.text()?.to_owned(), bytes.u8()? != 0);
        rules.keys.push(KeyRule { name, columns: read_names(bytes)?, is_primary });
    }
    for _ in 0..bytes.u32()? {
        let (name, columns) = (bytes.text()?.to_owned(), read_names(bytes)?);
        let (parent, parent_columns) = (bytes.text()?.to_owned(), read_names(bytes)?);
        rules.references.push(ReferenceRule { name, columns, parent, parent_columns });
    }
    for _ in 0..bytes.u32()? {
        rules.indexes.push(IndexRule { name: bytes.text()?.to_owned(), columns: read_names(bytes)? });
    }
    Ok(rules)
}

/// Appends how columns are to be stored.
pub(crate) fn write_encodings(encodings: &[(String, String)], out: &mut Vec<u8>) {
    put_u32(out, encodings.len() as u32);
    for (column, encoding) in encodings {
        put_bytes(out, column.as_bytes());
        put_bytes(out, encoding.as_bytes());
    }
}

/// Reads how columns are to be stored.
pub(crate) fn read_encodings(bytes: &mut Reader<'_>) -> Result<Vec<(String, String)>> {
    (0..bytes.u32()?).map(|_| Ok((bytes.text()?.to_owned(), bytes.text()?.to_owned()))).collect()
}

fn write_names(names: &[String], out: &mut Vec<u8>) {
    put_u32(out, names.len() as u32);
    names.iter().for_each(|name| put_bytes(out, name.as_bytes()));
}

fn read_names(bytes: &mut Reader<'_>) -> Result<Vec<String>> {
    (0..bytes.u32()?).map(|_| Ok(bytes.text()?.to_owned())).collect()
}
