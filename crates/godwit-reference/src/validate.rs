//! Invariants of every plan, whatever its rows: columns are used only where they are bound, a node doesn't produce a
//! column that already exists, and types fit.

use godwit_common::{Error, Result, SqlState};
use godwit_plan::{ColumnId, ColumnSet, Expr, ExprKind, JoinKind, Node, NodeId, Plan, SubqueryKind};
use godwit_types::SqlType;

/// Maximum depth of checked plans.
const DEPTH_MAX: usize = 2_500;

/// Checks a plan and all its shared plans.
///
/// # Errors
/// An internal error that names the invalid column, node or type.
pub fn validate(plan: &Plan) -> Result<()> {
    for (id, shared) in plan.shared_plans() {
        let mut validator = Validator { plan, depth: 0, running: None };
        validator.node(shared.root, &ColumnSet::new()).map_err(|error| error.context(id))?;
    }
    let mut validator = Validator { plan, depth: 0, running: Some(Vec::new()) };
    if let Some(root) = plan.root {
        let made = validator.node(root, &ColumnSet::new())?;
        let missing = plan.output.iter().find(|output| !made.contains(output.column));
        if let Some(missing) = missing {
            return Err(Error::internal(format!("the result's column {}{} isn't made", missing.name, missing.column)));
        }
    }
    Ok(())
}

struct Validator<'p> {
    plan: &'p Plan,
    depth: usize,
    /// The recursions of which this is a step; unknown in shared plans.
    running: Option<Vec<ColumnId>>,
}

