//! Finds the fastest threshold with a multi-armed bandit, UCB1-Tuned (section 4).
//!
//! The reward of a round is 1 / (milliseconds that a full chunk's worth of rows took, copying and all following
//! operators included). The paper rewards single chunks; a chunk that is only buffered then looks infinitely fast, and
//! the one that fills the buffer pays for all. Rounds end when the buffer is empty, so that each pays only for its own
//! chunks.
//!
//! Where chunks take so little time that reading the clock for each would be noticeable, then once all arms have been
//! tried, the best arm so far is held for some rounds between two that are measured.

use std::ops::Range;
use std::time::Duration;

use super::config::{
    ANOMALY_FACTOR, ARMS, HELD_ROUNDS_MAX, MEASURING, MEASURING_SHARE, REWARDS_KEPT, SNAPSHOT_ROUNDS, TRIES_MIN,
};

/// One of [`ARMS`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Arm(pub usize);

impl Arm {
    pub(super) fn threshold(self) -> usize {
        ARMS[self.0]
    }
}

/// Statistics of the arms. Shared by workers behind a lock, taken once for each round.
#[derive(Default)]
pub(super) struct Learner {
    arms: [ArmRecord; ARMS.len()],
    selected: u32,
    rounds: u32,
    snapshot: Option<[f64; ARMS.len()]>,
    /// How often it started over because rewards had changed.
    resets: u32,
    /// Rounds with each arm, measured or held, including those before resets.
    history: [u64; ARMS.len()],
}

#[derive(Default, Clone, Copy)]
struct ArmRecord {
    /// Counted when the arm is selected, so that workers that ask concurrently don't all get the same one.
    selected: u32,
    rewards: [f64; REWARDS_KEPT],
    rewarded: usize,
}

impl ArmRecord {
    fn kept(&self) -> &[f64] {
        &self.rewards[..self.rewarded.min(REWARDS_KEPT)]
    }

    fn mean(&self) -> f64 {
        let kept = self.kept();
        if kept.is_empty() { 0.0 } else { kept.iter().sum::<f64>() / kept.len() as f64 }
    }

    fn variance(&self) -> f64 {
        let (kept, mean) = (self.kept(), self.mean());
        if kept.is_empty() { 0.0 } else { kept.iter().map(|r| r * r).sum::<f64>() / kept.len() as f64 - mean * mean }
    }

    fn upper_bound(&self, selected_in_all: u32) -> f64 {
        let (log, tries) = (f64::from(selected_in_all).ln(), f64::from(self.selected));
        let deviation = self.variance() + (2.0 * log / tries).sqrt();
        self.mean() + (log / tries * deviation.min(0.25)).sqrt()
    }
}

/// The arms with a threshold up to `threshold_max`.
fn arms_to(threshold_max: usize) -> Range<usize> {
    0..ARMS.partition_point(|&threshold| threshold <= threshold_max)
}

/// Number of rounds to hold an arm, given the mean latency of a chunk.
pub(super) fn rounds_to_hold(chunk_latency: Duration) -> u32 {
    let rounds = (MEASURING * MEASURING_SHARE).as_nanos() / chunk_latency.as_nanos().max(1);
    rounds.min(u128::from(HELD_ROUNDS_MAX)) as u32
}

impl Learner {
    /// The arm for the next round that is measured, of those with a threshold up to `threshold_max`.
    pub(super) fn select(&mut self, threshold_max: usize) -> Arm {
        let untried = self.untried(threshold_max).min_by_key(|&arm| self.arms[arm].selected);
        let arm = untried.unwrap_or_else(|| {
            let bound = |arm: usize| self.arms[arm].upper_bound(self.selected);
            arms_to(threshold_max).max_by(|&a, &b| bound(a).total_cmp(&bound(b))).expect("the threshold 0 is one")
        });
        self.arms[arm].selected += 1;
        self.selected += 1;
        self.history[arm] += 1;
        Arm(arm)
    }

    /// The arm for the next `rounds` rounds, which aren't measured: the best so far; `None` if `rounds` is 0, or until
    /// all arms have been tried.
    pub(super) fn hold(&mut self, rounds: u32, threshold_max: usize) -> Option<Arm> {
        if rounds == 0 || self.untried(threshold_max).next().is_some() {
            return None;
        }
        let mean = |arm: usize| self.arms[arm].mean();
        let best = arms_to(threshold_max).max_by(|&a, &b| mean(a).total_cmp(&mean(b)))?;
        self.history[best] += u64::from(rounds);
        Some(Arm(best))
    }

    /// The arms, of those with a threshold up to `threshold_max`, that are still to be tried.
    fn untried(&self, threshold_max: usize) -> impl Iterator<Item = usize> {
        arms_to(threshold_max).filter(|&arm| self.arms[arm].selected < TRIES_MIN)
    }

