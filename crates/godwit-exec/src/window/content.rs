//! The values of a frame, in the form that aggregates without a fixed-size state need.

use std::collections::{BTreeMap, HashMap, VecDeque};

use super::call::ListedKind;
use super::config::LISTED_VALUE_BYTES;

/// A value that isn't NULL. Integers are kept as they are, floats as integers that sort the same way.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Item {
    Number(i128),
    Text(Vec<u8>),
}

impl Item {
    pub(super) fn text(&self) -> &[u8] {
        match self {
            Item::Text(text) => text,
            Item::Number(_) => panic!("a number among strings"),
        }
    }

    /// Bytes that the value takes, including its entry in a list.
    pub(super) fn bytes(&self) -> usize {
        LISTED_VALUE_BYTES + if let Item::Text(text) = self { text.len() } else { 0 }
    }
}

/// Which of two values is the better one.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Better {
    Smaller,
    Larger,
}

/// The values of a frame.
pub(super) enum Content {
    /// For a frame that never moves back: the values that can still become the result. Each is better than all after
    /// it, so the best is first. Only one if rows never leave the frame.
    Best { better: Better, rows_leave: bool, values: VecDeque<(usize, Item)> },
    /// How often each value occurs, in order.
    Counted { better: Better, counts: BTreeMap<Item, u64> },
    /// How often each value occurs.
    Distinct(HashMap<Item, u64>),
    /// Numbers in order.
    Sorted(Vec<i128>),
    /// Nothing: the result is built from the rows.
    Rows,
}

impl Content {
    /// `comes_back`: rows may come into the frame again, or into its middle.
    pub(super) fn new(kind: &ListedKind, rows_leave: bool, comes_back: bool) -> Self {
        let extreme = |better| match comes_back {
            true => Content::Counted { better, counts: BTreeMap::new() },
            false => Content::Best { better, rows_leave, values: VecDeque::new() },
        };
        match kind {
            ListedKind::Min => extreme(Better::Smaller),
            ListedKind::Max => extreme(Better::Larger),
            ListedKind::CountDistinct => Content::Distinct(HashMap::new()),
            ListedKind::Quantile(_) => Content::Sorted(Vec::new()),
            ListedKind::StringAgg(_) => Content::Rows,
        }
    }

    pub(super) fn clear(&mut self) {
        match self {
            Content::Best { values, .. } => values.clear(),
            Content::Counted { counts, .. } => counts.clear(),
            Content::Distinct(counts) => counts.clear(),
            Content::Sorted(values) => values.clear(),
            Content::Rows => {}
        }
    }

    /// Adds the value of a row; returns the number of bytes added and removed.
    pub(super) fn add(&mut self, row: usize, item: &Item) -> (usize, usize) {
        match self {
            Content::Best { better, rows_leave, values } => {
                let is_better = |a: &Item, b: &Item| if *better == Better::Smaller { a < b } else { a > b };
                if !*rows_leave && values.front().is_some_and(|(_, known)| !is_better(item, known)) {
                    return (0, 0);
                }
                let mut freed = 0;
                while let Some((_, beaten)) = values.pop_back_if(|(_, known)| !is_better(known, item)) {
                    freed += beaten.bytes();
                }
                values.push_back((row, item.clone()));
                (item.bytes(), freed)
            }
            Content::Counted { counts, .. } => match counts.get_mut(item) {
                Some(count) => {
                    *count += 1;
                    (0, 0)
                }
                None => {
                    counts.insert(item.clone(), 1);
                    (item.bytes(), 0)
                }
            },
            Content::Distinct(counts) => match counts.get_mut(item) {
                Some(count) => {
                    *count += 1;
                    (0, 0)
                }
                None => {
                    counts.insert(item.clone(), 1);
                    (item.bytes(), 0)
                }
            },
            Content::Sorted(values) => {
                let Item::Number(number) = *item else { panic!("quantiles are of numbers") };
                values.insert(values.partition_point(|&known| known <= number), number);
                (size_of::<i128>(), 0)
            }
            Content::Rows => (0, 0),
        }
    }

    /// Removes the value of a row that was added; returns the number of bytes removed.
    pub(super) fn remove(&mut self, item: &Item) -> usize {
        match (self, item) {
            (Content::Counted { counts, .. }, _) => {
                let count = counts.get_mut(item).expect("the value was counted");
                *count -= 1;
                if *count > 0 {
                    return 0;
                }
                counts.remove(item);
                item.bytes()
            }
            (Content::Distinct(counts), _) => {
                let count = counts.get_mut(item).expect("the value was counted");
                *count -= 1;
                if *count > 0 {
                    return 0;
                }
                counts.remove(item);
                item.bytes()
            }
            (Content::Sorted(values), Item::Number(number)) => {
                values.remove(values.partition_point(|known| known < number));
                size_of::<i128>()
            }
            (Content::Sorted(_), Item::Text(_)) => panic!("quantiles are of numbers"),
            (Content::Best { .. } | Content::Rows, _) => 0,
        }
    }

    /// Removes the best values of rows before `begin`; returns the number of bytes removed.
    pub(super) fn leave(&mut self, begin: usize) -> usize {
        let mut freed = 0;
        if let Content::Best { values, .. } = self {
            while let Some((_, item)) = values.pop_front_if(|(row, _)| *row < begin) {
                freed += item.bytes();
            }
        }
        freed
    }

    /// Whether it removes values by itself as rows leave the frame.
    pub(super) fn forgets_by_itself(&self) -> bool {
        matches!(self, Content::Best { .. })
    }

    /// The smallest or largest value.
    pub(super) fn best(&self) -> Option<Item> {
        match self {
            Content::Best { values, .. } => values.front().map(|(_, item)| item.clone()),
            Content::Counted { better: Better::Smaller, counts } => counts.keys().next().cloned(),
            Content::Counted { better: Better::Larger, counts } => counts.keys().next_back().cloned(),
            Content::Distinct(_) | Content::Sorted(_) | Content::Rows => {
                unreachable!("extremes are kept by their order")
            }
        }
    }
}
