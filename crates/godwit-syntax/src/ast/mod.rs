//! The syntax tree: the text's structure, before names are resolved.
//!
//! ```text
//! Statement ─▶ Query ─▶ SetExpr ─▶ Select ─▶ TableWithJoins ─▶ TableFactor ─▶ Query …
//!                                    └─▶ Expr ─▶ Expr …          └─▶ Expr
//! ```
//!
//! Every node has a [`Span`] of the script from which it was parsed. Alternative spellings are normalized: `x::t` and
//! `CAST(x AS t)` are the same node, `EXTRACT(year FROM d)` is a call of `date_part`, `FROM t` selects a wildcard.
//! Left-associative chains that may be long (AND, OR, set operations, joins) are lists, so that the tree is never
//! deeper than [`DEPTH_MAX`](crate::DEPTH_MAX), and recursion along it is safe under [`with_stack`](crate::with_stack).
//!
//! `==` on nodes also compares spans.

mod data_type;
mod define;
mod expression;
mod from;
mod query;
mod session;
mod statement;
mod transaction;
mod write;

use std::sync::Arc;

use godwit_common::Span;

pub use data_type::{DataType, DataTypeKind, StructTypeField};
pub use define::{
    AlterAction, AlterColumnAction, AlterObject, AlterTable, AlterTableAction, ColumnConstraint, ColumnConstraintKind,
    ColumnDef, CommentOn, CommentTarget, CreateIndex, CreateMacro, CreateSchema, CreateSequence, CreateTable,
    CreateType, CreateView, Drop, DropBehavior, ForeignReference, MacroBody, MacroOverload, MacroParameter, ObjectKind,
    ReferentialAction, SequenceOption, SequenceOptionKind, TableConstraint, TableConstraintKind, TypeDefinition,
};
pub use expression::{
    Argument, BinaryOperator, Call, CaseBranch, Columns, Expr, ExprKind, Frame, FrameBound, FrameExclusion, FrameUnits,
    IntervalUnit, IsTest, LikeKind, ListComprehension, Literal, MapEntry, NullTreatment, Over, Parameter, Quantified,
    Quantifier, Renaming, Replacement, StructField, UnaryOperator, Wildcard, WindowSpec,
};
pub use from::{
    AliasColumn, Join, JoinConstraint, JoinKind, Pivot, PivotColumn, PivotValues, Sample, SampleUnit, TableAlias,
    TableFactor, TableFactorKind, TableWithJoins, Unpivot, UnpivotColumn,
};
pub use query::{
    Cte, CteBody, Direction, Distinct, GroupBy, GroupingElement, GroupingElementKind, Limit, NamedWindow, NullsOrder,
    OrderBy, OrderByExpr, Query, Select, SelectItem, SetExpr, SetExprKind, SetOperations, SetOperator, SetStep, With,
};
pub use session::{
    Attach, Deallocate, Detach, Execute, LoadExtension, Pragma, PragmaValue, Prepare, Reset, Set, SetVariable,
    SettingScope, Use,
};
pub use statement::{CallStatement, Describe, DescribeTarget, Explain, Show, Statement, StatementOption, Trace};
pub use transaction::{Begin, Checkpoint, Maintenance, MergeDelta, TransactionMode};
pub use write::{
    Assignment, AssignmentTarget, ConflictAction, ConflictTarget, Copy, CopyDirection, CopyPath, CopySource, Delete,
    ExportDatabase, ImportDatabase, Insert, InsertPolicy, InsertSource, Merge, MergeAction, MergeClause,
    MergeCondition, MergeMatch, OnConflict, Truncate, Update,
};

/// A name. Names are compared case-insensitively, quoted or not, and keep their spelling.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ident {
    /// The name, without quotes.
    pub text: Arc<str>,
    /// True if it was in double quotes.
    pub quoted: bool,
    /// Its span in the text.
    pub span: Span,
}

impl Ident {
    /// Makes a name without quotes.
    pub fn new(text: impl Into<Arc<str>>, span: Span) -> Self {
        Self { text: text.into(), quoted: false, span }
    }

    /// True if the names are equal, ignoring case.
    pub fn is(&self, name: &str) -> bool {
        self.text.eq_ignore_ascii_case(name)
    }
}

/// A name with its qualifiers: `database.schema.table`, or less.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectName {
    /// The parts, outermost first; at least one.
    pub parts: Vec<Ident>,
    /// Its span, from the first part to the last.
    pub span: Span,
}

impl ObjectName {
    /// Makes a name of one part.
    pub fn of(name: Ident) -> Self {
        Self { span: name.span, parts: vec![name] }
    }

    /// Returns the innermost part: the object's own name.
    pub fn last(&self) -> &Ident {
        self.parts.last().expect("names have parts")
    }

    /// Returns the only part of an unqualified name.
    pub fn single(&self) -> Option<&Ident> {
        match &self.parts[..] {
            [name] => Some(name),
            _ => None,
        }
    }
}
