//! What only the v1 hierarchy of cpuset has.

use assay_kernel::Error;
use rustix::io::Errno;

use crate::errno_name::words;
use crate::fixture::Fixture;
use crate::outcome::Outcome;

/// A group made without the settings that [`Fixture::make`] gives it.
fn make_bare(ground: &Fixture, group: &str) -> Result<(), Error> {
    ground.root().make_dir(ground.directory(group))
}

/// Sets the lists of the group to those of the top group.
fn fill(ground: &Fixture, group: &str) -> Result<(), Error> {
    for file in ["cpuset.cpus", "cpuset.mems"] {
        ground.write(group, file, &ground.read("", file)?)?;
    }
    Ok(())
}

pub(super) fn attach_before_lists(ground: &mut Fixture) -> Result<Outcome, Error> {
    ground.make("b")?;
    make_bare(ground, "a")?;
    let probe = ground.start("b", "echo")?;
    let pid = probe.pid().to_string();
    let before = ground.refusal("a", "cgroup.procs", &pid);
    fill(ground, "a")?;
    Ok(judge_attach(before, ground.refusal("a", "cgroup.procs", &pid)))
}

fn judge_attach(before: Option<Errno>, after: Option<Errno>) -> Outcome {
    let seen = format!(
        "a process into a group without lists: {}, with them: {}",
        words(before),
        words(after)
    );
    Outcome::holds(before == Some(Errno::NOSPC) && after.is_none(), seen)
}

pub(super) fn exclusive(ground: &mut Fixture) -> Result<Outcome, Error> {
    let cpu = ground.cpu().to_string();
    if let Some(errno) = ground.refusal("", "cpuset.cpu_exclusive", "1") {
        // Its siblings are the host's own groups, which may share CPUs with it.
        let why = "the host's groups share CPUs with the group that was to be exclusive";
        return Ok(Outcome::void(format!("{why}: {}", words(Some(errno)))));
    }
    for group in ["a", "b"] {
        make_bare(ground, group)?;
    }
    ground.write("a", "cpuset.cpus", &cpu)?;
    ground.write("a", "cpuset.cpu_exclusive", "1")?;
    Ok(judge_exclusive(ground.refusal("b", "cpuset.cpus", &cpu)))
}

fn judge_exclusive(said: Option<Errno>) -> Outcome {
    let seen = format!("the CPU of an exclusive group to its sibling: {}", words(said));
    Outcome::holds(said == Some(Errno::INVAL), seen)
}

pub(super) fn clone_children(ground: &mut Fixture) -> Result<Outcome, Error> {
    let wanted = ground.read("", "cpuset.cpus")?;
    make_bare(ground, "plain")?;
    ground.write("", "cgroup.clone_children", "1")?;
    make_bare(ground, "clone")?;
    let (plain, clone) =
        (ground.read("plain", "cpuset.cpus")?, ground.read("clone", "cpuset.cpus")?);
    Ok(judge_clone(&wanted, &plain, &clone))
}

fn judge_clone(parent: &str, plain: &str, clone: &str) -> Outcome {
    let seen = format!(
        "cpuset.cpus `{parent}` above; in a group made without clone_children `{plain}`, with it \
         `{clone}`"
    );
    Outcome::holds(plain.is_empty() && clone == parent, seen)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::Verdict;

    #[test]
    fn a_group_without_lists_that_takes_processes_is_broken() {
        assert_eq!(judge_attach(Some(Errno::NOSPC), None).verdict, Verdict::Kept);
        assert_eq!(judge_attach(None, None).verdict, Verdict::Broken);
    }

    #[test]
    fn exclusive_cpus_that_are_shared_and_clones_that_differ_are_broken() {
        assert_eq!(judge_exclusive(None).verdict, Verdict::Broken);
        assert_eq!(judge_clone("0-1", "", "0-1").verdict, Verdict::Kept);
        assert_eq!(judge_clone("0-1", "", "").verdict, Verdict::Broken);
    }
}
