//! Causes of wrong shares and limits of CPU time, but for threads that are spread unevenly.

use assay_host::facts::{Available, HostFacts};
use assay_host::knob::{Contender, Threads, WeightMode};
use assay_judge::cpus::Shared;
use assay_judge::repeat::Repeat;
use assay_judge::verdict::wording::{percent, some_of};
use assay_judge::verdict::{ProofState, Strength};
use assay_record::run_folder::{RepeatRecord, knob_value};
use assay_record::terms::Measure;

use super::fit::Fit;
use super::per_cpu::{PerCpu, Without};
use super::rules::{Case, Explained, Finding, NEGLIGIBLE, Rule};
use super::{CauseEntry, Examined, Expect, Outcome, PredictedEffect, Suspect, Symptom};

/// The scheduler counts a group's weight as often as the group has runnable threads, which Linux 7.3 does
/// unless `cgroup_mode` says otherwise. The law is `assay_host::knob::WeightMode`.
pub(super) const WEIGHT_MODE: CauseEntry = CauseEntry {
    code: "C-WEIGHT-MODE",
    what: "The scheduler counts a weight as often as the group has runnable threads, and not once for the group.",
    fingerprint: "`cgroup_mode` is not `smp` (on Linux 7.3 it is `concur`), groups have unequal numbers of threads, and shares are nearer to weight x min(threads, CPUs) than to the weights.",
    confirm: "`cgroup_mode` smp, the law of older kernels: the error vanishes. `assay diagnose` sets it in a guest of the lab only, since the kernel patches its code for that; elsewhere the cause stays suspected.",
    tests: &["weight-mode"],
    effects: &[PredictedEffect::vanishes(
        &["weight-mode"],
        "with `smp` a weight counts once, whatever the number of threads",
    )],
    remedy: "Weights divided by the CPUs that each group keeps busy; as many threads in each group; or `sysctls = { \"sched.cgroup_mode\" = \"smp\" }`.",
    source: "kernel/sched/fair.c of 7.3: calc_concur_shares, tg_tasks; docs/findings/cpu-weight-threads",
    ..CauseEntry::suspected(Suspect::Cpus(weight_mode))
};

/// Compares the shares with those of the mode that ran.
fn weight_mode(symptom: &Symptom<'_, '_>, shared: &Shared) -> Examined {
    let (host, record) = (symptom.subject.host, symptom.repeat().record);
    let (mode, is_known) = mode(host, record);
    let by = if is_known { "" } else { ", by the release of the kernel" };
    if mode == WeightMode::Smp {
        return Ok(Outcome::RuledOut(format!("each weight counts once (`{mode}`{by})")));
    }
    if symptom.names.iter().any(|name| name.contains('/')) {
        return Err("groups inside groups are not in its law".to_owned());
    }
    let by_weight = symptom.numbers.by_weight().collect::<Vec<f64>>();
    let contender = |(name, weight): (&String, f64)| {
        Some(Contender {
            weight,
            threads: Threads::Free(f64::from(*shared.threads.get(name)?)),
            cpus: counted_cpus(host, record, name, shared),
        })
    };
    let groups: Option<Vec<Contender>> =
        symptom.names.iter().zip(by_weight).map(contender).collect();
    let groups = groups.ok_or("the threads of a group are not known")?;
    let fits = mode.divide(shared.count(), &groups).into_iter().filter_map(|predicted| {
        let fit = symptom.fit(&predicted)?;
        Some((fit, fit.strength()?, predicted))
    });
    let best = fits.max_by(|one, other| one.0.explained().total_cmp(&other.0.explained()));
    let Some((fit, strength, predicted)) = best else {
        return Ok(Outcome::RuledOut(format!(
            "what `{mode}` makes of weights and threads does not explain the shares"
        )));
    };
    let all: f64 = predicted.iter().sum();
    let each = symptom.names.iter().zip(&predicted).zip(symptom.seen());
    let each = each.map(|((name, part), seen)| {
        format!("`{name}`: {} by this law, {} measured", percent(part / all), percent(seen))
    });
    let explained = percent(fit.explained());
    let evidence = vec![
        format!("`cgroup_mode` is `{mode}`{by}; that explains {explained} of the error"),
        some_of(&each.collect::<Vec<_>>(), "; "),
    ];
    let what = "the scheduler counts each weight by runnable threads";
    Ok(Outcome::Fits(strength, what, evidence))
}

