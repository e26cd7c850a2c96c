//! What the operator computes for a query: inputs, states and outputs, each only once however many aggregates share it.
//!
//! ```text
//! sum(x), avg(x), count(*), count(distinct y) filter (where z)      x is never NULL
//!   inputs:  x, y, z
//!   states:  0 sum(x)   1 count(*)   2 count(y) over distinct set 0
//!   outputs: sum = 0    avg = 0 / 1  count = 1                      distinct = 2
//!   distinct sets: 0 = (y) of the rows where z
//! ```

use std::sync::Arc;

use arrow_schema::DataType;
use godwit_common::{Error, Result};
use godwit_expression::{Expression, OrderedKey, Projection, ordered_value};
use godwit_rows::PayloadKind;
use godwit_rows::aggregate_state::{StateKind, StateLayout};
use godwit_vector::{ColumnType, PhysicalType, RowType, ValueRange, Vector};

use super::config::ROWS_MAX;
use super::grouping_sets::GroupingSets;
use super::results::CollectedKind;
use super::{AggregateCall, AggregateKind, AggregateOrder, HashAggregateSpec, PairKind};

/// Which rows reach a state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Feed {
    /// The input's rows where the filter, an input column, is TRUE.
    Input { filter: Option<usize> },
    /// The rows of a distinct set.
    Distinct(usize),
}

/// A state and what goes into it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct PlannedState {
    pub(super) kind: StateKind,
    pub(super) feed: Feed,
    /// Columns of the feed: the argument; several for a count of rows without a NULL in any of them; none for a count
    /// of rows.
    pub(super) arguments: Vec<usize>,
}

/// Arguments that count once per group: rows (group keys, arguments) are deduplicated before they reach the states.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct DistinctSet {
    pub(super) arguments: Vec<usize>,
    pub(super) filter: Option<usize>,
}

/// A column of the groups' rows that holds one of the input's values per group.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Payload {
    pub(super) kind: PayloadKind,
    /// Only rows where this input column is TRUE have the value; the others have NULL.
    pub(super) filter: Option<usize>,
    /// The input column.
    pub(super) column: usize,
}

/// Values that are kept until their group is complete.
#[derive(Debug, Clone)]
pub(super) struct CollectedSet {
    pub(super) kind: CollectedKind,
    pub(super) feed: Feed,
    /// The value, then the sort keys that differ from it: columns of the feed.
    pub(super) columns: Vec<usize>,
    pub(super) types: RowType,
    /// How the values of a group are sorted.
    pub(super) order: Vec<CollectedOrder>,
    /// Rows that compare equal stay in order of arrival.
    pub(super) keeps_arrival: bool,
    /// Rows where one of these of `columns` is NULL are left out.
    pub(super) required: Vec<usize>,
}

/// A sort key of collected values.
#[derive(Debug, Clone, Copy)]
pub(super) struct CollectedOrder {
    /// Which of the columns of the set.
    pub(super) column: usize,
    pub(super) descending: bool,
    pub(super) nulls_first: bool,
}

/// How a result is computed from states.
#[derive(Debug, Clone)]
pub(super) enum Output {
    Count(usize),
    /// A sum; NULL where the count `seen` is 0.
    Sum {
        state: usize,
        seen: Option<usize>,
    },
    /// Minimum, maximum or bitwise aggregate; NULL by the same rule.
    Value {
        state: usize,
        seen: Option<usize>,
    },
    /// A payload column.
    Payload(usize),
    /// The value in a payload column that holds it after sort keys.
    Ordered(usize),
    /// Sum divided by count; decimals are scaled by the factor first.
    Mean {
        sum: usize,
        count: usize,
        decimal_factor: Option<i128>,
        float_divisor: f64,
    },
    Moments {
        state: usize,
        kind: AggregateKind,
    },
    /// Skewness and kurtosis.
    PowerSums {
        state: usize,
        kind: AggregateKind,
    },
    Pairs {
        state: usize,
        kind: PairKind,
    },
    /// An estimate of the number of different values.
    DistinctCount(usize),
    /// Estimates of quantiles.
    Quantiles {
        state: usize,
        fractions: Vec<f64>,
        as_list: bool,
    },
    Collected(usize),
}

