//! A picture of everything on the host that a run may change, compared byte for byte.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

/// What is there, and what it says. Things without content have an empty one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture(BTreeMap<String, String>);

impl Picture {
    /// Block devices with every attribute of their queues, loop devices and their nodes, mounts,
    /// and the groups of every hierarchy.
    pub fn take() -> Self {
        let mut picture = Self(BTreeMap::new());
        picture.take_disks();
        picture.take_nodes();
        picture.take_mounts();
        picture.take_groups();
        picture
    }

    fn note(&mut self, path: &Path, content: String) {
        self.0.insert(path.display().to_string(), content);
    }

    fn take_disks(&mut self) {
        for disk in entries(Path::new("/sys/block")) {
            self.note(&disk, String::new());
            self.take_files_below(&disk.join("queue"));
            self.take_files_below(&disk.join("loop"));
            for inside in entries(&disk).into_iter().filter(|path| path.join("partition").exists())
            {
                self.note(&inside, String::new());
            }
        }
    }

    fn take_files_below(&mut self, directory: &Path) {
        for path in entries(directory) {
            if path.is_dir() {
                self.take_files_below(&path);
            } else if let Ok(text) = fs::read_to_string(&path) {
                self.note(&path, text);
            }
        }
    }

    fn take_nodes(&mut self) {
        for path in entries(Path::new("/dev")) {
            if path.to_string_lossy().starts_with("/dev/loop") {
                self.note(&path, String::new());
            }
        }
    }

    fn take_mounts(&mut self) {
        for (number, line) in mounts().lines().enumerate() {
            self.0.insert(format!("mount {number:03}: {line}"), String::new());
        }
    }

    fn take_groups(&mut self) {
        for line in mounts().lines() {
            let fields: Vec<&str> = line.split(' ').collect();
            if let [_, target, "cgroup" | "cgroup2", ..] = fields[..] {
                self.take_groups_below(Path::new(target));
            }
        }
    }

    /// Groups that others make while a test runs would be its failure, so tests want a host that
    /// is otherwise at rest.
    fn take_groups_below(&mut self, group: &Path) {
        self.note(group, String::new());
        for file in ["cgroup.subtree_control", "io.cost.qos", "io.cost.model"] {
            let path = group.join(file);
            if let Ok(text) = fs::read_to_string(&path) {
                self.note(&path, text);
            }
        }
        for inside in entries(group).into_iter().filter(|path| path.is_dir()) {
            self.take_groups_below(&inside);
        }
    }

    /// Fails with what has appeared, gone or changed since `before`, one line each.
    pub fn assert_same(before: &Self, when: &str) {
        let after = Self::take();
        let differences = differences(before, &after);
        assert!(differences.is_empty(), "{when}, the host is not as it was:\n{differences}");
    }
}

fn differences(before: &Picture, after: &Picture) -> String {
    let mut text = String::new();
    for (name, old) in &before.0 {
        match after.0.get(name) {
            None => writeln!(text, "  gone:    {name}").unwrap(),
            Some(new) if new != old => {
                writeln!(text, "  changed: {name}: {:?} -> {:?}", old.trim(), new.trim()).unwrap();
            }
            Some(_) => {}
        }
    }
    for name in after.0.keys().filter(|name| !before.0.contains_key(*name)) {
        writeln!(text, "  new:     {name}").unwrap();
    }
    text
}

fn mounts() -> String {
    fs::read_to_string("/proc/mounts").unwrap()
}

/// What a directory holds, in order; nothing when it is not there.
pub fn entries(directory: &Path) -> Vec<PathBuf> {
    let Ok(found) = fs::read_dir(directory) else { return Vec::new() };
    // A device may go between the listing and the look at its entry.
    let mut paths: Vec<PathBuf> = found.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    paths
}

#[test]
fn a_picture_names_what_is_new_gone_and_changed() {
    let picture = |entries: &[(&str, &str)]| {
        Picture(entries.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect())
    };
    let before = picture(&[("/a", "1\n"), ("/b", ""), ("/c", "same")]);
    let after = picture(&[("/a", "2\n"), ("/c", "same"), ("/d", "")]);
    assert_eq!(
        differences(&before, &after),
        "  changed: /a: \"1\" -> \"2\"\n  gone:    /b\n  new:     /d\n"
    );
}
