//! The setting `cache_partitioning`: which partitions of the last-level cache queries run in, if any; and their part of
//! the output of `EXPLAIN ANALYZE`.

use godwit_common::Json;
use std::fmt::Write;
use std::sync::Arc;

#[cfg(all(unix, feature = "cache-partitioning"))]
use godwit_cache::Imitation;
use godwit_cache::{CachePartitioning, CacheSizes, Mode, OffReason, Status};

use godwit_pipeline::{CacheDecision, CacheUse};
use parking_lot::Mutex;

use crate::DebugOptions;

/// The setting, and the partitioning created for it.
pub(crate) struct CacheControl {
    state: Mutex<State>,
    /// Replaces the machine's resctrl.
    #[cfg(all(unix, feature = "cache-partitioning"))]
    imitation: Option<Imitation>,
}

#[derive(Default)]
struct State {
    mode: Mode,
    /// Created when the setting is 'on', or otherwise for the first query.
    partitioning: Option<Arc<CachePartitioning>>,
}

impl CacheControl {
    /// Creates the control of a database, with the default setting.
    #[cfg_attr(not(all(unix, feature = "cache-partitioning")), expect(unused_variables))]
    pub(crate) fn new(debug: &DebugOptions) -> Self {
        Self {
            state: Mutex::default(),
            #[cfg(all(unix, feature = "cache-partitioning"))]
            imitation: debug.resctrl.clone(),
        }
    }

    /// Returns the setting.
    pub(crate) fn mode(&self) -> Mode {
        self.state.lock().mode
    }

    /// Changes the setting for queries that start afterwards. If partitioning can't be set up, it is retried when the
    /// setting is set again.
    pub(crate) fn set_mode(&self, mode: Mode) {
        let partitioning = (mode == Mode::On).then(|| self.start());
        *self.state.lock() = State { mode, partitioning };
    }

    /// Returns the partitions that a query's workers enter.
    pub(crate) fn for_query(&self) -> Option<Arc<CachePartitioning>> {
        let mut state = self.state.lock();
        if state.mode == Mode::Off {
            return None;
        }
        let partitioning = state.partitioning.get_or_insert_with(|| self.start());
        partitioning.is_on().then(|| partitioning.clone())
    }

    /// Returns the current status; `None` if no query has needed it yet.
    pub(crate) fn status(&self) -> Option<Status> {
        let state = self.state.lock();
        match (state.mode, &state.partitioning) {
            (Mode::Off, _) => Some(Status::Off(OffReason::Setting)),
            (_, partitioning) => partitioning.as_ref().map(|partitioning| partitioning.status()),
        }
    }

    fn start(&self) -> Arc<CachePartitioning> {
        #[cfg(all(unix, feature = "cache-partitioning"))]
        if let Some(imitation) = &self.imitation {
            let started = CachePartitioning::start_with(Mode::On, imitation.paths(), Box::new(imitation.clone()));
            return Arc::new(started.unwrap_or_else(CachePartitioning::off));
        }
        CachePartitioning::of_process()
    }
}

/// Describes the classes of a query's pipelines, one per line.
pub(crate) fn explain(decisions: &[CacheDecision], status: Option<Status>) -> String {
    let status = status.map(|status| format!(", partitioning is {status}")).unwrap_or_default();
    let mut text = format!("Classes of the last-level cache{status}\n");
    for decision in decisions {
        let name = |operator: Option<&(String, CacheUse)>| operator.map_or("", |(name, _)| name.as_str()).to_owned();
        let (source, sink) = (name(decision.operators.first()), name(decision.operators.last()));
        let neediest = decision.neediest(&CacheSizes::of_this_machine());
        let why: Vec<String> = neediest.iter().map(|(name, used)| format!("{name} {used}")).collect();
        _ = writeln!(text, "  {}: {source} → {sink}\n    {}", decision.class.name(), why.join("; "));
    }
    text
}

/// Returns the same as JSON, with each operator's contribution.
pub(crate) fn to_json(decisions: &[CacheDecision]) -> Json {
    let operator = |(name, used): &(String, CacheUse)| {
        Json::object([
            ("name", name.as_str().into()),
            ("usage", used.usage.to_string().as_str().into()),
            ("bytes", used.usage.bytes().into()),
            ("why", used.why.into()),
        ])
    };
    let pipeline = |decision: &CacheDecision| {
        let operators = decision.operators.iter().map(operator).collect();
        Json::object([("class", decision.class.name().into()), ("operators", Json::Array(operators))])
    };
    Json::Array(decisions.iter().map(pipeline).collect())
}
