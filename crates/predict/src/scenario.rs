//! What a prediction depends on: members that share a disk through a scheduler, in plain numbers.

use crate::calibration::Cost;

/// All inputs of a prediction.
#[derive(Debug, Clone, PartialEq)]
pub struct Scenario {
    /// The groups that compete.
    pub members: Vec<Member>,
    /// The scheduler.
    pub scheduler: Scheduler,
    /// Size of the scheduler's request pool (`nr_requests`).
    pub pool: u32,
    /// The device that serves the requests.
    pub device: Device,
    /// CPUs that workloads and device share.
    pub cpus: f64,
}

/// One group with its workloads combined.
#[derive(Debug, Clone, PartialEq)]
pub struct Member {
    /// Its weight.
    pub weight: f64,
    /// Requests that it keeps outstanding.
    pub depth: u32,
    /// Bytes of one request.
    pub bytes: u64,
    /// Each request begins where the previous one ended, so that queued ones merge.
    pub sequential: bool,
    /// It writes (O_DIRECT, so that its requests are synchronous).
    pub writes: bool,
    /// The cost of its requests, if calibrated.
    pub cost: Option<Cost>,
}

/// The scheduler of a disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheduler {
    /// B-WF2Q+ with budgets.
    Bfq {
        /// Whether the study sets the budget of a turn (`max_budget`); otherwise BFQ determines it.
        has_budget: bool,
    },
    /// First come, first served: equivalent to none, mq-deadline and kyber as far as shares are concerned.
    Fifo,
}

/// The device that serves dispatched requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Device {
    /// A loop device.
    Loop,
    /// A null_blk with its depth and, if configured, its requests a second.
    NullBlk {
        /// Requests that it accepts at once.
        depth: u32,
        /// Requests a second.
        iops: Option<u32>,
    },
    /// Another one, whose speed is unknown.
    Block,
}

impl Scenario {
    /// The expected share of each member, in order; they add up to 1.
    #[must_use]
    pub fn expected(&self) -> Vec<f64> {
        let all: f64 = self.members.iter().map(|member| member.weight).sum();
        self.members.iter().map(|member| member.weight / all).collect()
    }

    /// The same scenario with another number of groups: weights and workloads are assigned cyclically, as in
    /// a study.
    #[must_use]
    pub fn with_groups(&self, count: usize) -> Self {
        let members = self.members.iter().cycle().take(count).cloned().collect();
        Self { members, ..self.clone() }
    }
}
