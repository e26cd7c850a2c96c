//! Sequences: numbers that statements take, each once.
//!
//! ```text
//!    taken          noted on the disk as taken        free
//! ──────────────┬─────────────────────────────┬────────────────
//!             next                          mark           (a crash: goes on at the mark, with a gap)
//! ```
//!
//! Numbers that were taken stay so: rolling back gives none back. What is taken has to be noted on the disk, by the keeper
//! of the database, in batches that grow, so that few numbers wait for a disk. `nextval` and `currval` are functions of the
//! planner crates that know the names of the statement which calls them.

use std::collections::HashMap;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::ControlFlow;
use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef};
use datafusion_common::arrow::array::{Array, ArrayRef, Int64Array};
use datafusion_common::{Result as PlanResult, ScalarValue};
use datafusion_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use datafusion_sql::sqlparser::ast::{self, SequenceOptions, UnaryOperator, Value, VisitMut, VisitorMut};
use datafusion_sql::sqlparser::parser::Parser;
use datafusion_sql::sqlparser::tokenizer::Token;
use godwit_common::{Error, Result};
use parking_lot::Mutex;

use crate::binder::external;
use crate::grammar::Grammar;
use crate::names::{WrittenName, quoted_text, sql_of_name};
use crate::parse::{StatementParser, Syntax};
use crate::{CatalogEntry, Namespace, ObjectName, Planner, Statement};

/// Numbers of the first batch that is noted as taken, and of the largest. Each batch costs a sync, and a crash loses what is
/// left of one.
const BATCH_MIN: usize = 32;
const BATCH_MAX: usize = 8_192;

/// What a sequence is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SequenceDefinition {
    /// The full name.
    pub name: String,
    /// The first number.
    pub start: i64,
    /// From one number to the next; not 0.
    pub increment: i64,
    /// The least number.
    pub min: i64,
    /// The greatest number.
    pub max: i64,
    /// Begins anew at the other end.
    pub cycle: bool,
    /// Made with an IDENTITY column, and dropped with it.
    pub is_owned: bool,
}

/// Notes on the disk which numbers are taken.
pub trait SequenceKeeper: Send + Sync {
    /// Calls [`Sequence::reserve`] in a moment in which no checkpoint is made, and writes down what it gets.
    fn reserve(&self, sequence: &Sequence, count: usize) -> Result<()>;
}

/// A sequence and where it stands.
pub struct Sequence {
    definition: SequenceDefinition,
    state: Mutex<State>,
}

struct State {
    /// `None`: there are no more.
    next: Option<i64>,
    /// So many numbers from `next` on are noted as taken.
    noted: usize,
    /// All that are left are noted as taken.
    is_noted_to_end: bool,
    /// Numbers of the batch that was noted last.
    batch: usize,
    /// `None`: nothing needs to be noted.
    keeper: Option<Arc<dyn SequenceKeeper>>,
}

impl SequenceDefinition {
    /// A sequence by the options of `CREATE SEQUENCE`.
    pub(crate) fn of(name: &str, options: &[SequenceOptions]) -> Result<Self> {
        let (mut increment, mut start, mut min, mut max, mut cycle) = (1, None, None, None, false);
        for option in options {
            match option {
                SequenceOptions::IncrementBy(value, _) => increment = integer(value)?,
                SequenceOptions::StartWith(value, _) => start = Some(integer(value)?),
                SequenceOptions::MinValue(value) => min = value.as_ref().map(integer).transpose()?,
                SequenceOptions::MaxValue(value) => max = value.as_ref().map(integer).transpose()?,
                // The parser crate gives true for NO CYCLE.
                SequenceOptions::Cycle(no) => cycle = !no,
                // Numbers are noted in batches anyhow.
                SequenceOptions::Cache(_) => {}
            }
        }
        let (lowest, highest) = if increment > 0 { (1, i64::MAX) } else { (i64::MIN, -1) };
        let (min, max) = (min.unwrap_or(lowest), max.unwrap_or(highest));
        let start = start.unwrap_or(if increment > 0 { min } else { max });
        let wrong = |what: String| Err(Error::user(format!("the sequence {name}: {what}")));
        match () {
            () if increment == 0 => wrong("INCREMENT must not be 0".to_owned()),
            () if min > max => wrong(format!("MINVALUE {min} is above MAXVALUE {max}")),
            () if start < min => wrong(format!("START {start} is below MINVALUE {min}")),
            () if start > max => wrong(format!("START {start} is above MAXVALUE {max}")),
            () => Ok(Self { name: name.to_owned(), start, increment, min, max, cycle, is_owned: false }),
        }
    }

