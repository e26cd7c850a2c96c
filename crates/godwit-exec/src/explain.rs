//! The operator tree that `EXPLAIN` prints; after `EXPLAIN ANALYZE`, with measured values.

use std::fmt::Write;
use std::sync::Arc;

use godwit_common::{Json, format_bytes};
use godwit_pipeline::{ColumnCounts, CompactionCounts, FlowCounts, OperatorMetrics, ScannedColumn, Transform};

/// An operator with its inputs.
pub struct ExplainNode {
    /// Counters and name; `None` for nodes that aren't operators of their own.
    metrics: Option<Arc<OperatorMetrics>>,
    name: String,
    /// The role of this node as an input of its parent ("build", "subquery"), unless it is the ordinary one.
    pub role: Option<&'static str>,
    /// Rows that the planner expects.
    pub estimated_rows: Option<f64>,
    /// Inputs, the streaming one first.
    pub children: Vec<ExplainNode>,
}

impl ExplainNode {
    /// An operator without inputs.
    pub fn leaf(metrics: Arc<OperatorMetrics>) -> Self {
        let name = metrics.name().to_owned();
        Self { metrics: Some(metrics), name, role: None, estimated_rows: None, children: Vec::new() }
    }

    /// A node without counters of its own.
    pub fn named(name: impl Into<String>) -> Self {
        Self { metrics: None, name: name.into(), role: None, estimated_rows: None, children: Vec::new() }
    }

    /// The counters of all operators in the tree.
    pub fn operators(&self) -> Vec<Arc<OperatorMetrics>> {
        let below = self.children.iter().flat_map(ExplainNode::operators);
        self.metrics.iter().cloned().chain(below).collect()
    }

    /// A streaming operator.
    pub fn of_transform<T: Transform + ?Sized>(transform: &Arc<T>) -> Self {
        Self::leaf(transform.metrics().clone())
    }

    /// This node with `input` as its first input.
    #[must_use]
    pub fn above(mut self, input: ExplainNode) -> Self {
        self.children.insert(0, input);
        self
    }

    /// The tree as text, one operator per line, with measured values if `analyzed`.
    pub fn render(&self, analyzed: bool) -> String {
        let mut text = String::new();
        self.render_into(&mut text, "", "", analyzed);
        text
    }

    /// The tree as JSON, with measured values if `analyzed`.
    pub fn to_json(&self, analyzed: bool) -> Json {
        let mut members: Vec<(&str, Json)> = vec![("operator", self.name.as_str().into())];
        members.extend(self.role.map(|role| ("role", role.into())));
        members.extend(self.estimated_rows.map(|rows| ("estimated_rows", Json::Number(rows.round()))));
        if let (true, Some(metrics)) = (analyzed, &self.metrics) {
            let memory = metrics.memory();
            let notes = metrics.notes().into_iter().map(|(name, value)| (name, Json::Text(value)));
            let columns: Vec<Json> = metrics.columns().iter().map(column_json).collect();
            let (input, output) = (metrics.input(), metrics.output());
            members.extend([
                ("rows", output.rows.into()),
                ("chunks", output.chunks.into()),
                ("mean_chunk_rows", Json::Number(output.mean_rows())),
            ]);
            if input.chunks > 0 {
                members.extend([
                    ("rows_in", input.rows.into()),
                    ("chunks_in", input.chunks.into()),
                    ("reducing_factor", Json::Number(reducing_factor(input, output))),
                ]);
            }
            members.extend(metrics.compaction().map(|counts| ("compaction", compaction_json(&counts))));
            members.extend([
                ("own_time_ms", Json::Number(metrics.own_time().as_secs_f64() * 1e3)),
                ("memory_peak_bytes", memory.peak_bytes().into()),
                ("spilled_bytes", memory.spilled_bytes().into()),
                ("reread_bytes", memory.reread_bytes().into()),
                ("notes", Json::Object(notes.collect())),
            ]);
            if !columns.is_empty() {
                members.push(("columns", Json::Array(columns)));
            }
        }
        members.push(("inputs", Json::Array(self.children.iter().map(|child| child.to_json(analyzed)).collect())));
        Json::object(members)
    }

    fn render_into(&self, text: &mut String, first: &str, rest: &str, analyzed: bool) {
        let role = self.role.map(|role| format!("{role}: ")).unwrap_or_default();
        let _ = writeln!(text, "{first}{role}{}{}", self.name, self.summary(analyzed));
        let detail_indent = if self.children.is_empty() { "  " } else { "│ " };
        if let (true, Some(metrics)) = (analyzed, &self.metrics) {
            let compaction = metrics.compaction().into_iter().flat_map(|counts| compaction_notes(&counts));
            let columns = metrics.columns();
            let columns = columns.iter().map(|column| (format!("column {}", column.name), column_text(column)));
            for (name, value) in metrics.notes().into_iter().chain(columns).chain(compaction) {
                let _ = writeln!(text, "{rest}{detail_indent}  {name}: {value}");
            }
        }
        for (index, child) in self.children.iter().enumerate() {
            let last = index + 1 == self.children.len();
            let (branch, below) = if last { ("└─ ", "   ") } else { ("├─ ", "│  ") };
            child.render_into(text, &format!("{rest}{branch}"), &format!("{rest}{below}"), analyzed);
        }
    }

