//! Snapshots of what real programs made in guests of the lab: exactly the expected rules fire, for owners by their names.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::collect::read_snapshot;
use crate::{Finding, Place, Row, Snapshot, Standing, audit, fulfilment, manifest};

/// A snapshot in crates/audit/tests/fixtures that `scripts/record-trees` makes again.
struct Recording {
    file: &'static str,
    /// Programs, versions, kernel, and the script that was run.
    made_by: &'static str,
    /// Codes with owners, or paths where there is none. Ids are shown as `ID`.
    findings: &'static [&'static str],
}

static RECORDINGS: [Recording; 21] = [
    Recording {
        file: "systemd-252",
        made_by: "systemd 252.39 of Debian 12 on v2, Linux 6.12.117: scripts/lab/systemd",
        findings: &[
            "A-ALONE unit lone.service",
            "A-ANCESTOR unit shop.service",
            "A-AUTOGROUP /",
            "A-CROSSED unit cache.service",
            "A-LOW-LRU-GEN unit db.slice",
            "A-LOW-LRU-GEN unit shop.service",
            "A-LOW-LRU-GEN unit sql.service",
            "A-SCHEDULER unit disk.service",
            "A-TRANSLATED unit disk.service",
        ],
    },
    Recording {
        file: "systemd-252-v1",
        made_by: "systemd 252.39 of Debian 12 on v1, Linux 6.1.0-56: scripts/lab/systemd",
        findings: &[
            "A-ALONE unit lone.service",
            "A-CLAMPED unit disk.service",
            "A-ROOT-TASKS /",
            "A-SCHEDULER unit disk.service",
        ],
    },
    Recording {
        file: "systemd-252-hybrid",
        made_by: "the same in systemd's hybrid mode",
        findings: &[
            "A-ALONE unit lone.service",
            "A-CLAMPED unit disk.service",
            "A-ROOT-TASKS /",
            "A-SCHEDULER unit disk.service",
        ],
    },
    Recording {
        file: "docker-20.10",
        made_by: "docker 20.10.24 with runc 1.1.5 of Debian 12, driver cgroupfs, on v2, Linux 6.12.117: scripts/lab/docker",
        findings: &[
            "A-ANCESTOR container web (docker ID)",
            "A-LOW-LRU-GEN container web (docker ID)",
            "A-SCHEDULER container disk (docker ID)",
            "A-TRANSLATED container db (docker ID)",
            "A-TRANSLATED container web (docker ID)",
        ],
    },
    Recording {
        file: "lxc-5.0",
        made_by: "LXC 5.0.2 of Debian 12 on v2, Linux 6.12.117: scripts/lab/lxc",
        findings: &[
            "A-AUTOGROUP /",
            "A-CLAMPED LXC container web",
            "A-CROSSED LXC container web",
            "A-LOW-LRU-GEN LXC container db",
            "A-SCHEDULER LXC container disk",
        ],
    },
    Recording {
        file: "podman-4.3",
        made_by: "podman 4.3.1 with crun 1.8.1 of Debian 12, manager cgroupfs, on v2, Linux 6.12.117: scripts/lab/podman cgroupfs",
        findings: &[
            "A-ABOVE-HOST container big (podman ID)",
            "A-ANCESTOR container web (podman ID)",
            "A-LOW-LRU-GEN container web (podman ID)",
            "A-SCHEDULER container disk (podman ID)",
            "A-SWAP-NONE container web (podman ID)",
            "A-TRANSLATED container db (podman ID)",
            "A-TRANSLATED container web (podman ID)",
        ],
    },
    Recording {
        file: "podman-4.3-systemd",
        made_by: "the same with the manager systemd, below that of scripts/lab/systemd, and a pod: scripts/lab/podman systemd",
        findings: &[
            "A-ABOVE-HOST container big (podman ID)",
            "A-ALONE unit lone.service",
            "A-ANCESTOR container web (podman ID)",
            "A-ANCESTOR unit shop.service",
            "A-AUTOGROUP /",
            "A-CROSSED unit cache.service",
            "A-LOW-LRU-GEN container web (podman ID)",
            "A-LOW-LRU-GEN unit db.slice",
            "A-LOW-LRU-GEN unit shop.service",
            "A-LOW-LRU-GEN unit sql.service",
            "A-SCHEDULER container disk (podman ID)",
            "A-SCHEDULER unit disk.service",
            "A-SWAP-NONE container web (podman ID)",
            "A-TRANSLATED container cart (podman ID)",
            "A-TRANSLATED container db (podman ID)",
            "A-TRANSLATED container web (podman ID)",
            "A-TRANSLATED unit disk.service",
        ],
    },
    Recording {
        file: "libvirt-lxc-9.0",
        made_by: "libvirt 9.0.0 of Debian 12, driver of LXC without systemd, on v2, Linux 6.12.117: scripts/lab/libvirt",
        // Nothing is wrong with its settings.
        findings: &[],
    },
    // Each of these findings is right: no slice protects what is below it (A-ANCESTOR), Linux 6.12 has the LRU of generations, shares of
    // 512 and 2048 became 20 or 59, and 79 or 174, and what is alone in its slice divides nothing.
    Recording {
        file: "debian-13-idle",
        made_by: "Debian 13 on v2, Linux 6.12.117, as systemd 257 boots it: scripts/lab/debian-13",
        findings: &[],
    },
    Recording {
        file: "debian-13-systemd",
        made_by: "the same with two services in a slice",
        findings: &[],
    },
    Recording {
        file: "debian-13-podman_crun",
        made_by: "the same with podman 5.4.2 and crun 1.21, and a quadlet",
        findings: &[
            "A-ANCESTOR container web (podman ID)",
            "A-LOW-LRU-GEN container web (podman ID)",
            "A-TRANSLATED container new (podman ID)",
            "A-TRANSLATED container web (podman ID)",
        ],
    },
    Recording {
        file: "debian-13-podman_runc",
        made_by: "the same with podman 5.4.2 and runc 1.1.15, manager cgroupfs",
        findings: &[
            "A-ANCESTOR container web (podman ID)",
            "A-LOW-LRU-GEN container web (podman ID)",
            "A-TRANSLATED container new (podman ID)",
            "A-TRANSLATED container web (podman ID)",
        ],
    },
    Recording {
        file: "debian-13-podman_newer",
        made_by: "the same with podman 5.4.2 and crun 1.28",
        findings: &[
            "A-ANCESTOR container web (podman ID)",
            "A-LOW-LRU-GEN container web (podman ID)",
            "A-TRANSLATED container new (podman ID)",
            "A-TRANSLATED container web (podman ID)",
        ],
    },
    Recording {
        file: "debian-13-docker",
        made_by: "the same with docker 26.1.5 and runc 1.1.15",
        findings: &[
            "A-ALONE container new (docker ID)",
            "A-ANCESTOR container web (docker ID)",
            "A-LOW-LRU-GEN container web (docker ID)",
            "A-TRANSLATED container new (docker ID)",
            "A-TRANSLATED container web (docker ID)",
        ],
    },
    Recording {
        file: "debian-13-containerd",
        made_by: "the same with ctr of containerd 1.7.24, runc 1.1.15 and crun 1.21",
        findings: &["A-ALONE /default/web"],
    },
    Recording {
        file: "debian-13-lxc",
        made_by: "the same with LXC 6.0.4",
        findings: &["A-LOW-LRU-GEN LXC container web"],
    },
    Recording { file: "debian-13-incus", made_by: "the same with Incus 6.0.4", findings: &[] },
    Recording {
        file: "debian-13-nspawn",
        made_by: "the same with systemd-nspawn 257",
        findings: &["A-ALONE unit machine-web.scope"],
    },
    Recording {
        file: "debian-13-libvirt",
        made_by: "the same with a container of libvirt 11.3.0",
        findings: &["A-ALONE machine web"],
    },
    Recording { file: "debian-13-slurm", made_by: "the same with Slurm 24.11.5", findings: &[] },
    Recording {
        file: "host-v1",
        made_by: "a virtual machine of Firecracker, with controllers on v1 and no settings: audit --snapshot --anonymous",
        findings: &[],
    },
];

