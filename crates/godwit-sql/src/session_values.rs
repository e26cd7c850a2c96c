//! Session state visible to statements, besides names: variables and the time zone.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use godwit_bind::{Dialect, Rows};
use godwit_common::{Error, Result, SqlState};
use godwit_syntax::ast::{self, ExprKind, Literal, SetExprKind};
use godwit_syntax::keywords;
use godwit_types::{SqlType, TimeZone, Value, format_value};

use crate::{Planner, SessionStatement, Statement};

/// Session values that are constants in its plans. Whoever keeps a plan keeps these as well.
#[derive(Debug, Clone, Default)]
pub struct SessionValues {
    /// Variables by name, in lower case.
    pub variables: Arc<BTreeMap<String, (Value, SqlType)>>,
    /// Time zone in which instants are shown, and in which times without a zone are interpreted.
    pub time_zone: TimeZone,
    /// Choices where dialects differ.
    pub dialect: Dialect,
    /// All settings, which `current_setting` reads.
    pub settings: Settings,
}

/// Reads settings by name, as of a number of changes.
#[derive(Clone, Default)]
pub struct Settings {
    /// Number of changes that the session has made.
    pub changes: u64,
    /// Returns the value of a setting; `None` if there is no such setting.
    pub reader: Option<Arc<ReadSetting>>,
}

/// Returns the value of a setting by its name.
pub type ReadSetting = dyn Fn(&str) -> Option<String> + Send + Sync;

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings").field("changes", &self.changes).finish_non_exhaustive()
    }
}

impl SessionValues {
    /// Returns true if nothing was set between the two.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.variables, &other.variables)
            && self.time_zone == other.time_zone
            && self.dialect == other.dialect
            && self.settings.changes == other.settings.changes
    }

    /// Returns the rows of a table of `system` about the session or the language; `None` if there is no such table.
    pub(crate) fn rows(&self, table: &str) -> Option<Rows> {
        let text = |text: &str| Value::text(text);
        let (columns, rows): (&[&str], Vec<Vec<Value>>) = match table {
            "variables" => {
                let row = |(name, (value, ty)): (&String, &(Value, SqlType))| {
                    let shown = if value.is_null() { Value::Null } else { Value::text(format_value(value, ty)) };
                    vec![text(name), shown, text(&ty.to_string())]
                };
                (&["name", "value", "type"], self.variables.iter().map(row).collect())
            }
            "keywords" => {
                let rows = keywords().into_iter().map(|(word, category)| vec![text(&word), text(category)]);
                (&["keyword_name", "keyword_category"], rows.collect())
            }
            _ => return None,
        };
        Some(Rows { columns: columns.iter().map(|&name| (name.to_owned(), SqlType::Varchar)).collect(), rows })
    }
}

impl Planner {
    pub(crate) fn set_variable(&self, set: &ast::SetVariable) -> Result<Statement> {
        let name = set.name.text.to_lowercase();
        // A variable that isn't set is NULL as well.
        if matches!(set.value.kind, ExprKind::Literal(Literal::Null)) {
            return Ok(Statement::Session(SessionStatement::ResetVariable { name }));
        }
        let row = SetExprKind::Values(vec![vec![set.value.clone()]]);
        let value = self.planned(&ast::Query::of(row, set.value.span))?;
        Ok(Statement::Session(SessionStatement::SetVariable { name, value }))
    }
}

pub(crate) fn reset_variable(reset: &ast::Reset) -> Result<Statement> {
    let name = reset.name.as_ref().and_then(ast::ObjectName::single).ok_or_else(|| {
        let error = Error::user("RESET VARIABLE takes the name of one variable").at_span(reset.span);
        error.with_code(SqlState::SYNTAX_ERROR)
    })?;
    Ok(Statement::Session(SessionStatement::ResetVariable { name: name.text.to_lowercase() }))
}
