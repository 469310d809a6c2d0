//! The lab's cache of kernels, and the files of running guests.

use std::fs::{File, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use assay_sys::files::{Checked, Dir, Trust};
use assay_sys::kernel::{Root, file_lock, signal};

use crate::error::Error;

/// A folder owned by the lab.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cache(PathBuf);

/// Characters allowed in paths; QEMU's and virtme-run's options split at others.
const PLAIN: &str = "_+-./";

/// How long to wait for another lab: fetching a kernel over a slow network takes minutes.
const PATIENCE: Duration = Duration::from_secs(15 * 60);

/// Poll interval for the other lab and for an interruption by the user.
const LOOK: Duration = Duration::from_millis(200);

impl Cache {
    /// `$ASSAY_LAB_CACHE`, or `/var/cache/assay/lab`.
    #[must_use]
    pub fn usual() -> Self {
        let named = std::env::var_os("ASSAY_LAB_CACHE").filter(|path| !path.is_empty());
        Self(named.map_or_else(|| PathBuf::from("/var/cache/assay/lab"), PathBuf::from))
    }

    /// The cache in this folder.
    #[must_use]
    pub fn at(path: &Path) -> Self {
        Self(path.to_owned())
    }

    /// Its path, which need not exist yet.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Creates a folder in it, with its parents, and returns its path without symbolic links. A
    /// folder that other users can change is refused: its contents are unpacked, started and
    /// booted, as root if the caller is root.
    pub(crate) fn folder(&self, name: &str) -> Result<PathBuf, Error> {
        let path = self.0.join(name);
        let made = assay_sys::files::check(&path, None, Trust::Checked).and_then(Checked::make);
        let path = made.map_err(|error| not_usable(&path, &error))?.path().to_owned();
        if is_plain(&path) {
            return Ok(path);
        }
        Err(Error::new(format!("QEMU options cannot contain the folder path {}", path.display()))
            .hint("use only letters, digits and `_+-.` in ASSAY_LAB_CACHE"))
    }

    /// Locks the cache's kernels, after waiting for any other lab.
    pub(crate) fn lock(&self) -> Result<File, Error> {
        self.lock_within(PATIENCE)
    }

    /// The same with another time limit. Only the owner may open the file, so no other user can
    /// keep a lab waiting.
    fn lock_within(&self, limit: Duration) -> Result<File, Error> {
        let kernels = self.folder("kernels")?;
        let path = kernels.join("lock");
        let file = Dir::open(&kernels)?.private().append("lock")?;
        keep_to_owner(&file).map_err(|cause| Error::file("change", &path, &cause))?;
        let end = Instant::now() + limit;
        while !file_lock::try_lock(&file, &path)? {
            let why = match signal::interrupted_by() {
                Some(signal) => format!("interrupted by {signal}"),
                None if Instant::now() >= end => format!("waited for {limit:?}"),
                None => {
                    std::thread::sleep(LOOK.min(limit));
                    continue;
                }
            };
            let holder = file_lock::holder(&Root::real(), &file);
            let holder = holder.unwrap_or_else(|| "another process holds the lock".to_owned());
            let what = format!("another lab is using {}: {why}: {holder}", kernels.display());
            return Err(Error::new(what).hint("wait until it has finished, or end it"));
        }
        Ok(file)
    }
}

/// The error for an unusable folder: it cannot be created, or is not safe.
fn not_usable(path: &Path, error: &assay_sys::files::Error) -> Error {
    if error.cause.raw_os_error().is_some() {
        return Error::new(format!("cannot create {}: {error}", path.display()))
            .hint("set ASSAY_LAB_CACHE to a folder that can be created");
    }
    Error::new(format!("{} is not used: {}", path.display(), error.cause)).hint(
        "make it writable only by you and root (`chown`, `chmod go-w`), or set ASSAY_LAB_CACHE to \
         another folder",
    )
}

/// Read permission suffices for a read lock, which would block everyone else.
fn keep_to_owner(file: &File) -> std::io::Result<()> {
    match file.metadata()?.permissions().mode() & 0o077 {
        0 => Ok(()),
        _ => file.set_permissions(Permissions::from_mode(0o600)),
    }
}

/// Whether a path may be used in an option of QEMU or virtme-run.
pub(crate) fn is_plain(path: &Path) -> bool {
    path.to_str()
        .is_some_and(|text| text.chars().all(|c| c.is_ascii_alphanumeric() || PLAIN.contains(c)))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::{BufRead, BufReader};
    use std::process::{Command, Stdio};

    use assay_sys::kernel::filesystem;

    use super::*;
    use crate::shared_dir::SharedDir;

    #[test]
    fn a_path_that_qemu_options_cannot_contain_is_refused_with_a_remedy() {
        let place = tempfile::tempdir().unwrap();
        assert!(Cache::at(&place.path().join("fine-1")).folder("kernels").unwrap().is_dir());
        let error = Cache::at(&place.path().join("a,b")).folder("kernels").unwrap_err();
        assert!(error.to_string().contains("ASSAY_LAB_CACHE"), "{error}");
    }

    #[test]
    fn a_cache_that_cannot_be_created_is_refused_with_a_remedy() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let error = Cache::at(file.path()).folder("kernels").unwrap_err();
        assert!(error.what.contains("cannot create"), "{error}");
    }

    /// Its contents are unpacked as root: anyone who can replace a file there controls the host.
    #[test]
    fn a_cache_that_other_users_can_change_is_refused() {
        let place = tempfile::tempdir().unwrap();
        let cache = Cache::at(place.path());
        let kernels = cache.folder("kernels").unwrap();
        for folder in [place.path(), kernels.as_path()] {
            let open = |mode| fs::set_permissions(folder, Permissions::from_mode(mode)).unwrap();
            open(0o777);
            let error = cache.folder("kernels").unwrap_err().to_string();
            assert!(error.contains("0777") && error.contains("ASSAY_LAB_CACHE"), "{error}");
            assert!(cache.lock().is_err());
            open(0o755);
        }
        fs::set_permissions(place.path(), Permissions::from_mode(0o777)).unwrap();
        assert!(SharedDir::create(&cache).is_err(), "also for guests' files");
        fs::set_permissions(place.path(), Permissions::from_mode(0o755)).unwrap();
        drop(cache.lock().unwrap());
    }

    #[test]
    fn a_reader_of_the_lock_file_delays_nobody() {
        let place = tempfile::tempdir().unwrap();
        let cache = Cache::at(place.path());
        drop(cache.lock().unwrap());
        let path = place.path().join("kernels/lock");
        let mode = || path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(), 0o600);
        // As created by an older version, and held open by another user.
        fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
        let reader = File::open(&path).unwrap();
        assert!(filesystem::try_lock(&reader, &path).unwrap());
        drop(cache.lock_within(Duration::ZERO).unwrap());
        assert_eq!(mode(), 0o600);
    }

    #[test]
    fn waiting_for_the_cache_is_limited_and_names_the_holder() {
        let place = tempfile::tempdir().unwrap();
        let cache = Cache::at(place.path());
        drop(cache.lock().unwrap());
        // 37 is F_OFD_SETLK.
        let script = "open(F, '+<', $ARGV[0]) or die; \
                      my $l = pack('s s x4 q q i x4', 1, 0, 0, 0, 0); \
                      fcntl(F, 37, $l) or die; $| = 1; print \"held\\n\"; sleep 100";
        let mut child = Command::new("perl")
            .args(["-e", script])
            .arg(place.path().join("kernels/lock"))
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let begun = Instant::now();
        let error = cache.lock_within(Duration::from_millis(300)).unwrap_err().to_string();
        let whole = begun.elapsed();
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(line, "held\n");
        assert!(error.contains(&format!("process {} (perl)", child.id())), "{error}");
        assert!(whole < Duration::from_secs(5), "{whole:?}");
        drop(cache.lock_within(Duration::from_secs(5)).unwrap());
    }
}
