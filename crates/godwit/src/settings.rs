//! `SET`, `SHOW`, `RESET`: settings by name.

use std::path::PathBuf;
use std::time::Duration;

use godwit_cache::Mode;
use godwit_catalog::{SCHEMA, SchemaName};
use godwit_common::{Error, Named, Result, format_bytes, parse_bytes};
use godwit_memory::{EvictionPolicy, IoMethod, MemoryPolicy, SpillCompression, minimum_query_bytes};
use godwit_pipeline::{Compaction, JOIN_LOAD_FACTOR};
use godwit_sql::{Dialect, JoinOrder, NullOrder};
use godwit_tables::adaptation::AdaptiveCompression;
use godwit_tables::{CHECKPOINT_BYTES, EncodingChoice};
use godwit_types::TimeZone;
use godwit_vector::CHUNK_ROWS;

use crate::config::default_threads;
use crate::database::CompressedMaterialization;
use crate::foreign_settings::{self, ALIASES, is_foreign};
use crate::session::{OwnSettings, Session};
use crate::{objects, tracing};

/// A setting: its name, its meaning, and how it is read and changed. Most belong to the database, some to the
/// connection.
pub(crate) struct Setting {
    pub name: &'static str,
    pub description: &'static str,
    /// Its default value.
    pub default: fn() -> String,
    pub get: fn(&Session) -> String,
    pub set: fn(&Session, &str) -> Result<()>,
    pub reset: fn(&Session) -> Result<()>,
}

/// Value for an automatic choice.
const AUTO: &str = "auto";

const UNLIMITED: &str = "unlimited";

/// Columns shown for a setting.
pub(crate) const COLUMNS: [&str; 5] = ["name", "value", "default", "description", "reason"];

