//! What happens to a group's memory wakes who waits for it.

use assay_kernel::Error;
use assay_kernel::cgroup1_eventfd::MemoryEvent;
use assay_kernel::poll_event::WakeFile;

use super::hog::{MIB, limit, limited, order, refusals};
use crate::fixture::Fixture;
use crate::outcome::Outcome;

/// Whether a waiter woke before and after there was something to wake for.
#[derive(Debug, Clone, Copy)]
struct Woken {
    early: bool,
    at_event: bool,
}

impl Woken {
    fn judge(self, what: &str) -> Outcome {
        let word = |woke| if woke { "woke" } else { "slept" };
        let seen = format!(
            "{what}: the waiter {} before it happened and {} when it did",
            word(self.early),
            word(self.at_event)
        );
        Outcome::holds(!self.early && self.at_event, seen)
    }
}

/// memory.events of a group whose reader meets its limit.
pub(super) fn wake(ground: &mut Fixture) -> Result<Outcome, Error> {
    limited(ground, "a", 32 * MIB)?;
    let path = ground.directory("a").join("memory.events");
    let mut events = WakeFile::open(ground.root(), &path)?;
    // What was announced before the first read is no news.
    events.read()?;
    let mut probe = ground.start("a", "memory")?;
    order(&mut probe, &format!("touch {}", 8 * MIB))?;
    let early = events.wait(ground.time(0.2))?;
    order(&mut probe, &format!("touch {}", 64 * MIB))?;
    let at_event = events.wait(ground.time(2.0))?;
    let counted = refusals(ground, "a")?;
    if counted == 0 {
        return Ok(Outcome::void("the limit was never met"));
    }
    Ok(Woken { early, at_event }.judge("memory.events, limit met"))
}

/// A threshold of usage, by eventfd.
pub(super) fn threshold(ground: &mut Fixture) -> Result<Outcome, Error> {
    ground.make("a")?;
    let group = ground.directory("a");
    let file = "memory.usage_in_bytes";
    let threshold = (24 * MIB).to_string();
    let event = MemoryEvent::register(ground.root(), &group, file, &threshold)?;
    let mut probe = ground.start("a", "memory")?;
    order(&mut probe, &format!("touch {}", 8 * MIB))?;
    let early = event.wait(ground.time(0.2))?;
    order(&mut probe, &format!("touch {}", 32 * MIB))?;
    let at_event = event.wait(ground.time(2.0))?;
    Ok(Woken { early, at_event }.judge("a threshold of 24 MiB, 8 and then 40 MiB used"))
}

/// Being out of memory, by eventfd.
pub(super) fn out_of_memory(ground: &mut Fixture) -> Result<Outcome, Error> {
    ground.make("a")?;
    limit(ground, "a", 32 * MIB)?;
    let group = ground.directory("a");
    let event = MemoryEvent::register(ground.root(), &group, "memory.oom_control", "")?;
    let mut probe = ground.start("a", "memory")?;
    order(&mut probe, &format!("touch {}", 8 * MIB))?;
    let early = event.wait(ground.time(0.2))?;
    order(&mut probe, &format!("touch {}", 64 * MIB))?;
    let at_event = event.wait(ground.time(2.0))?;
    Ok(Woken { early, at_event }.judge("memory.oom_control, out of memory"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::Verdict;

    #[test]
    fn a_waiter_that_sleeps_on_or_wakes_for_nothing_means_broken() {
        let judge = |early, at_event| Woken { early, at_event }.judge("it").verdict;
        assert_eq!(judge(false, true), Verdict::Kept);
        assert_eq!(judge(false, false), Verdict::Broken);
        assert_eq!(judge(true, true), Verdict::Broken);
    }
}
