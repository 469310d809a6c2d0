//! B-WF2Q+ with budgets and idling, as in BFQ (block/bfq-wf2q.c, block/bfq-iosched.c of 6.18).
//!
//! A queue is served for a turn: until its budget is used up, its time is over, or it stays empty for longer
//! than the disk idles for it. The next turn goes to the queue with the earliest finish time among the
//! eligible ones. While the disk idles, one request of another queue may be injected (see `inject`), charged
//! to that queue's own budget. Slow queues with random requests are charged time instead of sectors.

use super::inject::Injection;
use super::{Index, Sim};
use crate::scenario::{Bfq, Member, Scenario, Scheduler};

/// Sectors of 512 bytes.
const SECTOR: f64 = 512.0;

/// Requests per turn if BFQ determines the budget. It adapts to the use of each queue and to the rate of the
/// device; shares hardly depend on it.
const ADAPTED: f64 = 64.0;

/// `BFQ_MIN_TT`: the minimum charge of a turn on a non-rotational disk, seconds.
const LEAST_TIME: f64 = 0.002;

/// Effective fraction of a weight if the group's part of the pool is smaller than its number of outstanding
/// requests: for random requests, and for those that merge. Its thread then sleeps until one of the few tags
/// left to such groups is free (`bfq_limit_depth` allows them one of each word of the bitmap), and it has too
/// few requests during its turns. Fitted to 13 runs on a quiet host, not derived (docs/predicting.md).
const CAPPED: [f64; 2] = [0.57, 0.80];

/// Exponent by which the weight is reduced further if all groups together need more than the pool: applied to
/// the part that the pool holds. Fitted as well.
const SHORT: f64 = 0.4;

/// Number of a member's requests that fit into a turn.
pub(super) fn requests_of_a_turn(member: &Member, scenario: &Scenario) -> f64 {
    let sectors = member.bytes as f64 / SECTOR;
    match &scenario.scheduler {
        Scheduler::Fifo => 1.0,
        Scheduler::Bfq(bfq) => bfq.budget.map_or(ADAPTED, |budget| (budget / sectors).max(1.0)),
    }
}

/// Effective fraction of a member's weight: less than 1 if the caps of the pool limit it.
fn worth(member: &Member, scenario: &Scenario) -> f64 {
    if super::loops::cap(member, scenario) >= member.depth {
        return 1.0;
    }
    let outstanding: f64 = scenario.members.iter().map(|member| f64::from(member.depth)).sum();
    let holds = (f64::from(super::loops::pool(member, scenario)) / outstanding).min(1.0);
    CAPPED[usize::from(member.sequential)] * holds.powf(SHORT)
}

/// The scheduler's state of one member.
#[derive(Debug, Clone)]
struct Entity {
    weight: f64,
    start: f64,
    finish: f64,
    /// Sectors since its turn began, including those injected before.
    service: f64,
    budget: f64,
    /// Whether it has requests or its turn.
    active: bool,
    /// Whether its requests are random.
    seeky: bool,
    sectors: f64,
}

/// The current turn.
#[derive(Debug, Clone, Copy)]
struct Turn {
    member: Index,
    began: f64,
    /// Number of the idle timer, if it is running.
    waiting: Option<u64>,
}

/// The scheduler.
#[derive(Debug)]
pub(super) struct Queues {
    bfq: Bfq,
    /// Budget of a turn in sectors.
    budget: f64,
    entities: Vec<Entity>,
    /// Members with requests, in order of arrival.
    active: Vec<Index>,
    clock: f64,
    weights: f64,
    turn: Option<Turn>,
    waits: u64,
    pub(super) injection: Injection,
}

