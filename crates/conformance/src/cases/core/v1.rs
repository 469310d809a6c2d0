//! What every v1 hierarchy offers beside its controllers.

use assay_kernel::Error;
use rustix::io::Errno;

use crate::errno_name::words;
use crate::fixture::Fixture;
use crate::outcome::Outcome;
use crate::running::Running;

/// Threads of a process that a group's `tasks` lists.
fn tasks(ground: &Fixture, group: &str, probe: &Running) -> Result<usize, Error> {
    let threads = ground.root().list(format!("/proc/{}/task", probe.pid()))?;
    let text = ground.read(group, "tasks")?;
    Ok(text.lines().filter(|line| threads.iter().any(|thread| thread == line)).count())
}

pub(super) fn tasks_move_one_thread(ground: &mut Fixture) -> Result<Outcome, Error> {
    ground.make("a")?;
    ground.make("b")?;
    let mut probe = ground.start("a", "spin threads=2 duty=5")?;
    let line = probe.line()?.unwrap_or_default();
    let thread = line.strip_prefix("thread ").unwrap_or_default().to_owned();
    ground.write("b", "tasks", &thread)?;
    let one = (tasks(ground, "a", &probe)?, tasks(ground, "b", &probe)?);
    ground.write("b", "cgroup.procs", &probe.pid().to_string())?;
    let all = (tasks(ground, "a", &probe)?, tasks(ground, "b", &probe)?);
    Ok(judge_move(one, all))
}

/// Threads in the first and the second group after each of the two moves.
fn judge_move(one: (usize, usize), all: (usize, usize)) -> Outcome {
    let seen = format!(
        "a process of 3 threads: after one was written to tasks {} and {} in the two groups, \
         after the process was written to cgroup.procs {} and {}",
        one.0, one.1, all.0, all.1
    );
    Outcome::holds(one == (2, 1) && all == (0, 3), seen)
}

/// On v1 a group with children may hold processes: the rule against it came with v2.
pub(super) fn inner_nodes(ground: &mut Fixture) -> Result<Outcome, Error> {
    ground.make_parent("a")?;
    ground.make("a/b")?;
    let probe = ground.start("a/b", "echo")?;
    let said = ground.refusal("a", "cgroup.procs", &probe.pid().to_string());
    Ok(judge_inner(said))
}

fn judge_inner(said: Option<Errno>) -> Outcome {
    Outcome::holds(said.is_none(), format!("a process into a group with a child: {}", words(said)))
}

/// Only read: the agent is the host's.
pub(super) fn release(ground: &mut Fixture) -> Result<Outcome, Error> {
    ground.make("a")?;
    let own = ground.read("a", "notify_on_release")?;
    let top = ground.read("", "notify_on_release")?;
    let mount = ground.homes.first().map(|home| home.mount.clone()).unwrap_or_default();
    let agent = ground.root().read_trimmed(mount.join("release_agent"))?;
    Ok(judge_release(&own, &top, &agent))
}

fn judge_release(own: &str, parent: &str, agent: &str) -> Outcome {
    let agent = if agent.is_empty() { "none".to_owned() } else { format!("`{agent}`") };
    let seen = format!("notify_on_release {own} as in the group above ({parent}); agent {agent}");
    Outcome::holds(own == parent && ["0", "1"].contains(&own), seen)
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
    fn v1_groups_that_refuse_or_forget_are_broken() {
        assert_eq!(judge_inner(Some(Errno::BUSY)).verdict, Verdict::Broken);
        assert_eq!(judge_release("1", "0", "").verdict, Verdict::Broken);
        assert_eq!(judge_release("0", "0", "").verdict, Verdict::Kept);
    }
}
