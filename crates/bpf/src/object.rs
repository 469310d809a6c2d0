//! Loading an object: maps, relocation against the running kernel, attaching.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use assay_sys::kernel::bpf_info::Ran;
use assay_sys::kernel::bpf_iterator::BpfIterator;
use assay_sys::kernel::bpf_map::{BpfMap, MapShape};
use assay_sys::kernel::bpf_sampler::attach_sampler;
use assay_sys::kernel::bpf_tracepoint::{self, Attached};
use assay_sys::kernel::{Error, Root};
use aya_obj::btf::BtfKind;
use aya_obj::generated::{bpf_insn, bpf_map_type};
use aya_obj::{EbpfSectionKind, Object, ProgramSection};

use crate::fitted::{Types, damaged};

/// The CPU on whose clock programs in the section `perf_event` run, and how often.
const SAMPLING_CPU: i32 = 0;
const SAMPLING_NS: u64 = 1_000_000;

/// An object whose maps exist and whose programs run at their tracepoints. Everything goes when this value
/// is dropped or the process ends.
#[derive(Debug)]
pub struct Programs {
    maps: BTreeMap<String, BpfMap>,
    attached: Vec<Attached>,
    iterators: BTreeMap<String, BpfIterator>,
}

/// A program that is ready for this kernel.
#[derive(Debug)]
struct Program {
    event: Event,
    instructions: Vec<u64>,
}

/// When a program runs.
#[derive(Debug)]
enum Event {
    /// At a tracepoint, with the BTF id of its type.
    Tracepoint(String, u32),
    /// Every [`SAMPLING_NS`].
    Clock,
    /// Once for each object of a kind, on demand, with the BTF id of its function.
    Walk(String, u32),
}

impl Programs {
    /// Loads and attaches every program of an object.
    ///
    /// # Errors
    /// The kernel has no types (BTF), lacks a tracepoint, or refuses a map or program; the error names it.
    pub fn load(root: &Root, object: &'static [u8]) -> Result<Self, Error> {
        Self::load_sized(root, object, &[])
    }

    /// The same; maps that are named here have room for this many entries.
    ///
    /// # Errors
    /// Those of `load`, or the object has no such map.
    pub fn load_sized(
        root: &Root,
        object: &'static [u8],
        sizes: &[(&str, u32)],
    ) -> Result<Self, Error> {
        let types = Types::new(root);
        let mut object = types.fit(object)?;
        for (name, entries) in sizes {
            let map = object.maps.get_mut(*name).ok_or_else(|| no_map(name))?;
            map.set_max_entries(*entries);
        }
        let maps = create_maps(&object)?;
        let programs = prepare(&mut object, &types, &maps)?;
        let mut loaded = Self { maps, attached: Vec::new(), iterators: BTreeMap::new() };
        programs.iter().try_for_each(|program| loaded.attach(program))?;
        Ok(loaded)
    }

    fn attach(&mut self, Program { event, instructions }: &Program) -> Result<(), Error> {
        match event {
            Event::Tracepoint(name, target) => {
                self.attached.push(bpf_tracepoint::attach(name, *target, instructions)?);
            }
            Event::Clock => {
                self.attached.push(attach_sampler(SAMPLING_CPU, SAMPLING_NS, instructions)?);
            }
            Event::Walk(kind, target) => {
                let iterator = BpfIterator::load(kind, *target, instructions)?;
                self.iterators.insert(kind.clone(), iterator);
            }
        }
        Ok(())
    }

    /// Runs the program in the section `iter/KIND` for each object of the kind.
    ///
    /// # Errors
    /// The object has no such program, or the kernel refuses to run it.
    pub fn walk(&self, kind: &str) -> Result<(), Error> {
        let none = || Error::unexpected("find the iterator", Path::new(kind), MISSING);
        self.iterators.get(kind).ok_or_else(none)?.walk()
    }

    /// What all programs together have done so far; `None` if the kernel does not tell.
    #[must_use]
    pub fn ran(&self) -> Option<Ran> {
        self.attached.iter().map(Attached::ran).sum()
    }

