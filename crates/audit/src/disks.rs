//! The disks of a snapshot, and which of them a group uses, through everything that is stacked on them.

use std::collections::{BTreeSet, HashSet};
use std::rc::Rc;

use assay_host::facts::Available;
use assay_host::knob::{device_lines, field};

use crate::finding::Reading;
use crate::host::{COSTS, Host};
use crate::snapshot::Disk;
use crate::tree::Node;

/// Disks of one stack that are looked at.
const MOST_IN_STACK: usize = 1024;

/// Disks that a sentence names, and on whose files a finding rests.
pub(crate) const MOST_NAMED: usize = 16;

/// Files in which a group's I/O is counted by device.
const COUNTED: [&str; 3] =
    ["io.stat", "blkio.throttle.io_service_bytes", "blkio.bfq.io_service_bytes"];

impl Disk {
    /// The scheduler in brackets; `None` for a device without a queue.
    pub(crate) fn scheduler(&self) -> Option<&str> {
        let text = self.scheduler.value()?;
        let is_active = |word: &&str| word.starts_with('[') && word.ends_with(']');
        let active = text.split_whitespace().find(is_active).or(text.split_whitespace().next())?;
        Some(active.trim_start_matches('[').trim_end_matches(']'))
    }

    /// Whether it queues requests itself: of the devices made of others, multipath does (`queue_mode` mq of dm-mpath.c). The kernel brackets one of the
    /// names only for such a queue, and up to 6.x writes `none` for others.
    fn has_queue(&self) -> bool {
        self.scheduler.value().is_some_and(|text| text.contains('['))
    }

    /// Whether schedulers and rq_qos (io.cost, io.latency) act below it only.
    pub(crate) fn is_stacked(&self) -> bool {
        !self.slaves.is_empty() && !self.has_queue()
    }

    /// Whether it hands its I/O to disks that are not listed: the paths of one NVMe namespace (drivers/nvme/host/multipath.c).
    pub(crate) fn is_head_of_paths(&self) -> bool {
        self.name.starts_with("nvme") && !self.has_queue()
    }

    /// The scheduler with its file.
    pub(crate) fn reading(&self) -> Reading {
        let text = match &self.scheduler {
            Available::Value(text) => text.clone(),
            Available::NotAvailable(why) => format!("not available: {why}"),
        };
        Reading::new(format!("/sys/block/{}/queue/scheduler", self.name), text)
    }

    /// What it is made of, with its file.
    pub(crate) fn slaves_reading(&self) -> Reading {
        Reading::new(format!("/sys/block/{}/slaves", self.name), self.slaves.join(" "))
    }
}

/// Disks that a group uses, as far as that can be seen.
pub(crate) struct Used<'h> {
    /// The devices that its I/O is counted for, or on which its processes have files open.
    pub(crate) disks: Vec<&'h Disk>,
    /// What says so.
    pub(crate) reading: Option<Reading>,
}

impl Host<'_> {
    /// The disk with these numbers, or of which they are a partition.
    pub(crate) fn disk(&self, device: &str) -> Option<&Disk> {
        self.snapshot.disks.get(self.places().of_device(device)?)
    }

    /// The disk of this name, or of which it is a partition.
    pub(crate) fn disk_named(&self, name: &str) -> Option<&Disk> {
        self.snapshot.disks.get(self.places().of_name(name)?)
    }

    /// The disks at the bottom of a stack; the disk itself if it is not stacked.
    pub(crate) fn bottom<'h>(&'h self, disk: &'h Disk) -> Vec<&'h Disk> {
        let places = self.places();
        let Some(at) = places.of_name(&disk.name) else { return vec![disk] };
        let find = || {
            let all = self.stack(disk, &mut HashSet::new()).into_iter();
            let bottom = all.filter(|one| !one.is_stacked());
            bottom.filter_map(|one| places.of_name(&one.name)).collect()
        };
        let found = places.bottom(at, find).iter();
        found.filter_map(|at| self.snapshot.disks.get(*at)).collect()
    }

    /// A disk and those that it is made of, each once and none that was seen before: a made-up snapshot may have disks that are
    /// made of each other.
    pub(crate) fn stack<'h>(
        &'h self,
        disk: &'h Disk,
        seen: &mut HashSet<&'h str>,
    ) -> Vec<&'h Disk> {
        let (mut open, mut found) = (vec![disk], Vec::new());
        while let Some(one) = open.pop().filter(|_| found.len() < MOST_IN_STACK) {
            if seen.insert(&one.name) {
                let below = one.slaves.iter().rev().filter(|_| one.is_stacked());
                open.extend(below.filter_map(|name| self.disk_named(name)));
                found.push(one);
            }
        }
        found
    }

    /// The disks that a group uses.
    pub(crate) fn used(&self, node: Node) -> Used<'_> {
        let mut devices: BTreeSet<&str> = BTreeSet::new();
        let mut reading = None;
        for file in COUNTED {
            let counted: Vec<&str> = node.text(file).into_iter().flat_map(counted).collect();
            if !counted.is_empty() {
                reading = reading.or_else(|| Some(node.reading(file)));
                devices.extend(counted);
            }
        }
        if let Some(Available::Value(open)) = &node.group().open_on {
            devices.extend(open.iter().map(String::as_str));
            let what = || Reading::new("/proc/PID/fd of its processes", open.join(" "));
            reading = reading.or_else(|| (!open.is_empty()).then(what));
        }
        let mut seen = HashSet::new();
        let disks = devices.into_iter().filter_map(|device| self.disk(device));
        let disks = disks.filter(|disk| seen.insert(disk.name.as_str())).collect();
        Used { disks, reading }
    }

    /// Disks that could be used: those of some size that are not stacked.
    pub(crate) fn usable(&self) -> impl Iterator<Item = &Disk> {
        let disks = self.snapshot.disks.iter();
        disks.filter(|disk| disk.size > 0 && !disk.is_stacked() && disk.scheduler().is_some())
    }

    /// Their schedulers, or those of the first of them, for findings that rest on all.
    pub(crate) fn schedulers(&self) -> Rc<[Reading]> {
        self.usable().take(MOST_NAMED).map(Disk::reading).collect()
    }

    /// Whether iocost divides a disk, with the reading.
    pub(crate) fn iocost(&self, disk: &Disk) -> Option<Reading> {
        let is_on = self.places().is_by_iocost(&disk.device);
        let top = self.v2_of("io")?.top()?;
        is_on.then(|| top.reading(COSTS))
    }

    /// Whether iocost is known not to divide a disk: only the root of the hierarchy says so, which a container does not see.
    pub(crate) fn has_no_iocost(&self, disk: &Disk) -> bool {
        let is_seen = self.v2_of("io").is_none_or(|tree| tree.hierarchy.is_whole);
        is_seen && self.iocost(disk).is_none()
    }
}

