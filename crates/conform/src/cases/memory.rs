//! memory: limits, protection, OOM kills, swap, reclaim, charges and events.

pub(super) mod charge;
pub(super) mod limit;
pub(super) mod machine;
pub(super) mod nested;
pub(super) mod oom;
pub(super) mod protection;

use super::prelude::*;

const MEMORY: Topic = Topic::new(
    "memory",
    "Documentation/admin-guide/cgroup-v2.rst, Memory Interface Files",
    &[Need::Controller("memory")],
);
const V2: Topic = MEMORY.needing(&[Need::OnV2("memory")]);
/// With a disk whose content becomes page cache.
const CACHE: Topic = MEMORY.needing(&[Need::Controller("memory"), Need::Loop]);
const V2_CACHE: Topic = MEMORY.needing(&[Need::OnV2("memory"), Need::Loop]);
const V1: Topic = MEMORY
    .documented_in("Documentation/admin-guide/cgroup-v1/memory.rst")
    .needing(&[Need::OnV1("memory")]);

const MIB: u64 = 1 << 20;

/// Result of one probe command.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Progress {
    /// Bytes touched or read.
    bytes: u64,
    /// Duration, by the probe's clock.
    seconds: f64,
}

impl Progress {
    fn mib(self) -> f64 {
        mib(self.bytes)
    }

    fn mib_per_s(self) -> f64 {
        self.mib() / self.seconds
    }
}

fn mib(bytes: u64) -> f64 {
    bytes as f64 / MIB as f64
}

/// Creates a group with this memory limit and without swap: a hog must not escape into swap space.
fn limited(fixture: &Fixture, group: &str, bytes: u64) -> Result<(), Error> {
    fixture.make(group)?;
    limit(fixture, group, bytes)
}

/// Makes a group whose limit is to hold for those below together. On v1 up to Linux 5.10 that has to be switched on first.
fn make_whole(fixture: &Fixture, group: &str) -> Result<(), Error> {
    const SWITCH: &str = "memory.use_hierarchy";
    fixture.make_parent(group)?;
    let is_off = fixture.has(group, SWITCH) && fixture.number(group, SWITCH)? == 0;
    if is_off { fixture.write(group, SWITCH, "1") } else { Ok(()) }
}

/// Limits memory and prevents swapping. On v1 a swappiness of 0 does that
/// (Documentation/admin-guide/cgroup-v1/memory.rst, 5.3); a limit of memory and swap together would
/// be reached first, and Linux 6.15 to 7.1 count that nowhere.
fn limit(fixture: &Fixture, group: &str, bytes: u64) -> Result<(), Error> {
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
fn current(fixture: &Fixture, group: &str) -> Result<u64, Error> {
    fixture.number(group, fixture.by_version("memory.usage_in_bytes", "memory.current"))
}

/// Number of OOM kills in the group.
fn oom_kills(fixture: &Fixture, group: &str) -> Result<u64, Error> {
    fixture.keyed(group, fixture.by_version("memory.oom_control", "memory.events"), "oom_kill")
}

/// What the kernel did because the machine itself was short of memory: pages that kswapd scanned, and allocations that had to reclaim. Reclaim at a
/// group's limit is in neither on any kernel; `pgscan_direct` has it from 7.2 on at the latest (shrink_inactive_list of mm/vmscan.c).
fn scanned_for_machine(fixture: &Fixture) -> Result<u64, Error> {
    let text = fixture.root.read("/proc/vmstat")?;
    Ok(reclaimed_for_machine(&text))
}

fn reclaimed_for_machine(vmstat: &str) -> u64 {
    let is_of_machine = |key: &str| key == "pgscan_kswapd" || key.starts_with("allocstall_");
    let lines = vmstat.lines().filter_map(|line| line.split_once(' '));
    lines
        .filter(|(key, _)| is_of_machine(key))
        .filter_map(|(_, number)| number.parse::<u64>().ok())
        .sum()
}

/// A machine that is short of memory takes it from protected groups, too: nothing above them is protected.
fn unless_short(outcome: Outcome, scanned: u64) -> Outcome {
    if outcome.verdict != Verdict::Broken || scanned == 0 {
        return outcome;
    }
    outcome.but_void(format!(
        "the machine was short of memory: pgscan_kswapd and allocstall of /proc/vmstat grew by {scanned}"
    ))
}

/// How often the group reached its limit.
fn refusals(fixture: &Fixture, group: &str) -> Result<u64, Error> {
    if fixture.is_v2() {
        fixture.keyed(group, "memory.events", "max")
    } else {
        fixture.number(group, "memory.failcnt")
    }
}

/// Page cache charged to the group.
fn cache(fixture: &Fixture, group: &str) -> Result<u64, Error> {
    fixture.keyed(group, "memory.stat", fixture.by_version("cache", "file"))
}

/// File pages that were evicted and read again.
fn refaults(fixture: &Fixture, group: &str) -> Result<u64, Error> {
    fixture.keyed(group, "memory.stat", "workingset_refault_file")
}

/// Sends a command and waits for its result; `None` if the probe ended.
fn execute(probe: &mut Running, command: &str) -> Result<Option<Progress>, Error> {
    Ok(probe.ask(command)?.as_deref().and_then(parse_progress))
}

/// Has a probe take that much more memory; `None` if it ended.
fn touch(probe: &mut Running, bytes: u64) -> Result<Option<Progress>, Error> {
    execute(probe, &format!("touch {bytes}"))
}

/// Starts a probe in a group that takes that much memory.
fn hold(fixture: &Fixture, group: &str, bytes: u64) -> Result<Running, Error> {
    let mut probe = fixture.start(group, "memory")?;
    touch(&mut probe, bytes)?;
    Ok(probe)
}

/// A hog above a limit that must slow it down and not kill it, beside one without that limit. `events` is how often the
/// limit was counted.
fn judge_slowed(
    file: &str,
    free: Option<Progress>,
    held: Option<Progress>,
    events: u64,
) -> Outcome {
    let Some(free) = free else {
        return Outcome::void("the hog without a limit did not survive, either");
    };
    let Some(held) = held else { return Outcome::broken(format!("{file} killed")) };
    let part = held.mib_per_s() / free.mib_per_s();
    if events == 0 {
        Outcome::broken(format!("nothing was counted above {file}"))
    } else if part < 0.5 {
        Outcome::kept(format!("{:.1} % of the unlimited speed", part * 100.0))
    } else if part > 0.8 {
        Outcome::broken("the hog was not slowed")
    } else {
        Outcome::undecided("the two speeds are too similar")
    }
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
    fn reclaim_at_a_limit_of_a_group_is_not_for_the_machine() {
        let text = "pgscan_kswapd 5\npgscan_direct 70\npgscan_direct_throttle 1\nallocstall_normal 2\nallocstall_movable 1\n";
        assert_eq!(reclaimed_for_machine(text), 8);
    }

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
