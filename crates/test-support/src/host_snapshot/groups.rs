//! Groups of every hierarchy, with their settings.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::{HostSnapshot, mounts};
use crate::host_lock::is_alone;
use crate::own;
use crate::tree::entries;

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
    /// The settings of the root groups, and the test's own groups, and those that it watches, completely.
    pub(super) fn take_groups(&mut self) {
        for line in mounts().lines() {
            let fields: Vec<&str> = line.split(' ').collect();
            if let [_, target, "cgroup" | "cgroup2", ..] = fields[..]
                && (own::has(target) || !target.contains("/assay-"))
            {
                self.take_group(Path::new(target));
                self.take_own_below(Path::new(target));
            }
        }
    }

    /// The test's own groups are below those of others: a service, a container, a delegated slice.
    fn take_own_below(&mut self, group: &Path) {
        for inside in entries(group).into_iter().filter(|path| path.is_dir()) {
            if own::has(&inside.to_string_lossy()) {
                self.take_group(&inside);
            }
            self.take_own_below(&inside);
        }
    }

    fn take_group(&mut self, group: &Path) {
        self.note(group, String::new());
        // Other programs that make groups, systemd or another test, switch controllers on in the root group.
        let is_shared = |path: &Path| path.ends_with("cgroup.subtree_control") && !is_alone();
        let settings = entries(group).into_iter().filter(|path| is_setting(path));
        for path in settings.filter(|path| own::has(&path.to_string_lossy()) || !is_shared(path)) {
            if let Ok(text) = fs::read_to_string(&path) {
                self.note(&path, settled(&text));
            }
        }
    }
}

fn is_setting(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let is_writable = |mode: u32| mode & 0o200 != 0;
    let writable = path
        .metadata()
        .is_ok_and(|metadata| metadata.is_file() && is_writable(metadata.permissions().mode()));
    writable && !NOT_SETTINGS.iter().any(|part| name.contains(part))
}

/// `memory.oom_control` of cgroup v1 has the setting and two counters.
fn settled(text: &str) -> String {
    let counts = |line: &&str| !line.starts_with("under_oom") && !line.starts_with("oom_kill ");
    text.lines().filter(counts).collect::<Vec<_>>().join("\n")
}
