//! What functions there are.

use arrow_array::RecordBatch;
use godwit_common::Result;
use godwit_plan::Volatility;

use super::{batch, texts};
use crate::database::Shared;

pub(super) fn rows(_shared: &Shared) -> Result<RecordBatch> {
    let named =
        godwit_scalar::functions().iter().flat_map(|function| function.names.iter().map(move |name| (name, function)));
    let mut calls: Vec<(&str, &godwit_scalar::Function, String)> = named
        .flat_map(|(name, function)| {
            function.signatures(name).into_iter().map(move |signature| (*name, function, signature))
        })
        .collect();
    calls.sort_by(|(a, _, first), (b, _, second)| (a, first).cmp(&(b, second)));
    let column = |of: fn(&godwit_scalar::Function) -> &str| texts(calls.iter().map(|(_, function, _)| of(function)));
    batch(vec![
        ("name", texts(calls.iter().map(|(name, ..)| name))),
        ("signature", texts(calls.iter().map(|(.., signature)| signature))),
        ("category", column(|function| function.category.title())),
        ("description", column(|function| function.description)),
        ("example", column(|function| function.examples.first().map_or("", |(call, _)| call))),
        ("example_value", column(|function| function.examples.first().map_or("", |(_, value)| value))),
        (
            "volatility",
            column(|function| match function.volatility {
                Volatility::Immutable => "immutable",
                Volatility::Stable => "stable",
                Volatility::Volatile => "volatile",
            }),
        ),
    ])
}
