//! What short measurements of a disk say about it, and what of that the simulation needs.
//!
//! Three of each kind of request: one request at a time (latency), many small ones (throughput and
//! CPU time of each), many large ones (what a byte costs). Parts that cannot be measured apart, such
//! as the CPU time that caches cost while everything runs at once, are one factor, chosen such that
//! the simulation of the second measurement has its throughput.

use std::collections::BTreeMap;

use assay_facts::HostFacts;
use serde::{Deserialize, Serialize};

use crate::scenario::{Bfq, Device, Member, Scenario, Scheduler};
use crate::sim::{Effort, simulate};

/// Less idle time than this means that the CPUs were the limit.
const SPARE: f64 = 0.1;

// What a calibration may say; its own measurements have 4 groups, a depth of 32 and 64 KiB at the most.
const MOST_GROUPS: u32 = 64;
const MOST_REQUESTS: u32 = 65_536;
const MOST_BYTES: u64 = 1 << 30;
const MOST_CPUS: usize = 65_536;
const MOST_TAKEN: usize = 64;

/// Version of the format.
pub(crate) const SCHEMA: u32 = 1;

/// A kind of request: what it does and whether it follows the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct RequestKind {
    /// It writes.
    pub writes: bool,
    /// It begins where the one before ended.
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

/// One measurement: groups of equal weight that do the same.
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
    /// The scheduler that it was measured under.
    pub scheduler: Option<String>,
    /// Requests that the scheduler's pool held.
    pub pool: u32,
    /// What was measured.
    pub taken: Vec<Measurement>,
}

/// What one request costs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// CPU seconds to issue and reap it.
    pub submit_s: f64,
    /// The same for each byte.
    pub submit_byte_s: f64,
    /// CPU seconds of a loop device to serve it.
    pub serve_s: f64,
    /// The same for each byte.
    pub serve_byte_s: f64,
    /// CPU seconds of a loop device for each further block of a merged request.
    pub serve_more_s: f64,
    /// Seconds that a worker waits after the CPU time of a request.
    pub hold_s: f64,
    /// The same for each byte.
    pub hold_byte_s: f64,
    /// Seconds before service that are no CPU time, while nothing else is in service.
    pub delay_s: f64,
}

/// A cost, and how the simulation was brought to the throughput that was measured.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Fitted {
    /// The cost.
    pub cost: Cost,
    /// By what all CPU times were multiplied.
    pub factor: f64,
    /// Requests a second of the measurement that it was brought to.
    pub iops: f64,
}

/// Costs by the name of the kind of request; what is not in it is assumed.
pub type Costs = BTreeMap<String, Fitted>;

impl Cost {
    /// What is assumed of a disk that nobody has measured: a loop device whose image is in memory,
    /// on a processor of the 2020s. Right within a factor of two or three at best.
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
    /// Why it says nothing about this disk of this host, if so.
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

    /// What no measurement can have come to, if anything. A simulation takes time and memory for each
    /// group and each request that a measurement says it had.
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
        (!is_whole).then(|| "it has numbers that no disk and no host has".to_owned())
    }

    /// What the simulation needs of it, by kind of request. A kind that was not measured whole is
    /// left out.
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

    /// What keeps it from being believed, if anything: with one request at a time a host that has
    /// nothing else to do has a CPU to spare.
    #[must_use]
    pub fn doubt(&self) -> Option<String> {
        let alone = self.taken.iter().filter(|one| one.depth == 1).map(|one| one.idle);
        let least = alone.fold(f64::INFINITY, f64::min);
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

    /// Brings the simulation to the throughput that was measured: by time in which a worker waits,
    /// or, where the CPUs were busy or the simulation is too slow without any, by one factor on all
    /// CPU time.
    fn fit(&self, kind: RequestKind) -> Option<Fitted> {
        let small = self.small(kind)?;
        let large = self.large(kind)?;
        let mut cost = self.cost(kind)?;
        let mut factor: f64 = 1.0;
        if small.idle < SPARE || self.simulated(cost, small, kind) < small.iops {
            for _ in 0..4 {
                let found = self.simulated(cost.times(factor), small, kind);
                factor = (factor * found / small.iops.max(1.0)).clamp(0.2, 5.0);
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

    /// Seconds that a worker waits for each request, such that a measurement has its throughput.
    fn hold(&self, cost: Cost, taken: &Measurement, kind: RequestKind) -> f64 {
        let mut hold: f64 = 0.0;
        for _ in 0..6 {
            let found = self.simulated(Cost { hold_s: hold, ..cost }, taken, kind);
            hold = (hold + 1.0 / taken.iops.max(1.0) - 1.0 / found.max(1.0)).max(0.0);
        }
        hold
    }

    /// Requests a second of a simulation of a measurement.
    fn simulated(&self, cost: Cost, taken: &Measurement, kind: RequestKind) -> f64 {
        let member = cost.member(100.0, taken.depth, taken.bytes, kind);
        let question = self.asked(vec![member; taken.groups as usize]);
        simulate(&question, Effort { requests: 15_000, seconds: 1.0 }, 1).iops
    }

    fn asked(&self, members: Vec<Member>) -> Scenario {
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

    fn taken(bytes: u64, depth: u32, iops: f64, latency_s: f64, cpu_s: f64) -> Measurement {
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
                taken(4096, 1, 12_000.0, 80e-6, 45e-6),
                taken(4096, 32, 50_000.0, 2e-3, 30e-6),
                taken(65_536, 32, 20_000.0, 6e-3, 80e-6),
            ],
        }
    }

    #[test]
    fn numbers_that_no_disk_has_are_not_simulated() {
        assert_eq!(calibration().flaw(), None);
        let with = |change: &dyn Fn(&mut Measurement)| {
            let mut odd = calibration();
            change(&mut odd.taken[0]);
            odd.flaw().is_some()
        };
        assert!(with(&|taken| taken.groups = u32::MAX));
        assert!(with(&|taken| taken.depth = u32::MAX));
        assert!(with(&|taken| taken.latency_s = f64::INFINITY));
        assert!(with(&|taken| taken.cpu_s = -1.0));
    }

    #[test]
    fn the_simulation_has_the_throughput_that_was_measured() {
        let costs = calibration().costs();
        let fitted = &costs["randread"];
        let member = |bytes| {
            fitted.cost.member(100.0, 32, bytes, RequestKind { writes: false, sequential: false })
        };
        let found = |bytes| {
            let question = calibration().asked(vec![member(bytes); 4]);
            simulate(&question, Effort { requests: 40_000, seconds: 2.0 }, 3).iops
        };
        assert!((found(4096) / 50_000.0 - 1.0).abs() < 0.03, "{}", found(4096));
        assert!((found(65_536) / 20_000.0 - 1.0).abs() < 0.4, "{}", found(65_536));
        assert_eq!(costs.len(), 1, "kinds that were not measured are left out");
    }

    #[test]
    fn a_host_that_was_busy_while_it_was_measured_is_doubted() {
        assert_eq!(calibration().doubt(), None);
        let mut busy = calibration();
        busy.taken[0].idle = 0.02;
        assert!(busy.doubt().unwrap().contains("idle 2 %"));
    }

    #[test]
    fn what_latency_is_more_than_cpu_time_is_delay() {
        let cost = calibration().cost(RequestKind::ALL[0]).unwrap();
        assert!((cost.delay_s - (80e-6 - 27e-6 - 12e-6)).abs() < 1e-9);
        assert!(cost.serve_byte_s > 0.0 && cost.submit_byte_s > 0.0);
    }
}
