//! Settings that could keep a promise better or cost less: what `assay tune` tries.
//!
//! Each changes one thing that the study does not promise anything about. Those that decided most
//! in what is published and in our own runs come first (docs/tuning.md), because time may be
//! short.

use assay_facts::HostFacts;
use assay_study::{Bindings, Intervention, Study};

/// Some things changed in a study.
#[derive(Debug, Clone, PartialEq)]
pub struct Setting {
    /// `max_budget=64`, or several joined by ` + `; `unchanged` for none.
    pub name: String,
    /// What is changed, in the order in which it is applied.
    pub changes: Vec<Intervention>,
}

impl Setting {
    /// The study as it is.
    #[must_use]
    pub fn unchanged() -> Self {
        Self { name: "unchanged".to_owned(), changes: Vec::new() }
    }

    fn of(change: Intervention) -> Self {
        Self { name: name(&change), changes: vec![change] }
    }

    /// What is changed, in words.
    #[must_use]
    pub fn describe(&self) -> String {
        let changes: Vec<String> = self.changes.iter().map(ToString::to_string).collect();
        if changes.is_empty() { "nothing".to_owned() } else { changes.join(" and ") }
    }

    /// Both at once; `None` where they change the same thing.
    #[must_use]
    pub fn with(&self, other: &Self) -> Option<Self> {
        let together =
            self.changes.iter().all(|one| other.changes.iter().all(|two| one.goes_with(two)));
        let some = !self.changes.is_empty() && !other.changes.is_empty();
        (together && some).then(|| Self {
            name: format!("{} + {}", self.name, other.name),
            changes: [self.changes.clone(), other.changes.clone()].concat(),
        })
    }

    /// The study with all of it.
    ///
    /// # Errors
    /// Why the study cannot be changed so.
    pub fn apply(&self, study: &Study, factors: &Bindings) -> Result<Study, String> {
        let mut changed = study.clone();
        for change in &self.changes {
            change.apply(&mut changed, factors)?;
        }
        Ok(changed)
    }
}

/// What the search may touch.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Scope {
    /// Names or attributes that stay as they are: `scheduler`, `nr_requests`, `weights`.
    pub keep: Vec<String>,
    /// What is only tried where it is asked for: `iodepth`, which is a part of the question.
    pub also: Vec<String>,
}

/// Every setting worth trying for a study on this host, the likeliest first. `now` tells what the
/// queue of the study's disk says of an attribute, and of `scheduler`.
#[must_use]
pub fn candidates(
    study: &Study,
    facts: &HostFacts,
    now: &dyn Fn(&str) -> Option<String>,
    scope: &Scope,
) -> Vec<Setting> {
    let promised = |word: &str| study.promises.iter().any(|one| one.measure.starts_with(word));
    let mut found = Vec::new();
    if !study.disks.is_empty() && (promised("io.") || !promised("cpu.")) {
        found.extend(of_disks(study, facts, now));
    }
    if promised("cpu.") {
        let mut allowed = facts.cpus.allowed.iter();
        if let (Some(first), Some(_)) = (allowed.next(), allowed.next()) {
            found.push(Intervention::Cpus(first.to_string()));
        }
    }
    found.push(Intervention::Weights { times: 1, by: 10 });
    found.push(Intervention::Weights { times: 10, by: 1 });
    if scope.also.iter().any(|name| name == "iodepth") {
        for (times, by) in [(1, 2), (1, 4), (2, 1), (4, 1)] {
            found.push(Intervention::Depth { name: "iodepth", times, by });
        }
    }
    found.retain(|change| !is_kept(change, &scope.keep));
    found.into_iter().map(Setting::of).collect()
}

fn of_disks(
    study: &Study,
    facts: &HostFacts,
    now: &dyn Fn(&str) -> Option<String>,
) -> Vec<Intervention> {
    let active = now("scheduler").unwrap_or_default();
    let sets_queue = study.disks.values().any(|disk| !disk.queue.is_empty());
    let mut found = Vec::new();
    found.extend(requests(now));
    if active == "bfq" {
        found.extend(bfq(now));
    }
    if sets_queue {
        found.push(Intervention::Plain);
    }
    let others = facts.schedulers.iter().filter(|name| **name != active);
    found.extend(others.map(|name| Intervention::Scheduler(name.clone())));
    if let Some(value) = toggled(now, "rotational") {
        found.push(queue("rotational", value));
    }
    found.push(queue("nomerges", "2"));
    found
}

/// A fair queue that idles for its guarantees: how long, how exact, how much a turn, and whose
/// word counts more than a weight (Documentation/block/bfq-iosched.rst).
fn bfq(now: &dyn Fn(&str) -> Option<String>) -> Vec<Intervention> {
    let mut found = Vec::new();
    let mut add = |attribute: &'static str, value: &str| {
        if now(attribute).as_deref() != Some(value) {
            found.push(queue(attribute, value));
        }
    };
    add("iosched/max_budget", "64");
    add("iosched/strict_guarantees", "1");
    add("iosched/low_latency", "0");
    add("iosched/max_budget", "0");
    add("iosched/slice_idle", "2");
    add("iosched/slice_idle", "0");
    add("iosched/timeout_sync", "30");
    add("iosched/max_budget", "2048");
    add("iosched/max_budget", "256");
    add("iosched/fifo_expire_sync", "1000");
    add("iosched/slice_idle", "8");
    found
}

/// A larger pool, as far as the kernel allows (MAX_SCHED_RQ in block/blk-mq.h), and a smaller one.
/// BFQ lets a group have its weight's part of the pool and no more (76f1df88bbc2), so that a pool
/// of less than `iodepth * sum(weights) / weight` takes from the lightest.
fn requests(now: &dyn Fn(&str) -> Option<String>) -> Vec<Intervention> {
    const MOST: u32 = 2048;
    const LEAST: u32 = 16;
    let Some(pool) = now("nr_requests").and_then(|text| text.parse::<u32>().ok()) else {
        return Vec::new();
    };
    let mut sizes = vec![pool.saturating_mul(4).min(MOST), MOST, (pool / 4).max(LEAST)];
    sizes.dedup();
    let other = sizes.into_iter().filter(|size| *size != pool);
    other.map(|size| queue("nr_requests", &size.to_string())).collect()
}

fn toggled(now: &dyn Fn(&str) -> Option<String>, attribute: &str) -> Option<&'static str> {
    match now(attribute)?.as_str() {
        "0" => Some("1"),
        "1" => Some("0"),
        _ => None,
    }
}

fn queue(attribute: &'static str, value: &str) -> Intervention {
    Intervention::Queue {
        name: attribute,
        attribute: attribute.to_owned(),
        value: value.to_owned(),
    }
}

fn is_kept(change: &Intervention, keep: &[String]) -> bool {
    let touched = change.touches();
    let short = touched.rsplit('/').next().unwrap_or(touched);
    let full = name(change);
    keep.iter().any(|name| name == touched || name == short || *name == full)
}

fn name(change: &Intervention) -> String {
    match change {
        Intervention::Queue { attribute, value, .. } => {
            let short = attribute.rsplit('/').next().unwrap_or(attribute);
            format!("{short}={value}")
        }
        Intervention::Scheduler(name) => format!("scheduler={name}"),
        Intervention::Depth { times, by, .. } | Intervention::Weights { times, by } => {
            let what = change.name();
            if times > by { format!("{what}*{times}") } else { format!("{what}/{by}") }
        }
        Intervention::Cpus(cpus) => format!("cpus={cpus}"),
        other => other.name().to_owned(),
    }
}
