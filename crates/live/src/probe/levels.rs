//! A limit at each level from a group up to the root of its hierarchy, and the room that is left below those.

use std::path::{Path, PathBuf};

use assay_sys::kernel::{Error, Root};

use crate::probe::limit::Limit;

/// What a group says.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Level {
    /// Its directory.
    pub(crate) group: PathBuf,
    /// The limit; `None` if it has none.
    pub(crate) amount: Option<f64>,
}

/// A group and those above it, without the root, which has no limits.
pub(crate) fn levels(
    root: &Root,
    mount: &Path,
    group: &Path,
    limit: Limit,
    is_v2: bool,
) -> Result<Vec<Level>, Error> {
    let mut levels = Vec::new();
    for group in upwards(mount, group) {
        // On v2 a group whose parent does not enable the controller has no file; all above those that have it do.
        let has_file = limit.file(is_v2).is_some_and(|file| root.exists(group.join(file)));
        let amount = if has_file { limit.amount(root, group, is_v2)? } else { None };
        levels.push(Level { group: group.to_owned(), amount });
    }
    Ok(levels)
}

/// The tightest level, and of equal ones the lowest.
pub(crate) fn tightest(levels: &[Level]) -> Option<(usize, f64)> {
    let limited = levels.iter().enumerate().filter_map(|(at, level)| Some((at, level.amount?)));
    limited.min_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0)))
}

/// Of the limits above a group: which leaves least room for somebody beside it, and how much. `None` if none limits.
pub(crate) fn room_beside(
    root: &Root,
    mount: &Path,
    group: &Path,
    limit: Limit,
    is_v2: bool,
) -> Result<Option<(PathBuf, f64)>, Error> {
    let used = match (limit, is_v2) {
        (Limit::PidsMax, _) => "pids.current",
        (_, true) => "memory.current",
        (_, false) => "memory.usage_in_bytes",
    };
    let mut least: Option<(PathBuf, f64)> = None;
    for above in upwards(mount, group).skip(1) {
        // A group of v2 whose parent does not enable the controller has no limit of its own.
        if limit.file(is_v2).is_none_or(|file| !root.exists(above.join(file))) {
            continue;
        }
        let Some(amount) = limit.amount(root, above, is_v2)? else { continue };
        let used: f64 = root.read_trimmed(above.join(used))?.parse().unwrap_or(amount);
        let room = amount - used;
        if least.as_ref().is_none_or(|(_, known)| room < *known) {
            least = Some((above.to_owned(), room));
        }
    }
    Ok(least)
}

/// The directories from a group up to, and without, the mount.
pub(crate) fn upwards<'p>(mount: &'p Path, group: &'p Path) -> impl Iterator<Item = &'p Path> {
    group.ancestors().take_while(move |path| *path != mount && path.starts_with(mount))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn level(group: &str, amount: Option<f64>) -> Level {
        Level { group: group.into(), amount }
    }

    #[test]
    fn the_tightest_level_wins_and_of_equal_ones_the_group_itself() {
        let levels = [level("/a/b", Some(2.0)), level("/a", Some(1.0))];
        assert_eq!(tightest(&levels), Some((1, 1.0)));
        assert_eq!(tightest(&[level("/a/b", Some(2.0)), level("/a", Some(2.0))]), Some((0, 2.0)));
        assert_eq!(tightest(&[level("/a/b", None), level("/a", None)]), None);
    }

    #[test]
    fn room_is_counted_above_the_group_only() {
        let folder = tempfile::tempdir().unwrap();
        for (group, max, current) in [("m/a", "100", "90"), ("m/a/b", "50", "50")] {
            let group = folder.path().join(group);
            std::fs::create_dir_all(&group).unwrap();
            std::fs::write(group.join("memory.max"), max).unwrap();
            std::fs::write(group.join("memory.current"), current).unwrap();
        }
        let root = Root::at(folder.path());
        let room = |group: &str| {
            room_beside(&root, Path::new("/m"), Path::new(group), Limit::MemoryMax, true).unwrap()
        };
        assert_eq!(room("/m/a/b"), Some(("/m/a".into(), 10.0)));
        assert_eq!(room("/m/a"), None);
    }
}
