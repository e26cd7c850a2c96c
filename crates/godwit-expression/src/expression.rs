//! Compiled expressions: trees of operations, each with the type of its result.

use std::sync::Arc;

use godwit_common::{ErrorKind, Result, Span};
use godwit_scalar::Work;
use godwit_types::{SqlType, Value};
use godwit_vector::kernels::compare::Comparison;
use godwit_vector::kernels::concatenate::concatenated;
use godwit_vector::sql::{arrow_type, column_type, vector_of_values};
use godwit_vector::{Chunk, ColumnType, Flat, PhysicalType, ValueRange, Vector};

use crate::batch::Batch;
use crate::entries::EntryCache;
use crate::literal::{Literal, constant_of};
use crate::{Parameter, conditional};

/// A function of the columns of a chunk. Immutable and cheap to clone.
#[derive(Clone)]
pub struct Expression(Arc<Node>);

struct Node {
    operation: Operation,
    arguments: Vec<Expression>,
    output: ColumnType,
    /// True if evaluating it on some row may be an error.
    can_fail: bool,
    /// True if equal arguments may give different results.
    volatile: bool,
    /// Input columns that it reads, ascending.
    columns: Vec<usize>,
    /// Values of enclosing Lets that it reads.
    locals: Vec<LocalId>,
    /// Its place in the SQL text.
    span: Span,
}

/// The value of a Let, by its number in the expression.
pub(crate) type LocalId = u32;

/// What a node does with its arguments.
#[derive(Clone)]
pub(crate) enum Operation {
    /// A column of the chunk.
    Column(usize),
    Literal(Literal),
    Parameter(Parameter),
    /// The value of the enclosing Let with this number.
    Local(LocalId),
    /// The second argument, in which this local stands for the first one.
    Let(LocalId),
    /// All arguments are evaluated on all rows, then the kernel on them.
    Strict(Arc<dyn Kernel>),
    /// Strict, but visible to [`fuse_ranges`](crate::compare::fuse_ranges), like the next one.
    Compare(Comparison),
    /// True where the argument lies in the range, which its physical type holds.
    Between(ValueRange),
    /// Three-valued AND of all arguments; later ones see only undecided rows if that pays or if they can fail.
    And,
    /// Three-valued OR, likewise.
    Or,
    /// Arguments: condition, value, condition, value, …, otherwise.
    Case,
    /// The first argument that isn't NULL.
    Coalesce,
    /// The argument; NULL in rows for which it is an error.
    Try,
    /// The argument, over one column, once per dictionary entry if the column is a dictionary.
    PerEntry(Arc<EntryCache>),
}

/// A function of vectors.
pub(crate) trait Kernel: Send + Sync {
    /// Returns the result for arguments of `rows` (at least one) rows each.
    fn evaluate(&self, arguments: &[Vector], rows: usize) -> Result<Vector>;

    /// True if some row may be an error.
    fn can_fail(&self) -> bool {
        false
    }

    /// True if equal arguments may give different results.
    fn is_volatile(&self) -> bool {
        false
    }
}

impl Expression {
    /// Column `index` of the chunk.
    pub fn column(index: usize, ty: ColumnType) -> Expression {
        Self::new(Operation::Column(index), Vec::new(), ty)
    }

    /// A constant. Quoted text to which nothing gave a type is text.
    pub fn literal(value: &Value, ty: &SqlType) -> Result<Expression> {
        let ty = if matches!((value, ty), (Value::Text(_), SqlType::Unknown)) { &SqlType::Varchar } else { ty };
        let literal = Literal::of_vector(&vector_of_values(std::slice::from_ref(value), ty)?);
        let nullable = Self::new(Operation::Literal(literal.clone()), Vec::new(), column_type(ty, true)?);
        Ok(nullable.replaced_by(literal))
    }

    /// TRUE or FALSE.
    pub fn boolean(value: bool) -> Expression {
        Self::literal(&Value::Boolean(value), &SqlType::Boolean).expect("booleans are literals")
    }

    /// The value of `parameter` at the time of evaluation; a literal, with all that it proves, if it is already known.
    pub fn parameter(parameter: &Parameter) -> Result<Expression> {
        let output = ColumnType::new(arrow_type(parameter.ty())?, true)?;
        let expression = Self::new(Operation::Parameter(parameter.clone()), Vec::new(), output);
        Ok(match parameter.is_set() {
            true => expression.replaced_by(parameter.literal()?.clone()),
            false => expression,
        })
    }

