//! Serialization of database changes: the payload of a log record.
//!
//! ```text
//!   count u32, then changes: kind u8, name, and
//!   1 create table   columns                  2 main part    metadata of the whole main part
//!   3 insert         rows, parts              4 drop table
//!   5 create view    statement                6 drop view
//!   7 rules          defaults, constraints    8 delete       places, and which of their rows
//!   9 encodings      columns and how they are stored
//!  10 create schema                          11 drop schema
//!  12 create view    schema of its names, statement
//!  13 create sequence                       14 drop sequence
//!  15 note           what comes next of a sequence
//!  16 generated      columns whose values follow from others
//!  17 create macro   statement             18 drop macro
//!  19 create type    what it is            20 drop type
//!  21 comments       on an object and its columns
//! ```
//!
//! Rows of an insert are encoded like parts, with the plain scheme; a main part is only metadata, because its bodies
//! are already in blocks. The changes of a commit to a table are the difference between two of its versions.

use std::sync::Arc;

use arrow_schema::Field;
use godwit_catalog::{
    Catalog, CatalogEntry, Comments, GeneratedColumn, MacroDefinition, SCHEMA, Sequence, TableRules, TypeDefinition,
    ViewDefinition, full_name_of_key, schema_of_key,
};
use godwit_common::{Error, Result};
use godwit_encoding::{EncodingChoice, Part, PartContent, PartHeader, ROW_GROUP_ROWS, encode};
use godwit_memory::BufferManager;
use godwit_storage::block::Blocks;
use godwit_storage::table::{Main, read_fields, write_fields};
use godwit_storage::wire::{Reader, put_bytes, put_u32};
use godwit_vector::Vector;
use godwit_vector::kernels::concatenate::concatenated;

use super::sequences::{read_next, read_sequence, write_next, write_sequence};
use super::{Put, Slot};
use crate::deleted::{DELTA, Marks, RowId};
use crate::rules::{
    read_comments, read_generated, read_pairs, read_rules, write_comments, write_generated, write_pairs, write_rules,
};
use crate::version::TableVersion;

/// A change of a database. A commit has one or more, which are applied together or not at all.
pub(super) struct Change {
    name: String,
    kind: Kind,
}

enum Kind {
    /// A table without rows.
    CreateTable(Vec<Field>),
    /// The new main part of an existing table.
    SetMain(Main),
    /// More rows of an existing table: dense columns as they are stored.
    Insert(Vec<Vector>, usize),
    DropTable,
    /// A view, given by the statement that created it and the schema in which its names are resolved; it may replace
    /// another one.
    CreateView {
        schema: String,
        statement: String,
    },
    DropView,
    /// A macro, given by the statement that created it; it may replace another one.
    CreateMacro(String),
    DropMacro,
    /// A type, given by its definition; it may replace another one.
    CreateType(String),
    DropType,
    CreateSchema,
    DropSchema,
    CreateSequence(Arc<Sequence>),
    DropSequence,
    /// Where a sequence continues.
    SetNext(Option<i64>),
    /// Defaults and constraints of an existing table.
    SetRules(TableRules),
    Delete(Marks),
    /// The encodings of an existing table's columns, for those that have one set.
    SetEncodings(Vec<(String, String)>),
    /// The generated columns of a table whose other rules are set.
    SetGenerated(Vec<GeneratedColumn>),
    /// Comments on an existing object, as set by COMMENT ON.
    SetComments(Comments),
}

