//! Validity checks: conditions without which a number means nothing.
//!
//! A failed check makes the promises it concerns void. Where the evidence for a check is missing,
//! the check reports that; whether it voids a promise depends on whether the number is credible
//! without it, as documented at each check.

pub(crate) mod backlogged;
mod blocked;
mod clock;
mod command;
mod cpu;
pub(crate) mod demand;
mod held_back;
mod in_front;
mod io_limit;
mod knobs;
mod level;
mod memory;
mod merged;
mod neighbours;
mod oom;
mod others;
mod page_cache;
mod priority;
mod quota;
mod repeats;
mod sched_ext;
mod scheduler;
mod settings;
mod single_group;
mod stacked;
mod start;
mod steal;
mod swap;
mod wanted;
pub(crate) mod window;
mod workloads;
mod writes;

use assay_facts::HostFacts;
use assay_run_folder::{PromiseRecord, Reference, RelationRecord, TrialRecord};
use assay_terms::{Measure, Side};
use assay_verdict::wording::count;
use assay_verdict::{Cause, Check};

use crate::cpus::Shared;
use crate::expected;
use crate::repeat::Repeat;

pub use command::{Disturbances, OnOneCpu, validity};
pub(crate) use repeats::{Entry, Selection, unseen};

/// Which promises a failed check makes void.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    /// Every promise of the trial.
    All,
    /// Those about sampled counters, not those about workload metrics.
    Sampled,
    /// Those about shares of any resource.
    Shares,
    /// Those about the disk.
    Io,
    /// Those about the disk that are meaningful only while groups compete for it.
    IoShares,
    /// Those about CPU time that are meaningful only while groups compete for it.
    CpuShares,
    /// Those that a CPU quota can be used in full, meaningful only while there is room.
    CpuQuotas,
    /// Memory protections, meaningful only while memory is short.
    MemoryProtections,
}

impl Scope {
    /// Whether it includes a promise of this kind.
    pub(crate) fn concerns(self, measure: Measure, relation: &RelationRecord) -> bool {
        let (divides, side) = (relation.kind().divides(), relation.kind().side());
        // A limit holds or not, whether or not others compete for the resource.
        let competes = side != Side::Above;
        // The only knob that bounds CPU time is a quota, which involves no competition.
        let quota = competes && !divides && matches!(relation.to(), Reference::Knob(_));
        let protects = side == Side::Below;
        match self {
            Self::All | Self::Sampled => true,
            Self::Shares => divides,
            Self::Io => measure.is_io(),
            Self::IoShares => measure.is_io() && competes,
            Self::CpuShares => measure.is_cpu() && competes && !quota,
            Self::CpuQuotas => measure.is_cpu() && quota,
            Self::MemoryProtections => measure.is_memory() && protects,
        }
    }
}

/// A check, the promises it concerns, and the cause that its failure proves.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ValidityCheck {
    /// The entry in the verdict.
    pub(crate) check: Check,
    /// Promises that become void when it fails.
    pub(crate) scope: Scope,
    /// The cause proven by a failure: code and summary.
    pub(crate) proves: Option<(&'static str, &'static str)>,
}

impl ValidityCheck {
    /// The proven cause, if the check failed.
    pub(crate) fn cause(&self) -> Option<Cause> {
        let (code, summary) = self.proves.filter(|_| !self.check.ok)?;
        Some(Cause {
            code: code.to_owned(),
            summary: summary.to_owned(),
            evidence: vec![self.check.evidence.clone()],
            strength: None,
        })
    }
}

/// Result of a check in one repeat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Finding {
    /// Whether the condition holds.
    pub(crate) ok: bool,
    /// The evidence, with numbers.
    pub(crate) evidence: String,
}

impl Finding {
    pub(crate) fn new(ok: bool, evidence: impl Into<String>) -> Self {
        Self { ok, evidence: evidence.into() }
    }

    /// Combines two findings: both must hold.
    fn and(self, other: Option<Self>) -> Self {
        let Some(other) = other else { return self };
        Self::new(self.ok && other.ok, format!("{}; {}", self.evidence, other.evidence))
    }

