//! Files of every v1 hierarchy, independent of controllers.

use super::*;

const V1: Topic =
    Topic::new("core", "Documentation/admin-guide/cgroup-v1/cgroups.rst", &[Need::AnyV1]);

pub(crate) const CASES: &[Case] = &[
    V1.case(
        "v1-tasks-move-one-thread",
        "On v1, writing to tasks moves one thread, writing to cgroup.procs the whole process.",
        |fixture| {
            fixture.make_each(&["a", "b"])?;
            let mut probe = fixture.start("a", "spin threads=2 duty=5")?;
            let thread: u32 = probe.value("thread ")?;
            fixture.write("b", "tasks", &thread.to_string())?;
            let one = (tasks(fixture, "a", &probe)?, tasks(fixture, "b", &probe)?);
            fixture.move_to("b", &probe)?;
            let all = (tasks(fixture, "a", &probe)?, tasks(fixture, "b", &probe)?);
            Ok(judge_move(one, all))
        },
    ),
    V1.case(
        "v1-inner-groups-hold-processes",
        "On v1, a group with children may hold processes.",
        |fixture| {
            // The constraint came with v2.
            fixture.make_parent("a")?;
            let probe = fixture.start_in("a/b", "echo")?;
            let answer = fixture.attach("a", &probe);
            Ok(answered("a process into a group with a child", answer, None))
        },
    ),
    V1.case(
        "v1-notify-on-release-is-inherited",
        "On v1, a new group inherits notify_on_release from its parent.",
        |fixture| {
            // Read-only: the release agent belongs to the host.
            fixture.make("a")?;
            let own = fixture.read("a", "notify_on_release")?;
            let top = fixture.read("", "notify_on_release")?;
            let mount = fixture.hierarchies.first().map(|hierarchy| hierarchy.mount.clone());
            let agent = mount.unwrap_or_default().join("release_agent");
            Ok(judge_release(&own, &top, &fixture.root.read_trimmed(agent)?))
        },
    ),
    V1.case(
        "v1-rmdir-of-a-populated-group-fails",
        "On v1, rmdir of a group with a process fails with EBUSY, and succeeds once the process \
         has ended.",
        rmdir,
    ),
];

/// Number of threads of a process listed in a group's `tasks`.
fn tasks(fixture: &Fixture, group: &str, probe: &Running) -> Result<usize, Error> {
    let threads = fixture.root.list(format!("/proc/{}/task", probe.pid()))?;
    let text = fixture.read(group, "tasks")?;
    Ok(text.lines().filter(|line| threads.iter().any(|thread| thread == line)).count())
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

fn judge_release(own: &str, parent: &str, agent: &str) -> Outcome {
    let agent = if agent.is_empty() { "none".to_owned() } else { format!("`{agent}`") };
    let evidence =
        format!("notify_on_release {own} as in the group above ({parent}); agent {agent}");
    Outcome::holds(own == parent && ["0", "1"].contains(&own), evidence)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_that_move_the_whole_process_are_broken() {
        assert_eq!(judge_move((2, 1), (0, 3)).verdict, Verdict::Kept);
        assert_eq!(judge_move((0, 3), (0, 3)).verdict, Verdict::Broken);
        assert_eq!(judge_move((2, 1), (2, 1)).verdict, Verdict::Broken);
    }

    #[test]
    fn v1_groups_that_lose_settings_are_broken() {
        assert_eq!(judge_release("1", "0", "").verdict, Verdict::Broken);
        assert_eq!(judge_release("0", "0", "").verdict, Verdict::Kept);
    }
}
