//! The plan of a join, derived once from its spec: where its columns are in build rows, in spilled probe rows, and in
//! the input of the residual predicate.

use std::sync::Arc;

use arrow_schema::DataType;
use godwit_common::{Result, bail};
use godwit_expression::{Expression, Predicate};
use godwit_rows::{ColumnLayout, Extra, KeyExtremes, RowLayout, RowLayoutOptions};
use godwit_vector::{ColumnType, PhysicalType, RowType, ValueRange};

use super::{HashJoinSpec, JoinKind};

/// The immutable part of a join.
pub(super) struct JoinPlan {
    pub kind: JoinKind,
    pub nulls_equal: bool,
    pub null_aware: bool,
    pub probe_keys: Vec<Expression>,
    pub build_keys: Vec<Expression>,
    /// Number of columns of the probe side.
    pub probe_width: usize,
    /// Columns of the build side that are stored after the keys.
    pub build_payload: Vec<usize>,
    /// Rows of the build side: keys, payload, hash, link.
    pub build_layout: Arc<RowLayout>,
    /// Columns of the build rows to emit.
    pub build_output: Vec<usize>,
    pub probe_output: Vec<usize>,
    pub residual: Option<Residual>,
    /// The residual is decided by the least and the greatest value that its only probe column has for a key.
    pub extremes: Option<Extremes>,
    /// Columns of the probe side that are spilled.
    pub spill_columns: Vec<usize>,
    /// Layout of these columns and, where it matters, a flag for whether a row has had a match. An error if a column
    /// can't be spilled.
    pub spill_layout: Result<Arc<ColumnLayout>>,
    pub output_type: RowType,
    /// Maximum number of rows per entry of its hash tables.
    pub load_factor: f64,
}

/// The probe column whose least and greatest value for a key decide the residual, and where build rows store them.
pub(super) struct Extremes {
    pub column: usize,
    pub physical: PhysicalType,
    pub kept: KeyExtremes,
}

/// A predicate over probe columns followed by columns of build rows.
pub(super) struct Residual {
    pub predicate: Predicate,
    /// Columns of the probe side that it reads.
    pub probe_columns: Vec<usize>,
    /// Columns of the build rows that it reads.
    pub row_columns: Vec<usize>,
}

impl JoinPlan {
    pub(super) fn new(spec: HashJoinSpec, load_factor: f64) -> Result<Self> {
        check(&spec)?;
        let mut rows = BuildRows::new(&spec);
        let build_output = spec.build_output.iter().map(|&column| rows.position(column)).collect();
        let output_type = output_type(&spec);
        let residual = spec.residual.filter(|predicate| !predicate.is_always_true()).map(|predicate| {
            let width = spec.probe_type.len();
            let (probe, build): (Vec<usize>, Vec<usize>) =
                predicate.columns_used().into_iter().partition(|&column| column < width);
            let row_columns = build.iter().map(|&column| rows.position(column - width)).collect();
            let used: Vec<usize> = probe.iter().chain(&build).copied().collect();
            let remap = |column: usize| used.iter().position(|&used| used == column).expect("the column is used");
            Residual { predicate: predicate.remap_columns(&remap), probe_columns: probe, row_columns }
        });
        let mut spill_columns: Vec<usize> = spec.probe_output.clone();
        spill_columns.extend(spec.probe_keys.iter().flat_map(Expression::columns_used));
        spill_columns.extend(residual.iter().flat_map(|residual| residual.probe_columns.iter().copied()));
        spill_columns.sort_unstable();
        spill_columns.dedup();
        let spilled: Vec<PhysicalType> = spill_columns.iter().map(|&column| spec.probe_type[column].physical).collect();
        let notes_matches = extends_probe_rows(spec.kind) || stops_at_first_match(spec.kind);
        let build_layout = rows.layout(if spec.extremes.is_some() { Extra::LinkAndExtremes } else { Extra::Link })?;
        let extremes = spec.extremes.map(|column| Extremes {
            column,
            physical: spec.probe_type[column].physical,
            kept: KeyExtremes::new(&build_layout),
        });
        Ok(Self {
            kind: spec.kind,
            nulls_equal: spec.nulls_equal,
            null_aware: spec.null_aware,
            probe_keys: spec.probe_keys,
            build_keys: spec.build_keys,
            probe_width: spec.probe_type.len(),
            build_payload: rows.payload,
            build_layout,
            build_output,
            probe_output: spec.probe_output,
            residual,
            extremes,
            spill_columns,
            spill_layout: ColumnLayout::new(&spilled, notes_matches),
            output_type,
            load_factor,
        })
    }

    /// Pairs of probe and build rows are emitted.
    pub(super) fn emits_pairs(&self) -> bool {
        use JoinKind::*;
        matches!(self.kind, Inner | Left | Right | Full | Single)
    }

    /// Probe rows without a match are emitted, with NULLs for the build side.
    pub(super) fn extends_probe_rows(&self) -> bool {
        extends_probe_rows(self.kind)
    }

    /// Only the first match of a probe row matters.
    pub(super) fn stops_at_first_match(&self) -> bool {
        stops_at_first_match(self.kind)
    }

    /// Which build rows are emitted at the end: those with (`Some(true)`) or without (`Some(false)`) a match.
    pub(super) fn build_rows_at_end(&self) -> Option<bool> {
        match self.kind {
            JoinKind::BuildSemi => Some(true),
            JoinKind::Right | JoinKind::Full | JoinKind::BuildAnti => Some(false),
            _ => None,
        }
    }

    /// A probe row without a match doesn't affect the output.
    pub(super) fn drops_unmatched_probe_rows(&self) -> bool {
        use JoinKind::*;
        matches!(self.kind, Inner | Right | ProbeSemi | BuildSemi | BuildAnti) && !self.nulls_equal && !self.null_aware
    }

