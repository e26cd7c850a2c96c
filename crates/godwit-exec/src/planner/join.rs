//! Joins: hash join on equalities, nested loops without.
//!
//! ```text
//! build child ─▶ build sink │ table source ─▶ (nothing) │ probe child ─▶ probe ─▶ downstream
//!                                                       │ rest ─▶ downstream          (after the probe)
//! ```
//!
//! By the convention of `godwit-sql` the left child of a join is the probe side and the right child the build side.
//! Filters made of the build keys travel down the probe side to a scan; filters from joins above travel through this one
//! to whichever side their column comes from.
//!
//! Text keys that come as codes on both sides meet as codes of the build side ([`KeyCodes`]); filters made of them are
//! about codes, too.

use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

use datafusion_common::{DFSchema, JoinType, NullEquality};
use datafusion_expr::Expr;
use datafusion_expr::logical_plan::Join;
use datafusion_expr::utils::split_conjunction;
use godwit_common::{Error, Result};
use godwit_expression::{Expression, KeyCodes, Predicate};
use godwit_vector::{ColumnType, PhysicalType, RowType};

use super::compress::{
    Compressed, CompressedColumns, as_stored, key_compression, nested_columns, stored_keys, without,
};
use super::memory_order::JoinTable;
use super::simple::common_physical;
use super::stream::{Branch, Stream};
use super::{Needs, PhysicalPlanner, WantedFilter, columns_of, columns_of_all, passed_column, planning_error};
use crate::explain::ExplainNode;
use crate::hash_join::{HashJoin, HashJoinSpec, JoinKind};
use crate::key_filter::KeyFilter;
use crate::nested_loop_join::{NestedLoopJoin, NestedLoopJoinSpec};
use crate::pipeline::{Source, Transform};

/// A build side that is expected to take more than this share of the memory limit will probably be spilled, and with it
/// rows of the probe side.
const SPILL_SHARE: f64 = 0.5;

/// Rows of both sides for each code that would be translated: with 8 a join of two dictionaries of a million values took 1.5
/// times as long as on strings (one worker translates), with 800 it took half as long.
const ROWS_PER_TRANSLATED_CODE: f64 = 12.0;

/// What the parent wants of a join's output, split by side.
struct Wanted {
    probe: BTreeSet<usize>,
    build: BTreeSet<usize>,
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

/// What was compressed, by column of each side; empty for a side on which nothing was.
struct CompressedSides {
    probe: CompressedColumns,
    build: CompressedColumns,
}

impl CompressedSides {
    /// The same by column of the output.
    fn of_output(&self, kind: JoinKind, probe_output: &[usize], build_output: &[usize]) -> CompressedColumns {
        let of = |columns: &CompressedColumns, column: usize| columns.get(column).cloned().flatten();
        let mark = (kind == JoinKind::Mark).then_some(None);
        let probe = probe_output.iter().map(|&column| of(&self.probe, column));
        probe.chain(build_output.iter().map(|&column| of(&self.build, column))).chain(mark).collect()
    }
}

/// The roles of either join operator on the probe side.
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
        let kind = join_kind(join.join_type)?;
        let probe_width = join.left.schema().fields().len();
        let wanted = wanted_by_side(kind, probe_width, &needs.columns);
        let (probe_columns, build_columns) = input_columns(join, &wanted)?;

        let build_filters = match kind {
            JoinKind::Inner | JoinKind::Right => needs.filters_below(|index| index.checked_sub(probe_width)),
            JoinKind::BuildSemi | JoinKind::BuildAnti => needs.filters.clone(),
            _ => Vec::new(),
        };
        let mut build = self.plan(&join.right, Needs::new(build_columns, build_filters))?;
        // The probe side's pipelines may have to wait for the build side's before these are closed.
        let pipelines = JoinPipelines {
            build: self.reserve(build.branches.len()),
            table: (!join.on.is_empty()).then(|| self.reserve(1)[0]),
        };
        let build_keys = self.compile_all(join.on.iter().map(|(_, build)| build), &mut build)?;

        let slots: Vec<Arc<OnceLock<Arc<KeyFilter>>>> = join.on.iter().map(|_| Arc::default()).collect();
        let table = pipelines.table.filter(|_| self.query.settings.join_filters);
        let codes = self.codes_of_keys(join)?;
        let filters = probe_filters(join, kind, &needs, &slots, &codes, table)?;
        let mut probe = self.plan(&join.left, Needs::new(probe_columns, filters))?;
        let probe_keys = self.compile_all(join.on.iter().map(|(probe, _)| probe), &mut probe)?;
        let residual = self.compile_residual(join, &mut probe, &build)?;
        let (probe_keys, build_keys) = unify_keys(probe_keys, build_keys);
        let mut keys = JoinKeys { probe: probe_keys, build: build_keys };
        let compressed = self.compress_join(join, &codes, &mut keys, &mut probe, &mut build)?;

