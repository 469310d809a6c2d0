//! Groups by the names of their owners: units, containers, pods.

use std::collections::HashSet;

use assay_host::Owners;
use assay_host::cgroup::inventory::hierarchies;
use assay_host::facts::owner::Owner;
use assay_sys::exit::Error;
use assay_sys::kernel::Root;

use crate::watch::group_tree::GroupTree;
use crate::watch::waits::CpuHierarchy;

/// What a group is named by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NamedBy {
    /// The name of a systemd unit; a service where it has no suffix.
    Unit,
    /// The name of a container or machine, or the beginning of its id.
    Container,
    /// The uid of a Kubernetes pod, or its name with or without its namespace.
    Pod,
    /// Any of these.
    Anything,
}

/// Of an id at least this much must be given.
const SHORTEST_ID: usize = 6;

/// Candidates that an error shows.
const SHOWN: usize = 8;

/// The owner of a group with this path, with the names that are found on this host.
pub(super) fn owner_of(owners: &Owners, hierarchy: &CpuHierarchy, path: &str) -> Option<Owner> {
    owners.owner(&hierarchy.directory("/"), path).map(|owner| owners.named(owner))
}

/// All hierarchies. On v1 a unit has groups of those controllers that it has settings of, and one in systemd's own hierarchy.
pub(super) fn all(root: &Root) -> Vec<GroupTree> {
    let mut all = hierarchies(root);
    all.sort_by_key(|hierarchy| hierarchy.name != "name=systemd");
    all.into_iter().map(|one| GroupTree { mount: one.mount, is_v2: one.is_v2 }).collect()
}

/// The only group with this name in the first hierarchy that has any, with all groups below it. What a user calls his groups
/// counts only if nothing of the host's has that name.
pub(super) fn find(
    root: &Root,
    trees: &[GroupTree],
    by: NamedBy,
    name: &str,
) -> Result<String, Error> {
    let owners = Owners::new(root);
    let named = trees.iter().map(|tree| named(root, &owners, tree, by, name));
    let (of_host, claimed): (Vec<_>, Vec<_>) = named.unzip();
    let found = of_host.into_iter().chain(claimed).find(|paths| !paths.is_empty());
    match found.unwrap_or_default().as_slice() {
        [one] => Ok(one.clone()),
        [] => {
            let of = if trees.len() == 1 { " of the controller `cpu`" } else { "" };
            let hint = if trees.len() == 1 { " --controller cpu" } else { "" };
            Err(Error::usage(format!("no group{of} belongs to `{name}`\n  hint: assay top{hint}")))
        }
        several => {
            let shown: Vec<&str> = several.iter().take(SHOWN).map(String::as_str).collect();
            let more = several.len().saturating_sub(SHOWN);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            Err(Error::usage(format!(
                "`{name}` names several groups: {}{more}\n  hint: name one by its path",
                shown.join(", ")
            )))
        }
    }
}

/// The groups of the host with this name, and those of which a user says it.
fn named(
    root: &Root,
    owners: &Owners,
    tree: &GroupTree,
    by: NamedBy,
    name: &str,
) -> (Vec<String>, Vec<String>) {
    let (mut of_host, mut claimed) = (Vec::new(), Vec::new());
    // Those that are found and all below them: what is above a group precedes it.
    let mut found: HashSet<String> = HashSet::new();
    for path in tree.groups(root) {
        if path.rsplit_once('/').is_some_and(|(above, _)| found.contains(above)) {
            found.insert(path);
            continue;
        }
        let Some(owner) = owners.owner(&tree.mount, &path) else { continue };
        if !is_named(owners, &path, &owner, by, name) {
            continue;
        }
        found.insert(path.clone());
        if owner.said().1 { claimed.push(path) } else { of_host.push(path) }
    }
    (of_host, claimed)
}

