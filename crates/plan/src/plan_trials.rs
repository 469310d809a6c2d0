//! Plans every trial of a study for a host.

use std::collections::BTreeMap;

use assay_facts::HostFacts;
use assay_run_folder::{StopRecord, WarmUpRecord};
use assay_study::{Bindings, Promise, Stop, Study, WarmUp, combinations};

use crate::comparison::{comparisons, references};
use crate::disk::plan_disks;
use crate::footprint::Predictions;
use crate::group::plan_groups;
use crate::order::order;
use crate::placement::plan_placements;
use crate::privileges::refuse_missing_privileges;
use crate::program::refuse_missing_tools;
use crate::promise::{is_applicable, plan_promise};
use crate::refusal::Refusal;
use crate::setting::{plan_drop, plan_settings};
use crate::trial::{GroupPlan, Plan, Trial};

/// Plans a study for a host, without limits relative to a footprint.
#[must_use]
pub fn plan(study: &Study, facts: &HostFacts, seed: u64) -> Plan {
    plan_with(study, facts, &Predictions::default(), seed)
}

/// Plans a study for a host, with the predicted footprints of its workloads.
#[must_use]
pub fn plan_with(study: &Study, facts: &HostFacts, predictions: &Predictions, seed: u64) -> Plan {
    let mut refusals = Vec::new();
    let trials: Vec<Trial> = combinations(study)
        .into_iter()
        .map(|factors| {
            let trial_study = study.for_trial(&factors);
            let mut trial = plan_trial(&trial_study, facts, factors, predictions, &mut refusals);
            if study.has_varying_workloads() {
                trial
                    .promises
                    .retain(|promise| is_applicable(promise, &trial_study, &trial.placements));
            }
            trial
        })
        .collect();
    let slots = order(trials.len(), study.design.repeats, study.design.order, seed);
    // The same refusal in every trial is reported once.
    let mut unique: Vec<Refusal> = Vec::new();
    for refusal in refusals {
        if !unique.contains(&refusal) {
            unique.push(refusal);
        }
    }
    Plan {
        trials,
        slots,
        comparisons: comparisons(study),
        references: references(study),
        refusals: unique,
    }
}

fn plan_trial(
    study: &Study,
    facts: &HostFacts,
    factors: Bindings,
    predictions: &Predictions,
    refusals: &mut Vec<Refusal>,
) -> Trial {
    let disks = plan_disks(study, facts, &factors, refusals);
    let groups = plan_groups(study, facts, &factors, &disks, predictions, refusals);
    let (hierarchies, absent) = facts.cgroup.hierarchies_with(controllers(study, &groups, facts));
    refuse_missing_privileges(facts, &disks, &groups, &absent, refusals);
    refuse_missing_tools(study, facts, &disks, &groups, refusals);
    if hierarchies.is_empty() {
        refusals.push(no_hierarchy(&absent));
    }
    Trial {
        promises: study
            .promises
            .iter()
            .filter_map(|promise| plan_promise(promise, &factors))
            .collect(),
        warm_up: match study.design.warm_up {
            WarmUp::Auto => WarmUpRecord::Auto,
            WarmUp::Fixed(length) => WarmUpRecord::Seconds(length.as_secs_f64()),
        },
        at_most: study.design.at_most,
        stop: match study.design.stop {
            Stop::AtMost => StopRecord::AtMost,
            Stop::Precise => StopRecord::Precise,
        },
        settings: plan_settings(study, facts, &factors, refusals),
        drop_caches: plan_drop(study, facts, &factors, refusals),
        placements: plan_placements(study, facts, &factors, refusals),
        ends: study.design.ends,
        sampling: study.sampling.clone(),
        factors,
        disks,
        groups,
        hierarchies,
        absent,
    }
}

/// Controllers needed by knobs, and those whose counters are sampled in every run.
fn controllers<'g>(study: &Study, groups: &'g [GroupPlan], facts: &HostFacts) -> Vec<&'g str> {
    // CPU time is counted by cpuacct on v1 and by cpu on v2.
    let mut controllers = vec!["io", if facts.cgroup.is_on_v2("cpu") { "cpu" } else { "cpuacct" }];
    for knob in groups.iter().flat_map(|group| &group.knobs) {
        let controller = knob.translation.controller.as_str();
        if !controllers.contains(&controller) {
            controllers.push(controller);
        }
    }
    let is_memory_promise = |promise: &Promise| promise.measure.starts_with("memory.");
    let by_node = study.sampling.sources.iter().any(|source| source == "group_nodes");
    if (by_node || study.promises.iter().any(is_memory_promise)) && !controllers.contains(&"memory")
    {
        controllers.push("memory");
    }
    controllers
}

fn no_hierarchy(absent: &BTreeMap<String, String>) -> Refusal {
    let mut reasons: Vec<String> =
        absent.iter().map(|(controller, why)| format!("{controller}: {why}")).collect();
    reasons.truncate(2);
    Refusal::new(
        format!("no group can be made in any control-group hierarchy ({})", reasons.join("; ")),
        "run it with sudo; if none is mounted, mount cgroup2 (`assay host` shows the layout)",
    )
}
