//! Test double: a fake host in a folder, and a run that makes every kind of change to it.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::os::unix::fs::{MetadataExt, chown};
use std::path::{Path, PathBuf};

use assay_sys::files::{Caller, Dir};
use assay_sys::kernel::{Error, Root};
use tempfile::TempDir;

use super::change::{Area, Change};
use super::{DiskIdentity, Layer, Ledger, fake};

/// The boot of fake runs: that of this machine, as [`Ledger::begin`] reads it.
pub(super) static THIS_BOOT: std::sync::LazyLock<String> =
    std::sync::LazyLock::new(|| super::boot_id(&Root::real()));
/// The boot after a power cut.
pub(super) const NEXT_BOOT: &str = "another-boot";

/// A host with two disks and two cgroup hierarchies, in memory where the machine has /dev/shm.
pub(super) struct Host {
    tree: TempDir,
    state: TempDir,
}

/// Every path with its contents; directories have none.
pub(super) type Image = BTreeMap<PathBuf, Option<Vec<u8>>>;

/// What a crash leaves: every file with its inode, mode and owner.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Remains {
    files: Image,
    stats: Vec<(u64, u32, u32, u32)>,
}

/// Every kind of change, as spelled in the ledger. `kind` ensures that this list is complete.
pub(super) const KINDS: [&str; 17] = [
    "write_file",
    "request",
    "keep_queue",
    "make_dir",
    "make_tree",
    "make_group",
    "make_file",
    "add_loop",
    "attach_loop",
    "add_partition",
    "mount",
    "null_blk",
    "write_signatures",
    "write_one_of",
    "own_folder",
    "set_group",
    "stack_disk",
];

/// Fails to compile when a kind is added; then add it to the list above, too.
const fn kind(change: &Change) -> usize {
    match change {
        Change::WriteFile { .. } => 0,
        Change::Request { .. } => 1,
        Change::KeepQueue { .. } => 2,
        Change::MakeDir { .. } => 3,
        Change::MakeTree { .. } => 4,
        Change::MakeGroup { .. } => 5,
        Change::MakeFile { .. } => 6,
        Change::AddLoop { .. } => 7,
        Change::AttachLoop { .. } => 8,
        Change::AddPartition { .. } => 9,
        Change::Mount { .. } => 10,
        Change::NullBlk { .. } => 11,
        Change::WriteSignatures { .. } => 12,
        Change::WriteOneOf { .. } => 13,
        Change::OwnFolder { .. } => 14,
        Change::SetGroup { .. } => 15,
        Change::StackDisk { .. } => 16,
    }
}

const QUEUE: &str = "/sys/block/sda/queue";
const GROUPS: &str = "/sys/fs/cgroup/io";
const VM: &str = "/proc/sys/vm";
/// The caller of sudo, where the test runs as root; nothing is given to root.
const USER: u32 = 1;

impl Host {
    pub(super) fn new() -> Self {
        let temporary =
            || tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
        let host = Self { tree: temporary(), state: temporary() };
        host.boot();
        host.file("dev/sdz", "\0\0\0\0\0\0\0\0");
        host.file("var/tmp/other", "not ours");
        host.file("srv/data/theirs", "not ours");
        host.file("srv/data/runs/events.jsonl", "");
        if rustix::process::geteuid().is_root() {
            chown(host.tree.path().join("srv/data"), Some(USER), None).unwrap();
        }
        host
    }

    /// The contents of a freshly booted kernel.
    fn boot(&self) {
        self.file("sys/block/sda/queue/scheduler", "mq-deadline");
        self.file("sys/block/sda/queue/nr_requests", "256");
        self.file("sys/block/sda/queue/iosched/fifo_batch", "16");
        self.file("sys/block/sdz/device/serial", "S3R1AL");
        self.file("sys/fs/cgroup/io/cgroup.procs", "");
        self.file("sys/fs/cgroup/io/cgroup.subtree_control", "");
        self.file("sys/fs/cgroup/io/theirs/cgroup.freeze", "0");
        self.file("proc/sys/vm/dirty_ratio", "20");
        self.file("proc/sys/vm/dirty_bytes", "0");
        self.file("proc/sys/vm/min_free_kbytes", "45056");
        fs::create_dir_all(self.tree.path().join("sys/kernel/config/nullb")).unwrap();
        fs::create_dir_all(self.tree.path().join("proc/mounted")).unwrap();
        fs::create_dir_all(self.tree.path().join("run")).unwrap();
    }