    pub(crate) fn new(operation: Operation, arguments: Vec<Expression>, output: ColumnType) -> Expression {
        let kernel = match &operation {
            Operation::Strict(kernel) => Some(kernel.clone()),
            _ => None,
        };
        let mut columns: Vec<usize> =
            arguments.iter().flat_map(|argument| argument.0.columns.iter().copied()).collect();
        let mut locals: Vec<LocalId> =
            arguments.iter().flat_map(|argument| argument.0.locals.iter().copied()).collect();
        match operation {
            Operation::Column(index) => columns.push(index),
            Operation::Local(id) => locals.push(id),
            Operation::Let(id) => locals.retain(|&local| local != id),
            _ => {}
        }
        columns.sort_unstable();
        columns.dedup();
        locals.sort_unstable();
        locals.dedup();
        let can_fail = match operation {
            Operation::Try => false,
            _ => kernel.as_ref().is_some_and(|kernel| kernel.can_fail()) || arguments.iter().any(Self::can_fail),
        };
        let volatile =
            kernel.as_ref().is_some_and(|kernel| kernel.is_volatile()) || arguments.iter().any(|a| a.0.volatile);
        let span = Span::NONE;
        Expression(Arc::new(Node { operation, arguments, output, can_fail, volatile, columns, locals, span }))
    }

    /// Sets the place that errors report, unless an argument knows a nearer one.
    pub(crate) fn at(self, span: Span) -> Expression {
        if !self.0.can_fail || span.is_none() || !self.0.span.is_none() {
            return self;
        }
        self.rebuilt(self.0.operation.clone(), self.0.arguments.clone(), self.0.output.clone(), span)
    }

    /// Returns a node in place of this one.
    fn rebuilt(&self, operation: Operation, arguments: Vec<Expression>, output: ColumnType, span: Span) -> Expression {
        let Expression(node) = Self::new(operation, arguments, output);
        let node = Arc::into_inner(node).expect("it was just made");
        Expression(Arc::new(Node { span, ..node }))
    }

    /// Applies a kernel to arguments; folded if all of them are literals.
    pub(crate) fn strict(kernel: impl Kernel + 'static, arguments: Vec<Expression>, output: ColumnType) -> Expression {
        let expression = Self::new(Operation::Strict(Arc::new(kernel)), arguments, output);
        expression.folded()
    }

    /// Folds it to a literal if it depends on nothing. An expression that fails is left to fail when it runs.
    pub(crate) fn folded(self) -> Expression {
        let constant = |argument: &Expression| matches!(argument.0.operation, Operation::Literal(_));
        if self.0.volatile || self.0.arguments.is_empty() || !self.0.arguments.iter().all(constant) {
            return self;
        }
        match self.evaluate(&Chunk::new(Vec::new(), 1)) {
            Ok(vector) => self.replaced_by(Literal::of_vector(&vector)),
            Err(_) => self,
        }
    }

    /// A literal of this expression's type.
    pub(crate) fn replaced_by(&self, literal: Literal) -> Expression {
        let mut output = self.0.output.clone();
        output.nullable = literal.is_null;
        if output.physical.is_integer() && !literal.is_null {
            output.range = crate::range::of_flat(&literal.value);
        }
        Expression::new(Operation::Literal(literal), Vec::new(), output)
    }

    /// Returns the same values under another type with the same physical layout.
    pub(crate) fn retyped(&self, output: ColumnType) -> Expression {
        assert_eq!(output.physical, self.0.output.physical);
        let Node { operation, arguments, span, .. } = &*self.0;
        self.rebuilt(operation.clone(), arguments.clone(), output, *span)
    }

    /// Wraps the largest subtrees that can be evaluated per dictionary entry; `work` grants memory for their results.
    /// Nested results are excluded: their arrays have NULLs of their own.
    pub(crate) fn per_entry(self, work: Option<&Arc<dyn Work>>) -> Expression {
        let node = &*self.0;
        if node.arguments.is_empty() || matches!(node.operation, Operation::PerEntry(_)) {
            return self;
        }
        let is_nested = node.output.physical == PhysicalType::Nested;
        if node.columns.len() == 1 && node.locals.is_empty() && !node.volatile && !is_nested {
            let output = node.output.clone();
            return Self::new(Operation::PerEntry(EntryCache::new(work.cloned())), vec![self], output);
        }
        let arguments = node.arguments.iter().map(|argument| argument.clone().per_entry(work)).collect();
        self.rebuilt(node.operation.clone(), arguments, node.output.clone(), node.span)
    }

