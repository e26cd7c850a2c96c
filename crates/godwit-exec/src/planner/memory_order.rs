//! Tables of hash joins that are probed in one pipeline are built when the build rows of all of them are there.
//!
//! Build rows lie in pages that can be evicted; tables pin memory. So all joins of a pipeline can say how much they could
//! use before the first of them is granted anything, and the memory is divided with all sizes known.
//!
//! ```text
//! build A ──┬─▶ table A ─┐
//!           ╳            ├─▶ probe A ─▶ probe B
//! build B ──┴─▶ table B ─┘
//! ```
//!
//! A build that itself waits for a table, because its scan uses a filter of that join's keys, can't be waited for by it.
//!
//! Source: external-hash-join paper, section 6 ("Dynamic Assignments").

use super::PhysicalPlanner;

/// The pipelines around the table of a hash join.
pub(super) struct JoinTable {
    /// The one that builds the table.
    pub table: usize,
    /// Those that collect its rows.
    pub builds: Vec<usize>,
}

impl PhysicalPlanner<'_> {
    /// Makes tables wait for the builds of the tables beside them. Called when all pipelines are closed.
    pub(super) fn order_tables(&mut self) {
        for tables in std::mem::take(&mut self.probed_together) {
            for &table in &tables {
                for &other in tables.iter().filter(|&&other| other != table) {
                    for build in self.builds_of(other) {
                        if !self.waits_for(build, table) {
                            self.closed(table).push(build);
                        }
                    }
                }
            }
        }
    }

    fn builds_of(&self, table: usize) -> Vec<usize> {
        self.tables.iter().filter(|join| join.table == table).flat_map(|join| join.builds.iter().copied()).collect()
    }

    /// The dependencies of a pipeline.
    fn closed(&mut self, index: usize) -> &mut Vec<usize> {
        &mut self.pipelines[index].as_mut().expect("all pipelines are closed").depends_on
    }

    /// Does pipeline `index` start only after `earlier` is complete, or is it the same?
    fn waits_for(&self, index: usize, earlier: usize) -> bool {
        let mut is_known = vec![false; self.pipelines.len()];
        let mut open = vec![index];
        while let Some(index) = open.pop() {
            if index == earlier {
                return true;
            }
            if !std::mem::replace(&mut is_known[index], true) {
                open.extend(self.pipelines[index].iter().flat_map(|pipeline| pipeline.depends_on.iter().copied()));
            }
        }
        false
    }
}