/// The changes that turn the slots before into those after.
pub(super) fn changes_of(puts: &[Put]) -> Result<Vec<Change>> {
    let mut changes = Vec::new();
    for Put { key, before, after } in puts {
        let name = after.table.as_ref().map_or(key.as_str(), |table| table.name());
        let mut push = |kind: Kind| changes.push(Change { name: name.to_owned(), kind });
        match (&before.table, &after.table) {
            (Some(before), Some(after)) if before.is_same_table(after) => added(Some(before), after, &mut push)?,
            (before, Some(after)) => {
                if before.is_some() {
                    push(Kind::DropTable);
                }
                push(Kind::CreateTable(after.main().columns.iter().map(|column| column.field.clone()).collect()));
                push(Kind::SetRules(after.rules().as_ref().clone()));
                if !after.rules().encodings.is_empty() {
                    push(Kind::SetEncodings(after.rules().encodings.clone()));
                }
                if !after.rules().generated.is_empty() {
                    push(Kind::SetGenerated(after.rules().generated.clone()));
                }
                added(None, after, &mut push)?;
            }
            (Some(_), None) => push(Kind::DropTable),
            (None, None) => {}
        }
        match (&before.entry, &after.entry) {
            (_, Some(CatalogEntry::View(view))) => {
                push(Kind::CreateView { schema: view.schema.clone(), statement: view.statement.clone() });
            }
            (Some(CatalogEntry::View(_)), None) => push(Kind::DropView),
            (_, Some(CatalogEntry::Macro(definition))) => push(Kind::CreateMacro(definition.statement.clone())),
            (Some(CatalogEntry::Macro(_)), None) => push(Kind::DropMacro),
            (_, Some(CatalogEntry::Type(definition))) => push(Kind::CreateType(definition.sql.clone())),
            (Some(CatalogEntry::Type(_)), None) => push(Kind::DropType),
            (Some(CatalogEntry::Schema(_)), Some(CatalogEntry::Schema(_))) => {}
            (Some(CatalogEntry::Sequence(before)), Some(CatalogEntry::Sequence(after))) if before.is_same(after) => {}
            (_, Some(CatalogEntry::Schema(_))) => push(Kind::CreateSchema),
            (Some(CatalogEntry::Schema(_)), None) => push(Kind::DropSchema),
            (_, Some(CatalogEntry::Sequence(sequence))) => push(Kind::CreateSequence(sequence.clone())),
            (Some(CatalogEntry::Sequence(_)), None) => push(Kind::DropSequence),
            (_, Some(CatalogEntry::Table(_))) | (Some(CatalogEntry::Table(_)) | None, None) => {}
        }
        changes.extend(comments_of(name, before, after));
    }
    Ok(changes)
}

/// The comments on the result, unless it is the same object with the same comments as before.
fn comments_of(name: &str, before: &Slot, after: &Slot) -> Option<Change> {
    let is_same = match (before, after) {
        (Slot { table: Some(before), .. }, Slot { table: Some(after), .. }) => before.is_same_table(after),
        (Slot { entry: Some(CatalogEntry::Sequence(before)), .. }, _) => {
            matches!(&after.entry, Some(CatalogEntry::Sequence(after)) if before.is_same(after))
        }
        _ => before.schema().is_some() && after.schema().is_some(),
    };
    let comments_of = |slot: &Slot| slot.entry.as_ref().map(CatalogEntry::comments).unwrap_or_default();
    let known = if is_same { comments_of(before) } else { Comments::default() };
    let comments = comments_of(after);
    (comments != known).then(|| Change { name: name.to_owned(), kind: Kind::SetComments(comments) })
}

