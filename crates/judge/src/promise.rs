//! One promise in one trial.

use assay_facts::HostFacts;
use assay_run_folder::{PromiseRecord, RelationRecord, TrialRecord};

use crate::causes;
use crate::checks::{Scope, ValidityCheck, window};
use crate::cpus::Shared;
use crate::decide::{self, Side};
pub(crate) use crate::estimates::Numbers;
use crate::estimates::{Observed, PromiseData};
use crate::expected::{self, Expected};
use crate::metric::Metric;
use crate::metric_promise;
use crate::placement;
use crate::queue::{disk_of, is_measured};
use crate::reason;
use crate::repeat::Repeat;
use crate::throttle;
use assay_stats::batches::Quantity;
use assay_stats::jain;
use assay_stats::over_repeats::MOST_REPEATS;
use assay_stats::pooled::Estimate;
use assay_verdict::Measure;
use assay_verdict::wording::together;
use assay_verdict::{GroupJudgement, Interval, PromiseJudgement, Verdict};

/// Inputs of all promises of a trial.
pub(crate) struct Subject<'r> {
    /// The machine.
    pub(crate) host: &'r HostFacts,
    /// Requests a second that iocost was configured with.
    pub(crate) configured_iops: Option<f64>,
    /// The trial.
    pub(crate) trial: &'r TrialRecord,
    /// Names of the measured groups.
    pub(crate) groups: &'r [&'r str],
    /// The judged repeats.
    pub(crate) repeats: &'r [Repeat<'r>],
    /// Repeats that do not count, as far as they have samples.
    pub(crate) left_out: &'r [Repeat<'r>],
    /// The validity checks.
    pub(crate) checks: &'r [ValidityCheck],
    /// The part of a promise's error probability available to its intervals: 1 unless the data
    /// decided when to stop.
    pub(crate) part: f64,
    /// Unobserved repeats, and why.
    pub(crate) unseen: Option<&'r str>,
}

impl Subject<'_> {
    /// The failed checks with a concerned scope.
    pub(crate) fn failed(&self, concerns: impl Fn(Scope) -> bool) -> Vec<&ValidityCheck> {
        self.checks
            .iter()
            .filter(|validity| !validity.check.ok && concerns(validity.scope))
            .collect()
    }

    /// Passes if every check with a concerned scope holds.
    pub(crate) fn passes(&self, concerns: impl Fn(Scope) -> bool) -> Result<(), String> {
        let failed = self.failed(concerns);
        if failed.is_empty() { Ok(()) } else { Err(reason::failed_checks(&failed)) }
    }

    /// Repeats that do not count but have a sufficiently long window.
    pub(crate) fn left_out_with_samples(&self) -> impl Iterator<Item = &Repeat<'_>> {
        self.left_out.iter().filter(|one| one.window_s() >= window::LEAST_S)
    }

    /// Why a promise is not kept despite the counted repeats: unobserved repeats may have broken
    /// it, and a repeat that was left out is still a fact. `broken` describes the breach of a
    /// repeat, if any.
    pub(crate) fn objection(
        &self,
        broken: impl Fn(&Repeat<'_>) -> Option<String>,
    ) -> Option<String> {
        let unseen = self
            .unseen
            .map(|why| format!("the promise may have been broken in the missing part: {why}"));
        let left_out = self.left_out_with_samples().filter_map(|repeat| {
            let number = repeat.number;
            Some(format!("repeat {number}, which is left out, was broken: {}", broken(repeat)?))
        });
        together(unseen.into_iter().chain(left_out))
    }
}

/// Judges one promise. Available numbers are reported under a void verdict, too.
pub(crate) fn judge_promise(subject: &Subject<'_>, promise: &PromiseRecord) -> PromiseJudgement {
    if promise.is == RelationRecord::Placed {
        let empty = document(promise, None, Statement::void(String::new()));
        return placement::judge(subject, promise, empty);
    }
    let Some(measure) = Measure::parse(&promise.measure) else {
        if let Some(metric) = Metric::parse(&promise.measure) {
            return metric_promise::judge(subject, promise, metric);
        }
        let why = format!("no sample source provides the measure `{}`", promise.measure);
        return document(promise, None, Statement::void(why));
    };
    let failed = subject.failed(|scope| scope.concerns(measure, &promise.is));
    let numbers = numbers(subject, promise, measure);
    let statement = match &numbers {
        _ if !failed.is_empty() => Statement::void(reason::failed_checks(&failed)),
        Err(why) => Statement::void(format!("there is no number to judge: {why}")),
        Ok(numbers) => decide(subject, promise, measure, numbers),
    };
    let verdict = statement.verdict;
    let mut judged = document(promise, numbers.as_ref().ok(), statement);
    judged.causes = causes::find(subject, promise, measure, numbers.as_ref().ok(), verdict);
    judged
}

