//! Files that wake a poller: `cgroup.events` and pressure triggers.

use assay_kernel::Error;
use assay_kernel::poll_event::WakeFile;

use crate::fixture::Fixture;
use crate::outcome::Outcome;

pub(super) fn populated(ground: &mut Fixture) -> Result<Outcome, Error> {
    ground.make("a")?;
    let mut events = WakeFile::open(ground.root(), &ground.directory("a").join("cgroup.events"))?;
    events.read()?;
    let mut probe = ground.start("a", "echo")?;
    let entered = events.wait(ground.time(1.0))?;
    let full = events.read()?.contains("populated 1");
    probe.end()?;
    let left = events.wait(ground.time(1.0))?;
    let empty = events.read()?.contains("populated 0");
    Ok(judge_populated([entered, full, left, empty]))
}

fn judge_populated([entered, full, left, empty]: [bool; 4]) -> Outcome {
    let seen = format!(
        "woken by the first process {entered} (populated 1: {full}), by the end of the last \
         {left} (populated 0: {empty})"
    );
    Outcome::holds(entered && full && left && empty, seen)
}

/// A second process changes nothing about being populated.
pub(super) fn nothing_changes(ground: &mut Fixture) -> Result<Outcome, Error> {
    ground.make("a")?;
    let _first = ground.start("a", "echo")?;
    let mut events = WakeFile::open(ground.root(), &ground.directory("a").join("cgroup.events"))?;
    // The announcement of the first process may still be under way (cgroup_file_notify holds
    // back what comes within 10 ms of the last one).
    ground.pause(0.1)?;
    events.read()?;
    let _second = ground.start("a", "echo")?;
    let woken = events.wait(ground.time(0.3))?;
    let seen = format!("a second process entered: poller of cgroup.events woken {woken}");
    Ok(Outcome::holds(!woken, seen))
}

/// 100 ms of stall within 2 s. Shorter windows are for holders of CAP_SYS_RESOURCE
/// (psi_trigger_create, kernel/sched/psi.c, since Linux 6.4), which root in a container lacks.
const TRIGGER: &str = "some 100000 2000000";

fn trigger(ground: &Fixture) -> Result<WakeFile, Error> {
    WakeFile::trigger(ground.root(), &ground.directory("a").join("cpu.pressure"), TRIGGER)
}

pub(super) fn pressure(ground: &mut Fixture) -> Result<Outcome, Error> {
    ground.make("a")?;
    let pressed = trigger(ground)?;
    let _probe = ground.start("a", &format!("spin threads=2 cpu={}", ground.cpu()))?;
    let woken = pressed.wait(ground.time(4.0))?;
    let stalled = total(ground)?;
    Ok(judge_pressure(woken, stalled))
}

/// Stall time so far, in microseconds.
fn total(ground: &Fixture) -> Result<u64, Error> {
    let text = ground.read("a", "cpu.pressure")?;
    let some = text.lines().find(|line| line.starts_with("some")).unwrap_or_default();
    let total = some.rsplit_once("total=").and_then(|(_, number)| number.trim().parse().ok());
    Ok(total.unwrap_or(0))
}

fn judge_pressure(woken: bool, stalled_us: u64) -> Outcome {
    let seen = format!(
        "two threads on one CPU, trigger `{TRIGGER}`: woken {woken}, stalled {:.0} ms so far",
        stalled_us as f64 / 1e3
    );
    if !woken && stalled_us < 500_000 {
        return Outcome::void("the group hardly stalled").with(seen);
    }
    Outcome::holds(woken, seen)
}

pub(super) fn no_pressure(ground: &mut Fixture) -> Result<Outcome, Error> {
    ground.make("a")?;
    let pressed = trigger(ground)?;
    let _probe = ground.start("a", "echo")?;
    let before = total(ground)?;
    let woken = pressed.wait(ground.time(1.2))?;
    let stalled = total(ground)?.saturating_sub(before);
    let seen =
        format!("a sleeping group, trigger `{TRIGGER}`: woken {woken}, stalled {stalled} us");
    if stalled > 100_000 {
        return Ok(Outcome::void("the group stalled although it sleeps").with(seen));
    }
    Ok(Outcome::holds(!woken, seen))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::Verdict;

    #[test]
    fn a_poller_that_is_not_woken_is_broken() {
        assert_eq!(judge_populated([true; 4]).verdict, Verdict::Kept);
        assert_eq!(judge_populated([true, true, false, true]).verdict, Verdict::Broken);
        assert_eq!(judge_pressure(true, 80_000).verdict, Verdict::Kept);
        assert_eq!(judge_pressure(false, 2_000_000).verdict, Verdict::Broken);
        assert_eq!(judge_pressure(false, 1_000).verdict, Verdict::Void);
    }
}
