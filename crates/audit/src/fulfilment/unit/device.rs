//! Limits of I/O for a device.

use std::collections::HashSet;
use std::path::Path;

use super::{KEYS, Value};
use crate::fulfilment::Target;
use crate::fulfilment::wanted::Wanted;
use crate::host::Host;
use crate::snapshot::Disk;

/// Whether a setting is such a limit by the path of something else than a device.
pub(super) fn is_of_file(key: &str, value: &str) -> bool {
    let name = key.strip_prefix("Startup").unwrap_or(key);
    let mut limits = KEYS.iter().filter(|key| matches!(key.4, Value::Rate(_)));
    limits.any(|limit| limit.0 == name) && !value.is_empty() && !value.starts_with("/dev/")
}

/// Of the lines of a limit the last for each path: systemd replaces the number of an equal one (`path_equal`).
pub(super) fn last_of_each(lines: &[String]) -> Vec<String> {
    let mut paths = HashSet::new();
    let mut last = Vec::new();
    for line in lines.iter().rev() {
        if paths.insert(line.split_whitespace().next().map(Path::new)) {
            last.push(line.clone());
        }
    }
    last.reverse();
    last
}

/// What `DEVICE NUMBER` becomes.
pub(super) fn targets(
    v2: &'static str,
    v1: Option<&'static str>,
    key: &'static str,
    text: &str,
    host: &Host,
) -> Option<[Target; 2]> {
    const HOW: &str = "the device's whole disk";
    let (path, number) = text.split_once(char::is_whitespace)?;
    let value = decimal(number.trim())?;
    let Some(device) = device(host, path) else {
        let unknown = Target::Unknown(format!("which disk {path} is on is not known"));
        return Some([unknown.clone(), unknown]);
    };
    let wanted = Wanted::Device { device, key, value };
    let v1 = v1.map_or(
        Target::Nowhere("systemd applies it on cgroup2 only, and blkio is on v1 here"),
        |name| Target::file(name, wanted.clone(), HOW),
    );
    Some([Target::file(v2, wanted, HOW), v1])
}

/// `10M`, with factors of 1000: unlike those of memory.
fn decimal(text: &str) -> Option<u64> {
    let suffixes = [("K", 1_000), ("M", 1_000_000), ("G", 1_000_000_000), ("T", 1_000_000_000_000)];
    let (number, factor) = suffixes
        .into_iter()
        .find_map(|(suffix, factor)| Some((text.strip_suffix(suffix)?, factor)))
        .unwrap_or((text, 1));
    number.parse::<u64>().ok()?.checked_mul(factor)
}

/// The whole disk of a node in /dev, or of the file system with the longest path above a file.
fn device(host: &Host, path: &str) -> Option<String> {
    let disks = &host.snapshot.disks;
    if let Some(name) = path.strip_prefix("/dev/") {
        return Some(below(host, host.disk_named(name)?));
    }
    let is_above = |mount: &str| Path::new(path).starts_with(mount);
    let mounts = disks.iter().flat_map(|disk| disk.mounted.iter().map(move |on| (on, disk)));
    let (_, disk) =
        mounts.filter(|(mount, _)| is_above(mount)).max_by_key(|(mount, _)| mount.len())?;
    Some(below(host, disk))
}

/// systemd goes down while there is exactly one device below (`lookup_block_device`, src/core/cgroup.c).
fn below(host: &Host, disk: &Disk) -> String {
    match host.bottom(disk).as_slice() {
        [one] => one.device.clone(),
        _ => disk.device.clone(),
    }
}
