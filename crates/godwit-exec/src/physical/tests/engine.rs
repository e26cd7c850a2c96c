//! Runs plans for tests of the planner: converts the reference evaluator's tables to those of the executor, and results
//! to its values.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, LazyLock, OnceLock};

use arrow_schema::{Field, Schema};
use godwit_catalog::{ScannedTable, TableDefinition, TableStatistics};
use godwit_common::Result;
use godwit_expression::{PlanContext, Predicate, TextDomain};
use godwit_functions::Registry;
use godwit_pipeline::scan_filter::{Bounds, refuted};
use godwit_pipeline::{
    KeyFilter, Operator, OperatorMetrics, QueryContext, ResultCollector, ScanRequest, Source, SourceWorker, Table,
    TableHandle,
};
use godwit_plan::{ArgumentType, Comparison, Expr, ExprKind, FunctionRegistry, Node, NodeId, Plan, Relation};
use godwit_reference::MemoryTable;
use godwit_types::Value;
use godwit_vector::kernels::cast::min_max;
use godwit_vector::sql::{arrow_type, sql_type, value_at, vector_of_values};
use godwit_vector::{Bitmap, Chunk, ColumnType, Dictionary, Flat, PhysicalType, RowType, StrColumn, Vector};

use crate::operators::ValuesSource;
use crate::physical::plan_query;
use crate::testing::{COLLISIONS, run};

/// The functions of the engine.
static FUNCTIONS: LazyLock<Registry> = LazyLock::new(Registry::default);

/// The rows of a plan's result, from the engine.
pub(super) fn engine_rows(plan: &Plan, query: &Arc<QueryContext>) -> Result<Vec<Vec<Value>>> {
    let plan = with_engine_tables(plan);
    let types = plan.output.iter().map(|output| &plan.column(output.column).ty);
    let fields = types.clone().map(|ty| Ok(Field::new("", arrow_type(ty)?, true))).collect::<Result<Vec<_>>>()?;
    let (sink, stream) = ResultCollector::new(Arc::new(Schema::new(fields)), query, "Result");
    let physical = plan_query(&plan, query, PlanContext::default(), sink)?;
    // Hashes must not change while they are in tables.
    let _no_collisions = COLLISIONS.read();
    run(query, physical.pipelines)?;
    let mut rows = Vec::new();
    for batch in stream {
        let batch = batch?;
        for row in 0..batch.num_rows() {
            let value = |(column, ty): (&arrow_array::ArrayRef, _)| value_at(column, row, ty);
            rows.push(batch.columns().iter().zip(types.clone()).map(value).collect::<Result<_>>()?);
        }
    }
    Ok(rows)
}

/// The plan as `EXPLAIN` shows it.
pub(super) fn explained(plan: &Plan, query: &Arc<QueryContext>) -> String {
    let (sink, _stream) = ResultCollector::new(Arc::new(Schema::empty()), query, "Result");
    let plan = with_engine_tables(plan);
    plan_query(&plan, query, PlanContext::default(), sink).unwrap().explain.render(false)
}

/// The same plan over tables that the engine can scan.
fn with_engine_tables(plan: &Plan) -> Plan {
    let mut plan = plan.clone();
    let mut known = HashMap::new();
    let shared: Vec<_> = plan.used_shared_plans().iter().map(|(id, shared)| (*id, shared.root)).collect();
    for (id, root) in shared {
        plan.shared_mut(id).root = replaced(&mut plan, root, &mut known);
    }
    let root = plan.root.unwrap();
    plan.root = Some(replaced(&mut plan, root, &mut known));
    plan
}

