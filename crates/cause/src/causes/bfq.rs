//! Causes in BFQ's own ways: settings that override weights, requests injected into the service of others, and what it
//! charges. Its cap of requests and its wakers have files of their own.

use assay_judge::estimates::Estimates;
use assay_judge::queue::Queue;
use assay_judge::subject::Subject;
use assay_judge::verdict::wording::percent;
use assay_judge::verdict::{ProofState, Strength};
use assay_record::terms::Measure;
use assay_stats::Grid;

use super::fit::Fit;
use super::rules::{Case, Finding, Rule};
use super::waker::{asks, by_injection};
use super::{CauseEntry, Examined, Expect, FoundBy, Outcome, PredictedEffect, Suspect, Symptom};

/// BFQ raises the weight of queues that it takes for interactive.
pub(super) const LOW_LATENCY: CauseEntry = CauseEntry {
    code: "C-LOW-LATENCY",
    what: "BFQ's low_latency raises the weight of queues that it considers interactive or soft real-time, up to thirty times, whatever weight was set.",
    fingerprint: "`iosched/low_latency` reads 1, and the largest error of the first half of the window is twice that of the second, or a few groups gained on all others, which keep their proportions.",
    confirm: "Set `iosched/low_latency` to 0: the error of the first seconds vanishes.",
    tests: &["low-latency"],
    effects: &[
        PredictedEffect::vanishes(&["low-latency"], "no queue's weight is raised"),
        PredictedEffect::unrelated(&["longer", "requests"]),
    ],
    remedy: "`queue = { \"iosched/low_latency\" = 0 }`.",
    source: "Documentation/block/bfq-iosched.rst, section 4-1",
    ..CauseEntry::suspected(Suspect::Bfq(low_latency))
};

/// Errors decrease if those of the first half are this many times those of the second.
const FALLS: f64 = 2.0;

/// low_latency raises queues for some seconds, so that errors decrease over time; raised queues
/// gain on all others, which keep their proportions.
fn low_latency(symptom: &Symptom<'_, '_>, queue: &Queue) -> Examined {
    let (name, value) = symptom.attribute(queue, &["iosched/low_latency"])?;
    if value != "1" {
        return Ok(Outcome::RuledOut(format!("`{name}` reads {value}")));
    }
    let grid = symptom.repeat().grid(symptom.measure).ok();
    let fell = grid.and_then(|grid| errors_of_halves(grid, symptom.numbers));
    let falls = fell.is_some_and(|(first, second)| first > FALLS * second);
    let strength = match (falls, a_few_gained(symptom.numbers)) {
        (true, true) => Strength::Strong,
        (true, false) | (false, true) => Strength::Fair,
        (false, false) => {
            return Ok(Outcome::Open(format!(
                "`{name}` reads 1, but errors do not decrease over time, and no minority of groups gained on \
                 others that keep their proportions"
            )));
        }
    };
    let what = "BFQ's low_latency raises the weight of queues that it considers interactive";
    let reads = format!(
        "`{name}` of {} reads 1 (the default); the kernel's document on BFQ says to unset it where weights are to decide",
        queue.device
    );
    let seen = match fell {
        Some((first, second)) => format!(
            "the largest error is {} in the first half of the window and {} in the second",
            percent(first),
            percent(second)
        ),
        None => "a few groups gained on all others".to_owned(),
    };
    Ok(Outcome::Fits(strength, what, vec![reads, seen]))
}

/// The largest error of any group in each half of the window.
fn errors_of_halves(grid: &Grid, numbers: &Estimates) -> Option<(f64, f64)> {
    let half = |from: usize, to: usize| {
        let (before, after) = (grid.row(from), grid.row(to));
        let got: Vec<f64> =
            after.iter().zip(before).map(|(after, before)| after - before).collect();
        let all: f64 = got.iter().sum();
        let error = |(got, share): (&f64, f64)| (got / all / share - 1.0).abs();
        let shares = numbers.promised();
        (all > 0.0).then(|| got.iter().zip(shares).map(error).fold(0.0, f64::max))
    };
    let middle = grid.steps / 2;
    Some((half(0, middle)?, half(middle, grid.steps)?))
}

