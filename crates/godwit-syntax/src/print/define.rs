//! Statements that define, change and drop objects.

use std::fmt::{Display, Formatter, Result};

use super::{Commas, Text, list_in_parens, optional, path, when};
use crate::ast::{
    AlterAction, AlterColumnAction, AlterObject, AlterTable, AlterTableAction, ColumnConstraint, ColumnConstraintKind,
    ColumnDef, CommentOn, CommentTarget, CreateIndex, CreateMacro, CreateSchema, CreateSequence, CreateTable,
    CreateType, CreateView, Drop, DropBehavior, ForeignReference, Ident, MacroBody, MacroOverload, MacroParameter,
    ObjectKind, ReferentialAction, SequenceOption, SequenceOptionKind, TableConstraint, TableConstraintKind,
    TypeDefinition,
};

/// `CREATE [OR REPLACE] [TEMPORARY] kind [IF NOT EXISTS] `.
fn create(f: &mut Formatter<'_>, or_replace: bool, temporary: bool, kind: &str, if_not_exists: bool) -> Result {
    let (replace, temporary) = (when(or_replace, "OR REPLACE "), when(temporary, "TEMPORARY "));
    write!(f, "CREATE {replace}{temporary}{kind} {}", when(if_not_exists, "IF NOT EXISTS "))
}

impl Display for CreateTable {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        create(f, self.or_replace, self.temporary, "TABLE", self.if_not_exists)?;
        self.name.fmt(f)?;
        let mut elements: Vec<String> = Vec::new();
        for at in 0..=self.columns.len() {
            let like = self.like.iter().filter(|(before, _)| *before == at);
            elements.extend(like.map(|(_, other)| format!("LIKE {other}")));
            elements.extend(self.columns.get(at).map(ToString::to_string));
        }
        elements.extend(self.constraints.iter().map(ToString::to_string));
        list_in_parens(f, " ", &elements)?;
        list_in_parens(f, " WITH ", &self.options)?;
        optional(f, " AS ", self.query.as_ref())?;
        f.write_str(when(!self.with_data, " WITH NO DATA"))
    }
}

impl Display for ColumnDef {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        self.name.fmt(f)?;
        definition(f, self)
    }
}

/// Prints a column's definition without its name.
fn definition(f: &mut Formatter<'_>, column: &ColumnDef) -> Result {
    optional(f, " ", column.data_type.as_ref())?;
    column.constraints.iter().try_for_each(|constraint| write!(f, " {constraint}"))
}

fn constraint_name(f: &mut Formatter<'_>, name: Option<&Ident>) -> Result {
    name.map_or(Ok(()), |name| write!(f, "CONSTRAINT {name} "))
}

impl Display for ColumnConstraint {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        constraint_name(f, self.name.as_ref())?;
        match &self.kind {
            ColumnConstraintKind::NotNull => f.write_str("NOT NULL"),
            ColumnConstraintKind::Null => f.write_str("NULL"),
            ColumnConstraintKind::Default(expr) => write!(f, "DEFAULT {expr}"),
            ColumnConstraintKind::PrimaryKey => f.write_str("PRIMARY KEY"),
            ColumnConstraintKind::Unique => f.write_str("UNIQUE"),
            ColumnConstraintKind::Check(expr) => write!(f, "CHECK ({expr})"),
            ColumnConstraintKind::References(reference) => reference.fmt(f),
            ColumnConstraintKind::Generated { expr, stored } => {
                write!(f, "GENERATED ALWAYS AS ({expr})")?;
                f.write_str(stored.map_or("", |stored| if stored { " STORED" } else { " VIRTUAL" }))
            }
            ColumnConstraintKind::Identity { always, options } => {
                write!(f, "GENERATED {} AS IDENTITY", if *always { "ALWAYS" } else { "BY DEFAULT" })?;
                if options.is_empty() { Ok(()) } else { write!(f, " ({})", Spaces(options)) }
            }
            ColumnConstraintKind::Collate(name) => write!(f, "COLLATE {name}"),
            ColumnConstraintKind::Encoding(name) => write!(f, "ENCODING {name}"),
        }
    }
}

impl Display for TableConstraint {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        constraint_name(f, self.name.as_ref())?;
        match &self.kind {
            TableConstraintKind::PrimaryKey(columns) => write!(f, "PRIMARY KEY ({})", Commas(columns)),
            TableConstraintKind::Unique(columns) => write!(f, "UNIQUE ({})", Commas(columns)),
            TableConstraintKind::Check(expr) => write!(f, "CHECK ({expr})"),
            TableConstraintKind::ForeignKey { columns, reference } => {
                write!(f, "FOREIGN KEY ({}) {reference}", Commas(columns))
            }
        }
    }
}