/// Everything that the lists of a checkpoint don't contain: schemas, sequences, views whose names aren't in main;
/// generated columns, encodings of columns, comments, and deltas.
pub(super) fn rest_of<'a>(
    catalog: &Catalog,
    tables: impl Iterator<Item = &'a Arc<TableVersion>> + Clone,
) -> Result<Vec<Change>> {
    let mut changes = Vec::new();
    for (key, entry) in catalog.entries() {
        let (name, kind) = match entry {
            CatalogEntry::Schema(_) => (key, Kind::CreateSchema),
            CatalogEntry::Sequence(sequence) => (sequence.definition().name.clone(), Kind::CreateSequence(sequence)),
            CatalogEntry::View(view) if view.schema != SCHEMA => {
                let kind = Kind::CreateView { schema: view.schema.clone(), statement: view.statement.clone() };
                (view.name.clone(), kind)
            }
            CatalogEntry::Macro(definition) => (key, Kind::CreateMacro(definition.statement.clone())),
            CatalogEntry::Type(definition) => (key, Kind::CreateType(definition.sql.clone())),
            CatalogEntry::View(_) | CatalogEntry::Table(_) => continue,
        };
        changes.push(Change { name, kind });
    }
    let comments = catalog.entries().into_iter().map(|(key, entry)| (key, entry.comments()));
    changes.extend(
        comments
            .filter(|(_, comments)| !comments.is_empty())
            .map(|(key, comments)| Change { name: key, kind: Kind::SetComments(comments) }),
    );
    for table in tables.clone().filter(|table| !table.rules().generated.is_empty()) {
        let kind = Kind::SetGenerated(table.rules().generated.clone());
        changes.push(Change { name: table.name().to_owned(), kind });
    }
    for table in tables.clone().filter(|table| !table.rules().encodings.is_empty()) {
        let kind = Kind::SetEncodings(table.rules().encodings.clone());
        changes.push(Change { name: table.name().to_owned(), kind });
    }
    for table in tables.filter(|table| table.delta_rows() > 0) {
        let (columns, rows) = table.delta_from(0)?;
        changes.push(Change { name: table.name().to_owned(), kind: Kind::Insert(columns, rows) });
        let mut deleted = table.deleted().since(&Default::default());
        deleted.keep(|row| row.place == DELTA);
        if !deleted.is_empty() {
            changes.push(Change { name: table.name().to_owned(), kind: Kind::Delete(deleted) });
        }
    }
    Ok(changes)
}

/// The changes of a table compared with an earlier version of it, or with one without rows.
fn added(before: Option<&TableVersion>, after: &TableVersion, push: &mut impl FnMut(Kind)) -> Result<()> {
    let is_same_main = match before {
        Some(before) => Arc::ptr_eq(before.main(), after.main()),
        None => after.main().groups.is_empty(),
    };
    if !is_same_main {
        push(Kind::SetMain(after.main().as_ref().clone()));
    }
    let (columns, rows) = after.delta_from(before.map_or(0, TableVersion::delta_rows))?;
    if rows > 0 {
        push(Kind::Insert(columns, rows));
    }
    let deleted = match before {
        Some(before) => after.deleted().since(before.deleted()),
        None => after.deleted().since(&Default::default()),
    };
    if !deleted.is_empty() {
        push(Kind::Delete(deleted));
    }
    Ok(())
}

