//! Serialization of defaults and constraints.
//!
//! ```text
//!   defaults    count, then column, expression        checks      count, then name, condition
//!   keys        count, then name, primary, columns    references  count, then name, columns, parent, its columns
//!   indexes     count, then name, columns
//!
//!   generated   columns as tables have them, then for each position, kind, expression   (apart: format 2 has none)
//!   comments    flag and text of the object's own, then count, then column, text         (apart, and not of tables only)
//! ```

use arrow_schema::Field;
use godwit_catalog::{
    CheckRule, Comments, GeneratedColumn, GeneratedKind, IndexRule, KeyRule, ReferenceRule, TableRules,
};
use godwit_common::{Error, Result};
use godwit_storage::table::{read_fields, write_fields};
use godwit_storage::wire::{Reader, put_bytes, put_u32};

/// Appends rules.
pub(crate) fn write_rules(rules: &TableRules, out: &mut Vec<u8>) {
    // How columns are stored, those that are generated, and comments are changes of their own.
    let TableRules { defaults, checks, keys, references, encodings: _, indexes, generated: _, comments: _ } = rules;
    write_pairs(defaults, out);
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
    let mut rules = TableRules { defaults: read_pairs(bytes)?, ..TableRules::default() };
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

/// Appends columns, each with its default or its encoding.
pub(crate) fn write_pairs(pairs: &[(String, String)], out: &mut Vec<u8>) {
    put_u32(out, pairs.len() as u32);
    for (column, value) in pairs {
        put_bytes(out, column.as_bytes());
        put_bytes(out, value.as_bytes());
    }
}

/// Reads columns, each with its default or its encoding.
pub(crate) fn read_pairs(bytes: &mut Reader<'_>) -> Result<Vec<(String, String)>> {
    (0..bytes.u32()?).map(|_| Ok((bytes.text()?.to_owned(), bytes.text()?.to_owned()))).collect()
}

/// Kinds of generated columns by their number in the file.
const KINDS: [GeneratedKind; 3] = [GeneratedKind::Virtual, GeneratedKind::Stored, GeneratedKind::Identity];

/// Appends the generated columns.
pub(crate) fn write_generated(columns: &[GeneratedColumn], out: &mut Vec<u8>) -> Result<()> {
    let fields: Vec<Field> = columns.iter().map(|column| column.field.clone()).collect();
    write_fields(&fields, out)?;
    for GeneratedColumn { field: _, position, expression, kind } in columns {
        put_u32(out, *position as u32);
        out.push(KINDS.iter().position(|known| known == kind).expect("all kinds are listed") as u8);
        put_bytes(out, expression.as_bytes());
    }
    Ok(())
}

/// Reads generated columns.
pub(crate) fn read_generated(bytes: &mut Reader<'_>) -> Result<Vec<GeneratedColumn>> {
    let fields = read_fields(bytes)?;
    let column = |field: Field| {
        let position = bytes.u32()? as usize;
        let kind = KINDS.get(bytes.u8()? as usize).copied();
        let kind = kind.ok_or_else(|| Error::corrupt("a generated column is of an unknown kind"))?;
        Ok(GeneratedColumn { field, position, expression: bytes.text()?.to_owned(), kind })
    };
    fields.into_iter().map(column).collect()
}

/// Appends the comments on an object.
pub(crate) fn write_comments(Comments { own, columns }: &Comments, out: &mut Vec<u8>) {
    out.push(own.is_some() as u8);
    put_bytes(out, own.as_deref().unwrap_or_default().as_bytes());
    write_pairs(columns, out);
}

/// Reads the comments on an object.
pub(crate) fn read_comments(bytes: &mut Reader<'_>) -> Result<Comments> {
    let (is_some, own) = (bytes.u8()? != 0, bytes.text()?.to_owned());
    Ok(Comments { own: is_some.then_some(own), columns: read_pairs(bytes)? })
}

fn write_names(names: &[String], out: &mut Vec<u8>) {
    put_u32(out, names.len() as u32);
    names.iter().for_each(|name| put_bytes(out, name.as_bytes()));
}

fn read_names(bytes: &mut Reader<'_>) -> Result<Vec<String>> {
    (0..bytes.u32()?).map(|_| Ok(bytes.text()?.to_owned())).collect()
}
