//! A snapshot of what a test may have changed on the host, for byte-by-byte comparison. Other programs, among them
//! other tests, make groups, loop devices, mounts and processes meanwhile: what is not the test's own (`own`) does
//! not count.

mod bpf;
mod groups;
mod settings;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::host_lock::is_alone;
use crate::own;
use crate::tree::entries;

/// Names and contents. Items without content have an empty one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostSnapshot {
    items: BTreeMap<String, String>,
    folders: Vec<PathBuf>,
}

/// How long a loop device that is neither attached nor removed may stay: another test may be making or removing it,
/// under the number of one that this test has removed.
const BETWEEN: Duration = Duration::from_secs(2);

/// How long eBPF objects of a process that has ended may stay: the kernel removes them when all CPUs have left their programs.
const REMOVED: Duration = Duration::from_secs(60);

impl HostSnapshot {
    /// The host as far as a test writes to it: the queues of its disks, sysctls and the other settings of `settings.rs`,
    /// the root group of every hierarchy; and of loop devices, mounts, groups with their settings, processes and eBPF
    /// objects the test's own.
    pub fn take() -> Self {
        Self::take_with(&[])
    }

    /// The same with everything in these folders (content of files, type of other entries) and with the
    /// processes whose working directory is in there.
    pub fn take_with(folders: &[&Path]) -> Self {
        let mut snapshot = Self {
            items: BTreeMap::new(),
            folders: folders.iter().map(|folder| (*folder).to_owned()).collect(),
        };
        snapshot.take_disks();
        snapshot.take_mounts();
        snapshot.take_settings();
        snapshot.take_groups();
        snapshot.take_processes();
        snapshot.take_bpf();
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
        let begun = Instant::now();
        loop {
            let after = Self::take_with(&folders);
            let differences = differences(before, &after);
            let is_new = |of: &str| {
                after
                    .items
                    .iter()
                    .any(|(name, state)| state == of && !before.items.contains_key(name))
            };
            let patience = match (is_new(BARE), is_new(bpf::UNHELD)) {
                (_, true) => REMOVED,
                (true, false) => BETWEEN,
                (false, false) => return differences,
            };
            if begun.elapsed() > patience {
                return differences;
            }
            sleep(Duration::from_millis(20));
        }
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
            let state = match Whose::of(&disk) {
                Whose::Other => continue,
                Whose::Bare => BARE.to_owned(),
                Whose::Hosts | Whose::Own => String::new(),
            };
            self.note(&disk, state);
            self.take_files_below(&disk.join("queue"));
            self.take_files_below(&disk.join("loop"));
            for inside in entries(&disk).into_iter().filter(|path| path.join("partition").exists())
            {
                self.note(&inside, String::new());
            }
        }
        for device in entries(Path::new("/sys/kernel/config/nullb")) {
            if own::has(&device.to_string_lossy()) {
                self.note(&device, String::new());
                self.take_files_below(&device);
            }
        }
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

    /// Mounts of the test's own disks or in its own folders, each with how often it is there.
    fn take_mounts(&mut self) {
        for line in mounts().lines() {
            let is_own =
                line.split(' ').take(2).any(|place| own::has(place) || is_on_own_loop(place));
            if is_own {
                self.items.entry(format!("mount: {line}")).or_default().push('x');
            }
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
            let is_ours = groups.lines().any(own::has);
            if is_ours || self.folders.iter().any(|folder| directory.starts_with(folder)) {
                let command = fs::read_to_string(process.join("comm")).unwrap_or_default();
                self.note(&process, command);
            }
        }
    }
}

/// Whose a disk is.
enum Whose {
    /// The machine's, which stays.
    Hosts,
    /// The test's.
    Own,
    /// A loop device that a program of the test has recorded, without an image.
    Bare,
    Other,
}

/// The state of a bare loop device.
const BARE: &str = "without an image";

impl Whose {
    fn of(disk: &Path) -> Self {
        let name = disk.file_name().unwrap_or_default().to_string_lossy();
        let Some(number) = name.strip_prefix("loop").and_then(|digits| digits.parse().ok()) else {
            let mapped = fs::read_to_string(disk.join("dm/name")).unwrap_or_default();
            return match own::has(&mapped) {
                true => Self::Own,
                false if name.starts_with("dm-") || name.starts_with("nullb") => Self::Other,
                false => Self::Hosts,
            };
        };
        let image = fs::read_to_string(disk.join("loop/backing_file")).unwrap_or_default();
        match (image.trim_end().is_empty(), own::has(&image), own::has_loop(number)) {
            (false, true, _) => Self::Own,
            (true, _, true) => Self::Bare,
            _ => Self::Other,
        }
    }
}

/// Whether a place in /proc/mounts is the node of a loop device with an image of the test's own.
fn is_on_own_loop(place: &str) -> bool {
    let Some(rest) = place.strip_prefix("/dev/loop") else { return false };
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    matches!(Whose::of(&Path::new("/sys/block").join(format!("loop{digits}"))), Whose::Own)
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
    // Another test may have changed a setting of the machine.
    let counts = |name: &str| is_alone() || !settings::is_setting(name) || own::has_named(name);
    for (name, old) in before.items.iter().filter(|(name, _)| counts(name)) {
        match after.items.get(name) {
            // It was about to be removed.
            None if old == bpf::UNHELD => {}
            None => writeln!(text, "  gone:    {name}").unwrap(),
            Some(new) if new != old => {
                writeln!(text, "  changed: {name}: {} -> {}", short(old), short(new)).unwrap();
            }
            Some(_) => {}
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_list_added_removed_and_changed_items() {
        let before = snapshot(&[("/a", "1\n"), ("/b", ""), ("/c", "same")]);
        let after = snapshot(&[("/a", "2\n"), ("/c", "same"), ("/d", "")]);
        assert_eq!(
            differences(&before, &after),
            "  changed: /a: \"1\" -> \"2\"\n  gone:    /b\n  new:     /d\n"
        );
        let ending = snapshot(&[("eBPF program 1", bpf::UNHELD)]);
        assert_eq!(differences(&ending, &snapshot(&[])), "");
    }

    fn snapshot(items: &[(&str, &str)]) -> HostSnapshot {
        let items = items.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
        HostSnapshot { items, folders: Vec::new() }
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
