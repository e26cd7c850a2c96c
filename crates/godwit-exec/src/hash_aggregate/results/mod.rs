//! Results of collected values, which arrive group by group and sorted as the aggregate needs them.
//!
//! | file | results |
//! |---|---|
//! | `picks.rs` | values at known positions: first, last, quantiles |
//! | `grown.rs` | all values in one: strings and lists |
//! | `deviations.rs` | results that take two passes over the values: median absolute deviations |
//! | `runs.rs` | results that count equal neighbours: modes, histograms, entropies |

mod deviations;
mod grown;
mod picks;
mod runs;

use std::ops::Range;

use arrow_array::ArrayRef;
use arrow_schema::{DataType, FieldRef};
use godwit_common::{Error, Result};
use godwit_vector::{Bitmap, ColumnType, Flat, PhysicalType, StrColumn, Vector, nested_from_bytes, to_arrow};

use self::deviations::Deviations;
use self::grown::{Lists, Texts};
use self::picks::Picks;
pub(super) use self::picks::lists;
pub(crate) use self::picks::{integer_part_of_the_way, part_of_the_way};
use self::runs::Runs;
use super::plan::CollectedSet;

/// How the values of a group are combined.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum CollectedKind {
    /// The first one.
    First,
    /// The last one.
    Last,
    /// The values at these fractions of the way from the first to the last.
    Quantile {
        fractions: Vec<f64>,
        /// Interpolates if the fraction falls between two neighbours; otherwise the lower one is taken.
        interpolated: bool,
        /// A list, whatever the number of fractions.
        as_list: bool,
    },
    /// The values as one string, joined by this separator.
    Text { separator: String },
    /// A list.
    List,
    /// A list of the first values.
    Best {
        /// Maximum number of values.
        rows: u64,
    },
    /// Their median distance from their median; they are floats.
    MedianDeviation,
    /// The most frequent value; of several, the one that arrived first, or the first in the order.
    Mode {
        /// Ties go to the value that arrived first, not to the first in the order.
        by_arrival: bool,
    },
    /// A map from each value to how often it occurs.
    Histogram,
    /// The entropy of their distribution, in bits.
    Entropy,
}

impl CollectedKind {
    /// Whether a result takes more memory the more values there are.
    pub(super) fn result_grows(&self) -> bool {
        matches!(self, Self::Text { .. } | Self::List | Self::Best { .. } | Self::MedianDeviation | Self::Histogram)
    }

    /// Maximum number of values in a growing result.
    pub(super) fn rows_max(&self) -> u64 {
        if let Self::Best { rows } = self { *rows } else { u64::MAX }
    }

    /// Bytes that a value of a type takes in a growing result, excluding the bytes of strings.
    pub(super) fn value_bytes(&self, physical: PhysicalType) -> u64 {
        match (self, physical) {
            (Self::Text { separator }, _) => separator.len() as u64,
            (_, physical) => physical.width_bytes() as u64 + 1,
        }
    }

    /// Whether it takes the values from the smallest to the largest, regardless of the requested order.
    pub(super) fn is_sorted_by_value(&self) -> bool {
        matches!(
            self,
            Self::Quantile { .. } | Self::MedianDeviation | Self::Mode { .. } | Self::Histogram | Self::Entropy
        )
    }

    /// Whether the result is one of the values, unchanged.
    pub(super) fn keeps_type(&self) -> bool {
        match self {
            Self::First | Self::Last | Self::Mode { .. } => true,
            Self::Quantile { interpolated, as_list, .. } => !interpolated && !as_list,
            _ => false,
        }
    }

    /// Whether it needs the order of arrival of values.
    pub(super) fn needs_arrival(&self) -> bool {
        matches!(self, Self::Mode { by_arrival: true })
    }

    /// The name in error messages.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::First => "first",
            Self::Last => "last",
            Self::Quantile { .. } => "quantile",
            Self::Text { .. } => "string_agg",
            Self::List => "list",
            Self::Best { .. } => "a list of the best values",
            Self::MedianDeviation => "mad",
            Self::Mode { .. } => "mode",
            Self::Histogram => "histogram",
            Self::Entropy => "entropy",
        }
    }
}

