//! Synthetic hosts for planning studies in tests.

use std::collections::BTreeMap;
use std::path::PathBuf;

use assay_host::facts::{
    Available, CgroupLayout, Controller, Cpus, Disk, Hierarchy, HostFacts, Layout, Tool,
};
use assay_sys::units::Bytes;

/// A program of this package, found or not.
#[must_use]
pub fn tool(found: bool, package: &str) -> Tool {
    let found = if found {
        Available::Value("there".to_owned())
    } else {
        Available::NotAvailable("not in PATH".to_owned())
    };
    Tool { found, package: package.to_owned(), path: None }
}

/// A disk without scheduler, partitions or model, which nothing uses.
#[must_use]
pub fn unused_disk(name: &str, size: Bytes) -> Disk {
    Disk {
        name: name.to_owned(),
        size,
        major: 8,
        minor: 0,
        scheduler: None,
        rotational: None,
        nr_requests: None,
        model: None,
        serial: None,
        partitions: Vec::new(),
        parts: Vec::new(),
        holders: Vec::new(),
        backing_file: None,
    }
}

/// A host with BFQ and all tools, its controllers on v1 or on v2: two CPUs, 1 GiB, no node.
#[must_use]
pub fn host(is_v2: bool) -> HostFacts {
    let controllers = ["io", "cpu", "cpuacct", "cpuset", "memory"].map(|name| {
        let hierarchy = match (is_v2, name) {
            (true, "cpuacct") => Hierarchy::Absent("v1 only".to_owned()),
            (true, _) => Hierarchy::V2(PathBuf::from("/cg")),
            (false, "io") => Hierarchy::V1(PathBuf::from("/cg/blkio")),
            (false, name) => Hierarchy::V1(PathBuf::from("/cg").join(name)),
        };
        (name.to_owned(), Controller { hierarchy, own_group: "/".to_owned() })
    });
    HostFacts {
        host_name: "host".to_owned(),
        machine: None,
        kernel: "6.12".to_owned(),
        architecture: "x86_64".to_owned(),
        distribution: "Debian".to_owned(),
        effective_user: 0,
        root: Available::Value(()),
        virtual_machine: None,
        cpus: Cpus {
            online: "0-1".parse().unwrap(),
            allowed: "0-1".parse().unwrap(),
            model: "CPU".to_owned(),
            cores: vec![],
        },
        caches: vec![],
        nodes: vec![],
        memory_nodes: "0".parse().unwrap(),
        memory: Bytes::mebi(1024),
        swap: Bytes::new(0),
        cgroup: CgroupLayout {
            layout: if is_v2 { Layout::V2 } else { Layout::V1 },
            v2_mount: is_v2.then(|| PathBuf::from("/cg")),
            controllers: BTreeMap::from(controllers),
            bases: BTreeMap::new(),
        },
        disks: vec![],
        schedulers: vec!["none".to_owned(), "bfq".to_owned()],
        null_blk: Available::Value(()),
        pressure: Available::Value(true),
        settings: BTreeMap::new(),
        weight_mode: Available::Value("smp".to_owned()),
        parses_partitions: Available::Value(false),
        tools: [("fio", "fio"), ("mkfs.ext4", "e2fsprogs"), ("mkfs.xfs", "xfsprogs")]
            .map(|(name, package)| (name.to_owned(), tool(true, package)))
            .into(),
    }
}
