//! The passes, in order.
//!
//! | pass | does | bound |
//! |---|---|---|
//! | [`Simplify`](Pass::Simplify) | folds constants, applies rules | a fixed number of rules for each part |
//! | [`Share`](Pass::Share) | inlines shared plans at their uses | copies of 1,000 nodes |
//! | unnesting | turns subqueries into joins | linear in the plan times its nesting |
//! | [`Rename`](Pass::Rename) | replaces aliases of columns by the columns | two walks |
//! | [`PushFilters`](Pass::PushFilters) | pushes conditions down | one visit per node, linear in conditions |
//! | [`FilterShared`](Pass::FilterShared) | filters shared plans by what their uses need | three rounds of pushdown |
//! | [`DropEmpty`](Pass::DropEmpty) | drops subtrees without rows | one walk |
//! | [`Prune`](Pass::Prune) | drops columns, joins and projections | one visit per node |
//! | [`OrderJoins`](Pass::OrderJoins) | chooses the order of joins | its own, see there |
//! | [`Aggregates`](Pass::Aggregates) | drops DISTINCT, keys, repeated aggregates | one walk |
//! | [`SemiJoins`](Pass::SemiJoins) | turns joins that only check for a match into semi joins | one walk |
//! | [`Extremes`](Pass::Extremes) | aggregates the right sides of semi joins | one walk |
//! | [`Limits`](Pass::Limits) | pushes limits down, drops sorts | one visit per node |
//! | [`AggregateEarly`](Pass::AggregateEarly) | aggregates rows before joins | one walk, and down each aggregate's joins |
//! | [`CompareEarly`](Pass::CompareEarly) | compares texts before the joins that repeat them | one walk |
//! | [`CommonSubplans`](Pass::CommonSubplans) | computes equal aggregations once | pairs of 32 aggregations |
//! | [`CommonExpressions`](Pass::CommonExpressions) | computes repeated expressions once | one walk |
//!
//! Each can be switched off, so that a test can show that it changes no rows. Unnesting can't, since later passes and
//! the executor don't support correlated subqueries. Some passes run twice, as other passes create new opportunities
//! for them.
//!
//! Passes recurse once for each level of a plan and of an expression. The caller provides a stack for both: a few
//! hundred kilobytes per thousand levels in a release build, some megabytes in other builds.

use godwit_common::Result;
use godwit_plan::{FunctionRegistry, Plan, ReadSamples};

use crate::rewrite::aggregate_early::Worth;
use crate::rewrite::{
    Context, aggregate_early, aggregates, common_expressions, common_subplans, compare_early, empty, extremes,
    filter_shared, limits, prune, push_filters, rename, semi_joins, share, simplify,
};
use crate::unnest::unnest;
use crate::{JoinOrder, order_joins};

/// A pass that can be switched off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Pass {
    /// Folds constants and applies rules.
    Simplify,
    /// Inlines shared plans at their uses.
    Share,
    /// Replaces aliases of columns.
    Rename,
    /// Pushes conditions down.
    PushFilters,
    /// Drops rows of shared plans that no use needs.
    FilterShared,
    /// Drops subtrees without rows.
    DropEmpty,
    /// Drops unneeded columns, joins and projections.
    Prune,
    /// Orders joins.
    OrderJoins,
    /// Simplifies aggregates.
    Aggregates,
    /// Replaces joins by semi joins.
    SemiJoins,
    /// Replaces all values by the least and the greatest.
    Extremes,
    /// Pushes limits down and drops sorts.
    Limits,
    /// Aggregates rows before joins.
    AggregateEarly,
    /// Compares texts before the joins that repeat them.
    CompareEarly,
    /// Computes equal aggregations once.
    CommonSubplans,
    /// Computes repeated expressions once.
    CommonExpressions,
}

impl Pass {
    /// All passes, in the order in which they first run.
    pub const ALL: [Pass; 16] = [
        Pass::Simplify,
        Pass::Share,
        Pass::Rename,
        Pass::PushFilters,
        Pass::FilterShared,
        Pass::DropEmpty,
        Pass::Prune,
        Pass::OrderJoins,
        Pass::Aggregates,
        Pass::SemiJoins,
        Pass::Extremes,
        Pass::Limits,
        Pass::AggregateEarly,
        Pass::CompareEarly,
        Pass::CommonSubplans,
        Pass::CommonExpressions,
    ];

    /// Returns the name by which a setting switches it off.
    pub fn name(self) -> &'static str {
        match self {
            Pass::Simplify => "simplify",
            Pass::Share => "share",
            Pass::Rename => "rename",
            Pass::PushFilters => "push_filters",
            Pass::FilterShared => "filter_shared",
            Pass::DropEmpty => "drop_empty",
            Pass::Prune => "prune",
            Pass::OrderJoins => "order_joins",
            Pass::Aggregates => "aggregates",
            Pass::SemiJoins => "semi_joins",
            Pass::Extremes => "extremes",
            Pass::Limits => "limits",
            Pass::AggregateEarly => "aggregate_early",
            Pass::CompareEarly => "compare_early",
            Pass::CommonSubplans => "common_subplans",
            Pass::CommonExpressions => "common_expressions",
        }
    }

    /// Returns the pass of a name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|pass| pass.name() == name)
    }
}

