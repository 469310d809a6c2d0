//! core: the `cgroup.*` files of v2, and the files of every v1 hierarchy.

pub(super) mod threaded;
pub(super) mod v1;
pub(super) mod wakes;

use super::prelude::*;

pub(super) const CORE: Topic = v2("Documentation/admin-guide/cgroup-v2.rst, Core Interface Files");
const NO_INTERNAL_PROCESSES: Topic =
    v2("Documentation/admin-guide/cgroup-v2.rst, No Internal Process Constraint").needing(DOMAIN);
const TOP_DOWN: Topic =
    v2("Documentation/admin-guide/cgroup-v2.rst, Top-down Constraint").needing(DOMAIN);
const PROCESSES: Topic = v2("Documentation/admin-guide/cgroup-v2.rst, Processes");

/// Controllers to which the no-internal-process constraint applies (the others are threaded).
const DOMAIN: &[Need] = &[Need::AnyOnV2(&["memory", "io", "hugetlb", "rdma", "misc"])];

const fn v2(document: &'static str) -> Topic {
    Topic::new("core", document, &[Need::V2])
}

pub(super) const CASES: &[Case] = &[
    CORE.case(
        "a-depth-limit-refuses",
        "mkdir below cgroup.max.depth succeeds and beyond it fails with EAGAIN.",
        |fixture| {
            fixture.make("a")?;
            fixture.write("a", "cgroup.max.depth", "1")?;
            let one = ("limit 1, mkdir one level below", fixture.mkdir("a/b"));
            Ok(refused(one, ("two levels below", fixture.mkdir("a/b/c")), Errno::AGAIN))
        },
    ),
    CORE.case(
        "a-limit-of-descendants-refuses",
        "mkdir up to cgroup.max.descendants succeeds and beyond it fails with EAGAIN.",
        |fixture| {
            fixture.make("a")?;
            fixture.write("a", "cgroup.max.descendants", "2")?;
            let within = fixture.mkdir("a/b").or(fixture.mkdir("a/c"));
            let two = ("limit 2, mkdir of two groups", within);
            Ok(refused(two, ("of a third", fixture.mkdir("a/d")), Errno::AGAIN))
        },
    ),
    CORE.case(
        "stat-counts-descendants",
        "nr_descendants in cgroup.stat is the number of groups below.",
        |fixture| {
            fixture.make_each(&["a", "a/b", "a/c", "a/c/d"])?;
            let three = fixture.keyed("a", "cgroup.stat", "nr_descendants")?;
            fixture.root.remove_dir(fixture.directory("a/b"))?;
            Ok(judge_count(three, fixture.keyed("a", "cgroup.stat", "nr_descendants")?))
        },
    ),
    NO_INTERNAL_PROCESSES.case(
        "no-internal-processes",
        "A group with processes cannot enable a domain controller, and processes cannot enter a \
         group that has one enabled.",
        |fixture| {
            let enable = format!("+{}", first_controller(fixture)?);
            let change = |group| fixture.refusal(group, "cgroup.subtree_control", &enable);
            fixture.make_each(&["full", "empty"])?;
            fixture.make_parent("inner")?;
            let probe = fixture.start("full", "echo")?;
            let (by_enabling, allowed) = (change("full"), change("empty"));
            let (by_entering, free) =
                (fixture.attach("inner", &probe), fixture.attach("full", &probe));
            let without = format!("{enable} in a group without processes");
            let leaf = ("a process into a group that enables nothing", free);
            Ok(Outcome::all([
                refused((&without, allowed), ("in one with a process", by_enabling), Errno::BUSY),
                refused(leaf, ("into one that enables it", by_entering), Errno::BUSY),
            ]))
        },
    ),
    TOP_DOWN.case(
        "subtree-control-is-top-down",
        "A controller can be enabled only if the parent enables it, and not disabled while a \
         child uses it.",
        |fixture| {
            let name = first_controller(fixture)?;
            let (on, off) = (format!("+{name}"), format!("-{name}"));
            let change =
                |group, change: &str| fixture.refusal(group, "cgroup.subtree_control", change);
            fixture.make_each(&["a", "a/b"])?;
            // The parent has not enabled it yet.
            let early = change("a/b", &on);
            fixture.write("a", "cgroup.subtree_control", &on)?;
            let (late, unknown) = (change("a/b", &on), change("a", "+nonsense"));
            // The child uses it now, so it cannot be disabled.
            let in_use = change("a", &off);
            fixture.write("a/b", "cgroup.subtree_control", &off)?;
            let (known, unused) = (
                format!("{on} where the parent enables it"),
                format!("{off} while no child uses it"),
            );
            let free = change("a", &off);
            Ok(Outcome::all([
                refused((&known, late), ("where the parent does not", early), Errno::NOENT),
                refused((&known, late), ("+nonsense", unknown), Errno::INVAL),
                refused((&unused, free), ("while one does", in_use), Errno::BUSY),
            ]))
        },
    ),
    PROCESSES.case(
        "rmdir-of-a-populated-group-fails",
        "rmdir of a group with a process fails with EBUSY, and succeeds once the process has \
         ended.",
        rmdir,
    ),
    PROCESSES.case(
        "rmdir-of-a-group-with-children-fails",
        "rmdir of a group with a child group fails with EBUSY.",
        |fixture| {
            fixture.make_each(&["a", "a/b"])?;
            let with_child = fixture.rmdir("a");
            fixture.root.remove_dir(fixture.directory("a/b"))?;
            let alone = ("rmdir of a group without children", fixture.rmdir("a"));
            Ok(refused(alone, ("with one", with_child), Errno::BUSY))
        },
    ),
    CORE.needing(&[Need::V2, Need::File("cgroup.kill")]).case(
        "kill-empties-the-subtree",
        "cgroup.kill kills every process of a subtree, including concurrent forks, and none \
         outside it.",
        |fixture| {
            // A subtree whose processes fork as fast as they can; a sibling must survive.
            fixture.make_each(&["a", "a/b", "c"])?;
            let _breeder = fixture.start("a/b", "breed lines=4")?;
            let mut above = fixture.start("a", "echo")?;
            let mut sibling = fixture.start("c", "echo")?;
            fixture.pause(0.1)?;
            fixture.write("a", "cgroup.kill", "1")?;
            let populated = || fixture.keyed("a", "cgroup.events", "populated");
            let empty = fixture.wait_for(2.0, || Ok(populated()? == 0))?;
            let left = fixture.tree.processes("a/b")?.len() + fixture.tree.processes("a")?.len();
            let ended = above.ended_within(fixture.time(1.0)).is_some();
            Ok(judge_kill(empty && ended, left, sibling.answers()?))
        },
    ),
];