fn is_named(owners: &Owners, path: &str, owner: &Owner, by: NamedBy, name: &str) -> bool {
    let (units, containers, pods) = match by {
        NamedBy::Unit => (true, false, false),
        NamedBy::Container => (false, true, false),
        NamedBy::Pod => (false, false, true),
        NamedBy::Anything => (true, true, true),
    };
    let is_id = |id: &str| name.len() >= SHORTEST_ID && id.starts_with(name);
    match owner.said().0 {
        // Only the unit's own group: one below it has the same owner.
        Owner::Unit { name: unit } => {
            let is_unit =
                *unit == name || by == NamedBy::Unit && *unit == format!("{name}.service");
            units && is_unit && !path.ends_with('/')
        }
        Owner::Container(container) if containers && is_id(&container.id) => true,
        Owner::Lxc { name: own } | Owner::Machine { name: own } => containers && own == name,
        Owner::Pod(pod) if pods && pod.uid == name => true,
        Owner::Container(_) | Owner::Pod(_) => match owners.named(owner.clone()).said().0 {
            Owner::Container(container) => containers && container.name.as_deref() == Some(name),
            Owner::Pod(pod) => {
                pods && pod.name.as_deref().is_some_and(|own| is_pod_name(own, name))
            }
            _ => false,
        },
        Owner::SlurmJob { .. } | Owner::Claimed { .. } => false,
    }
}

