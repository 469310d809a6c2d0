//! A whole disk named by the user.

use std::fs::File;
use std::path::Path;

use assay_facts::Disk;
use assay_kernel::{Error, Root, block};
use assay_units::Bytes;

use super::{Base, ScratchDisk};
use crate::ledger::Area;
use crate::{Ledger, command, facts};

/// Refuses a disk that is in use, is not whole, or holds data without permission to erase it.
pub(super) fn check(root: &Root, device: &Path, erase: Option<&str>) -> Result<Base, Error> {
    let node = device.canonicalize().map_err(|cause| Error::new("open", device, &cause))?;
    // The kernel's own answer, which also covers users that /proc does not show. From here on the
    // checks apply to the open disk: its name may be reassigned at any time.
    let open = block::open_exclusive(&node);
    let numbers = match &open {
        Ok(open) => block::numbers_of(open, &node)?,
        Err(_) => block::numbers(&node)?,
    };
    let disk = facts::disk_by_numbers(root, numbers.major, numbers.minor).ok_or_else(|| {
        Error::unexpected("use", device, "it is not a whole disk: name the disk, not a partition")
    })?;
    refuse_in_use(device, &disk)?;
    let open =
        open.map_err(|error| error.with_hint("it is in use: lsblk and `fuser -v` show by what"))?;
    refuse_exchanged(root, device, &disk.name, &open)?;
    if !erase.is_some_and(|word| permits(word, &disk)) {
        refuse_content(device, &node, &disk, erase)?;
    }
    // Check again: blkid opened it by name.
    refuse_exchanged(root, device, &disk.name, &open)?;
    Ok(Base { device: disk.name, node, notes: Vec::new() })
}

/// Refuses a disk whose name by now belongs to another one than the one that is open.
fn refuse_exchanged(root: &Root, device: &Path, name: &str, open: &File) -> Result<(), Error> {
    let named = root.read_trimmed(format!("/sys/block/{name}/diskseq")).ok();
    let named: Option<u64> = named.and_then(|text| text.parse().ok());
    match (named, block::diskseq(open)) {
        (Some(named), Some(open)) if named != open => {
            let hint = "another disk has taken its name during the check: try again";
            Err(Error::unexpected("use", device, hint))
        }
        _ => Ok(()),
    }
}

fn refuse_in_use(device: &Path, disk: &Disk) -> Result<(), Error> {
    let Some(holder) = disk.holders.first() else { return Ok(()) };
    Err(Error::unexpected("use", device, format!("it, or a partition of it, is {holder}")))
}

/// Whether `word` identifies this disk: its serial number, or its exact size.
fn permits(word: &str, disk: &Disk) -> bool {
    disk.serial.as_deref() == Some(word.trim())
        || word.parse::<Bytes>().is_ok_and(|size| size == disk.size && size.get() > 0)
}

fn refuse_content(
    device: &Path,
    node: &Path,
    disk: &Disk,
    erase: Option<&str>,
) -> Result<(), Error> {
    let content = match disk.partitions.as_slice() {
        [] => signature(node)?,
        names => Some(format!("partitions ({})", names.join(", "))),
    };
    let Some(content) = content else { return Ok(()) };
    let name = disk.serial.clone().unwrap_or_else(|| disk.size.to_string());
    let mut hint = format!("it holds {content}. To erase it, write erase = \"{name}\"");
    if let Some(word) = erase {
        hint += &format!("; `{word}` is neither its serial number nor its size");
    }
    Err(Error::unexpected("overwrite", device, hint))
}

/// The contents that `blkid -p` recognises on a device, or `None` when it is blank. Without blkid
/// nothing is known, and the disk is not touched.
fn signature(node: &Path) -> Result<Option<String>, Error> {
    /// blkid(8): no signature found.
    const NOTHING: i32 = 2;
    let blkid = command::require("blkid", "util-linux")?;
    let arguments = ["-p".as_ref(), "-o".as_ref(), "export".as_ref(), node.as_os_str()];
    let output = command::run(&blkid, &arguments, "")?;
    if output.status.code() == Some(NOTHING) {
        return Ok(None);
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let kinds: Vec<&str> = text
        .lines()
        .filter_map(|line| line.split_once('='))
        .filter(|(key, _)| matches!(*key, "TYPE" | "PTTYPE" | "LABEL"))
        .map(|(_, value)| value)
        .collect();
    // With several signatures blkid ends with code 8 and prints nothing.
    Ok(Some(if kinds.is_empty() { "a signature".to_owned() } else { kinds.join(" ") }))
}

/// Records that the disk and its partitions get signatures, so that they are wiped afterwards.
pub(super) fn note_signatures(
    root: &Root,
    ledger: &mut Ledger,
    disk: &ScratchDisk,
    areas: &[Area],
) -> Result<(), Error> {
    let mut all = vec![Area { start: 0, length: disk.size.get() }];
    all.extend_from_slice(areas);
    ledger.write_signatures(root, &disk.device_path, all)
}

#[cfg(test)]
mod tests {
    use assay_facts::Holder;

    use super::*;

    fn disk() -> Disk {
        Disk {
            name: "sdz".to_owned(),
            size: Bytes::new(2 << 30),
            major: 8,
            minor: 0,
            scheduler: None,
            rotational: None,
            nr_requests: None,
            model: None,
            serial: Some("S3R1AL".to_owned()),
            partitions: vec!["sdz1".to_owned()],
            holders: Vec::new(),
            backing_file: None,
        }
    }

    #[test]
    fn only_the_serial_number_or_the_exact_size_permits_erasing() {
        for word in ["S3R1AL", "2 GiB", "2147483648"] {
            assert!(permits(word, &disk()), "{word}");
        }
        for word in ["", "yes", "s3r1al", "2 GB", "1 GiB"] {
            assert!(!permits(word, &disk()), "{word}");
        }
        assert!(!permits("0", &Disk { size: Bytes::new(0), ..disk() }));
    }

    #[test]
    fn a_disk_with_partitions_is_refused_with_a_remedy() {
        let path = Path::new("/dev/sdz");
        let error = refuse_content(path, path, &disk(), Some("yes")).unwrap_err().to_string();
        assert!(error.contains("partitions (sdz1)"), "{error}");
        assert!(error.contains("erase = \"S3R1AL\""), "{error}");
        assert!(error.contains("`yes` is neither"), "{error}");
    }

    #[test]
    fn a_disk_in_use_is_refused_with_its_user() {
        for (holder, says) in [
            (Holder::Mounted("/data".into()), "mounted at /data"),
            (Holder::Held("dm-0".to_owned()), "part of the device dm-0"),
            (Holder::Swap, "swap space"),
        ] {
            let disk = Disk { holders: vec![holder], ..disk() };
            let error = refuse_in_use(Path::new("/dev/sdz"), &disk).unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        }
    }
}
