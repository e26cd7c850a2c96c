//! The columns, defaults and constraints of a new table.

use std::collections::HashSet;
use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema, SchemaRef};
use godwit_bind::{Binder, ColumnOf, collation_text};
use godwit_catalog::names::{WrittenName, plain};
use godwit_catalog::stored::{self, stored_expression, with_sequences};
use godwit_catalog::{
    CatalogEntry, CheckRule, GeneratedColumn, GeneratedKind, KeyRule, ObjectName, ReferenceRule, SequenceDefinition,
    TableRules, as_view_type, full_name, literal_text, sequences_in, split_name,
};
use godwit_common::{Error, Result, SqlState};
use godwit_plan::{Expr, OutputColumn};
use godwit_syntax::ast::{
    self, ColumnConstraintKind, ForeignReference, Ident, ReferentialAction, TableConstraint, TableConstraintKind,
};
use godwit_types::SqlType;
use godwit_vector::sql::{arrow_type, collation_of_field, field_of, type_of_field, with_collation};

use crate::encodings::encodings_of;
use crate::generated::GeneratedDefinition;
use crate::{Definition, Planner, Statement, sequence};

/// The columns of a statement, with their rules.
#[derive(Default)]
pub(crate) struct NewColumns {
    /// All columns, including generated ones.
    pub columns: Vec<NewColumn>,
    pub rules: TableRules,
    /// The columns that are computed from others.
    pub generated: Vec<GeneratedDefinition>,
    /// Sequences of identity columns.
    pub sequences: Vec<SequenceDefinition>,
    /// Columns with their encodings.
    pub encodings: Vec<(String, String)>,
    /// Texts of rules with their trees in the statement, whose positions errors point to.
    pub written: Vec<(String, ast::Expr)>,
}

/// A column of a statement.
pub(crate) struct NewColumn {
    pub name: String,
    /// The type; `None`: that of its expression.
    pub ty: Option<SqlType>,
    pub nullable: bool,
    /// The collation in which its texts are compared; `None`: by their bytes.
    pub collation: Option<String>,
}

impl NewColumn {
    /// Returns the column with a type.
    pub(crate) fn field(&self, ty: &SqlType) -> Result<Field> {
        collated_field(field_of(&self.name, ty, self.nullable)?, self.collation.as_deref())
    }
}

/// Returns a column with a collation, which only text has.
pub(crate) fn collated_field(field: Field, collation: Option<&str>) -> Result<Field> {
    if collation.is_some() && type_of_field(&field)? != SqlType::Varchar {
        let error = Error::user(format!("COLLATE of {}, which isn't VARCHAR", field.name()));
        return Err(error.with_code(SqlState::DATATYPE_MISMATCH));
    }
    Ok(with_collation(field, collation))
}

impl Planner {
    pub(crate) fn create_table(&self, table: &ast::CreateTable) -> Result<Statement> {
        let name = self.namespace().new_name(&WrittenName::of(&table.name)?, table.temporary)?;
        if let Some(query) = &table.query {
            return self.create_table_of(table, name, query);
        }
        let mut new = self.read_rules(&name, table)?;
        self.resolve_references(&name, &mut new.rules)?;
        let fields = self.typed_columns(&mut new)?;
        let schema = table_schema(fields.into_iter())?;
        table_schema(new.rules.visible(&schema).into_iter())?;
        let schema = with_primary_key(&schema, &new.rules);
        self.check_rules(&name, &schema, &new.rules, &new.written)?;
        new.rules.encodings = encodings_of(&table.options, &new.encodings, &schema)?;
        let (or_replace, if_not_exists) = (table.or_replace, table.if_not_exists);
        let NewColumns { rules, sequences, .. } = new;
        let rows = None;
        let create =
            Definition::CreateTable { name, schema, rules, sequences, or_replace, if_not_exists, rows, analyzed: None };
        Ok(Statement::Definition(create))
    }