/// Devices for which a file counts anything.
fn counted(text: &str) -> impl Iterator<Item = &str> {
    device_lines(text).filter(|(_, line)| is_used(line)).map(|(device, _)| device)
}

/// `rbytes=4096 wbytes=0 ...` on v2, `Read 4096` on v1.
fn is_used(line: &str) -> bool {
    let number = |word: &str| word.parse::<u64>().is_ok_and(|number| number > 0);
    match line.split_once(' ') {
        Some((_, value)) if !line.contains('=') => number(value.trim()),
        _ => ["rbytes", "wbytes", "dbytes"].iter().any(|key| field(line, key).is_some_and(number)),
    }
}

/// Names of disks with their schedulers, for a sentence.
pub(crate) fn with_schedulers(disks: &[&Disk]) -> String {
    names(disks, |disk| format!("{} ({})", disk.name, disk.scheduler().unwrap_or("no scheduler")))
}

/// Names of disks for a sentence. Of very many, which no host has, the first.
pub(crate) fn names(disks: &[&Disk], name: impl Fn(&Disk) -> String) -> String {
    let named: Vec<String> = disks.iter().take(MOST_NAMED).map(|disk| name(disk)).collect();
    let more = disks.len().saturating_sub(MOST_NAMED);
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    named.join(", ") + &more
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::Fake;

    fn names_of(disks: Vec<&Disk>) -> Vec<&str> {
        disks.into_iter().map(|disk| disk.name.as_str()).collect()
    }

    #[test]
    fn a_stack_is_followed_down_through_partitions_each_disk_once() {
        let snapshot = Fake::v2()
            .disk("sda", "8:0", "[none]")
            .disk("sdb", "8:16", "[none]")
            .stacked("md0", "9:0", &["sda1", "sdb"])
            .stacked("dm-0", "253:0", &["md0", "sda"])
            .change(|host| _ = host.disks[0].partitions.insert("sda1".into(), "8:1".into()))
            .snapshot();
        let host = Host::new(&snapshot);
        let bottom = |at: usize| names_of(host.bottom(&snapshot.disks[at]));
        assert_eq!((bottom(3), bottom(3)), (vec!["sda", "sdb"], vec!["sda", "sdb"]));
        assert_eq!((bottom(2), bottom(0)), (vec!["sda", "sdb"], vec!["sda"]));
    }

    /// As only a made-up snapshot has them: `parse` sees no disk alone that is made of itself.
    #[test]
    fn disks_that_are_made_of_each_other_have_an_end() {
        let slaves: Vec<String> = (0..64).map(|at| format!("d{at}")).collect();
        let all: Vec<&str> = slaves.iter().map(String::as_str).collect();
        let fake = all
            .iter()
            .enumerate()
            .fold(Fake::v2(), |fake, (at, name)| fake.stacked(name, &format!("1:{at}"), &all));
        let snapshot = fake.snapshot();
        assert!(Host::new(&snapshot).bottom(&snapshot.disks[0]).is_empty());
    }

    #[test]
    fn a_sentence_names_only_so_many_disks() {
        let fake = (0..20).fold(Fake::v2(), |fake, at| fake.disk("sda", &format!("8:{at}"), "x"));
        let snapshot = fake.snapshot();
        let disks: Vec<&Disk> = snapshot.disks.iter().collect();
        assert!(with_schedulers(&disks).ends_with("sda (x) and 4 more"));
    }
}
