//! Checkpoints: deltas become row groups, the state is written down, the log begins anew.
//!
//! ```text
//!   root stream:  tables: count, then name and metadata of the main part
//!                 views:  count, then name and statement
//! ```

use std::sync::Arc;

use godwit_common::{Error, Result};
use godwit_encoding::ROW_GROUP_ROWS;
use godwit_sql::{CatalogEntry, Planner};
use godwit_storage::table::{Load, Main};
use godwit_storage::wire::{Reader, put_bytes, put_u32};

use super::{Store, Tables};
use crate::version::TableVersion;

impl Store {
    /// Writes all that was committed to its place in the file and empties the log. Commits wait meanwhile, queries don't.
    /// In memory, it only makes row groups of deltas.
    pub fn checkpoint(&self) -> Result<()> {
        self.check_writable()?;
        let _turn = self.loads.lock();
        let _alone = self.commits.write();
        let before = self.tables.lock().clone();
        let after = before.iter().map(|(key, version)| Ok((key.clone(), self.folded(version)?)));
        let after: Tables = after.collect::<Result<_>>()?;
        if let Some(disk) = &self.disk {
            let mut root = disk.root.lock();
            let content = self.root_bytes(&after)?;
            let mut checkpoint = disk.file.begin()?;
            if let Some(old) = &*root {
                checkpoint.release_stream(old)?;
            }
            let stream = checkpoint.write_stream(&content)?;
            after.values().flat_map(|version| version.main().blocks()).for_each(|block| block.mark_saved());
            let number = checkpoint.commit(Some(stream))?;
            *root = Some(stream);
            if let Some(log) = &disk.log {
                log.restart(number)?;
            }
        }
        for (key, version) in &after {
            if !Arc::ptr_eq(version, &before[key]) {
                self.catalog.create_table(version.definition(), true)?;
            }
        }
        *self.tables.lock() = after;
        Ok(())
    }

    /// The table with the rows of its delta in row groups. A last row group that is less than half full is filled up, so
    /// that many small commits make few row groups.
    fn folded(&self, version: &Arc<TableVersion>) -> Result<Arc<TableVersion>> {
        if version.delta().is_empty() {
            return Ok(version.clone());
        }
        let mut base = version.main().clone();
        let fields: Vec<_> = base.columns.iter().map(|column| column.field.clone()).collect();
        let choices = vec![self.encoding(); fields.len()];
        let load = Load::new(&fields, &choices, self.blocks.clone(), &self.memory, 1)?;
        let mut worker = load.worker(&self.memory)?;
        if base.groups.last().is_some_and(|last| (last.rows as usize) < ROW_GROUP_ROWS / 2) {
            let last = base.groups.len() - 1;
            base.for_each_window(last, &self.memory, |columns, rows| worker.append(columns, rows))?;
            base.remove_last_group();
        }
        for chunk in version.delta() {
            worker.append(&chunk.dense_columns(), chunk.len())?;
        }
        worker.finish()?;
        TableVersion::new(version.name(), load.finish(&base)?, &self.memory)
    }

    fn root_bytes(&self, tables: &Tables) -> Result<Vec<u8>> {
        let mut out = Vec::new();
        put_u32(&mut out, tables.len() as u32);
        for version in tables.values() {
            put_bytes(&mut out, version.name().as_bytes());
            version.main().write(&mut out)?;
        }
        let views: Vec<(String, String)> = self
            .catalog
            .entries()
            .into_iter()
            .filter_map(|(name, entry)| match entry {
                CatalogEntry::View(view) => Some((name, view.statement.clone()?)),
                CatalogEntry::Table(_) => None,
            })
            .collect();
        put_u32(&mut out, views.len() as u32);
        for (name, statement) in views {
            put_bytes(&mut out, name.as_bytes());
            put_bytes(&mut out, statement.as_bytes());
        }
        Ok(out)
    }

    /// Takes over what a checkpoint wrote.
    pub(super) fn read_root(&self, content: &[u8]) -> Result<()> {
        let mut bytes = Reader(content);
        let mut tables = self.tables.lock();
        for _ in 0..bytes.u32()? {
            let name = bytes.text()?.to_owned();
            let version = TableVersion::new(&name, Main::read(&mut bytes, &self.blocks)?, &self.memory)?;
            self.catalog.create_table(version.definition(), false)?;
            tables.insert(super::key(&name), version);
        }
        for _ in 0..bytes.u32()? {
            let (name, statement) = (bytes.text()?, bytes.text()?.to_owned());
            let view = Planner::parse_view(&statement)
                .map_err(|error| Error::corrupt(format!("the view {name} can't be read: {}", error.message())))?;
            self.catalog.create_view(Arc::new(view), false)?;
        }
        match bytes.is_empty() {
            true => Ok(()),
            false => Err(Error::corrupt("the catalog of the database has more bytes than it should")),
        }
    }
}

impl Drop for Store {
    /// A database that is closed leaves an empty log, if it can; the log is as good.
    fn drop(&mut self) {
        let log = self.disk.as_ref().and_then(|disk| disk.log.as_ref());
        if log.is_some_and(|log| log.bytes() > 0) && !std::thread::panicking() {
            let _ = self.checkpoint();
        }
    }
}
