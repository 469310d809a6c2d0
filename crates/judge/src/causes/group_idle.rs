//! C-GROUP-IDLE: BFQ keeps the disk for a group that has nothing queued, while requests of others wait.
//!
//! A group that pauses for less than `slice_idle` (8 ms) between its requests keeps its turn: BFQ waits with a timer
//! (`bfq_better_to_idle`, block/bfq-iosched.c), since a group that lost its turn after each request would get no more
//! than a request a round. Such a group takes the time of the disk and hardly uses it.

use assay_terms::Measure;
use assay_verdict::ProofState;
use assay_verdict::causes::{CauseEntry, FoundBy};
use assay_verdict::wording::percent;

use super::rules::{Case, Finding, Rule};

pub(super) const ENTRY: CauseEntry = CauseEntry {
    code: "C-GROUP-IDLE",
    what: "BFQ kept the disk for a group that had nothing queued, while requests of others waited.",
    found_by: FoundBy::Observed,
    fingerprint: "By the kernel's own record the timer with which BFQ waits for a request ran during most of the service of one group, and requests of the others waited in the scheduler.",
    confirm: "More requests outstanding in that group, or a lower rate than one in each `slice_idle`: the others get what they are promised of what is left.",
    tests: &[],
    effects: &[],
    remedy: "Let the group keep requests queued, give it a smaller weight, or set `iosched/slice_idle` = 0, with which weights no longer hold for groups that pause.",
    source: "block/bfq-iosched.c: bfq_better_to_idle; Documentation/block/bfq-iosched.rst, slice_idle",
};

pub(super) const RULE: Rule = Rule {
    code: ENTRY.code,
    summary: "BFQ kept the disk for a group that had nothing queued, while requests of others waited",
    proof: "During a part of the time that is three quarters of what each group that lost lacks, BFQ waited with its timer for requests of other groups, by samples, without the time in which threads of these waited for a CPU; each group that lost had a request or more waiting in the scheduler; and the group for which BFQ waited most had no partner.",
    excluded: "That part, up to what each loser lacks, is less than a tenth of all their losses.",
    concerns: Measure::is_io,
    examine,
};

/// A disk that is kept for one group during this part of the time is not itself.
const MOSTLY: f64 = 0.5;

/// A group that is bonded to others during this part of its service gains and loses by them.
const BONDED: f64 = 0.1;

fn examine(case: &Case<'_>) -> Option<Finding> {
    let disk = case.measured.disk.as_ref().ok().filter(|disk| disk.samples > 0.0)?;
    let waits = case.measured.cpu.as_ref().ok()?;
    let all = 0..disk.groups.len();
    let idle = |group: usize| disk.groups[group].in_service * disk.groups[group].idle;
    // A request that comes late because its thread waits for a CPU is C-CPU's.
    let of_its_own = |group: usize| (idle(group) - waits[group].mean()).max(0.0);
    let for_others =
        |group: usize| all.clone().filter(|other| *other != group).map(&of_its_own).sum::<f64>();
    let queued = |group: usize| disk.groups[group].scheduler / disk.seconds;
    let losers = case.losers();
    let most = all.clone().max_by(|a, b| idle(*a).total_cmp(&idle(*b)))?;
    let has_partner = disk.groups[most].partners.iter().any(|part| *part >= BONDED);
    let evidence = format!(
        "with its timer BFQ waited for `{}` during {} of the time, its queue being empty; of the groups that lost so many requests waited in the scheduler: {}",
        case.names[most],
        percent(idle(most)),
        case.list(&losers, |group| format!("{:.1}", queued(group)))
    );
    let holds = !has_partner && losers.iter().all(|group| queued(*group) >= 1.0);
    let found = Finding::new(case.explained(for_others), holds, evidence);
    // A group that loses and keeps the disk as well is not the reason of its own loss, but of much else.
    Some(found).filter(|found| found.state != ProofState::Excluded || idle(most) < MOSTLY)
}
