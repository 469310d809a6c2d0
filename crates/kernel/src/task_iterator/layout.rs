//! The program that the kernel runs for each thread: it copies fields to a record.

use crate::bpf_code::{Code, R1};
use crate::bpf_iterator::{OBJECT, RECORD};
use crate::btf::Btf;

/// Numbers per record.
const NUMBERS_OF: usize = 12;

/// Words per record: the numbers and the name.
pub(super) const WORDS: usize = NUMBERS_OF + 2;

/// Location of the fields of a task in this kernel: offset and size, in the order of the record.
#[derive(Debug, Clone, Copy)]
pub(super) struct Layout {
    numbers: [(u32, u32); NUMBERS_OF],
    name: u32,
    /// Offset of the parent pointer in a task, and of the process id in the parent.
    parent: (u32, u32),
}

/// The numbers of a record, with alternative field names of older kernels.
const NUMBERS: [&[&str]; NUMBERS_OF] = [
    &["pid"],
    &["tgid"],
    // The parent is reached through a pointer.
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

/// The index of the parent's process id.
const PARENT: usize = 2;

impl Layout {
    /// Finds all fields; the error names the first one that this kernel lacks.
    pub(super) fn new(btf: &Btf<'_>) -> Result<Self, &'static str> {
        let task = btf.structure("task_struct").ok_or("task_struct")?;
        let mut numbers = [(0, 0); NUMBERS_OF];
        for (number, names) in numbers.iter_mut().zip(NUMBERS) {
            let field = names.iter().find_map(|name| {
                let field = btf.field(task, name)?;
                let size = btf.size(field.kind).filter(|size| [1, 2, 4, 8].contains(size))?;
                Some((field.offset, size))
            });
            *number = field.ok_or(names[0])?;
        }
        let at = |path: &'static str| btf.field(task, path).map(|field| field.offset).ok_or(path);
        Ok(Self { numbers, name: at("comm")?, parent: (at("real_parent")?, at("tgid")?) })
    }
}

/// Writes the record of a task.
pub(super) fn describe(code: &mut Code, layout: &Layout) {
    for (index, (offset, size)) in layout.numbers.iter().enumerate() {
        if index == PARENT {
            code.load(8, R1, OBJECT, layout.parent.0 as i32);
            code.load(4, R1, R1, layout.parent.1 as i32);
        } else {
            code.load(*size, R1, OBJECT, *offset as i32);
        }
        code.store(RECORD, index as i32 * 8, R1);
    }
    for half in 0..2 {
        code.load(8, R1, OBJECT, layout.name as i32 + 8 * half);
        code.store(RECORD, (NUMBERS_OF as i32 + half) * 8, R1);
    }
}
