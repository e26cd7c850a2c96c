//! Tests the simulator against lists that are kept in order of use.

use proptest::prelude::*;

use super::plru::Tree;
use super::{Cache, Geometry, Hierarchy, Level, Lookup, Replacement, SetSampling};
use crate::WayMask;

/// Naive full LRU: per set, all lines with their way, the most recently used at the end.
struct NaiveLru {
    sets: Vec<Vec<(u64, u32)>>,
    ways: u32,
}

impl NaiveLru {
    fn new(sets: u64, ways: u32) -> Self {
        Self { sets: vec![Vec::new(); sets as usize], ways }
    }

    fn access(&mut self, line: u64, mask: WayMask) -> Lookup {
        let index = (line % self.sets.len() as u64) as usize;
        let set = &mut self.sets[index];
        if let Some(place) = set.iter().position(|&(held, _)| held == line) {
            let entry = set.remove(place);
            set.push(entry);
            return Lookup::Hit;
        }
        let free = (0..self.ways).find(|&way| mask.contains(way) && set.iter().all(|&(_, taken)| taken != way));
        let (way, evicted) = match free {
            Some(way) => (way, None),
            None => {
                let oldest = set.iter().position(|&(_, way)| mask.contains(way)).unwrap();
                let (line, way) = set.remove(oldest);
                (way, Some(line))
            }
        };
        set.push((line, way));
        Lookup::Miss { evicted }
    }
}

fn accesses(ways: u32) -> impl Strategy<Value = Vec<(u64, WayMask)>> {
    let mask = (1..1u64 << ways).prop_map(WayMask::from_bits);
    prop::collection::vec((0u64..120, mask), 1..600)
}

proptest! {
    #[test]
    fn lru_is_lru((sets, ways, steps) in (1u64..7, 1u32..9).prop_flat_map(|(s, w)| (Just(s), Just(w), accesses(w)))) {
        let mut naive = NaiveLru::new(sets, ways);
        let mut cache = Cache::new(Geometry { sets, ways, line_bytes: 64 }, Replacement::Lru);
        for (line, mask) in steps {
            prop_assert_eq!(cache.access(line, mask), naive.access(line, mask));
        }
    }

    /// With one private way of one set, nearly everything reaches the shared cache; inclusion shows in the hits above
    /// it.
    #[test]
    fn a_hierarchy_is_two_lists(
        inclusive: bool, steps in prop::collection::vec((0usize..3, 0u64..60, 1u64..16), 1..600)
    ) {
        let (private, shared) = (Geometry { sets: 2, ways: 2, line_bytes: 64 }, Geometry { sets: 3, ways: 4, line_bytes: 64 });
        let sampling = SetSampling { one_in: 1 };
        let mut hierarchy = Hierarchy::new(3, private, shared, Replacement::Lru, inclusive, sampling);
        let mut cores = [(); 3].map(|()| NaiveLru::new(2, 2));
        let mut naive = NaiveLru::new(3, 4);
        for (core, line, mask) in steps {
            let mask = WayMask::from_bits(mask);
            let expected = match cores[core].access(line, WayMask::all(2)) {
                Lookup::Hit => Level::Private,
                Lookup::Miss { .. } => match naive.access(line, mask) {
                    Lookup::Hit => Level::Shared,
                    Lookup::Miss { evicted } => {
                        if inclusive {
                            let sets = cores.iter_mut().flat_map(|core| &mut core.sets);
                            sets.for_each(|set| set.retain(|&(held, _)| Some(held) != evicted));
                        }
                        Level::Memory
                    }
                },
            };
            prop_assert_eq!(hierarchy.access(core, line * 64 + 7, mask), Some(expected));
        }
    }

    /// Under any policy, lines that were only ever loaded under one mask lie in its ways: loads of one class never
    /// evict lines in others' ways.
    #[test]
    fn masks_confine(policy in prop_oneof![Just(Replacement::Lru), Just(Replacement::TreePlru), Just(Replacement::Rrip)], ways in 4u32..=20,
                     lines in prop::collection::vec(0u64..400, 50..500)) {
        let (low, high) = (WayMask::run(0, 2), WayMask::run(2, ways - 2));
        let mut cache = Cache::new(Geometry { sets: 2, ways, line_bytes: 64 }, policy);
        // Fill the high ways exactly; a stream through the low ones leaves them alone.
        let kept: Vec<u64> = (0..2 * u64::from(ways - 2)).map(|line| 1_000 + line).collect();
        kept.iter().for_each(|&line| { cache.access(line, high); });
        for line in lines {
            if let Lookup::Miss { evicted: Some(evicted) } = cache.access(line, low) {
                prop_assert!(evicted < 1_000);
            }
        }
        for line in kept {
            prop_assert_eq!(cache.access(line, low), Lookup::Hit, "a hit in ways that one may not fill");
        }
    }

    #[test]
    fn plru_evicts_within_the_mask_and_not_what_was_used_last(
        ways in 2u32..=64, touches in prop::collection::vec(0u32..64, 1..80), mask: u64
    ) {
        let mut tree = Tree::default();
        touches.iter().for_each(|way| tree.touch(way % ways, ways));
        let mask = WayMask::from_bits(mask) & WayMask::all(ways);
        prop_assume!(!mask.is_empty());
        let victim = tree.victim(mask, ways);
        prop_assert!(mask.contains(victim));
        if mask.count() > 1 {
            prop_assert_ne!(victim, touches.last().unwrap() % ways);
        }
    }

    /// Simulating one set in n gives the same hits as those sets have in a full simulation.
    #[test]
    fn sampled_sets_are_the_same_sets(steps in prop::collection::vec((0usize..2, 0u64..300, 1u64..16), 1..800)) {
        let private = Geometry { sets: 4, ways: 2, line_bytes: 64 };
        let shared = Geometry { sets: 12, ways: 4, line_bytes: 64 };
        let made = |one_in| Hierarchy::new(2, private, shared, Replacement::TreePlru, true, SetSampling { one_in });
        let (mut whole, mut sampled) = (made(1), made(4));
        for (core, line, mask) in steps {
            let mask = WayMask::from_bits(mask);
            let full = whole.access(core, line * 64, mask);
            prop_assert_eq!(sampled.access(core, line * 64, mask), full.filter(|_| line % 4 == 0));
        }
    }
}

