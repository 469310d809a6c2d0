//! C-WAKER: BFQ took one group's queue for the waker of another, and serves either while it waits
//! for the other.
//!
//! A queue whose request was the last to complete when a drained process came back, three times in a
//! row, is that process's waker from then on (block/bfq-iosched.c, bfq_check_waker). It takes a long
//! think time, for which two stalls of more than `slice_idle` in the life of a process are enough
//! (docs/findings/bfq-waker).
//! While one of the two holds the disk and has nothing queued, the other's requests are injected,
//! whatever its weight and however much it has had. So a partner `P` of `B` gets `d_P / d_B` times
//! what `B` gets, by their requests outstanding, and all others keep their proportions ([`assay_judge::laws`]).
//! That predicts every group's share, and the best-fitting bonds are searched for, at most one for
//! each group. A single group lifted by any other cause fits some partner by chance in about one
//! case of ten: one bond alone is a weak sign, unless each of several repeats shows the same. Only
//! an inspection of the scheduler or an intervention proves one.

use assay_host::knob::KernelVersion;
use assay_judge::laws::{Bond, bonded_shares, bonded_shares_over_time, depth};
use assay_judge::queue::Queue;
use assay_judge::repeat::Repeat;
use assay_judge::verdict::wording::{percent, some_of};
use assay_judge::verdict::{ProofState, Strength};
use assay_record::terms::Measure;

use super::fit::Fit;
use super::measured::GroupRequests;
use super::rules::{Case, EXPLAINS, Explained, Finding, NEGLIGIBLE, Rule};
use super::{CauseEntry, Examined, Outcome, Suspect, Symptom};

pub(super) const ENTRY: CauseEntry = CauseEntry {
    code: "C-WAKER",
    what: "BFQ took one group's queue for the waker of another, and injects the requests of either into the other's service, whatever their weights. Their budget is looked at, and is new each time that the injected queue has run empty.",
    fingerprint: "Some groups have d_P / d_B times what a heavier one has, at d requests outstanding each, and all others keep their proportions: x_P = max(own share, sum over its partners B of d_P / d_B w_B). Explains three quarters of the error with bonds of at most half of the groups.",
    confirm: "The kernel's own record. Or the elevator to `none` and back in the state: queues are new, and shares exact at once. `iosched/max_budget` written in the state changes nothing: a queue that is only injected has no turn of its own, and takes over a new budget at the end of one.",
    remedy: "Restart the reader, or switch the elevator to `none` and back and write its settings again: either ends a bond. `iosched/max_budget` below iodepth x request before the groups start makes a bond with one group harmless; so do equal iodepth and weights, and a scheduler of another kind (iocost) has none.",
    source: "block/bfq-iosched.c: bfq_check_waker, bfq_select_queue (bfq_bfqq_budget_left), bfq_remove_request (budget and service become 0); 13a857a4c4e8 (5.3), d4fc3640ff36 (5.12), 2ec5a5c48373 (5.13); docs/findings/bfq-waker",
    ..CauseEntry::suspected(Suspect::Bfq(suspect))
};

/// First kernel that injects requests of wakers (d4fc3640ff36).
const SINCE: KernelVersion = KernelVersion::new(5, 12);

/// Tolerance between a bonded group's share and the prediction.
const CLOSE: f64 = 0.08;

/// A bond that lifts a group by less explains nothing.
const LIFTS: f64 = 1.15;

/// Searches for bonds that explain the shares under BFQ.
fn suspect(symptom: &Symptom<'_, '_>, queue: &Queue) -> Examined {
    if let Some(why) = cannot_be(symptom, queue) {
        return Ok(Outcome::RuledOut(why));
    }
    let subject = symptom.subject;
    let names = symptom.names;
    let depths: Option<Vec<f64>> = names.iter().map(|name| depth(subject.trial, name)).collect();
    let depths =
        depths.ok_or("not all workloads report how many requests they keep outstanding")?;
    let (weights, seen) = (symptom.promised(), symptom.seen());
    let found = bonds(&weights, &depths, &seen);
    let predicted = bonded_shares(&weights, &depths, &found);
    let fit = symptom.fit(&predicted).filter(|_| !found.is_empty());
    let strength = fit.and_then(Fit::strength).filter(|strength| *strength > Strength::Weak);
    let Some((fit, strength)) = fit.zip(strength) else {
        let why = "no bonds between groups explain the shares";
        return Ok(Outcome::RuledOut(why.to_owned()));
    };
    let again = |repeat: &Repeat<'_>| {
        repeat.grid(symptom.measure).is_ok_and(|grid| {
            let all: f64 = grid.totals().iter().sum();
            let shares: Vec<f64> = grid.totals().iter().map(|total| total / all).collect();
            bonds(&weights, &depths, &shares) == found
        })
    };
    let sure = found.len() > 1 || subject.repeats.len() > 1 && subject.repeats.iter().all(again);
    let pairs =
        found.iter().map(|bond| format!("`{}` with `{}`", names[bond.group], names[bond.with]));
    let each = names.iter().zip(&predicted).zip(&seen).map(|((name, share), seen)| {
        format!("`{name}` {}, measured {}", percent(*share), percent(*seen))
    });
    let evidence = vec![
        format!(
            "bonds of {} would give {}: {} of the error",
            some_of(&pairs.collect::<Vec<_>>(), ", "),
            some_of(&each.collect::<Vec<_>>(), ", "),
            percent(fit.explained())
        ),
        "to test it: record evidence, or switch the elevator to `none` and back, which ends every \
         bond; with equal weights there is nothing to gain"
            .to_owned(),
    ];
    let what = "BFQ took queues of different groups for each other's wakers, and serves one in the slices of the \
                other, regardless of weight";
    Ok(Outcome::Fits(if sure { strength } else { Strength::Weak }, what, evidence))
}