/// A set of passes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Passes(u32);

impl Passes {
    /// No pass.
    pub const NONE: Passes = Passes(0);

    /// Returns all passes that can be switched off.
    pub fn all() -> Self {
        Pass::ALL.into_iter().fold(Self::NONE, Self::with)
    }

    /// Returns this set with another pass added.
    #[must_use]
    pub fn with(self, pass: Pass) -> Self {
        Self(self.0 | 1 << pass as u32)
    }

    /// Returns true if the pass is in the set.
    pub fn contains(self, pass: Pass) -> bool {
        self.0 >> pass as u32 & 1 == 1
    }
}

/// Settings of the optimizer.
#[derive(Clone)]
pub struct OptimizerSettings<'a> {
    /// Passes that don't run.
    pub disabled: Passes,
    /// How the order of joins is chosen.
    pub join_order: JoinOrder,
    /// Reads columns of samples, several at once; without it, each is read when it is asked for.
    pub read_samples: Option<ReadSamples>,
    /// Whether to rely on bounds proven by statistics. They don't hold for a plan that will run over later versions of
    /// its tables.
    pub trust_ranges: bool,
    /// Called between passes and inside loops; fails when the statement is cancelled.
    pub check: &'a dyn Fn() -> Result<()>,
}

impl Default for OptimizerSettings<'_> {
    fn default() -> Self {
        Self {
            disabled: Passes::NONE,
            join_order: JoinOrder::default(),
            read_samples: None,
            trust_ranges: true,
            check: &|| Ok(()),
        }
    }
}

/// A step of the optimizer.
enum Step {
    Pass(Pass),
    Unnest,
}

/// All steps, in order.
const STEPS: [Step; 21] = [
    Step::Pass(Pass::Simplify),
    Step::Pass(Pass::Share),
    Step::Unnest,
    Step::Pass(Pass::Rename),
    Step::Pass(Pass::Simplify),
    Step::Pass(Pass::PushFilters),
    Step::Pass(Pass::FilterShared),
    Step::Pass(Pass::DropEmpty),
    Step::Pass(Pass::Prune),
    Step::Pass(Pass::Simplify),
    Step::Pass(Pass::OrderJoins),
    Step::Pass(Pass::Aggregates),
    Step::Pass(Pass::SemiJoins),
    Step::Pass(Pass::Extremes),
    Step::Pass(Pass::Limits),
    Step::Pass(Pass::DropEmpty),
    Step::Pass(Pass::Prune),
    Step::Pass(Pass::AggregateEarly),
    Step::Pass(Pass::CompareEarly),
    Step::Pass(Pass::CommonSubplans),
    Step::Pass(Pass::CommonExpressions),
];

/// Rewrites a plan into one that returns the same rows at lower cost. The columns of [`Plan::output`] stay as they are.
pub fn optimize(plan: &mut Plan, functions: &dyn FunctionRegistry, settings: &OptimizerSettings<'_>) -> Result<()> {
    let mut context = Context::new(functions, settings);
    for step in STEPS {
        (settings.check)()?;
        match step {
            Step::Unnest => unnest(plan, functions)?,
            Step::Pass(pass) if settings.disabled.contains(pass) => {}
            Step::Pass(pass) => run(pass, plan, &mut context, settings)?,
        }
    }
    Ok(())
}

/// Runs one pass.
pub(crate) fn run(
    pass: Pass,
    plan: &mut Plan,
    context: &mut Context<'_>,
    settings: &OptimizerSettings<'_>,
) -> Result<()> {
    match pass {
        Pass::Simplify => simplify::simplify(plan, context),
        Pass::Share => share::share(plan, context),
        Pass::Rename => rename::rename(plan, context),
        Pass::PushFilters => push_filters::push_filters(plan, context),
        Pass::FilterShared => filter_shared::filter_shared(plan, context),
        Pass::DropEmpty => empty::drop_empty(plan, context),
        Pass::Prune => prune::prune(plan, context),
        Pass::OrderJoins => order_joins(plan, settings.join_order, settings.read_samples.clone(), context.check),
        Pass::Aggregates => aggregates::simplify_aggregates(plan, context),
        Pass::SemiJoins => semi_joins::use_semi_joins(plan, context),
        Pass::Extremes => extremes::use_extremes(plan, context),
        Pass::Limits => limits::push_limits(plan, context),
        Pass::AggregateEarly => aggregate_early::aggregate_early(plan, context, Worth::default()),
        Pass::CompareEarly => compare_early::compare_early(plan, context),
        Pass::CommonSubplans => common_subplans::share_subplans(plan, context),
        Pass::CommonExpressions => common_expressions::share_expressions(plan, context),
    }
}
