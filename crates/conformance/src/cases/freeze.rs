//! Frozen groups, by `freezer.state` on cgroup v1 and `cgroup.freeze` on v2.

use assay_kernel::Error;
use rustix::process::Signal;

use crate::fixture::Fixture;
use crate::outcome::{Outcome, Stop};
use crate::running::Running;

/// Freezes or thaws a group and waits until the kernel reports completion.
fn freeze(fixture: &Fixture, group: &str, frozen: bool) -> Result<bool, Error> {
    if fixture.is_v2() {
        fixture.write(group, "cgroup.freeze", if frozen { "1" } else { "0" })?;
        let expected = u64::from(frozen);
        return fixture
            .wait_for(5.0, || Ok(fixture.keyed(group, "cgroup.events", "frozen")? == expected));
    }
    let state = if frozen { "FROZEN" } else { "THAWED" };
    fixture.write(group, "freezer.state", state)?;
    fixture.wait_for(5.0, || Ok(fixture.read(group, "freezer.state")? == state))
}

/// CPU time of a spinning process over `seconds`, in nanoseconds.
fn progress(fixture: &Fixture, probe: &Running, seconds: f64) -> Result<u64, Error> {
    let before = probe.cpu_ns()?;
    fixture.pause(seconds)?;
    Ok(probe.cpu_ns()?.saturating_sub(before))
}

pub(in crate::cases) fn stops(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    fixture.make("a")?;
    let spinner = fixture.start("a", "spin")?;
    let free = fixture.let_run(&spinner, 0.05)?;
    if !freeze(fixture, "a", true)? {
        return Ok(Outcome::broken("the group did not become frozen within 5 s"));
    }
    let frozen = progress(fixture, &spinner, 0.3)?;
    freeze(fixture, "a", false)?;
    Ok(judge_stop(free, frozen))
}

/// What a thread may use until it leaves its CPU: it counts as frozen before (kernel/freezer.c, `__refrigerator`).
const LATE_NS: u64 = 1_000_000;

/// CPU time in nanoseconds, before the freeze and while frozen.
fn judge_stop(free: u64, frozen: u64) -> Outcome {
    let evidence = format!(
        "used {:.0} ms before, {:.3} ms in 0.3 s while frozen",
        free as f64 / 1e6,
        frozen as f64 / 1e6
    );
    if free < 10_000_000 {
        return Outcome::void("other work kept it from running before").with(evidence);
    }
    Outcome::holds(frozen < LATE_NS, evidence)
}

pub(in crate::cases) fn goes_on(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    fixture.make("a")?;
    let spinner = fixture.start("a", "spin")?;
    let mut sleeper = fixture.start("a", "echo")?;
    freeze(fixture, "a", true)?;
    sleeper.send("are you there");
    let frozen = progress(fixture, &spinner, 0.2)?;
    let thawed = freeze(fixture, "a", false)?;
    let free = fixture.let_run(&spinner, 0.05)?;
    // A sleeper that never answers blocks here until the watchdog ends it.
    let answered = sleeper.line()?.is_some_and(|line| line == "are you there");
    Ok(judge_thaw(thawed, frozen, free, answered))
}

fn judge_thaw(thawed: bool, frozen: u64, free: u64, answered: bool) -> Outcome {
    let evidence = format!(
        "used {:.1} ms while frozen, {:.0} ms after; a request sent while frozen was \
         {} after",
        frozen as f64 / 1e6,
        free as f64 / 1e6,
        if answered { "answered" } else { "not answered" }
    );
    if thawed && answered && free == 0 {
        return Outcome::void("other work kept it from running after").with(evidence);
    }
    Outcome::holds(thawed && answered && free > frozen, evidence)
}

pub(in crate::cases) fn sibling(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    fixture.make("a")?;
    fixture.make("b")?;
    let _frozen = fixture.start("a", "spin")?;
    let mut other = fixture.start("b", "echo")?;
    freeze(fixture, "a", true)?;
    other.send("are you there");
    let answered = other.line()?.is_some_and(|line| line == "are you there");
    freeze(fixture, "a", false)?;
    Ok(Outcome::holds(answered, format!("the sibling of a frozen group answered: {answered}")))
}

pub(in crate::cases) fn descendants(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    fixture.make_parent("a")?;
    fixture.make("a/b")?;
    let spinner = fixture.start("a/b", "spin")?;
    let free = fixture.let_run(&spinner, 0.05)?;
    freeze(fixture, "a", true)?;
    let frozen = progress(fixture, &spinner, 0.3)?;
    // A child that is thawed stays frozen until its parent is thawed.
    let (file, thaw) = fixture.by_version(("freezer.state", "THAWED"), ("cgroup.freeze", "0"));
    fixture.write("a/b", file, thaw)?;
    let still = progress(fixture, &spinner, 0.2)?;
    freeze(fixture, "a", false)?;
    Ok(judge_stop(free, frozen.max(still)).with("the parent was frozen, the child thawed"))
}

/// v2: a fatal signal reaches a frozen process.
pub(in crate::cases) fn killed(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    fixture.make("a")?;
    let mut probe = fixture.start("a", "spin")?;
    freeze(fixture, "a", true)?;
    probe.signal(Signal::KILL)?;
    let ended = probe.ended_within(fixture.time(5.0)).is_some();
    Ok(Outcome::holds(ended, format!("SIGKILL ended a frozen process within 5 s: {ended}")))
}

/// v1: a process that enters a frozen group freezes.
pub(in crate::cases) fn newcomer(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    fixture.make("a")?;
    fixture.make("b")?;
    let _inside = fixture.start("a", "spin")?;
    let spinner = fixture.start("b", "spin")?;
    freeze(fixture, "a", true)?;
    let free = fixture.let_run(&spinner, 0.05)?;
    fixture.write("a", "cgroup.procs", &spinner.pid().to_string())?;
    // It freezes when it next runs, which takes a while on a busy machine.
    fixture.wait_for(5.0, || Ok(progress(fixture, &spinner, 0.05)? == 0))?;
    let frozen = progress(fixture, &spinner, 0.3)?;
    freeze(fixture, "a", false)?;
    Ok(judge_stop(free, frozen).with("it was moved into a frozen group"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::Verdict;

    #[test]
    fn a_frozen_group_that_runs_is_broken() {
        assert_eq!(judge_stop(150_000_000, 0).verdict, Verdict::Kept);
        assert_eq!(judge_stop(150_000_000, 3_000_000).verdict, Verdict::Broken);
        assert_eq!(judge_stop(1000, 0).verdict, Verdict::Void);
    }

    #[test]
    fn a_thawed_group_that_does_not_run_is_broken() {
        assert_eq!(judge_thaw(true, 0, 150_000_000, true).verdict, Verdict::Kept);
        assert_eq!(judge_thaw(true, 0, 150_000_000, false).verdict, Verdict::Broken);
        assert_eq!(judge_thaw(false, 0, 0, false).verdict, Verdict::Broken);
        assert_eq!(judge_thaw(true, 0, 0, true).verdict, Verdict::Void);
    }
}
