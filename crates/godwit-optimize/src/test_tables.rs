//! TPC-H's tables with the statistics of scale factor 1, and plans over them, for tests.

use std::any::Any;
use std::collections::HashMap;
use std::sync::Arc;

use godwit_plan::{
    ColumnId, ColumnStatistics, Comparison, Expr, ExprKind, Join, JoinKind, Match, Node, NodeId, Plan, Project,
    Relation, RelationColumn, Scan, TableStatistics, ValueRange,
};
use godwit_types::{SqlType, Value};

/// A table of which only the statistics are known.
#[derive(Debug)]
pub(crate) struct Sketch {
    name: String,
    columns: Vec<RelationColumn>,
    statistics: TableStatistics,
}

impl Relation for Sketch {
    fn name(&self) -> &str {
        &self.name
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

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// Values of a column.
#[derive(Clone)]
enum Kind {
    Integer(i128, i128),
    Decimal(i128, i128),
    Date(i128, i128),
    /// Distinct values, if they are known, and average bytes.
    Text(Option<u64>, f64),
}

/// Creates a table of these columns.
fn sketch(name: &str, rows: u64, columns: &[(&str, Kind)]) -> Arc<Sketch> {
    let ty = |kind: &Kind| match kind {
        Kind::Integer(..) => SqlType::BigInt,
        Kind::Decimal(..) => SqlType::decimal(15, 2),
        Kind::Date(..) => SqlType::Date,
        Kind::Text(..) => SqlType::Varchar,
    };
    let of_column = |(_, kind): &(&str, Kind)| {
        let known = ColumnStatistics { null_count: Some(0), ..ColumnStatistics::default() };
        match *kind {
            Kind::Integer(min, max) | Kind::Decimal(min, max) | Kind::Date(min, max) => {
                ColumnStatistics { range: Some(ValueRange { min, max }), ..known }
            }
            Kind::Text(distinct, bytes) => ColumnStatistics {
                min: Some(Value::text(" ")),
                max: Some(Value::text("z")),
                distinct,
                average_bytes: Some(bytes),
                ..known
            },
        }
    };
    let column = |(name, kind): &(&str, Kind)| RelationColumn {
        name: (*name).to_owned(),
        ty: ty(kind),
        nullable: false,
        hidden: false,
        collation: None,
    };
    let statistics = TableStatistics { rows, rows_exact: true, columns: columns.iter().map(of_column).collect() };
    Arc::new(Sketch { name: name.to_owned(), columns: columns.iter().map(column).collect(), statistics })
}

/// The names of TPC-H's tables.
pub(crate) const TPCH_TABLES: [&str; 8] =
    ["region", "nation", "supplier", "customer", "part", "partsupp", "orders", "lineitem"];

/// Creates a table of TPC-H.
pub(crate) fn tpch_table(name: &str) -> Arc<Sketch> {
    use Kind::{Date, Decimal, Integer, Text};
    let (rows, columns): (u64, &[(&str, Kind)]) = match name {
        "region" => {
            (5, &[("r_regionkey", Integer(0, 4)), ("r_name", Text(Some(5), 7.0)), ("r_comment", Text(None, 66.0))])
        }
        "nation" => (
            25,
            &[
                ("n_nationkey", Integer(0, 24)),
                ("n_name", Text(Some(25), 8.0)),
                ("n_regionkey", Integer(0, 4)),
                ("n_comment", Text(None, 70.0)),
            ],
        ),
        "supplier" => (
            10_000,
            &[
                ("s_suppkey", Integer(1, 10_000)),
                ("s_name", Text(None, 18.0)),
                ("s_address", Text(None, 25.0)),
                ("s_nationkey", Integer(0, 24)),
                ("s_phone", Text(None, 15.0)),
                ("s_acctbal", Decimal(-99_999, 999_999)),
                ("s_comment", Text(None, 62.0)),
            ],
        ),
        "customer" => (
            150_000,
            &[
                ("c_custkey", Integer(1, 150_000)),
                ("c_name", Text(None, 18.0)),
                ("c_address", Text(None, 25.0)),
                ("c_nationkey", Integer(0, 24)),
                ("c_phone", Text(None, 15.0)),
                ("c_acctbal", Decimal(-99_999, 999_999)),
                ("c_mktsegment", Text(Some(5), 9.0)),
                ("c_comment", Text(None, 72.0)),
            ],
        ),
        "part" => (
            200_000,
            &[
                ("p_partkey", Integer(1, 200_000)),
                ("p_name", Text(None, 33.0)),
                ("p_mfgr", Text(Some(5), 14.0)),
                ("p_brand", Text(Some(25), 8.0)),
                ("p_type", Text(Some(150), 20.0)),
                ("p_size", Integer(1, 50)),
                ("p_container", Text(Some(40), 8.0)),
                ("p_retailprice", Decimal(90_000, 210_000)),
                ("p_comment", Text(None, 14.0)),
            ],
        ),
        "partsupp" => (
            800_000,
            &[
                ("ps_partkey", Integer(1, 200_000)),
                ("ps_suppkey", Integer(1, 10_000)),
                ("ps_availqty", Integer(1, 9_999)),
                ("ps_supplycost", Decimal(100, 100_000)),
                ("ps_comment", Text(None, 124.0)),
            ],
        ),
        "orders" => (
            1_500_000,
            &[
                ("o_orderkey", Integer(1, 6_000_000)),
                ("o_custkey", Integer(1, 149_999)),
                ("o_orderdate", Date(8_035, 10_440)),
                ("o_orderstatus", Text(Some(3), 1.0)),
                ("o_totalprice", Decimal(80_000, 60_000_000)),
                ("o_orderpriority", Text(Some(5), 8.0)),
                ("o_clerk", Text(None, 15.0)),
                ("o_shippriority", Integer(0, 0)),
                ("o_comment", Text(None, 49.0)),
            ],
        ),
        "lineitem" => (
            6_001_215,
            &[
                ("l_orderkey", Integer(1, 6_000_000)),
                ("l_partkey", Integer(1, 200_000)),
                ("l_suppkey", Integer(1, 10_000)),
                ("l_linenumber", Integer(1, 7)),
                ("l_quantity", Decimal(100, 5_000)),
                ("l_extendedprice", Decimal(90_000, 10_500_000)),
                ("l_discount", Decimal(0, 10)),
                ("l_tax", Decimal(0, 8)),
                ("l_returnflag", Text(Some(3), 1.0)),
                ("l_linestatus", Text(Some(2), 1.0)),
                ("l_shipdate", Date(8_036, 10_561)),
                ("l_commitdate", Date(8_066, 10_530)),
                ("l_receiptdate", Date(8_038, 10_591)),
                ("l_shipinstruct", Text(Some(4), 12.0)),
                ("l_shipmode", Text(Some(7), 4.0)),
                ("l_comment", Text(None, 27.0)),
            ],
        ),
        other => panic!("no table {other}"),
    };
    sketch(name, rows, columns)
}

/// A plan under construction, with its columns by name.
#[derive(Clone, Default)]
pub(crate) struct Query {
    pub(crate) plan: Plan,
    columns: HashMap<String, ColumnId>,
}

impl Query {
    /// Scans a table of TPC-H: `"nation"`, or `"nation n1"` with columns such as `n1.n_name`.
    pub(crate) fn scan(&mut self, table: &str) -> NodeId {
        let (table, prefix) = match table.split_once(' ') {
            Some((table, alias)) => (table, format!("{alias}.")),
            None => (table, String::new()),
        };
        self.scan_of(tpch_table(table), &prefix)
    }

    /// Scans a table, `r0` for example, of `rows` rows with integer columns: `r0.a` with the given number of distinct
    /// values each.
    pub(crate) fn scan_of_integers(&mut self, name: &str, rows: u64, columns: &[(&str, i128)]) -> NodeId {
        let columns: Vec<(&str, Kind)> =
            columns.iter().map(|&(name, values)| (name, Kind::Integer(1, values))).collect();
        self.scan_of(sketch(name, rows, &columns), &format!("{name}."))
    }

    fn scan_of(&mut self, relation: Arc<Sketch>, prefix: &str) -> NodeId {
        let mut columns = Vec::new();
        for (position, column) in relation.columns.iter().enumerate() {
            let id = self.plan.add_column(column.name.clone(), column.ty.clone(), column.nullable);
            self.columns.insert(format!("{prefix}{}", column.name), id);
            columns.push((id, position));
        }
        self.plan.add(Node::Scan(Scan { relation, columns, filters: Vec::new(), rows_enough: None }))
    }

    /// Scans a table with conditions evaluated by the scan.
    pub(crate) fn scan_where(&mut self, table: &str, conditions: &[&str]) -> NodeId {
        let scan = self.scan(table);
        let Node::Scan(mut scan) = self.plan.node(scan).clone() else { unreachable!("a scan was made") };
        scan.filters = conditions.iter().map(|condition| self.condition(condition)).collect();
        self.plan.add(Node::Scan(scan))
    }

    /// Returns the id of a column.
    pub(crate) fn id(&self, name: &str) -> ColumnId {
        *self.columns.get(name).unwrap_or_else(|| panic!("no column {name}"))
    }

    /// Returns a column as an expression.
    pub(crate) fn column(&self, name: &str) -> Expr {
        let id = self.id(name);
        let info = self.plan.column(id);
        Expr::new(ExprKind::Column(id), info.ty.clone(), info.nullable)
    }

    /// Builds `a op b`, where `a` is a column, and `b` a column, `'text'`, or a number in the column's unit (days for
    /// dates).
    pub(crate) fn condition(&self, text: &str) -> Expr {
        let mut words = text.splitn(3, ' ');
        let mut word = || words.next().unwrap_or_else(|| panic!("{text} has three words"));
        let (left, op, right) = (self.column(word()), word(), word());
        let ty = left.ty.clone();
        let right = match right.strip_prefix('\'') {
            Some(literal) => Expr::literal(Value::text(literal.trim_end_matches('\'')), SqlType::Varchar),
            None => match right.parse::<i128>() {
                Ok(days) if ty == SqlType::Date => Expr::literal(Value::Date(days as i32), ty),
                Ok(number) => Expr::literal(Value::Integer(number), ty),
                Err(_) => self.column(right),
            },
        };
        let comparison = match op {
            "=" => Comparison::Equal,
            "<>" => Comparison::NotEqual,
            "<" => Comparison::Less,
            "<=" => Comparison::LessOrEqual,
            ">" => Comparison::Greater,
            ">=" => Comparison::GreaterOrEqual,
            "LIKE" => {
                let (input, pattern) = (Box::new(left), Box::new(right));
                let kind = ExprKind::Match { kind: Match::Like, input, pattern, escape: None };
                return Expr::new(kind, SqlType::Boolean, false);
            }
            other => panic!("no operator {other}"),
        };
        Expr::compare(comparison, left, right)
    }

    /// Builds conditions that are joined by AND in the text.
    pub(crate) fn conditions(&self, text: &str) -> Vec<Expr> {
        text.split(" AND ").filter(|part| !part.is_empty()).map(|part| self.condition(part)).collect()
    }

    /// Adds a join.
    pub(crate) fn join(&mut self, kind: JoinKind, left: NodeId, right: NodeId, conditions: &str) -> NodeId {
        let conditions = self.conditions(conditions);
        self.plan.add(Node::Join(Join { kind, left, right, conditions }))
    }

    /// Adds cross products from left to right, and a filter above: FROM and WHERE.
    pub(crate) fn filtered_product(&mut self, inputs: &[NodeId], conditions: &str) -> NodeId {
        let product = |query: &mut Self, left, right| query.join(JoinKind::Inner, left, right, "");
        let input = inputs.iter().copied().reduce(|left, right| product(self, left, right)).expect("there is an input");
        let conditions = self.conditions(conditions);
        self.plan.add(Node::Filter { input, conditions })
    }

    /// Makes these columns of a node the result.
    pub(crate) fn select(mut self, input: NodeId, columns: &[&str]) -> Plan {
        let columns = columns.iter().map(|name| (self.id(name), self.column(name))).collect();
        self.plan.root = Some(self.plan.add(Node::Project(Project { input, columns })));
        self.plan
    }
}
