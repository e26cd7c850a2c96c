//! UNION ALL: the branches of all inputs. Other set operations were lowered.

use godwit_common::{Error, Result};
use godwit_plan::{ColumnId, SetOperation, SetOperator};

use super::stored::common_row_type;
use super::stream::Stream;
use super::{Needs, PhysicalPlanner};
use crate::explain::ExplainNode;

impl PhysicalPlanner<'_> {
    pub(super) fn plan_union(&mut self, operation: &SetOperation, needs: Needs) -> Result<Stream> {
        if operation.operator != SetOperator::Union || !operation.all {
            return Err(Error::internal("a set operation that was not lowered"));
        }
        let at_of = |column: ColumnId| operation.columns.iter().position(|&own| own == column);
        let wanted: Vec<usize> =
            (0..operation.columns.len()).filter(|&at| needs.columns.contains(operation.columns[at])).collect();
        let mut streams = Vec::with_capacity(operation.inputs.len());
        for (input, columns) in &operation.inputs {
            let inner: Vec<ColumnId> = wanted.iter().map(|&at| columns[at]).collect();
            let filters = needs.filters_below(|column| at_of(column).map(|at| columns[at]));
            let below =
                Needs { rows_enough: needs.rows_enough, ..Needs::new(inner.iter().copied().collect(), filters) };
            let mut stream = self.plan_node(*input, below)?;
            let values = stream.positions_of(&inner)?.into_iter().map(|at| stream.column(at)).collect();
            stream.project(inner, values);
            streams.push(stream);
        }
        Ok(Stream::union(wanted.iter().map(|&at| operation.columns[at]).collect(), streams))
    }
}

impl Stream {
    /// The rows of several streams, under these columns.
    pub(super) fn union(columns: Vec<ColumnId>, streams: Vec<Stream>) -> Stream {
        let types: Vec<_> = streams.iter().map(|stream| stream.row_type.clone()).collect();
        let row_type = common_row_type(&types);
        let mut explain = ExplainNode::named("Union");
        let mut branches = Vec::new();
        for mut stream in streams {
            let values = (0..row_type.len()).map(|at| stream.column(at).with_physical(row_type[at].physical)).collect();
            stream.project(columns.clone(), values);
            let offset = branches.len();
            branches.extend(stream.branches.into_iter().map(|mut branch| {
                branch.follows.iter_mut().for_each(|earlier| *earlier += offset);
                branch
            }));
            explain.children.push(stream.explain);
        }
        Stream { columns, row_type, branches, explain }
    }
}
