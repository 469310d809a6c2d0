//! Counters of a control group and all its descendants in one read, by an eBPF iterator over groups
//! (6.1, Documentation/bpf/bpf_iterators.rst). It reads the kernel's own numbers, the source of the
//! files, without formatting them as text.
//!
//! CPU time is that of `cpuacct` (kernel/sched/cpuacct.c), a sum over CPUs. cgroup v2 has none that can
//! be read without making the kernel aggregate it first. Memory counters are those that `struct
//! mem_cgroup` keeps directly: `memory.current` or `usage_in_bytes`, the peak, failures, events
//! (mm/page_counter.c, mm/memcontrol.c). `memory.stat` is not among them.

mod each_cpu;

use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::bpf_code::{Code, R0, R1, R10};
use crate::bpf_iterator::{BpfIterator, Iteration, Limit, MEMORY, OBJECT, RECORD, TABLE, TYPES};
use crate::btf::{Btf, lacks};
use crate::error::Error;
use crate::root::Root;

/// The counters to read of each group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counters {
    /// CPU time in nanoseconds: one number.
    CpuTime,
    /// Pages in use, their peak, failed charges, then the events `low`, `high`, `max`, `oom` and
    /// `oom_kill`: eight numbers.
    Memory,
}

/// Memory events in the order of the record, by the kernel's names.
const EVENTS: [&str; 5] = ["MEMCG_LOW", "MEMCG_HIGH", "MEMCG_MAX", "MEMCG_OOM", "MEMCG_OOM_KILL"];

/// The first words of a record: the group's id, and whether the controller is enabled in it.
const HEAD: usize = 2;

/// `bpf_probe_read_kernel` of linux/bpf.h.
const PROBE_READ_KERNEL: i32 = 113;

/// Offsets in the frame: the controller's state, the base address of per-CPU numbers, and one number.
const STATE: i32 = -8;
const BASE: i32 = -16;
const NUMBER: i32 = -24;

/// The register with the address to read.
const ADDRESS: u8 = 3;

/// A loaded iterator.
#[derive(Debug)]
pub struct GroupIterator {
    iterator: BpfIterator,
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

/// The id of the group with this directory.
pub fn id(root: &Root, directory: &Path) -> Result<u64, Error> {
    std::fs::metadata(root.resolve(directory))
        .map(|metadata| metadata.ino())
        .map_err(|cause| Error::new("stat", directory, &cause))
}

impl GroupIterator {
    /// Loads an iterator over the group of this directory and its descendants, for up to `room` groups.
    /// The error names what is missing: privileges, types, Linux 6.1, or the controller.
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
            let layout = Layout::new(&btf, counters, fetch).map_err(lacks)?;
            let shape = (HEAD + layout.numbers(), room);
            let describe = |code: &mut Code| layout.describe(code, table.len() as i32);
            let iteration = (target, Iteration::PerObject);
            let iterator = BpfIterator::open(iteration, Some(&below), &table, shape, describe)?;
            Ok(Self { iterator, counters })
        };
        // A kernel that rejects the faster program gets the other one.
        match Fetch::new(&btf) {
            Fetch::Helper => load(Fetch::Helper),
            cast => load(cast).or_else(|_: Error| load(Fetch::Helper)),
        }
    }

    /// The counters that it reads.
    #[must_use]
    pub const fn counters(&self) -> Counters {
        self.counters
    }

    /// Reads all groups; those without the controller are left out.
    pub fn read(&mut self) -> Result<impl Iterator<Item = Group<'_>>, Error> {
        if !self.iterator.walk()? {
            let why = "there are more groups than the iterator has room for";
            return Err(Error::unexpected("read an iterator of", Path::new(TYPES), why));
        }
        let records = self.iterator.records().filter(|record| record.get(1) != Some(&0));
        Ok(records.map(|record| Group { id: record[0], numbers: &record[HEAD..] }))
    }
}

/// Offsets of the values in this kernel's structures.
struct Layout {
    /// `cgroup.kn`, `kernfs_node.id`, and the offset of the controller's state in a group.
    node: i32,
    id: i32,
    state: i32,
    values: Values,
    fetch: Fetch,
}

/// The values read from the controller's state.
enum Values {
    /// A pointer to one number per CPU.
    EachCpu(i32),
    /// The numbers themselves, at these offsets.
    Inline(Vec<i32>),
}

