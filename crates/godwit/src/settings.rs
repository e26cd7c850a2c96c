//! `SET`, `SHOW`, `RESET`: the settings by name.

use std::path::PathBuf;

use godwit_common::{Error, Named, Result, format_bytes, parse_bytes};
use godwit_memory::{EvictionPolicy, IoMethod, MemoryPolicy, SpillCompression, minimum_query_bytes};

use crate::config::default_threads;
use crate::database::{CompressedMaterialization, Shared};

/// A setting: its name, what it means, and how it is read and changed. Settings are the database's, not a connection's.
struct Setting {
    name: &'static str,
    description: &'static str,
    /// What it is without `SET`.
    default: fn() -> String,
    get: fn(&Shared) -> String,
    set: fn(&Shared, &str) -> Result<()>,
    reset: fn(&Shared) -> Result<()>,
}

const UNLIMITED: &str = "unlimited";

/// What is shown of a setting.
pub(crate) const COLUMNS: [&str; 5] = ["name", "value", "default", "description", "reason"];

const SETTINGS: &[Setting] = &[
    Setting {
        name: "compressed_materialization",
        description: "Compress rows before an operator keeps them: true (where it pays), false, always",
        default: || CompressedMaterialization::default().name().into(),
        get: |shared| shared.compressed_materialization().name().into(),
        set: |shared, value| {
            let when = match value.to_lowercase().as_str() {
                "true" | "on" => CompressedMaterialization::True,
                "false" | "off" => CompressedMaterialization::False,
                "always" => CompressedMaterialization::Always,
                _ => {
                    return Err(Error::user(format!("compressed_materialization can't be '{value}'"))
                        .with_hint("use true, false or always"));
                }
            };
            shared.set_compressed_materialization(when);
            Ok(())
        },
        reset: |shared| {
            shared.set_compressed_materialization(CompressedMaterialization::default());
            Ok(())
        },
    },
    Setting {
        name: "connection_memory_limit",
        description: "The memory limit that the operators of one connection's queries plan with together, or 'unlimited'",
        default: || UNLIMITED.into(),
        get: |shared| limit_text(shared.query_limits.of_connection()),
        set: |shared, value| {
            shared.query_limits.set_of_connection(parse_limit(shared, value)?);
            Ok(())
        },
        reset: |shared| {
            shared.query_limits.set_of_connection(None);
            Ok(())
        },
    },
    Setting {
        name: "eviction_policy",
        description: "What leaves memory first: 'persistent_first', 'temporary_first' or 'mixed'",
        default: || EvictionPolicy::default().name().into(),
        get: |shared| shared.memory.eviction_policy().name().into(),
        set: |shared, value| {
            shared.memory.set_eviction_policy(named("eviction_policy", value)?);
            Ok(())
        },
        reset: |shared| {
            shared.memory.set_eviction_policy(EvictionPolicy::default());
            Ok(())
        },
    },
    Setting {
        name: "max_temp_directory_size",
        description: "Most disk space that intermediates may take; 'unlimited' for what the disk has",
        default: || UNLIMITED.into(),
        get: |shared| limit_text(shared.memory.max_temp_directory_bytes()),
        set: |shared, value| {
            shared.memory.set_max_temp_directory_bytes(bytes_or_unlimited(value)?);
            Ok(())
        },
        reset: |shared| {
            shared.memory.set_max_temp_directory_bytes(None);
            Ok(())
        },
    },
    Setting {
        name: "memory_limit",
        description: "Most memory that the database uses",
        default: || format_bytes(godwit_memory::default_memory_limit().0),
        get: |shared| format_bytes(shared.limit().bytes),
        set: |shared, value| shared.set_limit(parse_bytes(value)?),
        reset: |shared| shared.set_limit(godwit_memory::default_memory_limit().0),
    },
    Setting {
        name: "memory_policy",
        description: "Who gets how much when operators want more memory than there is: weighted, unweighted, equality or \
                      equity",
        default: || MemoryPolicy::default().name().into(),
        get: |shared| shared.memory.memory_policy().name().into(),
        set: |shared, value| {
            shared.memory.set_memory_policy(MemoryPolicy::parse(value)?);
            Ok(())
        },
        reset: |shared| {
            shared.memory.set_memory_policy(MemoryPolicy::default());
            Ok(())
        },
    },
    Setting {
        name: "query_memory_limit",
        description: "The memory limit that the operators of one query plan with, or 'unlimited'",
        default: || UNLIMITED.into(),
        get: |shared| limit_text(shared.query_limits.of_query()),
        set: |shared, value| {
            shared.query_limits.set_of_query(parse_limit(shared, value)?);
            Ok(())
        },
        reset: |shared| {
            shared.query_limits.set_of_query(None);
            Ok(())
        },
    },
    Setting {
        name: "spill_compression",
        description: "Compression of spilled pages: 'none', 'lz4', 'zstd', or 'auto' for what pays",
        default: || SpillCompression::default().name().into(),
        get: |shared| match shared.memory.spill_compression() {
            SpillCompression::Auto => format!("auto (now {})", shared.memory.spill_codec()),
            compression => compression.name().into(),
        },
        set: |shared, value| {
            shared.memory.set_spill_compression(named("spill_compression", value)?);
            Ok(())
        },
        reset: |shared| {
            shared.memory.set_spill_compression(SpillCompression::default());
            Ok(())
        },
    },
    Setting {
        name: "spill_io",
        description: "How pages are spilled: by 'io_uring', by 'threads', or 'auto' for what the system has",
        default: || IoMethod::default().name().into(),
        get: |shared| {
            let method = shared.memory.io_method().name();
            shared.memory.io_description().map_or(method.into(), |found| format!("{method} (now {found})"))
        },
        set: |shared, value| shared.memory.set_io_method(named("spill_io", value)?),
        reset: |shared| shared.memory.set_io_method(IoMethod::default()),
    },
    Setting {
        name: "temp_directory",
        description: "Where intermediates go that don't fit into memory",
        default: || std::env::temp_dir().display().to_string(),
        get: |shared| shared.memory.temp_directory().display().to_string(),
        set: |shared, value| {
            let directory = PathBuf::from(value);
            if !directory.is_dir() {
                return Err(Error::user(format!("temp_directory '{value}' is not a folder"))
                    .with_hint("name an existing folder that you may write to"));
            }
            shared.memory.set_temp_directory(directory);
            Ok(())
        },
        reset: |shared| {
            shared.memory.set_temp_directory(std::env::temp_dir());
            Ok(())
        },
    },
    Setting {
        name: "threads",
        description: "Worker threads",
        default: || default_threads().to_string(),
        get: |shared| shared.pool().workers().to_string(),
        set: |shared, value| {
            let threads = value.parse().map_err(|_| {
                Error::user(format!("threads: '{value}' is not a number")).with_hint("for example: SET threads = 4")
            })?;
            shared.set_threads(threads)
        },
        reset: |shared| shared.set_threads(default_threads()),
    },
];