impl Display for ForeignReference {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "REFERENCES {}", self.table)?;
        list_in_parens(f, " ", &self.columns)?;
        optional(f, " ON DELETE ", self.on_delete.as_ref())?;
        optional(f, " ON UPDATE ", self.on_update.as_ref())
    }
}

impl Display for ReferentialAction {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str(match self {
            ReferentialAction::NoAction => "NO ACTION",
            ReferentialAction::Restrict => "RESTRICT",
            ReferentialAction::Cascade => "CASCADE",
            ReferentialAction::SetNull => "SET NULL",
            ReferentialAction::SetDefault => "SET DEFAULT",
        })
    }
}

impl Display for CreateView {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let kind = if self.recursive { "RECURSIVE VIEW" } else { "VIEW" };
        create(f, self.or_replace, self.temporary, kind, self.if_not_exists)?;
        self.name.fmt(f)?;
        list_in_parens(f, " ", &self.columns)?;
        write!(f, " AS {}", self.query)
    }
}

impl Display for CreateSchema {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        create(f, self.or_replace, false, "SCHEMA", self.if_not_exists)?;
        self.name.fmt(f)
    }
}

impl Display for CreateSequence {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        create(f, self.or_replace, self.temporary, "SEQUENCE", self.if_not_exists)?;
        self.name.fmt(f)?;
        self.options.iter().try_for_each(|option| write!(f, " {option}"))
    }
}

/// A list separated by spaces.
struct Spaces<'a, T>(&'a [T]);

impl<T: Display> Display for Spaces<'_, T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        for (at, item) in self.0.iter().enumerate() {
            let space = if at > 0 { " " } else { "" };
            write!(f, "{space}{item}")?;
        }
        Ok(())
    }
}

impl Display for SequenceOption {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match &self.kind {
            SequenceOptionKind::Start(number) => write!(f, "START WITH {number}"),
            SequenceOptionKind::Restart(None) => f.write_str("RESTART"),
            SequenceOptionKind::Restart(Some(number)) => write!(f, "RESTART WITH {number}"),
            SequenceOptionKind::Increment(number) => write!(f, "INCREMENT BY {number}"),
            SequenceOptionKind::MinValue(None) => f.write_str("NO MINVALUE"),
            SequenceOptionKind::MinValue(Some(number)) => write!(f, "MINVALUE {number}"),
            SequenceOptionKind::MaxValue(None) => f.write_str("NO MAXVALUE"),
            SequenceOptionKind::MaxValue(Some(number)) => write!(f, "MAXVALUE {number}"),
            SequenceOptionKind::Cache(number) => write!(f, "CACHE {number}"),
            SequenceOptionKind::Cycle(cycle) => write!(f, "{}CYCLE", when(!cycle, "NO ")),
            SequenceOptionKind::As(data_type) => write!(f, "AS {data_type}"),
            SequenceOptionKind::OwnedBy(None) => f.write_str("OWNED BY NONE"),
            SequenceOptionKind::OwnedBy(Some(name)) => write!(f, "OWNED BY {name}"),
        }
    }
}

impl Display for CreateIndex {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let kind = if self.unique { "UNIQUE INDEX" } else { "INDEX" };
        create(f, false, false, kind, self.if_not_exists)?;
        if let Some(name) = &self.name {
            write!(f, "{name} ")?;
        }
        write!(f, "ON {}", self.table)?;
        optional(f, " USING ", self.method.as_ref())?;
        write!(f, " ({})", Commas(&self.keys))?;
        list_in_parens(f, " WITH ", &self.options)?;
        optional(f, " WHERE ", self.filter.as_ref())
    }
}

impl Display for CreateType {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        create(f, self.or_replace, self.temporary, "TYPE", self.if_not_exists)?;
        match &self.definition {
            TypeDefinition::Type(data_type) => write!(f, "{} AS {data_type}", self.name),
            TypeDefinition::EnumOf(query) => write!(f, "{} AS ENUM ({query})", self.name),
        }
    }
}

impl Display for CreateMacro {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        create(f, self.or_replace, self.temporary, "MACRO", self.if_not_exists)?;
        write!(f, "{} {}", self.name, Commas(&self.overloads))
    }
}

impl Display for MacroOverload {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "({}) AS ", Commas(&self.parameters))?;
        match &self.body {
            MacroBody::Expr(expr) => expr.fmt(f),
            MacroBody::Table(query) => write!(f, "TABLE {query}"),
        }
    }
}

