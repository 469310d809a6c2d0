//! Causes of wrong shares of a disk under any scheduler: its pool of requests, the device's own queue, iocost, writes
//! that others are charged for, and too little demand.

use assay_host::facts::Hierarchy;
use assay_judge::queue::{Queue, is_measured};
use assay_judge::verdict::Strength;
use assay_judge::verdict::wording::{percent, some_of};
use assay_record::run_folder::WorkloadResult;
use assay_record::terms::Measure;

use super::fit::Fit;
use super::measured::GroupRequests;
use super::rules::{Case, EXPLAINS, Finding, NEGLIGIBLE, Rule};
use super::{CauseEntry, Examined, Expect, Outcome, PredictedEffect, Suspect, Symptom};

/// The scheduler's pool of requests is exhausted, and the next free request goes to
/// the first in line, before weights apply.
///
/// Known since 2012 (a051661ca6d1: once the shared pool is exhausted, proportional limits mean
/// nothing) and again since blk-mq (76f1df88bbc2, 5.17: a light group fills the pool, a heavy group
/// sleeps in tag allocation). Between the two, until 5.0, each group had a pool of its own. BFQ's remedy caps a group at its weight's part of the pool, which
/// rounds to nothing for light groups among many.
pub(super) const REQUEST_POOL: CauseEntry = CauseEntry {
    code: "C-REQUEST-POOL",
    what: "The scheduler's pool of requests is exhausted, and the next free one goes to the first in line, before weights apply.",
    fingerprint: "Groups x iodepth at least 0.9 of `nr_requests`, the mean queue at least 0.8 of it; the heaviest groups lose first (1:2:2:2, then all equal).",
    confirm: "Four times the requests (`nr_requests`), or a quarter of the iodepth: the number of groups where shares break grows by four, so that the error at this number vanishes.",
    tests: &["requests", "iodepth", "room"],
    // Nothing for `strict`: with one request in the device the others merge in the scheduler, which takes
    // tags from the pool too.
    effects: &[PredictedEffect::unrelated(&["longer", "rotational", "low-latency", "one-cpu"])],
    remedy: "Raise `nr_requests` above groups x iodepth, or lower the iodepth.",
    source: "a051661ca6d1 (2012), 76f1df88bbc2 (5.17); breaks at N* = P / d groups",
    ..CauseEntry::suspected(Suspect::Queue(request_pool))
};

/// Minimum demand of the workloads relative to the pool.
const WANTED: f64 = 0.9;

/// Minimum mean filling of the pool.
const FULL: f64 = 0.8;

/// Compares demand, pool and the mean queue.
fn request_pool(symptom: &Symptom<'_, '_>, queue: &Queue) -> Examined {
    let pool = queue.nr_requests.filter(|pool| *pool > 0.0);
    let pool = pool.ok_or("`nr_requests` was not recorded")?;
    let demand = queue.outstanding;
    let demand =
        demand.ok_or("not all workloads report how many requests they keep outstanding")?;
    let filled = queue.mean_queue.as_ref().ok().copied().or(queue.mean_in_flight());
    let filled = filled.ok_or("the length of the queue was not recorded")?;
    if demand < WANTED * pool || filled < FULL * pool {
        return Ok(Outcome::RuledOut(format!(
            "the workloads keep {demand} requests outstanding and {filled:.1} were in the queue, for a pool of {pool}"
        )));
    }
    let mut evidence = vec![
        format!(
            "the workloads keep {demand} requests outstanding, the pool of {} holds {pool}",
            queue.device
        ),
        format!("{filled:.1} of them were in use on average, {}", percent(filled / pool)),
    ];
    let strength = symptom.first_come_first_served().and_then(Fit::strength);
    let shares = symptom.promised();
    let least = shares.iter().copied().reduce(f64::min);
    let most = shares.iter().copied().reduce(f64::max);
    if let Some((least, most)) = least.zip(most) {
        if most > least * 1.001 {
            evidence.push(light_and_heavy(symptom, least, most, strength.is_some()));
        }
        if queue.is_bfq() && strength.is_some() {
            // BFQ's cap as it follows from the promise: each group's part of the pool.
            evidence.push(format!(
                "BFQ (since 5.17) caps a group at its weight's part of the pool: {:.1} requests for the lightest \
                 group, {:.1} for the heaviest",
                pool * least,
                pool * most
            ));
        }
    }
    let what = "the scheduler's pool of requests is exhausted, and requests are granted first come, first served, \
                regardless of weight";
    Ok(match strength {
        Some(strength) => Outcome::Fits(strength, what, evidence),
        None => Outcome::RuledOut(evidence.join("; ")),
    })
}