pub(super) struct Plan {
    /// Computes the distinct expressions.
    pub(super) inputs: Projection,
    pub(super) input_types: RowType,
    /// Input column of each group key.
    pub(super) keys: Vec<usize>,
    /// Types of the group keys in the output, including the grouping id.
    pub(super) key_types: RowType,
    /// The same for the groups that the input is fed to.
    pub(super) key_types_from_input: RowType,
    pub(super) grouping_sets: Option<GroupingSets>,
    pub(super) states: Vec<PlannedState>,
    pub(super) layout: Arc<StateLayout>,
    pub(super) payload: Vec<Payload>,
    pub(super) distinct: Vec<DistinctSet>,
    pub(super) collected: Vec<CollectedSet>,
    /// The state that numbers the groups, if values are collected.
    pub(super) ordinal: Option<usize>,
    pub(super) outputs: Vec<(Output, ColumnType)>,
}

impl Plan {
    pub(super) fn new(spec: &HashAggregateSpec) -> Result<Plan> {
        Planner::default().plan(spec)
    }

    /// True if there is a group even without input: that of all rows.
    pub(super) fn has_global_group(&self) -> bool {
        match &self.grouping_sets {
            Some(sets) => sets.global().next().is_some(),
            None => self.keys.is_empty(),
        }
    }

    /// Number of levels of grouping sets; one if there are none.
    pub(super) fn levels(&self) -> usize {
        self.grouping_sets.as_ref().map_or(1, GroupingSets::levels)
    }

    pub(super) fn key_physical(&self) -> Vec<PhysicalType> {
        self.key_types.iter().map(|ty| ty.physical).collect()
    }

    pub(super) fn payload_physical(&self) -> Vec<(PhysicalType, PayloadKind)> {
        self.payload.iter().map(|payload| (self.input_types[payload.column].physical, payload.kind)).collect()
    }

    /// The payload of rows that have none.
    pub(super) fn no_payload(&self, rows: usize) -> Vec<Vector> {
        self.payload_physical().into_iter().map(|(physical, _)| Vector::null(physical, rows)).collect()
    }

    pub(super) fn output_type(&self) -> RowType {
        self.key_types.iter().chain(self.outputs.iter().map(|(_, ty)| ty)).cloned().collect()
    }
}

#[derive(Default)]
struct Planner {
    inputs: Vec<Expression>,
    states: Vec<PlannedState>,
    payload: Vec<Payload>,
    distinct: Vec<DistinctSet>,
    collected: Vec<CollectedSet>,
    has_global_group: bool,
}

impl Planner {
    fn plan(mut self, spec: &HashAggregateSpec) -> Result<Plan> {
        let keys: Vec<usize> = spec.groups.iter().map(|group| self.input(group)).collect();
        let mut key_types: RowType = spec.groups.iter().map(|group| group.output().clone()).collect();
        if key_types.iter().any(|ty| ty.physical == PhysicalType::Nested) {
            return Err(Error::unsupported("grouping by a list, struct or map"));
        }
        self.has_global_group = match &spec.grouping_sets {
            Some(sets) => sets.iter().any(|set| set.keys.is_empty()),
            None => keys.is_empty(),
        };
        let mut outputs = Vec::new();
        for call in &spec.aggregates {
            outputs.push(self.call(call)?);
        }
        let ordinal = (!self.collected.is_empty()).then(|| {
            self.states.push(PlannedState {
                kind: StateKind::Ordinal,
                feed: Feed::Input { filter: None },
                arguments: Vec::new(),
            });
            self.states.len() - 1
        });
        let mut grouping_sets = None;
        let mut key_types_from_input = key_types.clone();
        if let Some(sets) = &spec.grouping_sets {
            let mut planned = GroupingSets::new(sets, keys.len())?;
            if self.distinct.is_empty() && self.collected.is_empty() {
                planned.derive(sets);
            }
            key_types_from_input = planned.key_types_from_input(&key_types);
            key_types = planned.key_types(&key_types);
            grouping_sets = Some(planned);
        }
        let kinds: Vec<StateKind> = self.states.iter().map(|state| state.kind).collect();
        let inputs = Projection::new(self.inputs);
        Ok(Plan {
            input_types: inputs.output(),
            inputs,
            keys,
            key_types,
            key_types_from_input,
            grouping_sets,
            layout: StateLayout::new(&kinds),
            states: self.states,
            payload: self.payload,
            distinct: self.distinct,
            collected: self.collected,
            ordinal,
            outputs,
        })
    }

    /// The input column that holds the expression's values.
    fn input(&mut self, expression: &Expression) -> usize {
        match self.inputs.iter().position(|known| known.is_same(expression)) {
            Some(known) => known,
            None => {
                self.inputs.push(expression.clone());
                self.inputs.len() - 1
            }
        }
    }

