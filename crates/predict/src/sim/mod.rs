//! The simulation: closed loops of requests through threads, pool, scheduler and device.
//!
//! Each member keeps its requests outstanding: its thread issues them one by one, a request takes a tag of
//! the shared pool (tags are assigned in the order of waiting), waits in the scheduler, is served, and
//! returns to the thread. All CPU time, of the threads and of a loop device, comes from the same CPUs. A long
//! run is extrapolated from a part of it: the simulation ends when enough requests were served, and its
//! remaining random error is estimated from its parts.

mod bfq;
mod cpu;
mod device;
mod inject;
mod loops;
mod tally;
mod timers;

use crate::noise::Noise;
use crate::scenario::{Bfq, Device, Scenario, Scheduler};

use bfq::Queues;
use cpu::Cpu;
use device::Servers;
use loops::Loop;
pub(crate) use loops::cap;
use tally::Tally;
use timers::{Timer, Timers};

pub use tally::Simulated;

/// Limits on the simulation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Effort {
    /// Requests served.
    pub requests: u64,
    /// Seconds of the run.
    pub seconds: f64,
}

impl Default for Effort {
    /// Sufficient for shares of 16 groups within a few percent; takes a few milliseconds.
    fn default() -> Self {
        Self { requests: 60_000, seconds: 4.0 }
    }
}

/// Minimum and maximum number of requests that a prediction simulates.
const REQUESTS: std::ops::RangeInclusive<f64> = 12_000.0..=90_000.0;

/// Turns that the lightest group should have.
const TURNS: f64 = 5.0;

impl Effort {
    /// As many requests as the lightest group needs for some turns: more for many groups, and for long turns.
    #[must_use]
    pub fn for_scenario(scenario: &Scenario) -> Self {
        let members = &scenario.members;
        let weights = || members.iter().map(|member| member.weight);
        let lightest = weights().fold(f64::INFINITY, f64::min);
        let turn = members.iter().map(|member| bfq::requests_of_a_turn(member, scenario));
        let needed = TURNS * turn.fold(1.0, f64::max) * weights().sum::<f64>() / lightest.max(1e-9);
        let requests = needed.clamp(*REQUESTS.start(), *REQUESTS.end()) as u64;
        Self { requests, ..Self::default() }
    }
}

/// Simulates a run of a scenario. The same scenario, effort and seed give the same numbers.
#[must_use]
pub fn simulate(scenario: &Scenario, effort: Effort, seed: u64) -> Simulated {
    Sim::new(scenario, seed).run(effort)
}

/// Index of a member.
type Index = usize;

struct Sim<'q> {
    scenario: &'q Scenario,
    now: f64,
    noise: Noise,
    cpu: Cpu,
    timers: Timers,
    loops: Vec<Loop>,
    queues: Queues,
    servers: Servers,
    /// Used tags of the pool.
    pool_used: u32,
    /// Requests in the device.
    in_driver: u32,
    /// Members whose thread waits for a tag, in order of waiting.
    waiters: std::collections::VecDeque<Index>,
    /// Requests in order of arrival, for first come, first served.
    order: std::collections::VecDeque<Index>,
    tally: Tally,
}

impl<'q> Sim<'q> {
    fn new(scenario: &'q Scenario, seed: u64) -> Self {
        let bfq = match &scenario.scheduler {
            Scheduler::Bfq(bfq) => bfq.clone(),
            Scheduler::Fifo => Bfq::default(),
        };
        let count = scenario.members.len();
        Self {
            scenario,
            now: 0.0,
            noise: Noise::new(seed),
            cpu: Cpu::new(scenario.cpus),
            timers: Timers::default(),
            loops: scenario.members.iter().map(|member| Loop::new(member, scenario)).collect(),
            queues: Queues::new(bfq, scenario),
            servers: Servers::new(&scenario.device),
            pool_used: 0,
            in_driver: 0,
            waiters: std::collections::VecDeque::with_capacity(count),
            order: std::collections::VecDeque::new(),
            tally: Tally::new(count),
        }
    }

    fn run(mut self, effort: Effort) -> Simulated {
        let horizon = effort.seconds.min(self.scenario.seconds).max(1e-3);
        for index in 0..self.loops.len() {
            self.start_thread(index);
        }
        self.dispatch();
        while self.tally.served() < effort.requests {
            let (cpu, timer) = (self.cpu.next(self.now), self.timers.next());
            let at = cpu.min(timer);
            if at > horizon || !at.is_finite() {
                self.pass(horizon);
                break;
            }
            self.pass(at);
            if cpu <= timer {
                if let Some(task) = self.cpu.finish() {
                    self.task_done(task);
                }
            } else if let Some(timer) = self.timers.take() {
                self.timer(timer);
            }
        }
        self.tally.close(self.now, self.scenario)
    }

    /// Advances time.
    fn pass(&mut self, to: f64) {
        let busy = self.cpu.pass(self.now, to);
        self.tally.pass(to - self.now, busy, self.pool_used, self.in_driver);
        self.now = to;
    }

    fn task_done(&mut self, task: u32) {
        let index = (task >> 1) as Index;
        if task & 1 == 0 {
            self.issued(index);
        } else {
            self.worker_served(index);
        }
        self.dispatch();
    }

    fn timer(&mut self, timer: Timer) {
        match timer {
            Timer::Idle { wait } => {
                if self.queues.idle_timer_expired(wait, self.now) {
                    self.dispatch();
                }
            }
            Timer::Worker { member } => self.begin_work(member),
            Timer::Held { member } => {
                self.worker_done(member);
                self.dispatch();
            }
            Timer::Served { member, blocks } => {
                self.servers.busy -= 1;
                self.start_servers();
                self.complete(member, blocks);
                self.dispatch();
            }
        }
    }

    /// Dispatches requests while the scheduler has some and the device accepts them.
    fn dispatch(&mut self) {
        let depth = self.scenario.device.depth();
        while self.in_driver < depth {
            let chosen = match self.scenario.scheduler {
                Scheduler::Fifo => self.first_come(),
                Scheduler::Bfq(_) => self.choose(),
            };
            let Some((member, blocks)) = chosen else { return };
            self.in_driver += 1;
            self.loops[member].in_driver += 1;
            match self.scenario.device {
                Device::Loop { .. } => self.hand_to_worker(member, blocks),
                Device::Servers { .. } => {
                    self.servers.waiting.push_back((member, blocks));
                    self.start_servers();
                }
            }
        }
    }

    fn first_come(&mut self) -> Option<(Index, u32)> {
        while let Some(member) = self.order.pop_front() {
            if let Some(blocks) = self.loops[member].queue.pop_front() {
                return Some((member, blocks));
            }
        }
        None
    }

    /// A request of this many blocks has been served.
    fn complete(&mut self, member: Index, blocks: u32) {
        self.queues.injection.done(member, self.now, self.in_driver);
        self.in_driver -= 1;
        self.pool_used -= 1;
        let own = &mut self.loops[member];
        own.in_driver -= 1;
        own.in_pool -= 1;
        own.ready += blocks;
        self.tally.serve(self.now, member, blocks);
        self.admit();
        self.start_thread(member);
    }
}
