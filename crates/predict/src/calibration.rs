//! Calibration of a disk from short measurements, and the costs that the simulation derives from it.
//!
//! Three measurements of each kind of request: one request at a time (latency), many small ones (throughput
//! and CPU time per request), many large ones (cost per byte). Parts that cannot be measured separately, such
//! as the CPU time that cache misses cost under load, are one factor, chosen so that the simulation of the
//! second measurement reproduces its throughput.

use std::collections::BTreeMap;

use assay_facts::HostFacts;
use serde::{Deserialize, Serialize};

use crate::scenario::{Bfq, Device, Member, Scenario, Scheduler};
use crate::sim::{Effort, simulate};

/// With less idle time than this the CPUs were the limit.
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

/// The cost of one request.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// CPU seconds to issue and reap it.
    pub submit_s: f64,
    /// The same per byte.
    pub submit_byte_s: f64,
    /// CPU seconds of a loop device to serve it.
    pub serve_s: f64,
    /// The same per byte.
    pub serve_byte_s: f64,
    /// CPU seconds of a loop device for each further block of a merged request.
    pub serve_more_s: f64,
    /// Seconds that a worker waits after the CPU time of a request.
    pub hold_s: f64,
    /// The same per byte.
    pub hold_byte_s: f64,
    /// Seconds before service that are not CPU time, while nothing else is in service.
    pub delay_s: f64,
}

/// A cost, fitted to the measured throughput.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Fitted {
    /// The cost.
    pub cost: Cost,
    /// Factor applied to all CPU times.
    pub factor: f64,
    /// Requests a second of the measurement it was fitted to.
    pub iops: f64,
}

/// Costs by the name of the kind of request; missing kinds are assumed.
pub type Costs = BTreeMap<String, Fitted>;

impl Cost {
    /// Assumed costs of an unmeasured disk: a loop device whose image is in memory, on a processor of the
    /// 2020s. Accurate within a factor of two or three at best.
    pub const ASSUMED: Self = Self {
        submit_s: 8e-6,
        submit_byte_s: 2e-11,
        serve_s: 10e-6,
        serve_byte_s: 1e-10,
        serve_more_s: 2e-6,
        hold_s: 8e-6,
        hold_byte_s: 0.0,
        delay_s: 20e-6,
    };

    const fn times(self, factor: f64) -> Self {
        Self {
            submit_s: self.submit_s * factor,
            submit_byte_s: self.submit_byte_s * factor,
            serve_s: self.serve_s * factor,
            serve_byte_s: self.serve_byte_s * factor,
            serve_more_s: self.serve_more_s * factor,
            ..self
        }
    }

    /// The mean of two kinds, for workloads that do both.
    #[must_use]
    pub const fn mean(self, other: Self) -> Self {
        Self {
            submit_s: (self.submit_s + other.submit_s) / 2.0,
            submit_byte_s: (self.submit_byte_s + other.submit_byte_s) / 2.0,
            serve_s: (self.serve_s + other.serve_s) / 2.0,
            serve_byte_s: (self.serve_byte_s + other.serve_byte_s) / 2.0,
            serve_more_s: (self.serve_more_s + other.serve_more_s) / 2.0,
            hold_s: (self.hold_s + other.hold_s) / 2.0,
            hold_byte_s: (self.hold_byte_s + other.hold_byte_s) / 2.0,
            delay_s: (self.delay_s + other.delay_s) / 2.0,
        }
    }

