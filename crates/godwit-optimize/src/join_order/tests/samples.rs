//! Joins estimated from samples.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use godwit_plan::{
    ColumnId, Comparison, Expr, ExprKind, Join, JoinKind, Node, NodeId, Plan, Relation, RelationColumn, SampleCount,
    Scan, TableSample, TableStatistics, ValueRange,
};
use godwit_types::{SqlType, Value};

use crate::estimate::Estimates;
use crate::join_order::build::join_graph;
use crate::join_order::cost::Cardinality;
use crate::join_order::region::Region;

/// A table of 1,000 rows with the columns `kind`, from 0 to 99, and `word`, which depends on the kind; or the table of
/// its 100 kinds.
#[derive(Debug)]
struct Sampled {
    columns: Vec<RelationColumn>,
    statistics: TableStatistics,
    /// The kinds of the rows that pass any filter.
    kinds: Vec<i64>,
    is_whole: bool,
    /// By column, whether it was read ahead.
    is_read: [AtomicBool; 2],
}

impl Relation for Sampled {
    fn name(&self) -> &str {
        "sampled"
    }

    fn columns(&self) -> &[RelationColumn] {
        &self.columns
    }

    fn statistics(&self) -> &TableStatistics {
        &self.statistics
    }

    fn evaluates_filters(&self) -> bool {
        true
    }

