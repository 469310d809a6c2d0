//! Ending a repeat as soon as its promises are decided, without paying for it with false verdicts.
//!
//! Whoever looks at growing data until it decides has many chances to be wrong. The error that a
//! promise allows (one less its confidence) is therefore spent in parts: the look at time `t` of a
//! repeat of at most `T` may have spent `t / T` of it in all, so each look has the difference to the
//! look before (alpha spending, Lan and DeMets 1983, with the linear function of Kim and DeMets
//! 1987). The parts add up to one at most, and by Bonferroni's inequality so does the error,
//! however the looks depend on each other; boundaries that know this dependence would be a little
//! closer, and need normal data.

use std::time::Duration;

use assay_record::{Manifest, RelationRecord, RepeatRecord, Table, TrialRecord};

use crate::gates::{self, Evidence, Selection};
use crate::judgement::{PromiseJudgement, Verdict};
use crate::measure::Measure;
use crate::promise::{self, Subject};
use crate::queue::is_measured;
use crate::repeat::Repeat;
use crate::statistics::bootstrap::DRAWS;

/// Each look is at so much more time than the one before. Looks closer to each other would end a
/// repeat little earlier and leave less of the error to each.
const GROWTH: f64 = 1.35;

/// Before this nothing can be decided: ten blocks of half a second.
const FIRST_S: f64 = 5.0;

/// When the data of a repeat is looked at, and how much of the error each look may spend.
#[derive(Debug, Clone, PartialEq)]
pub struct Looks {
    at_most_s: f64,
    /// Planned times after the common start, seconds, the latest first.
    planned: Vec<f64>,
    spent: f64,
    taken: u32,
}

impl Looks {
    /// The looks of a repeat of at most this long.
    #[must_use]
    pub fn of(at_most: Duration) -> Self {
        let at_most_s = at_most.as_secs_f64();
        let times = std::iter::successors(Some(at_most_s / GROWTH), |time| Some(time / GROWTH));
        let planned = times.take_while(|time| *time >= FIRST_S).collect();
        Self { at_most_s, planned, spent: 0.0, taken: 0 }
    }

    /// Whether it is time for a look.
    #[must_use]
    pub fn is_due(&self, elapsed: Duration) -> bool {
        self.planned.last().is_some_and(|next| elapsed.as_secs_f64() >= *next)
    }

    /// Takes a look: the part of the error that it may spend. Planned looks whose time has passed
    /// as well are left out.
    pub fn take(&mut self, elapsed: Duration) -> f64 {
        let seconds = elapsed.as_secs_f64();
        while self.planned.last().is_some_and(|next| seconds >= *next) {
            self.planned.pop();
        }
        let until_now = (seconds / self.at_most_s).min(1.0).max(self.spent);
        let part = until_now - self.spent;
        self.spent = until_now;
        self.taken += 1;
        part
    }

