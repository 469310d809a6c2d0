//! `--disk` and `--scheduler`: replace the disk of a study from the command line.

use std::fmt;
use std::str::FromStr;

use assay_sys::units::Bytes;

use crate::syntax::{Disk, DiskSize, DiskSource, NullBlk, Study};
use crate::template::Templated;

/// A value of `--disk`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DiskOverride {
    /// `loop`: an image file, of the study's size if it gives one; `loop:4GiB`: of this size.
    Loop(Option<Bytes>),
    /// `block:/dev/x`, or the path alone: a disk or partition, which must be blank.
    Block(String),
    /// `null_blk:iops=500,depth=32,size=1GiB`.
    NullBlk {
        /// Requests per second that the device completes, with `depth` in flight.
        iops: Option<u32>,
        /// Requests that it takes at once.
        depth: Option<u32>,
        /// Its size; the study's if absent.
        size: Option<Bytes>,
    },
    /// `nvme:2GiB`: a disk that `assay lab` adds to a guest.
    Nvme(Bytes),
    /// `virtio:2GiB`: a disk that `assay lab` adds to a guest.
    Virtio(Bytes),
}

/// The size of a disk if neither the study nor the command line gives one.
const DEFAULT_SIZE: Bytes = Bytes::mebi(1024);

/// Smaller disks cannot hold a partition table.
const SMALLEST: Bytes = Bytes::mebi(1);

impl fmt::Display for DiskOverride {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Loop(None) => f.write_str("loop"),
            Self::Loop(Some(size)) => write!(f, "loop:{size}"),
            Self::Block(device) => write!(f, "block:{device}"),
            Self::Nvme(size) => write!(f, "nvme:{size}"),
            Self::Virtio(size) => write!(f, "virtio:{size}"),
            Self::NullBlk { iops, depth, size } => {
                let words = [
                    iops.map(|iops| format!("iops={iops}")),
                    depth.map(|depth| format!("depth={depth}")),
                    size.map(|size| format!("size={size}")),
                ];
                let words: Vec<String> = words.into_iter().flatten().collect();
                write!(f, "null_blk:{}", words.join(","))
            }
        }
    }
}

impl FromStr for DiskOverride {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (kind, rest) = text.split_once(':').unwrap_or((text, ""));
        match kind {
            "loop" if rest.is_empty() => Ok(Self::Loop(None)),
            "loop" => disk_size(kind, rest).map(|size| Self::Loop(Some(size))),
            "block" if rest.starts_with('/') => Ok(Self::Block(rest.to_owned())),
            _ if text.starts_with("/dev/") => Ok(Self::Block(text.to_owned())),
            "null_blk" => null_blk(rest),
            "nvme" => disk_size(kind, rest).map(Self::Nvme),
            "virtio" => disk_size(kind, rest).map(Self::Virtio),
            _ => Err("expected `loop`, `loop:4GiB`, `/dev/x`, `block:/dev/x`, `null_blk:iops=500,depth=32`, or for \
                      `assay lab` also `nvme:2GiB` or `virtio:2GiB`"
                .to_owned()),
        }
    }
}

/// Parses a size of whole sectors that is large enough for a partition table.
pub fn disk_size(kind: &str, text: &str) -> Result<Bytes, String> {
    let size: Bytes =
        text.parse().map_err(|error| format!("{kind} needs a size such as `2GiB`: {error}"))?;
    if size < SMALLEST {
        return Err(format!("{kind} of {size} is too small, expected at least {SMALLEST}"));
    }
    if !size.get().is_multiple_of(512) {
        return Err(format!("{kind} of {size} is not a whole number of sectors of 512 bytes"));
    }
    Ok(size)
}

