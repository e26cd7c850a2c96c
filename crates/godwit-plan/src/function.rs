//! Functions from the plan's point of view, and the registry from which the binder gets them.
//!
//! The plan contains only the properties that rewrites depend on; the implementation of a function belongs to the
//! registry and the executor, and is carried along opaquely.

use std::any::Any;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use godwit_common::SqlState;
use godwit_types::{SqlType, Value};

/// The implementation of a function; only the registry's creator knows its concrete type.
pub type Implementation = Arc<dyn Any + Send + Sync>;

/// How often a call must be evaluated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Volatility {
    /// The same arguments always give the same value, which may be computed at planning time.
    Immutable,
    /// The value is the same throughout a statement, such as `now()`.
    Stable,
    /// Each call gives a different value, or has a side effect: it is evaluated where it stands, once per row.
    Volatile,
}

/// A scalar function, chosen for the types of its arguments.
#[derive(Clone)]
pub struct ScalarFunction {
    /// Its name.
    pub name: Arc<str>,
    /// How often it must be evaluated.
    pub volatility: Volatility,
    /// True if the value is NULL whenever an argument is NULL.
    pub strict: bool,
    /// True if it fails for some arguments: it must be evaluated only for rows for which the statement would do so.
    pub may_fail: bool,
    /// The implementation.
    pub implementation: Implementation,
}

/// An aggregate function, chosen for the types of its arguments.
#[derive(Clone)]
pub struct AggregateFunction {
    /// Its name.
    pub name: Arc<str>,
    /// The value for a group without rows: 0 for counts, NULL for most.
    pub of_empty: Value,
    /// True if duplicate rows don't change the value: `min`, `bool_or`.
    pub ignores_duplicates: bool,
    /// True if the value depends on the order of rows: `first`, `list`, `string_agg`.
    pub depends_on_order: bool,
    /// The implementation.
    pub implementation: Implementation,
}

/// A function that exists only with OVER.
#[derive(Clone)]
pub struct WindowFunction {
    /// Its name.
    pub name: Arc<str>,
    /// True if it uses the rows of its frame, as `first_value` does, rather than just the partition.
    pub uses_frame: bool,
    /// The implementation.
    pub implementation: Implementation,
}

macro_rules! compared_by_name {
    ($($function:ident),*) => {$(
        impl PartialEq for $function {
            fn eq(&self, other: &Self) -> bool {
                self.name == other.name
            }
        }

        impl Eq for $function {}

        impl Hash for $function {
            fn hash<H: Hasher>(&self, state: &mut H) {
                self.name.hash(state);
            }
        }

        impl fmt::Debug for $function {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.name)
            }
        }
    )*};
}

compared_by_name!(ScalarFunction, AggregateFunction, WindowFunction);

/// The properties of an argument that the choice of a function depends on.
#[derive(Debug, Clone, Copy)]
pub struct ArgumentType<'a> {
    /// Its type; [`SqlType::Unknown`] for NULL and quoted text.
    pub ty: &'a SqlType,
    /// Its value, if it is a constant.
    pub value: Option<&'a Value>,
    /// False only if it can't be NULL.
    pub nullable: bool,
    /// For a lambda, its number of parameters. Its type isn't known before the function is chosen.
    pub lambda_parameters: Option<usize>,
}

/// A scalar function chosen for some arguments.
#[derive(Debug, Clone)]
pub struct ScalarMatch {
    /// The function.
    pub function: ScalarFunction,
    /// The types to which its arguments are cast, one each.
    pub argument_types: Vec<SqlType>,
    /// Type of the value.
    pub ty: SqlType,
    /// False only if the value can't be NULL.
    pub nullable: bool,
}

/// An aggregate function chosen for some arguments.
#[derive(Debug, Clone)]
pub struct AggregateMatch {
    /// The function.
    pub function: AggregateFunction,
    /// The types to which its arguments are cast, one each.
    pub argument_types: Vec<SqlType>,
    /// Type of the value.
    pub ty: SqlType,
    /// False only if the value can't be NULL.
    pub nullable: bool,
    /// The scalar function that computes the result from the value, a list.
    pub of_list: Option<&'static str>,
}

/// A window function chosen for some arguments.
#[derive(Debug, Clone)]
pub struct WindowMatch {
    /// The function.
    pub function: WindowFunction,
    /// The types to which its arguments are cast, one each.
    pub argument_types: Vec<SqlType>,
    /// Type of the value.
    pub ty: SqlType,
    /// False only if the value can't be NULL.
    pub nullable: bool,
}

/// Kinds of functions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FunctionKind {
    /// A value for each row.
    Scalar,
    /// A value for each group.
    Aggregate,
    /// A value for each row, computed from the rows around it.
    Window,
}

/// The reason why no function was found for a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoFunction {
    /// There is no function with this name.
    UnknownName,
    /// No function with this name takes these arguments.
    NoMatch {
        /// The existing overloads, such as `substring(VARCHAR, BIGINT, BIGINT)`.
        signatures: Vec<String>,
    },
    /// An argument has a value that the function doesn't accept.
    BadArgument {
        /// Position of the argument, if the reason concerns one.
        argument: Option<usize>,
        /// The reason, as a sentence.
        message: String,
        /// The SQLSTATE for clients.
        code: SqlState,
    },
}

/// The error of choosing a function.
pub type FunctionError = NoFunction;

/// The available functions. Names are in lower case.
pub trait FunctionRegistry: Send + Sync {
    /// Returns the kind of the function with this name. A name that is both an aggregate and a window function is
    /// reported as an aggregate.
    fn kind(&self, name: &str) -> Option<FunctionKind>;

    /// Returns the scalar function that takes such arguments.
    fn scalar(&self, name: &str, arguments: &[ArgumentType<'_>]) -> Result<ScalarMatch, NoFunction>;

    /// Returns, for each argument, the parameter types of its lambda; empty for other arguments. They may be others once
    /// the type of what the lambda gives is known: a reduction hands it that.
    fn lambda_parameters(&self, name: &str, arguments: &[ArgumentType<'_>]) -> Result<Vec<Vec<SqlType>>, NoFunction>;

    /// Returns the aggregate function that takes such arguments. `order_by` are the keys of WITHIN GROUP or ORDER BY.
    fn aggregate(
        &self,
        name: &str,
        arguments: &[ArgumentType<'_>],
        order_by: &[ArgumentType<'_>],
    ) -> Result<AggregateMatch, NoFunction>;

    /// Returns the window function that takes such arguments; aggregates aren't window functions here.
    fn window(&self, name: &str, arguments: &[ArgumentType<'_>]) -> Result<WindowMatch, NoFunction>;

    /// Returns all names, for hints.
    fn names(&self) -> Vec<String>;

    /// Evaluates a call of an immutable function with constants; `None` if it is left to the executor, for example
    /// because the value would be large.
    fn evaluate(&self, call: &crate::Expr) -> Option<godwit_common::Result<Value>>;
}