const SETTINGS: &[Setting] = &[
    Setting {
        name: "adaptation_period",
        description: "Time between two looks at which segments of tables are read, as in '10s', or 'auto' for what pays",
        default: || AUTO.into(),
        get: |session| match session.shared.adaptation.period() {
            (Some(set), _) => format!("{}ms", set.as_millis()),
            (None, now) => format!("{AUTO} (now {}ms)", now.as_millis()),
        },
        set: |session, value| {
            session.shared.adaptation.set_period(period_of(value)?);
            Ok(())
        },
        reset: |session| {
            session.shared.adaptation.set_period(None);
            Ok(())
        },
    },
    Setting {
        name: "adaptive_compression",
        description: "Forms in which memory has segments of tables: 'auto' (what pays), 'on' (the most read ones flat), 'off' (as \
                      they are stored), 'compact', 'hot' (all flat)",
        default: || AdaptiveCompression::default().name().into(),
        get: |session| session.shared.adaptation.mode().name().into(),
        set: |session, value| {
            session.shared.adaptation.set_mode(named("adaptive_compression", value)?);
            Ok(())
        },
        reset: |session| {
            session.shared.adaptation.set_mode(AdaptiveCompression::default());
            Ok(())
        },
    },
    Setting {
        name: "cache_partitioning",
        description: "Workers that scan fill a part of the last-level cache only: 'auto' and 'on' (where Linux's resctrl \
                      allows it; 'on' tries at once, 'auto' with the next query), 'off'",
        default: || Mode::default().name().into(),
        get: |session| session.shared.cache.mode().name().into(),
        set: |session, value| {
            session.shared.cache.set_mode(named("cache_partitioning", value)?);
            Ok(())
        },
        reset: |session| {
            session.shared.cache.set_mode(Mode::default());
            Ok(())
        },
    },
    Setting {
        name: "checkpoint_threshold",
        description: "From how many bytes of log on a checkpoint is made in the background",
        default: || format_bytes(CHECKPOINT_BYTES),
        get: |session| format_bytes(session.shared.store.checkpoint_bytes()),
        set: |session, value| {
            session.shared.store.set_checkpoint_bytes(parse_bytes(value)?);
            Ok(())
        },
        reset: |session| {
            session.shared.store.set_checkpoint_bytes(CHECKPOINT_BYTES);
            Ok(())
        },
    },
    Setting {
        name: "chunk_rows",
        description: "Most rows that operators hand on at once, up to 2048; of this connection",
        default: || CHUNK_ROWS.to_string(),
        get: |session| session.own().chunk_rows.to_string(),
        set: |session, value| {
            let rows = value.parse().ok().filter(|rows| (1..=CHUNK_ROWS).contains(rows)).ok_or_else(|| {
                Error::user(format!("chunk_rows can't be '{value}'"))
                    .with_hint(format!("use a number from 1 to {CHUNK_ROWS}"))
            })?;
            session.change(|own| own.chunk_rows = rows);
            Ok(())
        },
        reset: |session| {
            session.change(|own| own.chunk_rows = OwnSettings::of(session.shared).chunk_rows);
            Ok(())
        },
    },
    Setting {
        name: "compaction",
        description: "When small chunks are put together: 'none', 'full', 'binary', 'dynamic', 'learning', 'logical' or \
                      'smart'; of this connection",
        default: || Compaction::default().name().into(),
        get: |session| session.own().compaction.name().into(),
        set: |session, value| {
            let compaction = named("compaction", value)?;
            session.change(|own| own.compaction = compaction);
            Ok(())
        },
        reset: |session| {
            session.change(|own| own.compaction = Compaction::default());
            Ok(())
        },
    },
    Setting {
        name: "compaction_threshold",
        description: "Share of the segments of tables that isn't kept flat in memory, from 0 to 1, or 'auto' for what pays",
        default: || AUTO.into(),
        get: |session| match session.shared.adaptation.threshold() {
            (Some(set), _) => set.to_string(),
            (None, Some(now)) => format!("{AUTO} (now {now:.3})"),
            (None, None) => AUTO.into(),
        },
        set: |session, value| {
            session.shared.adaptation.set_threshold(threshold_of(value)?);
            Ok(())
        },
        reset: |session| {
            session.shared.adaptation.set_threshold(None);
            Ok(())
        },
    },
    Setting {
        name: "compressed_materialization",
        description: "Compress rows before an operator keeps them: true (where it pays), false, always",
        default: || CompressedMaterialization::default().name().into(),
        get: |session| session.shared.compressed_materialization().name().into(),
        set: |session, value| {
            let when = match value.to_lowercase().as_str() {
                "always" => CompressedMaterialization::Always,
                _ => match parse_bool("compressed_materialization", value) {
                    Ok(true) => CompressedMaterialization::True,
                    Ok(false) => CompressedMaterialization::False,
                    Err(error) => return Err(error.with_hint("use true, false or always")),
                },
            };
            session.shared.set_compressed_materialization(when);
            Ok(())
        },
        reset: |session| {
            session.shared.set_compressed_materialization(CompressedMaterialization::default());
            Ok(())
        },
    },
    Setting {
        name: "connection_memory_limit",
        description: "The memory limit that the operators of one connection's queries plan with together, or 'unlimited'",
        default: || UNLIMITED.into(),
        get: |session| limit_text(session.shared.query_limits.of_connection()),
        set: |session, value| {
            session.shared.query_limits.set_of_connection(parse_limit(session, value)?);
            Ok(())
        },
        reset: |session| {
            session.shared.query_limits.set_of_connection(None);
            Ok(())
        },
    },
    Setting {
        name: "default_null_order",
        description: "Where orders have NULLs that don't say it: 'nulls_last_on_asc_first_on_desc' (as in PostgreSQL), \
                      'nulls_first_on_asc_last_on_desc', 'nulls_first', 'nulls_last' (as in DuckDB); of this connection",
        default: || Dialect::default().null_order.name().into(),
        get: |session| session.own().values.dialect.null_order.name().into(),
        set: |session, value| {
            let null_order = match value.to_lowercase().replace(' ', "_").as_str() {
                "postgres" => NullOrder::Greatest,
                "sqlite" | "mysql" => NullOrder::Least,
                name => named("default_null_order", name)?,
            };
            session.change(|own| own.values.dialect.null_order = null_order);
            Ok(())
        },
        reset: |session| {
            session.change(|own| own.values.dialect.null_order = Dialect::default().null_order);
            Ok(())
        },
    },
    Setting {
        name: "default_order",
        description: "Direction of orders that don't say it: 'asc' or 'desc'; of this connection",
        default: || order_name(Dialect::default().descending).into(),
        get: |session| order_name(session.own().values.dialect.descending).into(),
        set: |session, value| {
            let descending = match value.to_lowercase().as_str() {
                "asc" | "ascending" => false,
                "desc" | "descending" => true,
                _ => return Err(Error::user(format!("default_order can't be '{value}'")).with_hint("use asc or desc")),
            };
            session.change(|own| own.values.dialect.descending = descending);
            Ok(())
        },
        reset: |session| {
            session.change(|own| own.values.dialect.descending = Dialect::default().descending);
            Ok(())
        },
    },
    Setting {
        name: "eviction_policy",
        description: "What leaves memory first: 'persistent_first', 'temporary_first' or 'mixed'",
        default: || EvictionPolicy::default().name().into(),
        get: |session| session.shared.memory.eviction_policy().name().into(),
        set: |session, value| {
            session.shared.memory.set_eviction_policy(named("eviction_policy", value)?);
            Ok(())
        },
        reset: |session| {
            session.shared.memory.set_eviction_policy(EvictionPolicy::default());
            Ok(())
        },
    },
    Setting {
        name: "integer_division",
        description: "True if / of integers truncates, as in PostgreSQL; false if it is a DOUBLE, as in DuckDB; of this \
                      connection",
        default: || Dialect::default().integer_division.to_string(),
        get: |session| session.own().values.dialect.integer_division.to_string(),
        set: |session, value| {
            let integer_division = parse_bool("integer_division", value)?;
            session.change(|own| own.values.dialect.integer_division = integer_division);
            Ok(())
        },
        reset: |session| {
            session.change(|own| own.values.dialect.integer_division = Dialect::default().integer_division);
            Ok(())
        },
    },
    Setting {
        name: "join_filters",
        description: "Scans drop rows that joins above can't match: true or false; of this connection",
        default: || true.to_string(),
        get: |session| session.own().join_filters.to_string(),
        set: |session, value| {
            let uses = parse_bool("join_filters", value)?;
            session.change(|own| own.join_filters = uses);
            Ok(())
        },
        reset: |session| {
            session.change(|own| own.join_filters = true);
            Ok(())
        },
    },
    Setting {
        name: "join_load_factor",
        description: "Most rows per entry of a join's hash table, from 0.05 to 0.9; of this connection",
        default: || JOIN_LOAD_FACTOR.to_string(),
        get: |session| session.own().join_load_factor.to_string(),
        set: |session, value| {
            let factor = value.parse().ok().filter(|factor| (0.05..=0.9).contains(factor)).ok_or_else(|| {
                Error::user(format!("join_load_factor can't be '{value}'")).with_hint("use a number from 0.05 to 0.9")
            })?;
            session.change(|own| own.join_load_factor = factor);
            Ok(())
        },
        reset: |session| {
            session.change(|own| own.join_load_factor = JOIN_LOAD_FACTOR);
            Ok(())
        },
    },
    Setting {
        name: "join_order",
        description: "The order of inner joins: 'cost' for the cheapest by estimates, or 'written', from left to right, where \
                      each table is looked up in by what stands before it; of this connection",
        default: || JoinOrder::default().name().into(),
        get: |session| session.own().join_order.name().into(),
        set: |session, value| {
            let order = named("join_order", value)?;
            session.change(|own| own.join_order = order);
            Ok(())
        },
        reset: |session| {
            session.change(|own| own.join_order = JoinOrder::default());
            Ok(())
        },
    },
    Setting {
        name: "force_encoding",
        description: "How rows are stored that come into tables from now on: 'auto', or, where the type allows it, 'plain', \
                      'packed', 'run_length', 'symbols' or 'dictionary'",
        default: || EncodingChoice::default().name().into(),
        get: |session| session.shared.store.encoding().name().into(),
        set: |session, value| {
            let choice = named("force_encoding", value)?;
            session.shared.stores().iter().for_each(|named| named.store.set_encoding(choice));
            Ok(())
        },
        reset: |session| {
            session.shared.stores().iter().for_each(|named| named.store.set_encoding(EncodingChoice::default()));
            Ok(())
        },
    },
    Setting {
        name: "max_temp_directory_size",
        description: "Most disk space that intermediates may take; 'unlimited' for what the disk has",
        default: || UNLIMITED.into(),
        get: |session| limit_text(session.shared.memory.max_temp_directory_bytes()),
        set: |session, value| {
            session.shared.memory.set_max_temp_directory_bytes(bytes_or_unlimited(value)?);
            Ok(())
        },
        reset: |session| {
            session.shared.memory.set_max_temp_directory_bytes(None);
            Ok(())
        },
    },
    Setting {
        name: "memory_limit",
        description: "Most memory that the database uses",
        default: || format_bytes(godwit_memory::default_memory_limit().0),
        get: |session| format_bytes(session.shared.limit().bytes),
        set: |session, value| {
            session.shared.set_limit(match value {
                "-1" | "none" => godwit_memory::default_memory_limit().0,
                _ => parse_bytes(value)?,
            })
        },
        reset: |session| session.shared.set_limit(godwit_memory::default_memory_limit().0),
    },
    Setting {
        name: "memory_policy",
        description: "Who gets how much when operators want more memory than there is: weighted, unweighted, equality or \
                      equity",
        default: || MemoryPolicy::default().name().into(),
        get: |session| session.shared.memory.memory_policy().name().into(),
        set: |session, value| {
            session.shared.memory.set_memory_policy(MemoryPolicy::parse(value)?);
            Ok(())
        },
        reset: |session| {
            session.shared.memory.set_memory_policy(MemoryPolicy::default());
            Ok(())
        },
    },
    Setting {
        name: "query_memory_limit",
        description: "The memory limit that the operators of one query plan with, or 'unlimited'",
        default: || UNLIMITED.into(),
        get: |session| limit_text(session.shared.query_limits.of_query()),
        set: |session, value| {
            session.shared.query_limits.set_of_query(parse_limit(session, value)?);
            Ok(())
        },
        reset: |session| {
            session.shared.query_limits.set_of_query(None);
            Ok(())
        },
    },
    Setting {
        name: "search_path",
        description: "Schemas in which names without a schema are looked for; things are made in the first; of this \
                      connection",
        default: || SCHEMA.into(),
        get: |session| {
            let path = session.own().path;
            let text = |place: &SchemaName| match place.database == session.shared.name {
                true => place.schema.clone(),
                false => format!("{}.{}", place.database, place.schema),
            };
            if path.is_empty() { SCHEMA.into() } else { path.iter().map(text).collect::<Vec<_>>().join(", ") }
        },
        set: |_, _| Err(Error::internal("the planner knows which schemas there are")),
        reset: |session| {
            session.change(|own| own.path.clear());
            Ok(())
        },
    },
    Setting {
        name: "spill_compression",
        description: "Compression of spilled pages: 'none', 'lz4', 'zstd', or 'auto' for what pays",
        default: || SpillCompression::default().name().into(),
        get: |session| match session.shared.memory.spill_compression() {
            SpillCompression::Auto => format!("auto (now {})", session.shared.memory.spill_codec()),
            compression => compression.name().into(),
        },
        set: |session, value| {
            session.shared.memory.set_spill_compression(named("spill_compression", value)?);
            Ok(())
        },
        reset: |session| {
            session.shared.memory.set_spill_compression(SpillCompression::default());
            Ok(())
        },
    },
    Setting {
        name: "spill_io",
        description: "How pages are spilled: by 'io_uring', by 'threads', or 'auto' for what the system has",
        default: || IoMethod::default().name().into(),
        get: |session| {
            let method = session.shared.memory.io_method().name();
            session.shared.memory.io_description().map_or(method.into(), |found| format!("{method} (now {found})"))
        },
        set: |session, value| session.shared.memory.set_io_method(named("spill_io", value)?),
        reset: |session| session.shared.memory.set_io_method(IoMethod::default()),
    },
    Setting {
        name: "statement_timeout",
        description: "How long a statement may take, as in '10s', '500ms' or '2min', or 'unlimited'; of this connection",
        default: || UNLIMITED.into(),
        get: |session| match session.own().statement_timeout {
            None => UNLIMITED.into(),
            Some(timeout) => format!("{}ms", timeout.as_millis()),
        },
        set: |session, value| {
            let timeout = timeout_of(value)?;
            session.change(|own| own.statement_timeout = timeout);
            Ok(())
        },
        reset: |session| {
            session.change(|own| own.statement_timeout = None);
            Ok(())
        },
    },
    Setting {
        name: "temp_directory",
        description: "Where intermediates go that don't fit into memory",
        default: || std::env::temp_dir().display().to_string(),
        get: |session| session.shared.memory.temp_directory().display().to_string(),
        set: |session, value| {
            let directory = PathBuf::from(value);
            if !directory.is_dir() && std::fs::create_dir(&directory).is_err() {
                return Err(Error::user(format!("temp_directory '{value}' is not a folder"))
                    .with_hint("name a folder that you may write to, or a new one in such a folder"));
            }
            session.shared.memory.set_temp_directory(directory);
            Ok(())
        },
        reset: |session| {
            session.shared.memory.set_temp_directory(std::env::temp_dir());
            Ok(())
        },
    },
    Setting {
        name: "threads",
        description: "Worker threads",
        default: || default_threads().to_string(),
        get: |session| session.shared.pool().workers().to_string(),
        set: |session, value| {
            let threads = value.parse().map_err(|_| {
                Error::user(format!("threads: '{value}' is not a number")).with_hint("for example: SET threads = 4")
            })?;
            session.shared.set_threads(threads)
        },
        reset: |session| session.shared.set_threads(default_threads()),
    },
    Setting {
        name: "timezone",
        description: "The time zone in which TIMESTAMP WITH TIME ZONE is shown and read, as 'Europe/Berlin'; of this \
                      connection",
        default: || TimeZone::UTC.to_string(),
        get: |session| session.own().values.time_zone.to_string(),
        set: |session, value| {
            let zone = TimeZone::named(value)?;
            session.change(|own| own.values.time_zone = zone);
            Ok(())
        },
        reset: |session| {
            session.change(|own| own.values.time_zone = TimeZone::UTC);
            Ok(())
        },
    },
];

