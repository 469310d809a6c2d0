//! A picture of everything on the host that a run may change, compared byte for byte.

mod groups;
mod settings;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// What is there, and what it says. Things without content have an empty one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostSnapshot {
    seen: BTreeMap<String, String>,
    /// Groups of others, which may come and go at any time (sessions, timers, containers); what
    /// they say must stay.
    of_others: BTreeMap<String, String>,
    folders: Vec<PathBuf>,
}

impl HostSnapshot {
    /// The whole host as far as Assay writes to it: block devices with every attribute of their
    /// queues, loop devices and their nodes, null block devices, mounts, swap, modules, sysctls
    /// and the other settings of `settings.rs`, the groups of every hierarchy with what can be
    /// set on them, and processes that sit in groups of Assay.
    pub fn take() -> Self {
        Self::take_with(&[])
    }

    /// The same with everything in these folders (files with their content, and what kind of
    /// thing the others are) and with the processes that work in there.
    pub fn take_with(folders: &[&Path]) -> Self {
        let mut picture = Self {
            seen: BTreeMap::new(),
            of_others: BTreeMap::new(),
            folders: folders.iter().map(|folder| (*folder).to_owned()).collect(),
        };
        picture.take_disks();
        picture.take_nodes();
        picture.take_mounts();
        picture.take_settings();
        picture.take_groups();
        picture.take_processes();
        for folder in folders {
            picture.take_folder(folder);
        }
        picture
    }

    /// The attributes of one disk's queue, `loop8`.
    #[must_use]
    pub fn queue(&self, disk: &str) -> BTreeMap<String, String> {
        let place = format!("/sys/block/{disk}/queue/");
        let inside = self.seen.iter().filter(|(name, _)| name.starts_with(&place));
        inside.map(|(name, value)| (name.clone(), value.clone())).collect()
    }

    /// What has appeared, gone or changed since `before`, one line each; empty when nothing has.
    #[must_use]
    pub fn differences_since(before: &Self) -> String {
        let folders: Vec<&Path> = before.folders.iter().map(PathBuf::as_path).collect();
        differences(before, &Self::take_with(&folders))
    }

    /// Fails with what has appeared, gone or changed since `before`, one line each.
    #[track_caller]
    pub fn assert_same(before: &Self, when: &str) {
        let differences = Self::differences_since(before);
        assert!(differences.is_empty(), "{when}, the host is not as it was:\n{differences}");
    }

    fn note(&mut self, path: &Path, content: String) {
        self.seen.insert(path.display().to_string(), content);
    }

    fn note_file(&mut self, path: &Path) {
        if let Ok(bytes) = fs::read(path) {
            self.note(path, String::from_utf8_lossy(&bytes).into_owned());
        }
    }

    fn take_disks(&mut self) {
        for disk in entries(Path::new("/sys/block")) {
            if is_loop_of_a_living_other(&disk) {
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
            if counts && !is_loop_of_a_living_other(&Path::new("/sys/block").join(name)) {
                self.note(&path, String::new());
            }
        }
    }

    fn take_mounts(&mut self) {
        for (number, line) in mounts().lines().enumerate() {
            self.seen.insert(format!("mount {number:03}: {line}"), String::new());
        }
    }

    /// What lies in a folder. A FIFO is not opened: that would wait for its other end.
    fn take_folder(&mut self, folder: &Path) {
        for path in entries(folder) {
            let Ok(found) = path.symlink_metadata() else { continue };
            if found.is_dir() {
                self.note(&path, "directory".to_owned());
                self.take_folder(&path);
            } else if found.is_file() {
                self.note_file(&path);
            } else {
                self.note(&path, format!("mode {:o}", found.mode()));
            }
        }
    }

    /// Processes in a group that Assay made, and those that work in one of the folders. A zombie
    /// works nowhere: the link to its directory cannot be read.
    fn take_processes(&mut self) {
        for process in entries(Path::new("/proc")) {
            if !process.join("cgroup").exists() || process == Path::new("/proc/self") {
                continue;
            }
            if has_ended(&process) {
                continue;
            }
            let groups = fs::read_to_string(process.join("cgroup")).unwrap_or_default();
            let place = fs::read_link(process.join("cwd")).unwrap_or_default();
            let is_ours = groups.contains("/assay") && !groups::is_of_a_living_other(&groups);
            if is_ours || self.folders.iter().any(|folder| place.starts_with(folder)) {
                let command = fs::read_to_string(process.join("comm")).unwrap_or_default();
                self.note(&process, command);
            }
        }
    }
}

/// Whether the image of a loop device is that of an Assay that lives and is not this test
/// (`assay-NAME-PID.img`), as somebody may use Assay by hand while tests run.
fn is_loop_of_a_living_other(disk: &Path) -> bool {
    let image = fs::read_to_string(disk.join("loop/backing_file")).unwrap_or_default();
    let image = Path::new(image.trim_end_matches([' ', '\n']));
    let stem = image.file_stem().unwrap_or_default().to_string_lossy();
    groups::is_of_a_living_other(&stem)
}

/// A process that is over and waits for its parent to ask: when a test is killed, that is the
/// first process of the machine, which may take its time. Such a one holds no group and no file.
fn has_ended(process: &Path) -> bool {
    let stat = fs::read_to_string(process.join("stat")).unwrap_or_default();
    // The name of the program stands in brackets and may contain any character (proc(5)).
    let state = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().next());
    matches!(state, None | Some("Z" | "X"))
}