/// The value of this name.
fn named<T: Named>(setting: &str, name: &str) -> Result<T> {
    T::from_name(name).ok_or_else(|| {
        let known: Vec<String> = T::NAMES.iter().map(|(known, _)| format!("'{known}'")).collect();
        Error::user(format!("{setting}: there is no '{name}'")).with_hint(format!("it is one of {}", known.join(", ")))
    })
}

fn limit_text(bytes: Option<u64>) -> String {
    bytes.map_or(UNLIMITED.into(), format_bytes)
}

fn bytes_or_unlimited(value: &str) -> Result<Option<u64>> {
    if value.eq_ignore_ascii_case(UNLIMITED) { Ok(None) } else { parse_bytes(value).map(Some) }
}

/// A limit for a part of the database's queries: at least what one query can't do without.
fn parse_limit(shared: &Shared, value: &str) -> Result<Option<u64>> {
    let Some(bytes) = bytes_or_unlimited(value)? else { return Ok(None) };
    let minimum = minimum_query_bytes(shared.pool().workers());
    if bytes < minimum {
        return Err(Error::user(format!("{} is below what a query needs", format_bytes(bytes)))
            .with_hint(format!("give it at least {}, or lower threads", format_bytes(minimum))));
    }
    Ok(Some(bytes))
}

fn find(name: &str) -> Result<&'static Setting> {
    SETTINGS.iter().find(|setting| setting.name == name).ok_or_else(|| {
        let known: Vec<&str> = SETTINGS.iter().map(|setting| setting.name).collect();
        Error::user(format!("there is no setting named '{name}'"))
            .with_hint(format!("settings are: {}", known.join(", ")))
    })
}

/// Changes a setting.
pub(crate) fn set(shared: &Shared, name: &str, value: &str) -> Result<()> {
    (find(name)?.set)(shared, value)
}

/// Gives one setting, or all, its default.
pub(crate) fn reset(shared: &Shared, name: Option<&str>) -> Result<()> {
    match name {
        Some(name) => (find(name)?.reset)(shared),
        None => SETTINGS.iter().try_for_each(|setting| (setting.reset)(shared)),
    }
}

/// The [`COLUMNS`] of one setting, or of all.
pub(crate) fn show(shared: &Shared, name: Option<&str>) -> Result<Vec<[String; COLUMNS.len()]>> {
    let row = |setting: &Setting| {
        let (value, default) = ((setting.get)(shared), (setting.default)());
        let reason = match setting.name {
            "memory_limit" => shared.limit().reason,
            // What 'auto' has come to stands behind it.
            _ if value.split(" (now ").next() == Some(&default) => "the default".into(),
            _ => "set by the user".into(),
        };
        [setting.name.into(), value, default, setting.description.into(), reason]
    };
    match name {
        Some(name) => Ok(vec![row(find(name)?)]),
        None => Ok(SETTINGS.iter().map(row).collect()),
    }
}
