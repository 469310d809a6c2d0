//! What is simulated: members that share a disk through a scheduler, in plain numbers.

/// Everything that a simulation depends on.
#[derive(Debug, Clone, PartialEq)]
pub struct Scenario {
    /// The groups that compete.
    pub members: Vec<Member>,
    /// Who decides whose request is next.
    pub scheduler: Scheduler,
    /// Requests that the scheduler's pool holds (`nr_requests`).
    pub pool: u32,
    /// What serves the requests.
    pub device: Device,
    /// CPUs that workloads and device share.
    pub cpus: f64,
    /// How long the run takes, seconds.
    pub seconds: f64,
}

/// One group with its workloads taken together.
#[derive(Debug, Clone, PartialEq)]
pub struct Member {
    /// Its weight.
    pub weight: f64,
    /// Requests that it keeps outstanding.
    pub depth: u32,
    /// Bytes of one request.
    pub bytes: u64,
    /// Each request begins where the one before ended, so that waiting ones merge.
    pub sequential: bool,
    /// It writes (O_DIRECT, so that its requests are synchronous).
    pub writes: bool,
    /// CPU seconds to issue and to reap one request, on a thread of its own.
    pub submit_s: f64,
    /// CPU seconds that the device side spends on one request, of one block.
    pub serve_s: f64,
    /// The same for each further block of a merged request.
    pub serve_more_s: f64,
    /// Seconds after the CPU time that a worker of the device waits before it takes the next request.
    pub hold_s: f64,
    /// Seconds from request to service that are no CPU time, while nothing else is in service.
    pub delay_s: f64,
}

/// Who decides whose request is next.
#[derive(Debug, Clone, PartialEq)]
pub enum Scheduler {
    /// B-WF2Q+ with budgets.
    Bfq(Bfq),
    /// First come, first served: none, mq-deadline and kyber as far as shares go.
    Fifo,
}

/// The attributes below `iosched/` that decide about shares (Documentation/block/bfq-iosched.rst).
#[derive(Debug, Clone, PartialEq)]
pub struct Bfq {
    /// Sectors of a turn; `None` lets BFQ find them.
    pub budget: Option<f64>,
    /// Seconds that the disk is held for a queue that ran empty; 0 holds it for none.
    pub slice_idle_s: f64,
    /// One request at a time.
    pub strict: bool,
    /// Whether the disk turns, so that a seek is charged.
    pub rotational: bool,
    /// Seconds after which a turn ends (`timeout_sync`).
    pub timeout_s: f64,
    /// Whether each group may hold only its part of the pool (since 5.17, 76f1df88bbc2).
    pub caps: bool,
}

impl Default for Bfq {
    /// The kernel's own defaults on a loop device, but `low_latency`, which is no part of this.
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

/// What serves the requests that were dispatched.
#[derive(Debug, Clone, PartialEq)]
pub enum Device {
    /// A loop device: one worker for each group, on the same CPUs as everything else
    /// (drivers/block/loop.c since 5.14, 87579e9b7d8d).
    Loop {
        /// Requests that it takes at once.
        depth: u32,
    },
    /// A device of its own: so many requests are served side by side.
    Servers {
        /// Requests that it takes at once.
        depth: u32,
        /// How many of them are served at the same time.
        servers: u32,
        /// Seconds to serve one.
        service_s: f64,
        /// Seconds for each byte of it.
        per_byte_s: f64,
    },
}

impl Device {
    /// Requests that it takes at once.
    #[must_use]
    pub const fn depth(&self) -> u32 {
        match self {
            Self::Loop { depth } | Self::Servers { depth, .. } => *depth,
        }
    }
}

impl Scenario {
    /// What each member is owed, in the order of the members; they add up to 1.
    #[must_use]
    pub fn expected(&self) -> Vec<f64> {
        let all: f64 = self.members.iter().map(|member| member.weight).sum();
        self.members.iter().map(|member| member.weight / all).collect()
    }

    /// The same question for another number of groups: weights and workloads are handed out in
    /// turn, as a study does.
    #[must_use]
    pub fn with_groups(&self, count: usize) -> Self {
        let members = self.members.iter().cycle().take(count).cloned().collect();
        Self { members, ..self.clone() }
    }
}
