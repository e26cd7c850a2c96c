//! The functions that SQL can call: those of the planner crates, by name and alias.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use datafusion_expr::planner::ExprPlanner;
use datafusion_expr::{AggregateUDF, HigherOrderUDF, ScalarUDF, WindowUDF};

/// All functions; built once per process.
pub(crate) static FUNCTIONS: LazyLock<Functions> = LazyLock::new(Functions::new);

/// Functions by name, and the planners of special syntax such as `EXTRACT(… FROM …)`.
pub(crate) struct Functions {
    pub(crate) scalar: HashMap<String, Arc<ScalarUDF>>,
    pub(crate) higher_order: HashMap<String, Arc<HigherOrderUDF>>,
    pub(crate) aggregate: HashMap<String, Arc<AggregateUDF>>,
    pub(crate) window: HashMap<String, Arc<WindowUDF>>,
    pub(crate) expr_planners: Vec<Arc<dyn ExprPlanner>>,
}

/// Names under which DuckDB's and PostgreSQL's users know functions that the planner crates call otherwise.
const SCALAR_ALIASES: &[(&str, &str)] = &[
    ("ucase", "upper"),
    ("lcase", "lower"),
    ("len", "length"),
    ("strlen", "octet_length"),
    ("prefix", "starts_with"),
    ("suffix", "ends_with"),
    ("string_split", "string_to_array"),
    ("str_split", "string_to_array"),
    ("strftime", "to_char"),
    ("list_value", "make_array"),
    ("regexp_matches", "regexp_like"),
    ("ceiling", "ceil"),
    ("sign", "signum"),
    ("ord", "ascii"),
    ("unicode", "ascii"),
    ("gen_random_uuid", "uuid"),
    ("editdist3", "levenshtein"),
    ("list_min", "array_min"),
    ("list_max", "array_max"),
    ("list_intersect", "array_intersect"),
    ("struct_extract", "get_field"),
];

/// The same for aggregate functions.
const AGGREGATE_ALIASES: &[(&str, &str)] = &[
    ("list", "array_agg"),
    ("approx_count_distinct", "approx_distinct"),
    ("stddev_samp", "stddev"),
    ("variance", "var"),
    ("first", "first_value"),
    ("last", "last_value"),
    ("arbitrary", "first_value"),
    ("any_value", "first_value"),
];

impl Functions {
    fn new() -> Self {
        let mut scalar = HashMap::new();
        let nested = datafusion_functions_nested::all_default_nested_functions();
        for function in datafusion_functions::all_default_functions().into_iter().chain(nested) {
            insert(&mut scalar, function.name(), function.aliases(), &function);
        }
        let own_side = Arc::new(ScalarUDF::from(crate::bound::OwnSide::default()));
        insert(&mut scalar, own_side.name(), &[], &own_side);
        let mut higher_order = HashMap::new();
        for function in datafusion_functions_nested::all_default_higher_order_functions() {
            insert(&mut higher_order, function.name(), function.aliases(), &function);
        }
        let mut aggregate = HashMap::new();
        for function in datafusion_functions_aggregate::all_default_aggregate_functions() {
            insert(&mut aggregate, function.name(), function.aliases(), &function);
        }
        for function in crate::aggregates::own_aggregates().into_iter().chain([crate::inexact::average()]) {
            insert(&mut aggregate, function.name(), function.aliases(), &function);
        }
        let mut window = HashMap::new();
        for function in datafusion_functions_window::all_default_window_functions() {
            insert(&mut window, function.name(), function.aliases(), &function);
        }
        add_aliases(&mut scalar, SCALAR_ALIASES);
        add_aliases(&mut aggregate, AGGREGATE_ALIASES);
        Self { scalar, higher_order, aggregate, window, expr_planners: expr_planners() }
    }

    /// Every name that can be called.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        let scalar = self.scalar.keys().chain(self.higher_order.keys());
        scalar.chain(self.aggregate.keys()).chain(self.window.keys()).map(String::as_str)
    }
}

fn expr_planners() -> Vec<Arc<dyn ExprPlanner>> {
    vec![
        Arc::new(crate::inexact::QuotientPlanner),
        Arc::<datafusion_functions::core::planner::CoreFunctionPlanner>::default(),
        Arc::new(datafusion_functions_nested::planner::NestedFunctionPlanner),
        Arc::new(datafusion_functions_nested::planner::FieldAccessPlanner),
        Arc::<datafusion_functions::datetime::planner::DatetimeFunctionPlanner>::default(),
        Arc::<datafusion_functions::unicode::planner::UnicodeFunctionPlanner>::default(),
        Arc::new(datafusion_functions_aggregate::planner::AggregateFunctionPlanner),
        Arc::new(datafusion_functions_window::planner::WindowFunctionPlanner),
    ]
}

fn insert<F>(functions: &mut HashMap<String, Arc<F>>, name: &str, aliases: &[String], function: &Arc<F>) {
    functions.insert(name.to_lowercase(), Arc::clone(function));
    for alias in aliases {
        functions.insert(alias.to_lowercase(), Arc::clone(function));
    }
}

fn add_aliases<F>(functions: &mut HashMap<String, Arc<F>>, aliases: &[(&str, &str)]) {
    for (alias, name) in aliases {
        if let Some(function) = functions.get(*name).cloned() {
            functions.entry((*alias).to_owned()).or_insert(function);
        }
    }
}
