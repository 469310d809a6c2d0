//! Ending a repeat as soon as it is known well enough.
//!
//! A repeat ends early for precision, and never because of what it shows: the interval of every group
//! is at most as wide as the margin, whichever way it lies. Whoever stops as soon as a verdict is
//! reached judges the state that a server happens to start in. It is at least half as long as planned,
//! so that what is estimated stays what was asked for. The data of the look that ends a repeat is the
//! data of the verdict (`judged_until_ns`), so that they cannot differ.
//!
//! A trial with more than three repeats is looked at after its third and each later one, and is over
//! when it is precise. Each of these looks has its part of the error (Bonferroni).

use std::time::Duration;

use assay_run_folder::{
    LooksRecord, Manifest, RelationRecord, RepeatRecord, StopRecord, Table, TrialRecord,
};

use crate::checks::{self, Evidence};
use crate::promise::{self, Subject};
use crate::queue::is_measured;
use crate::repeat::Repeat;
use crate::trial::{self, Prepared};
use crate::trial_value;
use assay_verdict::Measure;
use assay_verdict::PromiseJudgement;

/// Each look is at so much more time than the one before.
const GROWTH: f64 = 1.35;

/// Before this nothing can be known: ten batches of half a second.
const FIRST_S: f64 = 5.0;

/// Repeats after which a trial is looked at for the first time.
const FIRST_REPEATS: usize = 3;

/// When the data of a repeat is looked at.
#[derive(Debug, Clone, PartialEq)]
pub struct InterimLooks {
    /// Planned times after the common start, seconds, the latest first.
    planned: Vec<f64>,
    taken: u32,
}

impl InterimLooks {
    /// The looks of a repeat of at most this long.
    #[must_use]
    pub fn of(at_most: Duration) -> Self {
        let at_most_s = at_most.as_secs_f64();
        let times = std::iter::successors(Some(at_most_s / GROWTH), |time| Some(time / GROWTH));
        let first = FIRST_S.max(0.5 * at_most_s);
        Self { planned: times.take_while(|time| *time >= first).collect(), taken: 0 }
    }

    /// Whether it is time for a look.
    #[must_use]
    pub fn is_due(&self, elapsed: Duration) -> bool {
        self.planned.last().is_some_and(|next| elapsed.as_secs_f64() >= *next)
    }

    /// Takes a look. Planned looks whose time has passed as well are left out.
    pub fn take(&mut self, elapsed: Duration) {
        let seconds = elapsed.as_secs_f64();
        while self.planned.last().is_some_and(|next| seconds >= *next) {
            self.planned.pop();
        }
        self.taken += 1;
    }

    /// Looks taken.
    #[must_use]
    pub fn taken(&self) -> u32 {
        self.taken
    }

    /// The table of samples that a promise of this measure is decided by.
    #[must_use]
    pub fn source(measure: &str) -> Option<&'static str> {
        Measure::parse(measure).map(Measure::source)
    }
}

/// What one look at a repeat that still runs has shown.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct InterimLook {
    /// Whether every promise of the trial is known well enough, of one repeat by itself.
    pub precise: bool,
    /// Where the data of this look ends.
    pub until_ns: u64,
    /// What the numbers of each promise say so far. They are no verdicts: no gate was asked but that
    /// of time. A promise that has no number yet is void, with the reason.
    pub promises: Vec<PromiseJudgement>,
}

/// Looks at a repeat that still runs: as far as it is known, its window ends at `stopped_ns`. Promises
/// that other tables are needed for than `tables` holds are never known well enough, and nothing is
/// in a run that promises something across trials, whose windows are to be alike on both sides.
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
        told_iops: None,
        groups: &groups,
        promises: &promises,
        repeats: &repeats,
    };
    let long_enough = checks::of_time(&evidence).check.ok;
    let subject = Subject {
        told_iops: None,
        host: &manifest.host,
        trial: &one,
        groups: &groups,
        repeats: &repeats,
        left_out: &[],
        gates: &[],
        part: part_of(&one),
        unseen: None,
    };
    InterimLook {
        precise: long_enough && manifest.comparisons.is_empty() && is_precise(&subject),
        until_ns,
        promises: one.promises.iter().map(|promise| promise::looked(&subject, promise)).collect(),
    }
}

/// Whether a trial with these repeats is over before all that are planned: it is to stop once it is
/// precise, enough repeats are there that count, and every promise is known well enough by them. They
/// are sorted out as for the verdict, which must not rest on fewer than what was looked at.
#[must_use]
pub fn is_enough(manifest: &Manifest, number: usize, samples: &[Vec<Table>]) -> bool {
    let Some(trial) = manifest.trials.get(number) else { return false };
    if trial.stop != StopRecord::Precise || !manifest.comparisons.is_empty() {
        return false;
    }
    let prepared = Prepared::new(manifest, trial, samples, &trial_value::of_run(manifest));
    let subject = prepared.subject();
    prepared.counted >= FIRST_REPEATS
        && subject.gates.iter().all(|gate| gate.check.ok)
        && is_precise(&subject)
}

/// Whether every promise is known well enough.
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

/// Where all samples that a repeat has so far end.
fn end_of(trial: &TrialRecord, repeat: &RepeatRecord, tables: &[Table]) -> Option<u64> {
    let measures = trial::measures(&promises(trial));
    let groups = groups(trial);
    let repeat = Repeat::new(1, trial, repeat, tables, &groups, &measures);
    let ends =
        measures.iter().filter_map(|(measure, _)| Some(repeat.grid(*measure).ok()?.end_ns()));
    Some(ends.min().unwrap_or(repeat.end_ns))
}

/// The part of a promise's error that the analysis of a trial may spend. Runs of before ended a repeat
/// once its verdict was reached, and recorded what was left; now whole trials are looked at.
pub(crate) fn part_of(trial: &TrialRecord) -> f64 {
    let looks = match (trial.stop, trial.planned_repeats) {
        (StopRecord::Precise, Some(planned)) if planned > FIRST_REPEATS => {
            planned - FIRST_REPEATS + 1
        }
        _ => 1,
    };
    let parts = trial.repeats.iter().filter_map(|repeat| repeat.looks);
    let parts = parts.filter(|looks| looks.judged_until_ns.is_none());
    let parts = parts.filter_map(|looks| looks.part.filter(|part| *part > 0.0));
    parts.fold(1.0 / looks as f64, f64::min).clamp(1e-6, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repeat_is_looked_at_from_half_of_its_time_on() {
        let mut looks = InterimLooks::of(Duration::from_secs(60));
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
    fn a_late_look_takes_the_place_of_those_it_missed() {
        let mut looks = InterimLooks::of(Duration::from_secs(60));
        looks.take(Duration::from_secs(40));
        assert!(!looks.is_due(Duration::from_secs(41)) && looks.is_due(Duration::from_secs(45)));
    }

    #[test]
    fn a_short_repeat_is_not_looked_at() {
        assert!(!InterimLooks::of(Duration::from_secs(6)).is_due(Duration::from_secs(6)));
    }
}