/// `NAMESPACE/NAME` or `NAME`.
fn is_pod_name(own: &str, name: &str) -> bool {
    own == name || own.split_once('/').is_some_and(|(_, own)| own == name)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use assay_test_support::hosts;

    use super::*;
    use crate::collect::fake::{ID, host};
    use crate::collect::{BlameTarget, group_of};

    const GROUPS: [&str; 7] = [
        "system.slice/nginx.service/workers",
        "system.slice/docker-ID.scope",
        "user.slice/user-1.slice/user@1.service/app.slice/a.service",
        "user.slice/user-2.slice/user@2.service/app.slice/a.service",
        "kubepods/burstable/pod12-ab/ID2",
        "lxc/101/ns",
        "batch",
    ];

    fn found(by: NamedBy, name: &str) -> Result<String, String> {
        let (top, hierarchy) = host(&GROUPS);
        let config = top.path().join(format!("var/lib/docker/containers/{ID}"));
        fs::create_dir_all(&config).unwrap();
        fs::write(config.join("config.v2.json"), r#"{"Name":"/web"}"#).unwrap();
        fs::create_dir_all(top.path().join("var/log/pods/shop_front-0_12-ab")).unwrap();
        let found = find(&Root::at(top.path()), &[hierarchy.tree], by, name);
        found.map(|path| path.replace(ID, "ID")).map_err(|error| error.to_string())
    }

    #[test]
    fn groups_are_found_by_unit_container_and_pod() {
        for (by, name, expected) in [
            (NamedBy::Unit, "nginx.service", "/system.slice/nginx.service"),
            (NamedBy::Unit, "nginx", "/system.slice/nginx.service"),
            (NamedBy::Container, "web", "/system.slice/docker-ID.scope"),
            (NamedBy::Container, &ID[..8], "/system.slice/docker-ID.scope"),
            (NamedBy::Container, "101", "/lxc/101"),
            (NamedBy::Pod, "12-ab", "/kubepods/burstable/pod12-ab"),
            (NamedBy::Pod, "front-0", "/kubepods/burstable/pod12-ab"),
            (NamedBy::Pod, "shop/front-0", "/kubepods/burstable/pod12-ab"),
            (NamedBy::Anything, "web", "/system.slice/docker-ID.scope"),
        ] {
            assert_eq!(found(by, name).as_deref(), Ok(expected), "{name}");
        }
    }

    #[test]
    fn what_a_user_calls_his_groups_hides_nothing_of_the_host() {
        let mine = "user.slice/user-1.slice/user@1.service";
        let groups = [
            "system.slice/nginx.service".to_owned(),
            format!("{mine}/nginx.service"),
            "system.slice/docker-ID.scope".to_owned(),
            format!("{mine}/docker-ID.scope"),
            format!("{mine}/own.service"),
        ];
        let groups: Vec<&str> = groups.iter().map(String::as_str).collect();
        let (top, hierarchy) = host(&groups);
        let trees = [hierarchy.tree];
        let found = |by, name: &str| find(&Root::at(top.path()), &trees, by, name).unwrap();
        assert_eq!(found(NamedBy::Unit, "nginx"), "/system.slice/nginx.service");
        let container = found(NamedBy::Container, &ID[..8]);
        assert_eq!(container, format!("/system.slice/docker-{ID}.scope"));
        assert_eq!(found(NamedBy::Unit, "own"), format!("/{mine}/own.service"));
    }

    #[test]
    fn a_name_of_several_groups_lists_them_and_an_unknown_one_has_a_hint() {
        let error = found(NamedBy::Unit, "a.service").unwrap_err();
        assert!(error.contains("user-1.slice") && error.contains("user-2.slice"), "{error}");
        let error = found(NamedBy::Unit, "batch").unwrap_err();
        assert!(error.contains("assay top"), "{error}");
        assert!(found(NamedBy::Container, "nginx.service").is_err());
        assert!(found(NamedBy::Container, &ID[..3]).is_err(), "too short for an id");
    }

    #[test]
    fn on_v1_a_unit_is_found_where_it_has_groups() {
        let top = tempfile::tempdir().unwrap();
        let user = "user.slice/user-1.slice/user@1.service";
        for group in [
            "systemd/system.slice/cache.service".to_owned(),
            "memory/system.slice/cache.service".to_owned(),
            format!("cpu/{user}/cache.service"),
            format!("cpu/{user}/own.service"),
            "memory/lxc/web".to_owned(),
        ] {
            fs::create_dir_all(top.path().join("cg").join(group)).unwrap();
        }
        let mounts = [("cpu", "cpu,cpuacct"), ("memory", "memory"), ("systemd", "name=systemd")];
        let mounts = mounts.map(|(at, options)| {
            format!("30 20 0:26 / /cg/{at} rw - cgroup cgroup rw,{options}\n")
        });
        fs::create_dir_all(top.path().join("proc/self")).unwrap();
        fs::write(top.path().join("proc/self/mountinfo"), mounts.concat()).unwrap();
        let root = Root::at(top.path());
        let (all, cpu) = (all(&root), CpuHierarchy::new(&hosts::host(false)).unwrap());
        let found = |by, name: &str| find(&root, &all, by, name).unwrap();
        assert_eq!(found(NamedBy::Unit, "cache"), "/system.slice/cache.service");
        assert_eq!(found(NamedBy::Unit, "own"), format!("/{user}/own.service"));
        assert_eq!(found(NamedBy::Container, "web"), "/lxc/web");
        for (groups, own) in [
            (
                "4:memory:/a.slice/b.service\n3:cpu,cpuacct:/a.slice\n1:name=systemd:/a.slice/b.service\n",
                "/a.slice/b.service",
            ),
            (
                "4:memory:/\n3:cpu,cpuacct:/\n1:name=systemd:/user.slice/session-1.scope\n",
                "/user.slice/session-1.scope",
            ),
            ("4:memory:/x/y\n3:cpu,cpuacct:/x\n1:name=systemd:/init.scope\n", "/x/y"),
            ("4:memory:/\n3:cpu,cpuacct:/x\n1:name=systemd:/user.slice/session-1.scope\n", "/x"),
            ("0::/x\n", "/x"),
        ] {
            fs::create_dir_all(top.path().join("proc/7")).unwrap();
            fs::write(top.path().join("proc/7/cgroup"), groups).unwrap();
            assert_eq!(group_of(&root, &BlameTarget::Process(7)).unwrap(), own);
        }
        // Events of CPUs are those of groups of `cpu`.
        let error = find(&root, &[cpu.tree], NamedBy::Container, "web").unwrap_err().to_string();
        assert!(error.contains("no group of the controller `cpu` belongs to `web`"), "{error}");
    }
}
