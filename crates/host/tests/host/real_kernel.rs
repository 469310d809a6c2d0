//! Scratch disks and the ledger on the real kernel, as root. Every test restores the host and checks
//! that it did.
// A failure in a shared helper is a failure of the test.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stderr)]

mod kill;
mod place;
mod power;
mod settings;

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use assay_host::Ledger;
use assay_host::scratch::{Format, Progress, ScratchDisk, ScratchSpec, Source, set_up};
use assay_sys::kernel::{Error, Root, process};
use assay_sys::units::Bytes;
use tempfile::TempDir;

use assay_test_support::{HostSnapshot, entries, own, skip};
use place::{group_for_tests, host_lock};

const MIB: u64 = 1 << 20;

struct Bench {
    work: TempDir,
    ledger: Ledger,
    root: Root,
}

impl Bench {
    fn new() -> Self {
        let work = tempfile::Builder::new().prefix("assay-test-").tempdir().unwrap();
        own::folder(work.path());
        let ledger = Ledger::begin(&work.path().join("state"), "test").unwrap();
        Self { work, ledger, root: Root::real() }
    }

    fn spec(&self, format: Format, partitions: u32) -> ScratchSpec {
        ScratchSpec {
            name: "test".to_owned(),
            source: Source::Loop { image_dir: self.work.path().into(), size: Bytes::mebi(700) },
            format,
            partitions,
            scheduler: None,
            queue: Vec::new(),
            mount_dir: self.work.path().join("mounts"),
        }
    }

    fn set_up(&mut self, spec: &ScratchSpec) -> Result<ScratchDisk, Error> {
        set_up(&self.root, &mut self.ledger, spec, &|| false, &mut |_| {})
    }

    fn restore(mut self, before: &HostSnapshot) {
        own::note_ledgers(&self.work.path().join("state"));
        assert_eq!(self.ledger.restore(&self.root), []);
        assert!(self.ledger.finish().unwrap());
        HostSnapshot::assert_same(before, "restored");
        let remaining: Vec<PathBuf> = entries(self.work.path());
        assert_eq!(remaining, [self.work.path().join("state")]);
    }
}

fn sized(mut spec: ScratchSpec, mebi: u64) -> ScratchSpec {
    if let Source::Loop { size, .. } = &mut spec.source {
        *size = Bytes::mebi(mebi);
    }
    spec
}

#[test]
fn a_bare_loop_disk_is_allocated_direct_and_configured() {
    let Some(_lock) = host_lock("a bare loop disk") else { return };
    let before = HostSnapshot::take();
    let mut bench = Bench::new();
    let mut spec = sized(bench.spec(Format::None, 0), 64);
    spec.scheduler = Some("bfq".to_owned());
    spec.queue = [("iosched/low_latency", "0"), ("nr_requests", "512"), ("read_ahead_kb", "64")]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .to_vec();
    let mut steps = Vec::new();
    let mut note = |step| steps.push(step);
    let disk = set_up(&bench.root, &mut bench.ledger, &spec, &|| false, &mut note).unwrap();
    assert_eq!(steps.last(), Some(&Progress::Filling { done: 64 * MIB, total: 64 * MIB }));
    assert_eq!(disk.size, Bytes::mebi(64));
    assert_eq!(disk.major, 7);
    let value = |name: &str| {
        let text = fs::read_to_string(format!("/sys/block/{}/{name}", disk.device)).unwrap();
        text.trim().to_owned()
    };
    assert!(value("queue/scheduler").contains("[bfq]"));
    assert_eq!(value("queue/iosched/low_latency"), "0");
    assert_eq!(value("queue/nr_requests"), "512");
    assert_eq!(value("queue/logical_block_size"), "512");
    assert_eq!(value("loop/dio") == "1", disk.notes.is_empty(), "{:?}", disk.notes);
    let image = value("loop/backing_file");
    assert_eq!(fs::metadata(image).unwrap().blocks() * 512 / MIB, 64, "no holes");
    bench.restore(&before);
}

