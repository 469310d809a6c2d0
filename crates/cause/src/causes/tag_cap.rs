//! C-TAG-CAP: BFQ's cap of a group's requests decides instead of its weight.
//!
//! Since 5.17 (76f1df88bbc2) a group may hold `P w / sum w` of the pool's `P` requests, see
//! [`assay_judge::laws`]. That moves shares in two ways. A group whose demand exceeds its cap
//! waits in front of the scheduler, first come, first served: with a depth of `d` from `P w_min /
//! (d w_mean)` groups on. And the cap is rounded to whole requests: with weights 1:2:4:8 and P = 64
//! it is 1, 2, 4, 9 requests for 16 groups, 1, 1, 2, 4 for 32 and 0, 1, 1, 2 for 64: the lightest
//! classes merge first, from `P w_min / (0.75 w_mean)` groups on.

use assay_judge::laws::{Cap, group_caps};
use assay_judge::queue::{Queue, requests_outstanding};
use assay_judge::verdict::Strength;
use assay_judge::verdict::wording::{percent, some_of};
use assay_record::terms::Measure;

use super::rules::{Case, EXPLAINS, Finding, Rule};
use super::{CauseEntry, Examined, Outcome, PredictedEffect, Suspect, Symptom};

pub(super) const ENTRY: CauseEntry = CauseEntry {
    code: "C-TAG-CAP",
    what: "BFQ lets a group hold no more than its weight's part of the request pool; a group with a higher demand waits in front of the scheduler, where weights do not apply.",
    fingerprint: "A group keeps more than round(P w / sum w) requests outstanding (three quarters of that for direct writes while no queue is raised by low_latency, three eighths otherwise; each process has its own limit within its group), and the queue lacks half of what these limits keep out, of what the workloads keep outstanding by latency times rate, in a pool that has room. Or that rounding departs from P w / sum w by more than the margin, and the lightest groups are those that gain or lose.",
    confirm: "As many times the requests (`nr_requests`) as bring the lightest group's part above its iodepth, or a lower iodepth, or both where 2048 requests are too few: the error vanishes. The break is at N* = P w_min / (d w_mean).",
    tests: &["requests", "iodepth", "room"],
    // Nothing for `strict`: with one request in the device the others merge in the scheduler, which takes
    // tags from the pool too.
    effects: &[PredictedEffect::unrelated(&["longer", "rotational", "low-latency", "one-cpu"])],
    remedy: "Raise `nr_requests` to (iodepth + 1) x sum w / w_min (a third more for writes), or lower the iodepth.",
    source: "block/bfq-iosched.c: bfq_limit_depth (76f1df88bbc2, 5.17), bfq_update_depths; lib/sbitmap.c: __map_depth_with_shallow (42e6c6ce03fd, 6.17 and 6.12.43): all groups above their limits share one place of the whole pool, the first, and not one of each word",
    ..CauseEntry::suspected(Suspect::Bfq(suspect))
};

/// Where requests wait in front of the scheduler, the queue lacks this part of what the caps keep out of it, by
/// Little's law. Below this part of the errors with the predicted sign, first come, first served is contradicted.
const HALF: f64 = 0.5;

/// Compares each group's demand with its cap under BFQ, then the effect of rounding.
fn suspect(symptom: &Symptom<'_, '_>, queue: &Queue) -> Examined {
    let pool = queue.nr_requests.filter(|pool| *pool > 0.0);
    let pool = pool.ok_or("`nr_requests` was not recorded")?;
    let groups = symptom.names.iter().map(String::as_str).zip(symptom.promised());
    let mut binding = group_caps(symptom.subject.trial, groups, pool);
    binding.retain(Cap::binds);
    Ok(match binding.is_empty() {
        true => rounding(symptom, pool),
        false => exceeded_caps(symptom, queue, pool, &binding),
    })
}

