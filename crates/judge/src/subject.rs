//! One trial with its windows and checks: what all its promises are judged with.

use assay_host::facts::HostFacts;
use assay_record::run_folder::{Manifest, RelationRecord, Table, TrialRecord};
use assay_record::terms::Measure;

use crate::checks::{self, Entry, Evidence, Scope, Selection, ValidityCheck, window};
use crate::queue::is_measured;
use crate::repeat::Repeat;
use crate::verdict::Fact;
use crate::verdict::wording::together;
use crate::{FindCauses, NoCauses, facts, reason};

/// Relation of a plain total: like a limit it needs no competition, so the checks for a limit
/// apply.
pub static PLAIN: RelationRecord = RelationRecord::AtMost(f64::INFINITY);

/// Inputs of all promises of a trial.
pub struct Subject<'r> {
    /// The machine.
    pub host: &'r HostFacts,
    /// Requests a second that iocost was configured with.
    pub configured_iops: Option<f64>,
    /// The trial.
    pub trial: &'r TrialRecord,
    /// Names of the measured groups.
    pub groups: Vec<&'r str>,
    /// What is promised, or needed of each trial, of sampled measures.
    promises: Vec<(Measure, &'r RelationRecord)>,
    /// Number of repeats that count.
    pub counted: usize,
    /// The judged repeats.
    pub repeats: Vec<Repeat<'r>>,
    /// Repeats that do not count, as far as they have samples.
    pub left_out: Vec<Repeat<'r>>,
    /// The validity checks.
    pub checks: Vec<ValidityCheck>,
    /// What is remarkable of the trial.
    pub facts: Vec<Fact>,
    /// The part of the errors that bounds may spend: 1, less where runs are judged together.
    pub part: f64,
    /// What finds causes.
    pub causes: &'r dyn FindCauses,
    /// Unobserved repeats, and why.
    pub unseen: Option<String>,
}

/// The rate configured in io.cost.model, if it was always the same
/// (Documentation/admin-guide/cgroup-v2.rst: `rrandiops` is the rate of random reads).
fn configured_iops(manifest: &Manifest) -> Option<f64> {
    let models = manifest.changes.iter().filter(|change| change.what.ends_with("/io.cost.model"));
    let configured: Vec<f64> = models
        .filter_map(|change| {
            let mut words = change.set.as_deref()?.split_whitespace();
            words.find_map(|word| word.strip_prefix("rrandiops="))?.parse().ok()
        })
        .collect();
    configured.first().copied().filter(|first| configured.iter().all(|other| other == first))
}

impl<'r> Subject<'r> {
    /// A trial without repeats; `also` are measures that comparisons need.
    fn blank(host: &'r HostFacts, trial: &'r TrialRecord, also: &[Measure]) -> Self {
        let measured = trial.groups.iter().filter(|group| is_measured(group));
        let promised = trial.promises.iter();
        let promised = promised.filter_map(|one| Some((Measure::parse(&one.measure)?, &one.is)));
        Self {
            host,
            configured_iops: None,
            trial,
            groups: measured.map(|group| group.name.as_str()).collect(),
            promises: promised.chain(also.iter().map(|measure| (*measure, &PLAIN))).collect(),
            counted: 0,
            repeats: Vec::new(),
            left_out: Vec::new(),
            checks: Vec::new(),
            facts: Vec::new(),
            part: 1.0,
            causes: &NoCauses,
            unseen: None,
        }
    }

    /// Selects the repeats, determines their windows and runs the checks.
    pub fn new(
        manifest: &'r Manifest,
        trial: &'r TrialRecord,
        samples: &'r [Vec<Table>],
        also: &[Measure],
    ) -> Self {
        let mut subject = Self {
            configured_iops: configured_iops(manifest),
            unseen: checks::unseen(manifest, trial),
            ..Self::blank(&manifest.host, trial, also)
        };
        let mut selection = Selection::new(trial, samples);
        let repeats = subject.prepare(&selection.judged);
        let compared = manifest.comparisons.iter().map(|comparison| &comparison.measure);
        let mut promised = trial.promises.iter().map(|one| &one.measure).chain(compared);
        let has_others = promised.any(|measure| Measure::parse(measure).is_none());
        let invalid = checks::invalid(&subject.evidence(&repeats), has_others);
        selection.leave_out(&invalid);
        let is_invalid =
            |repeat: &Repeat<'_>| invalid.iter().any(|(other, _)| *other == repeat.number);
        (subject.left_out, subject.repeats) = repeats.into_iter().partition(is_invalid);
        subject.left_out.extend(subject.prepare(&selection.cut_short));
        let evidence = subject.evidence(&subject.repeats);
        let (checks, facts) = (checks::all(&evidence, &selection), facts::all(&evidence));
        Self { checks, facts, counted: selection.counted, ..subject }
    }

    /// Repeats with their windows.
    fn prepare(&self, entries: &[Entry<'r>]) -> Vec<Repeat<'r>> {
        let mut measures: Vec<Measure> = Vec::new();
        for (measure, _) in &self.promises {
            if !measures.contains(measure) {
                measures.push(*measure);
            }
        }
        let prepare = |&(number, record, tables): &Entry<'r>| {
            Repeat::new(number, self.trial, record, tables, &self.groups, &measures)
        };
        entries.iter().map(prepare).collect()
    }

    fn evidence<'s>(&'s self, repeats: &'s [Repeat<'r>]) -> Evidence<'s> {
        Evidence {
            host: self.host,
            trial: self.trial,
            configured_iops: self.configured_iops,
            groups: &self.groups,
            promises: &self.promises,
            repeats,
        }
    }

    /// The failed checks with a concerned scope.
    pub fn failed(&self, concerns: impl Fn(Scope) -> bool) -> Vec<&ValidityCheck> {
        self.checks
            .iter()
            .filter(|validity| !validity.check.ok && concerns(validity.scope))
            .collect()
    }

    /// Passes if every check with a concerned scope holds.
    pub fn passes(&self, concerns: impl Fn(Scope) -> bool) -> Result<(), String> {
        let failed = self.failed(concerns);
        if failed.is_empty() { Ok(()) } else { Err(reason::failed_checks(&failed)) }
    }

    /// Repeats that do not count but have a sufficiently long window.
    pub fn left_out_with_samples(&self) -> impl Iterator<Item = &Repeat<'_>> {
        self.left_out.iter().filter(|one| one.window_s() >= window::LEAST_S)
    }

    /// Repeats that took place and that a check left out.
    pub fn invalid(&self) -> impl Iterator<Item = &Repeat<'r>> {
        self.left_out.iter().filter(|one| one.record.fault.is_none())
    }

    /// Why a promise is not kept despite the counted repeats: unobserved repeats may have broken
    /// it, and a repeat that the user ended is still a fact. `broken` describes the breach of a
    /// repeat, if any.
    pub fn objection(&self, broken: impl Fn(&Repeat<'_>) -> Option<String>) -> Option<String> {
        let unseen = self
            .unseen
            .as_ref()
            .map(|why| format!("the promise may have been broken in the missing part: {why}"));
        let ended = self.left_out_with_samples().filter(|repeat| repeat.record.fault.is_some());
        let ended = ended.filter_map(|repeat| {
            let number = repeat.number;
            Some(format!("repeat {number}, which is left out, was broken: {}", broken(repeat)?))
        });
        together(unseen.into_iter().chain(ended))
    }
}
