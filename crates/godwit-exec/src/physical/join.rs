//! Joins: hash join if there are equalities, otherwise nested loops.
//!
//! ```text
//! build child ─▶ build sink │ table source ─▶ (nothing) │ probe child ─▶ probe ─▶ downstream
//!                                                       │ rest ─▶ downstream          (after the probe)
//! ```
//!
//! The left child of a join is the probe side and the right child the build side. Filters made from the build keys are
//! pushed down the probe side to a scan; filters from joins above are pushed through this one to whichever side their
//! column comes from.
//!
//! Text keys that arrive as codes on both sides are compared as codes of the build side ([`KeyCodes`]); filters made
//! from them are over codes, too.

use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

use godwit_common::{Error, Result};
use godwit_expression::{Expression, KeyCodes, Layout, Predicate};
use godwit_pipeline::{KeyFilter, Source, Transform};
use godwit_plan::{ColumnId, ColumnSet, Expr, Join, JoinKind as PlanKind};
use godwit_rows::KeyExtremes;
use godwit_vector::sql::arrow_type;
use godwit_vector::{ColumnType, PhysicalType, RowType};

use super::join_conditions::{Conditions, is_null_aware, widened_column};
use super::stored::{
    Compressed, CompressedColumns, as_stored, key_compression, nested_columns, stored_keys, unify_keys, without,
};
use super::stream::Stream;
use super::{Branch, JoinTable, Needs, PhysicalPlanner, WantedFilter, columns_of};
use crate::explain::ExplainNode;
use crate::hash_join::{HashJoin, HashJoinSpec, JoinKind};
use crate::nested_loop_join::{NestedLoopJoin, NestedLoopJoinSpec};

/// A build side that is expected to take more than this share of the memory limit will probably be spilled, along with
/// rows of the probe side.
const SPILL_SHARE: f64 = 0.5;

/// Rows of both sides per code to be translated from which translation pays off: with 8, a join of two dictionaries of
/// a million values took 1.5 times as long as on strings (one worker translates), with 800 half as long.
const ROWS_PER_TRANSLATED_CODE: f64 = 12.0;

/// A join that is being planned.
struct Joining<'p> {
    join: &'p Join,
    kind: JoinKind,
    /// The column that a mark join adds.
    mark: Option<ColumnId>,
    /// The mark is NULL where the only key is.
    null_aware: bool,
    conditions: Conditions,
    /// The columns of each side, those that the parent needs, and those that the residual condition reads.
    probe: Side,
    build: Side,
}

struct Side {
    columns: ColumnSet,
    wanted: ColumnSet,
    filtered: ColumnSet,
}

impl Side {
    /// All columns of the side that are used, including those of its keys.
    fn used<'e>(&self, keys: impl Iterator<Item = &'e Expr>) -> ColumnSet {
        self.wanted.union(&self.filtered).union(&columns_of(keys))
    }
}

/// Indices reserved for the pipelines of the build side.
struct JoinPipelines {
    build: Vec<usize>,
    /// The one that builds a hash join's table, and fills the filters made of its keys.
    table: Option<usize>,
}

/// The keys of both sides, in pairs.
struct JoinKeys {
    probe: Vec<Expression>,
    build: Vec<Expression>,
}

/// For each equality of a join: the codes by which its text keys are compared, if they are.
type CodesOfKeys = Vec<Option<Arc<KeyCodes>>>;

/// For each equality of a join: where the filter of its build keys will be stored.
type Slots = Vec<Arc<OnceLock<Arc<KeyFilter>>>>;

/// The compressions, by column of each side; empty for a side without compressed columns.
struct CompressedSides {
    probe: CompressedColumns,
    build: CompressedColumns,
}

impl CompressedSides {
    /// The compressions by output column.
    fn of_output(&self, has_mark: bool, probe_output: &[usize], build_output: &[usize]) -> CompressedColumns {
        let of = |columns: &CompressedColumns, column: usize| columns.get(column).cloned().flatten();
        let probe = probe_output.iter().map(|&column| of(&self.probe, column));
        let build = build_output.iter().map(|&column| of(&self.build, column));
        probe.chain(build).chain(has_mark.then_some(None)).collect()
    }

