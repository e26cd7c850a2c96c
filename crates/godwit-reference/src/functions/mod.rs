//! Functions for tests: a registry that doesn't need the engine. It describes some eighty functions by their
//! signatures, as text, and computes them row by row.
//!
//! ```text
//! numbers.rs, text.rs, times.rs, nested.rs   functions of a row
//! aggregates.rs                              functions of a group
//! windows.rs                                 functions of a place in a partition
//! signature.rs                               which of them takes some arguments, and what comes out
//! ```
//!
//! Functions of another registry are computed by their names, so that plans of the engine can be checked as well.

mod aggregates;
mod calls;
mod nested;
mod numbers;
mod signature;
mod text;
mod times;
mod windows;

use std::ops::Range;
use std::sync::Arc;

use godwit_common::{Error, Result};
use godwit_plan::{
    AggregateFunction, AggregateMatch, ArgumentType, Expr, ExprKind, FunctionKind, FunctionRegistry, NoFunction,
    ScalarFunction, ScalarMatch, Volatility, WindowFunction, WindowMatch,
};
use godwit_types::{SqlType, Value};

use crate::environment::Row;

/// A call of a scalar function.
pub(crate) struct Call<'a> {
    pub(crate) args: &'a [Value],
    pub(crate) types: &'a [SqlType],
    pub(crate) ty: &'a SqlType,
}

/// The rows of an aggregate's arguments; at least one.
pub(crate) struct Group<'a> {
    pub(crate) rows: &'a [Row],
    pub(crate) types: &'a [SqlType],
    pub(crate) ty: &'a SqlType,
}

/// A row of a partition, for a window function.
pub(crate) struct WindowRow<'a> {
    pub(crate) row: usize,
    /// The arguments of each row of the partition.
    pub(crate) args: &'a [Row],
    pub(crate) peers: &'a [Range<usize>],
    pub(crate) frame: &'a [usize],
    pub(crate) ignore_nulls: bool,
}

/// The implementation of a scalar function.
#[derive(Clone, Copy)]
pub(crate) enum ScalarKernel {
    Plain(fn(&Call<'_>) -> Result<Value>),
    /// A number between 0 and 1, different with each call.
    Random,
    /// A function with a lambda among its arguments.
    Lambda(LambdaKernel),
}

type LambdaKernel = fn(&Call<'_>, &mut dyn FnMut(&[Value]) -> Result<Value>) -> Result<Value>;

/// The implementation of an aggregate function.
pub(crate) type AggregateKernel = fn(&Group<'_>) -> Result<Value>;

/// The implementation of a window function.
pub(crate) type WindowKernel = fn(&WindowRow<'_>) -> Result<Value>;

/// The conditions under which a scalar function is NULL.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Nulls {
    /// If and only if an argument is NULL.
    Strict,
    /// If an argument is NULL, or for other reasons.
    StrictOrNull,
    /// Never.
    Never,
    /// By the function's own rules.
    Own,
}

/// A scalar function in the registry.
struct Scalar {
    signature: &'static str,
    nulls: Nulls,
    may_fail: bool,
    kernel: ScalarKernel,
}

impl Scalar {
    /// Makes a function that is NULL for NULLs, and never fails.
    const fn strict(signature: &'static str, kernel: fn(&Call<'_>) -> Result<Value>) -> Self {
        Self { signature, nulls: Nulls::Strict, may_fail: false, kernel: ScalarKernel::Plain(kernel) }
    }

    /// Does the same, with another treatment of NULLs.
    const fn with_nulls(nulls: Nulls, signature: &'static str, kernel: fn(&Call<'_>) -> Result<Value>) -> Self {
        Self { nulls, ..Self::strict(signature, kernel) }
    }

    /// Makes a function that is NULL for NULLs, and fails for some arguments.
    const fn failing(signature: &'static str, kernel: fn(&Call<'_>) -> Result<Value>) -> Self {
        Self { may_fail: true, ..Self::strict(signature, kernel) }
    }

    /// Makes a function that takes a lambda.
    const fn lambda(signature: &'static str, kernel: LambdaKernel) -> Self {
        Self { signature, nulls: Nulls::Strict, may_fail: false, kernel: ScalarKernel::Lambda(kernel) }
    }
}

/// An aggregate function in the registry.
struct Aggregation {
    signature: &'static str,
    traits: Traits,
    kernel: AggregateKernel,
}

/// The properties of an aggregate function that a plan knows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Traits {
    /// A count: 0 for an empty group.
    Count,
    /// No special property: each row counts.
    Plain,
    /// Duplicates don't matter.
    IgnoresDuplicates,
    /// The order of rows matters.
    Ordered,
}

