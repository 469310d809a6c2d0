//! Limits on what a guest writes to the disk of the host: its shared folder, its console and its disks, which
//! are sparse files.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use assay_sys::files::Budget;
use assay_sys::kernel::{Root, filesystem};

use crate::error::Error;
use crate::shared_dir::{RESERVE, SharedDir};

/// Limit of what a guest may leave in its shared folder, and of the results copied from there. The results
/// of a run have some megabytes.
pub(crate) const RESULTS: Budget = Budget { bytes: 4 << 30, names: 100_000 };

/// Limit of its console. That of a boot has some 50 kB.
const CONSOLE: u64 = 16 << 20;

/// Unit of `st_blocks` (stat(2)).
const BLOCK: u64 = 512;

/// The shared folder is walked through this often, and for at most a twentieth of the time.
const WALK: Duration = Duration::from_secs(1);
const SHARE_OF_TIME: u32 = 20;

/// Watches what one guest writes.
#[derive(Debug)]
pub(crate) struct DiskSpace {
    next_walk: Instant,
    results: Budget,
    reserve: u64,
}

impl DiskSpace {
    pub(crate) fn new() -> Self {
        Self { next_walk: Instant::now(), results: RESULTS, reserve: RESERVE }
    }

    /// An error with its remedy if the guest in this process has written too much. Cheap enough for many calls a
    /// second.
    pub(crate) fn check(&mut self, shared: &SharedDir, qemu: u32) -> Result<(), Error> {
        self.check_reserve(shared.folder())?;
        if shared.console().metadata().is_ok_and(|console| console.len() > CONSOLE) {
            let what = format!("the guest wrote more than {} MiB to its console", CONSOLE >> 20);
            return Err(Error::new(what).hint("look for what repeats at its end"));
        }
        let now = Instant::now();
        if now < self.next_walk {
            return Ok(());
        }
        let is_short = || self.check_reserve(shared.folder()).is_err();
        let usage = shared.check_usage(self.results, &is_short);
        let removed = removed_bytes(qemu, &shared.share());
        self.next_walk = Instant::now() + WALK.max(now.elapsed() * SHARE_OF_TIME);
        // It may be what has ended the walk.
        self.check_reserve(shared.folder())?;
        let too_much = |why: &dyn std::fmt::Display| {
            Error::new(format!("the guest wrote too much to its shared folder: {why}"))
                .hint("write less to its /run/assay/lab, or less results")
        };
        usage.map_err(|why| too_much(&why))?;
        if removed > self.results.bytes {
            let limit = self.results.bytes >> 20;
            return Err(too_much(&format!(
                "files that were removed, but are still open, hold more than {limit} MiB"
            )));
        }
        Ok(())
    }

    fn check_reserve(&self, folder: &Path) -> Result<(), Error> {
        let free = filesystem::free_space(folder)?;
        if free >= self.reserve {
            return Ok(());
        }
        let what = format!(
            "only {} MiB are free in {}, and the guest's disks and files may fill them",
            free >> 20,
            folder.display()
        );
        Err(Error::new(what)
            .hint("free space there, use smaller disks, or set ASSAY_LAB_CACHE to another folder"))
    }
}

/// Bytes of files on the file system of `share` that QEMU keeps open although they have no name any more: no walk
/// finds them. The drop of free space would not tell them from what others write there.
fn removed_bytes(qemu: u32, share: &Path) -> u64 {
    let Ok(share) = fs::metadata(share) else { return 0 };
    let (root, folder) = (Root::real(), PathBuf::from(format!("/proc/{qemu}/fd")));
    let mut counted = BTreeSet::new();
    // One that has ended keeps nothing open.
    let open = root.list(&folder).unwrap_or_default();
    open.iter()
        .filter_map(|descriptor| fs::metadata(root.resolve(folder.join(descriptor))).ok())
        .filter(|file| file.nlink() == 0 && file.dev() == share.dev())
        .filter(|file| counted.insert(file.ino()))
        .map(|file| file.blocks().saturating_mul(BLOCK))
        .sum()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::cache::Cache;

    #[test]
    fn a_guest_that_writes_too_much_is_an_error_with_a_remedy() {
        let place = tempfile::tempdir().unwrap();
        let shared = SharedDir::create(&Cache::at(place.path())).unwrap();
        let few = Budget { bytes: 1 << 20, names: 3 };
        let check = |reserve| {
            let mut space = DiskSpace { results: few, reserve, ..DiskSpace::new() };
            space.check(&shared, 0).map_err(|error| error.to_string())
        };
        assert_eq!(check(0), Ok(()));
        let error = check(u64::MAX).unwrap_err();
        assert!(error.contains("MiB are free") && error.contains("ASSAY_LAB_CACHE"), "{error}");
        fs::write(shared.share().join("1"), vec![1; 2 << 20]).unwrap();
        let error = check(0).unwrap_err();
        assert!(error.contains("share/1") && error.contains("more than 1 MiB"), "{error}");
        assert!(error.contains("/run/assay/lab"), "{error}");
        for name in 1..=4 {
            fs::write(shared.share().join(name.to_string()), "").unwrap();
        }
        assert!(check(0).unwrap_err().contains("more than 3 names"));
        fs::remove_file(shared.share().join("4")).unwrap();
        assert_eq!(check(0), Ok(()));
        fs::File::create(shared.console()).unwrap().set_len(CONSOLE + 1).unwrap();
        assert!(check(0).unwrap_err().contains("console"));
    }

    #[test]
    fn the_folder_is_walked_through_at_intervals() {
        let place = tempfile::tempdir().unwrap();
        let shared = SharedDir::create(&Cache::at(place.path())).unwrap();
        let none = Budget { bytes: 0, names: 0 };
        let mut space = DiskSpace { reserve: 0, ..DiskSpace::new() };
        space.check(&shared, 0).unwrap();
        fs::write(shared.share().join("file"), "text").unwrap();
        space.results = none;
        space.check(&shared, 0).unwrap();
        space.next_walk = Instant::now();
        assert!(space.check(&shared, 0).is_err());
    }

    #[test]
    fn files_that_are_removed_but_open_are_counted() {
        let place = tempfile::tempdir().unwrap();
        let shared = SharedDir::create(&Cache::at(place.path())).unwrap();
        let path = shared.share().join("file");
        fs::write(&path, vec![1; 8 << 20]).unwrap();
        let open = fs::File::open(&path).unwrap();
        let twice = open.try_clone().unwrap();
        let check = |mib: u64| {
            let results = Budget { bytes: mib << 20, names: 10 };
            let mut space = DiskSpace { results, reserve: 0, ..DiskSpace::new() };
            space.check(&shared, std::process::id()).map_err(|error| error.to_string())
        };
        assert_eq!(check(12), Ok(()));
        fs::remove_file(&path).unwrap();
        assert_eq!(check(12), Ok(()), "each file counts once");
        let error = check(4).unwrap_err();
        assert!(error.contains("still open, hold more than 4 MiB"), "{error}");
        drop((open, twice));
        assert_eq!(check(4), Ok(()));
    }
}
