//! What computes a function: what the plan carries along unseen, and the executor looks into.

use std::sync::Arc;

use godwit_common::Result;
use godwit_scalar::Kernel;
use godwit_types::{SqlType, Value};

/// What computes a scalar function: the `implementation` of a [`godwit_plan::ScalarFunction`].
#[derive(Clone)]
pub enum ScalarImplementation {
    /// A function over vectors, under its documented name.
    Kernel(&'static str, Arc<dyn Kernel>),
    /// The field of the first argument, a struct, at a position from 0.
    Field(usize),
    /// Something done with the elements of the list that is the first argument; the second is a lambda.
    Lambda(LambdaForm),
    /// An operator.
    Operator(Operator),
    /// The moment at which the statement began, as the result's type.
    Clock,
    /// A function of the values of a row.
    Values(ValueFunction),
    /// The key by which the argument is ordered ([`godwit_types::order_key`]).
    OrderKey,
}

/// A function of the values of a row. If the [`godwit_plan::ScalarFunction`] is strict, it isn't called if one of them is
/// NULL: the result is NULL then.
pub type ValueFunction = Arc<dyn Fn(&[Value]) -> Result<Value> + Send + Sync>;

/// What becomes of the results of a lambda.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LambdaForm {
    /// They are the elements of the new list.
    Transform,
    /// The elements are kept for which they are TRUE.
    Filter,
    /// Each is what the next one is computed from; the last is the value.
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

/// What the executor has to know of an aggregate besides its name: the `implementation` of a
/// [`godwit_plan::AggregateFunction`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AggregateImplementation {
    /// The value that the aggregate is about is the first key of its order, cast to this type, as in
    /// `percentile_cont(0.5) WITHIN GROUP (ORDER BY x DESC)`; it stands before the arguments. The direction is the key's.
    pub key: Option<SqlType>,
    /// It counts each value once, whatever the call says.
    pub distinct: bool,
}