/// A window function in the registry.
struct Windowing {
    signature: &'static str,
    uses_frame: bool,
    nullable: bool,
    kernel: WindowKernel,
}

/// The functions that tests bind and evaluate.
#[derive(Debug, Clone, Copy, Default)]
pub struct TestFunctions;

fn scalars() -> impl Iterator<Item = &'static Scalar> {
    numbers::FUNCTIONS.iter().chain(text::FUNCTIONS).chain(times::FUNCTIONS).chain(nested::FUNCTIONS)
}

/// Returns the implementation of a scalar function.
pub(crate) fn scalar_kernel(function: &ScalarFunction) -> Result<ScalarKernel> {
    let own = function.implementation.downcast_ref::<ScalarKernel>().copied();
    let by_name =
        || scalars().find(|entry| signature::name(entry.signature) == &*function.name).map(|entry| entry.kernel);
    own.or_else(by_name).ok_or_else(|| not_here(&function.name))
}

/// Returns the implementation of an aggregate function.
pub(crate) fn aggregate_kernel(function: &AggregateFunction) -> Result<AggregateKernel> {
    let own = function.implementation.downcast_ref::<AggregateKernel>().copied();
    let mut all = aggregates::FUNCTIONS.iter();
    let by_name = || all.find(|entry| signature::name(entry.signature) == &*function.name).map(|entry| entry.kernel);
    own.or_else(by_name).ok_or_else(|| not_here(&function.name))
}

/// Returns the implementation of a window function.
pub(crate) fn window_kernel(function: &WindowFunction) -> Result<WindowKernel> {
    let own = function.implementation.downcast_ref::<WindowKernel>().copied();
    let mut all = windows::FUNCTIONS.iter();
    let by_name = || all.find(|entry| signature::name(entry.signature) == &*function.name).map(|entry| entry.kernel);
    own.or_else(by_name).ok_or_else(|| not_here(&function.name))
}

fn not_here(name: &str) -> Error {
    Error::unsupported(format!("the reference evaluator has no function {name}"))
}

impl FunctionRegistry for TestFunctions {
    fn kind(&self, name: &str) -> Option<FunctionKind> {
        let is = |text: &'static str| signature::name(text) == name;
        if aggregates::FUNCTIONS.iter().any(|entry| is(entry.signature)) {
            Some(FunctionKind::Aggregate)
        } else if windows::FUNCTIONS.iter().any(|entry| is(entry.signature)) {
            Some(FunctionKind::Window)
        } else {
            scalars().any(|entry| is(entry.signature)).then_some(FunctionKind::Scalar)
        }
    }

