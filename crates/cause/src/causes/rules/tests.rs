//! Rules on made-up repeats: each mechanism alone, and mechanisms that are present and not the reason.

mod cpus;
mod disks;
mod group_idle;
mod repeats;
mod short_of_requests;
mod wakers;

use assay_judge::verdict::ProofState;

use super::{Case, Finding};
use crate::causes::measured::{CpuWait, DiskUse, GroupRequests, Measured};
use crate::causes::{Measure, RULES};

/// Four groups of two threads on two CPUs that keep 8 requests outstanding, for ten seconds.
struct World {
    names: Vec<String>,
    promised: Vec<f64>,
    seen: Vec<f64>,
    /// CPU seconds of each group on each CPU.
    ran: Option<Vec<Vec<f64>>>,
    others: Option<f64>,
    has_throttled: bool,
    depth: f64,
    kept: Option<f64>,
    disturbed: bool,
    measured: Measured,
}

/// Seconds of every world.
const SECONDS: f64 = 10.0;

fn shares(of: &[f64]) -> Vec<f64> {
    let all: f64 = of.iter().sum();
    of.iter().map(|one| one / all).collect()
}

impl World {
    /// Weights, and amounts served.
    fn new(weights: &[f64], served: &[f64]) -> Self {
        let group = || GroupRequests {
            requests: 1000.0,
            partners: vec![0.0; weights.len()],
            ..GroupRequests::default()
        };
        let wait = || CpuWait { seconds: SECONDS, ..CpuWait::default() };
        Self {
            names: (1..=weights.len()).map(|number| format!("task{number}")).collect(),
            promised: shares(weights),
            seen: shares(served),
            ran: None,
            others: None,
            has_throttled: false,
            depth: 8.0,
            kept: None,
            disturbed: false,
            measured: Measured {
                cpu: Ok(weights.iter().map(|_| wait()).collect()),
                disk: Ok(DiskUse {
                    seconds: SECONDS,
                    groups: weights.iter().map(|_| group()).collect(),
                    samples: 9000.0,
                    ..DiskUse::default()
                }),
            },
        }
    }

    fn disk(mut self, change: impl Fn(usize, &mut GroupRequests)) -> Self {
        let groups = self.measured.disk.as_mut().unwrap().groups.iter_mut();
        groups.enumerate().for_each(|(number, group)| change(number, group));
        self
    }

    fn cpu(mut self, change: impl Fn(usize, &mut CpuWait)) -> Self {
        let waits = self.measured.cpu.as_mut().unwrap().iter_mut();
        waits.enumerate().for_each(|(number, wait)| change(number, wait));
        self
    }

    fn case(&self) -> Case<'_> {
        let each = |value: f64| vec![value; self.names.len()];
        Case {
            names: &self.names,
            promised: &self.promised,
            weights: self.promised.clone(),
            seen: self.seen.clone(),
            within: 0.1,
            depths: Some(each(self.depth)),
            kept: self.names.iter().map(|_| self.kept).collect(),
            threads: Some(each(2.0)),
            cpus: vec![0, 1],
            ran: self.ran.clone().map(|mut ran| {
                ran.iter_mut().flatten().for_each(|seconds| *seconds /= SECONDS);
                ran
            }),
            others: self.others,
            others_on: Some(vec![0.0; 2]),
            is_bound: false,
            has_throttled: self.has_throttled,
            pool: None,
            caps: Some(self.promised.iter().map(|share| (64.0 * share).round()).collect()),
            schedules: true,
            disturbed: self.disturbed,
            measured: &self.measured,
        }
    }

    fn finding(&self, code: &str) -> Option<Finding> {
        let rule = RULES.iter().find(|rule| rule.code == code).unwrap();
        (rule.examine)(&self.case())
    }

    fn state(&self, code: &str) -> Option<ProofState> {
        self.finding(code).map(|finding| finding.state)
    }

    /// Codes that are proven, of promises on a disk or on CPU time.
    fn proven(&self, measure: Measure) -> Vec<&'static str> {
        let rules = RULES.iter().filter(|rule| (rule.concerns)(measure));
        let proven = rules.filter(|rule| {
            (rule.examine)(&self.case()).is_some_and(|one| one.state == ProofState::Proven)
        });
        proven.map(|rule| rule.code).collect()
    }
}
