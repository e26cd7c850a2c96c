//! Structs and maps.

mod lookup;
mod map;
mod record;

pub(crate) use self::lookup::{contains_key as map_contains, size as map_size};
pub(crate) use self::record::{contains as struct_contains, field};
use crate::function::{Category, Function, function};

pub(crate) fn functions() -> Vec<Function> {
    [record::functions(), map::functions(), lookup::functions()].into_iter().flatten().collect()
}

fn structure_function(names: &'static [&'static str], description: &'static str) -> Function {
    function(Category::Struct, names, description)
}