/// What the lightest and the heaviest groups got relative to their promise. An exhausted pool takes
/// from the heavy and gives to the light.
fn light_and_heavy(symptom: &Symptom<'_, '_>, least: f64, most: f64, fits: bool) -> String {
    let shares = symptom.promised();
    let served = |demand: f64| {
        let class = (0..shares.len()).filter(|group| (shares[*group] / demand - 1.0).abs() < 1e-9);
        let class: Vec<f64> = class.map(|group| symptom.times(group)).collect();
        class.iter().sum::<f64>() / class.len().max(1) as f64
    };
    let (light, heavy) = (served(least), served(most));
    let explains =
        if fits { "as this cause predicts" } else { "which this cause does not explain" };
    format!(
        "the heaviest groups got {heavy:.2} times and the lightest {light:.2} times what was promised, {explains}"
    )
}

pub(super) const POOL_RULE: Rule = Rule {
    code: REQUEST_POOL.code,
    summary: "the scheduler's pool of requests was exhausted, and requests are granted first come, first served, regardless of weight",
    proof: "In each group that lost, requests waited for a place in the full pool at least half of the time, and shares follow, in full or in part, the requests that the groups keep outstanding.",
    excluded: "All groups together waited for a place in the full pool during less than a twentieth of the time of their requests; on a disk with several hardware queues, whose pools fill one by one, also no group waited for a place for another reason.",
    concerns: Measure::is_io,
    examine: examine_pool,
};

/// Below this part of the time of all requests a wait for places moves no share by more than about that part.
const RARELY: f64 = 0.05;

fn examine_pool(case: &Case<'_>) -> Option<Finding> {
    let disk = case.measured.disk.as_ref().ok().filter(|_| case.schedules)?;
    let waited = |group: usize| disk.groups[group].pool_full / disk.seconds;
    let all: f64 = disk.groups.iter().map(GroupRequests::whole).sum();
    let of_all = disk.groups.iter().map(|group| group.pool_full).sum::<f64>() / all;
    let of_own =
        |group: &usize| disk.groups[*group].pool_full / disk.groups[*group].whole().max(1e-9);
    let nobody_waits =
        || disk.groups.iter().all(|group| group.waiting_in_front() < RARELY * disk.seconds);
    if of_all < RARELY
        && case.losers().iter().all(|group| of_own(group) < RARELY)
        && (!case.has_several_pools() || nobody_waits())
    {
        return Some(Finding::excluded(format!(
            "requests waited for a place in the full pool during {} of their time",
            percent(of_all)
        )));
    }
    let losers = case.losers();
    let blocked = !losers.is_empty() && losers.iter().all(|group| waited(*group) >= 0.5);
    let depths = case.depths.clone()?;
    let fit = Fit::from_shares(&case.seen, case.promised, &depths);
    let fits = fit.and_then(Fit::strength).is_some_and(|strength| strength > Strength::Weak);
    let evidence = format!(
        "requests waited for a place in the full pool during {} of their time; {}",
        percent(of_all),
        case.list(&losers, |group| format!("had {:.2} waiting for one on average", waited(group)))
    );
    let explained = if fits { fit.map_or(0.0, Fit::explained) } else { 0.5 };
    // Two groups lie on every line between the weights and the depths.
    let tests_the_law = case.seen.len() > 2;
    Some(Finding::new(explained, blocked && fits && tests_the_law, evidence))
}

/// The device takes all requests at once, and the scheduler has nothing to divide except what it holds back itself.
pub(super) const DEVICE_QUEUE: CauseEntry = CauseEntry {
    code: "C-DEVICE-QUEUE",
    what: "The device takes so many requests at once that nothing waits in the scheduler, and serves them in its own order.",
    fingerprint: "All requests outstanding fit into the device, and each group has, in full or in part, a share that follows its requests outstanding.",
    confirm: "`iosched/strict_guarantees` = 1 keeps one request in the device: shares return. Or more requests outstanding: weights act once groups x iodepth exceeds the device's depth.",
    tests: &["strict"],
    effects: &[
        PredictedEffect::vanishes(
            &["strict"],
            "weights act on all but the one request in the device",
        ),
        PredictedEffect {
            of: &["iodepth", "room"],
            expect: Expect::RISES,
            why: "weights act only if groups x iodepth exceeds the device's depth",
        },
        PredictedEffect::unrelated(&["longer", "requests", "rotational"]),
    ],
    remedy: "More requests outstanding a group, a smaller device queue (`device/queue_depth`), or `strict_guarantees`.",
    source: "Documentation/block/bfq-iosched.rst on devices that queue internally; SFQ(D), Jin, Chase and Kaur 2004",
    ..CauseEntry::suspected(Suspect::Queue(device_queue))
};

