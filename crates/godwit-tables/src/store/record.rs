//! Changes of a database as bytes: the payload of a record of the log.
//!
//! ```text
//!   count u32, then changes:
//!   1 create table   name, columns            2 main part    name, metadata of the whole main part
//!   3 insert         name, rows, parts        4 drop table   name
//!   5 create view    name, statement          6 drop view    name
//! ```
//!
//! Rows of an insert are encoded as parts are, plainly; a main part is metadata, its bodies are in blocks already.

use arrow_schema::Field;
use godwit_common::{Error, Result};
use godwit_encoding::{EncodingChoice, Part, PartHeader, ROW_GROUP_ROWS, encode};
use godwit_storage::block::Blocks;
use godwit_storage::table::{Main, read_fields, write_fields};
use godwit_storage::wire::{Reader, put_bytes, put_u32};
use godwit_vector::Vector;
use godwit_vector::kernels::concatenate::concatenated;

/// A change of a database. A commit has one or several, of which all happen or none.
pub(crate) enum Change {
    /// A table without rows.
    CreateTable {
        name: String,
        fields: Vec<Field>,
    },
    /// The rows in blocks of an existing table are now these.
    SetMain {
        name: String,
        main: Main,
    },
    /// More rows of an existing table: dense columns of the natural types.
    Insert {
        name: String,
        columns: Vec<Vector>,
        rows: usize,
    },
    DropTable {
        name: String,
    },
    /// A view, by the statement that made it; it replaces another one.
    CreateView {
        name: String,
        statement: String,
    },
    DropView {
        name: String,
    },
}

/// The payload of a commit. `has_file`: main parts can be written down.
pub(super) fn to_bytes(changes: &[Change]) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    put_u32(&mut out, changes.len() as u32);
    let begin = |out: &mut Vec<u8>, kind: u8, name: &str| {
        out.push(kind);
        put_bytes(out, name.as_bytes());
    };
    for change in changes {
        match change {
            Change::CreateTable { name, fields } => {
                begin(&mut out, 1, name);
                write_fields(fields, &mut out)?;
            }
            Change::SetMain { name, main } => {
                begin(&mut out, 2, name);
                main.write(&mut out)?;
            }
            Change::Insert { name, columns, rows } => {
                begin(&mut out, 3, name);
                put_u32(&mut out, *rows as u32);
                put_u32(&mut out, columns.len() as u32);
                columns.iter().for_each(|column| write_column(column, &mut out));
            }
            Change::DropTable { name } => begin(&mut out, 4, name),
            Change::CreateView { name, statement } => {
                begin(&mut out, 5, name);
                put_bytes(&mut out, statement.as_bytes());
            }
            Change::DropView { name } => begin(&mut out, 6, name),
        }
    }
    Ok(out)
}

/// The changes of a payload.
pub(super) fn from_bytes(bytes: &[u8], blocks: &Blocks) -> Result<Vec<Change>> {
    let mut bytes = Reader(bytes);
    let count = bytes.u32()?;
    let mut changes = Vec::new();
    for _ in 0..count {
        let kind = bytes.u8()?;
        let name = bytes.text()?.to_owned();
        changes.push(match kind {
            1 => Change::CreateTable { name, fields: read_fields(&mut bytes)? },
            2 => Change::SetMain { name, main: Main::read(&mut bytes, blocks)? },
            3 => {
                let rows = bytes.u32()? as usize;
                let width = bytes.u32()?;
                let columns = (0..width).map(|_| read_column(&mut bytes, rows)).collect::<Result<_>>()?;
                Change::Insert { name, columns, rows }
            }
            4 => Change::DropTable { name },
            5 => Change::CreateView { name, statement: bytes.text()?.to_owned() },
            6 => Change::DropView { name },
            _ => return Err(Error::corrupt("the log has a change of an unknown kind")),
        });
    }
    Ok(changes)
}

fn write_column(column: &Vector, out: &mut Vec<u8>) {
    for start in (0..column.len()).step_by(ROW_GROUP_ROWS) {
        let encoded = encode(&column.slice(start, ROW_GROUP_ROWS.min(column.len() - start)), EncodingChoice::Plain);
        encoded.header.to_bytes(out);
        out.extend_from_slice(&encoded.body);
    }
}

fn read_column(bytes: &mut Reader<'_>, rows: usize) -> Result<Vector> {
    let mut vectors = Vec::new();
    let mut found = 0;
    while found < rows {
        let header = PartHeader::from_bytes(&mut bytes.0)?;
        let body = bytes.take(header.body_bytes as usize)?;
        let part_rows = header.rows as usize;
        if part_rows == 0 || part_rows > rows - found {
            return Err(Error::corrupt("the log has an insert whose rows don't add up"));
        }
        vectors.push(Part::new(&header, body)?.decode(0..part_rows)?);
        found += part_rows;
    }
    match &vectors[..] {
        [] => Err(Error::corrupt("the log has an insert without rows")),
        [one] => Ok(one.flattened()),
        several => Ok(concatenated(several)),
    }
}