fn order_name(descending: bool) -> &'static str {
    if descending { "desc" } else { "asc" }
}

/// Returns the value of this name.
pub(crate) fn named<T: Named>(setting: &str, name: &str) -> Result<T> {
    T::from_name(name).ok_or_else(|| {
        let known: Vec<String> = T::NAMES.iter().map(|(known, _)| format!("'{known}'")).collect();
        Error::user(format!("{setting}: there is no '{name}'")).with_hint(format!("it is one of {}", known.join(", ")))
    })
}

pub(crate) fn parse_bool(setting: &str, value: &str) -> Result<bool> {
    match value.to_lowercase().as_str() {
        "true" | "on" => Ok(true),
        "false" | "off" => Ok(false),
        _ => Err(Error::user(format!("{setting} can't be '{value}'")).with_hint("use true or false")),
    }
}

/// Parses a fraction; `None` if it is automatic.
fn threshold_of(value: &str) -> Result<Option<f64>> {
    if value.eq_ignore_ascii_case(AUTO) {
        return Ok(None);
    }
    let share = value.parse().ok().filter(|share| (0.0..=1.0).contains(share));
    share.map(Some).ok_or_else(|| {
        Error::user(format!("compaction_threshold can't be '{value}'")).with_hint("use a number from 0 to 1, or 'auto'")
    })
}

