//! The ways that a class may fill, and their notation in Linux.

use std::collections::BTreeMap;

use super::OffReason;
use crate::WayMask;

/// Parts of the ways, in percent, as in the thesis (section 4.4.2).
const POLLUTING_PERCENT: u32 = 10;
const COMPARABLE_PERCENT: u32 = 60;
/// A single way makes even scans much slower, because everything that they load collides in it (thesis, section 4.4.2).
const CLASS_WAYS_MIN: u32 = 2;

/// The kernel's rules for masks of a cache, from `info/L3`.
#[derive(Clone, Copy, Debug)]
pub(super) struct MaskRules {
    /// All existing ways.
    pub(super) all: WayMask,
    /// Minimum number of ways in a mask.
    pub(super) bits_min: u32,
    /// Ways that devices fill, too.
    pub(super) shareable: WayMask,
}

/// Masks of the confined classes for one cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ClassMasks {
    pub(super) polluting: WayMask,
    pub(super) comparable: WayMask,
}

impl MaskRules {
    /// Cuts the classes' masks out of `home`, the ways that the process may currently fill.
    ///
    /// Both are contiguous runs, as processors require, at the two ends of the longest run, and thus disjoint.
    /// Polluters get the end with more of the ways that devices fill: data is short-lived there anyway, and the other
    /// ways stay clean.
    pub(super) fn class_masks(&self, home: WayMask) -> Result<ClassMasks, OffReason> {
        let (first, ways) = (home & self.all).longest_run();
        let least = self.bits_min.max(CLASS_WAYS_MIN);
        if ways < 2 * least {
            return Err(OffReason::TooFewWays { ways, needed: 2 * least });
        }
        let part = |percent: u32| (ways * percent + 50) / 100;
        let polluting = part(POLLUTING_PERCENT).max(least);
        let comparable = part(COMPARABLE_PERCENT).clamp(least, ways - polluting);
        let low = |count| WayMask::run(first, count);
        let high = |count| WayMask::run(first + ways - count, count);
        let shared = |mask: WayMask| (mask & self.shareable).count();
        Ok(if shared(high(polluting)) > shared(low(polluting)) {
            ClassMasks { polluting: high(polluting), comparable: low(comparable) }
        } else {
            ClassMasks { polluting: low(polluting), comparable: high(comparable) }
        })
    }
}

/// The masks of one resource, one per cache of the machine, from the text of a `schemata` file: lines such as
/// `L3:0=fffff;1=fffff`. `None` if the resource is missing or its line isn't understood.
pub(super) fn parse_schemata(text: &str, resource: &str) -> Option<BTreeMap<u32, WayMask>> {
    let domains = text.lines().find_map(|line| line.trim().strip_prefix(resource)?.strip_prefix(':'))?;
    domains
        .split(';')
        .map(|domain| {
            let (id, mask) = domain.split_once('=')?;
            Some((id.trim().parse().ok()?, parse_mask(mask)?))
        })
        .collect()
}

/// A line for a `schemata` file.
pub(super) fn schemata_line(resource: &str, masks: impl Iterator<Item = (u32, WayMask)>) -> String {
    let domains: Vec<String> = masks.map(|(id, mask)| format!("{id}={mask:x}")).collect();
    format!("{resource}:{}\n", domains.join(";"))
}

/// Parses a mask in hexadecimal.
pub(super) fn parse_mask(text: &str) -> Option<WayMask> {
    u64::from_str_radix(text.trim(), 16).ok().map(WayMask::from_bits)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rules(ways: u32, bits_min: u32, shareable: u64) -> MaskRules {
        MaskRules { all: WayMask::all(ways), bits_min, shareable: WayMask::from_bits(shareable) }
    }

    fn masks(rules: MaskRules, home: u64) -> Option<(u64, u64)> {
        let masks = rules.class_masks(WayMask::from_bits(home)).ok()?;
        Some((masks.polluting.bits(), masks.comparable.bits()))
    }

    #[test]
    fn masks_of_machines() {
        // The thesis's machine: 20 ways, with and without two that are shared with devices.
        assert_eq!(masks(rules(20, 1, 0), 0xfffff), Some((0x3, 0xfff00)));
        assert_eq!(masks(rules(20, 1, 0xc0000), 0xfffff), Some((0xc0000, 0x00fff)));
        assert_eq!(masks(rules(11, 1, 0x600), 0x7ff), Some((0x600, 0x07f)));
        assert_eq!(masks(rules(16, 1, 0), 0xffff), Some((0x3, 0xffc0)));
        // An administrator has left us eight ways in the middle.
        assert_eq!(masks(rules(20, 1, 0xc0000), 0x0ff00), Some((0x00300, 0x0f800)));
        assert_eq!(masks(rules(4, 2, 0), 0xf), Some((0x3, 0xc)));
        assert_eq!(masks(rules(20, 4, 0), 0xfffff), Some((0xf, 0xfff00)));
    }

    #[test]
    fn too_few_ways() {
        for (rules, home, ways, needed) in [
            (rules(3, 1, 0), 0x7, 3, 4),
            (rules(20, 1, 0), 0, 0, 4),
            (rules(20, 1, 0), 0x55555, 1, 4),
            (rules(20, 11, 0), 0xfffff, 20, 22),
        ] {
            let found = rules.class_masks(WayMask::from_bits(home));
            assert_eq!(found, Err(OffReason::TooFewWays { ways, needed }));
        }
    }

    proptest! {
        #[test]
        fn masks_are_legal_and_disjoint(
            ways in 1u32..=64, bits_min in 1u32..6, shareable: u64, home: u64, full: bool
        ) {
            let rules = rules(ways, bits_min, shareable);
            let home = if full { rules.all } else { WayMask::from_bits(home) };
            let Ok(ClassMasks { polluting, comparable }) = rules.class_masks(home) else {
                prop_assert!((home & rules.all).longest_run().1 < 2 * bits_min.max(2));
                return Ok(());
            };
            for mask in [polluting, comparable] {
                prop_assert!(mask.count() >= bits_min.max(2));
                prop_assert_eq!(mask.longest_run().1, mask.count(), "neighbours");
                prop_assert_eq!(mask & home & rules.all, mask, "only ways of home");
            }
            prop_assert!((polluting & comparable).is_empty());
            prop_assert!(polluting.count() <= comparable.count());
        }
    }

    #[test]
    fn schemata() {
        let text = "    MB:0=100;1=100\n    L3:0=fffff;1=0ff\n";
        let parsed = parse_schemata(text, "L3").unwrap();
        assert_eq!(parsed.into_iter().collect::<Vec<_>>(), [(0, WayMask::all(20)), (1, WayMask::all(8))]);
        for text in ["", "L3", "L3:", "L3:0", "L3:0=xyz", "L3:x=f", "L3CODE:0=f"] {
            assert_eq!(parse_schemata(text, "L3"), None, "{text}");
        }
        let line = schemata_line("L3", [(0, WayMask::run(2, 2)), (7, WayMask::all(4))].into_iter());
        assert_eq!(line, "L3:0=c;7=f\n");
    }
}