    /// The number after another one.
    fn after(&self, number: i64) -> Option<i64> {
        let next = number.checked_add(self.increment).filter(|next| (self.min..=self.max).contains(next));
        let other_end = if self.increment > 0 { self.min } else { self.max };
        next.or_else(|| self.cycle.then_some(other_end))
    }
}

impl Sequence {
    /// A sequence whose next number is known; `None`: there are no more.
    pub fn new(definition: SequenceDefinition, next: Option<i64>) -> Self {
        let state = State { next, noted: 0, is_noted_to_end: false, batch: 0, keeper: None };
        Self { definition, state: Mutex::new(state) }
    }

    /// What it is.
    pub fn definition(&self) -> &SequenceDefinition {
        &self.definition
    }

    /// Where it stands: for whoever notes that, and makes sure that nobody takes a number before it is noted. From now on,
    /// numbers are taken only after `keeper` has noted so.
    pub fn begin_noting(&self, keeper: Option<Arc<dyn SequenceKeeper>>) -> Option<i64> {
        let mut state = self.state.lock();
        (state.noted, state.is_noted_to_end) = (0, false);
        if keeper.is_some() {
            state.keeper = keeper;
        }
        state.next
    }

    /// The number that comes next, if nobody takes it; `None`: there are no more.
    pub fn peek(&self) -> Option<i64> {
        self.state.lock().next
    }

    /// Sets the number that comes next.
    pub fn set_next(&self, next: Option<i64>) {
        self.state.lock().next = next;
    }

    /// Lets at least `count` more numbers be taken. `note` writes down the number behind them.
    pub fn reserve(&self, count: usize, note: impl FnOnce(Option<i64>) -> Result<()>) -> Result<()> {
        let mut state = self.state.lock();
        let batch = count.max((state.batch * 2).clamp(BATCH_MIN, BATCH_MAX));
        let mut mark = state.next;
        let mut noted = 0;
        while noted < batch
            && let Some(number) = mark
        {
            mark = self.definition.after(number);
            noted += 1;
        }
        note(mark)?;
        (state.noted, state.is_noted_to_end, state.batch) = (noted, mark.is_none(), batch);
        Ok(())
    }

    /// Takes the next numbers.
    fn take(&self, count: usize) -> Result<Vec<i64>> {
        loop {
            let mut state = self.state.lock();
            match state.keeper.clone() {
                Some(keeper) if state.noted < count && !state.is_noted_to_end => {
                    drop(state);
                    keeper.reserve(self, count)?;
                }
                _ => return self.take_noted(&mut state, count),
            }
        }
    }

    fn take_noted(&self, state: &mut State, count: usize) -> Result<Vec<i64>> {
        let mut numbers = Vec::with_capacity(count);
        while numbers.len() < count {
            let number = state.next.ok_or_else(|| self.exhausted())?;
            state.noted = state.noted.saturating_sub(1);
            state.next = self.definition.after(number);
            numbers.push(number);
        }
        Ok(numbers)
    }

    fn exhausted(&self) -> Error {
        let SequenceDefinition { name, increment, min, max, .. } = &self.definition;
        let end = if *increment > 0 { max } else { min };
        Error::user(format!("the sequence {name} has reached its end, {end}"))
            .with_hint("CREATE SEQUENCE … CYCLE begins anew")
    }
}

impl fmt::Debug for Sequence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sequence({}, next {:?})", self.definition.name, self.peek())
    }
}

/// `CREATE [OR REPLACE] [TEMP] SEQUENCE [IF NOT EXISTS] name options`.
#[derive(Debug, Clone)]
pub(crate) struct CreateSequence {
    name: WrittenName,
    options: Vec<SequenceOptions>,
    is_temporary: bool,
    or_replace: bool,
    if_not_exists: bool,
}

