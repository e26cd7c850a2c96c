//! Concurrent histories: the anomalies that snapshot isolation excludes, and the one that it allows.

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use godwit::{Config, Connection, Database};

fn database() -> Database {
    let config = Config { threads: Some(2), ..Config::default() };
    let database = Database::open_with(":memory:", config).unwrap();
    let setup = "CREATE TABLE account (id BIGINT PRIMARY KEY, balance BIGINT);
                 INSERT INTO account VALUES (1, 100), (2, 100)";
    database.connect().execute(setup).unwrap();
    database
}

fn number(connection: &Connection, sql: &str) -> i64 {
    let batches: Vec<_> = connection.query(sql).unwrap().collect::<Result<_, _>>().unwrap();
    let batch = batches.iter().find(|batch| batch.num_rows() > 0).expect("there is a row");
    batch.column(0).as_primitive::<Int64Type>().value(0)
}

const SUM: &str = "SELECT CAST(sum(balance) AS BIGINT) FROM account";
const FIRST: &str = "SELECT balance FROM account WHERE id = 1";

#[test]
fn nothing_uncommitted_is_read() {
    let database = database();
    let (a, b) = (database.connect(), database.connect());
    a.execute("BEGIN; UPDATE account SET balance = 0 WHERE id = 1; INSERT INTO account VALUES (3, 1)").unwrap();
    assert_eq!((number(&b, FIRST), number(&b, SUM)), (100, 200));
    a.execute("ROLLBACK").unwrap();
    assert_eq!((number(&a, FIRST), number(&b, SUM)), (100, 200));
}

#[test]
fn what_was_read_is_read_again() {
    let database = database();
    let (a, b) = (database.connect(), database.connect());
    a.execute("BEGIN").unwrap();
    assert_eq!(number(&a, FIRST), 100);
    b.execute("UPDATE account SET balance = 50 WHERE id = 1; INSERT INTO account VALUES (3, 1)").unwrap();
    assert_eq!((number(&a, FIRST), number(&a, SUM)), (100, 200));
    a.execute("COMMIT").unwrap();
    assert_eq!((number(&a, FIRST), number(&a, SUM)), (50, 151));
}

#[test]
fn no_update_is_lost() {
    let database = database();
    let (a, b) = (database.connect(), database.connect());
    a.execute("BEGIN").unwrap();
    b.execute("BEGIN").unwrap();
    a.execute("UPDATE account SET balance = balance + 10 WHERE id = 1").unwrap();
    b.execute("UPDATE account SET balance = balance + 20 WHERE id = 1").unwrap();
    a.execute("COMMIT").unwrap();
    let error = b.execute("COMMIT").unwrap_err();
    assert!(error.message().contains("changed the same rows"), "{error}");
    assert_eq!(number(&b, FIRST), 110);
    b.execute("UPDATE account SET balance = balance + 20 WHERE id = 1").unwrap();
    assert_eq!(number(&a, FIRST), 130);
}

#[test]
fn changes_of_different_rows_are_both_there() {
    let database = database();
    let (a, b) = (database.connect(), database.connect());
    a.execute("BEGIN; UPDATE account SET balance = 1 WHERE id = 1; INSERT INTO account VALUES (3, 1000)").unwrap();
    b.execute("BEGIN; UPDATE account SET balance = 2 WHERE id = 2; INSERT INTO account VALUES (4, 2000)").unwrap();
    a.execute("COMMIT").unwrap();
    b.execute("COMMIT").unwrap();
    assert_eq!(number(&a, SUM), 3003);
}

#[test]
fn write_skew_is_allowed() {
    let database = database();
    let (a, b) = (database.connect(), database.connect());
    let take = |id: u8| format!("UPDATE account SET balance = balance - 150 WHERE id = {id} AND 200 <= ({SUM})");
    a.execute("BEGIN").unwrap();
    b.execute("BEGIN").unwrap();
    a.execute(&take(1)).unwrap();
    b.execute(&take(2)).unwrap();
    a.execute("COMMIT").unwrap();
    b.execute("COMMIT").unwrap();
    assert_eq!(number(&a, SUM), -100);
}

#[test]
fn keys_hold_across_transactions() {
    let database = database();
    let (a, b) = (database.connect(), database.connect());
    a.execute("BEGIN; INSERT INTO account VALUES (7, 1)").unwrap();
    b.execute("BEGIN; INSERT INTO account VALUES (7, 2)").unwrap();
    b.execute("COMMIT").unwrap();
    let error = a.execute("COMMIT").unwrap_err();
    assert!(error.message().contains("duplicate key"), "{error}");
    assert_eq!(number(&a, SUM), 202);
}

#[test]
fn references_hold_across_transactions() {
    let database = database();
    let (a, b) = (database.connect(), database.connect());
    a.execute("CREATE TABLE booking (account BIGINT REFERENCES account (id))").unwrap();
    a.execute("BEGIN; INSERT INTO booking VALUES (2)").unwrap();
    b.execute("DELETE FROM account WHERE id = 2").unwrap();
    let error = a.execute("COMMIT").unwrap_err();
    assert!(error.message().contains("there is no"), "{error}");
    assert_eq!(number(&a, "SELECT count(*) FROM booking"), 0);
}

#[test]
fn a_dropped_connection_rolls_back() {
    let database = database();
    let a = database.connect();
    a.execute("BEGIN; DELETE FROM account").unwrap();
    drop(a);
    let b = database.connect();
    assert_eq!(number(&b, SUM), 200);
    b.execute("CHECKPOINT").unwrap();
}

/// Several threads move money between accounts; every sum that is read is the same.
#[test]
fn no_sum_is_torn() {
    const MOVES: usize = 40;
    let database = database();
    std::thread::scope(|scope| {
        for thread in 0..3 {
            let connection = database.connect();
            scope.spawn(move || {
                for step in 0..MOVES {
                    let (from, to) = if (step + thread) % 2 == 0 { (1, 2) } else { (2, 1) };
                    let script = format!(
                        "BEGIN; UPDATE account SET balance = balance - 1 WHERE id = {from};
                         UPDATE account SET balance = balance + 1 WHERE id = {to}; COMMIT"
                    );
                    // The second of two conflicting transactions goes on to the next move.
                    if connection.execute(&script).is_err() {
                        let _ = connection.execute("ROLLBACK");
                    }
                    assert_eq!(number(&connection, SUM), 200);
                }
            });
        }
    });
    assert_eq!(number(&database.connect(), SUM), 200);
}
