//! The logical plan: nodes and typed expressions over columns with unique ids.
//!
//! ```text
//! Plan ── nodes: an arena, addressed by NodeId; each a tree of its inputs
//!      ├─ columns: name, type, NULL-ness, by ColumnId
//!      ├─ shared: subplans that are used more than once, by SharedId; a Use node maps fresh ids to theirs
//!      └─ root, and the names of the result's columns
//! ```
//!
//! - *Names are gone.* A [`ColumnId`] is unique in a statement; uses of a column refer to its id. Each instance of a
//!   table and each use of a shared plan has its own ids, so that no rewrite can confuse two of them. Names are kept
//!   only for `EXPLAIN` and messages.
//! - *A node passes a column on under its id*: the same id is the same value in every node that has it. Where a value
//!   may change (except on the NULL side of an outer join), it gets another id.
//! - *Nodes are immutable.* A rewrite adds nodes; unreachable nodes cost nothing but their memory.
//! - *Sharing is explicit.* From a root, nodes form a tree; only [`Node::Use`] leads to subplans with other uses. So a
//!   pass walks each shared plan once, however often it is used.
//! - *A subplan is correlated* exactly if it has free columns ([`Plan::free_columns`]): columns that it uses but none
//!   of its nodes produces.
#![forbid(unsafe_code)]

mod call;
mod column_set;
mod expr;
mod function;
mod ids;
mod instance;
mod node;
mod plan;
mod print;
mod relation;
mod statistics;
#[cfg(test)]
mod tests;
mod walk;
mod write;

pub use call::{AggregateCall, Frame, FrameBound, FrameExclusion, FrameUnits, SortKey, WindowCall, WindowTarget};
pub use column_set::ColumnSet;
pub use expr::{Comparison, Expr, ExprKind, Match, Subquery, SubqueryKind};
pub use function::{
    AggregateFunction, AggregateMatch, ArgumentType, FunctionError, FunctionKind, FunctionRegistry, NoFunction,
    ScalarFunction, ScalarMatch, Volatility, WindowFunction, WindowMatch,
};
pub use godwit_types::Arithmetic;
pub use ids::{ColumnId, NodeId, ParameterId, SharedId};
pub use node::{
    Aggregate, Join, JoinKind, Limit, Node, Project, Recursive, Sample, SampleSize, Scan, SetOperation, SetOperator,
    Unnest, UnnestedList, Use, Values, Window,
};
pub use plan::{ColumnInfo, OutputColumn, ParameterInfo, Plan, SharedPlan};
pub use print::ColumnNames;
pub use relation::{ComputedColumn, ReadSamples, Relation, RelationColumn, SampleCount, TableSample};
pub use statistics::{ColumnStatistics, TableStatistics, ValueRange};
pub use write::WriteKind;
