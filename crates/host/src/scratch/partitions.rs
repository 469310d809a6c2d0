//! Equal partitions.

use std::path::{Path, PathBuf};
use std::time::Duration;

use assay_sys::kernel::{Error, Root};
use assay_sys::units::Bytes;
use rustix::io::Errno;

use super::{ScratchDisk, ScratchSpec};
use crate::ledger::Area;
use crate::poll_until::wait_until;
use crate::{Ledger, command};

const MIB: u64 = 1 << 20;
const SECTOR: u64 = 512;

/// Equal areas aligned to whole MiB; the first and the last MiB are reserved for the partition table
/// and its copy. Empty for a disk without partitions.
pub(super) fn plan(spec: &ScratchSpec, size: Bytes) -> Result<Vec<Area>, Error> {
    let count = u64::from(spec.partitions);
    if count == 0 {
        return Ok(Vec::new());
    }
    let length = (size.get() / MIB).saturating_sub(2) / count * MIB;
    if length == 0 {
        let hint = format!("{size} is too small for {count} partitions of at least 1 MiB");
        return Err(Error::unexpected("partition", Path::new(&spec.name), hint));
    }
    Ok((0..count).map(|index| Area { start: MIB + index * length, length }).collect())
}

/// Writes a partition table if sfdisk is available, adds every partition to the kernel's table and
/// waits for the device nodes.
pub(super) fn make(
    root: &Root,
    ledger: &mut Ledger,
    disk: &mut ScratchDisk,
    areas: &[Area],
) -> Result<Vec<PathBuf>, Error> {
    match command::find("sfdisk") {
        Some(sfdisk) => write_table(&sfdisk, &disk.device_path, areas)?,
        None => disk.notes.push(
            "the disk has no partition table (sfdisk is missing); only the kernel knows \
             its partitions"
                .to_owned(),
        ),
    }
    (1..).zip(areas).map(|(number, area)| add(root, ledger, disk, number, *area)).collect()
}

/// Writes the table without notifying the kernel: whether it can parse tables differs between kernels,
/// and each partition is added explicitly anyway.
fn write_table(sfdisk: &Path, disk: &Path, areas: &[Area]) -> Result<(), Error> {
    const MBR: usize = 4;
    let label = if areas.len() <= MBR { "dos" } else { "gpt" };
    let mut script = format!("label: {label}\nunit: sectors\n");
    for area in areas {
        script += &format!("start={}, size={}\n", area.start / SECTOR, area.length / SECTOR);
    }
    let options = ["--quiet", "--no-reread", "--no-tell-kernel", "--wipe", "always"];
    let mut arguments: Vec<&std::ffi::OsStr> = options.iter().map(AsRef::as_ref).collect();
    arguments.push(disk.as_os_str());
    command::succeed(sfdisk, &arguments, &script).map(|_| ())
}

fn add(
    root: &Root,
    ledger: &mut Ledger,
    disk: &ScratchDisk,
    number: u32,
    area: Area,
) -> Result<PathBuf, Error> {
    let name = name(&disk.device, number);
    match ledger.add_partition(&disk.device_path, number, area) {
        // udev or the kernel has already read the table just written; the partition is removed with the
        // table all the same.
        Err(error) if error.is(Errno::BUSY) && is_there(root, &disk.device, &name, area) => {
            ledger.adopt_partition(&disk.device_path, number)?;
        }
        other => other?,
    }
    let node = disk.device_path.with_file_name(&name);
    if wait_until(Duration::from_secs(5), || node.exists()) {
        return Ok(node);
    }
    let hint = "the kernel has the partition, but no node appeared: is /dev a devtmpfs?";
    Err(Error::unexpected("find", &node, hint))
}

fn is_there(root: &Root, disk: &str, partition: &str, area: Area) -> bool {
    let directory = Path::new("/sys/block").join(disk).join(partition);
    let sectors = |name: &str| root.read_trimmed(directory.join(name)).ok()?.parse::<u64>().ok();
    sectors("start") == Some(area.start / SECTOR) && sectors("size") == Some(area.length / SECTOR)
}

/// The kernel puts a `p` between a name that ends in a digit and the partition number.
fn name(disk: &str, number: u32) -> String {
    let separator = if disk.ends_with(|c: char| c.is_ascii_digit()) { "p" } else { "" };
    format!("{disk}{separator}{number}")
}

#[cfg(test)]
mod tests {
    use super::super::{Format, Source};
    use super::*;

    fn spec(partitions: u32) -> ScratchSpec {
        ScratchSpec {
            name: "scratch".to_owned(),
            source: Source::Directory { path: "/".into() },
            format: Format::None,
            partitions,
            scheduler: None,
            queue: Vec::new(),
            mount_dir: "/".into(),
        }
    }

    #[test]
    fn partitions_are_equal_aligned_apart_and_inside() {
        for (partitions, size) in [(1, 3), (4, 64), (7, 1000), (128, 4096)] {
            let size = Bytes::mebi(size);
            let areas = plan(&spec(partitions), size).unwrap();
            assert_eq!(areas.len(), partitions as usize);
            for area in &areas {
                assert_eq!(area.start % MIB, 0);
                assert_eq!(area.length, areas[0].length);
            }
            for pair in areas.windows(2) {
                assert_eq!(pair[0].start + pair[0].length, pair[1].start);
            }
            let last = areas[areas.len() - 1];
            assert!(last.start + last.length <= size.get() - MIB);
        }
    }

    #[test]
    fn a_disk_too_small_for_its_partitions_is_refused() {
        assert!(plan(&spec(4), Bytes::mebi(5)).unwrap_err().to_string().contains("too small"));
        assert_eq!(plan(&spec(0), Bytes::mebi(5)).unwrap(), []);
    }

    #[test]
    fn names_follow_the_kernel() {
        assert_eq!(name("loop8", 1), "loop8p1");
        assert_eq!(name("nvme0n1", 12), "nvme0n1p12");
        assert_eq!(name("sda", 1), "sda1");
    }
}
