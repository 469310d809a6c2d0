//! The run folder on disk.

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
    held: Arc<Held>,
}

/// The open directory, and whose it becomes when nobody works in it any more.
#[derive(Debug)]
struct Held {
    dir: Dir,
    then: Option<Caller>,
}

impl Drop for Held {
    /// Where this fails it stays root's, which harms nobody but its reader.
    fn drop(&mut self) {
        if let Some(caller) = self.then {
            let _ = self.dir.hand_over_tree(caller);
        }
    }
}

/// The document without which a folder is no run.
const MANIFEST: &str = "manifest.json";

impl RunFolder {
    /// Makes a new run folder. An existing folder is taken only when it is empty: a run never
    /// overwrites another. A folder that others may change is refused unless they are trusted:
    /// what root starts and writes in there would be theirs to exchange. Under sudo it is root's
    /// until the last copy of this value goes, and then belongs to the user who called.
    pub fn create(path: &Path, trust: Trust) -> Result<Self, Error> {
        let checked = check(path, Caller::of_sudo(), trust)?;
        // What is made in a folder of root's stays root's: a folder that root's programs read is none
        // that the caller could have made.
        let then = Caller::of_sudo().filter(|caller| checked.is_below(*caller));
        let dir = checked.make()?;
        let refuse_content = || match dir.is_empty()? {
            true => Ok(()),
            false => Err(Error::new("create", path, &"the folder is not empty")
                .with_hint("choose a new folder with --out; a run never overwrites another")),
        };
        refuse_content()?;
        if then.is_some() {
            dir.take_over()?;
            // From here on nobody but root puts anything into it.
            refuse_content()?;
        }
        let held = Held { dir, then };
        let folder = Self { path: held.dir.path().to_owned(), held: Arc::new(held) };
        for part in ["samples", "logs"] {
            folder.make_dir(Path::new(part))?;
        }
        Ok(folder)
    }

    /// Opens an existing run folder.
    pub fn open(path: &Path) -> Result<Self, Error> {
        // Of the directory that is open from here on, so that nobody can exchange it afterwards.
        Self::over(Dir::open(path).map_err(|_| no_run(path))?)
    }

    /// A run in a directory that is open.
    pub fn over(dir: Dir) -> Result<Self, Error> {
        if !dir.has_file(MANIFEST) {
            return Err(no_run(dir.path()));
        }
        let path = dir.path().to_owned();
        Ok(Self { path, held: Arc::new(Held { dir, then: None }) })
    }

    /// By which path something in this folder is written or read while the run lasts: whoever may
    /// rename the folder meanwhile does not change what that stands for.
    #[must_use]
    pub fn steady(&self, dir: &Dir) -> PathBuf {
        match self.held.then {
            Some(_) => dir.here(),
            None => dir.path().to_owned(),
        }
    }

    /// Whose the folder becomes when the run is over, where that is not who runs it.
    #[must_use]
    pub fn heir(&self) -> Option<Caller> {
        self.held.then
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
        &self.held.dir
    }

    /// Makes a folder in it, with those above.
    pub fn make_dir(&self, name: &Path) -> Result<PathBuf, Error> {
        self.held.dir.make_dir(name)?;
        Ok(self.file(name))
    }

    /// Whether it has a regular file of this name.
    pub fn has(&self, name: impl AsRef<Path>) -> bool {
        self.held.dir.has_file(name)
    }

    /// What is in a document. All of a run folder is read from the descriptor of the folder: a
    /// regular file, no link, nothing that is waited for, and not more than any run has.
    pub fn text(&self, name: impl AsRef<Path>) -> Result<String, Error> {
        Ok(self.held.dir.text(name, limit::document())?)
    }

    /// The folder of the samples of a repeat, by the name that the manifest gives it; `None` where
    /// there is none.
    pub fn samples(&self, name: &str) -> Result<Option<Dir>, Error> {
        // A name that leads elsewhere is refused before anybody looks there.
        schema::check_samples(name, &self.file(MANIFEST))?;
        match self.held.dir.dir(Path::new("samples").join(name)) {
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
        Ok(self.held.dir.replace(name, text.as_bytes())?)
    }
}

fn no_run(path: &Path) -> Error {
    Error::new("open", path, &"it holds no manifest.json")
        .with_hint("name the folder of a run, such as runs/<time>-<study>")
}

#[cfg(test)]
mod tests {
    use std::fs;

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
