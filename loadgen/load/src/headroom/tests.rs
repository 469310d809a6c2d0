//! Fake hosts with limits on cgroup v1 and v2.

use assay_sys::kernel::Root;
use tempfile::TempDir;

use super::*;
use crate::footprint::Phase;

fn host(files: &[(&str, &str)]) -> (TempDir, Root) {
    let tree = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = tree.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let root = Root::at(tree.path());
    (tree, root)
}

fn needs(bytes: u64) -> Footprint {
    Footprint::new(vec![Phase { name: "all", parts: vec![("array", bytes)] }])
}

const MEMINFO: (&str, &str) = ("proc/meminfo", "MemTotal: 4096 kB\nMemAvailable: 2048 kB\n");
const MEBI: u64 = 1 << 20;

fn v2() -> (TempDir, Root) {
    host(&[
        MEMINFO,
        ("proc/self/mountinfo", "30 1 0:30 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"),
        ("proc/self/cgroup", "0::/top/inner\n"),
        ("sys/fs/cgroup/top/memory.max", "1048576\n"),
        ("sys/fs/cgroup/top/memory.stat", "anon 262144\nfile 700000\n"),
        ("sys/fs/cgroup/top/inner/memory.max", "max\n"),
    ])
}

#[test]
fn the_limit_of_an_ancestor_counts_without_its_page_cache() {
    let (_tree, root) = v2();
    let headroom = Headroom::read(&root);
    assert_eq!(headroom.available, Ok(2 * MEBI));
    assert_eq!(headroom.groups.len(), 1, "a group without a limit does not count");
    assert_eq!(headroom.groups[0].available(), MEBI - 262_144);
    assert!(headroom.check(&needs(MEBI / 2)).is_ok());
    let refused = headroom.check(&needs(MEBI)).unwrap_err();
    assert_eq!(refused.exit_code(), 4);
    let text = refused.to_string();
    assert!(text.contains("needs 1.00 MiB") && text.contains("/top/memory.max"), "{text}");
    assert!(text.contains("--anyway"), "{text}");
}

#[test]
fn limits_on_v1_are_read_through_a_partial_mount() {
    let (_tree, root) = host(&[
        MEMINFO,
        ("proc/self/mountinfo", "31 1 0:31 /box /cg/memory rw - cgroup cgroup rw,memory\n"),
        ("proc/self/cgroup", "4:memory:/box/own\n0::/\n"),
        ("cg/memory/memory.limit_in_bytes", "9223372036854771712\n"),
        ("cg/memory/own/memory.limit_in_bytes", "524288\n"),
        ("cg/memory/own/memory.stat", "rss 1\ntotal_rss 4096\n"),
    ]);
    let groups = Headroom::read(&root).groups;
    assert_eq!(groups.len(), 1);
    assert_eq!((groups[0].limit, groups[0].used), (524_288, 4096));
    assert_eq!(groups[0].file, Path::new("/cg/memory/own/memory.limit_in_bytes"));
}

#[test]
fn more_than_the_available_memory_is_refused() {
    let (_tree, root) = host(&[MEMINFO]);
    let text = Headroom::read(&root).check(&needs(3 * MEBI)).unwrap_err().to_string();
    assert!(text.contains("2.00 MiB available (MemAvailable)"), "{text}");
}

#[test]
fn unknown_memory_is_reported_and_refuses_nothing() {
    let (_tree, root) = host(&[]);
    let headroom = Headroom::read(&root);
    assert!(headroom.check(&needs(1 << 50)).is_ok());
    assert!(headroom.to_string().contains("unknown"), "{headroom}");
    assert!(headroom.to_json()["available_bytes"]["not_available"].is_string());
}
