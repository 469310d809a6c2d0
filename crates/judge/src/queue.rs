//! Queue of a scratch disk during a repeat.
//!
//! Two of the columns in /proc/diskstats mean different things. `weighted_ms` covers each request's
//! whole life, from its allocation in the pool of the scheduler: divided by wall time it is the
//! mean queue, `aqu-sz` of sar and iostat. `in_flight` counts, since a926c7afffcc (5.10), only the
//! requests *dispatched* to the device, until kernels of 2025 returned to all of them. By Little's
//! law both have the same mean where they count the same, which distinguishes the two meanings here
//! without a kernel version.

use assay_record::run_folder::{GroupRecord, IoClass, QueueReading, TrialRecord, WorkloadResult};
use assay_stats::series::{self, unwrapped};

use crate::repeat::Repeat;

/// Below this part of the mean queue, `in_flight` cannot include waiting requests.
const COUNTS_WAITING: f64 = 0.7;

/// A disk in one repeat.
#[derive(Debug, Clone, PartialEq)]
pub struct Queue {
    /// Disk name in the study.
    pub disk: String,
    /// Device name.
    pub device: String,
    /// Scheduler active at the start.
    pub scheduler: Option<String>,
    /// Size of the scheduler's request pool.
    pub nr_requests: Option<f64>,
    /// Number of measured groups that use the disk.
    pub groups: usize,
    /// Requests that all workloads on the disk together keep outstanding; `None` when one of them
    /// is unknown.
    pub outstanding: Option<f64>,
    /// The same with sequential workloads counted as one request each: their waiting requests merge
    /// in the scheduler, and 32 outstanding become one long request.
    pub least_waiting: Option<f64>,
    /// Mean number of requests between allocation and completion.
    pub mean_queue: Result<f64, String>,
    /// `in_flight` readings within the window.
    pub in_flight: Result<Vec<f64>, String>,
    /// Part of the time in which the device was busy.
    pub busy: Option<f64>,
}

impl Queue {
    /// Every disk that a measured group uses, or what is missing for it.
    pub fn all(trial: &TrialRecord, repeat: &Repeat<'_>) -> Vec<Result<Self, String>> {
        let mut names: Vec<&str> = Vec::new();
        for group in trial.groups.iter().filter(|group| is_measured(group)) {
            match disk_of(trial, group) {
                Some(disk) if !names.contains(&disk) => names.push(disk),
                _ => {}
            }
        }
        names.iter().map(|disk| Self::new(trial, repeat, disk)).collect()
    }

    fn new(trial: &TrialRecord, repeat: &Repeat<'_>, disk: &str) -> Result<Self, String> {
        let reading = reading(repeat, disk);
        let recorded = trial.disks.iter().find(|record| record.name == disk);
        let device = reading
            .map(|reading| reading.device.clone())
            .or_else(|| recorded.and_then(|record| record.device.clone()))
            .ok_or_else(|| format!("disk `{disk}` has no block device with a queue"))?;
        let uses = |group: &&GroupRecord| disk_of(trial, group) == Some(disk);
        let nr_requests = reading
            .and_then(|reading| reading.at_start.get("nr_requests"))
            .and_then(|text| text.trim().parse().ok());
        Ok(Self {
            disk: disk.to_owned(),
            scheduler: reading.map(|reading| reading.scheduler_at_start.clone()),
            nr_requests,
            groups: trial.groups.iter().filter(uses).filter(|group| is_measured(group)).count(),
            outstanding: outstanding(trial.groups.iter().filter(uses), |io| io.outstanding),
            least_waiting: outstanding(trial.groups.iter().filter(uses), |io| {
                if io.sequential { Some(1) } else { io.outstanding }
            }),
            mean_queue: rate(repeat, &device, "weighted_ms").map(|ms_per_s| ms_per_s / 1000.0),
            in_flight: gauge(repeat, &device),
            busy: rate(repeat, &device, "io_ms").ok().map(|ms_per_s| ms_per_s / 1000.0),
            device,
        })
    }

