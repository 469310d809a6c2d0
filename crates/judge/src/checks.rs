//! Validity checks: conditions without which a number means nothing.
//!
//! A check that fails in half of the repeats or more makes the promises it concerns void. Where the evidence for a check is missing,
//! the check reports that; whether it voids a promise depends on whether the number is credible
//! without it, as documented at each check.

mod backlogged;
mod blocked;
mod command;
mod cpu;
pub mod demand;
mod disk;
mod groups;
mod held_back;
mod host;
mod knobs;
mod limits;
mod memory;
mod others;
mod priority;
mod repeats;
mod scheduler;
mod wanted;
pub(crate) mod window;

use assay_host::facts::{Hierarchy, HostFacts};
use assay_record::run_folder::{PromiseRecord, Reference, RelationRecord, TrialRecord};
use assay_record::terms::{Measure, Side};

use crate::cpus::Shared;
use crate::expected;
use crate::laws::{self, Cap};
use crate::queue::Queue;
use crate::repeat::Repeat;
use crate::verdict::wording::{count, some_of};
use crate::verdict::{Cause, Check};

pub use command::{Disturbances, OnOneCpu, validity};
pub(crate) use repeats::{Entry, Selection, unseen};

/// Every check that reads the repeats, in the order of the document.
static RULES: [Rule; 29] = [
    groups::WORKLOADS,
    knobs::KNOBS,
    knobs::SETTINGS,
    scheduler::SCHEDULER,
    groups::ALONE,
    groups::LEVEL,
    disk::STACKED,
    priority::OF_IO,
    limits::IO_LIMIT,
    backlogged::BACKLOGGED,
    demand::OF_IO,
    cpu::SPARE,
    limits::quota(Scope::IoShares),
    host::SCHED_EXT,
    priority::OF_CPU,
    cpu::SATURATED,
    demand::OF_CPU,
    limits::quota(Scope::CpuShares),
    cpu::ROOM,
    memory::MEMORY,
    disk::WRITES,
    disk::PAGE_CACHE,
    host::STEAL,
    disk::NEIGHBOURS,
    others::OTHERS,
    host::CLOCK,
    host::SWAP,
    groups::START,
    window::WINDOW,
];

