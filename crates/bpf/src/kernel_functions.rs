//! Calls of kernel functions (Documentation/bpf/kfuncs.rst), which aya-obj does not know: in C the function is a
//! constant (`programs/kernel_functions.h`), of which clang makes the call of a helper with that number.

use assay_kernel::Error;
use aya_obj::btf::BtfKind;
use aya_obj::generated::bpf_insn;

use crate::fitted::Types;

/// The functions by their numbers in `programs/kernel_functions.h`.
const FUNCTIONS: [&str; 9] = [
    "bpf_rdonly_cast",
    "bpf_iter_task_new",
    "bpf_iter_task_next",
    "bpf_iter_task_destroy",
    "bpf_rcu_read_lock",
    "bpf_rcu_read_unlock",
    "bpf_iter_num_new",
    "bpf_iter_num_next",
    "bpf_iter_num_destroy",
];

/// The upper half of such a constant. No helper has so high a number.
const PLACEHOLDER: i32 = 0x4b46;

/// BPF_JMP | BPF_CALL, and who is called (linux/bpf.h).
const CALL: u8 = 0x85;
const BPF_PSEUDO_KFUNC_CALL: u8 = 2;

/// Replaces the constants with the functions' numbers in the kernel's types. The error names the first function that
/// this kernel lacks.
pub(crate) fn call_kernel_functions(
    instructions: &mut [bpf_insn],
    types: &Types<'_>,
) -> Result<(), Error> {
    let calls = instructions
        .iter_mut()
        .filter(|one| one.code == CALL && one.src_reg() == 0 && one.imm >> 16 == PLACEHOLDER);
    for call in calls {
        let name = usize::try_from(call.imm & 0xffff).ok().and_then(|at| FUNCTIONS.get(at));
        let name = name.copied().unwrap_or("a function without a name");
        let number = types.number("find the kernel function", name, BtfKind::Func)?;
        call.imm = number as i32;
        call.set_src_reg(BPF_PSEUDO_KFUNC_CALL);
    }
    Ok(())
}
