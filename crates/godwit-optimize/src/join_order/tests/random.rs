//! Random trees of joins over tiny tables full of NULLs have the same rows before and after, whatever the statistics
//! say.

use std::any::Any;
use std::sync::Arc;

use godwit_plan::{
    Arithmetic, ColumnId, Comparison, Expr, ExprKind, Join, JoinKind, Node, NodeId, OutputColumn, Plan, Project,
    Relation, RelationColumn, Scan, TableStatistics,
};
use godwit_reference::{MemoryTable, agree, evaluate};
use godwit_types::{SqlType, Value};

use super::{joins, ordered, tables};

/// A table whose statistics report an unrelated number of rows, so that all orders are tried.
#[derive(Debug)]
struct Pretended {
    table: MemoryTable,
    statistics: TableStatistics,
}

impl Relation for Pretended {
    fn name(&self) -> &str {
        self.table.name()
    }

    fn columns(&self) -> &[RelationColumn] {
        self.table.columns()
    }

    fn statistics(&self) -> &TableStatistics {
        &self.statistics
    }

    fn evaluates_filters(&self) -> bool {
        true
    }

    fn as_any(&self) -> &dyn Any {
        self.table.as_any()
    }
}

/// Marsaglia's xorshift.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) as usize % end
    }

    fn pick<'t, T>(&mut self, from: &'t [T]) -> &'t T {
        &from[self.below(from.len())]
    }
}

struct Maker {
    random: Random,
    plan: Plan,
    tables: usize,
    /// Maximum number of rows of a table.
    rows_max: usize,
}

impl Maker {
    fn scan(&mut self) -> NodeId {
        let random = &mut self.random;
        let value = |random: &mut Random| match random.below(4) {
            0 => Value::Null,
            number => Value::Integer(number as i128),
        };
        let rows = (0..random.below(self.rows_max + 1)).map(|_| vec![value(random), value(random)]).collect();
        let name = format!("t{}", self.tables);
        let table = MemoryTable::new(&name, &[("a", SqlType::Integer), ("b", SqlType::Integer)], rows);
        let columns: Vec<(ColumnId, usize)> = table
            .columns()
            .iter()
            .enumerate()
            .map(|(at, column)| {
                (self.plan.add_column(format!("{name}{}", column.name), column.ty.clone(), column.nullable), at)
            })
            .collect();
        let statistics = TableStatistics::of_rows(10_u64.pow(random.below(6) as u32), false, 2);
        self.tables += 1;
        let relation = Arc::new(Pretended { table, statistics });
        self.plan.add(Node::Scan(Scan { relation, columns, filters: Vec::new(), rows_enough: None }))
    }

    /// Picks a column of one of the nodes, nullable as it is there.
    fn column(&mut self, nodes: &[NodeId]) -> Expr {
        let node = *self.random.pick(nodes);
        let column = *self.random.pick(&self.plan.outputs(node));
        let nullable = self.plan.nullable_columns(node).contains(column);
        Expr::new(ExprKind::Column(column), SqlType::Integer, nullable)
    }

    fn value(&mut self, nodes: &[NodeId]) -> Expr {
        let column = self.column(nodes);
        match self.random.below(10) {
            0 => {
                let other = self.column(nodes);
                let nullable = column.nullable || other.nullable;
                let kind = ExprKind::Arithmetic(Arithmetic::Add, Box::new(column), Box::new(other));
                Expr::new(kind, SqlType::Integer, nullable)
            }
            1..4 => {
                let one = Expr::literal(Value::Integer(1), SqlType::Integer);
                Expr::new(ExprKind::Coalesce(vec![column, one]), SqlType::Integer, false)
            }
            _ => column,
        }
    }

