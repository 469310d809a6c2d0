//! Validity gates: conditions without which a number means nothing.
//!
//! A gate that fails makes the promises it concerns void. Where the evidence that a gate needs
//! is missing, the gate says so; whether that voids a promise depends on whether the number can
//! be believed without it, which stands at each gate.

pub(crate) mod backlogged;
mod clock;
mod cpu;
pub(crate) mod demand;
mod held_back;
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
pub(crate) mod window;
mod workloads;
mod writes;

use assay_facts::HostFacts;
use assay_run_folder::{PromiseRecord, RelationRecord, TrialRecord};

use crate::cpus::Shared;
use crate::expected;
use crate::repeat::Repeat;
use assay_verdict::Measure;
use assay_verdict::wording::count;
use assay_verdict::{Cause, Check};

pub(crate) use repeats::{Entry, Selection, unseen};

/// Which promises a failed gate makes void.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    /// Every promise of the trial.
    All,
    /// Those about counters that were sampled, and not about what workloads say of themselves.
    Sampled,
    /// Those about shares, of whatever it is.
    Shares,
    /// Those about the disk.
    Io,
    /// Those about the disk that mean something only while groups compete for it.
    IoShares,
    /// Those about CPU time that mean something only while groups compete for it.
    CpuShares,
    /// Those that a CPU quota is had in full, which mean something only while there is room.
    CpuQuotas,
    /// Those that a group keeps its memory, which mean something only while memory is short.
    MemoryProtections,
}

impl Scope {
    /// Whether a promise of this kind is concerned.
    pub(crate) fn concerns(self, measure: Measure, relation: &RelationRecord) -> bool {
        use RelationRecord::{AtLeast, AtLeastKnob, AtMost, AtMostKnob, Equal, Proportional};
        // A limit holds or not whether or not others want the resource.
        let competes = !matches!(relation, AtMost(_) | AtMostKnob(_));
        // The only knob that bounds CPU time is a quota, which competes with nobody.
        let quota = matches!(relation, AtLeastKnob(_));
        let protects = matches!(relation, AtLeast(_) | AtLeastKnob(_));
        match self {
            Self::All | Self::Sampled => true,
            Self::Shares => matches!(relation, Proportional(_) | Equal),
            Self::Io => measure.is_io(),
            Self::IoShares => measure.is_io() && competes,
            Self::CpuShares => measure.is_cpu() && competes && !quota,
            Self::CpuQuotas => measure.is_cpu() && quota,
            Self::MemoryProtections => measure.is_memory() && protects,
        }
    }
}

/// A check, whom it concerns, and what it proves when it fails.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ValidityCheck {
    /// What stands in the verdict.
    pub(crate) check: Check,
    /// Which promises it makes void when it fails.
    pub(crate) scope: Scope,
    /// The cause that a failure proves: code and summary.
    pub(crate) proves: Option<(&'static str, &'static str)>,
}

impl ValidityCheck {
    /// The proven cause of a failed gate.
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

/// What a gate found in one repeat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Finding {
    /// Whether the condition holds.
    pub(crate) ok: bool,
    /// What was seen, with numbers.
    pub(crate) evidence: String,
}

impl Finding {
    pub(crate) fn new(ok: bool, evidence: impl Into<String>) -> Self {
        Self { ok, evidence: evidence.into() }
    }

    /// Both conditions, where there is a second one.
    fn and(self, other: Option<Self>) -> Self {
        let Some(other) = other else { return self };
        Self::new(self.ok && other.ok, format!("{}; {}", self.evidence, other.evidence))
    }

    /// The evidence is missing, and without it the number cannot be believed.
    fn missing(why: &str) -> Self {
        Self::new(false, format!("not available: {why}"))
    }

    /// The evidence is missing, but the number stands on its own.
    pub(crate) fn spared(why: &str) -> Self {
        Self::new(true, format!("not available: {why}"))
    }
}

/// What the gates look at.
#[derive(Clone, Copy)]
pub(crate) struct Evidence<'r> {
    /// The machine.
    pub(crate) host: &'r HostFacts,
    /// The trial.
    pub(crate) trial: &'r TrialRecord,
    /// Requests a second that iocost was told the disk does; `None` where it was not told, or told
    /// different things in different trials.
    pub(crate) told_iops: Option<f64>,
    /// Names of the measured groups.
    pub(crate) groups: &'r [&'r str],
    /// Measures and relations of its promises.
    pub(crate) promises: &'r [(Measure, &'r RelationRecord)],
    /// The repeats that are judged.
    pub(crate) repeats: &'r [Repeat<'r>],
}

