//! Evaluation of each kind of node.

use godwit_common::{Error, Result};
use godwit_plan::{Node, NodeId, Project, Sample, SampleSize, Scan, Unnest, Use, Values};
use godwit_types::Value;

use crate::check::check_rows;
use crate::environment::{Environment, Row, Rows};
use crate::evaluator::{Evaluator, position};
use crate::table::MemoryTable;

impl Evaluator<'_> {
    /// Returns the rows of a node.
    pub(crate) fn rows(&self, id: NodeId, environment: &Environment<'_>) -> Result<Rows> {
        let node = self.plan.node(id);
        let rows = self.deeper(|| self.rows_of_node(node, environment))?;
        self.spend(rows.rows.len())?;
        check_rows(self.plan, &node.made_columns(), &rows)?;
        Ok(rows)
    }

    fn rows_of_node(&self, node: &Node, environment: &Environment<'_>) -> Result<Rows> {
        match node {
            Node::Values(values) => self.literal_rows(values, environment),
            Node::Scan(scan) => self.scan(scan, environment),
            Node::Project(project) => self.project(project, environment),
            Node::Filter { input, conditions } => {
                let Rows { columns, rows } = self.rows(*input, environment)?;
                let rows = keep(rows, |row| self.all_true(conditions, &environment.with_row(&columns, row)))?;
                Ok(Rows { columns, rows })
            }
            Node::Join(join) => self.join(join, environment),
            Node::Aggregate(aggregate) => self.aggregate(aggregate, environment),
            Node::Window(window) => self.window(window, environment),
            Node::Sort { input, keys } => {
                let Rows { columns, rows } = self.rows(*input, environment)?;
                let rows = self.sorted(&columns, rows, keys, environment)?;
                Ok(Rows { columns, rows })
            }
            Node::Limit(limit) => self.limit(limit, environment),
            Node::SetOperation(operation) => self.set_operation(operation, environment),
            Node::Unnest(unnest) => self.unnest(unnest, environment),
            Node::Recursive(recursive) => self.recursive(recursive, environment),
            Node::WorkingRows { of, columns } => {
                let rows = environment.working_rows(*of);
                let rows = rows.ok_or_else(|| Error::internal(format!("recursion {of} isn't running")))?;
                Ok(Rows { columns: columns.clone(), rows: rows.to_vec() })
            }
            Node::Use(shared) => self.use_of_shared(shared, environment),
            Node::Sample(sample) => self.sample(sample, environment),
        }
    }

    fn literal_rows(&self, values: &Values, environment: &Environment<'_>) -> Result<Rows> {
        let rows = values.rows.iter().map(|row| self.values(row, environment)).collect::<Result<_>>()?;
        Ok(Rows { columns: values.columns.clone(), rows })
    }

    /// A scan with a limit on its rows returns no more, so that a wrong limit is noticed.
    fn scan(&self, scan: &Scan, environment: &Environment<'_>) -> Result<Rows> {
        let table = scan.relation.as_any().downcast_ref::<MemoryTable>();
        let table = table.ok_or_else(|| {
            Error::unsupported(format!(
                "the reference evaluator reads only tables in memory, not {}",
                scan.relation.name()
            ))
        })?;
        let (columns, positions): (Vec<_>, Vec<_>) = scan.columns.iter().copied().unzip();
        let all = table.rows().iter().map(|row| positions.iter().map(|&at| row[at].clone()).collect()).collect();
        let mut rows = keep(all, |row: &Row| self.all_true(&scan.filters, &environment.with_row(&columns, row)))?;
        if let Some(enough) = scan.rows_enough {
            rows.truncate(usize::try_from(enough).unwrap_or(usize::MAX));
        }
        Ok(Rows { columns, rows })
    }

    fn project(&self, project: &Project, environment: &Environment<'_>) -> Result<Rows> {
        let input = self.rows(project.input, environment)?;
        let row = |row: &Row| {
            let environment = environment.with_row(&input.columns, row);
            project.columns.iter().map(|(_, expr)| self.value(expr, &environment)).collect()
        };
        let rows = input.rows.iter().map(row).collect::<Result<_>>()?;
        Ok(Rows { columns: project.columns.iter().map(|&(column, _)| column).collect(), rows })
    }

    fn unnest(&self, unnest: &Unnest, environment: &Environment<'_>) -> Result<Rows> {
        let Rows { mut columns, rows: input } = self.rows(unnest.input, environment)?;
        let mut rows = Vec::new();
        for row in input {
            let environment = environment.with_row(&columns, &row);
            let lists = unnest.lists.iter().map(|list| match self.value(&list.list, &environment)? {
                Value::Null => Ok(Vec::new()),
                Value::List(values) => Ok(values.to_vec()),
                Value::Map(_) | Value::Struct(_) => Err(Error::unsupported("only lists are unnested")),
                other => Err(Error::internal(format!("{other:?} is no list"))),
            });
            let lists = lists.collect::<Result<Vec<Vec<Value>>>>()?;
            let longest = lists.iter().map(Vec::len).max().unwrap_or(0);
            let count = if unnest.outer { longest.max(1) } else { longest };
            self.spend(count)?;
            for index in 0..count {
                let mut made = row.clone();
                made.extend(lists.iter().map(|list| list.get(index).cloned().unwrap_or(Value::Null)));
                if unnest.ordinality.is_some() {
                    made.push(if index < longest { Value::Integer(index as i128 + 1) } else { Value::Null });
                }
                rows.push(made);
            }
        }
        columns.extend(unnest.lists.iter().map(|list| list.column).chain(unnest.ordinality));
        Ok(Rows { columns, rows })
    }

    fn use_of_shared(&self, shared: &Use, environment: &Environment<'_>) -> Result<Rows> {
        let input = self.shared_rows(shared.shared, environment)?;
        let positions = shared.columns.iter().map(|&(_, column)| position(&input.columns, column));
        let positions = positions.collect::<Result<Vec<_>>>()?;
        let rows = input.rows.iter().map(|row| positions.iter().map(|&at| row[at].clone()).collect()).collect();
        Ok(Rows { columns: shared.columns.iter().map(|&(column, _)| column).collect(), rows })
    }

    fn sample(&self, sample: &Sample, environment: &Environment<'_>) -> Result<Rows> {
        let mut input = self.rows(sample.input, environment)?;
        let count = match sample.size {
            SampleSize::Rows(rows) => usize::try_from(rows).unwrap_or(usize::MAX),
            SampleSize::Percent(percent) => (input.rows.len() as f64 * percent / 100.0) as usize,
        };
        input.rows.truncate(count);
        Ok(input)
    }
}

/// Keeps the rows for which a fallible test is true.
fn keep(rows: Vec<Row>, test: impl Fn(&Row) -> Result<bool>) -> Result<Vec<Row>> {
    let tested = rows.into_iter().map(|row| Ok(test(&row)?.then_some(row)));
    tested.filter_map(Result::transpose).collect()
}