/// Compares the requests outstanding with the smallest depth of a device with this pool: with a
/// scheduler the pool is twice the depth of the device, up to 256 (blk_mq_init_sched).
fn device_queue(symptom: &Symptom<'_, '_>, queue: &Queue) -> Examined {
    if let Ok((strict, "1")) = symptom.attribute(queue, &["iosched/strict_guarantees"]) {
        return Ok(Outcome::RuledOut(format!(
            "`{strict}` reads 1: only one request at a time is in the device"
        )));
    }
    let known = queue.outstanding.zip(queue.nr_requests);
    let (demand, pool) =
        known.ok_or("`nr_requests` or what the workloads keep outstanding is not known")?;
    let depth = pool / 2.0;
    let device = &queue.device;
    if demand > depth {
        return Ok(Outcome::RuledOut(format!(
            "the workloads keep {demand} requests outstanding, and {device} takes about {depth} at once by the size \
             of its pool"
        )));
    }
    let shares = symptom.promised();
    let by_share = |a: &usize, b: &usize| shares[*a].total_cmp(&shares[*b]);
    let all = || 0..shares.len();
    let ends = all().min_by(by_share).zip(all().max_by(by_share));
    let (light, heavy) = ends.ok_or("no group is measured")?;
    let (light, heavy) = (symptom.times(light), symptom.times(heavy));
    let Some(strength) = symptom.first_come_first_served().and_then(Fit::strength) else {
        return Ok(Outcome::RuledOut(format!(
            "shares should follow the requests outstanding, but the heaviest and the lightest group got {heavy:.2} \
             and {light:.2} times what was promised"
        )));
    };
    let evidence = format!(
        "the workloads keep {demand} requests outstanding, and {device} takes about {depth} at once by the size of \
         its pool; the heaviest group got {heavy:.2} times and the lightest {light:.2} times what was promised"
    );
    let what = "the device takes all requests at once and serves them in its own order";
    // A full pool, or a scheduler that does not idle, gives the same shares.
    Ok(Outcome::Fits(strength.min(Strength::Fair), what, vec![evidence]))
}

pub(super) const DEVICE_RULE: Rule = Rule {
    code: DEVICE_QUEUE.code,
    summary: "the device took all requests at once and served them in its own order",
    proof: "All groups together had less than one request waiting in the scheduler on average, so that it never had a choice, three quarters of what they keep outstanding were in the device, and shares follow, in full or in part, the requests outstanding.",
    excluded: "Each group that lost had a request or more waiting in the scheduler on average, which served others.",
    concerns: Measure::is_io,
    examine: examine_device,
};

/// Part of the requests outstanding that are in the device if it takes all of them.
const IN_DEVICE: f64 = 0.75;

fn examine_device(case: &Case<'_>) -> Option<Finding> {
    let disk = case.measured.disk.as_ref().ok()?;
    let mean = |time: f64| time / disk.seconds;
    let sum = |of: fn(&GroupRequests) -> f64| mean(disk.groups.iter().map(of).sum());
    let (waiting, in_device) = (sum(|group| group.scheduler), sum(|group| group.device));
    let depths = case.depths.clone()?;
    let losers = case.losers();
    let had_choice =
        |group: &usize| mean(disk.groups[*group].scheduler) >= (0.25 * depths[*group]).max(1.0);
    let evidence = format!(
        "{waiting:.2} requests of all groups waited in the scheduler on average and {in_device:.1} were in the device, \
         of {} outstanding",
        depths.iter().sum::<f64>()
    );
    if !losers.is_empty() && losers.iter().all(had_choice) {
        let each = case.list(&losers, |group| format!("{:.1}", mean(disk.groups[group].scheduler)));
        let excluded = format!("{evidence}; of the groups that lost there waited {each}");
        return Some(Finding::excluded(excluded));
    }
    let fit = Fit::from_shares(&case.seen, case.promised, &depths)?;
    let fits = fit.strength().is_some_and(|strength| strength > Strength::Weak);
    let deep = in_device >= IN_DEVICE * depths.iter().sum::<f64>();
    let explained = if fits { fit.explained() } else { 0.5 };
    Some(Finding::new(explained, waiting < 1.0 && deep && fits, evidence))
}

