//! A version of a table, as queries see it.

use std::sync::{Arc, OnceLock};

use arrow_schema::{DataType, Field, Schema, SchemaRef};
use godwit_catalog::{ColumnStatistics, ROW_ID, TableDefinition, TableRules, TableStatistics, WritableTable};
use godwit_common::{Error, Result};
use godwit_expression::TextDomain;
use godwit_memory::BufferManager;
use godwit_pipeline::{QueryContext, SampledTable, Scan, ScanRequest, Source, Table, TableHandle};
use godwit_storage::table::{ColumnSummary, Main, stored_type};
use godwit_types::Value;
use godwit_vector::kernels::cast::min_max;
use godwit_vector::kernels::concatenate::concatenated;
use godwit_vector::sql::sql_type;
use godwit_vector::{Chunk, ColumnType, PhysicalType, RowType, Vector};

use crate::codes::TextCodes;
use crate::deleted::{DELTA, DeletedRows, Marks, RowId};
use crate::delta::{Delta, TextForm};
use crate::moves::{Epoch, Moves};
use crate::objects::TableObjects;
use crate::scan::sample;

/// Maximum bytes of the smallest and largest string reported to the planner.
const STATISTICS_BYTES_MAX: usize = 64;

/// A snapshot of a table: the main part, the rows added since, and which of both are deleted.
pub struct TableVersion {
    name: String,
    /// Replaced whenever the table is created or altered: versions of one history share it.
    rules: Arc<TableRules>,
    schema: SchemaRef,
    row_type: RowType,
    /// The same with the row id after the columns.
    scan_type: RowType,
    /// How the columns are kept, see [`stored_type`].
    stored_types: Vec<PhysicalType>,
    main: Arc<Main>,
    delta: Delta,
    deleted: DeletedRows,
    /// The epoch that the row ids belong to.
    epoch: Arc<Epoch>,
    /// Shared by versions that differ only in the places of rows.
    content: Arc<Content>,
    objects: Arc<TableObjects>,
    /// Statistics over both parts, by column, including deleted rows.
    summaries: Vec<ColumnSummary>,
    rows: u64,
    /// By column, once requested.
    codes: Vec<OnceLock<Option<Arc<TextCodes>>>>,
    memory: BufferManager,
}

/// Identifies the rows of a version, wherever they are stored.
#[derive(Default)]
struct Content;

/// The result of folding a version: rows of its delta and of row groups that have lost many rows are now in row groups
/// of their own.
pub(crate) struct Fold {
    pub main: Arc<Main>,
    pub deleted: DeletedRows,
    pub moves: Moves,
}

impl TableVersion {
    /// A table without a delta. `memory` is the database's, and holds dictionaries and blocks.
    pub(crate) fn new(name: &str, main: Main, rules: Arc<TableRules>, memory: &BufferManager) -> Result<Arc<Self>> {
        let fields: Vec<Field> = main.columns.iter().map(|column| column.field.clone()).collect();
        let objects = TableObjects::new(name, &fields, memory);
        objects.identify(&main);
        Self::assemble(
            Self {
                name: name.to_owned(),
                rules,
                schema: Arc::new(Schema::empty()),
                row_type: Vec::new(),
                scan_type: Vec::new(),
                stored_types: Vec::new(),
                main: Arc::new(main),
                delta: Delta::default(),
                deleted: DeletedRows::default(),
                epoch: Arc::default(),
                content: Arc::default(),
                objects,
                summaries: Vec::new(),
                rows: 0,
                codes: Vec::new(),
                memory: memory.clone(),
            }
            .summarized()?,
        )
    }

    /// Computes the summaries of all rows.
    fn summarized(mut self) -> Result<Self> {
        self.summaries = self.main.columns.iter().map(|column| column.summary.clone()).collect();
        let summaries = &mut self.summaries;
        self.delta.visit(0, |chunk| {
            for (summary, column) in summaries.iter_mut().zip(chunk.dense_columns()) {
                add_to_summary(summary, &column);
            }
            Ok(())
        })?;
        Ok(self)
    }

