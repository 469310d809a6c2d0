//! What events in the kernel say of one repeat, as the rules of causes use it.
//!
//! All times are sums over threads or requests: two threads that wait for a second wait two seconds. By
//! Little's law such a sum divided by the duration is the mean number that waits.

pub(super) mod cpus;
mod disks;

use assay_judge::repeat::Repeat;

/// One repeat.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Measured {
    /// Waiting for a CPU, by measured group in the order of the promise; or why it is not known.
    pub(crate) cpu: Result<Vec<CpuWait>, String>,
    /// Requests of the disk.
    pub(crate) disk: Result<DiskUse, String>,
}

/// A group's waiting for CPUs.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct CpuWait {
    /// How long it was watched.
    pub(crate) seconds: f64,
    /// All of it.
    pub(crate) waited: f64,
    /// Whether it is not known for whom or what: then the rest is not all of it.
    pub(crate) is_doubtful: bool,
    /// While the group, or one above it, had used up its quota.
    pub(crate) quota: f64,
    /// While the hypervisor had taken the CPU.
    pub(crate) stolen: f64,
    /// While something else ran than groups of the study: its name and the time, the largest first.
    pub(crate) foreign: Vec<(String, f64)>,
    /// Each CPU.
    pub(crate) cpus: Vec<OnCpu>,
}

/// A group's running on one CPU and its waiting for it.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct OnCpu {
    /// Its number.
    pub(crate) cpu: usize,
    /// Running; `None` where the events do not have it (runs of earlier versions).
    pub(crate) ran: Option<f64>,
    /// All of the waiting.
    pub(crate) waited: f64,
    /// While something else ran than groups of the study.
    pub(crate) foreign: f64,
}

impl CpuWait {
    /// While other threads had the CPU that it was to have.
    pub(crate) fn contended(&self) -> f64 {
        (self.waited - self.quota - self.stolen).max(0.0)
    }

    /// How many of its threads ran on a CPU, on average.
    fn ran_on(&self, cpu: usize) -> Option<f64> {
        match self.cpus.iter().find(|on| on.cpu == cpu) {
            Some(on) => on.ran.map(|ran| ran / self.seconds),
            // A CPU without any event.
            None => self.cpus.iter().all(|on| on.ran.is_some()).then_some(0.0),
        }
    }

    /// How many of its threads waited, on average.
    pub(crate) fn mean(&self) -> f64 {
        self.waited / self.seconds
    }

    /// While something else ran than groups of the study.
    pub(crate) fn foreign_s(&self) -> f64 {
        self.foreign.iter().map(|(_, waited)| waited).sum()
    }
}

/// Requests of the measured groups on their disk.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct DiskUse {
    /// How long it was watched.
    pub(crate) seconds: f64,
    /// By measured group in the order of the promise.
    pub(crate) groups: Vec<GroupRequests>,
    /// Samples of BFQ's queue in service; none under other schedulers.
    pub(crate) samples: f64,
    /// Places in the pools of all hardware queues together.
    pub(crate) pool: f64,
    /// Whether BFQ's limit of requests to inject was above 0 in a turn of any group.
    pub(crate) injects: bool,
}

/// Requests of one group.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct GroupRequests {
    /// Number of completed requests.
    pub(crate) requests: f64,
    /// Their bytes.
    pub(crate) bytes: f64,
    /// Waiting for a place while the pool was full.
    pub(crate) pool_full: f64,
    /// Waiting for a place that the pool had, and BFQ did not give to this group.
    pub(crate) own_cap: f64,
    /// Waiting for a place for another reason.
    pub(crate) other_place: f64,
    /// Requests that it held when it waited for a place outside of a full pool.
    pub(crate) held: Option<f64>,
    /// In the plug of its threads.
    pub(crate) plugged: f64,
    /// In the scheduler, whether or not it is over.
    pub(crate) scheduler: f64,
    /// In the device.
    pub(crate) device: f64,
    /// Part of BFQ's samples in which it was in service.
    pub(crate) in_service: f64,
    /// Part of its own service in which its queue was empty and BFQ waited for a request with its timer.
    pub(crate) idle: f64,
    /// Part of its own service in which each group was its waker or the first that it wakes.
    pub(crate) partners: Vec<f64>,
    /// Whether BFQ made each group its waker.
    pub(crate) bonded: Vec<bool>,
    /// Requests issued in the service of a partner.
    pub(crate) injected_as_partner: f64,
    /// Requests issued in the service of any other group.
    pub(crate) injected_otherwise: f64,
    /// Of these: in the service of groups whose limit of requests to inject was above 0. With a limit of 0 BFQ
    /// injects only those of partners.
    pub(crate) injected_by_limit: f64,
}

/// What allocating a request takes without any waiting, in seconds: 1 to 2 us where nothing waited (tests/evidence).
const ALLOCATION: f64 = 3e-6;

impl GroupRequests {
    /// Waiting in front of the scheduler.
    pub(crate) fn in_front(&self) -> f64 {
        self.pool_full + self.own_cap + self.other_place
    }

    /// The same without what allocating the requests takes by itself.
    pub(crate) fn waiting_in_front(&self) -> f64 {
        self.pool_full + self.own_cap + (self.other_place - ALLOCATION * self.requests).max(0.0)
    }

    /// From the wish for a place to the completion.
    pub(crate) fn whole(&self) -> f64 {
        self.in_front() + self.plugged + self.scheduler + self.device
    }
}

impl Measured {
    /// What was recorded of a repeat, for these groups on the disk with this device; `None` without evidence.
    pub(super) fn new(repeat: &Repeat<'_>, names: &[String], device: Option<&str>) -> Option<Self> {
        let evidence = repeat.evidence().ok()?;
        let covers = repeat.is_covered_by(evidence.seconds);
        let or_short =
            || covers.then_some(()).ok_or_else(|| "the events do not cover the window".to_owned());
        Some(Self {
            cpu: or_short().and_then(|()| cpus::waits(evidence, names)),
            disk: or_short().and_then(|()| disks::requests(&evidence.disks, device, names)),
        })
    }

    /// CPUs that each group kept busy of each of these on average, where the events have it.
    pub(super) fn ran(&self, cpus: &[usize]) -> Option<Vec<Vec<f64>>> {
        let of = |wait: &CpuWait| cpus.iter().map(|cpu| wait.ran_on(*cpu)).collect();
        self.waits_by_class()?.iter().map(of).collect()
    }

    /// Waiting for a CPU, where it is known of all groups for whom or what.
    pub(super) fn waits_by_class(&self) -> Option<&[CpuWait]> {
        let waits: &[CpuWait] = self.cpu.as_ref().ok()?;
        waits.iter().all(|wait| !wait.is_doubtful).then_some(waits)
    }
}

#[cfg(test)]
mod tests;
