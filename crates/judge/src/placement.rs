//! Promises that threads are on their CPUs and pages on their nodes.
//!
//! Nothing is divided here: each workload with a place stands for itself. Of threads the engine has
//! looked several times a second which CPU each ran on last; threads of one look are seen at the
//! same moment and count as one observation. [`pages`] has pages. Repeats are the unit here as well.

mod blind;
mod causes;
mod pages;

use assay_run_folder::{NodeCounts, PlacementReading, PlacementRecord, PromiseRecord};

use crate::checks::Scope;
use crate::promise::Subject;
use crate::reason;
use crate::repeat::Repeat;
use assay_stats::over_repeats::to_accuse;
use assay_stats::proportion::{self, Counted};
use assay_verdict::wording::{count, margin, percent};
use assay_verdict::{GroupJudgement, Interval, Observation, PromiseJudgement, Verdict};

pub(crate) use blind::blind;

/// What is said to be in its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum What {
    /// Samples of threads.
    Threads,
    /// Bytes of anonymous memory.
    Pages,
    /// Bytes of files that it has mapped, its programs and libraries left out.
    FilePages,
}

impl What {
    /// The measure of that name in a study.
    pub(crate) fn parse(measure: &str) -> Option<Self> {
        match measure {
            "threads" => Some(Self::Threads),
            "pages" => Some(Self::Pages),
            "file_pages" => Some(Self::FilePages),
            _ => None,
        }
    }
}

/// One workload with a place, as all repeats saw it.
pub(crate) struct Seen<'r> {
    /// What was asked.
    pub(crate) asked: &'r PlacementRecord,
    /// What was seen, one entry a repeat, with what the host counted meanwhile.
    pub(crate) readings: Vec<(&'r PlacementReading, Option<&'r NodeCounts>)>,
    /// What each repeat counted.
    counted: Vec<Counted>,
    /// The share in its place.
    pub(crate) share: Interval,
    /// The same by an interval that holds for all workloads at once.
    surely: Interval,
}

impl Seen<'_> {
    /// Kept by its own interval, broken by one that holds for all. One repeat has neither.
    fn verdict(&self, within: f64) -> Verdict {
        let least = 1.0 - within;
        match () {
            () if self.surely.high < least => Verdict::Broken,
            () if self.share.low >= least => Verdict::Kept,
            () => Verdict::Undecided,
        }
    }
}

/// Judges a promise of the relation `placed`.
pub(crate) fn judge(
    subject: &Subject<'_>,
    promise: &PromiseRecord,
    document: PromiseJudgement,
) -> PromiseJudgement {
    let void =
        |reason: String| PromiseJudgement { verdict: Verdict::Void, reason, ..document.clone() };
    let Some(what) = What::parse(&promise.measure) else {
        return void(format!("`{}` has no place", promise.measure));
    };
    let failed = subject.failed(|scope| scope == Scope::All);
    if !failed.is_empty() {
        let causes = failed.iter().filter_map(|gate| gate.cause()).collect();
        return PromiseJudgement { causes, ..void(reason::of_gates(&failed)) };
    }
    let seen = match look(subject, promise, what, subject.repeats) {
        Ok(seen) => seen,
        Err(why) => return void(why),
    };
    let verdicts = seen.iter().map(|one| one.verdict(promise.within));
    let worst = Verdict::worst(verdicts);
    let mut reason = sentence(&seen, what, promise, worst);
    let one_repeat = subject.repeats.len() < 2;
    if one_repeat && worst == Verdict::Undecided {
        reason.push_str(
            "; one repeat shows its own window and no other: three or more tell what others give",
        );
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
    let objection = objection.filter(|_| worst == Verdict::Kept);
    if let Some(why) = &objection {
        reason = format!("{reason}; {why}");
    }
    let mut judged = PromiseJudgement {
        verdict: if objection.is_some() { Verdict::Undecided } else { worst },
        was,
        will_be: Some(if one_repeat { Verdict::Undecided } else { worst }),
        reason,
        worst_error: worst_error(&seen),
        groups: seen.iter().map(|one| row(one, promise.within)).collect(),
        ..document
    };
    if worst == Verdict::Broken {
        let broken = |one: &&Seen<'_>| one.verdict(promise.within) == Verdict::Broken;
        judged.causes = causes::find(seen.iter().find(broken), what);
    }
    judged
}

/// What was, of the workload that was furthest from its place: all looks, and all bytes, were counted.
fn was(repeats: &[Repeat<'_>], seen: &[Seen<'_>], within: f64) -> Option<Observation> {
    let worst = seen.iter().min_by(|a, b| a.share.value.total_cmp(&b.share.value))?;
    let least = 1.0 - within;
    let kept = |repeat: &usize| {
        let mut counted = seen.iter().map(|one| one.counted[*repeat]);
        counted.all(|one| one.held >= least * one.of)
    };
    Some(Observation {
        verdict: if worst.share.value >= least { Verdict::Kept } else { Verdict::Broken },
        seconds: repeats.iter().map(Repeat::window_s).sum(),
        group: worst.asked.workload.clone(),
        error: exactly(1.0 - worst.share.value),
        repeats_kept: (0..repeats.len()).filter(kept).count(),
        repeats: repeats.len(),
        states: None,
        in_warm_up: None,
    })
}

fn exactly(value: f64) -> Interval {
    Interval { value, low: value, high: value }
}

/// Every placed workload of a measured group in these repeats; the error says why nothing can be
/// shown.
fn look<'r>(
    subject: &Subject<'r>,
    promise: &PromiseRecord,
    what: What,
    repeats: &[Repeat<'r>],
) -> Result<Vec<Seen<'r>>, String> {
    if repeats.is_empty() {
        return Err("no repeat can be judged".to_owned());
    }
    let placed = subject.trial.placements.iter();
    let measured = placed.filter(|record| subject.groups.contains(&record.group.as_str()));
    let seen: Vec<Seen<'r>> = measured
        .map(|asked| one(subject, promise, (what, asked), repeats))
        .collect::<Result<_, _>>()?;
    match seen.is_empty() {
        true => Err("no workload of a measured group has a place".to_owned()),
        false => Ok(seen),
    }
}

