//! What threads of a group are stalled by for memory: attaches the eBPF programs that see it, and reads what they counted.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use assay_bpf::{Programs, STALLS, group_id};
use assay_host::facts::{Available, CgroupLayout};
use assay_sys::kernel::clock::monotonic_ns;
use assay_sys::kernel::{Error, Root, counters};

use super::group_tree::{GroupTree, far_below, is_within};
use super::watch_error::WatchError;
use crate::{KERNEL_NUMBER, MemoryAnswer, StallCounted, WATCHED};

/// Programs that run when they are switched off end within this time.
const LAST_EVENTS: Duration = Duration::from_millis(5);

/// Bytes of a pressure file.
const MAX_PRESSURE: u64 = 4096;

/// Programs at their tracepoints that see the stalls of one group. They go with this value or with the process.
pub struct StallWatch {
    root: Root,
    programs: Programs,
    group: String,
    directory: PathBuf,
    /// The paths of all groups that have a number; the first has 1.
    names: Vec<String>,
    tree: GroupTree,
    started_ns: u64,
    pressure_ns: Available<u64>,
    /// Bytes of each group at the start.
    used: Vec<u64>,
}

impl StallWatch {
    /// Attaches the programs for a group with all groups below it: its path below the mount of the controller `memory`, or that
    /// of a directory.
    ///
    /// # Errors
    /// There is no such group, or the kernel or its policy refuses the programs.
    pub fn on_group(root: &Root, layout: &CgroupLayout, group: &str) -> Result<Self, WatchError> {
        let tree = GroupTree::new(layout, "memory")?;
        let group = tree.path(group);
        tree.check_group(root, &group, "memory")?;
        let directory = tree.directory(&group);
        if tree.is_v2 && !root.exists(directory.join("memory.current")) {
            return Err(WatchError::Host(format!(
                "`{group}` has no controller `memory`, so that its memory counts in a group above\n  hint: name that group"
            )));
        }
        let refused = |error: Error| WatchError::Host(error.to_string());
        let all = ordered(&group, tree.groups(root));
        let watched = |path: &str| if is_within(path, &group) { WATCHED } else { 0 };
        let named = all.iter().take(KERNEL_NUMBER - 1);
        let numbered = named.clone().zip(1_u32..);
        let mut places: Vec<(&String, u32)> =
            numbered.map(|(path, number)| (path, number | watched(path))).collect();
        places.extend(far_below(&all, &places));
        let names = named.cloned().collect();
        let sizes = [("groups", places.len() as u32)];
        let programs = Programs::load_sized(root, STALLS, &sizes).map_err(refused)?;
        let numbers = programs.map("groups").map_err(refused)?;
        for (path, place) in places {
            // It may be gone by now.
            let Ok(id) = group_id(root, &tree.directory(path)) else { continue };
            numbers.set(&id.to_ne_bytes(), &place.to_ne_bytes()).map_err(refused)?;
        }
        let (root, pressure_ns) = (root.clone(), Available::Value(0));
        let (started_ns, used) = (0, Vec::new());
        Ok(Self { root, programs, group, directory, names, tree, started_ns, pressure_ns, used })
    }

    /// From now on stalls count.
    ///
    /// # Errors
    /// The kernel refuses to switch the programs on.
    pub fn start(&mut self) -> Result<(), Error> {
        self.used = self.used_now();
        self.started_ns = monotonic_ns();
        self.enable(true)?;
        self.pressure_ns = self.pressure();
        Ok(())
    }

    /// For how long threads of the group have been stalled up to now, in nanoseconds.
    ///
    /// # Errors
    /// The memory of the programs cannot be read.
    pub fn so_far(&self) -> Result<u64, Error> {
        Ok(self.counted(monotonic_ns())?.stalls.iter().map(|one| one.ns).sum())
    }

    fn counted(&self, until_ns: u64) -> Result<StallCounted, Error> {
        let map = |name| self.programs.map(name)?.all();
        let memory = self.programs.map(".bss")?.get(&[0; 4])?;
        let [stalls, pages, threads] = [map("stalls")?, map("pages")?, map("threads")?];
        let counted = StallCounted::parse(&stalls, &pages, &threads, &memory, until_ns);
        counted.ok_or_else(|| {
            let path = Path::new("the maps of the eBPF programs");
            Error::unexpected("read", path, "they have another size than this version's")
        })
    }

