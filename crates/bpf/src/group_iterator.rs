//! Counters of many control groups in one read (`programs/groups.bpf.c`). It reads the kernel's own numbers, the source
//! of the files, without formatting them as text.
//!
//! CPU time is that of `cpuacct` (kernel/sched/cpuacct.c), a sum over CPUs. cgroup v2 has none that can be read without
//! making the kernel aggregate it first. Memory counters are those that `struct mem_cgroup` keeps directly:
//! `memory.current` or `usage_in_bytes`, the peak, failures, events (mm/page_counter.c, mm/memcontrol.c). `memory.stat` is
//! not among them.

use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use assay_kernel::bpf_iterator::{BpfIterator, Scope};
use assay_kernel::mapped_array::MappedArray;
use assay_kernel::{Error, Root};
use assay_units::CpuSet;

use crate::prepared::{Prepared, Reading};

const GROUPS: &[u8] = include_bytes!("../programs/groups.bpf.o");

/// The counters to read of each group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counters {
    /// CPU time in nanoseconds: one number.
    CpuTime,
    /// Pages in use, their peak, failed charges, then the events `low`, `high`, `max`, `oom` and
    /// `oom_kill`: eight numbers.
    Memory,
}

impl Counters {
    const fn programs(self) -> Programs {
        match self {
            Self::CpuTime => Programs {
                find: "find_cpu_time",
                at_once: "read_cpu_time_at_once",
                each: "read_cpu_time_each",
                numbers: 1,
            },
            Self::Memory => Programs {
                find: "find_memory",
                at_once: "read_memory_at_once",
                each: "read_memory_each",
                numbers: 8,
            },
        }
    }
}

/// The programs for some counters, and how many there are.
struct Programs {
    find: &'static str,
    at_once: &'static str,
    each: &'static str,
    numbers: usize,
}

/// Words of `struct group` of the program, and where some of them are.
const WORDS: usize = 12;
const PRESENT: usize = 3;
const NUMBERS: usize = 4;

/// A missing group is looked for again after so many readings: its controller may have been enabled again, which gives
/// it a new state.
const FIND_AGAIN_AFTER: u32 = 10;

/// A loaded iterator.
#[derive(Debug)]
pub struct GroupIterator {
    memory: MappedArray,
    find: BpfIterator,
    read: Reading,
    numbers: usize,
    /// Readings since the groups were last looked for.
    readings: u32,
}

/// The id of the group with this directory.
pub fn id(root: &Root, directory: &Path) -> Result<u64, Error> {
    std::fs::metadata(root.resolve(directory))
        .map(|metadata| metadata.ino())
        .map_err(|cause| Error::new("stat", directory, &cause))
}

impl GroupIterator {
    /// Loads an iterator over the groups with these ids, all of which are inside this directory. The error names what is
    /// missing: privileges, types, Linux 6.1, or the controller.
    pub fn open(root: &Root, top: &Path, counters: Counters, ids: &[u64]) -> Result<Self, Error> {
        // A kernel without such loops or casts, or that rejects them, gets the slower program.
        let open = |at_once| Self::with(root, top, (counters, at_once), ids);
        open(true).or_else(|_: Error| open(false))
    }

    fn with(
        root: &Root,
        top: &Path,
        (counters, at_once): (Counters, bool),
        ids: &[u64],
    ) -> Result<Self, Error> {
        let count = u32::try_from(ids.len()).unwrap_or(u32::MAX);
        let cpus = cpus(root);
        let entries = [("indexes", count), ("groups", count), ("distances", cpus)];
        let mut prepared = Prepared::new(root, GROUPS, &entries, &[("cpus", cpus)])?;
        let indexes = prepared.take_map("indexes")?;
        for (index, id) in (0..count).zip(ids) {
            indexes.set(&id.to_ne_bytes(), &index.to_ne_bytes())?;
        }
        if counters == Counters::CpuTime {
            let elements = Scope::Elements(prepared.map("distances")?);
            prepared.iterator("find_distances", "bpf_map_elem", elements)?.walk()?;
        }
        let programs = counters.programs();
        let opened =
            File::open(root.resolve(top)).map_err(|cause| Error::new("open", top, &cause))?;
        let find = prepared.iterator(programs.find, "cgroup", Scope::Groups(&opened))?;
        let memory = MappedArray::new(prepared.take_map("groups")?)?;
        let read = match at_once {
            true => Reading::AtOnce(prepared.routine(programs.at_once)?),
            false => {
                let elements = Scope::Elements(memory.map());
                Reading::Each(prepared.iterator(programs.each, "bpf_map_elem", elements)?)
            }
        };
        let mut iterator = Self { memory, find, read, numbers: programs.numbers, readings: 0 };
        iterator.find()?;
        Ok(iterator)
    }

    fn find(&mut self) -> Result<(), Error> {
        let Self { memory, find, readings, .. } = self;
        *readings = 0;
        memory.run(0, || find.walk())
    }

