//! Lists and arrays.
//!
//! ```text
//! types.rs     arguments of any type ──► the types of a form
//! call.rs      a form's kernel: a chunk's arguments, and results from a function of a row
//! lists.rs     arguments as lists: the range of each row's elements
//! keys.rs      elements as keys for comparisons
//! picks.rs     lists of existing elements ─┐
//! elements.rs  lists of new elements      ─┴─► a vector
//! search.rs …  the functions, by subject
//! ```
//!
//! Arguments stay lists or arrays if their elements needn't change; results are lists.

mod aggregates;
mod bins;
mod bits;
mod build;
pub(crate) mod call;
mod element;
mod elements;
mod equal_bins;
mod fill;
pub(crate) mod keys;
pub(crate) mod lists;
mod measure;
mod numbers;
mod order;
mod part;
pub(crate) mod picks;
pub(crate) mod search;
mod series;
pub(crate) mod sets;
mod sort;
mod text;
pub(crate) mod types;
mod vectors;
mod zip;

use arrow_array::ArrayRef;
use lists::{Items, Lists};

pub(crate) use self::build::{element_and_list, list_and_element, lists_together, repeat_list};
pub(crate) use self::measure::length;
pub(crate) use self::search::contains as list_contains;
use crate::function::{Category, Function, function};

pub(crate) fn functions() -> Vec<Function> {
    let files = [
        build::functions(),
        fill::functions(),
        zip::functions(),
        measure::functions(),
        element::functions(),
        part::functions(),
        search::functions(),
        sets::functions(),
        sort::functions(),
        numbers::functions(),
        vectors::functions(),
        aggregates::functions(),
        bins::functions(),
        equal_bins::functions(),
        bits::functions(),
        series::functions(),
        text::functions(),
    ];
    files.into_iter().flatten().collect()
}

fn list_function(names: &'static [&'static str], description: &'static str) -> Function {
    function(Category::List, names, description)
}

/// Returns the elements of lists, then the values of an argument, if there is one.
fn within_lists<'a>(lists: &'a Lists, items: Option<&'a Items>) -> Vec<&'a ArrayRef> {
    std::iter::once(&lists.elements).chain(items.map(|items| &items.array)).collect()
}
