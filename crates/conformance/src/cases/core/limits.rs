//! Hierarchy rules: depth and descendant limits, counts, internal processes, rmdir.

use rustix::io::Errno;

use crate::errno_name::{errno_of, errno_text};
use crate::fixture::Fixture;
use crate::outcome::{Outcome, Stop};

/// Creates the directory of a group and nothing else; returns the error, if any.
fn make_bare(fixture: &Fixture, group: &str) -> Option<Errno> {
    errno_of(fixture.root().make_dir(fixture.directory(group)))
}

/// Results of a request that is allowed and of one that must be refused, each with its name.
fn judge_pair(
    allowed: (&str, Option<Errno>),
    refused: (&str, Option<Errno>),
    expected: Errno,
) -> Outcome {
    let evidence = format!(
        "{}: {}; {}: {}, to be {}",
        allowed.0,
        errno_text(allowed.1),
        refused.0,
        errno_text(refused.1),
        errno_text(Some(expected))
    );
    Outcome::holds(allowed.1.is_none() && refused.1 == Some(expected), evidence)
}

pub(super) fn depth(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    fixture.make("a")?;
    fixture.write("a", "cgroup.max.depth", "1")?;
    let (within, beyond) = (make_bare(fixture, "a/b"), make_bare(fixture, "a/b/c"));
    let (one, two) = ("limit 1, mkdir one level below", "two levels below");
    Ok(judge_pair((one, within), (two, beyond), Errno::AGAIN))
}

pub(super) fn descendants(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    fixture.make("a")?;
    fixture.write("a", "cgroup.max.descendants", "2")?;
    let within = make_bare(fixture, "a/b").or(make_bare(fixture, "a/c"));
    let beyond = make_bare(fixture, "a/d");
    let (two, third) = ("limit 2, mkdir of two groups", "of a third");
    Ok(judge_pair((two, within), (third, beyond), Errno::AGAIN))
}

pub(super) fn count(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    for group in ["a", "a/b", "a/c", "a/c/d"] {
        fixture.make(group)?;
    }
    let descendants = |fixture: &Fixture| fixture.keyed("a", "cgroup.stat", "nr_descendants");
    let before = descendants(fixture)?;
    fixture.root().remove_dir(fixture.directory("a/b"))?;
    Ok(judge_count(before, descendants(fixture)?))
}

fn judge_count(three: u64, two: u64) -> Outcome {
    let evidence = format!("3 groups below: nr_descendants {three}; 2 after rmdir: {two}");
    Outcome::holds(three == 3 && two == 2, evidence)
}

/// Refused: enabling a domain controller in a group with a process, and moving a process into a
/// group that has one enabled.
pub(super) fn no_internal_processes(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    let controllers = fixture.read("", "cgroup.subtree_control")?;
    let enable = format!("+{}", controllers.split(' ').next().unwrap_or_default());
    fixture.make("full")?;
    fixture.make("empty")?;
    fixture.make_parent("inner")?;
    let probe = fixture.start("full", "echo")?;
    let by_enabling = fixture.refusal("full", "cgroup.subtree_control", &enable);
    let allowed = fixture.refusal("empty", "cgroup.subtree_control", &enable);
    let by_entering = fixture.refusal("inner", "cgroup.procs", &probe.pid().to_string());
    let free = fixture.refusal("full", "cgroup.procs", &probe.pid().to_string());
    let (without, with) =
        (format!("{enable} in a group without processes"), "in one with a process");
    let (leaf, inner) = ("a process into a group that enables nothing", "into one that enables it");
    Ok(Outcome::all([
        judge_pair((&without, allowed), (with, by_enabling), Errno::BUSY),
        judge_pair((leaf, free), (inner, by_entering), Errno::BUSY),
    ]))
}