    fn state(&mut self, kind: StateKind, feed: Feed, arguments: Vec<usize>) -> usize {
        let state = PlannedState { kind, feed, arguments };
        match self.states.iter().position(|known| *known == state) {
            Some(known) => known,
            None => {
                self.states.push(state);
                self.states.len() - 1
            }
        }
    }

    /// The state that counts rows of the feed whose arguments aren't NULL.
    fn count(&mut self, feed: Feed, arguments: &[usize], types: &[ColumnType]) -> usize {
        let nullable = |&&index: &&usize| types[index].nullable;
        let counted: Vec<usize> = arguments.iter().filter(nullable).copied().collect();
        self.state(StateKind::Count, feed, counted)
    }

    /// The state that counts values, to tell whether there was one; `None` if every group has one.
    fn seen(&mut self, feed: Feed, argument: usize, types: &[ColumnType]) -> Option<usize> {
        let always = !types[argument].nullable && feed == Feed::Input { filter: None } && !self.has_global_group;
        (!always).then(|| self.count(feed, &[argument], types))
    }

    fn call(&mut self, call: &AggregateCall) -> Result<(Output, ColumnType)> {
        let types: RowType = call.arguments.iter().map(|argument| argument.output().clone()).collect();
        let inputs: Vec<usize> = call.arguments.iter().map(|argument| self.input(argument)).collect();
        let filter = call.filter.as_ref().map(|filter| self.input(filter));
        // `arguments` are columns of the feed, and `feed_types` the types of all its columns.
        let (feed, arguments, feed_types) = if call.distinct {
            let set = DistinctSet { arguments: inputs, filter };
            let index = self.distinct.iter().position(|known| *known == set).unwrap_or_else(|| {
                self.distinct.push(set);
                self.distinct.len() - 1
            });
            (Feed::Distinct(index), (0..types.len()).collect::<Vec<_>>(), types.clone())
        } else {
            let all = self.inputs.iter().map(|input| input.output().clone()).collect();
            (Feed::Input { filter }, inputs, all)
        };
        self.output(call, feed, &arguments, &types, &feed_types)
    }

