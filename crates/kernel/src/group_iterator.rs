//! Counters of all control groups below one in one read: an iterator of eBPF over groups (6.1,
//! Documentation/bpf/bpf_iterators.rst). The kernel's own numbers are taken from where its files
//! take them; text is written for nobody.
//!
//! CPU time is that of `cpuacct` (kernel/sched/cpuacct.c), a sum over CPUs. cgroup v2 has none that could be taken
//! without making the kernel add it up first. Memory is what `struct mem_cgroup` counts at once:
//! `memory.current` or `usage_in_bytes`, the peak, failures, events (mm/page_counter.c,
//! mm/memcontrol.c). `memory.stat` is not among them.

mod each_cpu;

use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::bpf_code::{ANSWER, Code, FIRST, FRAME};
use crate::bpf_iterator::{BpfIterator, Limit, MEMORY, RECORD, TABLE, THING, TYPES, Way};
use crate::btf::{Btf, lacks};
use crate::error::Error;
use crate::root::Root;

/// What to read of each group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counters {
    /// Nanoseconds of CPU time: one number.
    CpuTime,
    /// Pages in use, the most that ever were, failures to charge, then the events `low`, `high`,
    /// `max`, `oom` and `oom_kill`: eight numbers.
    Memory,
}

/// Events of memory in the order of the record, with the kernel's names.
const EVENTS: [&str; 5] = ["MEMCG_LOW", "MEMCG_HIGH", "MEMCG_MAX", "MEMCG_OOM", "MEMCG_OOM_KILL"];

/// The first words of a record: the group's id, and whether the controller is on in it.
const HEAD: usize = 2;

/// `bpf_probe_read_kernel` of linux/bpf.h.
const PROBE_READ_KERNEL: i32 = 113;

/// Places in the frame: the state of the controller, the address that the numbers of all CPUs
/// belong to, and one number.
const STATE: i32 = -8;
const BASE: i32 = -16;
const NUMBER: i32 = -24;

/// The register of an address that is read.
const ADDRESS: u8 = 3;

/// An iterator that stays loaded.
#[derive(Debug)]
pub struct GroupIterator {
    walker: BpfIterator,
    counters: Counters,
}

/// The counters of one group.
#[derive(Debug, Clone, Copy)]
pub struct Group<'w> {
    /// The group's id: the inode number of its directory.
    pub id: u64,
    /// The numbers, in the order of [`Counters`].
    pub numbers: &'w [u64],
}

/// The id of the group that has this directory.
pub fn id(root: &Root, directory: &Path) -> Result<u64, Error> {
    std::fs::metadata(root.resolve(directory))
        .map(|metadata| metadata.ino())
        .map_err(|cause| Error::new("stat", directory, &cause))
}

impl GroupIterator {
    /// Loads an iterator over the group of this directory and all inside it, for so many groups.
    /// The error says what is missing: rights, types, a kernel before 6.1, or the controller.
    pub fn open(
        root: &Root,
        directory: &Path,
        counters: Counters,
        room: usize,
    ) -> Result<Self, Error> {
        let mut buffer = Vec::new();
        let btf = Btf::read(root, &mut buffer)?;
        let target = btf.function("bpf_iter_cgroup").ok_or_else(|| lacks("bpf_iter_cgroup"))?;
        let opened = File::open(root.resolve(directory));
        let opened: OwnedFd = opened.map_err(|cause| Error::new("open", directory, &cause))?.into();
        let below = Limit::directory(&opened);
        let table = match counters {
            Counters::CpuTime => each_cpu::distances(root, &btf, target, &below)?,
            Counters::Memory => Vec::new(),
        };
        let load = |fetch: Fetch| {
            let layout = Layout::of(&btf, counters, fetch).map_err(lacks)?;
            let shape = (HEAD + layout.numbers(), room);
            let describe = |code: &mut Code| layout.describe(code, table.len() as i32);
            let way = (target, Way::Called);
            let walker = BpfIterator::open(way, Some(&below), &table, shape, describe)?;
            Ok(Self { walker, counters })
        };
        // A kernel that does not take the faster program takes the other.
        match Fetch::of(&btf) {
            Fetch::Helper => load(Fetch::Helper),
            cast => load(cast).or_else(|_: Error| load(Fetch::Helper)),
        }
    }

