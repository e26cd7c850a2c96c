//! The temporary memory manager: grants memory to operators that would use more than there is.
//!
//! ```text
//! limit │ working memory: promises to admitted queries │ grants to claims │
//!
//! claim ──▶ (nothing) ──report(size, minimum, weight)──▶ open ──request──▶ granted ──release, drop──▶ (nothing)
//!                                                         ▲                 │  ▲ │
//!                                                         └──── report ─────┘  └─┘ settle: less, if others asked
//! ```
//!
//! The [`MemoryPolicy`] divides memory among all claims of the database as if they belonged to one pipeline. A grant is
//! real: the grants held never add up to more than their part of the limit, no grant is larger than what could be
//! pinned right now, and whatever else occupies that part are pages that can be evicted. An operator may pin and
//! reserve up to its grant; pages beyond it are left to eviction. Only the minimum is always granted; it is taken from
//! working memory. The ledger is charged when pages are pinned, not when they are granted: reserving a grant would
//! evict the very pages that its holder is about to pin.
//!
//! *Reclaim*: a request that gets less than its share, because others were there first, asks those who hold more than
//! theirs for the difference. A holder that was asked gives it back at its next fixed point ([`MemoryClaim::settle`])
//! and spills the excess; the asking operator gets it with its next request.
//!
//! An owner (a query, a connection) may have a limit of its own on what its operators are granted together.
//!
//! Source: external-hash-join paper, section 6. Latch order: the table of claims is a leaf.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use parking_lot::Mutex;

use crate::config::working_bytes;
use crate::memory_policy::{MemoryPolicy, Need, share};
use crate::owner::{Owner, OwnerCounters, owners};
use crate::pool::Pool;

/// The claims of one pool.
#[derive(Default)]
pub(crate) struct ClaimTable(Mutex<Claims>);

#[derive(Default)]
struct Claims {
    policy: MemoryPolicy,
    by_id: BTreeMap<u64, Entry>,
    next_id: u64,
}

struct Entry {
    /// `None` while nothing is claimed.
    need: Option<Need>,
    owner: Option<Owner>,
    /// The size that the holder was asked to shrink to; [`NOT_ASKED`] if it wasn't asked.
    asked_bytes: Arc<AtomicU64>,
}

const NOT_ASKED: u64 = u64::MAX;

impl ClaimTable {
    pub(crate) fn policy(&self) -> MemoryPolicy {
        self.0.lock().policy
    }

    pub(crate) fn set_policy(&self, policy: MemoryPolicy) {
        self.0.lock().policy = policy;
    }
}

impl Claims {
    /// The needs of the claims that are charged to `owner`, or of all.
    fn needs_of<'a>(&'a self, owner: Option<&'a Arc<OwnerCounters>>) -> impl Iterator<Item = (u64, Need)> + 'a {
        let counts = move |entry: &Entry| {
            owner.is_none_or(|owner| owners(entry.owner.as_ref()).any(|other| Arc::ptr_eq(other, owner)))
        };
        self.by_id.iter().filter(move |(_, entry)| counts(entry)).filter_map(|(&id, entry)| Some((id, entry.need?)))
    }

    /// The share of `total_bytes` that claim `id` gets alongside the other claims of `owner`.
    fn share_of(&self, id: u64, owner: Option<&Arc<OwnerCounters>>, total_bytes: u64) -> u64 {
        let (ids, needs): (Vec<u64>, Vec<Need>) = self.needs_of(owner).unzip();
        let asking = ids.iter().position(|&other| other == id).expect("the claim has a need");
        share(self.policy, total_bytes, &needs, asking)
    }

    fn granted_bytes(&self) -> u64 {
        self.needs_of(None).filter_map(|(_, need)| need.granted_bytes).sum()
    }

    /// If claim `id` was granted less than its share, asks those who hold more than their share to shrink to it.
    fn ask_for_share(&self, id: u64, granted: u64, total_bytes: u64) {
        let (ids, mut needs): (Vec<u64>, Vec<Need>) = self.needs_of(None).unzip();
        let held: Vec<Option<u64>> = needs.iter_mut().map(|need| need.granted_bytes.take()).collect();
        let share_at = |index: usize| share(self.policy, total_bytes, &needs, index);
        let own = ids.iter().position(|&other| other == id).expect("the claim has a need");
        if granted >= share_at(own) {
            return;
        }
        for (index, held) in held.iter().enumerate().filter(|(index, _)| *index != own) {
            let share = share_at(index);
            if held.is_some_and(|held| held > share) {
                self.by_id[&ids[index]].asked_bytes.store(share, Relaxed);
            }
        }
    }
}

/// The part of the limit that may be granted.
fn total_bytes(pool: &Pool) -> u64 {
    let limit = pool.ledger.limit_bytes();
    limit.saturating_sub(working_bytes(limit).max(pool.admission.promised_bytes()))
}

/// What could be granted right now to a claim if no others asked.
pub(crate) fn grantable_bytes(pool: &Pool) -> u64 {
    total_bytes(pool).saturating_sub(pool.claims.0.lock().granted_bytes())
}

