//! The slow twin: joins by the definition.

use std::collections::HashMap;

use godwit_vector::Chunk;

use super::{Case, JoinKind};
use crate::testing::{Row, Value, rows_of};

/// Both sides as rows, and the case that defines the join.
pub(super) struct NaiveJoin<'a> {
    case: &'a Case,
    build: Vec<Row>,
    probe: Vec<Row>,
    /// Build rows by key, without rows that match nothing.
    by_key: HashMap<Row, Vec<usize>>,
}

pub(super) fn sorted(mut rows: Vec<Row>) -> Vec<Row> {
    rows.sort();
    rows
}

impl<'a> NaiveJoin<'a> {
    pub(super) fn of(case: &'a Case, build: &[Chunk], probe: &[Chunk]) -> Self {
        let (build, probe): (Vec<Row>, Vec<Row>) =
            (build.iter().flat_map(rows_of).collect(), probe.iter().flat_map(rows_of).collect());
        let mut naive = Self { case, build, probe, by_key: HashMap::new() };
        let keys: Vec<Option<Row>> = naive.build.iter().map(|row| naive.key(row)).collect();
        for (number, key) in keys.into_iter().enumerate() {
            if let Some(key) = key {
                naive.by_key.entry(key).or_default().push(number);
            }
        }
        naive
    }

    /// The key of a row that can have a match.
    fn key(&self, row: &Row) -> Option<Row> {
        let key = row[..self.case.key_types.len()].to_vec();
        (self.case.nulls_equal || !key.contains(&Value::Null)).then_some(key)
    }

    fn matches(&self, probe: &Row) -> Vec<usize> {
        let number = self.case.key_types.len();
        let candidates = self.key(probe).and_then(|key| self.by_key.get(&key)).map_or(&[][..], |rows| rows);
        let holds = |&&build: &&usize| !self.case.residual || probe[number] < self.build[build][number];
        candidates.iter().filter(holds).copied().collect()
    }

    fn has_null_key(&self, rows: &[Row]) -> bool {
        rows.iter().any(|row| row[..self.case.key_types.len()].contains(&Value::Null))
    }

    /// The output, sorted; none if a single join fails.
    pub(super) fn rows(&self) -> Vec<Row> {
        let spec = self.case.spec();
        let take =
            |row: &Row, columns: &[usize]| -> Row { columns.iter().map(|&column| row[column].clone()).collect() };
        let nulls = |columns: &[usize]| -> Row { vec![Value::Null; columns.len()] };
        let mut output = Vec::new();
        let mut found = vec![false; self.build.len()];
        for probe in &self.probe {
            let matches = self.matches(probe);
            matches.iter().for_each(|&build| found[build] = true);
            let mine = take(probe, &spec.probe_output);
            let is_unknown = self.case.null_aware
                && !self.build.is_empty()
                && (self.has_null_key(&self.build) || self.has_null_key(std::slice::from_ref(probe)));
            match self.case.kind {
                JoinKind::Single if matches.len() > 1 => return Vec::new(),
                JoinKind::ProbeSemi if !matches.is_empty() => output.push(mine),
                JoinKind::ProbeAnti if matches.is_empty() && !is_unknown => output.push(mine),
                JoinKind::Mark => {
                    let mark = match matches.is_empty() {
                        false => Value::Integer(1),
                        true if is_unknown => Value::Null,
                        true => Value::Integer(0),
                    };
                    output.push([mine, vec![mark]].concat());
                }
                JoinKind::Inner | JoinKind::Left | JoinKind::Right | JoinKind::Full | JoinKind::Single => {
                    let pair = |&build: &usize| [mine.clone(), take(&self.build[build], &spec.build_output)].concat();
                    output.extend(matches.iter().map(pair));
                    let extends = matches!(self.case.kind, JoinKind::Left | JoinKind::Full | JoinKind::Single);
                    if extends && matches.is_empty() {
                        output.push([mine, nulls(&spec.build_output)].concat());
                    }
                }
                _ => {}
            }
        }
        for (build, &found) in self.build.iter().zip(&found) {
            let is_unknown = self.case.null_aware
                && !self.probe.is_empty()
                && (self.has_null_key(&self.probe) || self.has_null_key(std::slice::from_ref(build)));
            let comes_out = match self.case.kind {
                JoinKind::BuildSemi => found,
                JoinKind::BuildAnti => !found && !is_unknown,
                JoinKind::Right | JoinKind::Full => !found,
                _ => false,
            };
            if comes_out {
                output.push([nulls(&spec.probe_output), take(build, &spec.build_output)].concat());
            }
        }
        sorted(output)
    }
}
