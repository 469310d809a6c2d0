//! The list of all runs in a folder, `runs/index.html`.

use std::path::Path;

use assay_run_folder::RunFolder;

use crate::exit::Code;
use crate::output;

/// Updates the list of runs if the run's parent folder has one. A list that cannot be written does not
/// fail the run.
pub(crate) fn update_for_run(folder: &RunFolder) {
    let Ok(around) = folder.dir().current_parent() else { return };
    if !assay_export::has_index(&around) {
        return;
    }
    if let Err(error) = assay_export::update_index_in(around) {
        output::message(&format!("note: the list of runs: {error}"));
    }
}

/// Writes the list of all runs in a folder.
pub(crate) fn write(folder: &Path) -> Code {
    match assay_export::update_index(folder) {
        Ok(count) => {
            output::data(&folder.join("index.html").display().to_string());
            output::message(&format!("{count} runs"));
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

    /// The folder of runs may be renamed and replaced by a link while the run is open.
    #[test]
    fn the_list_is_updated_in_the_folder_that_holds_the_run() {
        let folder = tempfile::tempdir().unwrap();
        let [user, victim] = ["user", "victim"].map(|name| folder.path().join(name));
        fs::create_dir_all(victim.join("runs/one")).unwrap();
        let run = RunFolder::create(&user.join("runs/one"), Trust::Checked).unwrap();
        fs::rename(&user, folder.path().join("moved")).unwrap();
        symlink(&victim, &user).unwrap();
        update_for_run(&run);
        assert!(!victim.join("runs/index.html").exists());
        assert!(folder.path().join("moved/runs/index.html").exists());
    }
}
