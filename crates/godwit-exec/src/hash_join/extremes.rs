//! Matching by the least and the greatest value per key: for semi and anti joins that emit build rows, with one
//! comparison besides the key equalities.
//!
//! ```text
//! probe row (k, x)   head of k's chain: least, greatest ← x           whatever the length of the chain
//! build row (k, y)   matches if `x op y` for x = least or x = greatest of the head of k's chain
//! ```
//!
//! A join by pairs would form, for each key, the product of both sides' rows. NULLs among the `x` match nothing, and
//! are left out.

use std::sync::Arc;

use godwit_common::Result;
use godwit_expression::PredicateWorker;
use godwit_rows::{Chains, Extreme, LookupScratch, RowList, Rows};
use godwit_vector::{Chunk, Vector};

use super::HashJoin;
use super::plan::{Extremes, JoinPlan};
use super::table::{JoinTable, Lookup};

impl Extremes {
    /// Merges the values of probe rows into the extremes at the chain heads found for them.
    pub(super) fn note(&self, chunk: &Chunk, found: &mut Chains) {
        let values = chunk.dense(self.column);
        if let Some(validity) = values.validity() {
            found.retain(|row| validity.get(row as usize));
        }
        self.kept.include(found.rows(), &values.take(&found.tags));
        found.rows().mark_found();
        found.clear();
    }
}

/// A worker's state for deciding which build rows have had a match.
pub(super) struct Matched {
    join: Arc<HashJoin>,
    /// Set if extremes decide about matches.
    residual: Option<PredicateWorker>,
    hashes: Vec<u64>,
    lookup: LookupScratch,
    heads: Chains,
}

impl Matched {
    pub(super) fn new(join: &Arc<HashJoin>) -> Self {
        let residual = join.plan.residual.as_ref().filter(|_| join.plan.extremes.is_some());
        Self {
            residual: residual.map(|residual| residual.predicate.worker()),
            hashes: Vec::new(),
            lookup: LookupScratch::default(),
            heads: Chains::new(&join.plan.build_layout),
            join: join.clone(),
        }
    }

    /// Keeps the rows of a table that have had a match, or the others.
    pub(super) fn retain(&mut self, table: &JoinTable, rows: &mut RowList, matched: bool) -> Result<()> {
        let join = self.join.clone();
        let Some(extremes) = &join.plan.extremes else {
            rows.retain_found(matched);
            return Ok(());
        };
        let mut matches = Vec::with_capacity(rows.len());
        for begin in (0..rows.len()).step_by(join.chunk_rows) {
            let part = rows.slice(begin..rows.len().min(begin + join.chunk_rows));
            matches.extend(self.compare(table, extremes, part)?);
        }
        rows.retain(|row| matches[row] == matched);
        Ok(())
    }

    /// Whether each of the rows matches its key's extremes.
    fn compare(&mut self, table: &JoinTable, extremes: &Extremes, rows: Rows<'_>) -> Result<Vec<bool>> {
        let plan = &self.join.plan;
        find_heads(plan, table, rows, &mut self.hashes, &mut self.lookup, &mut self.heads);
        self.heads.retain_found(true);
        let mut matches = vec![false; rows.len()];
        let (Some(residual), Some(worker)) = (&plan.residual, &mut self.residual) else { return Ok(matches) };
        let mut own = RowList::new(&plan.build_layout);
        own.append_picked(rows, &self.heads.tags);
        let of_rows: Vec<Vector> = residual.row_columns.iter().map(|&column| own.all().gather(column)).collect();
        for which in [Extreme::Least, Extreme::Greatest] {
            let extreme = extremes.kept.gather(self.heads.rows(), which, extremes.physical);
            let input = [extreme].into_iter().chain(of_rows.iter().cloned()).collect();
            match worker.rows(&Chunk::new(input, own.len()))? {
                None => self.heads.tags.iter().for_each(|&row| matches[row as usize] = true),
                Some(kept) => kept.iter().for_each(|&at| matches[self.heads.tags[at as usize] as usize] = true),
            }
        }
        self.heads.clear();
        Ok(matches)
    }
}

/// The heads of the chains that contain the given rows of a table.
fn find_heads(
    plan: &JoinPlan,
    table: &JoinTable,
    rows: Rows<'_>,
    hashes: &mut Vec<u64>,
    lookup: &mut LookupScratch,
    heads: &mut Chains,
) {
    let keys: Vec<Vector> = (0..plan.build_keys.len()).map(|column| rows.gather(column)).collect();
    let all: Vec<u32> = (0..rows.len() as u32).collect();
    match &table.lookup {
        Lookup::Hash(table) => {
            rows.hashes(hashes);
            table.look_up(hashes, &keys, &all, lookup, heads);
        }
        Lookup::Direct(table) => table.look_up(&keys[0].to_flat(), &all, heads),
        Lookup::Empty | Lookup::Existence => heads.clear(),
    }
}