        let (probe_type, build_type) = (probe.row_type.clone(), build.row_type.clone());
        let probe_output = positions(&probe, &wanted.probe);
        let build_output = positions(&build, &wanted.build);
        let compressed = compressed.of_output(kind, &probe_output, &build_output);
        let (roles, mut build_explain) = if join.on.is_empty() {
            let spec =
                NestedLoopJoinSpec { kind, probe_type, build_type, predicate: residual, probe_output, build_output };
            self.close_nested_loop_join(spec, join, build, pipelines)?
        } else {
            let spec = HashJoinSpec {
                kind,
                probe_keys: keys.probe,
                build_keys: keys.build,
                probe_type,
                build_type,
                residual,
                nulls_equal: join.null_equality == NullEquality::NullEqualsNull,
                null_aware: join.null_aware,
                probe_output,
                build_output,
                estimated_build_rows: Some(self.estimates.of(&join.right).rows as u64),
                filter_slots: slots,
            };
            let note = if codes.iter().any(Option::is_some) { " (codes)" } else { "" };
            self.close_hash_join(spec, join, note, build, pipelines)?
        };
        build_explain.role = Some("build");
        let mut stream = probe_stream(probe, roles);
        stream.explain.children.push(build_explain);
        let (origin, row_type) = (output_columns(kind, probe_width, &wanted), stream.row_type.clone());
        stream.describe(&join.schema, origin, row_type)?;
        self.decompress_stream(&mut stream, &compressed);
        Ok(stream)
    }

    /// Which equalities compare text that comes as codes on both sides. The build side's column must serve nothing else
    /// in the condition: it becomes codes for good.
    fn codes_of_keys(&self, join: &Join) -> Result<CodesOfKeys> {
        let (_, build_filtered) = filter_columns(join)?;
        let build_schema = join.right.schema();
        let build_columns: Vec<BTreeSet<usize>> =
            join.on.iter().map(|(_, build)| columns_of(build, build_schema)).collect::<Result<_>>()?;
        let mut codes = Vec::new();
        for (probe, build) in &join.on {
            let columns = passed_column(probe, join.left.schema()).zip(passed_column(build, build_schema));
            let is_used_once = |column: usize| {
                let keys = build_columns.iter().filter(|columns| columns.contains(&column)).count();
                keys == 1 && !build_filtered.contains(&column)
            };
            codes.push(match columns {
                Some((probe, build)) if is_used_once(build) => self.codes_of_key(join, probe, build)?,
                _ => None,
            });
        }
        Ok(codes)
    }

    /// The codes of a pair of columns, if translating those of one side costs less than it saves.
    fn codes_of_key(&self, join: &Join, probe: usize, build: usize) -> Result<Option<Arc<KeyCodes>>> {
        let Some(domain) = self.text_codes(&join.right, build)? else { return Ok(None) };
        let Some(others) = self.text_codes(&join.left, probe)? else { return Ok(None) };
        let rows = self.estimates.of(&join.left).rows + self.estimates.of(&join.right).rows;
        let is_same = domain.dictionary().id() == others.dictionary().id();
        let is_worth_it = is_same || domain.len().min(others.len()) as f64 * ROWS_PER_TRANSLATED_CODE <= rows;
        Ok(is_worth_it.then(|| KeyCodes::new(domain, &self.query.memory)))
    }

    /// Compresses the build side if it is large, and the probe side if it will probably be spilled; text that comes as
    /// codes in any case. Columns that a key or the residual computes with stay what they are; keys that are columns get
    /// narrower on both sides.
    fn compress_join(
        &self,
        join: &Join,
        codes: &CodesOfKeys,
        keys: &mut JoinKeys,
        probe: &mut Stream,
        build: &mut Stream,
    ) -> Result<CompressedSides> {
        let is_worth_it = self.is_worth_compressing(self.bytes_of(&join.right, &build.origin, f64::INFINITY));
        let build_columns = self.compressions_of(&join.right, build, is_worth_it)?;
        let mut sides = CompressedSides { probe: Vec::new(), build: build_columns };
        let is_compressed = sides.build.iter().chain(&nested_columns(probe)).any(Option::is_some);
        if !is_compressed && codes.iter().all(Option::is_none) {
            keys.probe.iter_mut().chain(&mut keys.build).for_each(|key| *key = as_stored(key));
            return Ok(sides);
        }
        // The condition besides the keys counts the columns of both sides.
        let may_append = join.filter.is_none();
        let (probe_filtered, build_filtered) = filter_columns(join)?;
        let mut build_fixed: BTreeSet<usize> = positions(build, &build_filtered).into_iter().collect();
        build_fixed.extend(keys.build.iter().flat_map(Expression::columns_used));
        sides.build = without(sides.build, &build_fixed);
        let used = |key: &Expression| key.columns_used();
        for index in 0..keys.build.len() {
            let Some(column) = keys.build[index].column_index() else { continue };
            let original = build.row_type[column].clone();
            if let Some(codes) = &codes[index] {
                keys.probe[index] = codes.of_probe(&keys.probe[index]);
                sides.build[column] = Some(Compressed { compression: codes.compression().clone(), original });
                continue;
            }
            let is_used_elsewhere = positions(build, &build_filtered).contains(&column)
                || keys.build.iter().enumerate().any(|(other, key)| other != index && used(key).contains(&column));
            let compression = key_compression(keys.probe[index].output(), keys.build[index].output());
            if let Some(compression) = compression.filter(|_| is_worth_it && !is_used_elsewhere) {
                keys.probe[index] = compression.compress(&keys.probe[index]);
                sides.build[column] = Some(Compressed { compression, original });
            }
        }
        add_nested(&mut sides.build, build, &positions(build, &build_filtered));
        let computed = stored_keys(&mut keys.build, build, &mut sides.build, true);
        self.compress_stream(build, &sides.build, computed);
        for key in &mut keys.build {
            if let Some(column) = key.column_index() {
                *key = Expression::column(column, build.row_type[column].clone());
            }
        }
        let expected = self.estimates.of(&join.right);
        let is_spilled = expected.rows * expected.row_bytes() > self.query.memory.memory_limit() as f64 * SPILL_SHARE;
        // Keys that are computed before their columns are compressed don't need them.
        let needing = keys.probe.iter().zip(codes).filter(|(_, codes)| !may_append || codes.is_none());
        let mut probe_fixed: BTreeSet<usize> = positions(probe, &probe_filtered).into_iter().collect();
        probe_fixed.extend(needing.flat_map(|(key, _)| key.columns_used()));
        sides.probe = match is_spilled {
            true => {
                let bytes = self.bytes_of(&join.left, &probe.origin, f64::INFINITY);
                without(self.compressions_of(&join.left, probe, self.is_worth_compressing(bytes))?, &probe_fixed)
            }
            false => vec![None; probe.row_type.len()],
        };
        add_nested(&mut sides.probe, probe, &positions(probe, &probe_filtered));
        let computed = stored_keys(&mut keys.probe, probe, &mut sides.probe, may_append);
        if sides.probe.iter().any(Option::is_some) {
            self.compress_stream(probe, &sides.probe, computed);
        }
        Ok(sides)
    }

    fn close_nested_loop_join(
        &mut self,
        spec: NestedLoopJoinSpec,
        join: &Join,
        build: Stream,
        pipelines: JoinPipelines,
    ) -> Result<(ProbeRoles, ExplainNode)> {
        let name = join_name("NestedLoopJoin", join, spec.kind);
        let operator = NestedLoopJoin::new(spec, self.query, name)?;
        let explain = self.close_as(&pipelines.build, build, operator.build_sink());
        let (probe, rest, output) = (operator.probe(), operator.rest(), operator.output_type());
        Ok((ProbeRoles { probe, rest, output, ready: pipelines.build, table: None }, explain))
    }

    fn close_hash_join(
        &mut self,
        spec: HashJoinSpec,
        join: &Join,
        note: &str,
        build: Stream,
        pipelines: JoinPipelines,
    ) -> Result<(ProbeRoles, ExplainNode)> {
        let name = join_name("HashJoin", join, spec.kind) + note;
        let operator = HashJoin::new(spec, self.query, name)?;
        let explain = self.close_as(&pipelines.build, build, operator.build_sink());
        let table = pipelines.table.expect("hash joins build a table");
        self.tables.push(JoinTable { table, builds: pipelines.build.clone() });
        self.close_alone(table, operator.table_source(), pipelines.build);
        let (probe, rest, output) = (operator.probe(), operator.rest(), operator.output_type());
        Ok((ProbeRoles { probe, rest, output, ready: vec![table], table: Some(table) }, explain))
    }

    /// What must hold besides the equalities, over the probe side's columns followed by the build side's.
    fn compile_residual(&mut self, join: &Join, probe: &mut Stream, build: &Stream) -> Result<Option<Predicate>> {
        let Some(filter) = &join.filter else { return Ok(None) };
        let schema = probe.schema.join(&build.schema).map_err(planning_error)?;
        let row_type: RowType = probe.row_type.iter().chain(&build.row_type).cloned().collect();
        let conjuncts = split_conjunction(filter)
            .into_iter()
            .map(|conjunct| Expression::compile(conjunct, &schema, &row_type, &self.context))
            .collect::<Result<Vec<_>>>()?;
        self.run_subqueries_before(probe)?;
        Ok(Some(Predicate::new(conjuncts)))
    }
}

