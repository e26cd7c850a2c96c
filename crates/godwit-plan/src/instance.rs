//! A plan for one execution: over the versions of tables that it sees, with the values of its parameters.
//!
//! Nodes and columns keep their ids.

use std::sync::Arc;

use godwit_types::Value;

use crate::{Expr, ExprKind, Node, Plan, Relation, Scan};

impl Plan {
    /// Returns the plan with values in place of its parameters, in the order of [`Plan::parameters`]. Where a parameter
    /// is used as another type, it stays a parameter.
    #[must_use]
    pub fn with_values(&self, values: &[Value]) -> Plan {
        let mut bound = |mut part: Expr| {
            if let ExprKind::Parameter(id) = part.kind
                && let Some(value) = values.get(id.index())
                && part.ty == self.parameter_info(id).ty
            {
                part.kind = ExprKind::Literal(value.clone());
            }
            part
        };
        self.map_nodes(|node| match has_parameter(&node) {
            true => node.map_exprs(&mut |expr| expr.transform(&mut bound)),
            false => node,
        })
    }

    /// Returns the plan over other versions of its relations.
    #[must_use]
    pub fn with_relations(&self, version: impl Fn(&Arc<dyn Relation>) -> Arc<dyn Relation>) -> Plan {
        self.map_nodes(|node| match node {
            Node::Scan(scan) => Node::Scan(Scan { relation: version(&scan.relation), ..scan }),
            other => other,
        })
    }
}

fn has_parameter(node: &Node) -> bool {
    let mut found = false;
    node.for_each_expr(&mut |expr| found |= expr.any(|part| matches!(part.kind, ExprKind::Parameter(_))));
    found
}
