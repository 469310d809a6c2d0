//! Which interface files this host has. Only reads the hierarchies.

use std::collections::BTreeSet;
use std::path::Path;

use crate::facts::{CORE, Hierarchy, HostFacts};
use crate::knob::{Kernel, KernelVersion, KnobFact, MountedHierarchy, Version, inventory};
use assay_sys::kernel::Root;

use super::system;

/// Every interface file in the knob table: present on this host, or the reason why it is absent.
/// Nothing is changed: a file that only groups below the root have is looked up in some existing group.
#[must_use]
pub fn knobs(root: &Root, facts: &HostFacts) -> Vec<KnobFact> {
    let shown: Vec<MountedHierarchy> =
        mounts(facts).iter().map(|(v, at, own)| list_files(root, *v, at, own)).collect();
    inventory(&facts.cgroup, &kernel(root, facts), &shown)
}

/// The kernel properties that, besides the hierarchies, decide which files exist.
#[must_use]
pub fn kernel(root: &Root, facts: &HostFacts) -> Kernel {
    let sizes = root.list("/sys/kernel/mm/hugepages").unwrap_or_default();
    Kernel {
        version: KernelVersion::parse(&facts.kernel),
        config: system::config(root),
        huge_page_sizes: sizes.iter().filter_map(|name| size_name(name)).collect(),
    }
}

/// Each mounted hierarchy once, with its controllers by v2 name.
fn mounts(facts: &HostFacts) -> Vec<(Version, &Path, BTreeSet<String>)> {
    let mut mounts: Vec<(Version, &Path, BTreeSet<String>)> = Vec::new();
    let v2 = facts.cgroup.v2_mount.as_deref();
    mounts.extend(v2.map(|mount| (Version::V2, mount, BTreeSet::from([CORE.to_owned()]))));
    for (name, controller) in &facts.cgroup.controllers {
        let (version, mount) = match &controller.hierarchy {
            Hierarchy::V1(mount) => (Version::V1, mount.as_path()),
            Hierarchy::V2(mount) => (Version::V2, mount.as_path()),
            Hierarchy::Absent(_) => continue,
        };
        match mounts.iter_mut().find(|(_, known, _)| *known == mount) {
            Some((_, _, controllers)) => {
                controllers.insert(name.clone());
            }
            None => mounts.push((version, mount, BTreeSet::from([name.clone(), CORE.to_owned()]))),
        }
    }
    mounts
}

fn list_files(
    root: &Root,
    version: Version,
    mount: &Path,
    controllers: &BTreeSet<String>,
) -> MountedHierarchy {
    let names =
        |at: &Path| -> BTreeSet<String> { root.list(at).unwrap_or_default().into_iter().collect() };
    let in_root = names(mount);
    let below = in_root.iter().map(|name| mount.join(name));
    let group = below.into_iter().find(|path| root.exists(path.join("cgroup.procs")));
    // Controllers enabled in the v2 root are active in the groups just below it.
    let at_work = |enabled: String| enabled.split_whitespace().map(str::to_owned).collect();
    let enabled = root.read(mount.join("cgroup.subtree_control")).unwrap_or_default();
    MountedHierarchy {
        version,
        controllers: controllers.clone(),
        in_group: group.map(|path| (names(&path), at_work(enabled))),
        in_root,
    }
}

/// The kernel's spelling of a size in file names (mm/hugetlb_cgroup.c: mem_fmt), from the spelling in
/// sysfs, `hugepages-2048kB`.
fn size_name(directory: &str) -> Option<String> {
    const MEGABYTE: u64 = 1 << 10;
    const GIGABYTE: u64 = 1 << 20;
    let kilobytes: u64 = directory.strip_prefix("hugepages-")?.strip_suffix("kB")?.parse().ok()?;
    Some(match kilobytes {
        size if size >= GIGABYTE => format!("{}GB", size / GIGABYTE),
        size if size >= MEGABYTE => format!("{}MB", size / MEGABYTE),
        size => format!("{size}KB"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn huge_page_sizes_are_spelt_as_in_file_names() {
        for (directory, name) in [
            ("hugepages-64kB", Some("64KB")),
            ("hugepages-2048kB", Some("2MB")),
            ("hugepages-1048576kB", Some("1GB")),
            ("hugepages", None),
        ] {
            assert_eq!(size_name(directory).as_deref(), name);
        }
    }
}