fn replaced(plan: &mut Plan, id: NodeId, known: &mut HashMap<String, Arc<dyn Relation>>) -> NodeId {
    let node = plan.node(id).clone();
    let node = node.map_inputs(&mut |input| replaced(plan, input, known));
    let mut node = node.map_exprs(&mut |expr| {
        expr.transform(&mut |mut part| {
            match &mut part.kind {
                ExprKind::Subquery(subquery) => subquery.plan = replaced(plan, subquery.plan, known),
                // The engine's binder turns it into CASE.
                ExprKind::Call(function, args) if &*function.name == "nullif" => {
                    let is_equal = Expr::compare(Comparison::Equal, args[0].clone(), args[1].clone());
                    let branches = vec![(is_equal, Expr::null(args[0].ty.clone()))];
                    part.kind = ExprKind::Case { branches, otherwise: Some(Box::new(args[0].clone())) };
                }
                ExprKind::Call(function, args) => {
                    let of_engine = FUNCTIONS.scalar(&function.name, &argument_types(args));
                    let of_engine = of_engine.unwrap_or_else(|error| panic!("{}: {error:?}", function.name));
                    function.implementation = of_engine.function.implementation;
                }
                _ => {}
            }
            part
        })
    });
    if let Node::Scan(scan) = &mut node {
        let table = scan.relation.as_any().downcast_ref::<MemoryTable>().expect("tests read tables in memory");
        let relation = known.entry(table.name().to_owned()).or_insert_with(|| engine_table(table));
        scan.relation = relation.clone();
    }
    plan.add(node)
}

fn argument_types(args: &[Expr]) -> Vec<ArgumentType<'_>> {
    let lambda_parameters = |arg: &Expr| match &arg.kind {
        ExprKind::Lambda(parameters, _) => Some(parameters.len()),
        _ => None,
    };
    let types = args.iter().map(|arg| ArgumentType {
        ty: &arg.ty,
        value: arg.as_literal(),
        nullable: arg.nullable,
        lambda_parameters: lambda_parameters(arg),
    });
    types.collect()
}

fn engine_table(table: &MemoryTable) -> Arc<dyn Relation> {
    let (mut fields, mut vectors, mut row_type) = (Vec::new(), Vec::new(), RowType::new());
    for (at, column) in table.columns().iter().enumerate() {
        let logical = arrow_type(&column.ty).unwrap();
        let values: Vec<Value> = table.rows().iter().map(|row| row[at].clone()).collect();
        let vector = with_dictionary(vector_of_values(&values, &column.ty).unwrap());
        let physical = vector.physical();
        let range = if physical.is_integer() { min_max(&vector) } else { None };
        row_type.push(ColumnType { physical, range, ..ColumnType::new(logical.clone(), column.nullable).unwrap() });
        fields.push(Field::new(&column.name, logical, column.nullable));
        vectors.push(vector);
    }
    let rows = Chunk::new(vectors, table.rows().len());
    let statistics = TableStatistics::of_rows(table.rows().len() as u64, true, fields.len());
    let handle = Arc::new(TableHandle(Arc::new(EngineTable { rows, row_type })));
    let definition = TableDefinition::new(table.name(), Arc::new(Schema::new(fields)), Arc::new(statistics), handle);
    Arc::new(ScannedTable::new(Arc::new(definition)).unwrap())
}

/// Text as codes of an ordered dictionary, as in the database's own tables; others as they are.
fn with_dictionary(values: Vector) -> Vector {
    if values.physical() != PhysicalType::Str {
        return values;
    }
    let flat = values.to_flat();
    let texts: Vec<Option<&[u8]>> =
        (0..values.len()).map(|row| values.is_valid(row).then(|| flat.strings().get(row))).collect();
    let distinct: Vec<&[u8]> = texts.iter().flatten().copied().collect::<BTreeSet<_>>().into_iter().collect();
    let code = |text: &Option<&[u8]>| text.map_or(0, |text| distinct.binary_search(&text).unwrap() as u32);
    let codes: Vec<u32> = texts.iter().map(code).collect();
    let validity = texts.contains(&None).then(|| Bitmap::from_fn(texts.len(), |row| texts[row].is_some()));
    let strings = Flat::Str(StrColumn::from_strings(distinct.iter().copied()));
    Vector::dictionary(codes.into(), Arc::new(Dictionary::new(strings, true)), validity)
}

