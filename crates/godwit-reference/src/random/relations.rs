//! Random trees of nodes.

use godwit_plan::{
    Aggregate, ColumnId, Comparison, Expr, Join, JoinKind, Node, NodeId, Project, Relation, Scan, SetOperation,
    SetOperator, SharedPlan, Unnest, UnnestedList, Use, Values,
};
use godwit_types::SqlType;

use super::{COLUMNS_MAX, Planner, Visible};
use crate::functions::TestFunctions;

impl Planner {
    /// Makes a relation whose expressions may use columns of enclosing queries.
    pub(super) fn relation(&mut self, depth: usize, outer: &[Expr]) -> NodeId {
        if depth == 0 || !self.may_grow() {
            return self.source(outer);
        }
        let depth = depth - 1;
        let node = match self.numbers.below(20) {
            0..3 => self.filter(depth, outer),
            3..5 => self.project(depth, outer),
            5..11 => self.join(depth, outer),
            11..14 => self.aggregate(depth, outer),
            14 => self.window(depth, outer),
            15 => {
                let input = self.relation(depth, outer);
                self.first_rows(input, outer, None)
            }
            16 => self.set_operation(depth, outer),
            17 => self.unnest(depth, outer),
            18 => self.recursion(depth, outer),
            _ => self.use_of_shared(depth),
        };
        self.narrowed(node)
    }

    /// Makes a relation for a subquery, correlated more often than not.
    pub(super) fn correlated(&mut self, depth: usize, outer: &[Expr]) -> NodeId {
        let input = self.relation(depth.min(2), outer);
        let local = self.columns(input);
        if outer.is_empty() || local.is_empty() || self.numbers.chance(20) {
            return input;
        }
        let conditions: Vec<Expr> = (0..1 + self.numbers.below(2)).filter_map(|_| self.link(&local, outer)).collect();
        if conditions.is_empty() { input } else { self.plan.add(Node::Filter { input, conditions }) }
    }

    /// Compares a column with one of `others`, if there are two of the same type; usually keys.
    fn link(&mut self, columns: &[Expr], others: &[Expr]) -> Option<Expr> {
        let fits = |(a, b): &(&Expr, &Expr)| a.ty == b.ty;
        let pairs = columns.iter().flat_map(|a| others.iter().map(move |b| (a, b))).filter(fits);
        let pairs: Vec<(&Expr, &Expr)> = pairs.collect();
        let (a, b) = *pairs.get(self.numbers.below(pairs.len()))?;
        let comparisons = [Comparison::LessOrEqual, Comparison::NotDistinct, Comparison::NotEqual];
        let comparison = if self.numbers.chance(65) { Comparison::Equal } else { *self.numbers.pick(&comparisons) };
        Some(Expr::compare(comparison, a.clone(), b.clone()))
    }

    /// Cuts excess columns.
    fn narrowed(&mut self, node: NodeId) -> NodeId {
        let mut columns = self.columns(node);
        if columns.len() <= COLUMNS_MAX {
            return node;
        }
        while columns.len() > COLUMNS_MAX {
            columns.remove(self.numbers.below(columns.len()));
        }
        let passed = |column: Expr| (column.as_column().expect("outputs are columns"), column);
        self.plan.add(Node::Project(Project { input: node, columns: columns.into_iter().map(passed).collect() }))
    }

    fn source(&mut self, outer: &[Expr]) -> NodeId {
        if let Some((of, columns)) = self.working.clone()
            && self.numbers.chance(40)
        {
            let columns = columns.into_iter().map(|column| self.plan.copy_column(column)).collect();
            return self.plan.add(Node::WorkingRows { of, columns });
        }
        match self.numbers.below(10) {
            0 => self.values(outer),
            1 if !self.shared.is_empty() => self.use_of_shared(0),
            _ => self.scan(outer),
        }
    }