    /// Rewrites a condition over the uncompressed columns of both sides, `probe_width` of them on the probe side, for
    /// the columns as they are now.
    fn decompressed(&self, condition: &Predicate, probe_width: usize, probe: &Stream, build: &Stream) -> Predicate {
        condition.with_columns(&|column, ty| {
            let (stored, types, at, before) = match column.checked_sub(probe_width) {
                None => (&self.probe, &probe.row_type, column, 0),
                Some(column) => (&self.build, &build.row_type, column, probe.row_type.len()),
            };
            match stored.get(at).and_then(Option::as_ref) {
                None => Expression::column(before + at, ty.clone()),
                Some(Compressed { compression, original }) => {
                    compression.decompress(&Expression::column(before + at, types[at].clone()), original)
                }
            }
        })
    }
}

/// The probe-side parts of either join operator.
struct ProbeRoles {
    probe: Arc<dyn Transform>,
    rest: Option<Arc<dyn Source>>,
    output: RowType,
    /// Pipelines that must be complete before the probe starts.
    ready: Vec<usize>,
    /// The one that builds a hash join's table.
    table: Option<usize>,
}

impl PhysicalPlanner<'_> {
    pub(super) fn plan_join(&mut self, join: &Join, needs: Needs) -> Result<Stream> {
        let joining = self.joining(join, &needs.columns)?;
        let keys = || joining.conditions.keys.iter();
        let build_columns = joining.build.used(keys().map(|key| &key.build));
        let probe_columns = joining.probe.used(keys().map(|key| &key.probe));

        let build_filters = match joining.kind {
            JoinKind::Inner | JoinKind::Right | JoinKind::BuildSemi | JoinKind::BuildAnti => {
                needs.filters_on(&joining.build.columns)
            }
            _ => Vec::new(),
        };
        let mut build = self.plan_node(join.right, Needs::new(build_columns, build_filters))?;
        // The probe side's pipelines may have to wait for the build side's before the latter are closed.
        let pipelines = JoinPipelines {
            build: self.pipelines.reserve(build.branches.len()),
            table: keys().next().map(|_| self.pipelines.reserve(1)[0]),
        };
        let build_keys = self.compile_all(keys().map(|key| &key.build), &mut build)?;

        let slots: Slots = keys().map(|_| Arc::default()).collect();
        let table = pipelines.table.filter(|_| self.query.settings.join_filters);
        let codes = self.codes_of_keys(&joining)?;
        let filters = self.probe_filters(&joining, &needs, &slots, &codes, table)?;
        let mut probe = self.plan_node(join.left, Needs::new(probe_columns, filters))?;
        let probe_keys = self.compile_all(keys().map(|key| &key.probe), &mut probe)?;
        let residual = self.compile_residual(&joining, &mut probe, &build)?;
        let (probe_keys, build_keys) = unify_keys(probe_keys, build_keys);
        let mut keys = JoinKeys { probe: probe_keys, build: build_keys };
        let probe_width = probe.row_type.len();
        let compressed = self.compress_join(&joining, &codes, &mut keys, &mut probe, &mut build)?;
        probe.compute_long_values(keys.probe.iter_mut());
        build.compute_long_values(keys.build.iter_mut());
        let residual = residual.map(|residual| compressed.decompressed(&residual, probe_width, &probe, &build));

        let extremes = extreme_column(&joining, &probe, &compressed, residual.as_ref());
        let (probe_type, build_type) = (probe.row_type.clone(), build.row_type.clone());
        let probe_output = probe.positions(&joining.probe.wanted);
        let build_output = build.positions(&joining.build.wanted);
        let compressed = compressed.of_output(joining.mark.is_some(), &probe_output, &build_output);
        let from_probe = probe_output.iter().map(|&at| probe.columns[at]);
        let from_build = build_output.iter().map(|&at| build.columns[at]);
        let columns: Vec<ColumnId> = from_probe.chain(from_build).chain(joining.mark).collect();
        let kind = joining.kind;
        let (roles, mut build_explain) = if pipelines.table.is_none() {
            let spec =
                NestedLoopJoinSpec { kind, probe_type, build_type, predicate: residual, probe_output, build_output };
            self.close_nested_loop_join(spec, &joining, build, pipelines)?
        } else {
            let spec = HashJoinSpec {
                kind,
                probe_keys: keys.probe,
                build_keys: keys.build,
                probe_type,
                build_type,
                residual,
                extremes,
                nulls_equal: joining.conditions.nulls_equal,
                null_aware: joining.null_aware,
                probe_output,
                build_output,
                estimated_build_rows: Some(self.estimates.rows(self.plan, join.right) as u64),
                filter_slots: slots,
            };
            let by_codes = if codes.iter().any(Option::is_some) { " (codes)" } else { "" };
            let by_extremes = if extremes.is_some() { " (least and greatest)" } else { "" };
            self.close_hash_join(spec, &joining, &format!("{by_codes}{by_extremes}"), build, pipelines)?
        };
        build_explain.role = Some("build");
        let mut stream = probe_stream(probe, roles, columns);
        stream.explain.children.push(build_explain);
        self.decompress_stream(&mut stream, &compressed);
        Ok(stream)
    }

    fn joining<'p>(&self, join: &'p Join, wanted: &ColumnSet) -> Result<Joining<'p>> {
        let (probe, build) = (self.plan.output_set(join.left), self.plan.output_set(join.right));
        let (kind, mark, compare) = match &join.kind {
            PlanKind::Inner => (JoinKind::Inner, None, &[][..]),
            PlanKind::Left => (JoinKind::Left, None, &[][..]),
            PlanKind::Right => (JoinKind::Right, None, &[][..]),
            PlanKind::Full => (JoinKind::Full, None, &[][..]),
            PlanKind::Semi => (JoinKind::ProbeSemi, None, &[][..]),
            PlanKind::Anti => (JoinKind::ProbeAnti, None, &[][..]),
            PlanKind::RightSemi => (JoinKind::BuildSemi, None, &[][..]),
            PlanKind::RightAnti => (JoinKind::BuildAnti, None, &[][..]),
            PlanKind::Mark { mark, compare } => (JoinKind::Mark, Some(*mark), &compare[..]),
            PlanKind::Single => (JoinKind::Single, None, &[][..]),
            PlanKind::AsOf { .. } | PlanKind::Positional => {
                return Err(Error::internal("a join that was not lowered"));
            }
        };
        let null_aware = is_null_aware(&join.conditions, compare, &probe, &build);
        if compare.iter().any(|condition| condition.nullable) && !null_aware {
            return Err(Error::internal("a mark that was not lowered"));
        }
        let conditions = Conditions::split(join.conditions.iter().chain(compare), &probe, &build);
        let filtered = columns_of(&conditions.residual);
        let emits_probe = !matches!(kind, JoinKind::BuildSemi | JoinKind::BuildAnti);
        let emits_build = !matches!(kind, JoinKind::ProbeSemi | JoinKind::ProbeAnti | JoinKind::Mark);
        let side = |columns: ColumnSet, is_emitted: bool| Side {
            wanted: if is_emitted { wanted.intersection(&columns) } else { ColumnSet::new() },
            filtered: filtered.intersection(&columns),
            columns,
        };
        let (probe, build) = (side(probe, emits_probe), side(build, emits_build));
        Ok(Joining { join, kind, mark, null_aware, conditions, probe, build })
    }

    /// Determines which equalities compare text that arrives as codes on both sides. The rest of the condition must not
    /// use the build side's column: it remains codes from then on.
    fn codes_of_keys(&self, joining: &Joining<'_>) -> Result<CodesOfKeys> {
        let keys = &joining.conditions.keys;
        let build_columns: Vec<ColumnSet> = keys.iter().map(|key| key.build.columns()).collect();
        let is_used_once = |column: ColumnId| {
            let keys = build_columns.iter().filter(|columns| columns.contains(column)).count();
            keys == 1 && !joining.build.filtered.contains(column)
        };
        let codes = keys.iter().map(|key| match (key.probe.as_column(), key.build.as_column()) {
            (Some(probe), Some(build)) if is_used_once(build) => self.codes_of_key(joining.join, probe, build),
            _ => Ok(None),
        });
        codes.collect()
    }

    /// The codes of a pair of columns, if translating those of one side costs less than it saves.
    fn codes_of_key(&self, join: &Join, probe: ColumnId, build: ColumnId) -> Result<Option<Arc<KeyCodes>>> {
        let Some(domain) = self.text_codes(join.right, build)? else { return Ok(None) };
        let Some(others) = self.text_codes(join.left, probe)? else { return Ok(None) };
        let rows = self.estimates.rows(self.plan, join.left) + self.estimates.rows(self.plan, join.right);
        let is_same = domain.dictionary().id() == others.dictionary().id();
        let is_worth_it = is_same || domain.len().min(others.len()) as f64 * ROWS_PER_TRANSLATED_CODE <= rows;
        Ok(is_worth_it.then(|| KeyCodes::new(domain, &self.query.memory)))
    }

    /// Compresses the build side if it is large, and the probe side if it will probably be spilled; text that arrives
    /// as codes in any case. Columns that a key or the residual computes with stay as they are, unless they are nested;
    /// keys that are plain columns get narrower on both sides.
    fn compress_join(
        &self,
        joining: &Joining<'_>,
        codes: &CodesOfKeys,
        keys: &mut JoinKeys,
        probe: &mut Stream,
        build: &mut Stream,
    ) -> Result<CompressedSides> {
        let join = joining.join;
        let there = build.columns.iter().copied().collect();
        let is_worth_it = self.is_worth_compressing(self.bytes_of(join.right, &there, f64::INFINITY));
        let build_columns = self.compressions_of(join.right, build, is_worth_it)?;
        let mut sides = CompressedSides { probe: Vec::new(), build: build_columns };
        let is_compressed = sides.build.iter().chain(&nested_columns(&probe.row_type)).any(Option::is_some);
        if !is_compressed && codes.iter().all(Option::is_none) {
            keys.probe.iter_mut().chain(&mut keys.build).for_each(|key| *key = as_stored(key));
            return Ok(sides);
        }
        self.compress_build(joining, codes, keys, &mut sides, build, is_worth_it);
        self.compress_probe(joining, codes, keys, &mut sides, probe)?;
        Ok(sides)
    }

    fn compress_build(
        &self,
        joining: &Joining<'_>,
        codes: &CodesOfKeys,
        keys: &mut JoinKeys,
        sides: &mut CompressedSides,
        build: &mut Stream,
        is_worth_it: bool,
    ) {
        let filtered: BTreeSet<usize> = build.positions(&joining.build.filtered).into_iter().collect();
        let mut fixed = filtered.clone();
        fixed.extend(keys.build.iter().flat_map(Expression::columns_used));
        sides.build = without(std::mem::take(&mut sides.build), &fixed);
        for index in 0..keys.build.len() {
            let Some(column) = keys.build[index].column_index() else { continue };
            let original = build.row_type[column].clone();
            if let Some(codes) = &codes[index] {
                keys.probe[index] = codes.of_probe(&keys.probe[index]);
                sides.build[column] = Some(Compressed { compression: codes.compression().clone(), original });
                continue;
            }
            let mut others = keys.build.iter().enumerate().filter(|(other, _)| *other != index);
            let is_used_elsewhere =
                filtered.contains(&column) || others.any(|(_, key)| key.columns_used().contains(&column));
            let compression = key_compression(keys.probe[index].output(), keys.build[index].output());
            if let Some(compression) = compression.filter(|_| is_worth_it && !is_used_elsewhere) {
                keys.probe[index] = compression.compress(&keys.probe[index]);
                sides.build[column] = Some(Compressed { compression, original });
            }
        }
        add_nested(&mut sides.build, build);
        let computed = stored_keys(&mut keys.build, &sides.build);
        self.compress_stream(build, &sides.build, computed);
        for key in &mut keys.build {
            if let Some(column) = key.column_index() {
                *key = build.column(column);
            }
        }
    }

    fn compress_probe(
        &self,
        joining: &Joining<'_>,
        codes: &CodesOfKeys,
        keys: &mut JoinKeys,
        sides: &mut CompressedSides,
        probe: &mut Stream,
    ) -> Result<()> {
        let join = joining.join;
        let expected = self.estimates.of(self.plan, join.right);
        let is_spilled = expected.rows * expected.row_bytes() > self.query.memory.memory_limit() as f64 * SPILL_SHARE;
        // Keys that are computed before their columns are compressed don't need them.
        let needing = keys.probe.iter().zip(codes).filter(|(_, codes)| codes.is_none());
        let mut fixed: BTreeSet<usize> = probe.positions(&joining.probe.filtered).into_iter().collect();
        fixed.extend(needing.flat_map(|(key, _)| key.columns_used()));
        sides.probe = match is_spilled {
            true => {
                let there = probe.columns.iter().copied().collect();
                let bytes = self.bytes_of(join.left, &there, f64::INFINITY);
                without(self.compressions_of(join.left, probe, self.is_worth_compressing(bytes))?, &fixed)
            }
            false => vec![None; probe.row_type.len()],
        };
        add_nested(&mut sides.probe, probe);
        let computed = stored_keys(&mut keys.probe, &sides.probe);
        if sides.probe.iter().any(Option::is_some) {
            self.compress_stream(probe, &sides.probe, computed);
        }
        Ok(())
    }

    fn close_nested_loop_join(
        &mut self,
        spec: NestedLoopJoinSpec,
        joining: &Joining<'_>,
        build: Stream,
        pipelines: JoinPipelines,
    ) -> Result<(ProbeRoles, ExplainNode)> {
        let operator = NestedLoopJoin::new(spec, self.query, self.join_name("NestedLoopJoin", joining))?;
        let explain = self.close_as(&pipelines.build, build, &operator.build_sink());
        let (probe, rest, output) = (operator.probe(), operator.rest(), operator.output_type());
        Ok((ProbeRoles { probe, rest, output, ready: pipelines.build, table: None }, explain))
    }

    fn close_hash_join(
        &mut self,
        spec: HashJoinSpec,
        joining: &Joining<'_>,
        note: &str,
        build: Stream,
        pipelines: JoinPipelines,
    ) -> Result<(ProbeRoles, ExplainNode)> {
        let operator = HashJoin::new(spec, self.query, self.join_name("HashJoin", joining) + note)?;
        let explain = self.close_as(&pipelines.build, build, &operator.build_sink());
        let table = pipelines.table.expect("hash joins build a table");
        self.pipelines.add_table(JoinTable { table, builds: pipelines.build.clone() });
        self.pipelines.close_alone(table, operator.table_source(), pipelines.build);
        let (probe, rest, output) = (operator.probe(), operator.rest(), operator.output_type());
        Ok((ProbeRoles { probe, rest, output, ready: vec![table], table: Some(table) }, explain))
    }

    /// The condition besides the equalities, over the probe side's columns followed by the build side's.
    fn compile_residual(
        &mut self,
        joining: &Joining<'_>,
        probe: &mut Stream,
        build: &Stream,
    ) -> Result<Option<Predicate>> {
        if joining.conditions.residual.is_empty() {
            return Ok(None);
        }
        let columns: Vec<ColumnId> = probe.columns.iter().chain(&build.columns).copied().collect();
        let types: RowType = probe.row_type.iter().chain(&build.row_type).cloned().collect();
        let layout = Layout { columns: &columns, types: &types };
        let predicate = Predicate::compile(&joining.conditions.residual, layout, &self.context)?;
        self.run_subqueries_before(probe)?;
        Ok(Some(predicate))
    }

    /// The filters by which scans of the probe side may drop rows: those from above, and those that this join will
    /// fill.
    fn probe_filters(
        &self,
        joining: &Joining<'_>,
        needs: &Needs,
        slots: &Slots,
        codes: &CodesOfKeys,
        table: Option<usize>,
    ) -> Result<Vec<WantedFilter>> {
        let kind = joining.kind;
        let mut filters = match kind {
            JoinKind::Inner
            | JoinKind::Left
            | JoinKind::ProbeSemi
            | JoinKind::ProbeAnti
            | JoinKind::Mark
            | JoinKind::Single => needs.filters_on(&joining.probe.columns),
            _ => Vec::new(),
        };
        if table.is_some() && drops_unmatched_probe_rows(kind) && !joining.conditions.nulls_equal {
            for ((key, slot), codes) in joining.conditions.keys.iter().zip(slots).zip(codes) {
                // The key itself, or the column that it widens.
                let Some(column) = widened_column(&key.probe) else { continue };
                let ty = ColumnType::new(arrow_type(&self.plan.column(column).ty)?, true)?;
                // A filter on the bytes that encode a nested value is useless to a scan.
                if ty.physical != PhysicalType::Nested {
                    let key = codes.as_ref().map(|codes| codes.of_probe(&Expression::column(0, ty)));
                    filters.push(WantedFilter { column, key, slot: slot.clone(), filled_by: table });
                }
            }
        }
        Ok(filters)
    }

    fn join_name(&self, operator: &str, joining: &Joining<'_>) -> String {
        let keys = joining
            .conditions
            .keys
            .iter()
            .map(|key| format!("{} = {}", self.show_one(&key.probe), self.show_one(&key.build)));
        let residual = joining.conditions.residual.iter().map(|condition| self.show_one(condition));
        let conditions: Vec<String> = keys.chain(residual).collect();
        format!("{operator} {:?} {}", joining.kind, conditions.join(" AND ")).trim_end().to_owned()
    }
}

