//! The list of runs beside a run, `runs/index.html`.

use std::path::Path;

use assay_run_folder::RunFolder;

use crate::exit::Code;
use crate::output;

/// Brings the list of runs up to date, where the run lies in a folder that has one. A list that
/// cannot be written is no reason to fail a run that could.
pub(crate) fn update_beside(folder: &RunFolder) {
    let Ok(around) = folder.dir().around() else { return };
    if !assay_export::belongs(&around) {
        return;
    }
    if let Err(error) = assay_export::update_index_in(around) {
        output::say(&format!("note: the list of runs: {error}"));
    }
}

/// Writes the list of all runs in a folder.
pub(crate) fn write(folder: &Path) -> Code {
    match assay_export::update_index(folder) {
        Ok(count) => {
            output::data(&folder.join("index.html").display().to_string());
            output::say(&format!("{count} runs"));
            Code::Kept
        }
        Err(error) => {
            output::error(&error);
            Code::Usage
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use assay_files::Trust;

    use super::*;

    /// Whoever may rename the folder of runs lets another one have its name.
    #[test]
    fn the_list_is_that_of_the_folder_that_the_run_lies_in() {
        let place = tempfile::tempdir().unwrap();
        let [user, victim] = ["user", "victim"].map(|name| place.path().join(name));
        fs::create_dir_all(victim.join("runs/one")).unwrap();
        let run = RunFolder::create(&user.join("runs/one"), Trust::Checked).unwrap();
        fs::rename(&user, place.path().join("moved")).unwrap();
        symlink(&victim, &user).unwrap();
        update_beside(&run);
        assert!(!victim.join("runs/index.html").exists());
        assert!(place.path().join("moved/runs/index.html").exists());
    }
}