    /// Ends the counting and reads it.
    ///
    /// # Errors
    /// The kernel refuses to switch the programs off, or their memory cannot be read.
    pub fn finish(self) -> Result<MemoryAnswer, Error> {
        let pressure_ns = match (&self.pressure(), &self.pressure_ns) {
            (Available::Value(now), Available::Value(before)) => {
                Available::Value(now.saturating_sub(*before))
            }
            (Available::NotAvailable(reason), _) | (_, Available::NotAvailable(reason)) => {
                Available::NotAvailable(reason.clone())
            }
        };
        self.enable(false)?;
        let ended_ns = monotonic_ns();
        std::thread::sleep(LAST_EVENTS);
        let mut counted = self.counted(ended_ns)?;
        counted.grown = grown(&self.names, &self.used, &self.used_now());
        let seconds = Duration::from_nanos(ended_ns.saturating_sub(self.started_ns)).as_secs_f64();
        let page = rustix::param::page_size() as u64;
        let names = (self.names.as_slice(), page);
        Ok(MemoryAnswer::new(&self.group, seconds, &counted, names, pressure_ns))
    }

    /// Bytes that each group and all below it use; 0 of one that is gone.
    fn used_now(&self) -> Vec<u64> {
        let file = if self.tree.is_v2 { "memory.current" } else { "memory.usage_in_bytes" };
        let used = |path: &String| {
            let text = self.root.read_trimmed(self.tree.directory(path).join(file)).ok();
            text.and_then(|text| text.parse().ok()).unwrap_or(0)
        };
        self.names.iter().map(used).collect()
    }

    /// For how long at least one thread of the group has been stalled so far.
    fn pressure(&self) -> Available<u64> {
        if !self.tree.is_v2 {
            let reason = "cgroup v1 has no memory.pressure of a group";
            return Available::NotAvailable(reason.to_owned());
        }
        let file = self.directory.join("memory.pressure");
        match self.root.read_at_most(&file, MAX_PRESSURE) {
            Ok(text) => match counters::pressure(text.as_bytes(), "some") {
                Some(us) => Available::Value(us * 1_000),
                None => Available::NotAvailable("memory.pressure has no total".to_owned()),
            },
            Err(error) => Available::NotAvailable(error.to_string()),
        }
    }

    /// Writes `struct settings` of `programs/stalls.bpf.c`.
    fn enable(&self, enabled: bool) -> Result<(), Error> {
        let words = [u32::from(enabled), u32::from(self.tree.is_v2)];
        let mut settings = words.map(u32::to_ne_bytes).concat();
        settings.extend(self.started_ns.to_ne_bytes());
        self.programs.map("settings")?.set(&[0; 4], &settings)
    }
}

/// By how many bytes each group has grown without those below it, by number.
fn grown(names: &[String], before: &[u64], after: &[u64]) -> Vec<u64> {
    let numbers: HashMap<&str, usize> = names.iter().map(String::as_str).zip(1..).collect();
    let mut grown = vec![0_i64; names.len() + 1];
    for (name, (before, after)) in names.iter().zip(before.iter().zip(after)) {
        let bytes = *after as i64 - *before as i64;
        grown[numbers[name.as_str()]] += bytes;
        let above = name.rsplit_once('/').and_then(|(above, _)| numbers.get(above));
        if let Some(above) = above {
            grown[*above] -= bytes;
        }
    }
    grown.into_iter().map(|bytes| bytes.max(0) as u64).collect()
}

/// The groups in the order in which they get numbers: the watched one and those below it before all others.
fn ordered(group: &str, mut all: Vec<String>) -> Vec<String> {
    all.sort_by_key(|path| (path != group, !is_within(path, group)));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_watched_group_and_those_below_it_always_have_numbers() {
        let all = (0..2_000).map(|other| format!("/other{other}"));
        let all: Vec<String> = all.chain(["/a", "/ab", "/a/b"].map(str::to_owned)).collect();
        assert_eq!(ordered("/a", all)[..3], ["/a", "/a/b", "/other0"]);
    }

    #[test]
    fn a_group_has_grown_by_what_those_below_it_have_not() {
        let names = ["/a", "/a/b", "/c", "/a/d"].map(str::to_owned);
        // By number, of which the first is 1; what has shrunk has not grown.
        let grown = grown(&names, &[100, 50, 30, 10], &[300, 150, 10, 30]);
        assert_eq!(grown, [0, 80, 100, 0, 20]);
    }
}