/// BFQ does not wait for the next request of the group in service.
pub(super) const SLICE_IDLE: CauseEntry = CauseEntry {
    code: "C-SLICE-IDLE",
    what: "BFQ does not wait for the next request of the group in service, so that a group that needs a moment loses its service.",
    fingerprint: "`iosched/slice_idle` reads 0, and each group's share follows its requests outstanding.",
    confirm: "Set `iosched/slice_idle` to 8 (ms): shares return, at some cost in throughput.",
    tests: &["slice-idle"],
    effects: &[
        PredictedEffect::vanishes(&["slice-idle"], "the disk is held for the next request"),
        PredictedEffect::unrelated(&["longer", "requests"]),
    ],
    remedy: "`queue = { \"iosched/slice_idle\" = 8 }`.",
    source: "Documentation/block/bfq-iosched.rst: slice_idle 0 gives up service guarantees",
    ..CauseEntry::suspected(Suspect::Bfq(slice_idle))
};

/// Without idling, groups with more requests outstanding get more service.
fn slice_idle(symptom: &Symptom<'_, '_>, queue: &Queue) -> Examined {
    let (name, value) =
        symptom.attribute(queue, &["iosched/slice_idle_us", "iosched/slice_idle"])?;
    if value != "0" {
        return Ok(Outcome::RuledOut(format!("`{name}` reads {value}")));
    }
    let Some(strength) = symptom.first_come_first_served().and_then(Fit::strength) else {
        let why = format!("`{name}` reads 0, but shares do not follow the requests outstanding");
        return Ok(Outcome::Open(why));
    };
    let what = "without idling BFQ cannot hold the disk for a group whose next request is still on its way";
    Ok(Outcome::Fits(strength, what, vec![format!("`{name}` of {} reads 0", queue.device)]))
}

/// BFQ serves requests of another queue while it holds the disk for the one in
/// service.
///
/// To keep a fast disk busy while it idles, BFQ injects requests of the first other queue that has
/// some (`bfq_choose_bfqq_for_injection`, block/bfq-iosched.c). That service is charged to the injected
/// queue, but its timestamps are not looked at, and the favoured queue tends to stay the same.
/// `strict_guarantees` does not forbid it: a request is dispatched only when the device is empty, which
/// leaves hardly any occasion for it, at the price of one request at a time.
pub(super) const INJECTION: CauseEntry = CauseEntry {
    code: "C-INJECTION",
    what: "While BFQ holds the disk for one group it injects requests of another, whatever its weight.",
    fingerprint: "A minority of groups, often one light one, far above its promise, and all others in proportion among themselves; `iosched/strict_guarantees` reads 0.",
    confirm: "`iosched/strict_guarantees` = 1 leaves hardly any occasion for injection: the excess vanishes. Fewer requests outstanding reduce it.",
    tests: &["strict", "iodepth", "room"],
    effects: &[
        PredictedEffect::vanishes(
            &["strict"],
            "with one request in the device hardly any request is injected",
        ),
        PredictedEffect {
            of: &["iodepth", "room"],
            expect: Expect::FALLS,
            why: "fewer requests can be injected",
        },
        PredictedEffect::unrelated(&["longer", "requests", "rotational"]),
    ],
    remedy: "A smaller iodepth, or `strict_guarantees` = 1 where throughput does not matter.",
    source: "block/bfq-iosched.c: bfq_update_inject_limit, since 5.2",
    ..CauseEntry::suspected(Suspect::Bfq(injection))
};

/// A group that gained more than this stands out, whatever the promised margin.
const STANDS_OUT: f64 = 0.1;

