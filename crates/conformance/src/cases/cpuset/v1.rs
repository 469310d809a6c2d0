//! Cpuset features that exist only on v1.

use assay_kernel::Error;
use rustix::io::Errno;

use crate::errno_name::errno_text;
use crate::fixture::Fixture;
use crate::outcome::{Outcome, Stop};

/// Creates a group without the settings that [`Fixture::make`] applies.
fn make_bare(fixture: &Fixture, group: &str) -> Result<(), Error> {
    fixture.root().make_dir(fixture.directory(group))
}

/// Copies the lists of the top group.
fn fill(fixture: &Fixture, group: &str) -> Result<(), Error> {
    for file in ["cpuset.cpus", "cpuset.mems"] {
        fixture.write(group, file, &fixture.read("", file)?)?;
    }
    Ok(())
}

pub(super) fn attach_before_lists(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    fixture.make("b")?;
    make_bare(fixture, "a")?;
    let probe = fixture.start("b", "echo")?;
    let pid = probe.pid().to_string();
    let before = fixture.refusal("a", "cgroup.procs", &pid);
    fill(fixture, "a")?;
    Ok(judge_attach(before, fixture.refusal("a", "cgroup.procs", &pid)))
}

fn judge_attach(before: Option<Errno>, after: Option<Errno>) -> Outcome {
    let evidence = format!(
        "a process into a group without lists: {}, with them: {}",
        errno_text(before),
        errno_text(after)
    );
    Outcome::holds(before == Some(Errno::NOSPC) && after.is_none(), evidence)
}

pub(super) fn exclusive(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    let cpu = fixture.cpu().to_string();
    if let Some(errno) = fixture.refusal("", "cpuset.cpu_exclusive", "1") {
        // Its siblings are groups of the host, which may share CPUs with it.
        let why = "the host's groups share CPUs with the group to be made exclusive";
        return Ok(Outcome::void(format!("{why}: {}", errno_text(Some(errno)))));
    }
    for group in ["a", "b"] {
        make_bare(fixture, group)?;
    }
    fixture.write("a", "cpuset.cpus", &cpu)?;
    fixture.write("a", "cpuset.cpu_exclusive", "1")?;
    Ok(judge_exclusive(fixture.refusal("b", "cpuset.cpus", &cpu)))
}

pub(super) fn shared(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    let cpu = fixture.cpu().to_string();
    for group in ["a", "b"] {
        make_bare(fixture, group)?;
    }
    fixture.write("a", "cpuset.cpus", &cpu)?;
    Ok(judge_shared(fixture.refusal("b", "cpuset.cpus", &cpu)))
}

fn judge_shared(answer: Option<Errno>) -> Outcome {
    let evidence =
        format!("a CPU of a group that is not exclusive, for its sibling: {}", errno_text(answer));
    Outcome::holds(answer.is_none(), evidence)
}

fn judge_exclusive(answer: Option<Errno>) -> Outcome {
    let evidence = format!("the CPU of an exclusive group to its sibling: {}", errno_text(answer));
    Outcome::holds(answer == Some(Errno::INVAL), evidence)
}

pub(super) fn clone_children(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    let parent = fixture.read("", "cpuset.cpus")?;
    make_bare(fixture, "plain")?;
    fixture.write("", "cgroup.clone_children", "1")?;
    make_bare(fixture, "clone")?;
    let (plain, clone) =
        (fixture.read("plain", "cpuset.cpus")?, fixture.read("clone", "cpuset.cpus")?);
    Ok(judge_clone(&parent, &plain, &clone))
}

fn judge_clone(parent: &str, plain: &str, clone: &str) -> Outcome {
    let evidence = format!(
        "cpuset.cpus `{parent}` above; in a group made without clone_children `{plain}`, with it \
         `{clone}`"
    );
    Outcome::holds(plain.is_empty() && clone == parent, evidence)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::Verdict;

    #[test]
    fn accepting_processes_without_lists_is_broken() {
        assert_eq!(judge_attach(Some(Errno::NOSPC), None).verdict, Verdict::Kept);
        assert_eq!(judge_attach(None, None).verdict, Verdict::Broken);
    }

    #[test]
    fn shared_exclusive_cpus_and_different_clones_are_broken() {
        assert_eq!(judge_exclusive(None).verdict, Verdict::Broken);
        assert_eq!(judge_shared(None).verdict, Verdict::Kept);
        assert_eq!(judge_shared(Some(Errno::INVAL)).verdict, Verdict::Broken);
        assert_eq!(judge_clone("0-1", "", "0-1").verdict, Verdict::Kept);
        assert_eq!(judge_clone("0-1", "", "").verdict, Verdict::Broken);
    }
}