    /// Derives the other fields from the parts.
    fn assemble(mut self) -> Result<Arc<Self>> {
        let fields: Vec<Field> = self.main.columns.iter().map(|column| column.field.clone()).collect();
        self.schema = Arc::new(Schema::new(fields));
        let columns = self.schema.fields().iter().zip(&self.summaries).map(|(field, summary)| {
            let ty = ColumnType::new(field.data_type().clone(), summary.nulls > 0)?;
            let range = summary.range.filter(|range| ty.physical.is_integer() && range.fits(ty.physical));
            Ok(ColumnType { range, ..ty })
        });
        self.row_type = columns.collect::<Result<_>>()?;
        let fields = self.schema.fields().iter();
        self.stored_types = fields.map(|field| stored_type(field.data_type())).collect::<Result<_>>()?;
        self.scan_type.clone_from(&self.row_type);
        self.scan_type.push(ColumnType::new(DataType::Int64, false)?);
        self.rows = self.main.rows() + self.delta.rows() as u64 - self.deleted.rows();
        self.codes = self.row_type.iter().map(|_| OnceLock::new()).collect();
        Ok(Arc::new(self))
    }

    /// A copy, to be changed and assembled. Its content counts as different.
    fn parts(&self) -> Self {
        Self {
            name: self.name.clone(),
            rules: self.rules.clone(),
            schema: self.schema.clone(),
            row_type: Vec::new(),
            scan_type: Vec::new(),
            stored_types: Vec::new(),
            main: self.main.clone(),
            delta: self.delta.clone(),
            deleted: self.deleted.clone(),
            epoch: self.epoch.clone(),
            content: Arc::default(),
            objects: self.objects.clone(),
            summaries: self.summaries.clone(),
            rows: self.rows,
            codes: Vec::new(),
            memory: self.memory.clone(),
        }
    }

    /// The table with another main part, which may have more row groups, and the same delta.
    pub(crate) fn with_main(&self, main: Main) -> Result<Arc<Self>> {
        self.objects.identify(&main);
        Self::assemble(Self { main: Arc::new(main), ..self.parts() }.summarized()?)
    }

    /// The table with the result of folding `earlier`, and with all changes since then; `None` if there was more than
    /// small changes of rows.
    pub(crate) fn folded(&self, earlier: &TableVersion, fold: &Fold) -> Result<Option<Arc<Self>>> {
        let is_later = Arc::ptr_eq(&self.epoch, &earlier.epoch) && Arc::ptr_eq(&self.main, &earlier.main);
        if !is_later || !self.is_same_table(earlier) {
            return Ok(None);
        }
        let since = self.deleted.since(&earlier.deleted);
        let since = fold.moves.applied(&since).ok_or_else(|| Error::internal("a row was deleted twice"))?;
        let (main, deleted) = (fold.main.clone(), fold.deleted.with(&since, &self.memory)?);
        self.objects.identify(&main);
        let (delta, epoch, content) = (self.delta_since(earlier)?, Arc::default(), self.content.clone());
        let folded = Self { main, delta, deleted, epoch, content, ..self.parts() };
        Self::assemble(folded.summarized()?).map(Some)
    }

    /// The table with more rows in the delta.
    pub(crate) fn with_rows(&self, columns: &[Vector], rows: usize) -> Result<Arc<Self>> {
        let mut next = self.parts();
        for (summary, column) in next.summaries.iter_mut().zip(columns) {
            add_to_summary(summary, column);
        }
        let memory = self.memory.for_object(self.objects.delta());
        next.delta.append(columns, rows, |column| self.text_form(column), &memory)?;
        Self::assemble(next)
    }

    /// How strings of a column are kept in the delta.
    fn text_form(&self, column: usize) -> TextForm {
        let name = self.schema.field(column).name();
        let is_key = |columns: &[String]| matches!(columns, [only] if only.eq_ignore_ascii_case(name));
        if self.rules.keys.iter().any(|key| is_key(&key.columns)) {
            return TextForm::Values;
        }
        // Where the main part has codes, all rows should.
        if self.main.columns[column].dictionary.is_some() { TextForm::Codes } else { TextForm::CodesIfFew }
    }

    /// The table without these rows.
    pub(crate) fn without_rows(&self, marks: &Marks) -> Result<Arc<Self>> {
        let deleted = self.deleted.with(marks, &self.memory)?;
        Self::assemble(Self { deleted, ..self.parts() })
    }

    /// The same rows under other rules: counts as a different table.
    pub(crate) fn with_rules(&self, rules: TableRules) -> Result<Arc<Self>> {
        Self::assemble(Self { rules: Arc::new(rules), epoch: Arc::default(), ..self.parts() })
    }