/// Looks for the fingerprint: a few groups far above their promise, while all others divide the
/// rest as promised. If the others do not, the suspicion is weak.
fn injection(symptom: &Symptom<'_, '_>, queue: &Queue) -> Examined {
    let (name, value) = symptom.attribute(queue, &["iosched/strict_guarantees"])?;
    if value != "0" {
        return Ok(Outcome::RuledOut(format!("`{name}` reads {value}")));
    }
    let within = symptom.promise.within;
    let Some(found) = Fingerprint::find(symptom.numbers, within) else {
        return Ok(Outcome::Open(format!(
            "`{name}` reads 0, but no minority of groups stands out above others that keep their proportions; a run \
             with 1 would decide"
        )));
    };
    let lucky = found.lucky.iter().map(|group| {
        let times = symptom.times(*group);
        format!("`{}` got {times:.1} times its promise", symptom.names[*group])
    });
    let evidence = vec![
        format!(
            "{}, and the others divided the rest as promised, off by at most {}",
            lucky.collect::<Vec<_>>().join(", "),
            percent(found.worst_of_others)
        ),
        format!("`{name}` of {} reads 0, which allows injection", queue.device),
        "to test it: run once with `\"iosched/strict_guarantees\" = 1`, which leaves hardly any occasion for it \
         and costs throughput, or with fewer requests outstanding"
            .to_owned(),
    ];
    let what = "while BFQ holds the disk for one group it injects requests of another, regardless of weight";
    Ok(Outcome::Fits(found.strength(within), what, evidence))
}

/// Whether a few groups stand out above others that keep their proportions.
pub(super) fn a_few_gained(numbers: &Estimates) -> bool {
    Fingerprint::find(numbers, STANDS_OUT)
        .is_some_and(|fingerprint| fingerprint.strength(STANDS_OUT) > Strength::Weak)
}

/// The groups that got too much, and the largest error of the others among themselves.
struct Fingerprint {
    lucky: Vec<usize>,
    worst_of_others: f64,
}

impl Fingerprint {
    fn find(numbers: &Estimates, within: f64) -> Option<Self> {
        let seen: Vec<f64> = numbers.shares().collect();
        let expected: Vec<f64> = numbers.promised().collect();
        let (lucky, others): (Vec<usize>, Vec<usize>) =
            (0..seen.len()).partition(|group| seen[*group] > expected[*group] * (1.0 + within));
        // A minority, and enough others for their proportions to be meaningful.
        if lucky.is_empty() || lucky.len() * 2 >= seen.len() || others.len() < 2 {
            return None;
        }
        let sum = |shares: &[f64]| others.iter().map(|group| shares[*group]).sum::<f64>();
        let (got, promised) = (sum(&seen), sum(&expected));
        let worst_of_others = others
            .iter()
            .map(|group| (seen[*group] / got / (expected[*group] / promised) - 1.0).abs())
            .fold(0.0, f64::max);
        Some(Self { lucky, worst_of_others })
    }

    /// A group next to whose requests others are injected gains as well, and groups that get
    /// nothing meanwhile lose their proportions: then only the few outliers remain as evidence.
    fn strength(&self, within: f64) -> Strength {
        if self.worst_of_others <= within { Strength::Fair } else { Strength::Weak }
    }
}

pub(super) const INJECTION_RULE: Rule = Rule {
    code: INJECTION.code,
    summary: "while BFQ held the disk for one group it injected requests of another, regardless of weight",
    proof: "Of each group that gained, requests issued in the service of groups that are not its partners and whose `inject_limit` was above 0, beyond the part that all groups have at the ends of turns, are three quarters of what it gained, and its share of the time in service is lower than its share by as much. Every loser kept half of its requests outstanding and waited for no place.",
    excluded: "Requests issued in the service of groups that are no partners, those at the ends of turns included, are less than a tenth of all gains; or `inject_limit` was 0 in all turns.",
    concerns: Measure::is_io,
    examine: examine_injection,
};

fn examine_injection(case: &Case<'_>) -> Option<Finding> {
    let disk = case.measured.disk.as_ref().ok()?;
    // blk-mq collects several dispatches before it issues them: some of each turn are issued in the next one.
    let mut parts: Vec<f64> = disk
        .groups
        .iter()
        .map(|group| group.injected_otherwise / group.requests.max(1.0))
        .collect();
    parts.sort_by(f64::total_cmp);
    let usual = parts[parts.len().div_ceil(2) - 1];
    let injected = |group: usize| {
        let of = &disk.groups[group];
        (of.injected_by_limit / of.requests.max(1.0) - usual).max(0.0) * case.seen[group]
    };
    // The usual part may be injection as well.
    let at_most = |group: usize| {
        let of = &disk.groups[group];
        let part = if disk.injects { of.injected_otherwise / of.requests.max(1.0) } else { 0.0 };
        part * case.seen[group]
    };
    let asked = case.losers().iter().all(|group| asks(case, *group));
    by_injection(case, "of groups that are no partners of it", injected, at_most, asked)
}

