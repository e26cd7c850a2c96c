//! Optimization: the rules of the planner crates, then join order and build sides.

use std::sync::Arc;

use datafusion_common::Result;
use datafusion_common::config::ConfigOptions;
use datafusion_expr::LogicalPlan;
use datafusion_optimizer::{Analyzer, Optimizer, OptimizerContext};

/// The optimized form of a bound plan.
pub(crate) fn optimize(plan: LogicalPlan, config: &Arc<ConfigOptions>) -> Result<LogicalPlan> {
    let plan = Analyzer::new().execute_and_check(plan, config, |_, _| {})?;
    let context = OptimizerContext::new_with_config_options(Arc::clone(config));
    Optimizer::new().optimize(plan, &context, |_, _| {})
}
