//! A snapshot of everything on the host that a run may change, for byte-by-byte comparison.

mod groups;
mod settings;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Names and contents. Items without content have an empty one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostSnapshot {
    items: BTreeMap<String, String>,
    /// Groups of other programs, which may come and go at any time (sessions, timers, containers) but must
    /// not change.
    foreign_groups: BTreeMap<String, String>,
    folders: Vec<PathBuf>,
}

impl HostSnapshot {
    /// The whole host as far as Assay writes to it: block devices with every attribute of their queues, loop
    /// devices and their nodes, null block devices, mounts, swap, modules, sysctls and the other settings of
    /// `settings.rs`, the groups of every hierarchy with their settings, and processes in groups of Assay.
    pub fn take() -> Self {
        Self::take_with(&[])
    }

    /// The same with everything in these folders (content of files, type of other entries) and with the
    /// processes whose working directory is in there.
    pub fn take_with(folders: &[&Path]) -> Self {
        let mut snapshot = Self {
            items: BTreeMap::new(),
            foreign_groups: BTreeMap::new(),
            folders: folders.iter().map(|folder| (*folder).to_owned()).collect(),
        };
        snapshot.take_disks();
        snapshot.take_nodes();
        snapshot.take_mounts();
        snapshot.take_settings();
        snapshot.take_groups();
        snapshot.take_processes();
        for folder in folders {
            snapshot.take_folder(folder);
        }
        snapshot
    }

    /// The attributes of one disk's queue, `loop8`.
    #[must_use]
    pub fn queue(&self, disk: &str) -> BTreeMap<String, String> {
        let prefix = format!("/sys/block/{disk}/queue/");
        let inside = self.items.iter().filter(|(name, _)| name.starts_with(&prefix));
        inside.map(|(name, value)| (name.clone(), value.clone())).collect()
    }

    /// What was added, removed or changed since `before`, one line each; empty if nothing was.
    #[must_use]
    pub fn differences_since(before: &Self) -> String {
        let folders: Vec<&Path> = before.folders.iter().map(PathBuf::as_path).collect();
        differences(before, &Self::take_with(&folders))
    }

    /// Fails with what was added, removed or changed since `before`, one line each.
    #[track_caller]
    pub fn assert_same(before: &Self, when: &str) {
        let differences = Self::differences_since(before);
        assert!(differences.is_empty(), "{when}, the host has changed:\n{differences}");
    }

    fn note(&mut self, path: &Path, content: String) {
        self.items.insert(path.display().to_string(), content);
    }

    fn note_file(&mut self, path: &Path) {
        if let Ok(bytes) = fs::read(path) {
            self.note(path, String::from_utf8_lossy(&bytes).into_owned());
        }
    }

    fn take_disks(&mut self) {
        for disk in entries(Path::new("/sys/block")) {
            if is_loop_of_other_process(&disk) {
                continue;
            }
            self.note(&disk, String::new());
            self.take_files_below(&disk.join("queue"));
            self.take_files_below(&disk.join("loop"));
            for inside in entries(&disk).into_iter().filter(|path| path.join("partition").exists())
            {
                self.note(&inside, String::new());
            }
        }
        self.take_files_below(Path::new("/sys/kernel/config/nullb"));
    }

    fn take_files_below(&mut self, directory: &Path) {
        for path in entries(directory) {
            if path.is_dir() {
                self.note(&path, String::new());
                self.take_files_below(&path);
            } else {
                self.note_file(&path);
            }
        }
    }

    fn take_nodes(&mut self) {
        for path in entries(Path::new("/dev")) {
            let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
            let counts = name.starts_with("loop") || name.starts_with("nullb");
            if counts && !is_loop_of_other_process(&Path::new("/sys/block").join(name)) {
                self.note(&path, String::new());
            }
        }
    }

    fn take_mounts(&mut self) {
        for (number, line) in mounts().lines().enumerate() {
            self.items.insert(format!("mount {number:03}: {line}"), String::new());
        }
    }

    /// Contents of a folder. A FIFO is not opened: that would block.
    fn take_folder(&mut self, folder: &Path) {
        for path in entries(folder) {
            let Ok(metadata) = path.symlink_metadata() else { continue };
            if metadata.is_dir() {
                self.note(&path, "directory".to_owned());
                self.take_folder(&path);
            } else if metadata.is_file() {
                self.note_file(&path);
            } else {
                self.note(&path, format!("mode {:o}", metadata.mode()));
            }
        }
    }