impl StatementParser<'_> {
    /// True for `CREATE [OR REPLACE] [TEMP] SEQUENCE`.
    pub(crate) fn is_sequence(&self) -> bool {
        (1..5)
            .map(|at| self.word(at))
            .find(|word| !SEQUENCE_NOISE.contains(&word.as_str()))
            .is_some_and(|word| word == "SEQUENCE")
    }

    /// Options may come in any order: the parser crate takes them one by one, in its own.
    pub(crate) fn create_sequence(&mut self) -> Result<Syntax> {
        let words: Vec<String> = (1..5).map(|at| self.word(at)).take_while(|word| word != "SEQUENCE").collect();
        let mut at = 2 + words.len();
        let if_not_exists = self.word(at) == "IF";
        if if_not_exists {
            at += 3;
        }
        let (name, mut at) = self.name_at(at)?;
        let mut options = Vec::new();
        while at < self.tokens.len() {
            let end = self.option_end(at);
            let text = self.text_of(at..end);
            let parsed = Parser::new(&Grammar)
                .try_with_sql(&format!("CREATE SEQUENCE s {text}"))
                .and_then(|mut parser| Ok((parser.parse_statement()?, parser.peek_token().token)));
            match parsed {
                Ok((ast::Statement::CreateSequence { sequence_options, .. }, Token::EOF))
                    if sequence_options.len() == 1 =>
                {
                    options.extend(sequence_options);
                }
                _ => return Err(self.error_at(at, "expected START, INCREMENT, MINVALUE, MAXVALUE or CYCLE")),
            }
            at = end;
        }
        let has = |wanted: &[&str]| words.iter().any(|word| wanted.contains(&word.as_str()));
        let (is_temporary, or_replace) = (has(&["TEMP", "TEMPORARY"]), has(&["REPLACE"]));
        Ok(Syntax::CreateSequence(CreateSequence { name, options, is_temporary, or_replace, if_not_exists }))
    }

    /// Where the option that begins at a token ends.
    fn option_end(&self, at: usize) -> usize {
        let first = if self.word(at) == "NO" { at + 2 } else { at + 1 };
        let is_option = |at: &usize| SEQUENCE_OPTIONS.contains(&self.word(*at).as_str());
        (first..self.tokens.len()).find(is_option).unwrap_or(self.tokens.len())
    }
}

/// Words before SEQUENCE.
const SEQUENCE_NOISE: [&str; 4] = ["OR", "REPLACE", "TEMP", "TEMPORARY"];

/// Words that options begin with.
const SEQUENCE_OPTIONS: [&str; 7] = ["START", "INCREMENT", "MINVALUE", "MAXVALUE", "CYCLE", "NO", "CACHE"];

impl Planner {
    pub(crate) fn create_sequence(&self, create: &CreateSequence) -> Result<Statement> {
        let CreateSequence { name, options, is_temporary, or_replace, if_not_exists } = create;
        let name = self.namespace().new_name(name, *is_temporary)?;
        let definition = SequenceDefinition::of(&name.name, options)?;
        Ok(Statement::CreateSequence { name, definition, or_replace: *or_replace, if_not_exists: *if_not_exists })
    }
}

/// The numbers that a connection took last, for `currval`.
#[derive(Debug, Clone, Default)]
pub struct TakenNumbers(Arc<Mutex<HashMap<ObjectName, i64>>>);

/// `nextval(name)`, `currval(name)`.
struct SequenceFunction {
    is_next: bool,
    namespace: Namespace,
    signature: Signature,
}

/// The function of that name for statements that see these names.
pub(crate) fn function(name: &str, namespace: &Namespace) -> Option<ScalarUDF> {
    let is_next = match name {
        "nextval" => true,
        "currval" => false,
        _ => return None,
    };
    let signature = Signature::exact(vec![DataType::Utf8], Volatility::Volatile);
    Some(ScalarUDF::from(SequenceFunction { is_next, namespace: namespace.clone(), signature }))
}

