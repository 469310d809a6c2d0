//! Files that wake a poller: `cgroup.events` and pressure triggers.

use assay_kernel::Error;
use assay_kernel::poll_event::WakeFile;

use crate::fixture::Fixture;
use crate::outcome::{Outcome, Stop};

pub(super) fn populated(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    fixture.make("a")?;
    let mut events = WakeFile::open(fixture.root(), &fixture.directory("a").join("cgroup.events"))?;
    events.read()?;
    let mut probe = fixture.start("a", "echo")?;
    let entered = events.wait(fixture.time(1.0))?;
    let full = events.read()?.contains("populated 1");
    probe.end()?;
    let left = events.wait(fixture.time(1.0))?;
    let empty = events.read()?.contains("populated 0");
    Ok(judge_populated([entered, full, left, empty]))
}

fn judge_populated([entered, full, left, empty]: [bool; 4]) -> Outcome {
    let evidence = format!(
        "woken by the first process {entered} (populated 1: {full}), by the end of the last \
         {left} (populated 0: {empty})"
    );
    Outcome::holds(entered && full && left && empty, evidence)
}

/// A second process does not change `populated`.
pub(super) fn nothing_changes(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    fixture.make("a")?;
    let _first = fixture.start("a", "echo")?;
    let mut events = WakeFile::open(fixture.root(), &fixture.directory("a").join("cgroup.events"))?;
    // The notification for the first process may still be pending: cgroup_file_notify delays any
    // that follow the last one within 10 ms.
    fixture.pause(0.1)?;
    events.read()?;
    let _second = fixture.start("a", "echo")?;
    let woken = events.wait(fixture.time(0.3))?;
    let evidence = format!("a second process entered: poller of cgroup.events woken {woken}");
    Ok(Outcome::holds(!woken, evidence))
}

/// 100 ms of stall within 2 s. Shorter windows need CAP_SYS_RESOURCE (psi_trigger_create,
/// kernel/sched/psi.c, since Linux 6.4), which root in a container lacks.
const TRIGGER: &str = "some 100000 2000000";

fn trigger(fixture: &Fixture) -> Result<WakeFile, Error> {
    WakeFile::trigger(fixture.root(), &fixture.directory("a").join("cpu.pressure"), TRIGGER)
}

pub(super) fn pressure(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    fixture.make("a")?;
    let pressed = trigger(fixture)?;
    let _probe = fixture.start("a", &format!("spin threads=2 cpu={}", fixture.cpu()))?;
    let woken = pressed.wait(fixture.time(4.0))?;
    let stalled = total(fixture, "a")?;
    Ok(judge_pressure(woken, stalled))
}

/// Stall time so far, in microseconds.
fn total(fixture: &Fixture, group: &str) -> Result<u64, Error> {
    let text = fixture.read(group, "cpu.pressure")?;
    let some = text.lines().find(|line| line.starts_with("some")).unwrap_or_default();
    let total = some.rsplit_once("total=").and_then(|(_, number)| number.trim().parse().ok());
    Ok(total.unwrap_or(0))
}

fn judge_pressure(woken: bool, stalled_us: u64) -> Outcome {
    let evidence = format!(
        "two threads on one CPU, trigger `{TRIGGER}`: woken {woken}, stalled {:.0} ms so far",
        stalled_us as f64 / 1e3
    );
    if !woken && stalled_us < 500_000 {
        return Outcome::void("the group hardly stalled").with(evidence);
    }
    Outcome::holds(woken, evidence)
}

pub(super) fn no_pressure(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    fixture.make("a")?;
    let pressed = trigger(fixture)?;
    let _probe = fixture.start("a", "echo")?;
    let before = total(fixture, "a")?;
    let woken = pressed.wait(fixture.time(1.2))?;
    let stalled = total(fixture, "a")?.saturating_sub(before);
    let evidence =
        format!("a sleeping group, trigger `{TRIGGER}`: woken {woken}, stalled {stalled} us");
    if stalled > 100_000 {
        return Ok(Outcome::void("the group stalled while sleeping").with(evidence));
    }
    Ok(Outcome::holds(!woken, evidence))
}

/// A group whose counting is switched off while threads below it stall, and on again.
pub(super) fn pressure_off(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    fixture.make("a")?;
    fixture.make("a/b")?;
    let _probe = fixture.start("a/b", &format!("spin threads=2 cpu={}", fixture.cpu()))?;
    fixture.pause(0.2)?;
    let before = (total(fixture, "a")?, total(fixture, "a/b")?);
    fixture.write("a", "cgroup.pressure", "0")?;
    fixture.pause(1.0)?;
    let below = total(fixture, "a/b")?.saturating_sub(before.1);
    fixture.write("a", "cgroup.pressure", "1")?;
    let off = total(fixture, "a")?;
    let counts = |fixture: &Fixture| Ok(total(fixture, "a")? > off + 100_000);
    let again = fixture.wait_for(5.0, || counts(fixture))?;
    Ok(judge_off(below, off.saturating_sub(before.0), again))
}

/// Stall time in microseconds while it was off: of the group below, and of the group itself.
fn judge_off(below: u64, own: u64, again: bool) -> Outcome {
    let evidence = format!(
        "while cgroup.pressure was 0, the group below stalled {:.0} ms, and {:.0} ms were counted for \
         the group; after a 1 it counted again: {again}",
        below as f64 / 1e3,
        own as f64 / 1e3
    );
    if below < 300_000 {
        return Outcome::void("the group below hardly stalled").with(evidence);
    }
    Outcome::holds(own < below / 4 && again, evidence)
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

    #[test]
    fn counting_on_after_a_zero_is_broken() {
        assert_eq!(judge_off(900_000, 20_000, true).verdict, Verdict::Kept);
        assert_eq!(judge_off(900_000, 900_000, true).verdict, Verdict::Broken);
        assert_eq!(judge_off(900_000, 20_000, false).verdict, Verdict::Broken);
        assert_eq!(judge_off(1_000, 0, true).verdict, Verdict::Void);
    }
}