/// Why kernel or settings exclude it.
fn cannot_be(symptom: &Symptom<'_, '_>, queue: &Queue) -> Option<String> {
    let release = &symptom.subject.host.kernel;
    if KernelVersion::parse(release).is_some_and(|version| version < SINCE) {
        return Some(format!("the kernel is {release}, and wakers are injected since 5.12"));
    }
    let (name, idle) = symptom.attribute(queue, &["iosched/slice_idle"]).ok()?;
    (idle == "0").then(|| format!("`{name}` reads 0: BFQ detects no wakers"))
}

/// The smallest set of bonds that explains the shares: the groups with the least for their weight
/// keep their proportions, and each other group must have what a bond with one of those gives it.
/// Empty where no bond explains some group, or where most groups would have to be bonded, since
/// then anything could be explained.
fn bonds(weights: &[f64], depths: &[f64], seen: &[f64]) -> Vec<Bond> {
    let groups = 0..weights.len();
    let ratio = |group: usize| seen[group] / weights[group];
    let least = groups.clone().map(ratio).fold(f64::INFINITY, f64::min);
    let (own, lifted): (Vec<usize>, Vec<usize>) =
        groups.partition(|group| ratio(*group) <= least * LIFTS);
    let sum = |of: &[f64]| own.iter().map(|group| of[*group]).sum::<f64>();
    let speed = sum(seen) / sum(weights);
    if own.len() < 2 || 2 * lifted.len() > weights.len() {
        return Vec::new();
    }
    let partner = |group: usize| {
        let brings = |with: usize| depths[group] / depths[with] * weights[with] * speed;
        let off = |with: usize| (seen[group] / brings(with) - 1.0).abs();
        let best = own.iter().copied().min_by(|a, b| off(*a).total_cmp(&off(*b)))?;
        (off(best) <= CLOSE).then_some(Bond { group, with: best })
    };
    lifted.iter().map(|group| partner(*group)).collect::<Option<_>>().unwrap_or_default()
}

pub(super) const RULE: Rule = Rule {
    code: ENTRY.code,
    summary: "BFQ took queues of different groups for each other's wakers, and served one in the slices of the other, regardless of weight",
    proof: "Of each group that gained, requests issued in the service of a group of which it is the waker or the first that it wakes are three quarters of what it gained, its share of the time in service is lower than its share by as much; every loser kept half of its requests outstanding, with less than a tenth of one waiting for a place; and the law of bonds, with the bonds that were sampled, explains half of the errors by itself.",
    excluded: "These requests are less than a tenth of all gains, and no bond that lifts a group by the law was set or sampled in a tenth of its holder's service: a partner that has to repay what it got, or a group that lost its lag meanwhile, gets nothing, and others gain.",
    concerns: Measure::is_io,
    examine,
};

/// Fewer samples of the queue in service say nothing.
const SAMPLES: f64 = 1000.0;

/// The part of the errors that the law must explain: debt and lost lag, which follow from a bond, are not in it.
const LAW: f64 = 0.5;

fn examine(case: &Case<'_>) -> Option<Finding> {
    let disk = case.measured.disk.as_ref().ok()?;
    let injected = |group: usize| {
        let of = &disk.groups[group];
        of.injected_as_partner / of.requests.max(1.0) * case.seen[group]
    };
    let law = Fit::from_shares(&case.seen, case.promised, &by_sampled_bonds(case)?)?;
    let holds =
        law.explained_in_full() >= LAW && case.losers().iter().all(|loser| asks(case, *loser));
    let mut found = by_injection(case, "of its partners", injected, injected, holds)?;
    if let (ProofState::Excluded, Some(bond)) = (found.state, lifting_bond(case)) {
        found.state = ProofState::Contributes;
        let (group, with) = (&case.names[bond.group], &case.names[bond.with]);
        found.evidence += &format!("; but `{group}` was a partner of `{with}`");
    }
    let explained = percent(law.explained_in_full());
    found.evidence += &format!("; the law of bonds gives {explained} of the errors");
    Some(found)
}

