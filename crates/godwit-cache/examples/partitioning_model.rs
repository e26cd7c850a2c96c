//! The thesis's experiments on the modelled machine: operators alone in caches of ten sizes (figures 4.3 to 4.7), and
//! two side by side, partitioned and not (figures 4.10 to 4.14).
//!
//! ```text
//! cargo run --release -p godwit-cache --example partitioning_model -- FOLDER [lru | plru] [noninclusive] [coarse]
//! ```
//!
//! Writes `cache_sizes.csv` and `side_by_side.csv` into the folder; `bench/insight.py` plots them. Takes two minutes of
//! processor time.

use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use godwit_cache::WayMask;
use godwit_cache::model::{Load, Machine, Operator, Outcome, run};
use godwit_cache::simulator::Replacement;

/// Per run; structures of up to 55 MiB are read a dozen times in the half that warms up.
const ACCESSES: f64 = 48e6;
const WAYS: u32 = 20;
const VALUES: [u64; 3] = [1_000_000, 10_000_000, 100_000_000];
const GROUPS: [u64; 6] = [100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000];
const KEYS: [u64; 4] = [1_000_000, 10_000_000, 100_000_000, 1_000_000_000];

/// An operator with the numbers that describe it in the files.
#[derive(Clone)]
struct Named {
    name: &'static str,
    values: u64,
    groups: u64,
    keys: u64,
    operator: Operator,
}

fn scan() -> Named {
    Named { name: "scan", values: 0, groups: 0, keys: 0, operator: Operator::column_scan() }
}

fn grouping(values: u64, groups: u64) -> Named {
    Named { name: "grouping", values, groups, keys: 0, operator: Operator::grouping(values, groups) }
}

fn join(keys: u64) -> Named {
    Named { name: "join", values: 0, groups: 0, keys, operator: Operator::foreign_key_join(keys) }
}

/// A run: what, in which ways each, and under what heading.
struct Experiment {
    figure: &'static str,
    scheme: &'static str,
    loads: Vec<(Named, u32)>,
}

fn alone() -> Vec<Experiment> {
    let aggregations = ["4.4", "4.5", "4.6"].into_iter().zip(VALUES);
    let aggregations =
        aggregations.flat_map(|(figure, values)| GROUPS.map(|groups| (figure, grouping(values, groups))));
    let operators: Vec<_> =
        std::iter::once(("4.3", scan())).chain(aggregations).chain(KEYS.map(|keys| ("4.7", join(keys)))).collect();
    let sizes = (2..=WAYS).step_by(2);
    operators
        .iter()
        .flat_map(|(figure, named)| sizes.clone().map(move |ways| (*figure, named.clone(), ways)))
        .map(|(figure, named, ways)| Experiment { figure, scheme: "alone", loads: vec![(named, ways)] })
        .collect()
}

fn side_by_side() -> Vec<Experiment> {
    let mut experiments = Vec::new();
    let mut add = |figure, values, beside: Named, schemes: &[(&'static str, u32)]| {
        for groups in GROUPS {
            for &(scheme, ways) in schemes {
                let loads = vec![(grouping(values, groups), WAYS), (beside.clone(), ways)];
                experiments.push(Experiment { figure, scheme, loads });
            }
        }
    };
    let (all, tenth, most) = (("whole", WAYS), ("10 %", 2), ("60 %", 12));
    for (figure, values) in ["4.10", "4.11", "4.12"].into_iter().zip(VALUES) {
        add(figure, values, scan(), &[all, tenth]);
    }
    add("4.13", VALUES[1], join(KEYS[0]), &[all, tenth, most]);
    add("4.14", VALUES[1], join(KEYS[2]), &[all, tenth, most]);
    experiments
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let folder = PathBuf::from(arguments.next().ok_or("say which folder the files are for")?);
    let mut machine = Machine::of_the_thesis();
    for argument in arguments {
        match argument.as_str() {
            "plru" => machine.replacement = Replacement::TreePlru,
            "lru" => machine.replacement = Replacement::Lru,
            "coarse" => machine.sampling.one_in = 64,
            "noninclusive" => machine.inclusive = false,
            other => return Err(format!("{other} is neither lru, plru, noninclusive nor coarse").into()),
        }
    }
    fs::create_dir_all(&folder)?;
    let sizes = alone();
    let outcomes = run_all(&machine, &sizes);
    fs::write(folder.join("cache_sizes.csv"), table(&sizes, &outcomes, &sizes, &outcomes))?;
    let pairs = side_by_side();
    fs::write(folder.join("side_by_side.csv"), table(&pairs, &run_all(&machine, &pairs), &sizes, &outcomes))?;
    Ok(())
}

/// Runs experiments on all of this machine's cores.
fn run_all(machine: &Machine, experiments: &[Experiment]) -> Vec<Vec<Outcome>> {
    let next = AtomicUsize::new(0);
    let results = Mutex::new(vec![Vec::new(); experiments.len()]);
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some((index, experiment)) = {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    experiments.get(index).map(|experiment| (index, experiment))
                } {
                    let load = |(named, ways): &(Named, u32)| Load {
                        operator: named.operator.clone(),
                        mask: WayMask::all(*ways),
                    };
                    let loads: Vec<Load> = experiment.loads.iter().map(load).collect();
                    let outcomes = run(machine, &loads, ACCESSES);
                    results.lock().expect("no run panics")[index] = outcomes;
                }
            });
        }
    });
    results.into_inner().expect("no run panics")
}

/// The table of some experiments, with throughput relative to the same operator alone in the whole cache.
fn table(
    experiments: &[Experiment],
    outcomes: &[Vec<Outcome>],
    sizes: &[Experiment],
    alone: &[Vec<Outcome>],
) -> String {
    let whole = |named: &Named| {
        let same = |experiment: &Experiment| {
            let (other, ways) = &experiment.loads[0];
            *ways == WAYS && other.operator == named.operator
        };
        let index = sizes.iter().position(same).expect("each operator was run alone");
        alone[index][0].rows_per_ns
    };
    let mut text =
        "figure,scheme,operator,values,groups,keys,ways,throughput,rows_per_ns,hit_ratio,bytes_per_row,stretch\n"
            .to_owned();
    for (experiment, outcomes) in experiments.iter().zip(outcomes) {
        // Both operators of a pair are named by the pair's numbers.
        let pair =
            |number: fn(&Named) -> u64| experiment.loads.iter().map(|(named, _)| number(named)).max().unwrap_or(0);
        for ((named, ways), outcome) in experiment.loads.iter().zip(outcomes) {
            let Outcome { rows_per_ns, hit_ratio, memory_bytes_per_row, stretch } = outcome;
            writeln!(
                text,
                "{},{},{},{},{},{},{ways},{:.4},{rows_per_ns:.4},{hit_ratio:.4},{memory_bytes_per_row:.3},{stretch:.3}",
                experiment.figure,
                experiment.scheme,
                named.name,
                pair(|named| named.values),
                pair(|named| named.groups),
                pair(|named| named.keys),
                rows_per_ns / whole(named),
            )
            .expect("text can be written to");
        }
    }
    text
}