    fn scan(&mut self, outer: &[Expr]) -> NodeId {
        let table = self.numbers.pick(&self.tables).clone();
        let mut columns = Vec::new();
        for (position, column) in table.columns().iter().enumerate() {
            let name = format!("{}.{}", table.name(), column.name);
            columns.push((self.plan.add_column(name, column.ty.clone(), column.nullable), position));
        }
        let visible: Vec<Expr> =
            columns.iter().map(|&(id, at)| self.column(id, table.columns()[at].nullable)).collect();
        let mut filters = Vec::new();
        if outer.is_empty() && self.numbers.chance(10) {
            let literal = Expr::literal(godwit_types::Value::Integer(1), SqlType::Integer);
            filters.push(Expr::compare(Comparison::LessOrEqual, visible[0].clone(), literal));
        }
        self.plan.add(Node::Scan(Scan { relation: table, columns, filters, rows_enough: None }))
    }

    fn values(&mut self, outer: &[Expr]) -> NodeId {
        let types: Vec<SqlType> = (0..1 + self.numbers.below(2)).map(|_| self.type_of_column()).collect();
        let visible = Visible { local: &[], outer };
        let mut rows = Vec::new();
        for _ in 0..self.numbers.below(4) {
            rows.push(types.iter().map(|ty| self.expr(ty, 1, visible)).collect::<Vec<_>>());
        }
        let nullable = |index: usize| rows.iter().any(|row: &Vec<Expr>| row[index].nullable);
        let columns = types.iter().enumerate();
        let columns = columns.map(|(index, ty)| self.plan.add_column("v", ty.clone(), nullable(index))).collect();
        self.plan.add(Node::Values(Values { columns, rows }))
    }

    fn filter(&mut self, depth: usize, outer: &[Expr]) -> NodeId {
        let input = self.relation(depth, outer);
        let local = self.columns(input);
        let visible = Visible { local: &local, outer };
        let conditions = (0..1 + self.numbers.below(5) / 4).map(|_| self.weak_condition(visible)).collect();
        self.plan.add(Node::Filter { input, conditions })
    }

    fn project(&mut self, depth: usize, outer: &[Expr]) -> NodeId {
        let input = self.relation(depth, outer);
        let local = self.columns(input);
        let mut columns: Vec<(ColumnId, Expr)> = Vec::new();
        for column in &local {
            if self.numbers.chance(50) {
                columns.push((column.as_column().expect("outputs are columns"), column.clone()));
            }
        }
        for _ in 0..1 + self.numbers.below(2) {
            let ty = self.type_of_column();
            let value = self.expr(&ty, 2, Visible { local: &local, outer });
            columns.push((self.plan.add_column("p", ty, value.nullable), value));
        }
        self.plan.add(Node::Project(Project { input, columns }))
    }

    fn join(&mut self, depth: usize, outer: &[Expr]) -> NodeId {
        let left = self.relation(depth, outer);
        let left_columns = self.columns(left);
        match self.numbers.below(14) {
            0 => return self.as_of(left, &left_columns, depth, outer),
            1 if self.numbers.chance(30) => return self.positional(left, depth, outer),
            _ => {}
        }
        let mut kind = self
            .numbers
            .pick(&[
                JoinKind::Inner,
                JoinKind::Inner,
                JoinKind::Left,
                JoinKind::Left,
                JoinKind::Right,
                JoinKind::Full,
                JoinKind::Semi,
                JoinKind::Anti,
                JoinKind::Single,
                JoinKind::RightSemi,
                JoinKind::RightAnti,
            ])
            .clone();
        let from_right = matches!(kind, JoinKind::Right | JoinKind::Full | JoinKind::RightSemi | JoinKind::RightAnti);
        let around = [left_columns.as_slice(), outer].concat();
        let right = match kind {
            _ if from_right => self.relation(depth, outer),
            JoinKind::Single => {
                let input = self.correlated(depth, &around);
                self.first_rows(input, &around, Some(1))
            }
            _ if self.numbers.chance(40) => self.correlated(depth, &around),
            _ => self.relation(depth, outer),
        };
        let right_columns = self.columns(right);
        let local = [left_columns.as_slice(), &right_columns].concat();
        let visible = Visible { local: &local, outer };
        let mut conditions: Vec<Expr> = self.link(&left_columns, &right_columns).into_iter().collect();
        if self.numbers.chance(25) {
            conditions.push(self.weak_condition(visible));
        }
        if !from_right && self.numbers.chance(15) {
            let links = (0..self.numbers.below(3)).filter_map(|_| self.link(&left_columns, &right_columns));
            let compare: Vec<Expr> = links.collect();
            let nullable = compare.iter().any(|conjunct| conjunct.nullable);
            kind = JoinKind::Mark { mark: self.plan.add_column("mark", SqlType::Boolean, nullable), compare };
        }
        self.plan.add(Node::Join(Join { kind, left, right, conditions }))
    }

