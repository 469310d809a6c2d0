//! Iterators of eBPF (Documentation/bpf/bpf_iterators.rst; 5.8): the kernel walks over things of a
//! kind, and a program of ours writes a record of each into memory that this process reads. One
//! system call begins a walk and one does it, however many things there are.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::Path;

use crate::bpf::{call, load_with};
use crate::bpf_code::{Address, Code, FIRST};
use crate::error::Error;
use crate::mapped_array::MappedArray;

/// Types and commands of bpf(2), from linux/bpf.h.
const BPF_PROG_TYPE_TRACING: u32 = 26;
const BPF_TRACE_ITER: u32 = 28;
const BPF_LINK_CREATE: libc::c_long = 28;
const BPF_ITER_CREATE: libc::c_long = 33;

/// Where the kernel shows its types.
pub(crate) const TYPES: &str = "/sys/kernel/btf/vmlinux";

/// The first words of the memory: how many records there are, and whether there was no room. Then
/// come what the program is to know, and the records.
const HEAD: usize = 2;

/// Where in the memory stands what the program is to know, bytes.
pub(crate) const TABLE: i32 = 8 * HEAD as i32;

/// `union bpf_attr` for BPF_LINK_CREATE of an iterator.
#[repr(C)]
struct Link {
    program: u32,
    target: u32,
    attach: u32,
    flags: u32,
    info: u64,
    info_len: u32,
    padding: u32,
}

/// `union bpf_attr` for BPF_ITER_CREATE.
#[repr(C)]
struct Create {
    link: u32,
    flags: u32,
}

/// `union bpf_iter_link_info` for an iterator over control groups (6.1).
#[repr(C)]
pub(crate) struct Below {
    order: u32,
    directory: u32,
    id: u64,
}

impl Below {
    /// A group and all groups inside it, a group before those inside it.
    pub(crate) fn directory(directory: &OwnedFd) -> Self {
        const BPF_CGROUP_ITER_DESCENDANTS_PRE: u32 = 2;
        let directory = directory.as_raw_fd() as u32;
        Self { order: BPF_CGROUP_ITER_DESCENDANTS_PRE, directory, id: 0 }
    }
}

/// Registers of the frame that [`Walker::open`] puts around a program: the thing that is
/// described, and where its record goes.
pub(crate) const THING: u8 = 7;
pub(crate) const RECORD: u8 = 9;
/// The memory.
pub(crate) const MEMORY: u8 = 8;
/// The context, which a program may overwrite.
const CONTEXT: u8 = 6;

/// An iterator that stays loaded.
#[derive(Debug)]
pub(crate) struct Walker {
    memory: MappedArray,
    link: OwnedFd,
    _program: OwnedFd,
    /// Where the first record is, and the words of each.
    first: usize,
    width: usize,
}

impl Walker {
    /// Loads an iterator with room for so many records of so many words. `target` is the type
    /// number of the kernel's iterator; `below` limits one over groups; `table` is for the program
    /// to read; `body` writes a record of [`THING`] to [`RECORD`].
    pub(crate) fn open(
        target: u32,
        below: Option<&Below>,
        table: &[u64],
        (width, room): (usize, usize),
        body: impl FnOnce(&mut Code),
    ) -> Result<Self, Error> {
        let first = HEAD + table.len();
        let mut memory = MappedArray::new(first + width * room)
            .map_err(|cause| explain("make memory for an iterator of", &cause))?;
        memory.fill(HEAD, table);
        let code = framed(memory.descriptor(), first, (width, room), body);
        let program = load_with(BPF_PROG_TYPE_TRACING, BPF_TRACE_ITER, target, &code)
            .map_err(|cause| explain("load an iterator with", &cause))?;
        let link = Link {
            program: program.as_raw_fd() as u32,
            target: 0,
            attach: BPF_TRACE_ITER,
            flags: 0,
            info: below.map_or(0, |below| std::ptr::from_ref(below) as u64),
            info_len: below.map_or(0, |_| size_of::<Below>() as u32),
            padding: 0,
        };
        let link =
            call(BPF_LINK_CREATE, &link).map_err(|cause| explain("link an iterator of", &cause))?;
        // SAFETY: BPF_LINK_CREATE has just returned this descriptor, and nobody else knows it.
        let link = unsafe { OwnedFd::from_raw_fd(link as i32) };
        Ok(Self { memory, link, _program: program, first, width })
    }