    /// Missing evidence, without which the number is not credible.
    fn missing(why: &str) -> Self {
        Self::new(false, format!("not available: {why}"))
    }

    /// Missing evidence, without which the number is still credible.
    pub(crate) fn unverified(why: &str) -> Self {
        Self::new(true, format!("not available: {why}"))
    }
}

/// Inputs of the checks.
#[derive(Clone, Copy)]
pub(crate) struct Evidence<'r> {
    /// Facts about the host.
    pub(crate) host: &'r HostFacts,
    /// The trial.
    pub(crate) trial: &'r TrialRecord,
    /// Requests a second that iocost was configured with; `None` where it was not configured, or
    /// differently in different trials.
    pub(crate) configured_iops: Option<f64>,
    /// Names of the measured groups.
    pub(crate) groups: &'r [&'r str],
    /// Measures and relations of the trial's promises.
    pub(crate) promises: &'r [(Measure, &'r RelationRecord)],
    /// The judged repeats.
    pub(crate) repeats: &'r [Repeat<'r>],
}

impl Evidence<'_> {
    /// Disk shares by the knob of the first promise about them.
    pub(crate) fn io_shares(&self, repeat: &Repeat<'_>) -> Option<Vec<f64>> {
        let mut promises = self.promises.iter().filter(|(measure, _)| measure.is_io());
        let knob = promises.find_map(|(_, relation)| relation.divided_by())?;
        self.divided_by(repeat, knob)
    }

    /// Shares by a knob, whatever is promised.
    pub(crate) fn divided_by(&self, repeat: &Repeat<'_>, knob: &str) -> Option<Vec<f64>> {
        let shares = expected::proportional(repeat.record, self.groups, knob, None).ok()?;
        Some(shares.iter().map(|expected| expected.share).collect())
    }

    /// Promised shares, as far as the repeat's knobs define them.
    pub(crate) fn promised(
        &self,
        repeat: &Repeat<'_>,
        promise: &PromiseRecord,
    ) -> Option<Vec<expected::Expected>> {
        let shared = match promise.measure.as_str() {
            "cpu.time" => Shared::in_repeat(self.host, self.trial, repeat.record).ok().flatten(),
            _ => None,
        };
        let shares = || expected::shares(&promise.is, repeat.record, self.groups, shared.as_ref());
        promise.is.kind().divides().then(shares)?.ok()
    }

    /// What a group got relative to its promise for such a measure (a share or a lower bound), and
    /// the margin.
    fn part_of_promise(
        &self,
        repeat: &Repeat<'_>,
        promise: &PromiseRecord,
        group: usize,
        selects: fn(Measure) -> bool,
    ) -> Option<(f64, f64)> {
        let measure = Measure::parse(&promise.measure).filter(|measure| selects(*measure))?;
        let grid = repeat.grid(measure).ok()?;
        let totals = grid.totals();
        let (got, promised) = match promise.is.to() {
            Reference::Value(bound) if promise.is.kind().side() == Side::Below => {
                (totals[group] / grid.seconds(), bound)
            }
            _ => {
                let share = self.promised(repeat, promise)?.get(group)?.share;
                (totals[group] / totals.iter().sum::<f64>(), share)
            }
        };
        (got.is_finite() && promised > 0.0).then(|| (got / promised, promise.within))
    }

    pub(crate) fn any_promise(&self, scope: Scope) -> bool {
        self.promises.iter().any(|(measure, relation)| scope.concerns(*measure, relation))
    }
}

