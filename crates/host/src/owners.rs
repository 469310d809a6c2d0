//! Who the groups of this host belong to: what their paths say, who may have given these names, and the names in the files
//! of runtimes.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

use assay_facts::owner::{Delegated, Owner, owner_in};
use assay_kernel::Root;

use crate::container_name::Names;

/// The owners of groups, each file and directory looked at once.
pub struct Owners<'r> {
    root: &'r Root,
    names: Names<'r>,
    /// Users who own directories.
    users: RefCell<HashMap<PathBuf, Option<u32>>>,
}

impl<'r> Owners<'r> {
    /// Those of a host.
    #[must_use]
    pub fn new(root: &'r Root) -> Self {
        Self { root, names: Names::new(root), users: RefCell::default() }
    }

    /// The owner of a group by its path below a mount, without names that are not in the path.
    #[must_use]
    pub fn owner(&self, mount: &Path, path: &str) -> Option<Owner> {
        owner_in(path, self.delegated(mount, path))
    }

    /// The same owner with the names found on this host. Whatever cannot be read leaves it as it is.
    #[must_use]
    pub fn named(&self, owner: Owner) -> Owner {
        self.names.name(owner)
    }

    /// Which levels of a path a user may have named: the owner of a directory makes the groups in it. A user is another one than
    /// owns the top, which is root on a host.
    #[must_use]
    pub fn delegated(&self, mount: &Path, path: &str) -> Option<Delegated> {
        let top = self.user(mount)?;
        let mut directory = mount.to_owned();
        for (levels, part) in path.split('/').filter(|part| !part.is_empty()).enumerate() {
            if let Some(uid) = self.user(&directory).filter(|uid| *uid != top) {
                return Some(Delegated { levels, uid });
            }
            directory.push(part);
        }
        None
    }

    fn user(&self, directory: &Path) -> Option<u32> {
        if let Some(known) = self.users.borrow().get(directory) {
            return *known;
        }
        let user = self.root.user(directory).ok();
        self.users.borrow_mut().insert(directory.to_owned(), user);
        user
    }
}

impl std::fmt::Debug for Owners<'_> {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.debug_struct("Owners").field("root", self.root).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::chown;

    use super::*;

    #[test]
    fn below_a_directory_of_a_user_names_are_claims() {
        let top = tempfile::tempdir().unwrap();
        let id = "1a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d5e6f708192a3b4c5d6e7f809";
        let group = format!("batch/docker-{id}.scope");
        fs::create_dir_all(top.path().join("cg").join(&group)).unwrap();
        let words = || {
            let root = Root::at(top.path());
            let owners = Owners::new(&root);
            owners.owner(Path::new("/cg"), &format!("/{group}")).unwrap().to_string()
        };
        assert_eq!(words(), "container docker 1a2b3c4d5e6f");
        if chown(top.path().join("cg").join(&group), Some(4711), None).is_err() {
            return assay_test_support::skip("owners of delegated groups", "not root");
        }
        // A runtime may give a container its own group.
        assert_eq!(words(), "container docker 1a2b3c4d5e6f");
        chown(top.path().join("cg/batch"), Some(4711), None).unwrap();
        assert_eq!(words(), "container docker 1a2b3c4d5e6f, claimed by uid 4711");
        // In a container of that user all of it is its own.
        chown(top.path().join("cg"), Some(4711), None).unwrap();
        assert_eq!(words(), "container docker 1a2b3c4d5e6f");
    }
}