/// An operator's claim on memory; drop it to give everything back. Its methods are called at the operator's fixed
/// points, by one thread at a time; only [`settle`](Self::settle) by any of its workers, whenever one could give
/// something back.
pub struct MemoryClaim {
    pool: Arc<Pool>,
    id: u64,
    /// The granted bytes.
    granted_bytes: AtomicU64,
    asked_bytes: Arc<AtomicU64>,
}

impl MemoryClaim {
    pub(crate) fn new(pool: &Arc<Pool>, owner: Option<Owner>) -> Self {
        let mut claims = pool.claims.0.lock();
        let id = claims.next_id;
        claims.next_id += 1;
        let asked_bytes = Arc::new(AtomicU64::new(NOT_ASKED));
        claims.by_id.insert(id, Entry { need: None, owner, asked_bytes: asked_bytes.clone() });
        Self { pool: pool.clone(), id, granted_bytes: AtomicU64::new(0), asked_bytes }
    }

    /// Reports how much the operator could use, how much it can't do without, and the cost of each missing byte (the
    /// width of the rows that it would have to write out instead). Any earlier grant is given back.
    pub fn report(&self, size_bytes: u64, minimum_bytes: u64, weight: f64) {
        assert!(weight > 0.0);
        let need = Need { size_bytes, minimum_bytes, weight, granted_bytes: None };
        self.set_need(Some(need).filter(|_| size_bytes > 0));
    }

    /// The operator's share of the memory, at most what it reported. The grant is held until the next report.
    pub fn request(&self) -> u64 {
        let obtainable = self.pool.obtainable_bytes();
        let total = total_bytes(&self.pool);
        let mut claims = self.pool.claims.0.lock();
        let entry = &claims.by_id[&self.id];
        let Some(need) = entry.need else { return 0 };
        let mut granted = claims.share_of(self.id, None, total);
        granted = granted.min(obtainable).max(need.minimum_bytes.min(need.size_bytes));
        for owner in owners(entry.owner.as_ref()) {
            if let Some(limit) = owner.grant_limit_bytes() {
                granted = granted.min(claims.share_of(self.id, Some(owner), limit)).min(limit);
            }
        }
        if granted < need.size_bytes {
            claims.ask_for_share(self.id, granted, total);
        }
        let entry = claims.by_id.get_mut(&self.id).expect("the claim exists");
        entry.need = Some(Need { granted_bytes: Some(granted), ..need });
        self.granted_bytes.store(granted, Relaxed);
        granted
    }

    /// The granted bytes, less those that others have asked for since the last call, which this call gives back. A
    /// caller that holds more than the result releases the rest at once. Costs nothing if nothing was asked for.
    pub fn settle(&self) -> u64 {
        if self.asked_bytes.load(Relaxed) != NOT_ASKED {
            let mut claims = self.pool.claims.0.lock();
            let entry = claims.by_id.get_mut(&self.id).expect("the claim exists");
            let asked = self.asked_bytes.swap(NOT_ASKED, Relaxed);
            if let Some(need) = &mut entry.need
                && need.granted_bytes.is_some_and(|granted| granted > asked)
            {
                // From now on it doesn't want more, either: what was given back is for others.
                (need.granted_bytes, need.size_bytes) = (Some(asked), asked);
                self.granted_bytes.store(asked, Relaxed);
            }
        }
        self.granted_bytes.load(Relaxed)
    }

    /// Gives everything back.
    pub fn release(&self) {
        self.set_need(None);
    }

    fn set_need(&self, need: Option<Need>) {
        let mut claims = self.pool.claims.0.lock();
        claims.by_id.get_mut(&self.id).expect("the claim exists").need = need;
        self.granted_bytes.store(0, Relaxed);
        self.asked_bytes.store(NOT_ASKED, Relaxed);
    }
}

impl Drop for MemoryClaim {
    fn drop(&mut self) {
        let entry = self.pool.claims.0.lock().by_id.remove(&self.id);
        drop(entry);
    }
}

