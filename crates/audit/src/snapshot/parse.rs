//! Reading a snapshot that comes from elsewhere: nothing in it is trusted.

use std::collections::{BTreeMap, HashSet};
use std::fmt;

use assay_facts::owner::{Claimant, WrittenClaimant};
use serde::{Deserialize, Deserializer};

use super::{Group, Hierarchy, MAX_DEPTH, MAX_FILE, MAX_GROUPS, MAX_PATHS, SCHEMA, Snapshot};

/// Hierarchies that a host can have: one for each v1 controller, named ones, and cgroup2.
const MAX_HIERARCHIES: usize = 64;

/// Block devices that are read at most.
const MAX_DISKS: usize = 10_000;

/// Why a document is not a snapshot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused(String);

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Refused {}

/// Who may name groups, as any version has written it.
pub(super) fn claimants<'de, D: Deserializer<'de>>(
    from: D,
) -> Result<BTreeMap<String, Claimant>, D::Error> {
    let all = BTreeMap::<String, WrittenClaimant>::deserialize(from)?;
    Ok(all.into_iter().map(|(path, written)| (path, written.into())).collect())
}

impl Snapshot {
    /// Reads a document, and checks everything that rules rely on.
    pub fn parse(text: &str) -> Result<Self, Refused> {
        let snapshot: Self =
            serde_json::from_str(text).map_err(|cause| Refused(cause.to_string()))?;
        if snapshot.schema != SCHEMA {
            let what =
                format!("its schema is {}, and this version reads {SCHEMA}", snapshot.schema);
            return Err(Refused(what));
        }
        if snapshot.hierarchies.len() > MAX_HIERARCHIES || snapshot.disks.len() > MAX_DISKS {
            return Err(Refused("it has more hierarchies or disks than any host".to_owned()));
        }
        snapshot.hierarchies.iter().try_for_each(check)?;
        Ok(snapshot)
    }
}

fn check(hierarchy: &Hierarchy) -> Result<(), Refused> {
    let refuse = |why: &str| Err(Refused(format!("hierarchy `{}`: {why}", hierarchy.name)));
    if hierarchy.groups.len() > MAX_GROUPS {
        return refuse("it has too many groups");
    }
    if hierarchy.groups.iter().map(|group| group.path.len()).sum::<usize>() > MAX_PATHS {
        return refuse("the paths of its groups are too long");
    }
    let mut known: HashSet<&str> = HashSet::new();
    for group in &hierarchy.groups {
        let path = group.path.as_str();
        if let Some(why) = wrong(group) {
            return refuse(&format!("group `{path}` {why}"));
        }
        if parent(path).is_some_and(|above| !known.contains(above)) {
            return refuse(&format!("group `{path}` comes before its parent"));
        }
        if !known.insert(path) {
            return refuse(&format!("group `{path}` stands twice"));
        }
    }
    Ok(())
}

fn wrong(group: &Group) -> Option<&'static str> {
    let path = &group.path;
    let is_path = path == "/"
        || path.starts_with('/')
            && path[1..].split('/').all(|word| !["", ".", ".."].contains(&word));
    if !is_path {
        return Some("is not a path below a mount");
    }
    if path.split('/').count() > MAX_DEPTH + 1 {
        return Some("is too deep");
    }
    let is_long = |text: &String| text.len() as u64 > MAX_FILE;
    let too_long = group.files.values().any(|text| text.value().is_some_and(is_long));
    too_long.then_some("has a file that is too long")
}

/// The path above; `None` for the top.
pub(crate) fn parent(path: &str) -> Option<&str> {
    match path.rfind('/') {
        _ if path == "/" => None,
        Some(0) => Some("/"),
        at => path.get(..at?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::Fake;

    fn with_groups(paths: &[&str]) -> String {
        let mut snapshot = Fake::v2().snapshot();
        let one = snapshot.hierarchies[0].groups[0].clone();
        snapshot.hierarchies[0].groups =
            paths.iter().map(|path| Group { path: (*path).to_owned(), ..one.clone() }).collect();
        serde_json::to_string(&snapshot).unwrap()
    }

    #[test]
    fn a_snapshot_survives_being_written_and_read() {
        let snapshot = Fake::v2().group("/a", &[("cpu.weight", "200")]).snapshot();
        let text = serde_json::to_string(&snapshot).unwrap();
        assert_eq!(Snapshot::parse(&text).unwrap(), snapshot);
    }

    #[test]
    fn a_user_who_was_written_as_a_number_is_read() {
        for (written, by) in [("7", Claimant::Uid(7)), (r#""everyone""#, Claimant::Everyone)] {
            let snapshot = Fake::v2()
                .change(|host| host.delegated = [("/a".to_owned(), Claimant::Gid(5))].into())
                .snapshot();
            let text = serde_json::to_string(&snapshot).unwrap();
            let former = text.replace(r#"{"/a":{"gid":5}}"#, &format!(r#"{{"/a":{written}}}"#));
            assert_ne!(former, text);
            assert_eq!(Snapshot::parse(&former).unwrap().delegated["/a"], by);
        }
    }

    #[test]
    fn what_no_host_has_is_refused() {
        assert!(Snapshot::parse(&with_groups(&["/", "/a", "/a/b"])).is_ok());
        for (paths, says) in [
            (&["/", "/a/b"][..], "before its parent"),
            (&["/", "/a", "/a"][..], "twice"),
            (&["/", "/../etc"][..], "not a path"),
            (&["/", "a"][..], "not a path"),
        ] {
            let refused = Snapshot::parse(&with_groups(paths)).unwrap_err().to_string();
            assert!(refused.contains(says), "{paths:?}: {refused}");
        }
        let long: Vec<String> =
            (0..9).map(|at| format!("/{at}{}", "x".repeat(MAX_PATHS / 8))).collect();
        let long: Vec<&str> = ["/"].into_iter().chain(long.iter().map(String::as_str)).collect();
        let refused = Snapshot::parse(&with_groups(&long)).unwrap_err().to_string();
        assert!(refused.contains("too long"));
        let deep = "/a".repeat(MAX_DEPTH + 1);
        assert!(Snapshot::parse(&with_groups(&["/", &deep])).is_err());
        let newer = with_groups(&["/"]).replacen("\"schema\":1", "\"schema\":9", 1);
        assert!(Snapshot::parse(&newer).unwrap_err().to_string().contains("schema is 9"));
        assert!(Snapshot::parse("{}").is_err());
    }

    #[test]
    fn a_path_knows_what_is_above_it() {
        assert_eq!((parent("/"), parent("/a"), parent("/a/b")), (None, Some("/"), Some("/a")));
    }
}
