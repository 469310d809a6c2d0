//! Whose turn it was under BFQ: the sampled queue in service, its partners, and requests injected into its turn.

use serde::{Deserialize, Serialize};

/// What BFQ did while the disk was watched.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Bfq {
    /// Samples of the queue in service, about 1000 a second once the disk has had a request.
    pub samples: u64,
    /// Samples at which no queue was in service.
    pub idle_samples: u64,
    /// Samples dropped, since the queue was freed while it was read.
    pub garbled: u64,
    /// Groups that were in service or had requests, in the order of the answer's groups.
    pub groups: Vec<BfqGroup>,
    /// Pairs in which one was the other's waker or woken queue.
    pub bonds: Vec<Bond>,
    /// Requests that were issued in the turn of another group.
    pub injected: Vec<Injected>,
}

/// The turns of a group.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BfqGroup {
    /// Its path.
    pub group: String,
    /// Its queues were in service in this part of the samples, in percent.
    pub in_service_percent: f64,
    /// Of these samples: its queue was empty, in percent, whether BFQ waited for its requests in the device, injected
    /// those of others or idled. The next one says how often it idled.
    pub idling_percent: f64,
    /// Of these samples: BFQ idled for it, that is waited with its timer for a request, its queue being empty, in
    /// percent.
    pub timer_percent: f64,
    /// Its weight as BFQ has it, at the last sample in which it was read.
    pub weight: Option<u64>,
    /// Mean of `inject_limit` in its turns.
    pub inject_limit_mean: f64,
    /// The highest `inject_limit`.
    pub inject_limit_max: u64,
    /// Mean number of requests in the driver, of all groups, in its turns.
    pub in_driver_mean: f64,
    /// Mean budget in its turns, in sectors.
    pub budget_mean: f64,
    /// How far its start time was ahead of the virtual time, times its weight: service (in sectors) that it has had
    /// beyond its share, at the first sample and at the last.
    pub lead_sectors: Option<(f64, f64)>,
    /// Requests inserted by a process that had no other request in the queue: only then BFQ looks for wakers.
    pub drained_inserts: u64,
    /// Of these: the think time of the process counted as long, so that a waker could be set.
    pub long_think_inserts: u64,
    /// Requests inserted.
    pub inserts: u64,
    /// The longest mean think time that BFQ had for a queue of the group, in nanoseconds.
    pub think_time_max_ns: u64,
    /// Requests issued, in whosever turn.
    pub issued: u64,
    /// Of these: requests issued in a turn of the group itself.
    pub issued_in_own_turn: u64,
}

/// A group whose queue had the other's as waker, or as the first that it wakes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bond {
    /// The group in service.
    pub group: String,
    /// The other.
    pub partner: String,
    /// Samples of turns of `group` in which `partner` was its waker.
    pub waker_samples: u64,
    /// Samples in which it was the first woken queue.
    pub woken_samples: u64,
    /// How often BFQ set `partner` as waker of `group` ("set waker").
    pub set: u64,
}

/// Requests of one group issued in the turn of another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Injected {
    /// Whose turn it was.
    pub in_service: String,
    /// Whose requests were issued.
    pub group: String,
    /// Because it is the waker.
    pub as_waker: u64,
    /// Because it is the first woken queue.
    pub as_woken: u64,
    /// Neither: ordinary injection, or requests that BFQ dispatched in a turn that had just ended.
    pub other: u64,
    /// Of these: in turns of groups with an `inject_limit`. Runs of before have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by_limit: Option<u64>,
}

impl Bfq {
    /// The group with this name.
    #[must_use]
    pub fn group(&self, name: &str) -> Option<&BfqGroup> {
        self.groups.iter().find(|group| group.group == name)
    }

    pub(super) fn names_mut(&mut self) -> Vec<&mut String> {
        let groups = self.groups.iter_mut().map(|one| &mut one.group);
        let bonds = self.bonds.iter_mut().flat_map(|one| [&mut one.group, &mut one.partner]);
        let injected =
            self.injected.iter_mut().flat_map(|one| [&mut one.in_service, &mut one.group]);
        groups.chain(bonds).chain(injected).collect()
    }
}