    /// A map by the name in its source; `.bss` has all variables.
    ///
    /// # Errors
    /// The object has no such map.
    pub fn map(&self, name: &str) -> Result<&BpfMap, Error> {
        self.maps.get(name).ok_or_else(|| no_map(name))
    }
}

const MISSING: &str = "the object does not define it";

fn no_map(name: &str) -> Error {
    Error::unexpected("find the map", Path::new(name), MISSING)
}

fn create_maps(object: &Object) -> Result<BTreeMap<String, BpfMap>, Error> {
    let create = |(name, map): (&String, &aya_obj::Map)| {
        let is_variables = map.section_kind() != EbpfSectionKind::BtfMaps;
        let array = bpf_map_type::BPF_MAP_TYPE_ARRAY as u32;
        let shape = MapShape {
            kind: if is_variables { array } else { map.map_type() },
            key_size: map.key_size(),
            value_size: map.value_size(),
            entries: map.max_entries(),
            flags: map.map_flags(),
        };
        let created = BpfMap::create(shape)?;
        Ok((name.clone(), created))
    };
    object.maps.iter().map(create).collect()
}

/// Gives the instructions the numbers of the maps.
fn prepare(
    object: &mut Object,
    types: &Types<'_>,
    maps: &BTreeMap<String, BpfMap>,
) -> Result<Vec<Program>, Error> {
    link(object, maps)?;
    let mut programs: Vec<_> = object.programs.iter().collect();
    programs.sort_by_key(|(name, _)| turn(name));
    let prepare = |(name, program): (&String, &aya_obj::Program)| {
        let function =
            object.functions.get(&program.function_key()).ok_or_else(|| damaged(name))?;
        let event = match program.section {
            ProgramSection::PerfEvent => Event::Clock,
            // A program has the name of its tracepoint, or of the kind.
            ProgramSection::Iter { .. } => {
                let function = format!("bpf_iter_{name}");
                let target = types.number("find the iterator", &function, BtfKind::Func)?;
                Event::Walk(name.clone(), target)
            }
            _ => Event::Tracepoint(name.clone(), tracepoint_type(types, name)?),
        };
        Ok(Program { event, instructions: function.instructions.iter().map(word).collect() })
    };
    programs.into_iter().map(prepare).collect()
}

/// In which order a program is attached: those of the ends of interrupts first. An interrupt that began unseen and ends is
/// nothing, one that begins and whose end is not seen would never end.
fn turn(name: &str) -> (bool, &str) {
    (!name.ends_with("_exit"), name)
}

/// Puts the numbers of the maps, and functions that are called, into the instructions.
fn link(object: &mut Object, maps: &BTreeMap<String, BpfMap>) -> Result<(), Error> {
    let shapes = object.maps.clone();
    let numbered = shapes.iter().filter_map(|(name, shape)| {
        maps.get(name).map(|map| (name.as_str(), map.descriptor(), shape))
    });
    let text: HashSet<usize> = object.functions.keys().map(|(section, _)| *section).collect();
    object.relocate_maps(numbered, &text).map_err(|cause| damaged(&cause))?;
    object.relocate_calls(&text).map_err(|cause| damaged(&cause))
}

fn tracepoint_type(types: &Types<'_>, tracepoint: &str) -> Result<u32, Error> {
    let name = format!("btf_trace_{tracepoint}");
    types.number("find the tracepoint", &name, BtfKind::Typedef)
}

/// An instruction as the kernel reads it (Documentation/bpf/instruction-set.rst).
fn word(instruction: &bpf_insn) -> u64 {
    let registers = instruction.src_reg() << 4 | instruction.dst_reg();
    let [low, high] = instruction.off.to_le_bytes();
    let [a, b, c, d] = instruction.imm.to_le_bytes();
    u64::from_le_bytes([instruction.code, registers, low, high, a, b, c, d])
}

#[cfg(test)]
mod tests {
    use super::turn;

    #[test]
    fn ends_of_interrupts_are_attached_before_their_beginnings() {
        let mut names = ["softirq_entry", "irq_handler_entry", "softirq_exit", "irq_handler_exit"];
        names.sort_by_key(|name| turn(name));
        let exits = &names[..2];
        assert!(exits.iter().all(|name| name.ends_with("_exit")), "{names:?}");
    }
}
