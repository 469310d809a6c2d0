//! The run folder on disk.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::Error;
use crate::manifest::Manifest;
use crate::schema;

/// A run folder that is being written or read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunFolder(PathBuf);

impl RunFolder {
    /// Makes a new run folder. An existing folder is taken only when it is empty: a run never
    /// overwrites another.
    pub fn create(path: &Path) -> Result<Self, Error> {
        let io = |cause: &std::io::Error| Error::io("create", path, cause);
        fs::create_dir_all(path).map_err(|cause| io(&cause))?;
        if fs::read_dir(path).map_err(|cause| io(&cause))?.next().is_some() {
            return Err(Error::new("create", path, &"the folder is not empty")
                .with_hint("choose a new folder with --out; a run never overwrites another"));
        }
        let folder = Self(fs::canonicalize(path).map_err(|cause| io(&cause))?);
        for part in ["samples", "logs"] {
            folder.make_dir(Path::new(part))?;
        }
        Ok(folder)
    }

    /// Opens an existing run folder.
    pub fn open(path: &Path) -> Result<Self, Error> {
        if !path.join("manifest.json").is_file() {
            return Err(Error::new("open", path, &"it holds no manifest.json")
                .with_hint("name the folder of a run, such as runs/<time>-<study>"));
        }
        Ok(Self(path.to_owned()))
    }

    /// Its place.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The place of a file in it.
    pub fn file(&self, name: impl AsRef<Path>) -> PathBuf {
        self.0.join(name)
    }

    /// Makes a folder in it, with those above.
    pub fn make_dir(&self, name: &Path) -> Result<PathBuf, Error> {
        let path = self.file(name);
        fs::create_dir_all(&path).map_err(|cause| Error::io("create", &path, &cause))?;
        Ok(path)
    }

    /// Replaces `manifest.json`.
    pub fn write_manifest(&self, manifest: &Manifest) -> Result<(), Error> {
        self.write_json("manifest.json", manifest)
    }

    /// Reads `manifest.json`.
    pub fn read_manifest(&self) -> Result<Manifest, Error> {
        let path = self.file("manifest.json");
        let text = fs::read_to_string(&path).map_err(|cause| match cause.kind() {
            std::io::ErrorKind::InvalidData => Error::new("read", &path, &"it is not text")
                .with_hint("a copy or a disk damaged it; copy the run folder again"),
            _ => Error::io("read", &path, &cause),
        })?;
        schema::parse(&text, &path)
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
        let path = self.file(name);
        let text = fs::read_to_string(&path).map_err(|cause| Error::io("read", &path, &cause))?;
        serde_json::from_str(&text).map_err(|cause| Error::new("read", &path, &cause))
    }

    /// Replaces a file whole: readers see the old text or the new one, never a part, and after a
    /// crash one of the two is there.
    pub fn write_text(&self, name: &str, text: &str) -> Result<(), Error> {
        let path = self.file(name);
        let draft = self.file(format!("{name}.draft"));
        let written = File::create(&draft).and_then(|mut file| {
            file.write_all(text.as_bytes())?;
            file.sync_all()
        });
        let replaced = written.and_then(|()| fs::rename(&draft, &path));
        replaced.and_then(|()| File::open(&self.0)?.sync_all()).map_err(|cause| {
            // What could be written of the draft would only fill a full disk further.
            let _ = fs::remove_file(&draft);
            Error::io("write", &path, &cause)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_never_overwrites_another() {
        let place = tempfile::tempdir().unwrap();
        let folder = RunFolder::create(&place.path().join("run")).unwrap();
        folder.write_text("note", "kept").unwrap();
        let error = RunFolder::create(folder.path()).unwrap_err();
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
        let folder = RunFolder::create(&place.path().join("run")).unwrap();
        folder.write_text("note", "one").unwrap();
        folder.write_text("note", "two").unwrap();
        assert_eq!(fs::read_to_string(folder.file("note")).unwrap(), "two");
        assert!(!folder.file("note.draft").exists());
    }
}
