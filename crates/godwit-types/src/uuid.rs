//! New UUIDs.

use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// A source of UUIDs that differ: SipHash of a counter with a random key from the system, so that values seen so far don't
/// reveal the next.
#[derive(Default)]
pub struct UuidGenerator {
    key: RandomState,
    count: AtomicU64,
}

impl UuidGenerator {
    /// Returns a random UUID (version 4).
    pub fn random(&self) -> u128 {
        of_version(4, self.next())
    }

    /// Returns a UUID of the milliseconds since 1970, then random bits (version 7).
    pub fn timed(&self) -> u128 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis());
        since << 80 | of_version(7, self.next()) & (u128::MAX >> 48)
    }

    fn next(&self) -> u128 {
        let count = self.count.fetch_add(1, Ordering::Relaxed);
        let half = |half: bool| u128::from(self.key.hash_one((count, half)));
        half(true) << 64 | half(false)
    }
}

/// Sets the six bits that tell the meaning of the others.
fn of_version(version: u128, random: u128) -> u128 {
    const KEPT: u128 = !(0xF << 76 | 0b11 << 62);
    random & KEPT | version << 76 | 0b10 << 62
}
