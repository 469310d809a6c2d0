//! `backlogged` by each workload: whether it wanted the disk all the time, or whether its pauses explain too little to matter.

use std::cell::LazyCell;
use std::collections::BTreeMap;

use crate::verdict::wording::percent;
use assay_record::run_folder::{PromiseRecord, WorkloadResult};
use assay_record::terms::Measure;

use super::blocked::Busiest;
use super::{Evidence, Scope, blocked};
use crate::queue::{Queue, requests_outstanding};
use crate::repeat::Repeat;

/// What shows it, in the order in which it is asked.
const SHOWN_BY: [&str; 5] = [
    "kept {} or more of its requests outstanding",
    "had its submitters waiting for a place {} of the time or more, by the kernel's own events",
    "had its threads waiting for requests or places {} of the time or more, as they neither ran nor waited for a CPU",
    "got {} or more of what it was promised",
    "wanted the disk for most of the time and got {} or more of its promise, a small part of what others lack that wanted it all the time",
];

/// Of these. By the last two alone no promise is kept: in each repeat in which they are needed some group is off by more than its
/// margin.
const BLOCKED: usize = 2;
const GAINED: usize = 3;
const SMALL: usize = 4;

/// A workload that kept this part of its requests outstanding, by Little's law, never ran dry for
/// long.
pub(super) const ALL_THE_TIME: f64 = 0.9;

/// A group that wanted the disk for a smaller part of the time shows nothing.
const MOSTLY: f64 = 0.5;

/// All groups with pauses together may lack this part of what those without lack together: no more of what others gained
/// is their pauses' doing.
const OF_ALL: f64 = 0.1;

/// One of them may lack this part of its promise, relative to the largest of those without pauses.
const OF_THE_MOST: f64 = 0.5;

/// What shows that every workload wanted the disk, or that its pauses do not matter; `None` if one may have lost by them.
pub(super) fn by_all(
    evidence: &Evidence<'_>,
    repeat: &Repeat<'_>,
    queue: &Queue,
    is_capped: bool,
) -> Option<String> {
    let samples = LazyCell::new(|| Busiest::new(repeat));
    let shares = LazyCell::new(|| Shares::new(evidence, repeat));
    let mut least = [f64::INFINITY; SHOWN_BY.len()];
    let mut note = |way: usize, part: f64| least[way] = least[way].min(part);
    // Of a group with several workloads the one that wanted the disk least counts.
    let mut parts: BTreeMap<&str, Part> = BTreeMap::new();
    for result in &repeat.record.workloads {
        let samples = || LazyCell::force(&samples);
        let part = always(evidence, repeat, (queue, is_capped), result, samples);
        let least = parts.entry(&result.group).or_insert(part);
        *least = least.least(part);
    }
    let (mut missing, mut with_pauses) = (Missing::default(), Vec::new());
    for (group, part) in parts {
        match part {
            Part::Always(way, part) => {
                note(way, part.min(1.0));
                missing.add(shares.as_ref().and_then(|shares| shares.of(group)), part);
            }
            Part::Sometimes(part) => match shares.as_ref()?.of(group)? {
                // One that got more than its promise lost nothing by its pauses: what others lost is shown by theirs.
                share if share.got > share.promised * (1.0 + share.within) => {
                    note(GAINED, share.got / share.promised);
                }
                share if part >= MOSTLY => with_pauses.push(share),
                _ => return None,
            },
        }
    }
    let lack: f64 = with_pauses.iter().map(|share| share.lack().max(0.0)).sum();
    let is_small = |share: &Share| share.lack() <= OF_THE_MOST * missing.most * share.promised;
    if !with_pauses.is_empty()
        && (missing.most == 0.0 || lack > OF_ALL * missing.sum || !with_pauses.iter().all(is_small))
    {
        return None;
    }
    with_pauses.iter().for_each(|share| note(SMALL, share.got / share.promised));
    let ways = SHOWN_BY.iter().zip(least).filter(|(_, least)| least.is_finite());
    let ways: Vec<String> = ways.map(|(way, least)| way.replace("{}", &percent(least))).collect();
    Some(ways.join(", or "))
}

/// For which part of the time a workload wanted the disk.
#[derive(Debug, Clone, Copy)]
enum Part {
    /// All the time, by this way.
    Always(usize, f64),
    /// At most so much, by any way.
    Sometimes(f64),
}

