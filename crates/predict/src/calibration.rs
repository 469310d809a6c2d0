//! Calibration of a disk from short measurements, and the costs that predictions derive from it.
//!
//! Three measurements of each kind of request: one request at a time (which shows whether the host is idle
//! otherwise), many small ones (time and CPU time of a request), many large ones (the same per byte).

use std::collections::BTreeMap;

use assay_facts::HostFacts;
use serde::{Deserialize, Serialize};

/// With less idle time than this the host was busy.
const SPARE: f64 = 0.1;

// Limits on the content of a calibration; its own measurements have at most 4 groups, a depth of 32 and 64
// KiB.
const MOST_GROUPS: u32 = 64;
const MOST_REQUESTS: u32 = 65_536;
const MOST_BYTES: u64 = 1 << 30;
const MOST_CPUS: usize = 65_536;
const MOST_TAKEN: usize = 64;

/// Version of the format.
pub(crate) const SCHEMA: u32 = 1;

/// A kind of request: its direction, and whether it is sequential.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct RequestKind {
    /// It writes.
    pub writes: bool,
    /// It begins where the previous one ended.
    pub sequential: bool,
}

impl RequestKind {
    /// All of them.
    pub const ALL: [Self; 4] = [
        Self { writes: false, sequential: false },
        Self { writes: true, sequential: false },
        Self { writes: false, sequential: true },
        Self { writes: true, sequential: true },
    ];

    /// Its name, fio's `rw`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match (self.writes, self.sequential) {
            (false, false) => "randread",
            (true, false) => "randwrite",
            (false, true) => "read",
            (true, true) => "write",
        }
    }
}

/// One measurement: groups of equal weight with the same workload.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// fio's `rw`.
    pub rw: String,
    /// Bytes of a request.
    pub bytes: u64,
    /// Requests that each group kept outstanding.
    pub depth: u32,
    /// Groups.
    pub groups: u32,
    /// Requests a second, all groups together.
    pub iops: f64,
    /// Mean seconds from issue to completion.
    pub latency_s: f64,
    /// CPU seconds of the workload for each request.
    pub submit_cpu_s: f64,
    /// CPU seconds of the whole host for each request.
    pub cpu_s: f64,
    /// The part of all CPUs that was idle.
    pub idle: f64,
}

/// `calibration.json`: measurements of one kind of disk on one host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// Version of this format: 1.
    pub schema: u32,
    /// When it was made, RFC 3339.
    pub made_at: String,
    /// `uname -n`.
    pub host: String,
    /// `uname -r`.
    pub kernel: String,
    /// Model of the processors.
    pub processors: String,
    /// CPUs that the program may use.
    pub cpus: usize,
    /// Where the disk comes from: `loop`, `block:/dev/sdb`, `null_blk`.
    pub disk: String,
    /// The scheduler that it was measured with.
    pub scheduler: Option<String>,
    /// Size of the scheduler's request pool.
    pub pool: u32,
    /// The measurements.
    pub taken: Vec<Measurement>,
}

/// The cost of one request while a disk is saturated, linear in its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// Seconds of the disk for each request.
    pub request_s: f64,
    /// The same per byte.
    pub request_byte_s: f64,
    /// CPU seconds of the whole host for each request.
    pub cpu_s: f64,
    /// The same per byte.
    pub cpu_byte_s: f64,
}

/// Costs by the name of the kind of request; a kind that was not measured is missing.
pub type Costs = BTreeMap<String, Cost>;

impl Cost {
    /// The mean of two kinds, for workloads that do both.
    #[must_use]
    pub const fn mean(self, other: Self) -> Self {
        Self {
            request_s: (self.request_s + other.request_s) / 2.0,
            request_byte_s: (self.request_byte_s + other.request_byte_s) / 2.0,
            cpu_s: (self.cpu_s + other.cpu_s) / 2.0,
            cpu_byte_s: (self.cpu_byte_s + other.cpu_byte_s) / 2.0,
        }
    }

    /// Seconds of the disk, and CPU seconds, for a request of this size.
    #[must_use]
    pub const fn of(self, bytes: u64) -> (f64, f64) {
        let size = bytes as f64;
        (self.request_s + self.request_byte_s * size, self.cpu_s + self.cpu_byte_s * size)
    }
}

impl Calibration {
    /// The reason why it does not apply to this disk of this host, if so.
    #[must_use]
    pub fn refusal(&self, facts: &HostFacts, disk: &str) -> Option<String> {
        let differs = |what: &str, own: &str, here: &str| {
            (own != here)
                .then(|| format!("it was made with {what} `{own}`, and here it is `{here}`"))
        };
        let cpus = facts.cpus.allowed.len();
        (self.schema != SCHEMA)
            .then(|| format!("its format is {} and this version reads {SCHEMA}", self.schema))
            .or_else(|| self.flaw())
            .or_else(|| differs("host", &self.host, &facts.host_name))
            .or_else(|| differs("kernel", &self.kernel, &facts.kernel))
            .or_else(|| differs("processor", &self.processors, &facts.cpus.model))
            .or_else(|| differs("CPUs", &self.cpus.to_string(), &cpus.to_string()))
            .or_else(|| differs("disk", &self.disk, disk))
    }

