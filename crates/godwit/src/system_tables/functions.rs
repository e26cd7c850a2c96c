//! The available functions.

use arrow_array::RecordBatch;
use godwit_common::Result;
use godwit_functions::{ListedKind, listed_functions};
use godwit_plan::Volatility;
use godwit_sql::Planner;

use super::{batch, texts};
use crate::database::Shared;

/// A way to call a function.
struct Call {
    name: &'static str,
    kind: &'static str,
    signature: String,
    /// Definition of a function with kernels.
    function: Option<&'static godwit_scalar::Function>,
}

pub(super) fn rows(shared: &Shared) -> Result<RecordBatch> {
    let calls = calls(shared);
    let column = |of: fn(&Call) -> &str| texts(calls.iter().map(of));
    let example = |call: &Call| call.function.and_then(|function| function.examples.first().copied());
    batch(vec![
        ("name", column(|call| call.name)),
        ("kind", column(|call| call.kind)),
        ("signature", column(|call| &call.signature)),
        ("category", column(|call| call.function.map_or("", |function| function.category.title()))),
        ("description", column(|call| call.function.map_or("", |function| function.description))),
        ("example", texts(calls.iter().map(|call| example(call).map_or("", |(call, _)| call)))),
        ("example_value", texts(calls.iter().map(|call| example(call).map_or("", |(_, value)| value)))),
        (
            "volatility",
            column(|call| match call.function.map(|function| function.volatility) {
                Some(Volatility::Immutable) => "immutable",
                Some(Volatility::Stable) => "stable",
                Some(Volatility::Volatile) => "volatile",
                None => "",
            }),
        ),
    ])
}

/// Returns all of them, by name and signature.
fn calls(shared: &Shared) -> Vec<Call> {
    let named =
        godwit_scalar::functions().iter().flat_map(|function| function.names.iter().map(move |name| (*name, function)));
    let mut calls: Vec<Call> = named
        .flat_map(|(name, function)| {
            let signatures = function.signatures(name).into_iter();
            signatures.map(move |signature| Call { name, kind: "scalar", signature, function: Some(function) })
        })
        .collect();
    calls.extend(listed_functions().into_iter().map(|listed| {
        let kind = match listed.kind {
            ListedKind::Scalar => "scalar",
            ListedKind::Aggregate => "aggregate",
            ListedKind::Window => "window",
        };
        Call { name: listed.name, kind, signature: listed.signature, function: None }
    }));
    let tables = shared.planner.table_functions().into_iter();
    calls.extend(tables.map(|(name, signature)| Call { name, kind: "table", signature, function: None }));
    let macros = Planner::built_in_macros().into_iter();
    calls.extend(macros.map(|(name, signature)| Call { name, kind: "macro", signature, function: None }));
    calls.sort_by(|a, b| (a.name, &a.signature).cmp(&(b.name, &b.signature)));
    calls
}
