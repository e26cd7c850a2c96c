//! Files that a statement names by URL. Looking one up takes several requests, so all are looked up concurrently, and
//! each only once, however often it is named.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_schema::Schema;
use godwit_catalog::{CopyOption, TableDefinition, TableResolver};
use godwit_common::Result;
use godwit_syntax::Child;
use godwit_syntax::ast::{Query, Statement};

/// A resolver that knows some tables already.
pub(crate) struct StatementFiles {
    resolver: Arc<dyn TableResolver>,
    known: BTreeMap<String, Option<Result<Arc<TableDefinition>>>>,
}

impl StatementFiles {
    /// Returns a resolver for the statement, if it names files by URL.
    pub(crate) fn of(statement: &Statement, resolver: &Arc<dyn TableResolver>) -> Option<Self> {
        let mut urls: Vec<&str> = Vec::new();
        match statement {
            Statement::Query(query) => urls_in(Child::Query(query), &mut urls),
            Statement::Trace(trace) => urls_in(Child::Query(&trace.query), &mut urls),
            Statement::Explain(explain) => {
                if let Statement::Query(query) = &explain.statement {
                    urls_in(Child::Query(query), &mut urls);
                }
            }
            _ => {}
        }
        urls.sort_unstable();
        urls.dedup();
        if urls.is_empty() {
            return None;
        }
        let known = urls.iter().map(|&url| url.to_owned()).zip(resolver.resolve_paths(&urls)).collect();
        Some(Self { resolver: resolver.clone(), known })
    }
}

fn urls_in<'a>(child: Child<'a>, urls: &mut Vec<&'a str>) {
    match child {
        Child::File(path) if path.contains("://") => urls.push(path),
        Child::Query(query) => Query::for_each_child(query, &mut |child| urls_in(child, urls)),
        Child::Expr(expr) => expr.for_each_child(&mut |child| urls_in(child, urls)),
        Child::File(_) | Child::Write(_) => {}
    }
}

impl TableResolver for StatementFiles {
    fn resolve_path(&self, path: &str) -> Option<Result<Arc<TableDefinition>>> {
        self.known.get(path).cloned().unwrap_or_else(|| self.resolver.resolve_path(path))
    }

    fn reject_function(&self, name: &str) -> Option<&'static str> {
        self.resolver.reject_function(name)
    }

    fn table_of_format(&self, paths: &[&str], format: &str, options: &[CopyOption]) -> Result<Arc<TableDefinition>> {
        self.resolver.table_of_format(paths, format, options)
    }

    fn text_table(
        &self,
        paths: &[&str],
        options: &[CopyOption],
        expected: Option<&Schema>,
    ) -> Result<Arc<TableDefinition>> {
        self.resolver.text_table(paths, options, expected)
    }
}
