//! Translates the plan's aggregate calls to those of the operator.
//!
//! Functions are identified by their names; anything else is in their [`AggregateImplementation`].

use std::collections::{HashMap, HashSet};

use godwit_common::{Error, Result};
use godwit_expression::{Expression, Layout, PlanContext};
use godwit_functions::AggregateImplementation;
use godwit_plan::{AggregateCall as Planned, Expr, ExprKind};
use godwit_rows::aggregate_state::StateKind;
use godwit_types::{SqlType, Value};
use godwit_vector::PhysicalType;
use godwit_vector::sql::column_type;

use crate::hash_aggregate::{AggregateCall, AggregateKind, AggregateOrder, SKETCHED_GROUPS_MAX, SKETCHES_BYTES_MAX};

/// Maximum length of a list of the best values.
const BEST_ROWS_MAX: i128 = 1_000_000;

/// Compiles group keys and aggregates over one input; equal subexpressions are shared and evaluated once per row.
pub(super) struct AggregateCompiler<'a> {
    layout: Layout<'a>,
    context: &'a PlanContext,
    /// Bytes that sketches and digests may still take.
    sketches_bytes: usize,
    /// Those planned so far: the kind, the argument, the filter, whether duplicates are left out.
    sketches: HashSet<(StateKind, Expr, Option<Expr>, bool)>,
    compiled: HashMap<Expr, Expression>,
}

impl<'a> AggregateCompiler<'a> {
    pub(super) fn new(layout: Layout<'a>, context: &'a PlanContext) -> Self {
        Self { layout, context, sketches_bytes: 0, sketches: HashSet::new(), compiled: HashMap::new() }
    }

    /// The same for at most this number of groups, if it is known: few get sketches instead of all their values.
    pub(super) fn for_groups(self, groups_max: Option<f64>) -> Self {
        let are_few = groups_max.is_some_and(|groups| groups <= SKETCHED_GROUPS_MAX);
        Self { sketches_bytes: if are_few { SKETCHES_BYTES_MAX } else { 0 }, ..self }
    }

    /// A group key or an argument.
    pub(super) fn expression(&mut self, expr: &Expr) -> Result<Expression> {
        if let Some(known) = self.compiled.get(expr) {
            return Ok(known.clone());
        }
        let expression = Expression::compile(expr, self.layout, self.context)?;
        if !expression.is_volatile() {
            self.compiled.insert(expr.clone(), expression.clone());
        }
        Ok(expression)
    }

    /// An aggregate.
    pub(super) fn aggregate(&mut self, call: &Planned) -> Result<AggregateCall> {
        self.aggregate_of(call).map_err(|error| error.at_span(call.span))
    }

    fn aggregate_of(&mut self, call: &Planned) -> Result<AggregateCall> {
        let implementation = call.function.implementation.downcast_ref::<AggregateImplementation>();
        let key = implementation.and_then(|known| known.key.as_ref()).zip(call.order_by.first());
        let key = key.map(|(ty, key)| key.expr.clone().cast_to(ty));
        let args: Vec<&Expr> = key.iter().chain(&call.args).collect();
        let mut kind = kind_of(call, &args)?;
        // The separator, the fraction and the number of values are part of the kind.
        let taken = match kind {
            AggregateKind::CountStar => 0,
            AggregateKind::StringAgg(_) | AggregateKind::Quantile { .. } => 1,
            AggregateKind::Best { by_other, .. } => 1 + usize::from(by_other),
            _ => args.len(),
        };
        let arguments = args[..taken].iter().map(|argument| self.expression(argument)).collect::<Result<Vec<_>>>()?;
        let of_intervals = args.first().is_some_and(|argument| argument.ty == SqlType::Interval);
        if call.distinct && of_intervals && matches!(kind, AggregateKind::Sum | AggregateKind::Avg) {
            return Err(Error::unsupported(format!("{}(DISTINCT …) of INTERVAL", call.function.name)));
        }
        if let AggregateKind::Quantile { interpolated, .. } = &mut kind {
            if *interpolated && arguments[0].output().physical == PhysicalType::Nested {
                let what = format!("{} of {}", call.function.name, args[0].ty);
                return Err(Error::unsupported(what).with_hint("use quantile_disc"));
            }
            // There is nothing to interpolate between two strings or booleans.
            *interpolated &= !matches!(arguments[0].output().physical, PhysicalType::Str | PhysicalType::Bool);
        }
        if let (Some(&arg), Some(argument)) = (args.first(), arguments.first()) {
            kind = self.sketched(kind, call, arg, argument.output().physical);
        }
        let filter = call.filter.as_ref().map(|filter| self.expression(filter)).transpose()?;
        let mut order_by = Vec::with_capacity(call.order_by.len());
        for key in &call.order_by {
            let expression = self.expression(&key.expr)?;
            order_by.push(AggregateOrder { expression, descending: key.descending, nulls_first: key.nulls_first });
        }
        let distinct = call.distinct || implementation.is_some_and(|known| known.distinct);
        Ok(AggregateCall {
            distinct: distinct && kind.sees_duplicates(),
            kind,
            arguments,
            filter,
            order_by,
            output: column_type(&call.ty, call.nullable)?,
        })
    }

