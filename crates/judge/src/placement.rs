//! Promises that threads run on their CPUs and pages lie on their nodes.
//!
//! Nothing is divided here: each workload with a placement counts separately. The runner records
//! several times a second on which CPU each thread ran last; threads in one look are observed at
//! the same moment and count as one observation. [`pages`] covers pages. Repeats are the unit here
//! too.

mod blind;
mod causes;
mod counted;
mod pages;

use assay_run_folder::{PlacementRecord, PromiseRecord};
use assay_stats::over_repeats::confidence_to_break;
use assay_stats::proportion::{self, Counted};
use assay_terms::PlacementMeasure;
use assay_verdict::wording::{count, margin, percent};
use assay_verdict::{GroupJudgement, Interval, Observation, PromiseJudgement, Verdict};

use crate::checks::Scope;
use crate::reason;
use crate::repeat::Repeat;
use crate::subject::Subject;

pub(crate) use blind::blind;
pub(crate) use counted::{Reading, counted};

/// One workload with a placement, over all repeats.
pub(crate) struct PlacedWorkload<'r> {
    /// The requested placement.
    pub(crate) asked: &'r PlacementRecord,
    /// One entry per repeat: the placement reading, and the host's counters.
    pub(crate) readings: Vec<Reading<'r>>,
    /// Counts of each repeat.
    counted: Vec<Counted>,
    /// The part that is in place.
    pub(crate) share: Interval,
    /// The same, with an interval that holds for all workloads at once.
    surely: Interval,
}

impl PlacedWorkload<'_> {
    /// The part of everything that was counted, without an error.
    fn observed(&self) -> f64 {
        let sum = |part: fn(&Counted) -> f64| self.counted.iter().map(part).sum::<f64>();
        sum(|one| one.held) / sum(|one| one.of)
    }

    /// Kept by its own interval, broken by one that holds for all. One repeat decides neither.
    fn verdict(&self, within: f64) -> Verdict {
        let least = 1.0 - within;
        match () {
            () if self.surely.high < least => Verdict::Broken,
            () if self.share.low >= least => Verdict::Kept,
            () => Verdict::Undecided,
        }
    }
}

/// Judges a promise with the relation `placed`.
pub(crate) fn judge(
    subject: &Subject<'_>,
    promise: &PromiseRecord,
    document: PromiseJudgement,
) -> PromiseJudgement {
    let void =
        |reason: String| PromiseJudgement { verdict: Verdict::Void, reason, ..document.clone() };
    let Some(what) = PlacementMeasure::parse(&promise.measure) else {
        return void(format!("`{}` has no placement", promise.measure));
    };
    let failed = subject.failed(|scope| scope == Scope::All);
    if !failed.is_empty() {
        let causes = failed.iter().filter_map(|validity| validity.cause()).collect();
        return PromiseJudgement { causes, ..void(reason::failed_checks(&failed)) };
    }
    let seen = match look(subject, promise, what, subject.repeats) {
        Ok(seen) => seen,
        Err(why) => return void(why),
    };
    let verdicts = seen.iter().map(|one| one.verdict(promise.within));
    let worst = Verdict::worst(verdicts);
    let mut reason = sentence(&seen, what, promise, worst);
    let repeats = subject.repeats.len();
    if repeats < proportion::FEWEST && worst == Verdict::Undecided {
        reason = format!("{reason}; {}", reason::few_repeats(repeats));
    }
    let was = was(subject.repeats, &seen, promise.within);
    if let Some(was) = &was {
        reason = format!("{reason}; {}", reason::of_fact(was, promise.within));
    }
    let objection = subject.objection(|repeat| {
        let seen = look(subject, promise, what, std::slice::from_ref(repeat)).ok()?;
        let out = seen.iter().find(|one| one.share.value < 1.0 - promise.within)?;
        Some(format!("{} of `{}` were in place", percent(out.share.value), out.asked.workload))
    });
    let is_open = objection.is_some();
    let objection = objection.filter(|_| worst == Verdict::Kept);
    if let Some(why) = &objection {
        reason = format!("{reason}; {why}");
    }
    let mut judged = PromiseJudgement {
        verdict: if objection.is_some() { Verdict::Undecided } else { worst },
        was,
        will_be: Some(if repeats < 2 { Verdict::Undecided } else { worst }),
        reason,
        worst_error: worst_error(&seen),
        groups: seen.iter().map(|one| row(one, promise.within, is_open)).collect(),
        needs_repeats: (worst == Verdict::Undecided && repeats < proportion::FEWEST)
            .then_some(proportion::FEWEST),
        ..document
    };
    if worst == Verdict::Broken {
        let broken = |one: &&PlacedWorkload<'_>| one.verdict(promise.within) == Verdict::Broken;
        judged.causes = causes::find(seen.iter().find(broken), what);
    }
    judged
}

