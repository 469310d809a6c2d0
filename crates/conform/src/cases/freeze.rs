//! Frozen groups, by `freezer.state` on cgroup v1 and `cgroup.freeze` on v2.

use rustix::process::Signal;

use super::prelude::*;

const FREEZE: Topic = super::core::CORE.needing(&[Need::V2, Need::File("cgroup.freeze")]);
const FREEZER: Topic = Topic::new(
    "freezer",
    "Documentation/admin-guide/cgroup-v1/freezer-subsystem.rst",
    &[Need::OnV1("freezer")],
);

pub(super) const ON_V2: &[Case] = &cases(
    FREEZE,
    "A group with cgroup.freeze 1 uses no CPU time once cgroup.events reports frozen 1.",
);
pub(super) const KILLED: &[Case] = &[FREEZE.case(
    "a-frozen-process-can-be-killed",
    "A fatal signal ends a process in a frozen group.",
    |fixture| {
        let mut probe = fixture.start_in("a", "spin")?;
        freeze(fixture, "a", true)?;
        probe.signal(Signal::KILL)?;
        let ended = probe.ended_within(fixture.time(5.0)).is_some();
        Ok(Outcome::holds(ended, format!("SIGKILL ended a frozen process within 5 s: {ended}")))
    },
)];
pub(super) const ON_V1: &[Case] =
    &cases(FREEZER, "A group whose freezer.state is FROZEN uses no CPU time.");

/// What holds for both files; how the first is told depends on the file.
const fn cases(topic: Topic, no_progress: &'static str) -> [Case; 5] {
    [
        topic.case("a-frozen-group-makes-no-progress", no_progress, |fixture| {
            let spinner = fixture.start_in("a", "spin")?;
            let free = fixture.let_run(&spinner, 0.05)?;
            if !freeze(fixture, "a", true)? {
                return Ok(Outcome::broken("the group did not become frozen within 5 s"));
            }
            let frozen = progress(fixture, &spinner, 0.3)?;
            freeze(fixture, "a", false)?;
            Ok(judge_stop(free, frozen))
        }),
        topic.case(
            "a-thawed-group-goes-on",
            "A thawed group resumes where it stopped and receives the input sent meanwhile.",
            |fixture| {
                let spinner = fixture.start_in("a", "spin")?;
                let mut sleeper = fixture.start("a", "echo")?;
                freeze(fixture, "a", true)?;
                sleeper.send("are you there");
                let frozen = progress(fixture, &spinner, 0.2)?;
                let thawed = freeze(fixture, "a", false)?;
                let free = fixture.let_run(&spinner, 0.05)?;
                // A sleeper that never answers blocks here until the watchdog ends it.
                let answered = sleeper.line()?.is_some_and(|line| line == "are you there");
                Ok(judge_thaw(thawed, frozen, free, answered))
            },
        ),
        topic.case(
            "siblings-of-a-frozen-group-go-on",
            "Freezing a group does not affect its siblings.",
            |fixture| {
                let _frozen = fixture.start_in("a", "spin")?;
                let mut other = fixture.start_in("b", "echo")?;
                freeze(fixture, "a", true)?;
                let answered = other.answers()?;
                freeze(fixture, "a", false)?;
                let evidence = format!("the sibling of a frozen group answered: {answered}");
                Ok(Outcome::holds(answered, evidence))
            },
        ),
        topic.case(
            "freezing-reaches-descendants",
            "Groups below a frozen group are frozen until it is thawed.",
            |fixture| {
                fixture.make_parent("a")?;
                let spinner = fixture.start_in("a/b", "spin")?;
                let free = fixture.let_run(&spinner, 0.05)?;
                freeze(fixture, "a", true)?;
                let frozen = progress(fixture, &spinner, 0.3)?;
                // A child that is thawed stays frozen until its parent is thawed.
                let (file, [thawed, _]) = states(fixture);
                fixture.write("a/b", file, thawed)?;
                let still = progress(fixture, &spinner, 0.2)?;
                freeze(fixture, "a", false)?;
                let judged = judge_stop(free, frozen.max(still));
                Ok(judged.with("the parent was frozen, the child thawed"))
            },
        ),
        topic.case("newcomers-freeze", "A process moved into a frozen group freezes.", |fixture| {
            let _inside = fixture.start_in("a", "spin")?;
            let spinner = fixture.start_in("b", "spin")?;
            freeze(fixture, "a", true)?;
            let free = fixture.let_run(&spinner, 0.05)?;
            fixture.move_to("a", &spinner)?;
            // It freezes when it next runs, which takes a while on a busy machine.
            fixture.wait_for(5.0, || Ok(progress(fixture, &spinner, 0.05)? == 0))?;
            let frozen = progress(fixture, &spinner, 0.3)?;
            freeze(fixture, "a", false)?;
            Ok(judge_stop(free, frozen).with("it was moved into a frozen group"))
        }),
    ]
}

/// The file, and what is written to thaw and to freeze.
fn states(fixture: &Fixture) -> (&'static str, [&'static str; 2]) {
    fixture.by_version(("freezer.state", ["THAWED", "FROZEN"]), ("cgroup.freeze", ["0", "1"]))
}

/// Freezes or thaws a group and waits until the kernel reports completion.
fn freeze(fixture: &Fixture, group: &str, frozen: bool) -> Result<bool, Error> {
    let (file, states) = states(fixture);
    let state = states[usize::from(frozen)];
    fixture.write(group, file, state)?;
    fixture.wait_for(5.0, || {
        Ok(match fixture.is_v2() {
            true => fixture.keyed(group, "cgroup.events", "frozen")? == u64::from(frozen),
            false => fixture.read(group, file)? == state,
        })
    })
}

/// CPU time of a spinning process over `seconds`, in nanoseconds.
fn progress(fixture: &Fixture, probe: &Running, seconds: f64) -> Result<u64, Error> {
    let before = probe.cpu_ns()?;
    fixture.pause(seconds)?;
    Ok(probe.cpu_ns()?.saturating_sub(before))
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
    Outcome::holds(frozen < LATE_NS, evidence)
        .void_if(free < 10_000_000, "other work kept it from running before")
}

fn judge_thaw(thawed: bool, frozen: u64, free: u64, answered: bool) -> Outcome {
    let evidence = format!(
        "used {:.1} ms while frozen, {:.0} ms after; a request sent while frozen was \
         {} after",
        frozen as f64 / 1e6,
        free as f64 / 1e6,
        if answered { "answered" } else { "not answered" }
    );
    Outcome::holds(thawed && answered && free > frozen, evidence)
        .void_if(thawed && answered && free == 0, "other work kept it from running after")
}

#[cfg(test)]
mod tests {
    use super::*;

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