    /// What it reads.
    #[must_use]
    pub const fn counters(&self) -> Counters {
        self.counters
    }

    /// Reads all groups; those in which the controller is not on are left out.
    pub fn read(&mut self) -> Result<impl Iterator<Item = Group<'_>>, Error> {
        if !self.walker.walk()? {
            let why = "there are more groups than there is room for";
            return Err(Error::unexpected("read an iterator of", Path::new(TYPES), why));
        }
        let records = self.walker.records().filter(|record| record.get(1) != Some(&0));
        Ok(records.map(|record| Group { id: record[0], numbers: &record[HEAD..] }))
    }
}

/// Where this kernel keeps what is read.
struct Layout {
    /// `cgroup.kn`, `kernfs_node.id`, and the place of the controller's state in a group.
    node: i32,
    id: i32,
    state: i32,
    what: What,
    fetch: Fetch,
}

/// What is read of the controller's state.
enum What {
    /// Behind this pointer there is a number for each CPU.
    EachCpu(i32),
    /// The numbers themselves.
    Here(Vec<i32>),
}

impl Layout {
    /// The error names the first that this kernel lacks.
    fn of(btf: &Btf<'_>, counters: Counters, fetch: Fetch) -> Result<Self, &'static str> {
        let field = |structure: &'static str, path: &'static str| {
            let kind = btf.structure(structure).ok_or(structure)?;
            btf.field(kind, path).map(|field| field.offset as i32).ok_or(path)
        };
        let constant = |name: &'static str| btf.constant(name).ok_or(name);
        let (subsystem, what) = match counters {
            Counters::CpuTime => {
                let pointer = field("cpuacct", "cpuusage")? - field("cpuacct", "css")?;
                (constant("cpuacct_cgrp_id")?, What::EachCpu(pointer))
            }
            Counters::Memory => {
                let css = field("mem_cgroup", "css")?;
                let counter = field("mem_cgroup", "memory")? - css;
                let events = field("mem_cgroup", "memory_events")? - css;
                let mut places = vec![
                    counter + field("page_counter", "usage")?,
                    counter + field("page_counter", "watermark")?,
                    counter + field("page_counter", "failcnt")?,
                ];
                for event in EVENTS {
                    places.push(events + 8 * constant(event)?);
                }
                (constant("memory_cgrp_id")?, What::Here(places))
            }
        };
        Ok(Self {
            node: field("cgroup", "kn")?,
            id: field("kernfs_node", "id")?,
            state: field("cgroup", "subsys")? + 8 * subsystem,
            what,
            fetch,
        })
    }

    fn numbers(&self) -> usize {
        match &self.what {
            What::EachCpu(_) => 1,
            What::Here(places) => places.len(),
        }
    }

    /// Writes the record of a group.
    fn describe(&self, code: &mut Code, cpus: i32) {
        code.load(8, FIRST, THING, self.node);
        code.load(8, FIRST, FIRST, self.id);
        code.store(RECORD, 0, FIRST);
        code.copy(ADDRESS, THING);
        code.add_number(ADDRESS, self.state);
        self.fetch.fetch(code);
        code.store(FRAME, STATE, FIRST);
        code.store(RECORD, 8, FIRST);
        match &self.what {
            What::EachCpu(pointer) => self.add_up(code, *pointer, cpus),
            What::Here(places) => {
                for (index, place) in places.iter().enumerate() {
                    code.load(8, ADDRESS, FRAME, STATE);
                    code.add_number(ADDRESS, *place);
                    self.fetch.fetch(code);
                    code.store(RECORD, ((HEAD + index) * 8) as i32, FIRST);
                }
            }
        }
    }

    /// Adds up a number of each CPU. How far the memory of each CPU lies from where the pointer
    /// says stands in the table.
    fn add_up(&self, code: &mut Code, pointer: i32, cpus: i32) {
        const CPU: u8 = 6;
        const SUM: u8 = THING;
        code.load(8, ADDRESS, FRAME, STATE);
        code.add_number(ADDRESS, pointer);
        self.fetch.fetch(code);
        code.store(FRAME, BASE, FIRST);
        code.set(SUM, 0);
        code.set(CPU, 0);
        code.label("next CPU");
        code.copy(2, CPU);
        code.multiply(2, 8);
        code.copy(FIRST, MEMORY);
        code.add(FIRST, 2);
        code.load(8, ADDRESS, FIRST, TABLE);
        code.load(8, FIRST, FRAME, BASE);
        code.add(ADDRESS, FIRST);
        self.fetch.fetch(code);
        code.add(SUM, FIRST);
        code.add_number(CPU, 1);
        code.jump_if_below(CPU, cpus, "next CPU");
        code.store(RECORD, (HEAD * 8) as i32, SUM);
    }
}

/// How 8 bytes are taken from an address. Where there is no memory they are 0.
#[derive(Debug, Clone, Copy)]
enum Fetch {
    /// By a helper that copies them.
    Helper,
    /// By an instruction, after the kernel was told to take the address for one of a structure that
    /// begins with a number (`bpf_rdonly_cast`, 6.2): a tenth of the time.
    Cast { function: u32, structure: u32 },
}

impl Fetch {
    fn of(btf: &Btf<'_>) -> Self {
        let function = btf.function("bpf_rdonly_cast");
        match function.zip(btf.structure("kernel_cpustat")) {
            Some((function, structure)) => Self::Cast { function, structure },
            None => Self::Helper,
        }
    }