fn differences(before: &HostSnapshot, after: &HostSnapshot) -> String {
    let mut text = String::new();
    for (name, old) in &before.seen {
        match after.seen.get(name) {
            None => writeln!(text, "  gone:    {name}").unwrap(),
            Some(new) if new != old => {
                writeln!(text, "  changed: {name}: {} -> {}", short(old), short(new)).unwrap();
            }
            Some(_) => {}
        }
    }
    // Of others' groups only those count that are in both pictures.
    for (name, old) in &before.of_others {
        if let Some(new) = after.of_others.get(name).filter(|new| *new != old) {
            writeln!(text, "  changed: {name}: {} -> {}", short(old), short(new)).unwrap();
        }
    }
    for name in after.seen.keys().filter(|name| !before.seen.contains_key(*name)) {
        writeln!(text, "  new:     {name}").unwrap();
    }
    text
}

fn short(value: &str) -> String {
    const SHOWN: usize = 200;
    let shown: String = value.trim().chars().take(SHOWN).collect();
    format!("{shown:?}")
}

fn mounts() -> String {
    fs::read_to_string("/proc/mounts").unwrap()
}

/// What a directory holds, in order; nothing when it is not there.
#[must_use]
pub fn entries(directory: &Path) -> Vec<PathBuf> {
    let Ok(found) = fs::read_dir(directory) else { return Vec::new() };
    // A device may go between the listing and the look at its entry.
    let mut paths: Vec<PathBuf> = found.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    paths
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_names_what_is_new_gone_and_changed() {
        let before = picture(&[("/a", "1\n"), ("/b", ""), ("/c", "same")], &[]);
        let after = picture(&[("/a", "2\n"), ("/c", "same"), ("/d", "")], &[]);
        assert_eq!(
            differences(&before, &after),
            "  changed: /a: \"1\" -> \"2\"\n  gone:    /b\n  new:     /d\n"
        );
    }

    fn picture(seen: &[(&str, &str)], of_others: &[(&str, &str)]) -> HostSnapshot {
        let map = |entries: &[(&str, &str)]| {
            entries.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect()
        };
        HostSnapshot { seen: map(seen), of_others: map(of_others), folders: Vec::new() }
    }

    #[test]
    fn groups_of_others_may_come_and_go_but_nobody_may_change_them() {
        let before = picture(&[], &[("/cg/a", "1"), ("/cg/b", "1")]);
        let after = picture(&[], &[("/cg/a", "2"), ("/cg/c", "1")]);
        let expected = "  changed: /cg/a: \"1\" -> \"2\"\n";
        assert_eq!(differences(&before, &after), expected);
    }

    #[test]
    fn files_of_a_folder_and_processes_that_work_there_are_seen() {
        let folder = tempfile::tempdir().unwrap();
        let before = HostSnapshot::take_with(&[folder.path()]);
        fs::create_dir(folder.path().join("inner")).unwrap();
        fs::write(folder.path().join("inner/file"), "new").unwrap();
        let mut sleeper = std::process::Command::new("sleep")
            .arg("60")
            .current_dir(folder.path())
            .spawn()
            .unwrap();
        let seen = HostSnapshot::differences_since(&before);
        sleeper.kill().unwrap();
        sleeper.wait().unwrap();
        let place = folder.path().display();
        for new in [format!("{place}/inner/file"), format!("/proc/{}", sleeper.id())] {
            assert!(seen.contains(&format!("new:     {new}\n")), "{new} in {seen}");
        }
    }
}
