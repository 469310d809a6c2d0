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

use crate::checks::{Scope, window};
use crate::estimates::Estimates;
use crate::found::{Found, without_numbers};
use crate::judged::Judged;
use crate::metric::Metric;
use crate::repeat::Repeat;
use crate::subject::Subject;
use crate::verdict::wording::{some_of, together};
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

    /// What the numbers of these repeats say alone, and of means the numbers.
    fn judge(
        self,
        subject: &Subject<'_>,
        promise: &PromiseRecord,
        judged: Judged<'_, '_>,
    ) -> (Found, Option<Estimates>) {
        let found = match self {
            Self::Means(measure) => match numbers(subject, promise, measure, judged) {
                Ok(numbers) => {
                    return (of_means(subject, promise, measure, &numbers), Some(numbers));
                }
                Err(why) => Found::nothing(promise, format!("there is no number to judge: {why}")),
            },
            Self::Metric(metric) => metric_promise::judge(subject, promise, metric, judged),
            Self::Placed => placement::judge(subject, promise, judged),
            Self::Progress => progress::judge(subject, promise, judged),
        };
        (found, None)
    }

    /// How one repeat was outside the promise, if it was; or why it has no number.
    fn how_broken(
        self,
        subject: &Subject<'_>,
        promise: &PromiseRecord,
        repeat: &Repeat<'_>,
    ) -> Result<Option<String>, String> {
        let alone = std::slice::from_ref(repeat);
        match self {
            _ if repeat.window_s() < window::LEAST_S => Err("its window is too short".to_owned()),
            Self::Means(measure) => Ok(promise_data(subject, promise, measure, alone)?.broken()),
            Self::Metric(metric) => metric_promise::broken(subject, promise, metric, alone),
            Self::Placed => placement::broken(subject, promise, alone),
            Self::Progress => progress::broken(subject, promise, alone),
        }
    }
}

/// The repeats that a check left out. They must not decide: whatever makes a check fail may be what makes a group fail.
struct LeftOut<'r> {
    with_number: Vec<Repeat<'r>>,
    outside: usize,
    without_number: Vec<String>,
}

impl<'r> LeftOut<'r> {
    fn new(kind: Kind<'_>, subject: &Subject<'r>, promise: &PromiseRecord) -> Self {
        let mut left_out = Self { with_number: Vec::new(), outside: 0, without_number: Vec::new() };
        for repeat in subject.invalid() {
            match kind.how_broken(subject, promise, repeat) {
                Ok(broken) => {
                    left_out.outside += usize::from(broken.is_some());
                    left_out.with_number.push(repeat.clone());
                }
                Err(why) => {
                    left_out.outside += 1;
                    let number = repeat.number;
                    left_out
                        .without_number
                        .push(format!("repeat {number}, which is left out, has no number: {why}"));
                }
            }
        }
        left_out
    }

    /// Why the verdict is not certain: with these repeats, as far as they have numbers, it would be another.
    fn differs(
        &self,
        kind: Kind<'_>,
        subject: &Subject<'r>,
        promise: &PromiseRecord,
        verdict: Verdict,
    ) -> Option<String> {
        if self.with_number.is_empty() || verdict == Verdict::Undecided {
            return None;
        }
        let all: Vec<Repeat<'r>> =
            subject.repeats.iter().chain(&self.with_number).cloned().collect();
        let (found, _) = kind.judge(subject, promise, Judged { repeats: &all, outside: 0 });
        let with = if found.void.is_some() { Verdict::Void } else { found.judged.verdict };
        let numbers: Vec<String> =
            self.with_number.iter().map(|repeat| repeat.number.to_string()).collect();
        let repeats = if numbers.len() == 1 { "repeat" } else { "repeats" };
        (with != verdict).then(|| {
            format!(
                "with {repeats} {}, left out, it would be {}",
                some_of(&numbers, ", "),
                with.word()
            )
        })
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
    let left_out = LeftOut::new(kind, subject, promise);
    let judged = Judged { repeats: &subject.repeats, outside: left_out.outside };
    let (mut found, means) = match kind {
        Kind::Placed | Kind::Progress if by_checks.is_some() => {
            (Found::new(without_numbers(promise)), None)
        }
        _ => kind.judge(subject, promise, judged),
    };
    let mut objection = None;
    if by_checks.is_none() && found.void.is_none() {
        let broken = |repeat: &Repeat<'_>| kind.how_broken(subject, promise, repeat).ok()?;
        let differs = left_out.differs(kind, subject, promise, found.judged.verdict);
        if differs.is_some() {
            found.open();
        }
        let parts = subject.objection(broken).into_iter().chain(left_out.without_number);
        objection = together(parts.chain(differs));
    }
    let mut judged = found.conclude(by_checks, objection);
    if let Kind::Means(measure) = kind {
        (judged.causes, judged.proofs) =
            subject.causes.of_means(subject, (promise, measure), means.as_ref(), judged.verdict);
    } else {
        judged.causes.extend(failed.iter().filter_map(|validity| validity.cause()));
    }
    judged
}

fn numbers(
    subject: &Subject<'_>,
    promise: &PromiseRecord,
    measure: Measure,
    judged: Judged<'_, '_>,
) -> Result<Estimates, String> {
    let data = promise_data(subject, promise, measure, judged.repeats)?;
    data.numbers(judged)
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