impl Part {
    fn least(self, other: Self) -> Self {
        match (self, other) {
            (Self::Sometimes(one), Self::Sometimes(other)) => Self::Sometimes(one.min(other)),
            (Self::Sometimes(_), Self::Always(..)) => self,
            (Self::Always(_, one), Self::Always(_, other)) if one <= other => self,
            (Self::Always(..), _) => other,
        }
    }
}

/// By the first way that shows that a workload wanted the disk all the time.
fn always<'r: 's, 's>(
    evidence: &Evidence<'_>,
    repeat: &Repeat<'_>,
    (queue, is_capped): (&Queue, bool),
    result: &WorkloadResult,
    samples: impl Fn() -> &'s Busiest<'r>,
) -> Part {
    let (trial, group) = (evidence.trial, result.group.as_str());
    let kept = || {
        let mut known = trial.groups.iter().flat_map(|group| &group.workloads);
        let workload = known.find(|workload| workload.name == result.workload)?;
        Some(part_outstanding(requests_outstanding(result)?, f64::from(workload.io.outstanding?)))
    };
    let in_front = || blocked::in_front(trial, repeat, &queue.device, group);
    let blocked = || blocked::at_least(trial, repeat, &samples, &queue.device, group);
    let ways: [&dyn Fn() -> Option<f64>; 3] = [&kept, &in_front, &blocked];
    // Threads may sleep in io_submit(2) for other reasons where no cap binds.
    let ways = if is_capped { &ways[..] } else { &ways[..BLOCKED] };
    let mut largest = 0.0_f64;
    for (way, part) in ways.iter().enumerate() {
        let part = part().unwrap_or(0.0);
        if part >= ALL_THE_TIME {
            return Part::Always(way, part);
        }
        largest = largest.max(part);
    }
    Part::Sometimes(largest)
}

/// The part of its requests that a workload kept outstanding.
///
/// io_submit(2) blocks while the scheduler's pool is full, and fio measures latency from after the
/// call: the request that the thread is waiting to submit counts as demand but appears in no
/// latency.
pub(super) fn part_outstanding(kept: f64, demand: f64) -> f64 {
    kept / (demand - 1.0).max(1.0)
}

/// What groups that wanted the disk all the time lack beyond their margin.
#[derive(Default)]
struct Missing {
    /// Of all service.
    sum: f64,
    /// The largest part of a promise.
    most: f64,
}

impl Missing {
    /// A group that wanted the disk for this part of the time: its own pauses explain the rest.
    fn add(&mut self, share: Option<Share>, part: f64) {
        let Some(share) = share else { return };
        let lack = share.lack() - (1.0 - part.min(1.0)) * share.promised;
        if lack > share.within * share.promised {
            self.sum += lack;
            self.most = self.most.max(lack / share.promised);
        }
    }
}

/// What a group got of all, and was promised.
#[derive(Debug, Clone, Copy)]
struct Share {
    got: f64,
    promised: f64,
    within: f64,
}

impl Share {
    fn lack(self) -> f64 {
        self.promised - self.got
    }
}

/// The shares of one repeat.
struct Shares<'r> {
    groups: &'r [&'r str],
    shares: Vec<Share>,
}

impl<'r> Shares<'r> {
    /// By the only promise that needs a backlog. A promise of amounts may be exceeded by all groups at once, one of each
    /// span of time counts a group's pauses, and of two promises one may be broken where the other is not.
    fn new(evidence: &Evidence<'r>, repeat: &Repeat<'_>) -> Option<Self> {
        let measure = |promise: &PromiseRecord| Measure::parse(&promise.measure);
        let concerned = evidence.trial.promises.iter().filter(|promise| {
            measure(promise).is_some_and(|measure| Scope::IoShares.concerns(measure, &promise.is))
        });
        let promises: Vec<&PromiseRecord> = concerned.collect();
        let [promise] = promises[..] else { return None };
        if promise.every.is_some() || !promise.is.kind().divides() {
            return None;
        }
        let promised = evidence.promised(repeat, promise)?;
        let grid = repeat.grid(measure(promise)?).ok()?;
        let totals = grid.totals();
        let all: f64 = totals.iter().sum();
        let share = |(total, promised): (&f64, &crate::expected::Expected)| Share {
            got: total / all,
            promised: promised.share,
            within: promise.within,
        };
        let shares = totals.iter().zip(&promised).map(share).collect();
        (all > 0.0 && promised.len() == totals.len())
            .then_some(Self { groups: evidence.groups, shares })
    }

    fn of(&self, group: &str) -> Option<Share> {
        let index = self.groups.iter().position(|name| *name == group)?;
        self.shares.get(index).copied().filter(|share| share.promised > 0.0)
    }
}
