//! Removing a control group that Assay made, whatever is still inside.

use std::path::Path;
use std::time::{Duration, Instant};

use assay_kernel::{Error, Root, blocked, process};
use rustix::process::Signal;

use super::crash_point::crash_point;
use super::freezer::{Frozen, frozen};
use super::queue::is_gone;
use super::undo::while_busy_for;
use crate::poll_until::{END_OF_KILLED, wait_for_end, wait_no_more};

const PROCS: &str = "cgroup.procs";

/// Kills the processes inside, then removes the group and every group below it: all of it is
/// below a directory that this run made.
pub(super) fn remove(root: &Root, group: &Path) -> Result<(), Error> {
    if !root.exists(group) {
        return Ok(());
    }
    leave(root, group)?;
    // The interface files of a tree that stands in for a host would go before their processes.
    if root.is_real() && sweep(root, group)? {
        return Ok(());
    }
    empty(root, group)?;
    remove_tree(root, group)
}

/// Removes what is empty without looking into it, and says whether all of it was: the kernel
/// refuses to remove a group with processes or groups inside (EBUSY), so that trying first costs
/// one call a group, where a look at processes and groups inside costs seven.
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

/// Whether a group is gone now. What else is wrong than that something is inside is found, and
/// said, by the thorough way.
fn is_removed(result: &Result<(), Error>) -> bool {
    match result {
        Ok(()) => true,
        Err(error) => is_gone(error),
    }
}

/// An Assay that has stepped aside into a leaf of a delegated group goes up again, before the
/// leaf is removed.
fn leave(root: &Root, group: &Path) -> Result<(), Error> {
    let own = std::process::id().to_string();
    let inside = root.read(group.join(PROCS)).unwrap_or_default();
    match group.parent() {
        Some(above) if inside.lines().any(|pid| pid == own) => root.write(above.join(PROCS), &own),
        _ => Ok(()),
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
    // A process that is ending is in no list any more, and keeps its group until it has ended.
    match while_busy_for(END_OF_KILLED, || root.remove_dir(group)) {
        Err(error) if is_gone(&error) => Ok(()),
        other => other,
    }
}

/// In a tree that stands in for a host the interface files are real files, which the kernel's
/// rmdir would sweep away.
pub(super) fn remove_fake_files(root: &Root, directory: &Path) -> Result<(), Error> {
    let place = root.resolve(directory);
    for name in root.list(directory).unwrap_or_default() {
        let file = place.join(&name);
        if file.is_file() {
            assay_files::Dir::open(&place)?.remove_file(&name)?;
        }
    }
    Ok(())
}

fn children(root: &Root, group: &Path) -> Result<Vec<String>, Error> {
    match root.directories(group) {
        Err(error) if is_gone(&error) => Ok(Vec::new()),
        found => found,
    }
}

fn empty(root: &Root, group: &Path) -> Result<(), Error> {
    const FROZEN: Duration = Duration::from_secs(5);
    let begun = Instant::now();
    let mut left = members(root, group);
    wait_for_end(END_OF_KILLED, || {
        if !left.is_empty() {
            kill(root, group);
            left = members(root, group);
        }
        left.is_empty() || begun.elapsed() > FROZEN && wait_for_a_person(root, &left)
    });
    if left.is_empty() {
        return Ok(());
    }
    wait_no_more();
    const NAMED: usize = 4;
    let mut why: Vec<String> =
        left.iter().take(NAMED).map(|pid| why_it_lives(root, *pid)).collect();
    if left.len() > NAMED {
        why.push(format!("and {} more", left.len() - NAMED));
    }
    let hint = format!("these processes do not end after SIGKILL: {}", why.join("; "));
    Err(Error::unexpected("empty group", group, hint))
}

/// Whether all of these end only when somebody thaws them, however long the wait.
fn wait_for_a_person(root: &Root, left: &[u32]) -> bool {
    left.iter().all(|pid| is_frozen(root, *pid))
}

/// Whether the process sits in a freezer group that is seen to be frozen, so that no wait for its
/// end can help.
#[must_use]
pub fn is_frozen(root: &Root, pid: u32) -> bool {
    frozen(root, pid).is_some_and(|found| found.is_certain)
}

/// What keeps a process from dying, as far as it can be seen from outside.
#[must_use]
pub fn why_it_lives(root: &Root, pid: u32) -> String {
    let name = root.read_trimmed(format!("/proc/{pid}/comm")).unwrap_or_default();
    let waits = blocked::describe(root, pid);
    let who = format!("{pid} ({}): {waits}", name.escape_debug());
    match frozen(root, pid) {
        // A group that somebody else has frozen is not Assay's to thaw.
        Some(Frozen { group, .. }) => format!(
            "{who}, in the freezer group {group}: if that is frozen, write THAWED to its \
             freezer.state"
        ),
        None if process::state(root, pid) == Some('D') => {
            format!("{who}, in the kernel, for a device or a file system: see /proc/{pid}/stack")
        }
        None => who,
    }
}

/// Processes in the group and below.
fn members(root: &Root, group: &Path) -> Vec<u32> {
    let mut found = inside(root, group);
    for child in children(root, group).unwrap_or_default() {
        found.extend(members(root, &group.join(child)));
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// Processes in the group itself. A directory or file that vanishes meanwhile holds none.
fn inside(root: &Root, group: &Path) -> Vec<u32> {
    let own = std::process::id();
    let text = root.read(group.join(PROCS)).unwrap_or_default();
    let ids = text.lines().filter_map(|line| line.trim().parse().ok());
    // Assay itself has left before; 0 stands for a process of an outer namespace.
    ids.filter(|pid| *pid != own && *pid != 0).collect()
}

fn kill(root: &Root, group: &Path) {
    thaw(root, group);
    if root.write(group.join("cgroup.kill"), "1").is_err() {
        kill_one_by_one(root, group);
    }
}

fn kill_one_by_one(root: &Root, group: &Path) {
    for pid in inside(root, group) {
        // It may have ended by itself, and somebody else may have its id; whether all are gone is
        // looked at afterwards.
        let is_member = || inside(root, group).contains(&pid);
        let _ = process::send_if(pid, Signal::KILL, is_member);
    }
    for child in children(root, group).unwrap_or_default() {
        kill_one_by_one(root, &group.join(child));
    }
}

/// A process that cgroup v1 has frozen dies only after it is thawed.
fn thaw(root: &Root, group: &Path) {
    let state = group.join("freezer.state");
    if root.exists(&state) {
        // A failure shows as a process that does not end.
        let _ = root.write(&state, "THAWED");
    }
    for child in children(root, group).unwrap_or_default() {
        thaw(root, &group.join(child));
    }
}
