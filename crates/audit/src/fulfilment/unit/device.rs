//! Limits of I/O for a device.

use std::collections::HashSet;
use std::path::Path;

use crate::fulfilment::wanted::Wanted;
use crate::fulfilment::{Asked, Target};
use crate::rule::Host;
use crate::snapshot::Disk;

/// A setting with a device and a number.
pub(super) struct Limit {
    pub(super) setting: &'static str,
    /// Its key in `io.max`.
    key: &'static str,
    /// Its file on v1, if systemd writes there.
    on_v1: Option<&'static str>,
}

pub(super) const LIMITS: [Limit; 4] = [
    Limit {
        setting: "IOReadBandwidthMax",
        key: "rbps",
        on_v1: Some("blkio.throttle.read_bps_device"),
    },
    Limit {
        setting: "IOWriteBandwidthMax",
        key: "wbps",
        on_v1: Some("blkio.throttle.write_bps_device"),
    },
    Limit { setting: "IOReadIOPSMax", key: "riops", on_v1: None },
    Limit { setting: "IOWriteIOPSMax", key: "wiops", on_v1: None },
];

/// Whether a setting is such a limit by the path of something else than a device.
pub(super) fn is_of_file(key: &str, value: &str) -> bool {
    let key = key.strip_prefix("Startup").unwrap_or(key);
    let is_limit = LIMITS.iter().any(|limit| limit.setting == key);
    is_limit && !value.is_empty() && !value.starts_with("/dev/")
}

/// Of the lines of a limit the last for each path: systemd replaces the number of an equal one (`path_equal`).
pub(super) fn last_of_each(lines: &[String]) -> impl Iterator<Item = &str> {
    let mut paths = HashSet::new();
    let lines = lines.iter().rev().map(String::as_str);
    let mut last: Vec<&str> =
        lines.filter(|line| paths.insert(line.split_whitespace().next().map(Path::new))).collect();
    last.reverse();
    last.into_iter()
}

impl Limit {
    pub(super) fn asked(&self, host: &Host, text: &str) -> Asked {
        let setting = format!("{}={text}", self.setting);
        let words = text.split_once(char::is_whitespace);
        let known = words.and_then(|(device, number)| Some((device, decimal(number.trim())?)));
        let unknown = |why: String| Asked {
            setting: setting.clone(),
            controller: "io",
            v2: Target::Unknown(why.clone()),
            v1: Target::Unknown(why),
        };
        let Some((path, value)) = known else {
            return unknown("this value is not understood".to_owned());
        };
        let Some(device) = device(host, path) else {
            return unknown(format!("which disk {path} is on is not known"));
        };
        let wanted = Wanted::Device { device, key: self.key, value };
        let v1 = self.on_v1.map_or(
            Target::Nowhere("systemd applies it on cgroup2 only, and blkio is on v1 here"),
            |name| Target::file(name, wanted.clone(), "the device's whole disk"),
        );
        let v2 = Target::file("io.max", wanted, "the device's whole disk");
        Asked { setting, controller: "io", v2, v1 }
    }
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