/// The mode in this repeat: as the study has set it, or as it was found.
fn mode(host: &HostFacts, record: &RepeatRecord) -> (WeightMode, bool) {
    let set = record.settings.iter().find(|one| one.setting == assay_host::knob::WEIGHT_MODE);
    WeightMode::of_host(Some(set.map_or(&host.weight_mode, |one| &one.at_start)), &host.kernel)
}

/// The CPUs by which the kernel bounds what it counts of a group: those of its cpuset on cgroup v2, or else of the machine.
fn counted_cpus(host: &HostFacts, record: &RepeatRecord, group: &str, shared: &Shared) -> f64 {
    let is_v2 = ["cpu", "cpuset"].iter().all(|name| host.cgroup.is_on_v2(name));
    match record.cpus.get(group) {
        Some(Available::Value(_)) if is_v2 => shared.count(),
        _ => host.cpus.online.len() as f64,
    }
}

/// A group has too few threads for its weight, so that the weights alone promise what
/// no scheduler can give (Chandra, Adler, Goyal and Shenoy 2000).
pub(super) const INFEASIBLE: CauseEntry = CauseEntry {
    code: "C-INFEASIBLE",
    what: "A group has too few threads for its weight, and no scheduler can give it more CPUs than it has threads.",
    fingerprint: "The weight's part of the CPUs is more than the group's threads, and shares are nearer to the weights than to the promise, which is the max-min fair division instead.",
    confirm: "As many threads in each group as there are CPUs: shares follow the weights alone.",
    tests: &["one-cpu"],
    effects: &[PredictedEffect::ONE_CPU],
    remedy: "More threads in the heavy groups, or fewer CPUs (`cpuset.cpus`).",
    source: "Chandra, Adler, Goyal and Shenoy 2000: infeasible weights",
    ..CauseEntry::suspected(Suspect::Cpu(infeasible))
};

/// Lists the groups whose weight exceeds what their threads can use. The promise already allows for
/// it, so it explains a deviation from the weights, and only weakly one from the promise.
fn infeasible(symptom: &Symptom<'_, '_>) -> Examined {
    let by_weight = symptom.numbers.by_weight().collect::<Vec<f64>>();
    let each = symptom.names.iter().zip(&by_weight).zip(symptom.promised());
    let few: Vec<String> = each
        .zip(symptom.seen())
        .filter(|(((_, weighed), share), _)| *weighed > share)
        .map(|(((name, weighed), share), seen)| {
            let (weighed, share, seen) = (percent(*weighed), percent(share), percent(seen));
            format!("`{name}`: {weighed} by weight, {share} for its threads, {seen} measured")
        })
        .collect();
    if few.is_empty() {
        let why = "every group has enough threads for its weight";
        return Ok(Outcome::RuledOut(why.to_owned()));
    }
    let few = some_of(&few, "; ");
    let Some(strength) = symptom.fit(&by_weight).and_then(Fit::strength) else {
        return Ok(Outcome::Open(format!("the promise already allows for it: {few}")));
    };
    Ok(Outcome::Fits(strength, "a group has too few threads for its weight", vec![few]))
}

/// A CPU may use up to a millisecond of its unused quota slice in the next period
/// (Documentation/scheduler/sched-bwc.rst), so a group may exceed its quota by that much for each
/// CPU and period.
pub(super) const QUOTA_BURST: CauseEntry = CauseEntry {
    code: "C-QUOTA-BURST",
    what: "Each CPU may carry up to a millisecond of unused quota into the next period, so that a group may use a little more than its quota.",
    fingerprint: "A group above its quota by no more than a millisecond for each CPU and period.",
    confirm: "A longer period (`cpu.max` with 500 ms): the excess falls in proportion.",
    tests: &["one-cpu"],
    effects: &[PredictedEffect {
        of: &["one-cpu"],
        expect: Expect::FALLS,
        why: "one CPU carries less than two",
    }],
    remedy: "A longer period, fewer CPUs, or a margin that allows for it.",
    source: "Documentation/scheduler/sched-bwc.rst: slices of unused runtime expire no longer since 5.4",
    ..CauseEntry::suspected(Suspect::Quota(quota_burst))
};

/// Seconds that a CPU may carry over to the next period (min_cfs_rq_runtime).
const CARRIED_S: f64 = 0.001;

/// Default period of the kernel in seconds.
const USUAL_PERIOD_S: f64 = 0.1;