    /// Records that the round with `arm` took `ms` milliseconds for each full chunk's worth of rows.
    pub(super) fn reward(&mut self, arm: Arm, ms: f64) {
        let record = &mut self.arms[arm.0];
        record.rewards[record.rewarded % REWARDS_KEPT] = 1.0 / ms;
        record.rewarded += 1;
        self.rounds += 1;
        if self.rounds.is_multiple_of(SNAPSHOT_ROUNDS) {
            self.look_for_anomaly();
        }
    }

    fn look_for_anomaly(&mut self) {
        let means = self.arms.map(|arm| arm.mean());
        let has_changed = self.snapshot.replace(means).is_some_and(|before| {
            before.iter().zip(&means).any(|(&before, &now)| {
                before > 0.0 && now > 0.0 && (now / before >= ANOMALY_FACTOR || before / now >= ANOMALY_FACTOR)
            })
        });
        if has_changed {
            *self = Self { resets: self.resets + 1, history: self.history, ..Self::default() };
        }
    }

    /// Rounds with each threshold.
    pub(super) fn history(&self) -> impl Iterator<Item = (usize, u64)> {
        ARMS.into_iter().zip(self.history)
    }

    pub(super) fn resets(&self) -> u32 {
        self.resets
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Plays rounds whose measured latency is `latency_ms` of the arm's threshold, with some noise.
    fn play(learner: &mut Learner, rounds: u32, latency_ms: impl Fn(usize) -> f64) -> [u64; ARMS.len()] {
        let before = learner.history;
        for round in 0..rounds {
            let arm = learner.select(usize::MAX);
            let noise = 1.0 + f64::from(round * 7919 % 13) / 100.0;
            learner.reward(arm, latency_ms(arm.threshold()) * noise);
        }
        std::array::from_fn(|arm| learner.history[arm] - before[arm])
    }

    fn most_played(played: [u64; ARMS.len()]) -> usize {
        ARMS[(0..ARMS.len()).max_by_key(|&arm| played[arm]).unwrap()]
    }

    #[test]
    fn each_arm_is_tried_and_the_fastest_is_played_most() {
        for best in ARMS {
            let mut learner = Learner::default();
            let latency = |threshold: usize| 0.1 + (threshold as f64 - best as f64).abs() / 2000.0;
            let played = play(&mut learner, 2000, latency);
            assert!(played.iter().all(|&played| played >= u64::from(TRIES_MIN)), "{played:?}");
            let near = most_played(played).abs_diff(best);
            assert!(near <= 32, "best is {best}, played {played:?}");
        }
    }

    #[test]
    fn the_best_is_held_once_all_arms_are_tried() {
        let mut learner = Learner::default();
        let latency = |threshold: usize| if threshold == 256 { 0.1 } else { 0.2 };
        play(&mut learner, (ARMS.len() as u32) * TRIES_MIN - 1, latency);
        assert_eq!(learner.hold(5, usize::MAX), None);
        play(&mut learner, 1, latency);
        assert_eq!(learner.hold(0, usize::MAX), None);
        let before: u64 = learner.history.iter().sum();
        assert_eq!(learner.hold(5, usize::MAX).map(Arm::threshold), Some(256));
        assert_eq!(learner.history.iter().sum::<u64>(), before + 5);
        // Only thresholds that a chunk of this size can have.
        assert!(learner.hold(5, 64).unwrap().threshold() <= 64);
    }

    #[test]
    fn the_less_a_chunk_takes_the_fewer_are_measured() {
        let microseconds = [50, 20, 5, 2, 0];
        let held = microseconds.map(|us| rounds_to_hold(Duration::from_micros(us)));
        assert_eq!(held, [0, 0, 3, 7, HELD_ROUNDS_MAX]);
    }

    #[test]
    fn rewards_that_change_make_it_begin_again() {
        let mut learner = Learner::default();
        play(&mut learner, 1000, |threshold| if threshold == 64 { 0.1 } else { 0.2 });
        assert_eq!(learner.resets(), 0);
        let played = play(&mut learner, 2000, |threshold| if threshold == 768 { 0.3 } else { 0.9 });
        assert!(learner.resets() >= 1);
        assert_eq!(most_played(played), 768);
    }

    #[test]
    fn thresholds_that_no_chunk_can_have_are_not_tried() {
        let mut learner = Learner::default();
        let mut tried: Vec<usize> = (0..2 * TRIES_MIN).map(|_| learner.select(32).threshold()).collect();
        tried.sort_unstable();
        assert_eq!(tried, [0, 32].map(|threshold| [threshold; TRIES_MIN as usize]).concat());
    }

    #[test]
    fn workers_that_ask_at_once_try_different_arms() {
        let mut learner = Learner::default();
        let mut asked: Vec<usize> = (0..ARMS.len()).map(|_| learner.select(usize::MAX).0).collect();
        asked.sort_unstable();
        assert_eq!(asked, (0..ARMS.len()).collect::<Vec<_>>());
    }
}