/// Linux does not accept its own default of `discard_max_bytes`, but the device is removed.
#[test]
fn an_attribute_that_cannot_be_restored_vanishes_with_its_loop_device() {
    let Some(_lock) = host_lock("an attribute that cannot be restored") else { return };
    let before = HostSnapshot::take();
    let mut bench = Bench::new();
    let mut spec = sized(bench.spec(Format::None, 0), 8);
    spec.queue = vec![("discard_max_bytes".to_owned(), "65536".to_owned())];
    bench.set_up(&spec).unwrap();
    bench.restore(&before);
}

#[test]
fn partitions_are_formatted_and_mounted_one_by_one() {
    let Some(_lock) = host_lock("partitions with ext4") else { return };
    let before = HostSnapshot::take();
    let mut bench = Bench::new();
    let spec = sized(bench.spec(Format::Ext4, 5), 82);
    let disk = bench.set_up(&spec).unwrap();
    assert_eq!(disk.partitions.len(), 5);
    assert_eq!(disk.mounts.len(), 5);
    for (number, mount) in disk.mounts.iter().enumerate() {
        assert_eq!(
            mount.file_name().unwrap().to_str().unwrap(),
            format!("assay-test-{}", number + 1)
        );
        File::create(mount.join("file")).unwrap().write_all(&[7; 4096]).unwrap();
        let device = fs::metadata(mount).unwrap().dev();
        let node = fs::metadata(&disk.partitions[number]).unwrap().rdev();
        assert_eq!(device, node, "the file system on partition {} is mounted there", number + 1);
    }
    bench.restore(&before);
}

#[test]
fn a_whole_disk_can_be_formatted_with_xfs() {
    let Some(_lock) = host_lock("a disk with xfs") else { return };
    let before = HostSnapshot::take();
    let mut bench = Bench::new();
    let spec = sized(bench.spec(Format::Xfs, 0), 320);
    let disk = bench.set_up(&spec).unwrap();
    assert!(disk.partitions.is_empty());
    fs::write(disk.mounts[0].join("file"), "content").unwrap();
    bench.restore(&before);
}

#[test]
fn an_image_on_tmpfs_is_attached_with_or_without_direct_io() {
    let Some(_lock) = host_lock("an image on tmpfs") else { return };
    let Ok(memory) = tempfile::Builder::new().prefix("assay-test-").tempdir_in("/dev/shm") else {
        skip("an image on tmpfs", "no /dev/shm");
        return;
    };
    let before = HostSnapshot::take();
    let mut bench = Bench::new();
    let mut spec = bench.spec(Format::None, 0);
    spec.source = Source::Loop { image_dir: memory.path().into(), size: Bytes::mebi(8) };
    let disk = bench.set_up(&spec).unwrap();
    let dio = fs::read_to_string(format!("/sys/block/{}/loop/dio", disk.device)).unwrap();
    assert_eq!(dio.trim() == "1", disk.notes.is_empty());
    bench.restore(&before);
}

#[test]
fn an_unknown_scheduler_is_refused_with_what_the_queue_offers() {
    let Some(_lock) = host_lock("an unknown scheduler") else { return };
    let before = HostSnapshot::take();
    let mut bench = Bench::new();
    let mut spec = sized(bench.spec(Format::None, 0), 8);
    spec.scheduler = Some("cfq".to_owned());
    let error = bench.set_up(&spec).unwrap_err().to_string();
    assert!(error.contains("value `cfq`") && error.contains("mq-deadline"), "{error}");
    bench.restore(&before);
}

/// A loop device in the role of a disk named by the user.
fn attached_blank(bench: &mut Bench, mebi: u64) -> PathBuf {
    let path = bench.work.path().join("blank");
    let file = bench.ledger.make_file(&bench.root, &path).unwrap();
    file.set_len(mebi * MIB).unwrap();
    bench.ledger.attach_loop(&bench.root, &file, &path).unwrap().node
}

