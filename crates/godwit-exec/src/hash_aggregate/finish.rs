//! Turns states into result columns.

use arrow_schema::DataType;
use godwit_common::{Error, Result};
use godwit_rows::Rows;
use godwit_rows::aggregate_state::{Comoments, Moments, PowerSums, StateLayout};
use godwit_vector::sql::sql_type;
use godwit_vector::{Bitmap, ColumnType, Flat, PhysicalType, ValueRange, Vector};

use super::plan::Output;
use super::results::{item_of, lists};
use super::{AggregateKind, PairKind};

/// Reads the states of some groups, whose owner lets them be read.
pub(super) struct StateReader<'a> {
    pub(super) layout: &'a StateLayout,
    pub(super) rows: Rows<'a>,
}

impl StateReader<'_> {
    /// The result column of an output that comes from states.
    pub(super) fn vector(&self, output: &Output, ty: &ColumnType) -> Result<Vector> {
        match output {
            Output::Count(state) => {
                let counts = self.counts(*state).into_iter().map(|count| count as i64).collect();
                Ok(Vector::from_values::<i64>(counts, None))
            }
            Output::Sum { state, seen } => Ok(Vector::flat(self.sums(*state, ty)?, self.validity(*seen))),
            Output::Value { state, seen } => Ok(Vector::flat(self.values(*state, ty)?, self.validity(*seen))),
            Output::Mean { sum, count, decimal_factor: Some(factor), .. } => {
                self.decimal_means(*sum, *count, *factor, ty)
            }
            Output::Mean { sum, count, decimal_factor: None, float_divisor } => {
                Ok(self.float_means(*sum, *count, *float_divisor))
            }
            Output::Moments { state, kind } => Ok(self.moments(*state, kind)),
            Output::PowerSums { state, kind } => Ok(self.power_sums(*state, kind)),
            Output::Pairs { state, kind } => Ok(self.pairs(*state, *kind)),
            Output::DistinctCount(state) => {
                Ok(Vector::from_values(self.layout.distinct_counts(*state, self.rows), None))
            }
            Output::Quantiles { state, fractions, as_list } => self.quantiles(*state, fractions, *as_list, ty),
            Output::Payload(_) | Output::Ordered(_) | Output::Collected(_) => {
                Err(Error::internal("only states are read here"))
            }
        }
    }

    fn counts(&self, state: usize) -> Vec<u64> {
        self.layout.counts(state, self.rows)
    }

    /// Valid where the count isn't 0.
    fn validity(&self, seen: Option<usize>) -> Option<Bitmap> {
        let counts = self.counts(seen?);
        Some(Bitmap::from_fn(counts.len(), |i| counts[i] > 0))
    }

    fn sums(&self, state: usize, ty: &ColumnType) -> Result<Flat> {
        if ty.physical == PhysicalType::F64 {
            return Ok(Flat::F64(self.layout.sums_f64(state, self.rows).into()));
        }
        if ty.physical == PhysicalType::I64
            && let Some(sums) = self.layout.sums_i64(state, self.rows)
        {
            return Ok(Flat::I64(sums.into()));
        }
        let sums = self.layout.sums_i128(state, self.rows);
        check_integers(&sums, ty, "sum")?;
        Ok(integers(ty.physical, sums))
    }

    fn values(&self, state: usize, ty: &ColumnType) -> Result<Flat> {
        use godwit_rows::aggregate_state::StateKind as S;
        match self.layout.kind(state) {
            S::BitAnd | S::BitOr | S::BitXor => {
                let bits = self.layout.bits(state, self.rows);
                // Of narrower types, all combinations of bits are values.
                if ty.physical == PhysicalType::I128 {
                    check_integers(&bits, ty, "a bitwise aggregate")?;
                }
                Ok(integers(ty.physical, bits))
            }
            _ => Ok(self.layout.extremes(state, self.rows)),
        }
    }

    /// sum · factor / count, rounded half away from zero.
    fn decimal_means(&self, sum: usize, count: usize, factor: i128, ty: &ColumnType) -> Result<Vector> {
        let sums = self.layout.sums_i128(sum, self.rows);
        let counts = self.counts(count);
        let mut means = Vec::with_capacity(sums.len());
        for (sum, &count) in sums.into_iter().zip(&counts) {
            let scaled = sum.checked_mul(factor).ok_or_else(|| overflow("avg", ty))?;
            let count = count.max(1) as i128;
            let (quotient, rest) = (scaled / count, scaled % count);
            let rounds = rest.unsigned_abs() * 2 >= count as u128;
            means.push(quotient + if rounds { scaled.signum() } else { 0 });
        }
        check_integers(&means, ty, "avg")?;
        let validity = Bitmap::from_fn(counts.len(), |i| counts[i] > 0);
        Ok(Vector::flat(integers(ty.physical, means), Some(validity)))
    }

    fn float_means(&self, sum: usize, count: usize, divisor: f64) -> Vector {
        use godwit_rows::aggregate_state::StateKind as S;
        let sums: Vec<f64> = match self.layout.kind(sum) {
            S::SumF64 | S::CompensatedSum => self.layout.sums_f64(sum, self.rows),
            _ => {
                let sums = self.layout.sums_i128(sum, self.rows);
                sums.into_iter().map(|sum| sum as f64 / divisor).collect()
            }
        };
        let counts = self.counts(count);
        let means = sums.into_iter().zip(&counts).map(|(sum, &count)| sum / count as f64).collect::<Vec<f64>>();
        Vector::from_values(means, Some(Bitmap::from_fn(counts.len(), |i| counts[i] > 0)))
    }

    fn moments(&self, state: usize, kind: &AggregateKind) -> Vector {
        use AggregateKind as K;
        let moments = self.layout.moments(state, self.rows);
        let is_sample = matches!(kind, K::VarSamp | K::StddevSamp);
        let is_deviation = matches!(kind, K::StddevSamp | K::StddevPop);
        let degrees = |moments: &Moments| moments.count - if is_sample { 1.0 } else { 0.0 };
        let validity = Bitmap::from_fn(moments.len(), |i| degrees(&moments[i]) > 0.0);
        let values = moments.iter().map(|m| {
            let variance = m.squares / degrees(m);
            match kind {
                K::Sem => (variance / m.count).sqrt(),
                _ if is_deviation => variance.sqrt(),
                _ => variance,
            }
        });
        Vector::from_values(values.collect::<Vec<f64>>(), Some(validity))
    }

    /// Skewness, with the usual sample correction, and excess kurtosis.
    fn power_sums(&self, state: usize, kind: &AggregateKind) -> Vector {
        use AggregateKind as K;
        let sums = self.layout.power_sums(state, self.rows);
        let value = |sums: &PowerSums| {
            let (n, variance) = (sums.count, sums.squares / sums.count);
            match kind {
                K::Skewness => {
                    let skewness = sums.cubes / n / variance.powf(1.5);
                    (n > 2.0).then(|| (n * (n - 1.0)).sqrt() / (n - 2.0) * skewness)
                }
                _ if n < 2.0 || variance == 0.0 => None,
                K::KurtosisPop => Some(sums.fourths / n / (variance * variance) - 3.0),
                _ => (n > 3.0).then(|| {
                    let kurtosis = (n + 1.0) * sums.fourths / n / (variance * variance) - 3.0 * (n - 1.0);
                    (n - 1.0) * kurtosis / ((n - 2.0) * (n - 3.0))
                }),
            }
        };
        optional(sums.iter().map(value).collect())
    }

    fn pairs(&self, state: usize, kind: PairKind) -> Vector {
        use PairKind as K;
        let pairs = self.layout.comoments(state, self.rows);
        if kind == K::RegrCount {
            return Vector::from_values(pairs.iter().map(|pair| pair.count as i64).collect::<Vec<i64>>(), None);
        }
        let value = |m: &Comoments| {
            let slope = m.products / m.squares_x;
            let value = match kind {
                K::RegrCount => m.count,
                K::CovarSamp if m.count < 2.0 => return None,
                K::CovarSamp => m.products / (m.count - 1.0),
                K::CovarPop => m.products / m.count,
                K::Corr => m.products / (m.squares_x * m.squares_y).sqrt(),
                K::RegrAvgX => m.mean_x,
                K::RegrAvgY => m.mean_y,
                K::RegrSxx => m.squares_x,
                K::RegrSyy => m.squares_y,
                K::RegrSxy => m.products,
                K::RegrSlope => slope,
                // A vertical line.
                K::RegrIntercept | K::RegrR2 if m.squares_x == 0.0 => return None,
                K::RegrIntercept => m.mean_y - slope * m.mean_x,
                K::RegrR2 if m.squares_y == 0.0 => 1.0,
                K::RegrR2 => m.products * m.products / (m.squares_x * m.squares_y),
            };
            (m.count > 0.0).then_some(value)
        };
        optional(pairs.iter().map(value).collect())
    }

    fn quantiles(&self, state: usize, fractions: &[f64], as_list: bool, ty: &ColumnType) -> Result<Vector> {
        let found = self.layout.quantiles(state, self.rows, fractions);
        let groups = Bitmap::from_fn(found.len(), |group| found[group].is_some());
        let values = found.into_iter().flat_map(|values| values.unwrap_or_else(|| vec![0.0; fractions.len()]));
        let physical = if as_list { PhysicalType::natural(item_of(ty)?.data_type())? } else { ty.physical };
        let flat = match physical {
            PhysicalType::F32 => Flat::F32(values.map(|value| value as f32).collect::<Vec<f32>>().into()),
            PhysicalType::F64 => Flat::F64(values.collect::<Vec<f64>>().into()),
            _ => {
                let limits = limits_of(if as_list { item_of(ty)?.data_type() } else { &ty.logical }, physical);
                let values = values.map(|value| (value.round() as i128).clamp(limits.min, limits.max));
                integers(physical, values.collect::<Vec<i128>>())
            }
        };
        match as_list {
            true => lists(&Vector::flat(flat, None), fractions.len(), &groups, ty),
            false => Ok(Vector::flat(flat, Some(groups))),
        }
    }
}