/// Examines the group that exceeds its quota most.
fn quota_burst(symptom: &Symptom<'_, '_>, knob: &str) -> Examined {
    let (subject, repeat) = (symptom.subject, symptom.repeat());
    let (seen, promised) = (symptom.seen(), symptom.promised());
    let above = |group: &usize| seen[*group] - promised[*group];
    let most = (0..seen.len()).max_by(|a, b| above(a).total_cmp(&above(b)));
    let shared = Shared::in_repeat(subject.host, subject.trial, repeat.record).ok().flatten();
    let known = most.zip(shared).ok_or("the CPUs of the groups are not known")?;
    let (most, shared) = known;
    let name = &symptom.names[most];
    let period = period_s(repeat, name, knob).unwrap_or(USUAL_PERIOD_S);
    let carried = shared.count() * CARRIED_S / period;
    let text = format!(
        "`{name}` used {:.4} CPUs more than its quota; {} may carry {carried:.4} over the end of each period of {:.0} ms",
        above(&most),
        shared.label(),
        period * 1e3
    );
    if above(&most) > 1.1 * carried {
        return Ok(Outcome::RuledOut(text));
    }
    let what = "each CPU carries unused quota over the end of a period";
    Ok(Outcome::Fits(Strength::Fair, what, vec![text]))
}

/// The period of a group's quota: from its own file on v1, the second word on v2.
fn period_s(repeat: &Repeat<'_>, group: &str, knob: &str) -> Option<f64> {
    let reading = knob_value::find(repeat.record, group, knob)?;
    let text = match (reading.also.get("cpu.cfs_period_us"), &reading.at_start) {
        (Some(Available::Value(period)), _) => period.trim(),
        (_, Available::Value(both)) => both.split_whitespace().nth(1)?,
        _ => return None,
    };
    text.parse::<f64>().ok().filter(|us| *us > 0.0).map(|us| us * 1e-6)
}

/// Proven by waiting for CPUs of groups that share a disk, and that kept fewer requests outstanding for it.
pub(super) const CONTENTION_RULE: Rule = Rule {
    code: "C-CPU",
    summary: "the CPUs were saturated: they, and not the disk, limited the groups",
    proof: "Threads of each group that lost waited for a CPU, neither for their quota nor while the hypervisor had it, during a part of their time that exceeds the mean of the groups that did not lose by three quarters of what the group lacks; the group had so many requests fewer outstanding, and the others divided the rest by weight. Of a void promise: that part exceeds the margin in some group.",
    excluded: "That part, up to what each loser lacks, is less than a tenth of all their losses. Of a void promise never: the check has seen that the CPUs were saturated, and a kernel thread that fetches the data waits in no group.",
    concerns: Measure::is_io,
    examine: examine_contention,
};

/// A group that waits for CPUs instead of the disk lacks requests, at least this part of what it lacks of its promise.
const DRAINED: f64 = 0.5;

fn examine_contention(case: &Case<'_>) -> Option<Finding> {
    let waits = case.measured.cpu.as_ref().ok()?;
    let threads = case.threads.as_ref()?;
    let part = |group: usize| waits[group].contended() / (threads[group] * waits[group].seconds);
    let drained = case.disturbed || case.rest_is_by_weight() && drained(case).unwrap_or(false);
    let groups = case.concerned();
    // Of a wait of unknown class it is not known whether it was for a quota.
    let by_quota = case.has_throttled && groups.iter().any(|group| waits[*group].is_doubtful);
    let most = groups.iter().copied().max_by(|a, b| part(*a).total_cmp(&part(*b)))?;
    let mut evidence = format!(
        "threads of `{}` waited {:.2} s for a CPU, {} of their time",
        case.names[most],
        waits[most].contended(),
        percent(part(most))
    );
    if let Some((name, time)) = waits[most].foreign.first() {
        let of_all = time / waits[most].contended().max(f64::MIN_POSITIVE);
        evidence += &format!(", {} of it while {name} ran", percent(of_all));
    }
    if case.disturbed {
        let found = Finding::new(case.explained(part), !by_quota, evidence);
        // The check has seen what no group's waiting shows, such as the worker of a loop device that kept a CPU busy.
        return Some(found).filter(|found| found.state != ProofState::Excluded);
    }
    // What all wait for alike moves no share.
    let rest = case.rest();
    let usual = rest.iter().map(|group| part(*group)).sum::<f64>() / rest.len().max(1) as f64;
    let lack = |group: usize| {
        format!("lacks {} and waited {}", percent(case.lack(group)), percent(part(group)))
    };
    evidence += &format!("; {}; the others waited {}", case.list(&groups, lack), percent(usual));
    let beyond = case.explained(|group| (part(group) - usual).max(0.0));
    let explained = Explained { least: beyond.least, ..case.explained(part) };
    Some(Finding::new(explained, drained && !by_quota, evidence))
}