/// Verdict on a promise, with its reason.
pub(crate) struct Statement {
    /// The verdict.
    pub(crate) verdict: Verdict,
    /// Verdict expected of runs like these; `None` where nothing was judged.
    pub(crate) will_be: Option<Verdict>,
    /// Why.
    pub(crate) reason: String,
}

impl Statement {
    /// A void verdict.
    pub(crate) fn void(reason: String) -> Self {
        Self { verdict: Verdict::Void, will_be: None, reason }
    }
}

/// Preliminary result of a promise for an interim look, regardless of the checks. Void where there
/// is no number yet, with the reason.
pub(crate) fn preliminary(subject: &Subject<'_>, promise: &PromiseRecord) -> PromiseJudgement {
    let Some(measure) = Measure::parse(&promise.measure) else {
        return document(promise, None, Statement::void("available after the repeat".to_owned()));
    };
    match numbers(subject, promise, measure) {
        Err(why) => document(promise, None, Statement::void(why)),
        Ok(numbers) => {
            let statement = decide(subject, promise, measure, &numbers);
            document(promise, Some(&numbers), statement)
        }
    }
}

/// Whether a promise is precise enough: the interval of every group is at most as wide as the
/// margin, regardless of the verdict. Spans need the whole window.
pub(crate) fn is_precise(subject: &Subject<'_>, promise: &PromiseRecord) -> bool {
    let numbers = Measure::parse(&promise.measure)
        .and_then(|measure| numbers(subject, promise, measure).ok());
    promise.every.is_none()
        && numbers.is_some_and(|numbers| {
            let narrow = |seen: &Estimate| {
                seen.value > 0.0 && seen.high - seen.low <= promise.within * seen.value
            };
            numbers.seen.iter().all(narrow) && (numbers.repeats > 1 || numbers.has_short_memory())
        })
}

/// The verdict by the numbers alone.
///
/// Several repeats show what to expect of runs like these, and that is the verdict; but a promise
/// observed to be broken is never kept. One repeat is a fact about its own window: broken where its
/// mean is outside the margin by more than the counters' grain and more than its own noise,
/// otherwise undecided.
pub(crate) fn of_numbers(
    promise: &PromiseRecord,
    numbers: &Numbers,
    objection: Option<&str>,
) -> Statement {
    let on_average =
        Verdict::worst(numbers.deviations.iter().map(|one| one.verdict(promise.within)));
    let in_spans = numbers.spans.as_ref().map(|spans| spans.verdict);
    let found = Verdict::worst([on_average].into_iter().chain(in_spans));
    let was = numbers.was.as_ref();
    // Where the autocorrelation time is long compared with the window, its noise is unknown, and a
    // window outside the margin is only a fact about itself.
    let in_fact =
        was.is_none_or(|was| was.verdict == Verdict::Broken) && numbers.has_short_memory();
    let forbidden = was
        .is_some_and(|was| was.verdict == Verdict::Broken || was.in_warm_up.is_some())
        || objection.is_some();
    let will_be = match found {
        _ if numbers.repeats < 2 => Verdict::Undecided,
        // How long runs stay in a state is unknown if they were hardly in it.
        Verdict::Kept if numbers.unsettled.is_some() => Verdict::Undecided,
        found => found,
    };
    let verdict = match (numbers.repeats, found) {
        (0 | 1, Verdict::Broken) if in_fact => Verdict::Broken,
        (0 | 1, _) => Verdict::Undecided,
        (_, Verdict::Kept) if forbidden => Verdict::Undecided,
        _ => will_be,
    };
    let measure = Measure::parse(&promise.measure).unwrap_or(Measure::IoBytes);
    let reason = reason::of_numbers(promise, measure, numbers, on_average, verdict, objection);
    Statement { verdict, will_be: Some(will_be), reason }
}

