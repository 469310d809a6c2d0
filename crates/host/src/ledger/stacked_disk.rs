//! Disks on top of another one: a linear device of the device mapper, and an md array (RAID 0) of one member.
//! Both hand every request down, so whatever is promised of a disk is promised of them.

use std::path::{Path, PathBuf};
use std::time::Duration;

use assay_sys::kernel::{Error, Root};

use super::Ledger;
use super::change::Change;
use super::crash_point::crash_point;
use super::layer::{Layer, NEVER_REMOVED, NEW_ARRAY};
use super::while_busy::while_busy;
use crate::command;
use crate::poll_until::{wait_for_end, wait_until};

const BLOCK: &str = "/sys/block";
/// The kernel refuses names of arrays that begin otherwise.
pub(super) const ARRAY_PREFIX: &str = "md_";
/// An array that is gone is released some time later, when the kernel looks at [`NEVER_REMOVED`] again (`md_kobj_release`).
const RELEASE: Duration = Duration::from_millis(300);
const TIMEOUT: Duration = Duration::from_secs(5);

impl Ledger {
    /// Makes a disk `assay-<name>` on top of the disk that the kernel names `below`; returns its device node.
    pub fn stack_disk(
        &mut self,
        root: &Root,
        layer: Layer,
        name: &str,
        below: &str,
    ) -> Result<PathBuf, Error> {
        let prefix = if layer == Layer::Md { ARRAY_PREFIX } else { "" };
        let name = format!("{prefix}assay-{name}");
        if let Some(known) = find(root, layer, &name)? {
            let hint = "it exists already and was not made by this run";
            return Err(Error::unexpected("make", &known, hint));
        }
        if layer == Layer::Md && root.exists(NEVER_REMOVED) {
            self.write_file(root, Path::new(NEVER_REMOVED), "N")?;
        }
        let change = Change::StackDisk { layer, name: name.clone(), below: below.to_owned() };
        self.record(change, || match layer {
            Layer::DeviceMapper => map(root, &name, below),
            Layer::Md => assemble(root, &name, below),
        })?;
        let node = find(root, layer, &name)?.and_then(|made| Some(made.file_name()?.to_owned()));
        let node = node.map(|made| Path::new("/dev").join(made));
        node.filter(|node| wait_until(TIMEOUT, || root.exists(node)))
            .ok_or_else(|| Error::unexpected("find", Path::new(&name), "it has no device node"))
    }
}

fn of(root: &Root, disk: &str, file: &str) -> Result<String, Error> {
    root.read_trimmed(Path::new(BLOCK).join(disk).join(file))
}

fn map(root: &Root, name: &str, below: &str) -> Result<(), Error> {
    let program = command::require("dmsetup", "dmsetup")?;
    let table = format!("0 {} linear {} 0", of(root, below, "size")?, of(root, below, "dev")?);
    let words = ["--noudevsync", "create", name, "--uuid", name, "--table", &table];
    command::succeed(&program, &words, "").map(|_| ())
}

/// Without a superblock, so nothing is written to its member.
fn assemble(root: &Root, name: &str, below: &str) -> Result<(), Error> {
    root.write(NEW_ARRAY, name)?;
    crash_point()?;
    let files = Path::new(BLOCK).join(name).join("md");
    let sectors = of(root, below, "size")?;
    let kib = (sectors.parse::<u64>().unwrap_or(0) / 2).to_string();
    let (size, slot) = (format!("dev-{below}/size"), format!("dev-{below}/slot"));
    let member = of(root, below, "dev")?;
    for (file, value) in [
        ("metadata_version", "none"),
        ("raid_disks", "1"),
        ("level", "raid0"),
        ("chunk_size", "65536"),
        ("new_dev", member.as_str()),
        (size.as_str(), kib.as_str()),
        (slot.as_str(), "0"),
        ("array_state", "active"),
    ] {
        root.write(files.join(file), value)?;
    }
    Ok(())
}

/// The directory in sysfs of such a disk.
fn find(root: &Root, layer: Layer, name: &str) -> Result<Option<PathBuf>, Error> {
    let is_it = |disk: &String| match layer {
        Layer::DeviceMapper => of(root, disk, "dm/name").is_ok_and(|known| known == name),
        Layer::Md => disk == name,
    };
    let found = root.list(BLOCK)?.into_iter().find(is_it);
    Ok(found.map(|disk| Path::new(BLOCK).join(disk)))
}

