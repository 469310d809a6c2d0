//! A disk or partition named by the user.

use std::fs::File;
use std::path::Path;

use crate::facts::{Disk, Holder, Partition};
use assay_sys::kernel::{Error, Root, block};
use assay_sys::units::Bytes;

use super::Base;
use crate::ledger::whole_disk;
use crate::{collect, command};

/// What the user named: a whole disk, or a partition of one.
struct Named {
    disk: Disk,
    part: Option<Partition>,
}

impl Named {
    /// The disk or partition with this node and these device numbers.
    fn find(root: &Root, numbers: block::DeviceNumber, node: &Path) -> Option<Self> {
        if let Some(disk) = collect::disk_by_numbers(root, numbers.major, numbers.minor) {
            return Some(Self { disk, part: None });
        }
        let disk = collect::disk_named(root, &whole_disk(root, &numbers.to_string())?)?;
        let part = disk.part(node.file_name()?.to_str()?)?.clone();
        Some(Self { disk, part: Some(part) })
    }

    fn holders(&self) -> Vec<Holder> {
        match &self.part {
            Some(part) => self.disk.holders_of(part),
            None => self.disk.holders.clone(),
        }
    }

    fn size(&self) -> Bytes {
        self.part.as_ref().map_or(self.disk.size, |part| part.size)
    }

    /// The serial number, which belongs to a whole disk only.
    fn serial(&self) -> Option<&str> {
        self.disk.serial.as_deref().filter(|_| self.part.is_none())
    }
}

