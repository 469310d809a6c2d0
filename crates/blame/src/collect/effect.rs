//! How much of the waiting goes away while a culprit is held back, from pairs of turns.
//!
//! Each pair is one turn with and one without, in random order, so that what changes slowly on the host is the same
//! for both. The part that goes away is the ratio of two sums, `sum(off - on) / sum(off)`; its interval is that of a
//! ratio estimator (Cochran, "Sampling Techniques", 6.3) with Student's t.

use assay_host::facts::Available;
use assay_stats::student::t_quantile;
use serde::{Deserialize, Serialize};

/// Confidence of the interval.
const CONFIDENCE: f64 = 0.95;

/// Pairs without which no interval is given: with two its half width is 12.7 standard errors.
const FEWEST: usize = 3;

/// A pair with more than this part of the waiting decides the ratio alone: its own scatter is not seen.
const MOST_OF_ONE: f64 = 0.5;

/// What was counted in one turn.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Turn {
    /// Whether the culprit was held back.
    pub held: bool,
    /// How long it was counted, without the time in which the change took effect.
    pub seconds: f64,
    /// The waiting of the target, in nanoseconds.
    pub waited_ns: u64,
    /// What attribution charged of it to the culprit.
    pub charged_ns: u64,
    /// What it charged of it to interrupts and the hypervisor, if the culprit is a group. They strike any thread that runs.
    pub struck_ns: u64,
    /// For how long threads of the target were stalled for memory; null if that is not known.
    #[serde(default)]
    pub stalled_ns: Option<u64>,
}

impl Turn {
    /// Nanoseconds of stalls for memory a second.
    pub(super) fn stalls(&self) -> f64 {
        self.stalled_ns.unwrap_or_default() as f64 / self.seconds
    }

    /// Nanoseconds of waiting a second.
    pub(super) fn rate(&self) -> f64 {
        self.waited_ns as f64 / self.seconds
    }

    /// What would go away with the culprit, a second: what it was charged, and its part of what struck while it and others
    /// ran. Without it they strike the waiting thread itself, which then runs and does not wait.
    fn removable(&self) -> f64 {
        let others = self.waited_ns.saturating_sub(self.struck_ns);
        let part = if others == 0 { 0.0 } else { self.charged_ns as f64 / others as f64 };
        part.min(1.0) * self.rate()
    }
}

/// The part of the waiting that went away, in percent. Below 0 there was more of it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Effect {
    /// As measured.
    pub percent: f64,
    /// The lower end of its 95 % interval.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// The effect on what `rate` tells, from turns in the order in which they were taken: pairs of one with and one without.
pub(super) fn effect(turns: &[Turn], rate: fn(&Turn) -> f64) -> Available<Effect> {
    let pairs: Vec<(f64, f64)> = turns.chunks_exact(2).filter_map(|two| pair(two, rate)).collect();
    if pairs.len() < FEWEST {
        let count = pairs.len();
        return Available::NotAvailable(format!("{count} pairs of turns, and {FEWEST} are needed"));
    }
    let count = pairs.len() as f64;
    let waited = pairs.iter().map(|(off, _)| off).sum::<f64>();
    if waited <= 0.0 {
        return Available::NotAvailable("nothing waited while the culprit ran".to_owned());
    }
    let most = pairs.iter().map(|(off, _)| *off).fold(0.0, f64::max);
    if most > MOST_OF_ONE * waited {
        return Available::NotAvailable(format!(
            "one turn had {:.0} % of all waiting while the culprit ran, which may be an accident",
            most / waited * 100.0
        ));
    }
    let gone = pairs.iter().map(|(off, on)| off - on).sum::<f64>() / waited;
    let squares: f64 = pairs.iter().map(|(off, on)| (off - on - gone * off).powi(2)).sum();
    let error = (squares / (count - 1.0) * count).sqrt() / waited;
    let half = t_quantile(CONFIDENCE, count - 1.0) * error;
    Available::Value(Effect {
        percent: gone * 100.0,
        low: (gone - half) * 100.0,
        high: ((gone + half) * 100.0).min(100.0),
    })
}

/// The rates without and with.
fn pair(turns: &[Turn], of: fn(&Turn) -> f64) -> Option<(f64, f64)> {
    let rate = |held| turns.iter().find(|turn| turn.held == held).map(of);
    rate(false).zip(rate(true))
}

/// What attribution charged to the culprit in the turns in which it ran, in percent of the waiting.
pub(super) fn attributed(turns: &[Turn]) -> Option<f64> {
    let off = || turns.iter().filter(|turn| !turn.held);
    let waited: u64 = off().map(|turn| turn.waited_ns).sum();
    let charged: u64 = off().map(|turn| turn.charged_ns).sum();
    (waited > 0).then(|| charged as f64 / waited as f64 * 100.0)
}

