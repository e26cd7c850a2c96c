//! Statements that store values of a query: `SET VARIABLE`, `CREATE TYPE … AS ENUM (query)`.

use std::collections::HashSet;
use std::mem::size_of;
use std::sync::Arc;

use arrow_array::ArrayRef;
use godwit_catalog::{Comments, ObjectName, TypeDefinition, literal_text, type_key};
use godwit_common::{Error, Result, SqlState, format_bytes};
use godwit_plan::Plan;
use godwit_sql::{Planner, ReadRows};
use godwit_types::{SqlType, Value, format_value};
use godwit_vector::sql::value_at;

use crate::commands::catalog_has;
use crate::connection::Inner;
use crate::execution::result_schema;
use crate::prepared::ParameterValues;
use crate::result::QueryResult;
use crate::transactions::Scope;

/// Limits on variables: their number per connection, and the bytes of a value, since each plan that uses it has a copy.
const VARIABLES_MAX: usize = 1_000;
const VARIABLE_BYTES_MAX: usize = 1 << 20;

/// Maximum number of labels of an ENUM: each statement that uses it reads them.
const LABELS_MAX: usize = 65_535;

impl Inner {
    /// Runs `SET VARIABLE`.
    pub(crate) fn set_variable(&self, sql: &str, name: String, plan: &Plan) -> Result<QueryResult> {
        let mut variable = None;
        let ty = plan.column(plan.output[0].column).ty.clone();
        self.for_each_value(sql, plan, &mut |value| {
            if bytes_of(&value) > VARIABLE_BYTES_MAX {
                let limit = format_bytes(VARIABLE_BYTES_MAX as u64);
                return Err(Error::user(format!("the value of {name} is larger than {limit}"))
                    .with_hint("keep it in a table: CREATE TEMP TABLE"));
            }
            variable = Some(value);
            Ok(())
        })?;
        let value = variable.ok_or_else(|| Error::internal("the value of a variable has no row"))?;
        let known = self.session().own().values.variables;
        if known.len() >= VARIABLES_MAX && !known.contains_key(&name) {
            return Err(Error::user(format!("the connection has {VARIABLES_MAX} variables, and may have no more"))
                .with_hint("RESET VARIABLE those that aren't needed"));
        }
        self.session().change(|own| {
            Arc::make_mut(&mut own.values.variables).insert(name, (value, ty));
        });
        Ok(QueryResult::empty())
    }

    /// Runs `RESET VARIABLE`; a variable that isn't set stays unset.
    pub(crate) fn reset_variable(&self, name: &str) -> QueryResult {
        self.session().change(|own| {
            if own.values.variables.contains_key(name) {
                Arc::make_mut(&mut own.values.variables).remove(name);
            }
        });
        QueryResult::empty()
    }

    /// Runs `CREATE TYPE … AS ENUM (query)`: the labels are the distinct values of the query, in the order in which it
    /// delivers them.
    pub(crate) fn create_enum(
        self: &Arc<Self>,
        sql: &str,
        name: &ObjectName,
        labels: &Plan,
        or_replace: bool,
        if_not_exists: bool,
        planner: &Planner,
        scope: Scope,
    ) -> Result<QueryResult> {
        if if_not_exists && catalog_has(planner, &name.database, &type_key(&name.name)) {
            return Ok(QueryResult::empty());
        }
        let labels = self.labels(sql, labels)?;
        let list = labels.iter().map(|label| literal_text(label)).collect::<Vec<_>>().join(", ");
        let (sql, comments) = (format!("ENUM({list})"), Comments::default());
        let definition = Arc::new(TypeDefinition { name: name.name.clone(), sql, comments });
        self.define(scope, |scope| scope.transaction_of(&name.database)?.create_type(definition, or_replace))
    }

    fn labels(&self, sql: &str, plan: &Plan) -> Result<Vec<Arc<str>>> {
        let ty = &plan.column(plan.output[0].column).ty;
        let (mut labels, mut known) = (Vec::new(), HashSet::new());
        self.for_each_value(sql, plan, &mut |value| {
            let label: Arc<str> = match value {
                Value::Null => {
                    return Err(
                        Error::user("a label of an ENUM can't be NULL").with_hint("leave it out: WHERE … IS NOT NULL")
                    );
                }
                Value::Text(text) => text,
                value => format_value(&value, ty).into(),
            };
            if known.insert(label.clone()) {
                labels.push(label);
            }
            match labels.len() > LABELS_MAX {
                true => Err(Error::user(format!("an ENUM has {LABELS_MAX} labels at most"))
                    .with_code(SqlState::INVALID_PARAMETER_VALUE)
                    .with_hint("VARCHAR columns of few values are stored as compactly")),
                false => Ok(()),
            }
        })?;
        match labels.is_empty() {
            true => Err(Error::user("an ENUM has one label at least, the query has no row")
                .with_code(SqlState::INVALID_PARAMETER_VALUE)),
            false => Ok(labels),
        }
    }

    /// Returns a function that reads rows while a statement is planned, as part of that statement.
    pub(crate) fn row_reader(self: &Arc<Self>, sql: &str, values: &ParameterValues) -> ReadRows {
        let (connection, sql, values) = (self.clone(), sql.to_owned(), values.clone());
        Arc::new(move |plan, rows_max| {
            let (mut distinct, mut known) = (Vec::new(), HashSet::new());
            let (batches, _) =
                connection.start(&sql, plan, &values, result_schema(plan)?, false, |_, rows| Ok(rows))?;
            for batch in batches {
                let batch = batch?;
                for row in 0..batch.num_rows() {
                    let text = |(at, column): (usize, &ArrayRef)| {
                        let ty = &plan.column(plan.output[at].column).ty;
                        let value = value_at(column, row, ty)?;
                        Ok((!value.is_null()).then(|| format_value(&value, ty)))
                    };
                    let row = batch.columns().iter().enumerate().map(text).collect::<Result<Vec<_>>>()?;
                    if known.insert(row.clone()) {
                        distinct.push(row);
                    }
                }
                if distinct.len() > rows_max {
                    return Err(Error::user(format!("a query gives PIVOT more than {rows_max} values"))
                        .with_code(SqlState::STATEMENT_TOO_COMPLEX));
                }
            }
            Ok(distinct)
        })
    }

    /// Runs a query of one column and visits its values.
    fn for_each_value(&self, sql: &str, plan: &Plan, visit: &mut dyn FnMut(Value) -> Result<()>) -> Result<()> {
        let ty: &SqlType = &plan.column(plan.output[0].column).ty;
        let values = ParameterValues::default();
        let (rows, _) = self.start(sql, plan, &values, result_schema(plan)?, false, |_, rows| Ok(rows))?;
        for batch in rows {
            let batch = batch?;
            for row in 0..batch.num_rows() {
                visit(value_at(batch.column(0), row, ty)?)?;
            }
        }
        Ok(())
    }
}

/// Returns the approximate size of a value.
fn bytes_of(value: &Value) -> usize {
    let parts: usize = match value {
        Value::Text(text) => text.len(),
        Value::Blob(bytes) => bytes.len(),
        Value::List(values) | Value::Struct(values) => values.iter().map(bytes_of).sum(),
        Value::Map(entries) => entries.iter().map(|(key, value)| bytes_of(key) + bytes_of(value)).sum(),
        _ => 0,
    };
    size_of::<Value>() + parts
}
