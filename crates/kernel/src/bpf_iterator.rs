//! Iterators of eBPF (Documentation/bpf/bpf_iterators.rst; 5.8): the kernel walks over things of a
//! kind, and a program of ours writes a record of each into memory that this process reads. One
//! system call begins a walk and one does it, however many things there are.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::Path;

use crate::bpf::{call, load_with};
use crate::bpf_code::{ANSWER, Address, Code, FIRST, FRAME};
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

/// `union bpf_iter_link_info`: what an iterator is limited to (6.1).
#[repr(C, align(8))]
pub(crate) struct Limit([u32; 4]);

impl Limit {
    /// A group and all groups inside it, a group before those inside it.
    pub(crate) fn directory(directory: &OwnedFd) -> Self {
        const BPF_CGROUP_ITER_DESCENDANTS_PRE: u32 = 2;
        Self([BPF_CGROUP_ITER_DESCENDANTS_PRE, directory.as_raw_fd() as u32, 0, 0])
    }

    /// One thread.
    pub(crate) const fn thread(tid: u32) -> Self {
        Self([tid, 0, 0, 0])
    }
}

/// How the things are gone over.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Way {
    /// The kernel calls the program for each.
    Called,
    /// The kernel calls it once, and it goes over them in a loop of its own.
    Loop(Functions),
}

/// Functions of the kernel that a loop is made of, by their type numbers
/// (Documentation/bpf/kfuncs.rst, "open-coded iterators"; 6.7 has one over tasks).
#[derive(Debug, Clone, Copy)]
pub(crate) struct Functions {
    pub(crate) new: u32,
    pub(crate) next: u32,
    pub(crate) destroy: u32,
    /// Bytes of what they keep in the frame.
    pub(crate) state: i32,
    /// What `new` is told.
    pub(crate) flags: i32,
}

/// Registers of the frame that [`BpfIterator::open`] puts around a program: the thing that is
/// described, and where its record goes.
pub(crate) const THING: u8 = 7;
pub(crate) const RECORD: u8 = 9;
/// The memory.
pub(crate) const MEMORY: u8 = 8;
/// The context, which a program may overwrite.
const CONTEXT: u8 = 6;

/// An iterator that stays loaded.
#[derive(Debug)]
pub(crate) struct BpfIterator {
    memory: MappedArray,
    link: OwnedFd,
    _program: OwnedFd,
    /// Where the first record is, and the words of each.
    first: usize,
    width: usize,
}

impl BpfIterator {
    /// Loads an iterator with room for so many records of so many words. `target` is the type
    /// number of the kernel's iterator; `table` is for the program
    /// to read; `body` writes a record of [`THING`] to [`RECORD`].
    pub(crate) fn open(
        (target, way): (u32, Way),
        limit: Option<&Limit>,
        table: &[u64],
        (width, room): (usize, usize),
        body: impl FnOnce(&mut Code),
    ) -> Result<Self, Error> {
        let first = HEAD + table.len();
        let mut memory = MappedArray::new(first + width * room)
            .map_err(|cause| explain("make memory for an iterator of", &cause))?;
        memory.fill(HEAD, table);
        let code = framed(memory.descriptor(), way, first, (width, room), body);
        let program = load_with(BPF_PROG_TYPE_TRACING, BPF_TRACE_ITER, target, &code)
            .map_err(|cause| explain("load an iterator with", &cause))?;
        let link = Link {
            program: program.as_raw_fd() as u32,
            target: 0,
            attach: BPF_TRACE_ITER,
            flags: 0,
            info: limit.map_or(0, |limit| std::ptr::from_ref(limit) as u64),
            info_len: limit.map_or(0, |_| size_of::<Limit>() as u32),
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
/// null after the last.
fn framed(
    map: i32,
    way: Way,
    first: usize,
    shape: (usize, usize),
    body: impl FnOnce(&mut Code),
) -> Vec<u64> {
    let mut code = Code::default();
    code.copy(CONTEXT, FIRST);
    code.load(8, THING, CONTEXT, 8);
    code.jump_if_zero(THING, "end");
    code.address(MEMORY, Address::MapValue(map));
    if let Way::Loop(functions) = way {
        begin_loop(&mut code, &functions);
    }
    begin_record(&mut code, first, shape);
    body(&mut code);
    if let Way::Loop(_) = way {
        code.go_on("next");
    } else {
        code.go_on("end");
    }
    code.label("full");
    code.set(FIRST, 1);
    code.store(MEMORY, 8, FIRST);
    if let Way::Loop(functions) = way {
        code.label("last");
        state(&mut code, &functions);
        code.call_kernel(functions.destroy);
    }
    code.label("end");
    code.exit(0);
    code.finish()
}

/// Up to where there is a thing to describe.
fn begin_loop(code: &mut Code, functions: &Functions) {
    state(code, functions);
    code.set(2, 0);
    code.set(3, functions.flags);
    code.call_kernel(functions.new);
    code.label("next");
    state(code, functions);
    code.call_kernel(functions.next);
    code.jump_if_zero(ANSWER, "last");
    code.copy(THING, ANSWER);
}

fn state(code: &mut Code, functions: &Functions) {
    code.copy(FIRST, FRAME);
    code.add_number(FIRST, -functions.state);
}

/// The next record that is free. How many there are is kept in memory and in no register, since
/// the kernel would follow its value through every turn of a loop.
fn begin_record(code: &mut Code, first: usize, (width, room): (usize, usize)) {
    const COUNT: u8 = FIRST;
    const OFFSET: u8 = 2;
    code.load(8, COUNT, MEMORY, 0);
    code.jump_if_at_least(COUNT, room as i32, "full");
    code.copy(OFFSET, COUNT);
    code.multiply(OFFSET, (width * 8) as i32);
    code.copy(RECORD, MEMORY);
    code.add_number(RECORD, (first * 8) as i32);
    code.add(RECORD, OFFSET);
    code.add_number(COUNT, 1);
    code.store(MEMORY, 0, COUNT);
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
