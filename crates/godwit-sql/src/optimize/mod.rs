//! Optimization: the rules of the planner crates, then join order and build sides.
//!
//! ```text
//! analyze          ours: typed rewrites; types, grouping functions
//! fold             ours: arithmetic of constants, with overflow as an error; before each simplification
//! rewrite          simplification, decorrelation, pushdown of filters and limits, common subexpressions
//! order_joins      ours: join trees in the cheapest order, or the written one
//! use_semi_joins   ours: joins that only filter, where nobody counts rows
//! choose_build_sides   ours: outer, semi and anti joins
//! prune            columns that nobody needs any more, between the joins as well
//! ```
//!
//! A view or common table expression that is used twice is planned twice; what is equal in the end is computed once
//! (`planner/shared.rs` of the executor). Uncorrelated scalar subqueries stay in expressions; their plans are optimized like
//! all others.

mod build_side;
mod constant_arithmetic;
mod join_order;
mod semi_joins;

pub use join_order::JoinOrder;

use std::sync::{Arc, LazyLock};

use datafusion_common::Result;
use datafusion_common::config::ConfigOptions;
use datafusion_expr::{Expr, LogicalPlan};
use datafusion_optimizer::optimize_projections::OptimizeProjections;
use datafusion_optimizer::push_down_filter::PushDownFilter;
use datafusion_optimizer::{Analyzer, Optimizer, OptimizerContext};

use crate::{Estimates, typed_rewrites};

static ANALYZER: LazyLock<Analyzer> = LazyLock::new(|| {
    let mut analyzer = Analyzer::new();
    typed_rewrites::all().into_iter().for_each(|rewrite| analyzer.add_function_rewrite(rewrite));
    analyzer
});
static REWRITE: LazyLock<Optimizer> = LazyLock::new(|| {
    let mut rules = Optimizer::new().rules;
    rules.insert(0, Arc::new(constant_arithmetic::FoldConstantArithmetic));
    Optimizer::with_rules(rules)
});
static PRUNE: LazyLock<Optimizer> = LazyLock::new(|| {
    Optimizer::with_rules(vec![Arc::new(PushDownFilter::new()), Arc::new(OptimizeProjections::new())])
});

/// Passes of the rewriting rules: the second one uses what decorrelation and pushdown of the first uncovered.
const REWRITE_PASSES: u8 = 2;

/// True for rows of literals whose columns are cast at most: `INSERT INTO … VALUES`, where planning would cost more than
/// the rest. The rules would find nothing to do.
fn is_literal_rows(plan: &LogicalPlan) -> bool {
    fn is_column(expr: &Expr) -> bool {
        match expr {
            Expr::Column(_) | Expr::Literal(..) => true,
            Expr::Cast(cast) => is_column(&cast.expr),
            Expr::Alias(alias) => is_column(&alias.expr),
            _ => false,
        }
    }
    match plan {
        LogicalPlan::Projection(projection) => {
            projection.expr.iter().all(is_column) && is_literal_rows(&projection.input)
        }
        LogicalPlan::Values(values) => values.values.iter().flatten().all(|expr| matches!(expr, Expr::Literal(..))),
        _ => false,
    }
}

/// The optimized form of a bound plan.
pub(crate) fn optimize(plan: LogicalPlan, config: &Arc<ConfigOptions>, order: JoinOrder) -> Result<LogicalPlan> {
    let context = |passes| OptimizerContext::new_with_config_options(Arc::clone(config)).with_max_passes(passes);
    let plan = ANALYZER.execute_and_check(plan, config, |_, _| {})?;
    if is_literal_rows(&plan) {
        return Ok(plan);
    }
    let plan = REWRITE.optimize(plan, &context(REWRITE_PASSES), |_, _| {})?;
    let estimates = Estimates::for_query(&plan);
    let plan = join_order::order_joins(plan, &estimates, order)?;
    let plan = semi_joins::use_semi_joins(plan)?;
    let plan = build_side::choose_build_sides(plan, &estimates)?;
    PRUNE.optimize(plan, &context(1), |_, _| {})
}
