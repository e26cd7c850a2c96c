//! TPC-H: its data as Parquet files, and its 22 queries.

mod columns;
pub mod generate;

macro_rules! queries {
    ($($number:literal)*) => {
        [$(include_str!(concat!("../../../../tests/tpch/q", $number, ".sql"))),*]
    };
}

/// The queries 1 to 22 with the specification's validation parameters.
pub const QUERIES: [&str; 22] = queries!("01" "02" "03" "04" "05" "06" "07" "08" "09" "10" "11" "12" "13" "14" "15" "16" "17" "18" "19" "20" "21" "22");
