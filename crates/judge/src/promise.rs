//! One promise in one trial.

use assay_facts::HostFacts;
use assay_record::{PromiseRecord, RelationRecord, TrialRecord};

use crate::causes;
use crate::cpus::Shared;
use crate::expected::{self, Expected};
use crate::gates::Gate;
use crate::grid::Grid;
use crate::judgement::{GroupJudgement, PromiseJudgement, Verdict};
use crate::margin::{self, Offence, Side};
use crate::measure::Measure;
use crate::metric::Metric;
use crate::metric_promise;
use crate::placed;
use crate::queue::{disk_of, is_measured};
use crate::reason;
use crate::repeat::Repeat;
use crate::statistics::bootstrap::{self, Quantity, Stream};
use crate::statistics::estimate::{Estimate, combine};
use crate::statistics::jain;
use crate::throttle;

/// Blocks without which nothing is decided, however clear it looks: correlation that lasts as
/// long as the window makes intervals too narrow, and cannot be told from a real difference.
pub(crate) const BLOCKS_NEEDED: f64 = bootstrap::ENOUGH_BLOCKS as f64;

/// What all promises of a trial are judged from.
pub(crate) struct Subject<'r> {
    /// Seed of the run.
    pub(crate) seed: u64,
    /// Which trial of the run this is.
    pub(crate) number: u64,
    /// The machine.
    pub(crate) host: &'r HostFacts,
    /// Requests a second that iocost was told the disk does.
    pub(crate) told_iops: Option<f64>,
    /// The trial.
    pub(crate) trial: &'r TrialRecord,
    /// Names of the measured groups.
    pub(crate) groups: &'r [&'r str],
    /// The repeats that are judged.
    pub(crate) repeats: &'r [Repeat<'r>],
    /// What was checked.
    pub(crate) gates: &'r [Gate],
    /// The part of a promise's error that its intervals may spend: 1 unless the data chose when to
    /// stop.
    pub(crate) part: f64,
    /// Bootstrap draws of each interval: [`bootstrap::DRAWS`] wherever a verdict hangs on it.
    pub(crate) draws: usize,
}

/// Everything that was computed for a promise whose data are there.
pub(crate) struct Numbers {
    /// Names, in the order of the study.
    pub(crate) names: Vec<String>,
    /// What was promised of each group, as a share or a rate.
    pub(crate) expected: Vec<Expected>,
    /// What was seen.
    pub(crate) seen: Vec<Estimate>,
    /// How far it is from the promise.
    pub(crate) offences: Vec<Offence>,
    /// The largest error of any group in each repeat by itself.
    pub(crate) errors: Vec<f64>,
    /// The measure per second, each group.
    pub(crate) rates: Vec<f64>,
    /// Nearly independent observations.
    pub(crate) blocks: f64,
    /// Seconds of window, all repeats together.
    pub(crate) window_s: f64,
}

/// Judges one promise. Numbers are shown wherever there are any, also under a void verdict.
pub(crate) fn judge_promise(subject: &Subject<'_>, promise: &PromiseRecord) -> PromiseJudgement {
    if promise.is == RelationRecord::Placed {
        let empty = document(promise, None, Verdict::Void, String::new());
        return placed::judge(subject, promise, empty);
    }
    let Some(measure) = Measure::parse(&promise.measure) else {
        if let Some(metric) = Metric::parse(&promise.measure) {
            return metric_promise::judge(subject, promise, metric);
        }
        let why = format!("no source of samples gives the measure `{}`", promise.measure);
        return document(promise, None, Verdict::Void, why);
    };
    let failed: Vec<&Gate> = subject
        .gates
        .iter()
        .filter(|gate| !gate.check.ok && gate.scope.concerns(measure, &promise.is))
        .collect();
    let numbers = numbers(subject, promise, measure);
    let (verdict, reason) = match &numbers {
        _ if !failed.is_empty() => (Verdict::Void, reason::of_gates(&failed)),
        Err(why) => (Verdict::Void, format!("there is no number to judge: {why}")),
        Ok(numbers) => decide(subject, promise, measure, numbers),
    };
    let mut judged = document(promise, numbers.as_ref().ok(), verdict, reason);
    judged.causes = causes::find(subject, promise, measure, numbers.as_ref().ok(), verdict);
    judged
}

/// With fewer blocks a look must be surer: short windows take bursts for the steady state, and in
/// simulations 1.5 % of bursty runs ended in a false verdict.
const MANY_BLOCKS: f64 = 16.0;

/// The part of its part that such a look may spend.
const SURER: f64 = 0.05;