    /// Takes what is at [`ADDRESS`] to the first register.
    fn fetch(self, code: &mut Code) {
        match self {
            Self::Helper => {
                read(code, (FRAME, NUMBER));
                code.load(8, FIRST, FRAME, NUMBER);
            }
            Self::Cast { function, structure } => {
                code.copy(FIRST, ADDRESS);
                code.set(2, structure as i32);
                code.call_kernel(function);
                code.load(8, FIRST, ANSWER, 0);
            }
        }
    }
}

/// Copies 8 bytes from the address in [`ADDRESS`], or 0 where there is no memory.
fn read(code: &mut Code, (base, offset): (u8, i32)) {
    code.copy(FIRST, base);
    code.add_number(FIRST, offset);
    code.set(2, 8);
    code.call(PROBE_READ_KERNEL);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first group of this controller below which there is something, on cgroup v1 or v2.
    fn directory(root: &Root, controller: &str) -> Option<std::path::PathBuf> {
        let mounts = root.read("/proc/self/mountinfo").ok()?;
        let mounts = crate::parse::mountinfo::parse(&mounts);
        mounts.into_iter().find(|mount| mount.is_v1_of(controller)).map(|mount| mount.target)
    }

    /// What the files say before and after agrees with what the iterator says between, or the
    /// reason why there is none.
    #[test]
    fn groups_have_the_numbers_of_their_files() {
        let root = Root::real();
        for (controller, file, counters) in [
            ("cpuacct", "cpuacct.usage", Counters::CpuTime),
            ("memory", "memory.usage_in_bytes", Counters::Memory),
        ] {
            let Some(top) = directory(&root, controller) else { continue };
            let mut iterator = match GroupIterator::open(&root, &top, counters, 4096) {
                Ok(iterator) => iterator,
                Err(error) => {
                    assert!(error.hint.is_some(), "{error}");
                    continue;
                }
            };
            let scale = if counters == Counters::Memory {
                crate::anonymous_memory::page_size() as u64
            } else {
                1
            };
            let number = |name: &String| {
                let text = root.read_trimmed(top.join(name).join(file)).ok()?;
                text.parse::<u64>().ok()
            };
            for name in root.directories(&top).unwrap() {
                let Some(before) = number(&name) else { continue };
                let wanted = id(&root, &top.join(&name)).unwrap();
                let found = iterator.read().unwrap().find(|group| group.id == wanted);
                let Some(found) = found.map(|group| group.numbers[0] * scale) else { continue };
                let Some(after) = number(&name) else { continue };
                // What a group holds goes up and down, CPU time up alone.
                if counters == Counters::CpuTime || before == after {
                    assert!((before..=after).contains(&found), "{name}: {before} {found} {after}");
                }
            }
        }
    }
}
