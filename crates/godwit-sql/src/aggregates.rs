//! Aggregate functions that the planner crates don't have, or have with other types than users of DuckDB and PostgreSQL
//! expect. Here they only have names, arguments and types; the executor computes them.

use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef, TimeUnit};
use datafusion_common::{Result, internal_err, plan_err};
use datafusion_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion_expr::{Accumulator, AggregateUDF, AggregateUDFImpl, Signature, Volatility};

/// All of them.
pub(crate) fn own_aggregates() -> Vec<Arc<AggregateUDF>> {
    FUNCTIONS
        .iter()
        .map(|&(name, aliases, types)| {
            let aliases = aliases.iter().map(|&alias| alias.to_owned()).collect();
            let signature = Signature::user_defined(Volatility::Immutable);
            Arc::new(AggregateUDF::from(OwnAggregate { name, aliases, types, signature }))
        })
        .collect()
}

/// Which arguments a function takes, and what comes out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Types {
    /// So many numbers, as DOUBLE; the result is one, too.
    Doubles(usize),
    /// So many numbers, as DOUBLE; the result counts.
    CountOfDoubles(usize),
    /// So many values; the result is one of the first of them.
    Pick(usize),
    /// So many values and a number; the result is a list of so many of the first of them.
    PickMany(usize),
    /// A value that lies between those of the group, if there is such a thing.
    Between,
    /// Likewise, at a fraction of the way; for a list of fractions, a list.
    BetweenAt,
    /// A value, at a fraction of the way; for a list of fractions, a list.
    PickAt,
    /// A value; the result maps values to counts.
    Histogram,
    /// A value; the result is a DOUBLE.
    Measure,
    /// Text, and a separator that may be missing.
    Text,
}