/// Puts the probe on every branch of the probe side, and the rest behind all of them.
fn probe_stream(mut probe: Stream, roles: ProbeRoles) -> Stream {
    probe.explain_above(ExplainNode::of_transform(&roles.probe));
    probe.wait_for(roles.ready.iter().copied());
    probe.transform(roles.probe);
    roles.table.inspect(|&table| probe.note_table(table));
    if let Some(rest) = roles.rest {
        let mut branch = Branch::new(rest, roles.ready);
        branch.follows = (0..probe.branches.len()).collect();
        probe.branches.push(branch);
    }
    probe.row_type = roles.output;
    probe
}

/// Where wanted columns of a side are in its chunks.
fn positions(stream: &Stream, wanted: &BTreeSet<usize>) -> Vec<usize> {
    wanted.iter().map(|&index| stream.position(index).expect("wanted columns are there")).collect()
}

/// What the scans of the probe side may drop rows by: filters from above, and the ones that this join will fill.
fn probe_filters(
    join: &Join,
    kind: JoinKind,
    needs: &Needs,
    slots: &[Arc<OnceLock<Arc<KeyFilter>>>],
    codes: &CodesOfKeys,
    table: Option<usize>,
) -> Result<Vec<WantedFilter>> {
    let probe_schema = join.left.schema();
    let probe_width = probe_schema.fields().len();
    let mut filters = match kind {
        JoinKind::Inner
        | JoinKind::Left
        | JoinKind::ProbeSemi
        | JoinKind::ProbeAnti
        | JoinKind::Mark
        | JoinKind::Single => needs.filters_below(|index| (index < probe_width).then_some(index)),
        _ => Vec::new(),
    };
    if table.is_some() && drops_unmatched_probe_rows(kind) && join.null_equality == NullEquality::NullEqualsNothing {
        for (((key, _), slot), codes) in join.on.iter().zip(slots).zip(codes) {
            let Some(column) = filterable_column(key, probe_schema) else { continue };
            let ty = ColumnType::new(probe_schema.field(column).data_type().clone(), true)?;
            // A filter of bytes that stand for a nested value is of no use to a scan.
            if ty.physical != PhysicalType::Nested {
                let key = codes.as_ref().map(|codes| codes.of_probe(&Expression::column(0, ty)));
                filters.push(WantedFilter { column, key, slot: slot.clone(), filled_by: table });
            }
        }
    }
    Ok(filters)
}

