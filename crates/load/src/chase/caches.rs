//! The caches that the kernel knows of (Documentation/ABI/testing/sysfs-devices-system-cpu). In a
//! virtual machine they may be made up.

use assay_kernel::Root;
use assay_units::Bytes;

/// A cache that data goes through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cache {
    pub(super) level: u32,
    pub(super) bytes: u64,
}

/// Data and unified caches of a CPU by level; none where the kernel knows of none.
pub(super) fn of_cpu(root: &Root, cpu: u16) -> Vec<Cache> {
    let folder = format!("/sys/devices/system/cpu/cpu{cpu}/cache");
    let indexes = root.list(&folder).unwrap_or_default();
    let mut caches: Vec<Cache> = indexes
        .iter()
        .filter(|name| name.starts_with("index"))
        .filter_map(|name| cache(root, &format!("{folder}/{name}")))
        .collect();
    caches.sort_by_key(|cache| cache.level);
    caches
}

fn cache(root: &Root, folder: &str) -> Option<Cache> {
    let read = |file: &str| root.read_trimmed(format!("{folder}/{file}")).ok();
    if read("type")? == "Instruction" {
        return None;
    }
    // `32K`, always in binary thousands.
    let size: Bytes = format!("{}iB", read("size")?).parse().ok()?;
    Some(Cache { level: read("level")?.parse().ok()?, bytes: size.get() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_caches_are_read_by_level_and_instructions_left_out() {
        let tree = tempfile::tempdir().unwrap();
        let cpu = tree.path().join("sys/devices/system/cpu/cpu3/cache");
        for (index, level, kind, size) in [
            ("index3", "3", "Unified", "32768K"),
            ("index0", "1", "Data", "32K"),
            ("index1", "1", "Instruction", "32K"),
            ("index2", "2", "Unified", "1024K"),
        ] {
            std::fs::create_dir_all(cpu.join(index)).unwrap();
            for (file, text) in [("level", level), ("type", kind), ("size", size)] {
                std::fs::write(cpu.join(index).join(file), format!("{text}\n")).unwrap();
            }
        }
        let root = Root::at(tree.path());
        let found: Vec<(u32, u64)> =
            of_cpu(&root, 3).iter().map(|cache| (cache.level, cache.bytes)).collect();
        assert_eq!(found, [(1, 32 << 10), (2, 1 << 20), (3, 32 << 20)]);
        assert!(of_cpu(&root, 4).is_empty());
    }
}