/// Examines groups whose demand exceeds their cap, and whether the missing requests wait outside.
fn exceeded_caps(symptom: &Symptom<'_, '_>, queue: &Queue, pool: f64, binding: &[Cap]) -> Outcome {
    let each = binding.iter().map(|cap| {
        let name = &symptom.names[cap.group];
        format!("`{name}` keeps {} requests outstanding and may hold {}", cap.demand, cap.cap)
    });
    let each = some_of(&each.collect::<Vec<_>>(), "; ");
    let mut evidence = vec![format!("of a pool of {pool}, {each}")];
    let workloads = symptom.repeat().record.workloads.iter();
    let kept: Option<f64> = workloads.map(requests_outstanding).sum();
    let mut strength = Strength::Fair;
    if let (Some(kept), Ok(queued)) = (kept, &queue.mean_queue) {
        let kept_out: f64 = binding.iter().map(|cap| cap.demand - cap.cap).sum();
        let (waited, how_sure) = match kept - *queued >= HALF * kept_out {
            true => (
                "the others waited in front of the scheduler, where weights do not apply",
                Strength::Strong,
            ),
            false => ("few waited in front of the scheduler", Strength::Weak),
        };
        strength = how_sure;
        evidence.push(format!(
            "by latency times rate the workloads kept {kept:.0} outstanding, and {queued:.0} were in the queue: {waited}"
        ));
    }
    if symptom.first_come_first_served().is_some_and(|fit| fit.agreeing() < HALF) {
        // First come, first served favours groups whose demand exceeds their weight's part.
        strength = Strength::Weak;
        evidence.push("the groups that gained are not those with the highest demand".to_owned());
    }
    evidence.push(format!(
        "to test it: `nr_requests` = {:.0} or more, or fewer requests outstanding",
        enough(binding, pool)
    ));
    let what = "groups keep more requests outstanding than BFQ lets them hold of its pool, and those that wait are \
                served regardless of weight";
    Outcome::Fits(strength, what, evidence)
}

/// The smallest pool at which every cap covers the demand of its group and a place more ([`Cap::has_spare_place`]).
fn enough(binding: &[Cap], pool: f64) -> f64 {
    let times = binding.iter().map(|cap| (cap.demand + 1.0) / cap.cap.max(1.0)).fold(1.0, f64::max);
    (pool * times).ceil()
}

/// Examines the effect of rounding caps to whole requests.
fn rounding(symptom: &Symptom<'_, '_>, pool: f64) -> Outcome {
    let shares = symptom.promised();
    let predicted = rounded(&shares, pool);
    let error = |group: usize| predicted[group] / shares[group] - 1.0;
    let most = (0..shares.len()).max_by(|a, b| error(*a).abs().total_cmp(&error(*b).abs()));
    let Some(most) = most else { return Outcome::Unconcerned };
    let (error, seen) = (error(most), symptom.times(most) - 1.0);
    if error.abs() <= symptom.promise.within {
        return Outcome::RuledOut(format!(
            "no group keeps more outstanding than its part of {pool} requests, and rounding that part moves no share \
             by more than {}",
            percent(error.abs())
        ));
    }
    let text = format!(
        "rounding each group's part of {pool} requests to whole ones moves `{}` by {}, and {} was measured",
        symptom.names[most],
        percent(error),
        percent(seen)
    );
    if error.signum() != seen.signum() || seen.abs() < 0.5 * error.abs() {
        return Outcome::RuledOut(text);
    }
    let what = "BFQ's cap of each group's requests is rounded to whole requests";
    Outcome::Fits(Strength::Fair, what, vec![text])
}

/// Shares in proportion to the rounded caps; a group with a cap of zero still gets one at a time.
fn rounded(shares: &[f64], pool: f64) -> Vec<f64> {
    let caps: Vec<f64> = shares.iter().map(|share| (pool * share).round().max(1.0)).collect();
    let all: f64 = caps.iter().sum();
    caps.iter().map(|cap| cap / all).collect()
}

pub(super) const RULE: Rule = Rule {
    code: ENTRY.code,
    summary: "groups keep more requests outstanding than BFQ lets them hold of its pool, and have none queued when they should be served",
    proof: "In each group that lost, requests waited at BFQ's cap, at least half of the time, while the pool had places and the group held as many as its cap; without all waiting for a CPU, which the end of such a wait may be, half of that is left, and three eighths of the time; and BFQ waited for the group during a quarter of its turns, by samples; no group that lost less than another waited more; and those that did not wait divided the rest by weight.",
    excluded: "No group that lost had requests waiting for a place, for whatever reason, during more than a twentieth of the time.",
    concerns: Measure::is_io,
    examine,
};

/// A group with requests waiting at its cap for less of the time is not held back by it.
const RARELY: f64 = 0.05;