/// The verdict by the numbers, once every check has passed.
fn decide(
    subject: &Subject<'_>,
    promise: &PromiseRecord,
    measure: Measure,
    numbers: &Numbers,
) -> Statement {
    let found = Verdict::worst(numbers.deviations.iter().map(|one| one.verdict(promise.within)));
    // The kernel counts how often a quota bound, which needs no interval.
    let idle = match (&promise.is, found) {
        (RelationRecord::AtMostKnob(knob), Verdict::Kept | Verdict::Undecided) => {
            untouched(subject, measure, numbers, knob)
        }
        _ => None,
    };
    let idle = idle.or_else(|| match (&promise.is, found) {
        (RelationRecord::AtMost(bound), Verdict::Kept) => {
            reason::never_bound(numbers, measure, *bound, promise.within)
        }
        (RelationRecord::AtMostKnob(knob), Verdict::Kept) => {
            never_bound(subject, promise, measure, numbers, knob)
        }
        _ => None,
    });
    // A mean that stays clear of a limit may hide spans that did not.
    let exceeded = numbers.spans.as_ref().is_some_and(|spans| spans.held.value < spans.promised);
    match idle.filter(|_| !exceeded) {
        Some(why) => Statement::void(why),
        None => {
            let objection = subject.objection(|repeat| {
                let alone = std::slice::from_ref(repeat);
                promise_data(subject, promise, measure, alone).ok()?.broken()
            });
            of_numbers(promise, numbers, objection.as_deref())
        }
    }
}

fn numbers(
    subject: &Subject<'_>,
    promise: &PromiseRecord,
    measure: Measure,
) -> Result<Numbers, String> {
    promise_data(subject, promise, measure, subject.repeats)?.numbers()
}

/// Estimation input of a promise for some of the repeats.
fn promise_data<'s>(
    subject: &Subject<'_>,
    promise: &PromiseRecord,
    measure: Measure,
    repeats: &'s [Repeat<'_>],
) -> Result<PromiseData<'s>, String> {
    let first = repeats.first().ok_or("no repeat can be judged")?;
    let (quantity, side, expected) = match &promise.is {
        RelationRecord::Proportional(knob) => {
            let shared = shared(subject, measure, first)?;
            let expected =
                expected::proportional(first.record, subject.groups, knob, shared.as_ref())?;
            (Quantity::Share, Side::Both, expected)
        }
        RelationRecord::Placed => return Err("threads and pages have no time series".to_owned()),
        RelationRecord::Equal => {
            let shared = shared(subject, measure, first)?;
            (Quantity::Share, Side::Both, expected::equal(subject.groups, shared.as_ref()))
        }
        RelationRecord::AtMost(bound) => {
            (Quantity::Rate, Side::Above, bounds(subject.groups.len(), *bound)?)
        }
        RelationRecord::AtLeast(bound) => {
            (Quantity::Rate, Side::Below, bounds(subject.groups.len(), *bound)?)
        }
        RelationRecord::AtMostKnob(knob) if expected::is_dirty_setting(knob) => {
            let expected = expected::threshold(repeats, subject.groups.len(), knob)?;
            (Quantity::Rate, Side::Above, expected)
        }
        RelationRecord::AtMostKnob(knob) => {
            (Quantity::Rate, Side::Above, expected::bounds(first.record, subject.groups, knob)?)
        }
        RelationRecord::AtLeastKnob(knob) => {
            (Quantity::Rate, Side::Below, expected::bounds(first.record, subject.groups, knob)?)
        }
    };
    if let Some(zero) = expected.iter().position(|expected| expected.share <= 0.0) {
        return Err(format!("the promised share of `{}` is zero", subject.groups[zero]));
    }
    let observed = repeats.iter().map(|repeat| {
        let (observed, judged) = (repeat.observed(measure)?, repeat.grid(measure)?);
        Ok(Observed { number: repeat.number, observed, judged })
    });
    Ok(PromiseData {
        names: subject.groups.iter().map(|name| (*name).to_owned()).collect(),
        expected,
        quantity,
        side,
        within: promise.within,
        confidence: 1.0 - (1.0 - promise.confidence) * subject.part,
        every: promise.every,
        repeats: observed.collect::<Result<_, String>>()?,
    })
}

