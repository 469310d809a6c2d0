//! Groups by the names of their owners: units, containers, pods.

use std::collections::HashSet;

use assay_host::Owners;
use assay_host::facts::owner::Owner;
use assay_sys::exit::Error;
use assay_sys::kernel::Root;

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

/// The only group with this name, with all groups below it. What a user calls his groups counts only if nothing of the host's
/// has that name.
pub(super) fn find(
    root: &Root,
    hierarchy: &CpuHierarchy,
    by: NamedBy,
    name: &str,
) -> Result<String, Error> {
    let (owners, mount) = (Owners::new(root), hierarchy.directory("/"));
    let (mut of_host, mut claimed) = (Vec::new(), Vec::new());
    // Those that are found and all below them: what is above a group precedes it.
    let mut found: HashSet<String> = HashSet::new();
    for path in hierarchy.groups(root) {
        if path.rsplit_once('/').is_some_and(|(above, _)| found.contains(above)) {
            found.insert(path);
            continue;
        }
        let Some(owner) = owners.owner(&mount, &path) else { continue };
        if !is_named(&owners, &path, &owner, by, name) {
            continue;
        }
        found.insert(path.clone());
        if owner.said().1 { claimed.push(path) } else { of_host.push(path) }
    }
    let found = if of_host.is_empty() { claimed } else { of_host };
    match found.as_slice() {
        [one] => Ok(one.clone()),
        [] => Err(Error::usage(format!(
            "no group of the controller `cpu` belongs to `{name}`\n  hint: assay top --controller cpu"
        ))),
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

    use super::*;
    use crate::collect::fake::{ID, host};

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
        let found = find(&Root::at(top.path()), &hierarchy, by, name);
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
        let found = |by, name: &str| find(&Root::at(top.path()), &hierarchy, by, name).unwrap();
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
}