impl Queues {
    pub(super) fn new(bfq: Bfq, scenario: &Scenario) -> Self {
        let sectors = scenario.members.iter().map(|member| member.bytes as f64 / SECTOR);
        let budget = bfq.budget.unwrap_or(ADAPTED * sectors.fold(1.0, f64::max));
        let entities = scenario
            .members
            .iter()
            .map(|member| Entity {
                weight: member.weight.max(1e-9) * worth(member, scenario),
                start: 0.0,
                finish: 0.0,
                service: 0.0,
                budget,
                active: false,
                seeky: !member.sequential,
                sectors: member.bytes as f64 / SECTOR,
            })
            .collect();
        let injection = Injection::new(scenario.members.len());
        let active = Vec::new();
        Self {
            bfq,
            budget,
            entities,
            active,
            clock: 0.0,
            weights: 0.0,
            turn: None,
            waits: 0,
            injection,
        }
    }

    /// A member has a request; it may have had none before.
    pub(super) fn has_request(&mut self, index: Index, is_first: bool, now: f64, in_driver: u32) {
        let budget = self.budget;
        let entity = &mut self.entities[index];
        if let Some(turn) = self.turn.as_mut().filter(|turn| turn.member == index) {
            turn.waiting = None;
            if is_first {
                self.injection.arrived(index, now, in_driver);
            }
            return;
        }
        if entity.active {
            return;
        }
        entity.active = true;
        entity.service = 0.0;
        entity.budget = budget;
        entity.start = entity.finish.max(self.clock);
        entity.finish = entity.start + budget.max(entity.sectors) / entity.weight;
        self.weights += entity.weight;
        self.active.push(index);
    }

    /// The idle timer expired: the turn ends, if it is still waiting for this timer.
    pub(super) fn idle_timer_expired(&mut self, number: u64, now: f64) -> bool {
        match self.turn {
            Some(turn) if turn.waiting == Some(number) => {
                self.end_turn(now, false, false);
                true
            }
            _ => false,
        }
    }

    /// Ends the turn. `has_more`: its queue still has requests; `by_time`: its time was over.
    fn end_turn(&mut self, now: f64, has_more: bool, by_time: bool) {
        let Some(turn) = self.turn.take() else { return };
        self.injection.over();
        let whole = self.budget;
        let charge = self.charge(turn, now, by_time, whole);
        let weights = self.weights.max(1e-9);
        let entity = &mut self.entities[turn.member];
        self.clock += (charge - entity.service) / weights;
        entity.finish = entity.start + charge / entity.weight;
        entity.service = 0.0;
        if has_more {
            entity.start = entity.finish;
            entity.finish = entity.start + whole.max(entity.sectors) / entity.weight;
        } else {
            entity.active = false;
            self.weights -= entity.weight;
            self.active.retain(|index| *index != turn.member);
        }
    }

    /// The charge of a turn: its sectors, or its time if the queue is slow (`bfq_bfqq_is_slow`,
    /// `bfq_bfqq_charge_time`).
    fn charge(&self, turn: Turn, now: f64, by_time: bool, whole: f64) -> f64 {
        let entity = &self.entities[turn.member];
        let took = now - turn.began;
        let short = took < 0.001;
        let slow = if took > 0.020 { entity.service < whole / 2.0 } else { entity.seeky };
        let unused = entity.service <= whole * 2.0 / 3.0;
        if !(slow || by_time && unused) {
            return entity.service;
        }
        let least = if self.bfq.rotational { self.bfq.slice_idle_s } else { LEAST_TIME };
        let took = if short { least } else { (took * 1000.0).floor() / 1000.0 };
        let timeout = self.bfq.timeout_s.max(1e-3);
        (whole * took.min(timeout) / timeout).max(entity.service)
    }

    /// Begins the turn of the eligible member with the earliest finish time.
    fn begin_turn(&mut self, now: f64) -> Option<Index> {
        let starts = self.active.iter().map(|index| self.entities[*index].start);
        let first = starts.fold(f64::INFINITY, f64::min);
        if !first.is_finite() {
            return None;
        }
        self.clock = self.clock.max(first);
        let slack = 1e-9 * self.clock.abs();
        let eligible =
            self.active.iter().filter(|index| self.entities[**index].start <= self.clock + slack);
        let chosen = eligible.copied().min_by(|a, b| {
            self.entities[*a].finish.total_cmp(&self.entities[*b].finish).then(a.cmp(b))
        });
        let member = chosen?;
        self.turn = Some(Turn { member, began: now, waiting: None });
        Some(member)
    }

