//! Notification of memory events.

use assay_kernel::cgroup1_eventfd::MemoryEvent;
use assay_kernel::poll_event::WakeFile;

use super::hog::{MIB, execute, limit, limited, refusals};
use crate::fixture::Fixture;
use crate::outcome::{Outcome, Stop};

/// Whether a waiter woke before and after the event.
#[derive(Debug, Clone, Copy)]
struct Woken {
    early: bool,
    at_event: bool,
}

impl Woken {
    fn judge(self, what: &str) -> Outcome {
        let word = |woke| if woke { "woke" } else { "slept" };
        let evidence = format!(
            "{what}: the waiter {} before it happened and {} when it did",
            word(self.early),
            word(self.at_event)
        );
        Outcome::holds(!self.early && self.at_event, evidence)
    }
}

/// memory.events of a group whose process reaches its limit.
pub(super) fn wake(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    limited(fixture, "a", 32 * MIB)?;
    let path = fixture.directory("a").join("memory.events");
    let mut events = WakeFile::open(fixture.root(), &path)?;
    // Changes before the first read are not notified.
    events.read()?;
    let mut probe = fixture.start("a", "memory")?;
    execute(&mut probe, &format!("touch {}", 8 * MIB))?;
    let early = events.wait(fixture.time(0.2))?;
    execute(&mut probe, &format!("touch {}", 64 * MIB))?;
    let at_event = events.wait(fixture.time(2.0))?;
    let counted = refusals(fixture, "a")?;
    if counted == 0 {
        return Ok(Outcome::void("the limit was never reached"));
    }
    Ok(Woken { early, at_event }.judge("memory.events, limit reached"))
}

/// A usage threshold, by eventfd.
pub(super) fn threshold(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    fixture.make("a")?;
    let group = fixture.directory("a");
    let file = "memory.usage_in_bytes";
    let threshold = (24 * MIB).to_string();
    let event = MemoryEvent::register(fixture.root(), &group, file, &threshold)?;
    let mut probe = fixture.start("a", "memory")?;
    execute(&mut probe, &format!("touch {}", 8 * MIB))?;
    let early = event.wait(fixture.time(0.2))?;
    execute(&mut probe, &format!("touch {}", 32 * MIB))?;
    let at_event = event.wait(fixture.time(2.0))?;
    Ok(Woken { early, at_event }.judge("a threshold of 24 MiB, 8 and then 40 MiB used"))
}

/// Out of memory, by eventfd.
pub(super) fn out_of_memory(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    fixture.make("a")?;
    limit(fixture, "a", 32 * MIB)?;
    let group = fixture.directory("a");
    let event = MemoryEvent::register(fixture.root(), &group, "memory.oom_control", "")?;
    let mut probe = fixture.start("a", "memory")?;
    execute(&mut probe, &format!("touch {}", 8 * MIB))?;
    let early = event.wait(fixture.time(0.2))?;
    execute(&mut probe, &format!("touch {}", 64 * MIB))?;
    let at_event = event.wait(fixture.time(2.0))?;
    Ok(Woken { early, at_event }.judge("memory.oom_control, out of memory"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::Verdict;

    #[test]
    fn a_missed_or_an_early_wake_is_broken() {
        let judge = |early, at_event| Woken { early, at_event }.judge("it").verdict;
        assert_eq!(judge(false, true), Verdict::Kept);
        assert_eq!(judge(false, false), Verdict::Broken);
        assert_eq!(judge(true, true), Verdict::Broken);
    }
}