type Function = (&'static str, &'static [&'static str], Types);

const FUNCTIONS: &[Function] = &[
    ("median", &[], Types::Between),
    ("quantile_cont", &["percentile_cont"], Types::BetweenAt),
    ("quantile_disc", &["quantile", "percentile_disc"], Types::PickAt),
    ("approx_quantile", &[], Types::PickAt),
    ("mode", &[], Types::Pick(1)),
    ("arg_min", &["argmin", "min_by"], Types::Pick(2)),
    ("arg_max", &["argmax", "max_by"], Types::Pick(2)),
    // What `min`, `max`, `arg_min` and `arg_max` with a number behind their arguments are called in the plan.
    ("min_n", &[], Types::PickMany(1)),
    ("max_n", &[], Types::PickMany(1)),
    ("arg_min_n", &[], Types::PickMany(2)),
    ("arg_max_n", &[], Types::PickMany(2)),
    ("mad", &[], Types::Doubles(1)),
    ("histogram", &[], Types::Histogram),
    ("entropy", &[], Types::Measure),
    ("product", &[], Types::Doubles(1)),
    ("fsum", &["sumkahan", "kahan_sum"], Types::Doubles(1)),
    ("skewness", &[], Types::Doubles(1)),
    ("kurtosis", &[], Types::Doubles(1)),
    ("kurtosis_pop", &[], Types::Doubles(1)),
    ("sem", &[], Types::Doubles(1)),
    ("regr_count", &[], Types::CountOfDoubles(2)),
    ("string_agg", &["group_concat", "listagg"], Types::Text),
];

#[derive(Debug, PartialEq, Eq, Hash)]
struct OwnAggregate {
    name: &'static str,
    aliases: Vec<String>,
    types: Types,
    signature: Signature,
}

impl OwnAggregate {
    fn check_number(&self, given: &[DataType], least: usize, most: usize) -> Result<()> {
        let takes = if least == most { format!("{most}") } else { format!("{least} or {most}") };
        match (least..=most).contains(&given.len()) {
            true => Ok(()),
            false => plan_err!("{} takes {takes} arguments, {} were given", self.name, given.len()),
        }
    }

    fn doubles(&self, given: &[DataType], number: usize) -> Result<Vec<DataType>> {
        self.check_number(given, number, number)?;
        match given.iter().find(|ty| !ty.is_numeric() && !ty.is_null()) {
            Some(other) => plan_err!("{} takes numbers, not {other}", self.name),
            None => Ok(vec![DataType::Float64; number]),
        }
    }
}

impl AggregateUDFImpl for OwnAggregate {
    fn name(&self) -> &str {
        self.name
    }

    fn aliases(&self) -> &[String] {
        &self.aliases
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, given: &[DataType]) -> Result<Vec<DataType>> {
        let same = |number| self.check_number(given, number, number).map(|()| given.to_vec());
        match self.types {
            Types::Doubles(number) | Types::CountOfDoubles(number) => self.doubles(given, number),
            Types::Measure | Types::Histogram => same(1),
            Types::Pick(number) => same(number),
            Types::PickMany(number) => {
                let mut types = same(number + 1)?;
                types[number] = DataType::Int64;
                Ok(types)
            }
            Types::Between => self.check_number(given, 1, 1).map(|()| vec![continuous(&given[0])]),
            Types::BetweenAt | Types::PickAt => {
                self.check_number(given, 2, 2)?;
                let value = if self.types == Types::PickAt { given[0].clone() } else { continuous(&given[0]) };
                let fraction = if is_list(&given[1]) { list_of(DataType::Float64) } else { DataType::Float64 };
                Ok(vec![value, fraction])
            }
            Types::Text => {
                self.check_number(given, 1, 2)?;
                let text = |ty: &DataType| match ty {
                    DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => ty.clone(),
                    _ => DataType::Utf8View,
                };
                Ok(given.iter().map(text).collect())
            }
        }
    }

    fn return_type(&self, arguments: &[DataType]) -> Result<DataType> {
        Ok(match self.types {
            Types::Doubles(_) | Types::Measure => DataType::Float64,
            Types::CountOfDoubles(_) => DataType::Int64,
            Types::Pick(_) | Types::Between => arguments[0].clone(),
            Types::PickMany(_) => list_of(arguments[0].clone()),
            Types::BetweenAt | Types::PickAt if is_list(&arguments[1]) => list_of(arguments[0].clone()),
            Types::BetweenAt | Types::PickAt => arguments[0].clone(),
            Types::Text => DataType::LargeUtf8,
            Types::Histogram => {
                let key = Field::new("key", arguments[0].clone(), false);
                let count = Field::new("value", DataType::UInt64, true);
                let entries = DataType::Struct(vec![key, count].into());
                DataType::Map(Arc::new(Field::new("entries", entries, false)), true)
            }
        })
    }

    fn is_nullable(&self) -> bool {
        !matches!(self.types, Types::CountOfDoubles(_) | Types::Measure)
    }

    fn supports_within_group_clause(&self) -> bool {
        matches!(self.types, Types::BetweenAt | Types::PickAt) || self.name == "mode"
    }

    fn accumulator(&self, _arguments: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        internal_err!("aggregates are computed by the executor's own operators")
    }

    fn state_fields(&self, _arguments: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        internal_err!("aggregates are computed by the executor's own operators")
    }
}

/// The type of values between those of a type.
fn continuous(ty: &DataType) -> DataType {
    match ty {
        DataType::Null => DataType::Float64,
        DataType::Date32 | DataType::Date64 => DataType::Timestamp(TimeUnit::Microsecond, None),
        ty if ty.is_integer() => DataType::Float64,
        ty => ty.clone(),
    }
}

fn is_list(ty: &DataType) -> bool {
    matches!(ty, DataType::List(_) | DataType::LargeList(_) | DataType::FixedSizeList(_, _))
}

fn list_of(item: DataType) -> DataType {
    DataType::List(Arc::new(Field::new_list_field(item, true)))
}
