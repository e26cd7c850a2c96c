//! Random concurrent transactions, and a checker for snapshot isolation.

mod checker;

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use checker::{Step, Transaction, Value, check};
use godwit::{Config, Connection, Database};

const THREADS: u64 = 4;
/// Few enough that transactions conflict.
const ROWS: usize = 5;

/// Xorshift generator: the same transactions for the same seed, however threads are scheduled.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }
}

fn pairs(connection: &Connection, sql: &str) -> Vec<(usize, Value)> {
    let batches = connection.query(sql).unwrap().map(|batch| batch.unwrap());
    let rows = batches.flat_map(|batch| {
        let column = |index: usize| batch.column(index).as_primitive::<Int64Type>().values().to_vec();
        column(0).into_iter().zip(column(1)).map(|(row, value)| (row as usize, value)).collect::<Vec<_>>()
    });
    rows.collect()
}

/// One thread's connection.
struct Client<'a> {
    connection: Connection,
    random: Random,
    clock: &'a AtomicU64,
    /// The next value, which isn't written anywhere else.
    next_value: Value,
}

impl Client<'_> {
    fn tick(&self) -> u64 {
        self.clock.fetch_add(1, Ordering::SeqCst)
    }

    fn transaction(&mut self) -> Transaction {
        let began = self.tick();
        let mut steps = Vec::new();
        self.connection.execute("BEGIN").unwrap();
        let mut ends_well = self.random.below(8) > 0;
        for _ in 0..1 + self.random.below(5) {
            if self.step(&mut steps).is_err() {
                ends_well = false;
                break;
            }
        }
        // The second of two conflicting transactions fails.
        let is_committed = ends_well && self.connection.execute("COMMIT").is_ok();
        if !is_committed {
            let _ = self.connection.execute("ROLLBACK");
        }
        Transaction { steps, is_committed, began, ended: self.tick() }
    }

    /// Runs a transaction that reads all rows once.
    fn last_look(&mut self) -> Transaction {
        let began = self.tick();
        let rows = pairs(&self.connection, "SELECT id, value FROM kept ORDER BY id");
        let steps = rows.into_iter().map(|(row, value)| Step::Read { row, value }).collect();
        Transaction { steps, is_committed: true, began, ended: self.tick() }
    }

    fn step(&mut self, steps: &mut Vec<Step>) -> godwit::Result<()> {
        let row = self.random.below(ROWS as u64) as usize;
        if self.random.below(3) == 0 {
            let all = pairs(&self.connection, "SELECT id, value FROM kept ORDER BY id");
            assert_eq!(all.iter().map(|(row, _)| *row).collect::<Vec<_>>(), (0..ROWS).collect::<Vec<_>>());
            steps.extend(all.into_iter().map(|(row, value)| Step::Read { row, value }));
            return Ok(());
        }
        let seen = pairs(&self.connection, &format!("SELECT id, value FROM kept WHERE id = {row}"));
        let [(_, value)] = seen[..] else { panic!("row {row} is there once, not {seen:?}") };
        steps.push(Step::Read { row, value });
        if self.random.below(2) == 0 {
            return Ok(());
        }
        let value = self.next_value;
        self.next_value += 1;
        self.connection.execute(&match self.random.below(3) {
            0 => format!("UPDATE kept SET value = {value} WHERE id = {row}"),
            1 => format!("DELETE FROM kept WHERE id = {row}; INSERT INTO kept VALUES ({row}, {value})"),
            _ => format!(
                "INSERT INTO kept VALUES ({row}, {value}) ON CONFLICT (id) DO UPDATE SET value = excluded.value"
            ),
        })?;
        steps.push(Step::Write { row, value });
        Ok(())
    }
}

