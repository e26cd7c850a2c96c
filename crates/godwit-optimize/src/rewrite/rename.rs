//! Removal of column aliases.
//!
//! Derived tables, views and common table expressions leave projections like `#7 := #3` between joins, where they would
//! separate conditions and joins. An id denotes the same value everywhere, so #3 can replace #7 in the whole plan; the
//! projection then passes on #3, and does nothing. Aliases in the result are restored by a projection on top.
//!
//! Bound: two walks of the plan.

use std::collections::{HashMap, HashSet};

use godwit_common::Result;
use godwit_plan::{ColumnId, Node, NodeId, Plan, Project};

use super::{Context, bottom_up, column};

/// Replaces aliases by the columns that they stand for.
pub(crate) fn rename(plan: &mut Plan, context: &mut Context<'_>) -> Result<()> {
    let mut names: HashMap<ColumnId, ColumnId> = HashMap::new();
    let check = context.check;
    // The walks don't reach them, so they would keep the aliases.
    plan.empty_unused_shared_plans();
    bottom_up(plan, check, &mut |plan, id| {
        collect_names(plan, context, id, &mut names);
        Ok(id)
    })?;
    if names.is_empty() {
        return Ok(());
    }
    let named_by = |column: ColumnId| names.get(&column).copied().unwrap_or(column);
    bottom_up(plan, check, &mut |plan, id| Ok(replace_names(plan, id, &named_by)))?;
    if let Some(root) = plan.root {
        plan.root = Some(with_output_names(plan, context, root, &named_by));
    }
    Ok(())
}

/// Collects aliases. Inputs come first, so that an alias of an alias leads to the column itself.
fn collect_names(plan: &Plan, context: &mut Context<'_>, id: NodeId, names: &mut HashMap<ColumnId, ColumnId>) {
    let Node::Project(project) = plan.node(id) else { return };
    let known = context.properties.outputs(plan, project.input);
    for (own, expr) in &project.columns {
        let source = expr.as_column().filter(|source| source != own && known.contains(*source));
        if let Some(source) = source {
            names.insert(*own, names.get(&source).copied().unwrap_or(source));
        }
    }
}

fn replace_names(plan: &mut Plan, id: NodeId, named_by: &impl Fn(ColumnId) -> ColumnId) -> NodeId {
    let mut node = plan.node(id).clone().map_columns(named_by);
    let mut seen = HashSet::new();
    match &mut node {
        Node::Project(project) => project.columns.retain(|(column, _)| seen.insert(*column)),
        Node::Aggregate(aggregate) if aggregate.sets.is_none() => {
            aggregate.keys.retain(|(column, _)| seen.insert(*column));
        }
        Node::Use(used) => used.columns.iter_mut().for_each(|(_, inner)| *inner = named_by(*inner)),
        _ => {}
    }
    plan.add(node)
}

/// Restores the ids by which the result's columns are known.
fn with_output_names(
    plan: &mut Plan,
    context: &mut Context<'_>,
    root: NodeId,
    named_by: &impl Fn(ColumnId) -> ColumnId,
) -> NodeId {
    if plan.output.iter().all(|output| named_by(output.column) == output.column) {
        return root;
    }
    let nullable = context.properties.nullable(plan, root);
    let mut seen = HashSet::new();
    let outputs: Vec<ColumnId> = plan.output.iter().map(|output| output.column).collect();
    let outputs = outputs.into_iter().filter(|&column| seen.insert(column));
    let columns = outputs.map(|own| {
        let source = named_by(own);
        // The projection is now above outer joins that it was below.
        if nullable.contains(source) {
            plan.make_nullable(own);
        }
        (own, column(plan, source, nullable.contains(source)))
    });
    let columns = columns.collect();
    plan.add(Node::Project(Project { input: root, columns }))
}