    /// Walks once. Returns whether there was room for all records.
    pub(crate) fn walk(&mut self) -> Result<bool, Error> {
        let request = Create { link: self.link.as_raw_fd() as u32, flags: 0 };
        let opened = call(BPF_ITER_CREATE, &request)
            .map_err(|cause| explain("begin an iterator of", &cause))?;
        // SAFETY: BPF_ITER_CREATE has just returned this descriptor, and nobody else knows it.
        let file = File::from(unsafe { OwnedFd::from_raw_fd(opened as i32) });
        self.memory
            .run(HEAD, || drive(file))
            .map_err(|cause| explain("read an iterator of", &cause))?;
        Ok(self.memory.words().get(1) == Some(&0))
    }

    /// The records of the last walk.
    pub(crate) fn records(&self) -> impl Iterator<Item = &[u64]> {
        let words = self.memory.words();
        let count = words.first().map_or(0, |count| *count as usize);
        let end = (self.first + count * self.width).min(words.len());
        words[self.first..end].chunks_exact(self.width)
    }
}

/// Reads to the end: the program writes elsewhere, so nothing is ever read.
fn drive(mut file: File) -> io::Result<()> {
    let mut nothing = [0; 64];
    loop {
        match file.read(&mut nothing) {
            Ok(0) => return Ok(()),
            Ok(_) => {}
            // The kernel rests after a million things (kernel/bpf/bpf_iter.c).
            Err(cause) if matches!(cause.raw_os_error(), Some(libc::EAGAIN | libc::EINTR)) => {}
            Err(cause) => return Err(cause),
        }
    }
}

/// The program around `body`: the context holds `struct bpf_iter_meta *` and the thing, which is
/// null after the last; the record is the next that is free.
fn framed(
    map: i32,
    first: usize,
    (width, room): (usize, usize),
    body: impl FnOnce(&mut Code),
) -> Vec<u64> {
    const COUNT: u8 = FIRST;
    const OFFSET: u8 = 2;
    let mut code = Code::default();
    code.copy(CONTEXT, FIRST);
    code.load(8, THING, CONTEXT, 8);
    code.jump_if_zero(THING, "end");
    code.address(MEMORY, Address::MapValue(map));
    code.load(8, COUNT, MEMORY, 0);
    code.jump_if_at_least(COUNT, room as i32, "full");
    code.copy(OFFSET, COUNT);
    code.multiply(OFFSET, (width * 8) as i32);
    code.copy(RECORD, MEMORY);
    code.add_number(RECORD, (first * 8) as i32);
    code.add(RECORD, OFFSET);
    code.add_number(COUNT, 1);
    code.store(MEMORY, 0, COUNT);
    body(&mut code);
    code.label("end");
    code.exit(0);
    code.label("full");
    code.set(FIRST, 1);
    code.store(MEMORY, 8, FIRST);
    code.exit(0);
    code.finish()
}

pub(crate) fn explain(operation: &'static str, cause: &io::Error) -> Error {
    let error = Error::new(operation, Path::new(TYPES), cause);
    match cause.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => error.with_hint("it needs CAP_BPF and CAP_PERFMON"),
        Some(libc::ENOSYS | libc::EINVAL | libc::EOPNOTSUPP) => {
            error.with_hint("it needs a kernel with CONFIG_BPF_SYSCALL and CONFIG_BPF_EVENTS (5.8)")
        }
        _ => error,
    }
}
