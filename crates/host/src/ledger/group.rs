//! Removes a control group that Assay created, whatever is still inside.

use std::path::Path;
use std::time::{Duration, Instant};

use assay_sys::kernel::blocked::HangWatch;
use assay_sys::kernel::{Error, Root, process};
use rustix::process::Signal;

use super::crash_point::crash_point;
use super::queue::is_gone;
use super::while_busy::while_busy_for;
use crate::freezer::{describe_survivor, is_frozen};
use crate::poll_until::{END_OF_KILLED, once_stuck, shorten_waits, wait_for_end};

const PROCS: &str = "cgroup.procs";
const TASKS: &str = "tasks";
const THREADS: &str = "cgroup.threads";

/// Kills the processes inside, then removes the group and every group below it: everything in it
/// belongs to this run.
pub(super) fn remove(root: &Root, group: &Path) -> Result<(), Error> {
    if !root.exists(group) {
        return Ok(());
    }
    leave(root, group)?;
    // The interface files of a fake host tree would be removed before their processes.
    if root.is_real() && sweep(root, group)? {
        return Ok(());
    }
    empty(root, group)?;
    remove_tree(root, group)
}

/// Removes empty groups without inspecting them first, and returns whether all of them were removed:
/// the kernel refuses to remove a group with processes or groups inside (EBUSY), so trying first costs
/// one call per group, where checking processes and children costs seven.
fn sweep(root: &Root, group: &Path) -> Result<bool, Error> {
    crash_point()?;
    if is_removed(&root.remove_dir(group)) {
        return Ok(true);
    }
    for child in children(root, group)? {
        sweep(root, &group.join(child))?;
    }
    crash_point()?;
    Ok(is_removed(&root.remove_dir(group)))
}

/// Whether a group has been removed. Errors other than a non-empty group are found and reported by the
/// thorough path.
fn is_removed(result: &Result<(), Error>) -> bool {
    match result {
        Ok(()) => true,
        Err(error) => is_gone(error),
    }
}

/// An Assay process that moved itself into a leaf of a delegated group moves up again before the leaf
/// is removed.
fn leave(root: &Root, group: &Path) -> Result<(), Error> {
    let own = std::process::id().to_string();
    let inside = root.read(group.join(PROCS)).unwrap_or_default();
    match group.parent() {
        Some(above) if inside.lines().any(|pid| pid == own) => root.write(above.join(PROCS), &own),
        _ => Ok(()),
    }
}

/// A thread of this process that hangs in a group of its own, such as the sampler's, moves up, too; only v1 has such groups.
fn move_own_threads(root: &Root, group: &Path, above: &Path) {
    let own = format!("/proc/{}/task", std::process::id());
    for tid in root.read(group.join(TASKS)).unwrap_or_default().lines() {
        if root.exists(format!("{own}/{tid}")) {
            // A failure shows as a group that is busy.
            let _ = root.write(above.join(TASKS), tid);
        }
    }
    for child in children(root, group).unwrap_or_default() {
        move_own_threads(root, &group.join(child), above);
    }
}

fn remove_tree(root: &Root, group: &Path) -> Result<(), Error> {
    for child in children(root, group)? {
        remove_tree(root, &group.join(child))?;
    }
    crash_point()?;
    if !root.is_real() {
        remove_fake_files(root, group)?;
    }
    // An exiting process is no longer listed, but keeps its group busy until it has ended.
    match while_busy_for(END_OF_KILLED, || root.remove_dir(group)) {
        Err(error) if is_gone(&error) => Ok(()),
        other => other,
    }
}

/// In a fake host tree the interface files are real files, which the kernel's rmdir would remove.
pub(super) fn remove_fake_files(root: &Root, directory: &Path) -> Result<(), Error> {
    let real_directory = root.resolve(directory);
    for name in root.list(directory).unwrap_or_default() {
        let file = real_directory.join(&name);
        if file.is_file() {
            assay_sys::files::Dir::open(&real_directory)?.remove_file(&name)?;
        }
    }
    Ok(())
}

