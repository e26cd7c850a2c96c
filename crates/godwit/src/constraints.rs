//! Constraints that compare rows with other rows: keys and references. They are checked by queries, so within the
//! memory limit; for a small insert, keys are looked up instead, and a query runs only to report a violation.
//!
//! ```text
//! key, few new rows      new keys ⋈ all rows, GROUP BY key HAVING count(*) > 1
//! key, many new rows     all rows,            GROUP BY key HAVING count(*) > 1
//! reference              new rows ▷ rows of the other table             (anti join)
//! rows went away         rows of tables that refer to this one ▷ its rows
//! ```

use std::cell::LazyCell;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, RecordBatch};
use godwit_catalog::{Catalog, CatalogEntry, KeyRule, Namespace, ReferenceRule, quoted_text, sql_of_name};
use godwit_common::{Error, Result};
use godwit_tables::{TableVersion, Verification};

use crate::connection::Inner;
use crate::execution::result_schema;
use crate::prepared::ParameterValues;

/// Name of the rows to compare; it can't be spelled in SQL.
const ALL: &str = "\u{1}all";
const ADDED: &str = "\u{1}added";

/// New rows are joined with all rows if they are fewer than one n-th of them.
const FEW_SHARE: u64 = 4;

impl Inner {
    /// Fails if a change of a table violates a constraint.
    pub(crate) fn verify(&self, change: &Verification) -> Result<()> {
        let Verification { catalog, before, after, .. } = change;
        let rules = after.rules();
        let before = before.as_ref().filter(|before| before.is_same_table(after));
        let has_lost = before.is_some_and(|before| after.deleted_rows() > before.deleted_rows());
        if rules.keys.is_empty() && rules.references.is_empty() && !has_lost {
            return Ok(());
        }
        let added = match before {
            Some(before) => after.added_since(before)?,
            None => after.clone(),
        };
        let catalog = LazyCell::new(|| {
            let catalog = catalog.snapshot();
            // A plan that relied on the keys would find no duplicates.
            let entry =
                |table: &Arc<TableVersion>| Some(CatalogEntry::Table(Arc::new(table.definition().without_rules())));
            catalog.put_all([(ALL.to_owned(), entry(after)), (ADDED.to_owned(), entry(&added))]);
            Arc::new(catalog)
        });
        if added.rows() > 0 {
            let is_few = added.rows() * FEW_SHARE < after.rows();
            for key in &rules.keys {
                let is_kept = match before {
                    Some(before) => after.keeps_key(before, &added, change.checked.as_deref(), &key.columns)?,
                    None => None,
                };
                if is_kept != Some(true) {
                    self.verify_key(&catalog, after.name(), key, is_few)?;
                }
            }
            for reference in &rules.references {
                let is_kept = match change.table(&reference.parent) {
                    Some(parent) => added.has_parents(&reference.columns, parent, &reference.parent_columns)?,
                    None => None,
                };
                if is_kept != Some(true) {
                    let message = format!("{} of {} doesn't hold", reference.name, after.name());
                    self.verify_reference(&catalog, ADDED, reference, &reference.parent, &message)?;
                }
            }
        }
        if has_lost {
            self.verify_children(&catalog, after)?;
        }
        Ok(())
    }

    /// Fails if the rows of an altered table violate rules that `before` didn't have.
    pub(crate) fn verify_rules(&self, before: &Arc<TableVersion>, change: &Verification) -> Result<()> {
        let Verification { catalog, after, .. } = change;
        let (old, new) = (before.rules(), after.rules());
        if old.keys != new.keys || old.references != new.references {
            self.verify(change)?;
        }
        // A plan with the new definition would rely on what is to be checked.
        let catalog = catalog.snapshot();
        catalog.put_all([(ALL.to_owned(), Some(CatalogEntry::Table(before.definition())))]);
        let catalog = Arc::new(catalog);
        let fields = before.schema().fields().iter().zip(after.schema().fields());
        let not_null = fields.filter(|(before, after)| before.is_nullable() && !after.is_nullable());
        let not_null = not_null.map(|(_, field)| {
            let message = format!("column {} of {} has NULLs", field.name(), after.name());
            (message, format!("{} IS NULL", column("t", field.name())))
        });
        let checks = new.checks.iter().filter(|check| !old.checks.contains(check)).map(|check| {
            (
                format!("a row violates {}, a check of {}", check.name, after.name()),
                format!("NOT ({})", check.condition),
            )
        });
        // Conditions use the new names of columns.
        let (before, after) = (old.visible(before.schema()), new.visible(after.schema()));
        let names: Vec<String> = after.iter().map(|field| quoted_text(field.name())).collect();
        let names = if before.len() == after.len() { format!(" ({})", names.join(", ")) } else { String::new() };
        for (message, condition) in not_null.chain(checks) {
            let query = format!("SELECT 1 FROM \"{ALL}\" AS t{names} WHERE {condition} LIMIT 1");
            if self.first_row(&catalog, &query)?.is_some() {
                return Err(Error::user(message));
            }
        }
        Ok(())
    }