impl SequenceFunction {
    fn find(&self, name: &ScalarValue) -> Result<(ObjectName, Arc<Sequence>)> {
        let name = name.try_as_str().flatten().ok_or_else(|| Error::user(format!("{} takes a name", self.name())))?;
        match self.namespace.find(WrittenName::of_text(name)?.parts()) {
            Some((name, CatalogEntry::Sequence(sequence))) => Ok((name, sequence)),
            Some(_) => Err(Error::user(format!("{name} is no sequence"))),
            None => {
                Err(Error::user(format!("no sequence named {name}"))
                    .with_hint(format!("CREATE SEQUENCE {name} makes one")))
            }
        }
    }

    fn values(&self, name: &ScalarValue, rows: usize) -> Result<ArrayRef> {
        let (name, sequence) = self.find(name)?;
        let taken = &self.namespace.taken().0;
        if self.is_next {
            let numbers = sequence.take(rows)?;
            if let Some(&last) = numbers.last() {
                taken.lock().insert(name, last);
            }
            return Ok(Arc::new(Int64Array::from(numbers)));
        }
        let number = taken.lock().get(&name).copied();
        let number = number.ok_or_else(|| {
            Error::user(format!("the connection has taken no number of the sequence {name} yet"))
                .with_hint(format!("SELECT nextval('{name}') takes one"))
        })?;
        Ok(Arc::new(Int64Array::from(vec![number; rows])))
    }
}

impl ScalarUDFImpl for SequenceFunction {
    fn name(&self) -> &str {
        if self.is_next { "nextval" } else { "currval" }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arguments: &[DataType]) -> PlanResult<DataType> {
        Ok(DataType::Int64)
    }

    /// Looks for the sequence, to tell errors when the statement is planned.
    fn return_field_from_args(&self, arguments: ReturnFieldArgs) -> PlanResult<FieldRef> {
        let Some(Some(name)) = arguments.scalar_arguments.first() else {
            return Err(external(Error::unsupported(format!("{} of a name that isn't constant", self.name()))));
        };
        self.find(name).map_err(external)?;
        Ok(Arc::new(Field::new(self.name(), DataType::Int64, false)))
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> PlanResult<ColumnarValue> {
        let name = match &arguments.args[0] {
            ColumnarValue::Scalar(name) => name.clone(),
            ColumnarValue::Array(names) if names.is_empty() => {
                return Ok(ColumnarValue::Array(Arc::new(Int64Array::from(Vec::<i64>::new()))));
            }
            ColumnarValue::Array(names) => ScalarValue::try_from_array(names, 0)?,
        };
        self.values(&name, arguments.number_rows).map(ColumnarValue::Array).map_err(external)
    }
}

impl fmt::Debug for SequenceFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl PartialEq for SequenceFunction {
    fn eq(&self, other: &Self) -> bool {
        self.is_next == other.is_next && self.namespace.path() == other.namespace.path()
    }
}

impl Eq for SequenceFunction {}

impl Hash for SequenceFunction {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.is_next.hash(state);
    }
}

/// Changes the names of sequences in an expression: the constant arguments of `nextval` and `currval`.
pub(crate) fn rename_sequences(expr: &mut ast::Expr, mut rename: impl FnMut(&str) -> Result<String>) -> Result<()> {
    struct Rename<'a>(&'a mut dyn FnMut(&str) -> Result<String>);
    impl VisitorMut for Rename<'_> {
        type Break = Error;
        fn pre_visit_expr(&mut self, expr: &mut ast::Expr) -> ControlFlow<Error> {
            if let Some(name) = sequence_argument(expr) {
                match (self.0)(name) {
                    Ok(renamed) => *name = renamed,
                    Err(error) => return ControlFlow::Break(error),
                }
            }
            ControlFlow::Continue(())
        }
    }
    match expr.visit(&mut Rename(&mut rename)) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(error),
    }
}

/// The name in `nextval('name')`.
fn sequence_argument(expr: &mut ast::Expr) -> Option<&mut String> {
    let ast::Expr::Function(function) = expr else { return None };
    let name = function.name.to_string().to_lowercase();
    let ast::FunctionArguments::List(list) = &mut function.args else { return None };
    match &mut list.args[..] {
        [ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(ast::Expr::Value(value)))]
            if name == "nextval" || name == "currval" =>
        {
            match &mut value.value {
                Value::SingleQuotedString(name) => Some(name),
                _ => None,
            }
        }
        _ => None,
    }
}

