//! The device that serves dispatched requests.

use std::collections::VecDeque;

use super::timers::Timer;
use super::{Index, Sim};
use crate::scenario::Device;

/// The servers of a parallel device.
#[derive(Debug)]
pub(super) struct Servers {
    /// Requests not yet started by a server.
    pub(super) waiting: VecDeque<(Index, u32)>,
    /// Busy servers.
    pub(super) busy: u32,
    count: u32,
}

impl Servers {
    pub(super) fn new(device: &Device) -> Self {
        let count = match device {
            Device::Loop { .. } => 0,
            Device::Servers { servers, .. } => (*servers).max(1),
        };
        Self { waiting: VecDeque::new(), busy: 0, count }
    }
}

impl Sim<'_> {
    pub(super) fn start_servers(&mut self) {
        let Device::Servers { service_s, per_byte_s, .. } = self.scenario.device else { return };
        while self.servers.busy < self.servers.count {
            let Some((member, blocks)) = self.servers.waiting.pop_front() else { return };
            self.servers.busy += 1;
            let bytes = self.scenario.members[member].bytes as f64 * f64::from(blocks);
            let seconds = self.noise.around(service_s + per_byte_s * bytes);
            self.timers.set(self.now + seconds, Timer::Served { member, blocks });
        }
    }

    /// A loop device has one worker per group, which serves its requests one by one and sleeps while there
    /// are none.
    pub(super) fn hand_to_worker(&mut self, member: Index, blocks: u32) {
        let delay = self.scenario.members[member].delay_s;
        let own = &mut self.loops[member];
        own.work.push_back(blocks);
        if own.working {
            return;
        }
        own.working = true;
        if delay > 0.0 {
            let at = self.now + self.noise.around(delay);
            self.timers.set(at, Timer::Worker { member });
        } else {
            self.begin_work(member);
        }
    }

    pub(super) fn begin_work(&mut self, member: Index) {
        let member_cost = &self.scenario.members[member];
        let Some(blocks) = self.loops[member].work.front() else { return };
        let seconds = member_cost.serve_s + member_cost.serve_more_s * f64::from(blocks - 1);
        let seconds = self.noise.around(seconds);
        self.cpu.begin((member as u32) << 1 | 1, seconds);
    }

    /// The CPU time of a request is over.
    pub(super) fn worker_served(&mut self, member: Index) {
        let hold = self.scenario.members[member].hold_s;
        if hold > 0.0 {
            let at = self.now + self.noise.around(hold);
            self.timers.set(at, Timer::Held { member });
        } else {
            self.worker_done(member);
        }
    }

    pub(super) fn worker_done(&mut self, member: Index) {
        let own = &mut self.loops[member];
        let Some(blocks) = own.work.pop_front() else { return };
        own.working = !own.work.is_empty();
        if own.working {
            self.begin_work(member);
        }
        self.complete(member, blocks);
    }
}