/// iocost's model of the disk is wrong.
pub(super) const IOCOST: CauseEntry = CauseEntry {
    code: "C-IOCOST-MODEL",
    what: "iocost divides time that it computes from a model of the disk; where the model is wrong, time is not what the disk takes.",
    fingerprint: "iocost divides the disk (io.weight on cgroup v2 without bfq) and shares are broken; total throughput departs from its configuration.",
    confirm: "Another model (`io.cost.model`, rates times 4 and by 4) with `io.cost.qos` min = max: the error moves.",
    effects: &[PredictedEffect::SCHEDULER],
    remedy: "Measure the disk and write its model: `assay tune --iocost DISK` prints the line.",
    source: "Documentation/admin-guide/cgroup-v2.rst: io.cost.model; Heo et al., ASPLOS 2022",
    ..CauseEntry::suspected(Suspect::Queue(iocost_model))
};

fn iocost_model(symptom: &Symptom<'_, '_>, queue: &Queue) -> Examined {
    let mut knobs = symptom.subject.trial.groups.iter().flat_map(|group| &group.knobs);
    if !knobs.any(|knob| knob.obeyed_by.as_deref() == Some("iocost")) {
        return Ok(Outcome::Unconcerned);
    }
    let done =
        symptom.requests_per_s().map_or_else(|_| "?".to_owned(), |rate| format!("{rate:.0}"));
    let configured = match symptom.subject.configured_iops {
        Some(configured) => format!("was configured with {configured:.0} random reads a second"),
        None => "was not configured by this run".to_owned(),
    };
    let Some(strength) = symptom.first_come_first_served().and_then(Fit::strength) else {
        return Ok(Outcome::Open(format!(
            "iocost {configured}; {done} requests a second were done, but shares do not follow the requests \
             outstanding, as they would without throttling"
        )));
    };
    let evidence = format!(
        "iocost divides {} and {configured}; {done} requests a second were done",
        queue.device
    );
    let what = "iocost's model of the disk does not match the disk";
    Ok(Outcome::Fits(strength.min(Strength::Fair), what, vec![evidence]))
}

/// On cgroup v2 writeback belongs to the group that owns the inode, the one that
/// dirtied most of it recently; where groups write the same file, one of them is charged for all
/// (Documentation/admin-guide/cgroup-v2.rst, "Writeback").
pub(super) const FOREIGN_WRITES: CauseEntry = CauseEntry {
    code: "C-FOREIGN-WRITES",
    what: "On cgroup v2 writeback belongs to the group that owns the inode, and where groups write the same file one of them is charged for all.",
    fingerprint: "Workloads that write without O_DIRECT while `io` is on v2.",
    confirm: "A file for each group, or `direct = 1`: bytes appear in the groups that write them.",
    tests: &["direct"],
    effects: &[PredictedEffect::DIRECT],
    remedy: "One file for each group, or `direct = 1`.",
    source: "Documentation/admin-guide/cgroup-v2.rst, writeback: an inode is owned by its majority dirtier",
    ..CauseEntry::suspected(Suspect::Io(foreign_writes))
};

/// Examines buffered writers on v2; on v1 the validity check `buffered-writes` covers them.
fn foreign_writes(symptom: &Symptom<'_, '_>) -> Examined {
    let controller = symptom.subject.host.cgroup.controllers.get("io");
    if !matches!(controller.map(|io| &io.hierarchy), Some(Hierarchy::V2(_))) {
        return Ok(Outcome::Unconcerned);
    }
    let groups = symptom.subject.trial.groups.iter().filter(|group| is_measured(group));
    let buffered: Vec<String> = groups
        .flat_map(|group| &group.workloads)
        .filter(|workload| workload.io.writes && !workload.io.direct)
        .map(|workload| format!("`{}`", workload.name))
        .collect();
    if buffered.is_empty() {
        let why = "no measured workload writes through the page cache";
        return Ok(Outcome::RuledOut(why.to_owned()));
    }
    let text = format!("{} write through the page cache", some_of(&buffered, ", "));
    let own: Option<Vec<f64>> = symptom.names.iter().map(|name| written(symptom, name)).collect();
    let Some(own) = own else {
        return Ok(Outcome::Open(format!("{text}, and do not report how many bytes")));
    };
    if !is_charged_elsewhere(symptom, &own) {
        return Ok(Outcome::RuledOut(format!(
            "{text}, and each group is charged for about what its own workloads moved"
        )));
    }
    let nearer = "by the bytes that the workloads report the error is smaller than by those charged to the groups";
    let what = "what is written back is charged to the group that owns the file";
    Ok(Outcome::Fits(Strength::Fair, what, vec![text, nearer.to_owned()]))
}

