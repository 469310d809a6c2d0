//! Where the lab keeps kernels, and the files of guests while they run.

use std::fs::File;
use std::path::{Path, PathBuf};

use assay_files::Dir;
use assay_kernel::filesystem;

use crate::error::Error;

/// A folder of the lab's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cache(PathBuf);

/// Names that QEMU's and virtme-run's options take apart at other characters.
const PLAIN: &str = "_+-./";

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

    /// Its folder, which need not exist yet.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Makes a folder in it, with those above, and says where it is.
    pub(crate) fn folder(&self, name: &str) -> Result<PathBuf, Error> {
        let path = self.0.join(name);
        Dir::make_all(&path).map_err(|error| {
            Error::new(format!("cannot make {}: {error}", path.display()))
                .hint("name a folder that can be made with ASSAY_LAB_CACHE")
        })?;
        let path = path.canonicalize().map_err(|cause| Error::file("find", &path, &cause))?;
        if is_plain(&path) {
            return Ok(path);
        }
        Err(Error::new(format!("QEMU cannot be told of a folder named {}", path.display()))
            .hint("choose letters, digits and `_+-.` for ASSAY_LAB_CACHE"))
    }

    /// Waits until no other lab works on the cache's kernels, and keeps them out meanwhile.
    pub(crate) fn lock(&self) -> Result<File, Error> {
        let kernels = self.folder("kernels")?;
        let (file, path) = (Dir::open(&kernels)?.append("lock")?, kernels.join("lock"));
        filesystem::lock(&file, &path)?;
        Ok(file)
    }
}

/// Whether a path can stand in an option of QEMU or virtme-run.
pub(crate) fn is_plain(path: &Path) -> bool {
    path.to_str()
        .is_some_and(|text| text.chars().all(|c| c.is_ascii_alphanumeric() || PLAIN.contains(c)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cache_that_qemu_cannot_be_told_of_is_refused_with_the_remedy() {
        let place = tempfile::tempdir().unwrap();
        assert!(Cache::at(&place.path().join("fine-1")).folder("kernels").unwrap().is_dir());
        let error = Cache::at(&place.path().join("a,b")).folder("kernels").unwrap_err();
        assert!(error.to_string().contains("ASSAY_LAB_CACHE"), "{error}");
    }

    #[test]
    fn a_cache_that_cannot_be_made_is_refused_with_the_remedy() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let error = Cache::at(file.path()).folder("kernels").unwrap_err();
        assert!(error.what.contains("cannot make"), "{error}");
    }
}