    /// What is left for the analysis at the end of a repeat that no look ended. When a repeat ends
    /// by itself, the end was not chosen by its data, so all that is left may be spent.
    #[must_use]
    pub fn left(&self) -> f64 {
        1.0 - self.spent
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
#[derive(Debug, Clone, PartialEq)]
pub struct Look {
    /// Whether every promise of the trial is decided by it.
    pub decided: bool,
    /// What the numbers of each promise say so far. They are no verdicts: no gate was asked but
    /// those of time. A promise that has no number yet is void, with the reason.
    pub promises: Vec<PromiseJudgement>,
}

impl Look {
    /// A look at nothing.
    const fn nothing() -> Self {
        Self { decided: false, promises: Vec::new() }
    }
}

/// Draws of a look that only shows and decides nothing: the width of an interval is known to
/// about 5 % then, at a tenth of the cost.
const DRAWS_TO_SHOW: usize = 200;

/// Whether a repeat that still runs decides every promise of its trial by itself: kept or broken,
/// with this part of the error, in a steady state. `repeat` is the repeat as far as it is known,
/// and its window ends at `stopped_ns`. Promises that other tables are needed for than `tables`
/// holds are not decided, and nothing is in a run that promises something across trials.
#[must_use]
pub fn decides(
    manifest: &Manifest,
    number: usize,
    repeat: &RepeatRecord,
    tables: &[Table],
    part: f64,
) -> bool {
    look(manifest, number, repeat, tables, part).decided
}

/// The same look with everything that it has shown.
#[must_use]
pub fn look(
    manifest: &Manifest,
    number: usize,
    repeat: &RepeatRecord,
    tables: &[Table],
    part: f64,
) -> Look {
    look_with(manifest, number, repeat, tables, part, DRAWS)
}

/// A cheaper look that is only to be shown: its intervals spend the whole error, so that whoever
/// ended a repeat by them would be wrong more often than the promise allows.
#[must_use]
pub fn preview(
    manifest: &Manifest,
    number: usize,
    repeat: &RepeatRecord,
    tables: &[Table],
) -> Vec<PromiseJudgement> {
    look_with(manifest, number, repeat, tables, 1.0, DRAWS_TO_SHOW).promises
}

fn look_with(
    manifest: &Manifest,
    number: usize,
    repeat: &RepeatRecord,
    tables: &[Table],
    part: f64,
    draws: usize,
) -> Look {
    let Some(trial) = manifest.trials.get(number) else { return Look::nothing() };
    let one = TrialRecord { repeats: vec![repeat.clone()], ..trial.clone() };
    let samples = [tables.to_vec()];
    let groups: Vec<&str> = one
        .groups
        .iter()
        .filter(|group| is_measured(group))
        .map(|group| group.name.as_str())
        .collect();
    let promises: Vec<(Measure, &RelationRecord)> = one
        .promises
        .iter()
        .filter_map(|promise| Some((Measure::parse(&promise.measure)?, &promise.is)))
        .collect();
    let selection = Selection::new(&one, &samples);
    let measures: Vec<Measure> = promises.iter().map(|(measure, _)| *measure).collect();
    let repeats: Vec<Repeat<'_>> = selection
        .judged
        .iter()
        .map(|(number, record, tables)| {
            Repeat::new(*number, &one, record, tables, &groups, &measures)
        })
        .collect();
    let evidence = Evidence {
        host: &manifest.host,
        trial: &one,
        told_iops: None,
        groups: &groups,
        promises: &promises,
        repeats: &repeats,
    };
    let steady = gates::of_time(&evidence).iter().all(|gate| gate.check.ok)
        && repeats.iter().all(|repeat| repeat.settled);
    let subject = Subject {
        told_iops: None,
        seed: manifest.seed,
        number: number as u64,
        host: &manifest.host,
        trial: &one,
        groups: &groups,
        repeats: &repeats,
        gates: &[],
        part,
        draws,
    };
    let looked: Vec<PromiseJudgement> =
        one.promises.iter().map(|promise| promise::looked(&subject, promise)).collect();
    let is_decided =
        |found: &PromiseJudgement| matches!(found.verdict, Verdict::Kept | Verdict::Broken);
    Look {
        // What one trial owes another is measured over whole repeats, which are alike on both
        // sides.
        decided: steady
            && manifest.comparisons.is_empty()
            && !looked.is_empty()
            && looked.iter().all(is_decided),
        promises: looked,
    }
}

/// The part of the error that the analysis of a whole trial may spend: the least of its repeats',
/// since each of them may have been ended by what it showed.
pub(crate) fn part_of(trial: &TrialRecord) -> f64 {
    let parts = trial.repeats.iter().filter_map(|repeat| repeat.looks);
    parts.map(|looks| looks.part).fold(1.0, f64::min).clamp(1e-6, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_looks_together_spend_the_whole_error_and_no_more() {
        let mut looks = Looks::of(Duration::from_secs(60));
        let mut spent = 0.0;
        for tenth in 0..600 {
            let elapsed = Duration::from_millis(100 * tenth);
            if looks.is_due(elapsed) {
                spent += looks.take(elapsed);
            }
        }
        assert_eq!(looks.taken(), 8);
        assert!((spent + looks.left() - 1.0).abs() < 1e-12);
        assert!(looks.left() > 0.2, "the end keeps a good part: {}", looks.left());
    }

    #[test]
    fn a_late_look_takes_the_place_of_those_it_missed() {
        let mut looks = Looks::of(Duration::from_secs(60));
        let part = looks.take(Duration::from_secs(30));
        assert!((part - 0.5).abs() < 1e-12);
        assert!(!looks.is_due(Duration::from_secs(31)) && looks.is_due(Duration::from_secs(45)));
    }

    #[test]
    fn a_short_repeat_is_not_looked_at() {
        let looks = Looks::of(Duration::from_secs(6));
        assert!(!looks.is_due(Duration::from_secs(6)));
        assert_eq!(looks.left(), 1.0);
    }
}
