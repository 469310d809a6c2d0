//! The program that the kernel runs for each thread: it copies fields into a record and hands that
//! to the reader (`bpf_seq_write`).

use crate::btf::Btf;

/// Numbers in one record.
const NUMBERS_OF: usize = 12;

/// Bytes of one record: the numbers and the name.
pub(super) const RECORD: usize = NUMBERS_OF * 8 + 16;

/// Where the fields of a task lie in this kernel: offset and bytes, in the order of the record.
pub(super) struct Layout {
    numbers: [(u32, u32); NUMBERS_OF],
    name: u32,
    /// From a task to its parent, and from there to the parent's process id.
    parent: (u32, u32),
    /// The file in `struct bpf_iter_meta`.
    file: u32,
}

/// The numbers of a record, with the names that fields had in older kernels.
const NUMBERS: [&[&str]; NUMBERS_OF] = [
    &["pid"],
    &["tgid"],
    // The parent is reached by way of a pointer.
    &["tgid"],
    // Since 5.16 on all architectures; before that, arm64 kept it in the task.
    &["thread_info.cpu", "cpu"],
    // `state` until 5.13.
    &["__state", "state"],
    &["exit_state"],
    // `real_start_time` until 5.4.
    &["start_boottime", "real_start_time"],
    &["se.sum_exec_runtime"],
    // CONFIG_SCHED_INFO.
    &["sched_info.run_delay"],
    &["se.nr_migrations"],
    &["min_flt"],
    &["maj_flt"],
];

/// Which of the numbers is the parent's.
const PARENT: usize = 2;

impl Layout {
    /// Finds all fields; the error names the first that this kernel lacks.
    pub(super) fn of(btf: &Btf<'_>) -> Result<Self, &'static str> {
        let task = btf.structure("task_struct").ok_or("task_struct")?;
        let meta = btf.structure("bpf_iter_meta").ok_or("bpf_iter_meta")?;
        let mut numbers = [(0, 0); NUMBERS_OF];
        for (number, names) in numbers.iter_mut().zip(NUMBERS) {
            let found = names.iter().find_map(|name| {
                let field = btf.field(task, name)?;
                let size = btf.size(field.kind).filter(|size| [1, 2, 4, 8].contains(size))?;
                Some((field.offset, size))
            });
            *number = found.ok_or(names[0])?;
        }
        let at = |path: &'static str| btf.field(task, path).map(|field| field.offset).ok_or(path);
        Ok(Self {
            numbers,
            name: at("comm")?,
            parent: (at("real_parent")?, at("tgid")?),
            file: btf.field(meta, "seq").ok_or("bpf_iter_meta.seq")?.offset,
        })
    }
}

/// Registers: the context, the task, and two to move things with.
const ANSWER: u8 = 0;
const FIRST: u8 = 1;
const CONTEXT: u8 = 6;
const TASK: u8 = 7;
const FRAME: u8 = 10;

/// Operation codes: class, operation, size.
const LOAD: [(u32, u8); 4] = [(1, 0x71), (2, 0x69), (4, 0x61), (8, 0x79)];
const STORE_DOUBLE: u8 = 0x7b;
const MOVE: u8 = 0xbf;
const MOVE_NUMBER: u8 = 0xb7;
const ADD_NUMBER: u8 = 0x07;
const JUMP_IF_EQUAL: u8 = 0x15;
const CALL: u8 = 0x85;
const EXIT: u8 = 0x95;

/// `bpf_seq_write`, from linux/bpf.h.
const SEQ_WRITE: i32 = 127;

fn instruction(code: u8, destination: u8, source: u8, offset: i16, number: i32) -> u64 {
    u64::from(code)
        | u64::from(source << 4 | destination) << 8
        | u64::from(offset as u16) << 16
        | u64::from(number as u32) << 32
}

fn load(size: u32, destination: u8, source: u8, offset: u32) -> u64 {
    let code = LOAD.iter().find(|(bytes, _)| *bytes == size).map_or(0x79, |(_, code)| *code);
    instruction(code, destination, source, offset as i16, 0)
}

/// The program. The context holds `struct bpf_iter_meta *` and `struct task_struct *`, the latter
/// null after the last task.
pub(super) fn program(layout: &Layout) -> Vec<u64> {
    let mut body = Vec::new();
    for (index, (offset, size)) in layout.numbers.iter().enumerate() {
        if index == PARENT {
            body.push(load(8, FIRST, TASK, layout.parent.0));
            body.push(load(4, FIRST, FIRST, layout.parent.1));
        } else {
            body.push(load(*size, FIRST, TASK, *offset));
        }
        body.push(instruction(STORE_DOUBLE, FRAME, FIRST, place(index), 0));
    }
    for half in 0..2 {
        body.push(load(8, FIRST, TASK, layout.name + 8 * half as u32));
        body.push(instruction(STORE_DOUBLE, FRAME, FIRST, place(NUMBERS_OF + half), 0));
    }
    body.push(load(8, FIRST, CONTEXT, 0));
    body.push(load(8, FIRST, FIRST, layout.file));
    body.push(instruction(MOVE, 2, FRAME, 0, 0));
    body.push(instruction(ADD_NUMBER, 2, 0, 0, i32::from(place(0))));
    body.push(instruction(MOVE_NUMBER, 3, 0, 0, RECORD as i32));
    body.push(instruction(CALL, 0, 0, 0, SEQ_WRITE));
    let mut code = vec![
        instruction(MOVE, CONTEXT, FIRST, 0, 0),
        load(8, TASK, CONTEXT, 8),
        instruction(JUMP_IF_EQUAL, TASK, 0, body.len() as i16, 0),
    ];
    code.extend(body);
    code.push(instruction(MOVE_NUMBER, ANSWER, 0, 0, 0));
    code.push(instruction(EXIT, 0, 0, 0, 0));
    code
}

/// Where the `index`th number of the record lies below the frame pointer.
fn place(index: usize) -> i16 {
    index as i16 * 8 - RECORD as i16
}
