//! One member's requests outside of scheduler and device: its thread, and places of the pool.

use std::collections::VecDeque;

use assay_judge::{OF_WRITERS, request_cap};

use super::{Index, Sim};
use crate::scenario::{Bfq, Member, Scenario, Scheduler};

/// Bytes to which requests merge at most: `max_sectors_kb` is 1280 on most disks
/// (BLK_DEF_MAX_SECTORS, include/linux/blkdev.h).
const LARGEST: u64 = 1280 * 1024;

/// A member's state.
#[derive(Debug)]
pub(super) struct Loop {
    /// Requests that its thread is to issue.
    pub(super) ready: u32,
    /// Whether the thread works or waits for a place.
    busy: bool,
    /// Requests that wait in the scheduler, each of so many blocks.
    pub(super) queue: VecDeque<u32>,
    /// Places of the pool that it has.
    pub(super) in_pool: u32,
    /// Requests of its own in the device.
    pub(super) in_driver: u32,
    /// Requests that its worker is to serve.
    pub(super) work: VecDeque<u32>,
    /// Whether the worker is at one.
    pub(super) working: bool,
    /// Places that it may have.
    cap: u32,
    /// Places of the whole pool that it may see taken.
    pool: u32,
    /// Blocks of the largest request.
    largest: u32,
}

impl Loop {
    pub(super) fn new(member: &Member, question: &Scenario) -> Self {
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
            cap: cap(member, question),
            pool: pool(member, question),
            largest,
        }
    }
}

fn bfq(question: &Scenario) -> Option<&Bfq> {
    match &question.scheduler {
        Scheduler::Bfq(bfq) => Some(bfq),
        Scheduler::Fifo => None,
    }
}

/// Places that a member may have: its part by weight of those that it may see taken.
pub(crate) fn cap(member: &Member, question: &Scenario) -> u32 {
    if !bfq(question).is_some_and(|bfq| bfq.caps) {
        return question.pool;
    }
    let all: f64 = question.members.iter().map(|member| member.weight).sum();
    request_cap(f64::from(pool(member, question)), member.weight, all).max(1.0) as u32
}

/// Places of the pool that a member may see taken.
pub(super) fn pool(member: &Member, question: &Scenario) -> u32 {
    match bfq(question) {
        Some(bfq) if bfq.caps && member.writes => {
            ((f64::from(question.pool) * OF_WRITERS) as u32).max(1)
        }
        _ => question.pool.max(1),
    }
}

impl Sim<'_> {
    /// The thread takes up the next request if there is one.
    pub(super) fn start_thread(&mut self, index: Index) {
        let own = &mut self.loops[index];
        if own.busy || own.ready == 0 {
            return;
        }
        own.busy = true;
        own.ready -= 1;
        let seconds = self.noise.around(self.question.members[index].submit_s);
        self.cpu.begin((index as u32) << 1, seconds);
    }

    /// The thread has issued a request: it merges, takes a place, or the thread waits for one.
    pub(super) fn issued(&mut self, index: Index) {
        let own = &mut self.loops[index];
        let largest = own.largest;
        if let Some(last) = own.queue.back_mut().filter(|last| **last < largest) {
            *last += 1;
            own.busy = false;
            self.start_thread(index);
        } else if self.waiters.is_empty() && self.has_room(index) {
            self.take_place(index);
        } else {
            self.waiters.push_back(index);
            self.admit();
        }
    }

    fn has_room(&self, index: Index) -> bool {
        let own = &self.loops[index];
        self.pool_used < own.pool && own.in_pool < own.cap
    }

    /// Gives free places to those who asked first, past those who have as many as they may.
    pub(super) fn admit(&mut self) {
        let mut at = 0;
        while at < self.waiters.len() && self.pool_used < self.question.pool {
            let index = self.waiters[at];
            if self.has_room(index) {
                self.waiters.remove(at);
                self.take_place(index);
            } else {
                at += 1;
            }
        }
    }

    fn take_place(&mut self, index: Index) {
        self.pool_used += 1;
        let own = &mut self.loops[index];
        own.in_pool += 1;
        let is_first = own.queue.is_empty();
        own.queue.push_back(1);
        own.busy = false;
        match self.question.scheduler {
            Scheduler::Fifo => self.order.push_back(index),
            Scheduler::Bfq(_) => {
                self.queues.has_request(index, is_first, self.now, self.in_driver);
            }
        }
        self.start_thread(index);
    }
}
