//! The folder of one guest on the host: what is shared with it, its disks and its console.

use std::fs::{self, File, Permissions};
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use assay_files::Dir;
use assay_kernel::filesystem;
use assay_units::Bytes;

use crate::cache::Cache;
use crate::error::Error;

/// A guest's folder. It is removed with the guest, except for the console of one that failed.
#[derive(Debug)]
pub(crate) struct SharedDir {
    folder: PathBuf,
    dir: Dir,
    /// The part of it that the guest may write to: nothing in there is trusted.
    share: Dir,
    /// Says to others that the guest lives; the lock ends with this process.
    _alive: File,
}

/// The file whose lock says that the guest lives.
const ALIVE: &str = "alive";

static NEXT: AtomicU32 = AtomicU32::new(1);

/// Bytes of an answer that are read; the guest decides how long it is.
const MOST_SAID: u64 = 1 << 20;

/// Consoles of failed guests that are kept; older ones go.
const KEPT: usize = 20;

impl SharedDir {
    /// Makes a new folder, and takes away those of guests whose lab was killed.
    pub(crate) fn create(cache: &Cache) -> Result<Self, Error> {
        let guests = cache.folder("guests")?;
        sweep(&guests);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let dir = Dir::open(&guests)?.make_dir(format!("{}-{number}", std::process::id()))?;
        let folder = dir.path().to_owned();
        // The guest's root makes files there that run as their owner, whoever starts them.
        dir.keep_to_owner()?;
        let share = dir.make_dir("share")?;
        let alive = dir.create(ALIVE)?;
        filesystem::try_lock(&alive, &folder.join(ALIVE))?;
        Ok(Self { folder, dir, share, _alive: alive })
    }

    /// The folder that the guest sees as /run/assay/lab and may write to.
    pub(crate) fn share(&self) -> PathBuf {
        self.folder.join("share")
    }

    /// The console's log.
    pub(crate) fn console(&self) -> PathBuf {
        self.folder.join("console.log")
    }

    /// Puts a file into the shared folder.
    pub(crate) fn put(&self, name: &str, text: &str) -> Result<(), Error> {
        Ok(self.share.replace(name, text.as_bytes())?)
    }

    /// Lets the guest start a file that was put there.
    pub(crate) fn make_executable(&self, name: &str) -> Result<(), Error> {
        let changed = self.share.read(name)?.set_permissions(Permissions::from_mode(0o755));
        changed.map_err(|cause| Error::file("change", &self.share().join(name), &cause))
    }

    /// What the guest has put there, without white space at its ends; `None` where there is
    /// nothing.
    pub(crate) fn said(&self, name: &str) -> Option<String> {
        let mut text = Vec::new();
        self.share.read(name).ok()?.take(MOST_SAID).read_to_end(&mut text).ok()?;
        Some(String::from_utf8_lossy(&text).trim().to_owned())
    }

    /// The folder of results that the guest has left, if it is one.
    pub(crate) fn results(&self) -> Option<Dir> {
        self.share.dir("back").ok()
    }

    /// Makes a sparse file for a disk, after a look at the space that it may come to need.
    pub(crate) fn disk(&self, name: &str, size: Bytes) -> Result<PathBuf, Error> {
        let free = filesystem::free_space(&self.folder)?;
        if free < size.get() {
            let what = format!(
                "a disk of {size} for the guest does not fit: {} MiB are free in {}",
                free >> 20,
                self.folder.display()
            );
            return Err(Error::new(what)
                .hint("ask for a smaller disk, or name another folder with ASSAY_LAB_CACHE"));
        }
        let path = self.folder.join(name);
        self.dir
            .create(name)?
            .set_len(size.get())
            .map_err(|cause| Error::file("make", &path, &cause))?;
        Ok(path)
    }

    /// Moves the console of a failed guest to where it stays, and says where that is.
    pub(crate) fn keep_console(&self) -> PathBuf {
        let log = self.console();
        let Some(consoles) = self.folder.ancestors().nth(2).map(|cache| cache.join("consoles"))
        else {
            return log;
        };
        let name = self.folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let kept = consoles.join(format!("{name}.log"));
        // Where it cannot be moved it is copied away from nowhere: the log stays with the folder.
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

/// Removes folders whose lock nobody holds.
fn sweep(guests: &Path) {
    for folder in entries(guests) {
        let lock = folder.join(ALIVE);
        let Ok(file) = File::open(&lock) else { continue };
        if filesystem::try_lock(&file, &lock) == Ok(true) {
            remove(&folder);
        }
    }
}

/// Keeps the newest consoles.
fn thin(consoles: &Path) {
    let mut logs = entries(consoles);
    logs.sort_by_key(|log| log.metadata().and_then(|found| found.modified()).ok());
    let spare = logs.len().saturating_sub(KEPT);
    for log in &logs[..spare] {
        remove(log);
    }
}

/// Removes a folder of the cache, or a file. What stays is swept away another time.
fn remove(path: &Path) {
    let (Some(above), Some(name)) = (path.parent(), path.file_name()) else { return };
    let Ok(above) = Dir::open(above) else { return };
    let _ = if path.is_dir() { above.remove_tree(name) } else { above.remove_file(name) };
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let Ok(found) = fs::read_dir(folder) else { return vec![] };
    found.filter_map(|entry| Some(entry.ok()?.path())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guest_s_folder_goes_with_it_and_the_console_of_a_failure_stays() {
        let place = tempfile::tempdir().unwrap();
        let cache = Cache::at(place.path());
        let exchange = SharedDir::create(&cache).unwrap();
        exchange.put("spec", "x\n").unwrap();
        assert_eq!(exchange.said("spec").as_deref(), Some("x"));
        assert_eq!(exchange.said("exit"), None);
        let disk = exchange.disk("disk-1", Bytes::mebi(64)).unwrap();
        assert_eq!(disk.metadata().unwrap().len(), 64 << 20);
        fs::write(exchange.console(), "panic").unwrap();
        let kept = exchange.keep_console();
        let folder = exchange.folder.clone();
        drop(exchange);
        assert!(!folder.exists());
        assert_eq!(fs::read_to_string(kept).unwrap(), "panic");
    }

    /// The guest's root may make there whatever a file system holds.
    #[test]
    fn what_a_guest_leaves_is_read_as_files_and_reached_by_nobody_else() {
        let place = tempfile::tempdir().unwrap();
        let exchange = SharedDir::create(&Cache::at(place.path())).unwrap();
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o7777;
        assert_eq!(mode(&exchange.folder), 0o700);
        let share = exchange.share();
        std::os::unix::fs::symlink("/etc/hostname", share.join("exit")).unwrap();
        let _fifo = exchange.share.make_fifo("ready").unwrap();
        assert_eq!((exchange.said("exit"), exchange.said("ready")), (None, None));
        std::os::unix::fs::symlink("/etc", share.join("back")).unwrap();
        assert!(exchange.results().is_none());
    }

    #[test]
    fn folders_of_killed_labs_go_and_those_of_live_guests_stay() {
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
    fn a_disk_that_does_not_fit_is_refused_with_what_is_free() {
        let place = tempfile::tempdir().unwrap();
        let exchange = SharedDir::create(&Cache::at(place.path())).unwrap();
        let error = exchange.disk("disk-1", Bytes::new(1 << 60)).unwrap_err().to_string();
        assert!(error.contains("MiB are free") && error.contains("hint"), "{error}");
    }
}