#[test]
fn a_blank_disk_is_blank_again_afterwards() {
    let Some(_lock) = host_lock("a blank disk") else { return };
    let before = HostSnapshot::take();
    let mut bench = Bench::new();
    let device = attached_blank(&mut bench, 64);
    let mut spec = bench.spec(Format::Ext4, 2);
    spec.source = Source::Block { device: device.clone(), erase: None };
    let mark = bench.ledger.mark();
    assert_eq!(bench.set_up(&spec).unwrap().mounts.len(), 2);
    let error = bench.set_up(&spec).unwrap_err().to_string();
    assert!(error.contains("mounted at"), "{error}");
    assert_eq!(bench.ledger.restore_to(&bench.root, mark), []);
    spec.partitions = 0;
    spec.format = Format::None;
    bench.set_up(&spec).unwrap();
    bench.restore(&before);
}

#[test]
fn a_disk_with_a_file_system_is_erased_only_with_its_size_given() {
    let Some(_lock) = host_lock("a disk with content") else { return };
    let before = HostSnapshot::take();
    let mut bench = Bench::new();
    let device = attached_blank(&mut bench, 32);
    assert!(Command::new("mkfs.ext4").arg("-q").arg(&device).status().unwrap().success());
    let mut spec = bench.spec(Format::None, 0);
    spec.source = Source::Block { device: device.clone(), erase: None };
    let error = bench.set_up(&spec).unwrap_err().to_string();
    assert!(error.contains("holds ext4") && error.contains("erase = \"32 MiB\""), "{error}");
    spec.source = Source::Block { device: device.clone(), erase: Some("32 MiB".to_owned()) };
    bench.set_up(&spec).unwrap();
    bench.restore(&before);
}

#[test]
fn a_directory_keeps_its_contents_and_its_disk_is_named() {
    let Some(_lock) = host_lock("a directory") else { return };
    let before = HostSnapshot::take();
    let mut bench = Bench::new();
    let on_loop = sized(bench.spec(Format::Ext4, 1), 32);
    let disk = bench.set_up(&on_loop).unwrap();
    let mut spec = bench.spec(Format::None, 0);
    spec.source = Source::Directory { path: disk.mounts[0].clone() };
    let in_directory = bench.set_up(&spec).unwrap();
    assert_eq!(in_directory.device, disk.device, "the whole disk and not the partition");
    assert_eq!((in_directory.major, in_directory.minor), (disk.major, disk.minor));
    assert_eq!(in_directory.device_path, disk.mounts[0]);
    let own = &in_directory.mounts[0];
    assert_eq!(
        own.parent(),
        Some(disk.mounts[0].as_path()),
        "data goes into a directory of its own"
    );
    fs::write(own.join("data"), "of a workload").unwrap();
    spec.source = Source::Directory { path: "/nonexistent/assay".into() };
    assert!(bench.set_up(&spec).is_err());
    bench.restore(&before);
}

#[test]
fn groups_with_living_and_frozen_processes_are_removed() {
    let Some(_lock) = host_lock("groups with processes") else { return };
    let mut bench = Bench::new();
    let group = group_for_tests();
    let inner = group.join("inner");
    bench.ledger.make_groups(&bench.root, &[group.clone(), inner.clone()]).unwrap();
    let mut child = Command::new("sleep").arg("60").spawn().unwrap();
    bench.root.write(inner.join("cgroup.procs"), &child.id().to_string()).unwrap();
    for (file, value) in [("freezer.state", "FROZEN"), ("cgroup.freeze", "1")] {
        if bench.root.exists(inner.join(file)) {
            bench.root.write(inner.join(file), value).unwrap();
        }
    }
    fs::create_dir(inner.join("made-by-a-tool")).unwrap();
    assert_eq!(bench.ledger.restore(&bench.root), []);
    assert!(!group.exists());
    assert!(!child.wait().unwrap().success());
    assert_eq!(process::state(&bench.root, child.id()), None);
}

