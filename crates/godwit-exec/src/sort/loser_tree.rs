//! A loser tree: a tournament between k sorted inputs that is replayed along one path when the winner moves on.
//!
//! ```text
//!            losers[0]  the winner of all
//!            losers[1]  who lost the final
//!          ┌─────┴─────┐
//!      losers[2]   losers[3]        inner node n: who lost the game between the winners below it
//!      ┌──┴──┐     ┌──┴──┐
//!      0     1     2     3          inputs (leaf i is node k + i)
//! ```

/// The tournament. The caller decides whether an input beats another; exhausted inputs must lose to all others.
pub(super) struct LoserTree {
    losers: Vec<usize>,
}

impl LoserTree {
    /// Plays all games between `inputs` inputs, at least one; `beats(a, b)` is true if `a` comes before `b`.
    pub(super) fn new(inputs: usize, beats: impl Fn(usize, usize) -> bool) -> Self {
        assert!(inputs > 0);
        let mut losers = vec![0; inputs];
        // Winner of the subtree at each node; leaves win their own.
        let mut winners: Vec<usize> = (0..2 * inputs).map(|node| node.saturating_sub(inputs)).collect();
        for node in (1..inputs).rev() {
            let (left, right) = (winners[2 * node], winners[2 * node + 1]);
            let left_wins = beats(left, right);
            winners[node] = if left_wins { left } else { right };
            losers[node] = if left_wins { right } else { left };
        }
        losers[0] = if inputs == 1 { 0 } else { winners[1] };
        Self { losers }
    }

    /// The input that comes first.
    #[inline(always)]
    pub(super) fn winner(&self) -> usize {
        self.losers[0]
    }

    /// Replays the games of the last winner, after it has advanced.
    #[inline(always)]
    pub(super) fn replay(&mut self, beats: impl Fn(usize, usize) -> bool) {
        let mut winner = self.losers[0];
        let mut node = (winner + self.losers.len()) / 2;
        while node > 0 {
            if beats(self.losers[node], winner) {
                std::mem::swap(&mut self.losers[node], &mut winner);
            }
            node /= 2;
        }
        self.losers[0] = winner;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn merges_like_a_sort(mut inputs in prop::collection::vec(prop::collection::vec(0u8..50, 0..20), 1..20)) {
            inputs.iter_mut().for_each(|input| input.sort_unstable());
            let mut expected: Vec<u8> = inputs.concat();
            expected.sort_unstable();
            let mut positions = vec![0; inputs.len()];
            let key = |positions: &[usize], i: usize| inputs[i].get(positions[i]).map_or(u16::MAX, |&v| v as u16);
            let mut tree = LoserTree::new(inputs.len(), |a, b| key(&positions, a) < key(&positions, b));
            let mut merged = Vec::new();
            while key(&positions, tree.winner()) != u16::MAX {
                merged.push(key(&positions, tree.winner()) as u8);
                positions[tree.winner()] += 1;
                tree.replay(|a, b| key(&positions, a) < key(&positions, b));
            }
            prop_assert_eq!(merged, expected);
        }
    }
}
