//! A promise about sampled counters: its data, and the means of its starts with their bounds.

use assay_record::run_folder::EveryRecord;
use assay_record::terms::Side;
use assay_stats::rule::{self, Estimate, Fraction, Starts};
use assay_stats::spans::{self, Spans};
use assay_stats::start::{Quantity, Start};
use assay_stats::{Grid, jain};

use crate::decide::Deviation;
use crate::expected::Expected;
use crate::judged::Judged;
use crate::verdict::wording::percent;
use crate::verdict::{GroupJudgement, Interval, Observation, SpansJudgement, Verdict, WorstSpan};

/// The promise and its data.
pub(crate) struct PromiseData<'a> {
    /// Names of the groups, in the order of the study, with the promised share or rate of each.
    pub(crate) groups: Vec<(String, Expected)>,
    pub(crate) quantity: Quantity,
    /// The least amount that is served at once.
    pub(crate) unit: f64,
    pub(crate) side: Side,
    /// The margin.
    pub(crate) within: f64,
    /// The part of the errors that the bounds may spend.
    pub(crate) part: f64,
    /// Spans in which the promise should hold.
    pub(crate) every: Option<EveryRecord>,
    pub(crate) repeats: Vec<Observed<'a>>,
}

/// One measure in one repeat.
#[derive(Clone, Copy)]
pub(crate) struct Observed<'a> {
    /// Number of the repeat, from 1.
    pub(crate) number: usize,
    /// All observed data.
    pub(crate) observed: &'a Grid,
    /// The judged window.
    pub(crate) judged: &'a Grid,
}

/// The numbers of one promise.
pub struct Estimates {
    /// Each group with its own verdict: its share or rate is the mean of the starts.
    pub groups: Vec<GroupJudgement>,
    /// Their distances from the promise.
    pub(crate) deviations: Vec<Deviation>,
    /// The largest error of any group in each repeat.
    pub errors: Vec<f64>,
    /// Seconds of window over all repeats.
    pub window_s: f64,
    /// Number of repeats.
    pub repeats: usize,
    /// Observation over all seconds; `None` without groups.
    pub was: Option<Observation>,
    /// Result of a promise about spans.
    pub spans: Option<SpansJudgement>,
}

/// The verdict of a fraction of starts.
pub(crate) fn of_fraction(starts: Starts, part: f64) -> Verdict {
    match starts.decide(part) {
        Fraction::Kept => Verdict::Kept,
        Fraction::Broken => Verdict::Broken,
        Fraction::Open => Verdict::Undecided,
    }
}

/// One group by its mean, and its distance from the promise.
pub(crate) fn group(
    name: &str,
    expected: Expected,
    seen: &Estimate,
    (side, within): (Side, f64),
) -> (GroupJudgement, Deviation) {
    let deviation = Deviation::new(seen, expected.share, side);
    let judged = GroupJudgement {
        name: name.to_owned(),
        knob: expected.knob,
        expected_share: expected.share,
        share_by_weight: expected.by_weight,
        share: seen.value,
        low: seen.low,
        high: seen.high,
        verdict: deviation.verdict(within),
        ..GroupJudgement::default()
    };
    (judged, deviation)
}

impl Estimates {
    /// The names of the groups.
    pub fn names(&self) -> impl ExactSizeIterator<Item = &String> {
        self.groups.iter().map(|group| &group.name)
    }

    /// Their promised shares or rates.
    pub fn promised(&self) -> impl ExactSizeIterator<Item = f64> {
        self.groups.iter().map(|group| group.expected_share)
    }

    /// Their shares by the weights alone.
    pub fn by_weight(&self) -> impl Iterator<Item = f64> {
        self.groups.iter().map(|group| group.share_by_weight.unwrap_or(group.expected_share))
    }

    /// Their measured shares or rates.
    pub fn shares(&self) -> impl ExactSizeIterator<Item = f64> {
        self.groups.iter().map(|group| group.share)
    }

