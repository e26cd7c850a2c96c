//! Aggregates over one frame: how each part of it is computed.

use std::sync::Arc;

use godwit_common::Result;
use godwit_memory::BufferManager;
use godwit_pipeline::CancelToken;
use godwit_rows::RowOwner;
use godwit_vector::Vector;

use super::frame::{Bounds, FrameCursor, Part};
use super::growing::Growing;
use super::jumping::Jumping;
use super::ordered::Ordered;
use super::plan::{FramedSet, Plan};
use super::sliding::Sliding;
use super::states::Slots;
use super::step::Step;
use crate::hash_aggregate::FramedAggregates;

/// A set of aggregates over one sequence of rows.
pub(super) struct Framed {
    aggregates: Arc<FramedAggregates>,
    cursor: FrameCursor,
    bounds: Bounds,
    parts: Vec<(Part, Method)>,
    /// The owner of all states.
    owner: RowOwner,
    results: Slots,
}

enum Method {
    Growing(Box<Growing>),
    Sliding(Box<Sliding>),
    Jumping(Box<Jumping>),
}

impl Method {
    fn new(
        set: &FramedSet,
        part: Part,
        owner: &mut RowOwner,
        memory: &BufferManager,
        cancel: &CancelToken,
    ) -> Result<Self> {
        let begins_with_frame = matches!(part, Part::All | Part::BeforeRow | Part::BeforePeers);
        Ok(if set.frame.jumps() {
            Method::Jumping(Box::new(Jumping::new(set, memory, cancel)))
        } else if set.frame.begins_with_partition() && begins_with_frame {
            Method::Growing(Box::new(Growing::new(set, owner, memory)?))
        } else {
            Method::Sliding(Box::new(Sliding::new(set, owner, memory, cancel)?))
        })
    }
}

impl Framed {
    pub(super) fn new(plan: &Plan, set: &FramedSet, memory: &BufferManager, cancel: &CancelToken) -> Result<Self> {
        let mut owner = RowOwner::new();
        let parts =
            set.frame.parts().iter().map(|&part| Ok((part, Method::new(set, part, &mut owner, memory, cancel)?)));
        let parts = parts.collect::<Result<_>>()?;
        Ok(Self {
            aggregates: set.aggregates.clone(),
            cursor: FrameCursor::new(set.frame, plan),
            bounds: Bounds::default(),
            parts,
            results: Slots::new(set.aggregates.layout(), &owner, memory)?,
            owner,
        })
    }

    /// The results of a step, a vector per aggregate.
    pub(super) fn compute(&mut self, rows: &Ordered, step: &Step) -> Result<Vec<Vector>> {
        self.cursor.advance(rows, step, &mut self.bounds)?;
        let results = self.results.clear(&mut self.owner, step.len())?;
        for (part, method) in &mut self.parts {
            let part_bounds;
            let bounds = match part {
                Part::All => &self.bounds,
                part => {
                    part_bounds = self.bounds.parts(*part, step);
                    &part_bounds
                }
            };
            match method {
                Method::Growing(growing) => growing.add(rows, bounds, &mut self.owner, results)?,
                Method::Sliding(sliding) => sliding.add(rows, bounds, &mut self.owner, results)?,
                Method::Jumping(jumping) => jumping.add(rows, bounds, &mut self.owner, results)?,
            }
        }
        self.aggregates.results(self.owner.read(results))
    }
}
