//! The folder of one guest on the host: its shared folder, disks and console.

use std::fs::{self, File, Permissions};
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use assay_sys::escape::shell_word;
use assay_sys::files::{Budget, Dir};
use assay_sys::kernel::filesystem;
use assay_sys::units::Bytes;

use crate::cache::Cache;
use crate::error::Error;

/// A guest's folder. It is removed with the guest, except for the console of a failed guest.
#[derive(Debug)]
pub(crate) struct SharedDir {
    folder: PathBuf,
    dir: Dir,
    /// The part that the guest may write to: its contents are untrusted.
    share: Dir,
    /// Bytes of all disks so far.
    disks: u64,
    /// Lock that marks the guest as alive; it ends with this process.
    _alive: File,
}

/// Space on the file system that is left to others. It is more than a guest writes between two checks.
pub(crate) const RESERVE: u64 = 512 << 20;

/// Of util-linux; asks for a signal when the parent ends (2.33).
const SETPRIV: &str = "/usr/bin/setpriv";

/// What virtme-run starts in place of QEMU.
const START_QEMU: &str = include_str!("../guest/start-qemu");

/// Name of the lock file.
const ALIVE: &str = "alive";

static NEXT: AtomicU32 = AtomicU32::new(1);

/// Size limit when reading a guest's files; the guest controls their size.
const MAX_GUEST_FILE_BYTES: u64 = 1 << 20;

/// Number of failed guests' consoles to keep; older ones are removed.
const KEPT: usize = 20;

impl SharedDir {
    /// Creates a new folder, and removes those of guests whose lab was killed.
    pub(crate) fn create(cache: &Cache) -> Result<Self, Error> {
        let guests = cache.folder("guests")?;
        sweep(&guests);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let dir = Dir::open(&guests)?.make_dir(format!("{}-{number}", std::process::id()))?;
        let folder = dir.path().to_owned();
        // Setuid files of the guest's root would be effective for other users.
        dir.restrict_to_owner()?;
        let share = dir.make_dir("share")?;
        let alive = dir.create(ALIVE)?;
        filesystem::try_lock(&alive, &folder.join(ALIVE))?;
        Ok(Self { folder, dir, share, disks: 0, _alive: alive })
    }

    /// The folder that the guest sees as /run/assay/lab and may write to.
    pub(crate) fn share(&self) -> PathBuf {
        self.folder.join("share")
    }

    /// The guest's whole folder.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// An error if the part that the guest may write to takes more than this on disk, or if `stop` returns true.
    pub(crate) fn check_usage(&self, budget: Budget, stop: &dyn Fn() -> bool) -> Result<(), Error> {
        Ok(self.share.check_usage(budget, stop)?)
    }

    /// Path of the console log.
    pub(crate) fn console(&self) -> PathBuf {
        self.folder.join("console.log")
    }

    /// Writes a file into the shared folder.
    pub(crate) fn put(&self, name: &str, text: &str) -> Result<(), Error> {
        Ok(self.share.replace(name, text.as_bytes())?)
    }

    /// A program that becomes QEMU.
    pub(crate) fn qemu(&self, qemu: &Path) -> Result<PathBuf, Error> {
        let path = self.folder.join("qemu");
        let text = format!(
            "#!/bin/sh\nqemu={} setpriv={SETPRIV} folder={}\n{START_QEMU}",
            shell_word(&qemu.to_string_lossy()),
            shell_word(&self.folder.to_string_lossy()),
        );
        self.dir.replace("qemu", text.as_bytes())?;
        let changed = self.dir.read("qemu")?.set_permissions(Permissions::from_mode(0o700));
        changed.map_err(|cause| Error::file("change", &path, &cause))?;
        Ok(path)
    }

    /// Makes a file executable for the guest.
    pub(crate) fn make_executable(&self, name: &str) -> Result<(), Error> {
        let changed = self.share.read(name)?.set_permissions(Permissions::from_mode(0o755));
        changed.map_err(|cause| Error::file("change", &self.share().join(name), &cause))
    }

    /// Reads a file written by the guest, trimmed; `None` if there is none.
    pub(crate) fn read(&self, name: &str) -> Option<String> {
        let mut text = Vec::new();
        self.share.read(name).ok()?.take(MAX_GUEST_FILE_BYTES).read_to_end(&mut text).ok()?;
        Some(String::from_utf8_lossy(&text).trim().to_owned())
    }

    /// The folder of results left by the guest, if it is a directory.
    pub(crate) fn results(&self) -> Option<Dir> {
        self.share.dir("back").ok()
    }

    /// Creates a sparse file for a disk, after checking that its full size would fit beside those of the
    /// others, and leave a reserve.
    pub(crate) fn disk(&mut self, name: &str, size: Bytes) -> Result<PathBuf, Error> {
        let free = filesystem::free_space(&self.folder)?.saturating_sub(RESERVE);
        let disks = self.disks.saturating_add(size.get());
        if free < disks {
            let what = format!(
                "not enough space for a guest disk of {size}: {} MiB are free in {}, apart from a \
                 reserve of {} MiB, and all disks may take {} MiB",
                free >> 20,
                self.folder.display(),
                RESERVE >> 20,
                disks >> 20
            );
            return Err(Error::new(what)
                .hint("use a smaller disk, or set ASSAY_LAB_CACHE to another folder"));
        }
        let path = self.folder.join(name);
        self.dir
            .create(name)?
            .set_len(size.get())
            .map_err(|cause| Error::file("make", &path, &cause))?;
        self.disks = disks;
        Ok(path)
    }

