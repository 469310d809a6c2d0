//! The program that the kernel runs for each thread: it copies fields into a record.

use crate::bpf_code::{Code, FIRST};
use crate::bpf_iterator::{RECORD, THING};
use crate::btf::Btf;

/// Numbers in one record.
const NUMBERS_OF: usize = 12;

/// Words of one record: the numbers and the name.
pub(super) const WORDS: usize = NUMBERS_OF + 2;

/// Where the fields of a task lie in this kernel: offset and bytes, in the order of the record.
#[derive(Debug, Clone, Copy)]
pub(super) struct Layout {
    numbers: [(u32, u32); NUMBERS_OF],
    name: u32,
    /// From a task to its parent, and from there to the parent's process id.
    parent: (u32, u32),
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
        Ok(Self { numbers, name: at("comm")?, parent: (at("real_parent")?, at("tgid")?) })
    }
}

/// Writes the record of a task.
pub(super) fn describe(code: &mut Code, layout: &Layout) {
    for (index, (offset, size)) in layout.numbers.iter().enumerate() {
        if index == PARENT {
            code.load(8, FIRST, THING, layout.parent.0 as i32);
            code.load(4, FIRST, FIRST, layout.parent.1 as i32);
        } else {
            code.load(*size, FIRST, THING, *offset as i32);
        }
        code.store(RECORD, index as i32 * 8, FIRST);
    }
    for half in 0..2 {
        code.load(8, FIRST, THING, layout.name as i32 + 8 * half);
        code.store(RECORD, (NUMBERS_OF as i32 + half) * 8, FIRST);
    }
}
