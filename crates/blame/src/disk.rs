//! The answer about a disk: for each group, where its requests spent their time and who was served meanwhile.
//!
//! A request waits for a place in the pool (bio submitted until request allocated), in the plug of its thread (until
//! it is inserted into the scheduler, or issued if there is none), in the scheduler (inserted until issued) and in
//! the device (issued until completed). Everything but the first is what /proc/diskstats sums up, which is the check.

mod bfq;
mod bfq_counted;
mod counted;
mod layout;
mod new;
mod text;

use serde::{Deserialize, Serialize};

use crate::answer::{Cost, Verdict};
use crate::waits::Waits;

pub use bfq::{Bfq, BfqGroup, Bond, Injected};
pub use bfq_counted::BfqCounted;
pub use counted::{DiskCost, DiskCounted, GroupCounted, MemberCounted};
pub use layout::Layout;
pub use new::{DiskNames, DiskWindow};
pub use text::{disk_text, disks_text};

/// The version of the document.
pub const DISK_SCHEMA: u32 = 1;

/// The sum of the times may differ from /proc/diskstats by this share of it.
pub const DISK_TOLERANCE: f64 = 0.02;

/// Disks that the programs have room for.
pub const DISKS: usize = 8;

/// Requests that the programs have room for, on all disks together: hardware queues x places of each.
pub const TAGS: u32 = 65_536;

/// The name of all groups for which the programs had no number left.
pub const OTHER_GROUPS: &str = "other groups";

/// The name of processes that are in no group but the root.
pub const ROOT_GROUP: &str = "/";

/// Where the requests of groups to one disk spent their time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DiskAnswer {
    /// [`DISK_SCHEMA`].
    pub schema: u32,
    /// The device, such as `loop0`.
    pub disk: String,
    /// Its scheduler at the start: `none`, `mq-deadline`, `kyber`, `bfq`.
    pub scheduler: String,
    /// Places in the pool of requests: `nr_requests` of all hardware queues together.
    pub nr_requests: u64,
    /// How long it was watched.
    pub seconds: f64,
    /// Whether the times can be relied on.
    pub verdict: Verdict,
    /// What is wrong, if they cannot.
    pub reason: Option<String>,
    /// Sum over the requests of all groups from their start to their completion: plug, scheduler and device.
    pub start_to_complete_ns: u64,
    /// The same as the kernel counted it (/proc/diskstats, times of reads, writes and discards).
    pub diskstats_ns: u64,
    /// How far the first is from the second, in percent of it.
    pub difference_percent: Option<f64>,
    /// How long all places of the pool were taken.
    pub pool_full_ns: u64,
    /// How long no request was in the device, whether or not some were queued.
    pub device_idle_ns: u64,
    /// Watched groups first, in the order in which they were named, then others by their requests.
    pub groups: Vec<DiskGroup>,
    /// On cgroup v1, where the kernel charges the writeback of every group to the root, and the root had requests: who had dirty
    /// pages meanwhile, those with the most first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dirtied: Option<Vec<Dirtied>>,
    /// Whose turn it was, under BFQ; the reason if that is not known.
    pub bfq: assay_host::facts::Available<Bfq>,
    /// What was lost.
    pub events: DiskEvents,
    /// What the measurement itself took.
    pub cost: Cost,
}

/// A group with pages that were not on the disk yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dirtied {
    /// Its path.
    pub group: String,
    /// The most that it was seen with, dirty or under writeback, without groups below it.
    pub bytes: u64,
}

/// The requests of a group to the disk.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DiskGroup {
    /// Its path, or [`ROOT_GROUP`]. Groups below a watched group belong to it; a group without a number of its own
    /// belongs to the one above it.
    pub group: String,
    /// Whether it was asked for.
    pub watched: bool,
    /// Requests completed.
    pub requests: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Bios that were merged into a request that existed already.
    pub merged: u64,
    /// Requests that the device took and gave back.
    pub requeued: u64,
    /// Waiting for a place in the pool.
    pub place: PlaceWait,
    /// From the start of a request until it was inserted, or issued if it never was: in the plug of its thread.
    pub plugged: Stage,
    /// From insertion to issue.
    pub scheduler: Stage,
    /// From issue to completion.
    pub device: Stage,
    /// Whom the device served while requests of this group were in the scheduler, the largest part first.
    /// Together they are the time in the scheduler, whether or not it is over.
    pub served: Vec<Served>,
    /// Mean number of requests with a place in the pool, as far as they were seen.
    pub mean_allocated: f64,
    /// Mean number of requests in the scheduler.
    pub mean_queued: f64,
    /// Mean number of requests in the device.
    pub mean_in_device: f64,
}