pub(super) fn subtree_control(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    let controllers = fixture.read("", "cgroup.subtree_control")?;
    let name = controllers.split(' ').next().unwrap_or_default().to_owned();
    fixture.make("a")?;
    fixture.make("a/b")?;
    // The parent has not enabled it yet.
    let early = fixture.refusal("a/b", "cgroup.subtree_control", &format!("+{name}"));
    fixture.write("a", "cgroup.subtree_control", &format!("+{name}"))?;
    let late = fixture.refusal("a/b", "cgroup.subtree_control", &format!("+{name}"));
    let unknown = fixture.refusal("a", "cgroup.subtree_control", "+nonsense");
    // The child uses it now, so it cannot be disabled.
    let in_use = fixture.refusal("a", "cgroup.subtree_control", &format!("-{name}"));
    fixture.write("a/b", "cgroup.subtree_control", &format!("-{name}"))?;
    let free = fixture.refusal("a", "cgroup.subtree_control", &format!("-{name}"));
    let known = format!("+{name} where the parent enables it");
    let unused = format!("-{name} while no child uses it");
    Ok(Outcome::all([
        judge_pair((&known, late), ("where the parent does not", early), Errno::NOENT),
        judge_pair((&known, late), ("+nonsense", unknown), Errno::INVAL),
        judge_pair((&unused, free), ("while one does", in_use), Errno::BUSY),
    ]))
}

pub(super) fn rmdir(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    fixture.make("a")?;
    let mut probe = fixture.start("a", "echo")?;
    let rmdir = |fixture: &Fixture| errno_of(fixture.root().remove_dir(fixture.directory("a")));
    let populated = rmdir(fixture);
    probe.end()?;
    // A process leaves its groups shortly before or after its parent can reap it.
    let mut after = None;
    fixture.wait_for(2.0, || {
        after = rmdir(fixture);
        Ok(after != Some(Errno::BUSY))
    })?;
    let (ended, alive) = ("rmdir after the process has ended", "while it runs");
    Ok(judge_pair((ended, after), (alive, populated), Errno::BUSY))
}

pub(super) fn rmdir_of_a_parent(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    fixture.make("a")?;
    fixture.make("a/b")?;
    let with_child = errno_of(fixture.root().remove_dir(fixture.directory("a")));
    fixture.root().remove_dir(fixture.directory("a/b"))?;
    let without = errno_of(fixture.root().remove_dir(fixture.directory("a")));
    let (alone, parent) = ("rmdir of a group without children", "with one");
    Ok(judge_pair((alone, without), (parent, with_child), Errno::BUSY))
}

/// Kills a subtree whose processes fork as fast as they can; a sibling must survive.
pub(super) fn kill(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    fixture.make("a")?;
    fixture.make("a/b")?;
    fixture.make("c")?;
    let _breeder = fixture.start("a/b", "breed lines=4")?;
    let mut above = fixture.start("a", "echo")?;
    let mut sibling = fixture.start("c", "echo")?;
    fixture.pause(0.1)?;
    fixture.write("a", "cgroup.kill", "1")?;
    let empty =
        fixture.wait_for(2.0, || Ok(fixture.keyed("a", "cgroup.events", "populated")? == 0))?;
    let remaining = fixture.tree().processes("a/b")?.len() + fixture.tree().processes("a")?.len();
    let ended = above.ended_within(fixture.time(1.0)).is_some();
    sibling.send("are you there");
    let spared = sibling.line()?.is_some();
    Ok(judge_kill(empty && ended, remaining, spared))
}

fn judge_kill(empty: bool, remaining: usize, spared: bool) -> Outcome {
    let evidence = format!(
        "subtree with 4 lines of processes that fork without end: emptied {empty}, {remaining} left; \
         its sibling survives: {spared}"
    );
    Outcome::holds(empty && remaining == 0 && spared, evidence)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::Verdict;

    #[test]
    fn refusing_too_early_too_late_or_with_another_errno_is_broken() {
        let judge = |a, b| judge_pair(("x", a), ("y", b), Errno::AGAIN).verdict;
        assert_eq!(judge(None, Some(Errno::AGAIN)), Verdict::Kept);
        assert_eq!(judge(Some(Errno::AGAIN), Some(Errno::AGAIN)), Verdict::Broken);
        assert_eq!(judge(None, None), Verdict::Broken);
        assert_eq!(judge(None, Some(Errno::NOSPC)), Verdict::Broken);
    }

    #[test]
    fn a_surviving_subtree_or_a_killed_sibling_is_broken() {
        assert_eq!(judge_kill(true, 0, true).verdict, Verdict::Kept);
        assert_eq!(judge_kill(false, 3, true).verdict, Verdict::Broken);
        assert_eq!(judge_kill(true, 0, false).verdict, Verdict::Broken);
        assert_eq!(judge_count(3, 3).verdict, Verdict::Broken);
    }
}