    /// Replaces an aggregate by its approximation, if that is what the function promises, the type allows it, and there
    /// is room.
    fn sketched(&mut self, exact: AggregateKind, call: &Planned, arg: &Expr, physical: PhysicalType) -> AggregateKind {
        // WITHIN GROUP (ORDER BY x DESC) counts from the largest.
        let is_ascending = !call.order_by.iter().any(|key| key.descending);
        let (state, approximation) = match (&*call.function.name, &exact) {
            ("approx_count_distinct", AggregateKind::Count) if physical != PhysicalType::Nested => {
                (StateKind::Distinct, AggregateKind::ApproximateCount)
            }
            // A float has too few digits for 128 bits.
            ("approx_quantile", AggregateKind::Quantile { fractions, as_list, .. })
                if is_number_line(&arg.ty) && physical != PhysicalType::I128 && is_ascending =>
            {
                let (fractions, as_list) = (fractions.clone(), *as_list);
                (StateKind::Digest, AggregateKind::ApproximateQuantile { fractions, as_list })
            }
            _ => return exact,
        };
        let sketch = (state, arg.clone(), call.filter.clone(), call.distinct);
        if self.sketches.contains(&sketch) {
            return approximation;
        }
        match self.sketches_bytes.checked_sub(state.bytes()) {
            Some(left) => {
                self.sketches_bytes = left;
                self.sketches.insert(sketch);
                approximation
            }
            None => exact,
        }
    }
}

/// Returns true if the function promises no more than an estimate.
pub(super) fn may_be_approximate(call: &Planned) -> bool {
    matches!(&*call.function.name, "approx_count_distinct" | "approx_quantile")
}

fn kind_of(call: &Planned, args: &[&Expr]) -> Result<AggregateKind> {
    let name = &*call.function.name;
    let ignore_nulls = call.ignore_nulls;
    let is_constant = |argument: &&Expr| argument.as_literal().is_some_and(|value| !value.is_null());
    Ok(match name {
        "count" if !call.distinct && args.iter().all(is_constant) => AggregateKind::CountStar,
        "approx_count_distinct" => AggregateKind::Count,
        "any_value" if !call.order_by.is_empty() => AggregateKind::FirstValue { ignore_nulls: true },
        "first_value" => AggregateKind::FirstValue { ignore_nulls },
        "last_value" => AggregateKind::LastValue { ignore_nulls },
        "quantile_cont" => quantile_of(args.get(1).copied(), true)?,
        "quantile_disc" | "approx_quantile" => quantile_of(args.get(1).copied(), false)?,
        "min_n" | "max_n" | "arg_min_n" | "arg_max_n" => {
            let (largest, by_other) = (name.contains("max"), name.starts_with("arg"));
            AggregateKind::Best { rows: rows_of(args.last().copied())?, largest, by_other }
        }
        "string_agg" => AggregateKind::StringAgg(separator_of(args.get(1).copied())?),
        other => AggregateKind::of_name(other)
            .ok_or_else(|| Error::unsupported(format!("the aggregate function {other}")))?,
    })
}

/// Returns true for types whose values are numbers, or stand for moments at equal distances. A float has too few digits
/// for nanoseconds.
fn is_number_line(ty: &SqlType) -> bool {
    let is_moment = ty.is_timestamp() || matches!(ty, SqlType::Date | SqlType::Time);
    ty.is_numeric() && *ty != SqlType::UHugeInt || (is_moment && *ty != SqlType::TimestampNs)
}

/// A quantile at one fraction or at a list of them.
fn quantile_of(argument: Option<&Expr>, interpolated: bool) -> Result<AggregateKind> {
    let wrong = || {
        Error::user("the fraction of a quantile is not a number from 0 to 1")
            .with_hint("write it as a literal, such as 0.95 or [0.25, 0.75]")
    };
    let argument = bare(argument.ok_or_else(wrong)?);
    let fraction = |value: &Value, ty: &SqlType| match godwit_types::cast_value(value, ty, &SqlType::Double) {
        Ok(Value::Float(fraction)) if (0.0..=1.0).contains(&fraction) => Ok(fraction),
        _ => Err(wrong()),
    };
    let (fractions, as_list) = match (argument.as_literal(), argument.ty.element()) {
        (Some(Value::List(values)), Some(element)) => {
            (values.iter().map(|value| fraction(value, element)).collect::<Result<Vec<_>>>()?, true)
        }
        (Some(value), _) => (vec![fraction(value, &argument.ty)?], false),
        _ => return Err(wrong()),
    };
    if fractions.is_empty() { Err(wrong()) } else { Ok(AggregateKind::Quantile { fractions, interpolated, as_list }) }
}

/// The number of best values asked for.
fn rows_of(argument: Option<&Expr>) -> Result<u64> {
    match argument.and_then(literal_of) {
        Some(Value::Integer(rows)) if (1..=BEST_ROWS_MAX).contains(rows) => Ok(*rows as u64),
        _ => Err(Error::user(format!("the number of values to find is not a constant from 1 to {BEST_ROWS_MAX}"))
            .with_hint("write it as a literal, such as max(x, 3)")),
    }
}

fn separator_of(argument: Option<&Expr>) -> Result<String> {
    match argument.map(literal_of) {
        None => Ok(",".to_owned()),
        Some(Some(Value::Null)) => Ok(String::new()),
        Some(Some(Value::Text(separator))) => Ok(separator.to_string()),
        Some(_) => Err(Error::user("the separator of string_agg is not a literal")),
    }
}

/// An expression without the casts around it.
fn bare(expr: &Expr) -> &Expr {
    match &expr.kind {
        ExprKind::Cast { input, .. } => bare(input),
        _ => expr,
    }
}

/// The value of a constant, whatever type it is cast to.
fn literal_of(expr: &Expr) -> Option<&Value> {
    bare(expr).as_literal()
}
