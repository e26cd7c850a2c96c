//! Implementations of functions: plans carry them opaquely, and the executor looks into them.

use std::sync::Arc;

use godwit_common::Result;
use godwit_plan::AggregateFunction;
use godwit_scalar::Kernel;
use godwit_types::{SqlType, Value};

/// The implementation of a scalar function: the `implementation` of a [`godwit_plan::ScalarFunction`].
#[derive(Clone)]
pub enum ScalarImplementation {
    /// A function over vectors, under its documented name.
    Kernel(&'static str, Arc<dyn Kernel>),
    /// The field of the first argument, a struct, at a position from 0.
    Field(usize),
    /// A lambda, the second argument, applied to the elements of the list that is the first argument.
    Lambda(LambdaForm),
    /// An operator.
    Operator(Operator),
    /// The time at which the statement began, as the result's type.
    Clock,
    /// A function of one row's values.
    Values(ValueFunction),
    /// The key by which the argument is ordered ([`godwit_types::order_key`]).
    OrderKey,
}

/// A function of one row's values. If the [`godwit_plan::ScalarFunction`] is strict, it isn't called when one of them
/// is NULL, since the result is NULL.
pub type ValueFunction = Arc<dyn Fn(&[Value]) -> Result<Value> + Send + Sync>;

/// The use of a lambda's results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LambdaForm {
    /// They are the elements of the new list.
    Transform,
    /// They decide which elements are kept: those for which they are TRUE.
    Filter,
    /// Each is an input of the next call; the last is the value.
    Reduce,
}

/// An operator that the plan calls as a function; its operands have the type of its result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operator {
    /// `&`
    BitAnd,
    /// `|`
    BitOr,
    /// `#`
    BitXor,
    /// `~`, of one operand.
    BitNot,
    /// `<<`
    ShiftLeft,
    /// `>>`
    ShiftRight,
}

/// Properties of an aggregate, besides its name, that the executor needs: the `implementation` of a
/// [`godwit_plan::AggregateFunction`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AggregateImplementation {
    /// The value to aggregate is the first key of its order, cast to this type, as in `percentile_cont(0.5) WITHIN
    /// GROUP (ORDER BY x DESC)`; it comes before the arguments. The direction is the key's.
    pub key: Option<SqlType>,
    /// True if it counts each value once, whatever the call says.
    pub distinct: bool,
}

impl AggregateImplementation {
    /// Whether the value that the function is about is the key of its order.
    pub fn takes_key(function: &AggregateFunction) -> bool {
        function.implementation.downcast_ref::<Self>().is_some_and(|known| known.key.is_some())
    }
}
