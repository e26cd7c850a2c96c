//! The columns, defaults and constraints of a new table.

use std::collections::HashSet;
use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema, SchemaRef};
use datafusion_expr::{Expr, LogicalPlan, LogicalPlanBuilder, cast};
use datafusion_sql::sqlparser::ast::{
    self, ColumnOption, ColumnOptionDef, ForeignKeyConstraint, GeneratedAs, GeneratedExpressionMode, Ident,
    IndexColumn, ReferentialAction, TableConstraint,
};
use godwit_common::{Error, Result};

use crate::encodings::encodings_of;
use crate::generated::GeneratedDefinition;
use crate::names::{ObjectName, WrittenName, full_name, literal_text, split_name};
use crate::rules::{CheckRule, KeyRule, ReferenceRule};
use crate::sequence::rename_sequences;
use crate::table::as_view_type;
use crate::{
    CatalogEntry, GeneratedColumn, GeneratedKind, ParsedStatement, Planner, SequenceDefinition, Statement, TableRules,
    plan_error,
};

impl Planner {
    /// `encodings` are columns, and what they say about how they are stored.
    pub(crate) fn create_table(
        &self,
        table: &ast::CreateTable,
        encodings: &[(String, String)],
        parsed: &ParsedStatement,
    ) -> Result<Statement> {
        check_supported(table)?;
        let written = WrittenName::of(&table.name)?;
        let name = self.namespace().new_name(&written, table.temporary)?;
        let (or_replace, if_not_exists) = (table.or_replace, table.if_not_exists);
        let Some(query) = &table.query else {
            let NewColumns { columns, mut rules, generated, sequences } = self.read_rules(&name, table)?;
            self.resolve_references(&name, &mut rules)?;
            let fields = self.typed_columns(columns, &generated, &mut rules, parsed)?;
            let schema = table_schema(fields.into_iter())?;
            table_schema(rules.visible(&schema).into_iter())?;
            let schema = with_primary_key(&schema, &rules);
            self.check_rules(&name, &schema, &rules, parsed)?;
            rules.encodings = encodings_of(table, encodings, &schema)?;
            return Ok(Statement::CreateTable {
                name,
                schema,
                rules,
                sequences,
                or_replace,
                if_not_exists,
                rows: None,
            });
        };
        let (bound, names) = self.bound(query, parsed)?;
        let given: Vec<_> = table.columns.iter().map(|column| column.name.value.clone()).collect();
        if !given.is_empty() && given.len() != names.len() {
            let message = format!("{written} has {} columns, its query has {}", given.len(), names.len());
            return Err(Error::user(message));
        }
        let names = if given.is_empty() { names } else { given };
        let fields = bound.schema().fields().iter().zip(names);
        // Rows tell whether there are NULLs; that there are none so far is no promise.
        let fields = fields.map(|(field, name)| field.as_ref().clone().with_name(name).with_nullable(true));
        let schema = table_schema(fields)?;
        let rows = as_rows_of(&schema, bound).map_err(|error| plan_error::of_planning(&error, parsed))?;
        let rows = Some(self.optimize(rows, parsed)?);
        let encodings = encodings_of(table, encodings, &schema)?;
        let (rules, sequences) = (TableRules { encodings, ..TableRules::default() }, Vec::new());
        Ok(Statement::CreateTable { name, schema, rules, sequences, or_replace, if_not_exists, rows })
    }

    /// Says which tables those are that references name.
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

    /// Binds expressions once, to tell errors now, and looks for the columns of keys.
    pub(crate) fn check_rules(
        &self,
        name: &ObjectName,
        schema: &SchemaRef,
        rules: &TableRules,
        parsed: &ParsedStatement,
    ) -> Result<()> {
        let has = |column: &str| schema.fields().iter().any(|field| field.name().eq_ignore_ascii_case(column));
        if rules.keys.iter().filter(|key| key.is_primary).count() > 1 {
            return Err(Error::user(format!("{name} would have two primary keys")));
        }
        let of_keys = rules.keys.iter().flat_map(|key| &key.columns);
        for column in of_keys.chain(rules.references.iter().flat_map(|reference| &reference.columns)) {
            if !has(column) {
                return Err(Error::user(format!("{name} has no column {column} for its key")));
            }
        }
        self.bind_rules(&name.database, schema, rules, parsed)
    }

    /// What a statement says about its columns.
    fn read_rules(&self, name: &ObjectName, table: &ast::CreateTable) -> Result<NewColumns> {
        let mut new = NewColumns::default();
        for column in &table.columns {
            self.read_column(name, column.clone(), &mut new)?;
        }
        for constraint in &table.constraints {
            read_constraint(&split_name(&name.name).1, constraint, &mut new.rules)?;
        }
        if let Some(key) = &table.primary_key {
            return Err(Error::unsupported(format!("PRIMARY KEY {key} behind the columns")));
        }
        Ok(new)
    }