/// What the numbers of a promise give to a look, whatever was checked. Void where there is no
/// number yet, with the reason.
pub(crate) fn looked(subject: &Subject<'_>, promise: &PromiseRecord) -> PromiseJudgement {
    let without = |why: String| document(promise, None, Verdict::Void, why);
    let Some(measure) = Measure::parse(&promise.measure) else {
        return without("known when the repeat is over".to_owned());
    };
    let numbers = match numbers(subject, promise, measure) {
        Ok(numbers) => numbers,
        Err(why) => return without(why),
    };
    let (verdict, reason) = if numbers.blocks < MANY_BLOCKS && subject.part > 0.0 {
        let surer = Subject { part: SURER * subject.part, ..*subject };
        match self::numbers(&surer, promise, measure) {
            Ok(numbers) => decide(&surer, promise, measure, &numbers),
            Err(why) => (Verdict::Void, why),
        }
    } else {
        decide(subject, promise, measure, &numbers)
    };
    document(promise, Some(&numbers), verdict, reason)
}

/// The verdict on a promise of shares that numbers alone give.
pub(crate) fn of_numbers(promise: &PromiseRecord, numbers: &Numbers) -> (Verdict, String) {
    let found = Verdict::worst(numbers.offences.iter().map(|one| one.verdict(promise.within)));
    if found != Verdict::Undecided && numbers.blocks < BLOCKS_NEEDED {
        return (Verdict::Undecided, reason::too_few_blocks(numbers, BLOCKS_NEEDED));
    }
    let measure = Measure::parse(&promise.measure).unwrap_or(Measure::IoBytes);
    (found, reason::of_numbers(promise, measure, numbers, found))
}

/// The verdict that the numbers give, once every gate has passed.
fn decide(
    subject: &Subject<'_>,
    promise: &PromiseRecord,
    measure: Measure,
    numbers: &Numbers,
) -> (Verdict, String) {
    let found = Verdict::worst(numbers.offences.iter().map(|one| one.verdict(promise.within)));
    // That a quota never bound is counted by the kernel and needs no interval.
    if let (RelationRecord::AtMostKnob(knob), Verdict::Kept | Verdict::Undecided) =
        (&promise.is, found)
        && let Some(why) = untouched(subject, measure, numbers, knob)
    {
        return (Verdict::Void, why);
    }
    if found != Verdict::Undecided && numbers.blocks < BLOCKS_NEEDED {
        return (Verdict::Undecided, reason::too_few_blocks(numbers, BLOCKS_NEEDED));
    }
    if let (RelationRecord::AtMost(bound), Verdict::Kept) = (&promise.is, found)
        && let Some(why) = reason::never_bound(numbers, measure, *bound, promise.within)
    {
        return (Verdict::Void, why);
    }
    if let (RelationRecord::AtMostKnob(knob), Verdict::Kept) = (&promise.is, found)
        && let Some(why) = never_bound(subject, promise, measure, numbers, knob)
    {
        return (Verdict::Void, why);
    }
    (found, reason::of_numbers(promise, measure, numbers, found))
}

fn numbers(
    subject: &Subject<'_>,
    promise: &PromiseRecord,
    measure: Measure,
) -> Result<Numbers, String> {
    let first = subject.repeats.first().ok_or("no repeat can be judged")?;
    let (quantity, side, expected) = match &promise.is {
        RelationRecord::Proportional(knob) => {
            one_disk(subject, measure)?;
            let shared = match measure.is_cpu() {
                true => Shared::of(subject.host, subject.trial, first.record)?,
                false => None,
            };
            let expected =
                expected::proportional(first.record, subject.groups, knob, shared.as_ref())?;
            (Quantity::Share, Side::Both, expected)
        }
        RelationRecord::Placed => return Err("threads and pages have no grid".to_owned()),
        RelationRecord::Equal => {
            one_disk(subject, measure)?;
            (Quantity::Share, Side::Both, expected::equal(subject.groups.len()))
        }
        RelationRecord::AtMost(bound) => {
            (Quantity::Rate, Side::Above, bounds(subject.groups.len(), *bound)?)
        }
        RelationRecord::AtLeast(bound) => {
            (Quantity::Rate, Side::Below, bounds(subject.groups.len(), *bound)?)
        }
        RelationRecord::AtMostKnob(knob) if expected::is_dirty_setting(knob) => {
            let expected = expected::threshold(subject.repeats, subject.groups.len(), knob)?;
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
        return Err(format!("nothing was promised to `{}`", subject.groups[zero]));
    }
    let mut resampled = Vec::with_capacity(subject.repeats.len());
    let mut errors = Vec::with_capacity(subject.repeats.len());
    let mut totals = vec![0.0; subject.groups.len()];
    let mut window_s = 0.0;
    for repeat in subject.repeats {
        let grid = repeat.grid(measure)?;
        let stream =
            Stream { seed: subject.seed, number: (subject.number << 32) | repeat.number as u64 };
        let draws = bootstrap::resample(grid, quantity, subject.draws, stream)
            .ok_or_else(|| format!("no measured group got anything in repeat {}", repeat.number))?;
        resampled.push(draws);
        errors.push(largest_error(grid, quantity, side, &expected));
        totals.iter_mut().zip(grid.totals()).for_each(|(sum, total)| *sum += total);
        window_s += grid.seconds();
    }
    let confidence = 1.0 - (1.0 - promise.confidence) * subject.part;
    let combined = combine(&resampled, confidence).ok_or("no repeat can be judged")?;
    let offences = combined.groups.iter().zip(&expected);
    Ok(Numbers {
        names: subject.groups.iter().map(|name| (*name).to_owned()).collect(),
        offences: offences
            .map(|(seen, expected)| Offence::new(seen, expected.share, side))
            .collect(),
        expected,
        seen: combined.groups,
        errors,
        rates: totals.iter().map(|total| total / window_s).collect(),
        blocks: combined.blocks,
        window_s,
    })
}

/// The largest error of any group in one repeat, of its totals alone.
fn largest_error(grid: &Grid, quantity: Quantity, side: Side, expected: &[Expected]) -> f64 {
    let whole = quantity.whole(grid);
    let each = grid.totals().iter().zip(expected);
    each.map(|(total, expected)| side.error(total / whole, expected.share)).fold(0.0, f64::max)
}

/// Shares of different disks cannot be compared: each is divided by itself.
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
            "the measured groups use different disks ({}), each of which is divided by itself",
            disks.join(", ")
        ));
    }
    Ok(())
}

