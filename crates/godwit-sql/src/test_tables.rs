//! TPC-H's schema with the statistics of scale factor 1, for tests of the planner.

use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema, SchemaRef};
use godwit_catalog::Argument;
use godwit_catalog::{
    Catalog, ColumnStatistics, Namespace, ROW_ID, TableDefinition, TableFunction, TableFunctions, TableResolver,
    TableRules, TableStatistics, WritableTable,
};
use godwit_common::Result;
use godwit_types::Value;
use godwit_vector::ValueRange;

use crate::Planner;

/// Type, smallest and largest value (unscaled, days), distinct values, average bytes of strings.
type ColumnSketch = (&'static str, DataType, i128, i128, Option<u64>, f64);

fn integer(name: &'static str, min: i128, max: i128) -> ColumnSketch {
    (name, DataType::Int64, min, max, None, 8.0)
}

fn decimal(name: &'static str, min: i128, max: i128) -> ColumnSketch {
    (name, DataType::Decimal128(15, 2), min, max, None, 8.0)
}

fn date(name: &'static str, min: i128, max: i128) -> ColumnSketch {
    (name, DataType::Date32, min, max, None, 4.0)
}

fn text(name: &'static str, distinct: Option<u64>, bytes: f64) -> ColumnSketch {
    (name, DataType::Utf8View, 1, 0, distinct, bytes)
}

fn table(name: &str, rows: u64, columns: Vec<ColumnSketch>) -> Arc<TableDefinition> {
    let fields: Vec<Field> = columns.iter().map(|(name, kind, ..)| Field::new(*name, kind.clone(), false)).collect();
    let statistics = columns.iter().map(|(_, kind, min, max, distinct, bytes)| ColumnStatistics {
        range: (min <= max).then_some(ValueRange { min: *min, max: *max }),
        min: (*kind == DataType::Utf8View).then(|| Value::text(" ")),
        max: (*kind == DataType::Utf8View).then(|| Value::text("z")),
        null_count: Some(0),
        distinct: *distinct,
        average_bytes: Some(*bytes),
    });
    let statistics = TableStatistics { rows, rows_exact: true, columns: statistics.collect() };
    Arc::new(TableDefinition::new(name, Arc::new(Schema::new(fields)), Arc::new(statistics), Arc::new(())))
}

/// Returns the eight tables.
pub(crate) fn tpch_tables() -> Vec<Arc<TableDefinition>> {
    vec![
        table(
            "region",
            5,
            vec![integer("r_regionkey", 0, 4), text("r_name", Some(5), 7.0), text("r_comment", None, 60.0)],
        ),
        table(
            "nation",
            25,
            vec![
                integer("n_nationkey", 0, 24),
                text("n_name", Some(25), 8.0),
                integer("n_regionkey", 0, 4),
                text("n_comment", None, 70.0),
            ],
        ),
        table(
            "supplier",
            10_000,
            vec![
                integer("s_suppkey", 1, 10_000),
                text("s_name", None, 18.0),
                text("s_address", None, 25.0),
                integer("s_nationkey", 0, 24),
                text("s_phone", None, 15.0),
                decimal("s_acctbal", -99_999, 999_999),
                text("s_comment", None, 62.0),
            ],
        ),
        table(
            "customer",
            150_000,
            vec![
                integer("c_custkey", 1, 150_000),
                text("c_name", None, 18.0),
                text("c_address", None, 25.0),
                integer("c_nationkey", 0, 24),
                text("c_phone", None, 15.0),
                decimal("c_acctbal", -99_999, 999_999),
                text("c_mktsegment", Some(5), 9.0),
                text("c_comment", None, 73.0),
            ],
        ),
        table(
            "part",
            200_000,
            vec![
                integer("p_partkey", 1, 200_000),
                text("p_name", None, 33.0),
                text("p_mfgr", Some(5), 14.0),
                text("p_brand", Some(25), 8.0),
                text("p_type", Some(150), 20.0),
                integer("p_size", 1, 50),
                text("p_container", Some(40), 8.0),
                decimal("p_retailprice", 90_000, 209_900),
                text("p_comment", None, 14.0),
            ],
        ),
        table(
            "partsupp",
            800_000,
            vec![
                integer("ps_partkey", 1, 200_000),
                integer("ps_suppkey", 1, 10_000),
                integer("ps_availqty", 1, 9_999),
                decimal("ps_supplycost", 100, 100_000),
                text("ps_comment", None, 124.0),
            ],
        ),
        table(
            "orders",
            1_500_000,
            vec![
                integer("o_orderkey", 1, 6_000_000),
                integer("o_custkey", 1, 149_999),
                text("o_orderstatus", Some(3), 1.0),
                decimal("o_totalprice", 80_000, 60_000_000),
                date("o_orderdate", 8_035, 10_440),
                text("o_orderpriority", Some(5), 8.0),
                text("o_clerk", Some(1_000), 15.0),
                integer("o_shippriority", 0, 0),
                text("o_comment", None, 49.0),
            ],
        ),
        table(
            "lineitem",
            6_001_215,
            vec![
                integer("l_orderkey", 1, 6_000_000),
                integer("l_partkey", 1, 200_000),
                integer("l_suppkey", 1, 10_000),
                integer("l_linenumber", 1, 7),
                decimal("l_quantity", 100, 5_000),
                decimal("l_extendedprice", 90_000, 10_500_000),
                decimal("l_discount", 0, 10),
                decimal("l_tax", 0, 8),
                text("l_returnflag", Some(3), 1.0),
                text("l_linestatus", Some(2), 1.0),
                date("l_shipdate", 8_036, 10_561),
                date("l_commitdate", 8_066, 10_530),
                date("l_receiptdate", 8_038, 10_591),
                text("l_shipinstruct", Some(4), 12.0),
                text("l_shipmode", Some(7), 4.0),
                text("l_comment", None, 27.0),
            ],
        ),
    ]
}

/// Serves TPC-H's tables as `<name>.parquet`.
struct Files;

impl TableResolver for Files {
    fn resolve_path(&self, path: &str) -> Option<Result<Arc<TableDefinition>>> {
        let name = path.strip_suffix(".parquet")?;
        let table = tpch_tables().into_iter().find(|table| table.name == name);
        Some(table.ok_or_else(|| godwit_common::Error::user(format!("no file matches '{path}'"))))
    }
}

/// A table with as many numbers as its argument says.
struct Range;

impl TableFunction for Range {
    fn table(&self, name: &str, arguments: &[Argument]) -> Result<Arc<TableDefinition>> {
        let [Argument { value: Value::Integer(rows), .. }] = arguments else {
            return Err(godwit_common::Error::user(format!("{name} takes one number")));
        };
        let schema = Arc::new(Schema::new(vec![Field::new(name, DataType::Int64, false)]));
        let statistics = TableStatistics::of_rows(*rows as u64, true, 1);
        Ok(Arc::new(TableDefinition::new(name, schema, Arc::new(statistics), Arc::new(())).without_filters()))
    }
}

/// A table whose rows can be changed.
#[derive(Clone)]
struct Writable {
    schema: SchemaRef,
    rules: TableRules,
}

impl WritableTable for Writable {
    fn with_row_ids(&self) -> Arc<TableDefinition> {
        let fields = self.schema.fields().iter().map(|field| field.as_ref().clone());
        let fields: Vec<Field> = fields.chain([Field::new(ROW_ID, DataType::Int64, false)]).collect();
        let statistics = Arc::new(TableStatistics::of_rows(5, true, fields.len()));
        let table = TableDefinition::new("region", Arc::new(Schema::new(fields)), statistics, Arc::new(()));
        Arc::new(table.with_writable(Arc::new(self.clone())))
    }

    fn rules(&self) -> &TableRules {
        &self.rules
    }
}

/// Returns a planner over a catalog of the eight tables, of which `region` is a table of the database itself.
pub(crate) fn tpch_planner() -> Planner {
    let catalog = Catalog::new();
    for mut table in tpch_tables() {
        if table.name == "region"
            && let Some(table) = Arc::get_mut(&mut table)
        {
            let (schema, rules) = (table.schema.clone(), TableRules::default());
            table.writable = Some(Arc::new(Writable { schema, rules }));
        }
        catalog.create_table(table, false).expect("names differ");
    }
    let functions = TableFunctions::default().with("range", "Numbers", Arc::new(Range));
    Planner::new(Namespace::of("tpch", Arc::new(catalog)), Arc::new(Files)).with_table_functions(functions)
}

/// Returns the text of a TPC-H query. Tests run in the folder of their package, wherever they were built.
pub(crate) fn tpch_query(number: usize) -> String {
    let path = format!("../../tests/tpch/q{number:02}.sql");
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}
