//! The rule of `stop = "precise"`: interim looks that end a repeat or a trial early once it is precise enough.
//!
//! A repeat ends early for precision, never because of its result: the interval of every group is
//! at most as wide as the margin, wherever it lies. Stopping as soon as a verdict is reached would
//! judge the state in which a server happens to start. A repeat is at least half as long as
//! planned, so that the estimand stays the same. The data of the look that ends a repeat is the
//! data of the verdict (`judged_until_ns`), so that they cannot differ.
//!
//! A trial with more than three repeats is examined after its third and each later one, and ends
//! when it is precise. Each of these looks gets its part of the error probability (Bonferroni).

use std::time::Duration;

use assay_run_folder::{
    LooksRecord, Manifest, RelationRecord, RepeatRecord, StopRecord, Table, TrialRecord,
};
use assay_terms::Measure;
use assay_verdict::PromiseJudgement;

use crate::checks::{self, Evidence};
use crate::error_probability::{FIRST_REPEATS, part_of};
use crate::promise;
use crate::queue::is_measured;
use crate::repeat::Repeat;
use crate::subject::Subject;
use crate::trial::{self, Prepared};
use crate::trial_value;

/// Ratio of the times of successive looks.
const GROWTH: f64 = 1.35;

/// Earliest look in seconds: ten batches of half a second.
const FIRST_S: f64 = 5.0;

/// Schedule of the looks at a repeat.
#[derive(Debug, Clone, PartialEq)]
pub struct InterimLooks {
    /// Planned times after the common start in seconds, latest first.
    planned: Vec<f64>,
    taken: u32,
}

impl InterimLooks {
    /// The looks of a repeat of at most this length.
    #[must_use]
    pub fn new(at_most: Duration) -> Self {
        let at_most_s = at_most.as_secs_f64();
        let times = std::iter::successors(Some(at_most_s / GROWTH), |time| Some(time / GROWTH));
        let first = FIRST_S.max(0.5 * at_most_s);
        Self { planned: times.take_while(|time| *time >= first).collect(), taken: 0 }
    }

    /// Whether a look is due.
    #[must_use]
    pub fn is_due(&self, elapsed: Duration) -> bool {
        self.planned.last().is_some_and(|next| elapsed.as_secs_f64() >= *next)
    }

    /// Records a look. Earlier planned looks are skipped.
    pub fn take(&mut self, elapsed: Duration) {
        let seconds = elapsed.as_secs_f64();
        while self.planned.last().is_some_and(|next| seconds >= *next) {
            self.planned.pop();
        }
        self.taken += 1;
    }

    /// Number of looks taken.
    #[must_use]
    pub fn taken(&self) -> u32 {
        self.taken
    }

    /// The sample table that decides a promise of this measure.
    #[must_use]
    pub fn source(measure: &str) -> Option<&'static str> {
        Measure::parse(measure).map(Measure::source)
    }
}

/// Result of one look at a running repeat.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct InterimLook {
    /// Whether every promise of the trial is precise enough by this repeat alone.
    pub precise: bool,
    /// End of the data of this look.
    pub until_ns: u64,
    /// Preliminary results of each promise. They are not verdicts: only the check of the window is
    /// evaluated. A promise without a number is void, with the reason.
    pub promises: Vec<PromiseJudgement>,
}