    /// Plans `CREATE TABLE … AS query`.
    fn create_table_of(&self, table: &ast::CreateTable, name: ObjectName, query: &ast::Query) -> Result<Statement> {
        let encoding = |column: &ast::ColumnDef| match &column.constraints[..] {
            [ast::ColumnConstraint { kind: ColumnConstraintKind::Encoding(encoding), .. }] => {
                Some((plain(&column.name), encoding.text.to_lowercase()))
            }
            _ => None,
        };
        let has_more = |column: &&ast::ColumnDef| {
            column.data_type.is_some() || (!column.constraints.is_empty() && encoding(column).is_none())
        };
        let span = table.constraints.first().map(|constraint| constraint.span);
        if let Some(span) = span.or(table.columns.iter().find(has_more).map(|column| column.span)) {
            return Err(Error::unsupported("types and constraints of CREATE TABLE ... AS").at_span(span));
        }
        let rows = self.planned(query)?;
        let given: Vec<_> = table.columns.iter().map(|column| plain(&column.name)).collect();
        let there = rows.output.len();
        if given.len() > there {
            let message = format!("{name} has {} columns, its query has {there}", given.len());
            return Err(Error::user(message).at_span(table.columns[0].span));
        }
        // Only the rows tell whether there are NULLs; having none so far is no guarantee.
        let field = |(at, column): (usize, &OutputColumn)| {
            let info = rows.column(column.column);
            let field = field_of(given.get(at).unwrap_or(&column.name), &info.ty, true)?;
            Ok(with_collation(field, info.collation.as_deref()))
        };
        let fields = rows.output.iter().enumerate().map(field).collect::<Result<Vec<_>>>()?;
        let schema = table_schema(fields.into_iter()).map_err(|error| error.at_span(query.span))?;
        let rows = table.with_data.then_some(rows);
        let of_columns: Vec<_> = table.columns.iter().filter_map(encoding).collect();
        let encodings = encodings_of(&table.options, &of_columns, &schema)?;
        let rules = TableRules { encodings, ..TableRules::default() };
        let (or_replace, if_not_exists) = (table.or_replace, table.if_not_exists);
        let sequences = Vec::new();
        let create =
            Definition::CreateTable { name, schema, rules, sequences, or_replace, if_not_exists, rows, analyzed: None };
        Ok(Statement::Definition(create))
    }

    /// Resolves the tables named by references.
    pub(crate) fn resolve_references(&self, child: &ObjectName, rules: &mut TableRules) -> Result<()> {
        let (own_schema, own_name) = split_name(&child.name);
        for reference in &mut rules.references {
            let written = WrittenName::of_text(&reference.parent)?;
            let is_own = match written.parts() {
                [name] => *name == own_name,
                [schema, name] => (schema, name) == (&own_schema, &own_name),
                _ => false,
            };
            reference.parent = match self.namespace().find(written.parts()) {
                _ if is_own => child.name.clone(),
                Some((parent, _)) if parent.database != child.database => {
                    return Err(Error::user(format!("{} refers to a table of another database", reference.name)));
                }
                Some((parent, _)) => parent.name,
                None => return Err(self.unknown_table(&written.to_string())),
            };
        }
        Ok(())
    }

    /// Binds expressions once, to report errors now, and looks up the columns of keys. `written` has texts with their
    /// trees.
    pub(crate) fn check_rules(
        &self,
        name: &ObjectName,
        schema: &SchemaRef,
        rules: &TableRules,
        written: &[(String, ast::Expr)],
    ) -> Result<()> {
        let has = |column: &str| schema.fields().iter().any(|field| field.name().eq_ignore_ascii_case(column));
        if rules.keys.iter().filter(|key| key.is_primary).count() > 1 {
            return Err(Error::user(format!("{name} would have two primary keys")));
        }
        let of_keys = rules.keys.iter().map(|key| &key.columns);
        for columns in of_keys.chain(rules.references.iter().map(|reference| &reference.columns)) {
            for (at, column) in columns.iter().enumerate() {
                if !has(column) {
                    return Err(Error::user(format!("{name} has no column {column} for its key")));
                }
                if columns[..at].iter().any(|known| known.eq_ignore_ascii_case(column)) {
                    let error = Error::user(format!("column {column} is in a key of {name} twice"));
                    return Err(error.with_code(SqlState::DUPLICATE_COLUMN));
                }
            }
        }
        self.check_expressions(name, schema, rules, written)
    }