    fn serve(&mut self, index: Index, blocks: u32) {
        let entity = &mut self.entities[index];
        let sectors = entity.sectors * f64::from(blocks);
        entity.service += sectors;
        self.clock += sectors / self.weights.max(1e-9);
    }

    /// Whether a request of this many blocks fits into the rest of a member's budget; the first one of a turn
    /// always does.
    fn fits(&self, index: Index, blocks: u32) -> bool {
        let entity = &self.entities[index];
        let sectors = entity.sectors * f64::from(blocks);
        entity.service <= 0.0 || entity.service + sectors <= entity.budget
    }
}

impl Sim<'_> {
    /// The next request for the device, as chosen by BFQ.
    pub(super) fn choose(&mut self) -> Option<(Index, u32)> {
        if self.queues.bfq.strict && self.in_driver > 0 {
            return None;
        }
        loop {
            let Some(turn) = self.queues.turn else {
                let member = self.queues.begin_turn(self.now)?;
                self.tally.turn(self.now, member);
                continue;
            };
            let front = self.loops[turn.member].queue.front().copied();
            let over = self.now - turn.began > self.queues.bfq.timeout_s;
            match front {
                Some(_) if over => self.queues.end_turn(self.now, true, true),
                Some(blocks) if self.queues.fits(turn.member, blocks) => {
                    let own = self.loops[turn.member].in_driver;
                    self.queues.injection.dispatched(turn.member, own, self.in_driver + 1);
                    return Some(self.take(turn.member, blocks));
                }
                Some(_) => self.queues.end_turn(self.now, true, false),
                None if self.holds() => return self.hold(turn),
                None => self.queues.end_turn(self.now, false, over),
            }
        }
    }

    fn take(&mut self, member: Index, blocks: u32) -> (Index, u32) {
        self.loops[member].queue.pop_front();
        self.queues.serve(member, blocks);
        (member, blocks)
    }

    /// Whether the disk idles for an empty queue: while several groups have requests anywhere, including the
    /// device, and while it is the only one with requests (`idling_needed_for_service_guarantees`); in this
    /// simulation one of the two always holds.
    fn holds(&self) -> bool {
        self.queues.bfq.strict || self.queues.bfq.slice_idle_s > 0.0
    }

    /// Idles, and injects a request of the first other queue that has one.
    fn hold(&mut self, turn: Turn) -> Option<(Index, u32)> {
        if self.loops[turn.member].in_driver == 0 && turn.waiting.is_none() {
            self.queues.waits += 1;
            let wait = self.queues.waits;
            let at = self.now + self.queues.bfq.slice_idle_s.max(1e-6);
            self.timers.set(at, super::Timer::Idle { wait });
            if let Some(turn) = &mut self.queues.turn {
                turn.waiting = Some(wait);
            }
        }
        if self.queues.bfq.strict || self.in_driver >= self.queues.injection.limit(turn.member) {
            return None;
        }
        let others = self.queues.active.iter().copied().filter(|index| *index != turn.member);
        let mut injectable = None;
        for index in others {
            if let Some(blocks) = self.loops[index].queue.front().copied()
                && self.queues.fits(index, blocks)
            {
                injectable = Some((index, blocks));
                break;
            }
        }
        let (index, blocks) = injectable?;
        let request = self.take(index, blocks);
        self.queues.injection.note();
        if self.loops[index].queue.is_empty() {
            self.queues.ran_empty(index);
        }
        Some(request)
    }
}

impl Queues {
    /// A queue that lost its last request to injection outside of its turn: it leaves with its assigned
    /// finish time, and so has paid for a whole budget.
    fn ran_empty(&mut self, index: Index) {
        let entity = &mut self.entities[index];
        entity.active = false;
        self.weights -= entity.weight;
        self.active.retain(|other| *other != index);
    }
}