/// The full names of the sequences that an expression of the catalog takes numbers of.
pub fn sequences_in(expression: &str) -> Vec<String> {
    let mut names = Vec::new();
    if let Ok(mut expr) = crate::write::expression(expression) {
        // Nothing is renamed, so nothing fails.
        let _ = rename_sequences(&mut expr, |name| {
            names.push(name.to_owned());
            Ok(name.to_owned())
        });
    }
    names
}

/// An expression of the catalog of a database, with names of sequences that mean them whatever the search path.
pub(crate) fn stored_expression(database: &str, text: &str) -> Result<ast::Expr> {
    let mut expr = crate::write::expression(text)?;
    rename_sequences(&mut expr, |full| Ok(format!("{}.{}", quoted_text(database), sql_of_name(full))))?;
    Ok(expr)
}

fn integer(value: &ast::Expr) -> Result<i64> {
    let wrong = || Error::user(format!("{value} is no integer of 64 bits"));
    match value {
        ast::Expr::Value(number) => match &number.value {
            Value::Number(digits, _) => digits.parse().map_err(|_| wrong()),
            _ => Err(wrong()),
        },
        ast::Expr::UnaryOp { op: UnaryOperator::Minus, expr } => match expr.as_ref() {
            ast::Expr::Value(number) => format!("-{number}").parse().map_err(|_| wrong()),
            _ => Err(wrong()),
        },
        ast::Expr::UnaryOp { op: UnaryOperator::Plus, expr } => integer(expr),
        _ => Err(wrong()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn definition(increment: i64, min: i64, max: i64, cycle: bool) -> SequenceDefinition {
        let start = if increment > 0 { min } else { max };
        SequenceDefinition { name: "s".to_owned(), start, increment, min, max, cycle, is_owned: false }
    }

    #[test]
    fn numbers_end_or_begin_anew() {
        let take = |definition: SequenceDefinition, count| {
            let next = Some(definition.start);
            Sequence::new(definition, next).take(count)
        };
        assert_eq!(take(definition(2, 1, 5, false), 3).unwrap(), [1, 3, 5]);
        assert!(take(definition(2, 1, 5, false), 4).unwrap_err().message().contains("has reached its end, 5"));
        assert_eq!(take(definition(2, 1, 5, true), 5).unwrap(), [1, 3, 5, 1, 3]);
        assert_eq!(take(definition(-2, 1, 5, true), 5).unwrap(), [5, 3, 1, 5, 3]);
        let near_end = definition(1, i64::MAX - 1, i64::MAX, false);
        assert_eq!(take(near_end.clone(), 2).unwrap(), [i64::MAX - 1, i64::MAX]);
        assert!(take(near_end, 3).is_err());
    }

    /// Remembers the newest mark.
    struct Note(Mutex<Vec<Option<i64>>>);

    impl SequenceKeeper for Note {
        fn reserve(&self, sequence: &Sequence, count: usize) -> Result<()> {
            sequence.reserve(count, |mark| {
                self.0.lock().push(mark);
                Ok(())
            })
        }
    }

    #[test]
    fn no_number_is_taken_that_is_not_noted() {
        for (max, counts) in [(i64::MAX, vec![1, 1, 40, 3, 9_000, 1]), (50, vec![1, 1, 40, 8, 1]), (32, vec![31, 1, 1])]
        {
            let sequence = Sequence::new(definition(1, 1, max, false), Some(1));
            let note = Arc::new(Note(Mutex::new(Vec::new())));
            sequence.begin_noting(Some(note.clone()));
            for count in counts {
                let Ok(numbers) = sequence.take(count) else {
                    assert_eq!(sequence.peek(), None);
                    continue;
                };
                let mark = note.0.lock().last().copied().expect("something was noted");
                assert!(mark.is_none_or(|mark| mark > numbers[count - 1]), "{numbers:?} up to {mark:?}");
            }
            assert!(note.0.lock().len() <= 4, "{} notes", note.0.lock().len());
        }
    }
}