    fn check_expressions(
        &self,
        name: &ObjectName,
        schema: &SchemaRef,
        rules: &TableRules,
        written: &[(String, ast::Expr)],
    ) -> Result<()> {
        let mut binder = Binder::new(self.statement_names());
        let table = split_name(&name.name).1;
        let tree = |text: &str| written.iter().find(|(known, _)| known == text).map(|(_, tree)| tree.clone());
        let columns = columns_of(&rules.visible(schema))?;
        for check in &rules.checks {
            let condition = match tree(&check.condition) {
                Some(tree) => tree,
                None => stored::expression(&check.condition)?,
            };
            let bound = binder.check_over(&table, &columns, &check.name, &condition)?;
            refuse_subquery(&bound, &format!("the condition of {}", check.name))?;
        }
        for (column, default) in &rules.defaults {
            let is_missing = |full: &String| {
                let catalog = self.namespace().catalog(&name.database);
                catalog.is_none_or(|catalog| catalog.get(full).is_none())
            };
            // The sequence of an identity column is created with its table.
            if sequences_in(default).iter().any(is_missing) {
                continue;
            }
            let value = match tree(default) {
                Some(tree) => tree,
                None => stored_expression(&name.database, default)?,
            };
            let value = binder.value_over(&table, &[], &value)?;
            refuse_subquery(&value, &format!("the default of {column}"))?;
            let field = schema.fields().iter().find(|field| field.name().eq_ignore_ascii_case(column));
            let field = field.ok_or_else(|| Error::user(format!("{name} has no column {column} for its default")))?;
            binder.assigned_to(&type_of_field(field)?, value)?;
        }
        Ok(())
    }

    /// Reads the column definitions of a statement.
    fn read_rules(&self, name: &ObjectName, table: &ast::CreateTable) -> Result<NewColumns> {
        let mut new = NewColumns::default();
        for at in 0..=table.columns.len() {
            for (_, other) in table.like.iter().filter(|(before, _)| *before == at) {
                self.add_columns_like(other, &mut new)?;
            }
            if let Some(column) = table.columns.get(at) {
                self.read_column(name, column, &mut new)?;
            }
        }
        for constraint in &table.constraints {
            read_constraint(&split_name(&name.name).1, constraint, &mut new.rules, &mut new.written)?;
        }
        Ok(new)
    }

    /// Adds the columns of `LIKE other`: their names and types, and NOT NULL.
    fn add_columns_like(&self, other: &ast::ObjectName, new: &mut NewColumns) -> Result<()> {
        let written = WrittenName::of(other)?;
        let Some((_, CatalogEntry::Table(table))) = self.namespace().find(written.parts()) else {
            return Err(self.unknown_table(&written.to_string()).at_span(other.span));
        };
        for field in table.rules().cloned().unwrap_or_default().visible(&table.schema) {
            let (name, ty) = (field.name().clone(), Some(type_of_field(&field)?));
            let collation = collation_of_field(&field).map(str::to_owned);
            new.columns.push(NewColumn { name, ty, nullable: field.is_nullable(), collation });
        }
        Ok(())
    }

    /// Adds a column, with the rules in its definition.
    pub(crate) fn read_column(&self, name: &ObjectName, column: &ast::ColumnDef, new: &mut NewColumns) -> Result<()> {
        let table = split_name(&name.name).1;
        let own = plain(&column.name);
        let key_of = || vec![own.clone()];
        let (mut nullable, mut is_virtual, mut collation) = (true, false, None);
        for constraint in &column.constraints {
            let given = constraint.name.as_ref().map(plain);
            let rules = &mut new.rules;
            match &constraint.kind {
                ColumnConstraintKind::Null => {}
                ColumnConstraintKind::NotNull => nullable = false,
                ColumnConstraintKind::Default(value) => {
                    let text = self.default_text(name, value)?;
                    new.written.push((text.clone(), value.clone()));
                    rules.defaults.push((own.clone(), text));
                }
                ColumnConstraintKind::PrimaryKey => add_key(rules, &table, given, key_of(), true),
                ColumnConstraintKind::Unique => add_key(rules, &table, given, key_of(), false),
                ColumnConstraintKind::Check(check) => add_check(rules, &table, given, check, &mut new.written),
                ColumnConstraintKind::References(reference) => {
                    add_reference(rules, &table, given, key_of(), reference)?;
                }
                ColumnConstraintKind::Generated { expr, stored } => {
                    is_virtual = *stored != Some(true);
                    let kind = if is_virtual { GeneratedKind::Virtual } else { GeneratedKind::Stored };
                    new.generated.push(GeneratedDefinition { name: own.clone(), expr: expr.clone(), kind });
                }
                ColumnConstraintKind::Identity { always, options } => {
                    self.add_identity(name, &own, *always, options, new)?;
                    nullable = false;
                }
                ColumnConstraintKind::Encoding(encoding) => {
                    if new.encodings.iter().any(|(known, _)| *known == own) {
                        let error = Error::user(format!("{own} has an encoding already"));
                        return Err(error.at_span(constraint.span));
                    }
                    new.encodings.push((own.clone(), encoding.text.to_lowercase()));
                }
                ColumnConstraintKind::Collate(name) => collation = collation_text(name)?,
            }
        }
        let is_plain = |constraint: &&ast::ColumnConstraint| {
            matches!(constraint.kind, ColumnConstraintKind::Generated { .. } | ColumnConstraintKind::Encoding(_))
        };
        if is_virtual && !column.constraints.iter().all(|constraint| is_plain(&constraint)) {
            let error = Error::unsupported(format!("constraints and defaults of the generated column {own}"));
            let error = error.at_span(column.span);
            return Err(error.with_hint("GENERATED ALWAYS AS (...) STORED takes constraints"));
        }
        let ty = match column.data_type.as_ref().map(|ty| (ty, serial_type(ty))) {
            Some((_, Some(integer))) => {
                self.add_identity(name, &own, false, &[], new)?;
                nullable = false;
                Some(integer)
            }
            Some((ty, None)) => Some(self.column_type(ty)?),
            None => None,
        };
        new.columns.push(NewColumn { name: own, ty, nullable, collation });
        Ok(())
    }

