//! UNNEST: turns lists into rows.

use godwit_common::Result;
use godwit_expression::Expression;
use godwit_plan::{ColumnId, Unnest};
use godwit_vector::RowType;
use godwit_vector::sql::column_type;

use super::stream::Stream;
use super::{Needs, PhysicalPlanner, columns_of};
use crate::operators::{UnnestColumn, UnnestTransform};

impl PhysicalPlanner<'_> {
    pub(super) fn plan_unnest(&mut self, unnest: &Unnest, needs: Needs) -> Result<Stream> {
        let mut passed = needs.columns.clone();
        unnest.lists.iter().map(|list| list.column).chain(unnest.ordinality).for_each(|made| passed.remove(made));
        let filters = needs.filters_on(&passed);
        let below = passed.union(&columns_of(unnest.lists.iter().map(|list| &list.list)));
        let mut stream = self.plan_node(unnest.input, Needs::new(below, filters))?;

        // The number of rows depends on every list, used or not.
        let lists = self.compile_all(unnest.lists.iter().map(|list| &list.list), &mut stream)?;
        let kept = stream.positions(&passed);
        let mut columns: Vec<ColumnId> = kept.iter().map(|&at| stream.columns[at]).collect();
        let expressions: Vec<Expression> = kept.iter().map(|&at| stream.column(at)).chain(lists).collect();
        columns.extend(unnest.lists.iter().map(|list| list.column));
        stream.project(columns.clone(), expressions);

        let mut made: Vec<UnnestColumn> = (0..kept.len()).map(UnnestColumn::Repeat).collect();
        made.extend((kept.len()..columns.len()).map(UnnestColumn::Elements));
        let mut row_type: RowType = stream.row_type[..kept.len()].to_vec();
        for list in &unnest.lists {
            row_type.push(column_type(&self.plan.column(list.column).ty, true)?);
        }
        if let Some(ordinality) = unnest.ordinality.filter(|&column| needs.columns.contains(column)) {
            made.push(UnnestColumn::Position);
            columns.push(ordinality);
            row_type.push(column_type(&self.plan.column(ordinality).ty, unnest.outer)?);
        }
        let name = format!("Unnest {}", self.show(unnest.lists.iter().map(|list| &list.list), ", "));
        stream.transform(UnnestTransform::new(made, unnest.outer, name));
        (stream.columns, stream.row_type) = (columns, row_type);
        Ok(stream)
    }
}