    /// A member with requests of this cost.
    #[must_use]
    pub fn member(self, weight: f64, depth: u32, bytes: u64, kind: RequestKind) -> Member {
        let size = bytes as f64;
        Member {
            weight,
            depth,
            bytes,
            sequential: kind.sequential,
            writes: kind.writes,
            submit_s: self.submit_s + self.submit_byte_s * size,
            serve_s: self.serve_s + self.serve_byte_s * size,
            serve_more_s: self.serve_more_s + self.serve_byte_s * size,
            hold_s: self.hold_s + self.hold_byte_s * size,
            delay_s: self.delay_s,
        }
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

    /// The reason why its values are impossible, if so. A simulation takes time and memory for each group and
    /// each request of a measurement.
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

    /// The costs for the simulation, by kind of request, without kinds that were not completely measured.
    #[must_use]
    pub fn costs(&self) -> Costs {
        let fitted = RequestKind::ALL
            .iter()
            .filter_map(|kind| Some((kind.name().to_owned(), self.fit(*kind)?)));
        fitted.collect()
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

    fn cost(&self, kind: RequestKind) -> Option<Cost> {
        let of_kind = || self.taken.iter().filter(|one| one.rw == kind.name());
        let single = of_kind().find(|one| one.depth == 1)?;
        let small = self.small(kind)?;
        let large = self.large(kind)?;
        let bytes = (large.bytes as f64 - small.bytes as f64).max(1.0);
        let serve = |one: &Measurement| (one.cpu_s - one.submit_cpu_s).max(1e-7);
        let slope = |small: f64, large: f64| ((large - small) / bytes).max(0.0);
        let submit_byte_s = slope(small.submit_cpu_s, large.submit_cpu_s);
        let serve_byte_s = slope(serve(small), serve(large));
        let own = small.bytes as f64;
        let alone = if kind.sequential { serve(single) } else { serve(small) };
        Some(Cost {
            submit_s: (small.submit_cpu_s - submit_byte_s * own).max(1e-7),
            submit_byte_s,
            serve_s: (alone - serve_byte_s * own).max(1e-7),
            serve_byte_s,
            serve_more_s: (serve(small) - serve_byte_s * own).max(0.0),
            hold_s: 0.0,
            hold_byte_s: 0.0,
            delay_s: (single.latency_s - single.submit_cpu_s - serve(small)).clamp(0.0, 0.05),
        })
    }

    /// Fits the simulation to the measured throughput: by time in which a worker waits, or, if the CPUs were
    /// busy or the simulation is too slow even without waiting, by one factor on all CPU time.
    fn fit(&self, kind: RequestKind) -> Option<Fitted> {
        let small = self.small(kind)?;
        let large = self.large(kind)?;
        let mut cost = self.cost(kind)?;
        let mut factor: f64 = 1.0;
        if small.idle < SPARE || self.simulated(cost, small, kind) < small.iops {
            for _ in 0..4 {
                let iops = self.simulated(cost.times(factor), small, kind);
                factor = (factor * iops / small.iops.max(1.0)).clamp(0.2, 5.0);
            }
            cost = cost.times(factor);
        } else {
            cost.hold_s = self.hold(cost, small, kind);
            let more = self.hold(Cost { hold_s: 0.0, ..cost }, large, kind) - cost.hold_s;
            let bytes = (large.bytes as f64 - small.bytes as f64).max(1.0);
            cost.hold_byte_s = (more / bytes).max(0.0);
        }
        Some(Fitted { cost, factor, iops: small.iops })
    }

    /// Seconds that a worker waits for each request so that the simulation reproduces a measurement's
    /// throughput.
    fn hold(&self, cost: Cost, measurement: &Measurement, kind: RequestKind) -> f64 {
        let mut hold: f64 = 0.0;
        for _ in 0..6 {
            let iops = self.simulated(Cost { hold_s: hold, ..cost }, measurement, kind);
            hold = (hold + 1.0 / measurement.iops.max(1.0) - 1.0 / iops.max(1.0)).max(0.0);
        }
        hold
    }

    /// Requests a second of a simulated measurement.
    fn simulated(&self, cost: Cost, measurement: &Measurement, kind: RequestKind) -> f64 {
        let member = cost.member(100.0, measurement.depth, measurement.bytes, kind);
        let scenario = self.scenario_of(vec![member; measurement.groups as usize]);
        simulate(&scenario, Effort { requests: 15_000, seconds: 1.0 }, 1).iops
    }

    fn scenario_of(&self, members: Vec<Member>) -> Scenario {
        let bfq = Bfq { budget: Some(512.0), ..Bfq::default() };
        let scheduler = match self.scheduler.as_deref() {
            Some("bfq") => Scheduler::Bfq(bfq),
            _ => Scheduler::Fifo,
        };
        Scenario {
            members,
            scheduler,
            pool: self.pool,
            device: Device::Loop { depth: 128 },
            cpus: self.cpus as f64,
            seconds: 1.0,
        }
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
    fn impossible_values_are_not_simulated() {
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
    fn the_simulation_reproduces_the_measured_throughput() {
        let costs = calibration().costs();
        let fitted = &costs["randread"];
        let member = |bytes| {
            fitted.cost.member(100.0, 32, bytes, RequestKind { writes: false, sequential: false })
        };
        let iops = |bytes| {
            let scenario = calibration().scenario_of(vec![member(bytes); 4]);
            simulate(&scenario, Effort { requests: 40_000, seconds: 2.0 }, 3).iops
        };
        assert!((iops(4096) / 50_000.0 - 1.0).abs() < 0.03, "{}", iops(4096));
        assert!((iops(65_536) / 20_000.0 - 1.0).abs() < 0.4, "{}", iops(65_536));
        assert_eq!(costs.len(), 1, "unmeasured kinds are left out");
    }

    #[test]
    fn a_calibration_of_a_busy_host_is_doubted() {
        assert_eq!(calibration().doubt(), None);
        let mut busy = calibration();
        busy.taken[0].idle = 0.02;
        assert!(busy.doubt().unwrap().contains("idle 2 %"));
    }

    #[test]
    fn latency_beyond_cpu_time_is_delay() {
        let cost = calibration().cost(RequestKind::ALL[0]).unwrap();
        assert!((cost.delay_s - (80e-6 - 27e-6 - 12e-6)).abs() < 1e-9);
        assert!(cost.serve_byte_s > 0.0 && cost.submit_byte_s > 0.0);
    }
}