/// What a program was asked for by its own options, in the words of compose or of systemd.
struct Asked {
    file: &'static str,
    /// The group, where the manifest cannot name it.
    group: Option<&'static str>,
    /// Its name and text.
    manifest: (&'static str, &'static str),
    /// `SETTING = WHAT THE FILE SAYS`, with `DIFFERS` behind what it should not say.
    rows: &'static [&'static str],
}

/// The limits of scripts/lab/debian-13 for runtimes of OCI.
const OCI: (&str, &str) = (
    "compose.yaml",
    "services: {web: {container_name: web, cpus: 0.5, cpu_shares: 512, cpuset: '1', mem_limit: 128m, mem_reservation: 64m, \
     memswap_limit: 192m, pids_limit: 100, blkio_config: {device_read_bps: [{path: /dev/assay-lab-1, rate: 10mb}]}}}",
);

const fn oci(file: &'static str, rows: &'static [&'static str]) -> Asked {
    Asked { file, group: None, manifest: OCI, rows }
}

/// What a new group has, and what is the machine's, is not listed: only what the program was asked for.
static ASKED: [Asked; 18] = [
    Asked {
        file: "systemd-252",
        group: None,
        manifest: ("cache.service", "[Service]\nSlice=db.slice\nMemoryHigh=128M\nMemoryMax=96M\n"),
        rows: &[
            "MemoryHigh=128M = 134217728",
            "MemoryMax=96M = 100663296",
            "Slice=db.slice = /db.slice",
        ],
    },
    Asked {
        file: "docker-20.10",
        group: None,
        manifest: (
            "compose.yaml",
            "services: {web: {cpu_shares: 1024, mem_limit: 128m, mem_reservation: 64m}, db: {cpu_shares: 512, cpus: 0.5, cpuset: '1', \
             pids_limit: 100}, disk: {blkio_config: {weight: 800}}}",
        ),
        rows: &[
            "cpu_shares: 1024 = 39",
            "memory limit: 134217728 = 134217728",
            "memory reservation: 67108864 = 67108864",
            "cpus: 0.5 = 50000 100000",
            "cpu_shares: 512 = 20",
            "cpuset: 1 = 1",
            "pids: 100 = 100",
            "blkio_config.weight: 800 = default 800",
        ],
    },
    // crun 1.8 asked systemd for neither: below the scope, a protection and a weight do nothing.
    Asked {
        file: "podman-4.3-systemd",
        group: None,
        manifest: (
            "compose.yaml",
            "services: {web: {cpu_shares: 2048, mem_limit: 128m, mem_reservation: 64m}, db: {cpu_shares: 512, cpus: 0.5, cpuset: '1', \
             pids_limit: 100}, big: {cpus: 8}, disk: {blkio_config: {weight: 800}}, cart: {cpu_shares: 256}}",
        ),
        rows: &[
            "cpu_shares: 2048 = 79",
            "memory limit: 134217728 = 134217728",
            "memory reservation: 67108864 = 0 DIFFERS",
            "cpus: 0.5 = 50000 100000",
            "cpu_shares: 512 = 20",
            "cpuset: 1 = 1",
            "pids: 100 = 100",
            "cpus: 8 = 800000 100000",
            "blkio_config.weight: 800 = default 100 DIFFERS",
            "cpu_shares: 256 = 10",
        ],
    },
    Asked {
        file: "lxc-5.0",
        group: Some("/lxc.payload.db"),
        manifest: (
            "db.service",
            "[Service]\nCPUWeight=200\nCPUQuota=50%\nMemoryLow=32M\nTasksMax=100\n",
        ),
        rows: &[
            "CPUWeight=200 = 200",
            "CPUQuota=50% = 50000 100000",
            "MemoryLow=32M = 33554432",
            "TasksMax=100 = 100",
        ],
    },
    Asked {
        file: "debian-13-containerd",
        group: Some("/system.slice/ctr-new.scope"),
        manifest: ("compose.yaml", "services: {new: {cpu_shares: 2048}}"),
        rows: &["cpu_shares: 2048 = 79"],
    },
    Asked {
        file: "debian-13-systemd",
        group: None,
        manifest: (
            "shop.service",
            "[Service]\nCPUWeight=300\nCPUQuota=50%\nAllowedCPUs=1\nMemoryHigh=96M\nMemoryMax=128M\nMemorySwapMax=32M\nTasksMax=50\n\
             IOReadBandwidthMax=/dev/assay-lab-1 10M\nSlice=web.slice\n",
        ),
        rows: &[
            "CPUWeight=300 = 300",
            "CPUQuota=50% = 50000 100000",
            "MemoryHigh=96M = 100663296",
            "MemoryMax=128M = 134217728",
            "MemorySwapMax=32M = 33554432",
            "TasksMax=50 = 50",
            "AllowedCPUs=1 = 1",
            "IOReadBandwidthMax=/dev/assay-lab-1 10M = 251:0 rbps=10000000 wbps=max riops=max wiops=max",
            "Slice=web.slice = /web.slice",
        ],
    },
    oci(
        "debian-13-podman_crun",
        &[
            "cpus: 0.5 = 50000 100000",
            "cpu_shares: 512 = 20",
            "cpuset: 1 = 1",
            "memory limit: 134217728 = 134217728",
            "memory reservation: 67108864 = 67108864",
            "memswap_limit: 201326592 = 67108864",
            "pids: 100 = 100",
            "blkio_config.device_read_bps: /dev/assay-lab-1 10mb = 251:0 rbps=10485760 wbps=max riops=max wiops=max",
        ],
    ),
    Asked {
        file: "debian-13-podman_crun",
        group: None,
        manifest: (
            "quad.container",
            "[Container]\nPidsLimit=50\nPodmanArgs=--memory=128m --cpus=0.5\n[Service]\nMemoryMax=256M\n",
        ),
        rows: &[
            "cpus: 0.5 = 50000 100000",
            "memory limit: 134217728 = 134217728",
            "pids: 50 = 50",
            "MemoryMax=256M = 268435456",
        ],
    },
    oci(
        "debian-13-podman_runc",
        &[
            "cpus: 0.5 = 50000 100000",
            "cpu_shares: 512 = 20",
            "cpuset: 1 = 1",
            "memory limit: 134217728 = 134217728",
            "memory reservation: 67108864 = 67108864",
            "memswap_limit: 201326592 = 67108864",
            "pids: 100 = 100",
            "blkio_config.device_read_bps: /dev/assay-lab-1 10mb = 251:0 rbps=10485760 wbps=max riops=max wiops=max",
        ],
    ),
    oci(
        "debian-13-podman_newer",
        &[
            "cpus: 0.5 = 50000 100000",
            "cpu_shares: 512 = 59",
            "cpuset: 1 = 1",
            "memory limit: 134217728 = 134217728",
            "memory reservation: 67108864 = 67108864",
            "memswap_limit: 201326592 = 67108864",
            "pids: 100 = 100",
            "blkio_config.device_read_bps: /dev/assay-lab-1 10mb = 251:0 rbps=10485760 wbps=max riops=max wiops=max",
        ],
    ),
    // This docker loses limits of devices: its own `docker inspect` has none.
    oci(
        "debian-13-docker",
        &[
            "cpus: 0.5 = 50000 100000",
            "cpu_shares: 512 = 20",
            "cpuset: 1 = 1",
            "memory limit: 134217728 = 134217728",
            "memory reservation: 67108864 = 67108864",
            "memswap_limit: 201326592 = 67108864",
            "pids: 100 = 100",
            "blkio_config.device_read_bps: /dev/assay-lab-1 10mb =  DIFFERS",
        ],
    ),
    Asked {
        file: "debian-13-docker",
        group: None,
        manifest: (
            "compose.yaml",
            "services: {new: {container_name: new, cpu_shares: 2048, cgroup_parent: jobs.slice}}",
        ),
        rows: &["cpu_shares: 2048 = 79", "cgroup_parent: jobs.slice = /jobs.slice"],
    },
    Asked {
        file: "debian-13-containerd",
        group: Some("/default/web"),
        manifest: (
            "compose.yaml",
            "services: {web: {cpus: 0.5, cpu_shares: 512, mem_limit: 128m}}",
        ),
        rows: &[
            "cpus: 0.5 = 50000 100000",
            "cpu_shares: 512 = 20",
            "memory limit: 134217728 = 134217728",
        ],
    },
    Asked {
        file: "debian-13-lxc",
        group: Some("/lxc.payload.web"),
        manifest: (
            "web.service",
            "[Service]\nCPUWeight=200\nCPUQuota=50%\nAllowedCPUs=1\nMemoryMax=128M\nMemoryLow=32M\nTasksMax=100\n",
        ),
        rows: &[
            "CPUWeight=200 = 200",
            "CPUQuota=50% = 50000 100000",
            "MemoryLow=32M = 33554432",
            "MemoryMax=128M = 134217728",
            "TasksMax=100 = 100",
            "AllowedCPUs=1 = 1",
        ],
    },
    Asked {
        file: "debian-13-incus",
        group: Some("/lxc.payload.web"),
        manifest: ("web.service", "[Service]\nCPUQuota=50%\nMemoryMax=128M\nTasksMax=100\n"),
        rows: &["CPUQuota=50% = 50000 100000", "MemoryMax=128M = 134217728", "TasksMax=100 = 100"],
    },
    Asked {
        file: "debian-13-nspawn",
        group: None,
        manifest: (
            "machine-web.scope",
            "[Scope]\nCPUWeight=200\nCPUQuota=50%\nMemoryMax=128M\nTasksMax=100\n",
        ),
        rows: &[
            "CPUWeight=200 = 200",
            "CPUQuota=50% = 50000 100000",
            "MemoryMax=128M = 134217728",
            "TasksMax=100 = 100",
        ],
    },
    Asked {
        file: "debian-13-libvirt",
        group: Some(r"/machine.slice/machine-lxc\x2d1117\x2dweb.scope"),
        manifest: (
            "web.service",
            "[Service]\nCPUWeight=512\nCPUQuota=50%\nMemoryMax=128M\nMemoryHigh=64M\n",
        ),
        rows: &[
            "CPUWeight=512 = 512",
            "CPUQuota=50% = 50000 100000",
            "MemoryHigh=64M = 67108864",
            "MemoryMax=128M = 134217728",
        ],
    },
    Asked {
        file: "debian-13-slurm",
        group: Some("/system.slice/debian_slurmstepd.scope/job_1"),
        manifest: ("job.service", "[Service]\nMemoryMax=64M\nMemorySwapMax=0\n"),
        rows: &["MemoryMax=64M = 67108864", "MemorySwapMax=0 = 0"],
    },
];

/// A text in which ids of containers are `ID`: they differ from one recording to the next.
fn without_ids(text: &str) -> String {
    let (mut shown, mut rest) = (String::new(), text);
    while let Some(first) = rest.chars().next() {
        let end = rest.find(|sign: char| !sign.is_ascii_hexdigit()).unwrap_or(rest.len());
        let end = end.max(first.len_utf8());
        let (part, next) = rest.split_at(end);
        shown += if end >= 12 { "ID" } else { part };
        rest = next;
    }
    shown
}

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

fn found(file: &str) -> BTreeSet<String> {
    let audit = audit(&read_snapshot(&fixtures().join(file)).unwrap());
    let whose = |one: &Finding| match &one.owner {
        Some(owner) => owner.to_string(),
        None => one.group.clone(),
    };
    let lines = audit.findings.iter().map(|one| format!("{} {}", one.code, whose(one)));
    lines.map(|line| without_ids(&line)).collect()
}

#[test]
fn what_real_programs_made_gives_exactly_its_findings() {
    let mut wrong = String::new();
    for one in &RECORDINGS {
        let expected: BTreeSet<String> =
            one.findings.iter().map(|line| (*line).to_owned()).collect();
        let found = found(one.file);
        if found != expected {
            let missing: Vec<&String> = expected.difference(&found).collect();
            let surplus: Vec<&String> = found.difference(&expected).collect();
            wrong += &format!(
                "{} ({}): missing {missing:#?}, surplus {surplus:#?}\n",
                one.file, one.made_by
            );
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// The rows of what was asked for in a recording.
fn asked(one: &Asked) -> Vec<String> {
    let (name, text) = one.manifest;
    let manifest = manifest(&[(name.to_owned(), text.to_owned())]).unwrap();
    let place = one.group.map(|group| Place::Group(group.to_owned()));
    let snapshot = read_snapshot(&fixtures().join(one.file)).unwrap();
    let answer = fulfilment(&manifest, place.as_ref(), &snapshot).unwrap();
    let rows = answer.fulfilments.iter().flat_map(|one| &one.rows);
    let line = |row: &Row| {
        let found = row.found.as_deref().unwrap_or("-");
        match &row.standing {
            Standing::Kept => format!("{} = {found}", row.setting),
            Standing::Differs => format!("{} = {found} DIFFERS", row.setting),
            Standing::NotLookedAt(why) => format!("{}: {why}", row.setting),
        }
    };
    rows.map(line).collect()
}

#[test]
fn what_real_programs_were_asked_for_stands_in_the_files_of_their_groups() {
    let wrong: Vec<String> = ASKED
        .iter()
        .filter(|one| asked(one) != one.rows)
        .map(|one| format!("{} {:?}: {:#?}", one.file, one.group, asked(one)))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// docs/audit.md links this table.
#[test]
fn the_table_of_recorded_programs_is_that_of_the_docs() {
    let mut table = String::from("recording,made by,settings asked for,in force,differ,findings\n");
    for one in &RECORDINGS {
        let rows: Vec<&str> = ASKED
            .iter()
            .filter(|asked| asked.file == one.file)
            .flat_map(|one| one.rows)
            .copied()
            .collect();
        let differ = rows.iter().filter(|row| row.ends_with("DIFFERS")).count();
        let codes: BTreeSet<&str> =
            one.findings.iter().filter_map(|line| line.split(' ').next()).collect();
        let codes: Vec<&str> = codes.into_iter().collect();
        table += &format!(
            "{},\"{}\",{},{},{differ},{}\n",
            one.file,
            one.made_by,
            rows.len(),
            rows.len() - differ,
            codes.join(" ")
        );
    }
    let file =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/results/recorded-programs.csv");
    if std::env::var_os("ASSAY_BLESS").is_some() {
        fs::write(&file, &table).unwrap();
    }
    assert_eq!(fs::read_to_string(&file).unwrap_or_default(), table);
}

/// Rules know names by their forms, and not by what users called something.
#[test]
fn rules_find_the_same_in_a_masked_snapshot() {
    let mut seen = 0;
    for entry in fs::read_dir(fixtures()).unwrap() {
        let path = entry.unwrap().path();
        let mut snapshot = read_snapshot(&path).unwrap();
        let plain = audit(&snapshot);
        let mut masks = snapshot.mask();
        let written = serde_json::to_string(&snapshot).unwrap();
        let masked = audit(&Snapshot::parse(&written).unwrap());
        let line = |one: &Finding, group: String| {
            let owner = one.owner.as_ref().map(std::mem::discriminant);
            format!("{} {group} {owner:?} {}", one.code, one.readings.len())
        };
        let before: BTreeSet<String> =
            plain.findings.iter().map(|one| line(one, masks.name(&one.group))).collect();
        let after: BTreeSet<String> =
            masked.findings.iter().map(|one| line(one, one.group.clone())).collect();
        assert_eq!(before, after, "{}", path.display());
        assert_eq!(plain.not_looked_at.len(), masked.not_looked_at.len(), "{}", path.display());
        seen += after.len();
    }
    assert!(seen > 40, "{seen} findings");
}