/// BFQ charges slow queues for time instead of sectors (`bfq_bfqq_charge_time`,
/// block/bfq-iosched.c of 6.1 to 7.3): those whose turn took more than 20 ms and less than half of the
/// largest budget, and those whose turn timed out with a third of their budget left. Random requests do
/// that, on a disk of any kind; only on one that does not rotate requests of 32 KiB count as sequential.
pub(super) const SEEKY: CauseEntry = CauseEntry {
    code: "C-SEEKY",
    what: "BFQ charges queues whose turns are slow (more than 20 ms for less than half of the largest budget, or timed out) time instead of sectors, so that shares are shares of time. Random requests do that most on a disk that counts as rotational, small ones on any.",
    fingerprint: "Groups with small random requests lost to others, and `queue/rotational` reads 1 (loop devices do by default) or these requests are below 32 KiB.",
    confirm: "Set `queue/rotational` to 0: shares of bytes return where this was the cause and random requests are of 32 KiB or more. Smaller ones count as random on any disk: make all groups' requests alike.",
    tests: &["rotational"],
    effects: &[
        PredictedEffect::vanishes(
            &["rotational"],
            "random requests of 32 KiB or more count as sequential",
        ),
        PredictedEffect::unrelated(&["longer", "requests"]),
    ],
    remedy: "`queue = { rotational = 0 }` for a disk that is not rotational, and random requests of 32 KiB or more.",
    source: "block/bfq-iosched.c: bfq_bfqq_expire, bfq_bfqq_is_slow, bfq_bfqq_charge_time, BFQ_RQ_SEEKY (BFQQ_SECT_THR_NONROT, 64 sectors)",
    ..CauseEntry::suspected(Suspect::Bfq(seeky))
};

/// Bytes that a disk reads sequentially in the time of one seek, roughly.
const LONG_RUN: f64 = 1_048_576.0;

/// Random requests below this size count as such on a disk of any kind (`BFQQ_SECT_THR_NONROT`).
const SMALL: u64 = 32 << 10;

/// Required part of the errors with the predicted sign, weighted by their size.
const AGREES: f64 = 0.8;

/// Examines `rotational` and the kind of I/O under BFQ.
fn seeky(symptom: &Symptom<'_, '_>, queue: &Queue) -> Examined {
    let (_, value) = symptom.attribute(queue, &["rotational"])?;
    let subject = symptom.subject;
    if value == "0" && !has_small_random_requests(subject) {
        let why =
            "`rotational` reads 0, and no group is known to have random requests below 32 KiB";
        return Ok(Outcome::RuledOut(why.to_owned()));
    }
    let part = |(name, share): (&String, f64)| Some(share * bytes_in_time(subject, name)?);
    let predicted: Option<Vec<f64>> =
        symptom.names.iter().zip(symptom.promised()).map(part).collect();
    let fit = predicted.and_then(|predicted| symptom.fit(&predicted));
    if !fit.is_some_and(|fit| fit.agreeing() >= AGREES) {
        return Ok(Outcome::RuledOut(format!(
            "`rotational` reads {value}, but the groups with small random requests are not those that lost"
        )));
    }
    let evidence = format!(
        "`rotational` of {} reads {value}, and the groups with small random requests are those that lost",
        queue.device
    );
    let what = "BFQ charges groups with small random requests time instead of bytes";
    Ok(Outcome::Fits(Strength::Weak, what, vec![evidence]))
}

fn has_small_random_requests(subject: &Subject<'_>) -> bool {
    let all = subject.trial.groups.iter().flat_map(|group| &group.workloads);
    let mut random = all.filter(|workload| !workload.io.sequential);
    random.any(|workload| workload.io.block_size.is_some_and(|size| size < SMALL))
}