impl Evidence<'_> {
    /// Shares of the disk that follow from the knob of the first promise about them.
    pub(crate) fn io_shares(&self, repeat: &Repeat<'_>) -> Option<Vec<f64>> {
        let mut knobs = self.promises.iter().filter_map(|(measure, relation)| match relation {
            RelationRecord::Proportional(knob) if measure.is_io() => Some(knob),
            _ => None,
        });
        self.divided_by(repeat, knobs.next()?)
    }

    /// Shares that follow from a knob, whatever is promised.
    pub(crate) fn divided_by(&self, repeat: &Repeat<'_>, knob: &str) -> Option<Vec<f64>> {
        let shares = expected::proportional(repeat.record, self.groups, knob, None).ok()?;
        Some(shares.iter().map(|expected| expected.share).collect())
    }

    /// What a promise of shares gives each group, as far as the repeat's knobs tell.
    pub(crate) fn promised(
        &self,
        repeat: &Repeat<'_>,
        promise: &PromiseRecord,
    ) -> Option<Vec<expected::Expected>> {
        let shared = match promise.measure.as_str() {
            "cpu.time" => Shared::of(self.host, self.trial, repeat.record).ok().flatten(),
            _ => None,
        };
        match &promise.is {
            RelationRecord::Proportional(knob) => {
                expected::proportional(repeat.record, self.groups, knob, shared.as_ref()).ok()
            }
            RelationRecord::Equal => Some(expected::equal(self.groups, shared.as_ref())),
            _ => None,
        }
    }

    /// What a group got of what a promise of such a measure gives it, as a share or at least, and the
    /// margin.
    fn part_of_promise(
        &self,
        repeat: &Repeat<'_>,
        promise: &PromiseRecord,
        group: usize,
        is_meant: fn(Measure) -> bool,
    ) -> Option<(f64, f64)> {
        let measure = Measure::parse(&promise.measure).filter(|measure| is_meant(*measure))?;
        let grid = repeat.grid(measure).ok()?;
        let totals = grid.totals();
        let (got, promised) = match promise.is {
            RelationRecord::AtLeast(bound) => (totals[group] / grid.seconds(), bound),
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

/// Passes a trial through all gates. Gates that concern no promise of the trial are left out.
pub(crate) fn all(evidence: &Evidence<'_>, selection: &Selection<'_>) -> Vec<ValidityCheck> {
    let mut gates = vec![selection.gate()];
    gates.extend(oom::gate(evidence.trial));
    if evidence.repeats.is_empty() {
        return gates;
    }
    gates.push(workloads::gate(evidence));
    gates.push(knobs::gate(evidence));
    gates.extend(settings::gate(evidence));
    gates.extend(scheduler::gate(evidence));
    gates.extend(single_group::gate(evidence));
    gates.extend(level::gate(evidence));
    if evidence.any_promise(Scope::IoShares) {
        gates.extend(stacked::gate(evidence));
        gates.extend(priority::of_io(evidence));
        gates.extend(io_limit::gate(evidence));
        gates.push(backlogged::gate(evidence));
        gates.push(demand::gate(evidence));
        gates.push(cpu::spare(evidence));
        gates.push(quota::gate(evidence, Scope::IoShares));
    }
    if evidence.any_promise(Scope::CpuShares) {
        gates.extend(sched_ext::gate(evidence));
        gates.extend(priority::of_cpu(evidence));
        gates.push(cpu::saturated(evidence));
        gates.push(demand::of_cpu(evidence));
        gates.push(quota::gate(evidence, Scope::CpuShares));
    }
    if evidence.any_promise(Scope::CpuQuotas) {
        gates.push(cpu::room(evidence));
    }
    if evidence.any_promise(Scope::MemoryProtections) {
        gates.push(memory::gate(evidence));
    }
    if evidence.any_promise(Scope::Io) {
        gates.push(writes::gate(evidence));
        gates.push(page_cache::gate(evidence));
    }
    gates.extend(exogenous(evidence));
    gates.extend(swap::gate(evidence));
    gates.push(start::gate(evidence));
    gates.push(of_time(evidence));
    gates
}

/// What came over the machine from outside, whatever the groups did: nothing that a repeat shows
/// of the groups decides whether it happened. Swapping is not of these: it may be the groups' own
/// memory that is swapped.
fn exogenous(evidence: &Evidence<'_>) -> Vec<ValidityCheck> {
    let mut gates = Vec::new();
    if evidence.any_promise(Scope::IoShares) {
        gates.push(steal::gate(evidence));
        gates.push(neighbours::gate(evidence));
    }
    if evidence.any_promise(Scope::CpuShares) {
        gates.push(others::gate(evidence));
    }
    gates.extend(clock::gate(evidence));
    gates
}

/// Repeats that something from outside has spoilt, by number with what it was, where most repeats
/// of the trial were spared: those can do without them. The groups had no part in it; what such a
/// repeat shows against a promise is held against it nevertheless.
pub(crate) fn spoilt(evidence: &Evidence<'_>) -> Vec<(usize, String)> {
    let found: Vec<(usize, String)> = evidence
        .repeats
        .iter()
        .filter_map(|repeat| {
            let alone = Evidence { repeats: std::slice::from_ref(repeat), ..*evidence };
            let failed: Vec<String> = exogenous(&alone)
                .into_iter()
                .filter(|gate| !gate.check.ok)
                .map(|gate| format!("`{}`: {}", gate.check.check, gate.check.evidence))
                .collect();
            (!failed.is_empty()).then(|| (repeat.number, failed.join("; ")))
        })
        .collect();
    if 2 * found.len() < evidence.repeats.len() { found } else { Vec::new() }
}

/// The gate that a repeat can be asked while it still runs.
pub(crate) fn of_time(evidence: &Evidence<'_>) -> ValidityCheck {
    window::gate(evidence)
}

/// Asks one question of every repeat. The condition must hold in each of them.
pub(crate) fn of_each_repeat(
    check: &str,
    evidence: &Evidence<'_>,
    find: impl Fn(&Repeat<'_>) -> Finding,
) -> Check {
    let found: Vec<(usize, Finding)> =
        evidence.repeats.iter().map(|repeat| (repeat.number, find(repeat))).collect();
    let ok = found.iter().all(|(_, finding)| finding.ok);
    // Of a failure, the repeats that failed matter; else all say the same or nearly so.
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