    fn output(
        &mut self,
        call: &AggregateCall,
        feed: Feed,
        arguments: &[usize],
        types: &[ColumnType],
        feed_types: &[ColumnType],
    ) -> Result<(Output, ColumnType)> {
        use AggregateKind as K;
        let mut ty = call.output.clone();
        let first = || {
            let argument = types.first().ok_or_else(|| Error::internal("an aggregate without an argument"))?;
            Ok::<_, Error>((argument, arguments[0]))
        };
        let output = match &call.kind {
            K::CountStar => Output::Count(self.state(StateKind::Count, feed, Vec::new())),
            K::Count => Output::Count(self.count(feed, arguments, feed_types)),
            K::Sum => {
                let (argument, column) = first()?;
                let kind = sum_state(argument)?;
                sum_type(&mut ty, argument, kind)?;
                Output::Sum { state: self.state(kind, feed, vec![column]), seen: self.seen(feed, column, feed_types) }
            }
            K::Avg => {
                let (argument, column) = first()?;
                let sum = self.state(sum_state(argument)?, feed, vec![column]);
                let count = self.count(feed, &[column], feed_types);
                mean(sum, count, argument, &mut ty)?
            }
            K::CompensatedSum => {
                let (_, column) = first()?;
                let state = self.state(StateKind::CompensatedSum, feed, vec![column]);
                Output::Sum { state, seen: self.seen(feed, column, feed_types) }
            }
            K::CompensatedAvg => {
                let (argument, column) = first()?;
                let sum = self.state(StateKind::CompensatedSum, feed, vec![column]);
                let count = self.count(feed, &[column], feed_types);
                mean(sum, count, argument, &mut ty)?
            }
            K::Min if is_string(first()?.0) => self.payload(PayloadKind::Min, call, first()?, &mut ty),
            K::Max if is_string(first()?.0) => self.payload(PayloadKind::Max, call, first()?, &mut ty),
            K::AnyValue => self.payload(PayloadKind::Any, call, first()?, &mut ty),
            // Without an order any row may count as the first; it is the first row of the group, unless a filter
            // removes that.
            K::FirstValue { ignore_nulls: true } if call.order_by.is_empty() => {
                self.payload(PayloadKind::Any, call, first()?, &mut ty)
            }
            K::FirstValue { ignore_nulls: false } if call.order_by.is_empty() && call.filter.is_none() => {
                self.payload(PayloadKind::First, call, first()?, &mut ty)
            }
            K::ArgMin | K::ArgMax if has_order(call) => self.ordered(call, &mut ty),
            K::FirstValue { .. } | K::LastValue { .. } if !call.order_by.is_empty() && has_order(call) => {
                self.ordered(call, &mut ty)
            }
            K::Min | K::BoolAnd => self.extreme(StateKind::Min, feed, first()?, feed_types, &mut ty),
            K::Max | K::BoolOr => self.extreme(StateKind::Max, feed, first()?, feed_types, &mut ty),
            K::BitAnd | K::BitOr | K::BitXor => {
                let (argument, column) = first()?;
                if !argument.physical.is_integer() {
                    return Err(Error::unsupported(format!("bitwise aggregates of {}", argument.logical)));
                }
                let kind = match call.kind {
                    K::BitAnd => StateKind::BitAnd,
                    K::BitOr => StateKind::BitOr,
                    _ => StateKind::BitXor,
                };
                Output::Value { state: self.state(kind, feed, vec![column]), seen: self.seen(feed, column, feed_types) }
            }
            K::VarSamp | K::VarPop | K::StddevSamp | K::StddevPop | K::Sem => {
                let (argument, column) = first()?;
                if !matches!(argument.physical, PhysicalType::F32 | PhysicalType::F64) && argument.scale() != 0 {
                    return Err(Error::unsupported("the variance of decimals").with_hint("cast them to DOUBLE"));
                }
                Output::Moments { state: self.state(StateKind::Moments, feed, vec![column]), kind: call.kind.clone() }
            }
            K::Product => {
                let (_, column) = first()?;
                let state = self.state(StateKind::Product, feed, vec![column]);
                Output::Sum { state, seen: self.seen(feed, column, feed_types) }
            }
            K::Skewness | K::Kurtosis | K::KurtosisPop => {
                let state = self.state(StateKind::PowerSums, feed, vec![first()?.1]);
                Output::PowerSums { state, kind: call.kind.clone() }
            }
            K::Pairs(kind) => {
                let state = self.state(StateKind::Comoments, feed, arguments.to_vec());
                Output::Pairs { state, kind: *kind }
            }
            K::ApproximateCount => Output::DistinctCount(self.state(StateKind::Distinct, feed, vec![first()?.1])),
            K::ApproximateQuantile { fractions, as_list } => {
                let (argument, column) = first()?;
                if !as_list {
                    keep_type(&mut ty, argument);
                }
                let state = self.state(StateKind::Digest, feed, vec![column]);
                Output::Quantiles { state, fractions: fractions.clone(), as_list: *as_list }
            }
            K::Quantile { .. }
            | K::MedianDeviation
            | K::Best { .. }
            | K::StringAgg(_)
            | K::List
            | K::Mode
            | K::Histogram
            | K::Entropy
            | K::ArgMin
            | K::ArgMax
            | K::FirstValue { .. }
            | K::LastValue { .. } => {
                return self.collect(call, feed, arguments, feed_types, ty);
            }
        };
        if matches!(
            output,
            Output::Count(_) | Output::DistinctCount(_) | Output::Pairs { kind: PairKind::RegrCount, .. }
        ) {
            ty.nullable = false;
        }
        Ok((output, ty))
    }

    fn extreme(
        &mut self,
        kind: fn(PhysicalType) -> StateKind,
        feed: Feed,
        (argument, column): (&ColumnType, usize),
        feed_types: &[ColumnType],
        ty: &mut ColumnType,
    ) -> Output {
        keep_type(ty, argument);
        let state = self.state(kind(argument.physical), feed, vec![column]);
        Output::Value { state, seen: self.seen(feed, column, feed_types) }
    }

    fn payload(
        &mut self,
        kind: PayloadKind,
        call: &AggregateCall,
        (argument, column): (&ColumnType, usize),
        ty: &mut ColumnType,
    ) -> Output {
        keep_type(ty, argument);
        ty.nullable = true;
        let filter = call.filter.as_ref().map(|filter| self.input(filter));
        let payload = Payload { kind, filter, column };
        let known = self.payload.iter().position(|known| *known == payload);
        Output::Payload(known.unwrap_or_else(|| {
            self.payload.push(payload);
            self.payload.len() - 1
        }))
    }

