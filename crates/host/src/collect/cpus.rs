//! Processors, cores and caches (/sys/devices/system/cpu).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::facts::{Cache, Cpus};
use assay_sys::kernel::Root;
use assay_sys::kernel::parse::{cpuinfo, keyed};
use assay_sys::units::{Bytes, CpuSet};

const CPU: &str = "/sys/devices/system/cpu";

pub(super) fn cpus(root: &Root) -> Cpus {
    let online = parsed(root, &Path::new(CPU).join("online")).unwrap_or_else(|| listed(root));
    let status = root.read("/proc/self/status").unwrap_or_default();
    let allowed = keyed::colon(&status, "Cpus_allowed_list").and_then(|text| text.parse().ok());
    let info = cpuinfo::parse(&root.read("/proc/cpuinfo").unwrap_or_default());
    Cpus {
        cores: cores(root, &online),
        allowed: allowed.unwrap_or_else(|| online.clone()),
        online,
        model: info.model.unwrap_or_else(|| "unknown".to_owned()),
    }
}

/// CPUs from their directories, for kernels without CPU hotplug, which lack `online`.
fn listed(root: &Root) -> CpuSet {
    let names = root.list(CPU).unwrap_or_default();
    names.iter().filter_map(|name| name.strip_prefix("cpu")?.parse().ok()).collect()
}

/// The CPUs of each core. A CPU without the file counts as a core of its own.
fn cores(root: &Root, online: &CpuSet) -> Vec<CpuSet> {
    let mut cores: BTreeMap<u16, CpuSet> = BTreeMap::new();
    for cpu in online.iter() {
        let path = directory(cpu).join("topology/thread_siblings_list");
        let alone = || std::iter::once(cpu).collect::<CpuSet>();
        let siblings: CpuSet = parsed(root, &path).unwrap_or_else(alone);
        let first = siblings.iter().next().unwrap_or(cpu);
        cores.entry(first).or_insert(siblings);
    }
    cores.into_values().collect()
}

/// Each cache instance once, by level, kind and first CPU.
pub(super) fn caches(root: &Root, online: &CpuSet) -> Vec<Cache> {
    let mut caches = BTreeMap::new();
    for cpu in online.iter() {
        let directory = directory(cpu).join("cache");
        for index in root.list(&directory).unwrap_or_default() {
            if let Some(cache) = cache(root, &directory.join(index)) {
                let first = cache.shared_by.iter().next().unwrap_or(cpu);
                caches.entry((cache.level, cache.kind.clone(), first)).or_insert(cache);
            }
        }
    }
    caches.into_values().collect()
}

fn cache(root: &Root, directory: &Path) -> Option<Cache> {
    Some(Cache {
        level: parsed(root, &directory.join("level"))?,
        kind: root.read_trimmed(directory.join("type")).ok()?,
        size: parsed::<Bytes>(root, &directory.join("size"))?,
        ways: parsed(root, &directory.join("ways_of_associativity")).unwrap_or(0),
        line: parsed(root, &directory.join("coherency_line_size"))?,
        shared_by: parsed(root, &directory.join("shared_cpu_list"))?,
    })
}

fn directory(cpu: u16) -> PathBuf {
    Path::new(CPU).join(format!("cpu{cpu}"))
}

/// The parsed value of a file; `None` if it is missing or malformed.
pub(super) fn parsed<T: FromStr>(root: &Root, path: &Path) -> Option<T> {
    root.read_trimmed(path).ok()?.parse().ok()
}
