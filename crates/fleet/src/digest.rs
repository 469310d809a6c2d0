//! SHA-256 of everything a fleet runs, to detect any later change on the host.
//!
//! The hash covers everything in the fleet's folder that is executed: the command-line arguments,
//! the seeds and slices, the study and its neighbouring files. It is computed at submission and
//! stored in the job script, which Slurm keeps by value; each task compares it.

use std::path::{Path, PathBuf};

use assay_files::Dir;
use sha2::{Digest, Sha256};

use crate::document::Fleet;
use crate::error::Error;
use crate::folder::{FleetFolder, MOST_DOCUMENT};

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
    for name in files(folder.path(), Path::new(STUDY))? {
        add(name.to_string_lossy().as_bytes());
        let text = folder.dir().bytes(&name, MOST_DOCUMENT)?;
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

/// The files below a folder, sorted; none if the folder does not exist.
fn files(top: &Path, name: &Path) -> Result<Vec<PathBuf>, Error> {
    let path = top.join(name);
    let failed = |cause: &std::io::Error| Error::file("list", &path, cause);
    if !path.is_dir() {
        return Ok(Vec::new());
    }
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(&path).map_err(|cause| failed(&cause))? {
        let entry = entry.map_err(|cause| failed(&cause))?;
        let inside = name.join(entry.file_name());
        match entry.file_type().map_err(|cause| failed(&cause))?.is_dir() {
            true => paths.extend(files(top, &inside)?),
            false => paths.push(inside),
        }
    }
    paths.sort();
    Ok(paths)
}
