//! Applies a transaction's changes on top of what others have committed since it began.

use std::collections::BTreeMap;
use std::sync::Arc;

use godwit_catalog::CatalogEntry;
use godwit_common::Result;
use godwit_storage::table::Main;

use super::{Verification, conflict};
use crate::store::{Put, Slot, Store, View};
use crate::version::TableVersion;

/// The slot that results for a name. Fails if others have changed the same name.
pub(super) fn merged(store: &Store, name: &str, base: &Slot, own: &Slot, now: &Slot) -> Result<Slot> {
    if now.is(base) {
        return Ok(own.clone());
    }
    // Creating something in a schema puts the schema again, unchanged.
    if let (Some(base), Some(own), Some(now)) = (base.schema(), own.schema(), now.schema()) {
        let kept = if own.comments == base.comments { now } else { own };
        return Ok(Slot::of_entry(CatalogEntry::Schema(Arc::new(kept.clone()))));
    }
    match (&base.table, &own.table, &now.table) {
        (Some(base), Some(own), Some(now)) if base.is_same_table(own) && base.is_same_table(now) => {
            merged_rows(store, base, own, now).map(Slot::of_table)
        }
        // It has only been folded meanwhile.
        (Some(base), _, Some(now)) if base.is_same_content(now) => Ok(own.clone()),
        // Rows that others have added are dropped with the table.
        (Some(base), None, Some(now)) if base.is_same_table(now) => Ok(own.clone()),
        _ => Err(conflict(format!("another one changed what {name} is"))),
    }
}

/// The rows of `now`, with the changes from `base` to `own`.
fn merged_rows(
    store: &Store,
    base: &TableVersion,
    own: &TableVersion,
    now: &TableVersion,
) -> Result<Arc<TableVersion>> {
    let mut deleted = own.deleted().since(base.deleted());
    // Rows that the transaction both added and deleted are left out below.
    deleted.keep(|id| base.has_row(id));
    let same_rows = || conflict(format!("another one changed the same rows of {}", base.name()));
    let deleted = base.epoch().translated(deleted, now.epoch()).ok_or_else(same_rows)?;
    if now.deleted().overlap(&deleted) {
        return Err(same_rows());
    }
    let mut next = now.without_rows(&deleted)?;
    if !Arc::ptr_eq(base.main(), own.main()) {
        next = next.with_main(reloaded(store, base, own, now)?)?;
    }
    let mut added = Vec::new();
    own.visit_live_delta(base.delta_rows(), |rows| {
        added.push(rows.clone());
        Ok(())
    })?;
    for rows in added {
        next = next.with_rows(&rows.dense_columns(), rows.len())?;
    }
    Ok(next)
}

/// The main part of `now` with the row groups that `own` has in addition to `base`.
fn reloaded(store: &Store, base: &TableVersion, own: &TableVersion, now: &TableVersion) -> Result<Main> {
    let load = store.load(now, store.memory(), 1)?;
    let mut worker = load.worker(store.memory())?;
    for group in base.main().groups.len()..own.main().groups.len() {
        own.visit_live_group(group, |rows| worker.append(rows))?;
    }
    worker.finish()?;
    load.finish(now.main())
}

/// Checks the constraints that hold for the transaction on its own but may be broken by other commits; new keys have
/// already been compared with the rows of `checked`. Returns the names that must not change until the commit.
pub(super) fn verify_changes(
    base: &View,
    checked: &View,
    now: &View,
    puts: &[Put],
    verify: &dyn Fn(&Verification) -> Result<()>,
) -> Result<Vec<(String, Slot)>> {
    let mut related: BTreeMap<String, Slot> = BTreeMap::new();
    let mut next: Option<View> = None;
    for put in puts {
        let neighbours = neighbours(now, put);
        let was_changed = |key: &str| !now.get(key).is(&base.get(key));
        let needs_check = was_changed(&put.key) || neighbours.iter().any(|key| was_changed(key));
        if let Some(after) = put.after.table.as_ref().filter(|_| needs_check) {
            let view = next.get_or_insert_with(|| {
                let mut view = now.clone();
                view.put_all(puts.iter().map(|put| (put.key.clone(), put.after.clone())));
                view
            });
            let before = put.before.table.clone().filter(|before| before.is_same_table(after));
            let (catalog, tables) = (view.catalog.clone(), view.tables.clone());
            let checked = checked.get(&put.key).table;
            verify(&Verification { catalog, before, after: after.clone(), checked, tables })?;
        }
        related.extend(neighbours.into_iter().map(|key| (key.clone(), now.get(&key))));
    }
    puts.iter().for_each(|put| {
        related.remove(&put.key);
    });
    Ok(related.into_iter().collect())
}

/// Tables that a changed one refers to, and those that refer to it.
fn neighbours(now: &View, put: &Put) -> Vec<String> {
    let parents = put.after.table.iter().flat_map(|table| &table.rules().references);
    let parents = parents.map(|reference| reference.parent.to_lowercase());
    let children = now.tables.iter().filter(|(_, table)| {
        table.rules().references.iter().any(|reference| reference.parent.to_lowercase() == put.key)
    });
    parents.chain(children.map(|(key, _)| key.clone())).filter(|key| *key != put.key).collect()
}