    /// Adds a column, and the rules in its options.
    pub(crate) fn read_column(
        &self,
        name: &ObjectName,
        mut column: ast::ColumnDef,
        new: &mut NewColumns,
    ) -> Result<()> {
        let (schema, table) = split_name(&name.name);
        let own = plain(&column.name);
        let rules = &mut new.rules;
        let (mut kept, mut is_virtual, options) = (Vec::new(), false, std::mem::take(&mut column.options));
        for definition in &options {
            let given = definition.name.as_ref().map(plain);
            match &definition.option {
                ColumnOption::Null | ColumnOption::NotNull => kept.push(definition.clone()),
                ColumnOption::Default(value) => rules.defaults.push((own.clone(), self.default_text(name, value)?)),
                ColumnOption::PrimaryKey(_) => rules.add_key(&table, given, vec![own.clone()], true),
                ColumnOption::Unique(_) => rules.add_key(&table, given, vec![own.clone()], false),
                ColumnOption::Check(check) => {
                    rules.add_check(&table, given.or_else(|| check.name.as_ref().map(plain)), &check.expr);
                }
                ColumnOption::ForeignKey(key) => rules.add_reference(&table, given, vec![own.clone()], key)?,
                ColumnOption::Generated { generation_expr: Some(expr), generation_expr_mode: mode, .. } => {
                    is_virtual = *mode != Some(GeneratedExpressionMode::Stored);
                    let kind = if is_virtual { GeneratedKind::Virtual } else { GeneratedKind::Stored };
                    new.generated.push(GeneratedDefinition { name: own.clone(), expr: expr.clone(), kind });
                }
                ColumnOption::Generated { generated_as, sequence_options, generation_expr: None, .. } => {
                    let full = full_name(&schema, &format!("{table}_{own}_seq"));
                    let next = format!("nextval({})", literal_text(&full));
                    match generated_as {
                        GeneratedAs::Always => rules.generated.push(GeneratedColumn::identity(&own, next)),
                        _ => rules.defaults.push((own.clone(), next)),
                    }
                    let sequence = SequenceDefinition::of(&full, sequence_options.as_deref().unwrap_or_default())?;
                    new.sequences.push(SequenceDefinition { is_owned: true, ..sequence });
                    kept.push(ColumnOptionDef { name: None, option: ColumnOption::NotNull });
                }
                other => return Err(Error::unsupported(format!("{other} of column {own}"))),
            }
        }
        if is_virtual && options.len() > 1 {
            return Err(Error::unsupported(format!("constraints and defaults of the generated column {own}"))
                .with_hint("GENERATED ALWAYS AS (...) STORED takes constraints"));
        }
        column.options = kept;
        new.columns.push(column);
        Ok(())
    }

    /// The text of a default as the catalog keeps it: sequences by their full names.
    pub(crate) fn default_text(&self, table: &ObjectName, value: &ast::Expr) -> Result<String> {
        let mut value = value.clone();
        rename_sequences(&mut value, |name| {
            let written = WrittenName::of_text(name)?;
            match self.namespace().find(written.parts()) {
                Some((found, CatalogEntry::Sequence(_))) if found.database == table.database => Ok(found.name),
                Some((found, CatalogEntry::Sequence(_))) => {
                    Err(Error::user(format!("the sequence {found} is in another database than {table}")))
                }
                _ => Err(Error::user(format!("no sequence named {name}"))),
            }
        })?;
        Ok(value.to_string())
    }
}

/// What a statement says about new columns.
#[derive(Default)]
pub(crate) struct NewColumns {
    /// Names, types, and whether they are NOT NULL; generated ones, too.
    pub columns: Vec<ast::ColumnDef>,
    pub rules: TableRules,
    /// Those of the columns that follow from others.
    pub generated: Vec<GeneratedDefinition>,
    /// For identity columns.
    pub sequences: Vec<SequenceDefinition>,
}

/// An error for what tables can't do.
fn check_supported(table: &ast::CreateTable) -> Result<()> {
    if table.like.is_some() || table.clone.is_some() || table.partition_by.is_some() {
        return Err(Error::unsupported("CREATE TABLE with LIKE, CLONE or PARTITION BY"));
    }
    if table.query.is_some() && !table.constraints.is_empty() {
        return Err(Error::unsupported("constraints of CREATE TABLE ... AS"));
    }
    Ok(())
}

