//! GROUP BY, DISTINCT, aggregates without groups, grouping sets.

use std::collections::BTreeSet;

use datafusion_common::DFSchema;
use datafusion_expr::expr::GroupingSet;
use datafusion_expr::logical_plan::{Aggregate, Distinct};
use datafusion_expr::utils::{enumerate_grouping_sets, grouping_set_to_exprlist};
use datafusion_expr::{Expr, LogicalPlan};
use godwit_common::{Error, Result};

use super::compress::{CompressedColumns, codes_note};
use super::stream::{Branch, Stream};
use super::{Needs, PhysicalPlanner, columns_of_all, passed_column, planning_error};
use crate::explain::ExplainNode;
use crate::hash_aggregate::{AggregateCompiler, HashAggregate, HashAggregateSpec, KeySet};

impl PhysicalPlanner<'_> {
    pub(super) fn plan_aggregate(&mut self, aggregate: &Aggregate, needs: Needs) -> Result<Stream> {
        let input_schema = aggregate.input.schema();
        let GroupKeys { keys: groups, sets: grouping_sets } = GroupKeys::of(&aggregate.group_expr)?;
        let columns = columns_of_all(groups.iter().chain(&aggregate.aggr_expr), input_schema)?;
        // Dropping all rows of a group drops the group, if every row belongs to just one.
        let filters = match grouping_sets {
            None => needs.filters_below(|index| passed_column(groups.get(index)?, input_schema)),
            Some(_) => Vec::new(),
        };
        let mut stream = self.plan(&aggregate.input, Needs::new(columns, filters))?;
        let grouping_sets = grouping_sets.map(|sets| self.key_sets(aggregate, &groups, sets));
        let estimated_groups = match &grouping_sets {
            None => self.estimates.of(&LogicalPlan::Aggregate(aggregate.clone())).rows as u64,
            Some(sets) => sets.iter().map(|set| set.estimated_groups).sum(),
        };
        let mut spec = {
            let mut compiler = AggregateCompiler::new(&stream.schema, &stream.row_type, &self.context);
            HashAggregateSpec {
                groups: groups.iter().map(|group| compiler.expression(group)).collect::<Result<_>>()?,
                grouping_sets,
                aggregates: aggregate.aggr_expr.iter().map(|call| compiler.aggregate(call)).collect::<Result<_>>()?,
                estimated_groups: Some(estimated_groups),
                groups_enough: needs.rows_enough,
            }
        };
        self.run_subqueries_before(&mut stream)?;
        let by: Vec<String> = groups.iter().map(|group| group.to_string()).collect();
        let name = if by.is_empty() { "Aggregate".to_owned() } else { format!("HashAggregate by {}", by.join(", ")) };
        let exprs = groups.iter().chain(&aggregate.aggr_expr);
        let compressed = self.compress_aggregate(&aggregate.input, exprs, &mut spec)?;
        let name = name + codes_note(&compressed);
        self.aggregate_stream(stream, spec, &aggregate.schema, name, &compressed)
    }

    /// Grouping sets of `groups`, with the groups that are expected of each.
    fn key_sets(&self, aggregate: &Aggregate, groups: &[Expr], sets: Vec<Vec<usize>>) -> Vec<KeySet> {
        let with_estimate = |keys: Vec<usize>| {
            let exprs = keys.iter().map(|&key| &groups[key]);
            let estimated_groups = self.estimates.groups(&aggregate.input, exprs) as u64;
            KeySet { keys, estimated_groups }
        };
        sets.into_iter().map(with_estimate).collect()
    }

    pub(super) fn plan_distinct(&mut self, distinct: &Distinct, needs: Needs) -> Result<Stream> {
        let Distinct::All(input) = distinct else {
            return Err(Error::unsupported("DISTINCT ON").with_hint("use GROUP BY with first_value(... ORDER BY ...)"));
        };
        let width = input.schema().fields().len();
        let all: BTreeSet<usize> = (0..width).collect();
        let mut stream = self.plan(input, Needs::new(all, needs.filters))?;
        let columns: Vec<Expr> = input.schema().columns().into_iter().map(Expr::Column).collect();
        let groups = self.compile_all(&columns, &mut stream)?;
        let estimated_groups = Some(self.estimates.of(&LogicalPlan::Distinct(distinct.clone())).rows as u64);
        let groups_enough = needs.rows_enough;
        let (grouping_sets, aggregates) = (None, Vec::new());
        let mut spec = HashAggregateSpec { groups, grouping_sets, aggregates, estimated_groups, groups_enough };
        let compressed = self.compress_aggregate(input, columns.iter(), &mut spec)?;
        let name = "Distinct".to_owned() + codes_note(&compressed);
        self.aggregate_stream(stream, spec, input.schema(), name, &compressed)
    }

    fn aggregate_stream(
        &mut self,
        stream: Stream,
        spec: HashAggregateSpec,
        schema: &DFSchema,
        name: String,
        compressed: &CompressedColumns,
    ) -> Result<Stream> {
        let operator = HashAggregate::new(spec, self.query, name)?;
        let (done, below) = self.close(stream, operator.sink());
        let source = operator.source();
        let explain = ExplainNode::leaf(source.metrics().clone()).above(below);
        let row_type = operator.output_type();
        let origin = (0..row_type.len()).collect();
        let mut stream = Stream::new(schema, origin, row_type, Branch::new(source, done), explain)?;
        self.decompress_stream(&mut stream, compressed);
        Ok(stream)
    }
}

