//! The groups of the process that took the snapshot: what one sees from inside a container, a job or a pod.

use assay_host::facts::Available;
use assay_host::facts::owner::Owner;
use serde::Serialize;

use crate::document::audit;
use crate::effective::Effective;
use crate::finding::{Finding, Reading};
use crate::host::Host;
use crate::owner;
use crate::snapshot::{Hierarchy, Snapshot};
use crate::tree::{Node, Tree};

/// The schema of the document.
const SCHEMA: u32 = 1;

/// Where proc_pid_cgroup(5) names the groups of a process.
const OWN: &str = "/proc/self/cgroup";

/// Its group in one hierarchy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Membership {
    /// The hierarchy's name.
    pub hierarchy: String,
    /// The group's path below the mount.
    pub group: Available<String>,
    /// Whose it is, if its path tells.
    pub owner: Option<Owner>,
    /// Whether the groups above the mount can be seen.
    pub sees_above: bool,
    /// What was set on it.
    pub settings: Vec<Reading>,
}

/// What a process sees of its own groups.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Own {
    /// Its schema, 1.
    pub schema: u32,
    /// When the snapshot was taken.
    pub taken_at: String,
    /// The host as its name is inside.
    pub host: Available<String>,
    /// Its kernel.
    pub kernel: Available<String>,
    /// Its group in each hierarchy.
    pub memberships: Vec<Membership>,
    /// The limits that hold for these groups, as far as can be seen.
    pub effective: Vec<Effective>,
    /// What rules found about them.
    pub findings: Vec<Finding>,
    /// What could not be looked at, and why.
    pub not_looked_at: Vec<String>,
}

/// What the process that took a snapshot sees of its own groups.
#[must_use]
pub fn own(snapshot: &Snapshot) -> Own {
    let host = Host::new(snapshot);
    let memberships: Vec<Membership> =
        host.trees.iter().map(|tree| membership(&host, tree)).collect();
    let is_own =
        |path: &str| memberships.iter().any(|one| one.group.value().is_some_and(|own| own == path));
    let audit = audit(snapshot);
    let hidden = memberships.iter().filter(|one| !one.sees_above).count();
    let mut not_looked_at = audit.not_looked_at;
    if hidden > 0 {
        let what =
            "limits, weights and neighbours of the groups above, which hold for this one too";
        not_looked_at.insert(0, format!("{what} ({hidden} hierarchies begin inside)"));
    }
    Own {
        schema: SCHEMA,
        taken_at: audit.taken_at,
        host: audit.host,
        kernel: audit.kernel,
        effective: audit.effective.into_iter().filter(|row| is_own(&row.group)).collect(),
        findings: audit.findings.into_iter().filter(|one| is_own(&one.group)).collect(),
        not_looked_at,
        memberships,
    }
}

fn membership(host: &Host, tree: &Tree) -> Membership {
    let node = group(host, tree);
    let settings = node
        .as_ref()
        .ok()
        .map(|node| node.settings().map(|name| node.reading(name)).collect::<Vec<Reading>>());
    let group = Available::from(node.map(|node| node.path().to_owned()));
    Membership {
        hierarchy: tree.hierarchy.name.clone(),
        owner: group.value().and_then(|path| owner::named(host.snapshot, path)),
        group,
        sees_above: tree.hierarchy.is_whole,
        settings: settings.unwrap_or_default(),
    }
}

fn group<'t>(host: &Host, tree: &'t Tree<'t>) -> Result<Node<'t>, String> {
    let text = host.file(OWN).ok_or_else(|| format!("{OWN} is not in the snapshot"))?;
    let path = text.lines().find_map(|line| path_in(tree.hierarchy, line));
    let path = path.ok_or_else(|| format!("{OWN} does not name it"))?;
    // Where a container has no namespace of control groups, the path begins above its mounts.
    let inner = path.match_indices('/').map(|(at, _)| path.get(at..).unwrap_or_default());
    let candidates = inner.take(if tree.hierarchy.is_whole { 1 } else { usize::MAX });
    let candidates: Vec<&str> = match tree.hierarchy.is_whole {
        true => candidates.collect(),
        false => candidates.chain(["/"]).collect(),
    };
    let find = |path: &str| tree.nodes().find(|node| node.path() == path);
    candidates.into_iter().find_map(find).ok_or_else(|| format!("{path} is not below the mount"))
}

/// The path in a line `ID:CONTROLLERS:PATH` of a hierarchy.
fn path_in<'l>(hierarchy: &Hierarchy, line: &'l str) -> Option<&'l str> {
    let mut fields = line.splitn(3, ':');
    let (_, controllers, path) = (fields.next()?, fields.next()?, fields.next()?);
    let is_it = match hierarchy.is_v2 {
        true => controllers.is_empty(),
        false => controllers == hierarchy.name,
    };
    is_it.then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::Fake;

    fn inside(path: &str) -> Own {
        let line = format!("0::{path}\n");
        let snapshot = Fake::v2()
            .host_file(OWN, &line)
            .top("cpu.max", "1600000 100000")
            .group("/sub", &[("memory.max", "4096")])
            .change(|snapshot| snapshot.hierarchies[0].is_whole = false)
            .snapshot();
        own(&snapshot)
    }

    #[test]
    fn in_a_container_the_top_of_the_mount_is_ones_own_group() {
        let own = inside("/");
        assert_eq!(own.memberships[0].group, Available::Value("/".to_owned()));
        assert_eq!(own.memberships[0].settings[0].file, "/sys/fs/cgroup/cpu.max");
        assert_eq!(own.findings[0].code, "A-ABOVE-HOST", "{own:?}");
        assert_eq!(own.effective.len(), 1);
        assert!(own.not_looked_at[0].contains("groups above"), "{own:?}");
    }

    #[test]
    fn a_path_that_begins_above_the_mounts_is_found_by_its_end() {
        let group = |path: &str| inside(path).memberships[0].group.clone();
        assert_eq!(group("/docker/0a1b/sub"), Available::Value("/sub".to_owned()));
        assert_eq!(group("/docker/0a1b"), Available::Value("/".to_owned()));
    }

    #[test]
    fn on_a_host_only_the_very_path_counts() {
        let host = |path: &str| {
            let line = format!("3:cpu:{path}\n0::/\n");
            let fake = Fake::v1("cpu").host_file(OWN, &line).group("/a", &[("cpu.shares", "512")]);
            own(&fake.snapshot())
        };
        let found = host("/a");
        assert_eq!(found.memberships[0].settings[0].value, "512");
        assert!(found.not_looked_at.iter().all(|line| !line.contains("begin inside")));
        assert!(host("/b/a").memberships[0].group.reason().is_some());
    }
}
