//! One member's requests outside of scheduler and device: its thread and its tags of the pool.

use std::collections::VecDeque;

use assay_judge::{WRITER_PART, request_cap};

use super::{Index, Sim};
use crate::scenario::{Bfq, Member, Scenario, Scheduler};

/// Maximum size of merged requests: `max_sectors_kb` is 1280 on most disks (BLK_DEF_MAX_SECTORS,
/// include/linux/blkdev.h).
const LARGEST: u64 = 1280 * 1024;

/// A member's state.
#[derive(Debug)]
pub(super) struct Loop {
    /// Requests that its thread will issue.
    pub(super) ready: u32,
    /// Whether the thread works or waits for a tag.
    busy: bool,
    /// Requests waiting in the scheduler, with their number of blocks.
    pub(super) queue: VecDeque<u32>,
    /// Tags that it holds.
    pub(super) in_pool: u32,
    /// Its requests in the device.
    pub(super) in_driver: u32,
    /// Requests that its worker will serve.
    pub(super) work: VecDeque<u32>,
    /// Whether the worker is busy.
    pub(super) working: bool,
    /// Maximum number of tags it may hold.
    cap: u32,
    /// Limit on the number of used tags in the whole pool, for this member.
    pool: u32,
    /// Blocks of the largest request.
    largest: u32,
}

impl Loop {
    pub(super) fn new(member: &Member, scenario: &Scenario) -> Self {
        let largest = match member.sequential {
            true => u32::try_from(LARGEST / member.bytes.max(1)).unwrap_or(1).max(1),
            false => 1,
        };
        Self {
            ready: member.depth.max(1),
            busy: false,
            queue: VecDeque::with_capacity(member.depth as usize),
            in_pool: 0,
            in_driver: 0,
            work: VecDeque::new(),
            working: false,
            cap: cap(member, scenario),
            pool: pool(member, scenario),
            largest,
        }
    }
}

fn bfq(scenario: &Scenario) -> Option<&Bfq> {
    match &scenario.scheduler {
        Scheduler::Bfq(bfq) => Some(bfq),
        Scheduler::Fifo => None,
    }
}

/// Maximum number of tags of a member: its part by weight of the pool available to it.
pub(crate) fn cap(member: &Member, scenario: &Scenario) -> u32 {
    if !bfq(scenario).is_some_and(|bfq| bfq.caps) {
        return scenario.pool;
    }
    let all: f64 = scenario.members.iter().map(|member| member.weight).sum();
    request_cap(f64::from(pool(member, scenario)), member.weight, all).max(1.0) as u32
}

/// The part of the pool available to a member.
pub(super) fn pool(member: &Member, scenario: &Scenario) -> u32 {
    match bfq(scenario) {
        Some(bfq) if bfq.caps && member.writes => {
            ((f64::from(scenario.pool) * WRITER_PART) as u32).max(1)
        }
        _ => scenario.pool.max(1),
    }
}

impl Sim<'_> {
    /// The thread takes the next request, if there is one.
    pub(super) fn start_thread(&mut self, index: Index) {
        let own = &mut self.loops[index];
        if own.busy || own.ready == 0 {
            return;
        }
        own.busy = true;
        own.ready -= 1;
        let seconds = self.noise.around(self.scenario.members[index].submit_s);
        self.cpu.begin((index as u32) << 1, seconds);
    }

    /// The thread has issued a request: it merges, takes a tag, or the thread waits for one.
    pub(super) fn issued(&mut self, index: Index) {
        let own = &mut self.loops[index];
        let largest = own.largest;
        if let Some(last) = own.queue.back_mut().filter(|last| **last < largest) {
            *last += 1;
            own.busy = false;
            self.start_thread(index);
        } else if self.waiters.is_empty() && self.has_tag(index) {
            self.take_tag(index);
        } else {
            self.waiters.push_back(index);
            self.admit();
        }
    }

    fn has_tag(&self, index: Index) -> bool {
        let own = &self.loops[index];
        self.pool_used < own.pool && own.in_pool < own.cap
    }

    /// Assigns free tags in the order of waiting, skipping members at their limit.
    pub(super) fn admit(&mut self) {
        let mut at = 0;
        while at < self.waiters.len() && self.pool_used < self.scenario.pool {
            let index = self.waiters[at];
            if self.has_tag(index) {
                self.waiters.remove(at);
                self.take_tag(index);
            } else {
                at += 1;
            }
        }
    }

    fn take_tag(&mut self, index: Index) {
        self.pool_used += 1;
        let own = &mut self.loops[index];
        own.in_pool += 1;
        let is_first = own.queue.is_empty();
        own.queue.push_back(1);
        own.busy = false;
        match self.scenario.scheduler {
            Scheduler::Fifo => self.order.push_back(index),
            Scheduler::Bfq(_) => {
                self.queues.has_request(index, is_first, self.now, self.in_driver);
            }
        }
        self.start_thread(index);
    }
}
