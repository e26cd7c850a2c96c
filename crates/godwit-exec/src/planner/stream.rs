//! Open pipelines: the planner's view of "rows on their way".

use std::collections::BTreeSet;
use std::sync::Arc;

use datafusion_common::{DFSchema, DFSchemaRef};
use godwit_common::Result;
use godwit_vector::RowType;

use super::planning_error;
use crate::explain::ExplainNode;
use crate::pipeline::{Source, Transform};

/// The rows of a plan node, delivered by one or several open pipelines.
pub(super) struct Stream {
    /// The node's columns that are really there; names for expressions.
    pub schema: DFSchemaRef,
    /// For each column that is there, its index in the node's full schema, ascending.
    pub origin: Vec<usize>,
    /// Types of the columns that are there.
    pub row_type: RowType,
    /// At least one.
    pub branches: Vec<Branch>,
    pub explain: ExplainNode,
}

/// One open pipeline.
pub(super) struct Branch {
    pub source: Arc<dyn Source>,
    pub transforms: Vec<Arc<dyn Transform>>,
    /// Closed pipelines that must be complete first.
    pub depends_on: BTreeSet<usize>,
    /// The pipelines that build the tables of the hash joins that are probed here.
    pub tables: Vec<usize>,
    /// Branches of the same stream, by index, that must be complete first.
    pub follows: Vec<usize>,
}

impl Branch {
    pub fn new(source: Arc<dyn Source>, depends_on: impl IntoIterator<Item = usize>) -> Self {
        Self {
            source,
            transforms: Vec::new(),
            depends_on: depends_on.into_iter().collect(),
            tables: Vec::new(),
            follows: Vec::new(),
        }
    }
}

impl Stream {
    /// A stream of the columns `origin` of a node with schema `full`.
    pub fn new(
        full: &DFSchema,
        origin: Vec<usize>,
        row_type: RowType,
        branch: Branch,
        explain: ExplainNode,
    ) -> Result<Self> {
        Ok(Self { schema: subset(full, &origin)?, origin, row_type, branches: vec![branch], explain })
    }

    /// Where the node's column `index` is in the chunks.
    pub fn position(&self, index: usize) -> Option<usize> {
        self.origin.binary_search(&index).ok()
    }

    /// Adds a streaming operator to every branch.
    pub fn transform(&mut self, transform: Arc<dyn Transform>) {
        for branch in &mut self.branches {
            branch.transforms.push(transform.clone());
        }
    }

    /// The same rows as columns `origin` of another node.
    pub fn describe(&mut self, full: &DFSchema, origin: Vec<usize>, row_type: RowType) -> Result<()> {
        assert_eq!(origin.len(), row_type.len());
        self.schema = subset(full, &origin)?;
        self.origin = origin;
        self.row_type = row_type;
        Ok(())
    }

    /// Notes that every branch probes the table that this pipeline builds.
    pub fn note_table(&mut self, table: usize) {
        self.branches.iter_mut().for_each(|branch| branch.tables.push(table));
    }

    /// Puts an operator above the tree that `EXPLAIN` shows.
    pub fn explain_above(&mut self, above: ExplainNode) {
        let below = std::mem::replace(&mut self.explain, above);
        self.explain.children.insert(0, below);
    }

    /// Makes every branch wait for closed pipelines.
    pub fn wait_for(&mut self, pipelines: impl IntoIterator<Item = usize> + Clone) {
        for branch in &mut self.branches {
            branch.depends_on.extend(pipelines.clone());
        }
    }
}

fn subset(full: &DFSchema, origin: &[usize]) -> Result<DFSchemaRef> {
    debug_assert!(origin.is_sorted());
    let fields = origin
        .iter()
        .map(|&index| {
            let (qualifier, field) = full.qualified_field(index);
            (qualifier.cloned(), field.clone())
        })
        .collect();
    DFSchema::new_with_metadata(fields, full.metadata().clone()).map(Arc::new).map_err(planning_error)
}