/// Bytes reported by the workloads of a group.
fn written(symptom: &Symptom<'_, '_>, name: &str) -> Option<f64> {
    let results = symptom.repeat().record.workloads.iter().filter(|result| result.group == name);
    let bytes = |result: &WorkloadResult| {
        let of = |metric: &str| result.metrics.get(metric).copied();
        Some(of("read_bytes").unwrap_or(0.0) + of("write_bytes")?)
    };
    results.map(bytes).sum::<Option<f64>>().filter(|bytes| *bytes > 0.0)
}

/// Whether shares by the reported bytes are nearer to the promise than the measured ones.
fn is_charged_elsewhere(symptom: &Symptom<'_, '_>, own: &[f64]) -> bool {
    let all: f64 = own.iter().sum();
    let promised = symptom.promised();
    let off = |share: f64, group: usize| (share / promised[group] - 1.0).abs();
    let worst = |shares: &[f64], all: f64| {
        shares.iter().enumerate().map(|(group, share)| off(share / all, group)).fold(0.0, f64::max)
    };
    worst(own, all) < 0.5 * worst(&symptom.seen(), 1.0)
}

pub(super) const DEMAND_RULE: Rule = Rule {
    code: "C-DEMAND",
    summary: "a group requested less than it was promised, and weights cannot give it more",
    proof: "By the time that its requests took from the wish for a place to the completion, each group that lost kept fewer requests outstanding than it was to, by the margin, while its threads hardly waited for a CPU or for a place in the pool: only of a void promise, whose own check of demand failed. Of a broken one it contributes at most, since merged and held bios are in no sum.",
    excluded: "The requests that were not outstanding, as parts of what each group was to keep and up to what each loser lacks, are less than a tenth of all their losses, or of the margin.",
    concerns: Measure::is_io,
    examine: examine_demand,
};

fn examine_demand(case: &Case<'_>) -> Option<Finding> {
    let disk = case.measured.disk.as_ref().ok()?;
    let depths = case.depths.as_ref()?;
    let kept = |group: usize| disk.groups[group].whole() / disk.seconds;
    let missing = |group: usize| (1.0 - kept(group) / depths[group]).max(0.0);
    let groups = case.concerned();
    let figures =
        |group: usize| format!("kept {:.2} of {} requests outstanding", kept(group), depths[group]);
    let most = groups.iter().copied().max_by(|a, b| missing(*a).total_cmp(&missing(*b)))?;
    let mut shown = groups.clone();
    shown.sort_by(|a, b| missing(*b).total_cmp(&missing(*a)));
    let mut evidence = case.list(&shown, figures);
    let waited = cpu_wait(case, most);
    if let Some(waited) = waited {
        let name = &case.names[most];
        evidence +=
            &format!("; threads of `{name}` waited {} of their time for a CPU", percent(waited));
    }
    let explained = case.explained(missing);
    // Without a CPU a group cannot request anything, nor while its thread waits for a place: that is no lack of
    // demand.
    let little = NEGLIGIBLE.max(missing(most) * (1.0 - EXPLAINS));
    let of_its_own = waited.is_some_and(|waited| waited <= little)
        && groups.iter().all(|group| disk.groups[*group].in_front() <= little * disk.seconds)
        // Merged bios, those that `io.max` holds back and requests that still wait at the end are in no sum: only where
        // the check of the workload's own latency and rate failed as well is little outstanding little wanted.
        && case.disturbed;
    Some(Finding::new(explained, of_its_own, evidence))
}

/// The part of its threads' time that a group waited for a CPU; `None` where it is not known.
fn cpu_wait(case: &Case<'_>, group: usize) -> Option<f64> {
    let waits = case.measured.cpu.as_ref().ok()?;
    let threads = case.threads.as_ref()?;
    Some(waits[group].waited / (threads[group] * waits[group].seconds))
}
