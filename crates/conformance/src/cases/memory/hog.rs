//! What the cases of memory have in common: limits by either version, and what probes say.

use assay_kernel::Error;

use crate::fixture::Fixture;
use crate::running::Running;

pub(super) const MIB: u64 = 1 << 20;

/// What a probe did on one order.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Done {
    /// How much.
    pub(super) bytes: u64,
    /// How long it took, by the probe's clock.
    pub(super) seconds: f64,
}

impl Done {
    pub(super) fn mib(self) -> f64 {
        mib(self.bytes)
    }
}

pub(super) fn mib(bytes: u64) -> f64 {
    bytes as f64 / MIB as f64
}

/// Makes a group that may hold this much memory, swap included: a hog must not get away into
/// swap space.
pub(super) fn limited(ground: &Fixture, group: &str, bytes: u64) -> Result<(), Error> {
    ground.make(group)?;
    limit(ground, group, bytes)
}

/// Limits memory and leaves no way into swap space. On v1 a swappiness of 0 closes that way
/// (Documentation/admin-guide/cgroup-v1/memory.rst, 5.3); a limit of memory and swap together
/// would be met first, and Linux 6.18 counts that nowhere.
pub(super) fn limit(ground: &Fixture, group: &str, bytes: u64) -> Result<(), Error> {
    let bytes = bytes.to_string();
    if ground.is_v2() {
        if ground.has(group, "memory.swap.max") {
            ground.write(group, "memory.swap.max", "0")?;
        }
        return ground.write(group, "memory.max", &bytes);
    }
    ground.write(group, "memory.swappiness", "0")?;
    ground.write(group, "memory.limit_in_bytes", &bytes)
}

/// Memory that the group is charged for.
pub(super) fn current(ground: &Fixture, group: &str) -> Result<u64, Error> {
    ground.number(group, ground.by_version("memory.usage_in_bytes", "memory.current"))
}

/// How many processes of the group the kernel has killed for want of memory.
pub(super) fn oom_kills(ground: &Fixture, group: &str) -> Result<u64, Error> {
    ground.keyed(group, ground.by_version("memory.oom_control", "memory.events"), "oom_kill")
}

/// How often the group was at its limit.
pub(super) fn refusals(ground: &Fixture, group: &str) -> Result<u64, Error> {
    if ground.is_v2() {
        ground.keyed(group, "memory.events", "max")
    } else {
        ground.number(group, "memory.failcnt")
    }
}

/// Page cache that the group is charged for.
pub(super) fn cache(ground: &Fixture, group: &str) -> Result<u64, Error> {
    ground.keyed(group, "memory.stat", ground.by_version("cache", "file"))
}

/// Pages of files that the group had, lost, and had to read again.
pub(super) fn refaults(ground: &Fixture, group: &str) -> Result<u64, Error> {
    ground.keyed(group, "memory.stat", "workingset_refault_file")
}

/// Gives an order and waits for what comes of it; `None` when the probe ended over it.
pub(super) fn order(probe: &mut Running, order: &str) -> Result<Option<Done>, Error> {
    probe.say(order);
    Ok(probe.line()?.as_deref().and_then(done))
}

fn done(line: &str) -> Option<Done> {
    let mut words = line.split(' ').skip(1);
    let bytes = words.next()?.parse().ok()?;
    let nanoseconds: f64 = words.next()?.parse().ok()?;
    Some(Done { bytes, seconds: nanoseconds / 1e9 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_probe_says_is_read_and_its_silence_is_none() {
        let seen = done("touched 1048576 2500000000").unwrap();
        assert_eq!(seen, Done { bytes: MIB, seconds: 2.5 });
        assert!((seen.mib() - 1.0).abs() < 1e-12);
        assert_eq!(done("dropped"), None);
    }
}