/// Parses the interval at which forms are adapted; `None` if it is automatic.
fn period_of(value: &str) -> Result<Option<Duration>> {
    if value.eq_ignore_ascii_case(AUTO) {
        return Ok(None);
    }
    let refused = || {
        Error::user(format!("adaptation_period can't be '{value}'")).with_hint("write '10s', '500ms', '2min' or 'auto'")
    };
    timeout_of(value).map_err(|_| refused())?.map(Some).ok_or_else(refused)
}

/// Parses a time: a number of milliseconds, or of the unit after it. `None` or 0 means no limit.
fn timeout_of(value: &str) -> Result<Option<Duration>> {
    let text = value.trim().to_lowercase();
    if text == UNLIMITED {
        return Ok(None);
    }
    let units = [("ms", 1), ("min", 60_000), ("s", 1_000), ("h", 3_600_000), ("", 1)];
    let milliseconds = units.into_iter().find_map(|(unit, milliseconds)| {
        let number: u64 = text.strip_suffix(unit)?.trim().parse().ok()?;
        number.checked_mul(milliseconds)
    });
    let milliseconds = milliseconds.ok_or_else(|| {
        Error::user(format!("'{value}' is no time")).with_hint("write '10s', '500ms', '2min' or 'unlimited'")
    })?;
    Ok((milliseconds > 0).then(|| Duration::from_millis(milliseconds)))
}

