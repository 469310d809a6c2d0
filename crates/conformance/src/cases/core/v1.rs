//! Files of every v1 hierarchy, independent of controllers.

use assay_kernel::Error;
use rustix::io::Errno;

use crate::errno_name::errno_text;
use crate::fixture::Fixture;
use crate::outcome::{Outcome, Stop};
use crate::running::Running;

/// Number of threads of a process listed in a group's `tasks`.
fn tasks(fixture: &Fixture, group: &str, probe: &Running) -> Result<usize, Error> {
    let threads = fixture.root().list(format!("/proc/{}/task", probe.pid()))?;
    let text = fixture.read(group, "tasks")?;
    Ok(text.lines().filter(|line| threads.iter().any(|thread| thread == line)).count())
}

pub(super) fn tasks_move_one_thread(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    fixture.make("a")?;
    fixture.make("b")?;
    let mut probe = fixture.start("a", "spin threads=2 duty=5")?;
    let line = probe.line()?.unwrap_or_default();
    let thread = line.strip_prefix("thread ").unwrap_or_default().to_owned();
    fixture.write("b", "tasks", &thread)?;
    let one = (tasks(fixture, "a", &probe)?, tasks(fixture, "b", &probe)?);
    fixture.write("b", "cgroup.procs", &probe.pid().to_string())?;
    let all = (tasks(fixture, "a", &probe)?, tasks(fixture, "b", &probe)?);
    Ok(judge_move(one, all))
}

/// Threads in the first and the second group after each of the two moves.
fn judge_move(one: (usize, usize), all: (usize, usize)) -> Outcome {
    let evidence = format!(
        "a process of 3 threads: after one was written to tasks {} and {} in the two groups, \
         after the process was written to cgroup.procs {} and {}",
        one.0, one.1, all.0, all.1
    );
    Outcome::holds(one == (2, 1) && all == (0, 3), evidence)
}

/// On v1 a group with children may hold processes: the constraint came with v2.
pub(super) fn inner_nodes(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    fixture.make_parent("a")?;
    fixture.make("a/b")?;
    let probe = fixture.start("a/b", "echo")?;
    let answer = fixture.refusal("a", "cgroup.procs", &probe.pid().to_string());
    Ok(judge_inner(answer))
}

fn judge_inner(answer: Option<Errno>) -> Outcome {
    Outcome::holds(
        answer.is_none(),
        format!("a process into a group with a child: {}", errno_text(answer)),
    )
}

/// Read-only: the release agent belongs to the host.
pub(super) fn release(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    fixture.make("a")?;
    let own = fixture.read("a", "notify_on_release")?;
    let top = fixture.read("", "notify_on_release")?;
    let mount =
        fixture.hierarchies.first().map(|hierarchy| hierarchy.mount.clone()).unwrap_or_default();
    let agent = fixture.root().read_trimmed(mount.join("release_agent"))?;
    Ok(judge_release(&own, &top, &agent))
}

fn judge_release(own: &str, parent: &str, agent: &str) -> Outcome {
    let agent = if agent.is_empty() { "none".to_owned() } else { format!("`{agent}`") };
    let evidence =
        format!("notify_on_release {own} as in the group above ({parent}); agent {agent}");
    Outcome::holds(own == parent && ["0", "1"].contains(&own), evidence)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::Verdict;

    #[test]
    fn tasks_that_move_the_whole_process_are_broken() {
        assert_eq!(judge_move((2, 1), (0, 3)).verdict, Verdict::Kept);
        assert_eq!(judge_move((0, 3), (0, 3)).verdict, Verdict::Broken);
        assert_eq!(judge_move((2, 1), (2, 1)).verdict, Verdict::Broken);
    }

    #[test]
    fn v1_groups_that_refuse_processes_or_lose_settings_are_broken() {
        assert_eq!(judge_inner(Some(Errno::BUSY)).verdict, Verdict::Broken);
        assert_eq!(judge_release("1", "0", "").verdict, Verdict::Broken);
        assert_eq!(judge_release("0", "0", "").verdict, Verdict::Kept);
    }
}