    /// The verdict by the means.
    pub fn on_average(&self, within: f64) -> Verdict {
        Verdict::worst(self.deviations.iter().map(|one| one.verdict(within)))
    }

    /// The weighted index of fairness.
    pub fn jain(&self) -> Option<f64> {
        let (shares, promised): (Vec<f64>, Vec<f64>) = self.shares().zip(self.promised()).unzip();
        jain::weighted(&shares, &promised)
    }
}

impl PromiseData<'_> {
    fn shares(&self) -> Vec<f64> {
        self.groups.iter().map(|(_, expected)| expected.share).collect()
    }

    /// Computes the numbers; the error names what is missing.
    pub(crate) fn numbers(&self, judged: Judged<'_, '_>) -> Result<Estimates, String> {
        let shares = self.shares();
        let start = |repeat: &Observed<'_>| {
            let found = Start::new(repeat.judged, self.quantity, &shares, self.unit);
            found.ok_or_else(|| {
                format!("the measured groups have a total of zero in repeat {}", repeat.number)
            })
        };
        let starts: Vec<Start> = self.repeats.iter().map(start).collect::<Result<_, _>>()?;
        let slice = starts.iter().map(|start| start.slice).fold(0.0, f64::max);
        let window_s = self.repeats.iter().map(|repeat| repeat.judged.seconds()).sum();
        let spans = self.spans();
        let facts = self.facts();
        let (of_spans, in_spans) = self.judge_spans(&spans).unzip();
        let in_spans = in_spans.unwrap_or_default();
        let of_group = |(index, (name, expected)): (usize, &(String, Expected))| {
            let values: Vec<f64> = starts.iter().map(|start| start.values[index]).collect();
            let slices = starts.iter().map(|start| start.slices[index]).sum();
            let seen = rule::amount(&values, shares.len(), self.part, (slices, slice));
            let (judged, deviation) = group(name, *expected, &seen, (self.side, self.within));
            let total = self.repeats.iter().map(|one| one.judged.totals()[index]).sum::<f64>();
            let own = [judged.verdict].into_iter().chain(in_spans.get(index).copied());
            let judged = GroupJudgement {
                rate: total / window_s,
                verdict: Verdict::worst(own),
                was: Some(Interval::exact(facts[index])),
                worst_span: self.worst_span(index, &spans),
                ..judged
            };
            (judged, deviation)
        };
        let (groups, deviations) = self.groups.iter().enumerate().map(of_group).unzip();
        Ok(Estimates {
            groups,
            deviations,
            errors: self.repeats.iter().map(|repeat| self.error(repeat.judged)).collect(),
            window_s,
            repeats: self.repeats.len(),
            was: self.was(&facts, judged),
            spans: of_spans,
        })
    }

    /// All observed seconds of each repeat, divided into spans of the promised or default length.
    fn spans(&self) -> Vec<Vec<Spans>> {
        let (shares, every) = (self.shares(), self.every.map_or(spans::USUAL_S, |one| one.span_s));
        let of = |repeat: &Observed<'_>| Spans::new(repeat.observed, self.quantity, &shares, every);
        self.repeats.iter().map(of).collect()
    }

    /// The largest error of any group's total over one grid.
    fn error(&self, grid: &Grid) -> f64 {
        let whole = self.quantity.whole(grid);
        let each = grid.totals().iter().zip(&self.groups);
        each.map(|(total, (_, expected))| self.side.error(total / whole, expected.share))
            .fold(0.0, f64::max)
    }

    /// Each group's share or rate over all observed seconds.
    fn facts(&self) -> Vec<f64> {
        let seconds: f64 = self.repeats.iter().map(|repeat| repeat.observed.seconds()).sum();
        let of_group = |group: usize| {
            let part = |one: &Observed<'_>| {
                let whole = self.quantity.whole(one.observed);
                one.observed.totals()[group] / whole * one.observed.seconds()
            };
            self.repeats.iter().map(part).sum::<f64>() / seconds
        };
        (0..self.groups.len()).map(of_group).collect()
    }

    /// The group furthest off over all observed seconds, and the starts in which all groups were inside.
    fn was(&self, facts: &[f64], judged: Judged<'_, '_>) -> Option<Observation> {
        let (group, error) = self.furthest(facts)?;
        let inside = |repeat: &Observed<'_>| self.error(repeat.observed) <= self.within;
        let starts = judged.starts(Starts::count(self.repeats.iter().map(inside)));
        let seconds = self.repeats.iter().map(|repeat| repeat.observed.seconds()).sum();
        Some(Observation::new(group, error, self.within, seconds, starts))
    }

    fn furthest(&self, facts: &[f64]) -> Option<(&str, f64)> {
        let each = facts.iter().zip(&self.groups);
        let each =
            each.map(|(fact, (name, one))| (name.as_str(), self.side.error(*fact, one.share)));
        each.max_by(|a, b| a.1.total_cmp(&b.1))
    }

    /// How these repeats were outside the promise as a fact: the group furthest off over all seconds,
    /// otherwise in spans. `None` if they were inside.
    pub(crate) fn broken(&self) -> Option<String> {
        let facts = self.facts();
        let outside = self.furthest(&facts).filter(|(_, error)| *error > self.within);
        let off = outside.map(|(name, error)| format!("`{name}` was off by {}", percent(error)));
        let in_spans = || {
            let (judged, _) = self.judge_spans(&self.spans())?;
            (judged.held.value < judged.promised).then(|| {
                let held = percent(judged.held.value);
                format!("`{}` held in {held} of the spans of {:.1} s", judged.group, judged.every_s)
            })
        };
        off.or_else(in_spans)
    }

    /// The span in which a group was furthest off.
    fn worst_span(&self, group: usize, spans: &[Vec<Spans>]) -> Option<WorstSpan> {
        let error = |times: f64| self.side.error(times, 1.0);
        let expected = self.groups[group].1.share;
        let each = self.repeats.iter().zip(spans);
        each.filter_map(|(repeat, spans)| spans[group].worst(repeat.number, error, expected))
            .max_by(|a, b| error(a.share / expected).total_cmp(&error(b.share / expected)))
    }

    /// The spans of all groups, and the verdict of each by its own. A start is inside if the promised part of its
    /// spans is, of every group. Spans of another length than promised are undecided.
    fn judge_spans(&self, spans: &[Vec<Spans>]) -> Option<(SpansJudgement, Vec<Verdict>)> {
        let every = self.every?;
        let every_s = spans::length_s(spans, every.span_s)?;
        let error = |times: f64| self.side.error(times, 1.0);
        let parts = |group: usize| -> Vec<f64> {
            let each = spans.iter().filter_map(|repeat| repeat[group].held(error, self.within));
            each.collect()
        };
        let parts: Vec<Vec<f64>> = (0..self.groups.len()).map(parts).collect();
        let verdict = |parts: &Vec<f64>| match spans::fits(every_s, every.span_s) {
            true => {
                of_fraction(Starts::count(parts.iter().map(|part| *part >= every.part)), self.part)
            }
            false => Verdict::Undecided,
        };
        let verdicts: Vec<Verdict> = parts.iter().map(verdict).collect();
        let mean = |parts: &[f64]| parts.iter().sum::<f64>() / parts.len() as f64;
        let fewest = (0..parts.len())
            .filter(|group| !parts[*group].is_empty())
            .min_by(|a, b| mean(&parts[*a]).total_cmp(&mean(&parts[*b])))?;
        let of_starts = &parts[fewest];
        let judged = SpansJudgement {
            every_s,
            promised: every.part,
            group: self.groups[fewest].0.clone(),
            held: Interval {
                value: mean(of_starts),
                low: of_starts.iter().copied().fold(1.0, f64::min),
                high: of_starts.iter().copied().fold(0.0, f64::max),
            },
            verdict: Verdict::worst(verdicts.iter().copied()),
        };
        Some((judged, verdicts))
    }
}
