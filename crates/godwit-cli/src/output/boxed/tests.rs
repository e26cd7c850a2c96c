use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use unicode_width::UnicodeWidthStr;

use crate::output::tests::{batches, render, render_with};
use crate::output::{Format, Options};

#[test]
fn numbers_stand_right_and_line_breaks_are_escaped() {
    assert_eq!(
        render(Format::Box, &batches()),
        "┌────────┬─────────┬───────────────┬─────────────────────┐\n\
         │      n │ text    │             d │ t                   │\n\
         │ bigint │ varchar │ decimal(10,2) │ timestamp           │\n\
         ├────────┼─────────┼───────────────┼─────────────────────┤\n\
         │      1 │ a,\"b\"   │         12.50 │ 1970-01-02 00:00:00 │\n\
         │   NULL │ x|y\\nz  │         12.50 │ 1970-01-02 00:00:00 │\n\
         │    300 │ NULL    │         12.50 │ 1970-01-02 00:00:00 │\n\
         └────────┴─────────┴───────────────┴─────────────────────┘\n\
         3 rows\n"
    );
}

fn numbered(range: std::ops::Range<i64>) -> RecordBatch {
    RecordBatch::try_from_iter([("n", Arc::new(Int64Array::from_iter_values(range)) as ArrayRef)]).unwrap()
}

#[test]
fn many_rows_show_both_ends_however_they_are_cut_into_batches() {
    let whole = render(Format::Box, &[numbered(0..5000)]);
    assert!(whole.ends_with("5,000 rows (40 shown)\n"));
    assert!(whole.contains("│     19 │\n│      · │\n│   4980 │"), "{whole}");
    let pieces = [numbered(0..7), numbered(7..30), numbered(30..4999), numbered(4999..5000)];
    assert_eq!(render(Format::Box, &pieces), whole);
    let forty = render(Format::Box, &[numbered(0..13), numbered(13..40)]);
    assert!(forty.ends_with("\n40 rows\n") && !forty.contains('·'), "{forty}");
}

#[test]
fn the_number_of_rows_can_be_chosen() {
    let shown = |rows_max| {
        let options = Options { rows_max, ..Options::default() };
        render_with(Format::Box, &[numbered(0..3), numbered(3..9)], &options)
    };
    assert!(shown(3).contains("│      0 │\n│      1 │\n│      · │\n│      8 │\n"), "{}", shown(3));
    assert!(shown(1).contains("│      0 │\n│      · │\n└"), "{}", shown(1));
    assert!(shown(9).ends_with("│      8 │\n└────────┘\n9 rows\n"), "{}", shown(9));
    assert!(shown(usize::MAX).ends_with("9 rows\n"));
}

#[test]
fn long_values_dont_fill_the_memory() {
    let values: Vec<String> = (0..64).map(|number| format!("{number}{}", "x".repeat(1 << 20))).collect();
    let column = Arc::new(StringArray::from(values)) as ArrayRef;
    let batch = RecordBatch::try_from_iter([("s", column)]).unwrap();
    let options = Options { rows_max: usize::MAX, width_max: Some(40), ..Options::default() };
    let text = render_with(Format::Box, &[batch], &options);
    assert!(text.ends_with("64 rows (8 shown)\n") || text.ends_with("64 rows (7 shown)\n"), "{text}");
    assert!(text.contains("│ 0xxx") && text.contains("│ 63xxx"), "{text}");
}

#[test]
fn wide_characters_keep_the_lines_straight_and_wide_columns_give_way() {
    let texts = StringArray::from(vec!["東京", "a very long text that doesn't fit", "é"]);
    let shorts = StringArray::from(vec!["x"; 3]);
    let columns = [("city", Arc::new(texts) as ArrayRef), ("s", Arc::new(shorts) as ArrayRef)];
    let options = Options { width_max: Some(30), ..Options::default() };
    let text = render_with(Format::Box, &[RecordBatch::try_from_iter(columns).unwrap()], &options);
    let table: Vec<&str> = text.lines().take_while(|line| !line.contains("rows")).collect();
    assert!(table.iter().all(|line| line.width() == 30), "{text}");
    assert!(text.contains("a very long tex…") && text.contains("東京"), "{text}");
}

#[test]
fn columns_are_left_out_of_a_narrow_window() {
    let column = |name: &'static str| (name, Arc::new(StringArray::from(vec!["twelve chars"])) as ArrayRef);
    let batch = RecordBatch::try_from_iter(["a", "b", "c", "d", "e"].map(column)).unwrap();
    let options = Options { width_max: Some(40), ..Options::default() };
    let text = render_with(Format::Box, std::slice::from_ref(&batch), &options);
    assert!(text.contains("│ a            │ … │ e            │\n│ varchar      │   │ varchar      │"), "{text}");
    assert!(text.ends_with("1 row, 5 columns (2 shown; .mode line shows all)\n"), "{text}");
    let text = render_with(Format::Box, &[batch], &Options { width_max: Some(20), ..Options::default() });
    assert!(text.contains("│ a            │ … │\n│ varchar      │   │\n"), "{text}");
}

#[test]
fn colours_dont_change_the_widths() {
    let options = Options { colours: true, ..Options::default() };
    let coloured = render_with(Format::Box, &batches(), &options);
    assert!(coloured.contains("\x1b[1m     n\x1b[0m") && coloured.contains("\x1b[2m  NULL\x1b[0m"), "{coloured:?}");
    let plain = coloured.replace("\x1b[1m", "").replace("\x1b[2m", "").replace("\x1b[0m", "");
    assert_eq!(plain, render(Format::Box, &batches()));
    let without = render_with(Format::Box, &batches(), &Options { headers: false, ..Options::default() });
    assert!(without.starts_with("┌──────┬────────┬") && !without.contains("varchar"), "{without}");
}

#[test]
fn marks_that_drive_the_terminal_are_escaped() {
    let column = Arc::new(StringArray::from(vec!["\x1b[31mred\u{7}", "\u{202e}txt.exe", "tab\there"])) as ArrayRef;
    let text = render(Format::Box, &[RecordBatch::try_from_iter([("s", column)]).unwrap()]);
    assert!(text.contains("\\u{1b}[31mred\\u{7}") && text.contains("\\u{202e}txt.exe"), "{text}");
    assert!(text.contains("tab\\there"), "{text}");
}
