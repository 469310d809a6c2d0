//! Targets of a host that has every file, with `/cg/a` as its only group.

use std::path::Path;

use assay_record::sample::{
    CpuFile, DiskTarget, GroupTarget, IoFiles, MemoryFiles, ProcessTarget, Processes, Targets,
    ThrottleTarget,
};

/// One group, one disk, and the processes of the group.
pub(crate) fn targets() -> Targets {
    let place = Path::new("/cg/a");
    Targets {
        groups: vec![GroupTarget {
            name: "a".to_owned(),
            io: Ok((IoFiles::IoStat(place.join("io.stat")), "8:0".to_owned())),
            cpu: Ok(CpuFile::Cpuacct(place.join("cpuacct.usage"))),
            pressure: None,
            memory: Ok(MemoryFiles { directory: place.to_owned(), is_v2: true }),
        }],
        disks: vec![DiskTarget { device: "sda".to_owned() }],
        throttles: Ok(vec![ThrottleTarget { name: "a".to_owned(), path: place.join("cpu.stat") }]),
        processes: Ok(vec![ProcessTarget {
            name: "a".to_owned(),
            of: Processes::Group(vec![place.to_owned()]),
        }]),
    }
}
