//! What changed between two snapshots: the settings of groups and of the host, not what they use.

use std::collections::{BTreeMap, HashSet};

use assay_host::facts::Available;
use assay_host::facts::owner::Owner;
use serde::Serialize;

use crate::owner;
use crate::settings::{WATCHED, host_settings};
use crate::snapshot::{Hierarchy, Snapshot};

/// The schema of the document.
const SCHEMA: u32 = 1;

/// One setting that says something else than before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Change {
    /// The group; `null` for a setting of the host.
    pub group: Option<String>,
    /// Whose it is, if its path tells.
    pub owner: Option<Owner>,
    /// The file's path on the host.
    pub file: String,
    /// What it said; `null` if there was no such file.
    pub from: Option<String>,
    /// What it says; `null` if there is no such file any more.
    pub to: Option<String>,
}

/// What changed since a snapshot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Drift {
    /// Its schema, 1.
    pub schema: u32,
    /// The host.
    pub host: Available<String>,
    /// When the older snapshot was taken.
    pub since: String,
    /// When the newer one was.
    pub taken_at: String,
    /// Settings that differ, those of the host first.
    pub changes: Vec<Change>,
    /// Groups that came since.
    pub came: Vec<String>,
    /// Groups that are gone.
    pub went: Vec<String>,
    /// What could not be compared, and why.
    pub not_looked_at: Vec<String>,
}

/// Compares a snapshot with an older one.
#[must_use]
pub fn drift(since: &Snapshot, now: &Snapshot) -> Drift {
    let mut drift = Drift {
        schema: SCHEMA,
        host: now.machine.name.clone(),
        since: since.taken_at.clone(),
        taken_at: now.taken_at.clone(),
        changes: of_host(since, now),
        came: Vec::new(),
        went: Vec::new(),
        not_looked_at: Vec::new(),
    };
    if let (Some(one), Some(other)) = (since.machine.name.value(), now.machine.name.value())
        && one != other
    {
        drift.not_looked_at.push(format!("the older snapshot is of another host, `{one}`"));
    }
    for hierarchy in &now.hierarchies {
        match since.hierarchies.iter().find(|one| one.name == hierarchy.name) {
            Some(before) => drift.compare(now, before, hierarchy),
            None => drift.not_looked_at.push(format!("{}: not mounted then", hierarchy.name)),
        }
    }
    let is_gone = |one: &&Hierarchy| now.hierarchies.iter().all(|other| other.name != one.name);
    for hierarchy in since.hierarchies.iter().filter(is_gone) {
        drift.not_looked_at.push(format!("{}: not mounted any more", hierarchy.name));
    }
    for paths in [&mut drift.came, &mut drift.went] {
        paths.sort();
        paths.dedup();
    }
    drift
}

impl Drift {
    fn compare(&mut self, now: &Snapshot, before: &Hierarchy, after: &Hierarchy) {
        let index = |hierarchy: &'_ Hierarchy| -> BTreeMap<String, usize> {
            let groups = hierarchy.groups.iter().enumerate();
            groups.map(|(at, group)| (group.path.clone(), at)).collect()
        };
        let (old, new) = (index(before), index(after));
        self.went.extend(old.keys().filter(|path| !new.contains_key(*path)).cloned());
        let read: HashSet<&str> =
            before.groups.iter().flat_map(|group| group.files.keys().map(String::as_str)).collect();
        let mut unknown = 0;
        for (path, at) in new {
            let Some(group) = old.get(&path).and_then(|at| before.groups.get(*at)) else {
                self.came.push(path);
                continue;
            };
            let Some(other) = after.groups.get(at) else { continue };
            let base = format!("{}{}", after.mount.display(), path.trim_end_matches('/'));
            for name in WATCHED.iter() {
                let (from, to) = (group.files.get(*name), other.files.get(*name));
                if [from, to].into_iter().flatten().any(|text| text.reason().is_some()) {
                    unknown += 1;
                    continue;
                }
                // An older version did not read every file.
                let is_new = |text: &str| {
                    !read.contains(name)
                        && assay_host::knob::is_of_new_group(name, text) == Some(true)
                };
                let Some((from, to)) = changed(from, to) else { continue };
                if !to.as_deref().is_some_and(is_new) {
                    let owner = owner::named(now, &path);
                    let file = format!("{base}/{name}");
                    self.changes.push(Change { group: Some(path.clone()), owner, file, from, to });
                }
            }
        }
        if unknown > 0 {
            let why = "in one of the snapshots their user could not read them";
            self.not_looked_at.push(format!("{}: {unknown} files: {why}", after.name));
        }
        let left_out = [before, after].into_iter().find_map(|one| one.left_out.as_ref());
        self.not_looked_at.extend(left_out.map(|why| format!("{}: {why}", after.name)));
    }
}

/// Both texts, if they differ in more than blanks at their ends.
type Texts = (Option<String>, Option<String>);