    /// The type of the result: logical, physical, nullable, and the proven range.
    pub fn output(&self) -> &ColumnType {
        &self.0.output
    }

    /// True if both are certainly the same function of the chunk: clones of one expression, or the same column.
    pub fn is_same(&self, other: &Expression) -> bool {
        let same_column = self.column_index().is_some() && self.column_index() == other.column_index();
        same_column || Arc::ptr_eq(&self.0, &other.0)
    }

    /// True if evaluating it on some row may be an error (overflow, division by zero, a cast that doesn't fit).
    pub fn can_fail(&self) -> bool {
        self.0.can_fail
    }

    /// True if equal rows may give different results (`random()`).
    pub fn is_volatile(&self) -> bool {
        self.0.volatile
    }

    /// The column's index, if it is just a column.
    pub fn column_index(&self) -> Option<usize> {
        match self.0.operation {
            Operation::Column(index) => Some(index),
            _ => None,
        }
    }

    /// The columns that it reads, ascending.
    pub fn columns_used(&self) -> Vec<usize> {
        self.0.columns.clone()
    }

    pub(crate) fn columns(&self) -> &[usize] {
        &self.0.columns
    }

    /// If it is a literal: its value as a flat vector of length 1, and whether it is NULL.
    pub fn as_literal(&self) -> Option<(&Flat, bool)> {
        match &self.0.operation {
            Operation::Literal(literal) => Some((&literal.value, literal.is_null)),
            _ => None,
        }
    }

    /// Returns the same expression over a chunk in which column `i` has become column `remap(i)`.
    pub fn remap_columns(&self, remap: &dyn Fn(usize) -> usize) -> Expression {
        self.with_columns(&|index, ty| Self::column(remap(index), ty.clone()))
    }

    /// Returns the same expression with `column(i, type)` in place of column `i`, of the same type.
    pub fn with_columns(&self, column: &dyn Fn(usize, &ColumnType) -> Expression) -> Expression {
        let node = &*self.0;
        if let Operation::Column(index) = node.operation {
            return column(index, &node.output);
        }
        let arguments = node.arguments.iter().map(|argument| argument.with_columns(column)).collect();
        let operation = match &node.operation {
            // Its results belong to another expression.
            Operation::PerEntry(cache) => Operation::PerEntry(cache.renewed()),
            operation => operation.clone(),
        };
        self.rebuilt(operation, arguments, node.output.clone(), node.span)
    }

    /// Returns the same values in another integer type, on which both sides of a join key or the inputs of a union
    /// agree. Values that don't fit are an error; not possible if the proven range fits.
    pub fn with_physical(&self, physical: PhysicalType) -> Expression {
        crate::cast::to_physical(self, physical).per_entry(None)
    }

    pub(crate) fn operation(&self) -> &Operation {
        &self.0.operation
    }

    pub(crate) fn arguments(&self) -> &[Expression] {
        &self.0.arguments
    }

    /// Returns the values for all rows of `chunk`: dense, possibly constant or dictionary.
    pub fn evaluate(&self, chunk: &Chunk) -> Result<Vector> {
        self.evaluate_in_parts(&Batch::of_chunk(chunk))
    }

    /// Like [`evaluate_batch`](Self::evaluate_batch). If intermediate texts of all rows together are too heavy, the
    /// rows are computed in parts. If the resulting values themselves are heavy texts, the caller has to take fewer
    /// rows: an error of the kind [`ErrorKind::Resource`].
    pub(crate) fn evaluate_in_parts(&self, batch: &Batch<'_>) -> Result<Vector> {
        let is_nested = self.0.output.physical == PhysicalType::Nested;
        match self.evaluate_batch(batch) {
            Err(error) if error.kind() == ErrorKind::Resource && batch.rows() > 1 && !is_nested => {
                let parts = batch.by_halves(|half| self.evaluate_in_parts(half))?;
                match parts.iter().map(Vector::text_bytes).sum::<usize>() <= TOGETHER_BYTES_MAX {
                    true => Ok(concatenated(&parts)),
                    false => Err(error.with_hint("compute the texts in a subquery")),
                }
            }
            evaluated => evaluated,
        }
    }