/// Adds the columns of nested values, but for those that the residual computes with.
fn add_nested(columns: &mut CompressedColumns, stream: &Stream, filtered: &[usize]) {
    for (position, nested) in nested_columns(stream).into_iter().enumerate() {
        if nested.is_some() && !filtered.contains(&position) {
            columns[position] = nested;
        }
    }
}

fn join_kind(join_type: JoinType) -> Result<JoinKind> {
    Ok(match join_type {
        JoinType::Inner => JoinKind::Inner,
        JoinType::Left => JoinKind::Left,
        JoinType::Right => JoinKind::Right,
        JoinType::Full => JoinKind::Full,
        JoinType::LeftSemi => JoinKind::ProbeSemi,
        JoinType::LeftAnti => JoinKind::ProbeAnti,
        JoinType::RightSemi => JoinKind::BuildSemi,
        JoinType::RightAnti => JoinKind::BuildAnti,
        JoinType::LeftMark => JoinKind::Mark,
        JoinType::RightMark => return Err(Error::internal("a mark join whose marked side is the build side")),
    })
}

/// True if a probe row without a match leaves no trace in the output, so that the scan may drop it.
fn drops_unmatched_probe_rows(kind: JoinKind) -> bool {
    matches!(kind, JoinKind::Inner | JoinKind::Right | JoinKind::ProbeSemi | JoinKind::BuildSemi | JoinKind::BuildAnti)
}