impl Display for MacroParameter {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        self.name.fmt(f)?;
        optional(f, " ", self.data_type.as_ref())?;
        optional(f, " := ", self.default.as_ref())
    }
}

impl Display for ObjectKind {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str(match self {
            ObjectKind::Table => "TABLE",
            ObjectKind::View => "VIEW",
            ObjectKind::Schema => "SCHEMA",
            ObjectKind::Sequence => "SEQUENCE",
            ObjectKind::Index => "INDEX",
            ObjectKind::Type => "TYPE",
            ObjectKind::Macro => "MACRO",
            ObjectKind::TableMacro => "MACRO TABLE",
            ObjectKind::Database => "DATABASE",
        })
    }
}

impl Display for DropBehavior {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str(match self {
            DropBehavior::Cascade => "CASCADE",
            DropBehavior::Restrict => "RESTRICT",
        })
    }
}

impl Display for Drop {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "DROP {} {}{}", self.kind, when(self.if_exists, "IF EXISTS "), Commas(&self.names))?;
        optional(f, " ", self.behavior.as_ref())
    }
}

impl Display for AlterTable {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let if_exists = when(self.if_exists, "IF EXISTS ");
        write!(f, "ALTER TABLE {if_exists}{} {}", self.name, Commas(&self.actions))
    }
}

impl Display for AlterTableAction {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            AlterTableAction::RenameTable(to) => write!(f, "RENAME TO {to}"),
            AlterTableAction::RenameColumn { column, to } => write!(f, "RENAME COLUMN {column} TO {to}"),
            AlterTableAction::RenameConstraint { name, to } => write!(f, "RENAME CONSTRAINT {name} TO {to}"),
            AlterTableAction::AddColumn { if_not_exists, parent, column } => {
                write!(f, "ADD COLUMN {}", when(*if_not_exists, "IF NOT EXISTS "))?;
                path(f, parent)?;
                write!(f, "{}{column}", when(!parent.is_empty(), "."))
            }
            AlterTableAction::DropColumn { if_exists, column, behavior } => {
                write!(f, "DROP COLUMN {}{column}", when(*if_exists, "IF EXISTS "))?;
                optional(f, " ", behavior.as_ref())
            }
            AlterTableAction::AlterColumn { column, action } => write!(f, "ALTER COLUMN {column} {action}"),
            AlterTableAction::AddConstraint(constraint) => write!(f, "ADD {constraint}"),
            AlterTableAction::DropConstraint { if_exists, name, behavior } => {
                write!(f, "DROP CONSTRAINT {}{name}", when(*if_exists, "IF EXISTS "))?;
                optional(f, " ", behavior.as_ref())
            }
            AlterTableAction::SetSchema(name) => write!(f, "SET SCHEMA {name}"),
            AlterTableAction::SetOptions(options) => write!(f, "SET ({})", Commas(options)),
            AlterTableAction::ResetOptions(names) => write!(f, "RESET ({})", Commas(names)),
        }
    }
}

impl Display for AlterColumnAction {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            AlterColumnAction::SetType { data_type, collation, using } => {
                f.write_str("TYPE")?;
                optional(f, " ", data_type.as_ref())?;
                optional(f, " COLLATE ", collation.as_ref())?;
                optional(f, " USING ", using.as_ref())
            }
            AlterColumnAction::SetDefault(expr) => write!(f, "SET DEFAULT {expr}"),
            AlterColumnAction::DropDefault => f.write_str("DROP DEFAULT"),
            AlterColumnAction::SetNotNull => f.write_str("SET NOT NULL"),
            AlterColumnAction::DropNotNull => f.write_str("DROP NOT NULL"),
            AlterColumnAction::SetEncoding(name) => write!(f, "SET ENCODING {name}"),
        }
    }
}

impl Display for AlterObject {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "ALTER {} {}{} ", self.kind, when(self.if_exists, "IF EXISTS "), self.name)?;
        match &self.action {
            AlterAction::RenameTo(to) => write!(f, "RENAME TO {to}"),
            AlterAction::SetSchema(name) => write!(f, "SET SCHEMA {name}"),
            AlterAction::SequenceOptions(options) => Spaces(options).fmt(f),
        }
    }
}

impl Display for CommentOn {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self.target {
            CommentTarget::Object(kind) => write!(f, "COMMENT ON {kind} {} IS ", self.name)?,
            CommentTarget::Column => write!(f, "COMMENT ON COLUMN {} IS ", self.name)?,
        }
        match &self.comment {
            Some(text) => Text(text).fmt(f),
            None => f.write_str("NULL"),
        }
    }
}