/// A check: to which trials it applies, what it finds, and what its failure means.
struct Rule {
    name: &'static str,
    /// Promises that become void when it fails. A trial without any is not checked, unless `is_always`.
    scope: Scope,
    is_always: bool,
    /// Whether there is anything to check.
    applies: fn(&Evidence<'_>) -> bool,
    find: Find,
    proves: Proves,
}

enum Find {
    /// In the trial as a whole; `None` where there is nothing to say.
    Once(fn(&Evidence<'_>) -> Option<Finding>),
    /// In every repeat; it must hold in each.
    Each(fn(&Evidence<'_>, &Repeat<'_>) -> Finding),
}

/// The cause that a failure proves: code and summary.
enum Proves {
    Nothing,
    Always((&'static str, &'static str)),
    By(fn(&Evidence<'_>) -> (&'static str, &'static str)),
}

impl Rule {
    const fn new(name: &'static str, scope: Scope, find: Find) -> Self {
        let is_always = matches!(scope, Scope::All | Scope::Sampled);
        let (applies, proves) = (|_: &Evidence<'_>| true, Proves::Nothing);
        Self { name, scope, is_always, applies, find, proves }
    }

    const fn each(
        name: &'static str,
        scope: Scope,
        find: fn(&Evidence<'_>, &Repeat<'_>) -> Finding,
    ) -> Self {
        Self::new(name, scope, Find::Each(find))
    }

    const fn once(
        name: &'static str,
        scope: Scope,
        find: fn(&Evidence<'_>) -> Option<Finding>,
    ) -> Self {
        Self::new(name, scope, Find::Once(find))
    }

    const fn always(self) -> Self {
        Self { is_always: true, ..self }
    }

    const fn when(self, applies: fn(&Evidence<'_>) -> bool) -> Self {
        Self { applies, ..self }
    }

    const fn proves(self, code: &'static str, summary: &'static str) -> Self {
        Self { proves: Proves::Always((code, summary)), ..self }
    }

    const fn proves_by(self, cause: fn(&Evidence<'_>) -> (&'static str, &'static str)) -> Self {
        Self { proves: Proves::By(cause), ..self }
    }

    /// The check of a trial, if it applies.
    fn check(&self, evidence: &Evidence<'_>) -> Option<ValidityCheck> {
        if !(self.is_always || evidence.any_promise(self.scope)) || !(self.applies)(evidence) {
            return None;
        }
        let check = match self.find {
            Find::Once(find) => find(evidence)?.named(self.name),
            Find::Each(find) => each_repeat(self.name, evidence, |repeat| find(evidence, repeat)),
        };
        let proves = match self.proves {
            Proves::Nothing => None,
            Proves::Always(cause) => Some(cause),
            Proves::By(cause) => Some(cause(evidence)),
        };
        Some(ValidityCheck { check, scope: self.scope, proves })
    }
}

/// Which promises a failed check makes void.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
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
    pub fn concerns(self, measure: Measure, relation: &RelationRecord) -> bool {
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
pub struct ValidityCheck {
    /// The entry in the verdict.
    pub check: Check,
    /// Promises that become void when it fails.
    pub scope: Scope,
    /// The cause proven by a failure: code and summary.
    pub proves: Option<(&'static str, &'static str)>,
}

impl ValidityCheck {
    /// The proven cause, if the check failed.
    pub fn cause(&self) -> Option<Cause> {
        let (code, summary) = self.proves.filter(|_| !self.check.ok)?;
        Some(Cause::new(code, summary, vec![self.check.evidence.clone()]))
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

    /// Holds, as `fine` says, unless something is wrong.
    fn unless(wrong: &[String], fine: impl FnOnce() -> String) -> Self {
        match wrong.is_empty() {
            true => Self::new(true, fine()),
            false => Self::new(false, some_of(wrong, "; ")),
        }
    }

    /// As a check.
    pub(crate) fn named(self, check: &str) -> Check {
        Check { check: check.to_owned(), ok: self.ok, evidence: self.evidence }
    }

    /// Missing evidence, without which the number is not credible.
    fn missing(why: &str) -> Self {
        Self::new(false, format!("not available: {why}"))
    }

    /// Missing evidence, without which the number is still credible.
    pub(crate) fn unverified(why: &str) -> Self {
        Self::new(true, format!("not available: {why}"))
    }

    fn or_unverified(found: Result<Self, String>) -> Self {
        found.unwrap_or_else(|why| Self::unverified(&why))
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
            "cpu.time" => self.shared(repeat).ok().flatten(),
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

    /// What BFQ lets each group of a queue hold, by these shares; nothing under another scheduler.
    pub(crate) fn bfq_caps(&self, queue: &Queue, shares: Option<Vec<f64>>) -> Vec<Cap> {
        let pool = queue.nr_requests.filter(|_| queue.is_bfq());
        let Some((pool, shares)) = pool.zip(shares) else { return Vec::new() };
        laws::group_caps(self.trial, self.groups.iter().copied().zip(shares), pool)
    }

    /// The CPUs that the measured groups share.
    pub(crate) fn shared(&self, repeat: &Repeat<'_>) -> Result<Option<Shared>, String> {
        Shared::in_repeat(self.host, self.trial, repeat.record)
    }

    /// Whether this controller is on a v1 hierarchy.
    fn is_on_v1(&self, controller: &str) -> bool {
        let controller = self.host.cgroup.controllers.get(controller);
        matches!(controller.map(|one| &one.hierarchy), Some(Hierarchy::V1(_)))
    }

    /// Whether some repeat has samples of this source.
    fn has_table(&self, source: &str) -> bool {
        self.repeats.iter().any(|repeat| repeat.table(source).is_ok())
    }

    pub(crate) fn any_promise(&self, scope: Scope) -> bool {
        self.promises.iter().any(|(measure, relation)| scope.concerns(*measure, relation))
    }
}

/// Runs all checks on a trial.
pub(crate) fn all(evidence: &Evidence<'_>, selection: &Selection<'_>) -> Vec<ValidityCheck> {
    let first = [selection.check()].into_iter().chain(repeats::oom(evidence.trial));
    let of_repeats = RULES.iter().filter(|_| !evidence.repeats.is_empty());
    first.chain(of_repeats.filter_map(|rule| rule.check(evidence))).collect()
}

/// Repeats in which a check failed that concerns all promises, by number with the reason, provided that it held in most repeats
/// of the trial: the trial can do without them. What they say must not decide ([`crate::promise`]). `has_others` is whether
/// more is promised than of sampled measures.
pub(crate) fn invalid(evidence: &Evidence<'_>, has_others: bool) -> Vec<(usize, String)> {
    let concerns_all = |rule: &&Rule| {
        let concerned = |(measure, relation): &(Measure, &RelationRecord)| {
            rule.scope.concerns(*measure, relation)
        };
        rule.scope == Scope::All || !has_others && evidence.promises.iter().all(concerned)
    };
    let found: Vec<(usize, String)> = evidence
        .repeats
        .iter()
        .filter_map(|repeat| {
            let alone = Evidence { repeats: std::slice::from_ref(repeat), ..*evidence };
            let rules = RULES.iter().filter(|rule| matches!(rule.find, Find::Each(_)));
            let rules = rules.filter(concerns_all);
            let failed: Vec<String> = rules
                .filter_map(|rule| rule.check(&alone))
                .filter(|validity| !validity.check.ok)
                .map(|validity| format!("`{}`: {}", validity.check.check, validity.check.evidence))
                .collect();
            (!failed.is_empty()).then(|| (repeat.number, failed.join("; ")))
        })
        .collect();
    if 2 * found.len() < evidence.repeats.len() { found } else { Vec::new() }
}

/// Whether limits, threads and schedulers were recorded.
fn overrides_recorded(evidence: &Evidence<'_>) -> bool {
    evidence.repeats.iter().any(|repeat| repeat.record.overrides.is_some())
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
    Finding::new(ok, text).named(check)
}
