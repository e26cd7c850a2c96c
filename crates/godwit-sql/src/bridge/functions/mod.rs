//! The functions that SQL can call today, as the registry of the new front end.
//!
//! ```text
//! name, types of arguments ─┬─ names of ours: operators, fields of dates, structs, …            scalar.rs
//!                           ├─ FUNCTIONS, by the signatures of the planner crates                 scalar.rs
//!                           ├─ functions with lambdas                                             lambda.rs
//!                           ├─ aggregates: by arity and WITHIN GROUP                              aggregate.rs
//!                           └─ windows                                                            window.rs
//! ```
//!
//! What a match carries as its implementation is a [`ScalarImplementation`], an [`AggregateImplementation`] or nothing:
//! window functions are found by name. `plan` and `expr` of the bridge know what to do with them.

mod aggregate;
mod evaluate;
pub(super) mod lambda;
mod own;
mod properties;
mod scalar;
mod window;

use std::sync::{Arc, LazyLock};

use arrow_schema::{DataType, Field, FieldRef};
use datafusion_common::ScalarValue;
use datafusion_common::config::ConfigOptions;
use datafusion_expr::{HigherOrderUDF, Operator, ScalarUDF, TypeSignature};
use godwit_plan::{
    AggregateMatch, ArgumentType, Expr, FunctionKind, FunctionRegistry, NoFunction, ScalarMatch, WindowMatch,
};
use godwit_types::{SqlType, Value};

pub(super) use aggregate::AggregateImplementation;
pub(super) use own::{arithmetic as row_arithmetic, cast as row_cast};

use super::types::{arrow_type, scalar as constant, sql_type};
use crate::functions::FUNCTIONS;
use crate::{Namespace, sequence};

/// Most forms of a function that a message lists.
const SIGNATURES_MAX: usize = 8;

/// Settings of functions that ask for some.
pub(super) static CONFIG: LazyLock<Arc<ConfigOptions>> = LazyLock::new(Arc::default);

/// What computes a scalar function.
#[derive(Debug, Clone)]
pub(super) enum ScalarImplementation {
    /// A function of the planner crates.
    Function {
        /// The function.
        function: Arc<ScalarUDF>,
        /// Constants before the arguments.
        before: Vec<ScalarValue>,
        /// Constants behind the arguments.
        after: Vec<ScalarValue>,
    },
    /// The element at a position of a function's list.
    Element(Arc<ScalarUDF>, i64),
    /// A field of a struct, by its name.
    Field(Arc<str>),
    /// A function that takes lambdas.
    Lambda(Arc<HigherOrderUDF>),
    /// An operator; a constant may be its left operand.
    Operator(Operator, Option<ScalarValue>),
    /// The last argument as the result's type.
    Cast,
}

impl ScalarImplementation {
    /// A plain call.
    fn of(function: &Arc<ScalarUDF>) -> Self {
        Self::Function { function: Arc::clone(function), before: Vec::new(), after: Vec::new() }
    }
}

/// The functions; by default, those that need no names.
#[derive(Default)]
pub struct Registry {
    sequences: Vec<Arc<ScalarUDF>>,
}

impl Registry {
    /// The functions for statements that see these names: `nextval` and `currval`, too.
    pub fn for_names(namespace: &Namespace) -> Self {
        let functions = ["nextval", "currval"].into_iter().filter_map(|name| sequence::function(name, namespace));
        Self { sequences: functions.map(Arc::new).collect() }
    }

    /// The function that computes calls of a name as they are.
    fn function(&self, name: &str) -> Option<Arc<ScalarUDF>> {
        let of_sequence = || self.sequences.iter().find(|function| function.name() == name).cloned();
        FUNCTIONS.scalar.get(name).cloned().or_else(of_sequence)
    }
}

impl FunctionRegistry for Registry {
    fn kind(&self, name: &str) -> Option<FunctionKind> {
        if aggregate::is_known(name) {
            Some(FunctionKind::Aggregate)
        } else if window::is_known(name) {
            Some(FunctionKind::Window)
        } else if scalar::is_own(name) || lambda::function(name).is_some() || self.function(name).is_some() {
            Some(FunctionKind::Scalar)
        } else {
            None
        }
    }