    /// The first or last value in an order: the smallest or largest string made of the sort keys and the value.
    fn ordered(&mut self, call: &AggregateCall, ty: &mut ColumnType) -> Output {
        let mut keys = Vec::new();
        if let AggregateKind::ArgMin | AggregateKind::ArgMax = call.kind {
            let descending = call.kind == AggregateKind::ArgMax;
            let expression = call.arguments[1].clone();
            keys.push(OrderedKey { expression, descending, nulls_first: false, required: true });
        }
        keys.extend(call.order_by.iter().map(|order| OrderedKey {
            expression: order.expression.clone(),
            descending: order.descending,
            nulls_first: order.nulls_first,
            required: false,
        }));
        let value = &call.arguments[0];
        let string = ordered_value(&keys, value, call.kind.skips_nulls());
        let column = self.input(&string);
        let kind = match call.kind {
            AggregateKind::LastValue { .. } => PayloadKind::Max,
            _ => PayloadKind::Min,
        };
        let payload = self.payload(kind, call, (string.output(), column), &mut string.output().clone());
        keep_type(ty, value.output());
        ty.nullable = true;
        match payload {
            Output::Payload(column) => Output::Ordered(column),
            other => other,
        }
    }

    fn collect(
        &mut self,
        call: &AggregateCall,
        feed: Feed,
        arguments: &[usize],
        feed_types: &[ColumnType],
        mut ty: ColumnType,
    ) -> Result<(Output, ColumnType)> {
        let mut set = CollectedSet {
            kind: collected_kind(&call.kind),
            feed,
            columns: vec![arguments[0]],
            types: vec![feed_types[arguments[0]].clone()],
            order: Vec::new(),
            keeps_arrival: true,
            required: if call.kind.skips_nulls() { vec![0] } else { Vec::new() },
        };
        for order in &call.order_by {
            let column = match feed {
                Feed::Distinct(_) => distinct_column(call, order)?,
                Feed::Input { .. } => self.input(&order.expression),
            };
            set.order_by(column, order.expression.output(), order.descending, order.nulls_first);
        }
        if let AggregateKind::ArgMin | AggregateKind::ArgMax = call.kind {
            let (column, ty) = (arguments[1], &call.arguments[1]);
            let key = set.order_by(column, ty.output(), call.kind == AggregateKind::ArgMax, false);
            set.required.push(key);
        }
        if let AggregateKind::Best { largest, by_other, .. } = call.kind {
            // Regardless of the requested order: the best come first.
            set.columns.truncate(1);
            set.types.truncate(1);
            set.order.clear();
            let by = usize::from(by_other);
            let key = set.order_by(arguments[by], call.arguments[by].output(), largest, false);
            set.required.push(key);
            set.keeps_arrival = by_other;
        }
        if set.kind.is_sorted_by_value() {
            // WITHIN GROUP (ORDER BY value DESC) counts from the largest.
            let descending = call.order_by.first().is_some_and(|order| order.descending);
            if let CollectedKind::Mode { by_arrival } = &mut set.kind {
                *by_arrival = !call.order_by.first().is_some_and(|order| order.expression.is_same(&call.arguments[0]));
            }
            set.columns.truncate(1);
            set.types.truncate(1);
            set.order = vec![CollectedOrder { column: 0, descending, nulls_first: false }];
            set.keeps_arrival = set.kind.needs_arrival();
        }
        if set.types.iter().any(|ty| ty.physical == PhysicalType::Nested) {
            return Err(Error::unsupported(format!("{} of a list, struct or map", set.kind.name())));
        }
        if set.kind.keeps_type() {
            keep_type(&mut ty, &feed_types[arguments[0]]);
        }
        ty.nullable = set.kind != CollectedKind::Entropy;
        self.collected.push(set);
        Ok((Output::Collected(self.collected.len() - 1), ty))
    }
}

impl CollectedSet {
    /// Adds a sort key, a column of the feed; returns which of the columns of the set it is.
    fn order_by(&mut self, column: usize, ty: &ColumnType, descending: bool, nulls_first: bool) -> usize {
        let known = self.columns.iter().position(|&known| known == column);
        let column = known.unwrap_or_else(|| {
            self.columns.push(column);
            self.types.push(ty.clone());
            self.columns.len() - 1
        });
        self.order.push(CollectedOrder { column, descending, nulls_first });
        column
    }
}

/// The column of a distinct set that an ORDER BY of its aggregate refers to.
fn distinct_column(call: &AggregateCall, order: &AggregateOrder) -> Result<usize> {
    let column = call.arguments.iter().position(|argument| argument.is_same(&order.expression));
    column.ok_or_else(|| {
        Error::user("an aggregate with DISTINCT can be ordered by its arguments only")
            .with_hint("values that are equal could have different places otherwise")
    })
}