    /// The reason why its values are impossible, if so.
    #[must_use]
    pub fn flaw(&self) -> Option<String> {
        let amount = |value: f64, most: f64| (0.0..=most).contains(&value);
        let is_sound = |one: &Measurement| {
            (1..=MOST_GROUPS).contains(&one.groups)
                && (1..=MOST_REQUESTS).contains(&one.depth)
                && (1..=MOST_BYTES).contains(&one.bytes)
                && amount(one.iops, 1e9)
                && amount(one.idle, 1.1)
                && [one.latency_s, one.submit_cpu_s, one.cpu_s].iter().all(|s| amount(*s, 60.0))
        };
        let is_whole = self.pool <= MOST_REQUESTS
            && (1..=MOST_CPUS).contains(&self.cpus)
            && self.taken.len() <= MOST_TAKEN
            && self.taken.iter().all(is_sound);
        (!is_whole).then(|| "it contains impossible values".to_owned())
    }

    /// The costs by kind of request, without kinds that were not completely measured.
    #[must_use]
    pub fn costs(&self) -> Costs {
        let costs = RequestKind::ALL
            .iter()
            .filter_map(|kind| Some((kind.name().to_owned(), self.cost(*kind)?)));
        costs.collect()
    }

    /// The measurement of many small requests.
    fn small(&self, kind: RequestKind) -> Option<&Measurement> {
        let many = self.taken.iter().filter(|one| one.rw == kind.name() && one.depth > 1);
        many.min_by_key(|one| one.bytes)
    }

    /// The measurement of many large requests.
    fn large(&self, kind: RequestKind) -> Option<&Measurement> {
        let many = self.taken.iter().filter(|one| one.rw == kind.name() && one.depth > 1);
        many.max_by_key(|one| one.bytes)
    }

    /// The reason to doubt it, if any: with one request at a time an otherwise idle host has a spare CPU.
    #[must_use]
    pub fn doubt(&self) -> Option<String> {
        let single = self.taken.iter().filter(|one| one.depth == 1).map(|one| one.idle);
        let least = single.fold(f64::INFINITY, f64::min);
        (least < SPARE).then(|| {
            format!(
                "the host was busy with other things while it was measured (CPUs idle {:.0} % with \
                 one request at a time)",
                least * 100.0
            )
        })
    }

    /// A line through the measurements of small and of large requests.
    fn cost(&self, kind: RequestKind) -> Option<Cost> {
        let (small, large) = (self.small(kind)?, self.large(kind)?);
        let is_measured = small.bytes < large.bytes && small.iops > 0.0 && large.iops > 0.0;
        let line = |of: fn(&Measurement) -> f64| {
            let slope = (of(large) - of(small)) / (large.bytes as f64 - small.bytes as f64);
            let slope = slope.max(0.0);
            ((of(small) - slope * small.bytes as f64).max(0.0), slope)
        };
        is_measured.then(|| {
            let (request_s, request_byte_s) = line(|one| 1.0 / one.iops);
            let (cpu_s, cpu_byte_s) = line(|one| one.cpu_s);
            Cost { request_s, request_byte_s, cpu_s, cpu_byte_s }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measurement(bytes: u64, depth: u32, iops: f64, latency_s: f64, cpu_s: f64) -> Measurement {
        Measurement {
            rw: "randread".to_owned(),
            bytes,
            depth,
            groups: if depth == 1 { 1 } else { 4 },
            iops,
            latency_s,
            submit_cpu_s: cpu_s * 0.6,
            cpu_s,
            idle: if depth == 1 { 0.6 } else { 0.3 },
        }
    }

    fn calibration() -> Calibration {
        Calibration {
            schema: SCHEMA,
            made_at: String::new(),
            host: "h".to_owned(),
            kernel: "k".to_owned(),
            processors: "p".to_owned(),
            cpus: 2,
            disk: "loop".to_owned(),
            scheduler: Some("bfq".to_owned()),
            pool: 256,
            taken: vec![
                measurement(4096, 1, 12_000.0, 80e-6, 45e-6),
                measurement(4096, 32, 50_000.0, 2e-3, 30e-6),
                measurement(65_536, 32, 20_000.0, 6e-3, 80e-6),
            ],
        }
    }

    #[test]
    fn impossible_values_are_refused() {
        assert_eq!(calibration().flaw(), None);
        let with = |change: &dyn Fn(&mut Measurement)| {
            let mut changed = calibration();
            change(&mut changed.taken[0]);
            changed.flaw().is_some()
        };
        assert!(with(&|one| one.groups = u32::MAX));
        assert!(with(&|one| one.depth = u32::MAX));
        assert!(with(&|one| one.latency_s = f64::INFINITY));
        assert!(with(&|one| one.cpu_s = -1.0));
    }

    #[test]
    fn costs_reproduce_the_measurements() {
        let costs = calibration().costs();
        let near = |bytes, iops: f64, cpu: f64| {
            let (request_s, cpu_s) = costs["randread"].of(bytes);
            assert!((request_s * iops - 1.0).abs() < 1e-9, "{request_s}");
            assert!((cpu_s / cpu - 1.0).abs() < 1e-9, "{cpu_s}");
        };
        near(4096, 50_000.0, 30e-6);
        near(65_536, 20_000.0, 80e-6);
        assert_eq!(costs.len(), 1, "unmeasured kinds are left out");
    }

    #[test]
    fn one_size_of_requests_gives_no_cost_per_byte() {
        let mut half = calibration();
        half.taken.pop();
        assert!(half.costs().is_empty());
    }

    #[test]
    fn a_calibration_of_a_busy_host_is_doubted() {
        assert_eq!(calibration().doubt(), None);
        let mut busy = calibration();
        busy.taken[0].idle = 0.02;
        assert!(busy.doubt().unwrap().contains("idle 2 %"));
    }
}