fn null_blk(text: &str) -> Result<DiskOverride, String> {
    let (mut iops, mut depth, mut size) = (None, None, None);
    for word in text.split(',').filter(|word| !word.is_empty()) {
        let (name, value) = word
            .split_once('=')
            .ok_or_else(|| format!("`{word}` has no value; write `iops=500`"))?;
        match name {
            "iops" => iops = Some(NullBlk::check(name, value.parse().ok())?),
            "depth" => depth = Some(NullBlk::check(name, value.parse().ok())?),
            "size" => size = Some(disk_size("null_blk", value)?),
            _ => {
                return Err(format!(
                    "unknown null_blk option `{name}`, expected iops, depth or size"
                ));
            }
        }
    }
    Ok(DiskOverride::NullBlk { iops, depth, size })
}

/// Replaces the source of the study's only disk.
pub fn override_disk(study: &mut Study, choice: &DiskOverride) -> Result<(), String> {
    let disk = only_disk(study)?;
    let fixed = |size: Bytes| Templated::Value(DiskSize::Fixed(size));
    match choice {
        DiskOverride::Loop(size) => {
            disk.source = DiskSource::Loop;
            if let Some(size) = size {
                disk.size = Some(fixed(*size));
            }
            disk.size.get_or_insert(fixed(DEFAULT_SIZE));
        }
        DiskOverride::Block(device) => {
            disk.source = DiskSource::Block { device: device.clone(), erase: None };
            disk.size = None;
        }
        DiskOverride::NullBlk { iops, depth, size } => {
            disk.source = DiskSource::NullBlk(NullBlk {
                iops: iops.map(Templated::Value),
                depth: depth.map(Templated::Value),
            });
            if let Some(size) = size {
                disk.size = Some(fixed(*size));
            }
            disk.size.get_or_insert(fixed(DEFAULT_SIZE));
        }
        DiskOverride::Nvme(_) | DiskOverride::Virtio(_) => {
            return Err(
                "nvme and virtio disks exist only in a guest; use `assay lab run`".to_owned()
            );
        }
    }
    Ok(())
}

/// Permits erasing the study's only disk, if `word` is its serial number, its size or the type of its
/// signature.
pub fn permit_erasing(study: &mut Study, word: &str) -> Result<(), String> {
    match &mut only_disk(study)?.source {
        DiskSource::Block { erase, .. } => {
            *erase = Some(word.to_owned());
            Ok(())
        }
        _ => Err("only a disk that is named by its path, `/dev/x`, can hold data".to_owned()),
    }
}

/// Replaces the scheduler of the study's only disk. Attributes below `iosched/` belong to the
/// scheduler that the study names and are removed with it.
pub fn override_scheduler(study: &mut Study, scheduler: &str) -> Result<(), String> {
    set_scheduler(only_disk(study)?, scheduler);
    Ok(())
}

pub(crate) fn set_scheduler(disk: &mut Disk, scheduler: &str) {
    let same = matches!(&disk.scheduler, Some(Templated::Value(own)) if own == scheduler);
    if !same {
        disk.queue.retain(|(attribute, _)| !attribute.starts_with("iosched/"));
    }
    disk.scheduler = Some(Templated::Value(scheduler.to_owned()));
}