fn children(root: &Root, group: &Path) -> Result<Vec<String>, Error> {
    match root.directories(group) {
        Err(error) if is_gone(&error) => Ok(Vec::new()),
        result => result,
    }
}

fn empty(root: &Root, group: &Path) -> Result<(), Error> {
    const FROZEN: Duration = Duration::from_secs(5);
    /// A killed process that is not scheduled for this long waits for something that does not come.
    const HANGING: Duration = Duration::from_secs(10);
    if let Some(above) = group.parent() {
        move_own_threads(root, group, above);
    }
    let begun = Instant::now();
    let (frozen, hanging) = (once_stuck(FROZEN), once_stuck(HANGING));
    let mut watch = HangWatch::default();
    let mut remaining = members(root, group);
    wait_for_end(END_OF_KILLED, || {
        if !remaining.is_empty() {
            kill(root, group);
            remaining = members(root, group);
        }
        remaining.is_empty()
            || watch.all_hang(root, &remaining, hanging)
            || begun.elapsed() > frozen && are_all_frozen(root, &remaining)
    });
    if remaining.is_empty() {
        return Ok(());
    }
    shorten_waits();
    const SHOWN: usize = 4;
    let mut why: Vec<String> =
        remaining.iter().take(SHOWN).map(|pid| describe_survivor(root, *pid)).collect();
    if remaining.len() > SHOWN {
        why.push(format!("and {} more", remaining.len() - SHOWN));
    }
    let hint = format!("these processes survived SIGKILL: {}", why.join("; "));
    Err(Error::unexpected("empty group", group, hint))
}

/// Whether all of these end only when someone thaws them, however long the wait.
fn are_all_frozen(root: &Root, remaining: &[u32]) -> bool {
    remaining.iter().all(|pid| is_frozen(root, *pid))
}

/// Processes in the group and below.
fn members(root: &Root, group: &Path) -> Vec<u32> {
    let mut pids = inside(root, group);
    for child in children(root, group).unwrap_or_default() {
        pids.extend(members(root, &group.join(child)));
    }
    pids.sort_unstable();
    pids.dedup();
    pids
}

/// Processes in the group itself. A directory or file that vanishes meanwhile has none.
fn inside(root: &Root, group: &Path) -> Vec<u32> {
    let own = std::process::id();
    // A threaded group does not say its processes (EOPNOTSUPP), but its threads, the first of each process among them.
    let text = root.read(group.join(PROCS)).or_else(|_| root.read(group.join(THREADS)));
    let text = text.unwrap_or_default();
    let ids = text.lines().filter_map(|line| line.trim().parse().ok());
    // Assay itself has left before; 0 is a process of an outer namespace.
    ids.filter(|pid| *pid != own && *pid != 0).collect()
}

fn kill(root: &Root, group: &Path) {
    thaw(root, group);
    if root.write(group.join("cgroup.kill"), "1").is_err() {
        kill_one_by_one(root, group);
    }
}

fn kill_one_by_one(root: &Root, group: &Path) {
    // The caller checks whether all are gone.
    process::send_to_all(|| inside(root, group), Signal::KILL);
    for child in children(root, group).unwrap_or_default() {
        kill_one_by_one(root, &group.join(child));
    }
}

/// A process frozen by cgroup v1 dies only after it is thawed.
fn thaw(root: &Root, group: &Path) {
    let state = group.join("freezer.state");
    if root.exists(&state) {
        // A failure shows as a process that survives.
        let _ = root.write(&state, "THAWED");
    }
    for child in children(root, group).unwrap_or_default() {
        thaw(root, &group.join(child));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_threaded_group_is_empty_when_its_threads_are_gone() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join("copy")).unwrap();
        std::fs::write(folder.path().join("copy/cgroup.threads"), "7\n8\n").unwrap();
        let root = Root::at(folder.path());
        assert_eq!(members(&root, Path::new("/copy")), [7, 8]);
        std::fs::write(folder.path().join("copy/cgroup.threads"), "").unwrap();
        assert!(members(&root, Path::new("/copy")).is_empty());
    }
}