fn optional(values: Vec<Option<f64>>) -> Vector {
    let validity = Bitmap::from_fn(values.len(), |i| values[i].is_some());
    Vector::from_values(values.into_iter().map(Option::unwrap_or_default).collect::<Vec<f64>>(), Some(validity))
}

fn overflow(function: &str, ty: &ColumnType) -> Error {
    let shown = sql_type(&ty.logical).map_or_else(|_| ty.logical.to_string(), |ty| ty.to_string());
    Error::user(format!("overflow: the result of {function} doesn't fit {shown}"))
        .with_hint("cast the argument to a wider type, such as DECIMAL(38, 2) or DOUBLE")
}

/// Fails unless all values fit the type.
fn check_integers(values: &[i128], ty: &ColumnType, function: &str) -> Result<()> {
    let limits = limits_of(&ty.logical, ty.physical);
    let fits = values.iter().all(|value| (limits.min..=limits.max).contains(value));
    if fits { Ok(()) } else { Err(overflow(function, ty)) }
}

/// Returns the range of a type of integers or decimals.
fn limits_of(logical: &DataType, physical: PhysicalType) -> ValueRange {
    match logical {
        DataType::Decimal32(precision, _) | DataType::Decimal64(precision, _) | DataType::Decimal128(precision, _) => {
            let max = 10i128.pow(u32::from(*precision)) - 1;
            ValueRange { min: -max, max }
        }
        _ => ValueRange::of_type(physical).expect("integers"),
    }
}

/// Integers that fit the type, as a flat vector of an integer type or of booleans.
pub(crate) fn integers(physical: PhysicalType, values: impl IntoIterator<Item = i128>) -> Flat {
    let values = values.into_iter();
    macro_rules! narrow {
        ($variant:ident, $t:ty) => {
            Flat::$variant(values.map(|value| value as $t).collect::<Vec<$t>>().into())
        };
    }
    match physical {
        PhysicalType::Bool => narrow!(Bool, u8),
        PhysicalType::I8 => narrow!(I8, i8),
        PhysicalType::I16 => narrow!(I16, i16),
        PhysicalType::I32 => narrow!(I32, i32),
        PhysicalType::I64 => narrow!(I64, i64),
        PhysicalType::I128 => narrow!(I128, i128),
        PhysicalType::U8 => narrow!(U8, u8),
        PhysicalType::U16 => narrow!(U16, u16),
        PhysicalType::U32 => narrow!(U32, u32),
        PhysicalType::U64 => narrow!(U64, u64),
        other => panic!("{other:?} is no integer type"),
    }
}