    /// The same rows under other names and rules: counts as a different table.
    pub(crate) fn altered(&self, name: &str, schema: &Schema, rules: TableRules) -> Result<Arc<Self>> {
        let mut main = self.main.as_ref().clone();
        for (column, field) in main.columns.iter_mut().zip(schema.fields()) {
            assert_eq!(column.field.data_type(), field.data_type(), "types stay");
            column.field = field.as_ref().clone();
        }
        let (name, rules) = (name.to_owned(), Arc::new(rules));
        Self::assemble(Self { name, rules, main: Arc::new(main), epoch: Arc::default(), ..self.parts() })
    }

    /// True if these columns could be rows of the table.
    pub(crate) fn fits(&self, columns: &[Vector], rows: usize) -> bool {
        let fits = |(column, &ty): (&Vector, &PhysicalType)| column.len() == rows && column.physical() == ty;
        columns.len() == self.stored_types.len() && columns.iter().zip(&self.stored_types).all(fits)
    }

    /// True if the row exists, deleted or not.
    pub(crate) fn has_row(&self, RowId { place, row }: RowId) -> bool {
        match place {
            DELTA => (row as usize) < self.delta.rows(),
            group => self.main.groups.get(group as usize).is_some_and(|group| row < group.rows),
        }
    }

    /// True if all these rows exist, deleted or not.
    pub(crate) fn has_rows(&self, marks: &Marks) -> bool {
        marks.places().all(|(place, rows)| rows.last().is_none_or(|row| self.has_row(RowId { place, row })))
    }

    /// The delta starting at row `first`, including deleted rows, as dense columns.
    pub(crate) fn delta_from(&self, first: usize) -> Result<(Vec<Vector>, usize)> {
        let mut chunks = Vec::new();
        self.delta.visit(first, |chunk| {
            chunks.push(chunk.dense_columns());
            Ok(())
        })?;
        let column = |at: usize| concatenated(&chunks.iter().map(|chunk| chunk[at].clone()).collect::<Vec<_>>());
        let columns = match chunks.is_empty() {
            true => Vec::new(),
            false => (0..self.schema.fields().len()).map(column).collect(),
        };
        Ok((columns, self.delta.rows() - first))
    }

    /// The rows added since `earlier`, a version of the same history and epoch, as a table of their own.
    pub fn added_since(&self, earlier: &TableVersion) -> Result<Arc<Self>> {
        let groups_before = earlier.main.groups.len();
        let groups = self.main.groups[groups_before..].to_vec();
        let main = Main { columns: self.main.columns.clone(), groups };
        let mut deleted = Marks::default();
        for (place, set) in self.deleted.places() {
            for row in set.iter() {
                let (place, row) = match place {
                    DELTA => (Some(DELTA), row.checked_sub(earlier.delta.rows() as u32)),
                    place => (place.checked_sub(groups_before as u32), Some(row)),
                };
                if let (Some(place), Some(row)) = (place, row) {
                    deleted.insert(RowId { place, row });
                }
            }
        }
        let delta = self.delta_since(earlier)?;
        let deleted = DeletedRows::default().with(&deleted, &self.memory)?;
        Self::assemble(Self { main: Arc::new(main), delta, deleted, ..self.parts() })
    }

    /// The rows of the delta that an earlier version, whose delta is a prefix of it, doesn't have.
    fn delta_since(&self, earlier: &TableVersion) -> Result<Delta> {
        let memory = self.memory.for_object(self.objects.delta());
        self.delta.since(earlier.delta.rows(), |column| self.text_form(column), &memory)
    }

    /// Passes on the undeleted rows of the delta, starting at row `first`.
    pub(crate) fn visit_live_delta(&self, first: usize, mut visit: impl FnMut(&Chunk) -> Result<()>) -> Result<()> {
        let mut start = first;
        self.delta.visit(first, |mut chunk| {
            let live = self.deleted.of(DELTA).and_then(|set| set.others(start, chunk.len()));
            start += chunk.len();
            if let Some(live) = live {
                chunk.select(&live);
            }
            if chunk.is_empty() { Ok(()) } else { visit(&chunk) }
        })
    }

