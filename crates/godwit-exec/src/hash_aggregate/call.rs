//! Aggregate calls, as the operators take them.

use godwit_expression::Expression;
use godwit_vector::ColumnType;

/// What an aggregate computes.
#[derive(Debug, Clone, PartialEq)]
pub enum AggregateKind {
    /// Number of rows.
    CountStar,
    /// Number of values that aren't NULL.
    Count,
    /// Sum of integers, decimals, floats.
    Sum,
    /// Arithmetic mean.
    Avg,
    /// Sum of DOUBLEs, with what rounding takes from it.
    CompensatedSum,
    /// Likewise, their mean.
    CompensatedAvg,
    /// Smallest value.
    Min,
    /// Largest value.
    Max,
    /// Some value of the group; NULL only if there is no other.
    AnyValue,
    /// True if all values are true.
    BoolAnd,
    /// True if any value is true.
    BoolOr,
    /// Bitwise and.
    BitAnd,
    /// Bitwise or.
    BitOr,
    /// Bitwise exclusive or.
    BitXor,
    /// Variance of a sample.
    VarSamp,
    /// Variance of the population.
    VarPop,
    /// Standard deviation of a sample.
    StddevSamp,
    /// Standard deviation of the population.
    StddevPop,
    /// Standard error of the mean.
    Sem,
    /// Product of numbers, as a float.
    Product,
    /// Skewness of a sample.
    Skewness,
    /// Excess kurtosis of a sample.
    Kurtosis,
    /// Excess kurtosis of the population.
    KurtosisPop,
    /// A statistic of pairs (y, x).
    Pairs(PairKind),
    /// The values at fractions of the sorted values: 0.5 is the median.
    Quantile {
        /// From 0 to 1.
        fractions: Vec<f64>,
        /// Interpolates where the fraction falls between two neighbours; otherwise the result is one of the values.
        interpolated: bool,
        /// The result is a list with a value per fraction; otherwise there is one fraction.
        as_list: bool,
    },
    /// The number of different values, by a sketch.
    ApproximateCount,
    /// The values at fractions of the sorted values, by a digest of numbers.
    ApproximateQuantile {
        /// From 0 to 1.
        fractions: Vec<f64>,
        /// The result is a list with a value per fraction; otherwise there is one fraction.
        as_list: bool,
    },
    /// The median distance of the values from their median.
    MedianDeviation,
    /// A list of the best values of the group, the best one first.
    Best {
        /// Maximum number of values.
        rows: u64,
        /// Largest first; otherwise smallest first.
        largest: bool,
        /// Values are compared by the second argument; otherwise by themselves.
        by_other: bool,
    },
    /// The strings of the group, joined by this separator.
    StringAgg(String),
    /// A list of all values, NULLs included.
    List,
    /// The value that occurs most often.
    Mode,
    /// How often each value occurs, as a map.
    Histogram,
    /// The entropy of the values' distribution, in bits.
    Entropy,
    /// The first argument in the row where the second is smallest.
    ArgMin,
    /// The first argument in the row where the second is largest.
    ArgMax,
    /// The first value in the requested order.
    FirstValue {
        /// NULLs don't count as values.
        ignore_nulls: bool,
    },
    /// The last value in the requested order.
    LastValue {
        /// NULLs don't count as values.
        ignore_nulls: bool,
    },
}

/// A measure of pairs (y, x), none of which has a NULL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are those of the SQL functions")]
pub enum PairKind {
    Corr,
    CovarPop,
    CovarSamp,
    RegrCount,
    RegrAvgX,
    RegrAvgY,
    RegrSxx,
    RegrSyy,
    RegrSxy,
    RegrSlope,
    RegrIntercept,
    RegrR2,
}

/// A sort key of an ordered aggregate.
#[derive(Debug, Clone)]
pub struct AggregateOrder {
    /// The expression to compare.
    pub expression: Expression,
    /// Largest first.
    pub descending: bool,
    /// NULLs before all values.
    pub nulls_first: bool,
}

/// One aggregate of the SELECT list.
#[derive(Debug, Clone)]
pub struct AggregateCall {
    /// What it computes.
    pub kind: AggregateKind,
    /// Its arguments.
    pub arguments: Vec<Expression>,
    /// Only rows where this is TRUE count.
    pub filter: Option<Expression>,
    /// Equal arguments count once per group.
    pub distinct: bool,
    /// The order in which values are taken; empty if any will do.
    pub order_by: Vec<AggregateOrder>,
    /// The type of the result as the planner assigned it; the physical type may end up narrower.
    pub output: ColumnType,
}

impl AggregateKind {
    /// The aggregate that a function name stands for, if the name alone determines it.
    pub(crate) fn of_name(name: &str) -> Option<Self> {
        use PairKind::*;
        Some(match name {
            "count" => Self::Count,
            "sum" => Self::Sum,
            "fsum" => Self::CompensatedSum,
            "favg" => Self::CompensatedAvg,
            "avg" | "mean" => Self::Avg,
            "min" => Self::Min,
            "max" => Self::Max,
            "any_value" => Self::AnyValue,
            "bool_and" => Self::BoolAnd,
            "bool_or" => Self::BoolOr,
            "bit_and" => Self::BitAnd,
            "bit_or" => Self::BitOr,
            "bit_xor" => Self::BitXor,
            "var" | "var_samp" => Self::VarSamp,
            "var_pop" => Self::VarPop,
            "stddev" => Self::StddevSamp,
            "stddev_pop" => Self::StddevPop,
            "sem" => Self::Sem,
            "product" => Self::Product,
            "skewness" => Self::Skewness,
            "kurtosis" => Self::Kurtosis,
            "kurtosis_pop" => Self::KurtosisPop,
            "median" => Self::median(),
            "mad" => Self::MedianDeviation,
            "mode" => Self::Mode,
            "histogram" => Self::Histogram,
            "entropy" => Self::Entropy,
            "arg_min" => Self::ArgMin,
            "arg_max" => Self::ArgMax,
            "list" | "array_agg" => Self::List,
            "corr" => Self::Pairs(Corr),
            "covar_pop" => Self::Pairs(CovarPop),
            "covar_samp" => Self::Pairs(CovarSamp),
            "regr_count" => Self::Pairs(RegrCount),
            "regr_avgx" => Self::Pairs(RegrAvgX),
            "regr_avgy" => Self::Pairs(RegrAvgY),
            "regr_sxx" => Self::Pairs(RegrSxx),
            "regr_syy" => Self::Pairs(RegrSyy),
            "regr_sxy" => Self::Pairs(RegrSxy),
            "regr_slope" => Self::Pairs(RegrSlope),
            "regr_intercept" => Self::Pairs(RegrIntercept),
            "regr_r2" => Self::Pairs(RegrR2),
            _ => return None,
        })
    }

    /// True if the result depends on how often a value occurs.
    pub(crate) fn sees_duplicates(&self) -> bool {
        use AggregateKind::*;
        !matches!(
            self,
            Min | Max
                | AnyValue
                | BoolAnd
                | BoolOr
                | BitAnd
                | BitOr
                | ArgMin
                | ArgMax
                | FirstValue { .. }
                | LastValue { .. }
                | ApproximateCount
        )
    }

    /// True if rows without a value don't count.
    pub(super) fn skips_nulls(&self) -> bool {
        use AggregateKind::*;
        !matches!(self, CountStar | List | FirstValue { ignore_nulls: false } | LastValue { ignore_nulls: false })
    }

    /// The median.
    pub(crate) fn median() -> Self {
        AggregateKind::Quantile { fractions: vec![0.5], interpolated: true, as_list: false }
    }
}