/// Runs all checks on a trial. Checks that concern none of its promises are left out.
pub(crate) fn all(evidence: &Evidence<'_>, selection: &Selection<'_>) -> Vec<ValidityCheck> {
    let mut checks = vec![selection.check()];
    checks.extend(oom::check(evidence.trial));
    if evidence.repeats.is_empty() {
        return checks;
    }
    checks.push(workloads::check(evidence));
    checks.push(knobs::check(evidence));
    checks.extend(settings::check(evidence));
    checks.extend(scheduler::check(evidence));
    checks.extend(single_group::check(evidence));
    checks.extend(level::check(evidence));
    if evidence.any_promise(Scope::IoShares) {
        checks.extend(stacked::check(evidence));
        checks.extend(priority::of_io(evidence));
        checks.extend(io_limit::check(evidence));
        checks.push(backlogged::check(evidence));
        checks.push(demand::check(evidence));
        checks.push(cpu::spare(evidence));
        checks.push(quota::check(evidence, Scope::IoShares));
    }
    if evidence.any_promise(Scope::CpuShares) {
        checks.extend(sched_ext::check(evidence));
        checks.extend(priority::of_cpu(evidence));
        checks.push(cpu::saturated(evidence));
        checks.push(demand::of_cpu(evidence));
        checks.push(quota::check(evidence, Scope::CpuShares));
    }
    if evidence.any_promise(Scope::CpuQuotas) {
        checks.push(cpu::room(evidence));
    }
    if evidence.any_promise(Scope::MemoryProtections) {
        checks.push(memory::check(evidence));
    }
    if evidence.any_promise(Scope::Io) {
        checks.push(writes::check(evidence));
        checks.push(page_cache::check(evidence));
    }
    checks.extend(external_checks(evidence));
    checks.extend(swap::check(evidence));
    checks.push(start::check(evidence));
    checks.push(window_check(evidence));
    checks
}

/// Checks of external disturbances, independent of the groups: nothing in a repeat's own results
/// influences them. Swapping is excluded, since the groups' own memory may be what is swapped.
fn external_checks(evidence: &Evidence<'_>) -> Vec<ValidityCheck> {
    let mut checks = Vec::new();
    if evidence.any_promise(Scope::IoShares) {
        checks.push(steal::check(evidence));
        checks.push(neighbours::check(evidence));
    }
    if evidence.any_promise(Scope::CpuShares) {
        checks.push(others::check(evidence));
    }
    checks.extend(clock::check(evidence));
    checks
}

/// Repeats disturbed from outside, by number with the reason, provided most repeats of the trial
/// were not: the trial can do without them. The groups had no part in it; a breach in such a repeat
/// still counts against the promise.
pub(crate) fn disturbed(evidence: &Evidence<'_>) -> Vec<(usize, String)> {
    let found: Vec<(usize, String)> = evidence
        .repeats
        .iter()
        .filter_map(|repeat| {
            let alone = Evidence { repeats: std::slice::from_ref(repeat), ..*evidence };
            let failed: Vec<String> = external_checks(&alone)
                .into_iter()
                .filter(|validity| !validity.check.ok)
                .map(|validity| format!("`{}`: {}", validity.check.check, validity.check.evidence))
                .collect();
            (!failed.is_empty()).then(|| (repeat.number, failed.join("; ")))
        })
        .collect();
    if 2 * found.len() < evidence.repeats.len() { found } else { Vec::new() }
}

/// The check that can be evaluated while a repeat is still running.
pub(crate) fn window_check(evidence: &Evidence<'_>) -> ValidityCheck {
    window::check(evidence)
}

/// Evaluates a check in every repeat; it must hold in each.
pub(crate) fn each_repeat(
    check: &str,
    evidence: &Evidence<'_>,
    find: impl Fn(&Repeat<'_>) -> Finding,
) -> Check {
    let found: Vec<(usize, Finding)> =
        evidence.repeats.iter().map(|repeat| (repeat.number, find(repeat))).collect();
    let ok = found.iter().all(|(_, finding)| finding.ok);
    // On failure, list the repeats that failed; otherwise all are nearly the same.
    let shown: Vec<&(usize, Finding)> =
        found.iter().filter(|(_, finding)| finding.ok == ok).collect();
    let first = shown.first().map(|(_, finding)| finding.evidence.clone()).unwrap_or_default();
    let same = shown.iter().all(|(_, finding)| finding.evidence == first);
    let text = match shown.len() {
        1 if found.len() == 1 => first,
        number if same && ok => format!("{first} (in all {})", count(number, "repeat")),
        _ => {
            let lines = shown
                .iter()
                .map(|(number, finding)| format!("repeat {number}: {}", finding.evidence));
            lines.collect::<Vec<_>>().join("; ")
        }
    };
    Check { check: check.to_owned(), ok, evidence: text }
}
