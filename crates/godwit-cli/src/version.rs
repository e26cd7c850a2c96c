//! `godwit --version`.

use std::process::ExitCode;

use arrow_array::cast::AsArray;
use godwit::{Database, Result};

use crate::arguments::Limits;
use crate::shell::print_line;

/// Prints the version; with `verbose` also the limits of a database opened with these arguments, and the processor.
pub fn print(verbose: bool, limits: &Limits) -> Result<ExitCode> {
    print_line(concat!("godwit ", env!("CARGO_PKG_VERSION")))?;
    if verbose {
        let connection = Database::open_with(":memory:", limits.config())?.connect();
        for name in ["memory_limit", "threads", "temp_directory"] {
            let (value, reason) = setting(&connection, name)?;
            print_line(&format!("{:<15} {value} ({reason})", format!("{name}:")))?;
        }
        print_line(&format!("{:<15} {}", "processor:", processor_features().join(" ")))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns the value of a setting and the reason for it, as text.
pub fn setting(connection: &godwit::Connection, name: &str) -> Result<(String, String)> {
    let mut shown = (String::new(), String::new());
    for batch in connection.query(&format!("SHOW {name}"))? {
        let batch = batch?;
        let field = |column: &str| {
            let texts = batch.column_by_name(column).and_then(|column| column.as_string_opt::<i32>());
            texts.map(|texts| texts.value(0).to_owned()).unwrap_or_default()
        };
        shown = (field("value"), field("reason"));
    }
    Ok(shown)
}

/// Returns the instruction sets that kernels use, if this processor has them.
#[cfg(target_arch = "x86_64")]
fn processor_features() -> Vec<&'static str> {
    let mut features = vec!["x86_64"];
    macro_rules! detect {
        ($($name:tt)*) => { $(if is_x86_feature_detected!($name) { features.push($name); })* };
    }
    detect!("sse4.2" "avx2" "bmi2" "fma" "avx512f" "avx512bw" "avx512vl" "avx512vbmi2");
    features
}

#[cfg(not(target_arch = "x86_64"))]
fn processor_features() -> Vec<&'static str> {
    vec![std::env::consts::ARCH]
}
