//! The functions outside the registry of scalar kernels, for listings of functions.

use crate::{aggregate, clock, lambda, rows, window};

/// The rows from which a function computes its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListedKind {
    /// One row.
    Scalar,
    /// The rows of a group.
    Aggregate,
    /// The rows of a window.
    Window,
}

/// A signature of a function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// Its name.
    pub name: &'static str,
    /// The rows from which it computes its value.
    pub kind: ListedKind,
    /// Name and arguments.
    pub signature: String,
}

/// Returns aggregates, window functions, functions with lambdas, and those of the current time.
pub fn listed_functions() -> Vec<Listed> {
    let aggregates = aggregate::signatures().map(|(name, signature)| (name, ListedKind::Aggregate, signature));
    let windows = window::signatures().map(|(name, signature)| (name, ListedKind::Window, signature));
    let lambdas = lambda::signatures().map(|(name, signature)| (name, ListedKind::Scalar, signature));
    let clocks = clock::names().map(|name| (name, ListedKind::Scalar, format!("{name}()")));
    let rows = rows::BUILT_IN.iter().map(|function| {
        let arguments: Vec<String> = function.arguments.iter().map(ToString::to_string).collect();
        (function.name, ListedKind::Scalar, format!("{}({})", function.name, arguments.join(", ")))
    });
    let all = aggregates.chain(windows).chain(lambdas).chain(clocks).chain(rows);
    all.map(|(name, kind, signature)| Listed { name, kind, signature }).collect()
}