    fn add_identity(
        &self,
        name: &ObjectName,
        column: &str,
        always: bool,
        options: &[ast::SequenceOption],
        new: &mut NewColumns,
    ) -> Result<()> {
        let (schema, table) = split_name(&name.name);
        let full = full_name(&schema, &format!("{table}_{column}_seq"));
        let next = format!("nextval({})", literal_text(&full));
        match always {
            true => new.rules.generated.push(GeneratedColumn::identity(column, next)),
            false => new.rules.defaults.push((column.to_owned(), next)),
        }
        let sequence = sequence::definition(&full, options)?;
        new.sequences.push(SequenceDefinition { is_owned: true, ..sequence });
        Ok(())
    }

    /// Returns a type, if columns of tables can have it.
    pub(crate) fn column_type(&self, data_type: &ast::DataType) -> Result<SqlType> {
        let ty = Binder::new(self.statement_names()).data_type(data_type)?;
        match arrow_type(&ty) {
            Ok(_) => Ok(ty),
            Err(_) => {
                let error = Error::unsupported(format!("columns of type {ty}")).at_span(data_type.span);
                Err(error.with_hint("VARCHAR holds their texts"))
            }
        }
    }

    /// Returns the text of a default as stored in the catalog, with sequences by their full names.
    pub(crate) fn default_text(&self, table: &ObjectName, value: &ast::Expr) -> Result<String> {
        let renamed = with_sequences(&value.to_string(), |name| {
            let written = WrittenName::of_text(name)?;
            match self.namespace().find(written.parts()) {
                Some((found, CatalogEntry::Sequence(_))) if found.database == table.database => Ok(found.name),
                Some((found, CatalogEntry::Sequence(_))) => {
                    Err(Error::user(format!("the sequence {found} is in another database than {table}")))
                }
                _ => Err(Error::user(format!("no sequence named {name}"))),
            }
        });
        renamed.map_err(|error| error.at_span(value.span))
    }
}

/// Returns the integer type of `SERIAL` and its variants, which aren't types but columns with a sequence (PostgreSQL).
fn serial_type(data_type: &ast::DataType) -> Option<SqlType> {
    let ast::DataTypeKind::Named { name, .. } = &data_type.kind else { return None };
    match &*name.single()?.text.to_lowercase() {
        "smallserial" | "serial2" => Some(SqlType::SmallInt),
        "serial" | "serial4" => Some(SqlType::Integer),
        "bigserial" | "serial8" => Some(SqlType::BigInt),
        _ => None,
    }
}

/// Fails for expressions whose value may differ for the same row.
fn refuse_subquery(bound: &Expr, what: &str) -> Result<()> {
    match bound.has_subquery() {
        true => Err(Error::unsupported(format!("a subquery in {what}")).at_span(bound.span)),
        false => Ok(()),
    }
}

