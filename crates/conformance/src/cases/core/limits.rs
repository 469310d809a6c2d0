//! The hierarchy itself: limits of depth and number, counts, who may hold processes, rmdir.

use assay_kernel::Error;
use rustix::io::Errno;

use crate::errno_name::{errno_name, words};
use crate::fixture::Fixture;
use crate::outcome::Outcome;

/// Makes a directory for a group without anything else, and returns what the kernel answered.
fn make_bare(ground: &Fixture, group: &str) -> Option<Errno> {
    errno_name(ground.root().make_dir(ground.directory(group)))
}

/// What the kernel answered to a request that is allowed, and to one that it must refuse; each
/// with its name.
fn judge_pair(
    allowed: (&str, Option<Errno>),
    refused: (&str, Option<Errno>),
    wanted: Errno,
) -> Outcome {
    let seen = format!(
        "{}: {}; {}: {}, to be {}",
        allowed.0,
        words(allowed.1),
        refused.0,
        words(refused.1),
        words(Some(wanted))
    );
    Outcome::holds(allowed.1.is_none() && refused.1 == Some(wanted), seen)
}

pub(super) fn depth(ground: &mut Fixture) -> Result<Outcome, Error> {
    ground.make("a")?;
    ground.write("a", "cgroup.max.depth", "1")?;
    let (within, beyond) = (make_bare(ground, "a/b"), make_bare(ground, "a/b/c"));
    let (one, two) = ("limit 1, mkdir one level below", "two levels below");
    Ok(judge_pair((one, within), (two, beyond), Errno::AGAIN))
}

pub(super) fn descendants(ground: &mut Fixture) -> Result<Outcome, Error> {
    ground.make("a")?;
    ground.write("a", "cgroup.max.descendants", "2")?;
    let within = make_bare(ground, "a/b").or(make_bare(ground, "a/c"));
    let beyond = make_bare(ground, "a/d");
    let (two, third) = ("limit 2, mkdir of two groups", "of a third");
    Ok(judge_pair((two, within), (third, beyond), Errno::AGAIN))
}

pub(super) fn count(ground: &mut Fixture) -> Result<Outcome, Error> {
    for group in ["a", "a/b", "a/c", "a/c/d"] {
        ground.make(group)?;
    }
    let seen = |ground: &Fixture| ground.keyed("a", "cgroup.stat", "nr_descendants");
    let before = seen(ground)?;
    ground.root().remove_dir(ground.directory("a/b"))?;
    Ok(judge_count(before, seen(ground)?))
}

fn judge_count(three: u64, two: u64) -> Outcome {
    let seen = format!("3 groups below: nr_descendants {three}; 2 after rmdir: {two}");
    Outcome::holds(three == 3 && two == 2, seen)
}

/// Enabling a domain controller below a group with a process, and putting a process into a group
/// that has one enabled, are both refused.
pub(super) fn no_internal_processes(ground: &mut Fixture) -> Result<Outcome, Error> {
    let controllers = ground.read("", "cgroup.subtree_control")?;
    let enable = format!("+{}", controllers.split(' ').next().unwrap_or_default());
    ground.make("full")?;
    ground.make("empty")?;
    ground.make_parent("inner")?;
    let probe = ground.start("full", "echo")?;
    let by_enabling = ground.refusal("full", "cgroup.subtree_control", &enable);
    let allowed = ground.refusal("empty", "cgroup.subtree_control", &enable);
    let by_entering = ground.refusal("inner", "cgroup.procs", &probe.pid().to_string());
    let free = ground.refusal("full", "cgroup.procs", &probe.pid().to_string());
    let (without, with) = (format!("{enable} in a group without processes"), "with one");
    let (leaf, inner) = ("a process into a group that enables nothing", "that enables it");
    Ok(Outcome::all([
        judge_pair((&without, allowed), (with, by_enabling), Errno::BUSY),
        judge_pair((leaf, free), (inner, by_entering), Errno::BUSY),
    ]))
}