/// Refuses a disk that is in use, or holds data without permission to erase it.
pub(super) fn check(root: &Root, device: &Path, erase: Option<&str>) -> Result<Base, Error> {
    let node = device.canonicalize().map_err(|cause| Error::new("open", device, &cause))?;
    // The kernel's own answer, which also covers users that /proc does not show. From here on the
    // checks apply to the open disk: its name may be reassigned at any time.
    let open = block::open_exclusive(&node);
    let numbers = match &open {
        Ok(open) => block::numbers_of(open, &node)?,
        Err(_) => block::numbers(&node)?,
    };
    let named = Named::find(root, numbers, &node)
        .ok_or_else(|| Error::unexpected("use", device, "it is neither a disk nor a partition"))?;
    refuse_in_use(device, &named)?;
    let open =
        open.map_err(|error| error.with_hint("it is in use: lsblk and `fuser -v` show by what"))?;
    refuse_exchanged(root, device, &named.disk.name, &open)?;
    if !erase.is_some_and(|word| permits(word, &named)) {
        refuse_content(device, &node, &named, erase)?;
    }
    // Check again: blkid opened it by name.
    refuse_exchanged(root, device, &named.disk.name, &open)?;
    let notes = named.part.iter().map(|part| {
        format!(
            "{} is a partition: scheduler and queue are those of {}",
            part.name, named.disk.name
        )
    });
    Ok(Base { notes: notes.collect(), device: named.disk.name, node })
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

fn refuse_in_use(device: &Path, named: &Named) -> Result<(), Error> {
    let holders = named.holders();
    let Some(holder) = holders.first() else { return Ok(()) };
    let what = if named.part.is_some() { "it, or its disk," } else { "it, or a partition of it," };
    Err(Error::unexpected("use", device, format!("{what} is {holder}")))
}

/// Whether `word` identifies this disk or partition: its serial number, or its exact size.
fn permits(word: &str, named: &Named) -> bool {
    let size = named.size();
    named.serial() == Some(word.trim())
        || word.parse::<Bytes>().is_ok_and(|one| one == size && size.get() > 0)
}

fn refuse_content(
    device: &Path,
    node: &Path,
    named: &Named,
    erase: Option<&str>,
) -> Result<(), Error> {
    let partitions = named.disk.partitions.as_slice();
    let found = match partitions {
        names if named.part.is_none() && !names.is_empty() => {
            Some(Content { kinds: Vec::new(), text: format!("partitions ({})", names.join(", ")) })
        }
        _ => signature(node)?,
    };
    let Some(content) = found else { return Ok(()) };
    if erase.is_some_and(|word| content.kinds.iter().any(|kind| kind == word.trim())) {
        return Ok(());
    }
    let size = named.size().to_string();
    let name = named.serial().unwrap_or(&size);
    let mut hint = format!("it holds {}. To erase it, write erase = \"{name}\"", content.text);
    match content.kinds.first() {
        Some(kind) => hint += &format!(", or `--erase {kind}`"),
        None => hint += &format!(", or `--erase \"{name}\"`"),
    }
    if let Some(word) = erase {
        let nor = if content.kinds.is_empty() { "" } else { " nor what it holds" };
        hint += &format!("; `{word}` is neither its serial number nor its size{nor}");
    }
    Err(Error::unexpected("overwrite", device, hint))
}

/// What a device holds.
struct Content {
    /// `ext4`, `gpt`: the types of its signatures, which a user may name to erase it.
    kinds: Vec<String>,
    /// In words.
    text: String,
}

/// The contents that `blkid -p` recognises on a device, or `None` when it is blank. Without blkid
/// nothing is known, and the disk is not touched.
fn signature(node: &Path) -> Result<Option<Content>, Error> {
    /// blkid(8): no signature found.
    const NOTHING: i32 = 2;
    let blkid = command::require("blkid", "util-linux")?;
    let arguments = ["-p".as_ref(), "-o".as_ref(), "export".as_ref(), node.as_os_str()];
    let output = command::run(&blkid, &arguments, "")?;
    if output.status.code() == Some(NOTHING) {
        return Ok(None);
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let values = |keys: &[&str]| -> Vec<String> {
        let pairs = text.lines().filter_map(|line| line.split_once('='));
        pairs.filter(|(key, _)| keys.contains(key)).map(|(_, value)| value.to_owned()).collect()
    };
    let named = values(&["TYPE", "PTTYPE", "LABEL"]);
    // With several signatures blkid ends with code 8 and prints nothing.
    let text = if named.is_empty() { "a signature".to_owned() } else { named.join(" ") };
    Ok(Some(Content { kinds: values(&["TYPE", "PTTYPE"]), text }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn disk() -> Disk {
        Disk {
            serial: Some("S3R1AL".to_owned()),
            partitions: vec!["sdz1".to_owned()],
            parts: vec![part()],
            name: "sdz".to_owned(),
            size: Bytes::new(2 << 30),
            major: 8,
            minor: 0,
            scheduler: None,
            rotational: None,
            nr_requests: None,
            model: None,
            holders: Vec::new(),
            backing_file: None,
        }
    }

    fn part() -> Partition {
        Partition { name: "sdz1".to_owned(), size: Bytes::mebi(1024), holders: Vec::new() }
    }

    fn whole(disk: Disk) -> Named {
        Named { disk, part: None }
    }

    #[test]
    fn only_the_serial_number_or_the_exact_size_permits_erasing() {
        for word in ["S3R1AL", "2 GiB", "2147483648"] {
            assert!(permits(word, &whole(disk())), "{word}");
        }
        for word in ["", "yes", "s3r1al", "2 GB", "1 GiB"] {
            assert!(!permits(word, &whole(disk())), "{word}");
        }
        assert!(!permits("0", &whole(Disk { size: Bytes::new(0), ..disk() })));
        let part = Named { disk: disk(), part: Some(part()) };
        assert!(permits("1 GiB", &part) && !permits("S3R1AL", &part) && !permits("2 GiB", &part));
    }

    #[test]
    fn another_partition_of_the_disk_may_be_in_use() {
        let mounted = Holder::Mounted("/".into());
        let used = Partition { name: "sdz2".to_owned(), holders: vec![mounted.clone()], ..part() };
        let disk = Disk { parts: vec![part(), used.clone()], holders: vec![mounted], ..disk() };
        let path = Path::new("/dev/sdz1");
        assert!(refuse_in_use(path, &Named { disk: disk.clone(), part: Some(part()) }).is_ok());
        let error = refuse_in_use(path, &Named { disk: disk.clone(), part: Some(used) });
        assert!(error.unwrap_err().to_string().contains("mounted at /"));
        assert!(refuse_in_use(path, &whole(disk)).is_err());
    }

    #[test]
    fn a_disk_with_partitions_is_refused_with_a_remedy() {
        let path = Path::new("/dev/sdz");
        let error =
            refuse_content(path, path, &whole(disk()), Some("yes")).unwrap_err().to_string();
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
            let error = refuse_in_use(Path::new("/dev/sdz"), &whole(disk)).unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        }
    }
}