fn wanted_by_side(kind: JoinKind, probe_width: usize, columns: &BTreeSet<usize>) -> Wanted {
    match kind {
        JoinKind::ProbeSemi | JoinKind::ProbeAnti => Wanted { probe: columns.clone(), build: BTreeSet::new() },
        JoinKind::BuildSemi | JoinKind::BuildAnti => Wanted { probe: BTreeSet::new(), build: columns.clone() },
        // The column behind the probe side's is the mark; it is always made.
        JoinKind::Mark => Wanted { probe: columns.range(..probe_width).copied().collect(), build: BTreeSet::new() },
        _ => Wanted {
            probe: columns.range(..probe_width).copied().collect(),
            build: columns.range(probe_width..).map(|index| index - probe_width).collect(),
        },
    }
}

/// The join's own columns that come out, in the order in which the operators emit them.
fn output_columns(kind: JoinKind, probe_width: usize, wanted: &Wanted) -> Vec<usize> {
    let offset = if matches!(kind, JoinKind::BuildSemi | JoinKind::BuildAnti) { 0 } else { probe_width };
    let mark = (kind == JoinKind::Mark).then_some(probe_width);
    wanted.probe.iter().copied().chain(wanted.build.iter().map(|index| index + offset)).chain(mark).collect()
}

/// The columns of both children that the join or its parent uses: (probe, build).
fn input_columns(join: &Join, wanted: &Wanted) -> Result<(BTreeSet<usize>, BTreeSet<usize>)> {
    let (probe_schema, build_schema) = (join.left.schema(), join.right.schema());
    let mut probe = wanted.probe.clone();
    probe.extend(columns_of_all(join.on.iter().map(|(probe, _)| probe), probe_schema)?);
    let mut build = wanted.build.clone();
    build.extend(columns_of_all(join.on.iter().map(|(_, build)| build), build_schema)?);
    let (probe_filtered, build_filtered) = filter_columns(join)?;
    probe.extend(probe_filtered);
    build.extend(build_filtered);
    Ok((probe, build))
}

/// The columns of both children that the condition besides the equalities reads: (probe, build).
fn filter_columns(join: &Join) -> Result<(BTreeSet<usize>, BTreeSet<usize>)> {
    let Some(filter) = &join.filter else { return Ok(Default::default()) };
    let (probe_schema, build_schema) = (join.left.schema(), join.right.schema());
    let both = probe_schema.join(build_schema).map_err(planning_error)?;
    let width = probe_schema.fields().len();
    let (probe, build): (BTreeSet<usize>, BTreeSet<usize>) =
        columns_of(filter, &both)?.into_iter().partition(|&column| column < width);
    Ok((probe, build.into_iter().map(|column| column - width).collect()))
}

/// The probe-side column on which a filter of the build keys may be evaluated: the key itself, or what it widens.
fn filterable_column(key: &Expr, schema: &DFSchema) -> Option<usize> {
    match key {
        Expr::Column(column) => schema.maybe_index_of_column(column),
        Expr::Cast(cast) if cast.field.data_type().is_integer() => {
            let Expr::Column(column) = &*cast.expr else { return None };
            let index = schema.maybe_index_of_column(column)?;
            schema.field(index).data_type().is_integer().then_some(index)
        }
        _ => None,
    }
}

/// Gives both sides of each equality one physical type.
fn unify_keys(probe: Vec<Expression>, build: Vec<Expression>) -> (Vec<Expression>, Vec<Expression>) {
    probe
        .into_iter()
        .zip(build)
        .map(|(probe, build)| {
            let common = common_physical(probe.output().physical, build.output().physical);
            (probe.with_physical(common), build.with_physical(common))
        })
        .unzip()
}

fn join_name(operator: &str, join: &Join, kind: JoinKind) -> String {
    let on: Vec<String> = join.on.iter().map(|(probe, build)| format!("{probe} = {build}")).collect();
    let filter = join.filter.as_ref().map(|filter| filter.to_string());
    let conditions: Vec<String> = on.into_iter().chain(filter).collect();
    format!("{operator} {kind:?} {}", conditions.join(" AND ")).trim_end().to_owned()
}
