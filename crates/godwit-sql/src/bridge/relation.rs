//! Today's tables as the relations of plans.

use std::any::Any;
use std::sync::{Arc, OnceLock};

use datafusion_common::{Column, DFSchema};
use datafusion_expr::Expr as PlannerExpr;
use godwit_common::Result;
use godwit_plan::{
    ColumnId, ColumnStatistics, ComputedColumn, Expr, Relation, RelationColumn, SampleCount, TableSample,
    TableStatistics, ValueRange,
};

use super::expr::Expressions;
use super::types::{sql_type, value};
use crate::{GeneratedKind, ROW_ID, TableDefinition};

/// A table that scans of a plan read.
pub struct ScannedTable {
    table: Arc<TableDefinition>,
    columns: Vec<RelationColumn>,
    computed: Vec<ComputedColumn>,
    keys: Vec<Vec<usize>>,
    /// Converted when they are first asked for.
    statistics: OnceLock<TableStatistics>,
    sample: Option<Sample>,
}

/// The sample of a table, asked with filters of plans.
struct Sample {
    sample: Arc<dyn crate::TableSample>,
    schema: Arc<DFSchema>,
}

impl ScannedTable {
    /// The table as a relation; an error if a column has a type that SQL doesn't know.
    pub fn new(table: Arc<TableDefinition>) -> Result<Self> {
        let column = |field: &arrow_schema::FieldRef| {
            Ok(RelationColumn {
                name: field.name().clone(),
                ty: sql_type(field.data_type())?,
                nullable: field.is_nullable(),
                hidden: field.name() == ROW_ID,
            })
        };
        let columns = table.schema.fields().iter().map(column).collect::<Result<Vec<_>>>()?;
        let position = |name: &String| columns.iter().position(|column| column.name.eq_ignore_ascii_case(name));
        let rules = table.rules().map_or(&[][..], |rules| &rules.keys);
        let keys = rules.iter().filter_map(|key| key.columns.iter().map(position).collect()).collect();
        let generated = table.rules().map_or(&[][..], |rules| &rules.generated);
        let mut computed = Vec::new();
        for column in generated.iter().filter(|column| column.kind == GeneratedKind::Virtual) {
            let (name, ty) = (column.field.name().clone(), sql_type(column.field.data_type())?);
            computed.push(ComputedColumn {
                name,
                ty,
                position: column.position,
                expression: column.expression.clone(),
            });
        }
        computed.sort_by_key(|column| column.position);
        let sample = match (&table.sample, DFSchema::try_from(Arc::clone(&table.schema))) {
            (Some(sample), Ok(schema)) => Some(Sample { sample: Arc::clone(sample), schema: Arc::new(schema) }),
            _ => None,
        };
        Ok(Self { table, columns, computed, keys, statistics: OnceLock::new(), sample })
    }

    /// What today's planner knows of it.
    pub fn definition(&self) -> &Arc<TableDefinition> {
        &self.table
    }

    fn converted_statistics(&self) -> TableStatistics {
        let of_column = |(column, known): (&RelationColumn, &crate::ColumnStatistics)| ColumnStatistics {
            range: known.range.map(|range| ValueRange { min: range.min, max: range.max }),
            min: known.min.as_ref().and_then(|least| value(least, &column.ty)).filter(|least| !least.is_null()),
            max: known.max.as_ref().and_then(|greatest| value(greatest, &column.ty)).filter(|most| !most.is_null()),
            null_count: known.null_count,
            distinct: known.distinct,
            average_bytes: known.average_bytes,
        };
        let statistics = &self.table.statistics;
        TableStatistics {
            rows: statistics.rows,
            rows_exact: statistics.rows_exact,
            columns: self.columns.iter().zip(&statistics.columns).map(of_column).collect(),
        }
    }
}

impl std::fmt::Debug for ScannedTable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.table.fmt(f)
    }
}

impl Relation for ScannedTable {
    fn name(&self) -> &str {
        &self.table.name
    }

    fn columns(&self) -> &[RelationColumn] {
        &self.columns
    }

    fn statistics(&self) -> &TableStatistics {
        self.statistics.get_or_init(|| self.converted_statistics())
    }

    fn computed(&self) -> &[ComputedColumn] {
        &self.computed
    }

    fn keys(&self) -> &[Vec<usize>] {
        &self.keys
    }

    fn evaluates_filters(&self) -> bool {
        self.table.evaluates_filters
    }

    fn sample(&self) -> Option<&dyn TableSample> {
        self.sample.as_ref().map(|sample| sample as &dyn TableSample)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Sample {
    /// The filters over the table's columns; `None` if one can't be told to today's sample.
    fn filters(&self, filters: &[Expr], columns: &[(ColumnId, usize)]) -> Option<Vec<PlannerExpr>> {
        let name_of = |id: ColumnId| {
            let (_, at) = columns.iter().find(|(known, _)| *known == id)?;
            Some(Column::new_unqualified(self.schema.field(*at).name()))
        };
        let expressions = Expressions::over_names(&self.schema, &name_of);
        filters.iter().map(|filter| expressions.convert(filter).ok()).collect()
    }
}

impl TableSample for Sample {
    fn passing(&self, filters: &[Expr], columns: &[(ColumnId, usize)]) -> Option<SampleCount> {
        let count = self.sample.passing(&self.filters(filters, columns)?)?;
        Some(SampleCount { passing: count.passing, rows: count.rows })
    }

    fn keys(&self, filters: &[Expr], columns: &[(ColumnId, usize)], column: usize) -> Option<Vec<i64>> {
        self.sample.keys(&self.filters(filters, columns)?, self.schema.field(column).name())
    }

    fn is_whole(&self) -> bool {
        self.sample.is_whole()
    }
}