fn bounds(groups: usize, bound: f64) -> Result<Vec<Expected>, String> {
    if !bound.is_finite() || bound <= 0.0 {
        return Err(format!(
            "a bound of {bound} per second cannot be judged as a fraction of itself"
        ));
    }
    Ok(vec![Expected::plain(None, bound); groups])
}

/// A limit that holds because nobody came near it was not tested; one such group is enough.
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

/// A quota that ran out in no period bound nobody, whatever was used.
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

/// Periods in which the quota of a group ran out, all repeats together; `None` where one of them
/// has no counter.
fn throttled(subject: &Subject<'_>, name: &str) -> Option<f64> {
    let each = subject.repeats.iter().map(|repeat| {
        let table = repeat.table("throttle").ok()?;
        Some(throttle::of(&table, repeat, name)?.throttled)
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

/// A promise as it stands in the judgement, without its causes.
pub(crate) fn document(
    promise: &PromiseRecord,
    numbers: Option<&Numbers>,
    verdict: Verdict,
    reason: String,
) -> PromiseJudgement {
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
        worst_error: numbers.and_then(|numbers| margin::worst(&numbers.offences)),
        errors: numbers.map(|numbers| numbers.errors.clone()).unwrap_or_default(),
        jain: numbers.filter(|_| shares).and_then(jain_index),
        total_rate: numbers.map(|numbers| numbers.rates.iter().sum()),
        needs_repeats: None,
        needs_s: numbers
            .filter(|_| verdict == Verdict::Undecided)
            .and_then(|numbers| needed_time(numbers, promise.within)),
        groups: numbers.map(|numbers| groups(numbers, promise.within, verdict)).unwrap_or_default(),
        causes: Vec::new(),
    }
}

/// The relation's name and what it refers to, as a study file writes them.
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

/// At least the time that gives enough blocks.
fn needed_time(numbers: &Numbers, within: f64) -> Option<f64> {
    let for_blocks = numbers.window_s * (BLOCKS_NEEDED / numbers.blocks).max(1.0);
    margin::needs(&numbers.offences, within, numbers.window_s).map(|needs| needs.max(for_blocks))
}

fn groups(numbers: &Numbers, within: f64, verdict: Verdict) -> Vec<GroupJudgement> {
    let each = numbers.names.iter().zip(&numbers.expected).zip(&numbers.seen);
    each.zip(&numbers.offences)
        .zip(&numbers.rates)
        .map(|((((name, expected), seen), offence), rate)| GroupJudgement {
            name: name.clone(),
            knob: expected.knob,
            expected_share: expected.share,
            share_by_weight: expected.by_weight,
            share: seen.value,
            low: seen.low,
            high: seen.high,
            rate: *rate,
            verdict: match verdict {
                Verdict::Void => Verdict::Void,
                // Too few blocks for the whole are too few for each.
                Verdict::Undecided if numbers.blocks < BLOCKS_NEEDED => Verdict::Undecided,
                _ => offence.verdict(within),
            },
        })
        .collect()
}
