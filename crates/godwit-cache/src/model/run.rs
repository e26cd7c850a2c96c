//! Runs operators alone and side by side.

use super::machine::{Machine, index};
use super::operator::{Operator, Pattern, Worker};
use crate::WayMask;
use crate::simulator::Hierarchy;

/// An operator, and the ways that its workers fill.
#[derive(Clone, Debug)]
pub struct Load {
    /// The operator.
    pub operator: Operator,
    /// Its mask.
    pub mask: WayMask,
}

/// The result for an operator.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcome {
    /// Rows per nanosecond, over all workers.
    pub rows_per_ns: f64,
    /// Share of the accesses to the last-level cache that hit it. In sequences, each line counts as one access.
    pub hit_ratio: f64,
    /// Bytes read from memory per row.
    pub memory_bytes_per_row: f64,
    /// Factor by which accesses to memory take longer because the bandwidth is exhausted; 1 if it isn't.
    pub stretch: f64,
}

/// A run is split into rounds. Speeds are re-estimated after each; only the second half counts.
const ROUNDS: u32 = 16;
/// Maximum number of accesses of a worker before it is another one's turn.
const TURN_ACCESSES: f64 = 64.0;
/// Halvings of the interval in which the stretch lies.
const BISECTIONS: u32 = 50;

/// Runs operators side by side, each with a worker on every core, for about `accesses` accesses in all.
pub fn run(machine: &Machine, loads: &[Load], accesses: f64) -> Vec<Outcome> {
    assert!(!loads.is_empty() && loads.iter().all(|load| !load.mask.is_empty()), "loads may fill some ways");
    let mut running: Vec<Running> = loads.iter().enumerate().map(|(n, load)| Running::new(load, n, machine)).collect();
    let mut hierarchy = Hierarchy::new(
        machine.cores,
        machine.private,
        machine.shared,
        machine.replacement,
        machine.inclusive,
        machine.sampling,
    );
    let mut outcomes = outcomes(machine, &running);
    for round in 0..ROUNDS {
        if round <= ROUNDS / 2 {
            running.iter_mut().for_each(Running::forget);
        }
        simulate_round(machine, &mut hierarchy, &mut running, &outcomes, accesses / f64::from(ROUNDS));
        outcomes = self::outcomes(machine, &running);
    }
    outcomes
}

/// One round: in each turn, one core's workers run for the same time.
fn simulate_round(
    machine: &Machine,
    hierarchy: &mut Hierarchy,
    running: &mut [Running],
    speeds: &[Outcome],
    accesses: f64,
) {
    let line_bytes = machine.shared.line_bytes;
    // Accesses per nanosecond of one core.
    let per_core = |(load, speed): (&Running, &Outcome)| {
        load.operator.lines_per_row(line_bytes) * speed.rows_per_ns / machine.cores as f64
    };
    let rates: Vec<f64> = running.iter().zip(speeds).map(per_core).collect();
    let turn_ns = TURN_ACCESSES / rates.iter().copied().fold(0.0, f64::max);
    let turns = (accesses / (turn_ns * rates.iter().sum::<f64>())).ceil() as usize;
    for turn in 0..turns {
        let core = turn % machine.cores;
        for (load, speed) in running.iter_mut().zip(speeds) {
            load.run(core, speed.rows_per_ns / machine.cores as f64 * turn_ns, hierarchy, line_bytes);
        }
    }
}

/// An operator while it runs.
struct Running {
    operator: Operator,
    mask: WayMask,
    workers: Vec<Worker>,
    /// Fraction of a row that is due.
    due: f64,
    rows: u64,
    /// Simulated accesses by pattern and level.
    counts: Vec<[u64; 3]>,
}

impl Running {
    fn new(load: &Load, number: usize, machine: &Machine) -> Self {
        Self {
            operator: load.operator.clone(),
            mask: load.mask,
            workers: (0..machine.cores).map(|core| Worker::new(&load.operator, number, core)).collect(),
            due: 0.0,
            rows: 0,
            counts: vec![[0; 3]; load.operator.patterns.len()],
        }
    }