    /// Reads all groups, and gives the numbers of each in the order of their ids; none for a group that was removed or
    /// has not the controller.
    pub fn read(&mut self) -> Result<impl Iterator<Item = Option<&[u64]>>, Error> {
        let Self { memory, read, .. } = self;
        memory.run(0, || read.run())?;
        self.readings += 1;
        if self.readings >= FIND_AGAIN_AFTER && self.groups().any(|group| group.is_none()) {
            self.find()?;
        }
        Ok(self.groups())
    }

    fn groups(&self) -> impl Iterator<Item = Option<&[u64]>> {
        self.memory.words().chunks_exact(WORDS).map(|group| {
            let is_present = group.get(PRESENT) == Some(&1);
            group.get(NUMBERS..NUMBERS + self.numbers).filter(|_| is_present)
        })
    }
}

/// One more than the highest number of a CPU; the kernel's own sums include all possible ones.
fn cpus(root: &Root) -> u32 {
    let text = root.read_trimmed("/sys/devices/system/cpu/possible").unwrap_or_default();
    text.parse::<CpuSet>().unwrap_or_default().iter().max().map_or(1, |cpu| u32::from(cpu) + 1)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::process::Command;

    use assay_kernel::anonymous_memory::page_size;
    use assay_test_support::{Need, host_lock, skip};

    use super::*;

    /// The mount point of this controller's cgroup v1 hierarchy.
    fn directory(root: &Root, controller: &str) -> Option<PathBuf> {
        let mounts = root.read("/proc/self/mountinfo").ok()?;
        let mounts = assay_kernel::parse::mountinfo::parse(&mounts);
        mounts.into_iter().find(|mount| mount.is_v1_of(controller)).map(|mount| mount.target)
    }

    /// A group that is removed at the end, in which a shell has run.
    struct Made(PathBuf);

    impl Made {
        fn new(top: &Path) -> Self {
            let made = Self(top.join(format!("assay-test-iterator-{}", std::process::id())));
            std::fs::create_dir(&made.0).unwrap();
            let work = "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done";
            let script = format!("echo 0 > {}/tasks; {work}", made.0.display());
            assert!(Command::new("sh").arg("-c").arg(script).status().unwrap().success());
            made
        }
    }

    impl Drop for Made {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir(&self.0);
        }
    }

    /// Both programs give the numbers of the files, none for a group that is not asked for, and none once it is removed.
    #[test]
    fn groups_have_the_numbers_of_their_files() {
        const NAME: &str = "groups_have_the_numbers_of_their_files";
        let root = Root::real();
        let Some(_lock) = host_lock(NAME, &[Need::Controller("memory")]) else { return };
        for (controller, file, counters, scale) in [
            ("cpuacct", "cpuacct.usage", Counters::CpuTime, 1),
            ("memory", "memory.max_usage_in_bytes", Counters::Memory, page_size() as u64),
        ] {
            let Some(top) = directory(&root, controller) else {
                skip(NAME, &format!("no cgroup v1 hierarchy of {controller}"));
                continue;
            };
            let made = Made::new(&top);
            let number = root.read_trimmed(made.0.join(file)).unwrap().parse::<u64>().unwrap();
            let ids = [u64::MAX, id(&root, &made.0).unwrap()];
            let open = |at_once| GroupIterator::with(&root, &top, (counters, at_once), &ids);
            let mut iterators: Vec<_> = [open(true), open(false)].into_iter().flatten().collect();
            if let Err(error) = open(false) {
                assert_ne!(error.operation, "prepare", "{error}");
                assert!(!error.to_string().contains("verifier"), "{error}");
                skip(NAME, &error.to_string());
                continue;
            }
            if let Err(error) = open(true) {
                assert_eq!(error.operation, "find the kernel function", "{error}");
            }
            let at = if counters == Counters::Memory { 1 } else { 0 };
            for iterator in &mut iterators {
                let numbers: Vec<Option<u64>> =
                    iterator.read().unwrap().map(|group| Some(group?[at] * scale)).collect();
                assert_eq!(numbers, [None, Some(number)], "{file}");
                assert!(number > 4096);
            }
            drop(made);
            for iterator in &mut iterators {
                assert!(iterator.read().unwrap().all(|group| group.is_none()));
            }
        }
    }

    #[test]
    fn a_group_that_appears_later_is_found() {
        const NAME: &str = "a_group_that_appears_later_is_found";
        let root = Root::real();
        let Some(_lock) = host_lock(NAME, &[Need::Controller("memory")]) else { return };
        let Some(top) = directory(&root, "cpuacct") else {
            return skip(NAME, "no cgroup v1 hierarchy of cpuacct");
        };
        let made = Made::new(&top);
        let ids = [id(&root, &made.0).unwrap()];
        let mut iterator = match GroupIterator::open(&root, &top, Counters::CpuTime, &ids) {
            Ok(iterator) => iterator,
            Err(error) => return skip(NAME, &error.to_string()),
        };
        // As if it had not been there when groups were looked for.
        iterator.memory.run(WORDS, || ());
        for _ in 0..FIND_AGAIN_AFTER {
            assert!(iterator.read().unwrap().all(|group| group.is_none()));
        }
        assert!(iterator.read().unwrap().all(|group| group.is_some()));
    }
}