fn collected_kind(kind: &AggregateKind) -> CollectedKind {
    match kind {
        AggregateKind::FirstValue { .. } | AggregateKind::ArgMin | AggregateKind::ArgMax => CollectedKind::First,
        AggregateKind::LastValue { .. } => CollectedKind::Last,
        AggregateKind::MedianDeviation => CollectedKind::MedianDeviation,
        AggregateKind::Best { rows, .. } => CollectedKind::Best { rows: *rows },
        AggregateKind::StringAgg(separator) => CollectedKind::Text { separator: separator.clone() },
        AggregateKind::List => CollectedKind::List,
        AggregateKind::Mode => CollectedKind::Mode { by_arrival: true },
        AggregateKind::Histogram => CollectedKind::Histogram,
        AggregateKind::Entropy => CollectedKind::Entropy,
        AggregateKind::Quantile { fractions, interpolated, as_list } => {
            CollectedKind::Quantile { fractions: fractions.clone(), interpolated: *interpolated, as_list: *as_list }
        }
        other => unreachable!("{other:?} has a state of a fixed size"),
    }
}

/// Whether the values and sort keys of an aggregate can be encoded as strings that sort the same way.
fn has_order(call: &AggregateCall) -> bool {
    let order_by = call.order_by.iter().map(|order| &order.expression);
    call.arguments.iter().chain(order_by).all(|expression| expression.output().physical != PhysicalType::Nested)
}

fn is_string(ty: &ColumnType) -> bool {
    ty.physical == PhysicalType::Str
}

/// Gives the result the argument's physical type.
fn keep_type(ty: &mut ColumnType, argument: &ColumnType) {
    ty.physical = argument.physical;
    ty.range = argument.range;
}

/// The range of a sum of at most [`ROWS_MAX`] values.
fn sum_range(argument: &ColumnType) -> Option<ValueRange> {
    let bound = argument.bound()?;
    let (min, max) = (bound.min.min(0).checked_mul(ROWS_MAX)?, bound.max.max(0).checked_mul(ROWS_MAX)?);
    Some(ValueRange { min, max })
}

fn sum_state(argument: &ColumnType) -> Result<StateKind> {
    match argument.physical {
        PhysicalType::F32 | PhysicalType::F64 => Ok(StateKind::SumF64),
        physical if physical.is_integer() => match sum_range(argument) {
            Some(range) if range.fits(PhysicalType::I64) => Ok(StateKind::SumI64),
            _ => Ok(StateKind::SumI128),
        },
        _ => Err(Error::unsupported(format!("the sum of {}", argument.logical))),
    }
}

fn sum_type(ty: &mut ColumnType, argument: &ColumnType, kind: StateKind) -> Result<()> {
    let is_float = ty.physical == PhysicalType::F64;
    if is_float != (kind == StateKind::SumF64) {
        return Err(Error::internal(format!("a sum of {} as {}", argument.logical, ty.logical)));
    }
    if kind == StateKind::SumI64 && ty.physical == PhysicalType::I128 {
        ty.physical = PhysicalType::I64;
    }
    ty.range = if is_float { None } else { sum_range(argument).filter(|range| range.fits(ty.physical)) };
    Ok(())
}

fn mean(sum: usize, count: usize, argument: &ColumnType, ty: &mut ColumnType) -> Result<Output> {
    let decimal_factor = match ty.logical {
        DataType::Decimal32(..) | DataType::Decimal64(..) | DataType::Decimal128(..) => {
            let digits = ty.scale() - argument.scale();
            let factor = u32::try_from(digits).ok().and_then(|digits| 10i128.checked_pow(digits));
            Some(factor.ok_or_else(|| Error::internal("the scale of an average is below that of its argument"))?)
        }
        // Ticks.
        DataType::Timestamp(..) | DataType::Time64(_) => Some(1),
        _ => None,
    };
    if let (Some(factor), Some(bound)) = (decimal_factor, argument.bound()) {
        ty.range = (|| Some(ValueRange { min: bound.min.checked_mul(factor)?, max: bound.max.checked_mul(factor)? }))();
        if ty.physical == PhysicalType::I128 && ty.range.is_some_and(|range| range.fits(PhysicalType::I64)) {
            ty.physical = PhysicalType::I64;
        }
    }
    let float_divisor = 10f64.powi(argument.scale() as i32);
    Ok(Output::Mean { sum, count, decimal_factor, float_divisor })
}
