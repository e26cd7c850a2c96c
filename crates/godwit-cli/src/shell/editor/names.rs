//! Names for completion, as of the last refresh.

use crate::shell::{Outcome, Shell};

/// Maximum number of columns, and so roughly of the memory for names. Columns of further tables aren't proposed.
const COLUMNS_MAX: usize = 50_000;

/// The names of a database.
#[derive(Debug, Clone, Default)]
pub(in crate::shell) struct Names {
    pub tables: Vec<Table>,
    pub schemas: Vec<String>,
    pub functions: Vec<String>,
    /// Functions in FROM that stand for tables.
    pub table_functions: Vec<String>,
    pub settings: Vec<String>,
}

/// A table or view.
#[derive(Debug, Clone, Default)]
pub(in crate::shell) struct Table {
    pub schema: String,
    pub name: String,
    pub columns: Vec<String>,
}

impl Names {
    /// Queries the database. Functions and settings are the same for all databases, and queried once.
    pub(in crate::shell) fn refresh(&mut self, shell: &Shell) -> Outcome {
        let _running = shell.interrupt.running(&shell.connection);
        let names = |sql: &str| -> Outcome<Vec<String>> {
            Ok(shell.texts(sql)?.into_iter().filter_map(|mut row| row.swap_remove(0)).collect())
        };
        if self.functions.is_empty() {
            let of_kind = |of: &str| {
                names(&format!("SELECT DISTINCT name FROM godwit_functions() WHERE kind {of} 'table' ORDER BY name"))
            };
            (self.functions, self.table_functions) = (of_kind("<>")?, of_kind("=")?);
            self.functions.retain(|name| name.starts_with(|c: char| c.is_alphabetic()));
            self.settings = names("SELECT name FROM godwit_settings() ORDER BY name")?;
        }
        self.schemas = names(
            "SELECT DISTINCT name FROM (SELECT catalog_name AS name FROM information_schema.schemata UNION ALL \
             SELECT schema_name FROM information_schema.schemata) s ORDER BY name",
        )?;
        let rows = shell.texts(&format!(
            "SELECT table_schema, table_name, column_name FROM information_schema.columns LIMIT {COLUMNS_MAX}"
        ))?;
        self.tables.clear();
        for row in rows {
            let [schema, name, column] = <[Option<String>; 3]>::try_from(row).unwrap_or_default();
            let (schema, name) = (schema.unwrap_or_default(), name.unwrap_or_default());
            match self.tables.last_mut() {
                Some(last) if last.schema == schema && last.name == name => last.columns.extend(column),
                _ => self.tables.push(Table { schema, name, columns: column.into_iter().collect() }),
            }
        }
        Ok(())
    }

    #[cfg(test)]
    pub(super) fn for_tests() -> Self {
        let table = |schema: &str, name: &str, columns: &[&str]| Table {
            schema: schema.into(),
            name: name.into(),
            columns: columns.iter().map(|&column| column.to_owned()).collect(),
        };
        Self {
            tables: vec![
                table("main", "lineitem", &["l_orderkey", "l_quantity"]),
                table("main", "orders", &["o_orderkey", "order", "Größe"]),
                table("s", "list of things", &["x y"]),
            ],
            schemas: vec!["main".into(), "s".into()],
            functions: ["concat", "count", "count_if", "left", "list_sum"].map(str::to_owned).to_vec(),
            table_functions: vec!["range".into(), "read_csv".into()],
            settings: vec!["memory_limit".into(), "threads".into()],
        }
    }
}
