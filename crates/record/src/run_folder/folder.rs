//! The run folder on disk.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use assay_sys::files::{Caller, Dir, Trust, check};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::run_folder::error::{Error, with_remedy};
use crate::run_folder::json::parse_json;
use crate::run_folder::limit;
use crate::run_folder::manifest::Manifest;
use crate::run_folder::schema;

/// A run folder that is being written or read. All writes go to the directory opened first, even if its path
/// comes to name another one.
#[derive(Debug, Clone)]
pub struct RunFolder {
    path: PathBuf,
    held: Arc<Held>,
}

/// The open directory, and the user it is handed over to when the last copy is dropped.
#[derive(Debug)]
struct Held {
    dir: Dir,
    owner_after: Option<Caller>,
}

impl Drop for Held {
    /// If the handover fails, the folder stays owned by root.
    fn drop(&mut self) {
        if let Some(caller) = self.owner_after {
            let _ = self.dir.hand_over_tree(caller);
        }
    }
}

/// The file without which a folder is not a run folder.
const MANIFEST: &str = "manifest.json";

impl RunFolder {
    /// Creates a new run folder. An existing folder is accepted only if empty: a run never overwrites
    /// another. A folder that other users may change is refused unless they are trusted: they could replace
    /// what root starts and writes there. Under sudo the folder belongs to root until the last copy of this
    /// value is dropped, then to the calling user.
    pub fn create(path: &Path, trust: Trust) -> Result<Self, Error> {
        Self::made(path, trust).map_err(with_remedy)
    }

    fn made(path: &Path, trust: Trust) -> Result<Self, Error> {
        let checked = check(path, Caller::from_sudo(), trust)?;
        // Anything created in a folder owned by root stays owned by root: a folder that root's programs read
        // must not become one that the caller controls.
        let owner_after = Caller::from_sudo().filter(|caller| checked.is_below(*caller));
        let dir = checked.make()?;
        let refuse_content = || match dir.is_empty()? {
            true => Ok(()),
            false => Err(Error::refused("create", path, "the folder is not empty")
                .with_hint("choose a new folder with --out; a run never overwrites another")),
        };
        refuse_content()?;
        if owner_after.is_some() {
            dir.take_over()?;
            // From here on only root can add entries.
            refuse_content()?;
        }
        let held = Held { dir, owner_after };
        let folder = Self { path: held.dir.path().to_owned(), held: Arc::new(held) };
        for part in ["samples", "logs"] {
            folder.make_dir(Path::new(part))?;
        }
        Ok(folder)
    }

    /// Opens an existing run folder.
    pub fn open(path: &Path) -> Result<Self, Error> {
        // Checks use the descriptor opened here, so that the folder cannot be exchanged between check and
        // use.
        Self::from_dir(Dir::open(path).map_err(|error| cannot_open(path, error))?)
    }

    /// The run folder of an open directory.
    pub fn from_dir(dir: Dir) -> Result<Self, Error> {
        if !dir.has_file(MANIFEST) {
            return Err(not_a_run_folder(dir.path()));
        }
        let path = dir.path().to_owned();
        Ok(Self { path, held: Arc::new(Held { dir, owner_after: None }) })
    }

    /// Path for reading or writing `dir` within this folder while the run lasts; renaming the folder
    /// meanwhile does not change what it refers to.
    #[must_use]
    pub fn stable_path(&self, dir: &Dir) -> PathBuf {
        match self.held.owner_after {
            Some(_) => dir.proc_path(),
            None => dir.path().to_owned(),
        }
    }

    /// The user who will own the folder when the run is over, if it is not the one running it.
    #[must_use]
    pub fn future_owner(&self) -> Option<Caller> {
        self.held.owner_after
    }

    /// Its path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The path of a file in it.
    pub fn file(&self, name: impl AsRef<Path>) -> PathBuf {
        self.path.join(name)
    }

    /// The directory itself; everything in it is created through this descriptor.
    #[must_use]
    pub fn dir(&self) -> &Dir {
        &self.held.dir
    }

    /// Creates a folder in it, with its parents.
    pub fn make_dir(&self, name: &Path) -> Result<PathBuf, Error> {
        self.held.dir.make_dir(name).map_err(with_remedy)?;
        Ok(self.file(name))
    }

    /// Whether it has a regular file of this name.
    pub fn has(&self, name: impl AsRef<Path>) -> bool {
        self.held.dir.has_file(name)
    }

    /// The text of a document. All reads go through the folder's descriptor and accept only regular files,
    /// never links or files that block, up to the size limit of a document.
    pub fn text(&self, name: impl AsRef<Path>) -> Result<String, Error> {
        self.held.dir.text(name, limit::document())
    }

    /// The samples folder of a repeat, by its name in the manifest; `None` if it does not exist.
    pub fn samples(&self, name: &str) -> Result<Option<Dir>, Error> {
        // Names that lead out of the run folder are refused before anything is opened.
        schema::check_samples(name, &self.file(MANIFEST))?;
        match self.held.dir.dir(Path::new("samples").join(name)) {
            Err(error) if error.is_missing() => Ok(None),
            dir => dir.map(Some),
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
            .map_err(|cause| Error::refused("write", &path, &cause))?;
        text.push('\n');
        self.write_text(name, &text)
    }

    /// Reads a JSON document.
    pub fn read_json<T: DeserializeOwned>(&self, name: &str) -> Result<T, Error> {
        let text = self.text(name)?;
        parse_json(&text).map_err(|cause| Error::refused("read", &self.file(name), &cause))
    }

    /// Replaces a whole file atomically: readers and a restart after a crash see the old text or the new one,
    /// never a mixture.
    pub fn write_text(&self, name: &str, text: &str) -> Result<(), Error> {
        self.held.dir.replace(name, text.as_bytes()).map_err(with_remedy)
    }
}

const NAME_A_RUN: &str = "name the folder of a run, such as runs/<time>-<study>";

fn cannot_open(path: &Path, error: Error) -> Error {
    let hint = match path.is_file() {
        true => "it is a file: name the folder of a run, which has it",
        false => NAME_A_RUN,
    };
    Error::new("open", path, error.cause).with_hint(hint)
}

fn not_a_run_folder(path: &Path) -> Error {
    Error::refused("open", path, "it holds no manifest.json").with_hint(NAME_A_RUN)
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
    fn a_folder_without_a_manifest_is_not_a_run_folder() {
        let place = tempfile::tempdir().unwrap();
        let says = |path: &Path| RunFolder::open(path).unwrap_err().to_string();
        assert!(says(place.path()).contains("holds no manifest.json"));
        let absent = says(&place.path().join("absent"));
        assert!(
            absent.contains("No such file") && absent.contains("runs/<time>-<study>"),
            "{absent}"
        );
        fs::write(place.path().join("verdict.json"), "{}").unwrap();
        let file = says(&place.path().join("verdict.json"));
        assert!(file.contains("Not a directory") && file.contains("it is a file"), "{file}");
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
