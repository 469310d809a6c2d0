//! Removes the tree of an earlier run, and nothing else.

use std::fs;
use std::io;
use std::path::Path;

use super::super::io_error::unable;
use crate::failure::Failure;

/// Removes the tree of a file set. filebench removes whatever is at `path/name`; here a tree that
/// holds anything but numbered entries is considered foreign and kept.
pub(in crate::filebench) fn tree(root: &Path) -> Result<(), Failure> {
    match fs::symlink_metadata(root) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(unable("stat", root, &error)),
        Ok(found) if !found.is_dir() => return Err(foreign(root, "it is not a directory")),
        Ok(_) => {}
    }
    let entries = fs::read_dir(root).map_err(|error| unable("list", root, &error))?;
    for entry in entries {
        let entry = entry.map_err(|error| unable("list", root, &error))?;
        let name = entry.file_name();
        let numbered = name.len() >= 8 && name.as_encoded_bytes().iter().all(u8::is_ascii_digit);
        if !numbered {
            let holds =
                format!("it holds `{}`, which was not created by a file set", name.display());
            return Err(foreign(root, &holds));
        }
    }
    fs::remove_dir_all(root).map_err(|error| unable("remove", root, &error))
}

fn foreign(root: &Path, why: &str) -> Failure {
    Failure::Unable {
        what: format!("{} would have to be removed first, but {why}", root.display()),
        remedy: "move it away, or choose another path or name for the file set".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_numbered_tree_is_removed_and_a_foreign_one_is_kept() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().join("set");
        fs::create_dir_all(root.join("00000001/00000002")).unwrap();
        fs::write(root.join("00000001/00000002/00000001"), "x").unwrap();
        tree(&root).unwrap();
        assert!(!root.exists());
        tree(&root).unwrap();

        fs::create_dir_all(&root).unwrap();
        fs::write(root.join("thesis.tex"), "x").unwrap();
        let failure = tree(&root).unwrap_err().to_string();
        assert!(failure.contains("thesis.tex") && root.join("thesis.tex").exists(), "{failure}");
        let file = place.path().join("file");
        fs::write(&file, "x").unwrap();
        assert!(tree(&file).unwrap_err().to_string().contains("not a directory"));
    }
}
