//! Checkpoints: deltas become row groups, the state is written down, the log starts over.
//!
//! ```text
//!   root stream:  tables: count, then name and metadata of the main part
//!                 views:  count, then name and statement
//!                 rules:  count, then name, rules, deleted rows of the main part
//!                 rest:   the other changes that make it, as a record of the log: schemas, sequences, views whose names
//!                         aren't in main, generated columns, encodings of columns, comments, rows that came meanwhile
//!
//!   fold: tables as they are, beside commits and queries ─▶ switch: what came since is put upon it, commits wait
//! ```
//!
//! Folding changes row ids; earlier ones are translated by the moves (moves.rs). A row group with many deleted rows is
//! rewritten without them; others keep a bitmap.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use godwit_catalog::{CatalogEntry, Comments, SCHEMA, ViewDefinition};
use godwit_common::{Error, Result};
use godwit_encoding::ROW_GROUP_ROWS;
use godwit_storage::table::{Load, Main};
use godwit_storage::wire::{Reader, put_bytes, put_u32};

use super::record::{self, read_marks, write_marks};
use super::{Slot, Store, Tables, put_table};
use crate::deleted::{DELTA, DeletedRows, Marks, RowId};
use crate::moves::Moves;
use crate::rules::{read_rules, write_rules};
use crate::version::{Fold, TableVersion};

/// A row group is rewritten if more than one n-th of its rows is deleted.
const DELETED_SHARE_MAX: usize = 4;

/// Maximum number of attempts to fold the delta of a table while rows are being loaded into it.
const MERGE_TRIES_MAX: usize = 10;

/// Folded tables by name, each with the version that was folded.
pub(crate) type Folds = BTreeMap<String, (Arc<TableVersion>, Fold)>;

impl Store {
    /// Writes everything committed to its place in the file and empties the log. Queries and transactions don't notice;
    /// commits wait only for the switch. For a database in memory, it only turns deltas into row groups.
    pub fn checkpoint(&self) -> Result<()> {
        let _turn = self.checkpointing.lock();
        let folds = self.fold_all()?;
        self.switch(folds)
    }

    /// Turns the delta of one table into row groups; the deltas of others stay. For a database file this is a
    /// checkpoint, which keeps those deltas beside the row groups.
    pub fn merge_delta(&self, name: &str) -> Result<()> {
        let _turn = self.checkpointing.lock();
        for _ in 0..MERGE_TRIES_MAX {
            let Some(version) = self.table(name) else {
                return Err(Error::user(format!("{name} was dropped while its delta was merged")));
            };
            let folds = self.fold_tables([(super::key(name), version.clone())].into_iter())?;
            if folds.is_empty() {
                return Ok(());
            }
            self.switch(folds)?;
            // A table that was dropped or altered meanwhile has nothing to merge, either.
            let is_as_before = |now: Arc<TableVersion>| Arc::ptr_eq(now.epoch(), version.epoch());
            if !self.table(name).is_some_and(is_as_before) {
                return Ok(());
            }
        }
        Err(Error::user(format!("rows were loaded into {name} each time its delta was merged"))
            .with_hint("try it later"))
    }

    /// Folds all tables that need it. [`switch`](Self::switch) adds whatever happens to them in the meantime.
    pub(crate) fn fold_all(&self) -> Result<Folds> {
        let tables = self.tables.lock().clone();
        self.fold_tables(tables.iter().map(|(key, version)| (key.clone(), version.clone())))
    }

    fn fold_tables(&self, tables: impl Iterator<Item = (String, Arc<TableVersion>)>) -> Result<Folds> {
        self.check_writable()?;
        let mut folds = Folds::new();
        for (key, version) in tables {
            if let Some(fold) = self.fold(&version)? {
                folds.insert(key, (version, fold));
            }
        }
        if let Some(disk) = self.disk.as_ref().filter(|_| !folds.is_empty()) {
            // So that commits have to wait only briefly.
            disk.file.sync()?;
        }
        Ok(folds)
    }

