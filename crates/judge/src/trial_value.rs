//! The one number of a trial and repeat that is compared with other trials.

use assay_run_folder::{Manifest, RelationRecord};

use crate::checks::Scope;
use crate::metric::Metric;
use crate::promise::Subject;
use crate::repeat::Repeat;
use assay_verdict::Measure;

/// A total that is compared needs nobody to compete for it, just as a limit does not: the gates
/// that concern a limit concern it.
pub(crate) static PLAIN: RelationRecord = RelationRecord::AtMost(f64::INFINITY);

/// What is wanted of every trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Wanted<'m> {
    measure: &'m str,
    group: Option<&'m str>,
}

/// Numbers by repeat, counted from 1; or why there are none.
pub(crate) type Numbers = Result<Vec<(usize, f64)>, String>;

/// What a trial gives.
#[derive(Debug, Clone)]
pub(crate) struct Found {
    /// Of the repeats that count.
    pub(crate) numbers: Numbers,
    /// Of those that do not, as far as they have one.
    pub(crate) left_out: Vec<(usize, f64)>,
    /// Which repeats nobody has seen, and why.
    pub(crate) unseen: Option<String>,
}

impl Found {
    /// Nothing, for this reason.
    pub(crate) fn nothing(why: String) -> Self {
        Self { numbers: Err(why), left_out: Vec::new(), unseen: None }
    }
}

/// Everything that comparisons and references of a run want, in their order: first all of the
/// comparisons, then all of the references.
pub(crate) fn of_run(manifest: &Manifest) -> Vec<Wanted<'_>> {
    let comparisons = manifest.comparisons.iter().map(|comparison| Wanted {
        measure: &comparison.measure,
        group: comparison.group.as_deref(),
    });
    let references = manifest.references.iter().map(|reference| Wanted {
        // A reference without a measure wants nothing, and nothing is what an empty name gives.
        measure: reference.measure.as_deref().unwrap_or_default(),
        group: reference.group.as_deref(),
    });
    comparisons.chain(references).collect()
}

impl Wanted<'_> {
    /// The measure of the samples that it needs, if it is not a workload's own.
    pub(crate) fn sampled(&self) -> Option<Measure> {
        Measure::parse(self.measure)
    }

    /// Its numbers in one trial.
    pub(crate) fn find(&self, subject: &Subject<'_>) -> Found {
        let of = |repeat| self.of_repeats(subject, std::slice::from_ref(repeat)).ok();
        let numbers = self.passed(subject).and_then(|()| self.of_repeats(subject, subject.repeats));
        let silent = numbers.as_ref().ok().and_then(|found| self.silent(subject, found));
        let unseen: Vec<String> =
            subject.unseen.map(str::to_owned).into_iter().chain(silent).collect();
        Found {
            numbers,
            left_out: subject.left_out.iter().filter_map(of).flatten().collect(),
            unseen: (!unseen.is_empty()).then(|| unseen.join("; ")),
        }
    }

    /// Repeats that count and gave no such number: whoever is cut off at the end is the slowest.
    fn silent(&self, subject: &Subject<'_>, found: &[(usize, f64)]) -> Option<String> {
        let has = |number: usize| found.iter().any(|(given, _)| *given == number);
        let silent = subject.repeats.iter().map(|repeat| repeat.number).filter(|one| !has(*one));
        let silent: Vec<String> = silent.map(|number| number.to_string()).collect();
        let repeats = if silent.len() == 1 { "repeat" } else { "repeats" };
        (!silent.is_empty())
            .then(|| format!("{repeats} {} gave no `{}`", silent.join(", "), self.measure))
    }

    /// Whether every gate that concerns it is passed.
    fn passed(&self, subject: &Subject<'_>) -> Result<(), String> {
        match (self.sampled(), Metric::parse(self.measure)) {
            (Some(measure), _) => subject.passes(|scope| scope.concerns(measure, &PLAIN)),
            (None, Some(_)) => subject.passes(|scope| scope == Scope::All),
            (None, None) => Err(format!("nothing gives the measure `{}`", self.measure)),
        }
    }

    fn of_repeats(&self, subject: &Subject<'_>, repeats: &[Repeat<'_>]) -> Numbers {
        match (self.sampled(), Metric::parse(self.measure)) {
            (Some(measure), _) => self.of_samples(subject, repeats, measure),
            (None, Some(metric)) => self.of_workloads(subject, repeats, metric),
            (None, None) => Err(format!("nothing gives the measure `{}`", self.measure)),
        }
    }

    /// What the measured groups got together per second, or held on average.
    fn of_samples(
        &self,
        subject: &Subject<'_>,
        repeats: &[Repeat<'_>],
        measure: Measure,
    ) -> Numbers {
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

    /// The geometric mean over the instances: of a metric nobody knows whether it can be added.
    fn of_workloads(
        &self,
        subject: &Subject<'_>,
        repeats: &[Repeat<'_>],
        metric: Metric<'_>,
    ) -> Numbers {
        let values = metric.values(subject.trial, repeats, |group| self.counts(group))?;
        Ok(values.mean_logs().map(|(number, log)| (number, log.exp())).collect())
    }

    /// Whether a group counts: it is the one that is named, or a member of a group of that name.
    fn counts(&self, group: &str) -> bool {
        let Some(named) = self.group else { return true };
        let own = group.rsplit('/').next().unwrap_or(group);
        let family = own.trim_end_matches(|c: char| c.is_ascii_digit());
        group == named || own == named || family == named
    }

    fn no_group(&self) -> String {
        match self.group {
            Some(group) => format!("no measured group of this trial is called `{group}`"),
            None => "no group of this trial is measured".to_owned(),
        }
    }
}
