//! Promises that threads run on their CPUs and pages lie on their nodes.
//!
//! Nothing is divided here: each workload with a placement counts separately. The runner records
//! several times a second on which CPU each thread ran last. [`pages`] covers pages. A start is inside if so large a
//! part of them is in place as was promised; the verdict is the fraction of such starts.

mod blind;
mod counted;
mod pages;

use assay_record::run_folder::{PlacementRecord, PromiseRecord};
use assay_record::terms::PlacementMeasure;

use crate::by_starts::{self, Row};
use crate::found::{Found, without_numbers};
use crate::judged::Judged;
use crate::reason;
use crate::repeat::Repeat;
use crate::subject::Subject;
use crate::verdict::wording::{count, margin, percent};
use crate::verdict::{GroupJudgement, Interval, Observation, PromiseJudgement};

pub(crate) use blind::blind;
pub(crate) use counted::{Counted, Reading, counted};

/// One workload with a placement, over all repeats.
pub struct PlacedWorkload<'r> {
    /// The requested placement.
    pub asked: &'r PlacementRecord,
    /// One entry per repeat: the placement reading, and the host's counters.
    pub readings: Vec<Reading<'r>>,
    /// The part that was in place in each.
    row: Row,
}

/// The numbers of a promise with the relation `placed`.
pub(crate) fn judge(
    subject: &Subject<'_>,
    promise: &PromiseRecord,
    judged_by: Judged<'_, '_>,
) -> Found {
    let Some(what) = PlacementMeasure::parse(&promise.measure) else {
        return Found::nothing(promise, format!("`{}` has no placement", promise.measure));
    };
    let seen = match look(subject, promise, what, judged_by.repeats) {
        Ok(seen) => seen,
        Err(why) => return Found::nothing(promise, why),
    };
    let starts = by_starts::starts(|| seen.iter().map(|one| &one.row));
    let (verdict, needs) = by_starts::decide(starts, subject.part);
    let all_known = judged_by.starts(starts);
    let mut judged = PromiseJudgement { verdict, ..without_numbers(promise) };
    for one in &seen {
        let was = Some(Interval::exact(one.row.seen().value));
        judged.groups.push(GroupJudgement { was, ..one.row.judged(subject.part) });
    }
    let in_place = |one: &PlacedWorkload<'_>| one.row.seen().value;
    if let Some(worst) = seen.iter().min_by(|a, b| in_place(a).total_cmp(&in_place(b))) {
        let Interval { value, low, high } = worst.row.seen();
        let error = Interval { value: 1.0 - value, low: 1.0 - high, high: 1.0 - low };
        let seconds = judged_by.repeats.iter().map(Repeat::window_s).sum();
        let (name, within) = (&worst.row.name, promise.within);
        judged.was = Some(Observation::new(name, error.value, within, seconds, all_known));
        judged.worst_error = Some(error);
        judged.reason =
            format!("{}; {}", sentence(worst, what, within), reason::of_starts(all_known));
        if by_starts::is_off(starts, verdict) {
            judged.causes = subject.causes.of_placement(worst, what);
        }
    }
    Found { needs: (needs, None), ..Found::new(judged) }
}

/// Which workload was out of place in these repeats, if one was.
pub(crate) fn broken(
    subject: &Subject<'_>,
    promise: &PromiseRecord,
    repeats: &[Repeat<'_>],
) -> Result<Option<String>, String> {
    let what = PlacementMeasure::parse(&promise.measure).ok_or("it has no placement")?;
    let seen = look(subject, promise, what, repeats)?;
    let mut parts = seen.iter().map(|one| (&one.row.name, one.row.seen().value));
    let outside = parts.find(|(_, part)| *part < 1.0 - promise.within);
    Ok(outside.map(|(name, part)| format!("{} of `{name}` were in place", percent(part))))
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
    let one = |asked: &'r PlacementRecord| {
        let (readings, counted) = counted(subject, (what, asked), repeats)?;
        let numbers: Vec<f64> = counted.iter().map(Counted::part).collect();
        let row = Row {
            name: asked.workload.clone(),
            expected: 1.0,
            errors: Vec::new(),
            inside: numbers.iter().map(|part| *part >= 1.0 - promise.within).collect(),
            numbers,
        };
        Ok(PlacedWorkload { asked, readings, row })
    };
    let seen: Vec<PlacedWorkload<'r>> = measured.map(one).collect::<Result<_, String>>()?;
    match seen.is_empty() {
        true => Err("no workload of a measured group has a placement".to_owned()),
        false => Ok(seen),
    }
}

fn sentence(one: &PlacedWorkload<'_>, what: PlacementMeasure, within: f64) -> String {
    let Interval { value, low, high } = one.row.seen();
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
        margin(1.0 - within)
    )
}