/// A mount that an administrator puts over ours is theirs, and stays.
#[test]
fn a_foreign_mount_over_a_scratch_disk_is_not_unmounted() {
    let Some(_lock) = host_lock("a mount over a mount") else { return };
    let before = HostSnapshot::take();
    let mut bench = Bench::new();
    let spec = sized(bench.spec(Format::Ext4, 0), 20);
    let disk = bench.set_up(&spec).unwrap();
    let theirs = |words: &[&str]| {
        let done = Command::new(words[0]).args(&words[1..]).arg(&disk.mounts[0]).status().unwrap();
        assert!(done.success(), "{words:?}");
    };
    theirs(&["mount", "-t", "tmpfs", "assay-theirs"]);
    fs::write(disk.mounts[0].join("file"), "of the administrator").unwrap();
    let errors = bench.ledger.restore(&bench.root);
    assert!(errors.iter().any(|error| error.to_string().contains("assay-theirs is mounted over")));
    let kept = fs::read_to_string(disk.mounts[0].join("file")).unwrap();
    assert_eq!(kept, "of the administrator");
    theirs(&["umount"]);
    // Once a wait has timed out, as that for the mount has, the next ones are short.
    assert!((0..20).any(|_| bench.ledger.restore(&bench.root).is_empty()));
    bench.restore(&before);
}

/// Anyone may take the number of a loop device, also between two steps of a restore.
#[test]
fn a_loop_device_attached_by_someone_else_meanwhile_is_not_removed() {
    let Some(_lock) = host_lock("a foreign loop device") else { return };
    let before = HostSnapshot::take();
    let mut bench = Bench::new();
    let (ours, theirs) = (bench.work.path().join("ours"), bench.work.path().join("theirs"));
    for image in [&ours, &theirs] {
        File::create(image).unwrap().set_len(8 * MIB).unwrap();
    }
    let file = File::options().read(true).write(true).open(&ours).unwrap();
    let device = bench.ledger.attach_loop(&bench.root, &file, &ours).unwrap();
    let losetup = |words: &[&str], image: Option<&Path>| {
        let mut command = Command::new("losetup");
        command.args(words).arg(&device.node).args(image);
        assert!(command.status().unwrap().success(), "{words:?}");
    };
    losetup(&["--detach"], None);
    losetup(&[], Some(&theirs));
    let begun = std::time::Instant::now();
    assert_eq!(bench.ledger.restore(&bench.root), []);
    assert!(begun.elapsed() < std::time::Duration::from_secs(3), "{:?}", begun.elapsed());
    let file = Path::new("/sys/block").join(&device.name).join("loop/backing_file");
    assert_eq!(fs::read_to_string(file).unwrap().trim(), theirs.to_str().unwrap());
    losetup(&["--detach"], None);
    let number: u32 = device.name["loop".len()..].parse().unwrap();
    let gone = || assay_sys::kernel::loop_device::remove(number).is_ok();
    assert!((0..200).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(10));
        gone()
    }));
    for image in [ours, theirs] {
        fs::remove_file(image).unwrap();
    }
    bench.restore(&before);
}

#[test]
fn attributes_reset_by_a_change_of_scheduler_are_restored_too() {
    let Some(_lock) = host_lock("a change of scheduler") else { return };
    let mut bench = Bench::new();
    let device = attached_blank(&mut bench, 8);
    let name = device.file_name().unwrap().to_str().unwrap().to_owned();
    let before = HostSnapshot::take().queue(&name);
    let mark = bench.ledger.mark();
    bench.ledger.keep_queue(&bench.root, &name).unwrap();
    let queue = Path::new("/sys/block").join(&name).join("queue");
    for (attribute, value) in
        [("scheduler", "bfq"), ("iosched/slice_idle", "0"), ("rotational", "0"), ("nomerges", "2")]
    {
        bench.ledger.write_file(&bench.root, &queue.join(attribute), value).unwrap();
    }
    // Not recorded separately: found by comparison with the saved attributes.
    bench.root.write(queue.join("wbt_lat_usec"), "1234").unwrap();
    assert_ne!(HostSnapshot::take().queue(&name), before);
    assert_eq!(bench.ledger.restore_to(&bench.root, mark), []);
    assert_eq!(HostSnapshot::take().queue(&name), before);
    assert_eq!(bench.ledger.restore(&bench.root), []);
}
