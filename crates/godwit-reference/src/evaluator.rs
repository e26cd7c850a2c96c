//! The evaluator's entry points and runtime state: the remaining budget, and the rows of shared plans.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use godwit_common::{Error, Result, SqlState};
use godwit_plan::{ColumnId, ColumnSet, Expr, NodeId, Plan, SharedId};
use godwit_types::Value;

use crate::environment::{Environment, Row, Rows};
use crate::validate::validate;

/// Maximum number of rows produced and pairs tried, in total.
const ROWS_MAX: u64 = 1_000_000;
/// Maximum nesting of nodes and expressions.
const DEPTH_MAX: usize = 2_500;
/// Stack for frames of that depth in a build without optimizations.
const STACK_BYTES: usize = 256 << 20;

/// Returns the result rows of a plan, with the columns of [`Plan::output`]. `parameters` are its parameters' values.
///
/// # Errors
/// The error of the statement; a resource error if it would produce more than a million rows.
///
/// # Panics
/// If the plan has no root.
pub fn evaluate(plan: &Plan, parameters: &[Value]) -> Result<Vec<Row>> {
    let root = plan.root.expect("only whole plans are evaluated");
    let run = || {
        validate(plan)?;
        let evaluator = Evaluator::new(plan, parameters);
        let result = evaluator.rows(root, &Environment::EMPTY)?;
        let positions = plan.output.iter().map(|output| position(&result.columns, output.column));
        let positions = positions.collect::<Result<Vec<_>>>()?;
        Ok(result.rows.iter().map(|row| positions.iter().map(|&position| row[position].clone()).collect()).collect())
    };
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, run);
        let thread = thread.map_err(|error| Error::io("starting a thread", &error))?;
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Returns the rows of a node, in an environment that binds its outer columns. Runs on the caller's stack.
///
/// # Errors
/// As [`evaluate`].
pub fn evaluate_node(plan: &Plan, node: NodeId, environment: &Environment<'_>) -> Result<Rows> {
    Evaluator::new(plan, &[]).rows(node, environment)
}

/// Evaluates an expression, with these values of columns. Runs on the caller's stack.
///
/// # Errors
/// As [`evaluate`].
pub fn evaluate_expr(plan: &Plan, expr: &Expr, row: &[(ColumnId, Value)]) -> Result<Value> {
    let (columns, values): (Vec<ColumnId>, Vec<Value>) = row.iter().cloned().unzip();
    Evaluator::new(plan, &[]).value(expr, &Environment::EMPTY.with_row(&columns, &values))
}

/// A run of the evaluator.
pub(crate) struct Evaluator<'p> {
    pub(crate) plan: &'p Plan,
    pub(crate) parameters: &'p [Value],
    rows_left: Cell<u64>,
    depth: Cell<usize>,
    random: Cell<u64>,
    shared: RefCell<HashMap<SharedId, Rc<Rows>>>,
    free_columns: RefCell<HashMap<NodeId, ColumnSet>>,
}

impl<'p> Evaluator<'p> {
    pub(crate) fn new(plan: &'p Plan, parameters: &'p [Value]) -> Self {
        Self {
            plan,
            parameters,
            rows_left: Cell::new(ROWS_MAX),
            depth: Cell::new(0),
            random: Cell::new(0),
            shared: RefCell::default(),
            free_columns: RefCell::default(),
        }
    }

    /// Charges rows that are produced or visited to the budget.
    pub(crate) fn spend(&self, rows: usize) -> Result<()> {
        let left = self.rows_left.get().checked_sub(rows as u64);
        self.rows_left
            .set(left.ok_or_else(|| Error::resource("the reference evaluator makes at most a million rows"))?);
        Ok(())
    }

    /// Calls `run` one level deeper.
    pub(crate) fn deeper<T>(&self, run: impl FnOnce() -> Result<T>) -> Result<T> {
        let depth = self.depth.get();
        if depth >= DEPTH_MAX {
            let error = Error::user("the plan is nested too deeply for the reference evaluator");
            return Err(error.with_code(SqlState::STATEMENT_TOO_COMPLEX));
        }
        self.depth.set(depth + 1);
        let result = run();
        self.depth.set(depth);
        result
    }

    /// Returns the next number, from 0 up to but excluding 1, of a sequence that is the same in each run.
    pub(crate) fn random(&self) -> f64 {
        let count = self.random.get().wrapping_add(1);
        self.random.set(count);
        let mixed = (count.wrapping_mul(0x9E37_79B9_7F4A_7C15)).rotate_left(29).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        (mixed >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Whether the right side uses columns of the left one. Such a right side is evaluated for each left row.
    pub(crate) fn is_dependent(&self, left: &[ColumnId], right: NodeId) -> bool {
        let mut known = self.free_columns.borrow_mut();
        let free = known.entry(right).or_insert_with(|| self.plan.free_columns(right));
        left.iter().any(|&column| free.contains(column))
    }

    /// Returns the rows of a shared plan, evaluated once, or once per round if it reads the rows of an outer recursion.
    pub(crate) fn shared_rows(&self, id: SharedId, environment: &Environment<'_>) -> Result<Rc<Rows>> {
        if let Some(rows) = self.shared.borrow().get(&id) {
            return Ok(Rc::clone(rows));
        }
        let root = self.plan.shared(id).root;
        let rows = Rc::new(self.rows(root, environment)?);
        if !self.reads_outer_recursion(root) {
            self.shared.borrow_mut().insert(id, Rc::clone(&rows));
        }
        Ok(rows)
    }
}

/// Returns the position of a column among those of a node.
pub(crate) fn position(columns: &[ColumnId], column: ColumnId) -> Result<usize> {
    let found = columns.iter().position(|&other| other == column);
    found.ok_or_else(|| Error::internal(format!("column {column} isn't among those of its node")))
}
