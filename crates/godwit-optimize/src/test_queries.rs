//! Test plans from SQL text, over TPC-H's tables and views of views.

use std::sync::Arc;
use std::time::{Duration, Instant};

use godwit_bind::{Binder, Environment, Named, View};
use godwit_common::{Error, Result};
use godwit_plan::{FunctionRegistry, Plan, Relation};
use godwit_reference::TestFunctions;

use crate::test_tables::{TPCH_TABLES, tpch_table};
use crate::{OptimizerSettings, optimize};

/// TPC-H's tables, and views `v1`, `v2`, … each of which uses the previous one twice; `v0` is a query of `nation`.
struct World {
    tables: Vec<Arc<dyn Relation>>,
    functions: TestFunctions,
}

impl World {
    fn new() -> Self {
        let tables = TPCH_TABLES.iter().map(|name| tpch_table(name) as Arc<dyn Relation>).collect();
        Self { tables, functions: TestFunctions }
    }
}

impl Environment for World {
    fn named(&self, parts: &[&str]) -> Result<Option<Named>> {
        let [name] = parts else { return Ok(None) };
        if let Some(table) = self.tables.iter().find(|table| table.name() == *name) {
            return Ok(Some(Named::Relation(table.clone(), vec![(*name).to_owned()])));
        }
        let Some(level) = name.strip_prefix('v').and_then(|level| level.parse::<usize>().ok()) else {
            return Ok(None);
        };
        let sql = match level.checked_sub(1) {
            None => "SELECT n_nationkey AS a, n_regionkey AS b FROM nation".to_owned(),
            Some(below) => format!("SELECT x.a, y.b FROM v{below} x JOIN v{below} y USING (a)"),
        };
        Ok(Some(Named::View(Arc::new(View {
            name: (*name).to_owned(),
            query: Arc::new(godwit_syntax::parse_query(&sql)?),
            columns: Vec::new(),
            environment: Arc::new(World::new()),
        }))))
    }

    fn functions(&self) -> &dyn FunctionRegistry {
        &self.functions
    }

    fn unknown_table(&self, name: &str) -> Error {
        Error::user(format!("no table named {name}"))
    }
}

/// Time taken by the steps from text to plan.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Times {
    pub(crate) parse: Duration,
    pub(crate) bind: Duration,
    pub(crate) optimize: Duration,
}

/// Plans queries over the same tables.
pub(crate) struct Planner {
    world: Arc<World>,
}

impl Planner {
    pub(crate) fn new() -> Self {
        Self { world: Arc::new(World::new()) }
    }

    /// Returns the optimized plan of a query, and the time that it took.
    pub(crate) fn timed(&self, sql: &str, settings: &OptimizerSettings<'_>) -> Result<(Plan, Times)> {
        let start = Instant::now();
        let query = godwit_syntax::parse_query(sql)?;
        let parsed = Instant::now();
        let mut binder = Binder::new(self.world.clone());
        binder.query(&query)?;
        let mut plan = binder.plan;
        let bound = Instant::now();
        optimize(&mut plan, &TestFunctions, settings)?;
        let times = Times { parse: parsed - start, bind: bound - parsed, optimize: bound.elapsed() };
        Ok((plan, times))
    }
}
