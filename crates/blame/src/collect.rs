//! `assay blame`: watches what waits for a CPU until the time is up.

mod command;
mod dirty;
mod disks;
mod effect;
mod experiment;
mod frozen;
mod lever;
mod members;
mod memory;
mod naming;
mod node;
mod proof;
mod prove;

#[cfg(test)]
mod fake;

use std::path::Path;
use std::time::Duration;

use assay_host::facts::{Available, HostFacts};
use assay_host::{Owners, gather};
use assay_sys::exit::Error;
use assay_sys::kernel::parse::cgroups::{ProcessGroup, process_groups};
use assay_sys::kernel::{Error as KernelError, Root, signal};

use crate::watch::group_tree::GroupTree;
use crate::watch::waits::{CpuHierarchy, WaitWatch, WatchError};
use crate::{Answer, DiskAnswer, MemoryAnswer};
use disks::DiskWatch;
use lever::Place;
use naming::{NamedBy, find, owner_of};

pub use command::{BlamedCommand, CommandOptions, watch_command};
pub use effect::{Effect, Turn};
pub use lever::{GroupFile, HoldBy};
pub use node::{NodeGroup, NodeLook, NodeWatch};
pub use proof::{Proof, proof_text};
pub use prove::{ProveOptions, Proven, prove};

/// Between two looks whether the time is up or the user has enough.
const LOOK: Duration = Duration::from_millis(20);

/// Whose waiting is attributed. Groups are watched with all groups below them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BlameTarget {
    /// A group: its path below the mount of the controller `cpu`.
    Group(String),
    /// All threads of a process.
    Process(u32),
    /// The group of a systemd unit.
    Unit(String),
    /// The group of a container or machine, by its name or the beginning of its id.
    Container(String),
    /// The group of a Kubernetes pod, by its uid or name.
    Pod(String),
}

/// Where waiting for CPUs, disks and memory went.
#[derive(Debug)]
pub struct Blamed {
    /// For CPUs.
    pub answer: Answer,
    /// For each disk that was followed.
    pub disks: Available<Vec<DiskAnswer>>,
    /// Other disks that were busy meanwhile.
    pub not_followed: Vec<String>,
    /// For memory.
    pub memory: Available<MemoryAnswer>,
}

/// What a target is on this host.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Watched {
    /// A group, by its path below the mount.
    Group(String),
    /// All threads of a process.
    Process(u32),
}

/// Watches a target for `length`, or until a signal, and says where its waiting went. Changes nothing.
///
/// # Errors
/// There is no such group or process, or the kernel or its policy refuses the programs.
pub fn blame(root: &Root, target: &BlameTarget, length: Duration) -> Result<Answer, Error> {
    let (facts, hierarchy) = host(root)?;
    let target = resolve(root, &hierarchy, target)?;
    let place = Place { root, facts: &facts, hierarchy: &hierarchy };
    watch_for(place, &target, length, &mut || ())
}

/// Like [`blame`], with where the group's requests to disks waited meanwhile and what stalled its threads for memory, or why
/// that is not known.
///
/// # Errors
/// Those of [`blame`].
pub fn blame_all(root: &Root, target: &BlameTarget, length: Duration) -> Result<Blamed, Error> {
    let (facts, hierarchy) = host(root)?;
    let target = resolve(root, &hierarchy, target)?;
    let mut disks = disks::start(root, &facts, &target);
    let place = Place { root, facts: &facts, hierarchy: &hierarchy };
    let memory = memory::start(root, &facts, &target);
    let mut meanwhile = || disks.iter_mut().for_each(DiskWatch::look);
    let answer = watch_for(place, &target, length, &mut meanwhile)?;
    let memory = memory::finish(memory);
    let (disks, not_followed) = disks::finish(disks);
    Ok(Blamed { answer, disks, not_followed, memory })
}

/// Finds what a target names.
fn resolve(root: &Root, hierarchy: &CpuHierarchy, target: &BlameTarget) -> Result<Watched, Error> {
    match target {
        BlameTarget::Group(path) => Ok(Watched::Group(hierarchy.path(path))),
        BlameTarget::Process(id) => Ok(Watched::Process(*id)),
        named => find_named(root, std::slice::from_ref(&hierarchy.tree), named).map(Watched::Group),
    }
}

fn find_named(root: &Root, trees: &[GroupTree], target: &BlameTarget) -> Result<String, Error> {
    let (by, name) = match target {
        BlameTarget::Unit(name) => (NamedBy::Unit, name),
        BlameTarget::Container(name) => (NamedBy::Container, name),
        BlameTarget::Pod(name) => (NamedBy::Pod, name),
        BlameTarget::Group(path) => return Ok(path.clone()),
        BlameTarget::Process(id) => return deepest_group(root, *id),
    };
    find(root, trees, by, name)
}

