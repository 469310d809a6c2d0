//! An object of iterators whose maps exist and whose instructions fit the running kernel. Its programs are loaded one
//! by one: of two that do the same, a kernel may lack what one of them calls.

use std::collections::BTreeMap;

use assay_kernel::bpf_iterator::{BpfIterator, Scope};
use assay_kernel::bpf_map::BpfMap;
use assay_kernel::bpf_routine::BpfRoutine;
use assay_kernel::{Error, Root};
use aya_obj::Object;
use aya_obj::btf::BtfKind;

use crate::fitted::{Types, damaged};
use crate::kernel_functions::call_kernel_functions;
use crate::object::{create_maps, link, word};

/// An object, the kernel's types, and the maps.
pub(crate) struct Prepared<'r> {
    object: Object,
    types: Types<'r>,
    maps: BTreeMap<String, BpfMap>,
}

impl<'r> Prepared<'r> {
    /// Creates the maps, with these numbers of entries, for an object that fits the kernel. `constants` are the values of
    /// variables of the type `const volatile __u32`.
    pub(crate) fn new(
        root: &'r Root,
        object: &'static [u8],
        entries: &[(&str, u32)],
        constants: &[(&str, u32)],
    ) -> Result<Self, Error> {
        let types = Types::new(root);
        let mut object = types.fit(object)?;
        let constants: Vec<_> =
            constants.iter().map(|(name, value)| (*name, value.to_ne_bytes())).collect();
        let bytes = constants.iter().map(|(name, bytes)| (*name, (&bytes[..], true))).collect();
        object.patch_map_data(bytes).map_err(|cause| damaged(&cause))?;
        for (name, entries) in entries {
            let map = object.maps.get_mut(*name).ok_or_else(|| damaged(name))?;
            map.set_max_entries(*entries);
        }
        let maps = create_maps(&object)?;
        link(&mut object, &maps)?;
        Ok(Self { object, types, maps })
    }

    /// The map of this name.
    pub(crate) fn map(&self, name: &'static str) -> Result<&BpfMap, Error> {
        self.maps.get(name).ok_or_else(|| damaged(&name))
    }

    /// Takes the map of this name, which has to live until all programs that use it are loaded.
    pub(crate) fn take_map(&mut self, name: &'static str) -> Result<BpfMap, Error> {
        self.maps.remove(name).ok_or_else(|| damaged(&name))
    }

    /// Loads a program of the object as an iterator of this kind: `task`, `cgroup`, `bpf_map_elem`.
    pub(crate) fn iterator(
        &self,
        program: &str,
        kind: &str,
        scope: Scope<'_>,
    ) -> Result<BpfIterator, Error> {
        let name = format!("bpf_iter_{kind}");
        let target = self.types.number("find", &name, BtfKind::Func)?;
        BpfIterator::open(program, target, &self.instructions(program)?, scope)
    }

    /// Loads a program of the object that is run by a system call.
    pub(crate) fn routine(&self, program: &str) -> Result<BpfRoutine, Error> {
        BpfRoutine::load(program, &self.instructions(program)?)
    }

    fn instructions(&self, program: &str) -> Result<Vec<u64>, Error> {
        let key = self.object.programs.get(program).map(aya_obj::Program::function_key);
        let function = key.and_then(|key| self.object.functions.get(&key));
        let mut instructions = function.ok_or_else(|| damaged(&program))?.instructions.clone();
        call_kernel_functions(&mut instructions, &self.types)?;
        Ok(instructions.iter().map(word).collect())
    }
}

/// What reads all objects of a kind: a program with a loop of its own, or an iterator of the kernel.
#[derive(Debug)]
pub(crate) enum Reading {
    AtOnce(BpfRoutine),
    Each(BpfIterator),
}

impl Reading {
    pub(crate) fn run(&self) -> Result<(), Error> {
        match self {
            Self::AtOnce(routine) => routine.run(),
            Self::Each(iterator) => iterator.walk(),
        }
    }
}
