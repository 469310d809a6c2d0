//! The crash model: a run on a tree that stands in for a host dies after every write of its
//! ledger and after every change; the restore that follows dies at every instant too; and then
//! one that is left to work brings back the tree as it was, byte for byte.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use assay_kernel::{Error, Root};
use tempfile::TempDir;

use super::{Ledger, fuse, restore_all, unfinished};

/// A host with one disk and one cgroup hierarchy, in memory where the machine has /dev/shm.
struct Host {
    tree: TempDir,
    state: TempDir,
}

type Image = BTreeMap<PathBuf, Option<Vec<u8>>>;

impl Host {
    fn new() -> Self {
        let temporary =
            || tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
        let host = Self { tree: temporary(), state: temporary() };
        host.file("sys/block/sda/queue/scheduler", "mq-deadline");
        host.file("sys/block/sda/queue/nr_requests", "256");
        host.file("sys/block/sda/queue/iosched/fifo_batch", "16");
        host.file("sys/fs/cgroup/io/cgroup.procs", "");
        host.file("var/tmp/other", "not ours");
        host
    }

    fn file(&self, path: &str, text: &str) {
        let path = self.tree.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn root(&self) -> Root {
        Root::at(self.tree.path())
    }

    fn image(&self) -> Image {
        let mut image = Image::new();
        collect(self.tree.path(), &mut image);
        image
    }

    /// Everything that a run does to this host, until the end or its death.
    fn run(&self) -> Result<(), Error> {
        let root = self.root();
        let group = |name: &str| Path::new("/sys/fs/cgroup/io").join(name);
        let queue = Path::new("/sys/block/sda/queue");
        let mut ledger = Ledger::begin(self.state.path(), "crash")?;
        ledger.make_dir(&root, Path::new("/var/tmp/assay/images"))?;
        let mut image = ledger.make_file(&root, Path::new("/var/tmp/assay/images/disk"))?;
        image.write_all(b"data").unwrap();
        ledger.keep_queue(&root, "sda")?;
        ledger.write_file(&root, &queue.join("scheduler"), "bfq")?;
        // What the kernel does by itself when the scheduler changes.
        self.file("sys/block/sda/queue/nr_requests", "128");
        self.file("sys/block/sda/queue/iosched/fifo_batch", "1");
        ledger.write_file(&root, &queue.join("nr_requests"), "512")?;
        ledger.make_group(&root, &group("assay"))?;
        self.file("sys/fs/cgroup/io/assay/cgroup.procs", "");
        let mark = ledger.mark();
        ledger.make_groups(&root, &[group("assay/a"), group("assay/b")])?;
        self.file("sys/fs/cgroup/io/assay/a/cgroup.procs", "");
        fs::create_dir_all(self.tree.path().join("sys/fs/cgroup/io/assay/a/by-a-tool")).unwrap();
        ledger.restore_to(&root, mark).pop().map_or(Ok(()), Err)?;
        ledger.make_group(&root, &group("assay/c"))?;
        ledger.restore(&root).pop().map_or(Ok(()), Err)?;
        assert!(ledger.finish()?);
        Ok(())
    }

    fn tear_last_line(&self) {
        let path = self.state.path().join("ledger/crash.jsonl");
        if let Ok(mut file) = OpenOptions::new().append(true).open(path) {
            file.write_all(br#"{"intend":{"entry":99,"change":{"make_fi"#).unwrap();
        }
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

/// A host on which a run died after `instants`; `None` when it survived them all.
fn dead_after(instants: usize) -> Option<(Host, Image)> {
    let host = Host::new();
    let before = host.image();
    fuse::set(Some(instants));
    let ended = host.run();
    fuse::set(None);
    if ended.is_ok() {
        assert_eq!(host.image(), before, "a run that ends by itself restores");
        return None;
    }
    Some((host, before))
}

fn assert_restored(host: &Host, before: &Image, when: &str) {
    let report = restore_all(host.state.path(), &host.root()).unwrap();
    assert!(report.is_complete(), "{when}: {report:?}");
    assert_eq!(&host.image(), before, "{when}");
    assert_eq!(unfinished(host.state.path()).unwrap(), [], "{when}");
}

#[test]
fn whenever_a_run_dies_restore_brings_back_the_tree() {
    let mut instants = 0;
    while let Some((host, before)) = dead_after(instants) {
        if instants % 2 == 0 {
            host.tear_last_line();
        }
        assert_restored(&host, &before, &format!("died after {instants}"));
        instants += 1;
    }
    assert!(instants > 30, "the model has only {instants} instants");
}

#[test]
fn whenever_a_restore_dies_too_the_next_one_goes_on() {
    let mut instants = 0;
    while dead_after(instants).is_some() {
        for of_restore in 0.. {
            let Some((host, before)) = dead_after(instants) else { break };
            fuse::set(Some(of_restore));
            let first = restore_all(host.state.path(), &host.root()).unwrap();
            fuse::set(None);
            let when = format!("died after {instants}, restore after {of_restore}");
            assert_restored(&host, &before, &when);
            if first.is_complete() {
                break;
            }
        }
        instants += 1;
    }
}
