//! C-WEIGHT-MODE: the scheduler counts a group's weight as often as the group has runnable threads, which Linux 7.3 does
//! unless `cgroup_mode` says otherwise. The law is `assay_knob::WeightMode`.

use assay_facts::{Available, HostFacts};
use assay_knob::{Contender, Threads, WEIGHT_MODE, WeightMode};
use assay_run_folder::RepeatRecord;
use assay_verdict::Cause;
use assay_verdict::causes::{CauseEntry, Expect, FoundBy, PredictedEffect};
use assay_verdict::wording::{percent, some_of};

use super::Suspicion;
use super::fit::Fit;
use crate::cpus::Shared;
use crate::estimates::Estimates;

pub(super) const ENTRY: CauseEntry = CauseEntry {
    code: "C-WEIGHT-MODE",
    what: "The scheduler counts a weight as often as the group has runnable threads, and not once for the group.",
    found_by: FoundBy::Suspicion,
    fingerprint: "`cgroup_mode` is not `smp` (on Linux 7.3 it is `concur`), groups have unequal numbers of threads, and shares are nearer to weight x min(threads, CPUs) than to the weights.",
    confirm: "`cgroup_mode` smp, the law of older kernels: the error vanishes. `assay explain` sets it in a guest of the lab only, since the kernel patches its code for that; elsewhere the cause stays suspected.",
    tests: &["weight-mode"],
    effects: &[PredictedEffect {
        of: &["weight-mode"],
        expect: Expect::Vanishes,
        why: "with `smp` a weight counts once, whatever the number of threads",
    }],
    remedy: "Weights divided by the CPUs that each group keeps busy; as many threads in each group; or `sysctls = { \"sched.cgroup_mode\" = \"smp\" }`.",
    source: "kernel/sched/fair.c of 7.3: calc_concur_shares, tg_tasks; docs/findings/cpu-weight-threads.md",
};

const CODE: &str = ENTRY.code;

/// Compares the shares with those of the mode that ran.
pub(super) fn suspect(
    host: &HostFacts,
    record: &RepeatRecord,
    shared: &Shared,
    numbers: &Estimates,
) -> Suspicion {
    let (mode, is_known) = mode(host, record);
    let by = if is_known { "" } else { ", by the release of the kernel" };
    if mode == WeightMode::Smp {
        return Suspicion::RuledOut(format!("{CODE}: each weight counts once (`{mode}`{by})"));
    }
    if numbers.names().any(|name| name.contains('/')) {
        return Suspicion::NotExamined(format!("{CODE}: groups inside groups are not in its law"));
    }
    let groups: Option<Vec<Contender>> = numbers
        .names()
        .zip(numbers.by_weight())
        .map(|(name, weight)| {
            Some(Contender {
                weight,
                threads: Threads::Free(f64::from(*shared.threads.get(name)?)),
                cpus: counted_cpus(host, record, name, shared),
            })
        })
        .collect();
    let Some(groups) = groups else {
        return Suspicion::NotExamined(format!("{CODE}: the threads of a group are not known"));
    };
    let predicted = mode.divide(shared.count(), &groups);
    let Some((fit, strength)) =
        Fit::new(numbers, &predicted).and_then(|fit| Some((fit, fit.strength()?)))
    else {
        return Suspicion::RuledOut(format!(
            "{CODE}: what `{mode}` makes of weights and threads does not explain the shares"
        ));
    };
    let all: f64 = predicted.iter().sum();
    let each = numbers.names().zip(&predicted).zip(numbers.shares()).map(|((name, part), seen)| {
        format!("`{name}`: {} by this law, {} measured", percent(part / all), percent(seen))
    });
    let evidence = vec![
        format!(
            "`cgroup_mode` is `{mode}`{by}; that explains {} of the error",
            percent(fit.explained())
        ),
        some_of(&each.collect::<Vec<_>>(), "; "),
    ];
    let summary = "suspected: the scheduler counts each weight by runnable threads";
    Suspicion::Fits(
        Cause { code: CODE.to_owned(), summary: summary.to_owned(), evidence, strength: None },
        strength,
    )
}

/// The mode in this repeat: as the study has set it, or as it was found.
fn mode(host: &HostFacts, record: &RepeatRecord) -> (WeightMode, bool) {
    let set = record.settings.iter().find(|one| one.setting == WEIGHT_MODE);
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
