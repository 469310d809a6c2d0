//! Shared code of the memory cases: limits of either version and probe output.

use assay_kernel::Error;

use crate::fixture::{Fixture, keyed};
use crate::outcome::{Outcome, Verdict};
use crate::running::Running;

pub(super) const MIB: u64 = 1 << 20;

/// Result of one probe command.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Progress {
    /// Bytes touched or read.
    pub(super) bytes: u64,
    /// Duration, by the probe's clock.
    pub(super) seconds: f64,
}

impl Progress {
    pub(super) fn mib(self) -> f64 {
        mib(self.bytes)
    }
}

pub(super) fn mib(bytes: u64) -> f64 {
    bytes as f64 / MIB as f64
}

/// Creates a group with this memory limit and without swap: a hog must not escape into swap space.
pub(super) fn limited(fixture: &Fixture, group: &str, bytes: u64) -> Result<(), Error> {
    fixture.make(group)?;
    limit(fixture, group, bytes)
}

/// Limits memory and prevents swapping. On v1 a swappiness of 0 does that
/// (Documentation/admin-guide/cgroup-v1/memory.rst, 5.3); a limit of memory and swap together would
/// be reached first, and Linux 6.18 does not count that anywhere.
pub(super) fn limit(fixture: &Fixture, group: &str, bytes: u64) -> Result<(), Error> {
    let bytes = bytes.to_string();
    if fixture.is_v2() {
        if fixture.has(group, "memory.swap.max") {
            fixture.write(group, "memory.swap.max", "0")?;
        }
        return fixture.write(group, "memory.max", &bytes);
    }
    fixture.write(group, "memory.swappiness", "0")?;
    fixture.write(group, "memory.limit_in_bytes", &bytes)
}

/// Memory charged to the group.
pub(super) fn current(fixture: &Fixture, group: &str) -> Result<u64, Error> {
    fixture.number(group, fixture.by_version("memory.usage_in_bytes", "memory.current"))
}

/// Number of OOM kills in the group.
pub(super) fn oom_kills(fixture: &Fixture, group: &str) -> Result<u64, Error> {
    fixture.keyed(group, fixture.by_version("memory.oom_control", "memory.events"), "oom_kill")
}

/// Pages that the kernel scanned because the machine itself was short of memory: reclaim at a group's limit is not
/// counted here (`cgroup_reclaim` in mm/vmscan.c).
pub(super) fn scanned_for_machine(fixture: &Fixture) -> Result<u64, Error> {
    let text = fixture.root().read("/proc/vmstat")?;
    let of = |key| keyed(&text, key).unwrap_or(0);
    Ok(of("pgscan_kswapd") + of("pgscan_direct"))
}

/// A machine that is short of memory takes it from protected groups, too: nothing above them is protected.
pub(super) fn unless_short(outcome: Outcome, scanned: u64) -> Outcome {
    if outcome.verdict != Verdict::Broken || scanned == 0 {
        return outcome;
    }
    outcome.but_void(format!(
        "the machine was short of memory: it scanned {scanned} pages of all groups"
    ))
}

/// How often the group reached its limit.
pub(super) fn refusals(fixture: &Fixture, group: &str) -> Result<u64, Error> {
    if fixture.is_v2() {
        fixture.keyed(group, "memory.events", "max")
    } else {
        fixture.number(group, "memory.failcnt")
    }
}

/// Page cache charged to the group.
pub(super) fn cache(fixture: &Fixture, group: &str) -> Result<u64, Error> {
    fixture.keyed(group, "memory.stat", fixture.by_version("cache", "file"))
}

/// File pages that were evicted and read again.
pub(super) fn refaults(fixture: &Fixture, group: &str) -> Result<u64, Error> {
    fixture.keyed(group, "memory.stat", "workingset_refault_file")
}

/// Sends a command and waits for its result; `None` if the probe ended.
pub(super) fn execute(probe: &mut Running, command: &str) -> Result<Option<Progress>, Error> {
    probe.send(command);
    Ok(probe.line()?.as_deref().and_then(parse_progress))
}

fn parse_progress(line: &str) -> Option<Progress> {
    let mut words = line.split(' ').skip(1);
    let bytes = words.next()?.parse().ok()?;
    let nanoseconds: f64 = words.next()?.parse().ok()?;
    Some(Progress { bytes, seconds: nanoseconds / 1e9 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_that_is_short_of_memory_shows_nothing_broken() {
        let verdict = |outcome, scanned| unless_short(outcome, scanned).verdict;
        assert_eq!(verdict(Outcome::broken("lost"), 0), Verdict::Broken);
        assert_eq!(verdict(Outcome::broken("lost"), 900), Verdict::Void);
        assert_eq!(verdict(Outcome::kept("held"), 900), Verdict::Kept);
    }

    #[test]
    fn a_result_line_is_parsed_and_any_other_line_is_none() {
        let parsed = parse_progress("touched 1048576 2500000000").unwrap();
        assert_eq!(parsed, Progress { bytes: MIB, seconds: 2.5 });
        assert!((parsed.mib() - 1.0).abs() < 1e-12);
        assert_eq!(parse_progress("dropped"), None);
    }
}
