//! Differences between two runs other than the measurements: possible explanations of a measured
//! difference.

use std::collections::BTreeSet;

use crate::verdict::RunDifference;
use assay_host::facts::Available;
use assay_record::run_folder::{Manifest, TrialRecord, WarmUpRecord};

/// Number of values shown.
const SHOWN: usize = 6;

/// Differences between the runs as a whole.
pub(super) fn of_runs(a: &Manifest, b: &Manifest) -> Vec<RunDifference> {
    let mut found = Vec::new();
    let mut add = |what: &str, of: &dyn Fn(&Manifest) -> String| {
        push(&mut found, what, of(a), of(b));
    };
    add("study", &|run| run.study.clone());
    add("schema of the manifest", &|run| run.schema.to_string());
    add("version of assay", &|run| run.assay.clone());
    add("host", &|run| run.host.host_name.clone());
    add("kernel", &|run| run.host.kernel.clone());
    add("architecture", &|run| run.host.architecture.clone());
    add("distribution", &|run| run.host.distribution.clone());
    add("virtual machine", &|run| {
        run.host.virtual_machine.clone().unwrap_or_else(|| "none".to_owned())
    });
    add("guest of the lab", &|run| {
        run.guest.as_ref().map_or_else(|| "none".to_owned(), assay_record::run_folder::Guest::line)
    });
    add("CPU model", &|run| run.host.cpus.model.clone());
    add("CPUs allowed", &|run| run.host.cpus.allowed.to_string());
    add("NUMA nodes", &|run| run.host.nodes.len().to_string());
    add("memory", &|run| run.host.memory.to_string());
    add("layout of control groups", &|run| format!("{:?}", run.host.cgroup.layout).to_lowercase());
    // A setting missing in an older record is not a difference between the hosts.
    let of_both = a.host.settings.keys().filter(|name| b.host.settings.contains_key(*name));
    for name in of_both {
        add(&format!("host's {name}"), &|run| match &run.host.settings[name] {
            Available::Value(value) => value.clone(),
            Available::NotAvailable(_) => "none".to_owned(),
        });
    }
    if a.study == b.study && a.study_text != b.study_text {
        let (of_a, of_b) = changed_lines(&a.study_text, &b.study_text);
        push(&mut found, "study text", of_a, of_b);
    }
    found
}

/// Differences between a pair of trials, without those already listed.
pub(super) fn of_trials(a: &TrialRecord, b: &TrialRecord, found: &mut Vec<RunDifference>) {
    let mut add = |what: &str, of: &dyn Fn(&TrialRecord) -> String| {
        push(found, what, of(a), of(b));
    };
    add("longest time of a repeat", &|trial| format!("{} s", trial.at_most_s));
    add("repeats", &|trial| trial.repeats.len().to_string());
    add("warm-up", &|trial| match trial.warm_up {
        WarmUpRecord::Auto => "auto".to_owned(),
        WarmUpRecord::Seconds(seconds) => format!("{seconds} s"),
    });
    add("end of a repeat", &|trial| format!("{:?}", trial.stop));
    add("groups", &|trial| listed(trial.groups.iter().map(|group| group.name.clone()).collect()));
    add("disks", &|trial| {
        let disk = |disk: &assay_record::run_folder::DiskRecord| {
            let scheduler = disk.scheduler.as_deref().unwrap_or("as found");
            let queue = disk.queue.iter().map(|(name, value)| format!(", {name} = {value}"));
            format!("{} ({}, {scheduler}{})", disk.name, disk.source, queue.collect::<String>())
        };
        listed(trial.disks.iter().map(disk).collect())
    });
    for knob in knobs(a, b) {
        add(&format!("knob {knob}"), &|trial| {
            let all = trial.groups.iter().flat_map(|group| &group.knobs);
            let asked = all.filter(|one| one.knob == knob).map(|one| one.asked.clone());
            listed(asked.collect())
        });
    }
    let settings: BTreeSet<&String> =
        a.settings.iter().chain(&b.settings).map(|setting| &setting.setting).collect();
    for name in settings {
        add(&format!("setting {name}"), &|trial| {
            let set = trial.settings.iter().find(|setting| setting.setting == *name);
            set.map_or_else(|| "as found".to_owned(), |setting| setting.asked.clone())
        });
    }
}

fn knobs<'t>(a: &'t TrialRecord, b: &'t TrialRecord) -> BTreeSet<&'t str> {
    let all = a.groups.iter().chain(&b.groups).flat_map(|group| &group.knobs);
    all.map(|knob| knob.knob.as_str()).collect()
}

fn push(found: &mut Vec<RunDifference>, what: &str, a: String, b: String) {
    let difference = RunDifference { what: what.to_owned(), a, b };
    if difference.a != difference.b && !found.contains(&difference) {
        found.push(difference);
    }
}

fn listed(mut values: Vec<String>) -> String {
    if values.is_empty() {
        return "none".to_owned();
    }
    let more = values.len().saturating_sub(SHOWN);
    values.truncate(SHOWN);
    let shown = values.join(", ");
    if more == 0 { shown } else { format!("{shown} and {more} more") }
}

/// The first lines that only one of two texts has.
fn changed_lines(a: &str, b: &str) -> (String, String) {
    let only = |of: &str, not: &str| {
        let known: BTreeSet<&str> = not.lines().map(str::trim).collect();
        let lines = of.lines().map(str::trim).filter(|line| !known.contains(line));
        let mut lines: Vec<String> =
            lines.filter(|line| !line.is_empty()).map(|line| format!("`{line}`")).collect();
        let more = lines.len().saturating_sub(2);
        lines.truncate(2);
        match (lines.is_empty(), more) {
            (true, _) => "no own lines".to_owned(),
            (false, 0) => lines.join(", "),
            (false, more) => format!("{} and {more} more lines", lines.join(", ")),
        }
    };
    let (of_a, of_b) = (only(a, b), only(b, a));
    // Reordered lines are a different text.
    if of_a == of_b { (of_a, "the same lines in another order".to_owned()) } else { (of_a, of_b) }
}