/// Runs transactions on `THREADS` connections, with concurrent checkpoints; returns what they did.
fn history(path: &Path, seed: u64, transactions: usize) -> (Vec<Value>, Vec<Transaction>) {
    let config = Config { threads: Some(2), ..Config::default() };
    let database = Database::open_with(path, config).unwrap();
    let initial: Vec<Value> = (0..ROWS as Value).map(|row| -1 - row).collect();
    let setup = database.connect();
    setup.execute("CREATE TABLE kept (id BIGINT PRIMARY KEY, value BIGINT NOT NULL)").unwrap();
    for (row, value) in initial.iter().enumerate() {
        setup.execute(&format!("INSERT INTO kept VALUES ({row}, {value})")).unwrap();
    }
    let clock = AtomicU64::new(0);
    let client = |thread: u64| Client {
        connection: database.connect(),
        random: Random((seed * 1000 + thread).wrapping_mul(0x9e37_79b9_7f4a_7c15)),
        clock: &clock,
        next_value: thread as Value * 1_000_000,
    };
    let mut all: Vec<Transaction> = std::thread::scope(|scope| {
        let run = |mut client: Client| {
            (0..transactions)
                .map(|number| {
                    if number % 16 == 15 && client.random.below(THREADS) == 0 {
                        client.connection.execute("CHECKPOINT").unwrap();
                    }
                    client.transaction()
                })
                .collect::<Vec<_>>()
        };
        let threads: Vec<_> = (0..THREADS).map(client).map(|client| scope.spawn(move || run(client))).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    // The last transaction sees the final state.
    all.push(client(THREADS).last_look());
    (initial, all)
}

fn check_history(path: &Path, seed: u64, transactions: usize) {
    let (initial, all) = history(path, seed, transactions);
    let committed = all.iter().filter(|transaction| transaction.is_committed).count();
    assert!(committed * 10 > all.len(), "only {committed} of {} committed", all.len());
    if let Err(complaint) = check(&initial, &all) {
        panic!("seed {seed}: {complaint}");
    }
}

#[test]
fn random_histories_in_memory_are_snapshots() {
    (1..5).for_each(|seed| check_history(Path::new(":memory:"), seed, 60));
}

#[test]
fn random_histories_in_a_file_are_snapshots() {
    let folder = tempfile::tempdir().unwrap();
    (5..7).for_each(|seed| check_history(&folder.path().join(format!("{seed}.godwit")), seed, 40));
}

/// Creates a transaction; `began` and `ended` determine with which others it overlaps.
fn transaction(began: u64, ended: u64, steps: &[Step]) -> Transaction {
    Transaction { steps: steps.to_vec(), is_committed: true, began, ended }
}

fn read(row: usize, value: Value) -> Step {
    Step::Read { row, value }
}

fn write(row: usize, value: Value) -> Step {
    Step::Write { row, value }
}

/// Returns the checker's verdict on a history of two rows with the values -1 and -2.
fn verdict(transactions: &[Transaction]) -> String {
    check(&[-1, -2], transactions).map_or_else(|complaint| complaint, |()| "fine".into())
}

#[test]
fn the_checker_knows_anomalies() {
    let x = |began, ended| transaction(began, ended, &[read(0, -1), write(0, 10)]);
    let y = |began, ended| transaction(began, ended, &[read(1, -2), write(1, 20)]);
    let fork = "no order of snapshots and commits";
    let cases: Vec<(&str, Vec<Transaction>, &str)> = vec![
        ("one after the other", vec![x(0, 1), transaction(2, 3, &[read(0, 10), write(0, 11)])], "fine"),
        ("lost update", vec![x(0, 9), transaction(0, 9, &[read(0, -1), write(0, 11)])], "lost update"),
        (
            "dirty read",
            vec![Transaction { is_committed: false, ..x(0, 9) }, transaction(0, 9, &[read(0, 10)])],
            "dirty read",
        ),
        (
            "intermediate read",
            vec![transaction(0, 9, &[read(0, -1), write(0, 10), write(0, 11)]), transaction(0, 9, &[read(0, 10)])],
            "dirty read",
        ),
        (
            "torn read",
            vec![
                transaction(0, 9, &[read(0, -1), read(1, -2), write(0, 10), write(1, 20)]),
                transaction(0, 9, &[read(0, 10), read(1, -2)]),
            ],
            fork,
        ),
        ("no repeatable read", vec![x(0, 9), transaction(0, 9, &[read(0, -1), read(0, 10)])], fork),
        (
            "long fork",
            vec![
                x(0, 9),
                y(0, 9),
                transaction(0, 9, &[read(0, 10), read(1, -2)]),
                transaction(0, 9, &[read(0, -1), read(1, 20)]),
            ],
            fork,
        ),
        ("forgotten commit", vec![x(0, 1), transaction(2, 3, &[read(0, -1)])], fork),
        (
            "own writes",
            vec![transaction(0, 1, &[read(0, -1), write(0, 10), read(0, -1)])],
            "0 read -1 in row 0 where it had written 10",
        ),
        (
            "write skew",
            vec![
                transaction(0, 9, &[read(0, -1), read(1, -2), write(0, 10)]),
                transaction(0, 9, &[read(0, -1), read(1, -2), write(1, 20)]),
            ],
            "fine",
        ),
    ];
    for (name, transactions, expected) in cases {
        let found = verdict(&transactions);
        assert!(found.starts_with(expected), "{name}: {found}");
    }
}