/// The shared resource: one disk, or CPUs that all groups may use.
fn shared(
    subject: &Subject<'_>,
    measure: Measure,
    repeat: &Repeat<'_>,
) -> Result<Option<Shared>, String> {
    one_disk(subject, measure)?;
    match measure.is_cpu() {
        true => Shared::in_repeat(subject.host, subject.trial, repeat.record),
        false => Ok(None),
    }
}

/// Shares of different disks cannot be compared: each is divided separately.
fn one_disk(subject: &Subject<'_>, measure: Measure) -> Result<(), String> {
    if !measure.is_io() {
        return Ok(());
    }
    let groups = subject.trial.groups.iter().filter(|group| is_measured(group));
    let mut disks: Vec<&str> = groups.filter_map(|group| disk_of(subject.trial, group)).collect();
    disks.sort_unstable();
    disks.dedup();
    if disks.len() > 1 {
        return Err(format!(
            "the measured groups use different disks ({}), which are divided separately",
            disks.join(", ")
        ));
    }
    Ok(())
}

fn bounds(groups: usize, bound: f64) -> Result<Vec<Expected>, String> {
    if !bound.is_finite() || bound <= 0.0 {
        return Err(format!("a bound of {bound} per second has no relative error"));
    }
    Ok(vec![Expected::plain(None, bound); groups])
}

/// A limit that no group came near was not tested; one such group is enough.
fn never_bound(
    subject: &Subject<'_>,
    promise: &PromiseRecord,
    measure: Measure,
    numbers: &Numbers,
    knob: &str,
) -> Option<String> {
    let slack = promise.within.max(0.1);
    let limit = |index: usize| numbers.expected[index].share;
    let far = |index: &usize| numbers.seen[*index].high < limit(*index) * (1.0 - slack);
    (0..numbers.names.len())
        .find(far)
        .map(|index| not_bound(subject, measure, numbers, knob, index))
}

/// A quota that ran out in no period did not bind, whatever the use.
fn untouched(
    subject: &Subject<'_>,
    measure: Measure,
    numbers: &Numbers,
    knob: &str,
) -> Option<String> {
    let free = |index: &usize| {
        measure.is_cpu() && throttled(subject, &numbers.names[*index]).is_some_and(|n| n <= 0.0)
    };
    (0..numbers.names.len())
        .find(free)
        .map(|index| not_bound(subject, measure, numbers, knob, index))
}

/// Periods in which the quota of a group ran out, over all repeats; `None` where one of them has no
/// counter.
fn throttled(subject: &Subject<'_>, name: &str) -> Option<f64> {
    let each = subject.repeats.iter().map(|repeat| {
        let table = repeat.table("throttle").ok()?;
        Some(throttle::counts(&table, repeat, name)?.throttled)
    });
    each.sum()
}

fn not_bound(
    subject: &Subject<'_>,
    measure: Measure,
    numbers: &Numbers,
    knob: &str,
    index: usize,
) -> String {
    let (name, limit) = (&numbers.names[index], numbers.expected[index].share);
    let periods = throttled(subject, name);
    reason::never_bound_group(measure, name, knob, limit, numbers.rates[index], periods)
}

