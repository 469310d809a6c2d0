//! Caches reported by the kernel (Documentation/ABI/testing/sysfs-devices-system-cpu). In a virtual
//! machine they may not match the hardware.

use assay_sys::kernel::Root;
use assay_sys::units::{Bytes, CpuSet};

/// A data or unified cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cache {
    pub(crate) level: u32,
    pub(crate) bytes: u64,
}

/// Data and unified caches of a CPU by level; empty if the kernel reports none.
pub(crate) fn data_caches(root: &Root, cpu: u16) -> Vec<Cache> {
    shared(root, cpu).into_iter().map(|(cache, _)| cache).collect()
}

/// Total bytes of the last-level caches of these CPUs, a shared one counted once. 0 if the kernel
/// reports none.
pub(crate) fn last_level_bytes(root: &Root, cpus: &[u16]) -> u64 {
    let mut counted: Vec<u16> = Vec::new();
    let mut bytes = 0;
    for &cpu in cpus {
        let Some((last, sharers)) = shared(root, cpu).pop() else { continue };
        if counted.contains(&cpu) {
            continue;
        }
        counted.extend(sharers.iter().flat_map(CpuSet::iter));
        bytes += last.bytes;
    }
    bytes
}

/// Caches by level, and the CPUs that share each, where the kernel reports them.
fn shared(root: &Root, cpu: u16) -> Vec<(Cache, Option<CpuSet>)> {
    let folder = format!("/sys/devices/system/cpu/cpu{cpu}/cache");
    let indexes = root.list(&folder).unwrap_or_default();
    let mut caches: Vec<(Cache, Option<CpuSet>)> = indexes
        .iter()
        .filter(|name| name.starts_with("index"))
        .filter_map(|name| cache(root, &format!("{folder}/{name}")))
        .collect();
    caches.sort_by_key(|(cache, _)| cache.level);
    caches
}

fn cache(root: &Root, folder: &str) -> Option<(Cache, Option<CpuSet>)> {
    let read = |file: &str| root.read_trimmed(format!("{folder}/{file}")).ok();
    if read("type")? == "Instruction" {
        return None;
    }
    // `32K`, always in binary thousands.
    let size: Bytes = format!("{}iB", read("size")?).parse().ok()?;
    let sharers = read("shared_cpu_list").and_then(|list| list.parse().ok());
    Some((Cache { level: read("level")?.parse().ok()?, bytes: size.get() }, sharers))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(tree: &std::path::Path, cpu: u16, index: &str, files: &[(&str, &str)]) {
        let folder = tree.join(format!("sys/devices/system/cpu/cpu{cpu}/cache")).join(index);
        std::fs::create_dir_all(&folder).unwrap();
        for (file, text) in files {
            std::fs::write(folder.join(file), format!("{text}\n")).unwrap();
        }
    }

    #[test]
    fn data_caches_are_read_by_level_without_instruction_caches() {
        let tree = tempfile::tempdir().unwrap();
        for (index, level, kind, size) in [
            ("index3", "3", "Unified", "32768K"),
            ("index0", "1", "Data", "32K"),
            ("index1", "1", "Instruction", "32K"),
            ("index2", "2", "Unified", "1024K"),
        ] {
            write(tree.path(), 3, index, &[("level", level), ("type", kind), ("size", size)]);
        }
        let root = Root::at(tree.path());
        let caches: Vec<(u32, u64)> =
            data_caches(&root, 3).iter().map(|cache| (cache.level, cache.bytes)).collect();
        assert_eq!(caches, [(1, 32 << 10), (2, 1 << 20), (3, 32 << 20)]);
        assert!(data_caches(&root, 4).is_empty());
        assert_eq!(last_level_bytes(&root, &[3, 4]), 32 << 20);
    }

    #[test]
    fn a_shared_last_level_cache_counts_once() {
        let tree = tempfile::tempdir().unwrap();
        for (cpu, sharers) in [(0, "0-1"), (1, "0-1"), (2, "2-3"), (3, "2-3")] {
            let files = [("level", "3"), ("type", "Unified"), ("size", "16384K")];
            write(tree.path(), cpu, "index3", &files);
            write(tree.path(), cpu, "index3", &[("shared_cpu_list", sharers)]);
        }
        let root = Root::at(tree.path());
        assert_eq!(last_level_bytes(&root, &[0, 1]), 16 << 20);
        assert_eq!(last_level_bytes(&root, &[0, 1, 2, 3]), 32 << 20);
        assert_eq!(last_level_bytes(&root, &[]), 0);
    }
}
