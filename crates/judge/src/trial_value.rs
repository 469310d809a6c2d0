//! Per-repeat value of a trial, used by cross-trial promises and references.

use assay_record::run_folder::Manifest;
use assay_record::terms::Measure;

use crate::checks::Scope;
use crate::metric::{Metric, Values};
use crate::promise;
use crate::repeat::Repeat;
use crate::subject::{PLAIN, Subject};

/// A value needed of every trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ValueRequest<'m> {
    measure: &'m str,
    group: Option<&'m str>,
}

/// Numbers by repeat, counted from 1; or why there are none.
pub(crate) type ValuesByRepeat = Result<Vec<(usize, f64)>, String>;

/// The values of a trial.
#[derive(Debug, Clone)]
pub(crate) struct TrialValues {
    /// Of the repeats that count.
    pub(crate) numbers: ValuesByRepeat,
    /// Of the others, where available.
    pub(crate) left_out: Vec<(usize, f64)>,
    /// Whether a metric was zero in a counted repeat, which has no ratio.
    pub(crate) has_zeros: bool,
    /// Of sampled measures, the least rate that could be told from zero in any of these repeats.
    pub(crate) least: Option<f64>,
    /// Unobserved repeats, and why.
    pub(crate) unseen: Option<String>,
}

impl TrialValues {
    /// No values, for this reason.
    pub(crate) fn missing(why: String) -> Self {
        Self {
            numbers: Err(why),
            left_out: Vec::new(),
            has_zeros: false,
            least: None,
            unseen: None,
        }
    }
}

/// The values needed by comparisons and references of a run, in their order: first those of the
/// comparisons, then those of the references.
pub(crate) fn requests_of_run(manifest: &Manifest) -> Vec<ValueRequest<'_>> {
    let comparisons = manifest.comparisons.iter().map(|comparison| ValueRequest {
        measure: &comparison.measure,
        group: comparison.group.as_deref(),
    });
    let references = manifest.references.iter().map(|reference| ValueRequest {
        // A reference without a measure needs no value; an empty name has none.
        measure: reference.measure.as_deref().unwrap_or_default(),
        group: reference.group.as_deref(),
    });
    comparisons.chain(references).collect()
}

/// The sampled measures among them.
pub(crate) fn measures_of_run(manifest: &Manifest) -> Vec<Measure> {
    requests_of_run(manifest).iter().filter_map(ValueRequest::sampled).collect()
}