    /// Makes the committed state, with the folded tables, the newest checkpoint.
    pub(crate) fn switch(&self, folds: Folds) -> Result<()> {
        let _alone = self.commits.write();
        let now = self.tables.lock().clone();
        let mut after = now.clone();
        let mut ended = Vec::new();
        for (key, (before, fold)) in folds {
            let Some(version) = now.get(&key) else { continue };
            // If row groups were added meanwhile, the delta stays until the next checkpoint.
            if let Some(folded) = version.folded(&before, &fold)? {
                ended.push((version.epoch().clone(), fold.moves, folded.epoch().clone()));
                put_table(&mut after, &key, Some(folded));
            }
        }
        self.write_checkpoint(&after)?;
        ended.into_iter().for_each(|(epoch, moves, next)| epoch.end(moves, next));
        let changed = after.iter().filter(|(key, version)| !Arc::ptr_eq(version, &now[*key]));
        let mut tables = self.tables.lock();
        self.catalog.put_all(changed.map(|(key, version)| (key.clone(), Slot::of_table(version.clone()).entry)));
        *tables = after.clone();
        self.postponed_to_bytes.store(0, Ordering::Relaxed);
        self.checkpoints.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// Makes these tables the newest checkpoint, and starts the log over. There must be no commits meanwhile.
    fn write_checkpoint(&self, tables: &Tables) -> Result<()> {
        let Some(disk) = &self.disk else { return Ok(()) };
        let mut root = disk.root.lock();
        let content = self.root_bytes(tables)?;
        let mut checkpoint = disk.file.begin()?;
        if let Some(old) = &*root {
            checkpoint.release_stream(old)?;
        }
        let stream = checkpoint.write_stream(&content)?;
        tables.values().flat_map(|version| version.main().blocks()).for_each(|block| block.mark_saved());
        let number = checkpoint.commit(Some(stream))?;
        *root = Some(stream);
        match &disk.log {
            Some(log) => log.restart(number),
            None => Ok(()),
        }
    }

    /// Turns a table's delta into row groups, and rewrites row groups that have lost many rows; `None` if there is
    /// nothing to do. A last row group that is less than half full is filled up, so that many small commits result in
    /// few row groups.
    fn fold(&self, version: &Arc<TableVersion>) -> Result<Option<Fold>> {
        let groups = &version.main().groups;
        let has_delta = version.delta_rows() > 0;
        let is_moved = |number: usize| {
            let rows = groups[number].rows as usize;
            let deleted = version.deleted().of(number as u32).map_or(0, |set| set.rows());
            let is_filled_up = has_delta && number + 1 == groups.len() && rows < ROW_GROUP_ROWS / 2;
            is_filled_up || deleted * DELETED_SHARE_MAX > rows
        };
        let moved: Vec<usize> = (0..groups.len()).filter(|&number| is_moved(number)).collect();
        if moved.is_empty() && !has_delta {
            return Ok(None);
        }
        let mut base = version.main().as_ref().clone();
        let fields: Vec<_> = base.columns.iter().map(|column| column.field.clone()).collect();
        let choices = self.encodings(version.rules(), &fields);
        let load = Load::new(&fields, &choices, version.objects().columns(), self.blocks.clone(), &self.memory, 1)?;
        // A single worker keeps the rows in order.
        let mut worker = load.worker(&self.memory)?;
        for &group in &moved {
            version.visit_live_group(group, |rows| worker.append(rows))?;
        }
        version.visit_live_delta(0, |rows| worker.append(rows))?;
        worker.finish()?;
        base.remove_groups(&moved);
        let kept = (0..groups.len()).filter(|number| !moved.contains(number)).collect::<Vec<_>>();
        let mut deleted = Marks::default();
        for (place, &group) in kept.iter().enumerate() {
            for row in version.deleted().of(group as u32).iter().flat_map(|set| set.iter()) {
                deleted.insert(RowId { place: place as u32, row });
            }
        }
        let deleted = DeletedRows::default().with(&deleted, &self.memory)?;
        let main = Arc::new(load.finish(&base)?);
        let group_rows: Vec<u32> = groups.iter().map(|group| group.rows).collect();
        let appended = main.groups[kept.len()..].iter().map(|group| group.rows);
        let moves = Moves::new(&group_rows, &moved, version.delta_rows(), version.deleted(), appended);
        Ok(Some(Fold { main, deleted, moves }))
    }

    fn root_bytes(&self, tables: &Tables) -> Result<Vec<u8>> {
        let mut out = Vec::new();
        put_u32(&mut out, tables.len() as u32);
        for version in tables.values() {
            put_bytes(&mut out, version.name().as_bytes());
            version.main().write(&mut out)?;
        }
        let views: Vec<Arc<ViewDefinition>> = self
            .catalog
            .entries()
            .into_iter()
            .filter_map(|(_, entry)| match entry {
                CatalogEntry::View(view) => (view.schema == SCHEMA).then_some(view),
                _ => None,
            })
            .collect();
        put_u32(&mut out, views.len() as u32);
        for view in &views {
            put_bytes(&mut out, view.name.as_bytes());
            put_bytes(&mut out, view.statement.as_bytes());
        }
        put_u32(&mut out, tables.len() as u32);
        for version in tables.values() {
            put_bytes(&mut out, version.name().as_bytes());
            write_rules(version.rules(), &mut out);
            let mut deleted = version.deleted().since(&DeletedRows::default());
            deleted.keep(|row| row.place != DELTA);
            write_marks(&deleted, &mut out);
        }
        // Numbers taken from now on are recorded in the log that this checkpoint starts.
        for sequence in self.sequences() {
            sequence.begin_noting(None);
        }
        put_bytes(&mut out, &record::to_bytes(&record::rest_of(&self.catalog, tables.values())?)?);
        Ok(out)
    }

    /// Takes over the content of a checkpoint.
    pub(super) fn read_root(&self, content: &[u8]) -> Result<()> {
        let mut bytes = Reader(content);
        let mut tables = self.tables.lock();
        for _ in 0..bytes.u32()? {
            let name = bytes.text()?.to_owned();
            let main = Main::read(&mut bytes, &self.blocks)?;
            let version = TableVersion::new(&name, main, Arc::default(), &self.memory)?;
            put_table(&mut tables, &super::key(&name), Some(version));
        }
        for _ in 0..bytes.u32()? {
            let (name, statement) = (bytes.text()?.to_owned(), bytes.text()?.to_owned());
            let (schema, comments) = (SCHEMA.to_owned(), Comments::default());
            let view = ViewDefinition { name, schema, database: None, statement, comments };
            self.catalog.create_view(Arc::new(view), false)?;
        }
        // Files of format 1 end here.
        let with_rules = if bytes.is_empty() { 0 } else { bytes.u32()? };
        for _ in 0..with_rules {
            let name = bytes.text()?;
            let (rules, deleted) = (read_rules(&mut bytes)?, read_marks(&mut bytes)?);
            let key = super::key(name);
            let version = tables.get(&key).cloned();
            let version =
                version.ok_or_else(|| Error::corrupt(format!("there are rules for {name}, which is no table")))?;
            if !version.has_rows(&deleted) {
                return Err(Error::corrupt(format!("rows of {name} are deleted that it doesn't have")));
            }
            put_table(&mut tables, &key, Some(version.with_rules(rules)?.without_rows(&deleted)?));
        }
        // Files of format 2 end here.
        if !bytes.is_empty() {
            for change in record::from_bytes(bytes.bytes()?, &self.blocks)? {
                let key = super::key(change.name());
                let before = Slot { table: tables.get(&key).cloned(), entry: self.catalog.get(&key) };
                let slot = change.applied(before, &self.memory)?;
                put_table(&mut tables, &key, slot.table);
                self.catalog.put_all([(key, slot.entry)]);
            }
        }
        for (key, version) in tables.iter() {
            self.catalog.put_all([(key.clone(), Slot::of_table(version.clone()).entry)]);
        }
        match bytes.is_empty() {
            true => Ok(()),
            false => Err(Error::corrupt("the catalog of the database has more bytes than it should")),
        }
    }
}

impl Drop for Store {
    /// A database that is closed leaves an empty log if it can; if it can't, the log serves as well.
    fn drop(&mut self) {
        let log = self.disk.as_ref().and_then(|disk| disk.log.as_ref());
        if log.is_some_and(|log| log.bytes() > 0) && !std::thread::panicking() {
            let _ = self.checkpoint();
        }
    }
}