/// The time that requests of a group spent in one place.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Stage {
    /// The sum over requests, in nanoseconds.
    pub ns: u64,
    /// By length. The count is that of requests which passed.
    pub lengths: Waits,
}

/// The time from a bio's submission until it had a request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlaceWait {
    /// The sum over requests, in nanoseconds. The next three make it up.
    pub ns: u64,
    /// While all places of the pool were taken.
    pub pool_full_ns: u64,
    /// While the pool had places and the scheduler limits each group's (BFQ since 5.17), of waits of 20 us and more
    /// most of which were outside of a full pool. The scheduler's limits for asynchronous requests, and a thread that
    /// lost its CPU meanwhile, are not told apart from it.
    pub own_cap_ns: u64,
    /// While the pool had places, for another reason: the scheduler's limit for writes, rq-qos (wbt, iocost),
    /// the work of allocation, or waking up once a place was free.
    pub other_ns: u64,
    /// Requests which this group had in the pool when a wait began that lasted 20 us and more outside of a full pool,
    /// weighted by that time.
    pub held_mean: Option<f64>,
    /// By length.
    pub lengths: Waits,
}

/// A part of the time in the scheduler.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Served {
    /// Whose requests were in the device; several groups at once share by their numbers of requests. `None`: the
    /// device was idle, so the scheduler held back.
    pub by: Option<String>,
    /// In nanoseconds, summed over the requests that waited.
    pub ns: u64,
    /// Of the group's time in the scheduler.
    pub percent: f64,
}

/// What the programs saw of a disk, and what they lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskEvents {
    /// Requests issued.
    pub issued: u64,
    /// Requests completed whose issue was not seen, such as those that were under way at the start.
    pub unknown_completions: u64,
    /// Requests of which not even the end was seen: the next one with their place in the pool told that they were over.
    #[serde(default)]
    pub unseen_completions: u64,
    /// Requests whose bio's submission was not seen; their wait for a place is in no sum.
    pub unknown_places: u64,
    /// Requests beyond the tags that the programs have room for; they are in no sum.
    pub dropped: u64,
    /// Events at which another CPU was just charging: their time is charged with the next event.
    pub contended: u64,
    /// Events of all programs, since they were attached, that the kernel did not show them, since they were running on that
    /// CPU already (`recursion_misses`); null if it does not count them.
    #[serde(default)]
    pub missed: Option<u64>,
}

impl DiskAnswer {
    /// The disk went away while it was watched, so that nothing is there to compare with.
    pub(crate) fn note_gone(&mut self, why: &str) {
        self.verdict = Verdict::Void;
        self.reason = Some(format!("the disk is gone: {why}"));
    }

    /// Notes how many events the programs have missed. Many make the answer void: since Linux 7.0 a program may be preempted, and
    /// another request's event on its CPU is lost meanwhile.
    pub fn set_missed(&mut self, missed: Option<u64>) {
        self.events.missed = missed;
        let too_many = |missed: &u64| *missed as f64 > self.events.issued as f64 * DISK_TOLERANCE;
        if let Some(missed) = missed.filter(too_many) {
            let reason = format!("{missed} events were missed by the programs");
            self.verdict = Verdict::Void;
            self.reason = Some(match self.reason.take() {
                Some(first) => format!("{first}; {reason}"),
                None => reason,
            });
        }
    }

    /// The group with this name.
    #[must_use]
    pub fn group(&self, name: &str) -> Option<&DiskGroup> {
        self.groups.iter().find(|group| group.group == name)
    }

    /// Every name of a group in the answer, to be replaced by names of a study.
    pub fn names_mut(&mut self) -> Vec<&mut String> {
        let mut names: Vec<&mut String> = Vec::new();
        for group in &mut self.groups {
            names.push(&mut group.group);
            names.extend(group.served.iter_mut().filter_map(|served| served.by.as_mut()));
        }
        names.extend(self.dirtied.iter_mut().flatten().map(|one| &mut one.group));
        if let assay_host::facts::Available::Value(bfq) = &mut self.bfq {
            names.extend(bfq.names_mut());
        }
        names
    }
}

impl DiskGroup {
    /// The part of the time in the scheduler during which the device served this group, in percent.
    #[must_use]
    pub fn percent_served(&self, by: Option<&str>) -> f64 {
        let parts = self.served.iter().filter(|served| served.by.as_deref() == by);
        parts.map(|served| served.percent).sum()
    }
}
