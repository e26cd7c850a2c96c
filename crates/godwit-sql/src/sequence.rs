//! `CREATE SEQUENCE`, `ALTER SEQUENCE`, and the functions of sequences: `nextval`, `currval` and `setval` know the
//! names that the calling statement sees.

use std::sync::Arc;

use godwit_catalog::names::WrittenName;
use godwit_catalog::{CatalogEntry, Comments, Namespace, ObjectName, Sequence, SequenceDefinition};
use godwit_common::{Error, Result};
use godwit_functions::{Listed, ListedKind, RowFunction};
use godwit_plan::Volatility;
use godwit_syntax::ast::{self, ExprKind, Literal, SequenceOptionKind as Kind, UnaryOperator};
use godwit_types::{SqlType, Value};

use crate::{Definition, Planner, Statement};

impl Planner {
    pub(crate) fn create_sequence(&self, create: &ast::CreateSequence) -> Result<Statement> {
        let name = self.namespace().new_name(&WrittenName::of(&create.name)?, create.temporary)?;
        let definition = definition(&name.name, &create.options)?;
        let (or_replace, if_not_exists) = (create.or_replace, create.if_not_exists);
        Ok(Statement::Definition(Definition::CreateSequence { name, definition, or_replace, if_not_exists }))
    }

    /// Plans `ALTER SEQUENCE`: another definition under the same name.
    pub(crate) fn alter_sequence(
        &self,
        alter: &ast::AlterObject,
        options: &[ast::SequenceOption],
    ) -> Result<Statement> {
        let name = WrittenName::of(&alter.name)?;
        let (name, sequence) = match self.namespace().find(name.parts()) {
            Some((name, CatalogEntry::Sequence(sequence))) => (name, sequence),
            None if alter.if_exists => return Ok(Statement::Definition(Definition::Nothing)),
            _ => return Err(Error::user(format!("no sequence named {}", alter.name)).at_span(alter.name.span)),
        };
        let (definition, next) = altered(&sequence, options).map_err(|error| error.at_span(alter.span))?;
        Ok(Statement::Definition(Definition::AlterSequence { name, definition, next }))
    }
}

/// Options of a statement.
#[derive(Default)]
struct Given {
    increment: Option<i64>,
    start: Option<i64>,
    /// Minimum; `Some(None)`: NO MINVALUE.
    min: Option<Option<i64>>,
    max: Option<Option<i64>>,
    cycle: Option<bool>,
    /// Number to restart at; `Some(None)`: the start.
    restart: Option<Option<i64>>,
}

impl Given {
    fn of(options: &[ast::SequenceOption], may_restart: bool) -> Result<Self> {
        let mut given = Self::default();
        for option in options {
            match &option.kind {
                Kind::Increment(value) => given.increment = Some(integer(value)?),
                Kind::Start(value) => given.start = Some(integer(value)?),
                Kind::MinValue(value) => given.min = Some(value.as_ref().map(integer).transpose()?),
                Kind::MaxValue(value) => given.max = Some(value.as_ref().map(integer).transpose()?),
                Kind::Cycle(is_set) => given.cycle = Some(*is_set),
                Kind::Restart(value) if may_restart => given.restart = Some(value.as_ref().map(integer).transpose()?),
                // Numbers are noted in batches anyway.
                Kind::Cache(_) => {}
                Kind::Restart(_) | Kind::As(_) | Kind::OwnedBy(_) => {
                    let error = Error::unsupported("AS, OWNED BY and, of a new sequence, RESTART").at_span(option.span);
                    return Err(error.with_hint("there are START, INCREMENT, MINVALUE, MAXVALUE and CYCLE"));
                }
            }
        }
        Ok(given)
    }
}

/// Returns the default bounds of a sequence.
fn ends(increment: i64) -> (i64, i64) {
    if increment > 0 { (1, i64::MAX) } else { (i64::MIN, -1) }
}

/// Defines a sequence by the options of `CREATE SEQUENCE`.
pub(crate) fn definition(name: &str, options: &[ast::SequenceOption]) -> Result<SequenceDefinition> {
    let given = Given::of(options, false)?;
    let increment = given.increment.unwrap_or(1);
    let (lowest, highest) = ends(increment);
    let (min, max) = (given.min.flatten().unwrap_or(lowest), given.max.flatten().unwrap_or(highest));
    let start = given.start.unwrap_or(if increment > 0 { min } else { max });
    let cycle = given.cycle.unwrap_or(false);
    let (name, comments) = (name.to_owned(), Comments::default());
    checked(SequenceDefinition { name, start, increment, min, max, cycle, is_owned: false, comments })
}

/// Returns a sequence with other options, and its next number; `None` if it is exhausted.
fn altered(sequence: &Sequence, options: &[ast::SequenceOption]) -> Result<(SequenceDefinition, Option<i64>)> {
    let (given, before) = (Given::of(options, true)?, sequence.definition().clone());
    let increment = given.increment.unwrap_or(before.increment);
    let (lowest, highest) = ends(increment);
    let end = |given: Option<Option<i64>>, before, usual| given.map_or(before, |end| end.unwrap_or(usual));
    let (min, max) = (end(given.min, before.min, lowest), end(given.max, before.max, highest));
    let start = given.start.unwrap_or(before.start);
    let cycle = given.cycle.unwrap_or(before.cycle);
    let definition = checked(SequenceDefinition { start, increment, min, max, cycle, ..before })?;
    let next = match given.restart {
        Some(at) => Some(at.unwrap_or(start)),
        None => sequence.peek(),
    };
    match next.filter(|next| !(min..=max).contains(next)) {
        None => Ok((definition, next)),
        Some(next) => {
            Err(Error::user(format!("{} goes on at {next}, which isn't from {min} to {max}", definition.name))
                .with_hint("RESTART WITH names another number"))
        }
    }
}