/// Bytes that a rotational disk moves for a group in a fixed time, as far as its workloads are
/// known: one long run of sectors, or one request between two seeks.
fn bytes_in_time(subject: &Subject<'_>, name: &str) -> Option<f64> {
    let group = subject.trial.groups.iter().find(|group| group.name == name)?;
    let each = group.workloads.iter().map(|workload| match workload.io.sequential {
        true => Some(LONG_RUN),
        false => Some((workload.io.block_size? as f64).min(LONG_RUN)),
    });
    each.reduce(|one, other| Some(one?.min(other?)))?
}

/// BFQ's lock is the bottleneck on a faster device.
pub(super) const CEILING: CauseEntry = CauseEntry {
    code: "C-SCHEDULER-CEILING",
    what: "The scheduler's lock is the bottleneck: BFQ handles a few hundred thousand requests a second, whatever the device does.",
    fingerprint: "More than 200 000 requests a second in total under BFQ, and each group's share follows its requests outstanding.",
    confirm: "A slower device (null_blk with `iops`), or larger requests: shares return.",
    tests: &["slower"],
    effects: &[PredictedEffect::SLOWER_DISK, PredictedEffect::unrelated(&["requests"])],
    remedy: "Larger requests, or iocost instead of BFQ on devices this fast.",
    source: "Documentation/block/bfq-iosched.rst: 400, 250 and 80 thousand requests a second on three CPUs",
    ..CauseEntry::suspected(Suspect::Bfq(ceiling))
};

/// Half of what BFQ's documentation states for the fastest CPU measured.
const MANY: f64 = 200_000.0;

/// Examines the total request rate under BFQ.
fn ceiling(symptom: &Symptom<'_, '_>, _: &Queue) -> Examined {
    let rate = symptom.requests_per_s()?;
    if rate < MANY {
        return Ok(Outcome::RuledOut(format!("{rate:.0} requests a second in total")));
    }
    let Some(strength) = symptom.first_come_first_served().and_then(Fit::strength) else {
        return Ok(Outcome::Open(format!(
            "{rate:.0} requests a second, in all, but shares do not follow the requests outstanding"
        )));
    };
    let evidence = vec![format!("{rate:.0} requests a second in total under BFQ")];
    let what = "the scheduler's lock is slower than the disk";
    Ok(Outcome::Fits(strength.min(Strength::Fair), what, evidence))
}

/// BFQ keeps the disk for a group that has nothing queued, while requests of others wait.
///
/// A group that pauses for less than `slice_idle` (8 ms) between its requests keeps its turn: BFQ waits with a timer
/// (`bfq_better_to_idle`, block/bfq-iosched.c), since a group that lost its turn after each request would get no more
/// than a request a round. Such a group takes the time of the disk and hardly uses it.
pub(super) const GROUP_IDLE: CauseEntry = CauseEntry {
    code: "C-GROUP-IDLE",
    what: "BFQ kept the disk for a group that had nothing queued, while requests of others waited.",
    fingerprint: "By the kernel's own record the timer with which BFQ waits for a request ran during most of the service of one group, and requests of the others waited in the scheduler.",
    confirm: "More requests outstanding in that group, or a lower rate than one in each `slice_idle`: the others get what they are promised of what is left.",
    remedy: "Let the group keep requests queued, give it a smaller weight, or set `iosched/slice_idle` = 0, with which weights no longer hold for groups that pause.",
    source: "block/bfq-iosched.c: bfq_better_to_idle; Documentation/block/bfq-iosched.rst, slice_idle",
    ..CauseEntry::found_by(FoundBy::Observed)
};

pub(super) const IDLE_RULE: Rule = Rule {
    code: GROUP_IDLE.code,
    summary: "BFQ kept the disk for a group that had nothing queued, while requests of others waited",
    proof: "During a part of the time that is three quarters of what each group that lost lacks, BFQ waited with its timer for requests of other groups, by samples, without the time in which threads of these waited for a CPU; each group that lost had a request or more waiting in the scheduler; and the group for which BFQ waited most had no partner.",
    excluded: "That part, up to what each loser lacks, is less than a tenth of all their losses.",
    concerns: Measure::is_io,
    examine: examine_idle,
};

/// A disk that is kept for one group during this part of the time is not itself.
const MOSTLY: f64 = 0.5;

/// A group that is bonded to others during this part of its service gains and loses by them.
const BONDED: f64 = 0.1;

fn examine_idle(case: &Case<'_>) -> Option<Finding> {
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
