//! Values, limits, set operations, recursions and samples for all values of a domain at once.

use godwit_common::{Error, Result};
use godwit_plan::{
    ColumnId, Comparison, Expr, ExprKind, Limit, Node, NodeId, Recursive, Sample, SampleSize, SetOperation,
    SetOperator, SortKey, Values, Window,
};
use godwit_types::Value;

use super::attach::Attached;
use super::domain::Domain;
use super::{Unnester, subquery_plans};

impl Unnester<'_> {
    /// Turns each row of values into a projection of the domain.
    pub(super) fn attach_values(&mut self, values: Values, domain: &Domain) -> Result<Attached> {
        let mut rows: Vec<Attached> = Vec::new();
        let count = values.rows.len();
        for row in values.rows {
            let (node, columns) = self.use_domain(domain);
            let names = Attached { node, columns: columns.clone() }.names(domain);
            let own: Vec<ColumnId> = match count {
                1 => values.columns.clone(),
                _ => values.columns.iter().map(|&column| self.plan.copy_column(column)).collect(),
            };
            let row = row.into_iter().map(|expr| self.rename(expr, &names)).collect::<Vec<_>>();
            let node = self.extend(node, own.iter().copied().zip(row).collect());
            rows.push(Attached { node, columns: columns.into_iter().chain(own).collect() });
        }
        let width = domain.columns.len();
        if count == 1 {
            let only = rows.remove(0);
            return Ok(Attached { columns: only.columns[..width].to_vec(), ..only });
        }
        let copies: Vec<ColumnId> = rows[0].columns[..width].to_vec();
        let copies: Vec<ColumnId> = copies.into_iter().map(|column| self.plan.copy_column(column)).collect();
        let columns = copies.iter().copied().chain(values.columns).collect();
        let inputs = rows.into_iter().map(|row| (row.node, row.columns)).collect();
        let union = SetOperation { operator: SetOperator::Union, all: true, columns, inputs };
        Ok(Attached { node: self.plan.add(Node::SetOperation(union)), columns: copies })
    }

    pub(super) fn attach_limit(&mut self, limit: Limit, domain: &Domain) -> Result<Attached> {
        if let Some(projection) = self.limit_below_projection(&limit) {
            return self.attach(projection, domain);
        }
        let (input, keys) = self.rows_and_order(limit.input);
        let input = self.attach(input, domain)?;
        let names = input.names(domain);
        let keys = keys.into_iter().map(|key| SortKey { expr: self.rename(key.expr, &names), ..key }).collect();
        let offset = limit.offset.map(|offset| self.rename(offset, &names));
        let count = limit.count.map(|count| self.rename(count, &names));
        let partition_by = self.columns(&domain.keys(&input.columns));
        let node = self.limit_each(input.node, partition_by, keys, Limit { offset, count, ..limit })?;
        Ok(Attached { node, ..input })
    }

    pub(super) fn attach_set_operation(&mut self, operation: SetOperation, domain: &Domain) -> Result<Attached> {
        let mut inputs = Vec::new();
        let mut made = Vec::new();
        for (input, mut columns) in operation.inputs {
            let attached = self.attach(input, domain)?;
            if made.is_empty() {
                made = attached.columns.iter().map(|&column| self.plan.copy_column(column)).collect();
            }
            columns.extend(attached.columns);
            inputs.push((attached.node, columns));
        }
        let columns = operation.columns.into_iter().chain(made.iter().copied()).collect();
        let node = self.plan.add(Node::SetOperation(SetOperation { columns, inputs, ..operation }));
        Ok(Attached { node, columns: made })
    }

    /// Lets the domain travel along with a recursion: a row's successors belong to the same value.
    pub(super) fn attach_recursive(&mut self, recursive: Recursive, domain: &Domain) -> Result<Attached> {
        self.refuse_rows_in_subqueries(recursive.step.0, recursive.working)?;
        let Recursive { working, mut columns, base: (base, mut of_base), step: (step, mut of_step), all } = recursive;
        let base = self.attach(base, domain)?;
        let mut inside = domain.clone();
        inside.outer.insert(working);
        inside.recursions.insert(working);
        let step = self.attach(step, &inside)?;
        let made: Vec<ColumnId> = base.columns.iter().map(|&column| self.plan.copy_column(column)).collect();
        columns.extend(made.iter().copied());
        of_base.extend(base.columns);
        of_step.extend(step.columns);
        let node = Recursive { working, columns, base: (base.node, of_base), step: (step.node, of_step), all };
        Ok(Attached { node: self.plan.add(Node::Recursive(node)), columns: made })
    }

    /// Fails if a subquery in the step reads the recursion's rows: these have the columns of the domain that the
    /// recursion carries, which a subquery in an expression can't take into account.
    fn refuse_rows_in_subqueries(&mut self, step: NodeId, working: ColumnId) -> Result<()> {
        let mut plans = Vec::new();
        let mut open = vec![step];
        while let Some(id) = open.pop() {
            self.plan.node(id).for_each_expr(&mut |expr| plans.extend(subquery_plans(expr)));
            open.extend(self.plan.node(id).inputs());
        }
        if !plans.into_iter().any(|plan| self.free(plan).contains(working)) {
            return Ok(());
        }
        let error = Error::unsupported("a correlated recursive query can't read its own rows in a subquery");
        Err(error.with_hint("read them in the FROM clause of the recursive part"))
    }

    pub(super) fn attach_working_rows(
        &mut self,
        of: ColumnId,
        mut columns: Vec<ColumnId>,
        domain: &Domain,
    ) -> Attached {
        let made: Vec<ColumnId> = domain.columns.iter().map(|column| self.plan.copy_column(column.inner)).collect();
        columns.extend(made.iter().copied());
        Attached { node: self.plan.add(Node::WorkingRows { of, columns }), columns: made }
    }

    /// Samples a number of rows for each value; a fraction can be sampled from all rows.
    pub(super) fn attach_sample(&mut self, sample: Sample, domain: &Domain) -> Result<Attached> {
        let input = self.attach(sample.input, domain)?;
        let node = match sample.size {
            SampleSize::Percent(_) => self.plan.add(Node::Sample(Sample { input: input.node, ..sample })),
            SampleSize::Rows(rows) => self.first_of_each(&input, rows, domain)?,
        };
        Ok(Attached { node, ..input })
    }

    fn first_of_each(&mut self, input: &Attached, rows: u64, domain: &Domain) -> Result<NodeId> {
        let partition_by = self.columns(&domain.keys(&input.columns));
        let keys = match self.functions.scalar("random", &[]) {
            Ok(random) => {
                let expr = Expr::new(ExprKind::Call(random.function, Vec::new()), random.ty, random.nullable);
                vec![SortKey { expr, descending: false, nulls_first: false }]
            }
            Err(_) => Vec::new(),
        };
        let (number, call) = self.numbering("row_number", partition_by, keys)?;
        let window = self.plan.add(Node::Window(Window { input: input.node, calls: vec![(number, call)] }));
        let number = self.column(number);
        let most = Expr::literal(Value::Integer(i128::from(rows)), number.ty.clone());
        Ok(self.filter(window, vec![Expr::compare(Comparison::LessOrEqual, number, most)]))
    }
}