    fn summary(&self, analyzed: bool) -> String {
        let estimate = self.estimated_rows.map(|rows| format!("~{rows:.0} rows"));
        let mut parts: Vec<String> = estimate.into_iter().collect();
        if let (true, Some(metrics)) = (analyzed, &self.metrics) {
            let (input, output) = (metrics.input(), metrics.output());
            parts.push(flow_text(output));
            if input.chunks > 0 {
                parts.push(format!("from {}", flow_text(input)));
                parts.push(format!("chunks reduced {:.1} x", reducing_factor(input, output)));
            }
            parts.push(format!("{:.2} ms", metrics.own_time().as_secs_f64() * 1e3));
            let memory = metrics.memory();
            if memory.peak_bytes() > 0 {
                parts.push(format!("memory {}", format_bytes(memory.peak_bytes())));
            }
            if memory.spilled_bytes() > 0 {
                parts.push(format!(
                    "spilled {}, re-read {}",
                    format_bytes(memory.spilled_bytes()),
                    format_bytes(memory.reread_bytes())
                ));
            }
        }
        if parts.is_empty() { String::new() } else { format!("  [{}]", parts.join("; ")) }
    }
}

/// One line that tells what a scan did with a column.
fn column_text(column: &ScannedColumn) -> String {
    let ColumnCounts { reads, decoded, packed } = column.counts;
    let mut text = format!("{decoded} of {} values decoded", column.rows);
    if packed > 0 {
        let _ = write!(text, ", {packed} filtered packed");
    }
    if reads.pages + reads.pages_cached > 0 {
        let _ = write!(text, "; pages: {} read ({})", reads.pages, format_bytes(reads.bytes));
    }
    if reads.pages_cached > 0 {
        let _ = write!(text, ", {} in memory", reads.pages_cached);
    }
    text
}

fn column_json(column: &ScannedColumn) -> Json {
    let ColumnCounts { reads, decoded, packed } = column.counts;
    Json::object(vec![
        ("name", column.name.as_str().into()),
        ("rows", column.rows.into()),
        ("decoded", decoded.into()),
        ("packed", packed.into()),
        ("bytes_read", reads.bytes.into()),
        ("pages_read", reads.pages.into()),
        ("pages_cached", reads.pages_cached.into()),
    ])
}

/// The factor by which an operator makes chunks smaller: less than one if it makes them larger.
fn reducing_factor(input: FlowCounts, output: FlowCounts) -> f64 {
    if output.rows == 0 { 1.0 } else { input.mean_rows() / output.mean_rows() }
}

fn flow_text(counts: FlowCounts) -> String {
    match counts.chunks {
        0 | 1 => format!("{} rows", counts.rows),
        chunks => format!("{} rows in {chunks} chunks of {:.0}", counts.rows, counts.mean_rows()),
    }
}

fn compaction_notes(counts: &CompactionCounts) -> Vec<(String, String)> {
    let CompactionCounts { arrived, left, rows_copied, threshold, tried, resets } = counts;
    let text = format!(
        "{} chunks of {:.0} rows to {} of {:.0}, {rows_copied} rows copied, threshold {threshold}",
        arrived.chunks,
        arrived.mean_rows(),
        left.chunks,
        left.mean_rows(),
    );
    let mut notes = vec![("compaction".to_owned(), text)];
    if !tried.is_empty() {
        let tried: Vec<String> = tried.iter().map(|(threshold, times)| format!("{threshold}: {times}")).collect();
        notes.push(("thresholds tried".to_owned(), format!("{} ({resets} resets)", tried.join(", "))));
    }
    notes
}

fn compaction_json(counts: &CompactionCounts) -> Json {
    let tried = counts.tried.iter().map(|(threshold, times)| (threshold.to_string(), Json::from(*times)));
    Json::object([
        ("chunks_in", counts.arrived.chunks.into()),
        ("chunks_out", counts.left.chunks.into()),
        ("mean_chunk_rows_in", Json::Number(counts.arrived.mean_rows())),
        ("mean_chunk_rows_out", Json::Number(counts.left.mean_rows())),
        ("rows_copied", counts.rows_copied.into()),
        ("threshold", (counts.threshold as u64).into()),
        ("thresholds_tried", Json::Object(tried.collect())),
        ("resets", u64::from(counts.resets).into()),
    ])
}