/// Puts the probe on every branch of the probe side, and the rest after all of them.
fn probe_stream(mut probe: Stream, roles: ProbeRoles, columns: Vec<ColumnId>) -> Stream {
    probe.wait_for(roles.ready.iter().copied());
    probe.explain_above(ExplainNode::of_transform(&roles.probe));
    for branch in &mut probe.branches {
        branch.transforms.push(roles.probe.clone());
    }
    roles.table.inspect(|&table| probe.note_table(table));
    if let Some(rest) = roles.rest {
        let mut branch = Branch::new(rest, roles.ready);
        branch.follows = (0..probe.branches.len()).collect();
        probe.branches.push(branch);
    }
    assert_eq!(columns.len(), roles.output.len());
    (probe.columns, probe.row_type) = (columns, roles.output);
    probe
}

/// The probe column whose least and greatest value for a key decide the residual of a join that emits build rows.
fn extreme_column(
    joining: &Joining<'_>,
    probe: &Stream,
    compressed: &CompressedSides,
    residual: Option<&Predicate>,
) -> Option<usize> {
    let emits_build_rows = matches!(joining.kind, JoinKind::BuildSemi | JoinKind::BuildAnti);
    let column = joining.conditions.extreme_column(&joining.probe.columns, &joining.build.columns)?;
    let at = probe.columns.iter().position(|&there| there == column)?;
    // Value ranges may have decided the comparison.
    let is_compared = residual?.columns_used().contains(&at);
    let is_plain = compressed.probe.get(at).is_none_or(Option::is_none);
    let is_decided = emits_build_rows && is_compared && is_plain;
    (is_decided && KeyExtremes::supports(probe.row_type[at].physical)).then_some(at)
}

/// Adds compressions for nested columns.
fn add_nested(columns: &mut CompressedColumns, stream: &Stream) {
    for (column, nested) in columns.iter_mut().zip(nested_columns(&stream.row_type)) {
        *column = nested.or(column.take());
    }
}

/// True if a probe row without a match doesn't affect the output, so that the scan may drop it.
fn drops_unmatched_probe_rows(kind: JoinKind) -> bool {
    matches!(kind, JoinKind::Inner | JoinKind::Right | JoinKind::ProbeSemi | JoinKind::BuildSemi | JoinKind::BuildAnti)
}
