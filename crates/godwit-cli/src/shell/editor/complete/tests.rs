use super::*;

/// Returns the proposals at `|`.
fn proposed(text: &str) -> Vec<String> {
    let position = text.find('|').expect("the cursor is somewhere");
    let line = text.replacen('|', "", 1);
    let (start, candidates) = complete(&Names::for_tests(), &line, position);
    assert!(line.is_char_boundary(start) && start <= position, "{text}");
    candidates.into_iter().map(|candidate| candidate.text).collect()
}

#[test]
fn statements_begin_with_their_words() {
    assert_eq!(proposed("sel|"), ["select"]);
    assert_eq!(proposed("S|"), ["SAVEPOINT", "SELECT", "SET", "SHOW", "SUMMARIZE"]);
    assert_eq!(proposed("SELECT 1; de|"), ["deallocate", "delete", "describe", "detach"]);
    assert_eq!(proposed("|"), Vec::<String>::new());
    assert_eq!(proposed("SELECT 1 FROM orders WHERE\n\t |"), Vec::<String>::new());
}

#[test]
fn tables_stand_behind_from() {
    assert_eq!(proposed("SELECT * FROM li|"), ["lineitem", "\"list of things\""]);
    assert_eq!(proposed("FROM |"), ["lineitem", "orders", "\"list of things\""]);
    assert_eq!(proposed("SELECT * FROM orders, li|"), ["lineitem", "\"list of things\""]);
    assert_eq!(proposed("SELECT * FROM orders o JOIN LINE|"), ["lineitem"]);
    assert_eq!(proposed("INSERT INTO ord|"), ["orders"]);
    assert_eq!(proposed("FROM s|"), ["s.", "select"]);
    assert_eq!(proposed("FROM s.|"), ["\"list of things\""]);
    assert_eq!(proposed("FROM read_c|"), ["read_csv("]);
    assert_eq!(proposed("FROM \"list o|"), ["\"list of things\""]);
}

#[test]
fn columns_are_those_of_the_statements_tables() {
    assert_eq!(proposed("SELECT l_| FROM lineitem"), ["l_orderkey", "l_quantity"]);
    assert_eq!(proposed("SELECT | FROM orders"), ["o_orderkey", "\"order\"", "Größe"]);
    assert_eq!(proposed("SELECT 1 FROM orders; SELECT l_| FROM lineitem"), ["l_orderkey", "l_quantity"]);
    assert_eq!(proposed("FROM lineitem l WHERE l.|"), ["l_orderkey", "l_quantity"]);
    assert_eq!(proposed("FROM main.lineitem AS \"L\", orders o WHERE o.o|"), ["o_orderkey", "\"order\""]);
    assert_eq!(proposed("SELECT l_o|"), ["l_orderkey"]);
    assert_eq!(proposed("SELECT grö|"), ["Größe"]);
    assert_eq!(proposed("UPDATE lineitem SET l_q|"), ["l_quantity"]);
}

#[test]
fn functions_and_keywords_keep_the_case() {
    assert_eq!(proposed("SELECT cou| FROM orders"), ["count(", "count_if("]);
    assert_eq!(proposed("SELECT COU| FROM orders"), ["COUNT(", "COUNT_IF("]);
    assert_eq!(proposed("SELECT 1 FROM orders WHE|"), ["WHEN", "WHERE"]);
    assert_eq!(proposed("SELECT 1 FROM orders whe|"), ["when", "where"]);
    assert!(proposed("SELECT li|").contains(&"list_sum(".into()));
}

#[test]
fn settings_files_and_commands_are_completed() {
    assert_eq!(proposed("SET th|"), ["threads"]);
    assert_eq!(proposed("SHOW |"), ["memory_limit", "threads", "ALL", "TABLES", "DATABASES"]);
    assert_eq!(proposed(".mo|"), [".mode"]);
    assert_eq!(proposed(".mode js|"), ["json", "jsonlines"]);
    assert_eq!(proposed(".timer o|"), ["on", "off"]);
    assert_eq!(proposed(".dump li|"), ["lineitem", "\"list of things\""]);
    assert_eq!(proposed(".import x.csv ord|"), ["orders"]);
    assert_eq!(proposed(".help ti|"), ["timer"]);
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("it's.csv"), "").unwrap();
    let place = folder.path().display();
    assert_eq!(proposed(&format!("FROM '{place}/it|")), [format!("{place}/it''s.csv")]);
    assert_eq!(proposed(&format!(".read {place}/it|")), [format!("{place}/it's.csv")]);
}

#[test]
fn nothing_is_proposed_in_comments_and_odd_places() {
    assert!(proposed("SELECT 1 -- sel|").is_empty());
    assert!(proposed("/* sel|").is_empty());
    assert!(proposed(".nonsense x|").is_empty());
    assert_eq!(proposed(".|").len(), COMMANDS.len());
    for text in ["SELECT .|", "..|", "\"|", "'|", "é.|", "FROM a.b.c.|", "(((|", "SELECT $$ a|", ".import |", "\\|"] {
        proposed(text);
    }
}

#[test]
fn completion_is_fast_with_many_names() {
    use crate::shell::editor::names::Table;
    let mut names = Names::for_tests();
    let columns: Vec<String> = (0..100).map(|number| format!("column_{number}")).collect();
    names.tables.extend((0..500).map(|number| Table {
        schema: "main".into(),
        name: format!("table_{number}"),
        columns: columns.clone(),
    }));
    let started = std::time::Instant::now();
    for _ in 0..20 {
        assert_eq!(complete(&names, "SELECT column_1", 15).1.len(), 11);
        assert_eq!(complete(&names, "FROM table_", 11).1.len(), 500);
    }
    assert!(started.elapsed().as_millis() < 2_000, "{:?}", started.elapsed());
}