/// The observation about the workload that was worst placed: all looks, and all bytes, were
/// counted.
fn was(repeats: &[Repeat<'_>], seen: &[PlacedWorkload<'_>], within: f64) -> Option<Observation> {
    let worst = seen.iter().min_by(|a, b| a.observed().total_cmp(&b.observed()))?;
    let least = 1.0 - within;
    let kept = |repeat: &usize| {
        let mut counted = seen.iter().map(|one| one.counted[*repeat]);
        counted.all(|one| one.held >= least * one.of)
    };
    Some(Observation {
        verdict: if worst.observed() >= least { Verdict::Kept } else { Verdict::Broken },
        seconds: repeats.iter().map(Repeat::window_s).sum(),
        group: worst.asked.workload.clone(),
        error: exactly(1.0 - worst.observed()),
        repeats_kept: (0..repeats.len()).filter(kept).count(),
        repeats: repeats.len(),
        states: None,
        in_warm_up: None,
    })
}

fn exactly(value: f64) -> Interval {
    Interval { value, low: value, high: value }
}

/// Every placed workload of a measured group in these repeats, or why nothing can be shown.
fn look<'r>(
    subject: &Subject<'r>,
    promise: &PromiseRecord,
    what: PlacementMeasure,
    repeats: &[Repeat<'r>],
) -> Result<Vec<PlacedWorkload<'r>>, String> {
    if repeats.is_empty() {
        return Err("no repeat can be judged".to_owned());
    }
    let placed = subject.trial.placements.iter();
    let measured = placed.filter(|record| subject.groups.contains(&record.group.as_str()));
    let seen: Vec<PlacedWorkload<'r>> = measured
        .map(|asked| one(subject, promise, (what, asked), repeats))
        .collect::<Result<_, _>>()?;
    match seen.is_empty() {
        true => Err("no workload of a measured group has a placement".to_owned()),
        false => Ok(seen),
    }
}

fn one<'r>(
    subject: &Subject<'r>,
    promise: &PromiseRecord,
    (what, asked): (PlacementMeasure, &'r PlacementRecord),
    repeats: &[Repeat<'r>],
) -> Result<PlacedWorkload<'r>, String> {
    let (readings, counted) = counted(subject, (what, asked), repeats)?;
    let share = |confidence: f64| {
        let share = proportion::over_repeats(&counted, confidence);
        share.ok_or_else(|| format!("`{}`: none of its threads was recorded", asked.workload))
    };
    let all = confidence_to_break(promise.confidence, subject.trial.placements.len());
    let (share, surely) = (share(promise.confidence)?, share(all)?);
    Ok(PlacedWorkload { asked, readings, counted, share, surely })
}

fn worst_error(seen: &[PlacedWorkload<'_>]) -> Option<Interval> {
    let worst = seen.iter().min_by(|a, b| a.share.value.total_cmp(&b.share.value))?.share;
    Some(Interval { value: 1.0 - worst.value, low: 1.0 - worst.high, high: 1.0 - worst.low })
}

/// `is_open` where something that concerns all workloads forbids kept.
fn row(seen: &PlacedWorkload<'_>, within: f64, is_open: bool) -> GroupJudgement {
    GroupJudgement {
        name: seen.asked.workload.clone(),
        knob: None,
        expected_share: 1.0,
        share_by_weight: None,
        share: seen.share.value,
        low: seen.share.low,
        high: seen.share.high,
        rate: seen.share.value,
        verdict: match seen.verdict(within) {
            Verdict::Kept if is_open => Verdict::Undecided,
            own => own,
        },
        was: Some(exactly(seen.observed())),
        worst_span: None,
    }
}

fn sentence(
    seen: &[PlacedWorkload<'_>],
    what: PlacementMeasure,
    promise: &PromiseRecord,
    worst: Verdict,
) -> String {
    let deciding = seen
        .iter()
        .filter(|one| one.verdict(promise.within) == worst)
        .min_by(|a, b| a.share.low.total_cmp(&b.share.low));
    let Some(one) = deciding else { return String::new() };
    let Interval { value, low, high } = one.share;
    let (name, sure) = (&one.asked.workload, percent(promise.confidence));
    let (subject, place) = match what {
        PlacementMeasure::Threads => {
            let looks: u64 = one.readings.iter().map(|(reading, _)| reading.looks).sum();
            let cpus = one.asked.cpus.as_ref().map(ToString::to_string).unwrap_or_default();
            let looks = count(usize::try_from(looks).unwrap_or(usize::MAX), "look");
            (format!("samples of threads of `{name}` ({looks})"), format!("on the CPUs {cpus}"))
        }
        PlacementMeasure::Pages | PlacementMeasure::FilePages => {
            let kind =
                if what == PlacementMeasure::Pages { "anonymous pages" } else { "pages of files" };
            let policy = one.asked.memory.as_ref().map(ToString::to_string);
            let policy = policy.unwrap_or_else(|| "first touch on its CPUs".to_owned());
            (format!("{kind} of `{name}`"), format!("where `{policy}` places them"))
        }
    };
    format!(
        "{} of the {subject} were {place} ({} to {} with {sure} confidence), where at least {} was \
         promised",
        percent(value),
        percent(low),
        percent(high),
        margin(1.0 - promise.within)
    )
}
