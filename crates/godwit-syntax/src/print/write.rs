//! Data-modifying statements, import and export.

use std::fmt::{Display, Formatter, Result};

use super::{Commas, Text, list, list_in_parens, optional, when};
use crate::ast::{
    Assignment, AssignmentTarget, ConflictAction, ConflictTarget, Copy, CopyDirection, CopyPath, CopySource, Delete,
    Insert, InsertPolicy, InsertSource, JoinConstraint, Merge, MergeAction, MergeClause, MergeMatch, OnConflict,
    Update, With,
};

/// Prints WITH and the word that the statement begins with.
fn begin(f: &mut Formatter<'_>, with: Option<&With>, word: &str) -> Result {
    if let Some(with) = with {
        write!(f, "{with} ")?;
    }
    f.write_str(word)
}

impl Display for Insert {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        begin(f, self.with.as_ref(), "INSERT ")?;
        let policy = match self.policy {
            None => "",
            Some(InsertPolicy::Replace) => "OR REPLACE ",
            Some(InsertPolicy::Ignore) => "OR IGNORE ",
        };
        write!(f, "{policy}INTO {}", self.table)?;
        optional(f, " AS ", self.alias.as_ref())?;
        f.write_str(when(self.by_name, " BY NAME"))?;
        list_in_parens(f, " ", &self.columns)?;
        match &self.source {
            InsertSource::Query(query) => write!(f, " {query}")?,
            InsertSource::DefaultValues => f.write_str(" DEFAULT VALUES")?,
        }
        optional(f, " ", self.on_conflict.as_ref())?;
        list(f, " RETURNING ", &self.returning)
    }
}

impl Display for OnConflict {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str("ON CONFLICT ")?;
        match &self.target {
            None => {}
            Some(ConflictTarget::Constraint(name)) => write!(f, "ON CONSTRAINT {name} ")?,
            Some(ConflictTarget::Columns { columns, filter }) => {
                write!(f, "({}) ", Commas(columns))?;
                if let Some(filter) = filter {
                    write!(f, "WHERE {filter} ")?;
                }
            }
        }
        match &self.action {
            ConflictAction::Nothing => f.write_str("DO NOTHING"),
            ConflictAction::Update { assignments, filter } => {
                write!(f, "DO UPDATE SET {}", Commas(assignments))?;
                optional(f, " WHERE ", filter.as_ref())
            }
        }
    }
}

impl Display for Assignment {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match &self.target {
            AssignmentTarget::Column(name) => write!(f, "{name} = {}", self.value),
            AssignmentTarget::Row(names) => write!(f, "({}) = {}", Commas(names), self.value),
        }
    }
}

impl Display for Update {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        begin(f, self.with.as_ref(), "UPDATE ")?;
        self.table.fmt(f)?;
        optional(f, " AS ", self.alias.as_ref())?;
        list(f, " SET ", &self.assignments)?;
        list(f, " FROM ", &self.from)?;
        optional(f, " WHERE ", self.filter.as_ref())?;
        list(f, " RETURNING ", &self.returning)
    }
}

impl Display for Delete {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        begin(f, self.with.as_ref(), "DELETE FROM ")?;
        self.table.fmt(f)?;
        optional(f, " AS ", self.alias.as_ref())?;
        list(f, " USING ", &self.using)?;
        optional(f, " WHERE ", self.filter.as_ref())?;
        list(f, " RETURNING ", &self.returning)
    }
}

impl Display for Merge {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        begin(f, self.with.as_ref(), "MERGE INTO ")?;
        self.table.fmt(f)?;
        optional(f, " AS ", self.alias.as_ref())?;
        write!(f, " USING {}", self.source)?;
        match &self.on {
            JoinConstraint::On(condition) => write!(f, " ON {condition}")?,
            JoinConstraint::Using(columns) => write!(f, " USING ({})", Commas(columns))?,
            JoinConstraint::None | JoinConstraint::Natural => {}
        }
        self.clauses.iter().try_for_each(|clause| write!(f, " {clause}"))?;
        list(f, " RETURNING ", &self.returning)
    }
}

impl Display for MergeClause {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str(match self.when.matched {
            MergeMatch::Matched => "WHEN MATCHED",
            MergeMatch::NotMatchedByTarget => "WHEN NOT MATCHED",
            MergeMatch::NotMatchedBySource => "WHEN NOT MATCHED BY SOURCE",
        })?;
        optional(f, " AND ", self.when.condition.as_ref())?;
        write!(f, " THEN {}", self.action)
    }
}

impl Display for MergeAction {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            MergeAction::Update(assignments) => write!(f, "UPDATE SET {}", Commas(assignments)),
            MergeAction::UpdateAll { by_position } => write!(f, "UPDATE{}", when(*by_position, " BY POSITION")),
            MergeAction::Insert { columns, values } => {
                f.write_str("INSERT")?;
                list_in_parens(f, " ", columns)?;
                write!(f, " VALUES ({})", Commas(values))
            }
            MergeAction::InsertAll { by_position } => write!(f, "INSERT{}", when(*by_position, " BY POSITION")),
            MergeAction::InsertDefaults => f.write_str("INSERT DEFAULT VALUES"),
            MergeAction::Delete => f.write_str("DELETE"),
            MergeAction::Nothing => f.write_str("DO NOTHING"),
            MergeAction::Error(message) => {
                f.write_str("ERROR")?;
                optional(f, " ", message.as_ref())
            }
        }
    }
}

impl Display for Copy {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str("COPY ")?;
        match &self.source {
            CopySource::Table { name, columns } => {
                name.fmt(f)?;
                list_in_parens(f, " ", columns)?;
            }
            CopySource::Query(query) => write!(f, "({query})")?,
        }
        let (direction, standard) = match self.direction {
            CopyDirection::To => ("TO", "STDOUT"),
            CopyDirection::From => ("FROM", "STDIN"),
        };
        match &self.path {
            CopyPath::File(path, _) => write!(f, " {direction} {}", Text(path))?,
            CopyPath::Computed(path) => write!(f, " {direction} ({path})")?,
            CopyPath::Standard(_) => write!(f, " {direction} {standard}")?,
        }
        list_in_parens(f, " ", &self.options)
    }
}
