//! The tables that a query names, and the columns of them that it uses: what a view depends on.

use std::cell::RefCell;
use std::sync::Arc;

use godwit_plan::{ColumnId, ColumnSet};

use crate::Binder;
use crate::scope::ScopeRelation;

/// A table or view that a query names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsedTable {
    /// Its full name: database, schema and table; schema and table if it is built in.
    pub name: Vec<Arc<str>>,
    /// The columns that the query uses, without hidden ones.
    pub columns: Vec<Arc<str>>,
}

/// What has been used so far. Columns have ids of their own for each mention of a table in FROM, so those that a view
/// inside uses are others.
#[derive(Debug, Clone, Default)]
pub(crate) struct Usage {
    tables: Vec<ScopeRelation>,
    /// In a cell, as columns are looked up in a binder that doesn't change.
    columns: RefCell<ColumnSet>,
}

impl Usage {
    pub(crate) fn note_tables(&mut self, tables: &[ScopeRelation]) {
        self.tables.extend_from_slice(tables);
    }

    pub(crate) fn note_column(&self, column: ColumnId) {
        self.columns.borrow_mut().insert(column);
    }
}

impl Binder {
    /// Returns a binder that also notes what queries use, for [`Self::used_tables`].
    pub fn with_usage(mut self) -> Self {
        self.usage = Some(Usage::default());
        self
    }

    /// Returns the tables and views that the queries bound so far name themselves, not within views and macros.
    pub fn used_tables(&self) -> Vec<UsedTable> {
        let Some(Usage { tables, columns }) = &self.usage else { return Vec::new() };
        let columns = columns.borrow();
        let used = |table: &ScopeRelation| {
            let used = table.columns.iter().filter(|column| !column.hidden && columns.contains(column.column));
            UsedTable { name: table.name.clone(), columns: used.map(|column| column.name.clone()).collect() }
        };
        tables.iter().map(used).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{Names, World};

    /// Returns the tables that a query uses, with their columns.
    fn used(sql: &str) -> String {
        let mut binder = Binder::new(Arc::new(Names(World::new()))).with_usage();
        binder.query(&godwit_syntax::parse_query(sql).unwrap()).unwrap();
        let shown = |table: UsedTable| format!("{}({})", table.name.join("."), table.columns.join(" "));
        binder.used_tables().into_iter().map(shown).collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn queries_use_what_they_name() {
        let cases = [
            ("SELECT a FROM t", "memory.main.t(a)"),
            ("SELECT count(*) FROM t AS x WHERE x.b > 1", "memory.main.t(b)"),
            ("SELECT * FROM t", "memory.main.t(a b)"),
            ("SELECT x FROM (SELECT a AS x, b FROM t) s", "memory.main.t(a b)"),
            ("WITH w AS (SELECT a FROM s1.t) SELECT * FROM w, w AS v", "memory.s1.t(a)"),
            ("SELECT x FROM k JOIN l USING (k)", "memory.main.k(k x), memory.main.l(k)"),
            ("SELECT 1 FROM n WHERE EXISTS (SELECT 1 FROM t WHERE a = i)", "memory.main.n(i), memory.main.t(a)"),
            ("SELECT a FROM v0 AS x", "v0(a)"),
            ("SELECT a FROM v1 WHERE b > 1", "v1(a b)"),
            ("SELECT t.a FROM t JOIN t AS u ON t.a = u.b", "memory.main.t(a), memory.main.t(b)"),
            ("SELECT range FROM range(3)", ""),
        ];
        for (sql, expected) in cases {
            assert_eq!(used(sql), expected, "{sql}");
        }
    }
}
