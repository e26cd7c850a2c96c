//! VALUES and UNION with floats and decimals in one column: the float's type wins, as in expressions.
//!
//! The planner crates make the column a decimal, which can't hold every float. Here the other rows become DOUBLE before
//! types are settled.

use std::sync::Arc;

use arrow_schema::DataType;
use datafusion_common::Result;
use datafusion_expr::logical_plan::{Union, Values};
use datafusion_expr::{Cast, Expr, ExprSchemable, LogicalPlan, LogicalPlanBuilder, cast};

/// Rewrites the node if it is VALUES or a UNION with such columns.
pub(super) fn unify(plan: LogicalPlan) -> Result<LogicalPlan> {
    match plan {
        LogicalPlan::Values(values) => unify_values(values),
        LogicalPlan::Union(union) => unify_union(union),
        other => Ok(other),
    }
}

/// True if there are floats and decimals among the types.
fn are_mixed(types: &[DataType]) -> bool {
    types.iter().any(DataType::is_floating) && types.iter().any(DataType::is_decimal)
}

fn unify_values(mut values: Values) -> Result<LogicalPlan> {
    let mut is_changed = false;
    for column in 0..values.schema.fields().len() {
        // The binder cast all rows to a common type already.
        let written = |expr: &Expr| match expr {
            Expr::Cast(Cast { expr, .. }) => expr.as_ref().clone(),
            other => other.clone(),
        };
        let rows: Vec<Expr> = values.values.iter().map(|row| written(&row[column])).collect();
        let types = rows.iter().map(|expr| expr.get_type(&values.schema)).collect::<Result<Vec<_>>>()?;
        let is_decimal = values.schema.field(column).data_type().is_decimal();
        if is_decimal && are_mixed(&types) {
            is_changed = true;
            for (row, expr) in values.values.iter_mut().zip(rows) {
                row[column] = cast(expr, DataType::Float64);
            }
        }
    }
    if is_changed { LogicalPlanBuilder::values(values.values)?.build() } else { Ok(LogicalPlan::Values(values)) }
}

fn unify_union(union: Union) -> Result<LogicalPlan> {
    let types = |column: usize| -> Vec<DataType> {
        union.inputs.iter().map(|input| input.schema().field(column).data_type().clone()).collect()
    };
    let mixed: Vec<bool> = (0..union.schema.fields().len()).map(|column| are_mixed(&types(column))).collect();
    let same_width = union.inputs.iter().all(|input| input.schema().fields().len() == mixed.len());
    if !same_width || !mixed.contains(&true) {
        return Ok(LogicalPlan::Union(union));
    }
    let inputs = union.inputs.into_iter().map(|input| {
        let columns = input.schema().iter().map(|(table, field)| Expr::from((table, field)));
        let exprs: Vec<Expr> = columns
            .zip(&mixed)
            .zip(input.schema().iter())
            .map(|((column, mixed), (table, field))| match mixed {
                true => cast(column, DataType::Float64).alias_qualified(table.cloned(), field.name()),
                false => column,
            })
            .collect();
        LogicalPlanBuilder::new_from_arc(Arc::clone(&input)).project(exprs)?.build().map(Arc::new)
    });
    Ok(LogicalPlan::Union(Union::try_new_with_loose_types(inputs.collect::<Result<_>>()?)?))
}
