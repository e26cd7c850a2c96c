//! Settings of DuckDB that scripts for it change.

/// Other names of settings.
pub(crate) const ALIASES: [(&str, &str); 4] = [
    ("max_memory", "memory_limit"),
    ("null_order", "default_null_order"),
    ("wal_autocheckpoint", "checkpoint_threshold"),
    ("worker_threads", "threads"),
];

/// Settings that say how DuckDB works, but not what statements mean or may do: they can be set, without any effect.
const WITHOUT_EFFECT: [&str; 40] = [
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
    "autoinstall_known_extensions",
    "autoload_known_extensions",
    "catalog_error_max_schemas",
    "custom_user_agent",
    "default_block_size",
    "disabled_optimizers",
    "dynamic_or_filter_threshold",
    "enable_external_file_cache",
    "enable_fsst_vectors",
    "enable_macro_dependencies",
    "enable_object_cache",
    "enable_progress_bar",
    "enable_progress_bar_print",
    "enable_view_dependencies",
    "force_compression",
    "immediate_transaction_mode",
    "index_scan_max_count",
    "index_scan_percentage",
    "lambda_syntax",
    "late_materialization_max_rows",
    "merge_join_threshold",
    "nested_loop_join_threshold",
    "ordered_aggregate_threshold",
    "parquet_metadata_cache",
    "perfect_ht_threshold",
    "pivot_filter_threshold",
    "prefer_range_joins",
    "preserve_insertion_order",
    "progress_bar_time",
    "storage_compatibility_version",
];

/// Returns true for settings without effect.
pub(crate) fn is_foreign(name: &str) -> bool {
    WITHOUT_EFFECT.contains(&name) || name.starts_with("debug_")
}
