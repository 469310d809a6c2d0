//! The runs to export.

use std::ffi::OsString;
use std::path::PathBuf;
use std::rc::Rc;

use assay_record::run_folder::{RunFolder, runs};
use assay_sys::files::{Dir, Error};

/// A run to export. Folders that the user names are opened once; the runs in them are opened there, one
/// after the other, even if a folder has been renamed or replaced meanwhile.
#[derive(Debug, Clone)]
pub struct RunSource(Place);

#[derive(Debug, Clone)]
enum Place {
    /// A run that the user named.
    Named(RunFolder),
    /// A run in a folder of runs.
    In(Rc<Dir>, OsString),
}

impl RunSource {
    /// The runs named, and those in named folders of runs.
    pub fn find(paths: &[PathBuf]) -> Result<Vec<Self>, Error> {
        let mut found = Vec::new();
        for path in paths {
            let Ok(folder) = Dir::open(path) else {
                // The same error as for any other path that is no run folder.
                found.push(Self(Place::Named(RunFolder::open(path)?)));
                continue;
            };
            let names = match folder.has_file("manifest.json") {
                true => Vec::new(),
                false => runs(&folder)?,
            };
            if names.is_empty() {
                found.push(Self(Place::Named(RunFolder::from_dir(folder)?)));
                continue;
            }
            let folder = Rc::new(folder);
            found.extend(names.into_iter().map(|name| Self(Place::In(Rc::clone(&folder), name))));
        }
        Ok(found)
    }

    /// Its path, as named.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        match &self.0 {
            Place::Named(run) => run.path().to_owned(),
            Place::In(folder, name) => folder.path().join(name),
        }
    }

    /// Opens it.
    pub fn open(&self) -> Result<RunFolder, Error> {
        match &self.0 {
            Place::Named(run) => Ok(run.clone()),
            Place::In(folder, name) => RunFolder::from_dir(folder.dir(name)?),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// Another user may exchange a folder of runs for one of their own between its listing and an export.
    #[test]
    fn runs_are_opened_in_the_folder_that_was_listed() {
        let place = tempfile::tempdir().unwrap();
        let path = |name: &str| place.path().join(name);
        for (folder, study) in [("runs", "listed"), ("other", "exchanged")] {
            fs::create_dir_all(path(folder).join("run")).unwrap();
            fs::write(path(folder).join("run/manifest.json"), study).unwrap();
        }
        let found = RunSource::find(&[path("runs"), path("runs/run")]).unwrap();
        fs::rename(path("runs"), path("moved")).unwrap();
        fs::rename(path("other"), path("runs")).unwrap();
        for source in &found {
            assert_eq!(source.open().unwrap().text("manifest.json").unwrap(), "listed");
        }
        assert_eq!(found.len(), 2);
        assert!(
            RunSource::find(&[path("none")]).is_err() && RunSource::find(&[path(".")]).is_err()
        );
    }
}