    fn forget(&mut self) {
        self.rows = 0;
        self.counts.fill([0; 3]);
    }

    fn run(&mut self, core: usize, rows: f64, hierarchy: &mut Hierarchy, line_bytes: u64) {
        self.due += rows;
        let rows = self.due as u64;
        self.due -= rows as f64;
        self.rows += rows;
        let (mask, counts) = (self.mask, &mut self.counts);
        self.workers[core].run(rows, line_bytes, |pattern, address| {
            if let Some(level) = hierarchy.access(core, address, mask) {
                counts[pattern][index(level)] += 1;
            }
        });
    }

    /// The cost and reads of a row, according to the counts; without counts, as if nothing hit.
    fn row_costs(&self, machine: &Machine) -> RowCosts {
        let mut costs = RowCosts { hits_ns: self.operator.compute_ns, memory_ns: 0.0, memory_bytes: 0.0 };
        for (pattern, counts) in self.operator.patterns.iter().zip(&self.counts) {
            let (by_level, lines_per_row) = match pattern {
                Pattern::Sequential { bits_per_row } => {
                    let row_bytes = f64::from(*bits_per_row) / 8.0;
                    (machine.costs.sequential_ns, row_bytes / machine.shared.line_bytes as f64)
                }
                Pattern::Random { .. } => (machine.costs.random_ns, 1.0),
            };
            let all: u64 = counts.iter().sum();
            let part = |level: usize| match all {
                0 => f64::from(u8::from(level == 2)),
                _ => counts[level] as f64 / all as f64,
            };
            costs.hits_ns += lines_per_row * (part(0) * by_level[0] + part(1) * by_level[1]);
            costs.memory_ns += lines_per_row * part(2) * by_level[2];
            costs.memory_bytes += lines_per_row * part(2) * machine.shared.line_bytes as f64;
        }
        costs
    }

    fn hit_ratio(&self) -> f64 {
        let sum = |level: usize| self.counts.iter().map(|counts| counts[level]).sum::<u64>() as f64;
        sum(1) / (sum(1) + sum(2)).max(1.0)
    }
}

/// The cost of a row to a worker while memory isn't overloaded.
#[derive(Clone, Copy)]
struct RowCosts {
    hits_ns: f64,
    memory_ns: f64,
    memory_bytes: f64,
}

impl RowCosts {
    fn rows_per_ns(&self, cores: usize, stretch: f64) -> f64 {
        cores as f64 / (self.hits_ns + stretch * self.memory_ns)
    }
}

fn outcomes(machine: &Machine, running: &[Running]) -> Vec<Outcome> {
    let costs: Vec<RowCosts> = running.iter().map(|load| load.row_costs(machine)).collect();
    let stretch = stretch(machine, &costs);
    running
        .iter()
        .zip(&costs)
        .map(|(load, costs)| Outcome {
            rows_per_ns: costs.rows_per_ns(machine.cores, stretch),
            hit_ratio: load.hit_ratio(),
            memory_bytes_per_row: costs.memory_bytes,
            stretch,
        })
        .collect()
}

/// The smallest factor on the time waiting for memory with which the bandwidth suffices.
fn stretch(machine: &Machine, costs: &[RowCosts]) -> f64 {
    let wanted = |stretch: f64| -> f64 {
        costs.iter().map(|costs| costs.rows_per_ns(machine.cores, stretch) * costs.memory_bytes).sum()
    };
    let suffices = |stretch: f64| wanted(stretch) <= machine.costs.memory_bytes_per_ns;
    if suffices(1.0) {
        return 1.0;
    }
    let (mut low, mut high) = (1.0, 2.0);
    // Terminates: the bandwidth needed falls towards zero as the stretch grows.
    while !suffices(high) {
        high *= 2.0;
    }
    for _ in 0..BISECTIONS {
        let middle = f64::midpoint(low, high);
        if suffices(middle) { high = middle } else { low = middle }
    }
    high
}
