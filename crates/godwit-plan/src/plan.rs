//! The plan: an arena of nodes.

use std::collections::HashMap;
use std::sync::Arc;

use godwit_common::Span;
use godwit_types::SqlType;

use crate::print::ColumnNames;
use crate::{ColumnId, ColumnSet, Expr, Node, NodeId, ParameterId, Relation, SharedId, Values};

/// A query's plan.
#[derive(Debug, Clone, Default)]
pub struct Plan {
    nodes: Vec<Node>,
    columns: Vec<ColumnInfo>,
    shared: Vec<SharedPlan>,
    parameters: Vec<ParameterInfo>,
    /// The node whose rows are the result, once it is known.
    pub root: Option<NodeId>,
    /// The result's columns, in order. A column may occur several times.
    pub output: Vec<OutputColumn>,
}

/// Properties of a column in all nodes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnInfo {
    /// Its name, for EXPLAIN and messages.
    pub name: String,
    /// The name that the statement uses for its table, for EXPLAIN.
    pub table: Option<Arc<str>>,
    /// Its type.
    pub ty: SqlType,
    /// False only if its node produces no NULLs. An outer join may still add NULLs: see [`Plan::nullable_columns`].
    pub nullable: bool,
    /// The collation in which its texts are compared, as it is written; `None`: by their bytes.
    pub collation: Option<Arc<str>>,
}

/// A column of the result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputColumn {
    /// Its name.
    pub name: String,
    /// The column.
    pub column: ColumnId,
}

/// A subplan with several uses.
#[derive(Debug, Clone)]
pub struct SharedPlan {
    /// Its name in the text, for EXPLAIN.
    pub name: String,
    /// Its root. It has no free columns.
    pub root: NodeId,
    /// `[NOT] MATERIALIZED`, if it was written.
    pub materialized: Option<bool>,
}

/// A parameter of a prepared statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParameterInfo {
    /// Its name after `$`; a number for `?`.
    pub name: String,
    /// The type that its context requires; [`SqlType::Unknown`] until one does.
    pub ty: SqlType,
}

impl Plan {
    /// Creates a plan without nodes.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a node.
    pub fn add(&mut self, node: Node) -> NodeId {
        self.nodes.push(node);
        NodeId::new(self.nodes.len() - 1)
    }

