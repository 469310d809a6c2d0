//! All statistics of a promise whose data is available.

use assay_stats::rule::{self, Estimate, Fraction, Starts};
use assay_stats::spans::{self, Spans};
use assay_stats::start::Start;
use assay_verdict::wording::percent;
use assay_verdict::{Interval, Observation, SpansJudgement, Verdict, WorstSpan};

use crate::decide::Deviation;
use crate::expected::Expected;
use crate::promise_data::{Observed, PromiseData};

/// The numbers of one promise.
pub(crate) struct Estimates {
    /// Names, in the order of the study.
    pub(crate) names: Vec<String>,
    /// Promised share or rate of each group.
    pub(crate) expected: Vec<Expected>,
    /// The mean of the starts, with its bounds.
    pub(crate) seen: Vec<Estimate>,
    /// Distances from the promise.
    pub(crate) deviations: Vec<Deviation>,
    /// The largest error of any group in each repeat.
    pub(crate) errors: Vec<f64>,
    /// The measure per second, by group.
    pub(crate) rates: Vec<f64>,
    /// Seconds of window over all repeats.
    pub(crate) window_s: f64,
    /// Number of repeats.
    pub(crate) repeats: usize,
    /// Observation over all seconds; `None` without groups.
    pub(crate) was: Option<Observation>,
    /// The same by group.
    pub(crate) facts: Vec<f64>,
    /// The span in which each group was furthest off.
    pub(crate) worst_spans: Vec<Option<WorstSpan>>,
    /// Result of a promise about spans.
    pub(crate) spans: Option<SpansJudgement>,
    /// Verdicts on each group's spans; empty without a promise about spans.
    pub(crate) span_verdicts: Vec<Verdict>,
}

/// The verdict of a fraction of starts.
pub(crate) fn of_fraction(starts: Starts, part: f64) -> Verdict {
    match starts.decide(part) {
        Fraction::Kept => Verdict::Kept,
        Fraction::Broken => Verdict::Broken,
        Fraction::Open => Verdict::Undecided,
    }
}

impl Estimates {
    /// The verdict on one group by its means.
    pub(crate) fn on_average(&self, group: usize, within: f64) -> Verdict {
        self.deviations[group].verdict(within)
    }
}

impl PromiseData<'_> {
    /// Computes the numbers; the error names what is missing.
    pub(crate) fn numbers(self) -> Result<Estimates, String> {
        let shares: Vec<f64> = self.expected.iter().map(|expected| expected.share).collect();
        let start = |repeat: &Observed<'_>| {
            let found = Start::new(repeat.judged, self.quantity, &shares, self.unit);
            found.ok_or_else(|| {
                format!("the measured groups have a total of zero in repeat {}", repeat.number)
            })
        };
        let starts: Vec<Start> = self.repeats.iter().map(start).collect::<Result<_, _>>()?;
        let slice = starts.iter().map(|start| start.slice).fold(0.0, f64::max);
        let estimate = |group: usize| {
            let values: Vec<f64> = starts.iter().map(|start| start.values[group]).collect();
            let slices = starts.iter().map(|start| start.slices[group]).sum();
            rule::amount(&values, shares.len(), self.part, (slices, slice))
        };
        let seen: Vec<Estimate> = (0..shares.len()).map(estimate).collect();
        let deviations = seen.iter().zip(&shares);
        let deviations = deviations.map(|(seen, share)| Deviation::new(seen, *share, self.side));
        let spans = self.spans();
        let facts = self.facts();
        let (judged, span_verdicts) = self.judge_spans(&spans).unzip();
        Ok(Estimates {
            deviations: deviations.collect(),
            seen,
            errors: self.repeats.iter().map(|repeat| self.error(repeat.judged)).collect(),
            rates: self.rates(),
            window_s: self.repeats.iter().map(|repeat| repeat.judged.seconds()).sum(),
            repeats: self.repeats.len(),
            was: self.was(&facts),
            worst_spans: self.worst_spans(&spans),
            spans: judged,
            span_verdicts: span_verdicts.unwrap_or_default(),
            facts,
            names: self.names,
            expected: self.expected,
        })
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
        (0..self.names.len()).map(of_group).collect()
    }

    /// The group furthest off over all observed seconds, and the starts in which all groups were inside.
    fn was(&self, facts: &[f64]) -> Option<Observation> {
        let (group, error) = self.furthest(facts)?;
        let inside = |repeat: &Observed<'_>| self.error(repeat.observed) <= self.within;
        let starts = Starts::count(self.repeats.iter().map(inside));
        let seconds = self.repeats.iter().map(|repeat| repeat.observed.seconds()).sum();
        Some(Observation::new(&self.names[group], error, self.within, seconds, starts))
    }

    fn furthest(&self, facts: &[f64]) -> Option<(usize, f64)> {
        let each =
            facts.iter().zip(&self.expected).map(|(fact, one)| self.side.error(*fact, one.share));
        each.enumerate().max_by(|a, b| a.1.total_cmp(&b.1))
    }

    /// How these repeats were outside the promise as a fact: the group furthest off over all seconds,
    /// otherwise in spans. `None` if they were inside.
    pub(crate) fn broken(&self) -> Option<String> {
        let outside = self.furthest(&self.facts()).filter(|(_, error)| *error > self.within);
        let off = outside
            .map(|(group, error)| format!("`{}` was off by {}", self.names[group], percent(error)));
        let in_spans = || {
            let (judged, _) = self.judge_spans(&self.spans())?;
            (judged.held.value < judged.promised).then(|| {
                let held = percent(judged.held.value);
                format!("`{}` held in {held} of the spans of {:.1} s", judged.group, judged.every_s)
            })
        };
        off.or_else(in_spans)
    }

    fn rates(&self) -> Vec<f64> {
        let seconds: f64 = self.repeats.iter().map(|repeat| repeat.judged.seconds()).sum();
        let total = |group: usize| -> f64 {
            self.repeats.iter().map(|repeat| repeat.judged.totals()[group]).sum()
        };
        (0..self.names.len()).map(|group| total(group) / seconds).collect()
    }

    fn worst_spans(&self, spans: &[Vec<Spans>]) -> Vec<Option<WorstSpan>> {
        let error = |times: f64| self.side.error(times, 1.0);
        let of_group = |group: usize| {
            let expected = self.expected[group].share;
            let each = self.repeats.iter().zip(spans);
            each.filter_map(|(repeat, spans)| spans[group].worst(repeat.number, error, expected))
                .max_by(|a, b| error(a.share / expected).total_cmp(&error(b.share / expected)))
        };
        (0..self.names.len()).map(of_group).collect()
    }

    /// A start is inside if the promised part of its spans is, of every group. Spans of another length than promised
    /// are undecided.
    fn judge_spans(&self, spans: &[Vec<Spans>]) -> Option<(SpansJudgement, Vec<Verdict>)> {
        let every = self.every?;
        let every_s = spans::length_s(spans, every.span_s)?;
        let error = |times: f64| self.side.error(times, 1.0);
        let parts = |group: usize| -> Vec<f64> {
            let each = spans.iter().filter_map(|repeat| repeat[group].held(error, self.within));
            each.collect()
        };
        let parts: Vec<Vec<f64>> = (0..self.names.len()).map(parts).collect();
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
            group: self.names[fewest].clone(),
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
