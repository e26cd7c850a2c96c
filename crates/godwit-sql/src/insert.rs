//! Tables that are made and filled: `CREATE TABLE`, `INSERT`.

use std::collections::HashSet;
use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema, SchemaRef};
use datafusion_common::{Column, ExprSchema, ScalarValue};
use datafusion_expr::{Expr, LogicalPlan, LogicalPlanBuilder, cast};
use datafusion_sql::sqlparser::ast;
use godwit_common::{Error, Result};

use crate::names::nearest;
use crate::parse::{Syntax, desugar, object_name};
use crate::table::as_view_type;

/// The syntax of an INSERT statement.
pub(crate) fn syntax(insert: ast::Insert) -> Result<Syntax> {
    let ast::TableObject::TableName(name) = &insert.table else {
        return Err(Error::unsupported("INSERT into something else than a table"));
    };
    let has_more = insert.or.is_some()
        || insert.on.is_some()
        || insert.returning.is_some()
        || insert.overwrite
        || insert.replace_into
        || !insert.assignments.is_empty()
        || insert.partitioned.is_some();
    if has_more {
        return Err(Error::unsupported("INSERT with ON CONFLICT, RETURNING, OR, OVERWRITE or PARTITION"));
    }
    let table = object_name(name)?;
    let columns = insert.columns.iter().map(object_name).collect::<Result<_>>()?;
    let Some(mut source) = insert.source else {
        return Err(Error::unsupported("INSERT without rows").with_hint("use VALUES or a query"));
    };
    desugar(&mut source)?;
    Ok(Syntax::Insert { table, columns, source })
}

/// An error for what tables can't do.
pub(crate) fn check_create_table(table: &ast::CreateTable) -> Result<()> {
    if table.temporary {
        return Err(Error::unsupported("temporary tables").with_hint("use CREATE TABLE in a database in memory"));
    }
    if !table.constraints.is_empty() || table.primary_key.is_some() {
        return Err(Error::unsupported("constraints of tables other than NOT NULL"));
    }
    if table.like.is_some() || table.clone.is_some() || table.partition_by.is_some() {
        return Err(Error::unsupported("CREATE TABLE with LIKE, CLONE or PARTITION BY"));
    }
    for column in &table.columns {
        for option in &column.options {
            if !matches!(option.option, ast::ColumnOption::Null | ast::ColumnOption::NotNull) {
                let message = format!("{} of column {}", option.option, column.name);
                return Err(Error::unsupported(message).with_hint("columns may be NOT NULL"));
            }
        }
    }
    Ok(())
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

/// The rows of `source` as rows of a table: cast to its types, NULL for columns that `columns` doesn't name.
pub(crate) fn as_rows_of(
    table: &str,
    schema: &SchemaRef,
    columns: &[String],
    source: LogicalPlan,
) -> Result<datafusion_common::Result<LogicalPlan>> {
    let given = source.schema().columns();
    let named = if columns.is_empty() { schema.fields().len() } else { columns.len() };
    if given.len() != named {
        return Err(Error::user(format!("{table} gets {} columns, the rows have {}", named, given.len()))
            .with_hint("name the columns: INSERT INTO t (a, b) ..."));
    }
    let mut sources: Vec<Option<&Column>> = vec![None; schema.fields().len()];
    for (at, column) in given.iter().enumerate() {
        let target = match columns.get(at) {
            None => at,
            Some(name) => {
                schema.fields().iter().position(|field| field.name().eq_ignore_ascii_case(name)).ok_or_else(|| {
                    let error = Error::user(format!("{table} has no column {name}"));
                    match nearest(name, schema.fields().iter().map(|field| field.name().as_str())) {
                        Some(near) => error.with_hint(format!("did you mean {near}?")),
                        None => error,
                    }
                })?
            }
        };
        if sources[target].replace(column).is_some() {
            return Err(Error::user(format!("column {} is named twice", schema.field(target).name())));
        }
    }
    let expressions = schema.fields().iter().zip(sources).map(|(field, source_column)| {
        let value = match source_column {
            None => Expr::Literal(ScalarValue::Null, None),
            Some(column) => Expr::Column(column.clone()),
        };
        let is_same = source_column
            .and_then(|column| source.schema().field_from_column(column).ok())
            .is_some_and(|given| given.data_type() == field.data_type());
        let value = if is_same { value } else { cast(value, field.data_type().clone()) };
        value.alias(field.name())
    });
    let expressions: Vec<Expr> = expressions.collect();
    Ok(LogicalPlanBuilder::from(source).project(expressions).and_then(LogicalPlanBuilder::build))
}
