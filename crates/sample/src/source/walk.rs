//! Reads counters of many groups at once with an eBPF iterator if the kernel allows it; otherwise there is a
//! reason, and each group's files are read.
//!
//! The iterator is verified against the files before it is used: its values must lie between those of the
//! files before and after.

use std::path::{Path, PathBuf};

use assay_bpf::group_iterator::{Counters, GroupIterator, id};
use assay_kernel::Root;

/// With fewer groups reading their files is cheaper than starting a walk.
pub(super) const MIN_GROUPS: usize = 16;

/// An iterator over the groups of the targets.
pub(super) struct Walk {
    iterator: GroupIterator,
    count: usize,
}

impl Walk {
    /// A walk over the groups of these directories, one per target, in order.
    pub(super) fn open(
        root: &Root,
        directories: &[PathBuf],
        counters: Counters,
    ) -> Result<Self, String> {
        if !root.is_real() {
            return Err("a fake tree has no kernel behind it".to_owned());
        }
        let message = |error: assay_kernel::Error| error.to_string().replace('\n', ";");
        let top = common(directories).ok_or("the groups have no directory in common")?;
        let ids: Result<Vec<u64>, _> =
            directories.iter().map(|directory| id(root, directory)).collect();
        let ids = ids.map_err(message)?;
        let iterator = GroupIterator::open(root, &top, counters, &ids).map_err(message)?;
        Ok(Self { iterator, count: ids.len() })
    }

    /// Passes the values of each existing target group to `each`, with its index.
    pub(super) fn read(&mut self, mut each: impl FnMut(usize, &[u64])) -> Result<(), String> {
        let groups = self.iterator.read().map_err(|error| error.to_string().replace('\n', ";"))?;
        for (index, numbers) in groups.enumerate() {
            if let Some(numbers) = numbers {
                each(index, numbers);
            }
        }
        Ok(())
    }

    /// Verifies the `number`th value of all groups against `file`, which is read before and after. A value
    /// that changes in between is accepted if it lies between the two.
    pub(super) fn verify(
        &mut self,
        number: usize,
        mut file: impl FnMut(usize) -> Option<u64>,
    ) -> Result<(), String> {
        let count = self.count;
        let before: Vec<Option<u64>> = (0..count).map(&mut file).collect();
        let mut walked = vec![None; count];
        self.read(|index, numbers| walked[index] = numbers.get(number).copied())?;
        for (index, (before, walked)) in before.into_iter().zip(walked).enumerate() {
            let (Some(before), Some(after)) = (before, file(index)) else { continue };
            let Some(walked) = walked else {
                return Err("the kernel's iterator returns too few groups".into());
            };
            if !(before.min(after)..=before.max(after)).contains(&walked) && before == after {
                return Err(format!("the kernel's iterator returns {walked}, the file {before}"));
            }
        }
        Ok(())
    }
}

/// The entry of `not_available` if there is no iterator, unless groups are few.
pub(super) fn reason(source: &str, why: Option<&Option<String>>) -> Vec<(String, String)> {
    let entry = |why: &String| {
        (
            format!("{source}.iterator"),
            format!("groups are read from their files, one by one: {why}"),
        )
    };
    why.and_then(Option::as_ref).map(entry).into_iter().collect()
}

/// The innermost directory that contains all of them.
fn common(directories: &[PathBuf]) -> Option<PathBuf> {
    let mut top = directories.first()?.as_path();
    for directory in directories {
        while !directory.starts_with(top) {
            top = top.parent()?;
        }
    }
    // A single group is its own top.
    (top != Path::new("/")).then(|| top.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_common_directory_is_the_innermost_and_never_the_root() {
        let common_of =
            |paths: &[&str]| common(&paths.iter().map(PathBuf::from).collect::<Vec<_>>());
        assert_eq!(common_of(&["/cg/a/b", "/cg/a/c", "/cg/ab"]), Some(PathBuf::from("/cg")));
        assert_eq!(common_of(&["/cg/a", "/cg/a/b"]), Some(PathBuf::from("/cg/a")));
        assert_eq!(common_of(&["/cg/a"]), Some(PathBuf::from("/cg/a")));
        assert_eq!((common_of(&["/x/a", "/y/b"]), common_of(&[])), (None, None));
    }
}
