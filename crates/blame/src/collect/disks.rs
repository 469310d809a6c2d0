//! The disks of a group that is watched: what its requests waited for, beside what its threads did.

use std::path::Path;

use assay_host::facts::{Available, HostFacts};
use assay_sys::kernel::Root;

use super::Watched;
use super::dirty::Dirty;
use crate::watch::requests::{IoHierarchy, RequestWatch, WatchedDisk, disks_in_use};
use crate::{DISKS, DiskAnswer, ROOT_GROUP, TAGS};

/// Disks on which the group has done nothing so far are followed, the busiest first, up to this number in all.
const MOST: usize = 4;

/// Bytes of a group's counters by disk.
const MAX_COUNTERS: u64 = 1 << 20;

/// The disks of a group, as they are watched.
pub(super) struct DiskWatch {
    root: Root,
    requests: RequestWatch,
    /// All disks at the start, with the names of those that are followed.
    before: Vec<WatchedDisk>,
    followed: Vec<String>,
    /// On cgroup v1.
    dirty: Option<Dirty>,
}

/// From now on the requests of the target's group count; the reason if that is not possible.
pub(super) fn start(root: &Root, facts: &HostFacts, target: &Watched) -> Result<DiskWatch, String> {
    let Watched::Group(path) = target else {
        return Err("requests are told apart by group, not by process".to_owned());
    };
    let hierarchy = IoHierarchy::new(&facts.cgroup).map_err(|error| error.to_string())?;
    let before = disks_in_use(root);
    let own = devices(root, &hierarchy.directory(&hierarchy.path(path)));
    let chosen = choose(before.clone(), |disk| own.contains(&(disk.major, disk.minor)));
    if chosen.is_empty() {
        return Err("no disk has had requests of its own".to_owned());
    }
    let followed = chosen.iter().map(|disk| disk.name.clone()).collect();
    let watch = RequestWatch::on_disks(root, &hierarchy, std::slice::from_ref(path), chosen);
    let mut requests = watch.map_err(|error| error.to_string())?;
    requests.start().map_err(|error| error.to_string())?;
    let dirty = (!hierarchy.is_v2()).then(|| Dirty::start(root, &facts.cgroup));
    Ok(DiskWatch { root: root.clone(), requests, before, followed, dirty })
}

/// Of the disks those that are followed: the group's own first, as far as the programs have room.
fn choose(mut disks: Vec<WatchedDisk>, is_own: impl Fn(&WatchedDisk) -> bool) -> Vec<WatchedDisk> {
    disks.sort_by_key(|disk| !is_own(disk));
    let (mut count, mut room) = (0, TAGS);
    disks.retain(|disk| {
        let most = if is_own(disk) { DISKS } else { MOST };
        let fits = count < most && disk.entries() <= room;
        if fits {
            count += 1;
            room -= disk.entries();
        }
        fits
    });
    disks
}

/// The numbers of the disks on which a group has had requests.
fn devices(root: &Root, group: &Path) -> Vec<(u32, u32)> {
    const FILES: [&str; 3] =
        ["io.stat", "blkio.throttle.io_service_bytes_recursive", "blkio.throttle.io_service_bytes"];
    let mut texts = FILES.iter().map(|file| root.read_at_most(group.join(file), MAX_COUNTERS));
    let text = texts.find_map(Result::ok).unwrap_or_default();
    let device = |line: &str| {
        let (major, minor) = line.split_whitespace().next()?.split_once(':')?;
        Some((major.parse().ok()?, minor.parse().ok()?))
    };
    text.lines().filter_map(device).collect()
}

impl DiskWatch {
    /// To be called now and then while it watches.
    pub(super) fn look(&mut self) {
        if let Some(dirty) = &mut self.dirty {
            dirty.look_again(&self.root);
        }
    }

    /// One answer for each disk that was followed, and others that were busy meanwhile.
    fn finish(mut self) -> Result<(Vec<DiskAnswer>, Vec<String>), String> {
        self.requests.stop().map_err(|error| error.to_string())?;
        let not_followed = self.not_followed();
        let mut answers = self.requests.finish().map_err(|error| error.to_string())?;
        if let Some(mut dirty) = self.dirty {
            dirty.look(&self.root);
            let dirtied = dirty.dirtied();
            let of_root = answers.iter_mut().filter(|answer| answer.group(ROOT_GROUP).is_some());
            of_root.for_each(|answer| answer.dirtied = Some(dirtied.clone()));
        }
        Ok((answers, not_followed))
    }

    /// Disks that were busy meanwhile and are none of those that were followed.
    fn not_followed(&self) -> Vec<String> {
        let is_other = |disk: &WatchedDisk| {
            let before = self.before.iter().find(|before| before.name == disk.name);
            !self.followed.contains(&disk.name)
                && before.is_none_or(|before| before.counted_ns != disk.counted_ns)
        };
        disks_in_use(&self.root).into_iter().filter(is_other).map(|disk| disk.name).collect()
    }
}

/// What it saw, and other disks that were busy meanwhile.
pub(super) fn finish(
    watch: Result<DiskWatch, String>,
) -> (Available<Vec<DiskAnswer>>, Vec<String>) {
    match watch.and_then(DiskWatch::finish) {
        Ok((disks, not_followed)) => (Available::Value(disks), not_followed),
        Err(reason) => (Available::NotAvailable(reason), Vec::new()),
    }
}

#[cfg(test)]
mod tests {
    use assay_test_support::put;

    use super::*;

    fn disk(minor: u32, nr_requests: u32, queues: u32) -> WatchedDisk {
        let name = format!("sd{minor}");
        WatchedDisk { name, major: 8, minor, nr_requests, queues, ..WatchedDisk::default() }
    }

    fn chosen(disks: Vec<WatchedDisk>, own: &[u32]) -> Vec<u32> {
        let chosen = choose(disks, |disk| own.contains(&disk.minor));
        chosen.iter().map(|disk| disk.minor).collect()
    }

    /// The busiest disks of a host of 24 need not be those of the group.
    #[test]
    fn disks_of_the_group_are_followed_before_busier_ones() {
        let many = || (0..24).map(|minor| disk(minor, 64, 1)).collect::<Vec<_>>();
        assert_eq!(chosen(many(), &[]), [0, 1, 2, 3]);
        assert_eq!(chosen(many(), &[20, 22]), [20, 22, 0, 1]);
        let ten: Vec<u32> = (10..20).collect();
        assert_eq!(chosen(many(), &ten), [10, 11, 12, 13, 14, 15, 16, 17]);
    }

    /// One that is too large for the programs would void the answers of all.
    #[test]
    fn a_disk_for_which_there_is_no_room_is_left_out_alone() {
        let disks = vec![disk(0, 64, 1), disk(1, 1023, 128), disk(2, 1023, 63), disk(3, 1023, 2)];
        assert_eq!(chosen(disks, &[1, 2]), [2, 0]);
    }

    #[test]
    fn the_disks_of_a_group_are_read_on_both_versions() {
        let top = tempfile::tempdir().unwrap();
        let root = Root::at(top.path());
        put(top.path(), "v2/io.stat", "8:16 rbytes=4096 wbytes=0\n253:0 rbytes=4096\n");
        put(top.path(), "v1/blkio.throttle.io_service_bytes", "8:0 Read 1\n8:0 Total 1\nTotal 1\n");
        assert_eq!(devices(&root, Path::new("/v2")), [(8, 16), (253, 0)]);
        assert_eq!(devices(&root, Path::new("/v1")), [(8, 0), (8, 0)]);
        assert!(devices(&root, Path::new("/none")).is_empty());
    }
}
