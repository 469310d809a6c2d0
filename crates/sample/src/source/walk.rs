//! Counters of many groups in one read, by an iterator of eBPF, where the kernel lets it; otherwise
//! the reason, and each group's files are read.
//!
//! The iterator is held against the files before it is believed: what they say before and after has
//! to agree with what it says between.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use assay_kernel::Root;
use assay_kernel::group_iterator::{Counters, GroupIterator, id};

/// With fewer groups reading their files costs less than to begin a walk.
pub(super) const FEW: usize = 16;

/// Groups below the same directory that are not ours and yet are walked over, at the most: so many
/// times ours, and these.
const OTHERS: usize = 3;
const AND: usize = 64;

/// An iterator over the groups of the targets.
pub(super) struct Walk {
    iterator: GroupIterator,
    /// Which of ours a group is, by its id.
    of: HashMap<u64, usize>,
    /// The ids of the last walk, in its order, and which of ours they were: the next has the same.
    order: Vec<(u64, Option<usize>)>,
}

impl Walk {
    /// Over the groups of these directories, one a target, in their order.
    pub(super) fn open(
        root: &Root,
        directories: &[PathBuf],
        counters: Counters,
    ) -> Result<Self, String> {
        if !root.is_real() {
            return Err("a fake tree has no kernel behind it".to_owned());
        }
        let say = |error: assay_kernel::Error| error.to_string().replace('\n', ";");
        let top = common(directories).ok_or("the groups have no directory in common")?;
        let mut of = HashMap::new();
        for (index, directory) in directories.iter().enumerate() {
            of.insert(id(root, directory).map_err(say)?, index);
        }
        let room = (directories.len() * (1 + OTHERS) + AND).next_power_of_two();
        let iterator = GroupIterator::open(root, &top, counters, room).map_err(say)?;
        Ok(Self { iterator, of, order: Vec::new() })
    }

    /// Hands on the numbers of each of our groups that is there, with its index.
    pub(super) fn read(&mut self, mut each: impl FnMut(usize, &[u64])) -> Result<(), String> {
        let Self { iterator, of, order } = self;
        let groups = iterator.read().map_err(|error| error.to_string().replace('\n', ";"))?;
        for (place, group) in groups.enumerate() {
            let index = match order.get(place) {
                Some((id, index)) if *id == group.id => *index,
                _ => {
                    let index = of.get(&group.id).copied();
                    order.truncate(place);
                    order.push((group.id, index));
                    index
                }
            };
            if let Some(index) = index {
                each(index, group.numbers);
            }
        }
        Ok(())
    }

    /// Whether the `number`th number of all groups is what `file` says it is, which is asked before
    /// and after. A number that moves between the two is believed if it lies between them.
    pub(super) fn prove(
        &mut self,
        number: usize,
        mut file: impl FnMut(usize) -> Option<u64>,
    ) -> Result<(), String> {
        let count = self.of.len();
        let before: Vec<Option<u64>> = (0..count).map(&mut file).collect();
        let mut found = vec![None; count];
        self.read(|index, numbers| found[index] = numbers.get(number).copied())?;
        for (index, (before, found)) in before.into_iter().zip(found).enumerate() {
            let (Some(before), Some(after)) = (before, file(index)) else { continue };
            let Some(found) = found else {
                return Err("the iterator of the kernel shows fewer groups than there are".into());
            };
            if !(before.min(after)..=before.max(after)).contains(&found) && before == after {
                return Err(format!(
                    "the iterator of the kernel says {found} where the file says {before}"
                ));
            }
        }
        Ok(())
    }
}

/// What to say where there is no iterator, and why, unless groups are few.
pub(super) fn reason(source: &str, why: Option<&Option<String>>) -> Vec<(String, String)> {
    let say = |why: &String| {
        (
            format!("{source}.iterator"),
            format!("groups are read from their files, one by one: {why}"),
        )
    };
    why.and_then(Option::as_ref).map(say).into_iter().collect()
}

/// The innermost directory that all lie in.
fn common(directories: &[PathBuf]) -> Option<PathBuf> {
    let mut top = directories.first()?.as_path();
    for directory in directories {
        while !directory.starts_with(top) {
            top = top.parent()?;
        }
    }
    // One group alone is its own top.
    (top != Path::new("/")).then(|| top.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_common_directory_is_the_innermost_and_never_the_root() {
        let of = |paths: &[&str]| common(&paths.iter().map(PathBuf::from).collect::<Vec<_>>());
        assert_eq!(of(&["/cg/a/b", "/cg/a/c", "/cg/ab"]), Some(PathBuf::from("/cg")));
        assert_eq!(of(&["/cg/a", "/cg/a/b"]), Some(PathBuf::from("/cg/a")));
        assert_eq!(of(&["/cg/a"]), Some(PathBuf::from("/cg/a")));
        assert_eq!((of(&["/x/a", "/y/b"]), of(&[])), (None, None));
    }
}