/// Returns columns for binding an expression over them.
pub(crate) fn columns_of(fields: &[Field]) -> Result<Vec<ColumnOf>> {
    let column = |field: &Field| {
        let (name, nullable) = (field.name().clone(), field.is_nullable());
        Ok(ColumnOf { name, ty: type_of_field(field)?, nullable, collation: collation_of_field(field).map(Arc::from) })
    };
    fields.iter().map(column).collect()
}

/// Adds a table constraint.
pub(crate) fn read_constraint(
    table: &str,
    constraint: &TableConstraint,
    rules: &mut TableRules,
    written: &mut Vec<(String, ast::Expr)>,
) -> Result<()> {
    let given = constraint.name.as_ref().map(plain);
    let names = |columns: &[Ident]| columns.iter().map(plain).collect::<Vec<_>>();
    match &constraint.kind {
        TableConstraintKind::PrimaryKey(columns) => add_key(rules, table, given, names(columns), true),
        TableConstraintKind::Unique(columns) => add_key(rules, table, given, names(columns), false),
        TableConstraintKind::Check(check) => add_check(rules, table, given, check, written),
        TableConstraintKind::ForeignKey { columns, reference } => {
            add_reference(rules, table, given, names(columns), reference)?;
        }
    }
    Ok(())
}

fn add_key(rules: &mut TableRules, table: &str, name: Option<String>, columns: Vec<String>, is_primary: bool) {
    let name = name.unwrap_or_else(|| match is_primary {
        true => format!("{table}_pkey"),
        false => format!("{table}_{}_key", columns.join("_")),
    });
    rules.keys.push(KeyRule { name, columns, is_primary });
}

fn add_check(
    rules: &mut TableRules,
    table: &str,
    name: Option<String>,
    condition: &ast::Expr,
    written: &mut Vec<(String, ast::Expr)>,
) {
    let name = name.unwrap_or_else(|| match rules.checks.len() {
        0 => format!("{table}_check"),
        more => format!("{table}_check{more}"),
    });
    let text = condition.to_string();
    written.push((text.clone(), condition.clone()));
    rules.checks.push(CheckRule { name, condition: text });
}

fn add_reference(
    rules: &mut TableRules,
    table: &str,
    name: Option<String>,
    columns: Vec<String>,
    reference: &ForeignReference,
) -> Result<()> {
    for action in [reference.on_delete, reference.on_update].into_iter().flatten() {
        if !matches!(action, ReferentialAction::NoAction | ReferentialAction::Restrict) {
            let error = Error::unsupported("CASCADE and SET of a foreign key").at_span(reference.table.span);
            return Err(error.with_hint("rows that others refer to can't be deleted"));
        }
    }
    let name = name.unwrap_or_else(|| format!("{table}_{}_fkey", columns.join("_")));
    let parent = reference.table.to_string();
    let parent_columns = reference.columns.iter().map(plain).collect();
    rules.references.push(ReferenceRule { name, columns, parent, parent_columns });
    Ok(())
}

/// Returns the schema of a new table: strings as views, and distinct names.
pub(crate) fn table_schema(fields: impl Iterator<Item = Field>) -> Result<SchemaRef> {
    let mut names = HashSet::new();
    let mut checked = Vec::new();
    for field in fields {
        if !names.insert(field.name().to_lowercase()) {
            let error = Error::user(format!("two columns named {}", field.name()));
            return Err(error
                .with_code(SqlState::DUPLICATE_COLUMN)
                .with_hint("names of columns differ in more than case"));
        }
        // A column of untyped NULLs may hold anything later.
        let data_type = match as_view_type(field.data_type()) {
            DataType::Null => DataType::Int32,
            data_type => data_type,
        };
        checked.push(field.with_data_type(data_type));
    }
    if checked.is_empty() {
        return Err(Error::user("a table has at least one column"));
    }
    Ok(Arc::new(Schema::new(checked)))
}

/// Makes the columns of the primary key NOT NULL.
pub(crate) fn with_primary_key(schema: &SchemaRef, rules: &TableRules) -> SchemaRef {
    let primary: Vec<&String> = rules.keys.iter().filter(|key| key.is_primary).flat_map(|key| &key.columns).collect();
    let fields = schema.fields().iter().map(|field| {
        let is_key = primary.iter().any(|name| name.eq_ignore_ascii_case(field.name()));
        field.as_ref().clone().with_nullable(field.is_nullable() && !is_key)
    });
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}
