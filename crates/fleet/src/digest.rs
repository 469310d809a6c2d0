//! SHA-256 of everything a fleet runs, to detect any later change on the host.
//!
//! The hash covers everything in the fleet's folder that is executed: the command-line arguments,
//! the seeds and slices, the study and its neighbouring files. It is computed at submission and
//! stored in the job script, which Slurm keeps by value; each task compares it.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use assay_files::Dir;
use sha2::{Digest, Sha256};

use crate::document::Fleet;
use crate::error::Error;
use crate::folder::{FleetFolder, MOST_DOCUMENT};

/// Files in the study's folder, and how deep they are nested.
const MOST_FILES: usize = 4096;
const DEEPEST: usize = 32;

/// The study's folder within the fleet's.
pub(crate) const STUDY: &str = "study";

/// The study, read once with its neighbouring files, and the hash of everything a task of this
/// fleet runs.
pub(crate) struct Submitted {
    pub(crate) digest: String,
    /// File names below the study's folder, and their contents.
    files: Vec<(PathBuf, Vec<u8>)>,
}

/// Computes the hash of everything a task of this fleet runs.
pub(crate) fn digest(folder: &FleetFolder, fleet: &Fleet) -> Result<String, Error> {
    read_submitted(folder, fleet).map(|submitted| submitted.digest)
}

/// Reads everything a task of this fleet runs.
pub(crate) fn read_submitted(folder: &FleetFolder, fleet: &Fleet) -> Result<Submitted, Error> {
    let mut read = Vec::new();
    let mut hash = Sha256::new();
    // Each part is prefixed with its length, so that two fleets never hash the same input.
    let mut add = |bytes: &[u8]| {
        hash.update((bytes.len() as u64).to_le_bytes());
        hash.update(bytes);
    };
    let contents = (&fleet.arguments, fleet.trust_folder, &fleet.tasks);
    add(&serde_json::to_vec(&contents).map_err(|cause| Error::new(cause.to_string()))?);
    let mut remaining = MOST_DOCUMENT;
    for name in files(folder.dir())? {
        add(name.as_os_str().as_bytes());
        let text = folder.dir().bytes(&name, MOST_DOCUMENT)?;
        remaining = remaining.checked_sub(text.len() as u64).ok_or_else(|| {
            too_much(
                folder.dir(),
                &format!("has more than {} MiB in its study", MOST_DOCUMENT >> 20),
            )
        })?;
        add(&text);
        read.push((name, text));
    }
    Ok(Submitted { digest: hex(&hash.finalize()), files: read })
}

impl Submitted {
    /// Writes the study into a folder of this host that no other user can change.
    pub(crate) fn write(&self, folder: &Dir) -> Result<(), Error> {
        for (name, text) in &self.files {
            if let Some(above) = name.parent().filter(|above| !above.as_os_str().is_empty()) {
                folder.make_dir(above)?;
            }
            folder.replace(name, text)?;
        }
        Ok(())
    }
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The files below the study's folder, sorted; none if that does not exist.
fn files(top: &Dir) -> Result<Vec<PathBuf>, Error> {
    let mut found = Vec::new();
    match top.dir(STUDY) {
        Err(error) if error.is_missing() => {}
        study => add_files(&study?, Path::new(STUDY), 0, &mut found)?,
    }
    found.sort();
    Ok(found)
}

fn add_files(dir: &Dir, name: &Path, depth: usize, found: &mut Vec<PathBuf>) -> Result<(), Error> {
    if depth > DEEPEST {
        return Err(too_much(dir, &format!("is nested more than {DEEPEST} folders deep")));
    }
    for entry in dir.names()? {
        let inside = name.join(&entry);
        match dir.dir(&entry) {
            Ok(inner) => add_files(&inner, &inside, depth + 1, found)?,
            // Whatever is neither a file nor a folder fails when it is read.
            Err(_) => found.push(inside),
        }
        if found.len() > MOST_FILES {
            return Err(too_much(dir, &format!("holds more than {MOST_FILES} files")));
        }
    }
    Ok(())
}

fn too_much(dir: &Dir, what: &str) -> Error {
    Error::new(format!("{} {what}, the limit of a fleet's study", dir.path().display()))
        .hint("find out what has put them there, and submit the study again")
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::fs;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::symlink;

    use assay_files::Trust;

    use super::*;

    /// The digest of a study with this file.
    fn digest_with(name: &[u8]) -> String {
        let place = tempfile::tempdir().unwrap();
        let folder = FleetFolder::create(&place.path().join("fleet"), Trust::Checked).unwrap();
        folder.make_dir(Path::new("study/inner")).unwrap();
        fs::write(folder.file("study/inner").join(OsStr::from_bytes(name)), "text").unwrap();
        digest(&folder, &Fleet::default()).unwrap()
    }

    #[test]
    fn every_byte_of_a_name_counts() {
        assert_eq!(digest_with(b"one.toml"), digest_with(b"one.toml"));
        assert_ne!(digest_with(b"one.toml"), digest_with(b"two.toml"));
        assert_ne!(digest_with(b"\xff.toml"), digest_with("\u{fffd}.toml".as_bytes()));
    }

    /// Root of any host may be able to write there.
    #[test]
    fn a_study_folder_has_limits() {
        let place = tempfile::tempdir().unwrap();
        let folder = FleetFolder::create(&place.path().join("fleet"), Trust::Checked).unwrap();
        folder.make_dir(Path::new("study")).unwrap();
        let refused = |expected: &str| {
            let error = digest(&folder, &Fleet::default()).unwrap_err().to_string();
            assert!(error.contains(expected) && error.contains("study"), "{error}");
        };
        for name in ["study/a", "study/b"] {
            fs::File::create(folder.file(name)).unwrap().set_len(40 << 20).unwrap();
        }
        refused("more than 64 MiB");
        fs::remove_file(folder.file("study/a")).unwrap();
        let deep = "d/".repeat(100);
        folder.make_dir(&Path::new("study").join(deep)).unwrap();
        refused("nested");
        folder.dir().remove_tree("study").unwrap();
        folder.make_dir(Path::new("study")).unwrap();
        for number in 0..5000 {
            fs::File::create(folder.file(format!("study/{number}"))).unwrap();
        }
        refused("more than 4096 files");
        folder.dir().remove_tree("study").unwrap();
        symlink("/etc", folder.file("study")).unwrap();
        refused("links are not followed");
    }
}