    /// Returns a node.
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.index()]
    }

    /// Adds a new column.
    pub fn add_column(&mut self, name: impl Into<String>, ty: SqlType, nullable: bool) -> ColumnId {
        self.columns.push(ColumnInfo { name: name.into(), table: None, ty, nullable, collation: None });
        ColumnId::new(self.columns.len() - 1)
    }

    /// Sets the name that the statement uses for the table of a column.
    pub fn set_table(&mut self, id: ColumnId, table: Arc<str>) {
        self.columns[id.index()].table = Some(table);
    }

    /// Sets the collation in which a column's texts are compared.
    pub fn set_collation(&mut self, id: ColumnId, collation: Option<Arc<str>>) {
        self.columns[id.index()].collation = collation;
    }

    /// Adds a fresh column with the properties of another one.
    pub fn copy_column(&mut self, column: ColumnId) -> ColumnId {
        self.columns.push(self.columns[column.index()].clone());
        ColumnId::new(self.columns.len() - 1)
    }

    /// Returns the properties of a column.
    pub fn column(&self, id: ColumnId) -> &ColumnInfo {
        &self.columns[id.index()]
    }

    /// Returns the names of all columns.
    pub fn column_names(&self) -> ColumnNames {
        ColumnNames(self.columns.iter().map(|column| column.name.as_str().into()).collect())
    }

    /// Records that a column's node produces NULLs: a rewrite has replaced the node.
    pub fn make_nullable(&mut self, id: ColumnId) {
        self.columns[id.index()].nullable = true;
    }

    /// Returns the number of columns.
    pub fn column_count(&self) -> usize {
        self.columns.len()
    }

    /// Gives all expressions of the nodes from the `first` one on the same span.
    pub fn set_spans(&mut self, first: usize, span: Span) {
        let at = &mut |expr: Expr| expr.transform(&mut |part| part.at(span));
        for node in &mut self.nodes[first..] {
            let nothing = Node::Values(Values { columns: Vec::new(), rows: Vec::new() });
            *node = std::mem::replace(node, nothing).map_exprs(at);
        }
    }

    /// Returns the number of nodes in the arena.
    pub fn node_count(&self) -> usize {
        self.nodes.len()
    }

    /// Adds a shared plan.
    pub fn add_shared(&mut self, shared: SharedPlan) -> SharedId {
        self.shared.push(shared);
        SharedId::new(self.shared.len() - 1)
    }

    /// Returns a shared plan.
    pub fn shared(&self, id: SharedId) -> &SharedPlan {
        &self.shared[id.index()]
    }

    /// Returns a shared plan, to replace its root. Its columns must stay.
    pub fn shared_mut(&mut self, id: SharedId) -> &mut SharedPlan {
        &mut self.shared[id.index()]
    }

    /// Iterates over all shared plans, each after those that it uses.
    pub fn shared_plans(&self) -> impl DoubleEndedIterator<Item = (SharedId, &SharedPlan)> + ExactSizeIterator {
        self.shared.iter().enumerate().map(|(index, shared)| (SharedId::new(index), shared))
    }

    /// Returns the shared plans that the root depends on, each after those that it uses.
    pub fn used_shared_plans(&self) -> Vec<(SharedId, &SharedPlan)> {
        let mut used = vec![false; self.shared.len()];
        let mut open: Vec<NodeId> = self.root.into_iter().collect();
        while let Some(id) = open.pop() {
            let node = self.node(id);
            open.extend(node.inputs());
            node.for_each_expr(&mut |expr| {
                expr.for_each(&mut |part| {
                    if let crate::ExprKind::Subquery(subquery) = &part.kind {
                        open.push(subquery.plan);
                    }
                });
            });
            if let Node::Use(shared) = node
                && !std::mem::replace(&mut used[shared.shared.index()], true)
            {
                open.push(self.shared(shared.shared).root);
            }
        }
        self.shared_plans().filter(|(id, _)| used[id.index()]).collect()
    }

    /// Replaces shared plans that the root doesn't depend on by plans without rows, so that no pass has to visit them.
    pub fn empty_unused_shared_plans(&mut self) {
        let mut unused = vec![true; self.shared.len()];
        self.used_shared_plans().into_iter().for_each(|(id, _)| unused[id.index()] = false);
        for at in (0..self.shared.len()).filter(|&at| unused[at]) {
            let columns = self.outputs(self.shared[at].root);
            self.shared[at].root = self.add(Node::Values(crate::Values { columns, rows: Vec::new() }));
        }
    }

    /// Returns the parameter with this name; adds it if it is new.
    pub fn parameter(&mut self, name: &str) -> ParameterId {
        let known = self.parameters.iter().position(|parameter| parameter.name == name);
        ParameterId::new(known.unwrap_or_else(|| {
            self.parameters.push(ParameterInfo { name: name.to_owned(), ty: SqlType::Unknown });
            self.parameters.len() - 1
        }))
    }

    /// Returns the id of a parameter, by its position among all.
    pub fn parameter_at(&self, position: usize) -> ParameterId {
        assert!(position < self.parameters.len(), "there is a parameter");
        ParameterId::new(position)
    }

    /// Returns the depth of the root's tree, and of each used shared plan's.
    pub fn levels(&self) -> Vec<usize> {
        let mut levels = vec![0_usize; self.nodes.len()];
        // A node is created after its inputs.
        for (at, node) in self.nodes.iter().enumerate() {
            levels[at] = 1 + node.inputs().iter().map(|input| levels[input.index()]).max().unwrap_or(0);
        }
        let roots = self.root.into_iter().chain(self.used_shared_plans().into_iter().map(|(_, shared)| shared.root));
        roots.map(|root| levels[root.index()]).collect()
    }

    /// Returns the plan with each node replaced by another one with the same id.
    pub(crate) fn map_nodes(&self, map: impl FnMut(Node) -> Node) -> Plan {
        let mut plan = self.clone();
        plan.nodes = plan.nodes.into_iter().map(map).collect();
        plan
    }

    /// Returns the relations of its scans, including those of unreachable nodes.
    pub fn relations(&self) -> impl Iterator<Item = &Arc<dyn Relation>> {
        self.nodes.iter().filter_map(|node| match node {
            Node::Scan(scan) => Some(&scan.relation),
            _ => None,
        })
    }

    /// Returns the properties of a parameter.
    pub fn parameter_info(&self, id: ParameterId) -> &ParameterInfo {
        &self.parameters[id.index()]
    }

    /// Returns the properties of a parameter, to set its type.
    pub fn parameter_info_mut(&mut self, id: ParameterId) -> &mut ParameterInfo {
        &mut self.parameters[id.index()]
    }

    /// Returns all parameters, in the order of their first use.
    pub fn parameters(&self) -> &[ParameterInfo] {
        &self.parameters
    }

    /// Returns the output columns of a node, in order.
    pub fn outputs(&self, id: NodeId) -> Vec<ColumnId> {
        match self.node(id) {
            Node::Values(values) => values.columns.clone(),
            Node::Scan(scan) => scan.columns.iter().map(|&(column, _)| column).collect(),
            Node::Project(project) => project.columns.iter().map(|&(column, _)| column).collect(),
            Node::Filter { input, .. } | Node::Sort { input, .. } => self.outputs(*input),
            Node::Limit(limit) => self.outputs(limit.input),
            Node::Sample(sample) => self.outputs(sample.input),
            Node::Join(join) => self.outputs_of_join(join),
            Node::Aggregate(aggregate) => {
                let keys = aggregate.keys.iter().map(|&(column, _)| column);
                let aggregates = aggregate.aggregates.iter().map(|&(column, _)| column);
                keys.chain(aggregate.grouping_id).chain(aggregates).collect()
            }
            Node::Window(window) => {
                let mut columns = self.outputs(window.input);
                columns.extend(window.calls.iter().map(|&(column, _)| column));
                columns
            }
            Node::SetOperation(operation) => operation.columns.clone(),
            Node::Unnest(unnest) => {
                let mut columns = self.outputs(unnest.input);
                columns.extend(unnest.lists.iter().map(|list| list.column).chain(unnest.ordinality));
                columns
            }
            Node::Recursive(recursive) => recursive.columns.clone(),
            Node::WorkingRows { columns, .. } => columns.clone(),
            Node::Use(shared) => shared.columns.iter().map(|&(column, _)| column).collect(),
        }
    }

    fn outputs_of_join(&self, join: &crate::Join) -> Vec<ColumnId> {
        use crate::JoinKind;
        if matches!(join.kind, JoinKind::RightSemi | JoinKind::RightAnti) {
            return self.outputs(join.right);
        }
        let mut columns = self.outputs(join.left);
        match &join.kind {
            JoinKind::Semi | JoinKind::Anti | JoinKind::RightSemi | JoinKind::RightAnti => {}
            JoinKind::Mark { mark, .. } => columns.push(*mark),
            JoinKind::Inner
            | JoinKind::Left
            | JoinKind::Right
            | JoinKind::Full
            | JoinKind::Single
            | JoinKind::AsOf { .. }
            | JoinKind::Positional => columns.extend(self.outputs(join.right)),
        }
        columns
    }

    /// Returns the output columns of a node, as a set.
    pub fn output_set(&self, id: NodeId) -> ColumnSet {
        self.outputs(id).into_iter().collect()
    }

    /// Returns the columns that a subtree uses but doesn't produce: those of outer queries. Includes those used by
    /// subqueries in its expressions.
    pub fn free_columns(&self, id: NodeId) -> ColumnSet {
        let mut used = ColumnSet::new();
        let mut made = ColumnSet::new();
        let mut open = vec![id];
        while let Some(id) = open.pop() {
            let node = self.node(id);
            node.for_each_expr(&mut |expr| self.note_columns(expr, &mut used, &mut open, &mut made));
            made.extend(node.made_columns());
            open.extend(node.inputs());
        }
        used.subtract(&made);
        used
    }

    fn note_columns(&self, expr: &crate::Expr, used: &mut ColumnSet, open: &mut Vec<NodeId>, made: &mut ColumnSet) {
        expr.for_each(&mut |part| match &part.kind {
            crate::ExprKind::Column(column) => {
                used.insert(*column);
            }
            crate::ExprKind::Let { column, .. } => {
                made.insert(*column);
            }
            crate::ExprKind::Lambda(parameters, _) => made.extend(parameters.iter().copied()),
            crate::ExprKind::Subquery(subquery) => open.push(subquery.plan),
            _ => {}
        });
    }

    /// Returns the columns of a node that may be NULL in its output: those that are produced as nullable, and those to
    /// which an outer join adds NULLs.
    pub fn nullable_columns(&self, id: NodeId) -> ColumnSet {
        use crate::JoinKind;
        let of_info = |columns: Vec<ColumnId>| columns.into_iter().filter(|&column| self.column(column).nullable);
        match self.node(id) {
            Node::Join(crate::Join { kind: JoinKind::RightSemi | JoinKind::RightAnti, right, .. }) => {
                self.nullable_columns(*right)
            }
            Node::Join(join) => {
                let (left, right) = match join.kind {
                    JoinKind::Inner
                    | JoinKind::Semi
                    | JoinKind::Anti
                    | JoinKind::RightSemi
                    | JoinKind::RightAnti
                    | JoinKind::Mark { .. } => (false, false),
                    JoinKind::Left | JoinKind::Single => (false, true),
                    JoinKind::AsOf { outer, .. } => (false, outer),
                    JoinKind::Right => (true, false),
                    JoinKind::Full | JoinKind::Positional => (true, true),
                };
                let side = |id, filled: bool| if filled { self.output_set(id) } else { self.nullable_columns(id) };
                let mut nullable = side(join.left, left);
                match &join.kind {
                    JoinKind::Semi | JoinKind::Anti => {}
                    JoinKind::Mark { mark, compare } => {
                        if compare.iter().any(|conjunct| conjunct.nullable) {
                            nullable.insert(*mark);
                        }
                    }
                    _ => nullable.union_with(&side(join.right, right)),
                }
                nullable
            }
            Node::Filter { input, .. } | Node::Sort { input, .. } => self.nullable_columns(*input),
            Node::Limit(limit) => self.nullable_columns(limit.input),
            Node::Sample(sample) => self.nullable_columns(sample.input),
            Node::Project(project) => self.nullable_of(project.input, &project.columns).collect(),
            Node::Aggregate(aggregate) => {
                let calls = aggregate.aggregates.iter().map(|&(column, _)| column);
                let mut nullable: ColumnSet = of_info(calls.chain(aggregate.grouping_id).collect()).collect();
                match aggregate.sets {
                    Some(_) => nullable.extend(aggregate.keys.iter().map(|&(column, _)| column)),
                    None => nullable.extend(self.nullable_of(aggregate.input, &aggregate.keys)),
                }
                nullable
            }
            Node::Window(window) => {
                let mut nullable = self.nullable_columns(window.input);
                nullable.extend(of_info(window.calls.iter().map(|&(column, _)| column).collect()));
                nullable
            }
            Node::Unnest(unnest) => {
                let mut nullable = self.nullable_columns(unnest.input);
                nullable.extend(unnest.lists.iter().map(|list| list.column));
                nullable.extend(unnest.ordinality.filter(|_| unnest.outer));
                nullable
            }
            Node::Values(_)
            | Node::Scan(_)
            | Node::SetOperation(_)
            | Node::Recursive(_)
            | Node::WorkingRows { .. }
            | Node::Use(_) => of_info(self.outputs(id)).collect(),
        }
    }

    /// Returns the columns, computed from an input, that may be NULL. A column of the input is as nullable as it is
    /// there; one from outside is as nullable as it was when the expression was created.
    fn nullable_of<'c>(
        &'c self,
        input: NodeId,
        columns: &'c [(ColumnId, crate::Expr)],
    ) -> impl Iterator<Item = ColumnId> + 'c {
        let (made, nullable) = (self.output_set(input), self.nullable_columns(input));
        let may_be_null = move |(column, expr): &&(ColumnId, crate::Expr)| match expr.as_column() {
            Some(passed) if made.contains(passed) => nullable.contains(passed),
            _ => self.column(*column).nullable,
        };
        columns.iter().filter(may_be_null).map(|&(column, _)| column)
    }

    /// Copies a subtree, giving a fresh id to every column that it produces; columns from outside stay. The returned
    /// map gives the new ids.
    pub fn copy_subtree(&mut self, id: NodeId) -> (NodeId, HashMap<ColumnId, ColumnId>) {
        let mut renamed = HashMap::new();
        self.collect_fresh(id, &mut renamed);
        (self.copy_renamed(id, &renamed), renamed)
    }

    fn collect_fresh(&mut self, id: NodeId, renamed: &mut HashMap<ColumnId, ColumnId>) {
        let node = self.node(id).clone();
        for column in node.made_columns() {
            if let std::collections::hash_map::Entry::Vacant(entry) = renamed.entry(column) {
                self.columns.push(self.columns[column.index()].clone());
                entry.insert(ColumnId::new(self.columns.len() - 1));
            }
        }
        let mut subqueries = Vec::new();
        let mut bound = Vec::new();
        node.for_each_expr(&mut |expr| {
            expr.for_each(&mut |part| match &part.kind {
                crate::ExprKind::Let { column, .. } => bound.push(*column),
                crate::ExprKind::Lambda(parameters, _) => bound.extend(parameters.iter().copied()),
                crate::ExprKind::Subquery(subquery) => subqueries.push(subquery.plan),
                _ => {}
            });
        });
        for column in bound {
            let fresh = self.copy_column(column);
            renamed.insert(column, fresh);
        }
        for input in node.inputs().into_iter().chain(subqueries) {
            self.collect_fresh(input, renamed);
        }
    }

    fn copy_renamed(&mut self, id: NodeId, renamed: &HashMap<ColumnId, ColumnId>) -> NodeId {
        let node = self.node(id).clone();
        let node = node.map_inputs(&mut |input| self.copy_renamed(input, renamed));
        let node = node.map_columns(&|column| renamed.get(&column).copied().unwrap_or(column));
        let node = node.map_exprs(&mut |expr| {
            expr.transform(&mut |mut part| {
                if let crate::ExprKind::Subquery(subquery) = &mut part.kind {
                    subquery.plan = self.copy_renamed(subquery.plan, renamed);
                }
                part
            })
        });
        self.add(node)
    }
}