/// A table of one chunk. Its scans evaluate their filters, and check that no row contradicts the bounds.
struct EngineTable {
    rows: Chunk,
    row_type: RowType,
}

impl Table for EngineTable {
    fn row_type(&self) -> &RowType {
        &self.row_type
    }

    fn text_codes(&self, column: usize) -> Result<Option<Arc<TextDomain>>> {
        let values = self.rows.dense(column);
        Ok(values.as_dictionary().map(|(_, dictionary)| Arc::new(TextDomain::of_dictionary(dictionary.clone()))))
    }

    fn scan(self: Arc<Self>, request: ScanRequest, query: &Arc<QueryContext>) -> Result<Arc<dyn Source>> {
        let mut rows = self.rows.clone();
        for filter in &request.filters {
            let is_refuted = refuted(&filter.condition, &|column| self.bounds(column));
            Predicate::new(vec![filter.expression.clone()]).worker().select(&mut rows)?;
            assert!(!is_refuted || rows.is_empty(), "{:?} refutes rows that there are", filter.condition);
        }
        Ok(Arc::new(EngineScan { rows: rows.project(&request.columns), request, query: query.clone() }.into_source()))
    }
}

impl EngineTable {
    fn bounds(&self, column: usize) -> Option<Bounds> {
        let values = self.rows.dense(column);
        let ty = &self.row_type[column];
        let scalar = |inside| Value::of_integer(inside, &sql_type(&ty.logical).unwrap());
        let range = ty.range.filter(|_| !self.rows.is_empty());
        let nulls = (0..values.len()).filter(|&row| !values.is_valid(row)).count() as u64;
        let (min, max) = (range.and_then(|range| scalar(range.min)), range.and_then(|range| scalar(range.max)));
        Some(Bounds { min, max, nulls: Some(nulls), rows: values.len() as u64 })
    }
}

/// A scan that drops rows by the filters of joins when it starts.
struct EngineScan {
    rows: Chunk,
    request: ScanRequest,
    query: Arc<QueryContext>,
}

impl EngineScan {
    fn into_source(self) -> StartedLate {
        let metrics = OperatorMetrics::new(self.request.name.clone());
        StartedLate { scan: self, values: OnceLock::new(), metrics }
    }

    fn values(&self) -> Arc<ValuesSource> {
        let mut rows = self.rows.clone();
        for filter in &self.request.join_filters {
            let Some(known) = filter.filter.get() else { continue };
            let known: &KeyFilter = known;
            let values = rows.dense(filter.column);
            let keys = match &filter.key {
                Some(key) => key.evaluate(&Chunk::new(vec![values], rows.len())).unwrap(),
                None => values,
            };
            let mut kept: Vec<u32> = (0..rows.len() as u32).collect();
            if !rows.is_empty() {
                known.retain(&keys, &mut kept);
            }
            rows.select(&kept);
        }
        ValuesSource::new(if rows.is_empty() { Vec::new() } else { vec![rows] }, &self.query, "Rows")
    }
}

struct StartedLate {
    scan: EngineScan,
    values: OnceLock<Arc<ValuesSource>>,
    metrics: Arc<OperatorMetrics>,
}

impl Operator for StartedLate {
    fn metrics(&self) -> &Arc<OperatorMetrics> {
        &self.metrics
    }
}

impl Source for StartedLate {
    fn start(&self, _query: &Arc<QueryContext>) -> Result<()> {
        assert!(self.values.set(self.scan.values()).is_ok(), "a source starts once");
        Ok(())
    }

    fn parallelism(&self) -> usize {
        1
    }

    fn worker(self: Arc<Self>, query: &Arc<QueryContext>) -> Result<Box<dyn SourceWorker>> {
        self.values.get().expect("workers are made after the start").clone().worker(query)
    }
}
