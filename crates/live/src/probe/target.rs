//! Whose limits are probed, and where its groups are.

use std::path::{Path, PathBuf};

use assay_host::Owners;
use assay_host::cgroup::inventory::hierarchies;
use assay_host::facts::owner::Owner;
use assay_host::facts::{CgroupLayout, Hierarchy};
use assay_sys::kernel::Root;
use assay_sys::kernel::parse::cgroups::{ProcessGroup, process_groups};

use crate::probe::asked::Bundle;
use crate::probe::limit::Limit;

/// A group with its processes.
#[derive(Debug, Clone)]
pub struct Target {
    /// As it was named.
    pub name: String,
    /// Below the mounts.
    pub group: String,
    /// In it and below it.
    pub processes: usize,
    /// Whether it may have processes that this one cannot see: v1 lists none of other PID namespaces.
    pub(crate) is_hidden: bool,
    /// The pod around a container.
    pub(crate) outer: Option<String>,
    /// What its runtime was asked for, if it is a container.
    pub(crate) bundle: Option<Bundle>,
    /// The groups of one of them in all hierarchies; of a container without processes those of its pod.
    of_process: Vec<ProcessGroup>,
}

/// The first PID namespace (PROC_PID_INIT_INO of include/linux/proc_ns.h).
const FIRST: &str = "pid:[4026531836]";

/// Containers of a pod that are probed with it.
const MOST_CONTAINERS: usize = 32;

/// The group that has a limit of the target.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Place {
    pub(crate) mount: PathBuf,
    pub(crate) is_v2: bool,
    pub(crate) group: PathBuf,
    /// The group of one of its processes, which more may enter: on v2 a group that enables controllers for others holds none.
    pub(crate) entry: PathBuf,
    /// Where the target's processes are instead.
    pub(crate) elsewhere: Option<String>,
}

impl Target {
    /// The group at `path` below the mounts.
    ///
    /// # Errors
    /// There is no such group, or it is the root, which has no limits.
    pub fn of_group(
        root: &Root,
        layout: &CgroupLayout,
        name: &str,
        path: &str,
    ) -> Result<Self, String> {
        let group = format!("/{}", path.trim_matches('/'));
        if group == "/" {
            return Err("the root group has no limits".to_owned());
        }
        let own = std::process::id().to_string();
        if root.link("/proc/self").is_ok_and(|shown| shown != own) {
            let why = "/proc is that of another PID namespace, where processes have other numbers";
            return Err(why.to_owned());
        }
        // On v1 not every hierarchy has the group, and somebody may have moved its processes out of one.
        let of_cpu = mount_of(layout, "cpu").map(|(mount, _)| mount).ok();
        let others = hierarchies(root).into_iter().map(|hierarchy| hierarchy.mount);
        let directory = |mount: &PathBuf| mount.join(group.trim_start_matches('/'));
        let mut mounts: Vec<PathBuf> = of_cpu.into_iter().chain(others).collect();
        mounts.retain(|mount| root.is_directory(directory(mount)));
        let mount = mounts.first().ok_or_else(|| format!("no group `{group}`"))?;
        let mut processes = mounts.iter().map(|mount| processes_below(root, directory(mount)));
        let processes = processes.find(|processes| !processes.is_empty()).unwrap_or_default();
        let of_process =
            processes.iter().find_map(|pid| root.read(format!("/proc/{pid}/cgroup")).ok());
        let owners = Owners::new(root);
        // What a user says of his own containers is not what the host's runtime was asked for.
        let bundle = match owners.owner(mount, &group) {
            Some(Owner::Container(container)) => owners.bundle(&container.id),
            _ => None,
        };
        Ok(Self {
            name: name.to_owned(),
            group,
            processes: processes.len(),
            is_hidden: processes.is_empty()
                && root.link("/proc/self/ns/pid").is_ok_and(|own| own != FIRST),
            outer: None,
            bundle: bundle.map(|(file, config)| Bundle { file, config }),
            of_process: of_process.map(|text| process_groups(&text)).unwrap_or_default(),
        })
    }