/// Builds the results of some groups; the number of values of each is known.
pub(super) enum Results<'a> {
    Picks(Picks<'a>),
    Texts(Texts<'a>),
    Lists(Lists<'a>),
    Deviations(Deviations<'a>),
    Runs(Runs<'a>),
}

impl<'a> Results<'a> {
    pub(super) fn new(set: &'a CollectedSet, counts: &'a [u64], ty: &'a ColumnType) -> Result<Self> {
        let value = &set.types[0];
        Ok(match &set.kind {
            kind @ (CollectedKind::First | CollectedKind::Last | CollectedKind::Quantile { .. }) => {
                Self::Picks(Picks::new(kind, value, counts, ty))
            }
            CollectedKind::Text { separator } => Self::Texts(Texts::new(separator, counts)),
            kind @ (CollectedKind::List | CollectedKind::Best { .. }) => {
                Self::Lists(Lists::new(counts, kind.rows_max(), item_of(ty)?))
            }
            CollectedKind::MedianDeviation => Self::Deviations(Deviations::new(counts)),
            CollectedKind::Mode { .. } | CollectedKind::Histogram | CollectedKind::Entropy => {
                Self::Runs(Runs::new(&set.kind, value, counts, ty))
            }
        })
    }

    /// Adds the next rows of the sorted stream: the value, and its arrival if the kind needs it.
    pub(super) fn add(&mut self, columns: &[Vector]) -> Result<()> {
        match self {
            Self::Picks(picks) => picks.add(&columns[0]),
            Self::Texts(texts) => texts.add(&columns[0]),
            Self::Lists(lists) => return lists.add(&columns[0]),
            Self::Deviations(deviations) => return deviations.add(&columns[0]),
            Self::Runs(runs) => return runs.add(columns),
        }
        Ok(())
    }

    /// One value per group.
    pub(super) fn finish(self) -> Result<Vector> {
        match self {
            Self::Picks(picks) => picks.finish(),
            Self::Texts(texts) => texts.finish(),
            Self::Lists(lists) => lists.finish(),
            Self::Deviations(deviations) => deviations.finish(),
            Self::Runs(runs) => runs.finish(),
        }
    }
}

/// The position in the stream of values.
struct GroupCursor<'a> {
    counts: &'a [u64],
    /// The group of the next value, and its position among the group's values.
    group: usize,
    position: u64,
}

impl<'a> GroupCursor<'a> {
    fn new(counts: &'a [u64]) -> Self {
        Self { counts, group: 0, position: 0 }
    }

    /// Splits the next `rows` rows by group and calls `each(group, position of the first row, rows)` for each part.
    fn advance(&mut self, rows: usize, mut each: impl FnMut(usize, u64, Range<usize>)) {
        let mut row = 0;
        while row < rows {
            while self.position == self.counts[self.group] {
                self.group += 1;
                self.position = 0;
            }
            let left = self.counts[self.group] - self.position;
            let len = left.min((rows - row) as u64);
            each(self.group, self.position, row..row + len as usize);
            self.position += len;
            row += len as usize;
        }
    }
}

/// Which groups have values.
fn present(counts: &[u64]) -> Bitmap {
    Bitmap::from_fn(counts.len(), |group| counts[group] > 0)
}

/// The same values, with strings in a heap of their own, so that no other heap stays pinned.
fn owned(vector: Vector) -> Vector {
    match vector.to_flat() {
        Flat::Str(strings) => {
            let validity = vector.validity().cloned();
            Vector::flat(Flat::Str(StrColumn::from_strings(strings.iter())), None).with_validity(validity)
        }
        _ => vector,
    }
}

/// The items of a list type.
pub(super) fn item_of(ty: &ColumnType) -> Result<&FieldRef> {
    match &ty.logical {
        DataType::List(item) => Ok(item),
        other => Err(Error::internal(format!("a list as {other}"))),
    }
}

/// Collected values as items of a list or map. Nested ones were collected as bytes.
fn items_of(values: &Vector, item: &DataType) -> Result<ArrayRef> {
    match PhysicalType::natural(item)? {
        PhysicalType::Nested => to_arrow(&nested_from_bytes(values, item)?, item),
        _ => to_arrow(values, item),
    }
}
