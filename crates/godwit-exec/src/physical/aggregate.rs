//! GROUP BY, DISTINCT, aggregates without groups, grouping sets.

use godwit_common::{Error, Result};
use godwit_expression::Expression;
use godwit_plan::{Aggregate, AggregateCall, Arithmetic, ColumnId, Expr, ExprKind, NodeId};
use godwit_types::SqlType;
use godwit_vector::Chunk;

use super::aggregate_call::{AggregateCompiler, may_be_approximate};
use super::stored::codes_note;
use super::stream::Stream;
use super::{Branch, Needs, PhysicalPlanner, columns_of};
use crate::explain::ExplainNode;
use crate::hash_aggregate::{HashAggregate, HashAggregateSpec, KeySet};

/// Maximum number of keys if there are equal grouping sets: a bit each, below the sign.
const KEYS_MAX: usize = 62;

impl PhysicalPlanner<'_> {
    pub(super) fn plan_aggregate(&mut self, id: NodeId, aggregate: &Aggregate, needs: Needs) -> Result<Stream> {
        let wanted = aggregate.aggregates.iter().filter(|(column, _)| needs.columns.contains(*column));
        let (call_columns, calls): (Vec<ColumnId>, Vec<&AggregateCall>) =
            wanted.map(|(column, call)| (*column, call)).unzip();
        let sets = aggregate.sets.as_ref();
        if sets.is_none() && aggregate.keys.is_empty() && calls.is_empty() {
            return self.one_row(aggregate);
        }
        let keys: Vec<&Expr> = aggregate.keys.iter().map(|(_, key)| key).collect();
        let columns = columns_of(keys.iter().copied().chain(calls.iter().flat_map(|call| call.exprs())));
        // If every row belongs to exactly one group, dropping all rows of a group drops the group.
        let filters = match sets {
            None => needs.filters_below(|column| {
                let (_, key) = aggregate.keys.iter().find(|(id, _)| *id == column)?;
                key.as_column()
            }),
            Some(_) => Vec::new(),
        };
        let mut stream = self.plan_node(aggregate.input, Needs::new(columns, filters))?;
        let grouping_sets = sets.map(|sets| self.key_sets(aggregate, sets));
        let estimated_groups = match &grouping_sets {
            None => self.estimates.rows(self.plan, id) as u64,
            Some(sets) => sets.iter().map(|set| set.estimated_groups).sum(),
        };
        // Only where it matters: files may be read to know it.
        let is_asked = calls.iter().any(|call| may_be_approximate(call));
        let groups_max = if is_asked { self.groups_at_most(aggregate) } else { None };
        let mut spec = {
            let mut compiler = AggregateCompiler::new(stream.layout(), &self.context).for_groups(groups_max);
            HashAggregateSpec {
                groups: keys.iter().map(|key| compiler.expression(key)).collect::<Result<_>>()?,
                grouping_sets,
                aggregates: calls.iter().map(|call| compiler.aggregate(call)).collect::<Result<_>>()?,
                estimated_groups: Some(estimated_groups),
                groups_enough: needs.rows_enough,
            }
        };
        self.run_subqueries_before(&mut stream)?;
        let compressed = self.compress_aggregate(aggregate.input, &keys, &calls, &mut spec)?;
        let name = self.aggregate_name(&keys, &calls) + codes_note(&compressed);
        let operator = HashAggregate::new(spec, self.query, name)?;
        let (done, below) = self.close(stream, operator.sink());
        let source = operator.source();
        let explain = ExplainNode::leaf(source.metrics().clone()).above(below);
        let number = aggregate.grouping_id.filter(|_| sets.is_some());
        let columns = aggregate.keys.iter().map(|&(column, _)| column).chain(number).chain(call_columns);
        let branch = Branch::new(source, done);
        let mut stream = Stream::new(columns.collect(), operator.output_type(), branch, explain);
        self.decompress_stream(&mut stream, &compressed);
        if let Some(number) = aggregate.grouping_id {
            self.number_sets(&mut stream, number, aggregate)?;
        }
        Ok(stream)
    }

    /// The group of all rows, without aggregates.
    fn one_row(&mut self, aggregate: &Aggregate) -> Result<Stream> {
        let mut stream = self.values_stream(Vec::new(), Vec::new(), vec![Chunk::new(Vec::new(), 1)]);
        let number = aggregate.grouping_id;
        let zero = number.map(|_| self.compile(&Expr::bigint(0), &mut stream)).transpose()?;
        stream.project(number.into_iter().collect(), zero.into_iter().collect());
        Ok(stream)
    }

    /// The maximum number of groups of all grouping sets; `None` if it is a guess.
    fn groups_at_most(&self, aggregate: &Aggregate) -> Option<f64> {
        let all: Vec<usize> = (0..aggregate.keys.len()).collect();
        let sets = aggregate.sets.as_deref().unwrap_or(std::slice::from_ref(&all));
        let of_set = |set: &Vec<usize>| {
            let keys = set.iter().map(|&key| &aggregate.keys[key].1);
            self.estimates.groups_at_most(self.plan, aggregate.input, keys)
        };
        sets.iter().map(of_set).sum()
    }

    /// The grouping sets, each with its expected number of groups.
    fn key_sets(&self, aggregate: &Aggregate, sets: &[Vec<usize>]) -> Vec<KeySet> {
        let with_estimate = |keys: &Vec<usize>| {
            let exprs = keys.iter().map(|&key| &aggregate.keys[key].1);
            let estimated_groups = self.estimates.groups(self.plan, aggregate.input, exprs) as u64;
            KeySet { keys: keys.clone(), estimated_groups }
        };
        sets.iter().map(with_estimate).collect()
    }

    /// Turns the operator's number of a row's set into the plan's: the bits of the keys, without those above them,
    /// which distinguish sets with the same keys. Without sets it is 0.
    fn number_sets(&self, stream: &mut Stream, number: ColumnId, aggregate: &Aggregate) -> Result<()> {
        let operand = |kind| Expr::new(kind, SqlType::BigInt, false);
        let keys = aggregate.keys.len();
        let bits = |set: &Vec<usize>| (0..keys).map(|key| set.contains(&key)).collect::<Vec<bool>>();
        let value = match &aggregate.sets {
            None => Expr::bigint(0),
            Some(sets) if (1..sets.len()).any(|at| sets[..at].iter().any(|set| bits(set) == bits(&sets[at]))) => {
                if keys > KEYS_MAX {
                    return Err(Error::unsupported(format!("equal grouping sets over more than {KEYS_MAX} columns")));
                }
                let column = Box::new(operand(ExprKind::Column(number)));
                operand(ExprKind::Arithmetic(Arithmetic::Modulo, column, Box::new(Expr::bigint(1 << keys))))
            }
            Some(_) => operand(ExprKind::Column(number)),
        };
        let value = Expression::compile(&value, stream.layout(), &self.context)?;
        let (mut columns, mut expressions): (Vec<ColumnId>, Vec<Expression>) =
            (0..stream.columns.len()).map(|at| (stream.columns[at], stream.column(at))).unzip();
        match columns.iter().position(|&column| column == number) {
            Some(at) => expressions[at] = value,
            None => {
                columns.push(number);
                expressions.push(value);
            }
        }
        stream.project(columns, expressions);
        Ok(())
    }

    fn aggregate_name(&self, keys: &[&Expr], calls: &[&AggregateCall]) -> String {
        match (keys, calls) {
            ([], _) => "Aggregate".to_owned(),
            (keys, []) if keys.iter().all(|key| key.as_column().is_some()) => "Distinct".to_owned(),
            (keys, _) => format!("HashAggregate by {}", self.show(keys.iter().copied(), ", ")),
        }
    }
}
