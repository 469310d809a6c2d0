//! The program that the tasks of a fleet start.
//!
//! Its own file may change at any time: an upgrade replaces it, a build rewrites it. So it is copied
//! into the fleet's folder. Root of any host may be able to write there, so the job script of each task
//! copies it once more, into a private folder of its host, and compares and starts that copy.

use std::fs::{File, Permissions};
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use assay_files::Dir;
use sha2::{Digest, Sha256};

use crate::digest::hex;
use crate::error::Error;
use crate::folder::FleetFolder;

/// The program of one submission.
pub(crate) struct Program {
    /// Its path on the hosts.
    pub(crate) path: String,
    /// The files copied, the program first; none if only the hosts have it.
    pub(crate) files: Vec<Copied>,
}

/// A file as it was submitted.
pub(crate) struct Copied {
    pub(crate) name: &'static str,
    pub(crate) bytes: u64,
    /// Its SHA-256.
    pub(crate) hash: String,
}

/// The name of the copy.
const NAME: &str = "assay";

/// The load generators, which a program finds next to itself.
const GENERATORS: &str = "assay-load";

/// How the private folder of a task begins.
pub(crate) const OWN_FOLDER: &str = "assay-fleet-program.";

impl Program {
    /// Copies the program into the fleet's folder. A program that only the hosts have stays where it is.
    pub(crate) fn copy(
        program: &Path,
        folder: &FleetFolder,
        submission: usize,
    ) -> Result<Self, Error> {
        let Some(file) = open(program)? else {
            return Ok(Self { path: program.display().to_string(), files: Vec::new() });
        };
        let name = format!("program-{submission}");
        // Left by a submission that Slurm refused.
        folder.dir().remove_tree(&name)?;
        let dir = folder.dir().make_new_dir(&name)?;
        let mut files = vec![copy(file, program, &dir, NAME)?];
        let generators = program.with_file_name(GENERATORS);
        if let Some(file) = open(&generators)? {
            files.push(copy(file, &generators, &dir, GENERATORS)?);
        }
        let path = folder.file(name).join(NAME).display().to_string();
        Ok(Self { path, files })
    }
}

/// Removes the folder that the job script made on this host, if `program` was started from it.
pub(crate) fn remove_own_copy(program: &Path) {
    let Some(folder) = program.parent() else { return };
    let name = folder.file_name().unwrap_or_default();
    if !name.to_string_lossy().starts_with(OWN_FOLDER) {
        return;
    }
    // What is left only takes space: the name of the next one is new.
    let Ok(above) = Dir::open(folder.parent().unwrap_or(Path::new("/"))) else { return };
    if let Ok(own) = above.dir(name) {
        for file in [NAME, GENERATORS] {
            let _ = own.remove_file(file);
        }
    }
    let _ = above.remove_dir(name);
}

fn open(path: &Path) -> Result<Option<File>, Error> {
    match File::open(path) {
        Ok(file) => Ok(Some(file)),
        Err(cause) if cause.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(cause) => Err(Error::file("open", path, &cause)),
    }
}

/// Copies a program and describes what was written.
fn copy(mut file: File, path: &Path, to: &Dir, name: &'static str) -> Result<Copied, Error> {
    let target = to.path().join(name);
    let failed = |cause: &std::io::Error| Error::file("write", &target, cause);
    let mut copy = to.create(name)?;
    let (mut hash, mut bytes) = (Sha256::new(), 0);
    let mut buffer = vec![0; 1 << 16];
    loop {
        let count = file.read(&mut buffer).map_err(|cause| Error::file("read", path, &cause))?;
        if count == 0 {
            break;
        }
        hash.update(&buffer[..count]);
        bytes += count as u64;
        copy.write_all(&buffer[..count]).map_err(|cause| failed(&cause))?;
    }
    copy.set_permissions(Permissions::from_mode(0o755)).map_err(|cause| failed(&cause))?;
    // Other hosts start it.
    copy.sync_all().map_err(|cause| failed(&cause))?;
    Ok(Copied { name, bytes, hash: hex(&hash.finalize()) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_private_copy_is_removed() {
        let place = tempfile::tempdir().unwrap();
        let [own, other] = [format!("{OWN_FOLDER}x"), "bin".to_owned()].map(|name| {
            let folder = place.path().join(name);
            std::fs::create_dir(&folder).unwrap();
            for name in [NAME, GENERATORS] {
                std::fs::write(folder.join(name), "").unwrap();
            }
            folder
        });
        remove_own_copy(&own.join(NAME));
        remove_own_copy(&other.join(NAME));
        assert!(!own.exists() && other.join(GENERATORS).exists());
    }
}
