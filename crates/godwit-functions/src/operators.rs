//! Bit operators, which the plan calls as functions.

use std::sync::Arc;

use godwit_plan::{ArgumentType, NoFunction, ScalarFunction, ScalarMatch, Volatility};
use godwit_types::{SqlType, Value, common_type};

use crate::arguments::{no_match, settled};
use crate::implementation::{Operator, ScalarImplementation};

/// Operators on integers.
const OF_BITS: [(&str, Operator); 6] = [
    ("&", Operator::BitAnd),
    ("|", Operator::BitOr),
    ("#", Operator::BitXor),
    ("xor", Operator::BitXor),
    ("<<", Operator::ShiftLeft),
    (">>", Operator::ShiftRight),
];

/// The operator that inverts all bits.
const COMPLEMENT: &str = "~";

pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    OF_BITS.iter().map(|(name, _)| *name).chain([COMPLEMENT])
}

/// Returns the operator of a name; `None` if there is none.
pub(crate) fn resolve(name: &str, arguments: &[ArgumentType<'_>]) -> Option<Result<ScalarMatch, NoFunction>> {
    // BIT has functions of these names.
    if arguments.iter().any(|argument| *argument.ty == SqlType::Bit) {
        return None;
    }
    if let Some(&(_, op)) = OF_BITS.iter().find(|(known, _)| *known == name) {
        return Some(on_bits(name, op, arguments));
    }
    (name == COMPLEMENT).then(|| complement(arguments))
}

/// Returns an operator on arguments of one type, which is also the result's.
fn operator(name: &str, op: Operator, ty: &SqlType, arguments: &[ArgumentType<'_>]) -> ScalarMatch {
    let function = ScalarFunction {
        name: name.into(),
        volatility: Volatility::Immutable,
        strict: true,
        may_fail: matches!(op, Operator::ShiftLeft | Operator::ShiftRight),
        implementation: Arc::new(ScalarImplementation::Operator(op)),
    };
    let nullable = arguments.iter().any(|argument| argument.nullable);
    ScalarMatch { function, argument_types: vec![ty.clone(); arguments.len()], ty: ty.clone(), nullable }
}

fn on_bits(name: &str, op: Operator, arguments: &[ArgumentType<'_>]) -> Result<ScalarMatch, NoFunction> {
    let forms = || no_match(&[format!("integer {name} integer")]);
    let [left, right] = arguments else { return Err(forms()) };
    let adapted = if is_constant_of(right, left.ty) {
        Some(left.ty.clone())
    } else if is_constant_of(left, right.ty) && !matches!(op, Operator::ShiftLeft | Operator::ShiftRight) {
        Some(right.ty.clone())
    } else {
        common_type(left.ty, right.ty).map(settled)
    };
    let ty = adapted.filter(SqlType::is_integer).ok_or_else(forms)?;
    Ok(operator(name, op, &ty, arguments))
}

/// True for a constant, of the type that short numbers have, that an integer type holds: it doesn't widen the other side.
fn is_constant_of(argument: &ArgumentType<'_>, ty: &SqlType) -> bool {
    match argument.value {
        Some(Value::Integer(value)) if *argument.ty == SqlType::Integer => match ty.integer_range() {
            Some((least, greatest)) => (least..=greatest).contains(value),
            None => *ty == SqlType::UHugeInt && *value >= 0,
        },
        _ => false,
    }
}

/// `~`: inverts all bits.
fn complement(arguments: &[ArgumentType<'_>]) -> Result<ScalarMatch, NoFunction> {
    let [argument] = arguments else { return Err(no_match(&["~ integer"])) };
    let ty = match argument.ty {
        SqlType::Unknown => SqlType::BigInt,
        ty if ty.is_integer() => ty.clone(),
        _ => return Err(no_match(&["~ integer"])),
    };
    Ok(operator(COMPLEMENT, Operator::BitNot, &ty, arguments))
}
