//! Limits on what a guest writes to the disk of the host: its shared folder, its console and its disks, which
//! are sparse files.

use std::time::{Duration, Instant};

use assay_files::Budget;
use assay_kernel::filesystem;

use crate::error::Error;
use crate::shared_dir::SharedDir;

/// Limit of what a guest may leave in its shared folder, and of the results copied from there. The results
/// of a run have some megabytes.
pub(crate) const RESULTS: Budget = Budget { bytes: 4 << 30, names: 100_000 };

/// Limit of its console. That of a boot has some 50 kB.
const CONSOLE: u64 = 16 << 20;

/// Space on the file system that is left to others. It is more than a guest writes between two checks.
pub(crate) const RESERVE: u64 = 512 << 20;

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

    /// An error with its remedy if the guest has written too much. Cheap enough for many calls a second.
    pub(crate) fn check(&mut self, shared: &SharedDir) -> Result<(), Error> {
        let free = filesystem::free_space(shared.folder())?;
        if free < self.reserve {
            let what = format!(
                "only {} MiB are free in {}, and the guest's disks and files may fill them",
                free >> 20,
                shared.folder().display()
            );
            return Err(Error::new(what).hint(
                "free space there, use smaller disks, or set ASSAY_LAB_CACHE to another folder",
            ));
        }
        if shared.console().metadata().is_ok_and(|console| console.len() > CONSOLE) {
            let what = format!("the guest wrote more than {} MiB to its console", CONSOLE >> 20);
            return Err(Error::new(what).hint("look for what repeats at its end"));
        }
        let now = Instant::now();
        if now < self.next_walk {
            return Ok(());
        }
        let usage = shared.check_usage(self.results);
        self.next_walk = Instant::now() + WALK.max(now.elapsed() * SHARE_OF_TIME);
        usage.map_err(|why| {
            Error::new(format!("the guest wrote too much to its shared folder: {why}"))
                .hint("write less to its /run/assay/lab, or less results")
        })
    }
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
            space.check(&shared).map_err(|error| error.to_string())
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
        space.check(&shared).unwrap();
        fs::write(shared.share().join("file"), "text").unwrap();
        space.results = none;
        space.check(&shared).unwrap();
        space.next_walk = Instant::now();
        assert!(space.check(&shared).is_err());
    }
}
