//! Frozen groups, by `freezer.state` on cgroup v1 and `cgroup.freeze` on v2.

use assay_kernel::Error;
use rustix::process::Signal;

use crate::fixture::Fixture;
use crate::outcome::Outcome;
use crate::running::Running;

/// Freezes a group or thaws it, and waits until the kernel says that it is done.
fn freeze(ground: &Fixture, group: &str, frozen: bool) -> Result<bool, Error> {
    if ground.is_v2() {
        ground.write(group, "cgroup.freeze", if frozen { "1" } else { "0" })?;
        let wanted = u64::from(frozen);
        return ground
            .wait_for(5.0, || Ok(ground.keyed(group, "cgroup.events", "frozen")? == wanted));
    }
    let state = if frozen { "FROZEN" } else { "THAWED" };
    ground.write(group, "freezer.state", state)?;
    ground.wait_for(5.0, || Ok(ground.read(group, "freezer.state")? == state))
}

/// Progress of a spinning process in nanoseconds of its CPU clock over `seconds`.
fn progress(ground: &Fixture, probe: &Running, seconds: f64) -> Result<u64, Error> {
    let before = probe.cpu_ns()?;
    ground.pause(seconds)?;
    Ok(probe.cpu_ns()?.saturating_sub(before))
}

pub(in crate::cases) fn stops(ground: &mut Fixture) -> Result<Outcome, Error> {
    ground.make("a")?;
    let spinner = ground.start("a", "spin")?;
    let free = ground.let_run(&spinner, 0.05)?;
    if !freeze(ground, "a", true)? {
        return Ok(Outcome::broken("the group did not become frozen within 5 s"));
    }
    let frozen = progress(ground, &spinner, 0.3)?;
    freeze(ground, "a", false)?;
    Ok(judge_stop(free, frozen))
}

/// CPU time in nanoseconds, before and while frozen.
fn judge_stop(free: u64, frozen: u64) -> Outcome {
    let evidence = format!(
        "used {:.0} ms before, {:.3} ms in 0.3 s while frozen",
        free as f64 / 1e6,
        frozen as f64 / 1e6
    );
    if free < 10_000_000 {
        return Outcome::void("others kept it from running before").with(evidence);
    }
    Outcome::holds(frozen == 0, evidence)
}

pub(in crate::cases) fn goes_on(ground: &mut Fixture) -> Result<Outcome, Error> {
    ground.make("a")?;
    let spinner = ground.start("a", "spin")?;
    let mut sleeper = ground.start("a", "echo")?;
    freeze(ground, "a", true)?;
    sleeper.say("are you there");
    let frozen = progress(ground, &spinner, 0.2)?;
    let thawed = freeze(ground, "a", false)?;
    let free = ground.let_run(&spinner, 0.05)?;
    // A sleeper that never answers hangs here, and the watchdog ends it.
    let answered = sleeper.line()?.is_some_and(|line| line == "are you there");
    Ok(judge_thaw(thawed, frozen, free, answered))
}

fn judge_thaw(thawed: bool, frozen: u64, free: u64, answered: bool) -> Outcome {
    let evidence = format!(
        "used {:.1} ms while frozen, {:.0} ms after; what it was asked while frozen it \
         {} after",
        frozen as f64 / 1e6,
        free as f64 / 1e6,
        if answered { "answered" } else { "never answered" }
    );
    if thawed && answered && free == 0 {
        return Outcome::void("others kept it from running after").with(evidence);
    }
    Outcome::holds(thawed && answered && free > frozen, evidence)
}

pub(in crate::cases) fn sibling(ground: &mut Fixture) -> Result<Outcome, Error> {
    ground.make("a")?;
    ground.make("b")?;
    let _frozen = ground.start("a", "spin")?;
    let mut other = ground.start("b", "echo")?;
    freeze(ground, "a", true)?;
    other.say("are you there");
    let answered = other.line()?.is_some_and(|line| line == "are you there");
    freeze(ground, "a", false)?;
    Ok(Outcome::holds(answered, format!("the sibling of a frozen group answered: {answered}")))
}

pub(in crate::cases) fn descendants(ground: &mut Fixture) -> Result<Outcome, Error> {
    ground.make_parent("a")?;
    ground.make("a/b")?;
    let spinner = ground.start("a/b", "spin")?;
    let free = ground.let_run(&spinner, 0.05)?;
    freeze(ground, "a", true)?;
    let frozen = progress(ground, &spinner, 0.3)?;
    // Thawed for its own part, the child still waits for its parent.
    let (file, thaw) = ground.by_version(("freezer.state", "THAWED"), ("cgroup.freeze", "0"));
    ground.write("a/b", file, thaw)?;
    let still = progress(ground, &spinner, 0.2)?;
    freeze(ground, "a", false)?;
    Ok(judge_stop(free, frozen.max(still))
        .with("the group above was frozen, and the child thawed for itself"))
}

/// v2: a fatal signal reaches what is frozen.
pub(in crate::cases) fn killed(ground: &mut Fixture) -> Result<Outcome, Error> {
    ground.make("a")?;
    let mut probe = ground.start("a", "spin")?;
    freeze(ground, "a", true)?;
    probe.signal(Signal::KILL)?;
    let ended = probe.ended_within(ground.time(5.0)).is_some();
    Ok(Outcome::holds(ended, format!("SIGKILL ended a frozen process within 5 s: {ended}")))
}

/// v1: what enters a frozen group freezes.
pub(in crate::cases) fn newcomer(ground: &mut Fixture) -> Result<Outcome, Error> {
    ground.make("a")?;
    ground.make("b")?;
    let _inside = ground.start("a", "spin")?;
    let spinner = ground.start("b", "spin")?;
    freeze(ground, "a", true)?;
    let free = ground.let_run(&spinner, 0.05)?;
    ground.write("a", "cgroup.procs", &spinner.pid().to_string())?;
    // It freezes when it next runs, which on a busy machine takes a while.
    ground.wait_for(5.0, || Ok(progress(ground, &spinner, 0.05)? == 0))?;
    let frozen = progress(ground, &spinner, 0.3)?;
    freeze(ground, "a", false)?;
    Ok(judge_stop(free, frozen).with("it was moved into a group that was frozen already"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::Verdict;

    #[test]
    fn a_frozen_group_that_runs_on_is_broken() {
        assert_eq!(judge_stop(150_000_000, 0).verdict, Verdict::Kept);
        assert_eq!(judge_stop(150_000_000, 3_000_000).verdict, Verdict::Broken);
        assert_eq!(judge_stop(1000, 0).verdict, Verdict::Void);
    }

    #[test]
    fn a_thawed_group_that_stands_still_is_broken() {
        assert_eq!(judge_thaw(true, 0, 150_000_000, true).verdict, Verdict::Kept);
        assert_eq!(judge_thaw(true, 0, 150_000_000, false).verdict, Verdict::Broken);
        assert_eq!(judge_thaw(false, 0, 0, false).verdict, Verdict::Broken);
        assert_eq!(judge_thaw(true, 0, 0, true).verdict, Verdict::Void);
    }
}