    /// The containers of a pod: some runtimes put all processes of a pod into one group, and the limits into others.
    #[must_use]
    pub fn containers(&self, root: &Root, layout: &CgroupLayout) -> Vec<Self> {
        let Ok((mount, _)) = mount_of(layout, "cpu") else { return Vec::new() };
        let owners = Owners::new(root);
        if !matches!(owners.owner(&mount, &self.group), Some(Owner::Pod(_))) {
            return Vec::new();
        }
        let names = root.directories(mount.join(self.group.trim_start_matches('/')));
        let mut names = names.unwrap_or_default();
        names.sort();
        let paths = names.into_iter().map(|name| format!("{}/{name}", self.group));
        let is_container =
            |path: &String| matches!(owners.owner(&mount, path), Some(Owner::Container(_)));
        let targets = paths.filter(is_container).take(MOST_CONTAINERS).filter_map(|path| {
            let mut target = Self::of_group(root, layout, &path, &path).ok()?;
            target.outer = Some(self.name.clone());
            if target.processes == 0 {
                target.of_process.clone_from(&self.of_process);
            }
            Some(target)
        });
        targets.collect()
    }

    /// Where the limit is, or why nowhere.
    pub(crate) fn place(
        &self,
        root: &Root,
        layout: &CgroupLayout,
        limit: Limit,
    ) -> Result<Place, String> {
        // On v2 devices have no controller, and every group may have programs that decide about them.
        let of_program = layout.v2_mount.clone().filter(|_| limit == Limit::Devices);
        let (mount, is_v2) = mount_of(layout, limit.controller())
            .or_else(|why| of_program.map(|mount| (mount, true)).ok_or(why))?;
        let own = self.of_process.iter().find(|group| match is_v2 {
            true => group.controllers.is_empty(),
            false => group.controllers.iter().any(|name| name == v1_name(limit.controller())),
        });
        let named = mount.join(self.group.trim_start_matches('/'));
        if root.is_directory(&named) {
            let is_inside = |own: &&ProcessGroup| Path::new(&own.group).starts_with(&self.group);
            let entry =
                own.filter(is_inside).map_or_else(|| named.clone(), |own| below(&mount, own));
            let elsewhere = own.filter(|own| !is_inside(own)).map(|own| own.group.clone());
            return Ok(Place { mount, is_v2, group: named, entry, elsewhere });
        }
        match own {
            Some(own) if own.group != "/" => {
                let group = below(&mount, own);
                Ok(Place { mount, is_v2, entry: group.clone(), group, elsewhere: None })
            }
            _ => Err(format!("it has no group of the controller {}", limit.controller())),
        }
    }
}

impl Place {
    /// A group as its path below the mount.
    pub(crate) fn shown(&self, group: &Path) -> String {
        format!("/{}", group.strip_prefix(&self.mount).unwrap_or(group).display())
    }
}

fn below(mount: &Path, own: &ProcessGroup) -> PathBuf {
    mount.join(own.group.trim_start_matches('/'))
}

fn v1_name(controller: &str) -> &str {
    if controller == "io" { "blkio" } else { controller }
}

pub(crate) fn mount_of(layout: &CgroupLayout, controller: &str) -> Result<(PathBuf, bool), String> {
    match layout.controllers.get(controller).map(|controller| &controller.hierarchy) {
        Some(Hierarchy::V1(mount)) => Ok((mount.clone(), false)),
        Some(Hierarchy::V2(mount)) => Ok((mount.clone(), true)),
        Some(Hierarchy::Absent(why)) => Err(why.clone()),
        None => Err("this kernel does not have it".to_owned()),
    }
}

/// Groups that vanish meanwhile count as empty.
fn processes_below(root: &Root, group: PathBuf) -> Vec<u32> {
    let (mut open, mut ids) = (vec![group], Vec::new());
    while let Some(group) = open.pop() {
        // A threaded group does not say its processes (EOPNOTSUPP), but its threads.
        let [processes, threads] = ["cgroup.procs", "cgroup.threads"].map(|file| group.join(file));
        let text = root.read(processes).or_else(|_| root.read(threads)).unwrap_or_default();
        ids.extend(text.lines().filter_map(|line| line.parse::<u32>().ok()));
        open.extend(
            root.directories(&group).unwrap_or_default().into_iter().map(|name| group.join(name)),
        );
    }
    ids
}