    fn scalar(&self, name: &str, arguments: &[ArgumentType<'_>]) -> Result<ScalarMatch, NoFunction> {
        scalar::resolve(self, name, arguments)
    }

    fn lambda_parameters(&self, name: &str, arguments: &[ArgumentType<'_>]) -> Result<Vec<Vec<SqlType>>, NoFunction> {
        lambda::parameters(name, arguments)
    }

    fn aggregate(
        &self,
        name: &str,
        arguments: &[ArgumentType<'_>],
        order_by: &[ArgumentType<'_>],
    ) -> Result<AggregateMatch, NoFunction> {
        aggregate::resolve(name, arguments, order_by)
    }

    fn window(&self, name: &str, arguments: &[ArgumentType<'_>]) -> Result<WindowMatch, NoFunction> {
        window::resolve(name, arguments)
    }

    fn names(&self) -> Vec<String> {
        let ours = scalar::own_names().chain(aggregate::own_names()).map(str::to_owned);
        let sequences = self.sequences.iter().map(|function| function.name().to_owned());
        let mut names: Vec<String> = FUNCTIONS.names().map(str::to_owned).chain(ours).chain(sequences).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    fn evaluate(&self, call: &Expr) -> Option<godwit_common::Result<Value>> {
        evaluate::evaluate(call)
    }
}

/// What is tried for an argument whose type isn't known yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unknown {
    /// Quoted text is VARCHAR.
    Text,
    /// It becomes what the function asks for.
    Nothing,
}

/// The Arrow types of arguments.
fn fields_of(arguments: &[ArgumentType<'_>], unknown: Unknown) -> Result<Vec<FieldRef>, NoFunction> {
    let field = |(at, argument): (usize, &ArgumentType<'_>)| {
        let is_text = matches!(argument.value, Some(Value::Text(_)));
        let ty = match argument.ty {
            SqlType::Unknown if is_text && unknown == Unknown::Text => DataType::Utf8View,
            ty => arrow_type(ty)
                .map_err(|error| NoFunction::BadArgument { argument: Some(at), message: error.message().to_owned() })?,
        };
        Ok(Arc::new(Field::new(format!("a{at}"), ty, argument.nullable)))
    };
    arguments.iter().enumerate().map(field).collect()
}

/// The type that an argument is cast to for a function that takes `coerced`.
fn argument_type(argument: &ArgumentType<'_>, coerced: &DataType) -> Result<SqlType, NoFunction> {
    match arrow_type(argument.ty) {
        Ok(own) if *argument.ty != SqlType::Unknown && super::types::is_same(&own, coerced) => Ok(argument.ty.clone()),
        _ => readable(coerced).map(settled),
    }
}

/// SQL's type for one of the planner crates.
fn readable(ty: &DataType) -> Result<SqlType, NoFunction> {
    sql_type(ty).map_err(|error| NoFunction::BadArgument { argument: None, message: error.message().to_owned() })
}

/// What NULL is where nothing else is known.
fn settled(ty: SqlType) -> SqlType {
    match ty {
        SqlType::Unknown => SqlType::Integer,
        SqlType::List(element) if *element == SqlType::Unknown => SqlType::list_of(SqlType::Integer),
        other => other,
    }
}

/// An argument's constant as a value of the type that it is cast to, if it is one.
fn constant_of(argument: &ArgumentType<'_>, ty: &SqlType) -> Option<ScalarValue> {
    let value = argument.value?;
    let cast = godwit_types::cast_value(value, argument.ty, ty).ok()?;
    constant(&cast, ty).ok()
}

/// The forms of a function, in SQL's types.
fn signatures(name: &str, signature: &TypeSignature) -> Vec<String> {
    let list = |types: Vec<DataType>| {
        let types: Option<Vec<String>> = types.iter().map(|ty| Some(sql_type(ty).ok()?.to_string())).collect();
        types.map(|types| format!("{name}({})", types.join(", ")))
    };
    let mut forms: Vec<String> = Vec::new();
    for form in signature.get_example_types().into_iter().filter_map(list) {
        if forms.len() < SIGNATURES_MAX && !forms.contains(&form) {
            forms.push(form);
        }
    }
    forms
}

/// A message of the planner crates without their labels, as the part of a sentence.
fn message_of(error: datafusion_common::DataFusionError) -> String {
    super::planning_error(error).message().to_owned()
}
