//! Files that wake a poller, `cgroup.events` and pressure triggers; and delegation to a cgroup namespace, whose root is a
//! boundary where cgroup2 is mounted with `nsdelegate`.

use assay_sys::kernel::poll_event::WakeFile;
use rustix::process::Signal;

use super::*;

const EVENTS: Topic = v2("Documentation/admin-guide/cgroup-v2.rst, [Un]populated Notification");
const PRESSURE: Topic = v2("Documentation/accounting/psi.rst, Monitoring for pressure thresholds")
    .needing(&[Need::V2, Need::Pressure, Need::File("cpu.pressure")]);
const DELEGATION: Topic = v2("Documentation/admin-guide/cgroup-v2.rst, Delegation Containment")
    .needing(&[Need::OnV2("pids"), Need::Root, Need::File("pids.max")]);

pub(crate) const CASES: &[Case] = &[
    EVENTS.case(
        "events-wake-a-poller",
        "cgroup.events wakes a poller when populated changes, in both directions.",
        |fixture| {
            fixture.make("a")?;
            let mut events = events(fixture)?;
            events.read()?;
            let mut probe = fixture.start("a", "echo")?;
            let entered = events.wait(fixture.time(1.0))?;
            let full = events.read()?.contains("populated 1");
            probe.end()?;
            let left = events.wait(fixture.time(1.0))?;
            Ok(judge_populated([entered, full, left, events.read()?.contains("populated 0")]))
        },
    ),
    EVENTS.case(
        "events-are-silent-when-nothing-changes",
        "cgroup.events wakes no poller when a second process enters.",
        |fixture| {
            let _first = fixture.start_in("a", "echo")?;
            let mut events = events(fixture)?;
            // The notification for the first process may still be pending: cgroup_file_notify
            // delays any that follow the last one within 10 ms.
            fixture.pause(0.1)?;
            events.read()?;
            let _second = fixture.start("a", "echo")?;
            let woken = events.wait(fixture.time(0.3))?;
            let evidence =
                format!("a second process entered: poller of cgroup.events woken {woken}");
            Ok(Outcome::holds(!woken, evidence))
        },
    ),
    PRESSURE.case(
        "pressure-triggers-wake-a-poller",
        "A trigger on cpu.pressure wakes a poller when the group stalls longer than its \
         threshold.",
        |fixture| {
            let pressed = trigger(fixture)?;
            let _probe = fixture.start_bound("a", "spin threads=2")?;
            let woken = pressed.wait(fixture.time(4.0))?;
            Ok(judge_pressure(woken, total(fixture, "a")?))
        },
    ),
    PRESSURE.case(
        "pressure-triggers-are-silent-without-pressure",
        "A trigger on cpu.pressure of a sleeping group wakes no poller.",
        |fixture| {
            let pressed = trigger(fixture)?;
            let _probe = fixture.start("a", "echo")?;
            let before = total(fixture, "a")?;
            let woken = pressed.wait(fixture.time(1.2))?;
            let stalled = total(fixture, "a")?.saturating_sub(before);
            let evidence = format!(
                "a sleeping group, trigger `{TRIGGER}`: woken {woken}, stalled {stalled} us"
            );
            let outcome = Outcome::holds(!woken, evidence);
            Ok(outcome.void_if(stalled > 100_000, "the group stalled while sleeping"))
        },
    ),
    DELEGATION.case(
        "a-namespace-is-a-boundary",
        "With nsdelegate, a process in a cgroup namespace cannot write to the limits of the \
         namespace's root (EPERM) and cannot leave it (ENOENT).",
        |fixture| {
            if !is_boundary(&fixture.root.mount_table()?) {
                return Err(Stop::not_available("cgroup2 is mounted without nsdelegate"));
            }
            fixture.make_each(&["a", "a/b", "other"])?;
            // The group in which it starts is the root of its namespace, even after it has gone below.
            let mut probe = fixture.start("a", "delegate")?;
            fixture.move_to("a/b", &probe)?;
            fixture.write("a", "cgroup.subtree_control", "+pids")?;
            let pid = probe.pid().to_string();
            let mut ask = |group: &str, file: &str, text: &str| -> Result<Option<Errno>, Error> {
                let path = fixture.directory(group).join(file);
                probe.send(&format!("write {} {text}", path.display()));
                probe.refusal()
            };
            let (root, below) = (ask("a", "pids.max", "100")?, ask("a/b", "pids.max", "100")?);
            Ok(judge_boundary([root, below, ask("other", "cgroup.procs", &pid)?]))
        },
    ),
    CORE.needing(&[Need::V2, Need::Pressure, Need::File("cgroup.pressure")]).case(
        "pressure-that-is-off-is-not-counted",
        "With cgroup.pressure 0 a group's stalls are not counted, those of groups below are, and \
         with 1 they are counted again.",
        |fixture| {
            fixture.make_each(&["a", "a/b"])?;
            let probe = fixture.start_bound("a/b", "spin threads=2")?;
            fixture.pause(0.2)?;
            let before = (total(fixture, "a")?, total(fixture, "a/b")?);
            fixture.write("a", "cgroup.pressure", "0")?;
            // The state that a CPU had is counted on until it changes. A switch between two threads of one group
            // changes nothing (psi_task_switch of kernel/sched/psi.c), so that they sleep once.
            probe.signal(Signal::STOP)?;
            fixture.pause(0.1)?;
            probe.signal(Signal::CONT)?;
            fixture.pause(1.0)?;
            let below = total(fixture, "a/b")?.saturating_sub(before.1);
            fixture.write("a", "cgroup.pressure", "1")?;
            let off = total(fixture, "a")?;
            // Not read in a loop: what is read twice within a jiffy is not counted (docs/findings/psi-reads).
            fixture.pause(1.0)?;
            let again = total(fixture, "a")? > off + 100_000;
            Ok(judge_off(below, off.saturating_sub(before.0), again))
        },
    ),
];