    fn verify_key(&self, catalog: &Arc<Catalog>, table: &str, key: &KeyRule, is_few: bool) -> Result<()> {
        // Keys are compared by bytes, whatever the collations of their columns.
        let groups = |of: &str| list_with(&key.columns, of, " COLLATE C", ", ");
        let (columns, texts) = (groups("t"), texts(&key.columns, "t"));
        let found = match is_few {
            true => {
                let matches: Vec<String> = key
                    .columns
                    .iter()
                    .map(|name| format!("{} = {} COLLATE C", column("t", name), column("n", name)))
                    .collect();
                format!(
                    "SELECT {texts} FROM \"{ALL}\" AS t JOIN (SELECT {} FROM \"{ADDED}\" AS n GROUP BY {}) AS n \
                     ON {} GROUP BY {columns} HAVING count(*) > 1 LIMIT 1",
                    list(&key.columns, "n", ", "),
                    groups("n"),
                    matches.join(" AND ")
                )
            }
            false => {
                let known = list_with(&key.columns, "t", " IS NOT NULL", " AND ");
                format!(
                    "SELECT {texts} FROM \"{ALL}\" AS t WHERE {known} GROUP BY {columns} HAVING count(*) > 1 LIMIT 1"
                )
            }
        };
        match self.first_row(catalog, &found)? {
            None => Ok(()),
            Some(row) => Err(Error::user(format!(
                "duplicate key ({}) = ({}) in {}, a key of {table}",
                key.columns.join(", "),
                values(&row),
                key.name
            ))),
        }
    }

    /// Fails if a row of `child` refers to no row of `parent`.
    fn verify_reference(
        &self,
        catalog: &Arc<Catalog>,
        child: &str,
        reference: &ReferenceRule,
        parent: &str,
        message: &str,
    ) -> Result<()> {
        let pairs = reference.columns.iter().zip(&reference.parent_columns);
        let matches: Vec<String> =
            pairs.map(|(own, other)| format!("{} = {} COLLATE C", column("p", other), column("c", own))).collect();
        let query = format!(
            "SELECT {} FROM {} AS c WHERE {} AND NOT EXISTS (SELECT 1 FROM {} AS p WHERE {}) LIMIT 1",
            texts(&reference.columns, "c"),
            sql_of_name(child),
            list_with(&reference.columns, "c", " IS NOT NULL", " AND "),
            sql_of_name(parent),
            matches.join(" AND ")
        );
        match self.first_row(catalog, &query)? {
            None => Ok(()),
            Some(row) => Err(Error::user(format!(
                "{message}: there is no ({}) = ({}) in {}",
                reference.parent_columns.join(", "),
                values(&row),
                reference.parent
            ))),
        }
    }

    /// Searches for rows of other tables that refer to removed rows.
    fn verify_children(&self, catalog: &Arc<Catalog>, parent: &TableVersion) -> Result<()> {
        for (name, entry) in catalog.entries() {
            let CatalogEntry::Table(child) = entry else { continue };
            let Some(rules) = child.rules() else { continue };
            if name == ADDED || name == ALL {
                continue;
            }
            for reference in
                rules.references.iter().filter(|reference| reference.parent.eq_ignore_ascii_case(parent.name()))
            {
                let message = format!("{} of {name} doesn't hold any more", reference.name);
                self.verify_reference(catalog, &name, reference, ALL, &message)?;
            }
        }
        Ok(())
    }

    /// Returns the first row of a query.
    fn first_row(&self, catalog: &Arc<Catalog>, sql: &str) -> Result<Option<RecordBatch>> {
        let plan = self.database.0.planner.on(Namespace::of("checked", catalog.clone())).plan_query(sql)?;
        let (mut result, _) =
            self.start(sql, &plan, &ParameterValues::default(), result_schema(&plan)?, false, |_, rows| Ok(rows))?;
        result.find(|batch| batch.as_ref().map_or(true, |batch| batch.num_rows() > 0)).transpose()
    }
}

/// Returns the values in the first row of a batch as text.
fn values(row: &RecordBatch) -> String {
    let text = |column: &ArrayRef| column.as_string_view_opt().map_or("?", |texts| texts.value(0)).to_owned();
    row.columns().iter().map(text).collect::<Vec<_>>().join(", ")
}

fn column(table: &str, name: &str) -> String {
    format!("{table}.{}", quoted_text(name))
}

fn texts(names: &[String], table: &str) -> String {
    names.iter().map(|name| format!("CAST({} AS VARCHAR)", column(table, name))).collect::<Vec<_>>().join(", ")
}

fn list(names: &[String], table: &str, between: &str) -> String {
    list_with(names, table, "", between)
}

fn list_with(names: &[String], table: &str, behind: &str, between: &str) -> String {
    names.iter().map(|name| format!("{}{behind}", column(table, name))).collect::<Vec<_>>().join(between)
}