fn limit_text(bytes: Option<u64>) -> String {
    bytes.map_or(UNLIMITED.into(), format_bytes)
}

fn bytes_or_unlimited(value: &str) -> Result<Option<u64>> {
    let is_unlimited = value.eq_ignore_ascii_case(UNLIMITED) || matches!(value, "-1" | "none");
    if is_unlimited { Ok(None) } else { parse_bytes(value).map(Some) }
}

/// Parses a limit for a part of the database's queries: at least the required minimum of one query.
fn parse_limit(session: &Session, value: &str) -> Result<Option<u64>> {
    let Some(bytes) = bytes_or_unlimited(value)? else { return Ok(None) };
    let minimum = minimum_query_bytes(session.shared.pool().workers());
    if bytes < minimum {
        return Err(Error::user(format!("{} is below what a query needs", format_bytes(bytes)))
            .with_hint(format!("give it at least {}, or lower threads", format_bytes(minimum))));
    }
    Ok(Some(bytes))
}

fn all() -> impl Iterator<Item = &'static Setting> {
    SETTINGS.iter().chain(tracing::SETTINGS).chain(objects::SETTINGS)
}

fn find(name: &str) -> Result<&'static Setting> {
    let name = ALIASES.iter().find(|(alias, _)| *alias == name).map_or(name, |(_, own)| own);
    all().find(|setting| setting.name == name).ok_or_else(|| {
        let known: Vec<&str> = all().map(|setting| setting.name).collect();
        Error::user(format!("there is no setting named '{name}'"))
            .with_hint(format!("settings are: {}", known.join(", ")))
    })
}

