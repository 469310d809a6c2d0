//! Reading a snapshot that comes from elsewhere: nothing in it is trusted.

use std::collections::{BTreeMap, HashSet};
use std::fmt;

use assay_host::facts::Available;
use assay_host::facts::owner::{Claimant, WrittenClaimant};
use serde::{Deserialize, Deserializer};

use super::{
    Disk, Group, Hierarchy, MAX_DEPTH, MAX_FILE, MAX_GROUPS, MAX_MOUNTED, MAX_NAME, MAX_PATHS,
    SCHEMA, Snapshot, managers,
};

/// Hierarchies that a host can have: one for each v1 controller, named ones, and cgroup2.
const MAX_HIERARCHIES: usize = 64;

/// Block devices that are read at most.
const MAX_DISKS: usize = 10_000;

/// Partitions of a disk, and devices of which it is made, at most.
const MAX_PARTS: usize = 4096;

/// Bytes of a disk's name and of the line of its schedulers: 32 and some 40 on a host.
const MAX_OF_DISK: usize = 256;

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
        snapshot.disks.iter().try_for_each(check_disk)?;
        check_texts(&snapshot)?;
        match managers::excess(&snapshot) {
            Some(why) => Err(Refused(why.to_owned())),
            None => Ok(snapshot),
        }
    }
}

/// Texts outside of groups.
fn check_texts(snapshot: &Snapshot) -> Result<(), Refused> {
    let machine = &snapshot.machine;
    let files = machine.files.values().any(|text| is_longer(text, MAX_FILE as usize));
    let of_machine = [&machine.name, &machine.kernel, &machine.cpus];
    let mut of_machine = of_machine.into_iter().chain(&machine.weight_mode);
    let mut short =
        snapshot.names.keys().chain(snapshot.names.values()).chain([&snapshot.taken_at]);
    // Every group of a claimant has it in its owner.
    let is_long = |by: &Claimant| by.to_string().len() > MAX_NAME;
    if files
        || of_machine.any(|text| is_longer(text, MAX_NAME))
        || short.any(|text| text.len() > MAX_NAME)
        || snapshot.delegated.values().any(is_long)
    {
        return Err(Refused("it has texts that are longer than any host's".to_owned()));
    }
    Ok(())
}

fn is_longer(text: &Available<String>, most: usize) -> bool {
    text.value().map(String::as_str).or(text.reason()).is_some_and(|text| text.len() > most)
}

/// A stack of disks is followed down: none may be made of itself, or of another more than once.
fn check_disk(disk: &Disk) -> Result<(), Refused> {
    let mut made_of: HashSet<&str> = HashSet::from([disk.name.as_str()]);
    let why = if disk.slaves.len() > MAX_PARTS || disk.partitions.len() > MAX_PARTS {
        "has too many parts"
    } else if disk.slaves.iter().any(|slave| !made_of.insert(slave.as_str())) {
        "is made of itself, or of another disk twice"
    } else if disk.mounted.len() > MAX_MOUNTED {
        "is mounted at too many places"
    } else if is_longer(&disk.scheduler, MAX_NAME)
        || disk.scheduler.value().is_some_and(|line| line.len() > MAX_OF_DISK)
        || texts(disk).any(|text| text.len() > MAX_OF_DISK)
        || disk.mounted.iter().any(|path| path.len() as u64 > MAX_FILE)
    {
        "has a text that is too long"
    } else {
        return Ok(());
    };
    let name: String = disk.name.chars().take(64).collect();
    Err(Refused(format!("disk `{name}` {why}")))
}

fn texts(disk: &Disk) -> impl Iterator<Item = &String> {
    let lists = [&disk.slaves, &disk.holders, &disk.file_systems];
    let some = disk.image_on.iter().chain(&disk.stack).chain([&disk.name, &disk.device]);
    let partitions = disk.partitions.iter().flat_map(|(name, device)| [name, device]);
    lists.into_iter().flatten().chain(some).chain(partitions)
}

fn check(hierarchy: &Hierarchy) -> Result<(), Refused> {
    let mount = hierarchy.mount.as_os_str().len();
    let lists = [&hierarchy.options, &hierarchy.controllers];
    let mut texts = lists.into_iter().flatten().chain([&hierarchy.name]);
    if mount > MAX_NAME || texts.any(|text| text.len() > MAX_NAME) {
        return Err(Refused("a hierarchy has a text that is too long".to_owned()));
    }
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
    // Findings repeat it.
    if path.len() > MAX_NAME {
        return Some("has a path that is too long");
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

    fn refused(fake: Fake) -> Option<String> {
        let text = serde_json::to_string(&fake.snapshot()).unwrap();
        Snapshot::parse(&text).err().map(|why| why.to_string())
    }

    #[test]
    fn a_disk_that_is_made_of_itself_or_twice_of_another_is_refused() {
        let stat = [("io.weight", "default 200"), ("io.stat", "1:1 rbytes=1")];
        let host = |slaves: &[&str]| {
            let fake = Fake::v2().disk("b", "1:2", "[none]").disk("c", "1:3", "[none]");
            refused(fake.stacked("a", "1:1", slaves).group("/g", &stat))
        };
        assert!(host(&["a"; 8]).is_some_and(|why| why.contains("`a`")));
        assert!(host(&["a"]).is_some() && host(&["b", "b"]).is_some());
        assert_eq!(host(&["b", "c"]), None);
    }

    #[test]
    fn texts_that_no_host_has_are_refused() {
        let long = "x".repeat(MAX_FILE as usize + 1);
        let ops = "/sys/kernel/sched_ext/root/ops";
        assert!(refused(Fake::v2().host_file(ops, &long)).is_some());
        assert!(refused(Fake::v2().host_file(ops, "scx")).is_none());
        assert!(refused(Fake::v2().disk("sda", "8:0", &long[..5000])).is_some());
        assert!(refused(Fake::v2().disk(&long[..5000], "8:0", "[none]")).is_some());
        assert!(refused(Fake::v2().option(&long)).is_some());
        let named = |name: &str| {
            let name = Available::Value(name.to_owned());
            Fake::v2().change(|host| host.machine.name = name)
        };
        assert!(refused(named(&long)).is_some() && refused(named("node1")).is_none());
        let at = |place: &str| Fake::v2().group(place, &[]);
        assert!(refused(at(&format!("/{}", &long[..MAX_NAME]))).is_some());
        let mounted = |number: usize| {
            let disk = Fake::v2().disk("sda", "8:0", "[none]");
            refused(disk.change(|host| host.disks[0].mounted = vec!["/".to_owned(); number]))
        };
        assert!(mounted(MAX_MOUNTED).is_none() && mounted(MAX_MOUNTED + 1).is_some());
        let with_name =
            Fake::v2().change(|host| _ = host.names.insert("0a1b".to_owned(), long.clone()));
        assert!(refused(with_name).is_some());
    }
}