/// The path of the group that a target is in any hierarchy, or that a process is in.
///
/// # Errors
/// There is no such group or process, or several groups have the name.
pub fn group_of(root: &Root, target: &BlameTarget) -> Result<String, Error> {
    find_named(root, &naming::all(root), target)
}

fn watch_for(
    place: Place<'_>,
    target: &Watched,
    length: Duration,
    meanwhile: &mut dyn FnMut(),
) -> Result<Answer, Error> {
    let Place { root, facts, hierarchy } = place;
    let frozen = || frozen::frozen(root, &facts.cgroup, hierarchy, target);
    let before = frozen();
    let mut watch = attach(root, hierarchy, target)?;
    watch.start().map_err(Error::host)?;
    while watch.elapsed() < length && signal::interrupted_by().is_none() && is_there(root, target) {
        std::thread::sleep(LOOK.min(length.saturating_sub(watch.elapsed())));
        meanwhile();
    }
    let mut answer = one_answer(root, hierarchy, watch).map_err(Error::host)?;
    answer.frozen = before.or_else(frozen);
    Ok(answer)
}

/// Attaches the programs for a target.
fn attach(root: &Root, hierarchy: &CpuHierarchy, target: &Watched) -> Result<WaitWatch, Error> {
    let watch = match target {
        Watched::Process(id) => WaitWatch::on_process(root, hierarchy, *id),
        Watched::Group(path) => WaitWatch::on_groups(root, hierarchy, std::slice::from_ref(path)),
    };
    watch.map_err(|refused| explain(&refused))
}

/// The answer about the only target, with the owners of the groups in it.
fn one_answer(
    root: &Root,
    hierarchy: &CpuHierarchy,
    watch: WaitWatch,
) -> Result<Answer, KernelError> {
    let nothing = || KernelError::unexpected("read", Path::new("the answer"), "nothing is watched");
    let mut answer = watch.finish()?.pop().ok_or_else(nothing)?;
    let owners = Owners::new(root);
    answer.set_owners(|path| owner_of(&owners, hierarchy, path));
    Ok(answer)
}

/// The group of `cpu` of a process.
fn group_of_process(root: &Root, hierarchy: &CpuHierarchy, id: u32) -> Result<String, Error> {
    let group = groups_of_process(root, id)?;
    let group = group.into_iter().find(|one| hierarchy.has(&one.controllers));
    group.map(|one| one.group).ok_or_else(no_group)
}

/// That group of a process, or the deepest one below it. On v1 a unit may have none of `cpu`, and its processes are in one above it
/// there.
fn deepest_group(root: &Root, id: u32) -> Result<String, Error> {
    let groups = groups_of_process(root, id)?;
    let of_cpu = groups.iter().find(|one| one.controllers.iter().any(|name| name == "cpu"));
    let of_v2 = || groups.iter().find(|one| one.controllers.is_empty());
    let own = of_cpu.or_else(of_v2).ok_or_else(no_group)?;
    let below = groups.iter().filter(|one| Path::new(&one.group).starts_with(&own.group));
    let deepest = below.max_by_key(|one| {
        (Path::new(&one.group).components().count(), one.controllers == ["name=systemd"])
    });
    Ok(deepest.unwrap_or(own).group.clone())
}

fn groups_of_process(root: &Root, id: u32) -> Result<Vec<ProcessGroup>, Error> {
    let text = root.read(format!("/proc/{id}/cgroup")).map_err(|error| {
        Error::usage(error.with_hint("no process has this id; `assay top` and ps(1) list them"))
    })?;
    Ok(process_groups(&text))
}

fn no_group() -> Error {
    Error::host("the process has no group of `cpu`")
}

fn explain(refused: &WatchError) -> Error {
    match refused {
        WatchError::Target(reason) => Error::usage(reason),
        WatchError::Host(reason) => Error::host(reason),
    }
}

/// A process ends; a group that is removed has no threads, which is no reason to end.
fn is_there(root: &Root, target: &Watched) -> bool {
    match target {
        Watched::Process(id) => root.exists(format!("/proc/{id}/schedstat")),
        Watched::Group(_) => true,
    }
}

/// This host, and where it has the controller `cpu`.
fn host(root: &Root) -> Result<(HostFacts, CpuHierarchy), Error> {
    let facts = gather(root).map_err(Error::host)?;
    let hierarchy = CpuHierarchy::new(&facts).map_err(|refused| explain(&refused))?;
    Ok((facts, hierarchy))
}