impl ValueRequest<'_> {
    /// The sampled measure that it needs, unless it is a workload metric.
    pub(crate) fn sampled(&self) -> Option<Measure> {
        Measure::parse(self.measure)
    }

    /// Its numbers in one trial.
    pub(crate) fn find(&self, subject: &Subject<'_>) -> TrialValues {
        let of = |repeat| self.of_left_out(subject, std::slice::from_ref(repeat)).ok();
        let numbers =
            self.passed(subject).and_then(|()| self.of_repeats(subject, &subject.repeats));
        let left_out: Vec<(usize, f64)> =
            subject.left_out.iter().filter_map(of).flatten().collect();
        let without_value =
            numbers.as_ref().ok().and_then(|found| self.without_value(subject, found, &left_out));
        let unseen: Vec<String> = subject.unseen.clone().into_iter().chain(without_value).collect();
        TrialValues {
            numbers,
            left_out,
            has_zeros: !self.zeros(subject, &subject.repeats).is_empty(),
            least: self.sampled().and_then(|measure| {
                let seconds = subject.repeats.iter().map(Repeat::window_s).reduce(f64::min)?;
                Some(promise::unit(measure) / seconds)
            }),
            unseen: (!unseen.is_empty()).then(|| unseen.join("; ")),
        }
    }

    /// Whole repeats without the number: an instance that is cut off at the end is the slowest.
    fn without_value(
        &self,
        subject: &Subject<'_>,
        found: &[(usize, f64)],
        left_out: &[(usize, f64)],
    ) -> Option<String> {
        let has = |number: usize| found.iter().chain(left_out).any(|(given, _)| *given == number);
        let whole = subject.repeats.iter().chain(subject.invalid());
        let without_value = whole.map(|repeat| repeat.number).filter(|one| !has(*one));
        let without_value: Vec<String> = without_value.map(|number| number.to_string()).collect();
        let repeats = if without_value.len() == 1 { "repeat" } else { "repeats" };
        (!without_value.is_empty())
            .then(|| format!("{repeats} {} have no `{}`", without_value.join(", "), self.measure))
    }

    /// Passes if every check that concerns it holds.
    fn passed(&self, subject: &Subject<'_>) -> Result<(), String> {
        match (self.sampled(), Metric::parse(self.measure)) {
            (Some(measure), _) => subject.passes(|scope| scope.concerns(measure, &PLAIN)),
            (None, Some(_)) => subject.passes(|scope| scope == Scope::All),
            (None, None) => Err(format!("no source provides the measure `{}`", self.measure)),
        }
    }

    fn of_repeats(&self, subject: &Subject<'_>, repeats: &[Repeat<'_>]) -> ValuesByRepeat {
        match (self.sampled(), Metric::parse(self.measure)) {
            (Some(measure), _) => self.of_samples(subject, repeats, measure),
            (None, Some(metric)) => self.of_workloads(subject, repeats, metric),
            (None, None) => Err(format!("no source provides the measure `{}`", self.measure)),
        }
    }

    /// Of repeats that do not count, in which zero is a fact like any other.
    fn of_left_out(&self, subject: &Subject<'_>, repeats: &[Repeat<'_>]) -> ValuesByRepeat {
        let zeros = self.zeros(subject, repeats);
        match zeros.is_empty() {
            true => self.of_repeats(subject, repeats),
            false => Ok(zeros.into_iter().map(|repeat| (repeat, 0.0)).collect()),
        }
    }

    /// Repeats in which a metric of some instance is zero, and with it the geometric mean.
    fn zeros(&self, subject: &Subject<'_>, repeats: &[Repeat<'_>]) -> Vec<usize> {
        let metric = Metric::parse(self.measure).filter(|_| self.sampled().is_none());
        let values = metric.and_then(|metric| {
            metric.values(subject.trial, repeats, |group| self.counts(group)).ok()
        });
        values.iter().flat_map(Values::zeros).collect()
    }

    /// Total rate of the measured groups, or the average amount held.
    fn of_samples(
        &self,
        subject: &Subject<'_>,
        repeats: &[Repeat<'_>],
        measure: Measure,
    ) -> ValuesByRepeat {
        let columns: Vec<usize> =
            (0..subject.groups.len()).filter(|index| self.counts(subject.groups[*index])).collect();
        if columns.is_empty() {
            return Err(self.no_group());
        }
        let rate = |repeat: &Repeat<'_>| {
            let grid = repeat.grid(measure)?;
            let totals = grid.totals();
            let sum: f64 = columns.iter().map(|column| totals[*column]).sum();
            Ok((repeat.number, sum / grid.seconds()))
        };
        repeats.iter().map(rate).collect()
    }

    /// The geometric mean over the instances, since metrics may not be additive.
    fn of_workloads(
        &self,
        subject: &Subject<'_>,
        repeats: &[Repeat<'_>],
        metric: Metric<'_>,
    ) -> ValuesByRepeat {
        let values = metric.values(subject.trial, repeats, |group| self.counts(group))?;
        let values = metric.above_zero(values)?;
        Ok(values.mean_logs().map(|(number, log)| (number, log.exp())).collect())
    }

    /// Whether a group counts: it is the named one, or a member of a group of that name.
    fn counts(&self, group: &str) -> bool {
        let Some(named) = self.group else { return true };
        let own = group.rsplit('/').next().unwrap_or(group);
        let family = own.trim_end_matches(|c: char| c.is_ascii_digit());
        group == named || own == named || family == named
    }

    fn no_group(&self) -> String {
        match self.group {
            Some(group) => format!("no measured group of this trial is named `{group}`"),
            None => "no group of this trial is measured".to_owned(),
        }
    }
}
