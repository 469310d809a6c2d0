//! What a fleet runs, as one number: whoever exchanges a word of it is found out on the host.
//!
//! Everything in the folder of a fleet that is carried out - the words of the command line, the
//! seeds and slices, the study and what stands beside it - is hashed when it is submitted. The hash
//! stands in the job script, which Slurm keeps by value; the task compares.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use assay_files::Dir;
use sha2::{Digest, Sha256};

use crate::document::Fleet;
use crate::error::Error;
use crate::folder::{FleetFolder, MOST_DOCUMENT};

/// The folder of the study in that of the fleet.
pub(crate) const STUDY: &str = "study";

/// The study as it was read once, with what stands beside it, and the hash of all that a task of this
/// fleet carries out.
pub(crate) struct Taken {
    pub(crate) digest: String,
    /// Names below the folder of the study, and what is in the files.
    files: Vec<(PathBuf, Vec<u8>)>,
}

/// The hash of all that a task of this fleet carries out.
pub(crate) fn digest(folder: &FleetFolder, fleet: &Fleet) -> Result<String, Error> {
    take(folder, fleet).map(|taken| taken.digest)
}

/// Reads all that a task of this fleet carries out.
pub(crate) fn take(folder: &FleetFolder, fleet: &Fleet) -> Result<Taken, Error> {
    let mut read = Vec::new();
    let mut hash = Sha256::new();
    // Each part with its length, so that no two fleets read the same.
    let mut add = |bytes: &[u8]| {
        hash.update((bytes.len() as u64).to_le_bytes());
        hash.update(bytes);
    };
    let told = (&fleet.arguments, fleet.trust_folder, &fleet.tasks);
    add(&serde_json::to_vec(&told).map_err(|cause| Error::new(cause.to_string()))?);
    for name in files(folder.path(), Path::new(STUDY))? {
        add(name.to_string_lossy().as_bytes());
        let text = folder.dir().bytes(&name, MOST_DOCUMENT)?;
        add(&text);
        read.push((name, text));
    }
    Ok(Taken { digest: hex(&hash.finalize()), files: read })
}

impl Taken {
    /// Writes the study into a folder of this host that nobody else can change.
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

/// The hash of a program, where this host has it.
pub(crate) fn of_program(path: &Path) -> Option<String> {
    let mut file = File::open(path).ok()?;
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        match file.read(&mut buffer).ok()? {
            0 => return Some(hex(&hash.finalize())),
            count => hash.update(&buffer[..count]),
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The files below a folder, sorted; none where there is no such folder.
fn files(top: &Path, name: &Path) -> Result<Vec<PathBuf>, Error> {
    let path = top.join(name);
    let failed = |cause: &std::io::Error| Error::file("list", &path, cause);
    if !path.is_dir() {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    for entry in std::fs::read_dir(&path).map_err(|cause| failed(&cause))? {
        let entry = entry.map_err(|cause| failed(&cause))?;
        let inside = name.join(entry.file_name());
        match entry.file_type().map_err(|cause| failed(&cause))?.is_dir() {
            true => found.extend(files(top, &inside)?),
            false => found.push(inside),
        }
    }
    found.sort();
    Ok(found)
}