fn one<'r>(
    subject: &Subject<'r>,
    promise: &PromiseRecord,
    (what, asked): (What, &'r PlacementRecord),
    repeats: &[Repeat<'r>],
) -> Result<Seen<'r>, String> {
    possible(subject, what, asked)?;
    let mut readings = Vec::new();
    for repeat in repeats {
        let record = repeat.record;
        let reading = record.placements.iter().find(|one| one.workload == asked.workload);
        let reading = reading.ok_or_else(|| {
            format!("`{}` was not looked at in repeat {}", asked.workload, repeat.number)
        })?;
        readings.push((reading, record.nodes.as_ref()));
    }
    let why = |why: String| format!("`{}`: {why}", asked.workload);
    let counted = match what {
        What::Threads => {
            let each = readings.iter().zip(repeats);
            let each = each.map(|((reading, _), repeat)| threads(reading, repeat));
            each.collect::<Result<Vec<_>, _>>().map_err(why)?
        }
        What::Pages | What::FilePages => pages::counted(what, asked, &readings).map_err(why)?,
    };
    let share = |confidence: f64| {
        let share = proportion::over_repeats(&counted, confidence);
        share.ok_or_else(|| why("none of its threads was seen".to_owned()))
    };
    let all = to_accuse(promise.confidence, subject.trial.placements.len());
    let (share, surely) = (share(promise.confidence)?, share(all)?);
    Ok(Seen { asked, readings, counted, share, surely })
}

/// A place that is the whole machine proves nothing.
fn possible(subject: &Subject<'_>, what: What, asked: &PlacementRecord) -> Result<(), String> {
    let name = &asked.workload;
    match (what, &asked.cpus) {
        (What::Threads, None) => Err(format!("the place of `{name}` names no CPUs")),
        (What::Threads, Some(cpus)) if subject.host.cpus.allowed.is_subset(cpus) => Err(format!(
            "`{name}` may run on all CPUs there are: its threads could be nowhere else"
        )),
        (What::Pages | What::FilePages, _) if subject.host.memory_nodes.len() < 2 => {
            Err("the host has one node with memory: pages could be nowhere else".to_owned())
        }
        _ => Ok(()),
    }
}

/// Looks of one repeat depend on each other, since a thread stays where it is for a while: repeats
/// tell how much. What lasts less than a second is not told from chance. A repeat in which nobody
/// saw a thread may have been the one in which all were elsewhere.
fn threads(reading: &PlacementReading, repeat: &Repeat<'_>) -> Result<Counted, String> {
    if reading.samples == 0 {
        return Err(format!("none of its threads was seen in repeat {}", repeat.number));
    }
    Ok(Counted {
        held: reading.on_cpus as f64,
        of: reading.samples as f64,
        looks: reading.looks.min(reading.samples) as f64,
        grain: 1.0 / repeat.window_s().max(1.0),
    })
}

fn worst_error(seen: &[Seen<'_>]) -> Option<Interval> {
    let worst = seen.iter().min_by(|a, b| a.share.value.total_cmp(&b.share.value))?.share;
    Some(Interval { value: 1.0 - worst.value, low: 1.0 - worst.high, high: 1.0 - worst.low })
}

fn row(seen: &Seen<'_>, within: f64) -> GroupJudgement {
    GroupJudgement {
        name: seen.asked.workload.clone(),
        knob: None,
        expected_share: 1.0,
        share_by_weight: None,
        share: seen.share.value,
        low: seen.share.low,
        high: seen.share.high,
        rate: seen.share.value,
        verdict: seen.verdict(within),
        was: Some(exactly(seen.share.value)),
        worst_span: None,
    }
}

fn sentence(seen: &[Seen<'_>], what: What, promise: &PromiseRecord, worst: Verdict) -> String {
    let deciding = seen
        .iter()
        .filter(|one| one.verdict(promise.within) == worst)
        .min_by(|a, b| a.share.low.total_cmp(&b.share.low));
    let Some(one) = deciding else { return String::new() };
    let Interval { value, low, high } = one.share;
    let (name, sure) = (&one.asked.workload, percent(promise.confidence));
    let (subject, place) = match what {
        What::Threads => {
            let looks: u64 = one.readings.iter().map(|(reading, _)| reading.looks).sum();
            let cpus = one.asked.cpus.as_ref().map(ToString::to_string).unwrap_or_default();
            let looks = count(usize::try_from(looks).unwrap_or(usize::MAX), "look");
            (format!("samples of threads of `{name}` ({looks})"), format!("on the CPUs {cpus}"))
        }
        What::Pages | What::FilePages => {
            let kind = if what == What::Pages { "anonymous pages" } else { "pages of files" };
            let policy = one.asked.memory.as_ref().map(ToString::to_string);
            let policy = policy.unwrap_or_else(|| "first touch on its CPUs".to_owned());
            (format!("{kind} of `{name}`"), format!("where `{policy}` puts them"))
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
