//! `CREATE SEQUENCE`, and the functions that take numbers: `nextval` and `currval` know the names of the statement which
//! calls them.

use std::sync::Arc;

use godwit_catalog::names::WrittenName;
use godwit_catalog::{CatalogEntry, Comments, Namespace, ObjectName, Sequence, SequenceDefinition};
use godwit_common::{Error, Result};
use godwit_functions::RowFunction;
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
}

/// A sequence by the options of `CREATE SEQUENCE`.
pub(crate) fn definition(name: &str, options: &[ast::SequenceOption]) -> Result<SequenceDefinition> {
    let (mut increment, mut start, mut min, mut max, mut cycle) = (1, None, None, None, false);
    for option in options {
        match &option.kind {
            Kind::Increment(value) => increment = integer(value)?,
            Kind::Start(value) => start = Some(integer(value)?),
            Kind::MinValue(value) => min = value.as_ref().map(integer).transpose()?,
            Kind::MaxValue(value) => max = value.as_ref().map(integer).transpose()?,
            Kind::Cycle(is_set) => cycle = *is_set,
            // Numbers are noted in batches anyway.
            Kind::Cache(_) => {}
            Kind::Restart(_) | Kind::As(_) | Kind::OwnedBy(_) => {
                let error = Error::unsupported("RESTART, AS and OWNED BY of a sequence").at_span(option.span);
                return Err(error.with_hint("there are START, INCREMENT, MINVALUE, MAXVALUE and CYCLE"));
            }
        }
    }
    let (lowest, highest) = if increment > 0 { (1, i64::MAX) } else { (i64::MIN, -1) };
    let (min, max) = (min.unwrap_or(lowest), max.unwrap_or(highest));
    let start = start.unwrap_or(if increment > 0 { min } else { max });
    let comments = Comments::default();
    let wrong = |what: String| Err(Error::user(format!("the sequence {name}: {what}")));
    match () {
        () if increment == 0 => wrong("INCREMENT must not be 0".to_owned()),
        () if min > max => wrong(format!("MINVALUE {min} is above MAXVALUE {max}")),
        () if start < min => wrong(format!("START {start} is below MINVALUE {min}")),
        () if start > max => wrong(format!("START {start} is above MAXVALUE {max}")),
        () => Ok(SequenceDefinition {
            name: name.to_owned(),
            start,
            increment,
            min,
            max,
            cycle,
            is_owned: false,
            comments,
        }),
    }
}

/// `nextval(name)` and `currval(name)` for statements that see these names.
pub(crate) fn functions(namespace: &Namespace) -> [RowFunction; 2] {
    let function = |name: &'static str, compute: fn(&Namespace, &str) -> Result<i64>| {
        let (checked, called) = (namespace.clone(), namespace.clone());
        RowFunction {
            name,
            arguments: vec![SqlType::Varchar],
            result: SqlType::BigInt,
            volatility: Volatility::Volatile,
            // Errors are reported when the statement is planned.
            check: Some(Arc::new(move |arguments| match arguments {
                [Some(sequence)] => find(&checked, text_of(name, sequence)?).map(drop),
                _ => Err(Error::unsupported(format!("{name} of a name that isn't constant"))),
            })),
            compute: Arc::new(move |arguments| match arguments {
                [sequence] => compute(&called, text_of(name, sequence)?).map(|number| Value::Integer(number.into())),
                _ => Err(Error::internal(format!("{name} takes one name"))),
            }),
        }
    };
    [function("nextval", next), function("currval", current)]
}

fn text_of<'a>(function: &str, argument: &'a Value) -> Result<&'a str> {
    match argument {
        Value::Text(text) => Ok(text),
        _ => Err(Error::user(format!("{function} takes a name"))),
    }
}

fn next(namespace: &Namespace, name: &str) -> Result<i64> {
    let (name, sequence) = find(namespace, name)?;
    let number = sequence.take(1)?[0];
    namespace.taken().note(name, number);
    Ok(number)
}

fn current(namespace: &Namespace, name: &str) -> Result<i64> {
    let (name, _) = find(namespace, name)?;
    namespace.taken().last(&name).ok_or_else(|| {
        Error::user(format!("the connection has taken no number of the sequence {name} yet"))
            .with_hint(format!("SELECT nextval('{name}') takes one"))
    })
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

/// The number of an option, perhaps with a sign.
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
