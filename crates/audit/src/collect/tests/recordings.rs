//! Snapshots of what real programs made in guests of the lab: exactly the expected rules fire, for owners by their names.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::collect::read_snapshot;
use crate::{Finding, Snapshot, audit};

/// A snapshot in crates/audit/tests/fixtures that `scripts/record-trees` makes again.
struct Recording {
    file: &'static str,
    /// Programs, versions, kernel, and the script that was run.
    made_by: &'static str,
    /// Codes with owners, or paths where there is none. Ids are shown as `ID`.
    findings: &'static [&'static str],
}

const RECORDINGS: [Recording; 8] = [
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
    for one in RECORDINGS {
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