/// Adds a constraint of a table.
pub(crate) fn read_constraint(table: &str, constraint: &TableConstraint, rules: &mut TableRules) -> Result<()> {
    let columns = |columns: &[IndexColumn]| {
        let name = |column: &IndexColumn| match &column.column.expr {
            ast::Expr::Identifier(name) => Ok(plain(name)),
            other => Err(Error::unsupported(format!("a key of {other}")).with_hint("keys are of columns")),
        };
        columns.iter().map(name).collect::<Result<Vec<_>>>()
    };
    match constraint {
        TableConstraint::PrimaryKey(key) => {
            rules.add_key(table, key.name.as_ref().map(plain), columns(&key.columns)?, true);
        }
        TableConstraint::Unique(key) => {
            rules.add_key(table, key.name.as_ref().map(plain), columns(&key.columns)?, false);
        }
        TableConstraint::Check(check) => rules.add_check(table, check.name.as_ref().map(plain), &check.expr),
        TableConstraint::ForeignKey(key) => {
            let own = key.columns.iter().map(plain).collect();
            rules.add_reference(table, key.name.as_ref().map(plain), own, key)?;
        }
        other => return Err(Error::unsupported(format!("the constraint {other}"))),
    }
    Ok(())
}

impl TableRules {
    fn add_key(&mut self, table: &str, name: Option<String>, columns: Vec<String>, is_primary: bool) {
        let name = name.unwrap_or_else(|| match is_primary {
            true => format!("{table}_pkey"),
            false => format!("{table}_{}_key", columns.join("_")),
        });
        self.keys.push(KeyRule { name, columns, is_primary });
    }

    fn add_check(&mut self, table: &str, name: Option<String>, condition: &ast::Expr) {
        let name = name.unwrap_or_else(|| match self.checks.len() {
            0 => format!("{table}_check"),
            more => format!("{table}_check{more}"),
        });
        self.checks.push(CheckRule { name, condition: condition.to_string() });
    }

    fn add_reference(
        &mut self,
        table: &str,
        name: Option<String>,
        columns: Vec<String>,
        key: &ForeignKeyConstraint,
    ) -> Result<()> {
        for action in [&key.on_delete, &key.on_update].into_iter().flatten() {
            if !matches!(action, ReferentialAction::NoAction | ReferentialAction::Restrict) {
                return Err(Error::unsupported(format!("{action} of a foreign key"))
                    .with_hint("rows that others refer to can't be deleted"));
            }
        }
        let name = name.unwrap_or_else(|| format!("{table}_{}_fkey", columns.join("_")));
        let parent = key.foreign_table.to_string();
        let parent_columns = key.referred_columns.iter().map(plain).collect();
        self.references.push(ReferenceRule { name, columns, parent, parent_columns });
        Ok(())
    }
}

/// A name as the binder reads it.
pub(crate) fn plain(name: &Ident) -> String {
    if name.quote_style.is_some() { name.value.clone() } else { name.value.to_lowercase() }
}

/// The columns of a new table: strings are views, names differ.
pub(crate) fn table_schema(fields: impl Iterator<Item = Field>) -> Result<SchemaRef> {
    let mut names = HashSet::new();
    let mut checked = Vec::new();
    for field in fields {
        if !names.insert(field.name().to_lowercase()) {
            return Err(Error::user(format!("two columns named {}", field.name())).with_hint("give them names with AS"));
        }
        // A column of NULLs without a type may hold anything later.
        let data_type = match as_view_type(field.data_type()) {
            DataType::Null => DataType::Int32,
            data_type => data_type,
        };
        checked.push(Field::new(field.name(), data_type, field.is_nullable()));
    }
    if checked.is_empty() {
        return Err(Error::user("a table has at least one column"));
    }
    Ok(Arc::new(Schema::new(checked)))
}

/// Columns of the primary key are NOT NULL.
pub(crate) fn with_primary_key(schema: &SchemaRef, rules: &TableRules) -> SchemaRef {
    let primary: Vec<&String> = rules.keys.iter().filter(|key| key.is_primary).flat_map(|key| &key.columns).collect();
    let fields = schema.fields().iter().map(|field| {
        let is_key = primary.iter().any(|name| name.eq_ignore_ascii_case(field.name()));
        field.as_ref().clone().with_nullable(field.is_nullable() && !is_key)
    });
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}

/// The rows of a query, cast to the types of a table.
pub(crate) fn as_rows_of(schema: &SchemaRef, rows: LogicalPlan) -> datafusion_common::Result<LogicalPlan> {
    let columns = rows.schema().columns().into_iter().enumerate();
    let expressions: Vec<Expr> = columns
        .map(|(at, column)| {
            let (field, value) = (schema.field(at), Expr::Column(column));
            let is_same = rows.schema().field(at).data_type() == field.data_type();
            let value = if is_same { value } else { cast(value, field.data_type().clone()) };
            value.alias(field.name())
        })
        .collect();
    LogicalPlanBuilder::from(rows).project(expressions)?.build()
}
