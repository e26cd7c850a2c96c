//! Runs SQL and writes its results.

use godwit::{Change, Error, QueryResult};

use super::{Outcome, Shell, complain};
use crate::interrupt::Running;
use crate::output::{Columns, Renderer, light_parts, with_separators};
use crate::progress::ProgressWatch;

impl Shell {
    /// Runs the statements in a text and writes their results. Ctrl-C cancels them.
    pub(super) fn run_statements(&mut self, sql: &str) -> Outcome {
        let (connection, interrupt) = (self.connection.clone(), self.interrupt.clone());
        let running = interrupt.running(&connection);
        for statement in connection.parse(sql)? {
            if running.is_pressed() {
                return Err(Error::cancelled().into());
            }
            self.names_are_stale |= changes_names(statement.text());
            let result = connection.run(&statement)?;
            match result.change() {
                Some(change) => self.report_change(change, result, &running)?,
                None => self.write_result(result, &running)?,
            }
        }
        Ok(())
    }

    fn watch(&self, result: &QueryResult) -> Option<ProgressWatch> {
        if self.settings.progress { ProgressWatch::start(result.progress()) } else { None }
    }

    /// Runs a statement that changes rows, and reports how many: on standard error, since the number isn't a result.
    fn report_change(&mut self, change: Change, mut result: QueryResult, running: &Running) -> Outcome {
        let progress = self.watch(&result);
        let mut rows = 0;
        for batch in &mut result {
            if running.is_pressed() {
                return Err(Error::cancelled().into());
            }
            let count = batch?
                .column(0)
                .as_any()
                .downcast_ref::<arrow_array::Int64Array>()
                .map(|counts| counts.iter().flatten().sum::<i64>());
            rows += count.ok_or_else(|| Error::internal("a number of rows isn't a number"))?;
        }
        drop(progress);
        if self.settings.changes {
            let noun = if rows == 1 { "row" } else { "rows" };
            complain(format_args!("{} {noun} {}\n", with_separators(rows.unsigned_abs() as usize), participle(change)));
        }
        Ok(())
    }

    fn write_result(&mut self, result: QueryResult, running: &Running) -> Outcome {
        let is_paged = self.sink.is_paged(&self.settings);
        let options = self.settings.options(self.sink.is_screen(), is_paged);
        let renderer = self.settings.format.renderer(Columns::of(&result)?, &options);
        self.write_rows(result, renderer, running)
    }

    /// Writes the rows of a result as they arrive.
    pub(super) fn write_rows(
        &mut self,
        mut result: QueryResult,
        mut renderer: Box<dyn Renderer>,
        running: &Running,
    ) -> Outcome {
        if result.schema().fields().is_empty() {
            return Ok(result.try_for_each(|batch| batch.map(drop))?);
        }
        let mut progress = self.watch(&result);
        let mut writer = self.sink.writer(&self.settings);
        let mut text = Vec::new();
        for batch in &mut result {
            if running.is_pressed() {
                return Err(Error::cancelled().into());
            }
            for part in light_parts(&batch?) {
                renderer.batch(&part, &mut text)?;
                if !text.is_empty() {
                    progress = None;
                    writer.write(&text)?;
                    text.clear();
                }
            }
        }
        drop(progress);
        renderer.finish(&mut text)?;
        writer.write(&text)?;
        writer.finish()
    }

    /// Runs a query for the shell itself, and returns its rows as text.
    pub(super) fn texts(&self, sql: &str) -> Outcome<Vec<Vec<Option<String>>>> {
        let mut rows = Vec::new();
        let mut result = self.connection.query(sql)?;
        let types = result.types()?;
        for batch in &mut result {
            let batch = batch?;
            let readers = batch.columns().iter().zip(&types).map(|(array, ty)| godwit::ColumnReader::new(array, ty));
            let readers = readers.collect::<godwit::Result<Vec<_>>>()?;
            for row in 0..batch.num_rows() {
                rows.push(readers.iter().map(|reader| reader.text(row)).collect::<godwit::Result<_>>()?);
            }
        }
        Ok(rows)
    }
}

fn participle(change: Change) -> &'static str {
    match change {
        Change::Insert => "inserted",
        Change::Update => "updated",
        Change::Delete => "deleted",
        Change::Upsert => "inserted or updated",
        Change::Merge => "merged",
        Change::Copy => "written",
    }
}

/// Returns true if a statement may change the names of tables, columns, functions or settings.
fn changes_names(sql: &str) -> bool {
    const WORDS: [&str; 15] = [
        "CREATE", "DROP", "ALTER", "ATTACH", "DETACH", "USE", "IMPORT", "COMMIT", "END", "ROLLBACK", "ABORT", "SET",
        "RESET", "EXECUTE", "EXPLAIN",
    ];
    let first = sql.trim_start().split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    WORDS.iter().any(|word| word.eq_ignore_ascii_case(first))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_change_names() {
        for sql in ["create table t (x INT)", "  ROLLBACK", "Use s;"] {
            assert!(changes_names(sql), "{sql}");
        }
        for sql in ["SELECT 1", "INSERT INTO creates VALUES (1)", "", "FROM t"] {
            assert!(!changes_names(sql), "{sql}");
        }
    }
}