    /// Passes on the undeleted rows of a row group, in windows.
    pub(crate) fn visit_live_group(&self, group: usize, mut visit: impl FnMut(&Chunk) -> Result<()>) -> Result<()> {
        let mut start = 0;
        let columns: Vec<usize> = (0..self.main.columns.len()).collect();
        self.main.for_each_window(group, &columns, &self.memory, |columns, rows| {
            let live = self.deleted.of(group as u32).and_then(|set| set.others(start, rows));
            start += rows;
            let mut chunk = Chunk::new(columns.to_vec(), rows);
            if let Some(live) = live {
                chunk.select(&live);
            }
            if chunk.is_empty() { Ok(()) } else { visit(&chunk) }
        })
    }

    /// True if both are versions of one table, without an ALTER TABLE between them.
    pub fn is_same_table(&self, other: &TableVersion) -> bool {
        Arc::ptr_eq(&self.rules, &other.rules)
    }

    /// Defaults and constraints.
    pub fn rules(&self) -> &Arc<TableRules> {
        &self.rules
    }

    pub(crate) fn deleted(&self) -> &DeletedRows {
        &self.deleted
    }

    /// See [`RowId`].
    pub(crate) fn epoch(&self) -> &Arc<Epoch> {
        &self.epoch
    }

    /// True if both have the same rows, possibly at other places.
    pub(crate) fn is_same_content(&self, other: &TableVersion) -> bool {
        Arc::ptr_eq(&self.content, &other.content)
    }

    /// The table's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Number of rows.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Names and types of the columns.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    pub(crate) fn row_type(&self) -> &RowType {
        &self.row_type
    }

    /// How the columns are kept, in the main part and in the delta.
    pub(crate) fn stored_types(&self) -> &[PhysicalType] {
        &self.stored_types
    }

    /// The rows in blocks.
    pub fn main(&self) -> &Arc<Main> {
        &self.main
    }

    /// The columns of a scan: those of the table, then the row id.
    pub(crate) fn scan_type(&self) -> &RowType {
        &self.scan_type
    }

    /// The rows that aren't in row groups yet, including deleted ones.
    pub(crate) fn delta(&self) -> &Delta {
        &self.delta
    }

    /// Number of rows in the delta, including deleted ones.
    pub fn delta_rows(&self) -> usize {
        self.delta.rows()
    }

    /// Number of deleted rows that still take room.
    pub fn deleted_rows(&self) -> u64 {
        self.deleted.rows()
    }

    /// The memory objects of its parts.
    pub(crate) fn objects(&self) -> &TableObjects {
        &self.objects
    }

    pub(crate) fn memory(&self) -> &BufferManager {
        &self.memory
    }

    /// Where [`Self::codes`] caches its result; `None` for row ids.
    pub(crate) fn known_codes(&self, column: usize) -> Option<&OnceLock<Option<Arc<TextCodes>>>> {
        self.codes.get(column)
    }

    /// The catalog definition of this version.
    pub fn definition(self: &Arc<Self>) -> Arc<TableDefinition> {
        let table = Arc::new(Scannable { version: self.clone(), with_row_ids: false });
        let handle = Arc::new(TableHandle(table.clone()));
        let statistics = Arc::new(self.statistics());
        let definition = TableDefinition::new(&self.name, self.schema.clone(), statistics, handle);
        let stored_rows = self.main.rows() + self.delta.rows() as u64;
        let sample = SampledTable::new(table, stored_rows, &self.memory);
        Arc::new(definition.with_writable(Arc::new(Writable(self.clone()))).with_sample(Arc::new(sample)))
    }

    fn statistics(&self) -> TableStatistics {
        let columns = self.row_type.iter().zip(&self.summaries).map(|(ty, summary)| {
            let text = |bytes: &[u8]| {
                let text = String::from_utf8(bytes.get(..STATISTICS_BYTES_MAX).unwrap_or(bytes).to_vec()).ok()?;
                Some(Value::text(text))
            };
            let is_whole = |bytes: &&[u8]| bytes.len() <= STATISTICS_BYTES_MAX;
            let is_nested = ty.physical == PhysicalType::Nested;
            let (min, max) = match (&summary.strings, summary.range) {
                _ if is_nested => (None, None),
                // A truncated bound is still a lower bound, but not an upper one.
                (Some((min, max)), _) => (text(min), Some(&max[..]).filter(is_whole).and_then(text)),
                (None, Some(range)) => {
                    let value = |inside| Value::of_integer(inside, &sql_type(&ty.logical).ok()?);
                    (value(range.min), value(range.max))
                }
                (None, None) => (None, None),
            };
            // It isn't known how many of the deleted rows are NULL.
            let null_count = (self.deleted.rows() == 0 || summary.nulls == 0).then_some(summary.nulls);
            let values = self.rows - null_count.unwrap_or(0).min(self.rows);
            let average_bytes = match ty.physical {
                PhysicalType::Str | PhysicalType::Nested => {
                    (values > 0).then(|| summary.string_bytes as f64 / values as f64)
                }
                physical => Some(physical.width_bytes() as f64),
            };
            ColumnStatistics {
                range: ty.range,
                min,
                max,
                null_count,
                distinct: Some(summary.distinct.min(values)),
                average_bytes,
            }
        });
        TableStatistics { rows: self.rows, rows_exact: true, columns: columns.collect() }
    }
}