/// Changes a setting.
pub(crate) fn set(session: &Session, name: &str, value: &str) -> Result<()> {
    if is_foreign(name) {
        session.change(|own| foreign_settings::keep(&mut own.foreign, name, value));
        return Ok(());
    }
    (find(name)?.set)(session, value)?;
    session.change(|own| own.values.settings.changes += 1);
    Ok(())
}

/// Returns the value of a setting; `None` if there is no such setting.
pub(crate) fn value(session: &Session, name: &str) -> Option<String> {
    if is_foreign(name) {
        return session.own().foreign.get(name).cloned();
    }
    Some((find(name).ok()?.get)(session))
}

/// Resets one setting, or all, to the default.
pub(crate) fn reset(session: &Session, name: Option<&str>) -> Result<()> {
    match name {
        Some(name) if is_foreign(name) => session.change(|own| {
            own.foreign.remove(name);
        }),
        Some(name) => (find(name)?.reset)(session)?,
        None => all().try_for_each(|setting| (setting.reset)(session))?,
    }
    session.change(|own| own.values.settings.changes += 1);
    Ok(())
}

/// Returns the [`COLUMNS`] of one setting, or of all.
pub(crate) fn show(session: &Session, name: Option<&str>) -> Result<Vec<[String; COLUMNS.len()]>> {
    let row = |setting: &Setting| {
        let (value, default) = ((setting.get)(session), (setting.default)());
        let reason = match setting.name {
            "memory_limit" => session.shared.limit().reason,
            "cache_partitioning" => match session.shared.cache.status() {
                Some(status) => status.to_string(),
                None => "the default; no query has run yet".into(),
            },
            // The current choice of 'auto' is shown after it.
            _ if value.split(" (now ").next() == Some(&default) => "the default".into(),
            _ => "set by the user".into(),
        };
        [setting.name.into(), value, default, setting.description.into(), reason]
    };
    match name {
        Some(name) => Ok(vec![row(find(name)?)]),
        None => Ok(all().map(row).collect()),
    }
}