#[test]
fn plru_sequences() {
    // Four ways, each used when it is the victim: 0, 2, 1, 3 and again.
    let mut tree = Tree::default();
    let mut victims = Vec::new();
    for _ in 0..8 {
        let victim = tree.victim(WayMask::all(4), 4);
        victims.push(victim);
        tree.touch(victim, 4);
    }
    assert_eq!(victims, [0, 2, 1, 3, 0, 2, 1, 3]);
    // After 0, 1, 2, 3 the victim is 0; a use of 0 makes it 2, where true LRU has 1.
    let mut tree = Tree::default();
    (0..4).for_each(|way| tree.touch(way, 4));
    assert_eq!(tree.victim(WayMask::all(4), 4), 0);
    tree.touch(0, 4);
    assert_eq!(tree.victim(WayMask::all(4), 4), 2);
    // Masks divert it: only the lower half; only the way used last.
    assert_eq!(tree.victim(WayMask::run(0, 2), 4), 1);
    assert_eq!(tree.victim(WayMask::run(0, 1), 4), 0);
    // Twenty ways: leaves 20 to 31 don't exist.
    let mut tree = Tree::default();
    (0..16).for_each(|way| tree.touch(way, 20));
    assert_eq!(tree.victim(WayMask::all(20), 20), 16);
    (16..20).for_each(|way| tree.touch(way, 20));
    assert_eq!(tree.victim(WayMask::all(20), 20), 0);
}

#[test]
fn rrip_keeps_what_was_used_again() {
    let mut cache = Cache::new(Geometry { sets: 1, ways: 4, line_bytes: 64 }, Replacement::Rrip);
    let all = WayMask::all(4);
    let mut access = |line| cache.access(line, all);
    // Two lines in use, two of a stream.
    for line in [1, 2, 101, 102] {
        assert_eq!(access(line), Lookup::Miss { evicted: None });
    }
    assert_eq!([access(1), access(2)], [Lookup::Hit; 2]);
    // A stream evicts itself, where LRU would evict 1 and 2 after two more lines. They age with each round, and are
    // evicted after three.
    let evicted: Vec<u64> = (103..110)
        .map_while(|line| match access(line) {
            Lookup::Miss { evicted } => evicted,
            Lookup::Hit => None,
        })
        .collect();
    assert_eq!(evicted, [101, 102, 103, 104, 1, 2, 105]);
}

#[test]
fn a_loop_larger_than_the_cache_never_hits() {
    let mut cache = Cache::new(Geometry::of_size(64 * 64, 8, 64), Replacement::Lru);
    assert_eq!(cache.geometry().sets, 8);
    let mut hits = |lines: u64, mask| {
        let all = (0..5 * lines).filter(|step| cache.access(step % lines, mask) == Lookup::Hit).count() as u64;
        all / lines
    };
    assert_eq!(hits(64, WayMask::all(8)), 4, "all but the first round");
    assert_eq!(hits(72, WayMask::all(8)), 0);
}
