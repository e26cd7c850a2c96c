//! Functions as the plan knows them, and the registry from which the binder gets them.
//!
//! The plan knows only what rewrites depend on; the implementation of a function belongs to the registry and the
//! executor, and is carried along opaquely.

use std::any::Any;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use godwit_common::SqlState;
use godwit_types::{SqlType, Value};

/// The implementation of a function: its concrete type is known to the maker of the registry.
pub type Implementation = Arc<dyn Any + Send + Sync>;

/// How often a call has to be evaluated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Volatility {
    /// The same arguments give the same value: it may be computed while planning.
    Immutable,
    /// The same during a statement, such as `now()`.
    Stable,
    /// A different value with each call, or a side effect: it is evaluated in its place, once for each row there.
    Volatile,
}

/// A scalar function, chosen for the types of its arguments.
#[derive(Clone)]
pub struct ScalarFunction {
    /// Its name.
    pub name: Arc<str>,
    /// How often it has to be evaluated.
    pub volatility: Volatility,
    /// NULL if an argument is NULL.
    pub strict: bool,
    /// Some arguments make it fail: it isn't evaluated for rows for which the statement wouldn't evaluate it.
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
    /// The same however often a row occurs: `min`, `bool_or`.
    pub ignores_duplicates: bool,
    /// The value depends on the order of rows: `first`, `list`, `string_agg`.
    pub depends_on_order: bool,
    /// The implementation.
    pub implementation: Implementation,
}

/// A function that exists only with OVER.
#[derive(Clone)]
pub struct WindowFunction {
    /// Its name.
    pub name: Arc<str>,
    /// It looks at the rows of its frame, as `first_value` does, not at the partition only.
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

/// An argument, as far as the choice of a function depends on it.
#[derive(Debug, Clone, Copy)]
pub struct ArgumentType<'a> {
    /// Its type; [`SqlType::Unknown`] for NULL and quoted text.
    pub ty: &'a SqlType,
    /// Its value, if it is a constant.
    pub value: Option<&'a Value>,
    /// False only if it can't be NULL.
    pub nullable: bool,
    /// For a lambda: how many parameters it has. Its type is not known before the function is.
    pub lambda_parameters: Option<usize>,
}

/// A scalar function that takes some arguments.
#[derive(Debug, Clone)]
pub struct ScalarMatch {
    /// The function.
    pub function: ScalarFunction,
    /// The types that its arguments are cast to, one each.
    pub argument_types: Vec<SqlType>,
    /// Type of the value.
    pub ty: SqlType,
    /// False only if the value can't be NULL.
    pub nullable: bool,
}

/// An aggregate function that takes some arguments.
#[derive(Debug, Clone)]
pub struct AggregateMatch {
    /// The function.
    pub function: AggregateFunction,
    /// The types that its arguments are cast to, one each.
    pub argument_types: Vec<SqlType>,
    /// Type of the value.
    pub ty: SqlType,
    /// False only if the value can't be NULL.
    pub nullable: bool,
}

/// A window function that takes some arguments.
#[derive(Debug, Clone)]
pub struct WindowMatch {
    /// The function.
    pub function: WindowFunction,
    /// The types that its arguments are cast to, one each.
    pub argument_types: Vec<SqlType>,
    /// Type of the value.
    pub ty: SqlType,
    /// False only if the value can't be NULL.
    pub nullable: bool,
}

/// What a name stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FunctionKind {
    /// A value for each row.
    Scalar,
    /// A value for each group.
    Aggregate,
    /// A value for each row, of the rows around it.
    Window,
}

/// Why no function was found for a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoFunction {
    /// Nothing has this name.
    UnknownName,
    /// No function of the name takes these arguments; the existing forms, as text.
    NoMatch {
        /// Such as `substring(VARCHAR, BIGINT, BIGINT)`.
        signatures: Vec<String>,
    },
    /// An argument has a value that the function doesn't accept, and the reason.
    BadArgument {
        /// Position of the argument, if it is one.
        argument: Option<usize>,
        /// In a sentence.
        message: String,
        /// The kind of the error, as clients see it.
        code: SqlState,
    },
}

/// The error of choosing a function.
pub type FunctionError = NoFunction;

/// The available functions. Names are in lower case.
pub trait FunctionRegistry: Send + Sync {
    /// The kind of function of a name. A name may be both an aggregate and a window function: then it is reported as an
    /// aggregate.
    fn kind(&self, name: &str) -> Option<FunctionKind>;

    /// The scalar function that takes such arguments.
    fn scalar(&self, name: &str, arguments: &[ArgumentType<'_>]) -> Result<ScalarMatch, NoFunction>;

    /// The types of the parameters of the lambdas among the arguments, by argument; empty for other arguments.
    fn lambda_parameters(&self, name: &str, arguments: &[ArgumentType<'_>]) -> Result<Vec<Vec<SqlType>>, NoFunction>;

    /// The aggregate function that takes such arguments. `order_by` are the keys of WITHIN GROUP or of an ORDER BY.
    fn aggregate(
        &self,
        name: &str,
        arguments: &[ArgumentType<'_>],
        order_by: &[ArgumentType<'_>],
    ) -> Result<AggregateMatch, NoFunction>;

    /// The window function that takes such arguments; aggregates aren't window functions here.
    fn window(&self, name: &str, arguments: &[ArgumentType<'_>]) -> Result<WindowMatch, NoFunction>;

    /// All names, for hints.
    fn names(&self) -> Vec<String>;

    /// The value of a call of an immutable function with constants; `None` if it is left to the executor, for example
    /// because the value would be large.
    fn evaluate(&self, call: &crate::Expr) -> Option<godwit_common::Result<Value>>;
}
