//! Built-in views: the part of `pg_catalog` and `information_schema` that follows from their other tables, and from
//! what Godwit has settings and statements for.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, OnceLock};

use godwit_bind::Rows;
use godwit_syntax::ast::{Query, Statement};
use godwit_syntax::parse_script;

use crate::system_table::empty_table;

/// Schema of Godwit's own views.
pub(crate) const SYSTEM: &str = "system";

/// Schema that only built-in views see: empty tables with the columns of those views of which little is known. The view
/// selects `e.*` from the table of its name, and replaces what it knows; the rest is NULL.
pub(crate) const COLUMNS_OF: &str = "columns_of";

/// The views, written as users would define them.
const DEFINITIONS: [&str; 3] = [
    include_str!("pg_catalog_views.sql"),
    include_str!("information_schema_views.sql"),
    "
CREATE VIEW system.reject_errors AS
    SELECT * FROM godwit_reject_errors();
CREATE VIEW system.reject_scans AS
    SELECT * FROM godwit_reject_scans();
",
];

/// A view whose definition is parsed when it is first used.
struct BuiltInView {
    /// Its definition without `CREATE VIEW`.
    text: &'static str,
    query: OnceLock<Arc<Query>>,
}

impl BuiltInView {
    fn query(&self) -> Arc<Query> {
        let parsed = || {
            let script = parse_script(&format!("CREATE VIEW {}", self.text)).expect("the definitions are SQL");
            match script.into_iter().next().map(|parsed| parsed.statement) {
                Some(Statement::CreateView(view)) => Arc::new(*view.query),
                _ => unreachable!("each of the parts defines a view"),
            }
        };
        self.query.get_or_init(parsed).clone()
    }
}

/// The views by their names with schemas.
static BY_NAME: LazyLock<HashMap<&'static str, BuiltInView>> = LazyLock::new(|| {
    let texts = DEFINITIONS.iter().flat_map(|script| script.split("\nCREATE VIEW ").skip(1));
    let named = |text: &'static str| {
        let (name, _) = text.split_once(' ').expect("AS follows the name");
        (name, BuiltInView { text, query: OnceLock::new() })
    };
    texts.map(named).collect()
});

/// Returns the query of a view, by schema and name in lower case.
pub(crate) fn built_in_view(schema: &str, name: &str) -> Option<Arc<Query>> {
    BY_NAME.get(&*format!("{schema}.{name}")).map(BuiltInView::query)
}

/// Returns an empty table with the columns of a view.
pub(crate) fn columns_of(view: &str) -> Option<Rows> {
    empty_table(include_str!("columns_of.txt"), view)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_definitions_are_views_of_their_own_names() {
        for (name, view) in BY_NAME.iter() {
            let (schema, own) = name.split_once('.').expect("names have schemas");
            assert!(Arc::ptr_eq(&view.query(), &built_in_view(schema, own).expect("it is found")));
        }
        let statements: usize = DEFINITIONS.iter().map(|script| script.matches("CREATE VIEW").count()).sum();
        assert_eq!(statements, BY_NAME.len());
    }
}