/// What attribution says that holding it back takes away, in percent of the waiting: a culprit whose weight is taken down
/// still runs, and is charged for that in the turns in which it is held.
pub(super) fn removable(turns: &[Turn]) -> Option<f64> {
    let sum = |held, rate: fn(&Turn) -> f64| -> f64 {
        turns.chunks_exact(2).flatten().filter(|turn| turn.held == held).map(rate).sum()
    };
    let waited = sum(false, Turn::rate);
    (waited > 0.0)
        .then(|| (sum(false, Turn::removable) - sum(true, Turn::removable)) / waited * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(held: bool, waited_ns: u64, (charged_ns, struck_ns): (u64, u64)) -> Turn {
        Turn { held, seconds: 0.5, waited_ns, charged_ns, struck_ns, stalled_ns: None }
    }

    fn turns(pairs: &[(u64, u64)]) -> Vec<Turn> {
        let turn = |held, waited_ns| counted(held, waited_ns, (waited_ns / 4, 0));
        let ordered = pairs.iter().enumerate().flat_map(|(index, (off, on))| {
            let (off, on) = (turn(false, *off), turn(true, *on));
            if index % 2 == 0 { [off, on] } else { [on, off] }
        });
        ordered.collect()
    }

    fn measured(pairs: &[(u64, u64)]) -> Effect {
        *effect(&turns(pairs), Turn::rate).value().unwrap()
    }

    #[test]
    fn what_a_held_culprit_still_takes_cannot_go_away() {
        let pair = [counted(false, 100, (80, 0)), counted(true, 100, (30, 0))];
        assert_eq!(removable(&pair), Some(50.0));
        assert_eq!(removable(&[]), None);
    }

    /// A host whose hypervisor takes 2 % of its time: 98 % was charged to the only hog, and all waiting goes away with it.
    #[test]
    fn what_strikes_the_culprit_goes_away_with_it() {
        let only = [counted(false, 100, (98, 2)), counted(true, 0, (0, 0))];
        assert_eq!(removable(&only), Some(100.0));
        let of_two = [counted(false, 100, (72, 4)), counted(true, 28, (0, 1))];
        assert_eq!(removable(&of_two), Some(75.0), "and the part that struck the other stays");
        assert_eq!(removable(&[counted(false, 5, (0, 5)), counted(true, 5, (0, 5))]), Some(0.0));
    }

    #[test]
    fn a_single_burst_is_no_effect() {
        let bursts = turns(&[(100, 1), (1, 1), (1, 1), (1, 1), (1, 1), (1, 1)]);
        let Available::NotAvailable(why) = effect(&bursts, Turn::rate) else {
            unreachable!("{bursts:?}")
        };
        assert!(why.contains("95 % of all waiting"), "{why}");
    }

    #[test]
    fn what_goes_away_is_a_part_of_what_was_there() {
        let found = measured(&[(400, 100), (800, 200), (1200, 300), (400, 100)]);
        assert!((found.percent - 75.0).abs() < 1e-9, "{found:?}");
        assert!(found.high - found.low < 1e-6, "the same part in every pair: {found:?}");
        assert_eq!(attributed(&turns(&[(400, 100), (800, 200)])), Some(25.0));
    }

    /// Differences 10, -10, 20 and -20 of 100: mean 0, deviation 18.257, and t = 3.182 with 3 degrees of freedom.
    #[test]
    fn the_interval_is_that_of_student_s_t() {
        let found = measured(&[(100, 90), (100, 110), (100, 80), (100, 120)]);
        assert!(found.percent.abs() < 1e-9, "{found:?}");
        let half = 3.182_446 * 18.257_419 / 2.0;
        assert!((found.high - half).abs() < 1e-3 && (found.low + half).abs() < 1e-3, "{found:?}");
    }

    #[test]
    fn without_waiting_or_with_few_pairs_there_is_no_number() {
        assert!(effect(&turns(&[(0, 0); 4]), Turn::rate).value().is_none());
        assert!(effect(&turns(&[(400, 100); 2]), Turn::rate).value().is_none());
        assert_eq!(attributed(&turns(&[(0, 0); 4])), None);
    }

    #[test]
    fn an_unfinished_pair_does_not_count() {
        let mut all = turns(&[(400, 100), (400, 100), (400, 100)]);
        let whole = effect(&all, Turn::rate);
        all.extend(turns(&[(1, 1)]).pop());
        assert_eq!(effect(&all, Turn::rate), whole);
    }
}