impl Layout {
    /// The error names the first structure or field that this kernel lacks.
    fn new(btf: &Btf<'_>, counters: Counters, fetch: Fetch) -> Result<Self, &'static str> {
        let field = |structure: &'static str, path: &'static str| {
            let kind = btf.structure(structure).ok_or(structure)?;
            btf.field(kind, path).map(|field| field.offset as i32).ok_or(path)
        };
        let constant = |name: &'static str| btf.constant(name).ok_or(name);
        let (subsystem, values) = match counters {
            Counters::CpuTime => {
                let pointer = field("cpuacct", "cpuusage")? - field("cpuacct", "css")?;
                (constant("cpuacct_cgrp_id")?, Values::EachCpu(pointer))
            }
            Counters::Memory => {
                let css = field("mem_cgroup", "css")?;
                let counter = field("mem_cgroup", "memory")? - css;
                let events = field("mem_cgroup", "memory_events")? - css;
                let mut offsets = vec![
                    counter + field("page_counter", "usage")?,
                    counter + field("page_counter", "watermark")?,
                    counter + field("page_counter", "failcnt")?,
                ];
                for event in EVENTS {
                    offsets.push(events + 8 * constant(event)?);
                }
                (constant("memory_cgrp_id")?, Values::Inline(offsets))
            }
        };
        Ok(Self {
            node: field("cgroup", "kn")?,
            id: field("kernfs_node", "id")?,
            state: field("cgroup", "subsys")? + 8 * subsystem,
            values,
            fetch,
        })
    }

    fn numbers(&self) -> usize {
        match &self.values {
            Values::EachCpu(_) => 1,
            Values::Inline(offsets) => offsets.len(),
        }
    }

    /// Writes the record of a group.
    fn describe(&self, code: &mut Code, cpus: i32) {
        code.load(8, R1, OBJECT, self.node);
        code.load(8, R1, R1, self.id);
        code.store(RECORD, 0, R1);
        code.copy(ADDRESS, OBJECT);
        code.add_number(ADDRESS, self.state);
        self.fetch.fetch(code);
        code.store(R10, STATE, R1);
        code.store(RECORD, 8, R1);
        match &self.values {
            Values::EachCpu(pointer) => self.add_up(code, *pointer, cpus),
            Values::Inline(offsets) => {
                for (index, offset) in offsets.iter().enumerate() {
                    code.load(8, ADDRESS, R10, STATE);
                    code.add_number(ADDRESS, *offset);
                    self.fetch.fetch(code);
                    code.store(RECORD, ((HEAD + index) * 8) as i32, R1);
                }
            }
        }
    }

    /// Sums a number over all CPUs. The table contains the distance of each CPU's memory from the
    /// pointer.
    fn add_up(&self, code: &mut Code, pointer: i32, cpus: i32) {
        const CPU: u8 = 6;
        const SUM: u8 = OBJECT;
        code.load(8, ADDRESS, R10, STATE);
        code.add_number(ADDRESS, pointer);
        self.fetch.fetch(code);
        code.store(R10, BASE, R1);
        code.set(SUM, 0);
        code.set(CPU, 0);
        code.label("next CPU");
        code.copy(2, CPU);
        code.multiply(2, 8);
        code.copy(R1, MEMORY);
        code.add(R1, 2);
        code.load(8, ADDRESS, R1, TABLE);
        code.load(8, R1, R10, BASE);
        code.add(ADDRESS, R1);
        self.fetch.fetch(code);
        code.add(SUM, R1);
        code.add_number(CPU, 1);
        code.jump_if_below(CPU, cpus, "next CPU");
        code.store(RECORD, (HEAD * 8) as i32, SUM);
    }
}

/// How to read 8 bytes from an address. Invalid addresses read as 0.
#[derive(Debug, Clone, Copy)]
enum Fetch {
    /// By a helper that copies them.
    Helper,
    /// By a load instruction, after casting the address to a structure that begins with a number
    /// (`bpf_rdonly_cast`, 6.2): a tenth of the time.
    Cast { function: u32, structure: u32 },
}

impl Fetch {
    fn new(btf: &Btf<'_>) -> Self {
        let function = btf.function("bpf_rdonly_cast");
        match function.zip(btf.structure("kernel_cpustat")) {
            Some((function, structure)) => Self::Cast { function, structure },
            None => Self::Helper,
        }
    }

    /// Loads the value at [`ADDRESS`] into register 1.
    fn fetch(self, code: &mut Code) {
        match self {
            Self::Helper => {
                read(code, (R10, NUMBER));
                code.load(8, R1, R10, NUMBER);
            }
            Self::Cast { function, structure } => {
                code.copy(R1, ADDRESS);
                code.set(2, structure as i32);
                code.call_kernel(function);
                code.load(8, R1, R0, 0);
            }
        }
    }
}

/// Copies 8 bytes from the address in [`ADDRESS`], or 0 for an invalid address.
fn read(code: &mut Code, (base, offset): (u8, i32)) {
    code.copy(R1, base);
    code.add_number(R1, offset);
    code.set(2, 8);
    code.call(PROBE_READ_KERNEL);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The mount point of this controller's cgroup v1 hierarchy.
    fn directory(root: &Root, controller: &str) -> Option<std::path::PathBuf> {
        let mounts = root.read("/proc/self/mountinfo").ok()?;
        let mounts = crate::parse::mountinfo::parse(&mounts);
        mounts.into_iter().find(|mount| mount.is_v1_of(controller)).map(|mount| mount.target)
    }

    /// The iterator's numbers lie between the values of the files read before and after, or the error
    /// has a hint.
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
                let group_id = id(&root, &top.join(&name)).unwrap();
                let group = iterator.read().unwrap().find(|group| group.id == group_id);
                let Some(number_read) = group.map(|group| group.numbers[0] * scale) else {
                    continue;
                };
                let Some(after) = number(&name) else { continue };
                // A group's memory goes up and down, CPU time only up.
                if counters == Counters::CpuTime || before == after {
                    assert!(
                        (before..=after).contains(&number_read),
                        "{name}: {before} {number_read} {after}"
                    );
                }
            }
        }
    }
}
