//! The columns of a box that are shown, and their widths.

/// Width below which no column is cut while others can be left out.
const COLUMN_WIDTH_MIN: usize = 12;

/// Columns taken by borders, between two columns and around all: `│ ` and ` │`.
const BORDERS_PER_COLUMN: usize = 3;
const BORDERS: usize = 1;

/// Columns of the table and of the box.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Layout {
    /// Positions in the result, and widths.
    pub shown: Vec<(usize, usize)>,
    /// Position in `shown` before which columns are left out.
    pub gap: Option<usize>,
}

impl Layout {
    /// Lays out columns of these widths in a window of `width_max` columns: wide columns are cut first, then columns in
    /// the middle are left out.
    pub(super) fn new(widths: &[usize], width_max: Option<usize>) -> Self {
        let all = |cut: usize| widths.iter().map(|&width| width.min(cut)).enumerate().collect();
        let Some(width_max) = width_max else { return Self { shown: all(usize::MAX), gap: None } };
        if let Some(cut) = cut_to_fit(widths, room(width_max, widths.len())) {
            return Self { shown: all(cut), gap: None };
        }
        // At least one column is shown, and at least one left out.
        for shown in (1..widths.len()).rev() {
            let left = shown.div_ceil(2);
            let places: Vec<usize> = (0..left).chain(widths.len() - (shown - left)..widths.len()).collect();
            let kept: Vec<usize> = places.iter().map(|&place| widths[place]).collect();
            let room = room(width_max, shown + 1).saturating_sub(1);
            let cut = cut_to_fit(&kept, room).or((shown == 1).then_some(room.max(1)));
            if let Some(cut) = cut {
                let shown = places.iter().zip(&kept).map(|(&place, &width)| (place, width.min(cut))).collect();
                return Self { shown, gap: Some(left) };
            }
        }
        Self { shown: all(room(width_max, 1).max(1)), gap: None }
    }

    /// Returns the widths of all columns of the box, from left to right.
    pub(super) fn widths_with_gap(&self) -> Vec<usize> {
        let mut widths: Vec<usize> = self.shown.iter().map(|&(_, width)| width).collect();
        if let Some(gap) = self.gap {
            widths.insert(gap, 1);
        }
        widths
    }
}

/// Returns the part of a width that the borders of this many columns leave.
fn room(width: usize, columns: usize) -> usize {
    width.saturating_sub(BORDERS_PER_COLUMN * columns + BORDERS)
}

/// Returns the largest width to which columns can be cut so that all fit.
fn cut_to_fit(widths: &[usize], room: usize) -> Option<usize> {
    let widest = widths.iter().copied().max().unwrap_or(0);
    let fits = |cut: usize| widths.iter().map(|&width| width.min(cut)).sum::<usize>() <= room;
    if fits(widest) {
        return Some(widest);
    }
    // At most the room: values may be very long.
    (COLUMN_WIDTH_MIN..=widest.min(room)).rev().find(|&cut| fits(cut))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_columns_are_cut_and_middle_ones_left_out() {
        let shown = |widths: &[usize], width_max| Layout::new(widths, Some(width_max));
        assert_eq!(shown(&[3, 5], 80), Layout { shown: vec![(0, 3), (1, 5)], gap: None });
        assert_eq!(shown(&[3, 500], 30), Layout { shown: vec![(0, 3), (1, 20)], gap: None });
        let many = shown(&[10; 10], 80);
        assert_eq!((many.shown.len(), many.gap), (5, Some(3)));
        assert_eq!(many.shown.iter().map(|&(place, _)| place).collect::<Vec<_>>(), [0, 1, 2, 8, 9]);
        for width in 0..200 {
            let layout = shown(&[1, 30, 7, 1_000_000, 12, 3], width);
            let total =
                layout.widths_with_gap().iter().map(|width| width + BORDERS_PER_COLUMN).sum::<usize>() + BORDERS;
            assert!(total <= width.max(9), "{total} columns in {width}: {layout:?}");
        }
        assert_eq!(Layout::new(&[1_000_000], Some(20)).shown, [(0, 16)]);
        assert_eq!(Layout::new(&[], Some(20)).shown, []);
        assert_eq!(Layout::new(&[1_000_000], None).shown, [(0, 1_000_000)]);
    }
}