impl Change {
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The slot of the name after the change, given the one before.
    pub(super) fn applied(self, before: Slot, memory: &BufferManager) -> Result<Slot> {
        let Change { name, kind } = self;
        let Slot { table, entry } = before;
        let known =
            || table.clone().ok_or_else(|| Error::corrupt(format!("the log changes {name}, which is no table")));
        Ok(match kind {
            Kind::CreateTable(fields) => {
                Slot::of_table(TableVersion::new(&name, Main::empty(&fields)?, Arc::default(), memory)?)
            }
            Kind::SetMain(main) => Slot::of_table(known()?.with_main(main)?),
            Kind::Insert(columns, rows) => {
                let table = known()?;
                if !table.fits(&columns, rows) {
                    return Err(Error::corrupt(format!("the log inserts rows that {name} can't have")));
                }
                Slot::of_table(table.with_rows(&columns, rows)?)
            }
            Kind::SetRules(rules) => Slot::of_table(known()?.with_rules(rules)?),
            Kind::SetGenerated(generated) => {
                let table = known()?;
                let rules = TableRules { generated, ..table.rules().as_ref().clone() };
                Slot::of_table(table.with_rules(rules)?)
            }
            Kind::Delete(marks) => {
                let table = known()?;
                if !table.has_rows(&marks) {
                    return Err(Error::corrupt(format!("the log deletes rows that {name} doesn't have")));
                }
                Slot::of_table(table.without_rows(&marks)?)
            }
            Kind::SetEncodings(encodings) => {
                let table = known()?;
                Slot::of_table(table.with_rules(TableRules { encodings, ..table.rules().as_ref().clone() })?)
            }
            Kind::SetComments(comments) => {
                let commented = Slot { table, entry }.with_comments(comments)?;
                commented
                    .ok_or_else(|| Error::corrupt(format!("the log has a comment on {name}, which isn't there")))?
            }
            Kind::DropTable => known().map(|_| Slot::default())?,
            Kind::CreateView { schema, statement } => {
                let comments = Comments::default();
                let view = ViewDefinition { name, schema, database: None, statement, comments };
                Slot::of_entry(CatalogEntry::View(Arc::new(view)))
            }
            Kind::CreateMacro(statement) => {
                let (name, comments) = (full_name_of_key(&name).to_owned(), Comments::default());
                Slot::of_entry(CatalogEntry::Macro(Arc::new(MacroDefinition { name, statement, comments })))
            }
            Kind::CreateType(sql) => {
                let (name, comments) = (full_name_of_key(&name).to_owned(), Comments::default());
                Slot::of_entry(CatalogEntry::Type(Arc::new(TypeDefinition { name, sql, comments })))
            }
            Kind::DropView | Kind::DropMacro | Kind::DropType | Kind::DropSchema | Kind::DropSequence => {
                Slot::default()
            }
            Kind::CreateSequence(sequence) => Slot::of_sequence(sequence),
            Kind::SetNext(next) => match entry {
                Some(CatalogEntry::Sequence(sequence)) => {
                    sequence.set_next(next);
                    Slot::of_sequence(sequence)
                }
                _ => return Err(Error::corrupt(format!("the log takes numbers of {name}, which is no sequence"))),
            },
            Kind::CreateSchema => {
                let schema = schema_of_key(&name);
                Slot::of_schema(&schema.ok_or_else(|| Error::corrupt(format!("{name} is no name of a schema")))?)
            }
        })
    }
}

/// The payload of a commit.
pub(super) fn to_bytes(changes: &[Change]) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    put_u32(&mut out, changes.len() as u32);
    let begin = |out: &mut Vec<u8>, kind: u8, name: &str| {
        out.push(kind);
        put_bytes(out, name.as_bytes());
    };
    for Change { name, kind } in changes {
        match kind {
            Kind::CreateTable(fields) => {
                begin(&mut out, 1, name);
                write_fields(fields, &mut out)?;
            }
            Kind::SetMain(main) => {
                begin(&mut out, 2, name);
                main.write(&mut out)?;
            }
            Kind::Insert(columns, rows) => {
                begin(&mut out, 3, name);
                put_u32(&mut out, *rows as u32);
                put_u32(&mut out, columns.len() as u32);
                columns.iter().for_each(|column| write_column(column, &mut out));
            }
            Kind::DropTable => begin(&mut out, 4, name),
            Kind::CreateView { schema, statement } => {
                begin(&mut out, 12, name);
                put_bytes(&mut out, schema.as_bytes());
                put_bytes(&mut out, statement.as_bytes());
            }
            Kind::DropView => begin(&mut out, 6, name),
            Kind::CreateMacro(statement) => {
                begin(&mut out, 17, name);
                put_bytes(&mut out, statement.as_bytes());
            }
            Kind::DropMacro => begin(&mut out, 18, name),
            Kind::CreateType(sql) => {
                begin(&mut out, 19, name);
                put_bytes(&mut out, sql.as_bytes());
            }
            Kind::DropType => begin(&mut out, 20, name),
            Kind::CreateSchema => begin(&mut out, 10, name),
            Kind::DropSchema => begin(&mut out, 11, name),
            Kind::CreateSequence(sequence) => {
                begin(&mut out, 13, name);
                write_sequence(sequence, &mut out);
            }
            Kind::DropSequence => begin(&mut out, 14, name),
            Kind::SetNext(next) => {
                begin(&mut out, 15, name);
                write_next(*next, &mut out);
            }
            Kind::SetRules(rules) => {
                begin(&mut out, 7, name);
                write_rules(rules, &mut out);
            }
            Kind::SetGenerated(generated) => {
                begin(&mut out, 16, name);
                write_generated(generated, &mut out)?;
            }
            Kind::Delete(marks) => {
                begin(&mut out, 8, name);
                write_marks(marks, &mut out);
            }
            Kind::SetEncodings(encodings) => {
                begin(&mut out, 9, name);
                write_pairs(encodings, &mut out);
            }
            Kind::SetComments(comments) => {
                begin(&mut out, 21, name);
                write_comments(comments, &mut out);
            }
        }
    }
    Ok(out)
}

