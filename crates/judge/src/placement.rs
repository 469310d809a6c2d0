//! Promises that threads run on their CPUs and pages lie on their nodes.
//!
//! Nothing is divided here: each workload with a placement counts separately. The runner records
//! several times a second on which CPU each thread ran last. [`pages`] covers pages. A start is inside if so large a
//! part of them is in place as was promised; the verdict is the fraction of such starts.

mod blind;
mod causes;
mod counted;
mod pages;

use assay_run_folder::{PlacementRecord, PromiseRecord};
use assay_stats::rule::{FEWEST, Starts};
use assay_terms::PlacementMeasure;
use assay_verdict::wording::{count, margin, percent};
use assay_verdict::{GroupJudgement, Interval, Observation, PromiseJudgement, Verdict};

use crate::checks::Scope;
use crate::estimates::of_fraction;
use crate::reason;
use crate::repeat::Repeat;
use crate::subject::Subject;

pub(crate) use blind::blind;
pub(crate) use counted::{Counted, Reading, counted};

/// One workload with a placement, over all repeats.
pub(crate) struct PlacedWorkload<'r> {
    /// The requested placement.
    pub(crate) asked: &'r PlacementRecord,
    /// One entry per repeat: the placement reading, and the host's counters.
    pub(crate) readings: Vec<Reading<'r>>,
    /// Counts of each repeat.
    counted: Vec<Counted>,
    /// The part that is in place: the mean of the starts, the least and the largest.
    pub(crate) share: Interval,
}

impl PlacedWorkload<'_> {
    fn starts(&self, within: f64) -> Starts {
        Starts::count(self.counted.iter().map(|one| one.part() >= 1.0 - within))
    }

    fn verdict(&self, within: f64, part: f64) -> Verdict {
        of_fraction(self.starts(within), part)
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
    let seen = match look(subject, what, subject.repeats) {
        Ok(seen) => seen,
        Err(why) => return void(why),
    };
    let starts = starts(&seen, promise.within);
    let worst = of_fraction(starts, subject.part);
    let mut reason = format!("{}; {}", sentence(&seen, what, promise), reason::of_starts(starts));
    let objection = subject.objection(|repeat| {
        let seen = look(subject, what, std::slice::from_ref(repeat)).ok()?;
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
        was: was(subject.repeats, &seen, promise.within, starts),
        reason,
        worst_error: worst_error(&seen),
        groups: seen.iter().map(|one| row(one, promise.within, (is_open, subject.part))).collect(),
        needs_repeats: (worst == Verdict::Undecided && starts.of < FEWEST).then_some(FEWEST),
        ..document
    };
    if worst == Verdict::Broken {
        judged.causes = causes::find(worst_of(&seen), what);
    }
    judged
}

/// The starts in which every workload was in place.
fn starts(seen: &[PlacedWorkload<'_>], within: f64) -> Starts {
    let of = seen.iter().map(|one| one.counted.len()).min().unwrap_or(0);
    let inside = |start: usize| seen.iter().all(|one| one.counted[start].part() >= 1.0 - within);
    Starts::count((0..of).map(inside))
}

fn worst_of<'s, 'r>(seen: &'s [PlacedWorkload<'r>]) -> Option<&'s PlacedWorkload<'r>> {
    seen.iter().min_by(|a, b| a.share.value.total_cmp(&b.share.value))
}

/// The observation about the workload that was worst placed.
fn was(
    repeats: &[Repeat<'_>],
    seen: &[PlacedWorkload<'_>],
    within: f64,
    starts: Starts,
) -> Option<Observation> {
    let worst = worst_of(seen)?;
    let seconds = repeats.iter().map(Repeat::window_s).sum();
    let name = &worst.asked.workload;
    Some(Observation::new(name, 1.0 - worst.share.value, within, seconds, starts))
}

/// Every placed workload of a measured group in these repeats, or why nothing can be shown.
fn look<'r>(
    subject: &Subject<'r>,
    what: PlacementMeasure,
    repeats: &[Repeat<'r>],
) -> Result<Vec<PlacedWorkload<'r>>, String> {
    if repeats.is_empty() {
        return Err("no repeat can be judged".to_owned());
    }
    let placed = subject.trial.placements.iter();
    let measured = placed.filter(|record| subject.groups.contains(&record.group.as_str()));
    let seen: Vec<PlacedWorkload<'r>> =
        measured.map(|asked| one(subject, (what, asked), repeats)).collect::<Result<_, _>>()?;
    match seen.is_empty() {
        true => Err("no workload of a measured group has a placement".to_owned()),
        false => Ok(seen),
    }
}

fn one<'r>(
    subject: &Subject<'r>,
    (what, asked): (PlacementMeasure, &'r PlacementRecord),
    repeats: &[Repeat<'r>],
) -> Result<PlacedWorkload<'r>, String> {
    let (readings, counted) = counted(subject, (what, asked), repeats)?;
    let parts = || counted.iter().map(Counted::part);
    let share = Interval {
        value: parts().sum::<f64>() / counted.len() as f64,
        low: parts().fold(1.0, f64::min),
        high: parts().fold(0.0, f64::max),
    };
    Ok(PlacedWorkload { asked, readings, counted, share })
}

fn worst_error(seen: &[PlacedWorkload<'_>]) -> Option<Interval> {
    let worst = worst_of(seen)?.share;
    Some(Interval { value: 1.0 - worst.value, low: 1.0 - worst.high, high: 1.0 - worst.low })
}

/// `is_open` where something that concerns all workloads forbids kept.
fn row(seen: &PlacedWorkload<'_>, within: f64, (is_open, part): (bool, f64)) -> GroupJudgement {
    GroupJudgement {
        name: seen.asked.workload.clone(),
        knob: None,
        expected_share: 1.0,
        share_by_weight: None,
        share: seen.share.value,
        low: seen.share.low,
        high: seen.share.high,
        rate: seen.share.value,
        verdict: match seen.verdict(within, part) {
            Verdict::Kept if is_open => Verdict::Undecided,
            own => own,
        },
        was: Some(Interval::exact(seen.share.value)),
        worst_span: None,
    }
}

fn sentence(
    seen: &[PlacedWorkload<'_>],
    what: PlacementMeasure,
    promise: &PromiseRecord,
) -> String {
    let Some(one) = worst_of(seen) else { return String::new() };
    let Interval { value, low, high } = one.share;
    let name = &one.asked.workload;
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
        "{} of the {subject} were {place} ({} to {} in a start), where at least {} was promised",
        percent(value),
        percent(low),
        percent(high),
        margin(1.0 - promise.within)
    )
}