/// A bond that lasted, or that began, and that brings its group more than its weight does. What follows from it may be
/// another group's gain.
fn lifting_bond(case: &Case<'_>) -> Option<Bond> {
    let holders = &case.measured.disk.as_ref().ok()?.groups;
    let depths = case.depths.as_ref()?;
    let of = |with: usize| (0..holders.len()).map(move |group| Bond { group, with });
    let was_there = |bond: &Bond| {
        let holder = &holders[bond.with];
        holder.partners.get(bond.group).is_some_and(|part| *part >= NEGLIGIBLE)
            || holder.bonded.get(bond.group).is_some_and(|bonded| *bonded)
    };
    let mut bonds = (0..holders.len()).flat_map(of);
    bonds.find(|bond| was_there(bond) && bond.lifts(case.promised, depths))
}

/// A loser with more requests waiting for a place, on average, may have lost because of that.
const WAITING: f64 = 0.1;

/// A loser that kept less than this part of its requests outstanding may have asked for less.
const KEPT: f64 = 0.5;

/// Whether a group always had requests in the scheduler for BFQ to serve. Small sequential ones are merged, so that the disk
/// counts fewer of them than the group kept.
pub(super) fn asks(case: &Case<'_>, group: usize) -> bool {
    let (Ok(disk), Some(depths)) = (&case.measured.disk, &case.depths) else { return false };
    let of = &disk.groups[group];
    let kept = of.whole() / disk.seconds / depths[group];
    of.waiting_in_front() < WAITING * disk.seconds
        && (kept >= KEPT || case.kept[group].is_some_and(|kept| kept >= KEPT))
}

/// What injection says, by the part of all service that it brought each group, surely and at most; proven where the
/// other conditions of the cause hold, too.
pub(super) fn by_injection(
    case: &Case<'_>,
    during: &str,
    injected: impl Fn(usize) -> f64,
    at_most: impl Fn(usize) -> f64,
    holds: bool,
) -> Option<Finding> {
    let disk = case.measured.disk.as_ref().ok().filter(|disk| disk.samples >= SAMPLES)?;
    let winners = case.winners();
    if winners.is_empty() {
        return None;
    }
    // What came in turns of others can be no more than what did not come in its own.
    let outside = |group: usize| case.seen[group] - disk.groups[group].in_service;
    let surely = |group: &usize| injected(*group).min(outside(*group)) / case.excess(*group);
    let each = winners.iter().all(|group| surely(group) >= EXPLAINS);
    let of_all = |injected: &dyn Fn(usize) -> f64| {
        let gained = |group: &usize| injected(*group).min(case.excess(*group));
        winners.iter().map(gained).sum::<f64>() / case.deviation()
    };
    let explained = Explained { least: of_all(&injected), of_all: of_all(&at_most) };
    let evidence = case.list(&winners, |group| {
        format!(
            "got {}, was in service {} of the time, and {} came in the service {during}",
            percent(case.seen[group]),
            percent(disk.groups[group].in_service),
            percent(injected(group))
        )
    });
    let evidence = format!("by {:.0} samples {evidence}", disk.samples);
    Some(Finding::new(explained, each && holds, evidence))
}

/// Shares by the law of bonds, each bond for the part of the time in which it was sampled.
fn by_sampled_bonds(case: &Case<'_>) -> Option<Vec<f64>> {
    let holders = &case.measured.disk.as_ref().ok()?.groups;
    let of = |(with, holder): (usize, &GroupRequests)| {
        let bond = move |(group, part): (usize, &f64)| (Bond { group, with }, *part);
        // Two queues of one group that wake each other add nothing to its weight.
        let others = holder.partners.iter().enumerate().filter(move |(group, _)| *group != with);
        others.map(bond).collect::<Vec<_>>()
    };
    let bonds: Vec<(Bond, f64)> = holders.iter().enumerate().flat_map(of).collect();
    Some(bonded_shares_over_time(case.promised, case.depths.as_ref()?, &bonds))
}

#[cfg(test)]
mod tests {
    use super::*;

    const WEIGHTS: [f64; 4] = [1.0, 2.0, 4.0, 8.0];

    fn bond(group: usize, with: usize) -> Bond {
        Bond { group: group - 1, with: with - 1 }
    }

    #[test]
    fn bonds_are_recovered_from_recorded_shares() {
        let found = |seen: [f64; 4]| bonds(&WEIGHTS.map(|weight| weight / 15.0), &[8.0; 4], &seen);
        assert_eq!(found([0.049, 0.392, 0.171, 0.388]), [bond(2, 4)]);
        assert_eq!(found([0.326, 0.173, 0.179, 0.322]), [bond(1, 4), bond(2, 3)]);
        assert_eq!(found([0.303, 0.075, 0.304, 0.319]), [bond(1, 4), bond(3, 4)]);
    }

    #[test]
    fn other_shares_give_no_bonds() {
        let found = |seen: [f64; 4]| bonds(&WEIGHTS.map(|weight| weight / 15.0), &[8.0; 4], &seen);
        assert_eq!(found([0.25; 4]), []);
        assert_eq!(found([0.30, 0.10, 0.20, 0.40]), []);
    }
}