    pub(crate) fn evaluate_batch(&self, batch: &Batch<'_>) -> Result<Vector> {
        let rows = batch.rows();
        if rows == 0 {
            return Ok(empty(&self.0.output));
        }
        self.evaluate_operation(batch, rows).map_err(|error| error.at_span(self.0.span))
    }

    fn evaluate_operation(&self, batch: &Batch<'_>, rows: usize) -> Result<Vector> {
        match &self.0.operation {
            Operation::Column(index) => Ok(batch.column(*index)),
            Operation::Local(id) => Ok(batch.local(*id)),
            Operation::Let(id) => {
                let value = self.0.arguments[0].evaluate_batch(batch)?;
                self.0.arguments[1].evaluate_batch(&batch.with_local(*id, value))
            }
            Operation::Literal(literal) => Ok(literal.vector(rows)),
            Operation::Parameter(parameter) => Ok(parameter.literal()?.vector(rows)),
            Operation::Strict(kernel) => evaluate_strict(&**kernel, &self.0.arguments, batch),
            Operation::Compare(op) => evaluate_strict(op, &self.0.arguments, batch),
            Operation::Between(bounds) => evaluate_strict(bounds, &self.0.arguments, batch),
            Operation::And => conditional::evaluate_and(&self.0.arguments, batch),
            Operation::Or => conditional::evaluate_or(&self.0.arguments, batch),
            Operation::Case => conditional::evaluate_case(&self.0.arguments, batch, self.0.output.physical),
            Operation::Coalesce => conditional::evaluate_coalesce(&self.0.arguments, batch, self.0.output.physical),
            Operation::Try => conditional::evaluate_try(&self.0.arguments[0], batch),
            Operation::PerEntry(cache) => cache.evaluate(&self.0.arguments[0], batch),
        }
    }
}

impl std::fmt::Debug for Expression {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let name = match &self.0.operation {
            Operation::Column(index) => return write!(f, "#{index}"),
            Operation::Literal(literal) if literal.is_null => return f.write_str("NULL"),
            Operation::Literal(literal) => return write!(f, "literal {:?}", literal.value.physical()),
            Operation::Parameter(_) => return f.write_str("parameter"),
            Operation::Local(id) => return write!(f, "local {id}"),
            Operation::Let(_) => "let",
            Operation::Strict(_) => "kernel",
            Operation::Compare(op) => return f.debug_tuple(&format!("{op:?}")).field(&self.0.arguments).finish(),
            Operation::Between(_) => "between",
            Operation::And => "and",
            Operation::Or => "or",
            Operation::Case => "case",
            Operation::Coalesce => "coalesce",
            Operation::Try => "try",
            Operation::PerEntry(_) => "per_entry",
        };
        f.debug_tuple(name).field(&self.0.arguments).finish()
    }
}

/// Maximum bytes of texts that are concatenated after being computed in parts: short texts of a chunk.
const TOGETHER_BYTES_MAX: usize = 1 << 20;

/// Returns no rows of a type.
pub(crate) fn empty(output: &ColumnType) -> Vector {
    let flat = match output.physical {
        PhysicalType::Nested => Flat::Nested(arrow_array::new_empty_array(&output.logical)),
        physical => Flat::zeros(physical, 0),
    };
    Vector::flat(flat, None)
}

/// Evaluates the arguments, then the kernel: on a single row if all arguments are constant.
fn evaluate_strict(kernel: &dyn Kernel, arguments: &[Expression], batch: &Batch<'_>) -> Result<Vector> {
    let rows = batch.rows();
    let values = arguments.iter().map(|argument| argument.evaluate_batch(batch)).collect::<Result<Vec<_>>>()?;
    let all_constant = !values.is_empty() && !kernel.is_volatile() && values.iter().all(|v| constant_of(v).is_some());
    if all_constant && rows > 1 {
        let single: Vec<Vector> = values.iter().map(|value| value.slice(0, 1)).collect();
        return Ok(Literal::of_vector(&kernel.evaluate(&single, 1)?).vector(rows));
    }
    kernel.evaluate(&values, rows)
}
