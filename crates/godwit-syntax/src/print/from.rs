//! FROM.

use std::fmt::{Display, Formatter, Result};

use super::query::{Group, InParens};
use super::{Commas, Text, list, list_in_parens, optional, when};
use crate::ast::{
    AliasColumn, Join, JoinConstraint, JoinKind, Pivot, PivotColumn, PivotValues, Sample, SampleUnit, TableAlias,
    TableFactor, TableFactorKind, TableWithJoins, Unpivot, UnpivotColumn,
};

impl Display for TableWithJoins {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        self.relation.fmt(f)?;
        self.joins.iter().try_for_each(|join| write!(f, " {join}"))
    }
}

impl Display for Join {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let natural = when(self.constraint == JoinConstraint::Natural, "NATURAL ");
        let kind = match self.kind {
            JoinKind::Cross => "CROSS ",
            JoinKind::Inner => "",
            JoinKind::Left => "LEFT ",
            JoinKind::Right => "RIGHT ",
            JoinKind::Full => "FULL ",
            JoinKind::Semi => "SEMI ",
            JoinKind::Anti => "ANTI ",
            JoinKind::Positional => "POSITIONAL ",
        };
        write!(f, "{natural}{}{kind}JOIN {}", when(self.asof, "ASOF "), self.relation)?;
        match &self.constraint {
            JoinConstraint::None | JoinConstraint::Natural => Ok(()),
            JoinConstraint::On(condition) => write!(f, " ON {condition}"),
            JoinConstraint::Using(columns) => write!(f, " USING ({})", Commas(columns)),
        }
    }
}

impl Display for TableFactor {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match &self.kind {
            TableFactorKind::Table(name) => name.fmt(f)?,
            TableFactorKind::File(path) => Text(path).fmt(f)?,
            TableFactorKind::Function { call, lateral, with_ordinality } => {
                write!(f, "{}{call}{}", when(*lateral, "LATERAL "), when(*with_ordinality, " WITH ORDINALITY"))?;
            }
            TableFactorKind::Subquery { lateral, query } => write!(f, "{}({query})", when(*lateral, "LATERAL "))?,
            TableFactorKind::Nested(tables) => write!(f, "({tables})")?,
            TableFactorKind::Pivot(pivot) => pivot_suffix(f, pivot)?,
            TableFactorKind::Unpivot(unpivot) => unpivot_suffix(f, unpivot)?,
        }
        optional(f, " AS ", self.alias.as_ref())?;
        optional(f, " TABLESAMPLE ", self.sample.as_ref())
    }
}

impl Display for TableAlias {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        self.name.fmt(f)?;
        list_in_parens(f, " ", &self.columns)
    }
}

impl Display for AliasColumn {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        self.name.fmt(f)?;
        optional(f, " ", self.data_type.as_ref())
    }
}

impl Display for Sample {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        optional(f, "", self.method.as_ref())?;
        let unit = match self.unit {
            SampleUnit::Percent => "PERCENT",
            SampleUnit::Rows => "ROWS",
        };
        write!(f, "({} {unit})", self.amount)?;
        self.seed.as_ref().map_or(Ok(()), |seed| write!(f, " REPEATABLE ({seed})"))
    }
}

/// `source PIVOT (…)`.
fn pivot_suffix(f: &mut Formatter<'_>, pivot: &Pivot) -> Result {
    write!(f, "{} PIVOT ({} FOR", pivot.source, Commas(&pivot.aggregates))?;
    pivot.on.iter().try_for_each(|column| write!(f, " {column}"))?;
    list(f, " GROUP BY ", pivot.group_by.as_deref().unwrap_or_default())?;
    f.write_str(")")
}

/// `source UNPIVOT (…)`.
fn unpivot_suffix(f: &mut Formatter<'_>, unpivot: &Unpivot) -> Result {
    write!(f, "{} UNPIVOT {}(", unpivot.source, when(unpivot.include_nulls, "INCLUDE NULLS "))?;
    match &unpivot.values[..] {
        [value] => value.fmt(f)?,
        values => InParens(values).fmt(f)?,
    }
    write!(f, " FOR {} IN ({}))", unpivot.name, Commas(&unpivot.columns))
}

impl Display for Pivot {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "PIVOT {}", self.source)?;
        list(f, " ON ", &self.on)?;
        list(f, " USING ", &self.aggregates)?;
        list(f, " GROUP BY ", self.group_by.as_deref().unwrap_or_default())
    }
}

impl Display for PivotColumn {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match &self.exprs[..] {
            [one] => super::expression::Operand(one, crate::parse::level::PATTERN + 1).fmt(f)?,
            several => InParens(several).fmt(f)?,
        }
        match &self.values {
            PivotValues::All => Ok(()),
            PivotValues::List(values) => write!(f, " IN ({})", Commas(values)),
            PivotValues::Query(query) => write!(f, " IN ({query})"),
            PivotValues::Enum(name) => write!(f, " IN {name}"),
        }
    }
}

impl Display for Unpivot {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "UNPIVOT {}{}", self.source, when(self.include_nulls, " INCLUDE NULLS"))?;
        write!(f, " ON {} INTO NAME {} VALUE {}", Commas(&self.columns), self.name, Commas(&self.values))
    }
}

impl Display for UnpivotColumn {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        Group(&self.exprs).fmt(f)?;
        optional(f, " AS ", self.alias.as_ref())
    }
}
