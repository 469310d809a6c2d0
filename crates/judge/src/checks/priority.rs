//! `priority`: the threads in all groups have the same class and policy.
//!
//! A weight divides what is left after classes and policies: BFQ does not wait for a queue of the
//! idle class, whatever its group's weight, a SCHED_FIFO thread ignores its group's weight, and a
//! group with `cpu.idle` gets what the others leave. A program may set all that itself (`prioclass`
//! of fio, chrt, ionice).

use std::collections::{BTreeMap, BTreeSet};

use crate::verdict::wording::some_of;
use assay_record::run_folder::OverridesRecord;

use super::{Evidence, Finding, Rule, Scope, overrides_recorded};
use crate::repeat::Repeat;

/// Evaluated where shares of a disk are promised and threads were recorded.
pub(super) const OF_IO: Rule = Rule::each("priority", Scope::IoShares, |evidence, repeat| {
    find(repeat, |overrides| io_classes(evidence, overrides), "I/O class")
})
.when(overrides_recorded)
.proves(
    "C-IO-PRIORITY",
    "the groups' requests are of different I/O classes, which come before weights",
);

/// Evaluated where shares of CPU time are promised and threads were recorded.
pub(super) const OF_CPU: Rule = Rule::each("priority", Scope::CpuShares, |evidence, repeat| {
    find(repeat, |overrides| cpu_policies(evidence, overrides), "scheduling policy")
})
.when(overrides_recorded)
.proves(
    "C-CPU-POLICY",
    "the groups' threads are scheduled under different policies, which come before weights",
);

/// Unusual classes or policies, by group.
type Odd = BTreeMap<String, BTreeSet<String>>;

fn find(repeat: &Repeat<'_>, odd: impl Fn(&OverridesRecord) -> Option<Odd>, what: &str) -> Finding {
    let Some(overrides) = &repeat.record.overrides else {
        return Finding::unverified("threads were not recorded");
    };
    let Some(odd) = odd(overrides) else {
        return Finding::unverified("no thread of a measured group was recorded");
    };
    let sets: BTreeSet<&BTreeSet<String>> = odd.values().collect();
    let described = |(group, set): (&String, &BTreeSet<String>)| {
        let all: Vec<&str> = set.iter().map(String::as_str).collect();
        (!set.is_empty()).then(|| format!("`{group}` has {}", all.join(" and ")))
    };
    let described: Vec<String> = odd.iter().filter_map(described).collect();
    let text = match (described.is_empty(), sets.len() > 1) {
        (true, _) => format!("the threads of all groups have the usual {what}"),
        (false, false) => format!("all groups alike: {}", some_of(&described, "; ")),
        (false, true) => format!("{}, other groups do not", some_of(&described, "; ")),
    };
    Finding::new(sets.len() <= 1, text)
}

/// Collects unusual threads and files by group. `None` where no thread was recorded.
fn by_group(
    evidence: &Evidence<'_>,
    overrides: &OverridesRecord,
    of_thread: impl Fn(&assay_record::run_folder::ThreadReading) -> Option<String>,
    of_file: &[&str],
) -> Option<Odd> {
    let mut odd: Odd = Odd::new();
    for reading in &overrides.threads {
        if evidence.groups.contains(&reading.group.as_str()) {
            odd.entry(reading.group.clone()).or_default().extend(of_thread(reading));
        }
    }
    for limit in overrides.limits.iter().filter(|limit| of_file.contains(&limit.file.as_str())) {
        if let Some(set) = odd.get_mut(&limit.group) {
            set.insert(format!("`{}` = {}", limit.file, limit.text()));
        }
    }
    (!odd.is_empty()).then_some(odd)
}

/// Levels of the best-effort class matter only inside a group.
fn io_classes(evidence: &Evidence<'_>, overrides: &OverridesRecord) -> Option<Odd> {
    let class = |reading: &assay_record::run_folder::ThreadReading| {
        let odd = matches!(reading.io_class.as_str(), "rt" | "idle");
        odd.then(|| format!("threads of the I/O class {}", reading.io_class))
    };
    by_group(evidence, overrides, class, &["io.prio.class", "blkio.prio.class"])
}

/// Nice values matter only inside a group, and SCHED_BATCH is preempted no less.
fn cpu_policies(evidence: &Evidence<'_>, overrides: &OverridesRecord) -> Option<Odd> {
    let policy = |reading: &assay_record::run_folder::ThreadReading| {
        let odd = !matches!(reading.policy.as_str(), "other" | "batch" | "unknown");
        odd.then(|| format!("threads of SCHED_{}", reading.policy.to_uppercase()))
    };
    by_group(evidence, overrides, policy, &["cpu.idle"])
}
