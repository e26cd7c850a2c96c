use crate::test_tables::{tpch_planner, tpch_query};

#[test]
fn show() {
    let planner = tpch_planner();
    for number in 1..=22 {
        let sql = tpch_query(number);
        let started = std::time::Instant::now();
        let plan = planner.plan_query(&sql);
        let first = started.elapsed();
        let started = std::time::Instant::now();
        let _ = planner.plan_query(&sql);
        println!("== {number} {first:?} {:?}", started.elapsed());
        match plan {
            Ok(plan) => {
                let estimates = crate::Estimates::new();
                fn show(p: &datafusion_expr::LogicalPlan, e: &crate::Estimates, depth: usize) {
                    println!("{}[{:.0}] {}", "  ".repeat(depth), e.of(p).rows, p.display());
                    for i in p.inputs() {
                        show(i, e, depth + 1);
                    }
                }
                show(&plan, &estimates, 0);
            }
            Err(error) => println!("{error}"),
        }
    }
}
