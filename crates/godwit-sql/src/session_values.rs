//! Session state visible to statements, besides names: variables and the time zone.

use std::collections::BTreeMap;
use std::sync::Arc;

use godwit_common::{Error, Result, SqlState};
use godwit_syntax::ast::{self, ExprKind, Literal, SetExprKind};
use godwit_types::{SqlType, TimeZone, Value};

use crate::{Planner, SessionStatement, Statement};

/// Session values that are constants in its plans. Whoever keeps a plan keeps these as well.
#[derive(Debug, Clone, Default)]
pub struct SessionValues {
    /// Variables by name, in lower case.
    pub variables: Arc<BTreeMap<String, (Value, SqlType)>>,
    /// Time zone in which instants are shown, and in which times without a zone are interpreted.
    pub time_zone: TimeZone,
}

impl SessionValues {
    /// Returns true if nothing was set between the two.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.variables, &other.variables) && self.time_zone == other.time_zone
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
