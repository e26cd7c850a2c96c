//! Chains are cycles, and measurements end.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::chain::{Chain, Order};
use super::{Plan, measure};
use crate::{CachePartitioning, CacheSizes, OffReason};

#[test]
fn a_chain_is_one_cycle() {
    for order in [Order::Sequential, Order::Random] {
        for links in [1u32, 2, 3, 64, 1_000] {
            let chain = Chain::new(u64::from(links) * 64 + 63, order).unwrap();
            assert_eq!(chain.len(), links);
            let mut seen = vec![false; links as usize];
            let mut at = 0;
            for _ in 0..links {
                assert!(!std::mem::replace(&mut seen[at as usize], true), "{links} links in {order:?}");
                at = chain.follow(at, 1);
            }
            assert_eq!((at, chain.follow(5 % links, links)), (0, 5 % links));
        }
    }
    assert_eq!(Chain::new(0, Order::Random).unwrap().len(), 1);
}

#[test]
fn a_random_chain_has_no_pattern() {
    let chain = Chain::new(64 * 10_000, Order::Random).unwrap();
    let near = (0..10_000).filter(|&at| chain.follow(at, 1).abs_diff(at) <= 16).count();
    // 32 of 10,000 places are near: 32 links are expected.
    assert!(near < 80, "{near} of 10,000 links lead to near ones");
}

#[test]
fn a_plan_keeps_to_its_memory() {
    let caches = CacheSizes { last_level_bytes: 55 << 20, ..CacheSizes::ASSUMED };
    for memory_max in [0, 1 << 20, 100 << 20, Plan::MEMORY_DEFAULT, u64::MAX] {
        let plan = Plan::for_caches(&caches, memory_max, Duration::from_secs(1));
        assert!(plan.memory_bytes() <= memory_max.max(2 * (16 << 10)));
        assert!(plan.memory_bytes() <= 8 * caches.last_level_bytes);
        assert!(plan.sizes.is_sorted() && plan.sizes[0] == 16 << 10);
    }
    let plan = Plan::for_caches(&caches, Plan::MEMORY_DEFAULT, Plan::BUDGET_DEFAULT);
    assert_eq!(plan.sizes.last(), Some(&(128 << 20)));
}

#[test]
fn measurements_end_and_are_plausible() {
    let off = Arc::new(CachePartitioning::off(OffReason::Setting));
    let budget = Duration::from_millis(300);
    let plan = Plan { sizes: vec![16 << 10, 4 << 20], polluter_bytes: 1 << 20, polluters: 1, budget };
    let started = Instant::now();
    let report = measure(&plan, &off).unwrap();
    assert!(started.elapsed() < Duration::from_secs(30), "even on a busy machine");
    for point in &report.points {
        for time in [point.sequential_ns, point.random_ns, point.polluted_ns.unwrap()] {
            assert!((0.05..1e7).contains(&time), "{point:?}");
        }
        assert_eq!(point.confined_ns, None);
    }
    let alone = measure(&Plan { polluters: 0, budget: Duration::ZERO, ..plan.clone() }, &off).unwrap();
    assert!(alone.points.iter().all(|point| point.polluted_ns.is_none() && point.random_ns > 0.0));
    assert_eq!(measure(&Plan { sizes: vec![], ..plan }, &off).unwrap().points, []);
}
