//! All statistics of a promise whose data is available.

use assay_stats::batches::{self, Within};
use assay_stats::over_repeats::confidence_to_break;
use assay_stats::pooled::{Estimate, combine};
use assay_stats::spans::Spans;
use assay_stats::{proportion, spans};
use assay_verdict::{Interval, Observation, SpansJudgement, Verdict, WorstSpan};

use crate::decide::Deviation;
use crate::expected::Expected;
use crate::promise_data::PromiseData;
use crate::{observed, states};

/// The numbers of one promise.
pub(crate) struct Estimates {
    /// Names, in the order of the study.
    pub(crate) names: Vec<String>,
    /// Promised share or rate of each group.
    pub(crate) expected: Vec<Expected>,
    /// Values expected of runs like these.
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
    /// Observation over all seconds; `None` where only totals are known.
    pub(crate) was: Option<Observation>,
    /// The same by group.
    pub(crate) facts: Vec<Interval>,
    /// The verdict on each of these; empty where only totals are known.
    pub(crate) fact_verdicts: Vec<Verdict>,
    /// The span in which each group was furthest off.
    pub(crate) worst_spans: Vec<Option<WorstSpan>>,
    /// Result of a promise about spans.
    pub(crate) spans: Option<SpansJudgement>,
    /// Verdicts on each group's spans; empty without a promise about spans.
    pub(crate) span_verdicts: Vec<Option<Verdict>>,
    /// Why the states of the run leave the expected values open.
    pub(crate) unsettled: Option<String>,
    /// What looks like a state and was too short for one.
    pub(crate) brief_state: Option<String>,
    /// Autocorrelation time in seconds: the longest over groups and repeats.
    pub(crate) correlation_time_s: f64,
}

/// Minimum length of a window in autocorrelation times; with less its own noise is unknown.
const MIN_CORRELATION_TIMES: f64 = 20.0;

impl Estimates {
    /// Whether the windows are long compared with the autocorrelation time.
    pub(crate) fn is_long_enough(&self) -> bool {
        self.correlation_time_s * MIN_CORRELATION_TIMES * self.repeats as f64 <= self.window_s
    }

    /// Whether this group was outside the margin in fact and by its interval. One repeat is broken
    /// by a group, not by what one group shows and what happened to another.
    pub(crate) fn is_broken_in_fact(&self, group: usize, within: f64) -> bool {
        self.deviations[group].verdict(within) == Verdict::Broken
            && self.fact_verdicts.get(group).is_none_or(|fact| *fact == Verdict::Broken)
    }

    /// Whether the noise of the only window is unknown, so that no interval is given.
    pub(crate) fn is_unbounded(&self, verdict: Verdict) -> bool {
        self.repeats == 1 && verdict != Verdict::Broken && !self.is_long_enough()
    }
}

impl PromiseData<'_> {
    /// Computes the numbers; the error names what is missing.
    pub(crate) fn numbers(self) -> Result<Estimates, String> {
        let shares: Vec<f64> = self.expected.iter().map(|expected| expected.share).collect();
        let mut within: Vec<Within> = Vec::with_capacity(self.repeats.len());
        let mut correlation_time_s = 0.0_f64;
        for repeat in &self.repeats {
            let found = batches::of_repeat(repeat.judged, self.quantity, &shares, self.unit);
            within.push(found.ok_or_else(|| {
                format!("the measured groups have a total of zero in repeat {}", repeat.number)
            })?);
            correlation_time_s =
                correlation_time_s.max(batches::correlation_time_s(repeat.judged, self.quantity));
        }
        let seen = combine(&within, self.quantity, &shares, self.confidence);
        let deviations = seen.iter().zip(&shares);
        let deviations = deviations.map(|(seen, share)| Deviation::new(seen, *share, self.side));
        let deviations: Vec<Deviation> = deviations.collect();
        let spans = self.spans();
        let facts = observed::facts(&self);
        let states = states::find(&self, &spans);
        let was = observed::was(&self, &within, &facts, &states);
        let fact_verdicts = observed::deviations(&self, &facts);
        let fact_verdicts = fact_verdicts.iter().map(|fact| fact.verdict(self.within)).collect();
        let (judged, span_verdicts) = self.judge_spans(&spans).unzip();
        Ok(Estimates {
            unsettled: states::unsettled(&self, &states),
            brief_state: states::brief(&self, &spans),
            fact_verdicts,
            errors: self.repeats.iter().map(|repeat| self.error(repeat.judged)).collect(),
            rates: self.rates(),
            window_s: self.repeats.iter().map(|repeat| repeat.judged.seconds()).sum(),
            repeats: self.repeats.len(),
            was,
            worst_spans: self.worst_spans(&spans),
            spans: judged,
            span_verdicts: span_verdicts.unwrap_or_default(),
            facts,
            names: self.names,
            expected: self.expected,
            seen,
            deviations,
            correlation_time_s,
        })
    }

    /// How far these repeats were outside the promise as a fact, if they were.
    pub(crate) fn broken(&self) -> Option<String> {
        observed::broken(self)
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

    /// Kept where every group holds in the promised part of the spans, by its own interval; broken
    /// where one does not, by an interval that holds for all groups at once. Spans of another
    /// length than promised are undecided.
    fn judge_spans(&self, spans: &[Vec<Spans>]) -> Option<(SpansJudgement, Vec<Option<Verdict>>)> {
        let every = self.every?;
        let every_s = spans::length_s(spans, every.span_s)?;
        let error = |times: f64| self.side.error(times, 1.0);
        let groups = self.names.len();
        let all = confidence_to_break(self.confidence, groups);
        let held = |group: usize, sure: f64| {
            let counted: Vec<_> =
                spans.iter().map(|repeat| repeat[group].held(error, self.within)).collect();
            proportion::over_repeats(&counted, sure)
        };
        let of_group = |group: usize| {
            let (one, surely) = (held(group, self.confidence)?, held(group, all)?);
            let verdict = match () {
                () if !spans::fits(every_s, every.span_s) => Verdict::Undecided,
                () if surely.high < every.part => Verdict::Broken,
                () if one.low >= every.part => Verdict::Kept,
                () => Verdict::Undecided,
            };
            Some((group, one, verdict))
        };
        let found: Vec<(usize, Interval, Verdict)> = (0..groups).filter_map(of_group).collect();
        let fewest = found.iter().min_by(|a, b| a.1.value.total_cmp(&b.1.value))?;
        let verdict = |group: usize| found.iter().find(|one| one.0 == group).map(|one| one.2);
        let judged = SpansJudgement {
            every_s,
            promised: every.part,
            group: self.names[fewest.0].clone(),
            held: fewest.1,
            verdict: Verdict::worst(found.iter().map(|one| one.2)),
        };
        Some((judged, (0..groups).map(verdict).collect()))
    }
}
