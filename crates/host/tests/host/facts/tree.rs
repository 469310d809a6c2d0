//! Fake host trees.

use assay_host::facts::HostFacts;
use assay_sys::kernel::Root;

pub(crate) fn gather(files: &[(&str, impl AsRef<str>)]) -> HostFacts {
    let tree = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = tree.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text.as_ref()).unwrap();
    }
    assay_host::gather(&Root::at(tree.path())).unwrap()
}

/// Modelled on a Firecracker guest with Linux 6.18; `rdma` is disabled and cpu is mounted with cpuacct.
pub(crate) const V1_AND_V2: &[(&str, &str)] = &[
    (
        "proc/self/mountinfo",
        "31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755\n\
         32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,relatime - cgroup cgroup rw,cpu,cpuacct\n\
         34 31 0:31 / /sys/fs/cgroup/cpuset rw,relatime - cgroup cgroup rw,cpuset\n\
         35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n\
         38 31 0:35 / /sys/fs/cgroup/blkio rw,relatime - cgroup cgroup rw,blkio\n\
         39 31 0:36 / /sys/fs/cgroup/pids rw,relatime - cgroup cgroup rw,pids\n\
         40 31 0:37 / /sys/fs/cgroup/systemd rw,relatime - cgroup cgroup rw,name=systemd\n\
         41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n",
    ),
    (
        "proc/cgroups",
        "#subsys_name\thierarchy\tnum_cgroups\tenabled\ncpuset\t3\t1\t1\ncpu\t1\t1\t1\n\
         cpuacct\t1\t1\t1\nblkio\t7\t1\t1\nmemory\t4\t11\t1\nnet_cls\t0\t1\t1\n\
         perf_event\t0\t1\t1\nhugetlb\t0\t1\t1\npids\t8\t1\t1\nrdma\t0\t1\t0\n",
    ),
    (
        "proc/self/cgroup",
        "9:name=systemd:/\n8:pids:/\n7:blkio:/\n4:memory:/api/x\n3:cpuset:/\n1:cpu,cpuacct:/\n0::/\n",
    ),
    ("sys/fs/cgroup/unified/cgroup.controllers", "hugetlb\n"),
];

/// A container on a unified host, whose mount shows only its own part of the hierarchy.
pub(crate) const V2_ONLY: &[(&str, &str)] = &[
    (
        "proc/self/mountinfo",
        "41 31 0:38 /box /sys/fs/cgroup rw,relatime shared:4 - cgroup2 cgroup2 rw,nsdelegate\n",
    ),
    (
        "proc/cgroups",
        "#subsys_name\thierarchy\tnum_cgroups\tenabled\ncpu\t0\t1\t1\nblkio\t0\t1\t1\n\
         memory\t0\t1\t1\nfreezer\t0\t1\t1\npids\t0\t1\t1\n",
    ),
    ("proc/self/cgroup", "0::/box/inner\n"),
    ("sys/fs/cgroup/cgroup.controllers", "cpu io memory pids misc\n"),
];

/// Two nodes of two cores with two threads each, and a third node without memory.
pub(crate) fn two_nodes() -> Vec<(&'static str, String)> {
    let mut files: Vec<(String, String)> = vec![
        ("proc/cpuinfo".into(), "model name\t: Test CPU 9000\nflags : hypervisor\n".into()),
        ("proc/self/status".into(), "Uid:\t0\t1000\t0\t0\nCpus_allowed_list:\t0-3\n".into()),
        ("proc/meminfo".into(), "MemTotal:  16384 kB\nSwapTotal:  0 kB\n".into()),
        ("proc/pressure/cpu".into(), "some avg10=0.00\n".into()),
        ("proc/sys/kernel/osrelease".into(), "6.1.0-test\n".into()),
        ("boot/config-6.1.0-test".into(), "CONFIG_EFI_PARTITION=y\n".into()),
        ("etc/os-release".into(), "NAME=x\nPRETTY_NAME=\"Test Linux 1\"\n".into()),
        (
            "sys/devices/system/clocksource/clocksource0/available_clocksource".into(),
            "kvm-clock tsc\n".into(),
        ),
        ("sys/devices/system/cpu/online".into(), "0-7\n".into()),
    ];
    for cpu in 0..8 {
        files.extend(cpu_files(cpu));
    }
    let nodes = [("0-1,4-5", "10 21 17", 8192), ("2-3,6-7", "21 10 17", 8192), ("", "17 17 10", 0)];
    for (id, (cpus, distance, kibibytes)) in nodes.iter().enumerate() {
        let node = format!("sys/devices/system/node/node{id}");
        files.push((format!("{node}/cpulist"), format!("{cpus}\n")));
        files.push((format!("{node}/distance"), format!("{distance}\n")));
        files.push((format!("{node}/meminfo"), format!("Node {id} MemTotal: {kibibytes} kB\n")));
    }
    files.into_iter().map(|(path, text)| (&*path.leak(), text)).collect()
}

fn cpu_files(cpu: usize) -> Vec<(String, String)> {
    let core = cpu % 4;
    let siblings = format!("{core},{}", core + 4);
    let node = if core < 2 { "0-1,4-5" } else { "2-3,6-7" };
    let directory = format!("sys/devices/system/cpu/cpu{cpu}");
    let mut files = vec![(format!("{directory}/topology/thread_siblings_list"), siblings.clone())];
    for (index, level, kind, size, shared) in
        [(0, 1, "Data", "32K", siblings.as_str()), (1, 3, "Unified", "32M", node)]
    {
        let cache = format!("{directory}/cache/index{index}");
        files.extend(
            [
                ("level", level.to_string()),
                ("type", kind.to_owned()),
                ("size", size.to_owned()),
                ("ways_of_associativity", "8".to_owned()),
                ("coherency_line_size", "64".to_owned()),
                ("shared_cpu_list", shared.to_owned()),
            ]
            .map(|(name, value)| (format!("{cache}/{name}"), value)),
        );
    }
    files
}
