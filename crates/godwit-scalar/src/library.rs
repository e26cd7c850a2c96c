//! All functions by name.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::function::Function;
use crate::{binary, enumeration, json, list, number, pattern, shared, structure, text, time};

struct Library {
    functions: Vec<Function>,
    /// Indices of functions by all of their names.
    by_name: HashMap<&'static str, Vec<usize>>,
}

/// Built once per process.
static LIBRARY: LazyLock<Library> = LazyLock::new(|| {
    let families = [
        text::functions(),
        pattern::functions(),
        binary::functions(),
        number::functions(),
        time::functions(),
        list::functions(),
        shared::functions(),
        enumeration::functions(),
        structure::functions(),
        json::functions(),
    ];
    let functions: Vec<Function> = families.into_iter().flatten().collect();
    let mut by_name: HashMap<&'static str, Vec<usize>> = HashMap::new();
    for (at, function) in functions.iter().enumerate() {
        for name in function.names {
            by_name.entry(name).or_default().push(at);
        }
    }
    Library { functions, by_name }
});

/// All functions.
pub fn functions() -> &'static [Function] {
    &LIBRARY.functions
}

/// Returns the functions of a name, which is in lower case.
pub(crate) fn find(name: &str) -> impl Iterator<Item = &'static Function> + Clone {
    let places = LIBRARY.by_name.get(name).map_or(&[][..], Vec::as_slice);
    places.iter().map(|&at| &LIBRARY.functions[at])
}

/// True if there is a function of this name, which is in lower case.
pub fn is_known(name: &str) -> bool {
    LIBRARY.by_name.contains_key(name)
}