/// The payload that says where a sequence continues.
pub(super) fn note_bytes(name: &str, next: Option<i64>) -> Result<Vec<u8>> {
    to_bytes(&[Change { name: name.to_owned(), kind: Kind::SetNext(next) }])
}

/// The changes of a payload.
pub(super) fn from_bytes(bytes: &[u8], blocks: &Blocks) -> Result<Vec<Change>> {
    let mut bytes = Reader(bytes);
    let count = bytes.u32()?;
    let mut changes = Vec::new();
    for _ in 0..count {
        let kind = bytes.u8()?;
        let name = bytes.text()?.to_owned();
        let kind = match kind {
            1 => Kind::CreateTable(read_fields(&mut bytes)?),
            2 => Kind::SetMain(Main::read(&mut bytes, blocks)?),
            3 => {
                let rows = bytes.u32()? as usize;
                let width = bytes.u32()?;
                Kind::Insert((0..width).map(|_| read_column(&mut bytes, rows)).collect::<Result<_>>()?, rows)
            }
            4 => Kind::DropTable,
            // From formats 1 and 2, which had only one schema.
            5 => Kind::CreateView { schema: SCHEMA.to_owned(), statement: bytes.text()?.to_owned() },
            6 => Kind::DropView,
            7 => Kind::SetRules(read_rules(&mut bytes)?),
            8 => Kind::Delete(read_marks(&mut bytes)?),
            9 => Kind::SetEncodings(read_pairs(&mut bytes)?),
            10 => Kind::CreateSchema,
            11 => Kind::DropSchema,
            12 => Kind::CreateView { schema: bytes.text()?.to_owned(), statement: bytes.text()?.to_owned() },
            13 => Kind::CreateSequence(Arc::new(read_sequence(&name, &mut bytes)?)),
            14 => Kind::DropSequence,
            15 => Kind::SetNext(read_next(&mut bytes)?),
            16 => Kind::SetGenerated(read_generated(&mut bytes)?),
            17 => Kind::CreateMacro(bytes.text()?.to_owned()),
            18 => Kind::DropMacro,
            19 => Kind::CreateType(bytes.text()?.to_owned()),
            20 => Kind::DropType,
            21 => Kind::SetComments(read_comments(&mut bytes)?),
            _ => return Err(Error::corrupt("the log has a change of an unknown kind")),
        };
        changes.push(Change { name, kind });
    }
    Ok(changes)
}

/// Appends places and the rows of each.
pub(super) fn write_marks(marks: &Marks, out: &mut Vec<u8>) {
    put_u32(out, marks.places().count() as u32);
    for (place, rows) in marks.places() {
        let rows: Vec<u32> = rows.collect();
        put_u32(out, place);
        put_u32(out, rows.len() as u32);
        rows.into_iter().for_each(|row| put_u32(out, row));
    }
}

pub(super) fn read_marks(bytes: &mut Reader<'_>) -> Result<Marks> {
    let mut marks = Marks::default();
    for _ in 0..bytes.u32()? {
        let place = bytes.u32()?;
        for _ in 0..bytes.u32()? {
            let row = bytes.u32()?;
            // Marks take memory in proportion to the largest row number.
            if row > if place == DELTA { ROWS_MAX } else { ROW_GROUP_ROWS as u32 } {
                return Err(Error::corrupt("a deleted row has a number that no row has"));
            }
            marks.insert(RowId { place, row });
        }
    }
    Ok(marks)
}

/// No delta has more rows than this: checkpoints come long before that.
const ROWS_MAX: u32 = 1 << 28;

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
        let header = PartHeader::from_bytes(&mut bytes.0, PartContent::Values)?;
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