/// Examines a running repeat, whose window ends at `stopped_ns` for now. Promises that need tables
/// missing in `tables` are never precise, and neither is any promise in a run with promises across
/// trials, whose windows must be alike on both sides.
#[must_use]
pub fn look(
    manifest: &Manifest,
    number: usize,
    repeat: &RepeatRecord,
    tables: &[Table],
) -> InterimLook {
    let Some(trial) = manifest.trials.get(number) else { return InterimLook::default() };
    let Some(until_ns) = end_of(trial, repeat, tables) else { return InterimLook::default() };
    let looks = LooksRecord { judged_until_ns: Some(until_ns), ..LooksRecord::default() };
    let repeat = RepeatRecord { looks: Some(looks), ..repeat.clone() };
    let one = TrialRecord { repeats: vec![repeat], ..trial.clone() };
    let (groups, promises) = (groups(&one), promises(&one));
    let repeats = trial::prepare(&one, &[(1, &one.repeats[0], tables)], &groups, &promises);
    let evidence = Evidence {
        host: &manifest.host,
        trial: &one,
        configured_iops: None,
        groups: &groups,
        promises: &promises,
        repeats: &repeats,
    };
    let long_enough = checks::window_check(&evidence).check.ok;
    let subject = Subject {
        configured_iops: None,
        host: &manifest.host,
        trial: &one,
        groups: &groups,
        repeats: &repeats,
        left_out: &[],
        checks: &[],
        part: part_of(&one),
        unseen: None,
    };
    InterimLook {
        precise: long_enough && manifest.comparisons.is_empty() && is_precise(&subject),
        until_ns,
        promises: one
            .promises
            .iter()
            .map(|promise| promise::preliminary(&subject, promise))
            .collect(),
    }
}

/// Whether a trial can end before all planned repeats: it stops when precise, enough repeats count,
/// and every promise is precise by them. Repeats are selected as for the verdict, which must not
/// use fewer than this look.
#[must_use]
pub fn is_enough(manifest: &Manifest, number: usize, samples: &[Vec<Table>]) -> bool {
    let Some(trial) = manifest.trials.get(number) else { return false };
    if trial.stop != StopRecord::Precise || !manifest.comparisons.is_empty() {
        return false;
    }
    let prepared = Prepared::new(manifest, trial, samples, &trial_value::requests_of_run(manifest));
    let subject = prepared.subject();
    prepared.counted >= FIRST_REPEATS
        && subject.checks.iter().all(|validity| validity.check.ok)
        && is_precise(&subject)
}

/// Whether every promise is precise enough.
fn is_precise(subject: &Subject<'_>) -> bool {
    let promises = &subject.trial.promises;
    !promises.is_empty() && promises.iter().all(|promise| promise::is_precise(subject, promise))
}

fn promises(trial: &TrialRecord) -> Vec<(Measure, &RelationRecord)> {
    let each = trial.promises.iter();
    each.filter_map(|promise| Some((Measure::parse(&promise.measure)?, &promise.is))).collect()
}

fn groups(trial: &TrialRecord) -> Vec<&str> {
    let measured = trial.groups.iter().filter(|group| is_measured(group));
    measured.map(|group| group.name.as_str()).collect()
}

/// End of the samples that the repeat has so far.
fn end_of(trial: &TrialRecord, repeat: &RepeatRecord, tables: &[Table]) -> Option<u64> {
    let measures = trial::measures(&promises(trial));
    let groups = groups(trial);
    let repeat = Repeat::new(1, trial, repeat, tables, &groups, &measures);
    let ends =
        measures.iter().filter_map(|(measure, _)| Some(repeat.grid(*measure).ok()?.end_ns()));
    Some(ends.min().unwrap_or(repeat.end_ns))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_start_at_half_of_the_planned_time() {
        let mut looks = InterimLooks::new(Duration::from_secs(60));
        let mut times = Vec::new();
        for tenth in 0..600 {
            let elapsed = Duration::from_millis(100 * tenth);
            if looks.is_due(elapsed) {
                looks.take(elapsed);
                times.push(tenth);
            }
        }
        assert_eq!(times, [330, 445]);
        assert_eq!(looks.taken(), 2);
    }

    #[test]
    fn a_late_look_replaces_those_it_missed() {
        let mut looks = InterimLooks::new(Duration::from_secs(60));
        looks.take(Duration::from_secs(40));
        assert!(!looks.is_due(Duration::from_secs(41)) && looks.is_due(Duration::from_secs(45)));
    }

    #[test]
    fn a_short_repeat_has_no_looks() {
        assert!(!InterimLooks::new(Duration::from_secs(6)).is_due(Duration::from_secs(6)));
    }
}
