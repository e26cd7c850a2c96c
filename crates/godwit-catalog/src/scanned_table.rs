//! Tables as the relations of plans.

use std::any::Any;
use std::sync::{Arc, OnceLock};

use godwit_common::Result;
use godwit_plan::{
    ColumnStatistics, ComputedColumn, Relation, RelationColumn, TableSample, TableStatistics, ValueRange,
};
use godwit_vector::sql::{collation_of_field, type_of_field};

use crate::{GeneratedKind, TableDefinition, TableRules, hidden_name};

/// A table that a plan scans.
pub struct ScannedTable {
    table: Arc<TableDefinition>,
    columns: Vec<RelationColumn>,
    keys: Vec<Vec<usize>>,
    computed: Vec<ComputedColumn>,
    /// Converted on first use.
    statistics: OnceLock<TableStatistics>,
}

impl ScannedTable {
    /// Returns the table as a relation; fails if it can't be used, or a column has a type unknown to SQL.
    pub fn new(table: Arc<TableDefinition>) -> Result<Self> {
        let none = TableRules::default();
        let rules = table.rules().unwrap_or(&none);
        table.check_usable()?;
        let column = |field: &arrow_schema::FieldRef| {
            let hidden = hidden_name(field.name());
            Ok(RelationColumn {
                name: hidden.unwrap_or(field.name()).to_owned(),
                ty: type_of_field(field)?,
                nullable: field.is_nullable(),
                hidden: hidden.is_some(),
                collation: collation_of_field(field).map(Arc::from),
            })
        };
        let columns = table.schema.fields().iter().map(column).collect::<Result<Vec<_>>>()?;
        let position = |name: &String| columns.iter().position(|column| column.name.eq_ignore_ascii_case(name));
        let keys = rules.keys.iter().filter_map(|key| key.columns.iter().map(position).collect()).collect();
        let computed = |column: &&crate::GeneratedColumn| column.kind == GeneratedKind::Virtual;
        let mut computed: Vec<&crate::GeneratedColumn> = rules.generated.iter().filter(computed).collect();
        computed.sort_by_key(|column| column.position);
        let computed = computed.into_iter().map(|column| {
            Ok(ComputedColumn {
                name: column.field.name().clone(),
                ty: type_of_field(&column.field)?,
                position: column.position,
                expression: column.expression.clone(),
            })
        });
        let computed = computed.collect::<Result<_>>()?;
        Ok(Self { table, columns, keys, computed, statistics: OnceLock::new() })
    }

    /// The table.
    pub fn definition(&self) -> &Arc<TableDefinition> {
        &self.table
    }

    fn converted_statistics(&self) -> TableStatistics {
        let of_column = |known: &crate::ColumnStatistics| ColumnStatistics {
            range: known.range.map(|range| ValueRange { min: range.min, max: range.max }),
            min: known.min.clone(),
            max: known.max.clone(),
            null_count: known.null_count,
            distinct: known.distinct,
            average_bytes: known.average_bytes,
        };
        let statistics = &self.table.statistics;
        TableStatistics {
            rows: statistics.rows,
            rows_exact: statistics.rows_exact,
            columns: statistics.columns.iter().map(of_column).collect(),
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

    fn keys(&self) -> &[Vec<usize>] {
        &self.keys
    }

    fn computed(&self) -> &[ComputedColumn] {
        &self.computed
    }

    fn evaluates_filters(&self) -> bool {
        self.table.evaluates_filters
    }

    fn sample(&self) -> Option<&dyn TableSample> {
        self.table.sample.as_deref()
    }

    fn is_same(&self, other: &dyn Relation) -> bool {
        let other = other.as_any().downcast_ref::<Self>();
        other.is_some_and(|other| Arc::ptr_eq(&self.table, &other.table))
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