/// Whether all losers kept fewer requests outstanding than they were to; `None` without figures.
fn drained(case: &Case<'_>) -> Option<bool> {
    let disk = case.measured.disk.as_ref().ok()?;
    let depths = case.depths.as_ref()?;
    let kept = |group: usize| disk.groups[group].whole() / disk.seconds / depths[group];
    Some(case.losers().into_iter().all(|group| 1.0 - kept(group) >= DRAINED * case.lack(group)))
}

/// Proven by waiting while something else ran than groups of the study.
///
/// Of a single CPU others take from all groups alike. Of several they take from the groups whose threads are there.
pub(super) const OTHERS_RULE: Rule = Rule {
    code: "C-CPU-OTHERS",
    summary: "processes outside the groups used the CPUs that the groups were to divide",
    proof: "Threads waited while processes outside of the groups, kernel threads or interrupts ran; weights kept on each CPU, with what these took, give three quarters of the errors; and a quarter or less is left of them without these. Of a void promise: they took more than the margin from the threads of some group.",
    excluded: "The errors are the same without them, and by the host's counters they used hardly any CPU time, less than a tenth of the margin: threads that move away from others hardly wait for them. Of a void promise never.",
    concerns: Measure::is_cpu,
    examine: examine_others,
};

fn examine_others(case: &Case<'_>) -> Option<Finding> {
    let waits = case.measured.waits_by_class()?;
    let threads = case.threads.as_ref()?;
    let part = |group: usize| waits[group].foreign_s() / (threads[group] * waits[group].seconds);
    let most = (0..waits.len()).max_by(|a, b| part(*a).total_cmp(&part(*b)))?;
    let culprit = waits[most].foreign.first().map_or("nothing", |(name, _)| name);
    let evidence = format!(
        "threads of `{}` waited {:.2} s while others ran, {} of their time and {} of all their waiting, \
         mostly for {culprit}",
        case.names[most],
        waits[most].foreign_s(),
        percent(part(most)),
        percent(waits[most].foreign_s() / waits[most].waited.max(f64::MIN_POSITIVE)),
    );
    let found = match case.disturbed {
        true => Finding::new(case.explained(part), true, evidence),
        false => PerCpu::new(case)?.judge(case, Without::Others, &evidence)?,
    };
    // Half of the CPUs may be theirs while hardly anyone waits for them: the groups' threads wait elsewhere.
    let used = case.others.unwrap_or(1.0);
    let absent = !case.disturbed && used <= NEGLIGIBLE * case.within;
    Some(found).filter(|found| absent || found.state != ProofState::Excluded)
}

/// Proven by waiting while the quota of a group, or of one above it, was used up.
pub(super) const QUOTA_RULE: Rule = Rule {
    code: "C-CPU-QUOTA",
    summary: "a CPU quota bound, so that it and not the weights decided",
    proof: "Threads waited while a quota was used up; weights kept on each CPU, without the threads that it held back, give three quarters of the errors; and a quarter or less is left of them without quotas. Of a void promise: a quota held the threads of some group back during more of their time than the margin.",
    excluded: "No thread waited for a quota, or the errors are the same without, or it was less than a tenth of the margin.",
    concerns: Measure::is_cpu,
    examine: examine_quota,
};

fn examine_quota(case: &Case<'_>) -> Option<Finding> {
    let waits = case.measured.waits_by_class()?;
    let threads = case.threads.as_ref()?;
    let part = |group: usize| waits[group].quota / (threads[group] * waits[group].seconds);
    let held: Vec<usize> = (0..waits.len()).filter(|group| waits[*group].quota > 0.0).collect();
    if held.is_empty() {
        let none = "no thread of any group waited for a quota".to_owned();
        return Some(Finding::excluded(none));
    }
    let evidence = case.list(&held, |group| {
        format!(
            "waited {:.2} s for a quota, {} of its threads' time",
            waits[group].quota,
            percent(part(group))
        )
    });
    match case.disturbed {
        true => Some(Finding::new(case.explained(part), true, evidence)),
        false => PerCpu::new(case)?.judge(case, Without::Quotas, &evidence),
    }
}