fn changed(from: Option<&Available<String>>, to: Option<&Available<String>>) -> Option<Texts> {
    let text = |one: Option<&Available<String>>| {
        one.and_then(Available::value).map(|text| text.trim_end().to_owned())
    };
    let (from, to) = (text(from), text(to));
    (from != to).then_some((from, to))
}

fn of_host(since: &Snapshot, now: &Snapshot) -> Vec<Change> {
    let mut changes = Vec::new();
    let mut add = |file: String, texts: Option<Texts>| {
        changes.extend(texts.map(|(from, to)| Change { group: None, owner: None, file, from, to }));
    };
    let (before, after) = (&since.machine, &now.machine);
    let release = changed(Some(&before.kernel), Some(&after.kernel));
    add("/proc/sys/kernel/osrelease".to_owned(), release);
    add(
        "/sys/devices/system/cpu/online".to_owned(),
        changed(Some(&before.cpus), Some(&after.cpus)),
    );
    // A snapshot of an older version has none.
    if let (Some(from), Some(to)) = (&before.weight_mode, &after.weight_mode) {
        let is_known = [from, to].into_iter().all(|mode| mode.reason().is_none());
        let mode = changed(Some(from), Some(to)).filter(|_| is_known);
        add(assay_host::knob::WEIGHT_MODE_FILE.to_owned(), mode);
    }
    for file in host_settings() {
        let (from, to) = (before.files.get(file), after.files.get(file));
        let is_known = [from, to].into_iter().flatten().all(|text| text.reason().is_none());
        add(file.to_owned(), changed(from, to).filter(|_| is_known));
    }
    for disk in &now.disks {
        let Some(other) = since.disks.iter().find(|one| one.name == disk.name) else { continue };
        let file = |name: &str| format!("/sys/block/{}/queue/{name}", disk.name);
        add(file("scheduler"), changed(Some(&other.scheduler), Some(&disk.scheduler)));
        let requests = |number: Option<u64>| number.map(|number| number.to_string());
        let (from, to) = (requests(other.nr_requests), requests(disk.nr_requests));
        add(file("nr_requests"), (from != to).then_some((from, to)));
    }
    changes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::Fake;

    fn host(weight: &str, more: &[&str]) -> Snapshot {
        let files = [("cpu.weight", weight), ("memory.current", weight), ("cpu.max", "max 100000")];
        let fake = Fake::v2().disk("sda", "8:0", "[none] bfq").group("/a.service", &files);
        more.iter().fold(fake, |fake, path| fake.group(path, &[])).snapshot()
    }

    #[test]
    fn a_setting_is_named_with_both_texts_and_a_counter_is_not() {
        let drift = drift(&host("100\n", &["/old"]), &host("400\n", &["/new", "/new/b"]));
        assert_eq!(drift.changes.len(), 1, "{drift:?}");
        let change = &drift.changes[0];
        assert_eq!(change.file, "/sys/fs/cgroup/a.service/cpu.weight");
        assert_eq!((change.from.as_deref(), change.to.as_deref()), (Some("100"), Some("400")));
        assert!(change.owner.is_some());
        assert_eq!((drift.came.len(), drift.went.as_slice()), (2, &["/old".to_owned()][..]));
        assert!(drift.not_looked_at.is_empty());
    }

    #[test]
    fn another_law_of_weights_is_a_change_of_the_host() {
        let host = |mode: &str| Fake::v2().weight_mode(mode).snapshot();
        let found = drift(&host("concur"), &host("smp"));
        assert_eq!(found.changes[0].file, "/sys/kernel/debug/sched/cgroup_mode");
        assert_eq!(found.changes[0].to.as_deref(), Some("smp"));
        assert!(drift(&Fake::v2().snapshot(), &Fake::v2().snapshot()).changes.is_empty());
    }

    #[test]
    fn equal_snapshots_have_no_drift() {
        let same = drift(&host("100", &[]), &host("100\n", &[]));
        assert!(same.changes.is_empty() && same.came.is_empty() && same.went.is_empty());
    }

    #[test]
    fn settings_of_the_host_are_compared_and_what_is_unreadable_is_named() {
        let other = Fake::v2()
            .disk("sda", "8:0", "none [bfq]")
            .host_file("/proc/sys/vm/swappiness", "10")
            .host_file("/proc/pressure/cpu", "some avg10=1")
            .group("/a.service", &[("cpu.weight", "100")])
            .change(|snapshot| {
                let files = &mut snapshot.hierarchies[0].groups[1].files;
                files.insert("cpu.max".to_owned(), Available::NotAvailable("EACCES".to_owned()));
            })
            .snapshot();
        let found = drift(&host("100", &[]), &other);
        let files: Vec<&str> = found.changes.iter().map(|one| one.file.as_str()).collect();
        assert_eq!(files, ["/proc/sys/vm/swappiness", "/sys/block/sda/queue/scheduler"]);
        assert!(found.not_looked_at[0].contains("1 files"), "{found:?}");
    }
}