    fn scalar(&self, name: &str, arguments: &[ArgumentType<'_>]) -> std::result::Result<ScalarMatch, NoFunction> {
        let (entry, types, ty) = signature::choose(scalars(), |entry| entry.signature, name, arguments)?;
        let any_nullable = arguments.iter().any(|argument| argument.nullable);
        Ok(ScalarMatch {
            function: ScalarFunction {
                name: name.into(),
                volatility: volatility(name),
                strict: matches!(entry.nulls, Nulls::Strict | Nulls::StrictOrNull),
                may_fail: entry.may_fail,
                implementation: Arc::new(entry.kernel),
            },
            argument_types: types,
            ty,
            nullable: match entry.nulls {
                Nulls::Strict => any_nullable,
                Nulls::StrictOrNull | Nulls::Own => true,
                Nulls::Never => false,
            },
        })
    }

    fn lambda_parameters(
        &self,
        name: &str,
        arguments: &[ArgumentType<'_>],
    ) -> std::result::Result<Vec<Vec<SqlType>>, NoFunction> {
        signature::lambda_parameters(scalars().map(|entry| entry.signature), name, arguments)
    }

    fn aggregate(
        &self,
        name: &str,
        arguments: &[ArgumentType<'_>],
        _order_by: &[ArgumentType<'_>],
    ) -> std::result::Result<AggregateMatch, NoFunction> {
        let entries = aggregates::FUNCTIONS.iter();
        let (entry, types, ty) = signature::choose(entries, |entry| entry.signature, name, arguments)?;
        let is_count = entry.traits == Traits::Count;
        Ok(AggregateMatch {
            function: AggregateFunction {
                name: name.into(),
                of_empty: if is_count { Value::Integer(0) } else { Value::Null },
                ignores_duplicates: entry.traits == Traits::IgnoresDuplicates,
                depends_on_order: entry.traits == Traits::Ordered,
                implementation: Arc::new(entry.kernel),
            },
            argument_types: types,
            ty,
            nullable: !is_count,
            of_list: None,
        })
    }

    fn window(&self, name: &str, arguments: &[ArgumentType<'_>]) -> std::result::Result<WindowMatch, NoFunction> {
        let entries = windows::FUNCTIONS.iter();
        let (entry, types, ty) = signature::choose(entries, |entry| entry.signature, name, arguments)?;
        Ok(WindowMatch {
            function: WindowFunction {
                name: name.into(),
                uses_frame: entry.uses_frame,
                implementation: Arc::new(entry.kernel),
            },
            argument_types: types,
            ty,
            nullable: entry.nullable,
        })
    }

    fn names(&self) -> Vec<String> {
        let aggregates = aggregates::FUNCTIONS.iter().map(|entry| entry.signature);
        let windows = windows::FUNCTIONS.iter().map(|entry| entry.signature);
        let all = scalars().map(|entry| entry.signature).chain(aggregates).chain(windows);
        let mut names: Vec<String> = all.map(|text| signature::name(text).to_owned()).collect();
        names.sort();
        names.dedup();
        names
    }

    fn evaluate(&self, call: &Expr) -> Option<Result<Value>> {
        let ExprKind::Call(function, args) = &call.kind else { return None };
        let args_known = args.iter().all(|arg| arg.as_literal().is_some());
        (args_known && function.volatility == Volatility::Immutable)
            .then(|| crate::evaluate_expr(&godwit_plan::Plan::new(), call, &[]))
    }
}

fn volatility(name: &str) -> Volatility {
    match name {
        "random" => Volatility::Volatile,
        "now" => Volatility::Stable,
        _ => Volatility::Immutable,
    }
}

/// Converts an argument to a number of steps, a length or a position, saturating if it is out of range.
fn whole(value: &Value) -> i64 {
    match value {
        Value::Integer(value) => i64::try_from(*value).unwrap_or(if *value < 0 { i64::MIN } else { i64::MAX }),
        _ => 0,
    }
}

fn text_of(value: &Value) -> &str {
    match value {
        Value::Text(text) => text,
        _ => "",
    }
}

fn float_of(value: &Value) -> f64 {
    match value {
        Value::Float(value) => *value,
        _ => f64::NAN,
    }
}

fn list_of(value: &Value) -> &[Value] {
    match value {
        Value::List(values) | Value::Struct(values) => values,
        _ => &[],
    }
}
