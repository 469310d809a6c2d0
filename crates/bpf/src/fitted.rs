//! Objects whose offsets fit the running kernel. Types of the kernel take tens of milliseconds to read and
//! to search, and stay the same as long as it runs: each object is fitted once per process.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use assay_sys::kernel::btf::{self, ChangedField};
use assay_sys::kernel::{Error, Root};
use aya_obj::Object;
use aya_obj::btf::{Btf, BtfKind};

use crate::field_types::changed;

/// The kernel's own types (BTF).
const TYPES: &str = "/sys/kernel/btf/vmlinux";

/// Objects by their bytes as they were committed.
static OBJECTS: Mutex<BTreeMap<&'static [u8], Object>> = Mutex::new(BTreeMap::new());

/// Numbers of types by their names. No name is asked for with two kinds.
static NUMBERS: Mutex<BTreeMap<String, u32>> = Mutex::new(BTreeMap::new());

/// The kernel's types, which are read only for what is not known yet.
pub(crate) struct Types<'r> {
    root: &'r Root,
    parsed: OnceCell<Btf>,
}

impl<'r> Types<'r> {
    pub(crate) fn new(root: &'r Root) -> Self {
        Self { root, parsed: OnceCell::new() }
    }

    /// An object without maps that fits this kernel.
    pub(crate) fn fit(&self, bytes: &'static [u8]) -> Result<Object, Error> {
        if let Some(object) = self.known(&OBJECTS).and_then(|objects| objects.get(bytes).cloned()) {
            return Ok(object);
        }
        let mut object = Object::parse(bytes).map_err(|cause| damaged(&cause))?;
        if let Some(changed) = changed(bytes, &btf::read(self.root)?) {
            return Err(unfit(&changed));
        }
        object.relocate_btf(self.parsed()?).map_err(|cause| damaged(&cause))?;
        if let Some(mut objects) = self.known(&OBJECTS) {
            objects.insert(bytes, object.clone());
        }
        Ok(object)
    }

    /// The number of a type. The error says that the kernel lacks it, after `action`.
    pub(crate) fn number(
        &self,
        action: &'static str,
        name: &str,
        kind: BtfKind,
    ) -> Result<u32, Error> {
        if let Some(number) = self.known(&NUMBERS).and_then(|numbers| numbers.get(name).copied()) {
            return Ok(number);
        }
        let number = self.parsed()?.id_by_type_name_kind(name, kind).map_err(|cause| {
            Error::unexpected(action, Path::new(name), format!("this kernel lacks it: {cause}"))
        })?;
        if let Some(mut numbers) = self.known(&NUMBERS) {
            numbers.insert(name.to_owned(), number);
        }
        Ok(number)
    }

    /// What is known of the running kernel; of a tree made up for a test nothing is.
    fn known<T>(&self, cache: &'static Mutex<T>) -> Option<MutexGuard<'static, T>> {
        // A panic elsewhere leaves no half of an entry.
        self.root.is_real().then(|| cache.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn parsed(&self) -> Result<&Btf, Error> {
        if let Some(parsed) = self.parsed.get() {
            return Ok(parsed);
        }
        let parsed = Btf::parse(&btf::read(self.root)?, Default::default())
            .map_err(|cause| Error::unexpected("parse", Path::new(TYPES), cause.to_string()))?;
        Ok(self.parsed.get_or_init(|| parsed))
    }
}

/// The programs would read something else than they expect.
fn unfit(changed: &ChangedField) -> Error {
    let ChangedField { field, compiled, found } = changed;
    let why = format!(
        "the eBPF programs read it as `{compiled}`, and this kernel has `{found}`: what they count would be wrong; use a version of \
         assay that knows this kernel"
    );
    Error::unexpected("read the kernel's field", Path::new(field), why)
}

pub(crate) fn damaged(cause: &dyn fmt::Display) -> Error {
    Error::unexpected("prepare", Path::new("the eBPF object"), cause.to_string())
}
