//! Functions as the plan knows them, and the registry that the binder asks for them.
//!
//! The plan knows of a function what rewrites depend on; what computes it is the registry's and the executor's own, and is
//! carried along unseen.

use std::any::Any;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use godwit_types::{SqlType, Value};

/// What computes a function: whoever made the registry knows the type behind it.
pub type Implementation = Arc<dyn Any + Send + Sync>;

/// How often a call has to be evaluated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Volatility {
    /// The same arguments give the same value: it may be computed while planning.
    Immutable,
    /// The same during a statement, such as `now()`.
    Stable,
    /// Another value with each call, or a side effect: it is evaluated where it stands, once for each row there.
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
    /// Some arguments make it fail: it isn't evaluated for rows that the statement wouldn't.
    pub may_fail: bool,
    /// What computes it.
    pub implementation: Implementation,
}

/// An aggregate function, chosen for the types of its arguments.
#[derive(Clone)]
pub struct AggregateFunction {
    /// Its name.
    pub name: Arc<str>,
    /// The value for a group without rows: 0 for counts, NULL for most.
    pub of_empty: Value,
    /// The same however often a row comes: `min`, `bool_or`.
    pub ignores_duplicates: bool,
    /// The value depends on the order of rows: `first`, `list`, `string_agg`.
    pub depends_on_order: bool,
    /// What computes it.
    pub implementation: Implementation,
}

/// A function that exists only with OVER.
#[derive(Clone)]
pub struct WindowFunction {
    /// Its name.
    pub name: Arc<str>,
    /// It looks at the rows of its frame, as `first_value` does, not at the partition only.
    pub uses_frame: bool,
    /// What computes it.
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

/// Why a call has no function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoFunction {
    /// Nothing has this name.
    UnknownName,
    /// No function of the name takes these arguments; the forms that there are, as text.
    NoMatch {
        /// Such as `substring(VARCHAR, BIGINT, BIGINT)`.
        signatures: Vec<String>,
    },
    /// An argument has a value that the function doesn't take; says why.
    BadArgument {
        /// Position of the argument, if it is one.
        argument: Option<usize>,
        /// In a sentence.
        message: String,
    },
}

/// What the choice of a function ends in.
pub type FunctionError = NoFunction;

/// The functions that there are. Names are in lower case.
pub trait FunctionRegistry: Send + Sync {
    /// What a name stands for. A name may be an aggregate and a window function, too: aggregates are told then.
    fn kind(&self, name: &str) -> Option<FunctionKind>;

    /// The scalar function that takes such arguments.
    fn scalar(&self, name: &str, arguments: &[ArgumentType<'_>]) -> Result<ScalarMatch, NoFunction>;

    /// The types of the parameters of the lambdas among the arguments, by argument; empty for those that are none.
    fn lambda_parameters(&self, name: &str, arguments: &[ArgumentType<'_>]) -> Result<Vec<Vec<SqlType>>, NoFunction>;

    /// The aggregate function that takes such arguments. `order_by` are the keys of WITHIN GROUP or of an ORDER BY.
    fn aggregate(
        &self,
        name: &str,
        arguments: &[ArgumentType<'_>],
        order_by: &[ArgumentType<'_>],
    ) -> Result<AggregateMatch, NoFunction>;

    /// The window function that takes such arguments; aggregates are no window functions here.
    fn window(&self, name: &str, arguments: &[ArgumentType<'_>]) -> Result<WindowMatch, NoFunction>;

    /// All names, for hints.
    fn names(&self) -> Vec<String>;

    /// The value of a call of an immutable function with constants; `None` if it is left to the executor, as one whose value
    /// would be large.
    fn evaluate(&self, call: &crate::Expr) -> Option<godwit_common::Result<Value>>;
}
