//! The state of binding one statement.

use std::collections::HashMap;
use std::sync::Arc;

use godwit_common::{Error, Result, Span, SqlState};
use godwit_plan::{AggregateCall, ColumnId, ColumnSet, Expr, NodeId, Plan, SharedId, WindowCall};
use godwit_syntax::ast;
use godwit_types::{SqlType, Value};

use crate::query::CommonTable;
use crate::scope::Scope;
use crate::usage::Usage;
use crate::{Dialect, Environment};

/// Maximum nesting depth of queries, views and macros: each level takes some ten kilobytes of stack.
const DEPTH_MAX: usize = 512;

/// Binds statements: names to columns, values to types.
#[derive(Clone)]
pub struct Binder {
    /// The plan bound so far.
    pub plan: Plan,
    /// Resolves the names that come from outside the statement; a view has its own.
    pub(crate) environment: Arc<dyn Environment>,
    /// Common table expressions in scope, innermost last.
    pub(crate) common_tables: Vec<CommonTable>,
    /// Views that are already bound: their columns, by name.
    pub(crate) views: HashMap<String, BoundView>,
    /// Constant columns whose type depends on their use: quoted text and NULL in a SELECT list.
    pub(crate) untyped: HashMap<ColumnId, Expr>,
    /// Keys of scanned tables that are never NULL, each with all columns of its scan, which it determines.
    pub(crate) keys: Vec<(ColumnSet, ColumnSet)>,
    /// Views and macros being bound, to detect those that contain themselves.
    pub(crate) open_definitions: Vec<String>,
    pub(crate) depth: usize,
    /// Number of expression nodes that names have been replaced by so far.
    pub(crate) substituted_parts: usize,
    /// The queries around the one being bound, if it is a subquery in one of their expressions; innermost last.
    pub(crate) enclosing: Vec<Enclosing>,
    /// The columns of values that expressions compute once and use several times.
    pub(crate) shared_values: HashMap<Expr, ColumnId>,
    /// What queries use, if that is wanted.
    pub(crate) usage: Option<Usage>,
    /// Values of parameters, with their names, if the plan is for these values only.
    pub(crate) parameter_values: Arc<[(String, Value, SqlType)]>,
    /// True while an expression of a definition is bound, which has the default dialect.
    is_stored: bool,
}

/// A bound view: its plan, and its columns by name.
pub(crate) type BoundView = (SharedId, Vec<(Arc<str>, ColumnId)>);

/// The rows of a query, and the names of its columns.
#[derive(Debug, Clone)]
pub struct BoundQuery {
    /// The rows.
    pub node: NodeId,
    /// Name and column, in order; a column may appear twice.
    pub columns: Vec<(Arc<str>, ColumnId)>,
}

/// The clause of an expression: determines what it may contain, and its name in messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Clause {
    /// The condition of a join.
    On,
    /// Arguments of functions in FROM, and rows of VALUES.
    From,
    /// A function in FROM that makes a value.
    Function,
    /// WHERE.
    Where,
    /// GROUP BY.
    GroupBy,
    /// HAVING.
    Having,
    /// The SELECT list.
    Select,
    /// QUALIFY.
    Qualify,
    /// ORDER BY of a SELECT.
    OrderBy,
    /// DISTINCT ON.
    DistinctOn,
    /// LIMIT and OFFSET.
    Limit,
    /// The arguments, order and filter of an aggregate.
    AggregateArgument,
    /// The arguments of a window function, and its window specification.
    WindowArgument,
    /// Values assigned to columns by UPDATE, ON CONFLICT and MERGE.
    Set,
    /// WHEN of MERGE.
    When,
    /// RETURNING.
    Returning,
    /// Outside of queries: a default, a check, a generated column, the value of a setting.
    Alone,
}

impl Clause {
    /// Whether aggregates are allowed here.
    pub fn allows_aggregates(self) -> bool {
        matches!(
            self,
            Self::Having | Self::Select | Self::Qualify | Self::OrderBy | Self::DistinctOn | Self::WindowArgument
        )
    }

    /// Whether window functions are allowed here.
    pub fn allows_windows(self) -> bool {
        matches!(self, Self::Select | Self::Qualify | Self::OrderBy | Self::DistinctOn)
    }

    /// Returns its name in messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::On => "a join's condition",
            Self::From | Self::Function => "FROM",
            Self::Where => "WHERE",
            Self::GroupBy => "GROUP BY",
            Self::Having => "HAVING",
            Self::Select => "SELECT",
            Self::Qualify => "QUALIFY",
            Self::OrderBy => "ORDER BY",
            Self::DistinctOn => "DISTINCT ON",
            Self::Limit => "LIMIT",
            Self::AggregateArgument => "the arguments of an aggregate",
            Self::WindowArgument => "the arguments of a window function",
            Self::Set => "SET",
            Self::When => "WHEN",
            Self::Returning => "RETURNING",
            Self::Alone => "this expression",
        }
    }
}

