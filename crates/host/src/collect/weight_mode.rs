//! By which law the scheduler divides weights of CPU.

use crate::facts::Available;
use crate::knob::{WEIGHT_MODE_FILE, WeightMode};
use assay_sys::kernel::parse::choice;
use assay_sys::kernel::{Root, btf};
use rustix::io::Errno;

/// The folder of the file; kernels since 5.13 have it wherever debugfs is mounted.
const FOLDER: &str = "/sys/kernel/debug/sched";

/// The mode that the kernel's file shows. A kernel without the file divides as `smp` does, which was the only law before 7.3.
#[must_use]
pub fn weight_mode(root: &Root) -> Available<String> {
    match root.read(WEIGHT_MODE_FILE) {
        Ok(text) => Available::Value(choice::active(&text).to_owned()),
        Err(error) if error.is(Errno::NOENT) => without_file(root),
        Err(error) => Available::NotAvailable(error.to_string()),
    }
}

/// The sign is a member that came with the modes: the average of a group's runnable tasks, by which all but `up` and `smp`
/// multiply (`tg_tasks`, kernel/sched/fair.c of 7.3).
fn without_file(root: &Root) -> Available<String> {
    let smp = || Available::Value(WeightMode::Smp.name().to_owned());
    if root.exists(FOLDER) {
        return smp();
    }
    let hint = "hint: mount -t debugfs debugfs /sys/kernel/debug";
    match btf::member_offsets(root, "task_group", ["runnable_avg"]) {
        Ok([None]) => smp(),
        Ok([Some(_)]) => Available::NotAvailable(format!(
            "this kernel has {WEIGHT_MODE_FILE}, and debugfs is not mounted; {hint}"
        )),
        Err(error) => {
            Available::NotAvailable(format!("no {WEIGHT_MODE_FILE} is here; {error}; {hint}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(path: &str, text: &str) -> Available<String> {
        let tree = tempfile::tempdir().unwrap();
        let file = tree.path().join(path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
        weight_mode(&Root::at(tree.path()))
    }

    #[test]
    fn the_mode_is_read_where_the_kernel_has_it() {
        let read = with("sys/kernel/debug/sched/cgroup_mode", "up smp (concur) max tasks \n");
        assert_eq!(read.value().map(String::as_str), Some("concur"));
    }

    #[test]
    fn a_kernel_without_modes_divides_as_smp() {
        let read = with("sys/kernel/debug/sched/features", "PLACE_LAG\n");
        assert_eq!(read.value().map(String::as_str), Some("smp"));
    }

    #[test]
    fn without_debugfs_and_types_it_is_not_known() {
        let read = with("proc/version", "");
        assert!(read.reason().is_some_and(|why| why.contains("mount -t debugfs")), "{read:?}");
    }
}