pub(super) fn subtree_control(ground: &mut Fixture) -> Result<Outcome, Error> {
    let controllers = ground.read("", "cgroup.subtree_control")?;
    let name = controllers.split(' ').next().unwrap_or_default().to_owned();
    ground.make("a")?;
    ground.make("a/b")?;
    // The group above passes nothing on yet.
    let early = ground.refusal("a/b", "cgroup.subtree_control", &format!("+{name}"));
    ground.write("a", "cgroup.subtree_control", &format!("+{name}"))?;
    let late = ground.refusal("a/b", "cgroup.subtree_control", &format!("+{name}"));
    let unknown = ground.refusal("a", "cgroup.subtree_control", "+nonsense");
    // The group below uses it now, so that it cannot be taken away.
    let taken = ground.refusal("a", "cgroup.subtree_control", &format!("-{name}"));
    ground.write("a/b", "cgroup.subtree_control", &format!("-{name}"))?;
    let free = ground.refusal("a", "cgroup.subtree_control", &format!("-{name}"));
    let known = format!("+{name} where the parent has it");
    let unused = format!("-{name} while no child uses it");
    Ok(Outcome::all([
        judge_pair((&known, late), ("where it has not", early), Errno::NOENT),
        judge_pair((&known, late), ("+nonsense", unknown), Errno::INVAL),
        judge_pair((&unused, free), ("while one does", taken), Errno::BUSY),
    ]))
}

pub(super) fn rmdir(ground: &mut Fixture) -> Result<Outcome, Error> {
    ground.make("a")?;
    let mut probe = ground.start("a", "echo")?;
    let rmdir = |ground: &Fixture| errno_name(ground.root().remove_dir(ground.directory("a")));
    let populated = rmdir(ground);
    probe.end()?;
    // A process leaves its groups a moment before its parent can wait for it, or after.
    let mut after = None;
    ground.wait_for(2.0, || {
        after = rmdir(ground);
        Ok(after != Some(Errno::BUSY))
    })?;
    let (ended, alive) = ("rmdir after the process has ended", "while it lives");
    Ok(judge_pair((ended, after), (alive, populated), Errno::BUSY))
}

pub(super) fn rmdir_of_a_parent(ground: &mut Fixture) -> Result<Outcome, Error> {
    ground.make("a")?;
    ground.make("a/b")?;
    let with_child = errno_name(ground.root().remove_dir(ground.directory("a")));
    ground.root().remove_dir(ground.directory("a/b"))?;
    let without = errno_name(ground.root().remove_dir(ground.directory("a")));
    let (alone, parent) = ("rmdir of a group without groups inside", "with one");
    Ok(judge_pair((alone, without), (parent, with_child), Errno::BUSY))
}

/// Kills a subtree in which processes fork as fast as they can, and not what is beside it.
pub(super) fn kill(ground: &mut Fixture) -> Result<Outcome, Error> {
    ground.make("a")?;
    ground.make("a/b")?;
    ground.make("c")?;
    let _breeder = ground.start("a/b", "breed lines=4")?;
    let mut above = ground.start("a", "echo")?;
    let mut beside = ground.start("c", "echo")?;
    ground.pause(0.1)?;
    ground.write("a", "cgroup.kill", "1")?;
    let empty =
        ground.wait_for(2.0, || Ok(ground.keyed("a", "cgroup.events", "populated")? == 0))?;
    let left = ground.tree().processes("a/b")?.len() + ground.tree().processes("a")?.len();
    let ended = above.ended_within(ground.time(1.0)).is_some();
    beside.say("are you there");
    let spared = beside.line()?.is_some();
    Ok(judge_kill(empty && ended, left, spared))
}

fn judge_kill(empty: bool, left: usize, spared: bool) -> Outcome {
    let seen = format!(
        "subtree with 4 lines of processes that fork without end: emptied {empty}, {left} left; \
         the group beside it lives: {spared}"
    );
    Outcome::holds(empty && left == 0 && spared, seen)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::Verdict;

    #[test]
    fn a_limit_that_refuses_too_early_too_late_or_otherwise_is_broken() {
        let judge = |a, b| judge_pair(("x", a), ("y", b), Errno::AGAIN).verdict;
        assert_eq!(judge(None, Some(Errno::AGAIN)), Verdict::Kept);
        assert_eq!(judge(Some(Errno::AGAIN), Some(Errno::AGAIN)), Verdict::Broken);
        assert_eq!(judge(None, None), Verdict::Broken);
        assert_eq!(judge(None, Some(Errno::NOSPC)), Verdict::Broken);
    }

    #[test]
    fn a_subtree_that_is_not_emptied_or_a_sibling_that_is_killed_is_broken() {
        assert_eq!(judge_kill(true, 0, true).verdict, Verdict::Kept);
        assert_eq!(judge_kill(false, 3, true).verdict, Verdict::Broken);
        assert_eq!(judge_kill(true, 0, false).verdict, Verdict::Broken);
        assert_eq!(judge_count(3, 3).verdict, Verdict::Broken);
    }
}
