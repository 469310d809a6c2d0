//! Groups of every hierarchy, with their settings.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::{HostSnapshot, entries, mounts};

/// Substrings of names of writable files that are counters or commands: their content changes without being
/// set.
const NOT_SETTINGS: [&str; 14] = [
    "cgroup.procs",
    "cgroup.threads",
    "tasks",
    "usage",
    "failcnt",
    "peak",
    "pressure",
    "events",
    ".stat",
    "event_control",
    "force_empty",
    "reset_stats",
    "cgroup.kill",
    "reclaim",
];

impl HostSnapshot {
    /// Root groups, Assay's own and those named `theirs`, which tests create to check that they stay, are
    /// recorded completely; of all other groups only their settings.
    pub(super) fn take_groups(&mut self) {
        for line in mounts().lines() {
            let fields: Vec<&str> = line.split(' ').collect();
            if let [_, target, "cgroup" | "cgroup2", ..] = fields[..] {
                self.take_groups_below(Path::new(target), true);
            }
        }
    }

    fn take_groups_below(&mut self, group: &Path, counts: bool) {
        self.note_group(group, String::new(), counts);
        for path in entries(group) {
            if path.is_dir() {
                if !is_of_other_process(&path.to_string_lossy()) {
                    self.take_groups_below(&path, is_ours_or_watched(&path));
                }
            } else if is_setting(&path)
                && let Ok(text) = fs::read_to_string(&path)
            {
                self.note_group(&path, settled(&text), counts);
            }
        }
    }

    fn note_group(&mut self, path: &Path, text: String, counts: bool) {
        match counts {
            true => self.note(path, text),
            false => {
                self.foreign_groups.insert(path.display().to_string(), text);
            }
        }
    }
}

/// Whether the path is in a group made by Assay or by a test.
fn is_ours_or_watched(group: &Path) -> bool {
    let mut names = group.iter().map(|name| name.to_string_lossy());
    names.any(|name| name.starts_with("assay") || name.starts_with("theirs"))
}

/// Whether a path is in the top group of another running Assay: `assay-...-PID`, the name that every command
/// uses. Assay may be used manually while tests run; what a killed run leaves has no running owner and is
/// recorded.
pub(super) fn is_of_other_process(path: &str) -> bool {
    path.split(['/', '\n']).filter(|name| name.starts_with("assay-")).any(|name| {
        let pid = name.rsplit('-').next().and_then(|text| text.parse::<u32>().ok());
        pid.is_some_and(|pid| pid != std::process::id() && lives(pid))
    })
}

/// Whether this process exists, whatever its name: Assay also runs inside other programs, such as the tests
/// of its crates.
fn lives(pid: u32) -> bool {
    !super::has_ended(Path::new(&format!("/proc/{pid}")))
}

fn is_setting(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let writable = path.metadata().is_ok_and(|metadata| metadata.permissions().mode() & 0o200 != 0);
    writable && !NOT_SETTINGS.iter().any(|part| name.contains(part))
}

/// `memory.oom_control` of cgroup v1 has the setting and two counters.
fn settled(text: &str) -> String {
    let counts = |line: &&str| !line.starts_with("under_oom") && !line.starts_with("oom_kill ");
    text.lines().filter(counts).collect::<Vec<_>>().join("\n")
}
