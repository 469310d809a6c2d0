//! eBPF iterators (Documentation/bpf/bpf_iterators.rst; 5.8): the kernel walks over objects of one
//! kind, and a program of ours writes a record of each into memory that this process reads. One system
//! call begins a walk and one performs it, however many objects there are.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::Path;

use crate::bpf::{call, load_with};
use crate::bpf_code::{Address, Code, R0, R1, R10};
use crate::error::Error;
use crate::mapped_array::MappedArray;

/// Types and commands of bpf(2), from linux/bpf.h.
const BPF_PROG_TYPE_TRACING: u32 = 26;
const BPF_TRACE_ITER: u32 = 28;
const BPF_LINK_CREATE: libc::c_long = 28;
const BPF_ITER_CREATE: libc::c_long = 33;

/// The kernel's own types (BTF).
pub const TYPES: &str = "/sys/kernel/btf/vmlinux";

/// The first words of the memory: the number of records, and whether there was not enough room. The
/// input table of the program follows, then the records.
const HEAD: usize = 2;

/// Offset of the program's input table in the memory, in bytes.
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

/// `union bpf_iter_link_info`: the scope of an iterator (6.1).
#[repr(C, align(8))]
pub(crate) struct Limit([u32; 4]);

impl Limit {
    /// A group and all its descendants, parents before children.
    pub(crate) fn directory(directory: &OwnedFd) -> Self {
        const BPF_CGROUP_ITER_DESCENDANTS_PRE: u32 = 2;
        Self([BPF_CGROUP_ITER_DESCENDANTS_PRE, directory.as_raw_fd() as u32, 0, 0])
    }

    /// One thread.
    pub(crate) const fn thread(tid: u32) -> Self {
        Self([tid, 0, 0, 0])
    }
}

/// How a program iterates.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Iteration {
    /// The kernel calls the program once per object.
    PerObject,
    /// The kernel calls it once, and it iterates in a loop of its own.
    Loop(Functions),
}

/// Kernel functions for such a loop, by their BTF ids (Documentation/bpf/kfuncs.rst, "open-coded
/// iterators"; 6.7 has one over tasks).
#[derive(Debug, Clone, Copy)]
pub(crate) struct Functions {
    pub(crate) new: u32,
    pub(crate) next: u32,
    pub(crate) destroy: u32,
    /// Bytes of their state in the frame.
    pub(crate) state: i32,
    /// The flags passed to `new`.
    pub(crate) flags: i32,
}

/// Registers set up by the frame that [`BpfIterator::open`] puts around a program: the current object,
/// and the address of its record.
pub(crate) const OBJECT: u8 = 7;
pub(crate) const RECORD: u8 = 9;
/// The address of the memory.
pub(crate) const MEMORY: u8 = 8;
/// The context, which a program may overwrite.
const CONTEXT: u8 = 6;

/// A loaded iterator.
#[derive(Debug)]
pub(crate) struct BpfIterator {
    memory: MappedArray,
    link: OwnedFd,
    _program: OwnedFd,
    /// Index of the first record, and the words per record.
    first: usize,
    width: usize,
}

impl BpfIterator {
    /// Loads an iterator for up to `room` records of `width` words each. `target` is the BTF id of the
    /// kernel's iterator; `table` is input of the program; `body` writes a record of [`OBJECT`] to
    /// [`RECORD`].
    pub(crate) fn open(
        (target, iteration): (u32, Iteration),
        limit: Option<&Limit>,
        table: &[u64],
        (width, room): (usize, usize),
        body: impl FnOnce(&mut Code),
    ) -> Result<Self, Error> {
        let first = HEAD + table.len();
        let mut memory = MappedArray::new(first + width * room)
            .map_err(|cause| explain("make memory for an iterator of", &cause))?;
        memory.fill(HEAD, table);
        let code = framed(memory.descriptor(), iteration, first, (width, room), body);
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
        // SAFETY: BPF_LINK_CREATE has just returned this descriptor, and it is not used elsewhere.
        let link = unsafe { OwnedFd::from_raw_fd(link as i32) };
        Ok(Self { memory, link, _program: program, first, width })
    }

    /// Walks once. Returns whether there was room for all records.
    pub(crate) fn walk(&mut self) -> Result<bool, Error> {
        let request = Create { link: self.link.as_raw_fd() as u32, flags: 0 };
        let opened = call(BPF_ITER_CREATE, &request)
            .map_err(|cause| explain("begin an iterator of", &cause))?;
        // SAFETY: BPF_ITER_CREATE has just returned this descriptor, and it is not used elsewhere.
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

/// Reads to the end: the program writes its output elsewhere, so the file is always empty.
fn drive(mut file: File) -> io::Result<()> {
    let mut nothing = [0; 64];
    loop {
        match file.read(&mut nothing) {
            Ok(0) => return Ok(()),
            Ok(_) => {}
            // The kernel pauses after a million objects (kernel/bpf/bpf_iter.c).
            Err(cause) if matches!(cause.raw_os_error(), Some(libc::EAGAIN | libc::EINTR)) => {}
            Err(cause) => return Err(cause),
        }
    }
}

/// The program around `body`: the context holds `struct bpf_iter_meta *` and the object, which is null
/// after the last.
fn framed(
    map: i32,
    iteration: Iteration,
    first: usize,
    shape: (usize, usize),
    body: impl FnOnce(&mut Code),
) -> Vec<u64> {
    let mut code = Code::default();
    code.copy(CONTEXT, R1);
    code.load(8, OBJECT, CONTEXT, 8);
    code.jump_if_zero(OBJECT, "end");
    code.address(MEMORY, Address::MapValue(map));
    if let Iteration::Loop(functions) = iteration {
        begin_loop(&mut code, &functions);
    }
    begin_record(&mut code, first, shape);
    body(&mut code);
    if let Iteration::Loop(_) = iteration {
        code.jump_to("next");
    } else {
        code.jump_to("end");
    }
    code.label("full");
    code.set(R1, 1);
    code.store(MEMORY, 8, R1);
    if let Iteration::Loop(functions) = iteration {
        code.label("last");
        state(&mut code, &functions);
        code.call_kernel(functions.destroy);
    }
    code.label("end");
    code.exit(0);
    code.finish()
}

/// The start of the loop, up to the point where there is an object to describe.
fn begin_loop(code: &mut Code, functions: &Functions) {
    state(code, functions);
    code.set(2, 0);
    code.set(3, functions.flags);
    code.call_kernel(functions.new);
    code.label("next");
    state(code, functions);
    code.call_kernel(functions.next);
    code.jump_if_zero(R0, "last");
    code.copy(OBJECT, R0);
}

fn state(code: &mut Code, functions: &Functions) {
    code.copy(R1, R10);
    code.add_number(R1, -functions.state);
}

/// Allocates the next free record. The count is kept in memory and not in a register, since the
/// verifier would track its value through every iteration of a loop.
fn begin_record(code: &mut Code, first: usize, (width, room): (usize, usize)) {
    const COUNT: u8 = R1;
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
