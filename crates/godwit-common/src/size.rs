//! Sizes in bytes as people write and read them.

use crate::{Error, Result};

/// Parses "512MB", "2 GiB", "1.5g" or "100000" into bytes. Decimal and binary units are different: MB is 10^6, MiB 2^20.
pub fn parse_bytes(text: &str) -> Result<u64> {
    let invalid = || {
        Error::user(format!("'{text}' is not a size"))
            .with_hint("write a number and a unit, such as '512MB', '2GB' or '1.5GiB'")
    };
    let trimmed = text.trim();
    let split = trimmed.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(trimmed.len());
    let number: f64 = trimmed[..split].parse().map_err(|_| invalid())?;
    let factor: f64 = match trimmed[split..].trim().to_ascii_lowercase().as_str() {
        "" | "b" | "byte" | "bytes" => 1.0,
        "k" | "kb" | "kilobyte" | "kilobytes" => 1e3,
        "m" | "mb" | "megabyte" | "megabytes" => 1e6,
        "g" | "gb" | "gigabyte" | "gigabytes" => 1e9,
        "t" | "tb" | "terabyte" | "terabytes" => 1e12,
        "kib" => 1024.0,
        "mib" => 1024.0 * 1024.0,
        "gib" => 1024.0 * 1024.0 * 1024.0,
        "tib" => 1024.0 * 1024.0 * 1024.0 * 1024.0,
        _ => return Err(invalid()),
    };
    let bytes = number * factor;
    if bytes >= 9e18 {
        return Err(invalid());
    }
    Ok(bytes as u64)
}

/// Formats bytes with a binary unit and one decimal: `1.5 GiB`.
pub fn format_bytes(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    if unit == 0 { format!("{bytes} B") } else { format!("{value:.1} {}", UNITS[unit]) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_round_trip() {
        assert_eq!(parse_bytes("512MB").unwrap(), 512_000_000);
        assert_eq!(parse_bytes(" 2 GiB ").unwrap(), 2 << 30);
        assert_eq!(parse_bytes("1.5k").unwrap(), 1500);
        assert_eq!(parse_bytes("7").unwrap(), 7);
        for wrong in ["", "GB", "-1GB", "1XB", "1e99TB", "99999999999999TB"] {
            assert!(parse_bytes(wrong).is_err(), "{wrong}");
        }
        assert_eq!(format_bytes(1536 * 1024), "1.5 MiB");
        assert_eq!(format_bytes(12), "12 B");
    }
}