impl Validator<'_> {
    /// Checks a node and returns its columns; `bound` are those that it may take from outside.
    fn node(&mut self, id: NodeId, bound: &ColumnSet) -> Result<ColumnSet> {
        if self.depth >= DEPTH_MAX {
            return Err(Error::user("the plan is nested too deeply").with_code(SqlState::STATEMENT_TOO_COMPLEX));
        }
        self.depth += 1;
        let plan = self.plan;
        let node = plan.node(id);
        let result = self.inside(node, bound).map_err(|error| {
            let is_first = !error.message().starts_with("in ");
            if is_first { error.context(format!("in {id} {}", plan.describe(node))) } else { error }
        });
        self.depth -= 1;
        result?;
        let outputs = plan.outputs(id);
        let set: ColumnSet = outputs.iter().copied().collect();
        if set.len() != outputs.len() && !matches!(node, Node::Project(_)) {
            return Err(Error::internal(format!("in {id} {}: a column is there twice", plan.describe(node))));
        }
        if let Some(column) = node.made_columns().into_iter().find(|&column| bound.contains(column)) {
            return Err(Error::internal(format!("in {id} {}: {column} is bound outside, too", plan.describe(node))));
        }
        Ok(set)
    }

    fn inside(&mut self, node: &Node, bound: &ColumnSet) -> Result<()> {
        let visible = match node {
            Node::Join(join) => {
                use JoinKind::{Full, Positional, Right, RightAnti, RightSemi};
                let left = self.node(join.left, bound)?;
                let is_independent = matches!(join.kind, Right | Full | RightSemi | RightAnti | Positional);
                let right = self.node(join.right, &if is_independent { bound.clone() } else { bound.union(&left) })?;
                if !left.is_disjoint(&right) {
                    return Err(Error::internal("both sides have the same column"));
                }
                left.union(&right)
            }
            Node::Scan(scan) => scan.columns.iter().map(|&(column, _)| column).collect(),
            Node::Recursive(recursive) => {
                self.node(recursive.base.0, bound)?;
                self.running.iter_mut().for_each(|running| running.push(recursive.working));
                self.node(recursive.step.0, bound)?;
                self.running.iter_mut().for_each(|running| _ = running.pop());
                ColumnSet::new()
            }
            Node::Limit(limit) => {
                self.node(limit.input, bound)?;
                ColumnSet::new()
            }
            _ => {
                let mut visible = ColumnSet::new();
                for input in node.inputs() {
                    visible.union_with(&self.node(input, bound)?);
                }
                visible
            }
        };
        self.shape(node)?;
        let visible = visible.union(bound);
        let mut exprs = Vec::new();
        node.for_each_expr(&mut |expr| exprs.push(expr));
        exprs.into_iter().try_for_each(|expr| self.expr(expr, &visible))
    }

    /// Checks the numbers and types of columns.
    fn shape(&self, node: &Node) -> Result<()> {
        match node {
            Node::Values(values) => {
                if values.rows.iter().any(|row| row.len() != values.columns.len()) {
                    return Err(Error::internal("a row has too few or too many values"));
                }
                values.rows.iter().try_for_each(|row| self.same_types(&values.columns, row.iter().map(|expr| &expr.ty)))
            }
            Node::Scan(scan) => {
                conditions(&scan.filters)?;
                let (columns, positions): (Vec<_>, Vec<usize>) = scan.columns.iter().copied().unzip();
                let known = scan.relation.columns();
                self.same_types(&columns, positions.iter().map(|&position| &known[position].ty))
            }
            Node::Project(project) => {
                let columns: Vec<ColumnId> = project.columns.iter().map(|&(column, _)| column).collect();
                self.same_types(&columns, project.columns.iter().map(|(_, expr)| &expr.ty))
            }
            Node::Filter { conditions: all, .. } => conditions(all),
            Node::Join(join) => {
                conditions(&join.conditions)?;
                if let JoinKind::Mark { compare, .. } = &join.kind { conditions(compare) } else { Ok(()) }
            }
            Node::Aggregate(aggregate) => {
                let keys = aggregate.keys.iter().map(|(column, key)| (*column, &key.ty));
                let calls = aggregate.aggregates.iter().map(|(column, call)| (*column, &call.ty));
                let (columns, types): (Vec<_>, Vec<_>) = keys.chain(calls).unzip();
                self.same_types(&columns, types.into_iter())
            }
            Node::Window(window) => {
                let columns: Vec<ColumnId> = window.calls.iter().map(|&(column, _)| column).collect();
                self.same_types(&columns, window.calls.iter().map(|(_, call)| &call.ty))
            }
            Node::SetOperation(operation) => {
                operation.inputs.iter().try_for_each(|(input, columns)| self.input(&operation.columns, *input, columns))
            }
            Node::Recursive(recursive) => [&recursive.base, &recursive.step]
                .into_iter()
                .try_for_each(|(input, columns)| self.input(&recursive.columns, *input, columns)),
            Node::Use(shared) => {
                let (own, inner): (Vec<_>, Vec<_>) = shared.columns.iter().copied().unzip();
                self.input(&own, self.plan.shared(shared.shared).root, &inner)
            }
            Node::WorkingRows { of, .. } if self.running.as_ref().is_some_and(|running| !running.contains(of)) => {
                Err(Error::internal(format!("recursion {of} isn't running")))
            }
            Node::Limit(limit) if limit.with_ties && !matches!(self.plan.node(limit.input), Node::Sort { .. }) => {
                Err(Error::internal("WITH TIES needs a sort below its limit"))
            }
            Node::Sort { .. } | Node::Limit(_) | Node::Unnest(_) | Node::WorkingRows { .. } | Node::Sample(_) => Ok(()),
        }
    }

    fn input(&self, columns: &[ColumnId], input: NodeId, of_input: &[ColumnId]) -> Result<()> {
        let made = self.plan.output_set(input);
        if let Some(missing) = of_input.iter().find(|&&column| !made.contains(column)) {
            return Err(Error::internal(format!("{missing} isn't among the columns of its input")));
        }
        self.same_types(columns, of_input.iter().map(|&column| &self.plan.column(column).ty))
    }

    fn same_types<'t>(&self, columns: &[ColumnId], types: impl ExactSizeIterator<Item = &'t SqlType>) -> Result<()> {
        if columns.len() != types.len() {
            return Err(Error::internal(format!("{} columns are made of {}", columns.len(), types.len())));
        }
        for (&column, ty) in columns.iter().zip(types) {
            let known = &self.plan.column(column).ty;
            if known != ty {
                return Err(Error::internal(format!("{column} is {known}, and made of {ty}")));
            }
        }
        Ok(())
    }

    fn expr(&mut self, expr: &Expr, visible: &ColumnSet) -> Result<()> {
        let mut visible = visible.clone();
        expr.for_each(&mut |part| match &part.kind {
            ExprKind::Let { column, .. } => _ = visible.insert(*column),
            ExprKind::Lambda(parameters, _) => visible.extend(parameters.iter().copied()),
            _ => {}
        });
        let mut parts = Vec::new();
        expr.for_each(&mut |part| parts.push(part));
        for part in parts {
            match &part.kind {
                ExprKind::Column(column) if !visible.contains(*column) => {
                    let name = &self.plan.column(*column).name;
                    return Err(Error::internal(format!("{name}{column} isn't bound where it is used")));
                }
                ExprKind::Column(column) => self.same_types(&[*column], std::iter::once(&part.ty))?,
                ExprKind::And(all) | ExprKind::Or(all) => conditions(all)?,
                ExprKind::Compare(_, a, b) if a.ty != b.ty => {
                    return Err(Error::internal(format!("{part} compares {} with {}", a.ty, b.ty)));
                }
                ExprKind::Subquery(subquery) => {
                    let made = self.node(subquery.plan, &visible)?;
                    if subquery.columns.iter().any(|&column| !made.contains(column)) {
                        return Err(Error::internal("a subquery lacks one of its columns"));
                    }
                    if let SubqueryKind::Quantified { left, .. } = &subquery.kind {
                        self.same_types(&subquery.columns, left.iter().map(|expr| &expr.ty))?;
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }
}

fn conditions(exprs: &[Expr]) -> Result<()> {
    match exprs.iter().find(|expr| expr.ty != SqlType::Boolean) {
        Some(other) => Err(Error::internal(format!("the condition {other} is {}", other.ty))),
        None => Ok(()),
    }
}
