//! Decides which form each segment should have, based only on numbers, without access to the segments.
//!
//! ```text
//!   'compact', 'hot'   all of them
//!   'on'               by reads, the most read first:   hot (1 − α) │ compact │ frozen: not read for a while
//!   'auto'             by what flat vectors would save:  reads × cost of decoding, against the cost of making them, as far as
//!                      there is memory to spare; without any, what nobody reads is frozen or left to its file
//! ```
//!
//! Source: Windheuser et al., "Adaptive Compression For Databases", 2024, 3.2; `auto` is what its sections 5 and 6
//! leave open.

use godwit_storage::table::Form;

/// Flat vectors are made if, within [`HORIZON_PERIODS`], they save this many times the cost of making them: segments
/// read in the past won't necessarily be read again.
const GAIN_MIN: f64 = 2.0;

/// Number of periods for which current reads are expected to continue.
const HORIZON_PERIODS: f64 = 4.0;

/// This many passes over a segment don't promise further ones: there may have been a single pass, which sampling counts
/// as two.
const PASSES_IGNORED: f64 = 2.0;

/// A hot segment stays hot while it saves one n-th of what a new one would have to save: between the two bounds nothing
/// changes.
const STAYING_SHARE: f64 = 8.0;

/// Minimum number of periods for which a segment stays hot, unless memory is short: hysteresis against oscillation.
const HOT_PERIODS_MIN: u64 = 2;

/// Periods without a read after which a segment is cold.
pub(super) const COLD_PERIODS: u64 = 2;

/// Cost of a byte of a flat vector in new memory, in nanoseconds: 0.36 for touching a new page on a virtual machine,
/// the rest for encoding and copying.
const FLAT_BYTE_NANOS: f64 = 1.0;

/// What is known about a segment when forms are decided.
#[derive(Debug, Clone, Copy)]
pub(super) struct Candidate {
    pub form: Form,
    /// False for constants and segments that are stored flat.
    pub can_be_hot: bool,
    pub rows: u64,
    /// Bytes in the stored form.
    pub stored_bytes: u64,
    pub flat_bytes: u64,
    /// Scans and lookups; those of earlier periods count a half, a quarter, and so on.
    pub reads: f64,
    /// Rows read, weighted likewise.
    pub rows_read: f64,
    /// Nanoseconds to decode a row.
    pub row_nanos: f64,
    /// Periods since the last recorded read.
    pub idle_periods: u64,
    /// Periods since it became hot.
    pub hot_periods: u64,
}

/// How segments are divided among the forms.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Goal {
    AllCompact,
    AllHot,
    /// α: the share that isn't hot.
    Share(f64),
    Auto {
        /// Bytes that flat vectors may take together.
        hot_bytes_max: u64,
        /// Memory is short: nothing becomes hot, and cold segments make room.
        is_short: bool,
    },
}

/// The form of each candidate.
pub(super) fn forms(candidates: &[Candidate], goal: Goal) -> Vec<Form> {
    let freely = |candidate: &Candidate| if candidate.can_be_hot { Form::Hot } else { Form::Compact };
    match goal {
        Goal::AllCompact => candidates.iter().map(|_| Form::Compact).collect(),
        Goal::AllHot => candidates.iter().map(freely).collect(),
        Goal::Share(alpha) => by_share(candidates, alpha),
        Goal::Auto { hot_bytes_max, is_short } => by_gain(candidates, hot_bytes_max, is_short),
    }
}

fn by_share(candidates: &[Candidate], alpha: f64) -> Vec<Form> {
    let mut order: Vec<usize> = (0..candidates.len()).filter(|&at| candidates[at].can_be_hot).collect();
    order.sort_by(|&a, &b| candidates[b].reads.total_cmp(&candidates[a].reads));
    let hot = ((1.0 - alpha) * order.len() as f64).round() as usize;
    let colder = |candidate: &Candidate| match candidate.idle_periods > COLD_PERIODS {
        true => Form::Frozen,
        false => Form::Compact,
    };
    let mut forms: Vec<Form> = candidates.iter().map(colder).collect();
    for (rank, &at) in order.iter().enumerate() {
        let candidate = &candidates[at];
        let is_young = candidate.form == Form::Hot && candidate.hot_periods < HOT_PERIODS_MIN;
        // Segments that became hot a moment ago may exceed the share for a while, but not by much.
        let is_hottest = rank < hot && candidate.reads > 0.0;
        if is_hottest || (is_young && rank < 2 * hot) {
            forms[at] = Form::Hot;
        }
    }
    forms
}

