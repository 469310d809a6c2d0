//! Input of a simulation: members that share a disk through a scheduler, in plain numbers.

/// All parameters of a simulation.
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
    /// Length of the run, seconds.
    pub seconds: f64,
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
    /// CPU seconds to issue and to reap one request, on a thread of its own.
    pub submit_s: f64,
    /// CPU seconds of the device side for one request of one block.
    pub serve_s: f64,
    /// The same for each further block of a merged request.
    pub serve_more_s: f64,
    /// Seconds that a worker of the device waits after the CPU time, before it takes the next request.
    pub hold_s: f64,
    /// Seconds from request to service that are not CPU time, while nothing else is in service.
    pub delay_s: f64,
}

/// The scheduler of a disk.
#[derive(Debug, Clone, PartialEq)]
pub enum Scheduler {
    /// B-WF2Q+ with budgets.
    Bfq(Bfq),
    /// First come, first served: equivalent to none, mq-deadline and kyber as far as shares are concerned.
    Fifo,
}

/// The attributes below `iosched/` that affect shares (Documentation/block/bfq-iosched.rst).
#[derive(Debug, Clone, PartialEq)]
pub struct Bfq {
    /// Budget of a turn in sectors; `None` lets BFQ determine it.
    pub budget: Option<f64>,
    /// Seconds of idling for a queue that ran empty; 0 disables idling.
    pub slice_idle_s: f64,
    /// One request at a time.
    pub strict: bool,
    /// Whether the disk is rotational, so that seeks are charged.
    pub rotational: bool,
    /// Seconds after which a turn ends (`timeout_sync`).
    pub timeout_s: f64,
    /// Whether each group is limited to its part of the pool (since 5.17, 76f1df88bbc2).
    pub caps: bool,
}

impl Default for Bfq {
    /// The kernel's defaults on a loop device, except `low_latency`, which is not modelled.
    fn default() -> Self {
        Self {
            budget: None,
            slice_idle_s: 0.008,
            strict: false,
            rotational: true,
            timeout_s: 0.125,
            caps: true,
        }
    }
}

/// The device that serves dispatched requests.
#[derive(Debug, Clone, PartialEq)]
pub enum Device {
    /// A loop device: one worker for each group, on the same CPUs as everything else
    /// (drivers/block/loop.c since 5.14, 87579e9b7d8d).
    Loop {
        /// Requests that it accepts at once.
        depth: u32,
    },
    /// A device with parallel servers.
    Servers {
        /// Requests that it accepts at once.
        depth: u32,
        /// Number of servers.
        servers: u32,
        /// Seconds to serve one.
        service_s: f64,
        /// Seconds for each byte of it.
        per_byte_s: f64,
    },
}

impl Device {
    /// Requests that it accepts at once.
    #[must_use]
    pub const fn depth(&self) -> u32 {
        match self {
            Self::Loop { depth } | Self::Servers { depth, .. } => *depth,
        }
    }
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
