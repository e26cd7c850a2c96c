//! UNNEST: lists to rows, structs to columns.

use std::collections::BTreeSet;

use datafusion_expr::logical_plan::Unnest;
use godwit_common::{Error, Result};
use godwit_vector::{ColumnType, RowType};

use super::stream::Stream;
use super::{Needs, PhysicalPlanner};
use crate::explain::ExplainNode;
use crate::operators::{UnnestColumn, UnnestTransform};

impl PhysicalPlanner<'_> {
    pub(super) fn plan_unnest(&mut self, unnest: &Unnest, needs: Needs) -> Result<Stream> {
        let columns = columns_of(unnest)?;
        // The number of rows depends on every list, used or not.
        let is_list = |&index: &usize| matches!(columns[index], UnnestColumn::Elements(_));
        let mut wanted = needs.columns.clone();
        wanted.extend((0..columns.len()).filter(is_list));
        let origin: Vec<usize> = wanted.into_iter().collect();
        let inputs: BTreeSet<usize> = origin.iter().map(|&index| columns[index].input()).collect();
        let filters = needs.filters_below(|index| match columns[index] {
            UnnestColumn::Repeat(column) => Some(column),
            _ => None,
        });
        let mut stream = self.plan(&unnest.input, Needs::new(inputs, filters))?;
        let position = |column| stream.position(column).expect("needed columns are there");
        let row_type = origin.iter().map(|&index| match columns[index] {
            UnnestColumn::Repeat(column) => Ok(stream.row_type[position(column)].clone()),
            _ => ColumnType::new(unnest.schema.field(index).data_type().clone(), true),
        });
        let row_type = row_type.collect::<Result<RowType>>()?;
        let present = origin.iter().map(|&index| match columns[index] {
            UnnestColumn::Repeat(column) => UnnestColumn::Repeat(position(column)),
            UnnestColumn::Elements(column) => UnnestColumn::Elements(position(column)),
            UnnestColumn::Field(column, field) => UnnestColumn::Field(position(column), field),
        });
        let transform = UnnestTransform::new(present.collect(), unnest.options.preserve_nulls(), name_of(unnest));
        stream.explain_above(ExplainNode::of_transform(&transform));
        stream.transform(transform);
        stream.describe(&unnest.schema, origin, row_type)?;
        Ok(stream)
    }
}

/// What each output column is made of.
fn columns_of(unnest: &Unnest) -> Result<Vec<UnnestColumn>> {
    let mut fields_before = vec![0; unnest.input.schema().fields().len()];
    let column_of = |(index, &input): (usize, &usize)| {
        if unnest.struct_type_columns.contains(&input) {
            fields_before[input] += 1;
            return Ok(UnnestColumn::Field(input, fields_before[input] - 1));
        }
        let name = unnest.schema.field(index).name();
        let list =
            unnest.list_type_columns.iter().find(|(column, list)| *column == input && list.output_column.name == *name);
        match list {
            Some((_, list)) if list.depth > 1 => Err(Error::unsupported("UNNEST of an UNNEST").with_hint(
                "unnest the inner lists in an outer query: SELECT unnest(x) FROM (SELECT unnest(...) AS x)",
            )),
            Some(_) => Ok(UnnestColumn::Elements(input)),
            None => Ok(UnnestColumn::Repeat(input)),
        }
    };
    unnest.dependency_indices.iter().enumerate().map(column_of).collect()
}

fn name_of(unnest: &Unnest) -> String {
    let names = unnest.exec_columns.iter().map(|column| column.name.as_str());
    format!("Unnest {}", names.collect::<Vec<_>>().join(", "))
}