fn by_gain(candidates: &[Candidate], hot_bytes_max: u64, is_short: bool) -> Vec<Form> {
    // Nanoseconds saved until the horizon per nanosecond of cost.
    let gain = |candidate: &Candidate| {
        let cost = candidate.rows as f64 * candidate.row_nanos + candidate.flat_bytes as f64 * FLAT_BYTE_NANOS;
        let rows = match candidate.form {
            Form::Hot => candidate.rows_read,
            Form::Compact | Form::Frozen => candidate.rows_read - PASSES_IGNORED * candidate.rows as f64,
        };
        rows * candidate.row_nanos * HORIZON_PERIODS / cost.max(1.0)
    };
    let stays = |candidate: &Candidate| match candidate.form {
        Form::Hot => candidate.hot_periods < HOT_PERIODS_MIN || gain(candidate) >= GAIN_MIN / STAYING_SHARE,
        Form::Compact | Form::Frozen => !is_short && gain(candidate) >= GAIN_MIN,
    };
    let colder = |candidate: &Candidate| match is_short && candidate.idle_periods > COLD_PERIODS {
        true => Form::Frozen,
        // Frozen segments that aren't read may stay frozen.
        false if candidate.form == Form::Frozen && candidate.idle_periods > 0 => Form::Frozen,
        false => Form::Compact,
    };
    let mut forms: Vec<Form> = candidates.iter().map(colder).collect();
    let mut wanted: Vec<usize> =
        (0..candidates.len()).filter(|&at| candidates[at].can_be_hot && stays(&candidates[at])).collect();
    let density = |at: usize| gain(&candidates[at]) * candidates[at].rows as f64 / candidates[at].flat_bytes as f64;
    wanted.sort_by(|&a, &b| density(b).total_cmp(&density(a)));
    let mut bytes = 0;
    for at in wanted {
        bytes += candidates[at].flat_bytes;
        if bytes > hot_bytes_max {
            break;
        }
        forms[at] = Form::Hot;
    }
    forms
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate(reads: f64) -> Candidate {
        Candidate {
            form: Form::Compact,
            can_be_hot: true,
            rows: 131_072,
            stored_bytes: 1 << 18,
            flat_bytes: 1 << 20,
            reads,
            rows_read: reads * 131_072.0,
            row_nanos: 10.0,
            idle_periods: if reads > 0.0 { 0 } else { 9 },
            hot_periods: 0,
        }
    }

    fn auto(candidates: &[Candidate], hot_mib: u64, is_short: bool) -> Vec<Form> {
        forms(candidates, Goal::Auto { hot_bytes_max: hot_mib << 20, is_short })
    }

    #[test]
    fn a_share_of_the_most_read_is_hot_and_what_nobody_reads_is_frozen() {
        let candidates: Vec<_> = (0..10).map(|at| candidate(f64::from(at % 5))).collect();
        let formed = forms(&candidates, Goal::Share(0.8));
        let at_four = [4, 9];
        for (at, form) in formed.iter().enumerate() {
            let expected = match at % 5 {
                _ if at_four.contains(&at) => Form::Hot,
                0 => Form::Frozen,
                _ => Form::Compact,
            };
            assert_eq!(*form, expected, "{at}");
        }
        assert!(!forms(&vec![candidate(0.0); 4], Goal::Share(0.0)).contains(&Form::Hot), "unread segments aren't hot");
    }

    #[test]
    fn what_became_hot_a_moment_ago_stays() {
        let mut candidates = [candidate(5.0), candidate(4.0)];
        candidates[1] = Candidate { form: Form::Hot, hot_periods: 1, ..candidates[1] };
        assert_eq!(forms(&candidates, Goal::Share(0.5)), [Form::Hot, Form::Hot]);
        candidates[1].hot_periods = 2;
        assert_eq!(forms(&candidates, Goal::Share(0.5)), [Form::Hot, Form::Compact]);
    }

    #[test]
    fn auto_changes_nothing_for_a_single_pass() {
        assert_eq!(auto(&[candidate(2.0), candidate(0.0)], 1_000, false), [Form::Compact, Form::Compact]);
        assert_eq!(auto(&[candidate(4.0), candidate(0.0)], 1_000, false), [Form::Hot, Form::Compact]);
        let cheap = Candidate { row_nanos: 0.1, ..candidate(4.0) };
        assert_eq!(auto(&[cheap], 1_000, false), [Form::Compact], "decoding costs next to nothing");
    }

    #[test]
    fn auto_keeps_to_its_memory_and_to_what_gains_most() {
        let candidates = [candidate(4.0), candidate(40.0), candidate(8.0)];
        assert_eq!(auto(&candidates, 2, false), [Form::Compact, Form::Hot, Form::Hot]);
        assert_eq!(auto(&candidates, 0, false), [Form::Compact; 3]);
    }

    #[test]
    fn without_memory_auto_freezes_what_is_cold_and_makes_nothing_hot() {
        let hot = Candidate { form: Form::Hot, hot_periods: 9, ..candidate(4.0) };
        assert_eq!(auto(&[candidate(40.0), candidate(0.0), hot], 9, true), [Form::Compact, Form::Frozen, Form::Hot]);
    }
}