    /// The right side has each key once, so that the nearest row is unique.
    fn as_of(&mut self, left: NodeId, left_columns: &[Expr], depth: usize, outer: &[Expr]) -> NodeId {
        let input = self.relation(depth, outer);
        let local = self.columns(input);
        let key = self.expr(&SqlType::Integer, 1, Visible { local: &local, outer });
        let id = key.as_column().filter(|&column| local.iter().any(|local| local.as_column() == Some(column)));
        let id = id.unwrap_or_else(|| self.plan.add_column("k", SqlType::Integer, key.nullable));
        let count = self.plan.add_column("n", SqlType::BigInt, false);
        let aggregates = vec![(count, TestFunctions.aggregate_call("count", Vec::new()))];
        let nullable = key.nullable;
        let aggregate = Aggregate { input, keys: vec![(id, key)], sets: None, grouping_id: None, aggregates };
        let right = self.plan.add(Node::Aggregate(aggregate));
        let comparisons = [Comparison::Less, Comparison::LessOrEqual, Comparison::Greater, Comparison::GreaterOrEqual];
        let kind = JoinKind::AsOf {
            outer: self.numbers.chance(50),
            comparison: *self.numbers.pick(&comparisons),
            left: Box::new(self.expr(&SqlType::Integer, 1, Visible { local: left_columns, outer })),
            right: Box::new(self.column(id, nullable)),
        };
        self.plan.add(Node::Join(Join { kind, left, right, conditions: Vec::new() }))
    }

    fn positional(&mut self, left: NodeId, depth: usize, outer: &[Expr]) -> NodeId {
        let right = self.relation(depth, outer);
        let (left, right) = (self.sorted(left), self.sorted(right));
        self.plan.add(Node::Join(Join { kind: JoinKind::Positional, left, right, conditions: Vec::new() }))
    }

    fn aggregate(&mut self, depth: usize, outer: &[Expr]) -> NodeId {
        let input = self.relation(depth, outer);
        let local = self.columns(input);
        let visible = Visible { local: &local, outer };
        let has_sets = self.numbers.chance(20);
        let mut keys: Vec<(ColumnId, Expr)> = Vec::new();
        for _ in 0..self.numbers.below(3) {
            let ty = self.type_of_column();
            let key = self.expr(&ty, 1, visible);
            let own =
                key.as_column().filter(|&own| !has_sets && local.iter().any(|local| local.as_column() == Some(own)));
            let id = own.unwrap_or_else(|| self.plan.add_column("k", ty, key.nullable || has_sets));
            if keys.iter().all(|&(other, _)| other != id) {
                keys.push((id, key));
            }
        }
        let sets = has_sets.then(|| {
            let mut set = || (0..keys.len()).filter(|_| self.numbers.chance(50)).collect();
            (0..3).map(|_| set()).collect()
        });
        let grouping_id = sets.as_ref().map(|_| self.plan.add_column("grouping", SqlType::BigInt, false));
        let mut aggregates = Vec::new();
        for _ in 0..self.numbers.below(3) {
            let call = self.aggregate_call(visible);
            aggregates.push((self.plan.add_column("g", call.ty.clone(), call.nullable), call));
        }
        let node = self.plan.add(Node::Aggregate(Aggregate { input, keys, sets, grouping_id, aggregates }));
        if !self.numbers.chance(25) {
            return node;
        }
        let local = self.columns(node);
        let having = self.weak_condition(Visible { local: &local, outer });
        self.plan.add(Node::Filter { input: node, conditions: vec![having] })
    }