    /// Moves the console of a failed guest to the folder of kept consoles and returns its path.
    pub(crate) fn keep_console(&self) -> PathBuf {
        let log = self.console();
        let Some(consoles) = self.folder.ancestors().nth(2).map(|cache| cache.join("consoles"))
        else {
            return log;
        };
        let name = self.folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let kept = consoles.join(format!("{name}.log"));
        // If it cannot be moved, the log stays with the folder.
        let moved = self.folder.ancestors().nth(2).map(|cache| {
            let cache = Dir::open(cache)?;
            cache.make_dir("consoles")?;
            let inside = |path: &Path| path.strip_prefix(cache.path()).unwrap_or(path).to_owned();
            cache.rename(inside(&log), inside(&kept))
        });
        thin(&consoles);
        if matches!(moved, Some(Ok(()))) { kept } else { log }
    }
}

impl Drop for SharedDir {
    fn drop(&mut self) {
        remove(&self.folder);
    }
}

/// Removes folders whose lock is not held.
fn sweep(guests: &Path) {
    for folder in entries(guests) {
        let lock = folder.join(ALIVE);
        let Ok(file) = File::open(&lock) else { continue };
        if filesystem::try_lock(&file, &lock) == Ok(true) {
            remove(&folder);
        }
    }
}

/// Keeps only the newest consoles.
fn thin(consoles: &Path) {
    let mut logs = entries(consoles);
    logs.sort_by_key(|log| log.metadata().and_then(|metadata| metadata.modified()).ok());
    let spare = logs.len().saturating_sub(KEPT);
    for log in &logs[..spare] {
        remove(log);
    }
}

/// Removes a folder or file of the cache. Leftovers are removed another time.
fn remove(path: &Path) {
    let (Some(above), Some(name)) = (path.parent(), path.file_name()) else { return };
    let Ok(above) = Dir::open(above) else { return };
    let _ = if path.is_dir() { above.remove_tree(name) } else { above.remove_file(name) };
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let Ok(list) = fs::read_dir(folder) else { return vec![] };
    list.filter_map(|entry| Some(entry.ok()?.path())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guest_s_folder_is_removed_and_the_console_of_a_failed_one_is_kept() {
        let place = tempfile::tempdir().unwrap();
        let cache = Cache::at(place.path());
        let mut shared = SharedDir::create(&cache).unwrap();
        shared.put("spec", "x\n").unwrap();
        assert_eq!(shared.read("spec").as_deref(), Some("x"));
        assert_eq!(shared.read("exit"), None);
        let disk = shared.disk("disk-1", Bytes::mebi(64)).unwrap();
        assert_eq!(disk.metadata().unwrap().len(), 64 << 20);
        fs::write(shared.console(), "panic").unwrap();
        let kept = shared.keep_console();
        let folder = shared.folder.clone();
        drop(shared);
        assert!(!folder.exists());
        assert_eq!(fs::read_to_string(kept).unwrap(), "panic");
    }

    /// The guest's root can create any kind of file there.
    #[test]
    fn files_of_a_guest_are_read_safely_and_inaccessible_to_others() {
        let place = tempfile::tempdir().unwrap();
        let shared = SharedDir::create(&Cache::at(place.path())).unwrap();
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o7777;
        assert_eq!(mode(&shared.folder), 0o700);
        let share = shared.share();
        std::os::unix::fs::symlink("/etc/hostname", share.join("exit")).unwrap();
        let _fifo = shared.share.make_fifo("ready").unwrap();
        assert_eq!((shared.read("exit"), shared.read("ready")), (None, None));
        std::os::unix::fs::symlink("/etc", share.join("back")).unwrap();
        assert!(shared.results().is_none());
    }

    #[test]
    fn folders_of_killed_labs_are_removed_and_those_of_live_guests_stay() {
        let place = tempfile::tempdir().unwrap();
        let cache = Cache::at(place.path());
        let live = SharedDir::create(&cache).unwrap();
        let dead = place.path().join("guests/1-1");
        fs::create_dir_all(&dead).unwrap();
        fs::write(dead.join("alive"), "").unwrap();
        let other = SharedDir::create(&cache).unwrap();
        assert!(!dead.exists());
        assert!(live.folder.exists() && other.folder.exists());
    }

    #[test]
    fn a_disk_without_enough_space_is_refused_with_the_free_space() {
        let place = tempfile::tempdir().unwrap();
        let mut shared = SharedDir::create(&Cache::at(place.path())).unwrap();
        let error = shared.disk("disk-1", Bytes::new(1 << 60)).unwrap_err().to_string();
        assert!(error.contains("MiB are free") && error.contains("hint"), "{error}");
        // Sparse files take no space yet, but together they may take more than there is.
        let half = ((filesystem::free_space(place.path()).unwrap() / 10) * 6) >> 20;
        shared.disk("disk-1", Bytes::mebi(half)).unwrap();
        let error = shared.disk("disk-2", Bytes::mebi(half)).unwrap_err().to_string();
        assert!(error.contains("all disks may take"), "{error}");
    }
}
