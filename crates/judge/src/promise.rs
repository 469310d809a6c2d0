//! One promise in one trial.
//!
//! Of whatever kind it is, its numbers come first, with the verdict and the sentence that follow from them alone;
//! then the checks may make it void, and what was not counted may keep it from being kept.

mod data;
mod unbound;

use assay_record::run_folder::{PromiseRecord, RelationRecord};
use assay_record::terms::Measure;
use assay_stats::over_repeats::MOST_REPEATS;
use assay_stats::rule::FEWEST;

use crate::checks::Scope;
use crate::estimates::Estimates;
use crate::found::{Found, without_numbers};
use crate::metric::Metric;
use crate::repeat::Repeat;
use crate::subject::Subject;
use crate::verdict::{PromiseJudgement, Verdict};
use crate::{decide, metric_promise, placement, progress, reason};
use data::promise_data;
use unbound::idle;

pub(crate) use data::unit;

/// What a promise is about.
#[derive(Clone, Copy)]
enum Kind<'p> {
    Means(Measure),
    Metric(Metric<'p>),
    Placed,
    Progress,
}

impl<'p> Kind<'p> {
    fn of(promise: &'p PromiseRecord) -> Option<Self> {
        match promise.is {
            RelationRecord::Placed => Some(Self::Placed),
            RelationRecord::Within(_) => Some(Self::Progress),
            _ => match Measure::parse(&promise.measure) {
                Some(measure) => Some(Self::Means(measure)),
                None => Metric::parse(&promise.measure).map(Self::Metric),
            },
        }
    }

    fn is_concerned(self, scope: Scope, promise: &PromiseRecord) -> bool {
        match self {
            Self::Means(measure) => scope.concerns(measure, &promise.is),
            Self::Progress => scope.concerns(Measure::CpuTime, &promise.is),
            Self::Metric(_) | Self::Placed => scope == Scope::All,
        }
    }

    /// How one repeat was outside the promise, if it was.
    fn how_broken(
        self,
        subject: &Subject<'_>,
        promise: &PromiseRecord,
        repeat: &Repeat<'_>,
    ) -> Option<String> {
        let alone = std::slice::from_ref(repeat);
        match self {
            Self::Means(measure) => promise_data(subject, promise, measure, alone).ok()?.broken(),
            Self::Metric(metric) => metric_promise::broken(subject, promise, metric, alone),
            Self::Placed => placement::broken(subject, promise, alone),
            Self::Progress => progress::broken(subject, promise, alone),
        }
    }
}

/// Judges one promise. Available numbers are reported under a void verdict, too.
pub(crate) fn judge_promise(subject: &Subject<'_>, promise: &PromiseRecord) -> PromiseJudgement {
    let Some(kind) = Kind::of(promise) else {
        let why = format!("no sample source provides the measure `{}`", promise.measure);
        return Found::nothing(promise, why).conclude(None, None);
    };
    let failed = subject.failed(|scope| kind.is_concerned(scope, promise));
    let by_checks = (!failed.is_empty()).then(|| reason::failed_checks(&failed));
    let means = match kind {
        Kind::Means(measure) => Some((measure, numbers(subject, promise, measure))),
        _ => None,
    };
    let found = match (kind, &means) {
        (_, Some((measure, Ok(numbers)))) => of_means(subject, promise, *measure, numbers),
        (_, Some((_, Err(why)))) => {
            Found::nothing(promise, format!("there is no number to judge: {why}"))
        }
        (Kind::Metric(metric), None) => metric_promise::judge(subject, promise, metric),
        _ if by_checks.is_some() => Found::new(without_numbers(promise)),
        (Kind::Progress, None) => progress::judge(subject, promise),
        (Kind::Placed | Kind::Means(_), None) => placement::judge(subject, promise),
    };
    let is_void = by_checks.is_some() || found.void.is_some();
    let broken = |repeat: &Repeat<'_>| kind.how_broken(subject, promise, repeat);
    let objection = if is_void { None } else { subject.objection(broken) };
    let mut judged = found.conclude(by_checks, objection);
    match &means {
        Some((measure, numbers)) => {
            let numbers = numbers.as_ref().ok();
            (judged.causes, judged.proofs) =
                subject.causes.of_means(subject, (promise, *measure), numbers, judged.verdict);
        }
        None => judged.causes.extend(failed.iter().filter_map(|validity| validity.cause())),
    }
    judged
}

/// Preliminary result of a promise for an interim look, regardless of the checks. Void where there
/// is no number yet, with the reason.
pub(crate) fn preliminary(subject: &Subject<'_>, promise: &PromiseRecord) -> PromiseJudgement {
    let later = || "available after the repeat".to_owned();
    let found = Measure::parse(&promise.measure).ok_or_else(later).and_then(|measure| {
        Ok(of_means(subject, promise, measure, &numbers(subject, promise, measure)?))
    });
    found.unwrap_or_else(|why| Found::nothing(promise, why)).conclude(None, None)
}

fn numbers(
    subject: &Subject<'_>,
    promise: &PromiseRecord,
    measure: Measure,
) -> Result<Estimates, String> {
    promise_data(subject, promise, measure, &subject.repeats)?.numbers()
}

/// What the means say, unless a limit was not tested.
fn of_means(
    subject: &Subject<'_>,
    promise: &PromiseRecord,
    measure: Measure,
    numbers: &Estimates,
) -> Found {
    // A mean that stays clear of a limit may hide spans that did not.
    let exceeded = numbers.spans.as_ref().is_some_and(|spans| spans.held.value < spans.promised);
    let idle = (!exceeded).then(|| idle(subject, promise, measure, numbers)).flatten();
    Found { void: idle, ..by_means(promise, numbers) }
}

/// The verdict by the numbers alone. What was broken in all observed seconds together is never kept.
pub(crate) fn by_means(promise: &PromiseRecord, numbers: &Estimates) -> Found {
    let on_average = numbers.on_average(promise.within);
    let in_spans = numbers.spans.as_ref().map(|spans| spans.verdict);
    let was_broken = numbers.was.as_ref().is_some_and(|was| was.verdict == Verdict::Broken);
    let verdict = match Verdict::worst([on_average].into_iter().chain(in_spans)) {
        Verdict::Kept if was_broken => Verdict::Undecided,
        found => found,
    };
    let needs = needed_repeats(numbers, promise.within);
    let of_all = |count: usize| count as f64 * numbers.window_s / numbers.repeats.max(1) as f64;
    let judged = PromiseJudgement {
        verdict,
        reason: reason::of_means(promise, numbers, on_average),
        worst_error: decide::worst(&numbers.deviations),
        errors: numbers.errors.clone(),
        jain: if promise.is.kind().divides() { numbers.jain() } else { None },
        total_rate: Some(numbers.groups.iter().map(|group| group.rate).sum()),
        was: numbers.was.clone(),
        spans: numbers.spans.clone(),
        groups: numbers.groups.clone(),
        ..without_numbers(promise)
    };
    Found {
        names_objection: on_average == Verdict::Kept,
        needs: (needs, needs.map(of_all)),
        ..Found::new(judged)
    }
}

/// The repeats that would probably decide.
fn needed_repeats(numbers: &Estimates, within: f64) -> Option<usize> {
    if numbers.repeats < FEWEST {
        return Some(FEWEST);
    }
    let needed = (decide::needs(&numbers.deviations, within)? * numbers.repeats as f64).ceil();
    (needed > numbers.repeats as f64 && needed <= MOST_REPEATS as f64).then_some(needed as usize)
}
