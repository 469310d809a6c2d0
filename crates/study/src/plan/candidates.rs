//! Settings that could keep a promise better or at lower cost: the candidates of `assay tune`.
//!
//! Each changes one thing that the study makes no promise about. Those with the largest effects in
//! published results and in our own runs come first (docs/tuning.md), because time may be short.

mod keep;

use crate::{Bindings, Intervention, Study};
use assay_host::facts::HostFacts;

pub use keep::check_keep;
use keep::is_kept;

/// Candidates under BFQ, which idles for its guarantees: how long, how strictly, the budget per turn, and the
/// heuristics that override weights (Documentation/block/bfq-iosched.rst).
const BFQ: [(&str, &str); 11] = [
    ("iosched/max_budget", "64"),
    ("iosched/strict_guarantees", "1"),
    ("iosched/low_latency", "0"),
    ("iosched/max_budget", "0"),
    ("iosched/slice_idle", "2"),
    ("iosched/slice_idle", "0"),
    ("iosched/timeout_sync", "30"),
    ("iosched/max_budget", "2048"),
    ("iosched/max_budget", "256"),
    ("iosched/fifo_expire_sync", "1000"),
    ("iosched/slice_idle", "8"),
];

/// Candidates for weights, as times and by: the proportions stay the same, the sizes change.
const WEIGHTS: [(u32, u32); 2] = [(1, 10), (10, 1)];

/// Candidates for the depth of requests, as times and by.
const DEPTHS: [(u32, u32); 4] = [(1, 2), (1, 4), (2, 1), (4, 1)];

/// A set of changes of a study.
#[derive(Debug, Clone, PartialEq)]
pub struct Setting {
    /// `max_budget=64`, or several joined by ` + `; `unchanged` for none.
    pub name: String,
    /// The changes, in the order in which they are applied.
    pub changes: Vec<Intervention>,
}

impl Setting {
    /// The study without changes.
    #[must_use]
    pub fn unchanged() -> Self {
        Self { name: "unchanged".to_owned(), changes: Vec::new() }
    }

    fn new(change: Intervention) -> Self {
        Self { name: name(&change), changes: vec![change] }
    }

    /// The changes in words.
    #[must_use]
    pub fn describe(&self) -> String {
        let changes: Vec<String> = self.changes.iter().map(ToString::to_string).collect();
        if changes.is_empty() { "nothing".to_owned() } else { changes.join(" and ") }
    }

    /// Both settings combined; `None` if they change the same thing.
    #[must_use]
    pub fn with(&self, other: &Self) -> Option<Self> {
        let are_compatible =
            self.changes.iter().all(|one| other.changes.iter().all(|two| one.goes_with(two)));
        let both_change = !self.changes.is_empty() && !other.changes.is_empty();
        (are_compatible && both_change).then(|| Self {
            name: format!("{} + {}", self.name, other.name),
            changes: [self.changes.clone(), other.changes.clone()].concat(),
        })
    }

    /// The study with all changes.
    ///
    /// # Errors
    /// The reason why the study cannot be changed this way.
    pub fn apply(&self, study: &Study, factors: &Bindings) -> Result<Study, String> {
        let mut changed = study.clone();
        for change in &self.changes {
            change.apply(&mut changed, factors)?;
        }
        Ok(changed)
    }
}

/// What the search may change.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Scope {
    /// Names or attributes that stay unchanged: `scheduler`, `nr_requests`, `weights`, `max_budget=64`.
    pub keep: Vec<String>,
    /// What is tried only on request: `iodepth`, which is a part of the question.
    pub also: Vec<String>,
}

/// Every setting worth trying for a study on this host, the most promising first. `now` returns the
/// current value of a queue attribute of the study's disk, or of `scheduler`.
#[must_use]
pub fn candidates(
    study: &Study,
    facts: &HostFacts,
    now: &dyn Fn(&str) -> Option<String>,
    scope: &Scope,
) -> Vec<Setting> {
    let promised = |word: &str| study.promises.iter().any(|one| one.measure.starts_with(word));
    let mut changes = Vec::new();
    if !study.disks.is_empty() && (promised("io.") || !promised("cpu.")) {
        let sets_queue = study.disks.values().any(|disk| !disk.queue.is_empty());
        changes.extend(disk_changes(facts, sets_queue, now));
    }
    if promised("cpu.") {
        let mut allowed = facts.cpus.allowed.iter();
        if let (Some(first), Some(_)) = (allowed.next(), allowed.next()) {
            changes.push(Intervention::Cpus(first.to_string()));
        }
    }
    changes.extend(weights());
    if scope.also.iter().any(|name| name == "iodepth") {
        changes.extend(depths());
    }
    changes.retain(|change| !is_kept(change, &scope.keep));
    changes.into_iter().map(Setting::new).collect()
}

fn disk_changes(
    facts: &HostFacts,
    sets_queue: bool,
    now: &dyn Fn(&str) -> Option<String>,
) -> Vec<Intervention> {
    let active = now("scheduler").unwrap_or_default();
    let mut changes = Vec::new();
    changes.extend(requests(now));
    if active == "bfq" {
        changes.extend(bfq(now));
    }
    if sets_queue {
        changes.push(Intervention::Plain);
    }
    let others = facts.schedulers.iter().filter(|name| **name != active);
    changes.extend(others.map(|name| Intervention::Scheduler(name.clone())));
    if let Some(value) = toggled(now, "rotational") {
        changes.push(queue("rotational", value));
    }
    changes.push(queue("nomerges", "2"));
    changes
}

fn bfq(now: &dyn Fn(&str) -> Option<String>) -> Vec<Intervention> {
    let others = BFQ.iter().filter(|(name, value)| now(name).as_deref() != Some(*value));
    others.map(|(name, value)| queue(name, value)).collect()
}

fn weights() -> impl Iterator<Item = Intervention> {
    WEIGHTS.into_iter().map(|(times, by)| Intervention::Weights { times, by })
}

fn depths() -> impl Iterator<Item = Intervention> {
    DEPTHS.into_iter().map(|(times, by)| Intervention::Depth { name: "iodepth", times, by })
}

/// The size of the request pool.
const POOL: &str = "nr_requests";

/// A larger request pool, up to the kernel's limit (MAX_SCHED_RQ in block/blk-mq.h), and a smaller
/// one. BFQ limits a group to its weight's part of the pool (76f1df88bbc2), so a pool of less than
/// `iodepth * sum(weights) / weight` disadvantages the lightest.
fn requests(now: &dyn Fn(&str) -> Option<String>) -> Vec<Intervention> {
    const LARGEST: u32 = 2048;
    const SMALLEST: u32 = 16;
    let Some(pool) = now(POOL).and_then(|text| text.parse::<u32>().ok()) else {
        return Vec::new();
    };
    let mut sizes = vec![pool.saturating_mul(4).min(LARGEST), LARGEST, (pool / 4).max(SMALLEST)];
    sizes.dedup();
    let other = sizes.into_iter().filter(|size| *size != pool);
    other.map(|size| queue(POOL, &size.to_string())).collect()
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
