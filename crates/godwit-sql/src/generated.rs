//! Generated columns, whose values are computed from the other columns of the row.
//!
//! The kinds are documented at [`GeneratedKind`]; this module determines their types.

use std::collections::HashMap;

use arrow_schema::Field;
use godwit_bind::{Binder, ColumnOf};
use godwit_catalog::stored::{self, with_values};
use godwit_catalog::{GeneratedColumn, GeneratedKind, TableRules};
use godwit_common::{Error, Result, SqlState};
use godwit_syntax::ast;
use godwit_types::SqlType;
use godwit_vector::sql::field_of;

use crate::Planner;
use crate::create_table::{NewColumns, columns_of};
use crate::write::Target;

/// A generated column as a statement defines it.
pub(crate) struct GeneratedDefinition {
    pub name: String,
    pub expr: ast::Expr,
    pub kind: GeneratedKind,
}

impl Planner {
    /// Returns the stored columns of a new table. Generated columns become rules, with their types, and with virtual
    /// columns replaced by their expressions.
    pub(crate) fn typed_columns(&self, new: &mut NewColumns) -> Result<Vec<Field>> {
        let known = virtual_values(&new.rules, &new.generated);
        let field = |column: &crate::create_table::NewColumn| match &column.ty {
            Some(ty) => column.field(ty).map(Some),
            None => Ok(None),
        };
        let mut fields = new.columns.iter().map(field).collect::<Result<Vec<Option<Field>>>>()?;
        for (position, column) in new.columns.iter().enumerate() {
            let definition = new.generated.iter().find(|definition| definition.name == column.name);
            let Some(definition) = definition else { continue };
            let others = new.columns.iter().zip(&fields);
            let others = others
                .filter(|(other, _)| !known.contains_key(&other.name.to_lowercase()) && other.name != column.name);
            let others: Vec<Field> = others.filter_map(|(_, field)| field.clone()).collect();
            let expression = with_values(&definition.expr.to_string(), &known)?;
            let inferred = self.type_of(definition, &expression, &columns_of(&others)?, column.ty.as_ref())?;
            let inferred = field_of(&column.name, &inferred, true)?;
            let field = fields[position].get_or_insert(inferred).clone();
            new.rules.generated.push(GeneratedColumn { field, position, expression, kind: definition.kind });
        }
        let stored =
            new.columns.iter().zip(fields).filter(|(column, _)| !known.contains_key(&column.name.to_lowercase()));
        let stored = stored
            .map(|(column, field)| field.ok_or_else(|| Error::user(format!("the column {} has no type", column.name))));
        stored.collect()
    }

    /// Returns the column to add to a table; `None` if it is computed.
    pub(crate) fn typed_addition(&self, target: &Target, new: &mut NewColumns) -> Result<Option<Field>> {
        let [column] = &new.columns[..] else { return Err(Error::internal("one column is added at a time")) };
        let Some(definition) = new.generated.first() else {
            let ty = column.ty.as_ref();
            let ty = ty.ok_or_else(|| Error::user(format!("the column {} has no type", column.name)))?;
            return column.field(ty).map(Some);
        };
        let expression = with_values(&definition.expr.to_string(), &virtual_values(&new.rules, &new.generated))?;
        let others: Vec<Field> = target.schema().fields().iter().map(|field| field.as_ref().clone()).collect();
        let inferred = self.type_of(definition, &expression, &columns_of(&others)?, column.ty.as_ref())?;
        let field = column.field(column.ty.as_ref().unwrap_or(&inferred))?;
        let position = new.rules.visible(target.schema()).len();
        let kind = definition.kind;
        new.rules.generated.push(GeneratedColumn { field: field.clone(), position, expression, kind });
        Ok((kind != GeneratedKind::Virtual).then_some(field))
    }

    /// Returns the type of a generated column; fails if its values can't have the required type.
    fn type_of(
        &self,
        definition: &GeneratedDefinition,
        expression: &str,
        columns: &[ColumnOf],
        wanted: Option<&SqlType>,
    ) -> Result<SqlType> {
        let mut binder = Binder::new(self.statement_names());
        // Positions are those of the statement as long as no name was replaced.
        let is_as_written = expression == definition.expr.to_string();
        let tree = if is_as_written { definition.expr.clone() } else { stored::expression(expression)? };
        let bound = binder.value_over("generated", columns, &tree);
        let bound = bound.map_err(|error| error.at_span(definition.expr.span))?;
        if bound.is_volatile() || bound.has_subquery() {
            let message = format!("{} can't be generated: it isn't the same for the same row", definition.expr);
            let error = Error::user(message).with_code(SqlState::INVALID_DEFINITION);
            return Err(error.at_span(definition.expr.span));
        }
        match wanted {
            Some(wanted) => Ok(binder.assigned_to(wanted, bound)?.ty),
            None => Ok(binder.with_type(bound).ty),
        }
    }
}

/// Returns the expressions of virtual columns, by name.
fn virtual_values(rules: &TableRules, definitions: &[GeneratedDefinition]) -> HashMap<String, String> {
    let is_virtual = |kind: GeneratedKind| kind == GeneratedKind::Virtual;
    let known = rules.generated.iter().filter(|column| is_virtual(column.kind));
    let known = known.map(|column| (column.field.name().to_lowercase(), column.expression.clone()));
    let new = definitions.iter().filter(|definition| is_virtual(definition.kind));
    known.chain(new.map(|definition| (definition.name.to_lowercase(), definition.expr.to_string()))).collect()
}
