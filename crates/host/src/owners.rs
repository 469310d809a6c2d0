//! Who the groups of this host belong to: what their paths say, who may have given these names, and the names in the files
//! of runtimes.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

use crate::facts::owner::{Claimant, Delegated, Owner, claimant, owner_in};
use assay_sys::kernel::{Access, Root};
use serde_json::Value;

use crate::container_name::Names;

/// The owners of groups, each file and directory looked at once.
pub struct Owners<'r> {
    root: &'r Root,
    names: Names<'r>,
    /// Of each mount: where on the way to a directory, itself included, others than root may make groups.
    known: RefCell<HashMap<PathBuf, Known>>,
}

/// A mount. A path may have thousands of levels, so that none is looked at for each group below it again.
struct Known {
    /// Who may write to its top.
    top: Option<Access>,
    /// By the path of a directory without slashes around it.
    directories: HashMap<String, Option<Delegated>>,
}

impl<'r> Owners<'r> {
    /// Those of a host.
    #[must_use]
    pub fn new(root: &'r Root) -> Self {
        Self { root, names: Names::new(root), known: RefCell::default() }
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

    /// What the runtime of a container was asked for: the file of its OCI bundle (`config.json`), and its content.
    #[must_use]
    pub fn bundle(&self, container: &str) -> Option<(String, Value)> {
        self.names.bundle_of(container)
    }

    /// Files of names that are there and were not read, with the reason.
    #[must_use]
    pub fn left_out(&self) -> Vec<String> {
        self.names.left_out()
    }

    /// Who names the groups in the directory of a group, if not root: of one directory nobody else names one.
    #[must_use]
    pub fn claimant_below(&self, mount: &Path, path: &str) -> Option<Claimant> {
        let below = format!("{}/-", path.trim_end_matches('/'));
        claimant(&below, self.delegated(mount, &below))
    }

    /// Which levels of a path another than root may have named: a user who may write to a directory makes groups in it. Of what is
    /// below a directory that cannot be looked at, and may have been removed meanwhile, nobody knows who named it.
    #[must_use]
    pub fn delegated(&self, mount: &Path, path: &str) -> Option<Delegated> {
        let (directory, _) = path.trim_matches('/').rsplit_once('/').unwrap_or_default();
        let mut known = self.known.borrow_mut();
        let Known { top, directories: known } =
            known.entry(mount.to_owned()).or_insert_with(|| Known {
                top: self.root.access(mount).ok(),
                directories: HashMap::new(),
            });
        let (mut unknown, mut at) = (Vec::new(), Some(directory));
        let mut found = None;
        while let Some(directory) = at {
            if let Some(one) = known.get(directory) {
                found.clone_from(one);
                break;
            }
            unknown.push(directory);
            at = (!directory.is_empty()).then(|| directory.rsplit_once('/').unwrap_or_default().0);
        }
        for directory in unknown.into_iter().rev() {
            found = found.or_else(|| self.delegated_at(*top, mount, directory));
            known.insert(directory.to_owned(), found.clone());
        }
        found
    }

    /// The same of the groups in one directory, whatever is above but the top of the mount.
    fn delegated_at(
        &self,
        top: Option<Access>,
        mount: &Path,
        directory: &str,
    ) -> Option<Delegated> {
        #[cfg(test)]
        tests::LOOKED.set(tests::LOOKED.get() + 1);
        let by = match (top, self.root.access(mount.join(directory)).ok()) {
            (Some(top), Some(access)) => other_than(top.uid, access)?,
            _ => Claimant::Unknown,
        };
        let levels = directory.split('/').filter(|part| !part.is_empty()).count();
        Some(Delegated { levels, by })
    }
}

/// Who may write to a directory other than root and the owner of the top, who is root on a host, and in a container nobody that
/// it knows. The group with the number of the owner is that user's own.
fn other_than(top: u32, access: Access) -> Option<Claimant> {
    let Access { uid, gid, mode } = access;
    let has_group = mode & 0o020 != 0 && gid != 0 && gid != uid;
    if uid != top && uid != 0 {
        Some(Claimant::Uid(uid))
    } else if mode & 0o002 != 0 {
        Some(Claimant::Everyone)
    } else {
        has_group.then_some(Claimant::Gid(gid))
    }
}

impl std::fmt::Debug for Owners<'_> {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.debug_struct("Owners").field("root", self.root).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt, chown};

    use tempfile::TempDir;

    use super::*;

    thread_local! {
        /// How many directories were looked at.
        pub(super) static LOOKED: Cell<usize> = const { Cell::new(0) };
    }