    fn sample(&self) -> Option<&dyn TableSample> {
        Some(self)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl TableSample for Sampled {
    fn passing(&self, _: &[Expr], _: &[(ColumnId, usize)]) -> Option<SampleCount> {
        Some(SampleCount { passing: self.kinds.len() as u64, rows: self.statistics.rows })
    }

    fn keys(&self, _: &[Expr], _: &[(ColumnId, usize)], column: usize) -> Option<Vec<i64>> {
        (column == 0).then(|| self.kinds.clone())
    }

    fn is_unread(&self, column: usize) -> bool {
        !self.is_read[column].load(Ordering::Relaxed)
    }

    fn read(&self, column: usize) {
        assert!(!self.is_read[column].swap(true, Ordering::Relaxed), "it was read twice");
    }

    fn is_whole(&self) -> bool {
        self.is_whole
    }
}

/// How many kinds a table has, and between which bounds.
type Kinds = (u64, ValueRange);

const ALL_KINDS: Kinds = (100, ValueRange { min: 0, max: 99 });

fn scan(plan: &mut Plan, rows: u64, kinds: Vec<i64>, is_whole: bool, (distinct, range): Kinds) -> (NodeId, Expr) {
    let column = |(name, ty): (&str, SqlType)| RelationColumn {
        name: name.to_owned(),
        ty,
        nullable: false,
        hidden: false,
        collation: None,
    };
    let columns: Vec<RelationColumn> = [("kind", SqlType::Integer), ("word", SqlType::Varchar)].map(column).into();
    let mut statistics = TableStatistics::of_rows(rows, true, 2);
    statistics.columns[0].distinct = Some(distinct);
    statistics.columns[0].range = Some(range);
    let ids: Vec<ColumnId> =
        columns.iter().map(|column| plan.add_column(column.name.clone(), column.ty.clone(), false)).collect();
    let expr = |id: ColumnId, ty| Expr::new(ExprKind::Column(id), ty, false);
    let word = Expr::literal(Value::text("x"), SqlType::Varchar);
    let filter = Expr::compare(Comparison::Equal, expr(ids[1], SqlType::Varchar), word);
    let relation = Arc::new(Sampled { columns, statistics, kinds, is_whole, is_read: Default::default() });
    let columns = ids.iter().copied().zip(0..).collect();
    let scan = plan.add(Node::Scan(Scan { relation, columns, filters: vec![filter], rows_enough: None }));
    (scan, expr(ids[0], SqlType::Integer))
}

/// A join of all 100 kinds, rows, and other rows, in this order; these kinds, and rows of `kinds_of_rows`, pass the
/// filters. Also returns the join of kinds and rows.
fn joined(kinds: Vec<i64>, kinds_of_rows: Vec<i64>, rows: u64, others: u64) -> (Plan, NodeId) {
    joined_with(kinds, kinds_of_rows, rows, others, ALL_KINDS)
}

/// Like [`joined`], with rows of these kinds before the filter.
fn joined_with(kinds: Vec<i64>, kinds_of_rows: Vec<i64>, rows: u64, others: u64, all_of_rows: Kinds) -> (Plan, NodeId) {
    let mut plan = Plan::new();
    let (all_kinds, kind) = scan(&mut plan, 100, kinds, true, ALL_KINDS);
    let (rows, kind_of_row) = scan(&mut plan, rows, kinds_of_rows, false, all_of_rows);
    let (others, kind_of_other) = scan(&mut plan, others, (0..100).collect(), false, ALL_KINDS);
    let mut join = |left, right, a: &Expr, b: Expr| {
        let conditions = vec![Expr::compare(Comparison::Equal, a.clone(), b)];
        plan.add(Node::Join(Join { kind: JoinKind::Inner, left, right, conditions }))
    };
    let first = join(all_kinds, rows, &kind, kind_of_row);
    let root = join(first, others, &kind, kind_of_other);
    plan.root = Some(root);
    (plan, first)
}

/// Estimates the rows of kinds ⨝ rows by their samples. Also returns the columns that were read ahead: the kinds' and
/// words' of each table.
fn measured((mut plan, _): (Plan, NodeId)) -> (f64, Vec<[bool; 2]>) {
    let read = |columns: &[(&dyn TableSample, usize)]| columns.iter().for_each(|(sample, column)| sample.read(*column));
    let estimates = Estimates::new(&plan, Some(Arc::new(read)));
    let region = Region::collect(&plan, plan.root.unwrap()).expect("it is a region");
    let graph = join_graph(&mut plan, region, &estimates);
    let is_read = |relation: &dyn Relation| {
        let sampled = relation.as_any().downcast_ref::<Sampled>().expect("all relations are");
        [0, 1].map(|column| sampled.is_read[column].load(Ordering::Relaxed))
    };
    let relations = graph.relations.iter().map(|relation| match plan.node(relation.node) {
        Node::Scan(scan) => is_read(&*scan.relation),
        _ => panic!("relations are scans"),
    });
    (Cardinality::new(&graph).rows_of(0b11), relations.collect())
}

fn joined_rows(kinds: Vec<i64>, kinds_of_rows: Vec<i64>) -> f64 {
    measured(joined(kinds, kinds_of_rows, 1_000, 1_000)).0
}

#[test]
fn the_center_of_a_star_is_not_sampled() {
    let of_rows = |rows| measured(joined(vec![3], vec![3; rows], 10_000, 1_000));
    // All rows are of this kind. Words are read for the filters; the only kinds that are read first, not ahead.
    let (rows, is_read) = of_rows(500);
    assert_eq!((rows, &is_read[..]), (500.0, &[[false, true], [true, true], [true, true]][..]));
    // Sixteen times as many rows as the others: as if kinds were equally frequent.
    let (rows, is_read) = of_rows(5_000);
    assert_eq!((rows, &is_read[..]), (50.0, &[[false, true]; 3][..]));
}

#[test]
fn keys_that_the_other_side_can_not_have_join_with_nothing() {
    let rows = |kinds: Vec<i64>| {
        let (plan, first) = joined(kinds, vec![0; 500], 1_000, 1_000);
        Estimates::new(&plan, None).rows(&plan, first)
    };
    // Of 500 rows of 100 kinds.
    assert_eq!(rows((0..10).collect()), 50.0);
    assert_eq!(rows((95..105).collect()), 25.0);
    assert!(rows((200..210).collect()) < 5.0);
    assert!(rows(Vec::new()) < 5.0);
}

#[test]
fn rows_of_few_kinds_between_narrow_bounds_are_of_the_kinds_there() {
    let rows = |kinds: Vec<i64>| {
        let in_bounds = (4, ValueRange { min: 40, max: 59 });
        let (plan, first) = joined_with(kinds, vec![0; 500], 1_000, 1_000, in_bounds);
        Estimates::new(&plan, None).rows(&plan, first)
    };
    assert_eq!(rows((40..60).collect()), 500.0);
    assert_eq!(rows((30..50).collect()), 250.0);
    assert!(rows((0..20).collect()) <= 25.0);
}

#[test]
fn keys_of_a_whole_table_are_looked_for_in_samples() {
    // All rows are of the one kind: independence would keep one in a hundred.
    assert_eq!(joined_rows(vec![3], vec![3; 50]), 50.0);
    // None is, though one in a hundred was expected: believed only if ten pairs were expected.
    assert!(joined_rows(vec![3], vec![4; 50]) <= 1.0);
    assert!(joined_rows((0..50).collect(), vec![70; 50]) <= 1.0);
    // As expected.
    assert_eq!(joined_rows((0..50).collect(), (0..100).collect()), 50.0);
}