/// A group with requests waiting at its cap for this part of the time has none queued when its turn comes.
const MOSTLY: f64 = 0.5;

/// In its turns a group without a queued request lets BFQ wait for this part of the time.
const IDLES: f64 = 0.25;

/// A group at its cap holds this part of it, on average over its waits.
const AT_CAP: f64 = 0.9;

fn examine(case: &Case<'_>) -> Option<Finding> {
    let disk = case.measured.disk.as_ref().ok().filter(|_| case.schedules)?;
    let waited = |group: usize| disk.groups[group].own_cap / disk.seconds;
    let (losers, winners) = (case.losers(), case.winners());
    let least = losers.iter().map(|group| waited(*group)).reduce(f64::min)?;
    // Of short waits, and of those that were mostly for a full pool, it is not known whether they were at the cap.
    let in_front = |group: usize| disk.groups[group].waiting_in_front() / disk.seconds;
    if losers.iter().all(|group| in_front(*group) < RARELY) {
        return Some(Finding::excluded(format!(
            "of the groups that lost, {} requests waited for a place on average",
            case.list(&losers, |group| format!("{:.2}", in_front(group)))
        )));
    }
    let figures = |group: usize| format!("{:.2}", waited(group));
    let free: Vec<usize> = (0..disk.groups.len()).filter(|group| waited(*group) < RARELY).collect();
    let fewer = winners.iter().all(|group| waited(*group) < least);
    let by_weight = free.len() < 2 || case.keep_proportions(&free);
    // Another limit of the scheduler, such as that of writes, holds a group back below its cap.
    let at_cap = case.caps.as_ref().is_some_and(|caps| {
        let held = |group: usize| disk.groups[group].held.unwrap_or(0.0);
        losers.iter().all(|group| held(*group) >= AT_CAP * caps[*group])
    });
    let idle = |group: usize| disk.groups[group].idle;
    let idles = disk.samples > 0.0 && losers.iter().all(|group| idle(*group) >= IDLES);
    let not_for_a_cpu =
        losers.iter().all(|group| is_left_without_cpu_waits(case, *group, waited(*group)));
    let evidence = format!(
        "on average so many requests waited at BFQ's cap while the pool had places: {}; of the groups that gained: {}",
        case.list(&losers, figures),
        case.list(&winners, figures)
    );
    let idle = case.list(&losers, |group| percent(idle(group)));
    let evidence =
        format!("{evidence}; part of its turns in which BFQ waited for the group: {idle}");
    Some(Finding::new(
        (least / MOSTLY).max(0.2),
        least >= MOSTLY
            && fewer
            && by_weight
            && at_cap
            && idles
            && not_for_a_cpu
            && !case.has_several_pools(),
        evidence,
    ))
}

/// Whether most of the waiting for a place remains where all of the group's waiting for a CPU is taken to have been
/// within it: a place was free, and the thread that got it had to wait for a CPU.
fn is_left_without_cpu_waits(case: &Case<'_>, group: usize, waited: f64) -> bool {
    let Ok(waits) = &case.measured.cpu else { return false };
    let left = waited - waits[group].mean();
    left >= (EXPLAINS * MOSTLY).max(0.5 * waited)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lightest_classes_merge_first_as_groups_multiply() {
        let shares = |groups: usize| -> Vec<f64> {
            let weights: Vec<f64> = [1.0, 2.0, 4.0, 8.0].into_iter().cycle().take(groups).collect();
            let all: f64 = weights.iter().sum();
            weights.iter().map(|weight| weight / all).collect()
        };
        let ratio = |groups| {
            let found = rounded(&shares(groups), 64.0);
            [found[1] / found[0], found[2] / found[0], found[3] / found[0]]
        };
        assert_eq!(ratio(16), [2.0, 4.0, 9.0]);
        assert_eq!(ratio(32), [1.0, 2.0, 4.0]);
    }

    #[test]
    fn a_sufficient_pool_covers_the_demand_of_the_lightest_group_and_one_more() {
        let binding = [
            Cap { group: 0, demand: 32.0, cap: 13.0, part: 12.8 },
            Cap { group: 1, demand: 32.0, cap: 26.0, part: 25.6 },
        ];
        assert_eq!(enough(&binding, 256.0), 650.0, "33 of which the lightest has 13 of 256");
    }
}