    const GROUP: &str =
        "batch/docker-1a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d5e6f708192a3b4c5d6e7f809.scope";

    fn host() -> TempDir {
        let top = tempfile::tempdir().unwrap();
        fs::create_dir_all(top.path().join("cg").join(GROUP)).unwrap();
        for directory in ["cg", "cg/batch", &format!("cg/{GROUP}")] {
            set_mode(&top, directory, 0o755);
        }
        top
    }

    fn set_mode(top: &TempDir, directory: &str, mode: u32) {
        fs::set_permissions(top.path().join(directory), Permissions::from_mode(mode)).unwrap();
    }

    fn words_for(top: &TempDir) -> String {
        let root = Root::at(top.path());
        let owners = Owners::new(&root);
        owners.owner(Path::new("/cg"), &format!("/{GROUP}")).unwrap().to_string()
    }

    #[test]
    fn below_a_directory_that_others_may_write_names_are_claims() {
        const OWN: &str = "container docker 1a2b3c4d5e6f";
        let top = host();
        let words = || words_for(&top);
        // A runtime may let others into the container's own group.
        set_mode(&top, &format!("cg/{GROUP}"), 0o777);
        assert_eq!(words(), OWN);
        for directory in ["cg/batch", "cg"] {
            set_mode(&top, directory, 0o757);
            assert_eq!(words(), format!("{OWN}, claimed by everyone"), "{directory}");
            set_mode(&top, directory, 0o755);
        }
        if chown(top.path().join("cg/batch"), None, Some(4711)).is_err() {
            return assay_test_support::skip("groups that a group of users may write", "not root");
        }
        assert_eq!(words(), OWN, "the group may not write");
        set_mode(&top, "cg/batch", 0o775);
        assert_eq!(words(), format!("{OWN}, claimed by gid 4711"));
        // Root's own group, as with a umask of 002.
        chown(top.path().join("cg/batch"), None, Some(0)).unwrap();
        assert_eq!(words(), OWN);
    }

    #[test]
    fn below_a_directory_that_was_removed_names_are_claims_of_someone_unknown() {
        let top = host();
        let root = Root::at(top.path());
        let owner = |path: &str| {
            let path = path.replace("GROUP", GROUP);
            Owners::new(&root).owner(Path::new("/cg"), &path).unwrap().to_string()
        };
        let own = "container docker 1a2b3c4d5e6f";
        fs::remove_dir(top.path().join("cg").join(GROUP)).unwrap();
        assert_eq!(owner("/GROUP"), own, "who may make groups beside it is known");
        assert_eq!(owner("/GROUP/init.scope"), own);
        fs::remove_dir(top.path().join("cg/batch")).unwrap();
        let claimed = format!("{own}, claimed by someone unknown");
        assert_eq!(owner("/GROUP"), claimed);
        fs::remove_dir(top.path().join("cg")).unwrap();
        assert_eq!(owner("/GROUP"), claimed);
    }

    #[test]
    fn however_deep_groups_are_each_directory_is_looked_at_once() {
        let top = tempfile::tempdir().unwrap();
        let levels = 500;
        fs::create_dir_all(top.path().join("cg").join("d/".repeat(levels))).unwrap();
        let root = Root::at(top.path());
        let owners = Owners::new(&root);
        let before = LOOKED.get();
        for level in 0..=levels {
            let path = format!("/{}", vec!["d"; level].join("/"));
            assert_eq!(owners.delegated(Path::new("/cg"), &path), None, "{level}");
        }
        assert_eq!(LOOKED.get() - before, levels);
        // A path is taken apart alike if none of it is known.
        assert_eq!(Owners::new(&root).delegated(Path::new("/cg"), &"/d".repeat(levels)), None);
        assert_eq!(LOOKED.get() - before, 2 * levels);
    }

    #[test]
    fn what_root_of_a_container_owns_is_no_claim_where_the_top_is_of_nobody_it_knows() {
        let by = |uid| other_than(65534, Access { uid, gid: 0, mode: 0o755 });
        assert_eq!([by(0), by(65534), by(7)], [None, None, Some(Claimant::Uid(7))]);
    }

    #[test]
    fn below_a_directory_of_a_user_names_are_claims() {
        let (top, group) = (host(), GROUP);
        let words = || words_for(&top);
        assert_eq!(words(), "container docker 1a2b3c4d5e6f");
        if chown(top.path().join("cg").join(group), Some(4711), None).is_err() {
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