/// Whether it is someone else's with the same name: another disk than `below` is under it, or a device of the device mapper
/// has not the identifier that it was made with (its name, which a volume group has not).
fn is_of_another(root: &Root, layer: Layer, made: &Path, (name, below): (&str, &str)) -> bool {
    let is_marked = || root.read_trimmed(made.join("dm/uuid")).is_ok_and(|known| known == name);
    let stands_on = |under: Vec<String>| under.iter().all(|disk| disk == below);
    let is_ours = layer == Layer::Md || is_marked();
    !(is_ours && root.list(made.join("slaves")).is_ok_and(stands_on))
}

pub(super) fn remove(root: &Root, layer: Layer, name: &str, below: &str) -> Result<(), Error> {
    let Some(made) = find(root, layer, name)? else { return Ok(()) };
    if is_of_another(root, layer, &made, (name, below)) {
        return Ok(());
    }
    match layer {
        Layer::DeviceMapper => {
            let program = command::require("dmsetup", "dmsetup")?;
            // udev opens each new device for a moment.
            let words = ["--noudevsync", "remove", "--retry", name];
            command::succeed(&program, &words, "")?;
        }
        Layer::Md => while_busy(|| root.write(made.join("md/array_state"), "clear"))?,
    }
    let gone = wait_for_end(TIMEOUT, || matches!(find(root, layer, name), Ok(None)));
    if layer == Layer::Md && root.exists(NEVER_REMOVED) {
        std::thread::sleep(RELEASE);
    }
    match gone {
        true => Ok(()),
        false => {
            let hint = "still there: `fuser -v` with its node in /dev shows which process uses it";
            Err(Error::unexpected("remove", &made, hint))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A fake /sys/block with `loop9` and one disk on top of it or of another one.
    fn host(disk: &str, dm_name: Option<&str>, below: &str) -> (tempfile::TempDir, Root) {
        let tree = tempfile::tempdir().unwrap();
        let block = tree.path().join("sys/block");
        for folder in ["loop9".to_owned(), format!("{disk}/dm"), format!("{disk}/slaves/{below}")] {
            std::fs::create_dir_all(block.join(folder)).unwrap();
        }
        if let Some(name) = dm_name {
            std::fs::write(block.join(disk).join("dm/name"), format!("{name}\n")).unwrap();
        }
        let root = Root::at(tree.path());
        (tree, root)
    }

    #[test]
    fn a_mapped_disk_is_found_by_its_name_and_an_array_by_its_directory() {
        let (_tree, root) = host("dm-0", Some("assay-x"), "loop9");
        let found = find(&root, Layer::DeviceMapper, "assay-x").unwrap();
        assert_eq!(found, Some("/sys/block/dm-0".into()));
        assert_eq!(find(&root, Layer::DeviceMapper, "assay-y").unwrap(), None);
        let (_tree, root) = host("md_assay-x", None, "loop9");
        assert!(find(&root, Layer::Md, "md_assay-x").unwrap().is_some());
    }

    #[test]
    fn a_disk_of_this_name_on_another_disk_is_left_alone() {
        let (_tree, root) = host("md_assay-x", None, "sda");
        // Without `array_state` removing it would fail.
        remove(&root, Layer::Md, "md_assay-x", "loop9").unwrap();
        assert!(remove(&root, Layer::Md, "md_assay-x", "sda").is_err());
        remove(&root, Layer::Md, "md_assay-y", "sda").unwrap();
    }

    #[test]
    fn an_existing_disk_of_this_name_is_refused() {
        let (_tree, root) = host("dm-0", Some("assay-x"), "loop9");
        let state = tempfile::tempdir().unwrap();
        let mut ledger = Ledger::begin(state.path(), "run").unwrap();
        let error = ledger.stack_disk(&root, Layer::DeviceMapper, "x", "loop9").unwrap_err();
        assert!(error.to_string().contains("exists already"), "{error}");
    }

    #[test]
    fn a_host_without_either_says_how_to_get_it() {
        let (_tree, root) = host("sda", None, "x");
        for layer in [Layer::DeviceMapper, Layer::Md] {
            assert!(layer.lacking(&root).unwrap().contains("modprobe"), "{layer:?}");
        }
    }
}
