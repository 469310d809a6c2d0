//! Delegation to a cgroup namespace, whose root is a boundary where cgroup2 is mounted with `nsdelegate`.

use assay_kernel::Error;
use rustix::io::Errno;

use crate::errno_name::errno_text;
use crate::fixture::Fixture;
use crate::outcome::{Outcome, Stop};

/// What the kernel answers to a process in a namespace, in this order: its root's limit, the limit of a group below, itself to a
/// group outside.
type Answers = [Option<Errno>; 3];

pub(super) fn boundary(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    if !is_boundary(&fixture.root().mount_table()?) {
        return Err(Stop::not_available("cgroup2 is mounted without nsdelegate"));
    }
    for group in ["a", "a/b", "other"] {
        fixture.make(group)?;
    }
    // The group in which it starts is the root of its namespace, even after it has gone below.
    let mut probe = fixture.start("a", "delegate")?;
    fixture.write("a/b", "cgroup.procs", &probe.pid().to_string())?;
    fixture.write("a", "cgroup.subtree_control", "+pids")?;
    let pid = probe.pid().to_string();
    let mut ask = |group: &str, file: &str, text: &str| -> Result<Option<Errno>, Error> {
        let path = fixture.directory(group).join(file);
        probe.send(&format!("write {} {text}", path.display()));
        probe.refusal()
    };
    Ok(judge([
        ask("a", "pids.max", "100")?,
        ask("a/b", "pids.max", "100")?,
        ask("other", "cgroup.procs", &pid)?,
    ]))
}

fn is_boundary(mounts: &str) -> bool {
    mounts.lines().any(|line| line.contains(" - cgroup2 ") && line.contains("nsdelegate"))
}

fn judge(answers: Answers) -> Outcome {
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
    use crate::outcome::Verdict;

    #[test]
    fn a_namespace_that_is_left_or_raises_its_own_limit_is_broken() {
        let (perm, noent) = (Some(Errno::PERM), Some(Errno::NOENT));
        assert_eq!(judge([perm, None, noent]).verdict, Verdict::Kept);
        assert_eq!(judge([None, None, noent]).verdict, Verdict::Broken);
        assert_eq!(judge([perm, None, None]).verdict, Verdict::Broken);
        assert_eq!(judge([perm, perm, noent]).verdict, Verdict::Broken);
    }

    #[test]
    fn only_mounts_of_cgroup2_with_the_option_count() {
        let mounts = "25 1 0:22 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw";
        assert!(!is_boundary(mounts));
        assert!(is_boundary(&format!("{mounts},nsdelegate")));
    }
}