/// The document of a promise, without its causes.
pub(crate) fn document(
    promise: &PromiseRecord,
    numbers: Option<&Numbers>,
    Statement { verdict, will_be, reason }: Statement,
) -> PromiseJudgement {
    let open = numbers.filter(|_| verdict == Verdict::Undecided);
    let needs = open.and_then(|numbers| needed_repeats(numbers, promise.within));
    let (is, to) = relation(&promise.is);
    let shares = matches!(promise.is, RelationRecord::Proportional(_) | RelationRecord::Equal);
    PromiseJudgement {
        measure: promise.measure.clone(),
        is: is.to_owned(),
        to,
        within: promise.within,
        confidence: promise.confidence,
        verdict,
        reason,
        worst_error: numbers.and_then(|numbers| worst_error(numbers, verdict)),
        errors: numbers.map(|numbers| numbers.errors.clone()).unwrap_or_default(),
        jain: numbers.filter(|_| shares).and_then(jain_index),
        total_rate: numbers.map(|numbers| numbers.rates.iter().sum()),
        needs_repeats: needs,
        needs_s: needs.zip(open).map(|(needs, numbers)| {
            needs as f64 * numbers.window_s / numbers.repeats.max(1) as f64
        }),
        was: numbers.and_then(|numbers| numbers.was.clone()),
        will_be,
        spans: numbers.and_then(|numbers| numbers.spans.clone()),
        groups: numbers.map(|numbers| groups(numbers, promise.within, verdict)).unwrap_or_default(),
        causes: Vec::new(),
    }
}

/// The relation's name and what it refers to, as in a study file.
pub(crate) fn relation(relation: &RelationRecord) -> (&'static str, Option<String>) {
    match relation {
        RelationRecord::Proportional(knob) => ("proportional", Some(knob.clone())),
        RelationRecord::Equal => ("equal", None),
        RelationRecord::Placed => ("placed", None),
        RelationRecord::AtMost(bound) => ("at_most", Some(bound.to_string())),
        RelationRecord::AtLeast(bound) => ("at_least", Some(bound.to_string())),
        RelationRecord::AtMostKnob(knob) => ("at_most", Some(knob.clone())),
        RelationRecord::AtLeastKnob(knob) => ("at_least", Some(knob.clone())),
    }
}

fn jain_index(numbers: &Numbers) -> Option<f64> {
    let shares: Vec<f64> = numbers.seen.iter().map(|seen| seen.value).collect();
    let expected: Vec<f64> = numbers.expected.iter().map(|expected| expected.share).collect();
    jain::weighted(&shares, &expected)
}

/// Minimum number of repeats suggested.
const FEWEST: usize = 3;

/// The repeats that would probably decide.
fn needed_repeats(numbers: &Numbers, within: f64) -> Option<usize> {
    let found = Verdict::worst(numbers.deviations.iter().map(|one| one.verdict(within)));
    if numbers.repeats > 1 && found != Verdict::Undecided {
        return None;
    }
    let needed = (decide::needs(&numbers.deviations, within)? * numbers.repeats as f64).ceil();
    (needed <= MOST_REPEATS as f64).then(|| (needed as usize).max(FEWEST))
}

fn worst_error(numbers: &Numbers, verdict: Verdict) -> Option<Interval> {
    let worst = decide::worst(&numbers.deviations)?;
    match numbers.is_unbounded(verdict) {
        true => Some(Interval { low: 0.0, high: f64::INFINITY, ..worst }),
        false => Some(worst),
    }
}

fn groups(numbers: &Numbers, within: f64, verdict: Verdict) -> Vec<GroupJudgement> {
    let unbounded = numbers.is_unbounded(verdict);
    let own = |index: usize| {
        let in_spans = numbers.span_verdicts.get(index).copied().flatten();
        Verdict::worst([numbers.deviations[index].verdict(within)].into_iter().chain(in_spans))
    };
    let each = numbers.names.iter().zip(&numbers.expected).zip(&numbers.seen);
    each.zip(&numbers.rates)
        .enumerate()
        .map(|(index, (((name, expected), seen), rate))| GroupJudgement {
            name: name.clone(),
            knob: expected.knob,
            expected_share: expected.share,
            share_by_weight: expected.by_weight,
            share: seen.value,
            low: if unbounded { 0.0 } else { seen.low },
            high: if unbounded { f64::INFINITY } else { seen.high },
            rate: *rate,
            verdict: match verdict {
                Verdict::Void => Verdict::Void,
                // With one repeat no group's verdict extends to other runs; it is broken only where
                // its window was outside as a fact.
                _ if numbers.repeats < 2
                    && (verdict != Verdict::Broken || own(index) == Verdict::Kept) =>
                {
                    Verdict::Undecided
                }
                _ => own(index),
            },
            was: numbers.facts.get(index).copied(),
            worst_span: numbers.worst_spans.get(index).copied().flatten(),
        })
        .collect()
}
