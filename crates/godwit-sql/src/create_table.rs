//! The columns, defaults and constraints of a new table.

use std::collections::HashSet;
use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema, SchemaRef};
use datafusion_expr::{Expr, LogicalPlan, LogicalPlanBuilder, cast};
use datafusion_sql::sqlparser::ast::{
    self, ColumnOption, ForeignKeyConstraint, Ident, IndexColumn, ReferentialAction, TableConstraint,
};
use godwit_common::{Error, Result};

use crate::parse::object_name;
use crate::rules::{CheckRule, KeyRule, ReferenceRule};
use crate::table::as_view_type;
use crate::{ParsedStatement, Planner, Statement, TableRules, plan_error};

impl Planner {
    pub(crate) fn create_table(&self, table: &ast::CreateTable, parsed: &ParsedStatement) -> Result<Statement> {
        check_supported(table)?;
        let name = object_name(&table.name)?;
        let (or_replace, if_not_exists) = (table.or_replace, table.if_not_exists);
        let Some(query) = &table.query else {
            let (columns, rules) = read_rules(&name, table)?;
            let fields = self.binder().columns(columns, parsed)?;
            let schema = table_schema(fields.into_iter())?;
            let schema = with_primary_key(&schema, &rules);
            self.check_rules(&name, &schema, &rules, parsed)?;
            return Ok(Statement::CreateTable { name, schema, rules, or_replace, if_not_exists, rows: None });
        };
        let (bound, names) = self.bound(query, parsed)?;
        let given: Vec<_> = table.columns.iter().map(|column| column.name.value.clone()).collect();
        if !given.is_empty() && given.len() != names.len() {
            let message = format!("{name} has {} columns, its query has {}", given.len(), names.len());
            return Err(Error::user(message));
        }
        let names = if given.is_empty() { names } else { given };
        let fields = bound.schema().fields().iter().zip(names);
        // Rows tell whether there are NULLs; that there are none so far is no promise.
        let fields = fields.map(|(field, name)| field.as_ref().clone().with_name(name).with_nullable(true));
        let schema = table_schema(fields)?;
        let rows = as_rows_of(&schema, bound).map_err(|error| plan_error::of_planning(&error, parsed))?;
        let rows = Some(self.optimize(rows, parsed)?);
        Ok(Statement::CreateTable { name, schema, rules: TableRules::default(), or_replace, if_not_exists, rows })
    }

    /// Binds expressions once, to tell errors now, and looks for the columns of keys.
    pub(crate) fn check_rules(
        &self,
        name: &str,
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
        self.bind_rules(schema, rules, parsed)
    }
}

/// An error for what tables can't do.
fn check_supported(table: &ast::CreateTable) -> Result<()> {
    if table.temporary {
        return Err(Error::unsupported("temporary tables").with_hint("use CREATE TABLE in a database in memory"));
    }
    if table.like.is_some() || table.clone.is_some() || table.partition_by.is_some() {
        return Err(Error::unsupported("CREATE TABLE with LIKE, CLONE or PARTITION BY"));
    }
    if table.query.is_some() && !table.constraints.is_empty() {
        return Err(Error::unsupported("constraints of CREATE TABLE ... AS"));
    }
    Ok(())
}

/// The columns, with no other options than NOT NULL, and the rules that the statement states.
fn read_rules(name: &str, table: &ast::CreateTable) -> Result<(Vec<ast::ColumnDef>, TableRules)> {
    let mut rules = TableRules::default();
    let mut columns = table.columns.clone();
    for column in &mut columns {
        read_column(name, column, &mut rules)?;
    }
    for constraint in &table.constraints {
        read_constraint(name, constraint, &mut rules)?;
    }
    if let Some(key) = &table.primary_key {
        return Err(Error::unsupported(format!("PRIMARY KEY {key} behind the columns")));
    }
    Ok((columns, rules))
}

/// Takes rules out of the options of a column.
pub(crate) fn read_column(table: &str, column: &mut ast::ColumnDef, rules: &mut TableRules) -> Result<()> {
    let own = plain(&column.name);
    let mut kept = Vec::new();
    for definition in std::mem::take(&mut column.options) {
        let given = definition.name.as_ref().map(plain);
        match &definition.option {
            ColumnOption::Null | ColumnOption::NotNull => kept.push(definition),
            ColumnOption::Default(value) => rules.defaults.push((own.clone(), value.to_string())),
            ColumnOption::PrimaryKey(_) => rules.add_key(table, given, vec![own.clone()], true),
            ColumnOption::Unique(_) => rules.add_key(table, given, vec![own.clone()], false),
            ColumnOption::Check(check) => {
                rules.add_check(table, given.or_else(|| check.name.as_ref().map(plain)), &check.expr);
            }
            ColumnOption::ForeignKey(key) => rules.add_reference(table, given, vec![own.clone()], key)?,
            other => return Err(Error::unsupported(format!("{other} of column {own}"))),
        }
    }
    column.options = kept;
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
        let parent = object_name(&key.foreign_table)?;
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