/// 100 ms of stall within 2 s. Shorter windows need CAP_SYS_RESOURCE (psi_trigger_create,
/// kernel/sched/psi.c, since Linux 6.4), which root in a container lacks.
const TRIGGER: &str = "some 100000 2000000";

fn events(fixture: &Fixture) -> Result<WakeFile, Error> {
    WakeFile::open(fixture.root, &fixture.directory("a").join("cgroup.events"))
}

/// Makes group `a` with the trigger.
fn trigger(fixture: &Fixture) -> Result<WakeFile, Error> {
    fixture.make("a")?;
    WakeFile::trigger(fixture.root, &fixture.directory("a").join("cpu.pressure"), TRIGGER)
}

/// Stall time so far, in microseconds.
fn total(fixture: &Fixture, group: &str) -> Result<u64, Error> {
    let text = fixture.read(group, "cpu.pressure")?;
    let some = text.lines().find(|line| line.starts_with("some")).unwrap_or_default();
    let total = some.rsplit_once("total=").and_then(|(_, number)| number.trim().parse().ok());
    Ok(total.unwrap_or(0))
}

fn is_boundary(mounts: &str) -> bool {
    mounts.lines().any(|line| line.contains(" - cgroup2 ") && line.contains("nsdelegate"))
}

fn judge_populated([entered, full, left, empty]: [bool; 4]) -> Outcome {
    let evidence = format!(
        "woken by the first process {entered} (populated 1: {full}), by the end of the last \
         {left} (populated 0: {empty})"
    );
    Outcome::holds(entered && full && left && empty, evidence)
}

fn judge_pressure(woken: bool, stalled_us: u64) -> Outcome {
    let evidence = format!(
        "two threads on one CPU, trigger `{TRIGGER}`: woken {woken}, stalled {:.0} ms so far",
        stalled_us as f64 / 1e3
    );
    Outcome::holds(woken, evidence)
        .void_if(!woken && stalled_us < 500_000, "the group hardly stalled")
}

/// Stall time in microseconds while it was off: of the group below, and of the group itself.
fn judge_off(below: u64, own: u64, again: bool) -> Outcome {
    let evidence = format!(
        "while cgroup.pressure was 0, the group below stalled {:.0} ms, and {:.0} ms were counted for \
         the group; after a 1 it counted again: {again}",
        below as f64 / 1e3,
        own as f64 / 1e3
    );
    Outcome::holds(own < below / 4 && again, evidence)
        .void_if(below < 300_000, "the group below hardly stalled")
}

/// What the kernel answers to a process in a namespace, in this order: its root's limit, the limit of a group below, itself to a
/// group outside.
fn judge_boundary(answers: [Option<Errno>; 3]) -> Outcome {
    let [root, below, outside] = answers.map(errno_text);
    let evidence = format!(
        "a process in a cgroup namespace writes to pids.max of its root: {root}; of a group below: {below}; \
         itself to a group outside: {outside}"
    );
    Outcome::holds(answers == [Some(Errno::PERM), None, Some(Errno::NOENT)], evidence)
}

#[cfg(test)]
mod tests {
    use super::*;

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

    #[test]
    fn a_namespace_that_is_left_or_raises_its_own_limit_is_broken() {
        let (perm, noent) = (Some(Errno::PERM), Some(Errno::NOENT));
        assert_eq!(judge_boundary([perm, None, noent]).verdict, Verdict::Kept);
        assert_eq!(judge_boundary([None, None, noent]).verdict, Verdict::Broken);
        assert_eq!(judge_boundary([perm, None, None]).verdict, Verdict::Broken);
        assert_eq!(judge_boundary([perm, perm, noent]).verdict, Verdict::Broken);
    }

    #[test]
    fn only_mounts_of_cgroup2_with_the_option_count() {
        let mounts = "25 1 0:22 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw";
        assert!(!is_boundary(mounts));
        assert!(is_boundary(&format!("{mounts},nsdelegate")));
    }
}