/// Adds the values of a vector.
fn add_to_summary(summary: &mut ColumnSummary, vector: &Vector) {
    let nulls = (0..vector.len()).filter(|&row| !vector.is_valid(row)).count();
    summary.nulls += nulls as u64;
    summary.distinct += (vector.len() - nulls) as u64;
    let physical = vector.physical();
    if physical == PhysicalType::Str {
        let flat = vector.to_flat();
        let strings = flat.strings();
        let mut bytes = 0;
        for row in (0..vector.len()).filter(|&row| vector.is_valid(row)) {
            let string = strings.get(row);
            bytes += string.len();
            match &mut summary.strings {
                Some((min, max)) => {
                    if string < &min[..] {
                        *min = string.to_vec();
                    }
                    if string > &max[..] {
                        *max = string.to_vec();
                    }
                }
                None => summary.strings = Some((string.to_vec(), string.to_vec())),
            }
        }
        summary.string_bytes += bytes as u64;
        return;
    }
    if physical.is_integer()
        && let Some(found) = min_max(vector)
    {
        summary.range = Some(match summary.range {
            Some(known) => godwit_vector::ValueRange { min: known.min.min(found.min), max: known.max.max(found.max) },
            None => found,
        });
    }
}

/// A version, as the executor sees it.
struct Scannable {
    version: Arc<TableVersion>,
    with_row_ids: bool,
}

impl Table for Scannable {
    fn row_type(&self) -> &RowType {
        if self.with_row_ids { self.version.scan_type() } else { self.version.row_type() }
    }

    fn scan(self: Arc<Self>, request: ScanRequest, query: &Arc<QueryContext>) -> Result<Arc<dyn Source>> {
        Ok(Scan::new(self.version.clone(), request, query)?)
    }

    fn text_codes(&self, column: usize) -> Result<Option<Arc<TextDomain>>> {
        self.version.text_codes(column)
    }

    fn text_domain(&self, column: usize, _memory: &BufferManager) -> Result<Option<Arc<TextDomain>>> {
        self.version.text_domain(column)
    }

    fn sample(&self, column: usize, memory: &BufferManager) -> Result<Option<Vector>> {
        sample::read(&self.version, column, memory)
    }
}

/// A version as seen by statements that change rows.
struct Writable(Arc<TableVersion>);

impl WritableTable for Writable {
    fn with_row_ids(&self) -> Arc<TableDefinition> {
        let version = &self.0;
        let handle = Arc::new(TableHandle(Arc::new(Scannable { version: version.clone(), with_row_ids: true })));
        let mut statistics = version.statistics();
        let distinct = Some(version.rows());
        let ids = ColumnStatistics { distinct, null_count: Some(0), average_bytes: Some(8.0), ..Default::default() };
        statistics.columns.push(ids);
        let fields = version.schema().fields().iter().map(|field| field.as_ref().clone());
        let fields = fields.chain([Field::new(ROW_ID, DataType::Int64, false)]).collect::<Vec<_>>();
        let schema = Arc::new(Schema::new(fields));
        let definition = TableDefinition::new(version.name(), schema, Arc::new(statistics), handle);
        Arc::new(definition.with_writable(Arc::new(Writable(version.clone()))))
    }

    fn rules(&self) -> &TableRules {
        self.0.rules()
    }
}
