//! `DESCRIBE`, `SUMMARIZE` and other statements that are queries made by us.

use arrow_schema::{DataType, Field, Schema};
use datafusion_common::{Column, DFSchema, Result};
use datafusion_expr::{Expr, LogicalPlan, LogicalPlanBuilder, Values, cast, lit};
use datafusion_functions_aggregate::expr_fn::{count, count_distinct, max, min};
use std::sync::Arc;

/// Literal rows of text columns with these names; without rows, no rows.
pub(crate) fn values(rows: Vec<Vec<Expr>>, names: &[&str]) -> Result<LogicalPlan> {
    let fields: Vec<Field> = names.iter().map(|name| Field::new(*name, DataType::Utf8View, true)).collect();
    let schema = DFSchema::try_from(Schema::new(fields))?;
    if rows.is_empty() {
        return Ok(LogicalPlan::EmptyRelation(datafusion_expr::EmptyRelation {
            produce_one_row: false,
            schema: Arc::new(schema),
        }));
    }
    // The builder of the planner crates would name the columns column1, column2, ...
    let values = rows.into_iter().map(|row| row.into_iter().map(|value| cast(value, DataType::Utf8View)).collect());
    Ok(LogicalPlan::Values(Values { schema: Arc::new(schema), values: values.collect() }))
}

/// The columns of a query: name, type, and whether NULL can occur.
pub(crate) fn describe(plan: &LogicalPlan, column_names: &[String]) -> Result<LogicalPlan> {
    let rows = plan.schema().fields().iter().zip(column_names).map(|(field, name)| {
        let null = if field.is_nullable() { "YES" } else { "NO" };
        vec![lit(name.as_str()), lit(sql_name(field.data_type())), lit(null)]
    });
    values(rows.collect(), &["column_name", "column_type", "null"])
}

/// One row per column of a query: extremes, distinct values, rows, NULLs. Reads each column once.
pub(crate) fn summarize(plan: LogicalPlan, column_names: &[String]) -> Result<LogicalPlan> {
    let plan = Arc::new(plan);
    let text = |expr: Expr| cast(expr, DataType::Utf8View);
    let mut summary: Option<LogicalPlanBuilder> = None;
    for (position, ((qualifier, field), column_name)) in (0_i64..).zip(plan.schema().iter().zip(column_names)) {
        let column = || Expr::Column(Column::from((qualifier, field)));
        let aggregates = vec![
            min(column()).alias("lowest"),
            max(column()).alias("highest"),
            count_distinct(column()).alias("distinct_values"),
            count(lit(1_i64)).alias("all_rows"),
            count(column()).alias("valid_rows"),
        ];
        let name = |name: &str| Expr::Column(Column::new_unqualified(name));
        let row = LogicalPlanBuilder::new_from_arc(Arc::clone(&plan))
            .aggregate(Vec::<Expr>::new(), aggregates)?
            .project([
                cast(lit(column_name.as_str()), DataType::Utf8View).alias("column_name"),
                cast(lit(sql_name(field.data_type())), DataType::Utf8View).alias("column_type"),
                text(name("lowest")).alias("min"),
                text(name("highest")).alias("max"),
                name("distinct_values").alias("unique_count"),
                name("all_rows").alias("count"),
                (name("all_rows") - name("valid_rows")).alias("null_count"),
                lit(position).alias("position"),
            ])?;
        summary = Some(match summary {
            Some(above) => above.union(row.build()?)?,
            None => row,
        });
    }
    match summary {
        Some(summary) => {
            // The rows of a union come in any order.
            let shown = summary.schema().columns().into_iter().filter(|column| column.name != "position");
            let shown: Vec<Expr> = shown.map(Expr::Column).collect();
            let position = Expr::Column(Column::new_unqualified("position"));
            summary.sort([position.sort(true, false)])?.project(shown)?.build()
        }
        None => values(Vec::new(), &["column_name"]),
    }
}

/// A type as SQL spells it.
pub fn sql_name(data_type: &DataType) -> String {
    match data_type {
        DataType::Null => "NULL".to_owned(),
        DataType::Boolean => "BOOLEAN".to_owned(),
        DataType::Int8 => "TINYINT".to_owned(),
        DataType::Int16 => "SMALLINT".to_owned(),
        DataType::Int32 => "INTEGER".to_owned(),
        DataType::Int64 => "BIGINT".to_owned(),
        DataType::UInt8 => "UTINYINT".to_owned(),
        DataType::UInt16 => "USMALLINT".to_owned(),
        DataType::UInt32 => "UINTEGER".to_owned(),
        DataType::UInt64 => "UBIGINT".to_owned(),
        DataType::Float16 | DataType::Float32 => "REAL".to_owned(),
        DataType::Float64 => "DOUBLE".to_owned(),
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => "VARCHAR".to_owned(),
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_) => {
            "BLOB".to_owned()
        }
        DataType::Date32 | DataType::Date64 => "DATE".to_owned(),
        DataType::Time32(_) | DataType::Time64(_) => "TIME".to_owned(),
        DataType::Timestamp(_, None) => "TIMESTAMP".to_owned(),
        DataType::Timestamp(_, Some(_)) => "TIMESTAMP WITH TIME ZONE".to_owned(),
        DataType::Interval(_) | DataType::Duration(_) => "INTERVAL".to_owned(),
        DataType::Decimal32(precision, scale)
        | DataType::Decimal64(precision, scale)
        | DataType::Decimal128(precision, scale)
        | DataType::Decimal256(precision, scale) => format!("DECIMAL({precision},{scale})"),
        DataType::List(field) | DataType::LargeList(field) | DataType::FixedSizeList(field, _) => {
            format!("{}[]", sql_name(field.data_type()))
        }
        DataType::Struct(fields) => {
            let fields: Vec<String> =
                fields.iter().map(|field| format!("{} {}", field.name(), sql_name(field.data_type()))).collect();
            format!("STRUCT({})", fields.join(", "))
        }
        other => other.to_string(),
    }
}