impl fmt::Debug for MemoryClaim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MemoryClaim({:?})", self.pool.claims.0.lock().by_id[&self.id].need)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use godwit_common::{MemoryTag, Named};

    use super::*;
    use crate::{AdmissionRequest, BufferConfig, BufferManager, PAGE_BYTES};

    const MIB: u64 = 1 << 20;

    /// Of 240 MiB, 160 can be granted.
    fn manager() -> BufferManager {
        BufferManager::new(BufferConfig::new(240 * MIB)).unwrap()
    }

    fn granted(claim: &MemoryClaim, size: u64) -> u64 {
        claim.report(size * MIB, MIB, 1.0);
        claim.request() / MIB
    }

    #[test]
    fn claims_that_are_open_share_and_grants_stay() {
        let memory = manager();
        let (first, second) = (memory.claim(), memory.claim());
        assert_eq!(granted(&first, 400), 160, "alone");
        assert_eq!(granted(&second, 400), 1, "the rest is taken: the minimum");
        second.release();
        first.report(160 * MIB, MIB, 1.0);
        second.report(160 * MIB, MIB, 1.0);
        assert_eq!((first.request() / MIB, second.request() / MIB), (80, 80));
        drop(first);
        assert_eq!(granted(&second, 50), 50);
        assert_eq!(memory.grantable_bytes(), 110 * MIB);
        drop(second);
        assert_eq!(memory.grantable_bytes(), 160 * MIB);
    }

    #[test]
    fn who_holds_more_than_his_share_is_asked_to_give_back() {
        let memory = manager();
        let (first, second, third) = (memory.claim(), memory.claim(), memory.claim());
        assert_eq!(granted(&first, 400), 160, "alone");
        assert_eq!(first.settle() / MIB, 160, "nobody has asked");
        assert_eq!(granted(&second, 400), 1, "the rest is taken: the minimum");
        assert_eq!((first.settle() / MIB, first.settle() / MIB), (80, 80), "half of it is the second's");
        assert_eq!(granted(&second, 400), 80);
        assert_eq!(granted(&third, 10), 1);
        second.settle();
        assert_eq!(granted(&third, 10), 10, "small claims are served in full");
        let left = (first.settle() + second.settle()) / MIB;
        assert!((140..=150).contains(&left), "{left}");
        drop((second, third));
        first.report(400 * MIB, MIB, 1.0);
        assert_eq!(first.request() / MIB, 160, "a new report asks anew");
    }

    #[test]
    fn what_others_pin_is_not_granted() {
        let memory = manager();
        let claim = memory.claim();
        let pinned = memory.reserve(200 * MIB as usize, MemoryTag::Other).unwrap();
        assert_eq!(granted(&claim, 80), 40);
        drop(pinned);
        assert_eq!(granted(&claim, 80), 80);
        memory.set_memory_limit(30 * MIB).unwrap();
        assert_eq!(granted(&claim, 80), 10);
        let (name, owner) = ("query 1".to_owned(), OwnerCounters::new());
        let request = AdmissionRequest { name, owner, minimum_bytes: 24 * MIB, at_once: true };
        let (sender, promise) = mpsc::channel();
        memory.admit(request, move |admission| sender.send(admission).unwrap());
        assert_eq!(granted(&claim, 80), 6, "what was promised isn't granted");
        drop(promise);
        assert_eq!(granted(&claim, 80), 10);
    }

    #[test]
    fn owners_have_limits_of_their_own() {
        let memory = manager();
        let owner = OwnerCounters::new();
        let scoped = memory.scoped(owner.clone()).scoped(OwnerCounters::new());
        let (first, second, stranger) = (scoped.claim(), scoped.claim(), memory.claim());
        owner.set_grant_limit_bytes(Some(10 * MIB));
        first.report(20 * MIB, MIB, 1.0);
        second.report(20 * MIB, MIB, 1.0);
        stranger.report(20 * MIB, MIB, 1.0);
        assert_eq!((first.request() / MIB, second.request() / MIB, stranger.request() / MIB), (5, 5, 20));
        owner.set_grant_limit_bytes(Some(0));
        assert_eq!(granted(&first, 20), 0, "not even the minimum");
        owner.set_grant_limit_bytes(None);
        assert_eq!(granted(&first, 20), 20);
    }

    /// What is granted can be pinned, whatever others are granted and pin meanwhile, and the limit holds.
    #[test]
    fn all_that_is_granted_can_be_pinned() {
        const LIMIT: u64 = 24 * MIB;
        let memory = BufferManager::new(BufferConfig::new(LIMIT)).unwrap();
        let work = |seed: u64| {
            let claim = memory.claim();
            // Left to eviction between turns.
            let mut unpinned = Vec::new();
            for turn in 0..100 {
                claim.report((1 + (seed * 7 + turn * 5) % 23) * MIB, MIB, 1.0 + seed as f64);
                let granted = claim.request();
                assert!(memory.promised_bytes() == 0 && granted <= LIMIT / 3 + MIB);
                let pages = granted as usize / PAGE_BYTES;
                let pins: Vec<_> = (0..pages).map(|_| memory.allocate_page(MemoryTag::Other, None).unwrap()).collect();
                unpinned = pins.iter().map(|pin| pin.page().clone()).collect();
                drop(pins);
                claim.release();
            }
            drop(unpinned);
        };
        std::thread::scope(|scope| (0..4).for_each(|seed| _ = scope.spawn(move || work(seed))));
        let statistics = memory.statistics();
        assert!((LIMIT / 3..=LIMIT).contains(&statistics.peak_bytes), "{statistics:?}");
    }

    #[test]
    fn policies_have_names() {
        let memory = manager();
        for &(_, policy) in MemoryPolicy::NAMES {
            memory.set_memory_policy(MemoryPolicy::parse(&policy.name().to_uppercase()).unwrap());
            assert_eq!(memory.memory_policy(), policy);
        }
        assert!(MemoryPolicy::parse("fair").is_err());
    }
}