    /// Whether BFQ scheduled it.
    pub fn is_bfq(&self) -> bool {
        self.scheduler.as_deref() == Some("bfq")
    }

    /// Mean of the readings of `in_flight`.
    pub fn mean_in_flight(&self) -> Option<f64> {
        let values = self.in_flight.as_ref().ok()?;
        Some(values.iter().sum::<f64>() / values.len() as f64)
    }

    /// Whether `in_flight` includes requests waiting in the scheduler.
    pub fn counts_waiting(&self) -> bool {
        match (self.mean_in_flight(), &self.mean_queue) {
            (Some(seen), Ok(queue)) => seen >= COUNTS_WAITING * queue,
            (Some(_), Err(_)) => true,
            (None, _) => false,
        }
    }

    /// Part of the readings in which fewer than `number` requests were in flight.
    pub fn part_below(&self, number: f64) -> Option<f64> {
        let values = self.in_flight.as_ref().ok()?;
        let below = values.iter().filter(|value| **value < number).count();
        Some(below as f64 / values.len() as f64)
    }

    /// Requests in the queue while no workload limits itself: what they keep outstanding after
    /// merging, at least one for each group, limited by the pool.
    pub fn capacity(&self) -> f64 {
        let wanted = self.least_waiting.unwrap_or(self.groups as f64);
        wanted.min(self.nr_requests.unwrap_or(f64::INFINITY))
    }
}

/// Whether promises include a group: it is measured and runs workloads.
pub fn is_measured(group: &GroupRecord) -> bool {
    group.measured && group.is_loaded()
}

/// The disk of a group; by default the only disk of the trial.
pub fn disk_of<'t>(trial: &'t TrialRecord, group: &'t GroupRecord) -> Option<&'t str> {
    match (&group.disk, trial.disks.as_slice()) {
        (Some(disk), _) => Some(disk),
        (None, [only]) => Some(&only.name),
        (None, _) => None,
    }
}

/// The recorded queue attributes of a disk in a repeat.
pub fn reading<'r>(repeat: &Repeat<'r>, disk: &str) -> Option<&'r QueueReading> {
    repeat.record.queues.iter().find(|queue| queue.disk == disk)
}

fn outstanding<'t>(
    groups: impl Iterator<Item = &'t GroupRecord>,
    of: impl Fn(&IoClass) -> Option<u32>,
) -> Option<f64> {
    let mut sum = 0.0;
    for workload in groups.flat_map(|group| &group.workloads) {
        if workload.io.reads || workload.io.writes {
            sum += f64::from(of(&workload.io)?);
        }
    }
    (sum > 0.0).then_some(sum)
}

fn rate(repeat: &Repeat<'_>, device: &str, column: &str) -> Result<f64, String> {
    let series = unwrapped(repeat.table("disk")?.sum(device, &[column])?);
    let (grown, seconds) = series::growth(&series, repeat.start_ns, repeat.end_ns)
        .ok_or_else(|| format!("the samples of `{device}` do not cover the window"))?;
    Ok(grown / seconds)
}

fn gauge(repeat: &Repeat<'_>, device: &str) -> Result<Vec<f64>, String> {
    let series = repeat.table("disk")?.sum(device, &["in_flight"])?;
    let inside = series
        .iter()
        .filter(|(time, _)| (repeat.start_ns..=repeat.end_ns).contains(time))
        .map(|(_, value)| *value);
    let values: Vec<f64> = inside.collect();
    if values.is_empty() {
        return Err(format!("no reading of `{device}` falls into the window"));
    }
    Ok(values)
}

/// Requests that a workload kept outstanding, by Little's law.
pub fn requests_outstanding(result: &WorkloadResult) -> Option<f64> {
    let mut sum = None;
    for direction in ["read", "write"] {
        let rate = result.metrics.get(&format!("{direction}_iops"));
        if let (Some(latency), Some(rate)) = (result.latency.get(direction), rate) {
            *sum.get_or_insert(0.0) += latency.mean_ns * 1e-9 * rate;
        }
    }
    sum
}