pub(super) fn rmdir(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    let mut probe = fixture.start_in("a", "echo")?;
    let populated = fixture.rmdir("a");
    probe.end()?;
    // A process leaves its groups shortly before or after its parent can reap it.
    let mut after = None;
    fixture.wait_for(2.0, || {
        after = fixture.rmdir("a");
        Ok(after != Some(Errno::BUSY))
    })?;
    let ended = ("rmdir after the process has ended", after);
    Ok(refused(ended, ("while it runs", populated), Errno::BUSY))
}

/// The first controller that the case's groups may enable.
fn first_controller(fixture: &Fixture) -> Result<String, Error> {
    let controllers = fixture.read("", "cgroup.subtree_control")?;
    Ok(controllers.split(' ').next().unwrap_or_default().to_owned())
}

fn judge_count(three: u64, two: u64) -> Outcome {
    let evidence = format!("3 groups below: nr_descendants {three}; 2 after rmdir: {two}");
    Outcome::holds(three == 3 && two == 2, evidence)
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

    #[test]
    fn a_surviving_subtree_or_a_killed_sibling_is_broken() {
        assert_eq!(judge_kill(true, 0, true).verdict, Verdict::Kept);
        assert_eq!(judge_kill(false, 3, true).verdict, Verdict::Broken);
        assert_eq!(judge_kill(true, 0, false).verdict, Verdict::Broken);
        assert_eq!(judge_count(3, 3).verdict, Verdict::Broken);
    }
}