    /// Processes in a group of Assay, and those whose working directory is in one of the folders. A zombie
    /// has none: the link to its directory cannot be read.
    fn take_processes(&mut self) {
        for process in entries(Path::new("/proc")) {
            if !process.join("cgroup").exists() || process == Path::new("/proc/self") {
                continue;
            }
            if has_ended(&process) {
                continue;
            }
            let groups = fs::read_to_string(process.join("cgroup")).unwrap_or_default();
            let directory = fs::read_link(process.join("cwd")).unwrap_or_default();
            let is_ours = groups.contains("/assay") && !groups::is_of_other_process(&groups);
            if is_ours || self.folders.iter().any(|folder| directory.starts_with(folder)) {
                let command = fs::read_to_string(process.join("comm")).unwrap_or_default();
                self.note(&process, command);
            }
        }
    }
}

/// Whether the image of a loop device belongs to another running Assay (`assay-NAME-PID.img`), which may be
/// used manually while tests run.
fn is_loop_of_other_process(disk: &Path) -> bool {
    let image = fs::read_to_string(disk.join("loop/backing_file")).unwrap_or_default();
    let image = Path::new(image.trim_end_matches([' ', '\n']));
    let stem = image.file_stem().unwrap_or_default().to_string_lossy();
    groups::is_of_other_process(&stem)
}

/// Whether a process has ended and waits to be reaped: when a test is killed, that is up to the first process
/// of the machine, which may take its time. A zombie holds no group and no file.
fn has_ended(process: &Path) -> bool {
    let stat = fs::read_to_string(process.join("stat")).unwrap_or_default();
    // The name of the program is in brackets and may contain any character (proc(5)).
    let state = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().next());
    matches!(state, None | Some("Z" | "X"))
}

fn differences(before: &HostSnapshot, after: &HostSnapshot) -> String {
    let mut text = String::new();
    for (name, old) in &before.items {
        match after.items.get(name) {
            None => writeln!(text, "  gone:    {name}").unwrap(),
            Some(new) if new != old => {
                writeln!(text, "  changed: {name}: {} -> {}", short(old), short(new)).unwrap();
            }
            Some(_) => {}
        }
    }
    // Foreign groups count only if they are in both snapshots.
    for (name, old) in &before.foreign_groups {
        if let Some(new) = after.foreign_groups.get(name).filter(|new| *new != old) {
            writeln!(text, "  changed: {name}: {} -> {}", short(old), short(new)).unwrap();
        }
    }
    for name in after.items.keys().filter(|name| !before.items.contains_key(*name)) {
        writeln!(text, "  new:     {name}").unwrap();
    }
    text
}

fn short(value: &str) -> String {
    const SHOWN: usize = 200;
    let start: String = value.trim().chars().take(SHOWN).collect();
    format!("{start:?}")
}

fn mounts() -> String {
    fs::read_to_string("/proc/mounts").unwrap()
}

/// Contents of a directory, in order; empty if it does not exist.
#[must_use]
pub fn entries(directory: &Path) -> Vec<PathBuf> {
    let Ok(listing) = fs::read_dir(directory) else { return Vec::new() };
    // A device may disappear between listing and reading.
    let mut paths: Vec<PathBuf> = listing.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    paths
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_list_added_removed_and_changed_items() {
        let before = snapshot(&[("/a", "1\n"), ("/b", ""), ("/c", "same")], &[]);
        let after = snapshot(&[("/a", "2\n"), ("/c", "same"), ("/d", "")], &[]);
        assert_eq!(
            differences(&before, &after),
            "  changed: /a: \"1\" -> \"2\"\n  gone:    /b\n  new:     /d\n"
        );
    }

    fn snapshot(items: &[(&str, &str)], foreign_groups: &[(&str, &str)]) -> HostSnapshot {
        let map = |entries: &[(&str, &str)]| {
            entries.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect()
        };
        HostSnapshot { items: map(items), foreign_groups: map(foreign_groups), folders: Vec::new() }
    }

    #[test]
    fn foreign_groups_may_come_and_go_but_not_change() {
        let before = snapshot(&[], &[("/cg/a", "1"), ("/cg/b", "1")]);
        let after = snapshot(&[], &[("/cg/a", "2"), ("/cg/c", "1")]);
        let expected = "  changed: /cg/a: \"1\" -> \"2\"\n";
        assert_eq!(differences(&before, &after), expected);
    }

    #[test]
    fn files_of_a_folder_and_processes_in_it_are_included() {
        let folder = tempfile::tempdir().unwrap();
        let before = HostSnapshot::take_with(&[folder.path()]);
        fs::create_dir(folder.path().join("inner")).unwrap();
        fs::write(folder.path().join("inner/file"), "new").unwrap();
        let mut sleeper = std::process::Command::new("sleep")
            .arg("60")
            .current_dir(folder.path())
            .spawn()
            .unwrap();
        let differences = HostSnapshot::differences_since(&before);
        sleeper.kill().unwrap();
        sleeper.wait().unwrap();
        let path = folder.path().display();
        for new in [format!("{path}/inner/file"), format!("/proc/{}", sleeper.id())] {
            assert!(differences.contains(&format!("new:     {new}\n")), "{new} in {differences}");
        }
    }
}
