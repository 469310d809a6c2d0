//! How many requests of other queues BFQ injects while it idles for an empty queue.
//!
//! Each queue has a limit on the number of requests in the device below which others may be injected. It
//! starts at zero, becomes one when the service time of a request without injection is known, grows while a
//! request with injected ones takes less than one and a half times that, and shrinks otherwise
//! (`bfq_update_inject_limit` and `bfq_add_request`, block/bfq-iosched.c of 6.18).

use super::Index;

/// Nothing is measured for this long after a limit was lowered, seconds.
const AFTER_LOWERING: f64 = 0.010;

/// A limit starts again this long after it was lowered, seconds.
const RESTART: f64 = 1.0;

/// Allowed slowdown of a request by injected ones.
const SLOWER: f64 = 1.5;

#[derive(Debug, Clone, Copy, Default)]
struct Own {
    limit: u32,
    /// Seconds of a request without injected ones; `None` if unknown.
    alone_s: Option<f64>,
    lowered_at: f64,
}

/// The request being timed.
#[derive(Debug, Clone, Copy)]
struct Watched {
    member: Index,
    since: f64,
    /// Requests of the same member that complete before it; `None` until it is dispatched.
    before: Option<u32>,
}

/// The limits of all queues.
#[derive(Debug)]
pub(super) struct Injection {
    own: Vec<Own>,
    watched: Option<Watched>,
    /// Whether something was injected since the last measurement began.
    injected: bool,
    /// Largest number of requests that the device ever had.
    most: u32,
}

impl Injection {
    pub(super) fn new(members: usize) -> Self {
        Self { own: vec![Own::default(); members], watched: None, injected: false, most: 1 }
    }

    /// Requests in the device below which one may be injected while this queue is empty.
    pub(super) fn limit(&self, member: Index) -> u32 {
        self.own[member].limit
    }

    pub(super) const fn note(&mut self) {
        self.injected = true;
    }

    /// A request has arrived for the empty queue in service.
    pub(super) fn arrived(&mut self, member: Index, now: f64, in_driver: u32) {
        let own = &mut self.own[member];
        if now >= own.lowered_at + RESTART {
            *own = Own { lowered_at: now, ..Own::default() };
            self.watched = None;
        }
        let company = own.alone_s.is_some() && self.injected;
        if (in_driver == 0 || company) && now >= own.lowered_at + AFTER_LOWERING {
            self.watched = Some(Watched { member, since: now, before: None });
            // Requests already in the device delay it; completed ones do not.
            self.injected &= in_driver > 0;
        }
    }

    /// A request of the queue in service goes to the device, behind `own` requests of the same member.
    pub(super) fn dispatched(&mut self, member: Index, own: u32, in_driver: u32) {
        self.most = self.most.max(in_driver);
        if let Some(watched) = self.watched.as_mut()
            && watched.member == member
            && watched.before.is_none()
        {
            watched.before = Some(own);
        }
    }

    /// A request has completed, with `in_driver` requests in the device.
    pub(super) fn done(&mut self, member: Index, now: f64, in_driver: u32) {
        let Some(watched) = self.watched.as_mut().filter(|one| one.member == member) else {
            return;
        };
        match watched.before {
            Some(0) => {
                let took = now - watched.since;
                self.watched = None;
                self.learn(member, now, took, in_driver);
            }
            Some(remaining) => watched.before = Some(remaining - 1),
            None => {}
        }
    }

    fn learn(&mut self, member: Index, now: f64, took: f64, in_driver: u32) {
        let own = &mut self.own[member];
        let old = own.limit;
        if let (Some(alone), true) = (own.alone_s, self.injected) {
            if took >= SLOWER * alone && old > 0 {
                own.limit -= 1;
                own.lowered_at = now;
            } else if took < SLOWER * alone && old <= self.most {
                own.limit += 1;
            }
        }
        match own.alone_s {
            None if in_driver == 1 => {
                own.limit = old.max(1);
                own.alone_s = Some(took);
            }
            Some(alone) if took < alone || (!self.injected && in_driver == 1) => {
                own.alone_s = Some(took);
            }
            _ => {}
        }
        self.injected = false;
    }

    /// The turn is over, which ends every measurement.
    pub(super) const fn over(&mut self) {
        self.watched = None;
        self.injected = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A request of member 0 that arrives at `now`, after an injected one or not, and takes `took` seconds.
    fn round(injection: &mut Injection, now: f64, company: bool, took: f64) {
        if company {
            injection.note();
        }
        injection.arrived(0, now, u32::from(company));
        injection.dispatched(0, 0, 1 + u32::from(company));
        injection.done(0, now + took, 1 + u32::from(company));
    }

    #[test]
    fn injection_is_allowed_unless_it_slows_the_queue() {
        let mut injection = Injection::new(1);
        assert_eq!(injection.limit(0), 0);
        round(&mut injection, 0.1, false, 1e-3);
        assert_eq!(injection.limit(0), 1);
        round(&mut injection, 0.2, true, 1.1e-3);
        assert_eq!(injection.limit(0), 2);
        round(&mut injection, 0.3, true, 2e-3);
        assert_eq!(injection.limit(0), 1);
    }
}
