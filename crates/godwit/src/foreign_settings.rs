//! Settings of DuckDB that scripts for it change.

use std::collections::BTreeMap;

/// Other names of settings.
pub(crate) const ALIASES: [(&str, &str); 4] = [
    ("max_memory", "memory_limit"),
    ("null_order", "default_null_order"),
    ("wal_autocheckpoint", "checkpoint_threshold"),
    ("worker_threads", "threads"),
];

/// Settings that say how DuckDB works or what it tells about that, but not what statements mean or may do: they can be
/// set, without any effect.
const WITHOUT_EFFECT: [&str; 61] = [
    "allocator_background_threads",
    "allocator_bulk_deallocation_flush_threshold",
    "allocator_flush_threshold",
    "allow_community_extensions",
    "allow_extensions_metadata_mismatch",
    "allow_unsigned_extensions",
    "arrow_large_buffer_size",
    "arrow_lossless_conversion",
    "arrow_output_list_view",
    "asof_loop_join_threshold",
    "auto_checkpoint_skip_wal_threshold",
    "autoinstall_known_extensions",
    "autoload_known_extensions",
    "block_allocator_memory",
    "catalog_error_max_schemas",
    "custom_user_agent",
    "default_block_size",
    "disabled_compression_methods",
    "disabled_optimizers",
    "dynamic_or_filter_threshold",
    "enable_external_file_cache",
    "enable_fsst_vectors",
    "enable_http_metadata_cache",
    "enable_macro_dependencies",
    "enable_object_cache",
    "enable_profiling",
    "enable_progress_bar",
    "enable_progress_bar_print",
    "enable_view_dependencies",
    "explain_output",
    "extension_directory",
    "external_threads",
    "force_compression",
    "immediate_transaction_mode",
    "index_scan_max_count",
    "index_scan_percentage",
    "lambda_syntax",
    "late_materialization_max_rows",
    "max_expression_depth",
    "merge_join_threshold",
    "nested_loop_join_threshold",
    "ordered_aggregate_threshold",
    "parquet_metadata_cache",
    "partitioned_write_flush_threshold",
    "partitioned_write_max_open_files",
    "perfect_ht_threshold",
    "pivot_filter_threshold",
    "pivot_limit",
    "prefer_range_joins",
    "preserve_insertion_order",
    "profile_output",
    "profiling_coverage",
    "profiling_mode",
    "profiling_output",
    "progress_bar_time",
    "secret_directory",
    "storage_compatibility_version",
    "streaming_buffer_size",
    "wal_autocheckpoint_entries",
    "write_buffer_row_group_count",
    "zstd_min_string_length",
];

/// Most settings that a session keeps, so that they can be read again.
const KEPT_MAX: usize = 128;

/// Bytes of the longest name and value that are kept together.
const KEPT_BYTES_MAX: usize = 1024;

/// Returns true for settings without effect.
pub(crate) fn is_foreign(name: &str) -> bool {
    // Only DuckDB's own tests set the latter.
    WITHOUT_EFFECT.contains(&name) || name.starts_with("debug_")
}

/// Keeps the value of a setting without effect, unless there are too many or it is too long.
pub(crate) fn keep(kept: &mut BTreeMap<String, String>, name: &str, value: &str) {
    kept.remove(name);
    if kept.len() < KEPT_MAX && name.len() + value.len() <= KEPT_BYTES_MAX {
        kept.insert(name.to_owned(), value.to_owned());
    }
}