/// The parts of a SELECT's expressions that are computed by separate nodes.
#[derive(Default)]
pub(crate) struct Collected {
    /// Aggregates, each once: equal calls that aren't volatile share a column.
    pub aggregates: Vec<(ColumnId, AggregateCall)>,
    /// Window functions, each once.
    pub windows: Vec<(ColumnId, WindowCall)>,
    /// UNNEST in the SELECT list: (element, list). The lists are unnested side by side.
    pub unnested: Vec<(ColumnId, Expr)>,
    /// GROUPING(keys): a column, and the expressions that must be keys.
    pub groupings: Vec<(ColumnId, Vec<Expr>)>,
}

/// A query while a subquery in one of its expressions is bound: an aggregate in the subquery may belong to it.
#[derive(Clone)]
pub(crate) struct Enclosing {
    /// The clause that contains the subquery.
    pub clause: Clause,
    /// The columns of its FROM.
    pub columns: ColumnSet,
    /// Its aggregates so far.
    pub aggregates: Vec<(ColumnId, AggregateCall)>,
}

/// The context in which an expression is bound.
pub(crate) struct ExprContext<'c> {
    /// Resolves names.
    pub scope: &'c Scope<'c>,
    /// The clause that contains it.
    pub clause: Clause,
    /// Collects aggregates, window functions and the like for clauses that allow them.
    pub collected: &'c mut Collected,
    /// The windows of the WINDOW clause.
    pub windows: &'c [ast::NamedWindow],
}

impl Binder {
    /// Creates a binder with an empty plan.
    pub fn new(environment: Arc<dyn Environment>) -> Self {
        Self {
            plan: Plan::new(),
            environment,
            common_tables: Vec::new(),
            views: HashMap::new(),
            untyped: HashMap::new(),
            keys: Vec::new(),
            open_definitions: Vec::new(),
            depth: 0,
            substituted_parts: 0,
            enclosing: Vec::new(),
            shared_values: HashMap::new(),
            usage: None,
            parameter_values: Arc::default(),
            is_stored: false,
        }
    }

    /// Returns the same binder for a plan with these values in place of parameters, given with their names.
    #[must_use]
    pub fn with_parameter_values(mut self, values: Arc<[(String, Value, SqlType)]>) -> Self {
        self.parameter_values = values;
        self
    }

    /// The choices that apply to what is being bound.
    pub(crate) fn dialect(&self) -> Dialect {
        if self.is_stored { Dialect::default() } else { self.environment.dialect() }
    }

    /// Binds an expression of a definition: a default, a check, a generated column.
    pub(crate) fn stored_value(&mut self, expr: &ast::Expr, scope: &Scope<'_>) -> Result<Expr> {
        let around = std::mem::replace(&mut self.is_stored, true);
        let value = self.value_alone(expr, scope);
        self.is_stored = around;
        value
    }

    /// Binds an expression that belongs to no query: without aggregates, windows and UNNEST.
    pub(crate) fn value_alone(&mut self, expr: &ast::Expr, scope: &Scope<'_>) -> Result<Expr> {
        let mut collected = Collected::default();
        let mut context = ExprContext { scope, clause: Clause::Alone, collected: &mut collected, windows: &[] };
        self.expr(expr, &mut context)
    }

    /// Returns the value of a column, as seen from `scope`.
    pub(crate) fn column(&self, column: ColumnId, scope: &Scope<'_>) -> Expr {
        if let Some(usage) = self.usage.as_ref().filter(|_| !self.is_stored) {
            usage.note_column(column);
        }
        let info = self.plan.column(column);
        let mut filled = false;
        let mut next = Some(scope);
        while let Some(scope) = next {
            filled |= scope.filled.contains(column);
            next = scope.outer;
        }
        Expr::new(godwit_plan::ExprKind::Column(column), info.ty.clone(), info.nullable || filled)
    }

    /// Like [`nested`](Self::nested), for a text that the reader of the statement doesn't see: errors while it runs are
    /// told where it is used.
    pub(crate) fn nested_text<T>(&mut self, span: Span, bind: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let first = self.plan.node_count();
        let bound = self.nested(span, bind);
        self.plan.set_spans(first, span);
        bound
    }

    /// Runs `bind` one nesting level deeper; fails at the deepest level.
    pub(crate) fn nested<T>(&mut self, span: Span, bind: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.depth >= DEPTH_MAX {
            let message = format!("queries are nested deeper than {DEPTH_MAX} levels");
            let error = Error::user(message).with_code(SqlState::STATEMENT_TOO_COMPLEX).at_span(span);
            return Err(error.with_hint("store an inner part as a table"));
        }
        self.depth += 1;
        let bound = bind(self);
        self.depth -= 1;
        bound
    }
}