fn only_disk(study: &mut Study) -> Result<&mut Disk, String> {
    let count = study.disks.len();
    let mut disks = study.disks.values_mut();
    match (disks.next(), count) {
        (Some(disk), 1) => match disk.source {
            DiskSource::Directory { .. } => {
                Err("the study writes into a directory, not to a disk".to_owned())
            }
            _ => Ok(disk),
        },
        (None, _) => Err("the study has no disk".to_owned()),
        _ => Err(format!("the study has {count} disks, expected one")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{parse, shipped};

    fn io_weight() -> Study {
        let study = shipped().iter().find(|study| study.name == "io-weight").unwrap();
        parse(study.name, study.text, &|_| Err(String::new())).0.unwrap()
    }

    #[test]
    fn an_override_replaces_the_source_and_keeps_the_rest() {
        let mut study = io_weight();
        let choice: DiskOverride = "null_blk:iops=2000,depth=32".parse().unwrap();
        override_disk(&mut study, &choice).unwrap();
        let disk = &study.disks["scratch"];
        let expected =
            NullBlk { iops: Some(Templated::Value(2000)), depth: Some(Templated::Value(32)) };
        assert_eq!(disk.source, DiskSource::NullBlk(expected));
        assert_eq!(disk.size, Some(Templated::Value(DiskSize::Fixed(Bytes::mebi(1024)))));
        assert_eq!(disk.queue.len(), 2, "attributes of bfq stay with bfq");
    }

    #[test]
    fn another_scheduler_removes_the_attributes_of_the_first() {
        let mut study = io_weight();
        override_scheduler(&mut study, "bfq").unwrap();
        assert_eq!(study.disks["scratch"].queue.len(), 2);
        override_scheduler(&mut study, "none").unwrap();
        assert_eq!(study.disks["scratch"].queue, vec![]);
    }

    #[test]
    fn guest_disks_and_ambiguous_disks_are_refused() {
        let mut study = io_weight();
        let nvme = "nvme:2GiB".parse().unwrap();
        assert_eq!(nvme, DiskOverride::Nvme(Bytes::mebi(2048)));
        assert!(override_disk(&mut study, &nvme).unwrap_err().contains("assay lab run"));
        let larger: DiskOverride = "loop:4 GiB".parse().unwrap();
        assert_eq!(larger.to_string().parse(), Ok(larger.clone()));
        override_disk(&mut study, &larger).unwrap();
        let size = Templated::Value(DiskSize::Fixed(Bytes::mebi(4096)));
        assert_eq!(study.disks["scratch"].size, Some(size));
        let more = study.disks["scratch"].clone();
        study.disks.insert("other".to_owned(), more);
        assert!(
            override_disk(&mut study, &DiskOverride::Loop(None)).unwrap_err().contains("2 disks")
        );
        study.disks.clear();
        assert!(override_scheduler(&mut study, "none").unwrap_err().contains("no disk"));
    }

    #[test]
    fn a_path_is_a_disk_and_only_such_a_disk_is_erased() {
        let named: DiskOverride = "/dev/nvme0n1p3".parse().unwrap();
        assert_eq!(named, "block:/dev/nvme0n1p3".parse().unwrap());
        let mut study = io_weight();
        assert!(permit_erasing(&mut study, "ext4").unwrap_err().contains("`/dev/x`"));
        override_disk(&mut study, &named).unwrap();
        permit_erasing(&mut study, "ext4").unwrap();
        let source = &study.disks["scratch"].source;
        assert!(
            matches!(source, DiskSource::Block { erase: Some(word), .. } if word == "ext4"),
            "{source:?}"
        );
    }

    #[test]
    fn display_and_parse_are_inverse() {
        for text in [
            "loop",
            "loop:4 GiB",
            "block:/dev/sdb",
            "nvme:2 GiB",
            "null_blk:iops=500,depth=32,size=1 GiB",
        ] {
            assert_eq!(text.parse::<DiskOverride>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn a_wrong_disk_is_refused_with_the_expected_syntax() {
        let refused = |text: &str| text.parse::<DiskOverride>().unwrap_err();
        for text in ["floppy", "block:sda", ""] {
            assert!(refused(text).contains("block:/dev/x"), "{text}");
        }
        assert!(refused("nvme:").contains("2GiB") && refused("loop:x").contains("2GiB"));
        assert!(refused("nvme:100").contains("too small"));
        assert!(refused("virtio:2000001").contains("sectors"));
        assert!(refused("null_blk:iops=0").contains("iops"));
        assert!(refused("null_blk:depth=50000").contains("depth"));
        assert!(refused("null_blk:speed=9").contains("iops, depth or size"));
        assert!(refused("null_blk:iops").contains("no value"));
    }
}
