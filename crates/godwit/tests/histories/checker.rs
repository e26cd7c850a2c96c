//! A checker of histories for snapshot isolation.
//!
//! Every value is written once, and every transaction reads a row before it writes it. So the history tells which
//! version of a row each transaction saw, and which version each write replaced. What follows for the order of
//! snapshots (S) and commits (C) are the edges of a graph:
//!
//! ```text
//! C of the version's writer ─▶ S of who read it ─▶ C of who replaced it        S ─▶ C of the same transaction
//! S and C of who ended ─▶ S of who began later, by the clock
//! ```
//!
//! If it has no cycle, there is a single order of them in which each transaction read what was committed before its
//! snapshot, and nothing else. Torn reads, read skew, non-repeatable reads and long forks are cycles. A version that
//! two transactions replaced is a lost update; reading one that no one committed is a dirty read.

use std::collections::HashMap;

pub type Value = i64;

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Step {
    Read { row: usize, value: Value },
    Write { row: usize, value: Value },
}

/// A connection's operations between BEGIN and COMMIT or ROLLBACK.
#[derive(Debug, Clone)]
pub struct Transaction {
    pub steps: Vec<Step>,
    pub is_committed: bool,
    /// Times by a shared clock: before BEGIN, and after the end.
    pub began: u64,
    pub ended: u64,
}

impl Transaction {
    /// Returns the value of a row that it saw before writing its own.
    fn seen(&self, row: usize) -> Option<Value> {
        let first = self.steps.iter().find(|step| row_of(step) == row)?;
        match first {
            Step::Read { value, .. } => Some(*value),
            Step::Write { .. } => None,
        }
    }

    /// Returns the last value that it wrote to each row.
    fn written(&self) -> HashMap<usize, Value> {
        let writes = self.steps.iter().filter_map(|step| match step {
            Step::Write { row, value } => Some((*row, *value)),
            Step::Read { .. } => None,
        });
        writes.collect()
    }
}

fn row_of(step: &Step) -> usize {
    match step {
        Step::Read { row, .. } | Step::Write { row, .. } => *row,
    }
}

/// Writers and replacers of committed versions of rows, by value.
struct Versions {
    /// `None`: the initial value.
    writers: HashMap<Value, Option<usize>>,
    replacers: HashMap<Value, usize>,
}

impl Versions {
    fn of(initial: &[Value], transactions: &[Transaction]) -> Result<Self, String> {
        let mut versions =
            Self { writers: initial.iter().map(|&value| (value, None)).collect(), replacers: HashMap::new() };
        for (number, transaction) in transactions.iter().enumerate().filter(|(_, t)| t.is_committed) {
            for (row, value) in transaction.written() {
                versions.writers.insert(value, Some(number));
                let replaced = transaction.seen(row).ok_or(format!("{number} wrote row {row} without a look at it"))?;
                if let Some(other) = versions.replacers.insert(replaced, number) {
                    return Err(format!("lost update: {other} and {number} replaced {replaced} in row {row}"));
                }
            }
        }
        Ok(versions)
    }
}

/// Precedence constraints: snapshots have even numbers, commits odd ones.
struct Order {
    after: Vec<Vec<usize>>,
}

fn snapshot(transaction: usize) -> usize {
    2 * transaction
}

fn commit(transaction: usize) -> usize {
    2 * transaction + 1
}

impl Order {
    /// Returns a cycle, if there is one.
    fn cycle(&self) -> Option<Vec<usize>> {
        let mut before = vec![0; self.after.len()];
        self.after.iter().flatten().for_each(|&node| before[node] += 1);
        let mut free: Vec<usize> = (0..before.len()).filter(|&node| before[node] == 0).collect();
        while let Some(node) = free.pop() {
            for &next in &self.after[node] {
                before[next] -= 1;
                if before[next] == 0 {
                    free.push(next);
                }
            }
        }
        // Every remaining node has a remaining predecessor.
        let mut path = vec![before.iter().position(|&count| count > 0)?];
        loop {
            let last = path[path.len() - 1];
            let is_before = |&node: &usize| before[node] > 0 && self.after[node].contains(&last);
            let node = (0..before.len()).find(is_before).expect("it is in or behind a cycle");
            if let Some(begin) = path.iter().position(|&known| known == node) {
                return Some(path[begin..].iter().rev().copied().collect());
            }
            path.push(node);
        }
    }
}

/// Reports what violates snapshot isolation in a history. `initial` has the rows' initial values.
pub fn check(initial: &[Value], transactions: &[Transaction]) -> Result<(), String> {
    let versions = Versions::of(initial, transactions)?;
    let mut order = Order { after: vec![Vec::new(); 2 * transactions.len()] };
    for (number, transaction) in transactions.iter().enumerate() {
        order.after[snapshot(number)].push(commit(number));
        let mut own: HashMap<usize, Value> = HashMap::new();
        for step in &transaction.steps {
            match *step {
                Step::Write { row, value } => {
                    own.insert(row, value);
                }
                Step::Read { row, value } if own.contains_key(&row) => {
                    if own[&row] != value {
                        return Err(format!("{number} read {value} in row {row} where it had written {}", own[&row]));
                    }
                }
                Step::Read { row, value } => {
                    let writer = versions.writers.get(&value);
                    let writer = writer.ok_or(format!("dirty read: {number} read {value} in row {row}"))?;
                    if let Some(writer) = writer {
                        order.after[commit(*writer)].push(snapshot(number));
                    }
                    if let Some(&replacer) = versions.replacers.get(&value).filter(|&&replacer| replacer != number) {
                        order.after[snapshot(number)].push(commit(replacer));
                    }
                }
            }
        }
        for (later, _) in transactions.iter().enumerate().filter(|(_, other)| transaction.ended < other.began) {
            order.after[snapshot(number)].push(snapshot(later));
            if transaction.is_committed {
                order.after[commit(number)].push(snapshot(later));
            }
        }
    }
    let Some(cycle) = order.cycle() else { return Ok(()) };
    let steps = cycle.iter().map(|node| {
        let what = if node % 2 == 0 { "snapshot" } else { "commit" };
        format!("{what} of {}: {:?}", node / 2, transactions[node / 2])
    });
    Err(format!("no order of snapshots and commits explains what was read:\n{}", steps.collect::<Vec<_>>().join("\n")))
}