    fn set_operation(&mut self, depth: usize, outer: &[Expr]) -> NodeId {
        let types: Vec<SqlType> = (0..1 + self.numbers.below(2)).map(|_| self.type_of_column()).collect();
        let operator =
            *self.numbers.pick(&[SetOperator::Union, SetOperator::Union, SetOperator::Intersect, SetOperator::Except]);
        let count = if operator == SetOperator::Union { 2 + self.numbers.below(2) } else { 2 };
        let mut nullable = vec![false; types.len()];
        let mut inputs = Vec::new();
        for _ in 0..count {
            let (node, columns) = self.of_types(&types, depth, outer);
            let found = self.plan.nullable_columns(node);
            nullable.iter_mut().zip(&columns).for_each(|(nullable, &column)| *nullable |= found.contains(column));
            inputs.push((node, columns));
        }
        let columns = types.into_iter().zip(nullable).map(|(ty, nullable)| self.plan.add_column("u", ty, nullable));
        let columns = columns.collect();
        self.plan.add(Node::SetOperation(SetOperation { operator, all: self.numbers.chance(50), columns, inputs }))
    }

    /// Makes a relation with columns of these types.
    pub(super) fn of_types(&mut self, types: &[SqlType], depth: usize, outer: &[Expr]) -> (NodeId, Vec<ColumnId>) {
        let input = self.relation(depth, outer);
        let local = self.columns(input);
        let visible = Visible { local: &local, outer };
        let values: Vec<Expr> = types.iter().map(|ty| self.expr(ty, 1, visible)).collect();
        let columns =
            values.into_iter().map(|value| (self.plan.add_column("o", value.ty.clone(), value.nullable), value));
        let columns: Vec<(ColumnId, Expr)> = columns.collect();
        let ids = columns.iter().map(|&(column, _)| column).collect();
        (self.plan.add(Node::Project(Project { input, columns })), ids)
    }

    fn unnest(&mut self, depth: usize, outer: &[Expr]) -> NodeId {
        let input = self.relation(depth, outer);
        let local = self.columns(input);
        let visible = Visible { local: &local, outer };
        let mut lists = Vec::new();
        for _ in 0..1 + self.numbers.below(2) {
            let ty = self.type_of_column();
            let list = if self.numbers.chance(30) {
                self.expr(&SqlType::list_of(ty.clone()), 1, visible)
            } else {
                let values = (0..1 + self.numbers.below(3)).map(|_| self.expr(&ty, 1, visible)).collect();
                TestFunctions.call("list_value", values)
            };
            lists.push(UnnestedList { column: self.plan.add_column("e", ty, true), list });
        }
        let outer = self.numbers.chance(40);
        let ordinality = self.numbers.chance(40).then(|| self.plan.add_column("at", SqlType::BigInt, outer));
        self.plan.add(Node::Unnest(Unnest { input, lists, ordinality, outer }))
    }

    fn use_of_shared(&mut self, depth: usize) -> NodeId {
        if self.shared.is_empty() || (depth > 0 && self.shared.len() < 3 && self.numbers.chance(50)) {
            let working = self.working.take();
            let root = self.relation(depth, &[]);
            self.working = working;
            let materialized = *self.numbers.pick(&[None, None, Some(true), Some(false)]);
            let shared = SharedPlan { name: format!("w{}", self.shared.len()), root, materialized };
            let id = self.plan.add_shared(shared);
            self.shared.push(id);
        }
        let shared = *self.numbers.pick(&self.shared);
        let root = self.plan.shared(shared).root;
        let mut columns = Vec::new();
        for column in self.columns(root) {
            let inner = column.as_column().expect("outputs are columns");
            let name = self.plan.column(inner).name.clone();
            columns.push((self.plan.add_column(name, column.ty, column.nullable), inner));
        }
        self.plan.add(Node::Use(Use { shared, columns }))
    }
}
