//! The available functions.

use arrow_array::RecordBatch;
use godwit_common::Result;
use godwit_functions::{Listed, listed_functions};
use godwit_plan::Volatility;

use super::{batch, texts};
use crate::database::Shared;

/// A way to call a function.
struct Call<'a> {
    name: &'static str,
    signature: String,
    function: &'a Listed,
}

pub(super) fn rows(shared: &Shared) -> Result<RecordBatch> {
    let functions = [listed_functions(), shared.planner.listed_functions()].concat();
    let calls = calls(&functions);
    let column = |of: fn(&Call<'_>) -> &'static str| texts(calls.iter().map(of));
    let example = |call: &Call<'_>| call.function.examples.first().copied().unwrap_or_default();
    batch(vec![
        ("name", column(|call| call.name)),
        ("kind", column(|call| call.function.kind.name())),
        ("signature", texts(calls.iter().map(|call| &call.signature))),
        ("category", column(|call| call.function.category)),
        ("description", column(|call| call.function.description)),
        ("example", texts(calls.iter().map(|call| example(call).0))),
        ("example_value", texts(calls.iter().map(|call| example(call).1))),
        (
            "volatility",
            column(|call| match call.function.volatility {
                Some(Volatility::Immutable) => "immutable",
                Some(Volatility::Stable) => "stable",
                Some(Volatility::Volatile) => "volatile",
                None => "",
            }),
        ),
        (
            "null_handling",
            column(|call| match call.function.strict {
                Some(true) => "strict",
                Some(false) => "special",
                None => "",
            }),
        ),
    ])
}

/// Returns the ways to call functions, by name and signature.
fn calls(functions: &[Listed]) -> Vec<Call<'_>> {
    let of_name = |function, name| {
        let signatures = Listed::signatures_of(function, name).into_iter();
        signatures.map(move |signature| Call { name, signature, function })
    };
    let named = functions.iter().flat_map(|function| function.names.iter().map(move |&name| (function, name)));
    let mut calls: Vec<Call<'_>> = named.flat_map(|(function, name)| of_name(function, name)).collect();
    calls.sort_by(|a, b| (a.name, &a.signature).cmp(&(b.name, &b.signature)));
    calls
}