    pub(super) fn file(&self, path: &str, text: &str) {
        let path = self.tree.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(super) fn root(&self) -> Root {
        Root::at(self.tree.path())
    }

    pub(super) fn state(&self) -> &Path {
        self.state.path()
    }

    /// Removes what runs and restores have left in the state directory.
    pub(super) fn forget_runs(&self) {
        for entry in fs::read_dir(self.state()).unwrap() {
            let path = entry.unwrap().path();
            let removed =
                if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
            removed.unwrap();
        }
    }

    /// The ledger of [`Host::run`], while it exists.
    pub(super) fn ledger(&self) -> PathBuf {
        self.state().join("ledger/crash.jsonl")
    }

    /// The copy of its ledger that a run makes before it ends.
    pub(super) fn kinds(&self) -> PathBuf {
        self.state().join("copy")
    }

    /// Everything in the tree. A command such as `-io` leaves a real `subtree_control` empty.
    pub(super) fn image(&self) -> Image {
        let mut image = Image::new();
        collect(self.tree.path(), &mut image);
        let control = self.tree.path().join("sys/fs/cgroup/io/cgroup.subtree_control");
        if let Some(Some(text)) = image.get_mut(&control)
            && text == b"-io"
        {
            text.clear();
        }
        image
    }

    /// Captures everything that a crash now would leave: the tree and the state directory.
    pub(super) fn capture(&self) -> impl Fn() -> Remains + use<> {
        let folders = [&self.tree, &self.state].map(|folder| folder.path().to_owned());
        move || {
            let mut files = Image::new();
            folders.iter().for_each(|folder| collect(folder, &mut files));
            let stat = |path: &PathBuf| {
                let metadata = path.metadata().unwrap();
                (metadata.ino(), metadata.mode(), metadata.uid(), metadata.gid())
            };
            let stats = files.keys().map(stat).collect();
            Remains { files, stats }
        }
    }

    #[track_caller]
    pub(super) fn assert_is(&self, before: &Image, when: &str) {
        let now = self.image();
        if now == *before {
            return;
        }
        let differs = |path: &&PathBuf| before.get(*path) != now.get(*path);
        let paths: Vec<&PathBuf> = before.keys().chain(now.keys()).filter(differs).collect();
        panic!("{when}, these differ: {paths:?}");
    }

    /// The machine loses power and boots again. Changes on disks survive or not.
    pub(super) fn lose_power(&self, disks_are_kept: bool) {
        for memory in ["sys", "proc", "run"] {
            fs::remove_dir_all(self.tree.path().join(memory)).unwrap();
        }
        self.boot();
        if !disks_are_kept {
            let _ = fs::remove_dir_all(self.tree.path().join("var/tmp/assay"));
            let _ = fs::remove_dir_all(self.tree.path().join("srv/data/assay-data"));
            self.file("dev/sdz", "\0\0\0\0\0\0\0\0");
        }
    }

    /// All changes that a run makes to this host, until the end or its crash.
    pub(super) fn run(&self) -> Result<(), Error> {
        let root = self.root();
        let mut ledger = Ledger::begin(self.state(), "crash")?;
        self.folder(&mut ledger, &root)?;
        self.loop_disk(&mut ledger, &root)?;
        self.named_disk(&mut ledger, &root)?;
        self.directory_and_null_block(&mut ledger, &root)?;
        self.queue(&mut ledger, &root)?;
        self.groups(&mut ledger, &root)?;
        self.settings(&mut ledger, &root)?;
        for entry in ledger.entries().iter() {
            assert!(kind(&entry.change) < KINDS.len());
        }
        fs::copy(ledger.path(), self.kinds()).unwrap();
        ledger.restore(&root).pop().map_or(Ok(()), Err)?;
        if ledger.finish()? {
            return Ok(());
        }
        Err(Error::unexpected("finish", self.state(), "the process died"))
    }

    /// The folder of a user, which belongs to this process here.
    fn folder(&self, ledger: &mut Ledger, root: &Root) -> Result<(), Error> {
        let folder = Dir::open(&root.resolve("/srv/data/runs"))?;
        let metadata = self.tree.path().join("srv/data/runs").metadata().unwrap();
        ledger.own_folder(
            root,
            &folder,
            Caller { uid: metadata.uid().max(USER), gid: metadata.gid() },
        )
    }

    fn loop_disk(&self, ledger: &mut Ledger, root: &Root) -> Result<(), Error> {
        let image = Path::new("/var/tmp/assay/images/assay-disk.img");
        let node = Path::new("/dev/loop9");
        let target = Path::new("/var/tmp/assay/mnt/assay-disk-1");
        ledger.make_dir(root, image.parent().unwrap())?;
        let mut file = ledger.make_file(root, image)?;
        file.write_all(b"data").unwrap();
        let metadata = file.metadata().unwrap();
        let file = Some((metadata.dev(), metadata.ino()));
        let change = Change::AddLoop { number: 9, image: Some(image.to_owned()), file };
        ledger.record(change, || fake::add_loop(root, 9))?;
        let change = Change::AttachLoop { image: image.to_owned(), file };
        ledger.record(change, || fake::attach(root, 9, image))?;
        let (name, below) = ("assay-top".to_owned(), "loop9".to_owned());
        let change = Change::StackDisk { layer: Layer::DeviceMapper, name, below };
        ledger.record(change, || fake::stack(root, "assay-top"))?;
        let disk = DiskIdentity::read(root, "loop9");
        let change = Change::AddPartition { device: node.to_owned(), number: 1, disk };
        ledger.record(change, || fake::add_partition(root, node, 1))?;
        ledger.make_dir(root, target)?;
        let device = Some("259:1".to_owned());
        let change = Change::Mount { target: target.to_owned(), device, disk: None };
        ledger.record(change, || fake::mount(root, Path::new("/dev/loop9p1"), target))
    }

    fn named_disk(&self, ledger: &mut Ledger, root: &Root) -> Result<(), Error> {
        let device = Path::new("/dev/sdz");
        ledger.write_signatures(root, device, vec![Area { start: 0, length: 8 }])?;
        fake::format(root, device);
        super::crash_point::crash_point()
    }

    fn directory_and_null_block(&self, ledger: &mut Ledger, root: &Root) -> Result<(), Error> {
        ledger.make_tree(root, Path::new("/srv/data/assay-data"))?;
        self.file("srv/data/assay-data/task1/file", "laid out by fio");
        self.file("srv/data/assay-data/log", "and more");
        let device_dir = Path::new("/sys/kernel/config/nullb/assay");
        ledger.record(Change::NullBlk { path: device_dir.to_owned() }, || {
            root.make_dir(device_dir)?;
            self.file("sys/kernel/config/nullb/assay/power", "0");
            super::crash_point::crash_point()?;
            root.write(device_dir.join("power"), "1")
        })
    }

    fn queue(&self, ledger: &mut Ledger, root: &Root) -> Result<(), Error> {
        let queue = Path::new(QUEUE);
        ledger.keep_queue(root, "sda")?;
        ledger.write_file(root, &queue.join("scheduler"), "bfq")?;
        // Side effects of the kernel when the scheduler changes.
        self.file("sys/block/sda/queue/nr_requests", "128");
        self.file("sys/block/sda/queue/iosched/fifo_batch", "1");
        ledger.write_file(root, &queue.join("nr_requests"), "512")
    }

    fn settings(&self, ledger: &mut Ledger, root: &Root) -> Result<(), Error> {
        let [ratio, bytes] = ["dirty_ratio", "dirty_bytes"].map(|name| Path::new(VM).join(name));
        ledger.keep_file(root, &Path::new(VM).join("min_free_kbytes"))?;
        self.file("proc/sys/vm/min_free_kbytes", "67584");
        ledger.write_one_of(root, &bytes, "16777216", &ratio)?;
        // Side effect of the kernel.
        self.file("proc/sys/vm/dirty_ratio", "0");
        super::crash_point::crash_point()
    }

    fn groups(&self, ledger: &mut Ledger, root: &Root) -> Result<(), Error> {
        let group = |name: &str| Path::new(GROUPS).join(name);
        let control = Path::new(GROUPS).join("cgroup.subtree_control");
        ledger.write_with_inverse(root, &control, "+io", "-io")?;
        ledger.make_group(root, &group("assay"))?;
        self.file("sys/fs/cgroup/io/assay/cgroup.procs", "");
        let mark = ledger.mark();
        ledger.make_groups(root, &[group("assay/a"), group("assay/b")])?;
        self.file("sys/fs/cgroup/io/assay/a/cgroup.procs", "");
        fs::create_dir_all(self.tree.path().join("sys/fs/cgroup/io/assay/a/by-a-tool")).unwrap();
        ledger.restore_to(root, mark).pop().map_or(Ok(()), Err)?;
        ledger.write_group_file(root, &group("theirs/cgroup.freeze"), "1")?;
        ledger.make_group(root, &group("assay/c"))
    }
}

fn collect(directory: &Path, image: &mut Image) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            image.insert(path.clone(), None);
            collect(&path, image);
        } else {
            image.insert(path.clone(), Some(fs::read(&path).unwrap()));
        }
    }
}
