//! The scalar functions that come from DataFusion, by all of their names.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use datafusion_expr::ScalarUDF;

/// Built once per process.
static FUNCTIONS: LazyLock<HashMap<String, Arc<ScalarUDF>>> = LazyLock::new(functions);

/// Names under which DuckDB's and PostgreSQL's users know functions that DataFusion calls otherwise.
const ALIASES: &[(&str, &str)] = &[
    ("ucase", "upper"),
    ("lcase", "lower"),
    ("len", "length"),
    ("strlen", "octet_length"),
    ("prefix", "starts_with"),
    ("suffix", "ends_with"),
    ("string_split", "string_to_array"),
    ("str_split", "string_to_array"),
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

/// Functions that are none: DataFusion rewrites their calls, or they are about its own types, files and version.
const NOT_OFFERED: &[&str] = &[
    "arrow_cast",
    "arrow_field",
    "arrow_metadata",
    "arrow_try_cast",
    "arrow_typeof",
    "cast_to_type",
    "coalesce",
    "current_date",
    "current_time",
    "file_row_index",
    "input_file_name",
    "now",
    "nullif",
    "nvl",
    "nvl2",
    "try_cast_to_type",
    "union_extract",
    "union_tag",
    "version",
    "with_metadata",
];

fn functions() -> HashMap<String, Arc<ScalarUDF>> {
    let mut functions = HashMap::new();
    let nested = datafusion_functions_nested::all_default_nested_functions();
    for function in datafusion_functions::all_default_functions().into_iter().chain(nested) {
        if NOT_OFFERED.contains(&function.name()) {
            continue;
        }
        for alias in function.aliases() {
            functions.insert(alias.to_lowercase(), Arc::clone(&function));
        }
        functions.insert(function.name().to_lowercase(), function);
    }
    for (alias, name) in ALIASES {
        if let Some(function) = functions.get(*name).cloned() {
            functions.entry((*alias).to_owned()).or_insert(function);
        }
    }
    functions
}

/// The function of a name.
pub(crate) fn find(name: &str) -> Option<&'static Arc<ScalarUDF>> {
    FUNCTIONS.get(name)
}

/// A function that is certainly there.
pub(crate) fn known(name: &str) -> &'static Arc<ScalarUDF> {
    find(name).unwrap_or_else(|| panic!("DataFusion has the function {name}"))
}

/// All names.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    FUNCTIONS.keys().map(String::as_str)
}