/// The distinct group keys, and for grouping sets which keys each set has.
struct GroupKeys {
    keys: Vec<Expr>,
    sets: Option<Vec<Vec<usize>>>,
}

impl GroupKeys {
    fn of(group_expr: &[Expr]) -> Result<Self> {
        if !group_expr.iter().any(|group| matches!(group, Expr::GroupingSet(_))) {
            return Ok(Self { keys: group_expr.to_vec(), sets: None });
        }
        let enumerated = enumerate_grouping_sets(group_expr.to_vec()).map_err(planning_error)?;
        let [Expr::GroupingSet(grouping_set)] = &enumerated[..] else {
            return Err(Error::internal("several grouping sets that were not combined into one"));
        };
        let listed = grouping_set_to_exprlist(&enumerated).map_err(planning_error)?;
        let keys: Vec<Expr> = listed.into_iter().cloned().collect();
        let index_of =
            |key: &Expr| keys.iter().position(|known| known == key).expect("the list has every key of a set");
        let sets = sets_of(grouping_set)?.into_iter().map(|set| set.into_iter().map(index_of).collect()).collect();
        Ok(Self { keys, sets: Some(sets) })
    }
}

/// Most keys of a CUBE: each doubles the number of sets, and each set has groups of its own.
const CUBE_KEYS_MAX: usize = 12;

/// The sets that ROLLUP and CUBE stand for.
fn sets_of(grouping_set: &GroupingSet) -> Result<Vec<Vec<&Expr>>> {
    Ok(match grouping_set {
        GroupingSet::GroupingSets(sets) => sets.iter().map(|set| set.iter().collect()).collect(),
        GroupingSet::Rollup(keys) => (0..=keys.len()).map(|len| keys[..len].iter().collect()).collect(),
        GroupingSet::Cube(keys) if keys.len() > CUBE_KEYS_MAX => {
            return Err(Error::unsupported(format!("a CUBE of more than {CUBE_KEYS_MAX} keys"))
                .with_hint("list the GROUPING SETS that are wanted"));
        }
        GroupingSet::Cube(keys) => (0..1usize << keys.len())
            .map(|subset| (0..keys.len()).filter(|key| subset >> key & 1 == 1).map(|key| &keys[key]).collect())
            .collect(),
    })
}
