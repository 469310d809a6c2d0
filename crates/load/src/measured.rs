//! What this process really has in memory, from /proc/self.

use assay_kernel::Root;
use assay_kernel::parse::keyed;

/// A process at rest: code, libraries and stacks, where /proc does not say.
const TYPICAL_BASE: u64 = 4 << 20;

/// What the process has now, before it allocates (`VmRSS`, proc_pid_status(5)).
pub(crate) fn resident(root: &Root) -> u64 {
    status(root, "VmRSS").unwrap_or(TYPICAL_BASE)
}

/// The most that it ever had (`VmHWM`), or why that is not known.
pub(crate) fn peak(root: &Root) -> Result<u64, String> {
    status(root, "VmHWM")
}

/// How much of it is in transparent huge pages now (`AnonHugePages`, since Linux 4.14 summed up in
/// smaps_rollup), or why that is not known.
pub(crate) fn huge(root: &Root) -> Result<u64, String> {
    amount(root, "/proc/self/smaps_rollup", "AnonHugePages")
}

fn status(root: &Root, key: &str) -> Result<u64, String> {
    amount(root, "/proc/self/status", key)
}

fn amount(root: &Root, path: &str, key: &str) -> Result<u64, String> {
    let text = root.read(path).map_err(|error| error.to_string())?;
    keyed::kibibytes(&text, key).ok_or_else(|| format!("{path} has no {key}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_of_a_process_are_read_in_bytes() {
        let tree = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(tree.path().join("proc/self")).unwrap();
        let status = "Name:\tx\nVmHWM:\t  2048 kB\nVmRSS:\t  1024 kB\n";
        std::fs::write(tree.path().join("proc/self/status"), status).unwrap();
        let root = Root::at(tree.path());
        assert_eq!(resident(&root), 1 << 20);
        assert_eq!(peak(&root), Ok(2 << 20));
        assert!(huge(&root).unwrap_err().contains("smaps_rollup"));
    }
}