/// Returns the definition, if it is valid.
fn checked(definition: SequenceDefinition) -> Result<SequenceDefinition> {
    let SequenceDefinition { name, start, increment, min, max, .. } = &definition;
    let wrong = |what: String| Err(Error::user(format!("the sequence {name}: {what}")));
    match () {
        () if *increment == 0 => wrong("INCREMENT must not be 0".to_owned()),
        () if min > max => wrong(format!("MINVALUE {min} is above MAXVALUE {max}")),
        () if start < min => wrong(format!("START {start} is below MINVALUE {min}")),
        () if start > max => wrong(format!("START {start} is above MAXVALUE {max}")),
        () => Ok(definition),
    }
}

/// A function's operation on a sequence, given the arguments after its name.
type OfSequence = fn(&Namespace, &str, &[Value]) -> Result<i64>;

/// Returns `nextval(name)`, `currval(name)` and `setval(name, number[, is taken])` for statements that see these names.
pub(crate) fn functions(namespace: &Namespace) -> [RowFunction; 4] {
    let function = |name: &'static str, more: &[SqlType], compute: OfSequence| {
        let (checked, called) = (namespace.clone(), namespace.clone());
        RowFunction {
            name,
            arguments: [SqlType::Varchar].iter().chain(more).cloned().collect(),
            result: SqlType::BigInt,
            volatility: Volatility::Volatile,
            // Errors are reported when the statement is planned.
            check: Some(Arc::new(move |arguments| match arguments {
                [Some(sequence), ..] => find(&checked, text_of(name, sequence)?).map(drop),
                _ => Err(Error::unsupported(format!("{name} of a name that isn't constant"))),
            })),
            compute: Arc::new(move |arguments| match arguments {
                [sequence, more @ ..] => {
                    compute(&called, text_of(name, sequence)?, more).map(|number| Value::Integer(number.into()))
                }
                [] => Err(Error::internal(format!("{name} takes a name"))),
            }),
        }
    };
    [
        function("nextval", &[], next),
        function("currval", &[], current),
        function("setval", &[SqlType::BigInt], set),
        function("setval", &[SqlType::BigInt, SqlType::Boolean], set),
    ]
}

/// Lists them.
pub(crate) fn listed() -> impl Iterator<Item = Listed> {
    let listed = [
        ("nextval", "name", "The next number of a sequence", ("nextval('numbers')", "2")),
        (
            "currval",
            "name",
            "The last number that the connection has taken from a sequence",
            ("currval('numbers')", "1"),
        ),
        (
            "setval",
            "name, BIGINT[, is taken]",
            "Sets the sequence's last number: the next one follows it, or is it if the third argument is false",
            ("setval('numbers', 7)", "7"),
        ),
    ];
    listed.into_iter().map(|(name, arguments, description, example)| {
        let (kind, volatility) = (ListedKind::Scalar, Some(Volatility::Volatile));
        let table = Listed::table(&[name], arguments, description);
        Listed { kind, category: "Sequences", examples: vec![example], volatility, ..table }
    })
}

fn text_of<'a>(function: &str, argument: &'a Value) -> Result<&'a str> {
    match argument {
        Value::Text(text) => Ok(text),
        _ => Err(Error::user(format!("{function} takes a name"))),
    }
}

fn next(namespace: &Namespace, name: &str, _more: &[Value]) -> Result<i64> {
    let (name, sequence) = find(namespace, name)?;
    let number = sequence.take(1)?[0];
    namespace.taken().note(name, number);
    Ok(number)
}

fn current(namespace: &Namespace, name: &str, _more: &[Value]) -> Result<i64> {
    let (name, _) = find(namespace, name)?;
    namespace.taken().last(&name).ok_or_else(|| {
        Error::user(format!("the connection has taken no number of the sequence {name} yet"))
            .with_hint(format!("SELECT nextval('{name}') takes one"))
    })
}

fn set(namespace: &Namespace, name: &str, more: &[Value]) -> Result<i64> {
    let (name, sequence) = find(namespace, name)?;
    let number = match more {
        [Value::Integer(number), ..] => i64::try_from(*number).ok(),
        _ => None,
    };
    let number = number.ok_or_else(|| Error::internal("setval takes a BIGINT"))?;
    let is_taken = !matches!(more, [_, Value::Boolean(false)]);
    sequence.restart(number, is_taken)?;
    if is_taken {
        namespace.taken().note(name, number);
    }
    Ok(number)
}

fn find(namespace: &Namespace, name: &str) -> Result<(ObjectName, Arc<Sequence>)> {
    match namespace.find(WrittenName::of_text(name)?.parts()) {
        Some((name, CatalogEntry::Sequence(sequence))) => Ok((name, sequence)),
        Some(_) => Err(Error::user(format!("{name} is no sequence"))),
        None => {
            Err(Error::user(format!("no sequence named {name}")).with_hint(format!("CREATE SEQUENCE {name} makes one")))
        }
    }
}

/// Returns the number of an option, which may have a sign.
fn integer(value: &ast::Expr) -> Result<i64> {
    let wrong = || Error::user(format!("{value} is no integer of 64 bits")).at_span(value.span);
    let digits = |value: &ast::Expr| match &value.kind {
        ExprKind::Literal(Literal::Number(digits)) => Ok(digits.to_string()),
        _ => Err(wrong()),
    };
    let text = match &value.kind {
        ExprKind::Unary { op: UnaryOperator::Minus, operand } => format!("-{}", digits(operand)?),
        ExprKind::Unary { op: UnaryOperator::Plus, operand } => digits(operand)?,
        _ => digits(value)?,
    };
    text.parse().map_err(|_| wrong())
}
