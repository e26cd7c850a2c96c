//! `godwit trace cache`: simulates a trace's loads in a last-level cache of which they get a part, as with cache
//! partitioning.

use std::collections::HashMap;
use std::fmt::Write;
use std::process::ExitCode;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type, UInt64Type};
use godwit::{Connection, Result, format_bytes};
use godwit_cache::CacheSizes;
use godwit_cache::model::Machine;
use godwit_cache::simulator::{Hits, Replay, SHARES_PERCENT};

use super::asked;
use crate::arguments::TraceCache;
use crate::shell::print_line;

/// Number of structures shown; the others are added up.
const STRUCTURES_SHOWN: usize = 20;

/// A structure is one object, or the segments of one column.
const STRUCTURES: &str = r#"
    SELECT CAST(id AS INTEGER), CASE WHEN kind = 'segment' THEN "table" || '.' || "column" ELSE object END
    FROM godwit_trace_objects(getvariable('trace')) ORDER BY id"#;
const LOADS: &str = "
    SELECT address, thread, object FROM read_parquet(getvariable('trace')) WHERE object IS NOT NULL ORDER BY time";

/// Results for a trace's loads.
struct Told {
    one_in: i64,
    /// Sorted by loads, most first.
    structures: Vec<(String, Hits)>,
}

pub fn run(arguments: &TraceCache) -> Result<ExitCode> {
    let this = CacheSizes::of_this_machine();
    let sizes = CacheSizes {
        last_level_bytes: arguments.size.unwrap_or(this.last_level_bytes),
        ways: arguments.ways.unwrap_or(this.ways),
        ..this
    };
    match asked(&arguments.file, &arguments.limits, |connection| replay(connection, &sizes))? {
        Ok(told) => {
            print_line(render(&told, &sizes).trim_end())?;
            Ok(ExitCode::SUCCESS)
        }
        Err(cancelled) => Ok(cancelled),
    }
}

fn replay(connection: &Connection, sizes: &CacheSizes) -> Result<Told> {
    let mut one_in = 1;
    for batch in connection.query("SELECT CAST(one_in AS BIGINT) FROM godwit_trace_header(getvariable('trace'))")? {
        one_in = batch?.column(0).as_primitive::<Int64Type>().values().first().copied().unwrap_or(1);
    }
    let mut names = HashMap::new();
    for batch in connection.query(STRUCTURES)? {
        let batch = batch?;
        let ids = batch.column(0).as_primitive::<Int32Type>().values().iter().copied();
        let structures = batch.column(1).as_string_view().iter();
        names.extend(ids.zip(structures.map(|name| name.unwrap_or_default().to_owned())));
    }
    let mut threads = 1;
    for batch in connection.query("SELECT CAST(max(thread) AS BIGINT) FROM read_parquet(getvariable('trace'))")? {
        threads = batch?.column(0).as_primitive::<Int64Type>().values().first().map_or(1, |&last| last as usize + 1);
    }
    let mut caches = Replay::new(sizes, threads);
    let mut hits: HashMap<i32, Hits> = HashMap::new();
    for batch in connection.query(LOADS)? {
        let batch = batch?;
        let addresses = batch.column(0).as_primitive::<UInt64Type>().values();
        let [threads, objects] = [1, 2].map(|column| batch.column(column).as_primitive::<Int32Type>().values());
        for ((&address, &thread), &object) in addresses.iter().zip(threads).zip(objects) {
            caches.load(thread as usize, address, hits.entry(object).or_default());
        }
    }
    let mut structures: HashMap<&str, Hits> = HashMap::new();
    for (object, hits) in &hits {
        let name = names.get(object).map_or("", String::as_str);
        structures.entry(name).or_default().add(hits);
    }
    let mut structures: Vec<_> = structures.into_iter().map(|(name, hits)| (name.to_owned(), hits)).collect();
    structures.sort_by(|a, b| b.1.loads.cmp(&a.1.loads).then_with(|| a.0.cmp(&b.0)));
    Ok(Told { one_in, structures })
}

fn render(told: &Told, sizes: &CacheSizes) -> String {
    let costs = Machine::of_the_thesis().costs;
    let mut text = format!(
        "Loads in a last-level cache of {} in {} ways, below {} for each core\n",
        format_bytes(sizes.last_level_bytes),
        sizes.ways,
        format_bytes(sizes.core_bytes)
    );
    if told.one_in > 1 {
        _ = writeln!(
            text,
            "Only one load in {} is known: others, which would keep lines in the cache, aren't seen",
            told.one_in
        );
    }
    _ = writeln!(
        text,
        "\n{:>12}{:>9}   {:<24}   {:<24}",
        "loads", "core's", "hits below, by share", "ns per load, by share"
    );
    let shares = SHARES_PERCENT.map(|percent| format!("{percent} %"));
    let heads = shares.iter().map(|share| format!("{share:>8}")).collect::<String>();
    _ = writeln!(text, "{:>12}{:>9}   {heads}   {heads}   structure", "", "");
    let (shown, others) = told.structures.split_at(told.structures.len().min(STRUCTURES_SHOWN));
    let mut rest = Hits::default();
    others.iter().for_each(|(_, hits)| rest.add(hits));
    let rest = (rest.loads > 0).then(|| (format!("({} others)", others.len()), rest));
    for (name, hits) in shown.iter().chain(&rest) {
        let own = format!("{:.1} %", 100.0 * hits.private[2] as f64 / hits.loads.max(1) as f64);
        let ratio = |i| hits.shared_ratio(i).map_or("-".to_owned(), |ratio| format!("{:.1} %", 100.0 * ratio));
        let ratios = [0, 1, 2].map(|i| format!("{:>8}", ratio(i))).concat();
        let times = [0, 1, 2].map(|i| format!("{:>8.2}", hits.nanos_per_load(i, &costs))).concat();
        _ = writeln!(text, "{:>12}{own:>9}   {ratios}   {times}   {name}", hits.loads);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_of_hits_reads_well() {
        let hot = Hits { loads: 1_000, private: [400; 3], shared: [60, 300, 600] };
        let stream = Hits { loads: 100, private: [0; 3], shared: [0; 3] };
        let told = Told { one_in: 1, structures: vec![("a.dictionary".into(), hot), ("a.codes".into(), stream)] };
        let text = render(&told, &CacheSizes::ASSUMED);
        assert!(text.contains("   40.0 %     10.0 %  50.0 % 100.0 %"), "{text}");
        assert!(text.contains("a.dictionary") && !text.contains("Only one load"), "{text}");
        assert!(text.contains("    0.0 %      0.0 %   0.0 %   0.0 %      20.00   20.00   20.00   a.codes"), "{text}");
        let many = (0..STRUCTURES_SHOWN + 5).map(|i| (format!("s{i}"), stream)).collect();
        let text = render(&Told { one_in: 100, structures: many }, &CacheSizes::ASSUMED);
        assert!(text.contains("(5 others)") && text.contains("Only one load in 100"), "{text}");
    }
}
