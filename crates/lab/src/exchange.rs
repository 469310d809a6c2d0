//! The folder of one guest on the host: what is shared with it, its disks and its console.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use assay_kernel::filesystem;
use assay_units::Bytes;

use crate::cache::Cache;
use crate::error::Error;

/// A guest's folder. It is removed with the guest, except for the console of one that failed.
#[derive(Debug)]
pub(crate) struct Exchange {
    folder: PathBuf,
    /// Says to others that the guest lives; the lock ends with this process.
    _alive: File,
}

static NEXT: AtomicU32 = AtomicU32::new(1);

/// Consoles of failed guests that are kept; older ones go.
const KEPT: usize = 20;

impl Exchange {
    /// Makes a new folder, and takes away those of guests whose lab was killed.
    pub(crate) fn create(cache: &Cache) -> Result<Self, Error> {
        let guests = cache.folder("guests")?;
        sweep(&guests);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let folder = guests.join(format!("{}-{number}", std::process::id()));
        let share = folder.join("share");
        fs::create_dir_all(&share).map_err(|cause| Error::file("make", &share, &cause))?;
        let lock = folder.join("alive");
        let alive = File::create(&lock).map_err(|cause| Error::file("create", &lock, &cause))?;
        filesystem::try_lock(&alive, &lock)?;
        Ok(Self { folder, _alive: alive })
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
        let path = self.share().join(name);
        fs::write(&path, text).map_err(|cause| Error::file("write", &path, &cause))
    }

    /// What the guest has put there, without white space at its ends; `None` where there is
    /// nothing.
    pub(crate) fn said(&self, name: &str) -> Option<String> {
        let text = fs::read(self.share().join(name)).ok()?;
        Some(String::from_utf8_lossy(&text).trim().to_owned())
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
        File::create(&path)
            .and_then(|file| file.set_len(size.get()))
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
        let moved = fs::create_dir_all(&consoles).and_then(|()| fs::rename(&log, &kept));
        thin(&consoles);
        if moved.is_ok() { kept } else { log }
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Removes folders whose lock nobody holds.
fn sweep(guests: &Path) {
    for folder in entries(guests) {
        let lock = folder.join("alive");
        let Ok(file) = File::open(&lock) else { continue };
        if filesystem::try_lock(&file, &lock) == Ok(true) {
            let _ = fs::remove_dir_all(&folder);
        }
    }
}

/// Keeps the newest consoles.
fn thin(consoles: &Path) {
    let mut logs = entries(consoles);
    logs.sort_by_key(|log| log.metadata().and_then(|found| found.modified()).ok());
    let spare = logs.len().saturating_sub(KEPT);
    for log in &logs[..spare] {
        let _ = fs::remove_file(log);
    }
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
        let exchange = Exchange::create(&cache).unwrap();
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

    #[test]
    fn folders_of_killed_labs_go_and_those_of_live_guests_stay() {
        let place = tempfile::tempdir().unwrap();
        let cache = Cache::at(place.path());
        let live = Exchange::create(&cache).unwrap();
        let dead = place.path().join("guests/1-1");
        fs::create_dir_all(&dead).unwrap();
        fs::write(dead.join("alive"), "").unwrap();
        let other = Exchange::create(&cache).unwrap();
        assert!(!dead.exists());
        assert!(live.folder.exists() && other.folder.exists());
    }

    #[test]
    fn a_disk_that_does_not_fit_is_refused_with_what_is_free() {
        let place = tempfile::tempdir().unwrap();
        let exchange = Exchange::create(&Cache::at(place.path())).unwrap();
        let error = exchange.disk("disk-1", Bytes::new(1 << 60)).unwrap_err().to_string();
        assert!(error.contains("MiB are free") && error.contains("hint"), "{error}");
    }
}
