//! Recursion: evaluates rounds until one has no rows.

use std::collections::HashSet;

use godwit_common::{Error, Result};
use godwit_plan::{ExprKind, Node, NodeId, Recursive};

use crate::aggregate::same_key;
use crate::environment::{Environment, Rows};
use crate::evaluator::Evaluator;
use crate::set_operation::distinct;

/// Maximum number of rounds; more are an error.
const ROUNDS_MAX: usize = 1_000;

impl Evaluator<'_> {
    pub(crate) fn recursive(&self, recursive: &Recursive, environment: &Environment<'_>) -> Result<Rows> {
        let types = self.types_of(&recursive.columns);
        let mut working = self.rows_in_order(&recursive.base, environment)?;
        if !recursive.all {
            working = distinct(working, &types);
        }
        let mut all = Vec::new();
        for _ in 0..ROUNDS_MAX {
            if working.is_empty() {
                return Ok(Rows { columns: recursive.columns.clone(), rows: all });
            }
            all.extend(working.iter().cloned());
            let environment = environment.with_working_rows(recursive.working, &working);
            let mut next = self.rows_in_order(&recursive.step, &environment)?;
            if !recursive.all {
                next = distinct(next, &types);
                next.retain(|row| !all.iter().any(|other| same_key(other, row, &types)));
            }
            working = next;
        }
        Err(Error::resource(format!("a recursion has more than {ROUNDS_MAX} rounds")))
    }

    /// Whether a plan reads the rows of a recursion outside of it.
    pub(crate) fn reads_outer_recursion(&self, root: NodeId) -> bool {
        let (mut read, mut inside) = (HashSet::new(), HashSet::new());
        let mut open = vec![root];
        let mut seen = HashSet::new();
        while let Some(id) = open.pop() {
            if !seen.insert(id) {
                continue;
            }
            let node = self.plan.node(id);
            match node {
                Node::WorkingRows { of, .. } => _ = read.insert(*of),
                Node::Recursive(recursive) => _ = inside.insert(recursive.working),
                Node::Use(shared) => open.push(self.plan.shared(shared.shared).root),
                _ => {}
            }
            open.extend(node.inputs());
            node.for_each_expr(&mut |expr| {
                expr.for_each(&mut |part| {
                    if let ExprKind::Subquery(subquery) = &part.kind {
                        open.push(subquery.plan);
                    }
                });
            });
        }
        !read.is_subset(&inside)
    }
}