    /// Builds a condition over nodes, mostly an equality of the first and the last.
    fn condition(&mut self, nodes: &[NodeId]) -> Expr {
        let (left, right) = (self.value(&nodes[..1]), self.value(&nodes[nodes.len() - 1..]));
        match self.random.below(16) {
            0 => Expr::compare(Comparison::Less, left, right),
            1 => Expr::compare(Comparison::NotDistinct, left, right),
            2 => left.is_null(),
            3 => Expr::compare(Comparison::NotEqual, right, Expr::literal(Value::Integer(2), SqlType::Integer)),
            4 => {
                let other = self.value(nodes);
                Expr::or([Expr::compare(Comparison::Equal, left, right), other.is_null()])
            }
            5 => {
                let (a, b) = (self.column(nodes), self.column(nodes));
                let nullable = a.nullable || b.nullable;
                let sum = ExprKind::Arithmetic(Arithmetic::Add, Box::new(a), Box::new(b));
                Expr::compare(Comparison::Equal, Expr::new(sum, SqlType::Integer, nullable), right)
            }
            6 => Expr::boolean(true),
            _ => Expr::compare(Comparison::Equal, left, right),
        }
    }

    fn tree(&mut self, relations: usize) -> NodeId {
        if relations == 1 {
            return self.scan();
        }
        let of_left = 1 + self.random.below(relations - 1);
        let (left, right) = (self.tree(of_left), self.tree(relations - of_left));
        let kind = match self.random.below(14) {
            0..5 => JoinKind::Inner,
            5..8 => JoinKind::Left,
            8 => JoinKind::Right,
            9..11 => JoinKind::Full,
            11 => JoinKind::Semi,
            12 => JoinKind::Anti,
            _ => JoinKind::RightAnti,
        };
        let conditions = (0..1 + self.random.below(5) / 3).map(|_| self.condition(&[left, right])).collect();
        let join = self.plan.add(Node::Join(Join { kind, left, right, conditions }));
        match self.random.below(6) {
            0 => {
                let conditions = vec![self.condition(&[join])];
                self.plan.add(Node::Filter { input: join, conditions })
            }
            1 => {
                let mut columns = self.plan.outputs(join);
                columns.truncate(columns.len().max(2) - 1);
                let nullable = self.plan.nullable_columns(join);
                let passed =
                    |column| (column, Expr::new(ExprKind::Column(column), SqlType::Integer, nullable.contains(column)));
                let columns = columns.into_iter().map(passed).collect();
                self.plan.add(Node::Project(Project { input: join, columns }))
            }
            _ => join,
        }
    }
}

fn random_plan(seed: u64, relations: usize, rows_max: usize) -> Plan {
    let random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let mut maker = Maker { random, plan: Plan::new(), tables: 0, rows_max };
    let root = maker.tree(relations);
    let mut plan = maker.plan;
    let output = |column| OutputColumn { name: plan.column(column).name.clone(), column };
    plan.output = plan.outputs(root).into_iter().map(output).collect();
    plan.root = Some(root);
    plan
}

/// Compares trees before and after; returns how many changed and how many have rows.
fn compare(plans: impl Iterator<Item = Plan>) -> (usize, usize) {
    let (mut changed, mut with_rows) = (0, 0);
    for (seed, before) in plans.enumerate() {
        let after = ordered(before.clone());
        let (expected, found) = (evaluate(&before, &[]), evaluate(&after, &[]));
        if let Err(difference) = agree(&expected, &found) {
            panic!("seed {seed}: {difference}\n{}\n{}", before.display(), after.display());
        }
        let shape = |plan: &Plan| -> Vec<_> { joins(plan).iter().map(|join| tables(plan, join.left)).collect() };
        changed += usize::from(shape(&before) != shape(&after));
        with_rows += usize::from(expected.is_ok_and(|rows| !rows.is_empty()));
    }
    (changed, with_rows)
}

#[test]
fn random_trees_keep_their_rows() {
    let seeds = 6_000;
    let (changed, with_rows) = compare((0..seeds as u64).map(|seed| random_plan(seed, 2 + seed as usize % 5, 4)));
    assert!(changed > seeds / 3, "{changed} of {seeds} trees were changed");
    assert!(with_rows > seeds / 3, "{with_rows} of {seeds} trees have rows");
}

#[test]
fn random_trees_that_are_searched_along_lines_keep_their_rows() {
    let seeds = 200;
    let (changed, with_rows) = compare((0..seeds as u64).map(|seed| random_plan(seed, 14, 2)));
    assert!(changed > seeds / 2, "{changed} of {seeds} trees were changed");
    assert!(with_rows > seeds / 10, "{with_rows} of {seeds} trees have rows");
}