    /// An empty build side means an empty result.
    pub(super) fn is_empty_without_build_rows(&self) -> bool {
        use JoinKind::*;
        matches!(self.kind, Inner | Right | ProbeSemi | BuildSemi | BuildAnti)
    }

    /// All that matters is whether a probe row has a match, and no residual reads build columns.
    pub(super) fn asks_for_existence(&self) -> bool {
        self.stops_at_first_match() && self.has_plain_key()
    }

    /// If no key has two rows, all that matters is whether a key exists.
    pub(super) fn asks_for_existence_if_unique(&self) -> bool {
        self.kind == JoinKind::Inner && self.build_output.is_empty() && self.has_plain_key()
    }

    /// A single integer key, and no residual.
    pub(super) fn has_plain_key(&self) -> bool {
        self.residual.is_none() && self.has_integer_key()
    }

    /// One integer key that is never NULL where it matches.
    pub(super) fn has_integer_key(&self) -> bool {
        !self.nulls_equal && self.build_keys.len() == 1 && self.build_keys[0].output().physical.is_integer()
    }

    /// The proven range of the build key, if all that matters is whether a key exists.
    pub(super) fn existence_range(&self) -> Option<ValueRange> {
        if self.asks_for_existence() { self.build_keys[0].output().range } else { None }
    }
}

fn extends_probe_rows(kind: JoinKind) -> bool {
    matches!(kind, JoinKind::Left | JoinKind::Full | JoinKind::Single)
}

fn stops_at_first_match(kind: JoinKind) -> bool {
    matches!(kind, JoinKind::ProbeSemi | JoinKind::ProbeAnti | JoinKind::Mark)
}

fn check(spec: &HashJoinSpec) -> Result<()> {
    assert!(!spec.probe_keys.is_empty() && spec.probe_keys.len() == spec.build_keys.len(), "keys come in pairs");
    assert!(spec.filter_slots.is_empty() || spec.filter_slots.len() == spec.probe_keys.len());
    for (probe, build) in spec.probe_keys.iter().zip(&spec.build_keys) {
        let (probe, build) = (probe.output().physical, build.output().physical);
        if probe != build {
            bail!(Internal, "a join compares keys of types {probe:?} and {build:?}");
        }
    }
    match spec.kind {
        JoinKind::ProbeSemi | JoinKind::ProbeAnti | JoinKind::Mark => assert!(spec.build_output.is_empty()),
        JoinKind::BuildSemi | JoinKind::BuildAnti => assert!(spec.probe_output.is_empty()),
        _ => {}
    }
    if let Some(column) = spec.extremes {
        let reads_it_alone = |residual: &Predicate| {
            let width = spec.probe_type.len();
            residual.columns_used().into_iter().filter(|&used| used < width).eq([column])
        };
        assert!(matches!(spec.kind, JoinKind::BuildSemi | JoinKind::BuildAnti));
        assert!(spec.residual.as_ref().is_some_and(reads_it_alone));
        assert!(KeyExtremes::supports(spec.probe_type[column].physical));
    }
    let is_null_aware = matches!(spec.kind, JoinKind::ProbeAnti | JoinKind::BuildAnti | JoinKind::Mark);
    if spec.null_aware && !(is_null_aware && spec.probe_keys.len() == 1 && spec.residual.is_none()) {
        bail!(Unsupported, "NOT IN over several columns or with a correlated condition");
    }
    Ok(())
}

fn output_type(spec: &HashJoinSpec) -> RowType {
    let columns = |types: &RowType, output: &[usize], nullable: bool| -> Vec<ColumnType> {
        let column =
            |&index: &usize| ColumnType { nullable: nullable || types[index].nullable, ..types[index].clone() };
        output.iter().map(column).collect()
    };
    let probe_nullable = matches!(spec.kind, JoinKind::Right | JoinKind::Full);
    let build_nullable = matches!(spec.kind, JoinKind::Left | JoinKind::Full | JoinKind::Single);
    let mut output = columns(&spec.probe_type, &spec.probe_output, probe_nullable);
    output.extend(columns(&spec.build_type, &spec.build_output, build_nullable));
    if spec.kind == JoinKind::Mark {
        let (logical, physical) = (DataType::Boolean, PhysicalType::Bool);
        output.push(ColumnType { logical, physical, nullable: spec.null_aware, range: None });
    }
    output
}

/// Collects the columns of build rows.
struct BuildRows {
    types: Vec<PhysicalType>,
    /// For each key, the input column that it is, if it is a plain column.
    keys: Vec<Option<usize>>,
    input: Vec<PhysicalType>,
    payload: Vec<usize>,
}

impl BuildRows {
    fn new(spec: &HashJoinSpec) -> Self {
        let input: Vec<PhysicalType> = spec.build_type.iter().map(|column| column.physical).collect();
        let as_column = |key: &Expression| key.column_index().filter(|&column| input[column] == key.output().physical);
        Self {
            types: spec.build_keys.iter().map(|key| key.output().physical).collect(),
            keys: spec.build_keys.iter().map(as_column).collect(),
            input,
            payload: Vec::new(),
        }
    }

    /// The position of input column `column` in the rows; adds it if it is missing.
    fn position(&mut self, column: usize) -> usize {
        if let Some(key) = self.keys.iter().position(|&key| key == Some(column)) {
            return key;
        }
        let position = self.payload.iter().position(|&payload| payload == column).unwrap_or_else(|| {
            self.payload.push(column);
            self.types.push(self.input[column]);
            self.payload.len() - 1
        });
        self.keys.len() + position
    }

    fn layout(&self, extra: Extra) -> Result<Arc<RowLayout>> {
        RowLayout::new(&self.types, RowLayoutOptions { hash: true, extra })
    }
}
