//! The run folder on disk.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use assay_files::{Caller, Dir, Trust, check};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::Error;
use crate::limit;
use crate::manifest::Manifest;
use crate::schema;

/// A run folder that is being written or read. What is written goes into the directory that was
/// opened first, whatever its name stands for meanwhile.
#[derive(Debug, Clone)]
pub struct RunFolder {
    path: PathBuf,
    dir: Arc<Dir>,
}

/// The document without which a folder is no run.
const MANIFEST: &str = "manifest.json";

impl RunFolder {
    /// Makes a new run folder. An existing folder is taken only when it is empty: a run never
    /// overwrites another. A folder that others may change is refused unless they are trusted:
    /// what root starts and writes in there would be theirs to exchange. Under sudo it belongs to
    /// the user who called.
    pub fn create(path: &Path, trust: Trust) -> Result<Self, Error> {
        let io = |cause: &std::io::Error| Error::io("create", path, cause);
        let caller = Caller::of_sudo();
        let whole = check(path, caller, trust)?;
        let dir = Dir::make_all_owned(&whole, caller.map(|caller| (caller.uid, caller.gid)))?;
        // Somebody may have been quicker where everybody may make folders.
        check(&whole, caller, trust)?;
        if fs::read_dir(path).map_err(|cause| io(&cause))?.next().is_some() {
            return Err(Error::new("create", path, &"the folder is not empty")
                .with_hint("choose a new folder with --out; a run never overwrites another"));
        }
        let folder = Self { path: whole, dir: Arc::new(dir) };
        for part in ["samples", "logs"] {
            folder.make_dir(Path::new(part))?;
        }
        Ok(folder)
    }

    /// Opens an existing run folder.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let no_run = || {
            Error::new("open", path, &"it holds no manifest.json")
                .with_hint("name the folder of a run, such as runs/<time>-<study>")
        };
        // Of the directory that is open from here on, so that nobody can exchange it afterwards.
        let dir = Dir::open(path).ok().filter(|dir| dir.has_file(MANIFEST)).ok_or_else(no_run)?;
        Ok(Self { path: path.to_owned(), dir: Arc::new(dir) })
    }

    /// Its place.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The place of a file in it.
    pub fn file(&self, name: impl AsRef<Path>) -> PathBuf {
        self.path.join(name)
    }

    /// The directory itself, through which everything in it is made.
    #[must_use]
    pub fn dir(&self) -> &Dir {
        &self.dir
    }

    /// Makes a folder in it, with those above.
    pub fn make_dir(&self, name: &Path) -> Result<PathBuf, Error> {
        self.dir.make_dir(name)?;
        Ok(self.file(name))
    }

    /// Whether it has a regular file of this name.
    pub fn has(&self, name: impl AsRef<Path>) -> bool {
        self.dir.has_file(name)
    }

    /// What is in a document. All of a run folder is read from the descriptor of the folder: a
    /// regular file, no link, nothing that is waited for, and not more than any run has.
    pub fn text(&self, name: impl AsRef<Path>) -> Result<String, Error> {
        Ok(self.dir.text(name, limit::document())?)
    }

    /// The folder of the samples of a repeat, by the name that the manifest gives it; `None` where
    /// there is none.
    pub fn samples(&self, name: &str) -> Result<Option<Dir>, Error> {
        // A name that leads elsewhere is refused before anybody looks there.
        schema::check_samples(name, &self.file(MANIFEST))?;
        match self.dir.dir(Path::new("samples").join(name)) {
            Err(error) if error.is_missing() => Ok(None),
            found => Ok(found.map(Some)?),
        }
    }

    /// Replaces `manifest.json`.
    pub fn write_manifest(&self, manifest: &Manifest) -> Result<(), Error> {
        self.write_json(MANIFEST, manifest)
    }

    /// Reads `manifest.json`.
    pub fn read_manifest(&self) -> Result<Manifest, Error> {
        schema::parse(&self.text(MANIFEST)?, &self.file(MANIFEST))
    }

    /// Replaces a JSON document.
    pub fn write_json(&self, name: &str, document: &impl Serialize) -> Result<(), Error> {
        let path = self.file(name);
        let mut text = serde_json::to_string_pretty(document)
            .map_err(|cause| Error::new("write", &path, &cause))?;
        text.push('\n');
        self.write_text(name, &text)
    }

    /// Reads a JSON document.
    pub fn read_json<T: DeserializeOwned>(&self, name: &str) -> Result<T, Error> {
        let text = self.text(name)?;
        serde_json::from_str(&text).map_err(|cause| Error::new("read", &self.file(name), &cause))
    }

    /// Replaces a file whole: readers see the old text or the new one, never a part, and after a
    /// crash one of the two is there.
    pub fn write_text(&self, name: &str, text: &str) -> Result<(), Error> {
        Ok(self.dir.replace(name, text.as_bytes())?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_never_overwrites_another() {
        let place = tempfile::tempdir().unwrap();
        let folder = RunFolder::create(&place.path().join("run"), Trust::Checked).unwrap();
        folder.write_text("note", "kept").unwrap();
        let error = RunFolder::create(folder.path(), Trust::Checked).unwrap_err();
        assert!(error.to_string().contains("--out"), "{error}");
        assert_eq!(fs::read_to_string(folder.file("note")).unwrap(), "kept");
    }

    #[test]
    fn a_folder_without_a_manifest_is_no_run() {
        let place = tempfile::tempdir().unwrap();
        assert!(RunFolder::open(place.path()).is_err());
    }

    #[test]
    fn replacing_leaves_no_draft_behind() {
        let place = tempfile::tempdir().unwrap();
        let folder = RunFolder::create(&place.path().join("run"), Trust::Checked).unwrap();
        folder.write_text("note", "one").unwrap();
        folder.write_text("note", "two").unwrap();
        assert_eq!(fs::read_to_string(folder.file("note")).unwrap(), "two");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3, "note, samples, logs");
    }
}
