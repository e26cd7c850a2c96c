//! `UPDATE`, `DELETE`.

use datafusion_sql::sqlparser::ast::{self, FromTable, SelectItem, TableFactor, TableWithJoins, UpdateTableFromKind};
use godwit_common::{Error, Result};

use super::{PLACE, TARGET, Target, WriteKind, WritePlan, named, select, table, typed};
use crate::names::WrittenName;
use crate::table::ROW_ID;
use crate::{ParsedStatement, Planner, Statement};

impl Planner {
    pub(crate) fn update(&self, update: &ast::Update, parsed: &ParsedStatement) -> Result<Statement> {
        if update.or.is_some() || update.limit.is_some() || !update.order_by.is_empty() {
            return Err(Error::unsupported("UPDATE with OR, ORDER BY or LIMIT"));
        }
        let target = self.target_of(&update.table.relation)?;
        let mut items = vec![named(target.column(ROW_ID), ROW_ID)];
        for (at, value) in target.assigned(&update.assignments)?.into_iter().enumerate() {
            let value = value.unwrap_or_else(|| target.column(target.schema().field(at).name()));
            items.push(named(value, &format!("{PLACE}{at}")));
        }
        let mut from = vec![target_in_from(&target, &update.table)?];
        if let Some(UpdateTableFromKind::AfterSet(tables) | UpdateTableFromKind::BeforeSet(tables)) = &update.from {
            from.extend(tables.iter().cloned());
        }
        let query = select(items, from, update.selection.clone())?;
        let (bound, _) = self.bound_with(query, vec![self.with_row_ids(&target, parsed)?], parsed)?;
        let rows = typed(&target, WriteKind::Update, bound, parsed)?;
        self.write(&target, WriteKind::Update, rows, update.returning.as_deref(), parsed)
    }

    pub(crate) fn delete(&self, delete: &ast::Delete, parsed: &ParsedStatement) -> Result<Statement> {
        if delete.limit.is_some() || !delete.order_by.is_empty() || !delete.tables.is_empty() {
            return Err(Error::unsupported("DELETE with ORDER BY, LIMIT or several tables"));
        }
        let (FromTable::WithFromKeyword(tables) | FromTable::WithoutKeyword(tables)) = &delete.from;
        let [first] = &tables[..] else { return Err(Error::unsupported("DELETE with several tables")) };
        let target = self.target_of(&first.relation)?;
        let mut items = vec![named(target.column(ROW_ID), ROW_ID)];
        let returning = delete.returning.as_deref().map(|items| target.returned(items)).transpose()?;
        items.extend(returning.clone().unwrap_or_default());
        let mut from = vec![target_in_from(&target, first)?];
        from.extend(delete.using.iter().flatten().cloned());
        let query = select(items, from, delete.selection.clone())?;
        self.delete_rows(&target, query, returning.is_some(), parsed)
    }

    /// `TRUNCATE t`: all rows.
    pub(crate) fn truncate(&self, name: &WrittenName, parsed: &ParsedStatement) -> Result<Statement> {
        let target = self.target(name, None)?;
        let items: Vec<SelectItem> = vec![named(target.column(ROW_ID), ROW_ID)];
        let query = select(items, vec![table(TARGET, &target.alias)?], None)?;
        self.delete_rows(&target, query, false, parsed)
    }

    fn delete_rows(
        &self,
        target: &Target,
        query: Box<ast::Query>,
        returns: bool,
        parsed: &ParsedStatement,
    ) -> Result<Statement> {
        let (bound, names) = self.bound_with(query, vec![self.with_row_ids(target, parsed)?], parsed)?;
        Ok(Statement::Write(WritePlan {
            table: target.name.clone(),
            kind: WriteKind::Delete,
            rows: self.optimize(bound, parsed)?,
            checks: Vec::new(),
            returning: returns.then(|| names[1..].to_vec()),
        }))
    }
}

/// The target in the FROM clause: the table with row ids, and what is joined to it.
fn target_in_from(target: &Target, given: &TableWithJoins) -> Result<TableWithJoins> {
    let TableFactor::Table { .. } = &given.relation else {
        return Err(Error::unsupported("changes of something else than a table"));
    };
    let mut from = table(TARGET, &target.alias)?;
    from.joins.clone_from(&given.joins);
    Ok(from)
}
